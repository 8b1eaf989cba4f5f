import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """
    Batched matrix multiplication C[b] = A[b] * B[b].
    """
    def __init__(self):
        super(Model, self).__init__()

    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return torch.bmm(A, B)


batch_size = 16
m = 128
k = 512
n = 256


def get_inputs():
    A = torch.randn(batch_size, m, k)
    B = torch.randn(batch_size, k, n)
    return [A, B]


def get_init_inputs():
    return []
