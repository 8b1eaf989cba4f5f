"""Records the ATen operators of a forward pass as steps of a Program.

The pass runs on fake tensors (shapes, strides and storages, no data), under a dispatch mode that
applies the core-ATen decompositions and sees every remaining operator. This is what a non-strict
torch.export with run_decompositions traces, without its restrictions (plain tensor attributes that
are reassigned, duplicate buffers, constants made on the device, unrolled recurrent layers).

A Program's buffers stand for storages. Views need no step: the fake tensors carry offset and
strides. Buffers are written once: an operator in place is recorded in its functional form, and the
storage then stands for the new buffer (`_assign`).
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch._decomp import core_aten_decompositions
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode, unset_fake_temporarily
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_leaves, tree_map

from assay.encode import dtype_name, encode_arguments, step_name, tensor_bytes
from assay.errors import UnsupportedError
from assay.program import UNDEFINED, Buffer, Builder, Json, view

aten = torch.ops.aten

# Allocation without contents: a buffer, no step.
_EMPTY = {
    "empty",
    "empty_like",
    "empty_strided",
    "empty_permuted",
    "new_empty",
    "new_empty_strided",
}
# Operators whose output layout alone may differ from their input's contents.
_COPIES = {aten.clone.default, aten._to_copy.default, aten.lift_fresh_copy.default}
# Functional names that are not the in-place name without its underscore.
_FUNCTIONAL = {"_index_put_impl_": "index_put", "normal_": "normal_functional"}


@dataclass
class Slot:
    """What a storage stands for at this point of the pass."""

    buffer: int
    original: int | None = None  # buffer of an input, parameter or state, before any write
    tensor: torch.Tensor | None = None  # keeps the storage, and so its identity, alive


@contextlib.contextmanager
def unobserved() -> Iterator[None]:
    """Without any mode: what runs here is Assay's own business."""
    with torch._C.DisableTorchFunction(), _disable_current_modes():
        yield


