"""Altered shapes and scalars: ref.py with its module-level numbers changed.

A *size* is an integer literal assigned at module level, alone (`dim = 64`), in a tuple of names
(`m, n = 8, 16`) or as an element of a tuple or list (`shape = (3, 5)`: "shape[0]", "shape[1]").
Floats are found at the same places, and in the list of get_inputs() ("get_inputs()[1]").
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

Changes = dict[str, Any]  # name -> int or float

# Integers below this are taken for kernel sizes, strides, axes, counts of layers; those whose name
# tells a count of channels, groups or heads are sizes all the same.
SMALLEST_SIZE = 8
COUNTS = ("channel", "group", "head", "feature")
TILE = 128
BLOCK = 1024  # the most threads of a block
LARGEST_VOLUME = 1 << 27  # product of all sizes


def _literal(node: ast.expr) -> int | float | None:
    """Floats may be negative: -1.0 is an operator and a constant."""
    sign = 1
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        sign, node = -1, node.operand
    if not isinstance(node, ast.Constant):
        return None
    if type(node.value) is float and math.isfinite(node.value):
        return sign * node.value
    return node.value if type(node.value) is int and sign == 1 else None


def _targets(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target, value = statement.targets[0], statement.value
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            target, value = statement.target, statement.value
        else:
            continue
        if isinstance(target, ast.Name):
            if _literal(value) is not None:
                yield target.id, value
            elif isinstance(value, ast.Tuple | ast.List):
                for i, item in enumerate(value.elts):
                    if _literal(item) is not None:
                        yield f"{target.id}[{i}]", item
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            for name, item in zip(target.elts, value.elts, strict=False):
                if isinstance(name, ast.Name) and _literal(item) is not None:
                    yield name.id, item


def module_integers(source: str) -> dict[str, int]:
    """Name -> value, in source order; a name that is assigned twice keeps its last value."""
    return {n: v for n, v in _numbers(source).items() if isinstance(v, int)}


def module_floats(source: str) -> dict[str, float]:
    return {n: v for n, v in _numbers(source).items() if isinstance(v, float)}


def _numbers(source: str) -> dict[str, int | float]:
    found = ((name, _literal(node)) for name, node in _targets(ast.parse(source)))
    return {name: value for name, value in found if value is not None}


_INPUT = "get_inputs()["


def input_name(k: int) -> str:
    return f"{_INPUT}{k}]"


def replace_inputs(inputs: list[Any], changes: Changes) -> list[Any]:
    """What get_inputs() returned, with its scalars changed."""
    for name, value in changes.items():
        if name.startswith(_INPUT):
            inputs[int(name[len(_INPUT) : -1])] = value
    return inputs


def apply_changes(tree: ast.Module, changes: Changes) -> None:
    """Replaces literals in place. Unknown names raise KeyError."""
    left = {name for name in changes if not name.startswith(_INPUT)}
    for name, node in _targets(tree):
        if name not in changes:
            continue
        if isinstance(node, ast.UnaryOp):
            node.operand = ast.copy_location(ast.Constant(-changes[name]), node.operand)
        else:
            assert isinstance(node, ast.Constant)
            node.value = changes[name]
        left.discard(name)
    if left:
        raise KeyError(", ".join(sorted(left)))


def is_batch(name: str) -> bool:
    base = name.lower().split("[")[0]
    return "batch" in base or base in ("b", "bs", "n_samples", "num_samples")


def _is_count(name: str) -> bool:
    return any(word in name.lower() for word in COUNTS)


def _shrunk(value: int) -> int:
    """Few tiles, with the same remainder modulo 32, 64 and 128."""
    return value if value <= 2 * TILE else TILE + value % TILE


@dataclass
class Kind:
    """One way to alter the shape: the first of its attempts that the reference takes is used."""

    name: str
    attempts: list[Changes] = field(default_factory=list)


def altered_floats(floats: dict[str, float], taken: set[float]) -> dict[str, float]:
    """Another value for each, none of `taken` and no two alike, so that it can be recognized where
    it arrives. Order is kept, but for what is nearly equal."""
    least = min((abs(v) for v in floats.values() if v), default=1.0)
    taken = taken | set(floats.values())
    out = {}
    for name, value in floats.items():
        given = value or min(1.0, least) / 2
        tries = (given * (48 - k) / 64 for k in range(32))
        other = next((v for v in tries if v not in taken), None)
        if other is not None:  # a value so small that it has no others is left
            out[name] = other
            taken.add(other)
    return out


class _Sizes:
    """The integers of a reference and the ties between them that their values suggest."""

    def __init__(self, integers: dict[str, int]) -> None:
        self.given = integers
        self.batches = [k for k in integers if is_batch(k)]
        self.names = [
            k
            for k, v in integers.items()
            if not is_batch(k) and (v >= SMALLEST_SIZE or (v >= 2 and _is_count(k)))
        ]
        # The smallest size that divides each: groups of channels, heads of an embedding.
        self.divisor = {
            n: min(self.divisors(n), key=lambda d: integers[d])
            for n in self.names
            if self.divisors(n)
        }

    def divisors(self, n: str) -> list[str]:
        def divides(d: int, v: int) -> bool:
            return d < v and v % d == 0

        return [d for d in self.names if divides(self.given[d], self.given[n])]

    def batch(self, value: int) -> dict[str, int]:
        return {k: value if value != self.given[k] else value + 1 for k in self.batches}

    def tied(self, target: dict[str, int], rules: str) -> dict[str, int]:
        """`target` with ties kept: e equal sizes stay equal, o their order stays, d what is a
        multiple of another stays one (an odd one, where the target leaves the choice)."""
        out = dict(target)
        if "e" in rules:
            first: dict[int, int] = {}
            for k in self.names + self.batches:
                if self.given[k] >= SMALLEST_SIZE:
                    out[k] = first.setdefault(self.given[k], out[k])
        ascending = sorted(self.names, key=lambda k: self.given[k])
        if "o" in rules:
            least = 0
            for k in ascending:
                out[k] = least = max(least, out[k])
        if "d" in rules:
            for n in ascending:
                d = out[self.divisor[n]] if n in self.divisor else 1
                if out[n] % d != 0:
                    out[n] = d * max(2, out[n] // d | 1)
        return out

    def volume(self, integers: dict[str, int]) -> int:
        return math.prod(integers[k] for k in self.names + self.batches)

    def kind(self, name: str, *targets: dict[str, int], only: str | None = None) -> Kind:
        """Attempts at each target: as it is, then with more and more ties kept. `only`: the size
        that has to change. None is much larger than the given shape and a small one."""
        result = Kind(name)
        most = max(LARGEST_VOLUME, 2 * self.volume(self.given))
        for target in targets:
            for rules in ("", "d", "e", "ed", "eod"):
                full = self.tied({**self.given, **target}, rules)
                change = {k: v for k, v in full.items() if self.given[k] != v and v > 0}
                if change in result.attempts or self.volume(full) > most:
                    continue
                if change and (only is None or only in change):
                    result.attempts.append(change)
        return result


def kinds(integers: dict[str, int]) -> list[Kind]:
    """Ways to alter the shape, the most telling first.

    Together: all sizes odd and apart; all as given but shrunk; all below a warp. Alone: each count
    that divides another size grown; each size beyond what one block of threads covers, the others
    small multiples of a vector; each size by a little.
    """
    s = _Sizes(integers)
    given, names = integers, s.names
    shrunk = {k: _shrunk(given[k]) for k in names}
    ranked = sorted(names, key=lambda k: shrunk[k])  # sizes that part keep their order

    def odd(base: dict[str, int]) -> dict[str, int]:
        return {k: (base[k] + 1 | 1) + 2 * i for i, k in enumerate(ranked)}

    vector = {k: SMALLEST_SIZE + given[k] % SMALLEST_SIZE for k in names if given[k] > BLOCK // 64}
    warp = {k: 32 + given[k] % 32 for k in names if given[k] > 64}
    small = {k: 5 + 2 * i for i, k in enumerate(ranked) if given[k] > 5 + 2 * i}
    out = [
        s.kind(
            "odd",
            {**s.batch(5), **odd(shrunk)},
            {**s.batch(5), **{k: v + 1 for k, v in shrunk.items()}},
            {**s.batch(5), **{k: v - 1 for k, v in shrunk.items()}},
        ),
        s.kind("shrunk", {**s.batch(3), **shrunk}, s.batch(3), shrunk),
    ]
    for d in sorted(set(s.divisor.values()), key=lambda k: given[k])[:2]:
        grown = []
        for n in sorted((n for n in names if d in s.divisors(n)), key=lambda k: -given[k]):
            most = given[n] // 2 if given[n] // 2 > given[d] else given[n]
            grown.append({**s.batch(2), **vector, d: most, n: given[n]})
        out.append(s.kind("grown", *grown, only=d))
    out.append(
        s.kind("small", {**s.batch(1), **small}, {**s.batch(1), **odd({**shrunk, **vector})})
    )
    for k in sorted(names, key=lambda k: given[k] > BLOCK):  # first where the given one is short
        long = {**s.batch(2), k: BLOCK + (shrunk[k] | 1) + 2}
        out.append(s.kind("long", {**vector, **long}, {**warp, **long}, only=k))
    out += [
        s.kind(
            "alone",
            {**s.batch(2), **shrunk, k: shrunk[k] + 1 | 1},
            {k: given[k] + 1 | 1},
            {k: given[k] + 1},
            only=k,
        )
        for k in names
    ]
    return [k for k in out if k.attempts]
