import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """
    Minimum over the last dimension (values only).
    """
    def __init__(self):
        super(Model, self).__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.min(x, dim=-1)[0]


batch_size = 64
dim1 = 64
dim2 = 500


def get_inputs():
    x = torch.randn(batch_size, dim1, dim2)
    return [x]


def get_init_inputs():
    return []
