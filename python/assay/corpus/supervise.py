"""Runs one command and everything that it starts, within limits of time and memory.

`python -m assay.corpus.supervise` reads a Spec as JSON from standard input and writes a Result as
JSON to standard output. It is a process of its own, so that it can adopt what the command leaves
behind (a subreaper), and so that it ends all of it when whoever started it dies.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
LIBC = ctypes.CDLL(None, use_errno=True)
# Seconds between looks at memory: a process writes some 3 GB/s at most.
LOOK = 0.1
OUTPUT = 64 * 1024  # bytes kept of what the command printed


@dataclass
class Spec:
    argv: list[str]
    folder: str  # where it runs
    scratch: str  # an empty folder for temporary files
    wall_seconds: float
    memory_bytes: int  # resident, of all processes together
    parent: int  # process that started this one


@dataclass
class Result:
    exit_code: int | None = None
    signal: int | None = None
    killed: str = ""  # "timeout", "memory"
    wall_seconds: float = 0
    cpu_seconds: float = 0
    peak_memory_bytes: int = 0
    output: str = ""  # the beginning of standard output
    errors: str = ""  # the end of standard error


def when_parent_dies(number: int) -> None:
    """This process gets that signal."""
    LIBC.prctl(PR_SET_PDEATHSIG, number, 0, 0, 0)


def descendants() -> list[psutil.Process]:
    try:
        return psutil.Process().children(recursive=True)
    except psutil.NoSuchProcess:  # one ended while it was looked at
        return []


def resident(processes: list[psutil.Process]) -> int:
    total = 0
    for process in processes:
        try:
            total += process.memory_info().rss
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return total


def reap() -> None:
    """Takes the exit status of adopted processes that ended."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def kill_all(limit: float = 10) -> None:
    """Kills all descendants, also those that appear meanwhile."""
    end = time.monotonic() + limit
    while (left := descendants()) and time.monotonic() < end:
        for process in left:
            try:
                process.kill()
            except psutil.NoSuchProcess:
                continue
        time.sleep(0.005)
        reap()


def terminated(*_) -> None:
    kill_all()
    os._exit(128 + signal.SIGTERM)


def run(spec: Spec) -> Result:
    result = Result()
    scratch = Path(spec.scratch)
    # What is confined writes into folders of its own below TMPDIR.
    (scratch / "tmp").mkdir()
    env = os.environ | {"TMPDIR": str(scratch / "tmp"), "NO_COLOR": "1"}
    start = time.monotonic()
    with open(scratch / "stdout", "wb") as out, open(scratch / "stderr", "wb") as err:
        child = subprocess.Popen(
            spec.argv,
            cwd=spec.folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            preexec_fn=lambda: when_parent_dies(signal.SIGKILL),
        )
    ended = os.pidfd_open(child.pid)
    while True:
        left = spec.wall_seconds - (time.monotonic() - start)
        if select.select([ended], [], [], max(0, min(left, LOOK)))[0]:
            break
        memory = resident(descendants())
        result.peak_memory_bytes = max(result.peak_memory_bytes, memory)
        if memory > spec.memory_bytes:
            result.killed = "memory"
        elif left <= 0:
            result.killed = "timeout"
        if result.killed:
            child.kill()
            break
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    kill_all()
    result.wall_seconds = time.monotonic() - start
    if os.WIFEXITED(status):
        result.exit_code = os.WEXITSTATUS(status)
    else:
        result.signal = os.WTERMSIG(status)
    times = os.times()  # of all that was waited for, adopted processes too
    result.cpu_seconds = times.children_user + times.children_system
    result.peak_memory_bytes = max(result.peak_memory_bytes, usage.ru_maxrss * 1024)
    result.output = beginning(scratch / "stdout")
    result.errors = end_of(scratch / "stderr")
    return result


def beginning(file: Path) -> str:
    with open(file, "rb") as stream:
        return stream.read(OUTPUT).decode(errors="replace")


def end_of(file: Path) -> str:
    with open(file, "rb") as stream:
        stream.seek(max(0, os.fstat(stream.fileno()).st_size - OUTPUT))
        return stream.read().decode(errors="replace")


def main() -> int:
    spec = Spec(**json.load(sys.stdin))
    signal.signal(signal.SIGTERM, terminated)
    when_parent_dies(signal.SIGTERM)
    if os.getppid() != spec.parent:  # it ended before the line above
        return 1
    LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    json.dump(asdict(run(spec)), sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
