"""Every operator of src/tensor/ops.def against PyTorch: random shapes, strides, dtypes, attributes.

One process of assay_tensor_eval runs all cases; it also compares infer() with the outputs and
evaluates a part of the outputs on demand.
"""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import op_cases
import pytest
import torch
from conftest import ROOT
from op_cases import BF16, BOOL, F16, F32, F64, Gen

Json = dict[str, Any]
ROUNDS = int(os.environ.get("ASSAY_OP_ROUNDS", "3"))
TOLERANCE = {F32: 2e-5, F64: 1e-11, F16: 3e-3, BF16: 2e-2}


def rows() -> list[str]:
    text = (ROOT / "src/tensor/ops.def").read_text()
    return re.findall(r'^OP\(.*?, "(aten::.*)"\)$', text, re.M)


def name_of(schema: str) -> str:
    return schema[len("aten::") : schema.index("(")]


def overload(name: str) -> Any:
    base, _, over = name.partition(".")
    return getattr(getattr(torch.ops.aten, base), over or "default")


def binary() -> Path:
    found = [Path(os.environ["ASSAY_TENSOR_EVAL"])] if "ASSAY_TENSOR_EVAL" in os.environ else []
    found += (ROOT / "build").glob("**/assay_tensor_eval")
    if not found:
        pytest.skip("assay_tensor_eval is not built")
    return max(found, key=lambda p: p.stat().st_mtime)


@dataclass
class Case:
    name: str  # "sum.dim_IntList"; with a trailing "_" of the operator: in place
    args: list[Any]  # in schema order, all of them
    want: list[torch.Tensor | None] = field(default_factory=list)  # dtypes and exact values
    exact: list[torch.Tensor | None] = field(default_factory=list)  # float64 values
    in_place: bool = False
    got: list[torch.Tensor] = field(default_factory=list)
    error: str | None = None

    def describe(self) -> str:
        def one(a: Any) -> str:
            if isinstance(a, torch.Tensor):
                return f"{a.dtype} {list(a.shape)} {a.stride()}"
            return str([one(x) for x in a]) if isinstance(a, list) else repr(a)

        return f"{self.name}({', '.join(map(one, self.args))})"


def bind(op: Any, args: list[Any], kwargs: Json) -> list[Any]:
    out = []
    for k, p in enumerate(op._schema.arguments):
        if k < len(args):
            out.append(args[k])
        elif p.name in kwargs:
            out.append(kwargs[p.name])
        else:
            out.append(p.default_value if p.has_default_value() else None)
    return out


def call(op: Any, args: list[Any]) -> list[torch.Tensor | None]:
    schema = op._schema.arguments
    plain = [a for a, p in zip(args, schema, strict=True) if not p.kwarg_only]
    named = {p.name: a for a, p in zip(args, schema, strict=True) if p.kwarg_only}
    plain = [a.clone() if isinstance(a, torch.Tensor) else a for a in plain]  # statistics mutate
    out = op(*plain, **named)
    outs = list(out) if isinstance(out, (tuple, list)) else [out]
    name = op.name().removeprefix("aten::")
    if name in op_cases.UPDATES and plain[3] is not None:
        outs += plain[3:5]
    if name in op_cases.CUDA_SAVES and outs[1].shape == (0,):
        outs[1], outs[2] = plain[3], 1 / torch.sqrt(plain[4] + plain[-1])
    for k in op_cases.CUDA_WIDE.get(name, ()):
        outs[k] = outs[k].to(torch.promote_types(outs[k].dtype, F32))
    return outs


def widen(a: Any) -> Any:
    if isinstance(a, torch.Tensor) and a.dtype.is_floating_point:
        return a.to(F64)
    return [widen(x) for x in a] if isinstance(a, list) else a


