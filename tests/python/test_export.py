"""Exported Programs compute what the module computes, and say where their arguments come from."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest
import torch
from assay import export, shapes
from conftest import ROOT
from interpreter import Machine
from references import REFERENCES, module, simple
from torch.utils._pytree import tree_leaves

Json = dict[str, Any]


def export_text(folder: Path, text: str, *options: str) -> tuple[int, Json]:
    ref = folder / "ref.py"
    ref.write_text(text)
    out = folder / "out.json"
    code = export.main([str(ref), "-o", str(out), *options])
    return code, json.loads(out.read_text())


def load(text: str) -> types.ModuleType:
    loaded = types.ModuleType("real_reference")
    exec(compile(text, "real", "exec"), loaded.__dict__)
    return loaded


def real_run(text: str, evaluate: bool = False) -> tuple[Any, list[Any], dict[str, Any], Any]:
    """The module with random state, its inputs and state before the call, and its output."""
    loaded = load(text)
    torch.manual_seed(42)
    args = loaded.get_init_inputs() if hasattr(loaded, "get_init_inputs") else []
    torch.manual_seed(42)
    model = loaded.Model(*args).train(not evaluate)
    torch.manual_seed(7)
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.randn(p.shape))
        for name, b in model.named_buffers():
            if "mean" in name or "var" in name:
                b.copy_(torch.rand(b.shape) + 0.5)
    torch.manual_seed(5)
    inputs = loaded.get_inputs()
    state = {k: v.detach().clone() for k, v in model.state_dict().items()}
    before = [v.clone() if isinstance(v, torch.Tensor) else v for v in inputs]
    with torch.no_grad():
        output = model(*inputs)
    return model, before, state, output


def run_program(program: Json, inputs: list[Any], state: dict[str, Any]) -> Machine:
    machine = Machine(program)
    for b in program["buffers"]:
        if b["role"] in ("parameter", "state") and b["name"] in state:
            machine.set_buffer(b["name"], state[b["name"]])
    names = [b["name"] for b in program["buffers"] if b["role"] == "input"]
    for name, value in zip(names, (t for t in inputs if isinstance(t, torch.Tensor)), strict=True):
        machine.set_buffer(name, value)
    return machine


def assert_same(got: list[torch.Tensor], want: Any) -> None:
    want = [t for t in tree_leaves(want) if isinstance(t, torch.Tensor)]
    assert len(got) == len(want)
    for g, w in zip(got, want, strict=True):
        assert g.shape == w.shape and g.dtype == w.dtype
        torch.testing.assert_close(g, w, rtol=2e-4, atol=2e-5, equal_nan=True)


PLAIN = [k for k in REFERENCES if k != "functional_computed"]


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("evaluate", [False, True])
def test_program_computes_what_the_module_computes(
    name: str, evaluate: bool, tmp_path: Path
) -> None:
    text = REFERENCES[name]
    code, out = export_text(tmp_path, text, *(["--eval"] if evaluate else []))
    assert code == 0, out
    program = out["programs"][0]
    model, inputs, state, want = real_run(text, evaluate)
    machine = run_program(program, inputs, state)
    assert_same(machine.run(), want)
    after = model.state_dict()
    for v in program["mutated"]:
        buffer = program["buffers"][v["buffer"]]
        if buffer["role"] == "state":
            torch.testing.assert_close(machine.view(v), after[buffer["name"]])


def test_views_need_no_step(tmp_path: Path) -> None:
    text = simple("return x.view(-1, 2).t()[1:].unsqueeze(0).expand(3, -1, -1)[:, 0]")
    program = export_text(tmp_path, text)[1]["programs"][0]
    assert program["steps"] == []
    view = program["outputs"][0]
    assert (view["buffer"], view["offset"]) == (0, 1)
    assert (view["shape"], view["strides"]) == ([3, 15], [0, 2])


def test_reshape_that_copies_is_a_clone(tmp_path: Path) -> None:
    text = simple("return x.t().reshape(-1)")
    program = export_text(tmp_path, text)[1]["programs"][0]
    assert [s["op"] for s in program["steps"]] == ["aten::clone"]
    assert program["steps"][0]["args"][0]["strides"] == [1, 10]
    assert program["outputs"][0]["strides"] == [1]


def test_no_weights_and_schema_order(tmp_path: Path) -> None:
    program = export_text(tmp_path, REFERENCES["conv_bn"])[1]["programs"][0]
    by_name = {b["name"]: b for b in program["buffers"] if b["name"]}
    assert by_name["c.weight"]["role"] == "parameter" and "data" not in by_name["c.weight"]
    assert by_name["b.weight"]["example_range"] == [1.0, 1.0]
    assert by_name["b.running_var"]["role"] == "state" and "data" not in by_name["b.running_var"]
    conv = program["steps"][0]
    assert conv["op"] == "aten::convolution"
    assert conv["args"][3:] == [[1, 1], [1, 1], [1, 1], False, [0, 0], 1]
    line = REFERENCES["conv_bn"].split("\n")[conv["loc"]["line"] - 1]
    assert "self.c(x)" in line
    names = [a["name"] for a in program["arguments"]]
    assert names == [
        "x", "c.weight", "c.bias", "b.weight", "b.bias",
        "b.running_mean", "b.running_var", "b.num_batches_tracked",
    ]  # fmt: skip
    assert program["arguments"][1]["source"] == "parameter:c.weight"
    mutated = {program["buffers"][v["buffer"]]["name"] for v in program["mutated"]}
    assert mutated == {"b.running_mean", "b.running_var", "b.num_batches_tracked"}


def test_evaluation_mode_mutates_nothing(tmp_path: Path) -> None:
    program = export_text(tmp_path, REFERENCES["conv_bn"], "--eval")[1]["programs"][0]
    assert program["mutated"] == []
    assert "aten::_native_batch_norm_legit_no_training" in [s["op"] for s in program["steps"]]


def test_masks_are_constants_with_values(tmp_path: Path) -> None:
    program = export_text(tmp_path, REFERENCES["attention"])[1]["programs"][0]
    mask = next(b for b in program["buffers"] if b["name"] == "mask")
    assert (mask["role"], mask["init"]) == ("constant", "data")
    index = program["buffers"].index(mask)
    values = Machine(program).memory[index].view(torch.float32)
    assert torch.equal(values, torch.tril(torch.ones(5, 5)).reshape(-1))


def test_recurrent_layers_stay_whole(tmp_path: Path) -> None:
    program = export_text(tmp_path, REFERENCES["lstm"])[1]["programs"][0]
    step = next(s for s in program["steps"] if s["op"] == "aten::lstm.input")
    assert len(step["args"][2]["tensors"]) == 16
    assert step["args"][3:] == [True, 2, 0.0, True, True, True]
    assert [v["shape"] for v in step["outputs"]] == [[3, 7, 16], [4, 3, 8], [4, 3, 8]]


def test_references_that_name_a_gpu(tmp_path: Path) -> None:
    text = """
