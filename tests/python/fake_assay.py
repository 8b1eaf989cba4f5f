#!/usr/bin/env python3
"""Stands in for `assay` in tests of `assay corpus`: does what the first line of the kernel says.

Each run adds a line to runs.txt two folders above the kernel's.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

REFUTED = {
    "output": 0,
    "output_name": "output",
    "index": [3, 1],
    "verdict": "refuted",
    "class": "value",
    "reason": "the values differ",
    "candidate": 1.5,
    "reference": 1.25,
    "witness": {"seed": 1, "replayed": True, "script": "print('the witness')\n"},
    "loc": {"file": f"{Path.cwd()}/kernel.cu", "line": 7, "column": 1},
}
CODES = {"proved": 0, "refuted": 1, "unknown": 2}


def verdict(kind: str) -> dict:
    results = [REFUTED] if kind == "refuted" else []
    if kind == "unknown":
        results = [{"verdict": kind, "reason": f"/tmp/x/{os.getpid()} took 12.5 s of 40 s"}]
    outputs = [{"elements": 100, "checked": 10, "proved": 10 if kind == "proved" else 0}]
    return {
        "verdict": kind,
        "summary": f"{kind} by the stand-in",
        "findings": [{"kind": "accuracy"}],
        "shapes": [{"change": "", "outputs": outputs, "results": results}],
        "timings": [{"phase": "search", "seconds": 0.25}],
        "peak_memory_bytes": 1,
    }


def misbehave(word: str) -> None:
    if word == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if word == "hang":
        # A process of another session, as `assay` starts them: it must be killed too.
        if os.fork() == 0:
            os.setsid()
        while True:
            time.sleep(1)
    if word == "bomb":
        if os.fork() == 0:
            os.setsid()
            blocks = [bytes([1]) * (16 << 20) for _ in range(64)]
            time.sleep(60)
            del blocks
        time.sleep(60)


def main() -> int:
    kernel, _, *options = sys.argv[2:]
    word, *rest = Path(kernel).read_text().splitlines()[0].removeprefix("// ").split()
    with open(Path(kernel).resolve().parents[2] / "runs.txt", "a") as runs:
        runs.write(f"{Path.cwd().name}\n")
    print(f"{word}: what the check prints")
    print(f"said of {Path.cwd()}/kernel.cu", file=sys.stderr)
    misbehave(word)
    if rest:
        time.sleep(float(rest[0]))
    out = Path(options[options.index("--json") + 1])
    if word == "broken":
        out.write_text('{"verdict": ')
        return 1
    if word in CODES:
        out.write_text(json.dumps(verdict(word)))
        return CODES[word]
    error = {"kind": word, "message": "kernel.cu:12: no such name: foo(3, 4)", "loc": None}
    out.write_text(json.dumps({"error": error}))
    return {"unsupported": 3, "limit": 2, "internal": 5}.get(word, 4)


if __name__ == "__main__":
    sys.exit(main())
