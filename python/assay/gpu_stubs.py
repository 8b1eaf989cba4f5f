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
    """Which steps the work on streams is ordered behind. `builder`: the Program being recorded."""

    def __init__(self) -> None:
        self.builder: Builder | None = None

    def join(self, steps: set[int]) -> None:
        if self.builder is not None:
            self.builder.unjoined -= steps

    def join_all(self, *_: Any) -> None:
        if self.builder is not None:
            self.builder.unjoined.clear()


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
    default = SimpleNamespace(
        cuda_stream=0,
        synchronize=order.join_all,
        query=lambda: True,
        wait_stream=lambda other: None,
        wait_event=lambda event: None,
        device=torch.device("cuda", 0),
    )
    stubs: dict[str, Any] = {
        "_lazy_init": lambda: None,
        "init": lambda: None,
        "is_initialized": lambda: True,
        "is_available": lambda: True,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "set_device": lambda device: None,
        "device": lambda device=None: contextlib.nullcontext(),
        "synchronize": order.join_all,
        "empty_cache": lambda: None,
        "get_device_name": lambda device=None: properties.name,
        "get_device_capability": lambda device=None: (9, 0),
        "get_device_properties": lambda device=None: properties,
        "get_arch_list": lambda: ["sm_90"],
        "is_bf16_supported": lambda *_, **__: True,
        "current_stream": lambda device=None: default,
        "default_stream": lambda device=None: default,
        "manual_seed": lambda seed: None,
        "manual_seed_all": lambda seed: None,
        "Stream": _unsupported("torch.cuda.Stream"),
        "Event": _unsupported("torch.cuda.Event"),
        "CUDAGraph": _unsupported("torch.cuda.CUDAGraph"),
        "graph": _unsupported("torch.cuda.graph"),
        "stream": lambda stream: _stream(stream, default),
    }
    for name, value in stubs.items():
        setattr(cuda, name, value)
    fake_tensor.init_gpu_context = lambda device: None  # would ask the driver
    real_seed = torch.manual_seed

    def manual_seed(seed: Any) -> Any:
        seeded(int(seed))
        return real_seed(seed)

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


@contextlib.contextmanager
def _stream(stream: Any, default: Any) -> Iterator[None]:
    if stream is not None and stream is not default:
        raise UnsupportedError("torch.cuda.stream with another stream")
    yield


def _compile(model: Any = None, **_: Any) -> Any:
    """torch.compile keeps the meaning of what it is given."""
    return model if model is not None else lambda f: f