import torch

GAIN = torch.full((4,), 2.0, device="cuda:0")


class Model(torch.nn.Module):
    def __init__(self, shift):
        super().__init__()
        device = torch.device("cuda")
        self.weight = torch.nn.Parameter(torch.ones(4)).to(device)
        self.linear = torch.nn.Linear(4, 4).cuda()
        self.register_buffer("shift", shift)

    def forward(self, x):
        return self.linear(x.cuda() * GAIN) + self.shift.to("cuda") * self.weight


def get_inputs():
    return [torch.arange(8.0, device="cuda").reshape(2, 4)]


def get_init_inputs():
    return [torch.ones(4).cuda()]
"""
    code, program = export_text(tmp_path, text)
    assert code == 0, program
    plain = (
        text.replace(', device="cuda:0"', "")
        .replace(".cuda()", "")
        .replace(', device="cuda"', "")
        .replace('torch.device("cuda")', 'torch.device("cpu")')
        .replace('.to("cuda")', "")
    )
    code, same = export_text(tmp_path, plain)
    assert code == 0, same
    (program,), (same,) = program["programs"], same["programs"]
    assert [s["op"] for s in program["steps"]] == [s["op"] for s in same["steps"]]
    assert program["buffers"] == same["buffers"]


def test_integer_inputs_carry_values_and_range(tmp_path: Path) -> None:
    program = export_text(tmp_path, REFERENCES["embedding"])[1]["programs"][0]
    x = program["buffers"][0]
    assert x["dtype"] == "int64" and x["bytes"] == 128 and x["init"] == "symbolic"
    low, high = x["example_range"]
    assert 0 <= low <= high <= 8
    assert "data" in x


def test_functional_arguments(tmp_path: Path) -> None:
    program = export_text(tmp_path, REFERENCES["functional_layer_norm"])[1]["programs"][0]
    assert program["form"] == "functional"
    got = [(a["name"], a["source"]) for a in program["arguments"]]
    assert got == [
        ("x", "input:0"), ("weight", "parameter:weight"), ("bias", "parameter:bias"),
        ("eps", "scalar"), ("flag", "none"), ("dims", "scalar"),
    ]  # fmt: skip
    values = [a["value"] for a in program["arguments"]]
    assert values[3:] == [1e-5, None, [2]]
    assert [(a["name"], a["value"]) for a in program["init_args"]] == [("n", 12), ("eps", 1e-5)]


def test_functional_dictionaries_and_states(tmp_path: Path) -> None:
    program = export_text(tmp_path, REFERENCES["functional_batch_norm"])[1]["programs"][0]
    got = [(a["name"], a["source"], a["value"] is True) for a in program["arguments"]]
    assert got == [
        ("x", "input:0", False),
        ("params['b']", "parameter:p.b", False),  # ParameterDict sorts its keys
        ("params['w']", "parameter:p.w", False),
        ("running_mean", "state:mean", False),
        ("running_var", "state:variance", False),
        ("training", "scalar", True),
    ]
    assert len(program["mutated"]) == 2


def test_functional_under_another_name(tmp_path: Path) -> None:
    text = """
