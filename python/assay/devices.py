"""Code that names a GPU, run on a machine that has none."""

from __future__ import annotations

from typing import Any

import torch
from torch.overrides import TorchFunctionMode


class OnCpu(TorchFunctionMode):
    """Whatever is made on a GPU or moved there lies on the CPU."""

    def __torch_function__(self, func, types_, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func is torch.Tensor.cuda:  # would look for a driver
            self.moved(args[0])
            return args[0]
        moves = names_gpu(kwargs.get("device")) or any(names_gpu(a) for a in args[1:])
        args = tuple(_on_cpu(a) for a in args)
        kwargs = {k: _on_cpu(v) if k == "device" else v for k, v in kwargs.items()}
        out = self.call(func, args, kwargs, moves)
        if moves:
            self.moved(out)
        return out

    def call(self, func: Any, args: Any, kwargs: Any, moves: bool) -> Any:
        return func(*args, **kwargs)

    def moved(self, value: Any) -> None:
        """A tensor, or a structure of some, that would now lie on the GPU."""


def names_gpu(value: Any) -> bool:
    if isinstance(value, str):
        return value.split(":")[0] == "cuda"
    return isinstance(value, torch.device) and value.type == "cuda"


def _on_cpu(value: Any) -> Any:
    return torch.device("cpu") if names_gpu(value) else value
