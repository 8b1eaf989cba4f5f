import torch
import torch.nn as nn
import torch.nn.functional as F


def module_fn(x: torch.Tensor, kernel_size: int, stride: int, padding: int, dilation: int) -> torch.Tensor:
    """1-D max pooling."""
    return F.max_pool1d(x, kernel_size, stride=stride, padding=padding, dilation=dilation)


class Model(nn.Module):
    def __init__(self, kernel_size: int, stride: int, padding: int, dilation: int):
        super(Model, self).__init__()
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.dilation = dilation

    def forward(self, x, fn=module_fn):
        return fn(x, self.kernel_size, self.stride, self.padding, self.dilation)


batch_size = 16
features = 64
sequence_length = 1000


def get_inputs():
    return [torch.randn(batch_size, features, sequence_length)]


def get_init_inputs():
    return [4, 2, 2, 3]