import torch
from torch.nn.functional import relu


def forward_fn(x, w, eps: float = 1e-5):
    return relu(x) * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * w


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.ones(8))

    def forward(self, x, act=relu, fn=forward_fn):
        return fn(x, self.w)


def get_inputs():
    return [torch.randn(4, 8)]
"""
    program = export_text(tmp_path, text)[1]["programs"][0]
    assert (program["form"], program["function"]) == ("functional", "forward_fn")
    got = [(a["name"], a["source"], a["value"]) for a in program["arguments"]]
    assert [g[:2] for g in got] == [("x", "input:0"), ("w", "parameter:w"), ("eps", "scalar")]
    assert got[2][2] == 1e-5
    code, plain = export_text(tmp_path, text.replace("fn=forward_fn", "fn=relu"))
    assert code != 0 or plain["programs"][0]["form"] == "module"


def test_functional_arguments_that_forward_computes(tmp_path: Path) -> None:
    text = REFERENCES["functional_computed"]
    program = export_text(tmp_path, text)[1]["programs"][0]
    sources = [a["source"] for a in program["arguments"]]
    assert sources == ["computed:x", "parameter:w", "scalar", "parameter:v.0,parameter:v.1"]
    assert program["arguments"][1]["value"]["strides"] == [1, 4]
    assert program["arguments"][2]["value"] == [1, 2]
    loaded = load(text)
    torch.manual_seed(3)
    x, w, v0, v1 = torch.randn(4, 4), torch.randn(4, 4), torch.randn(4), torch.randn(4)
    machine = Machine(program)
    index = program["arguments"][0]["value"]["buffer"]
    machine.memory[index].copy_(x.view(torch.uint8).reshape(-1))
    for name, t in (("w", w), ("v.0", v0), ("v.1", v1)):
        machine.set_buffer(name, t)
    assert_same(machine.run(), loaded.module_fn(x, w.t(), [1, 2], [v0, v1]))


ERRORS = {
    "no_model": ("import torch\ndef get_inputs(): return []\n", 4, "no class Model"),
    "no_inputs": (simple("return x").replace("get_inputs", "inputs"), 4, "no function get_inputs"),
    "syntax": ("def f(:\n", 4, "invalid syntax"),
    "import": (
        "import surely_not_there\n",
        3,
        "cannot be exported: it imports 'surely_not_there', which is not installed",
    ),
    "inputs": (simple("return x", shape="3, 1 // 0"), 4, "get_inputs raised ZeroDivisionError"),
    "forward": (simple("return x @ x"), 4, "forward raised RuntimeError"),
    "constructor": (module("raise ValueError('no')", "return x", ""), 4, "Model(...) raised"),
    "exit": ("import sys\nsys.exit(0)\n", 4, "SystemExit"),
    "control": (simple("return x if x.sum() > 0 else -x"), 3, "depend on data"),
    "shape": (simple("return x[x > 0]"), 3, "depend on data"),
    "complex": (simple("return torch.fft.fft(x).real"), 3, "complex"),
    "no_tensor": (simple("return 3"), 3, "returns no tensor"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_have_kind_message_and_code(name: str, tmp_path: Path) -> None:
    text, want, message = ERRORS[name]
    code, out = export_text(tmp_path, text)
    assert code == want, out
    assert out["error"]["kind"] in ({4: ("invalid", "syntax"), 3: ("unsupported",)}[want])
    assert message in out["error"]["message"]


def test_the_failing_line_is_named(tmp_path: Path) -> None:
    _, out = export_text(tmp_path, simple("y = x + 1\nreturn x @ y"))
    assert "(line 9: return x @ y)" in out["error"]["message"]


def test_missing_file(tmp_path: Path) -> None:
    out = tmp_path / "o.json"
    assert export.main([str(tmp_path / "none.py"), "-o", str(out)]) == 4
    assert json.loads(out.read_text())["error"]["kind"] == "io"


def test_huge_models_and_inputs_need_no_memory(tmp_path: Path) -> None:
    text = module(
        "self.l = nn.Linear(65536, 65536)", "return self.l(x)", "torch.rand(16384, 65536)"
    )
    code, out = export_text(tmp_path, text)
    assert code == 0, out
    sizes = {b["name"]: b["bytes"] for b in out["programs"][0]["buffers"]}
    assert sizes["l.weight"] == 1 << 34 and sizes["x"] == 1 << 32


def test_shapes_option(tmp_path: Path) -> None:
    code, out = export_text(tmp_path, REFERENCES["relu"], "--shapes", "batch_size=5,dim=7")
    assert code == 0
    program = out["programs"][0]
    assert program["outputs"][0]["shape"] == [5, 7]
    assert program["changed"] == [["batch_size", 5], ["dim", 7]]
    code, out = export_text(tmp_path, REFERENCES["relu"], "--shapes", "width=5")
    assert code == 4 and "no module-level integer 'width'" in out["error"]["message"]


def altered(tmp_path: Path, text: str, count: int) -> tuple[list[dict[str, int]], list[Any]]:
    code, out = export_text(tmp_path, text, "--altered", str(count))
    assert code == 0
    return [dict(p.get("changed", [])) for p in out["programs"][1:]], out["skipped"]


def test_altered_shapes(tmp_path: Path) -> None:
    text = simple("return x.view(-1, 4).sum(1)").replace("dim = 10", "dim = 4096")
    changes, skipped = altered(tmp_path, text, 9)
    assert all(c.get("dim", 4096) * c.get("batch_size", 3) % 4 == 0 for c in changes)
    assert {"batch_size": 4, "dim": 128} in changes
    # What the reference takes in no way is listed once, with the first reason.
    assert all("RuntimeError" in s["reason"] for s in skipped)
    assert len(skipped) == len({str(s["changed"]) for s in skipped}) > 0


SCALARS = """
import torch
import torch.nn as nn
import torch.nn.functional as F

