"""Builds the Program JSON of docs/program_schema.md."""

from __future__ import annotations

import base64
import math
from dataclasses import dataclass, field
from typing import Any

SCHEMA = 1

Json = dict[str, Any]


def number(value: float) -> Any:
    """A float as JSON; NaN and infinities have no literal there."""
    if math.isfinite(value):
        return float(value)
    return {"float": "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"}


@dataclass
class Buffer:
    name: str
    nbytes: int
    dtype: str
    role: str = "temp"
    init: str = "poison"
    data: bytes | None = None
    example_range: tuple[float, float] | None = None

    def json(self) -> Json:
        out: Json = {
            "name": self.name,
            "bytes": self.nbytes,
            "dtype": self.dtype,
            "role": self.role,
            "init": self.init,
        }
        if self.data:
            out["data"] = base64.b64encode(self.data).decode("ascii")
        if self.example_range is not None:
            out["example_range"] = [number(v) for v in self.example_range]
        return out


def view(buffer: int, dtype: str, offset: int, shape: list[int], strides: list[int]) -> Json:
    return {"buffer": buffer, "dtype": dtype, "offset": offset, "shape": shape, "strides": strides}


UNDEFINED: Json = {"buffer": -1}


def views_in(value: Any) -> list[Json]:
    """All defined views inside an encoded argument."""
    if isinstance(value, dict):
        if "tensors" in value:
            return [v for v in value["tensors"] if v["buffer"] >= 0]
        if value.get("buffer", -1) >= 0:
            return [value]
    return []


@dataclass
class Builder:
    name: str
    buffers: list[Buffer] = field(default_factory=list)
    steps: list[Json] = field(default_factory=list)
    arguments: list[Json] = field(default_factory=list)
    outputs: list[Json] = field(default_factory=list)
    mutated: list[Json] = field(default_factory=list)
    notes: list[Json] = field(default_factory=list)
    init_args: list[Json] = field(default_factory=list)
    changed: list[tuple[str, int]] = field(default_factory=list)
    form: str = "module"

    def add_buffer(self, buffer: Buffer) -> int:
        self.buffers.append(buffer)
        return len(self.buffers) - 1

    def add_step(self, op: str, args: list[Any], outputs: list[Json], loc: Json | None) -> None:
        step: Json = {"kind": "op", "op": op, "args": args, "outputs": outputs}
        if loc is not None:
            step["loc"] = loc
        self.steps.append(step)

    def add_note(self, kind: str, severity: str, message: str) -> None:
        self.notes.append({"kind": kind, "severity": severity, "message": message})

    def remove_dead(self) -> None:
        """Drops steps that nothing needs, then temporaries and constants that nothing names."""
        needed = {
            v["buffer"]
            for group in (
                self.outputs,
                self.mutated,
                *(views_in(a["value"]) for a in self.arguments),
            )
            for v in group
            if v["buffer"] >= 0
        }
        kept = []
        for step in reversed(self.steps):
            written = {v["buffer"] for v in step["outputs"]}
            if written & needed:
                needed |= written
                needed |= {v["buffer"] for a in step["args"] for v in views_in(a)}
                kept.append(step)
        self.steps = kept[::-1]
        keep = [
            i in needed or b.role in ("input", "parameter", "state")
            for i, b in enumerate(self.buffers)
        ]
        self._renumber(keep)

    def _renumber(self, keep: list[bool]) -> None:
        new_index: dict[int, int] = {}
        for i, kept in enumerate(keep):
            if kept:
                new_index[i] = len(new_index)
        self.buffers = [b for b, kept in zip(self.buffers, keep, strict=True) if kept]

        seen: set[int] = set()

        def fix(v: Json) -> None:
            if id(v) not in seen:  # a view may be shared between places
                seen.add(id(v))
                if v["buffer"] >= 0:
                    v["buffer"] = new_index[v["buffer"]]

        for step in self.steps:
            for v in step["outputs"]:
                fix(v)
            for a in step["args"]:
                for v in views_in(a):
                    fix(v)
        for a in self.arguments:
            for v in views_in(a["value"]):
                fix(v)
        for v in self.outputs + self.mutated:
            fix(v)

    def json(self) -> Json:
        out: Json = {
            "schema": SCHEMA,
            "name": self.name,
            "form": self.form,
            "buffers": [b.json() for b in self.buffers],
            "arguments": self.arguments,
            "steps": self.steps,
            "outputs": self.outputs,
            "mutated": self.mutated,
            "notes": self.notes,
        }
        if self.init_args:
            out["init_args"] = self.init_args
        if self.changed:
            out["changed"] = [list(pair) for pair in self.changed]
        return out
