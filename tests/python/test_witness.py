"""Witnesses: generator, reading, second opinion, and the script that report writes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from assay import eval_ref
from assay.errors import ExportError
from assay.philox import draw, philox_words, to_dtype
from assay.witness import parse
from references import REFERENCES, module

DRAWS = [
    ("uniform", -0.7, 3.3, 1, 1),
    ("grid", -8, 0, 0.3, 33),
    ("uniform", -1e-40, 1e-39, 1, 1),
    ("integers", -5, 100000, 1, 1),
]
# The same hashes stand in tests/unit/program/philox_test.cpp, computed in C++.
HASHES = {
    "float16": [0xFF7B0791E5F59063, 0xF2939391E5F59063, 0x8C333391E5F59063, 0x9A963B91E5F59063],
    "bfloat16": [0xBE6E1391E5F59063, 0xCB4B7391E5F59063, 0x4CFB3391E5F59063, 0x2E111391E5F59063],
    "float32": [0x5EDE393FE5F59063, 0xEF2AA70BA5F59063, 0x367F2DE3E5F59063, 0xE973EA11E5F59063],
    "float64": [0xAFCE5C794C09B113, 0xCA566B492603A5EE, 0xD0C4EF5E63307816, 0xE973EA11E5F59063],
}


def fnv1a(values: np.ndarray) -> int:
    h = 1469598103934665603
    for bits in np.ascontiguousarray(values).view(np.uint64).tolist():
        h = (h ^ bits) * 1099511628211 & (1 << 64) - 1
    return h


def test_known_answer() -> None:
    # Random123: philox4x32_10 of counter 0, key 0.
    assert philox_words(0, 0, 0, 1)[0] == 0x6627E8D5
    high = philox_words((0x299F31D0 << 32) | 0xA4093822, (0x03707344 << 32) | 0x13198A2E, 0, 1)
    assert high.dtype == np.uint32


@pytest.mark.parametrize("dtype", HASHES)
@pytest.mark.parametrize("k", range(len(DRAWS)))
def test_numpy_agrees_with_cpp(dtype: str, k: int) -> None:
    values = draw(0x1122334455667788, 9, DRAWS[k], dtype, 1012)[12:]
    assert fnv1a(values) == HASHES[dtype][k]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_rounding_is_torchs(dtype: str) -> None:
    rng = np.random.default_rng(0)
    values = rng.standard_normal(20000) * 2.0 ** rng.integers(-150, 120, 20000)
    values[:4] = [np.inf, -np.inf, 0.0, -0.0]
    if dtype == "bfloat16":
        # torch rounds float64 -> float32 -> bfloat16; give it values that float32 holds.
        values = values.astype(np.float32).astype(np.float64)
    want = torch.from_numpy(values).to(getattr(torch, dtype)).double().numpy()
    np.testing.assert_array_equal(to_dtype(values, dtype), want)


def witness_json(**changes: Any) -> dict[str, Any]:
    def one(source: str, number: int, shape: list[int], lo: float, hi: float) -> dict[str, Any]:
        return {
            "source": source,
            "number": number,
            "dtype": "float32",
            "shape": shape,
            "strides": [int(np.prod(shape[i + 1 :])) for i in range(len(shape))],
            "offset": 0,
            "elements": int(np.prod(shape)),
            "draw": {"kind": "uniform", "lo": lo, "hi": hi, "step": 1.0, "count": 1},
            "overrides": [],
        }

    witness = {
        "seed": 99,
        "eval": False,
        "changed": [],
        "inputs": [
            one("input:0", 0, [4, 12], -1, 1),
            one("parameter:weight", 1, [12], 1, 2),
            one("parameter:bias", 2, [12], -5, -4),
        ],
        "output": 0,
        "element": 17,
        "mutated": "",
    }
    witness.update(changes)
    return witness


def opinion(folder: Path, text: str, witness: dict[str, Any]) -> tuple[int, Any]:
    (folder / "ref.py").write_text(text)
    (folder / "w.json").write_text(json.dumps(witness))
    out = folder / "out.json"
    code = eval_ref.main([str(folder / "ref.py"), str(folder / "w.json"), "-o", str(out)])
    return code, json.loads(out.read_text()) if code == 0 else None


def test_second_opinion(tmp_path: Path) -> None:
    witness = witness_json()
    witness["inputs"][0]["overrides"] = [[17, 100.0]]
    code, got = opinion(tmp_path, REFERENCES["functional_layer_norm"], witness)
    assert code == 0
    t = parse(json.dumps(witness)).tensors()
    x = t["input:0"].double()
    want = (x - x.mean(1, keepdim=True)) / torch.sqrt(x.var(1, keepdim=True, unbiased=False) + 1e-5)
    want = want * t["parameter:weight"].double() + t["parameter:bias"].double()
    assert got["index"] == [1, 5] and got["shape"] == [4, 12]
    assert got["value_f64"] == pytest.approx(want[1, 5].item(), rel=1e-12)
    assert got["value"] == pytest.approx(want[1, 5].item(), rel=1e-5)
    assert want[1, 5] > -4 + 2  # the override is seen: the bias alone is below -4


def test_second_opinion_with_other_scalars(tmp_path: Path) -> None:
    text = module("self.s = slope", "return x * self.s + more[0]", "torch.randn(4, 12), 0.5")
    text = text.replace("import torch\n", "import torch\nslope = -2.0\n", 1)
    witness = witness_json(changed=[["slope", -1.5], ["get_inputs()[1]", 8.0]])
    del witness["inputs"][1:]
    code, got = opinion(tmp_path, text, witness)
    assert code == 0
    x = parse(json.dumps(witness)).tensors()["input:0"].reshape(-1)[17]
    assert got["value"] == pytest.approx(x.item() * -1.5 + 8, rel=1e-5)


def test_second_opinion_on_a_state(tmp_path: Path) -> None:
    text = module("self.b = nn.BatchNorm1d(12)", "return self.b(x)", "torch.randn(4, 12)")
    witness = witness_json(element=3, mutated="state:b.running_mean")
    del witness["inputs"][1:]
    state = {**witness["inputs"][0], "source": "state:b.running_mean", "number": 5}
    state.update(shape=[12], strides=[1], elements=12)
    witness["inputs"].append(state)
    code, got = opinion(tmp_path, text, witness)
    assert code == 0
    t = parse(json.dumps(witness)).tensors()
    want = 0.9 * t["state:b.running_mean"][3] + 0.1 * t["input:0"].mean(0)[3]
    assert got["value"] == pytest.approx(want.item(), rel=1e-5)


@pytest.mark.parametrize(
    "changes", [{"element": 48}, {"output": 1}, {"inputs": [{"source": "x"}]}, {"seed": None}]
)
def test_wrong_witnesses_are_bad_input(changes: dict[str, Any], tmp_path: Path) -> None:
    code, _ = opinion(tmp_path, REFERENCES["functional_layer_norm"], witness_json(**changes))
    assert code == 4


def test_text_that_is_no_json() -> None:
    with pytest.raises(ExportError) as error:
        parse("{")
    assert error.value.kind == "syntax"


SCRIPT_REF = """
import torch
import torch.nn as nn

