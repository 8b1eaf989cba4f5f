import torch
import torch.nn as nn


class Model(nn.Module):
    """Unbiased variance over one (middle) dimension, double precision."""

    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.var(x, dim=self.dim)


batch_size = 64
dim1 = 512
dim2 = 256


def get_inputs():
    return [torch.randn(batch_size, dim1, dim2, dtype=torch.float64)]


def get_init_inputs():
    return [1]