def make_case(name: str, seed: int, dtype: torch.dtype, in_place: bool) -> Case | None:
    op = overload(name)
    args, kwargs = op_cases.CASES[name](Gen(seed, dtype))
    case = Case(name, bind(op, args, kwargs), in_place=in_place)
    if in_place:
        case.args[0] = case.args[0].clone() if 0 in case.args[0].stride() else case.args[0]
    try:
        case.want = call(op, case.args)
        case.exact = call(op, widen(case.args))
    except (RuntimeError, NotImplementedError):  # PyTorch's CPU lacks this dtype
        return None
    if in_place and (
        case.want[0].shape != case.args[0].shape
        or not torch.can_cast(case.want[0].dtype, case.args[0].dtype)
    ):
        return None
    if in_place:
        case.want = [case.want[0].to(case.args[0].dtype)]
    return case


def all_cases() -> list[Case]:
    cases = []
    for k, schema in enumerate(rows()):
        name = name_of(schema)
        for j, dtype in enumerate(op_cases.DTYPES.get(name, op_cases.FLOATS)):
            for r in range(ROUNDS):
                for in_place in [False, True] if name in op_cases.IN_PLACE and r == 0 else [False]:
                    case = make_case(name, 1000 * k + 50 * j + r, dtype, in_place)
                    if case is not None:
                        cases.append(case)
    return cases


class Encoder:
    """Cases as one Program: a step each, buffers with the tensors' storages."""

    def __init__(self) -> None:
        self.buffers: list[Json] = []
        self.steps: list[Json] = []

    def buffer(self, data: bytes, dtype: torch.dtype, init: str) -> int:
        b = {"name": "", "bytes": len(data), "dtype": str(dtype)[6:], "role": "constant"}
        if init == "data":
            b |= {"init": "data", "data": base64.b64encode(data).decode()}
        else:
            b |= {"init": "poison", "role": "temp"}
        self.buffers.append(b)
        return len(self.buffers) - 1

    def view(self, t: torch.Tensor, init: str = "data") -> Json:
        whole = torch.empty(0, dtype=t.dtype).set_(t.untyped_storage())
        data = bytes(whole.view(torch.uint8).numpy().tobytes()) if whole.numel() else b""
        return {
            "buffer": self.buffer(data, t.dtype, init),
            "dtype": str(t.dtype)[6:],
            "offset": t.storage_offset(),
            "shape": list(t.shape),
            "strides": list(t.stride()),
        }

    def arg(self, a: Any) -> Any:
        if isinstance(a, torch.Tensor):
            return self.view(a)
        if isinstance(a, torch.dtype):
            return {"dtype": str(a)[6:]}
        if isinstance(a, float) and a in (float("inf"), float("-inf")):
            return {"float": "inf" if a > 0 else "-inf"}
        if isinstance(a, (torch.device, torch.layout, torch.memory_format)):
            return None
        if isinstance(a, list) and any(isinstance(x, torch.Tensor) for x in a):
            none = {"buffer": -1}
            return {"tensors": [none if x is None else self.view(x) for x in a]}
        return a

    def add(self, case: Case) -> None:
        base = case.name.partition(".")[0]
        args = [self.arg(a) for a in case.args]
        if case.in_place:
            outputs = [args[0]]
        else:
            outputs = [
                {"buffer": -1} if t is None else self.view(torch.empty_like(t), "poison")
                for t in case.want
            ]
        op = f"aten::{base}{'_' if case.in_place else ''}"
        self.steps.append({"kind": "op", "op": op, "args": args, "outputs": outputs})

    def program(self) -> Json:
        return {"schema": 1, "name": "ops", "buffers": self.buffers, "steps": self.steps}