def storage_key(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage()._cdata


def is_dense(tensor: torch.Tensor) -> bool:
    """Covers each element of its own storage once, without gaps."""
    size = tensor.numel() * tensor.element_size()
    if tensor.storage_offset() != 0 or tensor.untyped_storage().nbytes() != size:
        return False
    expected = 1
    dims = [(t, n) for t, n in zip(tensor.stride(), tensor.shape, strict=True) if n != 1]
    for stride, n in sorted(dims):
        if stride != expected:
            return False
        expected *= n
    return True


class Recorder(TorchDispatchMode):
    def __init__(self, builder: Builder, fake_mode: FakeTensorMode, source_file: str) -> None:
        super().__init__()
        self.builder = builder
        self.fake_mode = fake_mode
        self.source_file = source_file
        self.slots: dict[int, Slot] = {}
        self.running_stats: set[int] = set()  # original buffers used as running statistics
        self.read_as_values: set[int] = set()  # original buffers whose value decided something
        self.drawn: set[int] = set()  # buffers of random numbers
        self.values: dict[int, torch.Tensor] = {}  # original buffer -> its real value, if known
        self._reads: set[int] = set()
        self.passed: set[int] = set()  # buffers that an extension function was given
        self.original_constants: set[int] = set()  # what a constructor left beside parameters
        self.launched: set[int] = set()  # those and what it made: kernels may write them
        self._fakes_of_real: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        self._decompositions: dict[Any, Callable[..., Any]] = dict(core_aten_decompositions())

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # torch.compile is not in play; its import takes a second

    # --- roots ---
    def add_root(self, fake: torch.Tensor, buffer: Buffer) -> int:
        """Binds the storage of `fake` to a new buffer that holds something before the pass."""
        index = self.builder.add_buffer(buffer)
        self.slots[storage_key(fake)] = Slot(index, original=index, tensor=fake)
        return index

    def add_constant(self, fake: torch.Tensor, real: torch.Tensor, name: str = "") -> int:
        """`real` is dense and laid out as `fake`."""
        with unset_fake_temporarily():
            data = tensor_bytes(real)
        buffer = Buffer(name, len(data), dtype_name(real.dtype), "constant", "data", data)
        index = self.add_root(fake, buffer)
        self.values[index] = real
        return index

    # --- tensors to views ---
    def view_of(self, tensor: torch.Tensor) -> Json:
        slot = self.slots.get(storage_key(tensor))
        if slot is None:
            raise UnsupportedError("a tensor that no recorded operator made")
        return self._view(slot.buffer, tensor)

    @staticmethod
    def _view(buffer: int, tensor: torch.Tensor) -> Json:
        return view(
            buffer,
            dtype_name(tensor.dtype),
            int(tensor.storage_offset()),
            [int(n) for n in tensor.shape],
            [int(n) for n in tensor.stride()],
        )

    def read(self, tensor: torch.Tensor) -> Json:
        v = self.view_of(tensor)
        self._reads.add(v["buffer"])
        return v

    # --- steps ---
    def emit(self, op: str, args: list[Any], outputs: list[torch.Tensor | None]) -> None:
        """A step with fresh output buffers, one for each tensor; None: an undefined output."""
        out_views = []
        for t in outputs:
            if t is None:
                out_views.append(dict(UNDEFINED))
                continue
            self._new_slot(t)
            out_views.append(self.view_of(t))
        self.builder.add_step(op, args, out_views, self._loc())

    def _new_slot(self, tensor: torch.Tensor) -> int:
        nbytes = tensor.untyped_storage().nbytes()
        index = self.builder.add_buffer(Buffer("", nbytes, dtype_name(tensor.dtype)))
        self.slots[storage_key(tensor)] = Slot(index, tensor=tensor)
        return index

    def _loc(self) -> Json | None:
        frame = sys._getframe(1)
        while frame is not None:
            if frame.f_code.co_filename == self.source_file:
                return {"file": self.source_file, "line": frame.f_lineno, "column": 0}
            frame = frame.f_back
        return None

    # --- dispatch ---
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        args, kwargs = tree_map(self._fake_of, (args, kwargs))
        if func.namespace != "aten":
            out = func(*args, **kwargs)
            if any(isinstance(t, torch.Tensor) for t in tree_leaves(out)):
                raise UnsupportedError(f"operator {func}")
            return out
        special = _SPECIAL.get(func)
        if special is not None:
            return special(self, func, args, kwargs)
        decompose = self._decompositions.get(func)
        if decompose is not None:
            with self:
                out = decompose(*args, **kwargs)
            if out is not NotImplemented:
                return out
        if func._can_decompose():
            with self:
                out = func.decompose(*args, **kwargs)
            if out is not NotImplemented:
                return out
        if func._schema.is_mutable:
            return self._in_place(func, args, kwargs)
        return self.record(func, args, kwargs)

    def _fake_of(self, value: Any) -> Any:
        """Real tensors that ref.py kept outside registered buffers become constants."""
        if not isinstance(value, torch.Tensor) or isinstance(value, FakeTensor):
            return value
        known = self._fakes_of_real.get(id(value))
        if known is None:
            with unset_fake_temporarily():
                dense = torch.empty_like(value, requires_grad=False).copy_(value.detach())
            fake = self.fake_mode.from_tensor(dense)
            self.add_constant(fake, dense)
            known = self._fakes_of_real[id(value)] = (value, fake)
        return known[1]

    def record(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Runs a functional operator on fakes and records it unless its outputs are views."""
        out = func(*args, **kwargs)
        tensors = [t for t in tree_leaves(out) if isinstance(t, torch.Tensor)]
        fresh = [t for t in tensors if storage_key(t) not in self.slots]
        if not fresh:
            return out
        if len(fresh) != len(tensors):
            raise UnsupportedError(f"operator {func}: some outputs alias its inputs")
        if func._schema.name.removeprefix("aten::") in _EMPTY:
            for t in tensors:
                self._new_slot(t)
            return out
        if func in _COPIES and self._share(args[0], tensors[0]):
            return out
        encoded = encode_arguments(func, args, kwargs, self.read)
        self.emit(step_name(func), encoded, tensors)
        if torch.Tag.nondeterministic_seeded in func.tags:
            self.drawn |= {self.slots[storage_key(t)].buffer for t in tensors}
        return out

    def _share(self, source: torch.Tensor, copy: torch.Tensor) -> bool:
        """A copy with the same layout needs no step: buffers are not overwritten."""
        if source.dtype != copy.dtype or source.stride() != copy.stride():
            return False
        if not is_dense(source) or not is_dense(copy):
            return False
        self.slots[storage_key(copy)] = Slot(self.read(source)["buffer"], tensor=copy)
        return True

    # --- calls of extension functions ---
    def own(self, tensor: torch.Tensor) -> None:
        """Kernels write in place: a storage that is given to one shares its buffer with no
        other."""
        slot = self.slots[storage_key(tensor)]
        shared = slot.buffer
        others = [s for s in self.slots.values() if s is not slot]
        if all(shared not in (s.buffer, s.original) for s in others):
            return
        # An input, parameter or state keeps its buffer.
        moved = [s for s in others if s.buffer == shared] if slot.original == shared else [slot]
        old = self.builder.buffers[shared]
        flat = [old.nbytes // dtype_size(old.dtype)]
        for s in moved:
            s.buffer = self.builder.add_buffer(Buffer("", old.nbytes, old.dtype))
            source = view(shared, old.dtype, 0, flat, [1])
            copy = view(s.buffer, old.dtype, 0, flat, [1])
            self.builder.add_step("aten::clone", [source, None], [copy], self._loc())

    def adopt(self, tensor: torch.Tensor, buffer: int) -> None:
        """The storage of `tensor` stands for a buffer that the Program has already."""
        self.slots[storage_key(tensor)] = Slot(buffer, tensor=tensor)

    def contents(self, buffer: int) -> bytes | None:
        """What a buffer holds before the pass, where it is known."""
        value = self.values.get(buffer)
        if value is None:
            return self.builder.buffers[buffer].data
        with unset_fake_temporarily():
            return tensor_bytes(value)

    # --- mutation ---
    def _in_place(self, func: Any, args: Any, kwargs: Any) -> Any:
        if torch.Tag.inplace_view in func.tags:
            return func(*args, **kwargs)  # changes the fake's own shape and strides
        name = func._schema.name.removeprefix("aten::")
        functional = _FUNCTIONAL.get(name, name.removesuffix("_"))
        packet = getattr(aten, functional, None)
        overload = getattr(packet, func._overloadname, None) if packet else None
        written = [a for a in func._schema.arguments if a.alias_info and a.alias_info.is_write]
        if not name.endswith("_") or len(written) != 1 or overload is None:
            raise UnsupportedError(f"operator {func} writes to its arguments")
        with self:
            value = overload(*args, **kwargs)
        self.assign(args[0], value)
        return args[0]

    def assign(self, target: torch.Tensor, value: torch.Tensor) -> None:
        """target[...] = value, after conversion to its dtype and broadcast to its shape."""
        with self:
            if value.dtype != target.dtype:
                value = aten._to_copy.default(value, dtype=target.dtype)
            if value.shape != target.shape:
                value = aten.expand.default(value, target.shape)
        slot = self.slots[storage_key(target)]
        whole = is_dense(target)
        if whole and is_dense(value) and value.stride() == target.stride():
            slot.buffer = self.read(value)["buffer"]
            return
        source = self.read(value)
        old = self.builder.buffers[slot.buffer]
        # A temporary that nothing has read yet may still be written in place.
        if whole or old.role != "temp" or slot.buffer in self._reads:
            previous = slot.buffer
            slot.buffer = self.builder.add_buffer(Buffer("", old.nbytes, old.dtype))
            if not whole:
                size = old.nbytes // dtype_size(old.dtype)
                flat = view(previous, old.dtype, 0, [size], [1])
                copy = view(slot.buffer, old.dtype, 0, [size], [1])
                self.builder.add_step("aten::clone", [flat, None], [copy], self._loc())
        self.builder.add_step("aten::clone", [source, None], [self.view_of(target)], self._loc())

    def finish_mutations(self) -> None:
        """Writes the last contents of changed inputs, parameters and states back to them."""
        changed = [
            s for s in self.slots.values() if s.original is not None and s.buffer != s.original
        ]
        targets = {s.original for s in changed}
        pending: list[tuple[Json, Json]] = []
        for slot in changed:
            original = self.builder.buffers[slot.original]
            target = self._view(slot.original, slot.tensor)
            source = {**target, "buffer": slot.buffer}  # whole storages: the same layout
            if slot.buffer in targets:  # another root, which is overwritten here as well
                saved = self.builder.add_buffer(Buffer("", original.nbytes, original.dtype))
                copy = {**target, "buffer": saved}
                self.builder.add_step("aten::clone", [source, None], [copy], None)
                source = dict(copy)
            pending.append((source, target))
            slot.buffer = slot.original
        for source, target in pending:
            self.builder.add_step("aten::clone", [source, None], [dict(target)], None)
            self.builder.mutated.append(dict(target))


def dtype_size(name: str) -> int:
    return getattr(torch, name).itemsize


# --- operators with a treatment of their own ---


def _copy_(rec: Recorder, func: Any, args: Any, kwargs: Any) -> Any:
    rec.assign(args[0], args[1])
    return args[0]


def _item(rec: Recorder, func: Any, args: Any, kwargs: Any) -> Any:
    """Known values (constants, buffers that forward has not changed) may decide control flow."""
    tensor = args[0]
    slot = rec.slots.get(storage_key(tensor))
    if slot is not None and slot.buffer in rec.values and slot.buffer not in rec.launched:
        real = rec.values[slot.buffer]
        rec.read_as_values.add(slot.buffer)
        with unset_fake_temporarily():
            shape, strides, offset = tensor.shape, tensor.stride(), tensor.storage_offset()
            return torch.as_strided(real, shape, strides, offset).item()
    if slot is not None and slot.buffer in rec.drawn:
        raise UnsupportedError(
            "the host reads a random number: what it starts with that depends on a generator's "
            "state (a seed for draws on the device, for instance)"
        )
    return func(*args, **kwargs)


def _batch_norm(rec: Recorder, func: Any, args: Any, kwargs: Any) -> Any:
    """One operator with running statistics as values in and out."""
    bound = {a.name: v for a, v in zip(func._schema.arguments, args, strict=False)} | kwargs
    mean, var = bound.get("running_mean"), bound.get("running_var")
    training = bound.get("training", True)
    for stat in (mean, var):
        if stat is not None:
            slot = rec.slots.get(storage_key(stat))
            if slot is not None and slot.original is not None:
                rec.running_stats.add(slot.original)
    scale, bias, momentum = bound.get("weight"), bound.get("bias"), bound.get("momentum", 0.1)
    eps = bound.get("eps", 1e-5)
    if not training:
        out = rec.record(
            aten._native_batch_norm_legit_no_training.default,
            (bound["input"], scale, bias, mean, var, momentum, eps),
            {},
        )
    elif mean is None:
        out = rec.record(
            aten._native_batch_norm_legit.no_stats,
            (bound["input"], scale, bias, True, momentum, eps),
            {},
        )
    else:
        *out, new_mean, new_var = rec.record(
            aten._native_batch_norm_legit_functional.default,
            (bound["input"], scale, bias, mean, var, True, momentum, eps),
            {},
        )
        rec.assign(mean, new_mean)
        rec.assign(var, new_var)
    return tuple(out)


def _bincount(rec: Recorder, func: Any, args: Any, kwargs: Any) -> Any:
    """Of integers that the example keeps below minlength: then the result is that long."""
    bound = {a.name: v for a, v in zip(func._schema.arguments, args, strict=False)} | kwargs
    x, weights, length = bound["self"], bound.get("weights"), bound.get("minlength", 0)
    slot = rec.slots.get(storage_key(x))
    known = rec.builder.buffers[slot.buffer].example_range if slot is not None else None
    if known is None or slot.original is None or known[0] < 0 or known[1] >= length:
        return func(*args, **kwargs)
    single = weights is not None and weights.dtype == torch.float32
    dtype = torch.int64 if weights is None else torch.float32 if single else torch.float64
    out = torch.empty([length], dtype=dtype, device=x.device)
    rec.emit(step_name(func), encode_arguments(func, args, kwargs, rec.read), [out])
    return out


_SPECIAL: dict[Any, Callable[[Recorder, Any, Any, Any], Any]] = {
    aten.copy_.default: _copy_,
    aten._local_scalar_dense.default: _item,
    aten.bincount.default: _bincount,
    aten.native_batch_norm.default: _batch_norm,
    aten._native_batch_norm_legit.default: _batch_norm,
    aten._native_batch_norm_legit.no_stats: _batch_norm,
}
