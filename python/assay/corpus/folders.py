"""The kernels of a corpus, and the key under which what was found of one is kept."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

REFERENCE = "ref.py"
# Where a folder has both, the program is what is checked: kernel.cu is a source that it builds.
KERNELS = ("kernel.py", "kernel.cu")
META = "meta.json"
# What a kernel may include, import or build. Anything else in its folder changes no result.
SOURCES = (".cu", ".cuh", ".h", ".hpp", ".inl", ".c", ".cc", ".cpp", ".cxx", ".py", ".ptx")


class Kernel(NamedTuple):
    """One folder of the corpus."""

    name: str  # path of the folder relative to the corpus
    folder: Path
    kernel: str  # name of its file
    files: tuple[Path, ...]  # sources, relative to the folder

    @property
    def has_reference(self) -> bool:
        return Path(REFERENCE) in self.files

    def contents(self) -> dict[str, bytes]:
        return {str(f): (self.folder / f).read_bytes() for f in self.files}

    def meta(self) -> dict:
        """What the importer kept of the archive's row; {} where there is none."""
        try:
            data = json.loads((self.folder / META).read_text())
        except (OSError, ValueError):
            return {}
        return data if isinstance(data, dict) else {}


def find_kernels(corpus: Path) -> list[Kernel]:
    """All folders at or below `corpus` that hold a kernel, by name; hidden ones are left out."""
    return sorted(walk(corpus), key=lambda k: k.name)


def walk(corpus: Path) -> Iterator[Kernel]:
    for where, folders, files in os.walk(corpus):
        folders[:] = sorted(f for f in folders if not f.startswith("."))
        kernel = next((k for k in KERNELS if k in files), None)
        if kernel is None:
            continue
        folder = Path(where)
        relative = folder.relative_to(corpus)
        shown = relative if relative.parts else corpus.resolve().name
        name = os.fsencode(shown).decode(errors="replace")
        yield Kernel(name, folder, kernel, tuple(sources(folder)))


def sources(folder: Path) -> list[Path]:
    """Source files of a kernel: its folder and what lies below, but no other kernel's folder."""
    out = []
    for where, folders, files in os.walk(folder):
        here = Path(where)
        folders[:] = sorted(
            f
            for f in folders
            if not f.startswith((".", "__pycache__"))
            and not any((here / f / k).exists() for k in KERNELS)
        )
        out += [(here / f).relative_to(folder) for f in sorted(files) if f.endswith(SOURCES)]
    return sorted(f for f in out if (folder / f).is_file())


def installation_root(binary: Path) -> Path | None:
    """As src/base/install.cpp finds it."""
    if home := os.environ.get("ASSAY_HOME"):
        return Path(home)
    parents = binary.resolve().parents[:3]
    return next((f for f in parents if (f / "share/assay").is_dir()), None)


def installation_key(binary: Path) -> str:
    """A hash of everything of Assay that a verdict depends on. Errors: OSError."""
    digest = hashlib.sha256(binary.read_bytes())
    root = installation_root(binary)
    if root is not None:
        own = [*(root / "libexec/assay").glob("*")]
        own += (root / "share/assay/python/assay").glob("*.py")
        for folder, _, files in os.walk(root / "share/assay/include", followlinks=True):
            own += [Path(folder) / f for f in files]
        for file in sorted(f for f in own if f.is_file()):
            add(digest, str(file.relative_to(root)).encode())
            add(digest, file.read_bytes())
    return digest.hexdigest()


def content_key(kernel: Kernel, options: list[str], installation: str) -> str:
    """The same key: the same files, checked in the same way by the same Assay. Errors: OSError."""
    digest = hashlib.sha256()
    for part in (installation, kernel.kernel, *options, ""):
        add(digest, part.encode())
    for name, content in kernel.contents().items():
        add(digest, os.fsencode(name))
        add(digest, content)
    return digest.hexdigest()


def add(digest, part: bytes) -> None:
    digest.update(len(part).to_bytes(8, "little"))
    digest.update(part)
