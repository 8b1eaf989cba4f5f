#!/usr/bin/env python3
"""Runs `assay check` on the pairs of this folder and compares with what case.toml expects.

  run_pairs.py --assay BIN [-j N] [--json FILE] [--markdown FILE] [--self] [--scripts FOLDER]
               [NAME...]
  run_pairs.py --rows FILE --markdown FILE [--gpu TSV] [--machine TEXT]

Prints one line a kernel: pair, file, expected, verdict (class or finding), seconds. Exits 1 if a
verdict differs from the expected one. A wrong kernel that is proved is marked UNSOUND, a right one
that is refuted FALSE ALARM. With --self every right kernel is checked against itself, called as
ref.py says; that must be proved too. --rows takes what an earlier --json wrote and runs nothing;
--gpu adds what tests/gpu/confirm_witnesses.py saw of the witnesses.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from assay_runs import check  # noqa: E402

VERDICTS = {"proved", "refuted", "unknown", "unsupported", "approximation"}
# Expectations that are findings beside a verdict: the kinds of finding that meet them.
FINDINGS = {
    "accuracy": {"accuracy", "overflow-risk"},
    "special-value": {"special-value"},
    "racy-idiom": {"racy-idiom"},
    "other-shapes": {"other-shapes"},
    "cheat": {"harness-cheat"},
}


class Expectation(NamedTuple):
    """What case.toml says of one kernel: a verdict, or a finding beside any verdict."""

    name: str
    classes: tuple[str, ...] = ()  # of the refutation; any if empty


def expectations(spec: dict, kernels: list[Path]) -> dict[Path, Expectation]:
    """One key a kernel, `NAME = "refuted"` or `NAME = {verdict = "refuted", class = [...]}`.

    Errors: ValueError where a kernel has no key, or a value is unknown.
    """
    out = {}
    for kernel in kernels:
        value = spec.get(kernel.stem)
        if value is None:
            raise ValueError(f"{kernel}: case.toml has no key '{kernel.stem}'")
        if isinstance(value, str):
            value = {"verdict": value}
        name = value["verdict"]
        if name not in VERDICTS and name not in FINDINGS:
            raise ValueError(f"{kernel}: unknown expectation '{name}'")
        out[kernel] = Expectation(name, tuple(value.get("class", ())))
    return out


def judge(expected: Expectation, got: dict, right: bool) -> str:
    """'ok', or what is wrong."""
    kind = got["kind"]
    if right:
        return "ok" if kind == "proved" else "FALSE ALARM" if kind == "refuted" else "open"
    if expected.name in FINDINGS:
        found = FINDINGS[expected.name] & set(got["findings"])
        return "ok" if found or kind == "refuted" else "missed"
    if kind == expected.name:
        other = expected.classes and got["class"] not in expected.classes
        return "other class" if other else "ok"
    return "UNSOUND" if kind == "proved" else "open"


GPU_HEAD = (" GPU: reference / candidate |", "---|")
NO_DIFFERENCE = "no difference in one run: "


def commit_id() -> str:
    command = ["git", "-C", str(HERE), "log", "-1", "--format=%h of %cs"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    return run.stdout.strip() or "unknown"


def read_gpu(table: Path) -> dict[tuple[str, str], str]:
    """What confirm_witnesses.py wrote, by pair and kernel: both values, or what went wrong."""
    out = {}
    for line in table.read_text().splitlines():
        name, reference, candidate, difference, said = (line.split("\t") + [""] * 5)[:5]
        pair, _, kernel = name.rpartition("_")
        if not candidate:
            out[pair, kernel] = said
            continue
        same = difference not in ("nan", "") and float(difference) == 0
        out[pair, kernel] = NO_DIFFERENCE * same + f"{reference} / {candidate}"
    return out


def gpu_line(gpu: dict[tuple[str, str], str]) -> str:
    ran = [text for text in gpu.values() if " / " in text]
    same = ["/".join(key) for key, text in gpu.items() if text.startswith(NO_DIFFERENCE)]
    return (
        f"GPU: {len(ran)} of {len(gpu)} witness scripts ran, {len(ran) - len(same)} show the "
        f"difference; none in one run: {', '.join(same) or 'no script'}."
    )


def markdown(rows: list[dict], args: argparse.Namespace) -> str:
    """docs/results/pairs.md: what was run, the counts, what is not as expected, the table."""
    right = [r for r in rows if r["file"].startswith("right")]
    wrong = [r for r in rows if not r["file"].startswith("right")]
    bad = [r for r in rows if r["judgement"] != "ok"]
    machine = args.machine or f"{os.cpu_count()} cores, commit {commit_id()}"
    gpu = read_gpu(args.gpu) if args.gpu else {}
    lines = [
        "# The pairs of `tests/pairs`",
        "",
        "Written by `tests/pairs/run_pairs.py --markdown`; do not edit by hand.",
        f"{time.strftime('%Y-%m-%d')}, {machine}.",
        "",
        f"Right kernels: {sum(r['kind'] == 'proved' for r in right)} of {len(right)} proved, "
        f"{sum(r['kind'] == 'refuted' for r in right)} refuted. "
        f"Wrong kernels: {sum(r['judgement'] == 'ok' for r in wrong)} of {len(wrong)} as expected, "
        f"{sum(r['judgement'] == 'UNSOUND' for r in wrong)} proved against the expectation.",
        "",
    ]
    if gpu:
        lines += [gpu_line(gpu), ""]
    if bad:
        lines += ["Not as expected:", ""]
        lines += [
            f"- {r['pair']}/{r['file']}: expected {r['expected']}, {r['judgement']}, {r['kind']}"
            + (f": {r['reason'][:200]}" if r["reason"] else "")
            for r in bad
        ]
        lines.append("")
    lines += [
        "| kernel | expected | verdict | class | findings | s |" + GPU_HEAD[0] * bool(gpu),
        "|---|---|---|---|---|---:|" + GPU_HEAD[1] * bool(gpu),
    ]
    lines += [
        f"| {r['pair']}/{r['file']} | {r['expected']} | {r['kind']} | {r['class']} | "
        f"{', '.join(f for f in r['findings'] if f != 'note')} | {r['seconds']:.1f} |"
        + (f" {gpu.get((r['pair'], Path(r['file']).stem), '')} |" if gpu else "")
        for r in rows
    ]
    return "\n".join(lines) + "\n"


def script_path(args: argparse.Namespace, kernel: Path) -> Path:
    """Where confirm_witnesses.py expects the script of a witness."""
    return args.scripts / f"{kernel.parent.name}_{kernel.stem}.py"


def row_text(row: dict) -> str:
    text = (
        f"{row['judgement']:12} {row['pair']:28} {row['file']:10} "
        f"expected {row['expected']:14} got {row['kind']:14} {row['class']:18} "
        f"{row['seconds']:6.1f} s  {','.join(row['findings'])}"
    )
    return text if row["judgement"] == "ok" else f"{text}\n             {row['reason'][:300]}"


def run_all(
    run: Callable[[Any], dict], jobs: list, at_once: int, out: Path | None
) -> list[dict]:
    """The rows of all jobs, each printed, and kept in `out`, as soon as it is there."""
    rows: list[dict] = []
    with ThreadPoolExecutor(at_once) as pool:
        for row in pool.map(run, jobs):
            rows.append(row)
            print(row_text(row), flush=True)
            if out:
                out.write_text(json.dumps(rows, indent=1))
    passed = sum(r["judgement"] == "ok" for r in rows)
    print(f"{passed} passed, {len(rows) - passed} failed")
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--assay")
    parser.add_argument("-j", type=int, default=1)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--markdown", type=Path, help="write docs/results/pairs.md to this file")
    parser.add_argument("--timeout", type=float, default=180)
    parser.add_argument("--scripts", type=Path, help="a folder for the scripts of witnesses")
    parser.add_argument("--rows", type=Path, help="rows of an earlier --json; nothing is run")
    parser.add_argument("--gpu", type=Path, help="table of tests/gpu/confirm_witnesses.py")
    parser.add_argument("--machine", help="the machine and the package, for --markdown")
    parser.add_argument("--self", action="store_true", help="right kernels against themselves")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    if args.rows:
        if not args.markdown:
            parser.error("--rows goes with --markdown")
        args.markdown.write_text(markdown(json.loads(args.rows.read_text()), args))
        return 0
    if not args.assay:
        parser.error("--assay names the program")
    jobs: list[tuple[Path, Expectation, bool]] = []
    for case in sorted(HERE.glob("*/case.toml")):
        if args.names and not any(case.parent.name.startswith(n) for n in args.names):
            continue
        spec = tomllib.loads(case.read_text())
        wanted = expectations(spec, sorted(case.parent.glob("*.cu")))
        for kernel, expected in wanted.items():
            right = kernel.stem.startswith("right")
            if right or not args.self:
                jobs.append((kernel, expected, right))

    if args.scripts:
        args.scripts.mkdir(parents=True, exist_ok=True)

    def run(job: tuple[Path, Expectation, bool]) -> dict:
        kernel, expected, right = job
        reference = kernel.parent / "ref.py"
        if args.self:
            got = check(args.assay, kernel, kernel, args.timeout, "--inputs", str(reference))
        else:
            flags = (
                ["--script", str(script_path(args, kernel))] if args.scripts and not right else []
            )
            got = check(args.assay, kernel, reference, args.timeout, *flags)
        got |= {"pair": kernel.parent.name, "file": kernel.name, "expected": expected.name}
        got["judgement"] = judge(expected, got, right)
        return got

    rows = run_all(run, jobs, args.j, args.json)
    if args.markdown:
        args.markdown.write_text(markdown(rows, args))
    return 1 if any(r["judgement"] != "ok" for r in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
