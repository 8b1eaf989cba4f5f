"""`assay corpus --on`: a Dask cluster of several processes, some of which are killed."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from corpus_runs import command, environment, make_kernel, rows_of, run, wait_for

if "CI" not in os.environ:
    pytest.importorskip("distributed", reason="no packages of requirements-corpus.txt")
import psutil


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def tree(process: subprocess.Popen) -> list[psutil.Process]:
    root = psutil.Process(process.pid)
    return [root, *root.children(recursive=True)]


def kill(processes: list[psutil.Process]) -> None:
    for process in processes:
        if process.is_running():
            process.kill()


@contextmanager
def started(log: Path, line: list[str], **env: str) -> Iterator[subprocess.Popen]:
    """A scheduler or worker, killed with all that it started at the end."""
    with open(log, "wb") as out:
        process = subprocess.Popen(
            line,
            env=environment() | env,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        yield process
    finally:
        if process.poll() is None:
            kill(tree(process))
        process.wait()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[str, list[subprocess.Popen]]]:
    """Address of a scheduler that has no Assay, and three workers of one kernel at a time."""
    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    line = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--no-dashboard"]
    line += ["--host", "127.0.0.1", "--port", str(port)]
    with ExitStack() as stack:
        stack.enter_context(started(tmp_path / "scheduler.log", line, PYTHONPATH=""))
        line = command("worker", address, "-j", "1")
        workers = [
            stack.enter_context(started(tmp_path / f"worker{n}.log", line)) for n in range(3)
        ]
        joined = lambda n: "Registered to" in (tmp_path / f"worker{n}.log").read_text()
        wait_for(lambda: all(map(joined, range(3))))
        yield address, workers


def test_workers_are_killed_and_every_kernel_is_a_row(tmp_path: Path, cluster) -> None:
    address, workers = cluster
    corpus = tmp_path / "k"
    for number in range(9):
        make_kernel(corpus, f"k{number}", f"// proved 0.7\n// {number}")
    make_kernel(corpus, "crash", "// crash")
    make_kernel(corpus, "hang", "// hang")
    make_kernel(corpus, "bomb", "// bomb")
    make_kernel(corpus, "lonely", "// proved", ref=None)
    log = corpus / ".assay-corpus.jsonl"
    options = ["--on", address, "--timeout", "1", "--grace", "2", "--memory", "0.5"]
    with subprocess.Popen(
        command(corpus, *options), env=environment(), stdout=subprocess.PIPE, text=True
    ) as session:
        wait_for(lambda: log.exists() and log.read_bytes().count(b"\n") >= 2)
        kill(tree(workers[0]))  # a machine that is gone
        # One whose process dies, and is started again by its nanny.
        kill([p for p in tree(workers[1])[1:] if "spawn" in " ".join(p.cmdline())])
        said = session.communicate(timeout=120)[0]
    assert session.returncode == 0, said
    rows = rows_of(corpus)
    verdicts = {name: row["verdict"] for name, row in rows.items()}
    assert verdicts == {
        **{f"k{n}": "proved" for n in range(9)},
        "crash": "crash",
        "hang": "timeout",
        "bomb": "memory",
        "lonely": "wrong input",
    }
    assert len({row["worker"] for row in rows.values()}) >= 2
    assert "13 kernels" in said
    # Nothing is left to do for the next one, here or there.
    assert "13 kernels are in" in run(corpus, *options)


def test_another_assay_on_a_worker_ends_the_session(tmp_path: Path) -> None:
    port = free_port()
    make_kernel(tmp_path / "k", "a", "// proved")
    other = tmp_path / "other_assay"
    other.write_text("#!/bin/sh\n")
    address = f"tcp://127.0.0.1:{port}"
    line = command("scheduler", "--host", "127.0.0.1", "--port", str(port))
    worker = command("worker", address, "-j", "1")
    with (
        started(tmp_path / "s.log", line),
        started(tmp_path / "w.log", worker, ASSAY_BINARY=str(other)),
    ):
        said = run(tmp_path / "k", "--on", address, code=4)
    assert "has another version of Assay than this session" in said


def test_the_scheduler_is_lost_and_what_is_known_stays(tmp_path: Path) -> None:
    port = free_port()
    for number in range(6):
        make_kernel(tmp_path / "k", f"k{number}", f"// proved 0.4\n// {number}")
    address = f"tcp://127.0.0.1:{port}"
    line = command("scheduler", "--host", "127.0.0.1", "--port", str(port))
    log = tmp_path / "k/.assay-corpus.jsonl"
    quick = {"DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "2s"}
    with (
        started(tmp_path / "s.log", line) as scheduler,
        started(tmp_path / "w.log", command("worker", address, "-j", "1")),
        subprocess.Popen(
            command(tmp_path / "k", "--on", address),
            env=environment() | quick,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as session,
    ):
        wait_for(lambda: log.exists() and log.read_bytes().count(b"\n") >= 2)
        kill(tree(scheduler))
        said = session.communicate(timeout=60)[0]
    assert session.returncode == 4, said
    assert "the same command goes on where this ended" in said
    known = len(rows_of(tmp_path / "k"))
    assert 2 <= known < 6
    assert f"{known} kernels are in" in run(tmp_path / "k")
    assert len(rows_of(tmp_path / "k")) == 6


def test_no_scheduler(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT", "1s")
    make_kernel(tmp_path, "a", "// proved")
    said = run(tmp_path, "--on", f"tcp://127.0.0.1:{free_port()}", code=4)
    assert "no Dask scheduler answers at tcp://127.0.0.1:" in said
