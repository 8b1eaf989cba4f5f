"""Wrong use of `assay corpus`."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

# As src/cli/cli.h has it.
BAD_INPUT = 4
REQUIREMENTS = Path(__file__).resolve().parents[3] / "requirements-corpus.txt"


class CorpusError(Exception):
    """Told to the user in one line; exit code BAD_INPUT."""


def need(*modules: str) -> None:
    """Errors: CorpusError, with the line that installs what is missing."""
    missing = [m for m in modules if importlib.util.find_spec(m) is None]
    if missing:
        raise CorpusError(
            f"{sys.executable} lacks {', '.join(missing)}; install what `assay corpus` needs with: "
            f"{sys.executable} -m pip install -r {REQUIREMENTS}"
        )
