"""`assay corpus import`: rows of the AI CUDA Engineer archive (CSV or Parquet) as kernel folders.

A row becomes DIR/level_L/OP/KERNEL-HASH with kernel.cu, ref.py and meta.json (all other columns).
The functional form of the reference is taken where there is one: the archive's kernels take the
arguments of its `module_fn`, weights included, while Model.forward takes the inputs alone.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from assay.corpus.errors import BAD_INPUT, CorpusError, need
from assay.corpus.folders import META, REFERENCE

Record = dict[str, Any]
CODE = "CUDA_Code"
REFERENCES = ("PyTorch_Code_Functional", "PyTorch_Code_Module")
NAMES = ("Level_ID", "Op_Name", "Kernel_Name", "Task_ID", "Correct")
BATCH = 64  # rows of a Parquet file in memory at once: profiles make them long


def read_rows(file: Path) -> Iterator[Record]:
    """Errors: CorpusError."""
    try:
        with open(file, "rb") as stream:
            parquet = stream.read(4) == b"PAR1"
    except OSError as error:
        raise CorpusError(f"cannot read {file}: {error.strerror}") from error
    return read_parquet(file) if parquet else read_csv(file)


def read_csv(file: Path) -> Iterator[Record]:
    csv.field_size_limit(sys.maxsize)
    # Sources keep their bytes, whatever these are.
    with open(file, newline="", encoding="utf-8-sig", errors="surrogateescape") as stream:
        reader = csv.DictReader(stream)
        try:
            columns = column_names(file, reader.fieldnames or [])
            for record in reader:
                record.pop(None, None)  # cells beyond the header
                yield {columns.get(k, k): v for k, v in record.items()}
        except csv.Error as error:
            raise CorpusError(f"{file}:{reader.line_num}: {error}") from error


def read_parquet(file: Path) -> Iterator[Record]:
    need("pyarrow")
    import pyarrow
    from pyarrow.parquet import ParquetFile

    try:
        with ParquetFile(file) as table:
            columns = column_names(file, table.schema_arrow.names)
            for batch in table.iter_batches(batch_size=BATCH):
                for record in batch.to_pylist():
                    yield {columns.get(k, k): v for k, v in record.items()}
    except (pyarrow.ArrowException, OSError) as error:
        raise CorpusError(f"{file} is no Parquet file that can be read: {error}") from error


def column_names(file: Path, found: list[str]) -> dict[str, str]:
    """The file's columns by the archive's spelling. Errors: CorpusError, if needed ones lack."""
    known = {name.lower(): name for name in (CODE, *REFERENCES, *NAMES)}
    columns = {name: known[name.lower()] for name in found if name.lower() in known}
    have = set(columns.values())
    if CODE not in have:
        lacks = CODE
    elif not have.intersection(REFERENCES):
        lacks = " or ".join(REFERENCES)
    else:
        return columns
    shown = ", ".join(found[:30]) or "none"
    raise CorpusError(f"{file} has no column {lacks}; its columns are: {shown}"[:1000])


def text_of(value: Any) -> str:
    return value if isinstance(value, str) and value.strip() else ""


def slug(text: Any, most: int = 80) -> str:
    """A name of a file that is safe everywhere; "" where nothing is left of it."""
    if text is None or text != text:  # Parquet's NaN
        return ""
    if isinstance(text, float) and text.is_integer():
        text = int(text)
    return re.sub(r"[^A-Za-z0-9._-]+", "_", str(text)).strip("._-")[:most]


def folder_of(record: Record, code: bytes, reference: bytes) -> Path:
    """Depends on this row alone: the same whatever else is imported, and in which order."""
    level = slug(record.get("Level_ID")) or "unknown"
    operator = slug(record.get("Op_Name")) or slug(record.get("Task_ID")) or "unnamed"
    digest = hashlib.sha256(len(code).to_bytes(8, "little") + code + reference).hexdigest()
    kernel = slug(record.get("Kernel_Name")) or "kernel"
    return Path(f"level_{level}") / operator / f"{kernel}-{digest[:12]}"


def claim(value: Any) -> Any:
    """CSV's "True" as a value of its own; anything else as it is."""
    return {"true": True, "false": False}.get(str(value).lower(), value)


def plain(value: Any) -> Any:
    """What JSON has no form for, as text."""
    return None if value != value else str(value)


def write_row(record: Record, target: Path, seen: set[Path]) -> str:
    """Writes one folder; "" or why the row has none."""
    code = text_of(record.get(CODE))
    reference = next((t for name in REFERENCES if (t := text_of(record.get(name)))), "")
    if not code or not reference:
        return "without a kernel" if not code else "without a reference"
    data = [text.encode(errors="surrogateescape") for text in (code, reference)]
    folder = folder_of(record, *data)
    if folder in seen:
        return "the same kernel and reference as an earlier row"
    seen.add(folder)
    meta = {k: v for k, v in record.items() if k not in (CODE, *REFERENCES)}
    if "Correct" in meta:
        meta["Correct"] = claim(meta["Correct"])
    where = target / folder
    where.mkdir(parents=True, exist_ok=True)
    (where / "kernel.cu").write_bytes(data[0])
    (where / REFERENCE).write_bytes(data[1])
    (where / META).write_text(json.dumps(meta, indent=1, default=plain) + "\n")
    return ""


def wanted(record: Record, args: argparse.Namespace) -> bool:
    if args.level and slug(record.get("Level_ID")) not in args.level:
        return False
    return not args.correct or claim(record.get("Correct")) is True


def main(words: list[str]) -> int:
    """Errors: CorpusError."""
    from rich.console import Console
    from rich.progress import track

    parser = argparse.ArgumentParser("assay corpus import", description=__doc__.split("\n")[0])
    parser.error = lambda message: parser.exit(BAD_INPUT, f"error: {message}\n")
    parser.add_argument("file", metavar="FILE", nargs="+", type=Path, help="CSV or Parquet")
    parser.add_argument("folder", metavar="DIR", type=Path)
    parser.add_argument("--level", action="append", metavar="N", help="only these (repeatable)")
    parser.add_argument("--correct", action="store_true", help="only what is called Correct there")
    parser.add_argument("--limit", type=int, metavar="N", help="at most this many folders a file")
    args = parser.parse_args(words)
    skipped: Counter[str] = Counter()
    seen: set[Path] = set()
    out = Console(highlight=False)
    for file in args.file:
        before = len(seen)
        rows = read_rows(file)
        for record in track(rows, file.name, console=out, disable=not out.is_terminal):
            if args.limit is not None and len(seen) - before >= args.limit:
                break
            if not wanted(record, args):
                skipped["not asked for"] += 1
                continue
            try:
                why = write_row(record, args.folder, seen)
            except OSError as error:
                raise CorpusError(f"cannot write {error.filename}: {error.strerror}") from error
            skipped[why] += bool(why)
    out.print(f"{len(seen):,} kernels in {args.folder}", soft_wrap=True)
    for why, number in sorted(skipped.items()):
        if why:
            out.print(f"{number:,} rows left out: {why}")
    return 0
