"""python -m assay.candidate MODEL_NEW.py REF.py: a KernelBench program as Programs.

`assay check` starts this confined (src/host/candidate.h) and answers its questions. The result goes
to descriptor 3: the set of docs/program_schema.md, and "calls": recordings of further calls.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import json
import sys
import traceback
import types
import warnings
from pathlib import Path
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils._pytree import tree_leaves

from assay import cheats, gpu_stubs
from assay import reference as ref
from assay.channel import Channel
from assay.construct import Construction, NeedsValuesError, OnCpuNoted
from assay.errors import ExportError, InvalidError, UnsupportedError
from assay.extension import Extensions, LaunchRefused
from assay.pairing import Pairing, Weight, pair, weights
from assay.program import SCHEMA, Buffer, Builder, Json, buffers_in
from assay.recorder import Recorder, storage_key, unobserved
from assay.trace import Options, Tracer, _Call

REPEAT_BYTES = 1 << 26  # constants above this are not written down for further calls


class Session:
    """One process: the program under the reference's shapes in turn."""

    def __init__(self, path: Path, reference: Path, options: Options, channel: Channel) -> None:
        self.path, self.reference_path, self.options = path, reference, options
        self.channel = channel
        self.extensions = Extensions(channel, path)
        self.order = gpu_stubs.Order()
        self.construction: Construction | None = None
        self.caller = cheats.Caller(path)

    def install(self) -> None:
        gpu_stubs.install(self.order, self._seeded)
        module = self.extensions.module()
        sys.modules["torch.utils.cpp_extension"] = module
        torch.utils.cpp_extension = module
        register = torch.nn.Module.register_parameter, torch.nn.Module.register_buffer

        def follow(number: int) -> Any:
            def wrapper(module: Any, name: str, value: Any, *args: Any, **kwargs: Any) -> Any:
                tensor = isinstance(value, torch.Tensor) and not isinstance(value, FakeTensor)
                if tensor and self.construction is not None:
                    self.construction.follow(value)
                return register[number](module, name, value, *args, **kwargs)

            return wrapper

        torch.nn.Module.register_parameter = follow(0)
        torch.nn.Module.register_buffer = follow(1)
        self.caller.install()

    def _seeded(self, seed: int) -> None:
        if self.construction is not None:
            self.construction.seed(seed)

    def trace(self, changes: dict[str, int], further: bool) -> tuple[Builder, list[Json]]:
        """Errors: ExportError."""
        for skip in (True, False):
            try:
                return Candidate(self, changes, skip).record(further)
            except NeedsValuesError:
                if not skip:
                    raise
        raise AssertionError

    def run_constructor(self, build: Any, construction: Construction) -> Any:
        self.construction = construction
        try:
            with torch.no_grad(), construction, OnCpuNoted(construction):
                torch.manual_seed(self.options.seed)
                return build()
        finally:
            self.construction = None


def load(path: Path) -> types.ModuleType:
    """Executes model_new.py. Errors: Syntax, Invalid."""
    source = path.read_text(encoding="utf-8")
    try:
        tree = ast.parse(source, filename=str(path))
    except (SyntaxError, ValueError) as error:
        raise ExportError("syntax", f"{path}: {error}") from error
    module = types.ModuleType("assay_model_new")
    module.__file__ = str(path)
    sys.modules["assay_model_new"] = module
    with ref.blamed_on_reference("loading it", path):
        exec(compile(tree, str(path), "exec"), module.__dict__)
    model = getattr(module, "ModelNew", None)
    if not isinstance(model, type) or not issubclass(model, torch.nn.Module):
        raise InvalidError(f"{path.name}: no class ModelNew derived from torch.nn.Module")
    return module


class CandidateRecorder(Recorder):
    """Knows what the constructor left on the GPU, wherever the program keeps it."""

    candidate: Candidate

    def _fake_of(self, value: Any) -> Any:
        real = isinstance(value, torch.Tensor) and not isinstance(value, FakeTensor)
        if real and self.candidate.construction.on_device(value):
            with unobserved():
                return self.candidate.held(value.detach())
        return super()._fake_of(value)


