import torch
import torch.nn as nn


class Model(nn.Module):
    """ReLU, a scale for each column, then the sum of each row."""

    def __init__(self, dim: int):
        super(Model, self).__init__()
        self.scale = nn.Parameter(torch.ones(dim))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (torch.relu(x) * self.scale).sum(dim=1)


batch_size = 64
dim = 500


def get_inputs():
    return [torch.randn(batch_size, dim)]


def get_init_inputs():
    return [dim]
