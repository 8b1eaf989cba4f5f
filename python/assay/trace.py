"""One reference at one set of shapes -> one Program."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch._subclasses import fake_tensor
from torch._subclasses.fake_tensor import FakeTensorMode, unset_fake_temporarily
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._pytree import tree_leaves

from assay import reference as ref
from assay.composite import Composite
from assay.devices import OnCpu
from assay.encode import dtype_name, encode_value, tensor_bytes
from assay.errors import ExportError, InvalidError, UnsupportedError
from assay.program import Buffer, Builder, Json
from assay.recorder import Recorder, storage_key
from assay.shapes import Changes

RANGE_ELEMENTS = 1 << 26  # ranges of larger tensors are not computed
EXAMPLE_BYTES = 1 << 26  # integer examples above this keep their range alone

_NO_VALUES = (
    fake_tensor.DataDependentOutputException,
    fake_tensor.DynamicOutputShapeException,
)


@dataclass
class Options:
    evaluate: bool = False  # model.eval()
    function: str = "module_fn"
    seed: int = 42
    inputs_only: bool = False  # arguments alone; Model may be missing, its operators unknown


class _Called(BaseException):
    """Ends the pass of an inputs-only trace where module_fn is called."""


@dataclass
class _Call:
    """The call of module_fn: its bound arguments and what it returned."""

    bound: dict[str, Any] = field(default_factory=dict)
    result: Any = None
    count: int = 0


class Tracer:
    def __init__(self, reference: ref.Reference, options: Options, device: str) -> None:
        self.reference = reference
        self.options = options
        self.device = device
        self.init_values = ref.init_inputs(reference, options.seed)
        self.built = ref.build(reference, self.init_values, options.seed)
        self.model = self.built.model.train(not options.evaluate)
        self.inputs, self.real_inputs = ref.make_inputs(reference, options.seed)
        self.mode = FakeTensorMode(allow_non_fake_inputs=True)
        self.builder = Builder(reference.path.stem)
        self.builder.input_floats = {k: v for k, v in enumerate(self.inputs) if type(v) is float}
        self.recorder = Recorder(self.builder, self.mode, str(reference.path))
        self.sources: dict[int, str] = {}  # buffer -> "input:0"; parameters and buffers: their name
        self.fakes: dict[str, torch.Tensor] = {}  # state_dict name -> fake
        self.buffer_values: dict[int, torch.Tensor] = {}

    def run(self) -> Builder:
        inputs = self._fake_inputs()
        self._fake_state()
        call = _Call()
        if self.options.inputs_only:
            return self._arguments_alone(inputs, call)
        result = self._forward(inputs, call)
        functional = call.count == 1
        if call.count > 1:
            raise UnsupportedError(f"{self.options.function} is called {call.count} times")
        self.builder.form = "functional" if functional else "module"
        outputs = [
            t
            for t in tree_leaves(call.result if functional else result)
            if isinstance(t, torch.Tensor)
        ]
        if not outputs:
            raise UnsupportedError("forward returns no tensor")
        self.builder.outputs = [self.recorder.read(self.recorder._fake_of(t)) for t in outputs]
        self.recorder.finish_mutations()
        self._settle_roles()
        self._list_arguments(inputs, call if functional else None)
        self._list_init_args()
        self.builder.changed = list(self.reference.changes.items())
        self.builder.remove_dead()
        return self.builder

    def _arguments_alone(self, inputs: list[Any], call: _Call) -> Builder:
        if callable(self.reference.get(self.options.function)):
            with contextlib.suppress(_Called):
                self._forward(inputs, call)
        functional = call.count == 1
        self.builder.form = "functional" if functional else "module"
        self._settle_roles()
        self._list_arguments(inputs, call if functional else None)
        self._list_init_args()
        self.builder.changed = list(self.reference.changes.items())
        self.builder.remove_dead()  # what led up to the call
        return self.builder

    # --- roots ---
    def _fake(self, tensor: torch.Tensor) -> torch.Tensor:
        """What tensor.to(device) is: dense, the same order of strides."""
        with self.mode:
            meta = torch.empty_like(tensor, device="meta")
            return torch.empty_strided(
                meta.shape, meta.stride(), dtype=tensor.dtype, device=self.device
            )

    def _buffer(self, name: str, role: str, tensor: torch.Tensor, known: bool) -> Buffer:
        dtype = dtype_name(tensor.dtype)
        nbytes = tensor.numel() * tensor.element_size()
        out = Buffer(name, nbytes, dtype, role, "symbolic")
        if not known or tensor.numel() == 0 or tensor.numel() > RANGE_ELEMENTS:
            return out
        integer = not tensor.dtype.is_floating_point
        low, high = (float(v) for v in torch.aminmax(tensor.detach().to(_comparable(tensor.dtype))))
        if abs(low) != float("inf") and abs(high) != float("inf") and low <= high:
            out.example_range = (low, high)
        if integer and nbytes <= EXAMPLE_BYTES:
            out.data = tensor_bytes(tensor)
        return out

    def _fake_inputs(self) -> list[Any]:
        names = ref.parameter_names(self.model.forward)
        out = []
        for k, value in enumerate(self.inputs):
            name = names[k] if k < len(names) else f"input{k}"
            out.append(self._fake_input(value, name, f"input:{k}"))
        return out

    def _fake_input(self, value: Any, name: str, source: str) -> Any:
        if isinstance(value, list | tuple):
            items = [
                self._fake_input(v, f"{name}[{i}]", f"{source}[{i}]") for i, v in enumerate(value)
            ]
            return type(value)(items)
        if not isinstance(value, torch.Tensor):
            return value
        fake = self._fake(value)
        index = self.recorder.add_root(fake, self._buffer(name, "input", value, self.real_inputs))
        self.sources[index] = source
        return fake

    def _fake_state(self) -> None:
        """Replaces parameters (tied ones once) and buffers (each on its own, as .to() does)."""
        parameters: dict[int, torch.nn.Parameter] = {}
        for prefix, module in self.model.named_modules():
            dot = prefix + "." if prefix else ""
            for name, parameter in list(module._parameters.items()):
                if parameter is None:
                    continue
                new = parameters.get(id(parameter))
                if new is None:
                    fake = self._add_state(dot + name, "parameter", parameter)
                    with self.mode:
                        new = torch.nn.Parameter(fake, requires_grad=False)
                    parameters[id(parameter)] = new
                    parameters[id(new)] = new  # a module may be reached under two names
                _replace(module, module._parameters, name, new)
            for name, buffer in list(module._buffers.items()):
                if buffer is not None and id(buffer) not in parameters:
                    fake = self._add_state(dot + name, "state", buffer)
                    parameters[id(fake)] = fake
                    module._buffers[name] = fake
            for name, value in list(vars(module).items()):
                if not name.startswith("_") and isinstance(value, _CONTAINERS):
                    vars(module)[name] = self._fake_held(dot + name, value, parameters)

    def _fake_held(self, name: str, value: Any, known: dict[int, torch.nn.Parameter]) -> Any:
        """Parameters in plain lists and dictionaries, of which PyTorch knows nothing, are
        parameters all the same. Containers other than tuples are filled anew, not replaced."""
        if isinstance(value, torch.nn.Parameter):
            new = known.get(id(value))
            if new is None:
                fake = self._add_state(name, "parameter", value)
                with self.mode:
                    new = torch.nn.Parameter(fake, requires_grad=False)
                known[id(value)] = known[id(new)] = new
            return new
        if isinstance(value, Mapping | torch.nn.ParameterDict):
            for key, item in list(value.items()):
                new = self._fake_held(f"{name}.{key}", item, known)
                if new is not item:
                    value[key] = new  # type: ignore[index]
            return value
        if isinstance(value, list | tuple | torch.nn.ParameterList):
            items = [self._fake_held(f"{name}.{k}", v, known) for k, v in enumerate(value)]
            changed = [k for k, v in enumerate(value) if items[k] is not v]
            if isinstance(value, tuple):
                if not changed:
                    return value
                return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
            for k in changed:
                value[k] = items[k]
        return value

    def _add_state(self, name: str, role: str, tensor: torch.Tensor) -> torch.Tensor:
        fake = self._fake(tensor)
        known = self.built.has_values(tensor)
        index = self.recorder.add_root(fake, self._buffer(name, role, tensor, known))
        self.fakes[name] = fake
        if role == "state" and known:
            dense = torch.empty_like(tensor, requires_grad=False).copy_(tensor.detach())
            self.recorder.values[index] = dense
        return fake

    # --- the pass ---
    def _forward(self, inputs: list[Any], call: _Call) -> Any:
        keywords = self._hook(call)
        path = self.reference.path
        try:
            with (
                torch.no_grad(),
                sdpa_kernel(SDPBackend.MATH),  # attention written out, whatever a GPU would pick
                self.mode,
                OnCpu() if self.device == "cpu" else contextlib.nullcontext(),
                Composite(self.recorder, self.device),
                self.recorder,
            ):
                return self.model(*inputs, **keywords)
        except _NO_VALUES as error:
            raise UnsupportedError(
                f"{path.name}: control flow or shapes depend on data: {ref.last_lines(error, path)}"
            ) from error
        except ExportError as error:
            where = ref.last_lines(error, path)
            raise ExportError(error.kind, f"{path.name}: {_tail(where)}") from error
        except (fake_tensor.UnsupportedFakeTensorException, NotImplementedError) as error:
            raise UnsupportedError(f"{path.name}: {ref.last_lines(error, path)}") from error
        except fake_tensor.UnsupportedOperatorException as error:
            raise UnsupportedError(
                f"{path.name}: no shape rule for {ref.last_lines(error, path)}"
            ) from error

    def _hook(self, call: _Call) -> dict[str, Any]:
        """Puts a recording wrapper in the place of module_fn."""
        function = self.reference.functional(self.options.function)
        if function is None:
            return {}
        name = self.builder.function = function.__name__

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            call.count += 1
            call.bound = ref.bind(function, args, kwargs)
            for key, value in call.bound.items():
                self._open_computed(key, value)
            if self.options.inputs_only:
                raise _Called
            call.result = function(*args, **kwargs)
            return call.result

        return ref.replace_function(self.reference, self.model, function, name, wrapper)

    def _open_computed(self, name: str, value: Any) -> None:
        """A tensor that Model.forward computes before the call is an input of the candidate."""
        for t in tree_leaves(value):
            if not isinstance(t, torch.Tensor):
                continue
            t = self.recorder._fake_of(t)
            slot = self.recorder.slots[storage_key(t)]
            old = self.builder.buffers[slot.buffer]
            if old.role == "temp":
                new = Buffer(name, old.nbytes, old.dtype, "input", "symbolic")
                slot.buffer = slot.original = self.builder.add_buffer(new)
                self.sources[slot.buffer] = f"computed:{name}"

    # --- what the Program says about itself ---
    def _settle_roles(self) -> None:
        """Buffers are constants unless they hold running statistics or forward writes them."""
        written = {v["buffer"] for v in self.builder.mutated}
        for index, buffer in enumerate(self.builder.buffers):
            if buffer.role not in ("state", "constant"):
                continue
            statistic = index in self.recorder.running_stats or buffer.name.endswith(
                ("running_mean", "running_var", "num_batches_tracked")
            )
            if statistic and index in self.recorder.read_as_values and index not in written:
                statistic = False
            if statistic or index in written:
                buffer.role, buffer.init = "state", "symbolic"
                if buffer.dtype.startswith(("float", "bfloat")):
                    buffer.data = None
                continue
            value = self.recorder.values.get(index)
            if value is None:
                raise UnsupportedError(f"the values of buffer {buffer.name} are not known")
            with unset_fake_temporarily():
                buffer.data = tensor_bytes(value)
            buffer.role, buffer.init, buffer.example_range = "constant", "data", None

    def _source(self, buffer: int) -> str:
        known = self.sources.get(buffer)
        if known is not None:
            return known
        b = self.builder.buffers[buffer]
        return f"{b.role}:{b.name}"

    def _argument(self, name: str, value: Any) -> list[Json]:
        """Dictionaries become one argument an entry, named NAME['KEY'], lists that hold containers
        one an item, named NAME[k]."""
        if isinstance(value, Mapping | torch.nn.ParameterDict):
            return [a for k, v in value.items() for a in self._argument(f"{name}['{k}']", v)]
        if isinstance(value, torch.nn.ParameterList):
            value = list(value)
        if isinstance(value, list | tuple) and any(isinstance(v, _CONTAINERS) for v in value):
            return [a for k, v in enumerate(value) for a in self._argument(f"{name}[{k}]", v)]
        sources: list[str] = []

        def tensor(t: torch.Tensor) -> Json:
            fake = self.recorder._fake_of(t)
            slot = self.recorder.slots[storage_key(fake)]
            index = slot.buffer if slot.original is None else slot.original
            sources.append(self._source(index))
            return {**self.recorder.view_of(fake), "buffer": index}

        try:
            encoded = encode_value(value, tensor)
        except UnsupportedError:
            return [{"name": name, "value": None, "source": "object"}]
        source = ",".join(sources) or ("none" if value is None else "scalar")
        return [{"name": name, "value": encoded, "source": source}]

    def _list_arguments(self, inputs: list[Any], call: _Call | None) -> None:
        if call is not None:
            for name, value in call.bound.items():
                self.builder.arguments += self._argument(name, value)
            return
        names = ref.parameter_names(self.model.forward)
        for k, value in enumerate(inputs):
            name = names[k] if k < len(names) else f"input{k}"
            self.builder.arguments += self._argument(name, value)
        for name, fake in self.fakes.items():
            self.builder.arguments += self._argument(name, fake)

    def _list_init_args(self) -> None:
        names = list(inspect.signature(self.reference.module.Model.__init__).parameters)[1:]
        for k, value in enumerate(self.init_values):
            name = names[k] if k < len(names) else f"init{k}"
            if not any(isinstance(v, torch.Tensor) for v in tree_leaves(value)):
                self.builder.init_args += self._argument(name, value)


def _tail(text: str) -> str:
    return text.split(": ", 1)[-1] if text.startswith("assay.errors.") else text


_CONTAINERS = (list, tuple, Mapping, torch.nn.ParameterDict, torch.nn.ParameterList)


def _comparable(dtype: torch.dtype) -> torch.dtype:
    return torch.uint8 if dtype == torch.bool else dtype


def _replace(module: torch.nn.Module, table: dict[str, Any], name: str, new: Any) -> None:
    if isinstance(module, torch.nn.RNNBase):
        setattr(module, name, new)  # keeps its list of flat weights in step
    else:
        table[name] = new


def trace(path: Path, changes: Changes, options: Options) -> Builder:
    """Errors: as ref.load; Unsupported; Invalid where forward raises an exception of its own."""
    first: ExportError | None = None
    for device in ("cuda", "cpu"):
        reference = ref.load(path, changes, options.seed, needs_model=not options.inputs_only)
        try:
            return Tracer(reference, options, device).run()
        except ExportError as error:
            first = first or error
            if error.kind != "unsupported":
                raise
        except Exception as error:
            where = ref.last_lines(error, path) + ref.sandbox_hint(error)
            message = f"{path.name}: forward raised {where}"
            first = first or InvalidError(message)
    assert first is not None
    raise first


Trace = Callable[[Path, Changes, Options], Builder]