class Candidate(Tracer):
    """One program at one set of shapes."""

    def __init__(self, session: Session, changes: dict[str, int], skip: bool) -> None:
        self.session, self.options, self.device = session, session.options, "cuda"
        seed = self.options.seed
        reference = ref.load(session.reference_path, changes, seed)
        self.init_values = ref.init_inputs(reference, seed)
        self.inputs, self.real_inputs = ref.make_inputs(reference, seed)
        self.reference = ref.Reference(session.path, reference.module, changes)
        self.on_gpu = gpu_stubs.OnGpu()
        self.mode = FakeTensorMode(allow_non_fake_inputs=True)
        self.builder = Builder(session.path.stem)
        self.recorder = CandidateRecorder(self.builder, self.mode, str(session.path))
        self.recorder.candidate = self
        self.sources: dict[int, str] = {}
        self.fakes: dict[str, torch.Tensor] = {}
        self.wanted = self._reference_weights(reference, skip)
        self.construction = Construction(self.recorder, self.device, skip)
        self.model = self._build(skip).train(not self.options.evaluate)
        self.symbols: dict[str, torch.Tensor] = {}  # source -> fake
        self.symbolic: set[int] = set()  # real storages that depend on weights
        self._constants: dict[int, torch.Tensor] = {}  # real storage -> fake
        self._kept: list[Any] = []

    def _reference_weights(self, reference: ref.Reference, skip: bool) -> list[Weight]:
        recorder = Recorder(Builder("reference"), self.mode, str(reference.path))
        construction = Construction(recorder, self.device, skip)
        with ref.blamed_on_reference("Model(...)", reference.path):
            model = self.session.run_constructor(
                lambda: reference.module.Model(*copy.deepcopy(self.init_values)), construction
            )
        return weights(model, construction)

    def _build(self, skip: bool) -> torch.nn.Module:
        path = self.session.path
        module = self.session.run_constructor(lambda: load(path), self.construction)
        with ref.blamed_on_reference("ModelNew(...)", path):
            return self.session.run_constructor(
                lambda: module.ModelNew(*self.init_values), self.construction
            )

    # --- weights ---
    def _fake_state(self) -> None:
        c = self.construction
        own = weights(self.model, c)
        for step in self.builder.steps:
            step["constructed"] = True
        pairing = pair(self.wanted, own)
        taken: set[int] = set()
        for r, w in pairing.pairs:
            self._symbol(f"{r.role}:{r.name}", r, w, taken)
        self._buried(pairing, taken)
        for w in pairing.extra:
            self._unpaired(w, taken)
        for w in pairing.other_values:
            self.builder.add_note(
                "parameter-pairing",
                "high",
                f"the parameter {w.name} is initialised otherwise than the reference's of the same "
                "name: with the same seed the weights differ",
            )
        self.symbolic = c.symbolic_storages()
        seen: dict[int, Any] = {}
        for module in self.model.modules():
            self._replace_tensors(module, seen)

    def _root(self, source: str, tensor: torch.Tensor) -> Buffer:
        role, name = source.split(":", 1)
        known = not self.construction.is_skipped(tensor)
        return self._buffer(name, role, tensor, known)

    def _symbol(self, source: str, r: Weight, w: Weight, taken: set[int]) -> None:
        c = self.construction
        fake, buffer = c.twin(w.tensor), c.buffer_of(w.tensor)
        root = self._root(source, w.tensor)
        same = (
            w.tensor.stride() == r.tensor.stride()
            and w.tensor.storage_offset() == 0
            and self.builder.buffers[buffer].nbytes == root.nbytes
        )
        if same and buffer not in taken:
            c.cut(buffer, root)
            slot = self.recorder.slots[storage_key(fake)]
            slot.original, slot.tensor = buffer, fake
            taken.add(buffer)
            self.symbols[source] = fake
        else:  # laid out otherwise, or one tensor for several parameters
            own = self._fake(r.tensor)
            taken.add(self.recorder.add_root(own, root))
            with self.mode:
                self.recorder.assign(fake, own)
            self.symbols[source] = own

    def _buried(self, pairing: Pairing, taken: set[int]) -> None:
        """Parameters that the program draws as the reference does, but keeps in another form."""
        c = self.construction
        left = {w.key: w for w in pairing.missing if w.drawn}
        if not left:
            return
        everything = set(range(len(self.builder.buffers))) - taken
        keys = c.keys(everything)
        for b in sorted(everything):
            for key, w in left.items():
                made, _, _ = key.partition(" ")
                if keys.get(b) != made or not ref_dense(w.tensor):
                    continue
                root = self._root(f"{w.role}:{w.name}", w.tensor)
                if root.nbytes != self.builder.buffers[b].nbytes:
                    continue
                c.cut(b, root)
                taken.add(b)
                fake = self._fake(w.tensor)
                self.recorder.adopt(fake, b)
                self.recorder.slots[storage_key(fake)].original = b
                self.symbols[f"{w.role}:{w.name}"] = fake
                del left[key]
                break

    def _unpaired(self, w: Weight, taken: set[int]) -> None:
        if w.role != "parameter":
            return
        c = self.construction
        buffer = c.buffer_of(w.tensor)
        if not w.drawn:
            return  # a constant
        if buffer in c.symbolic():  # a weight of the reference in another form
            need = {buffer}
            for step in reversed(self.builder.steps):
                if {v["buffer"] for v in step["outputs"]} & need:
                    step["constructed"] = False
                    need |= set(buffers_in(step))
            return
        self.builder.add_note(
            "parameter-pairing",
            "high",
            f"the parameter {w.name} of ModelNew has no partner in the reference: none has this "
            "name and shape, none the same initial values",
        )
        if buffer not in taken:
            c.cut(buffer, self._root(f"parameter:{w.name}", w.tensor))
            taken.add(buffer)
            self.symbols[f"own:{w.name}"] = c.twin(w.tensor)

    def _replace_tensors(self, module: Any, seen: dict[int, Any]) -> None:
        """What a module holds becomes fakes on the GPU."""
        for name, parameter in list(module._parameters.items()):
            if parameter is not None and not isinstance(parameter, FakeTensor):
                if id(parameter) not in seen:
                    fake = self.held(parameter.detach(), name)
                    with self.mode:
                        new = torch.nn.Parameter(fake, requires_grad=False)
                    seen[id(parameter)] = seen[id(new)] = new
                if isinstance(module, torch.nn.RNNBase):
                    setattr(module, name, seen[id(parameter)])
                else:
                    module._parameters[name] = seen[id(parameter)]
        for name, buffer in list(module._buffers.items()):
            module._buffers[name] = self._replaced(buffer, seen, name)
        for name, value in list(module.__dict__.items()):
            if name.startswith("_") and name in _MODULE_FIELDS:
                continue
            new = self._replaced(value, seen, name)
            if new is not value:
                module.__dict__[name] = new

    def _replaced(self, value: Any, seen: dict[int, Any], name: str) -> Any:
        if isinstance(value, torch.Tensor) and not isinstance(value, FakeTensor):
            if id(value) not in seen:
                seen[id(value)] = self.held(value.detach(), name)
            return seen[id(value)]
        if type(value) in (list, tuple):
            new = [self._replaced(v, seen, name) for v in value]
            if any(a is not b for a, b in zip(new, value, strict=True)):
                return type(value)(new)
        if type(value) is dict:
            for k, v in value.items():
                value[k] = self._replaced(v, seen, name)
        return value

    def held(self, tensor: torch.Tensor, name: str = "") -> torch.Tensor:
        """The fake for a real tensor that the constructor left: one a storage."""
        c = self.construction
        storage = tensor.untyped_storage()
        if storage._cdata in self.symbolic:
            return c.twin(tensor)
        if c.is_skipped(tensor):
            raise NeedsValuesError
        known = self._constants.get(storage._cdata)
        if known is None:
            size = storage.nbytes() // tensor.element_size()
            flat = torch.as_strided(tensor, (size,), (1,), 0).clone()
            known = self._fake(flat)
            self._constants[storage._cdata] = known
            self.recorder.original_constants.add(self.recorder.add_constant(known, flat, name))
            self._kept.append(storage)
        if known.dtype != tensor.dtype:
            raise UnsupportedError("constants viewed under another dtype")
        with self.mode:
            return torch.as_strided(
                known, tensor.shape, tensor.stride(), int(tensor.storage_offset())
            )

    # --- the pass ---
    def _hook(self, call: _Call) -> dict[str, Any]:
        return {}

    def _call_forward(self, inputs: list[Any]) -> list[torch.Tensor]:
        extensions = self.session.extensions
        extensions.recorder = self.recorder
        self.session.order.begin(self.builder)
        try:
            with self.session.caller, self.on_gpu:
                result = self._forward(inputs, _Call())
        except LaunchRefused:
            return []
        except ExportError:
            raise
        except Exception as error:
            if extensions.failure is not None:
                raise self._failure(extensions.failure, error) from error
            where = ref.last_lines(error, self.session.path) + ref.sandbox_hint(error)
            raise InvalidError(f"{self.session.path.name}: forward raised {where}") from error
        finally:
            extensions.recorder = None
            self.session.order.begin(self.builder)
            self.builder.stream = None
        if self.builder.unjoined:
            self._note_once(
                "harness-cheat",
                "work on another stream is not joined when forward returns: a timer on the current "
                "stream does not see it, and neither does who reads the result there",
            )
        if extensions.failure is not None:
            e = extensions.failure
            kind = e.kind if e.kind != "syntax" else "invalid"
            raise ExportError(
                kind,
                f"{self.session.path.name}: the program catches the failure of its own kernel and "
                f"goes on without it: {e.message}",
            )
        return [t for t in tree_leaves(result) if isinstance(t, torch.Tensor)]

    def _failure(self, failure: ExportError, error: Exception) -> ExportError:
        frames = traceback.extract_tb(error.__traceback__)
        own = [f for f in frames if f.filename == str(self.session.path)]
        where = f" (line {own[-1].lineno}: {own[-1].line})" if own else ""
        return ExportError(failure.kind, f"{self.session.path.name}: {failure.message}{where}")

    def record(self, further: bool) -> tuple[Builder, list[Json]]:
        extensions = self.session.extensions
        extensions.look_further = further
        self._fake_state()
        inputs = self._fake_inputs()
        outputs = self._call_forward(inputs)
        if not outputs and not self.builder.notes:
            raise UnsupportedError("forward returns no tensor")
        self._finish(inputs, outputs)
        calls: list[Json] = []
        first = copy.deepcopy(self.builder)
        size = sum(len(b.data or b"") for b in self.builder.buffers)
        if further and outputs and size <= REPEAT_BYTES:
            calls = self._further(inputs)
        self.builder = first
        self._settle_roles()
        self._note_cheats()
        self.builder.changed = list(self.reference.changes.items())
        self.builder.remove_dead()
        if any(b.init == "unknown" for b in self.builder.buffers):
            raise NeedsValuesError
        self._note_folded()
        return self.builder, calls

    def _settle_roles(self) -> None:
        """States are those of the reference; other buffers begin with what the constructor left,
        and are constants unless forward writes them."""
        written = {v["buffer"] for v in self.builder.mutated}
        for index, buffer in enumerate(self.builder.buffers):
            if buffer.role == "state":
                buffer.init = "symbolic"
                if buffer.dtype.startswith(("float", "bfloat")):
                    buffer.data = None
            elif buffer.role == "constant" and buffer.data is None:
                buffer.data = self.recorder.contents(index)
                if buffer.data is None:  # matters only if it is used
                    buffer.role, buffer.init = "temp", "unknown"
                elif index in written:
                    buffer.role = "temp"

    def _finish(self, inputs: list[Any], outputs: list[torch.Tensor]) -> None:
        rec = self.recorder
        self.builder.outputs = [rec.read(rec._fake_of(t)) for t in outputs]
        rec.finish_mutations()
        self.builder.arguments = []
        names = ref.parameter_names(self.model.forward)
        for k, value in enumerate(inputs):
            name = names[k] if k < len(names) else f"input{k}"
            self.builder.arguments += self._argument(name, value)
        for source, fake in self.symbols.items():
            kind, _, name = source.partition(":")
            argument = self._argument(name, fake)[0]
            argument["source"] = "own" if kind == "own" else source
            self.builder.arguments.append(argument)

    def _further(self, inputs: list[Any]) -> list[Json]:
        """Raw recordings of the first call, of one with new input tensors, and of one with the
        first ones again."""
        calls = [self._raw()]
        try:
            for again in (self._fake_inputs(), inputs):
                if again is inputs:
                    self._separate(inputs)
                self.builder.mutated = []
                self._finish(again, self._call_forward(again))
                calls.append(self._raw())
        except (ExportError, AttributeError) as error:
            self.session.extensions.failure = None
            if isinstance(error, ExportError) and error.kind == "unsupported":
                return calls
            message = getattr(error, "message", str(error))
            self.late_note = f"the first call succeeds, a further one fails: {message}"
        return calls

    def _separate(self, inputs: list[Any]) -> None:
        """The contents of inputs are about to change: what shares them gets a copy."""
        rec = self.recorder
        own = {storage_key(t) for t in tree_leaves(inputs) if isinstance(t, torch.Tensor)}
        buffers = {rec.slots[k].buffer for k in own}
        with self.mode:
            for key, slot in list(rec.slots.items()):
                if key not in own and slot.buffer in buffers and slot.tensor is not None:
                    rec.own(slot.tensor)

    def _raw(self) -> Json:
        saved = self.builder
        self.builder = copy.deepcopy(saved)
        self._settle_roles()
        for index in self.recorder.original_constants & self.recorder.launched:
            self.builder.buffers[index].role = "temp"  # a kernel may keep something there
        for buffer in self.builder.buffers:
            buffer.init = "poison" if buffer.init == "unknown" else buffer.init
        out = self.builder.json()
        self.builder = saved
        return copy.deepcopy(out)

    # --- notes ---
    def _note_once(self, kind: str, message: str) -> None:
        note = {"kind": kind, "severity": "high", "message": message}
        if note not in self.builder.notes:
            self.builder.notes.append(note)

    late_note = ""

    def _note_cheats(self) -> None:
        s = self.session
        if self.late_note:
            self.builder.add_note("static-state", "low", self.late_note)
        if self.construction.reads:
            self.builder.add_note(
                "folded-weights",
                "high",
                "the constructor reads values of weights ("
                + ", ".join(self.construction.reads[:3])
                + "): what follows from them does not change with the weights",
            )
        if not s.extensions.built:
            self.builder.add_note("harness-cheat", "high", "the program builds no kernel")
        elif s.extensions.calls == 0:
            self.builder.add_note(
                "harness-cheat", "high", "forward calls none of the kernels that the program builds"
            )
        for kind, message, line in [*cheats.static(s.path), *s.caller.found]:
            loc = {"file": str(s.path), "line": line, "column": 0}
            note = {"kind": kind, "severity": "high", "message": message, "loc": loc}
            if note not in self.builder.notes:
                self.builder.notes.append(note)

    def _note_folded(self) -> None:
        folded = [s for s in self.builder.steps if s.get("constructed")]
        if folded:
            ops = sorted({s["op"].removeprefix("aten::") for s in folded})
            self.builder.add_note(
                "folded-weights",
                "low",
                "the constructor computes with weights ("
                + ", ".join(ops[:4])
                + "): the result is stale where weights are loaded or trained later",
            )


