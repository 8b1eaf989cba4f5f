"""Stands in for torch.utils.cpp_extension: extensions are built by Assay, and a call of one of
their functions becomes steps of the Program."""

from __future__ import annotations

import base64
import json
import types
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from assay.channel import Channel
from assay.encode import encode_value
from assay.errors import ExportError, UnsupportedError
from assay.program import Buffer, Json, views_in
from assay.recorder import Recorder, unobserved

CONSTANT_BYTES = 1 << 22  # contents up to this size are told to host code, which may read them


class LaunchRefused(BaseException):
    """Host code noticed a launch that a GPU refuses; what was recorded decides."""


class Extensions:
    """What a program builds and calls. `recorder` is set while forward runs."""

    def __init__(self, channel: Channel, path: Path) -> None:
        self.channel = channel
        self.path = path
        self.recorder: Recorder | None = None
        self.built: list[str] = []
        self.calls = 0
        self.failure: ExportError | None = None  # raised again where the program caught it
        self.look_further = True  # further calls of a function in one process
        self._answers: dict[str, Any] = {}
        self._numbers: dict[str, int] = {}  # of what was built, by its request

    # --- building ---
    def module(self) -> types.ModuleType:
        """torch.utils.cpp_extension as far as programs use it."""
        out = types.ModuleType("torch.utils.cpp_extension")
        out.load_inline = self.load_inline  # type: ignore[attr-defined]
        out.load = self.load  # type: ignore[attr-defined]
        out.CUDA_HOME = "/usr/local/cuda"  # type: ignore[attr-defined]
        out.is_ninja_available = lambda: True  # type: ignore[attr-defined]
        out.verify_ninja_availability = lambda: None  # type: ignore[attr-defined]

        def missing(name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            raise UnsupportedError(f"torch.utils.cpp_extension.{name}")

        out.__getattr__ = missing  # type: ignore[method-assign]
        return out

    def load_inline(
        self,
        name: str,
        cpp_sources: str | Sequence[str],
        cuda_sources: str | Sequence[str] | None = None,
        functions: Any = None,
        extra_cflags: Sequence[str] | None = None,
        extra_cuda_cflags: Sequence[str] | None = None,
        extra_ldflags: Sequence[str] | None = None,
        extra_include_paths: Any = None,
        *_: Any,
        **__: Any,
    ) -> Any:
        cpp, cuda = _texts(cpp_sources), _texts(cuda_sources)
        main = ["#include <torch/extension.h>", *(self._located(t, "cpp_sources") for t in cpp)]
        if functions is not None:
            if isinstance(functions, str):
                functions = [functions]
            main.append("PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {")
            main += [f'm.def("{f}", torch::wrap_pybind_function({f}), "{f}");' for f in functions]
            main.append("}")
        texts = [{"name": "main.cpp", "text": "\n".join(main) + "\n"}]
        if cuda:
            head = ["#include <torch/types.h>", "#include <cuda.h>", "#include <cuda_runtime.h>"]
            parts = [*head, *(self._located(t, "cuda_sources") for t in cuda)]
            texts.append({"name": "cuda.cu", "text": "\n".join(parts) + "\n"})
        flags = [*(extra_cflags or []), *(extra_cuda_cflags or [])]
        return self._build(name, texts, [], flags, extra_include_paths)

    def load(
        self,
        name: str,
        sources: str | Sequence[str],
        extra_cflags: Sequence[str] | None = None,
        extra_cuda_cflags: Sequence[str] | None = None,
        extra_ldflags: Sequence[str] | None = None,
        extra_include_paths: Any = None,
        *_: Any,
        **__: Any,
    ) -> Any:
        files = [str(Path(s).absolute()) for s in _texts(sources)]
        for file in files:
            if not Path(file).is_file():
                raise FileNotFoundError(f"source file {file} does not exist")
        flags = [*(extra_cflags or []), *(extra_cuda_cflags or [])]
        return self._build(name, [], files, flags, extra_include_paths)

    def _located(self, text: str, what: str) -> str:
        """With the lines of the Python file, where the text stands there as it is."""
        source = self.path.read_text(encoding="utf-8")
        at = source.find(text) if text.strip() else -1
        line = source.count("\n", 0, at) + 1 if at >= 0 else 1
        file = str(self.path) if at >= 0 else what
        return f'#line {line} "{file}"\n{text}'

    def _build(
        self, name: str, texts: list[Json], files: list[str], flags: list[str], include: Any
    ) -> Any:
        inside = {str(Path(f).parent) for f in files}
        others = [p for p in _texts(include) if str(Path(p).absolute()) not in inside]
        if others:
            self._fail(UnsupportedError(f"extra_include_paths ({others[0]})"))
        self.built.append(name)
        request = {"name": name, "texts": texts, "files": files, "flags": flags}
        key = json.dumps(request)
        if key not in self._numbers or files:
            self._numbers[key] = self._ask("compile", f"building extension '{name}'", request)["id"]
        return ExtensionModule(self, name, self._numbers[key])

    def _ask(self, what: str, doing: str, fields: Json) -> Any:
        try:
            return self.channel.ask(what, **fields)
        except ExportError as error:
            self._fail(error, doing)

    def _fail(self, error: ExportError, doing: str = "") -> None:
        """The program's fault is an exception that it may catch, as in PyTorch."""
        where = f"Error {doing}: " if doing else ""
        self.failure = self.failure or ExportError(error.kind, where + error.message)
        if error.kind in ("invalid", "syntax"):
            raise RuntimeError(where + error.message) from None
        raise self.failure

    # --- calls ---
    def call(self, extension: int, name: str, arguments: tuple[Any, ...]) -> Any:
        if self.recorder is None:
            self._fail(UnsupportedError(f"a call of the extension function {name} outside forward"))
        assert self.recorder is not None
        with unobserved():
            return _Call(self, self.recorder, extension, name).run(arguments)

    def answer(self, extension: int, name: str, program: Json) -> Any:
        side = self.recorder is not None and self.recorder.builder.stream is not None
        request = {"id": extension, "function": name, "program": program, "side": side}
        key = json.dumps(request)
        if key not in self._answers:
            request["repeat"] = self.look_further
            self._answers[key] = self._ask("call", f"in the extension function {name}", request)
        self.calls += 1
        return self._answers[key]


class ExtensionModule(types.ModuleType):
    """What load_inline returns: any name is a function until it is called."""

    def __init__(self, extensions: Extensions, name: str, number: int) -> None:
        super().__init__(name)
        self._assay_call: Callable[..., Any] = lambda f, args: extensions.call(number, f, args)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)

        def function(*args: Any, **kwargs: Any) -> Any:
            if kwargs:
                raise UnsupportedError(f"keyword arguments of the extension function {name}")
            return self._assay_call(name, args)

        function.__name__ = name
        return function

    def __deepcopy__(self, memo: Any) -> ExtensionModule:
        return self


