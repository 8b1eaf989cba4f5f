"""Questions to Assay: a line of JSON out, a line of JSON back (src/host/extension_server.h)."""

from __future__ import annotations

import json
import os
from typing import Any

from assay.errors import EXIT_CODES, ExportError


class Channel:
    """Takes descriptors 0 and 3 for itself, before foreign code runs."""

    def __init__(self) -> None:
        self._out = os.fdopen(os.dup(3), "w", encoding="utf-8")
        self._in = os.fdopen(os.dup(0), "r", encoding="utf-8")
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        os.dup2(null, 3)
        os.close(null)

    def ask(self, what: str, **fields: Any) -> Any:
        """Errors: the ExportError that the answer holds."""
        self._out.write("ask " + json.dumps({"ask": what, **fields}, allow_nan=False) + "\n")
        self._out.flush()
        line = self._in.readline()
        if not line:
            raise ExportError("internal", "Assay does not answer")
        answer = json.loads(line)
        error = answer.get("error")
        if error is not None:
            kind = error["kind"] if error["kind"] in EXIT_CODES else "internal"
            raise ExportError(kind, error["message"])
        return answer

    def finish(self, text: str) -> None:
        self._out.write("once\n" + text)
        self._out.close()