batch_size, dim = 4, 1024
slope = -1.0
eps, unused = 1.0, 1.0

def module_fn(x, weight, scale, slope, eps):
    return F.leaky_relu(x, slope) * scale + eps + weight

class Model(nn.Module):
    def __init__(self, slope):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.slope = slope

    def forward(self, x, scale, fn=module_fn):
        return fn(x, self.weight, scale, self.slope, eps)

def get_inputs():
    return [torch.randn(batch_size, dim), 0.5]

def get_init_inputs():
    return [slope]
"""


def scalar_changes(changes: list[dict[str, Any]]) -> list[dict[str, float]]:
    found = [{n: v for n, v in c.items() if isinstance(v, float)} for c in changes]
    return [c for c in found if c]


def test_altered_scalars(tmp_path: Path) -> None:
    code, out = export_text(tmp_path, SCALARS, "--altered", "8")
    assert code == 0
    program = next(p for p in out["programs"] if "slope" in dict(p.get("changed", [])))
    assert {n: v for n, v in program["changed"] if n in ("batch_size", "dim")} == {
        "batch_size": 3,
        "dim": 128,
    }

    changes = [dict(p.get("changed", [])) for p in out["programs"]]
    # `unused` has the value of eps, and does not arrive.
    assert scalar_changes(changes) == [{"slope": -0.75, "eps": 0.75, "get_inputs()[1]": 0.375}]
    program = out["programs"][[bool(scalar_changes([c])) for c in changes].index(True)]
    passed = [a["value"] for a in program["arguments"] if a["source"] == "scalar"]
    assert passed == [0.375, -0.75, 0.75]


def test_altered_scalars_of_a_module(tmp_path: Path) -> None:
    # Nothing tells what a kernel takes.
    text = SCALARS.replace(", fn=module_fn", "").replace("fn(x, self", "helper(x, self")
    text = text.replace("module_fn", "helper")
    changes, _ = altered(tmp_path, text, 8)
    assert scalar_changes(changes) == [{"get_inputs()[1]": 0.375}, {"slope": -0.75}]


def test_altered_shapes_keep_equal_sizes_equal(tmp_path: Path) -> None:
    text = simple("return x @ x").replace("= 3", "= 512").replace("dim = 10", "dim = 512")
    changes, _ = altered(tmp_path, text, 8)
    assert len(changes) >= 3
    for change in changes:
        assert change["dim"] == change["batch_size"]
    assert changes[0]["dim"] % 2 == 1


def test_altered_shapes_keep_divisors(tmp_path: Path) -> None:
    text = simple("return nn.functional.group_norm(x, groups)").replace("dim = 10", "dim = 64")
    text = text.replace("dim = 64", "dim = 64\ngroups = 8")
    changes, _ = altered(tmp_path, text, 8)
    shapes_seen = [(c.get("dim", 64), c.get("groups", 8)) for c in changes]
    assert all(dim % groups == 0 for dim, groups in shapes_seen)
    assert (64, 32) in shapes_seen  # more groups than there are
    assert any(dim > 1024 for dim, _ in shapes_seen)
    assert any(dim % 2 == 1 and groups != 8 for dim, groups in shapes_seen)


def test_kinds_of_altered_shapes() -> None:
    integers = {"batch_size": 16, "rows": 1024, "columns": 512, "kernel_size": 3, "in_channels": 3}
    found: dict[str, list[dict[str, int]]] = {}
    for kind in shapes.kinds(integers):
        found.setdefault(kind.name, []).append({**integers, **kind.attempts[0]})
    sizes = ["rows", "columns", "in_channels"]
    (odd,) = found["odd"]
    assert all(odd[k] % 2 == 1 and odd[k] != integers[k] for k in [*sizes, "batch_size"])
    assert len({odd[k] for k in sizes}) == 3
    (small,) = found["small"]
    assert small["batch_size"] == 1 and all(small[k] < 32 for k in sizes)
    for names, only in ((found["long"], True), (found["alone"], False)):
        for k in sizes:  # each at least once, the others at multiples of a vector, or as they were
            others = [other for other in ("rows", "columns") if other != k]
            assert any(
                c[k] % 4 != 0 and (c[k] > 1024) == only and all(c[o] % 4 == 0 for o in others)
                for c in names
            ), (names, k)
    assert all(c["kernel_size"] == 3 for kind in found.values() for c in kind)


def test_altered_shapes_stay_affordable() -> None:
    integers = {f"size{k}": 64 for k in range(5)}
    for kind in shapes.kinds(integers):
        for change in kind.attempts:
            volume = math.prod({**integers, **change}.values())
            assert volume <= max(shapes.LARGEST_VOLUME, 2 * 64**5)


def test_remainders_survive_shrinking() -> None:
    for size in (1000, 1001, 4095, 131072, 300):
        (kind,) = [k for k in shapes.kinds({"k": size}) if k.name == "shrunk"]
        (change,) = kind.attempts
        assert change["k"] < 256
        assert all(change["k"] % m == size % m for m in (32, 64, 128))


def test_module_integers() -> None:
    source = "a = 3\nb: int = 4\nc, d = 5, 6\ne = (7, 8)\nf = a * 2\ng = True\nh = 1.0\n"
    want = {"a": 3, "b": 4, "c": 5, "d": 6, "e[0]": 7, "e[1]": 8}
    assert shapes.module_integers(source) == want


def test_an_interpreter_without_torch_is_named(tmp_path: Path) -> None:
    ref, out = tmp_path / "ref.py", tmp_path / "out.json"
    ref.write_text(REFERENCES["relu"])
    code = (
        "import sys; sys.modules['torch'] = None; from assay import export; "
        f"sys.exit(export.main([{str(ref)!r}, '-o', {str(out)!r}]))"
    )
    environment = {"PYTHONPATH": str(ROOT / "python")}
    result = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True)
    error = json.loads(out.read_text())["error"]
    assert (result.returncode, error["kind"]) == (4, "invalid"), result.stderr
    assert "no module 'torch': ASSAY_PYTHON must name" in error["message"]


def test_references_that_import_einops(tmp_path: Path) -> None:  # as KernelBench level 3 does
    text = simple("return rearrange(x, 'b (h d) -> h b d', h=2)")
    code, out = export_text(tmp_path, "from einops import rearrange\n" + text)
    assert code == 0, out
    assert out["programs"][0]["outputs"], out


def test_key_covers_text_and_options_and_runs_nothing(tmp_path: Path) -> None:
    ref, out = tmp_path / "ref.py", tmp_path / "out.txt"
    code = (
        "import sys; from assay import export; "
        f"rc = export.main([{str(ref)!r}, '-o', {str(out)!r}, '--key', *sys.argv[1:]]); "
        "print(rc, 'torch' in sys.modules)"
    )

    def key(text: str, *options: str) -> str:
        ref.write_text(text)
        result = subprocess.run(
            [sys.executable, "-c", code, *options],
            env={"PYTHONPATH": str(ROOT / "python")},
            capture_output=True,
            text=True,
        )
        assert result.stdout.strip() == "0 False", result.stderr
        return out.read_text()

    text = "raise SystemExit(1)\n" + REFERENCES["relu"]
    keys = [key(text), key(text + "\n"), key(text, "--eval"), key(text, "--altered", "1")]
    keys += [key(text, "--inputs-only"), key(text, "--seed", "1"), key(text, "--shapes", "n=2")]
    assert all(len(k) == 64 for k in keys)
    assert len(set(keys)) == len(keys)
    assert key(text) == keys[0]


def test_inputs_only_needs_no_operator(tmp_path: Path) -> None:
    text = """
