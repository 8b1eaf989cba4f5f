import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, x):
        return F.gelu(x)


rows = 512
columns = 1024


def get_inputs():
    return [torch.randn(rows, columns)]


def get_init_inputs():
    return []
