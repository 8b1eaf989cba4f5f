import torch
import torch.nn as nn


class Model(nn.Module):
    """relu(linear(x)) + bias: two parameters of one shape, of which PyTorch lists the module's own first."""

    def __init__(self, in_features, out_features):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)
        self.bias = nn.Parameter(torch.randn(out_features))

    def forward(self, x):
        return torch.relu(self.linear(x)) + self.bias


batch_size = 32
in_features = 48
out_features = 40


def get_inputs():
    return [torch.rand(batch_size, in_features)]


def get_init_inputs():
    return [in_features, out_features]