_MODULE_FIELDS = {"_parameters", "_buffers", "_modules"}


def ref_dense(tensor: torch.Tensor) -> bool:
    return tensor.storage_offset() == 0 and (
        tensor.untyped_storage().nbytes() == tensor.numel() * tensor.element_size()
    )


def record(session: Session) -> Json:
    first, calls = session.trace({}, True)
    programs, skipped = [first.json()], []
    for changed in session.channel.ask("shapes")["changed"]:
        change = dict(changed)
        try:
            programs.append(session.trace(change, False)[0].json())
        except ExportError as error:
            session.extensions.failure = None
            skipped.append({"changed": changed, "reason": error.message})
    constructed = sum("constructed" in s for s in calls[0]["steps"]) if calls else 0
    return {
        "schema": SCHEMA,
        "programs": programs,
        "skipped": skipped,
        "calls": calls,
        "constructed": constructed,
    }


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="assay.candidate", description=__doc__)
    parser.add_argument("program", type=Path)
    parser.add_argument("reference", type=Path)
    parser.add_argument("--eval", action="store_true")
    parser.add_argument("--seed", type=int, default=42)
    args = parser.parse_args(argv)
    channel = Channel()
    code = 0
    try:
        with contextlib.redirect_stdout(sys.stderr), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            options = Options(args.eval, "", args.seed)
            session = Session(args.program, args.reference, options, channel)
            session.install()
            text = json.dumps(record(session), separators=(",", ":"), allow_nan=False)
    except ExportError as error:
        failure = {"kind": error.kind, "message": error.message}
        text, code = json.dumps({"schema": SCHEMA, "error": failure}), error.exit_code
    except Exception as error:
        frames = traceback.format_tb(error.__traceback__)
        message = f"candidate: {error!r}\n{''.join(frames[-4:])}"
        failure = {"kind": "internal", "message": message}
        text, code = json.dumps({"schema": SCHEMA, "error": failure}), 5
    channel.finish(text)
    return code


if __name__ == "__main__":
    sys.exit(main())
