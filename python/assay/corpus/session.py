"""One run over a corpus: what is known already, what is still to do, what is reported."""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from rich.console import Console

from assay.corpus import folders
from assay.corpus.errors import CorpusError
from assay.corpus.local import cores, memory_limit, run_local
from assay.corpus.log import Log, LogError
from assay.corpus.outcome import Row, crash_row, level_of
from assay.corpus.progress import Shown
from assay.corpus.table import console, print_summary
from assay.corpus.task import Task, clear_scratch

INTERRUPTED = 130


def check_options(args: argparse.Namespace) -> list[str]:
    """Options of `assay check` that a verdict depends on: part of the content key."""
    out = ["--timeout", f"{args.timeout:g}"]
    for name in ("rtol", "atol", "seed", "entry"):
        if (value := getattr(args, name)) is not None:
            out += [f"--{name}", str(value)]
    for name in ("eval", "whole", "given_shape_only"):
        if getattr(args, name):
            out.append("--" + name.replace("_", "-"))
    for flag in args.nvcc_flag:
        out += ["--nvcc-flag", flag]
    return out


def known_of(kernel: folders.Kernel) -> Row:
    """Fields of a row that come from the folder, not from a check."""
    meta = kernel.meta()
    row = {"level": level_of(kernel.name) or level_of(f"level_{meta.get('Level_ID', '')}")}
    if isinstance(claim := meta.get("Correct"), bool):
        row["claimed_correct"] = claim
    return row


class Session:
    """Errors of all members: CorpusError."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.corpus = Path(args.folder)
        self.binary = Path(os.environ["ASSAY_BINARY"])
        if not self.corpus.is_dir():
            raise CorpusError(f"{self.corpus} is no folder")
        self.options = check_options(args)
        self.jobs = args.j or cores()
        self.memory = int((args.memory or 0) * 2**30)
        if not self.memory and not args.on:
            self.memory = memory_limit(self.jobs)
        try:
            self.installation = folders.installation_key(self.binary)
        except OSError as error:
            raise CorpusError(f"cannot read {self.binary}: {error.strerror}") from error
        path = Path(args.json) if args.json else self.corpus / ".assay-corpus.jsonl"
        try:
            self.log = Log(path, args.report)
        except LogError as error:
            raise CorpusError(str(error)) from error
        if args.fresh:
            self.log.clear()
        place = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:12]
        self.scratch = Path(tempfile.gettempdir()) / f"assay-corpus-{os.getuid()}-{place}"
        self.rows: list[Row] = []  # of this corpus as it is now
        self.todo: list[Task] = []
        self.folders: dict[str, Path] = {}  # by name

    def plan(self) -> None:
        """Sorts the kernels into rows that the log has and tasks."""
        found = folders.find_kernels(self.corpus)
        if not found:
            raise CorpusError(f"no folder with {' or '.join(folders.KERNELS)} in {self.corpus}")
        for kernel in found:
            self.plan_kernel(kernel)

    def plan_kernel(self, kernel: folders.Kernel) -> None:
        self.folders[kernel.name] = kernel.folder
        task = Task(
            kernel.name,
            f"unreadable {kernel.name}",
            kernel.kernel,
            kernel.has_reference,
            self.options + self.jobs_option(),
            self.args.timeout + self.args.grace,
            self.memory,
            str(kernel.folder.resolve()),
        )
        task.more = known_of(kernel)
        try:
            task.key = folders.content_key(kernel, self.options, self.installation)
            if self.args.on:
                task.files = kernel.contents()
        except OSError as error:
            row = crash_row(task, "wrong input", f"cannot read it: {error.strerror}", retry=True)
            self.rows.append(row)
            return
        known = self.log.rows.get(task.key)
        if known is None or self.again(known):
            self.todo.append(task)
        else:
            self.rows.append(known | {"name": task.name} | task.more)

    def jobs_option(self) -> list[str]:
        """Threads of one check; no part of the key, as no verdict depends on them."""
        jobs = self.args.jobs
        if not jobs and not self.args.on:  # a worker knows its own cores
            jobs = max(1, cores() // self.jobs)
        return ["--jobs", str(jobs)] if jobs else []

    def again(self, row: Row) -> bool:
        """Is a known row to be made anew?"""
        if self.args.report:
            return False
        more_memory = self.args.memory and self.memory > row.get("memory_limit_bytes", 0)
        return bool(
            row.get("retry")
            or row["verdict"] in self.args.retry
            or (row["verdict"] == "memory" and more_memory)
        )

    def results(self) -> Iterator[Row]:
        if self.args.on:
            from assay.corpus.cluster import installation, run_on

            return run_on(self.args.on, self.todo, installation())
        clear_scratch(self.scratch)
        return run_local(self.todo, str(self.binary), self.jobs, self.scratch)

    def run(self) -> int:
        out = console()
        known = len(self.rows)
        if self.args.report:
            self.report(out)
            out.print(f"{len(self.todo):,} kernels are not checked yet")
            return 0
        if known:
            out.print(f"{known:,} kernels are in {self.log.path} already, {len(self.todo):,} left")
        if self.log.dropped:
            out.print(f"{self.log.dropped} lines of {self.log.path} were torn or not a row")
        code = 0
        total = known + len(self.todo)
        try:
            shown = Shown(out, self.rows, total, self.args.verbose)
            with shown, closing(self.results()) as results:
                for row in results:
                    shown.add(self.keep(row))
        except KeyboardInterrupt:
            code = INTERRUPTED
        except CorpusError:  # a full disk, a scheduler that is gone
            self.report(out)
            raise
        finally:
            shutil.rmtree(self.scratch, ignore_errors=True)
        self.report(out)
        if code == INTERRUPTED:
            left = total - len(self.rows)
            out.print(f"interrupted with {left:,} kernels left; the same command goes on with them")
        return code

    def keep(self, row: Row) -> Row:
        try:
            row = self.log.keep_texts(row)
            self.log.append(row)
        except OSError as error:
            raise CorpusError(f"cannot write {self.log.path}: {error.strerror}") from error
        self.rows.append(row)
        return row

    def report(self, out: Console) -> None:
        self.rows.sort(key=lambda r: r["name"])
        if self.rows:
            print_summary(out, self.rows)
        if any("script" in r for r in self.rows):
            out.print(f"scripts that show them in PyTorch: {self.log.details}", soft_wrap=True)
        out.print(f"log: {self.log.path}", soft_wrap=True)
        if self.args.html:
            from assay.corpus.page import write_page

            title = f"assay corpus {self.corpus.resolve().name}"
            try:
                write_page(Path(self.args.html), title, self.rows, self.folders, self.log.path)
            except OSError as error:
                raise CorpusError(f"cannot write {self.args.html}: {error.strerror}") from error
            out.print(f"page: {self.args.html}", soft_wrap=True)
