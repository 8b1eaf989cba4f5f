"""Exports by content, so that a second check of the same reference imports no torch."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import os
import sys
from pathlib import Path
from typing import Any


def folder() -> Path:
    base = os.environ.get("ASSAY_CACHE")
    return (Path(base) if base else Path.home() / ".cache" / "assay") / "refs"


def key(source: str, path: Path, options: tuple[Any, ...]) -> str:
    """Covers ref.py, its path (locations are in the Program), options, torch and this package."""
    try:
        torch_version = importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        torch_version = ""
    digest = hashlib.sha256()
    for part in (source, str(path), repr(options), torch_version, sys.version):
        digest.update(part.encode() + b"\0")
    for file in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def load(name: str) -> str | None:
    try:
        return (folder() / f"{name}.json").read_text(encoding="utf-8")
    except (OSError, RuntimeError, UnicodeDecodeError):  # RuntimeError: no home folder
        return None


def store(name: str, text: str) -> None:
    """Best effort: in the sandbox the folder is not writable."""
    with contextlib.suppress(OSError, RuntimeError):
        folder().mkdir(parents=True, exist_ok=True)
        part = folder() / f"{name}.{os.getpid()}.part"
        try:
            part.write_text(text, encoding="utf-8")
            part.replace(folder() / f"{name}.json")
        finally:
            part.unlink(missing_ok=True)


def imported_siblings(path: Path) -> bool:
    """ref.py imported modules beside it, which the key does not cover."""
    root = path.resolve().parent
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if file and Path(file).resolve().parent == root and Path(file).resolve() != path.resolve():
            return True
    return False
