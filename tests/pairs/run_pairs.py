#!/usr/bin/env python3
"""Runs `assay check` on the pairs of this folder and compares with what case.toml expects.

  run_pairs.py --assay BIN [-j N] [--json FILE] [--self] [NAME...]

Prints one line a kernel: pair, file, expected, verdict (class or finding), seconds. Exits 1 if a
verdict differs from the expected one. A wrong kernel that is proved is marked UNSOUND, a right one
that is refuted FALSE ALARM. With --self every right kernel is checked against itself, called as
ref.py says; that must be proved too.
"""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from assay_runs import check  # noqa: E402

# Expectations that are findings beside a verdict: the kinds of finding that meet them.
FINDINGS = {
    "accuracy": {"accuracy", "overflow-risk"},
    "special-value": {"special-value"},
    "racy-idiom": {"racy-idiom"},
    "other-shapes": {"other-shapes"},
    "cheat": {"harness-cheat"},
}


def judge(expected: str, got: dict, right: bool) -> str:
    """'ok', or what is wrong."""
    kind = got["kind"]
    if right:
        return "ok" if kind == "proved" else "FALSE ALARM" if kind == "refuted" else "open"
    if expected in FINDINGS:
        return "ok" if FINDINGS[expected] & set(got["findings"]) or kind == "refuted" else "missed"
    if kind == expected:
        return "ok"
    return "UNSOUND" if kind == "proved" else "open"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--assay", required=True)
    parser.add_argument("-j", type=int, default=1)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--timeout", type=float, default=180)
    parser.add_argument("--self", action="store_true", help="right kernels against themselves")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    jobs = []
    for case in sorted(HERE.glob("*/case.toml")):
        if args.names and not any(case.parent.name.startswith(n) for n in args.names):
            continue
        spec = tomllib.loads(case.read_text())
        for kernel in sorted(case.parent.glob("*.cu")):
            right = kernel.stem.startswith("right")
            if args.self and not right:
                continue
            key = "right" if right else kernel.stem if kernel.stem in spec else "wrong"
            jobs.append((kernel, spec[key] if isinstance(spec[key], str) else spec["wrong"], right))

    def run(job: tuple[Path, str, bool]) -> dict:
        kernel, expected, right = job
        reference = kernel.parent / "ref.py"
        if args.self:
            got = check(args.assay, kernel, kernel, args.timeout, "--inputs", str(reference))
        else:
            got = check(args.assay, kernel, reference, args.timeout)
        got |= {"pair": kernel.parent.name, "file": kernel.name, "expected": expected}
        got["judgement"] = judge(expected, got, right)
        return got

    rows = []
    with ThreadPoolExecutor(args.j) as pool:
        for row in pool.map(run, jobs):
            rows.append(row)
            print(
                f"{row['judgement']:12} {row['pair']:28} {row['file']:10} expected {row['expected']:14} "
                f"got {row['kind']:14} {row['class']:18} {row['seconds']:6.1f} s  {','.join(row['findings'])}"
                + ("" if row["judgement"] == "ok" else f"\n             {row['reason'][:300]}"),
                flush=True,
            )
    bad = [r for r in rows if r["judgement"] != "ok"]
    print(f"{len(rows) - len(bad)} passed, {len(bad)} failed")
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
