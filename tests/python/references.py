"""Small references, each a ref.py text. Helper lines shared by all are prepended by `text`."""

from __future__ import annotations

_HEAD = """
import torch
import torch.nn as nn
import torch.nn.functional as F
"""

_SIMPLE = """
class Model(nn.Module):
    def forward(self, x):
        {body}

batch_size = 3
dim = 10

def get_inputs():
    return [torch.randn({shape})]

def get_init_inputs():
    return []
"""


def simple(body: str, shape: str = "batch_size, dim") -> str:
    return _HEAD + _SIMPLE.format(body=body.replace("\n", "\n        "), shape=shape)


def module(init: str, forward: str, inputs: str, args: str = "[]") -> str:
    lines = [_HEAD, "class Model(nn.Module):", "    def __init__(self, n=8, k=3):"]
    lines += ["        super().__init__()"] + ["        " + s for s in init.split("\n")]
    lines += ["    def forward(self, x, *more):"] + ["        " + s for s in forward.split("\n")]
    lines += ["batch_size = 3", f"def get_inputs(): return [{inputs}]"]
    lines += [f"def get_init_inputs(): return {args}"]
    return "\n".join(lines) + "\n"


REFERENCES: dict[str, str] = {
    "relu": simple("return torch.relu(x)"),
    "softmax_log": simple("return torch.log_softmax(x, 1) + torch.softmax(x, 0)"),
    "losses": simple(
        "t = (x > 0).long().argmax(1)\n"
        "return F.cross_entropy(x, t) + F.smooth_l1_loss(x, x * 2) + F.kl_div("
        "x.log_softmax(1), x.softmax(1), reduction='batchmean')"
    ),
    "activations": simple(
        "y = F.gelu(x) + F.gelu(x, approximate='tanh') + F.mish(x) + F.softplus(x) + F.elu(x)\n"
        "return y + F.selu(x) + F.hardswish(x) + F.hardsigmoid(x) + F.leaky_relu(x) + F.silu(x)"
    ),
    "reductions": simple(
        "a, i = torch.max(x, dim=1)\n"
        "return a + x.mean(1) + x.var(1) + x.amin(1) + x.norm(dim=1), i, x.argmin(0), "
        "torch.logsumexp(x, 1), x.prod(1), x.sum(), x.cumsum(1), x.flip(1).cumprod(1)"
    ),
    "views": simple(
        "y = x.view(batch_size, 2, 5).transpose(1, 2)[:, 1:, :]\n"
        "z = y.unsqueeze(1).expand(-1, 4, -1, -1).permute(3, 0, 1, 2)\n"
        "a, b = z.split(1, 0)\n"
        "return a.squeeze(0) * 2 + b[0], y[..., 1], x.t(), x[1, ::3], x.unfold(1, 4, 3) + 0, "
        "torch.diagonal(x), x.as_strided((3, 3), (10, 4), 1)"
    ),
    "reshape_copies": simple("return x.t().reshape(-1) + 1, x.t().contiguous().view(-1)"),
    "non_contiguous_input": module(
        "self.s = 2", "return x.reshape(-1) * self.s", "torch.randn(4, 5).t()"
    ),
    "sliced_input": module("pass", "return x + 1", "torch.randn(4, 6)[:, 1:4]"),
    "in_place": simple(
        "y = x * 2\ny += x\ny[:, 2:5] = 7\ny[0].mul_(3)\nz = y[1]\ny.relu_()\n"
        "y.unsqueeze_(0)\nreturn y, z + 1"
    ),
    "in_place_after_read": simple(
        "y = x + 1\nz = y * 2\ny[:, 0] = 5\nw = y.clone()\ny.zero_()\nreturn z, w, y"
    ),
    "empty_filled": simple(
        "out = torch.empty(batch_size, dim, device=x.device)\n"
        "for i in range(batch_size):\n"
        "    out[i] = x[batch_size - 1 - i]\n"
        "return out"
    ),
    "int_in_place": simple("n = (x > 0).sum(1)\nn += 2\nn.clamp_(max=6)\nreturn n"),
    "mutated_input": module("pass", "x.add_(1)\nreturn x * 2", "torch.randn(4, 5)"),
    "constants_in_forward": simple(
        "m = torch.tril(torch.ones(dim, dim, device=x.device))\n"
        "c = torch.tensor([1.5, -2.0], device=x.device)\n"
        "return (x @ m).masked_fill(x < 0, float('-inf')) * c[0], torch.min(x, torch.tensor(0.0))"
    ),
    "conv_bn": module(
        "self.c = nn.Conv2d(3, n, k, padding=1)\nself.b = nn.BatchNorm2d(n)",
        "return F.max_pool2d(torch.relu_(self.b(self.c(x))), 2).flatten(1)",
        "torch.randn(batch_size, 3, 8, 8)",
    ),
    "bn_twice": module(
        "self.b = nn.BatchNorm1d(n)", "return self.b(self.b(x) * 2)", "torch.randn(batch_size, n)"
    ).replace("batch_size = 3", "batch_size = 3\nn = 8"),
    "conv_transposed": module(
        "self.c = nn.ConvTranspose3d(2, 3, k, stride=2, output_padding=1)\n"
        "self.g = nn.GroupNorm(3, 3)\nself.b = nn.Parameter(torch.randn(3, 1, 1, 1))",
        "x = self.g(self.c(x)) + self.b\n"
        "return F.adaptive_avg_pool3d(x, 1), F.avg_pool3d(x, 2), F.max_pool3d(x, 3, 2, 1)",
        "torch.randn(2, 2, 3, 4, 3)",
    ),
    "norms": module(
        "self.i = nn.InstanceNorm2d(4)\nself.l = nn.LayerNorm((5, 6))",
        "return self.l(self.i(x))",
        "torch.randn(2, 4, 5, 6)",
    ),
    "tied": module(
        "self.a = nn.Linear(6, 6)\nself.b = nn.Linear(6, 6)\nself.b.weight = self.a.weight",
        "return self.b(torch.tanh(self.a(x)))",
        "torch.randn(2, 4, 6)",
    ),
    "sequential_shared": module(
        "a = nn.Linear(6, 6)\nself.s = nn.Sequential(a, nn.ReLU(), a)",
        "return self.s(x)",
        "torch.randn(4, 6)",
    ),
    "attention": module(
        "self.m = nn.MultiheadAttention(12, 3, batch_first=True)\n"
        "self.register_buffer('mask', torch.tril(torch.ones(5, 5)).view(1, 1, 5, 5))",
        "a, _ = self.m(x, x, x)\nq = x.view(2, 5, 3, 4).transpose(1, 2)\n"
        "s = (q @ q.transpose(-2, -1)).masked_fill(self.mask == 0, float('-inf'))\n"
        "b = F.scaled_dot_product_attention(q, q, q, is_causal=True)\n"
        "return a, s.softmax(-1) @ q, b",
        "torch.randn(2, 5, 12)",
    ),
    "embedding": module(
        "self.e = nn.Embedding(9, 4)\nself.register_buffer('table', torch.arange(9) % 4)",
        "return self.e(x) * 2, self.table[x], torch.gather(self.e.weight, 0, x)",
        "torch.randint(0, 9, (4, 4))",
    ),
    "lstm": module(
        "self.l = nn.LSTM(5, n, 2, batch_first=True, bidirectional=True)\n"
        "self.f = nn.Linear(16, 2)",
        "y, (h, c) = self.l(x)\nreturn self.f(y[:, -1]), h, c",
        "torch.randn(batch_size, 7, 5)",
    ),
    "gru": module("self.l = nn.GRU(5, n)", "return self.l(x)", "torch.randn(7, batch_size, 5)"),
    "cells": module(
        "self.l = nn.LSTMCell(5, 5)\nself.g = nn.GRUCell(5, 5)",
        "h = torch.zeros_like(x)\nh, c = self.l(x, (h, h))\nreturn self.g(h, c)",
        "torch.randn(batch_size, 5)",
    ),
    "plain_attribute": module(
        "self.h = torch.randn(3, 5)",
        "self.h = torch.tanh(self.h.to(x.device) + x)\nreturn self.h",
        "torch.randn(3, 5)",
    ),
    "item_of_buffer": module(
        "self.register_buffer('eps', torch.tensor(1e-3))",
        "return F.batch_norm(x, None, None, training=True, eps=self.eps.item())",
        "torch.randn(6, 5)",
    ),
    "item_in_constructor": module(
        "self.rates = [v.item() for v in torch.linspace(0, 1, 4)]",
        "return x * self.rates[2]",
        "torch.randn(6, 5)",
    ),
    "half": module(
        "self.l = nn.Linear(6, 4).half()", "return self.l(x.half()).float()", "torch.randn(3, 6)"
    ),
    "dropout_zero": module("self.d = nn.Dropout(0.0)", "return self.d(x) + 1", "torch.randn(3, 6)"),
    "einsum_matmul": simple(
        "y = x.view(batch_size, 2, 5)\n"
        "return torch.einsum('bij,bkj->bik', y, y), torch.matmul(y, x.view(5, 6)), x @ x[0]"
    ),
    "pad_roll_cat": simple(
        "y = F.pad(x, (1, 2), value=1.5)\n"
        "return torch.cat([y, x.roll(2, 1)], 1), torch.stack([x, x], 2), F.one_hot(x.argmax(1), 10)"
    ),
    "functional_layer_norm": _HEAD
    + """
def module_fn(x, weight, bias, eps, flag=None, *, dims=(2,)):
    return F.layer_norm(x, (x.size(-1),), weight, bias, eps)

class Model(nn.Module):
    def __init__(self, n, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(n))
        self.bias = nn.Parameter(torch.zeros(n))
        self.eps = eps

    def forward(self, x, fn=module_fn):
        return fn(x, self.weight, self.bias, self.eps)

batch_size, n = 4, 12
def get_inputs(): return [torch.rand(batch_size, n)]
def get_init_inputs(): return [n, 1e-5]
""",
    "functional_batch_norm": _HEAD
    + """
def module_fn(x, params, running_mean, running_var, training):
    y = F.batch_norm(x, running_mean, running_var, params['w'], params['b'], training=training)
    return y * params['w'].t()

class Model(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.p = nn.ParameterDict({'w': torch.rand(n), 'b': torch.rand(n)})
        self.register_buffer('mean', torch.zeros(n))
        self.register_buffer('variance', torch.ones(n))

    def forward(self, x, fn=module_fn):
        return fn(x, self.p, self.mean, self.variance, self.training)

n = 6
def get_inputs(): return [torch.randn(5, n)]
def get_init_inputs(): return [n]
""",
    "functional_computed": _HEAD
    + """
def module_fn(x, w, sizes, items):
    return x @ w + items[0] * items[1]

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(4, 4))
        self.v = nn.ParameterList([torch.randn(4), torch.randn(4)])

    def forward(self, x):
        return module_fn(x * 2, self.w.t(), [1, 2], list(self.v)) - 1

def get_inputs(): return [torch.randn(4, 4)]
""",
}
