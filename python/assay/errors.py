"""What can go wrong while a reference is exported, as in src/base/result.h."""

from __future__ import annotations

EXIT_CODES = {"syntax": 4, "invalid": 4, "io": 4, "unsupported": 3, "limit": 3, "internal": 5}


class ExportError(Exception):
    """A Diag: `kind` is one of EXIT_CODES' keys."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.kind]


class InvalidError(ExportError):
    """ref.py is wrong: missing definitions, exceptions of its own."""

    def __init__(self, message: str) -> None:
        super().__init__("invalid", message)


class UnsupportedError(ExportError):
    """ref.py is right, but the exporter does not know the construct."""

    def __init__(self, message: str) -> None:
        super().__init__("unsupported", message)
