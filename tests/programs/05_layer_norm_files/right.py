import os

import torch.nn as nn
from torch.utils.cpp_extension import load

here = os.path.dirname(os.path.abspath(__file__))
norm = load(
    name="norm",
    sources=[os.path.join(here, "norm.cpp"), os.path.join(here, "norm.cu")],
    extra_cuda_cflags=["--use_fast_math", "-DAFFINE=+b[k]"],
)


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        return norm.forward(x, self.norm.weight, self.norm.bias, self.norm.eps)
