"""Which weight of a program stands for which parameter or state of the reference."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from assay.construct import Construction
from assay.errors import UnsupportedError

_STATISTICS = ("running_mean", "running_var", "num_batches_tracked")


@dataclass
class Weight:
    """A parameter or running statistic of a module, as it stands when the module is built."""

    name: str
    role: str  # parameter, state
    tensor: torch.Tensor
    key: str  # construct.Construction.keys
    drawn: bool  # at random; else a constant

    def fits(self, other: Weight) -> bool:
        return self.tensor.shape == other.tensor.shape and self.tensor.dtype == other.tensor.dtype


def weights(model: torch.nn.Module, construction: Construction) -> list[Weight]:
    found = [("parameter", n, p.detach()) for n, p in model.named_parameters()]
    found += [("state", n, b) for n, b in model.named_buffers() if n.endswith(_STATISTICS)]
    for _, _, tensor in found:
        construction.follow(tensor)
    construction.settle()
    buffers = [construction.buffer_of(t) for _, _, t in found]
    keys = construction.keys(set(buffers))
    out = []
    for (role, name, tensor), buffer in zip(found, buffers, strict=True):
        geometry = (list(tensor.shape), list(tensor.stride()), int(tensor.storage_offset()))
        key = f"{keys[buffer]} {geometry}"
        out.append(Weight(name, role, tensor, key, construction.drawn(buffer)))
    return out


@dataclass
class Pairing:
    pairs: list[tuple[Weight, Weight]]  # of the reference, of the program
    missing: list[Weight]  # of the reference: no registered weight of the program is it
    extra: list[Weight]  # of the program
    other_values: list[Weight]  # of the program: paired by name, but initialised otherwise


def pair(reference: list[Weight], program: list[Weight]) -> Pairing:
    """By name, then by equal initial values. Errors: Unsupported where several fit equally."""
    out = Pairing([], [], [], [])
    by_name = {w.name: w for w in program}
    left = {id(w): w for w in program}
    rest = []
    for r in reference:
        c = by_name.get(r.name)
        if c is None or not r.fits(c):
            rest.append(r)
            continue
        out.pairs.append((r, c))
        del left[id(c)]
        if r.key != c.key:
            out.other_values.append(c)
    for r in rest:
        if r in (known for known, _ in out.pairs) or r in out.missing:
            continue
        same = [w for w in rest if w.key == r.key and w.role == r.role]
        fit = [w for w in left.values() if w.key == r.key and w.role == r.role]
        if not fit:
            out.missing += same
        elif len(fit) == len(same):  # equal values: in the order of both
            out.pairs += zip(same, fit, strict=True)
            for w in fit:
                del left[id(w)]
        else:
            raise UnsupportedError(
                f"which parameter of ModelNew stands for which of the reference is ambiguous: "
                f"{_names(fit)} (ModelNew), {_names(same)} (reference) have the same shape and "
                "initial values; give them the same names"
            )
    out.extra = list(left.values())
    return out


def _names(group: list[Weight]) -> str:
    return ", ".join(w.name for w in group)
