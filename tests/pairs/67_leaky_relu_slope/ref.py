import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Leaky ReLU with a slope that the module is built with."""

    def __init__(self, negative_slope: float):
        super(Model, self).__init__()
        self.negative_slope = negative_slope

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.leaky_relu(x, negative_slope=self.negative_slope)


rows = 96
dim = 640
negative_slope = 0.2


def get_inputs():
    return [torch.randn(rows, dim)]


def get_init_inputs():
    return [negative_slope]
