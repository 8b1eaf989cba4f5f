import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        return self.norm(x)


rows = 12
dim = 48


def get_inputs():
    return [torch.rand(rows, dim)]


def get_init_inputs():
    return [dim]
