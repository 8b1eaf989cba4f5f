"""Executes an exported Program with PyTorch on real data: buffers are flat byte tensors, views are
as_strided windows on them. Independent of the exporter: it reads the JSON alone."""

from __future__ import annotations

import base64
from typing import Any

import torch

Json = dict[str, Any]


def dtype_of(name: str) -> torch.dtype:
    return getattr(torch, name)


class Machine:
    def __init__(self, program: Json) -> None:
        self.program = program
        self.memory: list[torch.Tensor] = []
        for b in program["buffers"]:
            # Poison: 0xff bytes are NaN in every float type.
            flat = torch.full((b["bytes"],), 0xFF, dtype=torch.uint8)
            if b["init"] == "data":
                flat.copy_(
                    torch.frombuffer(bytearray(base64.b64decode(b["data"])), dtype=flat.dtype)
                )
            elif b["dtype"] == "bool":
                flat.zero_()
            self.memory.append(flat)

    def view(self, v: Json) -> torch.Tensor:
        flat = self.memory[v["buffer"]].view(dtype_of(v["dtype"]))
        return torch.as_strided(flat, v["shape"], v["strides"], v["offset"])

    def value(self, a: Any) -> Any:
        if isinstance(a, dict):
            if "tensors" in a:
                return [None if v["buffer"] < 0 else self.view(v) for v in a["tensors"]]
            if "dtype" in a and "buffer" not in a:
                return dtype_of(a["dtype"])
            if "floats" in a:
                return [self.value(v) for v in a["floats"]]
            if "float" in a:
                return float(a["float"])
            return None if a["buffer"] < 0 else self.view(a)
        return a

    def set_buffer(self, name: str, tensor: torch.Tensor) -> None:
        """Fills the named input, parameter or state (dense) with a tensor's values."""
        for i, b in enumerate(self.program["buffers"]):
            if b["name"] == name and b["role"] != "temp":
                dense = torch.empty_like(tensor).copy_(tensor.detach())
                assert dense.numel() * dense.element_size() == b["bytes"], name
                flat = torch.as_strided(dense, (dense.numel(),), (1,), 0)
                self.memory[i].copy_(flat.contiguous().view(torch.uint8).reshape(-1))
                return
        raise KeyError(name)

    def step(self, step: Json) -> None:
        base, _, overload = step["op"].removeprefix("aten::").partition(".")
        func = getattr(getattr(torch.ops.aten, base), overload or "default")
        positional, keyword = [], {}
        assert len(step["args"]) == len(func._schema.arguments), step["op"]
        for parameter, a in zip(func._schema.arguments, step["args"], strict=True):
            if parameter.kwarg_only:
                keyword[parameter.name] = self.value(a)
            else:
                positional.append(self.value(a))
        results = func(*positional, **keyword)
        results = results if isinstance(results, tuple | list) else (results,)
        assert len(results) == len(step["outputs"]), step["op"]
        for v, result in zip(step["outputs"], results, strict=True):
            target = self.view(v)
            if result.numel() == 0 and "batch_norm" in step["op"]:
                continue  # in evaluation mode the CPU saves no statistics
            assert target.dtype == result.dtype, f"{step['op']}: {target.dtype} {result.dtype}"
            assert target.shape == result.shape, f"{step['op']}: {target.shape} {result.shape}"
            target.copy_(result)

    def run(self) -> list[torch.Tensor]:
        with torch.no_grad():
            for step in self.program["steps"]:
                self.step(step)
        return [self.view(v).clone() for v in self.program["outputs"]]
