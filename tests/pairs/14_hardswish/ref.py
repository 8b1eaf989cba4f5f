import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """
    HardSwish activation.
    """
    def __init__(self):
        super(Model, self).__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.hardswish(x)


batch_size = 32
channels = 64
height = 28
width = 28


def get_inputs():
    return [torch.rand(batch_size, channels, height, width)]


def get_init_inputs():
    return []