def execute(cases: list[Case], folder: Path) -> None:
    encoder = Encoder()
    for case in cases:
        encoder.add(case)
    (folder / "ops.json").write_text(json.dumps(encoder.program()))
    run = subprocess.run(
        [binary(), folder / "ops.json", folder / "out.bin"], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    data = bytearray((folder / "out.bin").read_bytes())
    at = 0
    for case, line in zip(cases, map(json.loads, run.stdout.splitlines()), strict=True):
        case.error = line["error"]
        if case.error is None:
            for want in case.want:
                if want is None:
                    continue
                n = want.numel()
                size = n * want.element_size()
                part = torch.frombuffer(data, dtype=want.dtype, count=n, offset=at) if n else None
                case.got.append(torch.empty(want.shape, dtype=want.dtype) if n == 0
                                else part.reshape(want.shape))  # fmt: skip
                at += size
    assert at == len(data)


def mismatch(case: Case) -> str | None:
    if case.error:
        return case.error
    wants = [(w, e) for w, e in zip(case.want, case.exact, strict=False) if w is not None]
    for k, (got, (want, exact)) in enumerate(zip(case.got, wants, strict=True)):
        if not want.dtype.is_floating_point:
            if not torch.equal(got, want):
                return f"output {k}: {got.tolist()} should be {want.tolist()}"
            continue
        exact = exact.to(F64)
        got64 = got.to(F64)
        finite = exact.isfinite()
        limit = torch.finfo(want.dtype).max
        if not torch.equal(got64.isnan(), exact.isnan()):
            return f"output {k}: NaN at other places: {got.tolist()} {exact.tolist()}"
        infinite = exact.isinf() | (exact.abs() > limit)
        if not torch.equal(got64[infinite].sign(), exact[infinite].sign()):
            return f"output {k}: infinities differ"
        eps = TOLERANCE[want.dtype]
        if want.dtype in (F32, F64):
            eps *= op_cases.LOOSE.get(case.name, 1)
        low = [a.dtype for a in case.args if isinstance(a, torch.Tensor) and a.dtype in (F16, BF16)]
        if low and want.dtype in (F16, BF16):
            eps = max(eps, max(TOLERANCE[d] for d in low))
        ok = finite & ~infinite
        if not ok.any():
            continue
        scale = eps * max(1.0, float(exact[ok].abs().median())) + eps * exact[ok].abs()
        off = (got64[ok] - exact[ok]).abs() / scale
        if float(off.max()) > 1:
            return f"output {k}: off by {float(off.max()):.3g} times the tolerance"
    return None


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> list[Case]:
    torch.manual_seed(0)
    cases = all_cases()
    execute(cases, tmp_path_factory.mktemp("ops"))
    return cases


def test_schemas_are_pytorchs() -> None:
    for schema in rows():
        assert str(overload(name_of(schema))._schema) == schema.replace('\\"', '"')


def test_every_row_has_cases(executed: list[Case]) -> None:
    names = [name_of(s) for s in rows()]
    assert set(op_cases.CASES) == set(names)
    assert {c.name for c in executed} == set(names)
    assert {c.name for c in executed if c.in_place} == set(op_cases.IN_PLACE)


def test_operators_agree_with_pytorch(executed: list[Case]) -> None:
    wrong = [(c, m) for c in executed if (m := mismatch(c))]
    text = "\n".join(f"{c.describe()}: {m[:300]}" for c, m in wrong[:40])
    assert not wrong, f"{len(wrong)} of {len(executed)} cases\n{text}"


def test_a_wrong_result_is_noticed(executed: list[Case]) -> None:
    """The comparison itself: results off by a small factor or by one are mismatches."""
    seen = {"float": 0, "int": 0}
    for case in executed:
        if case.error or not case.got or case.got[0].numel() == 0:
            continue
        copy = Case(case.name, case.args, case.want, case.exact, got=[g.clone() for g in case.got])
        if copy.got[0].dtype == BOOL:
            copy.got[0] = ~copy.got[0]
        elif not copy.got[0].dtype.is_floating_point:
            copy.got[0] += 1
        elif copy.got[0].isfinite().all() and copy.got[0].abs().max() > 0.5:
            copy.got[0] = copy.got[0] * 1.5
        else:
            continue
        seen["float" if copy.got[0].dtype.is_floating_point else "int"] += 1
        assert mismatch(copy), copy.describe()
    assert min(seen.values()) > 100
