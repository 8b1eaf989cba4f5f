#!/usr/bin/env python3
"""Mutants of a CUDA kernel: mutate.py KERNEL.cu [-n N] [--seed S] [-o FOLDER]

The same file and seed give the same mutants. A mutant is one edit in the body of a __global__ or
__device__ function (or in a constant of the file that such a body uses): first an operator is
drawn from those that have a place in the file, then one of its places, then one of its variants.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from cuda_source import Source
from operators import OPERATORS, Edit


@dataclass(frozen=True)
class Mutant:
    operator: str
    line: int
    before: str
    after: str
    text: str


def draws(text: str, seed: int, name: str = "") -> Iterator[Mutant]:
    """Distinct mutants of a file, in the order drawn; ends when all are drawn."""
    source = Source(text)
    sites = {op: list(find(source)) for op, find in OPERATORS.items()}
    left = {
        op: [[e for e in site if changed(text, e)] for site in all_sites]
        for op, all_sites in sites.items()
    }
    rng = random.Random(zlib.crc32(f"{seed}:{name}".encode()))
    seen = {text}
    while True:
        left = {op: kept for op, all_sites in left.items() if (kept := [s for s in all_sites if s])}
        if not left:
            return
        operator = rng.choice(list(left))
        site = rng.choice(left[operator])
        edit = rng.choice(site)
        site.remove(edit)
        mutated = text[: edit.start] + edit.after + text[edit.end :]
        if mutated in seen:
            continue
        seen.add(mutated)
        before = text[edit.start : edit.end]
        yield Mutant(operator, source.line(edit.start), before, edit.after, mutated)


def changed(text: str, edit: Edit) -> bool:
    """Is it another text, white space aside?"""
    squeeze = lambda t: re.sub(r"\s+", "", t)
    return squeeze(text[edit.start : edit.end]) != squeeze(edit.after)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("kernel", type=Path)
    parser.add_argument("-n", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-o", "--output", type=Path, help="write the mutants into this folder")
    args = parser.parse_args()
    stream = draws(args.kernel.read_text(), args.seed, args.kernel.resolve().parent.name)
    for number, mutant in zip(range(args.n), stream, strict=False):
        edit = f"{mutant.before!r} -> {mutant.after!r}"
        print(f"{number:3} {mutant.operator:20} {mutant.line:4}  {edit}")
        if args.output:
            args.output.mkdir(parents=True, exist_ok=True)
            (args.output / f"{args.kernel.stem}.{number}.cu").write_text(mutant.text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
