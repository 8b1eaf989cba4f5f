"""torch.cuda as a program finds it on a machine with one GPU. No driver is needed."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import torch
from torch._subclasses import fake_tensor
from torch.overrides import TorchFunctionMode

from assay.errors import UnsupportedError
from assay.program import Builder


class Order:
    """Streams and events of the Program that is being recorded."""

    def __init__(self) -> None:
        self.builder: Builder | None = None
        self.streams = -1
        self.default = Stream(self, steps=None)
        self.current = self.default

    def begin(self, builder: Builder) -> None:
        self.builder = builder
        self.current = self.default

    def done(self, stream: Stream) -> set[int]:
        return set() if self.builder is None else set(self.builder.done(stream.steps))

    def wait(self, stream: Stream, steps: set[int]) -> None:
        if stream.steps is not None:
            stream.steps |= steps
        elif self.builder is not None:
            self.builder.unjoined -= steps

    def host_waits(self, steps: set[int]) -> None:
        if self.builder is not None:
            self.builder.waited |= steps
            self.builder.unjoined -= steps

    def synchronize(self, *_: Any) -> None:
        if self.builder is not None:
            self.host_waits(set(range(len(self.builder.steps))))

    @contextlib.contextmanager
    def on(self, stream: Stream | None) -> Iterator[None]:
        saved = self.current
        self._switch(stream or saved)
        try:
            yield
        finally:
            self._switch(saved)

    def _switch(self, stream: Stream) -> None:
        self.current = stream
        if self.builder is not None:
            self.builder.stream, self.builder.stream_number = stream.steps, stream.number


class Stream:
    """torch.cuda.Stream: one of PyTorch's pool, which the default stream does not wait for."""

    device = torch.device("cuda", 0)

    def __init__(self, order: Order, steps: set[int] | None) -> None:
        self.order = order
        self.steps = steps  # what its work is ordered behind; None: the default stream
        order.streams += 1
        self.number = order.streams

    @property
    def cuda_stream(self) -> int:
        if self.steps is not None:
            raise UnsupportedError("the handle of a stream that is not the default one")
        return 0

    def wait_stream(self, other: Stream) -> None:
        self.order.wait(self, self.order.done(other))

    def wait_event(self, event: Event) -> None:
        self.order.wait(self, event.steps)

    def record_event(self, event: Event | None = None) -> Event:
        event = event or Event(self.order)
        event.record(self)
        return event

    def synchronize(self) -> None:
        self.order.host_waits(self.order.done(self))

    def query(self) -> bool:
        return True

    def __enter__(self) -> Stream:
        self._outer = self.order.on(self)
        self._outer.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._outer.__exit__(*error)


class Event:
    """torch.cuda.Event."""

    def __init__(self, order: Order) -> None:
        self.order = order
        self.steps: set[int] = set()

    def record(self, stream: Stream | None = None) -> None:
        self.steps = self.order.done(stream or self.order.current)

    def wait(self, stream: Stream | None = None) -> None:
        self.order.wait(stream or self.order.current, self.steps)

    def synchronize(self) -> None:
        self.order.host_waits(self.steps)

    def query(self) -> bool:
        return True

    def elapsed_time(self, other: Event) -> float:
        return 1.0


def _of_order(base: type, arguments: Callable[[], tuple[Any, ...]]) -> type:
    """torch.cuda's class of that name: whatever it is made with, it belongs to the one order."""

    class Stub(base):  # type: ignore[misc, valid-type]
        def __init__(self, *_: Any, **__: Any) -> None:
            super().__init__(*arguments())

    Stub.__name__ = Stub.__qualname__ = base.__name__
    return Stub


