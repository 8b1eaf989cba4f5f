import torch
import torch.nn as nn


class Model(nn.Module):
    """Roll, flip and upper-triangular mask of a batch of int32 matrices."""

    def __init__(self, shift_h: int, shift_w: int, diagonal: int):
        super().__init__()
        self.shift_h = shift_h
        self.shift_w = shift_w
        self.diagonal = diagonal

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.roll(x, shifts=(self.shift_h, self.shift_w), dims=(1, 2))
        x = torch.flip(x, dims=[2])
        return torch.triu(x, diagonal=self.diagonal)


batch_size = 4
height = 2048
width = 2048


def get_inputs():
    return [torch.randint(-1000000, 1000000, (batch_size, height, width), dtype=torch.int32)]


def get_init_inputs():
    return [37, -11, 1]
