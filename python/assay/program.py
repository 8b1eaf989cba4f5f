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


def _floats(values: list[Any]) -> set[float]:
    leaves = [v for value in values for v in (value if isinstance(value, list) else [value])]
    return {v for v in leaves if type(v) is float}


def views_in(value: Any) -> list[Json]:
    """All defined views inside an encoded argument."""
    if isinstance(value, dict):
        if "tensors" in value:
            return [v for v in value["tensors"] if v["buffer"] >= 0]
        if value.get("buffer", -1) >= 0:
            return [value]
    return []


def places_in(step: Json) -> list[Json]:
    """Whatever names a buffer in a step, under "buffer", "dst" or "src"."""
    if step["kind"] == "op":
        return [*step["outputs"], *(v for a in step["args"] for v in views_in(a))]
    if step["kind"] == "launch":
        return [s for s in step["slots"] if "scalar" not in s]
    return [step]


def buffers_in(step: Json) -> list[int]:
    places = places_in(step)
    found = [v.get(key, -1) for v in places for key in ("buffer", "dst", "src")]
    return [b for b in found if b >= 0]


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
    changed: list[tuple[str, int | float]] = field(default_factory=list)
    input_floats: dict[int, float] = field(default_factory=dict)  # of get_inputs(), by position
    form: str = "module"
    function: str = "module_fn"
    modules: list[Json] = field(default_factory=list)
    scalars: list[Json] = field(default_factory=list)
    # Steps that what follows is not ordered behind: work on streams that nothing has waited for.
    unjoined: set[int] = field(default_factory=set)
    waited: set[int] = field(default_factory=set)  # steps that the host has waited for
    stream: set[int] | None = None  # current one: what its work is ordered behind; None: default
    stream_number: int = 0

    def module(self, name: str) -> int:
        """The index of the module that Assay knows by this name."""
        for k, m in enumerate(self.modules):
            if m["name"] == name:
                return k
        self.modules.append({"name": name, "symbols": []})
        return len(self.modules) - 1

    def add_buffer(self, buffer: Buffer) -> int:
        self.buffers.append(buffer)
        return len(self.buffers) - 1

    def add_step(self, op: str, args: list[Any], outputs: list[Json], loc: Json | None) -> None:
        step: Json = {"kind": "op", "op": op, "args": args, "outputs": outputs}
        if loc is not None:
            step["loc"] = loc
        if self.stream is not None or self.unjoined:
            step["implicit_order"] = False
            step["after"] = self.done(self.stream)
        if self.stream is not None:
            step["stream"] = self.stream_number
            self.stream.add(len(self.steps))
            self.unjoined.add(len(self.steps))
        self.steps.append(step)

    def done(self, stream: set[int] | None) -> list[int]:
        """The steps that work on a stream (None: the default one) is ordered behind."""
        if stream is not None:
            return sorted(stream | self.waited)
        return [k for k in range(len(self.steps)) if k not in self.unjoined]

    def add_call(self, steps: list[Json], done: list[list[int]]) -> None:
        """The steps of one call of an extension function. The first ones stand for what was done
        before on the default stream, and on the current one where that is another; `done`: those
        that are done before what follows on the two."""
        standing = [self.done(None)] if done else []
        if done and self.stream is not None:
            standing.append(self.done(self.stream))
        first = len(self.steps) - len(standing)  # new index = old index + first
        several = self.stream is not None or bool(self.unjoined)
        several = several or not all(s.get("implicit_order", True) for s in steps)
        before: list[set[int]] = []  # of each old step, in new indices
        for k, step in enumerate(steps):
            if step.get("implicit_order", True):
                step["after"] = list(range(k))
            step.setdefault("after", [])  # ordered behind nothing
            after = set(standing[k]) if k < len(standing) else {k + first}
            for a in step["after"]:
                after |= before[a]
            before.append(after)
            if k >= len(standing):
                step["after"] = sorted(after - {k + first}) if several else []
                step["implicit_order"] = not several
                self.steps.append(step)
        if several:
            own = set(range(len(self.steps) - len(steps) + len(standing), len(self.steps)))
            self.unjoined |= own - {k + first for k in done[0]}
            if self.stream is not None:
                for k in done[1]:
                    self.stream |= before[k]

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
        needed |= {s["buffer"] for s in self.scalars}
        needed |= {b for m in self.modules for _, b in m["symbols"]}
        for step in self.steps:
            if step["kind"] == "launch":  # may write whatever it points to
                needed |= set(buffers_in(step))
        kept = []
        new_step: dict[int, int] = {}
        for k in range(len(self.steps) - 1, -1, -1):
            step = self.steps[k]
            if step["kind"] == "op":
                live = bool({v["buffer"] for v in step["outputs"]} & needed)
            else:
                live = step["kind"] == "launch" or step["dst"] in needed
            if live:
                needed |= set(buffers_in(step))
                kept.append(step)
                new_step[k] = len(kept)
        self.steps = kept[::-1]
        new_step = {k: len(kept) - n for k, n in new_step.items()}
        for step in self.steps:
            if "after" in step:
                step["after"] = [new_step[a] for a in step["after"] if a in new_step]
        self.unjoined = {new_step[a] for a in self.unjoined if a in new_step}
        for note in self.notes:
            if "step" in note:
                note["step"] = new_step.get(note["step"], -1)
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

        seen: set[tuple[int, str]] = set()

        def fix(v: Json) -> None:
            if (id(v), "buffer") not in seen:  # a view may be shared between places
                seen.add((id(v), "buffer"))
                if v["buffer"] >= 0:
                    v["buffer"] = new_index[v["buffer"]]

        for step in self.steps:
            for v in places_in(step):
                for key in ("buffer", "dst", "src"):
                    if v.get(key, -1) >= 0 and (id(v), key) not in seen:
                        seen.add((id(v), key))
                        v[key] = new_index[v[key]]
        for s in self.scalars:
            s["buffer"] = new_index[s["buffer"]]
        for m in self.modules:
            m["symbols"] = [[symbol, new_index[b]] for symbol, b in m["symbols"]]
        for a in self.arguments:
            for v in views_in(a["value"]):
                fix(v)
        for v in self.outputs + self.mutated:
            fix(v)

    def passed_floats(self) -> tuple[set[float], set[float]]:
        """What a call of the candidate passes; what it may pass: floats a module is built with."""
        values = [a["value"] for a in self.arguments if a["source"] == "scalar"]
        built = [a["value"] for a in self.init_args] if self.form == "module" else []
        return _floats(values), _floats(built)

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
        if self.function != "module_fn":
            out["function"] = self.function
        if self.unjoined:
            out["unjoined"] = sorted(self.unjoined)
        if self.modules:
            out["modules"] = self.modules
        if self.scalars:
            out["scalars"] = self.scalars
        if self.init_args:
            out["init_args"] = self.init_args
        if self.changed:
            out["changed"] = [list(pair) for pair in self.changed]
        return out
