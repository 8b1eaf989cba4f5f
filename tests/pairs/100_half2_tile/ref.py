import torch
import torch.nn as nn


def module_fn(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return x @ w


class Model(nn.Module):
    def __init__(self, inputs: int, outputs: int):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(inputs, outputs))

    def forward(self, x, fn=module_fn):
        return fn(x, self.weight)


rows = 48
inputs = 64
outputs = 32


def get_inputs():
    return [torch.randn(rows, inputs)]


def get_init_inputs():
    return [inputs, outputs]
