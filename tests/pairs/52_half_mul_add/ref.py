import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """
    Half precision a * b + c.
    """
    def __init__(self):
        super(Model, self).__init__()

    def forward(self, a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
        return a * b + c


rows = 33
cols = 1001


def get_inputs():
    return [
        torch.randn(rows, cols).half(),
        torch.randn(rows, cols).half(),
        torch.randn(rows, cols).half(),
    ]


def get_init_inputs():
    return []
