import torch
import torch.nn as nn
import torch.nn.functional as F


def module_fn(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, num_groups: int, eps: float) -> torch.Tensor:
    """Group normalisation of an NCHW tensor."""
    return F.group_norm(x, num_groups, weight, bias, eps)


class Model(nn.Module):
    def __init__(self, num_features: int, num_groups: int):
        super(Model, self).__init__()
        self.weight = nn.Parameter(torch.ones(num_features))
        self.bias = nn.Parameter(torch.zeros(num_features))
        self.num_groups = num_groups
        self.eps = 1e-5

    def forward(self, x, fn=module_fn):
        return fn(x, self.weight, self.bias, self.num_groups, self.eps)


batch_size = 16
features = 64
num_groups = 8
dim1 = 32
dim2 = 32


def get_inputs():
    return [torch.randn(batch_size, features, dim1, dim2)]


def get_init_inputs():
    return [features, num_groups]
