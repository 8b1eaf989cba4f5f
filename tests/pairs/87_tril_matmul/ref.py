import torch
import torch.nn as nn


class Model(nn.Module):
    """Product of two lower triangular matrices (the upper parts are ignored)."""

    def __init__(self):
        super().__init__()

    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return torch.tril(torch.matmul(torch.tril(A), torch.tril(B)))


N = 2048


def get_inputs():
    return [torch.tril(torch.randn(N, N)), torch.tril(torch.randn(N, N))]


def get_init_inputs():
    return []
