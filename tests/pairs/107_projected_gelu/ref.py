import torch
import torch.nn as nn
import torch.nn.functional as F


def module_fn(x, weight, bias, scale):
    """A linear layer, the mean over its features, GELU, added to the scaled input."""
    h = F.linear(x, weight, bias)
    return scale * x + F.gelu(torch.mean(h, dim=1, keepdim=True))


class Model(nn.Module):
    def __init__(self, features, hidden, scale):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(hidden, features) * 0.05)
        self.bias = nn.Parameter(torch.zeros(hidden))
        self.scale = scale

    def forward(self, x, fn=module_fn):
        return fn(x, self.weight, self.bias, self.scale)


def get_inputs():
    return [torch.randn(64, 512)]


def get_init_inputs():
    return [512, 768, 0.5]
