import torch
import torch.nn as nn


class Model(nn.Module):
    """4-D tensor times matrix, bfloat16: C[b, i, j, k] = sum_l A[b, i, j, l] * B[l, k]."""

    def __init__(self):
        super().__init__()

    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return torch.einsum("bijl,lk->bijk", A, B)


b = 8
i = 32
j = 64
l = 256
k = 768


def get_inputs():
    return [torch.randn(b, i, j, l).bfloat16(), torch.randn(l, k).bfloat16()]


def get_init_inputs():
    return []
