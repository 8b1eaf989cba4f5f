import torch
import torch.nn as nn
import torch.nn.functional as F


def module_fn(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int, padding: int) -> torch.Tensor:
    """Transposed 1-D convolution; weight is (in_channels, out_channels, kernel_size)."""
    return F.conv_transpose1d(x, weight, bias, stride=stride, padding=padding)


class Model(nn.Module):
    def __init__(self, in_channels: int, out_channels: int, kernel_size: int, stride: int, padding: int):
        super(Model, self).__init__()
        conv = nn.ConvTranspose1d(in_channels, out_channels, kernel_size, stride=stride, padding=padding)
        self.weight = nn.Parameter(conv.weight)
        self.bias = nn.Parameter(conv.bias)
        self.stride = stride
        self.padding = padding

    def forward(self, x, fn=module_fn):
        return fn(x, self.weight, self.bias, self.stride, self.padding)


batch_size = 8
in_channels = 32
out_channels = 16
kernel_size = 5
stride = 2
padding = 1
length = 128


def get_inputs():
    return [torch.randn(batch_size, in_channels, length)]


def get_init_inputs():
    return [in_channels, out_channels, kernel_size, stride, padding]
