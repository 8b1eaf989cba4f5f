#!/usr/bin/env python3
"""Runs `assay check` on the kernels of this folder, which are of KernelBench's sizes.

  run_sizes.py --assay BIN [--runs N] [--wrong] [--cold] [--json FILE] [--markdown FILE] [NAME...]

aims.toml names the kernels and what each is to cost; notes.md says what is wrong with each
wrong.cu. Every kernel is checked at its given shape, once to fill the caches and then N times, of
which the quickest counts; with --cold the caches are empty before, and the first run is shown too.
Prints a line a kernel: verdict, wall seconds of the process and of what
follows the builds, processor seconds of the process, its peak memory, the phases that took most
(wall/processor seconds; processor seconds of phases that overlap count both).
Exits 1 if a right kernel is not proved, or with --wrong, which runs the wrong kernels instead,
if one is proved. An aim that is missed is shown, and is no failure: it depends on the machine.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from assay_runs import Cost, measure  # noqa: E402

BUILDS = {"reference", "compile", "record"}  # phases before the check itself


def read_aims(path: Path = HERE / "aims.toml") -> list[dict]:
    """The kernels of aims.toml.

    Errors: ValueError where a row has a key that nothing reads, or names no kernel.
    """
    rows = tomllib.loads(path.read_text())["kernel"]
    for row in rows:
        if unknown := set(row) - {
            "name",
            "folder",
            "kernels",
            "size",
            "check",
            "whole",
            "memory",
            "flags",
        }:
            raise ValueError(f"{row['name']}: unknown key {', '.join(sorted(unknown))}")
        row.setdefault("folder", row["name"])
        row.setdefault("kernels", row["folder"])
        if not (path.parent / row["kernels"] / "right.cu").is_file():
            raise ValueError(f"there is no kernel {row['name']}")
    return rows


def check_seconds(cost: Cost) -> float:
    """Wall seconds of what follows the builds."""
    return sum(s for phase, s in cost.phases().items() if phase not in BUILDS)


def judge(aims: dict, cost: Cost, cold: Cost | None) -> list[str]:
    """The aims that are missed, in words."""
    missed = []
    whole = cold or cost  # a run with filled caches that is too slow is so without them too
    if "check" in aims and check_seconds(cost) > aims["check"]:
        missed.append(f"check {check_seconds(cost):.2f} s > {aims['check']:g} s")
    if "whole" in aims and whole.wall_seconds > aims["whole"]:
        missed.append(f"whole {whole.wall_seconds:.2f} s > {aims['whole']:g} s")
    if "memory" in aims and cost.peak > aims["memory"]:
        missed.append(f"memory {cost.peak / 1e6:.0f} MB > {aims['memory'] / 1e6:.0f} MB")
    return missed


def run_kernel(args: argparse.Namespace, aims: dict) -> dict:
    """One kernel: the first run, and the quickest of the others."""
    folder = HERE / aims["folder"]
    kernel = HERE / aims["kernels"] / ("wrong.cu" if args.wrong else "right.cu")
    command = [args.assay, "check", str(kernel), str(folder / "ref.py")]
    command += ["--given-shape-only", "--timeout", str(args.timeout), *aims.get("flags", [])]
    limit = args.timeout + 120  # builds and the reference are not within the check's timeout
    with tempfile.TemporaryDirectory() as cache:
        env = os.environ | {"ASSAY_CACHE": cache} if args.cold else None
        first = measure(command, limit, env)
        runs = [measure(command, limit, env) for _ in range(args.runs)]
    cold = first if args.cold else None
    best = min(runs, key=lambda cost: cost.wall_seconds)
    verdicts = {cost.data.get("verdict", f"exit {cost.code}") for cost in runs}
    outputs = [o for s in best.data.get("shapes", [])[:1] for o in s.get("outputs", [])]
    return {
        "name": aims["name"],
        "size": aims["size"],
        "verdict": ", ".join(sorted(verdicts)),
        "ok": "proved" not in verdicts if args.wrong else verdicts == {"proved"},
        "summary": best.data.get("summary", "") or best.errors.strip()[-300:],
        "checked": sum(o["checked"] for o in outputs),
        "proved": sum(o["proved"] for o in outputs),
        "wall_seconds": best.wall_seconds,
        "check_seconds": check_seconds(best),
        "cpu_seconds": best.cpu_seconds,
        "peak_memory_bytes": best.peak,
        "cold_seconds": cold.wall_seconds if cold else None,
        "phases": best.phases(),
        "cpu_phases": best.phases("cpu_seconds"),
        "missed": judge(aims, best, cold),
    }


def slowest(row: dict, count: int) -> str:
    """The phases that took most, as "name wall/cpu"."""
    phases = sorted(row["phases"].items(), key=lambda p: -p[1])[:count]
    return ", ".join(
        f"{n} {s:.2f}/{row['cpu_phases'].get(n, 0):.2f}" for n, s in phases if s > 0.01
    )


def line(row: dict) -> str:
    """One line of the table; below it the reason, where the verdict is not as it should be."""
    mark = "BAD" if not row["ok"] else "slow" if row["missed"] else "ok"
    cold = f" cold {row['cold_seconds']:6.2f} s" if row["cold_seconds"] is not None else ""
    text = (
        f"{mark:<4} {row['name']:<20} {row['verdict']:<9} {row['proved']:>6} of {row['checked']:<6}"
        f"{cold} wall {row['wall_seconds']:6.2f} s check {row['check_seconds']:6.2f} s"
        f" cpu {row['cpu_seconds']:6.2f} s {row['peak_memory_bytes'] / 1e6:7.1f} MB  "
        f"{slowest(row, 4)}"
    )
    if row["missed"]:
        text += f"  [{'; '.join(row['missed'])}]"
    return text if row["ok"] else f"{text}\n     {row['summary']}"


def markdown(rows: list[dict], args: argparse.Namespace) -> str:
    """What was run, and the table."""
    commit = subprocess.run(
        ["git", "-C", str(HERE), "log", "-1", "--format=%h of %cs"],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    which = "wrong" if args.wrong else "right"
    lines = [
        "# Kernels of KernelBench's sizes",
        "",
        f"Written by `tests/sizes/run_sizes.py --runs {args.runs} --markdown`; "
        "do not edit by hand.",
        f"{time.strftime('%Y-%m-%d')}, commit {commit or 'unknown'}, {os.cpu_count()} cores under "
        f"a load of {os.getloadavg()[2]:.0f}; the quickest of {args.runs} runs of each {which}.cu "
        "with filled caches. Check: wall seconds after the builds.",
        "",
        "| kernel | size | verdict | wall s | check s | CPU s | peak MB | most of it (wall/CPU s) "
        "| aim |",
        "|---|---|---|---:|---:|---:|---:|---|---|",
    ]
    for r in rows:
        aim = "missed: " + "; ".join(r["missed"]) if r["missed"] else "met"
        lines.append(
            f"| {r['name']} | {r['size']} | {r['verdict']} | {r['wall_seconds']:.2f} | "
            f"{r['check_seconds']:.2f} | {r['cpu_seconds']:.2f} | "
            f"{r['peak_memory_bytes'] / 1e6:.0f} | {slowest(r, 3)} | {aim} |"
        )
    return "\n".join(lines) + "\n"


def main() -> int:
    """See the head of this file."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--assay", required=True)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=60)
    parser.add_argument("--wrong", action="store_true")
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME")
    args = parser.parse_args()
    aims = read_aims()
    chosen = [a for a in aims if not args.names or any(a["name"].startswith(n) for n in args.names)]
    if args.wrong:
        chosen = [a for a in chosen if (HERE / a["folder"] / "wrong.cu").is_file()]
    if not chosen:
        parser.error("no such kernel")
    rows = []
    for row in chosen:
        rows.append(run_kernel(args, row))
        print(line(rows[-1]), flush=True)
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1) + "\n")
    if args.markdown:
        args.markdown.write_text(markdown(rows, args))
    bad = sum(not row["ok"] for row in rows)
    slow = sum(bool(row["missed"]) for row in rows)
    print(f"{len(rows) - bad} of {len(rows)} as expected, {slow} beyond their aims")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
