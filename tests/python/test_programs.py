"""KernelBench programs, end to end: three of tests/programs, and what is said of wrong ones."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "tests" / "programs"
sys.path.insert(0, str(PROGRAMS))

BINARY = Path(os.environ.get("ASSAY_HOME", "/nonexistent")) / "bin" / "assay"
pytestmark = pytest.mark.skipif(
    not BINARY.exists() and "CI" not in os.environ, reason="no built program (ASSAY_HOME)"
)

REF = """
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return x + 1
def get_inputs():
    return [torch.rand(4)]
"""


@pytest.fixture(autouse=True)
def interpreter(monkeypatch):
    monkeypatch.setenv("ASSAY_PYTHON", sys.executable)


@pytest.mark.parametrize(
    "name", ["01_relu_scale/wrong", "02_linear_gelu/right", "07_cheats/kept_by_pointer"]
)
def test_verdict(name: str) -> None:
    import run_programs

    program = PROGRAMS / f"{name}.py"
    expected = run_programs.programs(program.parent)[program]
    got = run_programs.judged(str(BINARY), program, expected, 300, "--given-shape-only")
    assert got["judgement"] == "ok", got


def error_of(folder: Path, text: str) -> tuple[int, dict]:
    """Exit code and error of a check of this program."""
    (folder / "ref.py").write_text(REF)
    (folder / "model_new.py").write_text(
        "import torch\nfrom torch.utils import cpp_extension\n" + text
    )
    files = [str(folder / "model_new.py"), str(folder / "ref.py")]
    out = folder / "out.json"
    run = subprocess.run(
        [str(BINARY), "check", *files, "--given-shape-only", "--json", str(out)],
        capture_output=True,
        check=False,
    )
    return run.returncode, json.loads(out.read_text()).get("error", {})


FORWARD = "class ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return {}\n"


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("class Model(torch.nn.Module):\n    pass\n", 4, ["no class ModelNew"]),
        (FORWARD.format("x +"), 4, ["invalid syntax", "line 5"]),
        (FORWARD.format("x.missing"), 4, ["AttributeError", "line 5: return x.missing"]),
        (
            "m = cpp_extension.load_inline('m', '', 'void f() { oops; }', functions=['f'])\n"
            + FORWARD.format("x"),
            4,
            ["oops", "model_new.py", "line 3"],
        ),
        (
            "try:\n    m = cpp_extension.load_inline('m', '', 'oops', functions=['f'])\n"
            "except Exception:\n    m = None\n" + FORWARD.format("x + 1"),
            4,
            ["catches the failure of its own kernel"],
        ),
        (FORWARD.format("torch.fft.fft(x)"), 3, []),
        (
            FORWARD.format("x + int(torch.randint(0, 9, (1,)).item())"),
            3,
            ["the host reads a random number", "line 5"],
        ),
        (FORWARD.format("x + x.sum().item()"), 3, ["depend on data"]),
    ],
)
def test_error(tmp_path: Path, text: str, code: int, words: list[str]) -> None:
    got, error = error_of(tmp_path, text)
    assert got == code, error
    for word in words:
        assert word in error["message"]
