#!/usr/bin/env python3
"""Runs `assay check` on mutants of right kernels: what is proved, refuted, left open.

  run_mutants.py --assay BIN [-j N] [-n N] [--seed S] [--only NAME] [--timeout T] [--json F]
                 [--work FOLDER] [--resume]

For each kernel below the first N draws of mutate.py that compile (one that does not is replaced by
the next draw). One line a mutant, then totals by verdict and by operator. `--work` keeps mutants
and exported references; `--resume` takes over what the file of --json already holds. Exits 1 if
the original of a kernel is not proved, or a check ends in an internal error; a proved mutant is
for a reader to judge (docs/results/mutants.md).
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAIRS = HERE.parent / "pairs"
sys.path[:0] = [str(HERE.parent), str(HERE)]
from assay_runs import check, export_reference  # noqa: E402
from mutate import Mutant, draws  # noqa: E402
from operators import OPERATORS  # noqa: E402

# Ten families, of each the two pairs of lowest number (that no earlier family took).
KERNELS = {
    "element-wise": ("01_vector_add", "02_relu"),
    "exponentials over a row": ("03_softmax", "08_cross_entropy"),
    "normalization": ("04_layer_norm", "17_l1_norm"),
    "tiled matrix product": ("05_matmul", "41_bmm"),
    "extremes and where they are": ("06_argmax", "18_max_dim"),
    "scan": ("07_cumsum", "24_cumprod"),
    "pooling": ("20_relu_maxpool2d", "35_max_pool1d"),
    "reduction of a dimension": ("21_sum_dim", "22_mean_dim"),
    "convolution": ("37_conv1d_relu", "38_conv2d_bias_scale"),
    "float atomics": ("34_frobenius_norm", "43_matmul_large_k"),
}
CAUGHT = "caught at other shapes"
COLUMNS = ["refuted", CAUGHT, "approximation", "unknown", "unsupported", "proved", "error"]


class Draws:
    """The draws of one kernel, shared by its slots; its reference, exported once."""

    def __init__(self, name: str, args: argparse.Namespace, work: Path):
        self.name = name
        self.folder = work / name
        self.args = args
        self.kernel = PAIRS / name / "right.cu"
        self.known = {}  # results of an earlier run, by number
        self.stream = enumerate(draws(self.kernel.read_text(), args.seed, name))
        self.lock = threading.Lock()
        self.rejected = 0

    def next(self) -> tuple[int, Mutant] | None:
        with self.lock:
            return next(self.stream, None)

    def reference(self) -> Path:
        out = self.folder / "ref.json"
        with self.lock:
            if not out.exists():
                self.folder.mkdir(parents=True, exist_ok=True)
                part = self.folder / "ref.json.part"
                export_reference(self.args.assay, PAIRS / self.name / "ref.py", part)
                part.replace(out)
        return out

    def run(self, kernel: Path) -> dict:
        limit = self.args.timeout
        flags = ("--timeout", str(limit), "--jobs", str(self.args.jobs_a_check))
        return check(self.args.assay, kernel, self.reference(), 2 * limit + 60, *flags)

    def slot(self) -> dict | None:
        """The next draw that compiles, checked."""
        while draw := self.next():
            number, mutant = draw
            fields = {k: v for k, v in vars(mutant).items() if k != "text"}
            old = self.known.get(number)
            if old and all(old[k] == v for k, v in fields.items()) and outcome(old) != "error":
                return old
            file = self.folder / f"mutant{number}.cu"
            self.folder.mkdir(parents=True, exist_ok=True)
            file.write_text(mutant.text)
            got = self.run(file)
            if "the compiler rejects the source" in got["reason"]:
                with self.lock:
                    self.rejected += 1
                continue
            got["kernel"], got["number"] = self.name, number
            return got | fields
        return None


def outcome(got: dict) -> str:
    """A column of the table."""
    if got["kind"] in ("proved", "approximation") and "other-shapes" in got["findings"]:
        return CAUGHT
    if got["kind"] in COLUMNS:
        return got["kind"]
    return "unknown" if got["kind"] == "timeout" else "error"


def one_line(text: str, width: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= width else text[: width - 1] + "…"


def describe(got: dict) -> str:
    edit = f"{one_line(got['before'], 30)} → {one_line(got['after'], 30) or 'nothing'}"
    replay = "replayed" if got["replayed"] else ""
    line = (
        f"{got['kernel']:20} {got['number']:3} {got['operator']:19} {got['line']:3} {edit:56} "
        f"{outcome(got):13} {got['class']:16} {replay:8} {got['seconds']:6.1f} s "
        f"{','.join(got['findings'])}"
    )
    if outcome(got) != "refuted":
        line += "\n     " + one_line(got["reason"], 300)
    return line


def slots(kernels: list[Draws], count: int) -> Iterator[Draws]:
    for kernel in kernels:
        yield from [kernel] * count


def totals(rows: list[dict], rejected: int) -> Iterator[str]:
    count = Counter(outcome(r) for r in rows)
    yield f"{len(rows)} mutants ({rejected} further draws did not compile)"
    for column in COLUMNS:
        if count[column]:
            yield f"  {column:24} {count[column]:4}  {100 * count[column] / len(rows):5.1f} %"
    refuted = [r for r in rows if outcome(r) == "refuted"]
    bare = Counter(r["class"] for r in refuted if not r["replayed"])
    yield f"  refuted with replay: {len(refuted) - bare.total()}" + (
        f"; by class without a witness: {dict(bare)}" if bare else ""
    )
    yield f"{'operator':20} " + " ".join(f"{c:>13.13}" for c in COLUMNS)
    for operator in OPERATORS:
        here = Counter(outcome(r) for r in rows if r["operator"] == operator)
        yield f"{operator:20} " + " ".join(f"{here[c] or '':>13}" for c in COLUMNS)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--assay", required=True)
    parser.add_argument("-j", type=int, default=1)
    parser.add_argument("-n", type=int, default=10, help="mutants a kernel")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", default=[], help="start of a kernel's name")
    parser.add_argument("--timeout", type=float, default=120)
    parser.add_argument("--jobs-a-check", type=int, default=1, help="threads of one check")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--work", type=Path)
    parser.add_argument("--resume", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = args.work.resolve() if args.work else Path(temporary)
        return run_all(args, work)


def run_all(args: argparse.Namespace, work: Path) -> int:
    names = sorted(name for pair in KERNELS.values() for name in pair)
    if args.only:
        names = [n for n in names if n.startswith(tuple(args.only))]
    kernels = [Draws(name, args, work) for name in names]
    if args.resume and args.json and args.json.exists():
        for row in json.loads(args.json.read_text()):
            for kernel in kernels:
                if kernel.name == row["kernel"]:
                    kernel.known[row["number"]] = row
    rows, failed = [], []
    with ThreadPoolExecutor(args.j) as pool:
        fresh = [k for k in kernels if not k.known]
        for kernel, got in zip(fresh, pool.map(lambda k: k.run(k.kernel), fresh), strict=True):
            if got["kind"] != "proved":
                failed.append(f"{kernel.name}: the original is {got['kind']}: {got['reason']}")
                print(failed[-1], flush=True)
        for got in pool.map(Draws.slot, slots(kernels, args.n)):
            if got is None:
                continue  # the kernel has no further draw
            rows.append(got)
            print(describe(got), flush=True)
            if args.json:
                args.json.write_text(json.dumps(rows, indent=1))
    print("\n".join(totals(rows, sum(k.rejected for k in kernels))))
    return 1 if failed or any(outcome(r) == "error" for r in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
