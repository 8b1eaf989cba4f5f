"""Corpora of stand-in kernels, and sessions over them, for tests of `assay corpus`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FAKE = ROOT / "tests/python/fake_assay.py"


def make_kernel(corpus: Path, name: str, text: str, ref: str | None = "pass\n") -> Path:
    folder = corpus / name
    folder.mkdir(parents=True)
    (folder / "kernel.cu").write_text(text + "\n")
    if ref is not None:
        (folder / "ref.py").write_text(ref)
    return folder


def command(*words: str | Path) -> list[str]:
    """The line that src/cli/corpus.cpp starts."""
    return [sys.executable, "-P", "-m", "assay.corpus", *map(str, words)]


def environment() -> dict[str, str]:
    own = {"ASSAY_BINARY": str(FAKE), "PYTHONPATH": str(ROOT / "python"), "NO_COLOR": "1"}
    return os.environ | own


def run(*words: str | Path, code: int = 0) -> str:
    """Standard output and error of a session that must end with `code`."""
    done = subprocess.run(
        command(*words),
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == code, done.stdout
    return done.stdout


def rows_of(corpus: Path, log: Path | None = None) -> dict[str, dict]:
    """The rows of the log by name; a kernel that stands there twice fails the test."""
    lines = (log or corpus / ".assay-corpus.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    assert len({r["name"] for r in rows}) == len(rows)
    return {r["name"]: r for r in rows}


def runs_of(corpus: Path) -> list[str]:
    """Names of the kernels that the stand-in was run on, each as often as it was."""
    return (corpus / "runs.txt").read_text().split()


def wait_for(condition: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)
