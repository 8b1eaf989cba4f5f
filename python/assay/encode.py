"""Arguments of ATen operators, in the order of their schema, as JSON."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import torch

from assay.errors import UnsupportedError
from assay.program import UNDEFINED, Json, number

_DTYPES = {
    torch.float16: "float16",
    torch.bfloat16: "bfloat16",
    torch.float32: "float32",
    torch.float64: "float64",
    torch.uint8: "uint8",
    torch.int8: "int8",
    torch.int16: "int16",
    torch.int32: "int32",
    torch.int64: "int64",
    torch.bool: "bool",
}


def dtype_name(dtype: torch.dtype) -> str:
    name = _DTYPES.get(dtype)
    if name is None:
        raise UnsupportedError(f"tensors of {dtype}")
    return name


def tensor_bytes(tensor: torch.Tensor) -> bytes:
    """The elements in row-major order of the tensor's own strides (dense) or of its shape."""
    tensor = tensor.detach().cpu()
    flat = dense_flat(tensor)
    if flat.numel() == 0:
        return b""
    return ctypes.string_at(flat.data_ptr(), flat.numel() * flat.element_size())


def dense_flat(tensor: torch.Tensor) -> torch.Tensor:
    """The elements of a tensor in memory order, as `tensor.to(device)` lays them out."""
    copy = torch.empty_like(tensor)  # keeps dense strides, as .to(device) does
    copy.copy_(tensor)
    return torch.as_strided(copy, (copy.numel(),), (1,), 0)


def step_name(func: Any) -> str:
    """aten::NAME.OVERLOAD; the default overload is not written."""
    name = func._schema.name
    return name if not func._schema.overload_name else f"{name}.{func._schema.overload_name}"


def encode_arguments(
    func: Any, args: Any, kwargs: Any, tensor: Callable[[torch.Tensor], Json]
) -> list[Any]:
    """All arguments of `func`'s schema, defaults filled in; `tensor` encodes a tensor."""
    out = []
    for i, parameter in enumerate(func._schema.arguments):
        if i < len(args):
            value = args[i]
        elif parameter.name in kwargs:
            value = kwargs[parameter.name]
        else:
            value = parameter.default_value
        out.append(_encode_typed(value, parameter, tensor, func))
    return out


def _encode_typed(value: Any, parameter: Any, tensor: Callable, func: Any) -> Any:
    kind = str(parameter.type)
    if value is not None and "List[int]" in kind and isinstance(value, int):
        value = [value] * (parameter.N or 1)
    if value is not None and kind in ("float", "Optional[float]"):
        return number(float(value))
    if isinstance(value, list | tuple) and "List[float]" in kind:
        return {"floats": [number(float(v)) for v in value]}
    if isinstance(value, list | tuple) and "Tensor" in kind:
        return {"tensors": [dict(UNDEFINED) if v is None else tensor(v) for v in value]}
    try:
        return encode_value(value, tensor)
    except UnsupportedError as error:
        raise UnsupportedError(f"{func}, argument {parameter.name}: {error.message}") from error


def encode_value(value: Any, tensor: Callable[[torch.Tensor], Json]) -> Any:
    """A Python value that stands for itself; devices, layouts and formats have no meaning here."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        if not -(1 << 63) <= value < 1 << 63:
            raise UnsupportedError(f"the integer {value}")
        return int(value)
    if isinstance(value, float):
        return number(value)
    if isinstance(value, torch.Tensor):
        return tensor(value)
    if isinstance(value, torch.dtype):
        return {"dtype": dtype_name(value)}
    if isinstance(value, torch.device | torch.layout | torch.memory_format | torch.Generator):
        return None
    if isinstance(value, list | tuple):
        if any(isinstance(v, torch.Tensor) for v in value):
            return {"tensors": [dict(UNDEFINED) if v is None else tensor(v) for v in value]}
        if all(isinstance(v, bool | int) for v in value):
            return [int(v) for v in value]
        if all(isinstance(v, bool | int | float) for v in value):
            return {"floats": [number(float(v)) for v in value]}
    raise UnsupportedError(f"a value of type {type(value).__name__}")
