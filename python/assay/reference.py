"""Loads ref.py in KernelBench form: Model, get_inputs, get_init_inputs, perhaps module_fn."""

from __future__ import annotations

import ast
import collections
import contextlib
import errno
import inspect
import os
import sys
import traceback
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from assay.devices import OnCpu
from assay.errors import ExportError, InvalidError, UnsupportedError
from assay.shapes import Changes, apply_changes, replace_inputs

# Inputs up to this many elements are made for real (values of integers, ranges of floats).
REAL_INPUT_ELEMENTS = 1 << 26
# Integer inputs are needed, so the bound is wider where there are any.
REAL_INTEGER_ELEMENTS = 1 << 29
# Random tensors of the constructor from this size on are left unfilled.
SKIP_ELEMENTS = 1 << 20


@dataclass
class Reference:
    """One ref.py, executed with some of its numbers changed."""

    path: Path
    module: types.ModuleType
    changes: Changes

    def get(self, name: str) -> Any:
        return getattr(self.module, name, None)

    def functional(self, name: str) -> Callable[..., Any] | None:
        """The function of that name beside Model; in place of module_fn also the one that forward
        takes as the default of a parameter."""
        function = self.get(name)
        if callable(function):
            return function
        forward = getattr(self.get("Model"), "forward", None)
        if name != "module_fn" or forward is None:
            return None
        for parameter in inspect.signature(forward).parameters.values():
            default = parameter.default
            own = isinstance(default, types.FunctionType) and (
                default.__module__ == self.module.__name__
            )
            if own and self.get(default.__name__) is default:
                return default
        return None


def last_lines(error: BaseException, path: Path) -> str:
    """The exception and the innermost frame of ref.py that raised it."""
    text = "".join(traceback.format_exception_only(type(error), error)).strip()
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == str(path)]
    where = f" (line {frames[-1].lineno}: {frames[-1].line})" if frames else ""
    return text[-600:] + where


def sandbox_hint(error: BaseException | None) -> str:
    """Where the cause is a refusal of the sandbox: what that allows."""
    seen = 0
    while error is not None and os.environ.get("ASSAY_CONFINED") and seen < 8:
        if isinstance(error, OSError) and error.errno in (errno.EPERM, errno.EACCES):
            return (
                "; references run confined: no network, no other processes, no writes outside a "
                "temporary folder (tempfile finds it)"
            )
        reason = getattr(error, "reason", None)  # urllib's
        inner = reason if isinstance(reason, BaseException) else None
        error, seen = inner or error.__cause__ or error.__context__, seen + 1
    return ""


@contextlib.contextmanager
def blamed_on_reference(what: str, path: Path) -> Iterator[None]:
    """Exceptions of user code become Invalid errors; exits of user code too. A module that is not
    installed makes it Unsupported."""
    try:
        yield
    except (ExportError, MemoryError, KeyboardInterrupt):
        raise
    except ModuleNotFoundError as error:
        if error.name is None:
            raise InvalidError(f"{path.name}: {what} raised {last_lines(error, path)}") from error
        raise UnsupportedError(
            f"{path.name} cannot be exported: it imports '{error.name}', which is not installed "
            f"for {sys.executable}"
        ) from error
    except (Exception, SystemExit) as error:
        where = last_lines(error, path) + sandbox_hint(error)
        raise InvalidError(f"{path.name}: {what} raised {where}") from error


class NoModel(torch.nn.Module):
    """Stands where only get_inputs is given."""

    def forward(self, *inputs: Any) -> None:
        raise NotImplementedError


