"""Checks on this machine, several at a time."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import psutil

from assay.corpus.outcome import Row
from assay.corpus.task import Running, Task, check

CGROUP = Path("/sys/fs/cgroup")


def run_local(tasks: list[Task], binary: str, jobs: int, scratch: Path) -> Iterator[Row]:
    """Rows as they come. Closing the iterator kills what still runs."""
    running = Running()
    with ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(check, task, binary, running, str(scratch)) for task in tasks]
        try:
            for future in as_completed(futures):
                yield future.result()
        finally:
            running.stop()
            for future in futures:
                future.cancel()


def memory_limit(jobs: int) -> int:
    """Bytes for each of `jobs` kernels at once: nine tenths of what is free, shared evenly."""
    free = psutil.virtual_memory().available
    with contextlib.suppress(OSError, ValueError):  # no such group, or its limit is "max"
        limit, used = (int((CGROUP / f"memory.{f}").read_text()) for f in ("max", "current"))
        free = min(free, limit - used)
    return max(256 << 20, free * 9 // 10 // jobs)


def cores() -> int:
    return len(os.sched_getaffinity(0))
