#!/usr/bin/env python3
"""Runs `assay check` on Volta's benchmarks that need no tensor core.

  run_volta.py --volta DIR --assay BIN [--json FILE] [NAME...]

DIR is a checkout of github.com/willtunnels/volta; nothing of it is kept here. pairs.toml names the
pairs and what is expected of each, NAME.toml is how one is launched. Prints a line a pair: verdict,
seconds of the check (wall time within the process), processor seconds of the whole process, peak
memory, and the processor seconds of the phases that took most (phases that overlap count both); of
racy kernels also the wall seconds in the process until races were known, which are to be at most
0.05 on an idle machine.
Exits 1 if a pair does not come out as expected.
"""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from assay_runs import measure  # noqa: E402

KERNELS = Path("crates/volta_bench/kernels")
# Classes of results and kinds of findings that say: there is a race.
RACES = {"race", "nondeterministic", "hazard", "racy-idiom"}


def check(binary: str, kernels: Path, pair: dict) -> dict:
    """One pair: what was found, and at what cost."""
    command = [binary, "check", str(kernels / pair["candidate"]), str(kernels / pair["reference"])]
    cost = measure([*command, "--launch", str(HERE / f"{pair['name']}.toml")])
    data = cost.data
    shape = (data.get("shapes") or [{}])[0]
    return {
        "name": pair["name"],
        "expected": pair["expect"],
        "verdict": data.get("verdict", f"exit {cost.code}"),
        "summary": data.get("summary", "") or cost.errors.strip()[-300:],
        "classes": sorted({r["class"] for r in shape.get("results", [])}),
        "findings": sorted({f["kind"] for f in data.get("findings", [])}),
        "checked": sum(o["checked"] for o in shape.get("outputs", [])),
        "proved": sum(o["proved"] for o in shape.get("outputs", [])),
        "seconds": sum(cost.phases().values()),
        "wall_seconds": cost.wall_seconds,
        "cpu_seconds": cost.cpu_seconds,
        "peak_memory_bytes": cost.peak,
        "phases": cost.phases(),
        "cpu_phases": cost.phases("cpu_seconds"),
        "race_seconds": race_seconds(cost.phases()),
    }


def race_seconds(phases: dict[str, float]) -> float:
    """Until the hazard phase ended; what comes before it and beside it counts."""
    names = list(phases)
    end = names.index("hazards") + 1 if "hazards" in names else len(names)
    return sum(phases[name] for name in names[:end])


def as_expected(got: dict) -> bool:
    """A right pair is proved, without a race; of a racy kernel the race is named."""
    seen = RACES & (set(got["classes"]) | set(got["findings"]))
    if got["expected"] == "race":
        return bool(seen) and got["verdict"] in ("refuted", "unknown", "proved")
    return got["verdict"] == "proved" and not seen


def line(got: dict) -> str:
    """One line of the table."""
    slow = sorted(got["cpu_phases"].items(), key=lambda p: -p[1])[:4]
    text = (
        f"{'ok ' if as_expected(got) else 'BAD'} {got['name']:<24} {got['verdict']:<9}"
        f" {got['proved']:>5} of {got['checked']:<5} {got['seconds']:7.3f} s"
        f" cpu {got['cpu_seconds']:7.3f} s {got['peak_memory_bytes'] / 1e6:7.1f} MB  "
    )
    text += ", ".join(f"{name} {seconds:.3f}" for name, seconds in slow)
    if got["expected"] == "race":
        text += f", races known after {got['race_seconds']:.3f} s"
    kinds = got["classes"] + got["findings"]
    return text + (f"  [{', '.join(kinds)}]" if kinds else "")


def main() -> int:
    """See the head of this file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--volta", required=True, type=Path)
    parser.add_argument("--assay", required=True)
    parser.add_argument("--json", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME")
    args = parser.parse_args()
    pairs = tomllib.loads((HERE / "pairs.toml").read_text())["pair"]
    if unknown := set(args.names) - {p["name"] for p in pairs}:
        parser.error(f"no such pair: {', '.join(sorted(unknown))}")
    results = []
    for pair in pairs:
        if args.names and pair["name"] not in args.names:
            continue
        got = check(args.assay, args.volta / KERNELS, pair)
        results.append(got)
        print(line(got), flush=True)
        if not as_expected(got):
            print(f"      {got['summary']}")
    if args.json:
        args.json.write_text(json.dumps(results, indent=1) + "\n")
    bad = sum(not as_expected(got) for got in results)
    print(f"{len(results) - bad} of {len(results)} as expected")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
