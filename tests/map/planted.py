#!/usr/bin/env python3
"""Region maps against planted truth: python3 planted.py PROGRAM KERNEL.cu...

A kernel says on its own lines what the map must find there:

    // PLANT loop name=tile in=outer        a loop of that line; inside the one named "outer"
    // PLANT line loads=2x4 fp32=1 in=tile  machine instructions of that line: 2 loads of 4 bytes

Words: loads, stores, shared_loads, cp_async = COUNTxBYTES; loads_width, stores_width = the only
width; fp32, tensor = COUNT (of a loop: in all of it); copies = by unrolling; inlined = call sites; loops = loops that the
compiler made of one; in = name of the innermost loop; role = 1: below a warp role; wait = words of
a wait site; spills = 1: local memory is used; function = part of a symbol's name.

Exit code 0: all found; 1: something is not; 77: no nvcc or no nvdisasm here. The last line says what
share of the planted instructions was found, and how many stand where they do not belong.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

SKIPPED = 77
PLANT = re.compile(r"//\s*PLANT (loop|line)(.*)$")
WIDTHS = {
    "loads": "global_load_bytes",
    "stores": "global_store_bytes",
    "shared_loads": "shared_load_bytes",
    "cp_async": "cp_async_bytes",
}


@dataclass
class Tally:
    planted: int = 0
    found: int = 0
    foreign: int = 0
    failures: list[str] = field(default_factory=list)

    def count(self, where: str, what: str, expected: int, seen: int) -> None:
        self.planted += expected
        self.found += min(expected, seen)
        self.foreign += max(0, seen - expected)
        self.same(where, what, expected, seen)

    def same(self, where: str, what: str, expected: object, seen: object) -> None:
        if expected != seen:
            self.failures.append(f"{where}: {what}: {expected} planted, {seen} found")


class Kernel:
    """A function of the map, with its regions by line."""

    def __init__(self, data: dict) -> None:
        self.data = data
        self.regions = data["regions"]

    def chain(self, region: dict) -> list[dict]:
        out = [region]
        while out[-1]["parent"] >= 0:
            out.append(self.regions[out[-1]["parent"]])
        return out

    def at(self, line: int, kind: str, loop: int | None, file: str) -> list[dict]:
        """Regions of that line whose innermost loop is that of line `loop` (None: any)."""
        out = []
        for r in self.regions:
            place = r.get("at", {})
            if place.get("line") != line or Path(place["file"]).name != file:
                continue
            if r["kind"] != kind:
                continue
            around = [p for p in self.chain(r)[1:] if p["kind"] == "loop"]
            inner = around[0]["at"]["line"] if around else None
            if loop is None or inner == loop:
                out.append(r)
        return out


def total(regions: list[dict], key: str, sub: str) -> int:
    return sum(r["own"].get(key, {}).get(sub, 0) for r in regions)


def distinct(regions: list[dict], of: str) -> int:
    return len({json.dumps(i.get(of)) for r in regions for i in r["instances"] if i.get(of)})


def check_line(where: str, words: dict, kernel: Kernel, regions: list[dict], tally: Tally) -> None:
    for word, value in words.items():
        if word in WIDTHS:
            count, width = value.split("x")
            tally.count(where, word, int(count), total(regions, WIDTHS[word], width))
        elif word in ("loads_width", "stores_width"):
            key = WIDTHS[word.removesuffix("_width")]
            seen = {w for r in regions for w in r["own"].get(key, {})}
            tally.same(where, word, {value}, seen)
        elif word == "fp32":
            tally.count(where, word, int(value), total(regions, "classes", "fp32"))
        elif word == "tensor":
            tally.count(where, word, int(value), total(regions, "classes", "tensor"))
        elif word == "copies":
            tally.same(where, word, int(value), max(r.get("copies", 1) for r in regions))
        elif word == "inlined":
            tally.same(where, word, int(value), distinct(regions, "called_at"))
        elif word == "loops":
            tally.same(where, word, int(value), distinct(regions, "loop_ptx_line"))
        elif word == "spills":
            local = total(regions, "classes", "local load") + total(
                regions, "classes", "local store"
            )
            tally.same(where, word, True, local > 0 and kernel.data["spills"]["store_bytes"] > 0)
        elif word == "wait":
            ids = [kernel.regions.index(r) for r in regions]
            sites = [s for s in kernel.data["sites"] if s["waits"] and s["region"] in ids]
            tally.same(where, word, True, any(value in s["what"] and s["offsets"] for s in sites))
        elif word not in ("in", "function"):
            tally.failures.append(f"{where}: unknown word {word}")


def plants(source: Path) -> list[tuple[int, str, dict]]:
    out = []
    for number, text in enumerate(source.read_text().splitlines(), 1):
        if match := PLANT.search(text):
            words = dict(w.split("=") for w in match.group(2).split())
            out.append((number, match.group(1), words))
    return out


def check(program: str, source: Path, tally: Tally) -> None:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "map.json"
        run = subprocess.run(
            [program, "map", str(source), "--json", str(out), "--quiet"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if run.returncode != 0:
            if "nvcc not found" in run.stdout:
                sys.exit(SKIPPED)
            tally.failures.append(f"{source.name}: exit code {run.returncode}: {run.stdout}")
            return
        data = json.loads(out.read_text())
    if data["basis"] != "sass":
        print("no nvdisasm:", *data["missing"])
        sys.exit(SKIPPED)
    planted = plants(source)
    if not planted:
        tally.failures.append(f"{source.name}: nothing is planted")
    loops = {w["name"]: n for n, kind, w in planted if kind == "loop"}
    kernels = [Kernel(k) for k in data["kernels"]]
    for line, kind, words in planted:
        where = f"{source.name}:{line}"
        inside = loops[words["in"]] if "in" in words else None
        places = []
        for kernel in kernels:
            if words.get("function", "") not in kernel.data["symbol"]:
                continue
            places += [(kernel, r) for r in kernel.at(line, kind, inside, source.name)]
        if not places:
            tally.failures.append(f"{where}: no {kind} found")
        elif kind == "loop":
            chains = [[p["kind"] for p in k.chain(r)] for k, r in places]
            if "role" in words:
                tally.same(where, "role", True, all("role" in c for c in chains))
            if "tensor" in words:
                seen = sum(r["total"]["classes"].get("tensor", 0) for _, r in places)
                tally.count(where, "tensor", int(words["tensor"]), seen)
        elif kind == "line":
            check_line(where, words, places[0][0], [r for _, r in places], tally)


def main() -> int:
    tally = Tally()
    for name in sys.argv[2:]:
        check(sys.argv[1], Path(name), tally)
    for failure in tally.failures:
        print(failure)
    share = 100 * tally.found / max(1, tally.planted)
    print(
        f"{len(sys.argv) - 2} files: {tally.found} of {tally.planted} planted instructions found "
        f"({share:.1f} %), {tally.foreign} where they do not belong"
    )
    return 1 if tally.failures else 0


if __name__ == "__main__":
    sys.exit(main())
