import torch
import torch.nn as nn
import torch.nn.functional as F


def module_fn(predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Kullback-Leibler divergence of two batches of distributions."""
    return F.kl_div(torch.log(predictions), targets, reduction="batchmean")


class Model(nn.Module):
    def __init__(self):
        super(Model, self).__init__()

    def forward(self, predictions, targets, fn=module_fn):
        return fn(predictions, targets)


batch_size = 128
features = 1024


def get_inputs():
    return [
        torch.randn(batch_size, features).softmax(dim=-1),
        torch.randn(batch_size, features).softmax(dim=-1),
    ]


def get_init_inputs():
    return []
