import torch
import torch.nn as nn
import torch.nn.functional as F


def module_fn(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int, padding: int) -> torch.Tensor:
    """Depthwise 2-D convolution."""
    return F.conv2d(x, weight, bias, stride=stride, padding=padding, groups=weight.size(0))


class Model(nn.Module):
    def __init__(self, channels: int, kernel_size: int, stride: int, padding: int):
        super(Model, self).__init__()
        conv = nn.Conv2d(channels, channels, kernel_size, stride=stride, padding=padding, groups=channels)
        self.weight = nn.Parameter(conv.weight)
        self.bias = nn.Parameter(conv.bias)
        self.stride = stride
        self.padding = padding

    def forward(self, x, fn=module_fn):
        return fn(x, self.weight, self.bias, self.stride, self.padding)


batch_size = 16
channels = 32
height = 56
width = 56
kernel_size = 3
stride = 1
padding = 1


def get_inputs():
    return [torch.randn(batch_size, channels, height, width)]


def get_init_inputs():
    return [channels, kernel_size, stride, padding]
