"""Runs of `assay check` for the test programs of this folder: one check, one export."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import NamedTuple


class Cost(NamedTuple):
    """What one check gave, and what the process and its children took."""

    code: int
    errors: str  # standard error
    data: dict  # the JSON, {} if none was written
    wall_seconds: float
    cpu_seconds: float

    def phases(self, what: str = "seconds") -> dict[str, float]:
        """Wall ("seconds") or "cpu_seconds" of each phase, in their order."""
        return {t["phase"]: t.get(what, 0) for t in self.data.get("timings", [])}

    @property
    def peak(self) -> int:
        """Bytes, of the checking process alone; 0 if it told nothing."""
        return self.data.get("peak_memory_bytes", 0)


def measure(
    command: list[str], timeout: float | None = None, env: dict[str, str] | None = None
) -> Cost:
    """Runs an `assay check` command and adds its --json. Killed after `timeout` seconds."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        start = time.monotonic()
        with subprocess.Popen(
            [*command, "--json", str(out)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=env,
        ) as process:
            killer = threading.Timer(timeout, process.kill) if timeout else None
            if killer:
                killer.start()
            errors = process.stderr.read()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            if killer:
                killer.cancel()
        wall = time.monotonic() - start
        data = json.loads(out.read_text()) if out.exists() else {}
    return Cost(process.returncode, errors, data, wall, usage.ru_utime + usage.ru_stime)


# `assay check` exports a ref.py with this Python: the caller's choice, the repository's own
# environment, else the one that runs this script.
VENV = Path(__file__).resolve().parents[1] / ".venv/bin/python"
os.environ.setdefault("ASSAY_PYTHON", str(VENV) if VENV.exists() else sys.executable)


def check(binary: str, kernel: Path, reference: Path, timeout: float, *flags: str) -> dict:
    """Verdict, class, reason, findings and seconds of one check.

    `kind` is a verdict, "error:KIND" for bad input and bugs, "exit N" where nothing was written,
    "timeout" if it had to be killed. `replayed`: a refuting result carries a witness that replays.
    """
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        command = [binary, "check", str(kernel), str(reference), "--json", str(out), *flags]
        start = time.monotonic()
        try:
            run = subprocess.run(
                command, capture_output=True, text=True, timeout=timeout, check=False
            )
        except subprocess.TimeoutExpired:
            seconds = time.monotonic() - start
            return {**NOTHING, "kind": "timeout", "code": None, "seconds": seconds}
        seconds = time.monotonic() - start
        data = json.loads(out.read_text()) if out.exists() else {}
    got = {**NOTHING, "code": run.returncode, "seconds": seconds}
    if "verdict" not in data:
        error = data.get("error")
        got["kind"] = f"error:{error['kind']}" if error else f"exit {run.returncode}"
        got["reason"] = error["message"] if error else run.stderr.strip()[-300:]
        return got
    worst = worst_result(data)
    shapes = data.get("shapes", [])
    return got | {
        "kind": data["verdict"],
        "class": worst.get("class", ""),
        "reason": worst.get("reason", "") or data.get("summary", ""),
        "findings": sorted({f["kind"] for f in data.get("findings", [])}),
        "messages": [f"{f['kind']}: {f['message']}" for f in data.get("findings", [])],
        "replayed": any(
            (r.get("witness") or {}).get("replayed")
            for r in shapes[0]["results"]
            if r["verdict"] == "refuted"
        )
        if shapes
        else False,
        "shapes": [
            {"change": s["change"], "verdict": s["verdict"], "outputs": s["outputs"]}
            for s in shapes
        ],
        "phases": {t["phase"]: round(t["seconds"], 2) for t in data["timings"] if t["seconds"] > 1},
    }


NOTHING = {"class": "", "reason": "", "findings": [], "messages": [], "replayed": False}


def worst_result(data: dict) -> dict:
    """The result at the given shape that decides: the first of the verdict's own kind."""
    results = [r for shape in data.get("shapes", [])[:1] for r in shape.get("results", [])]
    same = [r for r in results if r["verdict"] == data["verdict"]]
    return (same or results or [{}])[0]


def share_folder(binary: str) -> Path:
    """share/assay of the installation that `binary` belongs to."""
    if home := os.environ.get("ASSAY_HOME"):
        return Path(home) / "share/assay"
    for folder in Path(binary).resolve().parents[:3]:
        if (folder / "share/assay").is_dir():
            return folder / "share/assay"
    raise FileNotFoundError(f"no folder share/assay beside {binary}")


def export_reference(binary: str, reference: Path, out: Path, altered: int = 8) -> None:
    """ref.py with as many altered shapes as `assay check` asks for (src/check/front.cpp)."""
    command = [os.environ["ASSAY_PYTHON"], "-m", "assay.export", str(reference), "-o", str(out)]
    command += ["--altered", str(altered)]
    env = os.environ | {"PYTHONPATH": str(share_folder(binary) / "python")}
    run = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise RuntimeError(f"export of {reference} failed:\n{run.stdout}{run.stderr}")
