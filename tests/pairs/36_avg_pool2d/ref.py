import torch
import torch.nn as nn
import torch.nn.functional as F


def module_fn(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """2-D average pooling; the zero padding counts."""
    return F.avg_pool2d(x, kernel_size, stride=stride, padding=padding)


class Model(nn.Module):
    def __init__(self, kernel_size: int, stride: int, padding: int):
        super(Model, self).__init__()
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding

    def forward(self, x, fn=module_fn):
        return fn(x, self.kernel_size, self.stride, self.padding)


batch_size = 16
channels = 32
height = 56
width = 56


def get_inputs():
    return [torch.randn(batch_size, channels, height, width)]


def get_init_inputs():
    return [3, 2, 1]