class _Call:
    """One call: its request, and its answer as steps of the Program."""

    def __init__(self, owner: Extensions, recorder: Recorder, number: int, name: str) -> None:
        self.owner, self.recorder, self.number, self.name = owner, recorder, number, name
        self.buffers: list[int] = []  # buffer of the request -> buffer of the Program
        self.bases: dict[int, torch.Tensor] = {}  # a tensor on each, by buffer of the request
        self.given: list[tuple[Json, torch.Tensor]] = []
        self.outputs: list[torch.Tensor | None] = []

    def run(self, arguments: tuple[Any, ...]) -> Any:
        listed = [
            {"name": f"a{k}", "value": self._encode(v), "source": ""}
            for k, v in enumerate(arguments)
        ]
        buffers = [self._request_buffer(b) for b in self.buffers]
        program = {"schema": 1, "buffers": buffers, "arguments": listed}
        answer = self.owner.answer(self.number, self.name, program)
        # The answer may serve several calls.
        self._splice(json.loads(json.dumps(answer)))
        if answer["threw"]:
            raise LaunchRefused(answer["threw"])
        if answer["reads"] and _has_number(answer["returned"]):
            raise UnsupportedError(
                f"the extension function {self.name} returns a number that it read from a tensor"
            )
        return self._returned(answer["returned"], iter(self.outputs))

    # --- the request ---
    def _encode(self, value: Any) -> Any:
        if not isinstance(value, torch.Tensor) and hasattr(value, "item"):
            value = value.item()  # numpy's numbers
        return encode_value(value, self._tensor)

    def _tensor(self, tensor: torch.Tensor) -> Json:
        fake = self.recorder._fake_of(tensor)
        if fake.device.type != "cuda":
            raise UnsupportedError(f"the extension function {self.name} is given a CPU tensor")
        self.recorder.own(fake)
        v = self.recorder.read(fake)
        self.recorder.passed.add(v["buffer"])
        if v["buffer"] not in self.buffers:
            self.bases[len(self.buffers)] = fake
            self.buffers.append(v["buffer"])
        v["buffer"] = self.buffers.index(v["buffer"])
        self.given.append((v, tensor))
        return v

    def _request_buffer(self, index: int) -> Json:
        buffer = self.recorder.builder.buffers[index]
        role = buffer.role if buffer.role in ("parameter", "state") else "input"
        request = Buffer("", buffer.nbytes, buffer.dtype, role, "symbolic")
        known = buffer.role == "constant" or not buffer.dtype.startswith(("float", "bfloat"))
        if known and index not in self.recorder.launched and buffer.nbytes <= CONSTANT_BYTES:
            data = self.recorder.contents(index)
            if data is not None:
                request.data = data
                if buffer.role == "constant":
                    request.role, request.init = "constant", "data"
        return request.json()

    # --- the answer ---
    def _splice(self, answer: Json) -> None:
        p = answer["program"]
        rec = self.recorder
        builder = rec.builder
        mapping = dict(enumerate(self.buffers))
        modules: list[int] = []
        for m in p.get("modules", []):
            modules.append(builder.module(m["name"]))
            symbols = builder.modules[modules[-1]]["symbols"]
            for symbol, local in m.get("symbols", []):
                known = next((b for s, b in symbols if s == symbol), None)
                if known is not None:
                    mapping[local] = known
                else:
                    mapping[local] = builder.add_buffer(_buffer(p["buffers"][local]))
                    symbols.append([symbol, mapping[local]])
        for k, b in enumerate(p["buffers"]):
            if k not in mapping:
                mapping[k] = builder.add_buffer(_buffer(b))
        scalars = len(builder.scalars)
        for s in p.get("scalars", []):
            s["buffer"] = mapping[s["buffer"]]
            builder.scalars.append(s)
        first = len(builder.steps) - len(answer["done"][: 1 + (builder.stream is not None)])
        loc = rec._loc()
        for step in p.get("steps", []):
            _remap(step, mapping, modules, scalars)
            if loc is not None and not step.get("loc"):
                step["loc"] = loc
        builder.add_call(p.get("steps", []), answer["done"])
        rec.launched.update(mapping.values())
        for note in p.get("notes", []):
            if note.get("step", -1) >= 0:
                note["step"] += first
            if note not in builder.notes:
                builder.notes.append(note)
        for v in p.get("outputs", []):
            self.outputs.append(self._output(v, mapping))

    def _output(self, v: Json, mapping: dict[int, int]) -> torch.Tensor | None:
        if v["buffer"] < 0:
            return None
        for known, tensor in self.given:  # an argument that is returned is the same object
            if known == v:
                return tensor
        local, rec = v["buffer"], self.recorder
        dtype = getattr(torch, v["dtype"])
        with rec.fake_mode:
            base = self.bases.get(local)
            if base is None:
                size = rec.builder.buffers[mapping[local]].nbytes // dtype.itemsize
                base = torch.empty(size, dtype=dtype, device="cuda")
                rec.adopt(base, mapping[local])
                self.bases[local] = base
            if base.dtype != dtype:
                raise UnsupportedError(f"{self.name} returns memory under another dtype")
            return torch.as_strided(base, v["shape"], v["strides"], v["offset"])

    def _returned(self, form: Any, outputs: Any) -> Any:
        if form == "tensor":
            return next(outputs)
        if not isinstance(form, dict):
            return form
        if "list" in form:
            return [self._returned(f, outputs) for f in form["list"]]
        if "tuple" in form:
            return tuple(self._returned(f, outputs) for f in form["tuple"])
        if "dict" in form:
            return {k: self._returned(f, outputs) for k, f in form["dict"]}
        return form["text"]


