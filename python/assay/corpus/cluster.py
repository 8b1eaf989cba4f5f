"""The same checks on a Dask cluster. Kernels travel with their tasks, so no file system is shared.

A task whose worker is lost goes to another one; a kernel that takes several workers with it is a
row. Workers are started by `assay corpus worker`, and check with the Assay of their own machine,
which must be the one that this session has.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import os
import pickle
import traceback
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from distributed import Client, Future, as_completed, get_worker
from distributed.scheduler import KilledWorker

from assay.corpus.errors import CorpusError
from assay.corpus.folders import add, installation_key
from assay.corpus.local import cores, memory_limit
from assay.corpus.outcome import Row, crash_row
from assay.corpus.task import Running, Task, check

# Tasks handed to the scheduler beyond those that run: it holds their sources in memory.
AHEAD = 2
LOST = "the Dask scheduler is gone; the same command goes on where this ended"
SESSIONS: dict[str, Running] = {}  # on a worker


class OtherAssayError(Exception):
    """A worker's installation differs from the session's."""


@functools.cache
def installation() -> tuple[str, str]:
    """What must be the same on both sides: Assay, and this package."""
    own = hashlib.sha256()
    for file in sorted(Path(__file__).parent.glob("*.py")):
        add(own, file.read_bytes())
    return installation_key(Path(os.environ["ASSAY_BINARY"])), own.hexdigest()


def carrier() -> Callable[[bytes], Row]:
    """A function that Dask sends by value, for schedulers that have no Assay: they look into tasks.

    What it unpacks, only workers see.
    """

    def unpack(packed: bytes) -> Row:
        import pickle

        function, arguments = pickle.loads(packed)
        return function(*arguments)

    return unpack


def check_remotely(task: Task, session: str, expected: tuple[str, str]) -> Row:
    """Runs on a worker. Errors: OtherAssayError."""
    worker = get_worker()
    if installation() != expected:
        raise OtherAssayError(worker.address)
    threads = worker.state.nthreads
    if not task.memory_bytes:
        task = replace(task, memory_bytes=memory_limit(threads))
    if "--jobs" not in task.options:
        task = replace(task, options=[*task.options, "--jobs", str(max(1, cores() // threads))])
    running = SESSIONS.setdefault(session, Running())
    return check(task, os.environ["ASSAY_BINARY"], running) | {"worker": worker.address}


def stop_session(session: str) -> None:
    """Runs on every worker when a session ends: what it still checks is of no use."""
    SESSIONS.setdefault(session, Running()).stop()


def connect(address: str) -> Client:
    """Errors: CorpusError."""
    try:
        return Client(address)
    except (OSError, ValueError) as error:
        raise CorpusError(f"no Dask scheduler answers at {address}: {error}") from error


def run_on(address: str, tasks: list[Task], expected: tuple[str, str]) -> Iterator[Row]:
    """Rows as they come. Errors: CorpusError."""
    if not tasks:
        return
    client = connect(address)
    session = uuid.uuid4().hex
    waiting = iter(tasks)
    unpack = carrier()
    pending: dict[Future, Task] = {}

    def submit(number: int) -> list[Future]:
        new = []
        for task in itertools.islice(waiting, number):
            key = f"assay-{session}-{task.key}-{uuid.uuid4().hex[:8]}"
            packed = pickle.dumps((check_remotely, (task, session, expected)))
            new.append(client.submit(unpack, packed, key=key))
            pending[new[-1]] = task
        return new

    try:
        client.wait_for_workers(1)
        done = as_completed(submit(1 + threads(client) * AHEAD))
        for future in done:
            task = pending.pop(future)
            row = row_of(task, future)
            future.release()
            done.update(submit(1 + max(0, threads(client) * AHEAD - len(pending))))
            yield row
    except OSError as error:  # Dask's own are of this kind
        raise CorpusError(LOST) from error
    finally:
        try:
            client.cancel(list(pending))
            client.run(unpack, pickle.dumps((stop_session, (session,))), on_error="ignore")
        except Exception:  # the scheduler is gone, and its workers with it
            traceback.print_exc(limit=1)
        client.close(timeout=5)


def threads(client: Client) -> int:
    return sum(client.nthreads().values())


def row_of(task: Task, future: Future) -> Row:
    """Errors: CorpusError, if no kernel can be checked there."""
    if future.status == "finished":
        return future.result()
    if future.status == "cancelled":
        raise CorpusError(LOST)
    error = future.exception()
    if isinstance(error, OtherAssayError):
        raise CorpusError(f"the worker {error} has another version of Assay than this session")
    if isinstance(error, KilledWorker):
        reason = f"every worker that checked it was lost, the last one {error.last_worker.address}"
        return crash_row(task, "crash", reason, retry=True)
    raise CorpusError(f"workers cannot check: {error!r}; start them with `assay corpus worker`")
