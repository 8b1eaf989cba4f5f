#!/usr/bin/env python3
"""Runs witness scripts (assay check --script) on a machine with a GPU, several at a time.

  confirm_witnesses.py SCRIPTS_FOLDER PAIRS_FOLDER OUT.tsv [-j N] [--timeout S]

SCRIPTS_FOLDER holds NN_name_wrong.py for PAIRS_FOLDER/NN_name/wrong.cu. Each script compiles the
real extension in a folder of its own. One line a script: name, reference, candidate, difference,
or what went wrong. A difference confirms the refutation; NaN counts as one.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path


def run(script: Path, pairs: Path, timeout: float) -> list[str]:
    pair, _, kernel = script.stem.rpartition("_")
    folder = pairs / pair
    with tempfile.TemporaryDirectory() as cache:
        env = os.environ | {
            "TORCH_EXTENSIONS_DIR": cache,
            "MAX_JOBS": "1",
            "TORCH_CUDA_ARCH_LIST": "9.0",
        }
        command = [
            sys.executable,
            str(script),
            str(folder / "ref.py"),
            str(folder / f"{kernel}.cu"),
        ]
        start = time.monotonic()
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=timeout, env=env, check=False
            )
        except subprocess.TimeoutExpired:
            return [script.stem, "", "", "", "timeout"]
    text = done.stdout + done.stderr
    seconds = f"{time.monotonic() - start:.0f} s"
    reference = re.search(r"reference \(cuda\): (\S+)", text)
    candidate = re.search(r"candidate \(cuda\): (\S+)\s+difference: (\S+)", text)
    if not reference or not candidate:
        last = text.strip().splitlines()[-1:] or ["no output"]
        return [
            script.stem,
            reference[1] if reference else "",
            "",
            "",
            f"{last[0][:200]} ({seconds})",
        ]
    return [script.stem, reference[1], candidate[1], candidate[2], seconds]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("scripts", type=Path)
    parser.add_argument("pairs", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("-j", type=int, default=os.cpu_count() or 2)
    parser.add_argument("--timeout", type=float, default=300)
    args = parser.parse_args()
    scripts = sorted(args.scripts.glob("*.py"))
    confirmed = failed = 0
    with args.out.open("w") as out, ThreadPoolExecutor(args.j) as pool:
        for row in pool.map(lambda s: run(s, args.pairs, args.timeout), scripts):
            print("\t".join(row), file=out, flush=True)
            print("\t".join(row), flush=True)
            if not row[3]:
                failed += 1
            elif float(row[3]) != 0 or math.isnan(float(row[3])):
                confirmed += 1
    agree = len(scripts) - confirmed - failed
    print(f"{confirmed} differ on the GPU, {agree} agree, {failed} did not run")
    return 0


if __name__ == "__main__":
    sys.exit(main())
