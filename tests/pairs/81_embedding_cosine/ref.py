import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Scores of (user, item) pairs: two embedding gathers and a cosine similarity."""

    def __init__(self, num_users: int, num_items: int, dim: int):
        super().__init__()
        self.user = nn.Embedding(num_users, dim)
        self.item = nn.Embedding(num_items, dim)

    def forward(self, users: torch.Tensor, items: torch.Tensor) -> torch.Tensor:
        return F.cosine_similarity(self.user(users), self.item(items), dim=1)


batch_size = 65536
num_users = 50000
num_items = 100000
dim = 128


def get_inputs():
    return [
        torch.randint(0, num_users, (batch_size,)),
        torch.randint(0, num_items, (batch_size,)),
    ]


def get_init_inputs():
    return [num_users, num_items, dim]
