"""Tricks that act on whoever runs a program, not on what it computes. Each finding: kind, message,
line."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import Any

import torch

Found = tuple[str, str, int]

_LOOKS = {
    "sys._getframe", "inspect.stack", "inspect.currentframe", "inspect.getouterframes",
    "inspect.trace", "traceback.extract_stack", "traceback.format_stack",
    "traceback.print_stack", "traceback.walk_stack", "gc.get_objects", "gc.get_referrers",
    "gc.get_referents", "sys._current_frames", "sys.settrace", "sys.setprofile",
}  # fmt: skip
_SETTINGS = ("torch.backends.", "torch._dynamo.", "torch._inductor.", "os.environ")


def static(path: Path) -> list[Found]:
    """What can be read from the source."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = _imported(tree)
    out: list[Found] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute | ast.Name) and isinstance(node.ctx, ast.Load):
            full = _full_name(node, names)
            if full in _LOOKS:
                out.append(("harness-cheat", f"looks at its caller: {full}", node.lineno))
        for full in _replaced(node, names):
            if full.split(".")[0] in _MODULES and not full.startswith(_SETTINGS):
                message = f"replaces {full} for the whole process"
                out.append(("harness-cheat", message, node.lineno))
        if isinstance(node, ast.ClassDef) and _intercepts(node, names):
            message = (
                f"defines a tensor class, {node.name}, that intercepts operations: what forward "
                "returns may be computed later"
            )
            out.append(("harness-cheat", message, node.lineno))
        if isinstance(node, ast.Try):
            out += _fallback(node, names)
    return out


def _replaced(node: ast.AST, names: dict[str, str]) -> list[str]:
    """The attributes of modules and classes that a statement assigns."""
    if isinstance(node, ast.Assign):
        return [_full_name(t, names) for t in node.targets if isinstance(t, ast.Attribute)]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "setattr":
        match node.args:
            case [owner, ast.Constant(value=str(name)), _]:
                head = _full_name(owner, names)
                return [f"{head}.{name}"] if head else []
    return []


def _intercepts(node: ast.ClassDef, names: dict[str, str]) -> bool:
    methods = {m.name for m in node.body if isinstance(m, ast.FunctionDef)}
    bases = {_full_name(b, names) for b in node.bases}
    return bool(bases & {"torch.Tensor", "torch.nn.Parameter"}) and bool(
        methods & {"__torch_function__", "__torch_dispatch__"}
    )


_MODULES = {"torch", "time", "sys", "gc", "inspect", "numpy", "builtins", "random"}


def _imported(tree: ast.AST) -> dict[str, str]:
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for a in node.names:
                names[a.asname or a.name.split(".")[0]] = a.name if a.asname else (
                    a.name.split(".")[0]
                )  # fmt: skip
        elif isinstance(node, ast.ImportFrom) and node.module:
            for a in node.names:
                names[a.asname or a.name] = f"{node.module}.{a.name}"
    return names


def _full_name(node: ast.AST, names: dict[str, str]) -> str:
    if isinstance(node, ast.Name):
        return names.get(node.id, "")
    if isinstance(node, ast.Attribute):
        head = _full_name(node.value, names)
        return f"{head}.{node.attr}" if head else ""
    return ""


def _fallback(node: ast.Try, names: dict[str, str]) -> list[Found]:
    """A handler that computes with PyTorch what the kernel in the try block should have."""
    tried = any(isinstance(n, ast.Call) for s in node.body for n in ast.walk(s))
    out = []
    for handler in node.handlers:
        inner = [n for s in handler.body for n in ast.walk(s)]
        returns = [c for n in inner if isinstance(n, ast.Return) for c in ast.walk(n)]
        computes = any(isinstance(n, ast.Call) and _computes(n, names, handler) for n in inner)
        if tried and (computes or any(isinstance(c, ast.Call) for c in returns)):
            message = "falls back to PyTorch where its kernel fails"
            out.append(("harness-cheat", message, handler.lineno))
    return out


def _computes(call: ast.Call, names: dict[str, str], handler: ast.ExceptHandler) -> bool:
    full = _full_name(call.func, names)
    if full.startswith("torch."):
        parts = full.split(".")
        return parts[1] not in ("cuda", "utils", "backends", "no_grad", "device", "version")
    if full or not isinstance(call.func, ast.Attribute):
        return False
    root: ast.AST = call.func.value
    while isinstance(root, ast.Attribute | ast.Call | ast.Subscript):
        root = root.func if isinstance(root, ast.Call) else root.value
    if not isinstance(root, ast.Name) or root.id == handler.name:
        return False
    return root.id == "self" or (root.id not in names and hasattr(torch.Tensor, call.func.attr))


_EVENTS = {
    "sys._getframe": "its caller's frame",
    "sys._current_frames": "all frames",
    "gc.get_objects": "all objects",
    "gc.get_referrers": "referrers of objects",
    "gc.get_referents": "referents of objects",
}


class Caller:
    """Notes, while a program's own code runs, that it walks the stack or the heap."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self.found: list[Found] = []
        self._active = False

    def install(self) -> None:
        sys.addaudithook(self._hook)

    def __enter__(self) -> None:
        self._active = True

    def __exit__(self, *_: Any) -> None:
        self._active = False

    def _hook(self, event: str, _: Any) -> None:
        what = _EVENTS.get(event) if self._active else None
        if what is None:
            return
        self._active = False
        frame = sys._getframe(1)
        library = ("inspect.py", "traceback.py", "gc.py")
        while frame is not None and frame.f_code.co_filename.endswith(library):
            frame = frame.f_back
        if frame is not None and frame.f_code.co_filename == self.path:
            found = ("harness-cheat", f"looks at its caller: it asked for {what}", frame.f_lineno)
            if found not in self.found:
                self.found.append(found)
        self._active = True
