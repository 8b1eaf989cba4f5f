import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size)
        self.scale = nn.Parameter(torch.ones(out_channels, 1, 1))
        self.bn = nn.BatchNorm2d(out_channels)

    def forward(self, x):
        x = self.bn(self.conv(x)) * self.scale
        return torch.sum(x, dim=1, keepdim=True)


batch_size = 2
in_channels = 3
out_channels = 8
height = 10
kernel_size = 3


def get_inputs():
    return [torch.rand(batch_size, in_channels, height, height)]


def get_init_inputs():
    return [in_channels, out_channels, kernel_size]
