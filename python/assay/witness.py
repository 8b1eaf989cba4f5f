"""Witnesses: the inputs of a counterexample, as src/program/witness.h writes them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from assay.errors import ExportError, InvalidError
from assay.philox import draw


@dataclass
class WitnessInput:
    source: str
    number: int
    dtype: str
    shape: list[int]
    strides: list[int]
    offset: int
    elements: int
    draw: tuple[Any, ...]  # kind, lo, hi, step, count, then a band where there is one
    overrides: list[tuple[int, float]] = field(default_factory=list)

    def tensor(self, seed: int) -> torch.Tensor:
        """A window on a flat buffer, as the Program's view is."""
        values = draw(seed, self.number, self.draw, self.dtype, self.elements, self.overrides)
        flat = torch.from_numpy(values).to(getattr(torch, self.dtype))
        return torch.as_strided(flat, self.shape, self.strides, self.offset)


@dataclass
class Witness:
    seed: int
    evaluate: bool
    changed: dict[str, int | float]
    inputs: list[WitnessInput]
    output: int
    element: int
    mutated: str

    def tensors(self) -> dict[str, torch.Tensor]:
        return {i.source: i.tensor(self.seed) for i in self.inputs}


def _band(draw: Any) -> tuple[Any, ...]:
    """inner, extent, first, last, factor; () where there is none."""
    band = draw.get("band")
    return () if band is None else (*map(int, band[:4]), _number(band[4]))


def _number(value: Any) -> float:
    return float(value["float"]) if isinstance(value, dict) else float(value)


def parse(text: str) -> Witness:
    """Errors: Syntax, Invalid."""
    try:
        j = json.loads(text)
    except ValueError as error:
        raise ExportError("syntax", f"witness: {error}") from error
    try:
        inputs = [
            WitnessInput(
                i["source"],
                i["number"],
                i["dtype"],
                i["shape"],
                i["strides"],
                i["offset"],
                i["elements"],
                (
                    i["draw"]["kind"],
                    *(_number(i["draw"][k]) for k in ("lo", "hi", "step")),
                    i["draw"]["count"],
                    *_band(i["draw"]),
                ),
                [(element, _number(value)) for element, value in i["overrides"]],
            )
            for i in j["inputs"]
        ]
        return Witness(
            int(j["seed"]),
            j["eval"],
            dict(j["changed"]),
            inputs,
            int(j["output"]),
            int(j["element"]),
            j["mutated"],
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidError(f"witness: {error!r}") from error


def read(path: Path) -> Witness:
    try:
        return parse(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ExportError("io", f"cannot read {path}: {error.strerror}") from error