def install(order: Order, seeded: Callable[[int], None]) -> None:
    """`seeded` is told of each torch.manual_seed."""
    cuda = torch.cuda
    torch._C._ensureCUDADeviceGuardSet()  # of a machine without GPU: a guard that does nothing
    properties = SimpleNamespace(
        name="NVIDIA H100",
        major=9,
        minor=0,
        multi_processor_count=132,
        total_memory=80 << 30,
        warp_size=32,
        max_threads_per_multi_processor=2048,
        shared_memory_per_block=48 << 10,
        shared_memory_per_block_optin=227 << 10,
        shared_memory_per_multiprocessor=228 << 10,
        regs_per_multiprocessor=65536,
        L2_cache_size=50 << 20,
    )
    stubs: dict[str, Any] = {
        "_lazy_init": lambda: None,
        "init": lambda: None,
        "is_initialized": lambda: True,
        "is_available": lambda: True,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "set_device": lambda device: None,
        "_exchange_device": lambda device: 0,
        "_maybe_exchange_device": lambda device: 0,
        "device_of": lambda tensor: contextlib.nullcontext(),
        "device": lambda device=None: contextlib.nullcontext(),
        "synchronize": order.synchronize,
        "empty_cache": lambda: None,
        "get_device_name": lambda device=None: properties.name,
        "get_device_capability": lambda device=None: (9, 0),
        "get_device_properties": lambda device=None: properties,
        "get_arch_list": lambda: ["sm_90"],
        "is_bf16_supported": lambda *_, **__: True,
        "current_stream": lambda device=None: order.current,
        "default_stream": lambda device=None: order.default,
        "manual_seed": lambda seed: None,
        "manual_seed_all": lambda seed: None,
        "Stream": _of_order(Stream, lambda: (order, set())),
        "Event": _of_order(Event, lambda: (order,)),
        "CUDAGraph": _unsupported("torch.cuda.CUDAGraph"),
        "graph": _unsupported("torch.cuda.graph"),
        "stream": order.on,
        "set_stream": _unsupported("torch.cuda.set_stream"),
    }
    for name, value in stubs.items():
        setattr(cuda, name, value)
    torch.backends.cudnn.is_acceptable = lambda tensor: False  # weights keep their layout
    fake_tensor.init_gpu_context = lambda device: None  # would ask the driver
    real_seed = torch.manual_seed

    def manual_seed(seed: Any) -> Any:
        seeded(int(seed))
        return real_seed(seed)

    real_subclass = torch.Tensor.as_subclass

    def as_subclass(self: torch.Tensor, cls: type) -> torch.Tensor:
        """Of a class of the program's own, what the tensor holds at this time counts."""
        return real_subclass(self, cls) if cls.__module__.split(".")[0] == "torch" else self

    torch.Tensor.as_subclass = as_subclass  # (does not reach __torch_function__)
    torch.manual_seed = manual_seed
    torch.random.manual_seed = manual_seed
    torch.compile = _compile


class OnGpu(TorchFunctionMode):
    """The only GPU has a number (looking for the current one asks the driver), and tensors have
    addresses."""

    def __init__(self) -> None:
        super().__init__()
        self._bases: dict[int, int] = {}

    def __torch_function__(self, func, types_, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func is torch.Tensor.data_ptr:
            return self._address(args[0])
        args = tuple(_numbered(a) for a in args)
        kwargs = {k: _numbered(v) for k, v in kwargs.items()}
        if func in (torch.tensor, torch.as_tensor):  # made of Python's numbers: on the CPU first
            device = kwargs.pop("device", None)
            made = func(*args, **kwargs)
            return made if device is None else made.to(device)
        return func(*args, **kwargs)

    def _address(self, tensor: torch.Tensor) -> int:
        storage = tensor.untyped_storage()._cdata
        base = self._bases.setdefault(storage, (len(self._bases) + 1) << 36)
        return base + int(tensor.storage_offset()) * tensor.element_size()


def _numbered(value: Any) -> Any:
    if isinstance(value, str) and value == "cuda":
        return torch.device("cuda", 0)
    if isinstance(value, torch.device) and value.type == "cuda" and value.index is None:
        return torch.device("cuda", 0)
    return value


def _unsupported(what: str) -> Callable[..., Any]:
    def stub(*_: Any, **__: Any) -> Any:
        raise UnsupportedError(what)

    return stub


def _compile(model: Any = None, **_: Any) -> Any:
    """torch.compile keeps the meaning of what it is given."""
    return model if model is not None else lambda f: f
