import torch
import torch.nn as nn


def module_fn(x, params):
    for block in params["blocks"]:
        x = torch.relu(x * block["affine"][0] + block["affine"][1]) @ block["weight"]
    return x + params["shift"]


class Model(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.params = nn.ParameterDict()
        self.params["shift"] = nn.Parameter(torch.randn(width))
        self.params["blocks"] = []
        for _ in range(depth):
            block = {"weight": nn.Parameter(torch.randn(width, width))}
            block["affine"] = [nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))]
            self.params["blocks"].append(block)

    def forward(self, x, fn=module_fn):
        return fn(x, self.params)


batch_size = 48
width = 64
depth = 3


def get_inputs():
    return [torch.randn(batch_size, width)]


def get_init_inputs():
    return [width, depth]
