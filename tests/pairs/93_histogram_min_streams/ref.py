import torch
import torch.nn as nn


class Model(nn.Module):
    """Histogram intersection: bin-wise minimum of the counts of two integer tensors
    with values in [0, num_bins)."""

    def __init__(self, num_bins: int):
        super().__init__()
        self.num_bins = num_bins

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        ha = torch.bincount(a, minlength=self.num_bins)
        hb = torch.bincount(b, minlength=self.num_bins)
        return torch.minimum(ha, hb)


num_bins = 1000
size = 8000000


def get_inputs():
    return [
        torch.randint(0, num_bins, (size,)),
        torch.randint(0, num_bins, (size,)),
    ]


def get_init_inputs():
    return [num_bins]
