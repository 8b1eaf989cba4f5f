"""Altered shapes: ref.py with its module-level integers changed.

A *size* is an integer literal assigned at module level, alone (`dim = 64`), in a tuple of names
(`m, n = 8, 16`) or as an element of a tuple or list (`shape = (3, 5)`: "shape[0]", "shape[1]").
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

# Integers below this are taken for kernel sizes, strides, axes, counts of layers or heads.
SMALLEST_SIZE = 8
TILE = 128


def _literal(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int


def _targets(tree: ast.Module) -> Iterator[tuple[str, ast.Constant]]:
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target, value = statement.targets[0], statement.value
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            target, value = statement.target, statement.value
        else:
            continue
        if isinstance(target, ast.Name):
            if _literal(value):
                yield target.id, value
            elif isinstance(value, ast.Tuple | ast.List):
                for i, item in enumerate(value.elts):
                    if _literal(item):
                        yield f"{target.id}[{i}]", item
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            for name, item in zip(target.elts, value.elts, strict=False):
                if isinstance(name, ast.Name) and _literal(item):
                    yield name.id, item


def module_integers(source: str) -> dict[str, int]:
    """Name -> value, in source order; a name that is assigned twice keeps its last value."""
    return {name: node.value for name, node in _targets(ast.parse(source))}


def apply_changes(tree: ast.Module, changes: dict[str, int]) -> None:
    """Replaces literals in place. Unknown names raise KeyError."""
    left = set(changes)
    for name, node in _targets(tree):
        if name in changes:
            node.value = changes[name]
            left.discard(name)
    if left:
        raise KeyError(", ".join(sorted(left)))


def is_batch(name: str) -> bool:
    base = name.lower().split("[")[0]
    return "batch" in base or base in ("b", "bs", "n_samples", "num_samples")


def _shrunk_size(value: int) -> int:
    """Few tiles, with the same remainder modulo 32, 64 and 128."""
    return value if value <= 2 * TILE else TILE + value % TILE


def _shrunk_batch(value: int) -> int:
    return value if value <= 4 else 2 + value % 2


def variants(integers: dict[str, int]) -> list[dict[str, int]]:
    """Changes to try, the most telling first. Many will be rejected by the reference."""
    batches = [k for k in integers if is_batch(k)]
    sizes = [k for k, v in integers.items() if not is_batch(k) and v >= SMALLEST_SIZE]
    large = [k for k, v in integers.items() if v >= SMALLEST_SIZE]
    same = {integers[k] for k in sizes}  # a batch that equals a size may have to stay equal to it

    apart = dict(integers)
    apart.update({k: _shrunk_batch(integers[k]) for k in batches})
    apart.update({k: _shrunk_size(integers[k]) for k in sizes})
    together = dict(apart)
    together.update({k: _shrunk_size(integers[k]) for k in batches if integers[k] in same})

    def moved(base: dict[str, int], names: list[str], by: int) -> dict[str, int]:
        return {**base, **{k: base[k] + by for k in names}}

    def staggered(base: dict[str, int]) -> dict[str, int]:
        """Every size moved by another amount: equal sizes part, so swapped extents show."""
        return {**base, **{k: base[k] + 1 + i for i, k in enumerate(sizes)}}

    out = []
    for base in (apart, together):
        out += [base, moved(base, batches, 1), staggered(base)]
        out += [moved(base, sizes, 1), moved(base, sizes, -1)]
    out += [moved(together, large, 1)]
    out += [moved(base, [k], 1) for k in sizes for base in (apart, together)]
    out += [moved(integers, [k], 1) for k in batches]
    out += [{**integers, k: apart[k]} for k in sizes]
    out += [moved(integers, [k], 1) for k in sizes]
    unique: list[dict[str, int]] = []
    for change in out:
        effective = {k: v for k, v in change.items() if integers[k] != v and v > 0}
        if effective and effective not in unique:
            unique.append(effective)
    return unique
