"""The log: one JSON line a kernel, each on the disk before the next kernel counts as done."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
from pathlib import Path
from typing import BinaryIO

from assay.corpus.outcome import SCHEMA, Row

# Fields of a row that become files, and how these end.
TEXTS = {"script": "py", "errors": "log"}


class LogError(Exception):
    """The log cannot be used; the message says why."""


class Log:
    """Rows by key, and appending. Only one process holds a log at a time."""

    def __init__(self, path: Path, read_only: bool = False) -> None:
        """`read_only`: as it stands, also while a session writes it. Errors: LogError."""
        self.path = path
        self.read_only = read_only
        self.details = path.with_name(path.name + ".d")  # what is too long for a line
        self.rows: dict[str, Row] = {}  # by content key; later lines win
        self.dropped = 0  # lines that are none of ours
        try:
            self.file = self.open_to_write() if not read_only else open(path, "rb")  # noqa: SIM115
        except BlockingIOError as error:
            raise LogError(f"{path} is in use by another session; --report shows it") from error
        except OSError as error:
            verb = "read" if read_only else "write"
            why = f"cannot {verb} {path}: {error.strerror}; --json names another place"
            raise LogError(why) from error
        self.read()

    def open_to_write(self) -> BinaryIO:
        """Open as long as the session. Errors: OSError; BlockingIOError, if another has it."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        file = open(self.path, "a+b")  # noqa: SIM115
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            raise
        return file

    def read(self) -> None:
        self.file.seek(0)
        end = 0
        for line in self.file:
            if not line.endswith(b"\n"):
                # Torn: its writer was killed, or the disk was full. The next line must not follow.
                if not self.read_only:
                    self.dropped += 1
                    self.file.truncate(end)
                break
            end += len(line)
            row = parse(line)
            if row is None:
                self.dropped += 1
            else:
                self.rows[row["key"]] = row
        self.file.seek(0, os.SEEK_END)

    def append(self, row: Row) -> None:
        """Errors: OSError (a full disk)."""
        self.file.write(json.dumps(row, ensure_ascii=False).encode(errors="replace") + b"\n")
        self.file.flush()
        os.fsync(self.file.fileno())
        self.rows[row["key"]] = row

    def clear(self) -> None:
        """Forgets all rows, and the files that keep_texts made of them."""
        for row in self.rows.values():
            for what in TEXTS:
                file = Path(row.get(what, ""))
                if file.parent == Path(self.details.name):
                    (self.details / file.name).unlink(missing_ok=True)
        self.file.truncate(0)
        self.rows, self.dropped = {}, 0

    def keep_texts(self, row: Row) -> Row:
        """Moves the script of the witness and what was printed as errors into files; the row has
        their paths, relative to the log's folder."""
        row = dict(row)
        safe = re.sub(r"[^\w.-]+", "_", row["name"], flags=re.ASCII)[-120:]
        for what, ending in TEXTS.items():
            if text := row.pop(what, ""):
                self.details.mkdir(exist_ok=True)
                file = self.details / f"{safe}-{row['key'][:8]}.{ending}"
                file.write_text(text, errors="replace")
                row[what] = f"{self.details.name}/{file.name}"
        return row

    def close(self) -> None:
        self.file.close()


def parse(line: bytes) -> Row | None:
    with contextlib.suppress(ValueError):
        row = json.loads(line)
        if isinstance(row, dict) and row.get("schema") == SCHEMA and "key" in row:
            return row
    return None
