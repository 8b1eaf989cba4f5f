"""Functions that are recorded whole, or by a formula of their own, before PyTorch takes them apart.

Recurrent layers stay one step: unrolled, 512 time steps are 130,000 operators. A function that
another function of torch.nn.functional calls is not seen here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode

from assay.errors import UnsupportedError
from assay.recorder import Recorder


class Composite(TorchFunctionMode):
    def __init__(self, recorder: Recorder, device: str) -> None:
        super().__init__()
        self.recorder = recorder
        self.device = device

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        handler = _HANDLERS.get(func)
        if handler is not None:
            return handler(self.recorder, *args, **kwargs)
        if func is torch.Tensor.cuda:  # would look for a driver
            return args[0].to(self.device)
        return func(*args, **kwargs)


def _rnn(name: str, states: int) -> Callable[..., Any]:
    """torch.lstm, torch.gru, torch.rnn_*: (input, hx, params, has_biases, num_layers, dropout,
    train, bidirectional, batch_first) -> output, one final state for each initial one."""

    def run(rec: Recorder, *args: Any, **kwargs: Any) -> Any:
        if len(args) != 9 or kwargs or not isinstance(args[3], bool):
            raise UnsupportedError(f"{name} over packed sequences")
        x, hx, params, *rest = args
        initial = list(hx) if states == 2 else [hx]
        width = initial[0].shape[-1] * (2 if rest[4] else 1)
        output = x.new_empty((*x.shape[:-1], width))
        final = [h.new_empty(h.shape) for h in initial]

        def tensors(items: list[torch.Tensor]) -> Any:
            return {"tensors": [rec.read(t) for t in items]}

        state = tensors(initial) if states == 2 else rec.read(initial[0])
        encoded = [rec.read(x), state, tensors(list(params))]
        has_biases, layers, dropout, train, bidirectional, batch_first = rest
        encoded += [has_biases, layers, float(dropout), train, bidirectional, batch_first]
        rec.emit(f"aten::{name}.input", encoded, [output, *final])
        return (output, *final)

    return run


def _lstm_cell(rec: Recorder, x, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    h, c = hx
    gates = F.linear(x, w_ih, b_ih) + F.linear(h, w_hh, b_hh)
    i, f, g, o = gates.chunk(4, -1)
    new_c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(new_c), new_c


def _gru_cell(rec: Recorder, x, h, w_ih, w_hh, b_ih=None, b_hh=None):
    i_r, i_z, i_n = F.linear(x, w_ih, b_ih).chunk(3, -1)
    h_r, h_z, h_n = F.linear(h, w_hh, b_hh).chunk(3, -1)
    r, z = torch.sigmoid(i_r + h_r), torch.sigmoid(i_z + h_z)
    n = torch.tanh(i_n + r * h_n)
    return n + z * (h - n)


_HANDLERS: dict[Any, Callable[..., Any]] = {
    torch.lstm: _rnn("lstm", 2),
    torch.gru: _rnn("gru", 1),
    torch.rnn_tanh: _rnn("rnn_tanh", 1),
    torch.rnn_relu: _rnn("rnn_relu", 1),
    torch.lstm_cell: _lstm_cell,
    torch.gru_cell: _gru_cell,
}
