"""The identity of an export, by which a second check of the same reference imports no torch."""

from __future__ import annotations

import hashlib
import importlib.metadata
import sys
from pathlib import Path
from typing import Any


def key(path: Path, options: tuple[Any, ...]) -> str:
    """Covers ref.py, its path (locations are in the Program), options, torch and this package."""
    try:
        torch_version = importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        torch_version = ""
    digest = hashlib.sha256()
    for part in (str(path), repr(options), torch_version, sys.version):
        digest.update(part.encode() + b"\0")
    for file in [path, *sorted(Path(__file__).parent.glob("*.py"))]:
        digest.update(hashlib.sha256(file.read_bytes() if file.is_file() else b"").digest())
    return digest.hexdigest()


def imported_siblings(path: Path) -> bool:
    """ref.py imported modules beside it, which the key does not cover."""
    root = path.resolve().parent
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if file and Path(file).resolve().parent == root and Path(file).resolve() != path.resolve():
            return True
    return False
