import torch
import torch.nn as nn
import torch.nn.functional as F


def module_fn(x: torch.Tensor, negative_slope: float) -> torch.Tensor:
    """LeakyReLU."""
    return F.leaky_relu(x, negative_slope=negative_slope)


class Model(nn.Module):
    def __init__(self, negative_slope: float = 0.01):
        super(Model, self).__init__()
        self.negative_slope = negative_slope

    def forward(self, x, fn=module_fn):
        return fn(x, self.negative_slope)


batch_size = 16
dim = 16384


def get_inputs():
    return [torch.rand(batch_size, dim)]


def get_init_inputs():
    return [0.01]