def load(path: Path, changes: Changes, seed: int, needs_model: bool = True) -> Reference:
    """Executes ref.py. Errors: Io, Syntax, Invalid."""
    try:
        source = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ExportError("io", f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ExportError("syntax", f"{path}: not UTF-8 text") from error
    try:
        tree = ast.parse(source, filename=str(path))
    except (SyntaxError, ValueError) as error:
        raise ExportError("syntax", f"{path}: {error}") from error
    apply_changes(tree, changes)

    module = types.ModuleType("assay_reference")
    module.__file__ = str(path)
    sys.modules["assay_reference"] = module
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    torch.manual_seed(seed)
    with blamed_on_reference("loading it", path), OnCpu():
        exec(compile(tree, str(path), "exec"), module.__dict__)
    reference = Reference(path, module, changes)
    if not needs_model and reference.get("Model") is None:
        module.Model = NoModel  # type: ignore[attr-defined]
        module.get_init_inputs = list  # type: ignore[attr-defined]
    model = reference.get("Model")
    if not isinstance(model, type) or not issubclass(model, torch.nn.Module):
        raise InvalidError(f"{path.name}: no class Model derived from torch.nn.Module")
    if not callable(reference.get("get_inputs")):
        raise InvalidError(f"{path.name}: no function get_inputs")
    return reference


def init_inputs(reference: Reference, seed: int) -> list[Any]:
    function = reference.get("get_init_inputs")
    if function is None:
        return []
    torch.manual_seed(seed)
    with blamed_on_reference("get_init_inputs", reference.path), OnCpu():
        return list(function())


class SkipRandom(TorchDispatchMode):
    """Leaves large random tensors unfilled: their pages are never touched, so that a model of
    billions of weights is built in no time and no memory. What was left is known (`is_skipped`)."""

    _FILLS = ("uniform_", "normal_", "trunc_normal_", "xavier_", "random_", "bernoulli_")
    _MAKERS = ("rand", "randn", "rand_like", "randn_like")

    def __init__(self) -> None:
        super().__init__()
        self._storages: dict[int, torch.UntypedStorage] = {}

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False

    def is_skipped(self, tensor: torch.Tensor) -> bool:
        return tensor.untyped_storage().data_ptr() in self._storages

    def _mark(self, tensor: torch.Tensor) -> None:
        storage = tensor.untyped_storage()
        self._storages[storage.data_ptr()] = storage  # kept: an address must not be reused

    def __torch_dispatch__(self, func, types_, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = func._schema.name.removeprefix("aten::")
        first = args[0] if args else None
        if isinstance(first, torch.Tensor) and name.endswith("_"):
            if name in self._FILLS and first.numel() >= SKIP_ELEMENTS:
                self._mark(first)
                return first
            # Arithmetic in place on contents that do not matter.
            if self.is_skipped(first) and func._schema.is_mutable and first.is_contiguous():
                return first
        if name in self._MAKERS and not name.endswith("_like"):
            numel = 1
            for size in first if isinstance(first, list | tuple) else []:
                numel *= size
            if numel >= SKIP_ELEMENTS:
                kwargs.pop("generator", None)
                out = torch.empty(first, **kwargs)
                self._mark(out)
                return out
        out = func(*args, **kwargs)
        tensors = [t for t in tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)]
        if any(self.is_skipped(t) for t in tensors):
            for t in tree_leaves(out):
                if isinstance(t, torch.Tensor):
                    self._mark(t)
        return out


@dataclass
class Built:
    model: torch.nn.Module
    skip: SkipRandom | None  # None: every value is real
    values: bool = True  # False: built of fakes, no value is known

    def has_values(self, tensor: torch.Tensor) -> bool:
        return self.values and (self.skip is None or not self.skip.is_skipped(tensor))


def build(reference: Reference, args: list[Any], seed: int) -> Built:
    """Builds Model on the CPU, large random weights left unfilled; where memory does not suffice,
    of fakes."""

    def construct(*modes: Any) -> torch.nn.Module:
        torch.manual_seed(seed)
        with blamed_on_reference("Model(...)", reference.path), contextlib.ExitStack() as stack:
            stack.enter_context(torch.no_grad())
            stack.enter_context(OnCpu())
            for mode in modes:
                stack.enter_context(mode)
            return reference.module.Model(*args)

    try:
        skip = SkipRandom()
        built = Built(construct(skip), skip)
        if any(skip.is_skipped(b) for b in built.model.buffers()):
            built = Built(construct(), None)
        return built
    except InvalidError as error:
        if "can't allocate memory" not in error.message and "MemoryError" not in error.message:
            raise
    except MemoryError:
        pass
    return Built(construct(FakeTensorMode(allow_non_fake_inputs=True)), None, values=False)


def _elements(values: list[Any]) -> int:
    return sum(t.numel() for t in tree_leaves(values) if isinstance(t, torch.Tensor))


def make_inputs(reference: Reference, seed: int) -> tuple[list[Any], bool]:
    """get_inputs(): the inputs, and whether their values are real (else fakes carry the shapes)."""
    function = reference.module.get_inputs

    def call() -> list[Any]:
        torch.manual_seed(seed)
        with blamed_on_reference("get_inputs", reference.path), torch.no_grad(), OnCpu():
            return replace_inputs(list(function()), reference.changes)

    try:
        with FakeTensorMode(allow_non_fake_inputs=True):
            fakes = call()
    except InvalidError:
        return call(), True  # reads values, as .item() does; or is wrong, which this call shows
    leaves = [t for t in tree_leaves(fakes) if isinstance(t, torch.Tensor)]
    has_integers = any(not t.dtype.is_floating_point for t in leaves)
    limit = REAL_INTEGER_ELEMENTS if has_integers else REAL_INPUT_ELEMENTS
    if _elements(fakes) <= limit:
        return call(), True
    return fakes, False


def parameter_names(function: Callable[..., Any]) -> list[str]:
    """Of the parameters that positional arguments fill, one each."""
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(function).parameters.values()
    return [p.name for p in parameters if p.kind in positional]


def bind(function: Callable[..., Any], args: Any, kwargs: Any) -> dict[str, Any]:
    """Arguments by parameter name, defaults filled in, in order."""
    bound = inspect.signature(function).bind(*args, **kwargs)
    bound.apply_defaults()
    return dict(bound.arguments)


def call_bound(function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    """function(...) with arguments as `bind` gives them."""
    signature = inspect.signature(function)
    bound = inspect.BoundArguments(signature, collections.OrderedDict(arguments))
    return function(*bound.args, **bound.kwargs)


def replace_function(
    reference: Reference,
    model: torch.nn.Module,
    function: Callable[..., Any],
    name: str,
    wrapper: Callable[..., Any],
) -> dict[str, Any]:
    """Puts `wrapper` in the place of a module-level function that Model.forward calls: keyword
    arguments for forward, if it takes the function as a parameter; else the global is replaced."""
    for parameter in inspect.signature(model.forward).parameters.values():
        if parameter.default is function:
            return {parameter.name: wrapper}
    reference.module.__dict__[name] = wrapper
    return {}