def module_fn(x, p, both, eps, dims, flag, bias):
    assert flag is True and bias is None and dims == [0, 1] and both[1] is None
    return (x @ p["w"] + eps + both[0].sum()) * p["scale"]

class Model(nn.Module):
    pass

n = 5
slope = -1.0
rows, cols = 1, 2
assert n == 6 and slope == -0.75
"""


def test_script_runs_and_prints_the_reference(tmp_path: Path) -> None:
    script = tmp_path / "witness.py"
    script.write_text((Path(__file__).parent / "golden_witness.txt").read_text())
    (tmp_path / "ref.py").write_text(SCRIPT_REF)
    run = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "ref.py"), "none.cu"],
        capture_output=True,
        text=True,
        env={"CUDA_VISIBLE_DEVICES": "", "PATH": "/usr/bin"},
        check=False,
    )
    assert run.returncode == 0, run.stderr
    seed = 0xFEDCBA9876543210
    x = draw(seed, 0, ("uniform", -1.0, 1.0, 1.0, 1), "float32", 24).reshape(4, 6)
    w = draw(seed, 1, ("grid", -1.0, 0.0, 0.25, 9), "float32", 36, [(7, 64.0), (8, -0.0)])
    want = (x @ w.reshape(6, 6).T + 1e-5 + w.sum()) * 3
    lines = run.stdout.splitlines()
    assert lines[0] == "location [2, 1] of output 0"
    assert float(lines[1].removeprefix("reference (cpu): ")) == pytest.approx(want[2, 1], rel=1e-5)
    assert lines[2] == "candidate: needs a GPU"
