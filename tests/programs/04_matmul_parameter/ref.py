import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, features, hidden):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(hidden, features) * 0.1)
        self.bias = nn.Parameter(torch.zeros(hidden))

    def forward(self, x):
        return torch.tanh(x @ self.weight.T + self.bias)


batch_size = 6
features = 24
hidden = 17


def get_inputs():
    return [torch.rand(batch_size, features)]


def get_init_inputs():
    return [features, hidden]
