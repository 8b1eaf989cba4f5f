"""One kernel: how it is checked, here or on a worker of a cluster."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from assay.corpus.folders import REFERENCE
from assay.corpus.outcome import Row, crash_row, make_row
from assay.corpus.supervise import Result


@dataclass
class Task:
    name: str
    key: str
    kernel: str  # kernel.cu or kernel.py
    has_reference: bool
    options: list[str]  # of `assay check`
    wall_seconds: float
    memory_bytes: int
    folder: str = ""  # where its files are; "" where they come along:
    files: dict[str, bytes] = field(default_factory=dict)
    more: dict = field(default_factory=dict)  # fields of the row that are known already


class Running:
    """Supervisors that run now, so that an interrupted session ends them."""

    def __init__(self) -> None:
        self.processes: set[subprocess.Popen] = set()
        self.stopped = False

    def stop(self) -> None:
        self.stopped = True
        for process in list(self.processes):
            process.terminate()


def check(task: Task, binary: str, running: Running, scratch: str | None = None) -> Row:
    """Checks one kernel. Whatever goes wrong with it is a row.

    Errors: InterruptedError after running.stop().
    """
    if not task.has_reference:
        return crash_row(task, "wrong input", f"no {REFERENCE} beside {task.kernel}")
    try:
        with tempfile.TemporaryDirectory(prefix="assay-corpus-", dir=scratch) as folder:
            where = task.folder or unpack(task, Path(folder) / "kernel")
            return check_in(task, binary, running, where, Path(folder))
    except InterruptedError:
        raise
    except OSError as error:  # a full disk, too many processes
        return crash_row(task, "crash", f"the check could not be run: {error}", retry=True)


def unpack(task: Task, folder: Path) -> str:
    """Writes the files that came along."""
    for name, content in task.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return str(folder)


def check_in(task: Task, binary: str, running: Running, where: str, room: Path) -> Row:
    out = room / "out.json"
    command = [binary, "check", task.kernel, REFERENCE, *task.options]
    command += ["--json", str(out)]
    spec = {
        "argv": command,
        "folder": where,
        "scratch": str(room),
        "wall_seconds": task.wall_seconds,
        "memory_bytes": task.memory_bytes,
        "parent": os.getpid(),
    }
    supervisor = subprocess.Popen(
        [sys.executable, "-P", "-m", "assay.corpus.supervise"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])},
        start_new_session=True,  # Ctrl-C is for this process alone
    )
    running.processes.add(supervisor)
    try:
        if running.stopped:
            supervisor.terminate()
        said, errors = supervisor.communicate(json.dumps(spec))
    finally:
        running.processes.discard(supervisor)
    if running.stopped:
        raise InterruptedError
    if supervisor.returncode != 0:
        said = f"the supervisor ended with {supervisor.returncode}: {errors.strip()[-1000:]}"
        return crash_row(task, "crash", said, retry=True)
    # Places are told as they stand in the kernel's folder, wherever that is.
    result = Result(**json.loads(said))
    result.output = result.output.replace(f"{where}/", "")
    result.errors = result.errors.replace(f"{where}/", "")
    return make_row(task, result, read_json(out, where))


def read_json(file: Path, where: str) -> dict:
    """{} where the check did not come so far as to write it whole."""
    try:
        prefix = json.dumps(where, ensure_ascii=False)[1:-1]
        return json.loads(file.read_text(errors="replace").replace(f"{prefix}/", ""))
    except (OSError, ValueError):
        return {}


def clear_scratch(folder: Path) -> None:
    """What a session that was killed left behind."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