import torch
rows = 4
def module_fn(x, scale, bias):
    return torch.linalg.eigvals(x) * scale + bias
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.bias = torch.nn.Parameter(torch.zeros(4))
    def forward(self, x, fn=module_fn):
        return fn(x * 2, 0.5, self.bias)
def get_inputs():
    return [torch.randn(rows, 4)]
"""
    assert export_text(tmp_path, text)[0] == 3
    code, out = export_text(tmp_path, text, "--inputs-only")
    assert code == 0
    program = out["programs"][0]
    assert program["steps"] == [] and program["outputs"] == []
    assert [a["source"] for a in program["arguments"]] == ["computed:x", "scalar", "parameter:bias"]
    assert program["buffers"][program["arguments"][0]["value"]["buffer"]]["init"] == "symbolic"


def test_inputs_only_needs_no_model(tmp_path: Path) -> None:
    text = """
import torch
def get_inputs():
    return [torch.randn(3, 4), torch.randint(0, 9, (3,)), 7]
"""
    assert export_text(tmp_path, text)[0] == 4
    code, out = export_text(tmp_path, text, "--inputs-only")
    assert code == 0
    arguments = out["programs"][0]["arguments"]
    assert [a["name"] for a in arguments] == ["input0", "input1", "input2"]
    assert [a["source"] for a in arguments] == ["input:0", "input:1", "scalar"]
    assert arguments[2]["value"] == 7


def test_random_operators_stay_operators(tmp_path: Path) -> None:
    text = module("pass", "return F.dropout(x, 0.2, self.training)", "torch.randn(4, 5)")
    program = export_text(tmp_path, text)[1]["programs"][0]
    assert [s["op"] for s in program["steps"]] == ["aten::native_dropout"]
    assert program["steps"][0]["args"][1:] == [0.2, True]
    program = export_text(tmp_path, text, "--eval")[1]["programs"][0]
    assert program["steps"] == []
