import torch
import torch.nn as nn
import torch.nn.functional as F


def module_fn(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
    gn_weight: torch.Tensor,
    gn_bias: torch.Tensor,
    num_groups: int,
) -> torch.Tensor:
    """Linear layer, group normalisation over the features, mean over the features."""
    x = F.linear(x, weight, bias)
    x = F.group_norm(x, num_groups, gn_weight, gn_bias, eps=1e-5)
    return x.mean(dim=1)


class Model(nn.Module):
    def __init__(self, in_features: int, out_features: int, num_groups: int):
        super(Model, self).__init__()
        linear = nn.Linear(in_features, out_features)
        group_norm = nn.GroupNorm(num_groups, out_features)
        self.weight = nn.Parameter(linear.weight)
        self.bias = nn.Parameter(linear.bias)
        self.gn_weight = nn.Parameter(group_norm.weight)
        self.gn_bias = nn.Parameter(group_norm.bias)
        self.num_groups = num_groups

    def forward(self, x, fn=module_fn):
        return fn(x, self.weight, self.bias, self.gn_weight, self.gn_bias, self.num_groups)


batch_size = 64
in_features = 128
out_features = 256
num_groups = 8


def get_inputs():
    return [torch.randn(batch_size, in_features)]


def get_init_inputs():
    return [in_features, out_features, num_groups]
