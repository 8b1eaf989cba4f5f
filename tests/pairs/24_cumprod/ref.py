import torch
import torch.nn as nn
import torch.nn.functional as F


def module_fn(x: torch.Tensor, dim: int) -> torch.Tensor:
    """Cumulative product along a dimension."""
    return torch.cumprod(x, dim=dim)


class Model(nn.Module):
    def __init__(self, dim: int):
        super(Model, self).__init__()
        self.dim = dim

    def forward(self, x, fn=module_fn):
        return fn(x, self.dim)


batch_size = 128
length = 1000


def get_inputs():
    return [torch.randn(batch_size, length)]


def get_init_inputs():
    return [1]