def _texts(value: Any) -> list[str]:
    if value is None:
        return []
    return [value] if isinstance(value, str) else [str(v) for v in value]


def _has_number(form: Any) -> bool:
    if isinstance(form, dict):
        return any(_has_number(f) for group in form.values() for f in group if group != "text")
    return isinstance(form, bool | int | float)


def _buffer(j: Json) -> Buffer:
    data = base64.b64decode(j["data"]) if j.get("data") else None
    role, init = j.get("role", "temp"), j.get("init", "poison")
    return Buffer(j.get("name", ""), j["bytes"], j["dtype"], role, init, data)


def _remap(step: Json, mapping: dict[int, int], modules: list[int], scalars: int) -> None:
    """The names of one call in a step become those of the Program."""
    kind = step["kind"]
    if kind == "op":
        for group in [*step["outputs"], *(v for a in step["args"] for v in views_in(a))]:
            if group["buffer"] >= 0:
                group["buffer"] = mapping[group["buffer"]]
    elif kind == "launch":
        step["module"] = modules[step["module"]]
        for slot in step["slots"]:
            if "scalar" in slot:
                slot["scalar"] += scalars
            elif slot.get("buffer", -1) >= 0:
                slot["buffer"] = mapping[slot["buffer"]]
    else:
        for end in ("dst", "src"):
            if step.get(end, -1) >= 0:
                step[end] = mapping[step[end]]
