#!/usr/bin/env python3
"""Runs `assay check` on the KernelBench programs of this folder, as tests/pairs/run_pairs.py does
on kernels.

  run_programs.py --assay BIN [-j N] [--json FILE] [NAME...]

Each folder has a ref.py, programs with ModelNew, and case.toml: one key a program with what is
expected of it, written down before it was run. Exits 1 if a verdict differs.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "pairs")]
from assay_runs import check  # noqa: E402
from run_pairs import Expectation, expectations, judge, run_all  # noqa: E402


def programs(folder: Path) -> dict[Path, Expectation]:
    """The programs of one folder and what is expected of them."""
    spec = tomllib.loads((folder / "case.toml").read_text())
    return expectations(spec, [folder / f"{name}.py" for name in spec])


def judged(binary: str, program: Path, expected: Expectation, timeout: float, *flags: str) -> dict:
    got = check(binary, program, program.parent / "ref.py", timeout, *flags)
    right = program.stem.startswith("right")
    got["judgement"] = judge(expected, got, right)
    if right and "harness-cheat" in got["findings"]:
        got["judgement"] = "FALSE ALARM"
    return got | {"pair": program.parent.name, "file": program.name, "expected": expected.name}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--assay", required=True)
    parser.add_argument("-j", type=int, default=1)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--timeout", type=float, default=300)
    parser.add_argument("--given-shape-only", action="store_true")
    parser.add_argument("names", nargs="*", help="folders, or FOLDER/PROGRAM, by their beginning")
    args = parser.parse_args()
    flags = ["--given-shape-only"] if args.given_shape_only else []
    jobs = []
    for case in sorted(HERE.glob("*/case.toml")):
        for program, expected in programs(case.parent).items():
            name = f"{case.parent.name}/{program.stem}"
            if not args.names or any(name.startswith(n) for n in args.names):
                jobs.append((program, expected))
    rows = run_all(lambda j: judged(args.assay, *j, args.timeout, *flags), jobs, args.j, args.json)
    return 1 if any(r["judgement"] != "ok" for r in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
