"""What the constructor of a module does with its weights.

It runs for real on the CPU, so that control flow, constants and shapes are those of PyTorch.
Beside that, what is drawn at random or registered as a parameter or buffer is followed: each
operator on it is recorded on fakes, as forward is. So weights that a constructor folds into others
stay formulas.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import torch
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.utils._pytree import tree_leaves, tree_map

from assay.devices import OnCpu
from assay.encode import dtype_name
from assay.errors import UnsupportedError
from assay.program import Buffer, buffers_in
from assay.recorder import Recorder, storage_key, unobserved
from assay.reference import SkipRandom

_VALUES = {"_local_scalar_dense", "equal", "is_nonzero", "allclose"}


class NeedsValuesError(Exception):
    """A value was needed that SkipRandom left out."""


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    return (t for t in tree_leaves(value) if isinstance(t, torch.Tensor))


def _digest(*parts: Any) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()


class Construction(SkipRandom):
    def __init__(self, recorder: Recorder, device: str, skip: bool) -> None:
        super().__init__()
        self.recorder = recorder
        self.device = device
        self.skip = skip
        self.builder = recorder.builder
        self.reads: list[str] = []  # what read the values of weights
        self._twins: dict[int, torch.Tensor] = {}  # real storage -> a fake on its counterpart
        self._alive: list[torch.UntypedStorage] = []  # identities must not be reused
        self._pending: dict[int, torch.Tensor] = {}  # root -> real memory, contents not yet taken
        self._draw_keys: dict[int, str] = {}  # root -> generator, seed, order
        self._generator = ""  # digest of the seed and of what was drawn since
        self.drawing_on_device = False  # by the GPU's generator
        self._on_device: set[int] = set()  # storages that were made on the GPU

    # --- what is followed ---
    def seed(self, seed: int) -> None:
        self._generator = _digest("seed", seed)

    def follow(self, tensor: torch.Tensor) -> None:
        """From here on, what is made of this tensor is recorded."""
        with unobserved():
            self._root(tensor.detach())

    def follows(self, tensor: torch.Tensor) -> bool:
        return tensor.untyped_storage()._cdata in self._twins

    def twin(self, tensor: torch.Tensor) -> torch.Tensor:
        """The fake that stands for a real tensor."""
        with unobserved(), self.recorder.fake_mode:
            base = self._twins[tensor.untyped_storage()._cdata]
            if base.dtype != tensor.dtype:
                raise UnsupportedError("weights viewed under another dtype")
            return torch.as_strided(
                base, tensor.shape, tensor.stride(), int(tensor.storage_offset())
            )

    def made_on_device(self, tensor: torch.Tensor) -> None:
        storage = tensor.untyped_storage()
        self._alive.append(storage)
        self._on_device.add(storage._cdata)

    def on_device(self, tensor: torch.Tensor) -> bool:
        return self.follows(tensor) or tensor.untyped_storage()._cdata in self._on_device

    def _bind(self, tensor: torch.Tensor, fake: torch.Tensor) -> None:
        storage = tensor.untyped_storage()
        self._alive.append(storage)
        self._twins[storage._cdata] = fake

    def _flat(self, tensor: torch.Tensor) -> torch.Tensor:
        size = tensor.untyped_storage().nbytes() // tensor.element_size()
        return torch.as_strided(tensor.detach(), (size,), (1,), 0)

    def _root(self, tensor: torch.Tensor) -> None:
        """A root for the whole storage; its contents are taken when they are needed."""
        if self.follows(tensor):
            return
        flat = self._flat(tensor)
        with self.recorder.fake_mode:
            fake = torch.empty(flat.shape, dtype=flat.dtype, device=self.device)
        nbytes = flat.numel() * flat.element_size()
        buffer = Buffer("", nbytes, dtype_name(flat.dtype), "constant", "data")
        self._pending[self.recorder.add_root(fake, buffer)] = flat
        self._bind(tensor, fake)

    def _take(self, index: int) -> None:
        """The contents of a pending root, before they change."""
        flat = self._pending.pop(index, None)
        if flat is not None:
            self.recorder.values[index] = flat.clone()

    def _before_write(self, tensor: torch.Tensor) -> None:
        slot = self.recorder.slots[storage_key(self._twins[tensor.untyped_storage()._cdata])]
        whole = tensor.numel() * tensor.element_size() == tensor.untyped_storage().nbytes()
        if slot.buffer in self.recorder._reads or not whole:
            self._take(slot.buffer)

    # --- dispatch ---
    def __torch_dispatch__(self, func, types_, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = func._schema.name.removeprefix("aten::")
        random = torch.Tag.nondeterministic_seeded in func.tags
        written = self._written(func, args, kwargs)
        followed = any(self.follows(t) for t in _tensors((args, kwargs)))
        if followed and name in _VALUES:
            self.reads.append(name)
        if followed and not random:
            for t in _tensors((args, kwargs)):
                self._root(t)
        if followed:
            for t in written:
                self._root(t)
                self._before_write(t)
        out = self._run(func, types_, args, kwargs)
        if random:
            self._drawn(name, args, kwargs, written, out)
        elif followed and func.namespace == "aten":
            self._record(func, args, kwargs, out)
        return out

    def _run(self, func: Any, types_: Any, args: Any, kwargs: Any) -> Any:
        first = next(_tensors(args), None)
        integers = first is not None and not first.dtype.is_floating_point
        if self.skip and not integers:
            return super().__torch_dispatch__(func, types_, args, kwargs)
        return func(*args, **kwargs)

    @staticmethod
    def _written(func: Any, args: Any, kwargs: Any) -> list[torch.Tensor]:
        out = []
        for k, parameter in enumerate(func._schema.arguments):
            if parameter.alias_info is not None and parameter.alias_info.is_write:
                value = args[k] if k < len(args) else kwargs.get(parameter.name)
                out += list(_tensors(value))
        return out

    def _drawn(self, name: str, args: Any, kwargs: Any, written: list[Any], out: Any) -> None:
        plain = tree_map(lambda v: "t" if isinstance(v, torch.Tensor) else v, (args, kwargs))
        for t in written or list(_tensors(out)):
            made_there = t.untyped_storage()._cdata in self._on_device
            where = "device" if self.drawing_on_device or made_there else "cpu"
            call = (where, name, repr(plain), list(t.shape), str(t.dtype))
            key = _digest("draw", self._generator, *call)
            self._generator = _digest(self._generator, where, name, t.numel(), str(t.dtype))
            if not t.dtype.is_floating_point:
                continue  # index tables: constants
            with unobserved():
                self._draw_root(t, key)

    def _draw_root(self, tensor: torch.Tensor, key: str) -> None:
        whole = tensor.numel() * tensor.element_size() == tensor.untyped_storage().nbytes()
        with self.recorder.fake_mode:
            fake = torch.empty_strided(
                tensor.shape, tensor.stride(), dtype=tensor.dtype, device=self.device
            )
        nbytes = fake.untyped_storage().nbytes()
        buffer = Buffer("", nbytes, dtype_name(tensor.dtype), "constant", "data")
        index = self.recorder.add_root(fake, buffer)
        self._draw_keys[index] = key
        if whole and not self.is_skipped(tensor):
            self._pending[index] = self._flat(tensor)
        if whole and not self.follows(tensor):
            self._bind(tensor, fake)
            return
        self._root(tensor)
        with self.recorder.fake_mode:
            self.recorder.assign(self.twin(tensor), fake)
            self.recorder.slots.pop(storage_key(fake), None)

    def _record(self, func: Any, args: Any, kwargs: Any, out: Any) -> None:
        def fake(value: Any) -> Any:
            if isinstance(value, torch.Tensor):
                return self.twin(value)
            if isinstance(value, torch.device):
                return torch.device(self.device)
            return value

        with unobserved():
            fakes, keywords = tree_map(fake, (args, kwargs))
            if func._schema.name.removeprefix("aten::") in _VALUES:
                return
            with self.recorder.fake_mode, self.recorder:
                made = func(*fakes, **keywords)
            for real, f in zip(_tensors(out), _tensors(made), strict=True):
                if self.follows(real):
                    continue  # a view, or what was written in place
                if real.stride() != f.stride() or real.storage_offset() != f.storage_offset():
                    raise UnsupportedError(f"{func}: PyTorch and its shape rule differ in strides")
                self._bind(real, f)

    # --- afterwards ---
    def settle(self) -> None:
        """Takes the contents of all roots that are still what their storage holds."""
        current = {s.buffer for s in self.recorder.slots.values()}
        for index, flat in list(self._pending.items()):
            if index in current:
                self.recorder.values[index] = flat
        self._pending.clear()

    def keys(self, wanted: set[int]) -> dict[int, str]:
        """What buffers hold, as a digest of how it was made. Equal digests: equal contents."""
        need = set(wanted)
        for step in reversed(self.builder.steps):
            if {v["buffer"] for v in step["outputs"]} & need:
                need |= set(buffers_in(step))
        made = {v["buffer"] for s in self.builder.steps for v in s["outputs"]}
        keys = {b: self._root_key(b) for b in need if b not in made}
        for step in self.builder.steps:
            outputs = {v["buffer"] for v in step["outputs"]}
            if not outputs & need:
                continue
            text = repr((step["op"], _named(step["args"], keys)))
            for k, v in enumerate(step["outputs"]):
                b = v["buffer"]
                geometry = (v.get("offset"), v.get("shape"), v.get("strides"))
                keys[b] = _digest(keys.get(b, ""), text, k, geometry)
        return keys

    def _root_key(self, index: int) -> str:
        known = self._draw_keys.get(index)
        if known is not None:
            return known
        value = self.recorder.values.get(index)
        if value is None:
            return f"unknown {index}"
        with unset_fake_temporarily():
            flat = value.reshape(-1)
            same = flat.numel() > 0 and bool((flat == flat[0]).all())
            content = float(flat[0]) if same else flat.cpu().view(torch.uint8).numpy().tobytes()
        return _digest("constant", str(flat.dtype), flat.numel(), content)

    def drawn(self, wanted: int) -> bool:
        """Does it depend on anything drawn at random?"""
        need = {wanted}
        for step in reversed(self.builder.steps):
            if {v["buffer"] for v in step["outputs"]} & need:
                need |= set(buffers_in(step))
        return bool(need & set(self._draw_keys))

    def cut(self, buffer: int, root: Buffer) -> None:
        """Makes what `buffer` holds a symbol: how it was made does not matter any more."""
        steps = self.builder.steps
        self.builder.steps = [s for s in steps if buffer not in {v["buffer"] for v in s["outputs"]}]
        self.builder.buffers[buffer] = root
        self.recorder.values.pop(buffer, None)

    def symbolic(self) -> set[int]:
        """Buffers that depend on parameters or states."""
        roots = ("parameter", "state", "input")
        found = {k for k, b in enumerate(self.builder.buffers) if b.role in roots}
        for step in self.builder.steps:
            if set(buffers_in(step)) & found:
                found |= {v["buffer"] for v in step["outputs"]}
        return found

    def symbolic_storages(self) -> set[int]:
        buffers = self.symbolic()
        slots = self.recorder.slots
        return {k for k, t in self._twins.items() if slots[storage_key(t)].buffer in buffers}

    def buffer_of(self, tensor: torch.Tensor) -> int:
        return self.recorder.slots[storage_key(self.twin(tensor))].buffer


def _named(args: list[Any], keys: dict[int, str]) -> Any:
    """Arguments with keys in place of buffers."""

    def name(value: Any) -> Any:
        if isinstance(value, dict) and "buffer" in value:
            return [keys.get(value["buffer"], ""), value.get("offset"), value.get("shape"),
                    value.get("strides"), value.get("dtype")]  # fmt: skip
        if isinstance(value, dict):
            return {k: name(v) for k, v in value.items()}
        if isinstance(value, list):
            return [name(v) for v in value]
        return value

    return [name(a) for a in args]


class OnCpuNoted(OnCpu):
    """Notes also what would lie on the GPU, and values of weights that leave PyTorch."""

    def __init__(self, construction: Construction) -> None:
        super().__init__()
        self.construction = construction

    def __torch_function__(self, func, types_, args=(), kwargs=None):
        if func in (torch.Tensor.numpy, torch.Tensor.tolist, torch.Tensor.__array__):
            if self.construction.follows(args[0]):
                self.construction.reads.append(func.__name__)
            return func(*args, **(kwargs or {}))
        return super().__torch_function__(func, types_, args, kwargs)

    def call(self, func: Any, args: Any, kwargs: Any, moves: bool) -> Any:
        self.construction.drawing_on_device = moves
        try:
            return func(*args, **kwargs)
        finally:
            self.construction.drawing_on_device = False

    def moved(self, value: Any) -> None:
        for t in _tensors(value):
            self.construction.made_on_device(t)
