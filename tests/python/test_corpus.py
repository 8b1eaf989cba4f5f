"""`assay corpus`: whatever one kernel does is a row; what was killed goes on where it stood."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from corpus_runs import (
    FAKE,
    ROOT,
    command,
    environment,
    make_kernel,
    rows_of,
    run,
    runs_of,
    wait_for,
)

if "CI" not in os.environ:
    pytest.importorskip("rich", reason="no packages of requirements-corpus.txt")
import psutil
from assay.corpus import outcome
from assay.corpus.folders import find_kernels

BINARY = Path(os.environ.get("ASSAY_HOME", "/nonexistent")) / "bin" / "assay"


def processes_about(folder: Path) -> list[psutil.Process]:
    """Running processes that work in this folder or have it on their command line."""
    found = []
    for process in psutil.process_iter(["cmdline", "cwd"]):  # ended ones (zombies) have neither
        words = [*(process.info["cmdline"] or []), process.info["cwd"] or ""]
        if any(str(folder) in word for word in words):
            found.append(process)
    return found


def test_every_kernel_is_a_row(tmp_path: Path) -> None:
    words = "proved refuted unknown unsupported limit internal invalid io crash hang bomb broken"
    for word in words.split():
        make_kernel(tmp_path, f"level_1/{word}", f"// {word}")
    make_kernel(tmp_path, "level_2/lonely", "// proved", ref=None)
    make_kernel(tmp_path, ".hidden/kernel", "// proved")
    said = run(tmp_path, "-j", "2", "--timeout", "1", "--grace", "1.5", "--memory", "0.5")
    rows = rows_of(tmp_path)
    assert {name.split("/")[1]: row["verdict"] for name, row in rows.items()} == {
        "proved": "proved",
        "refuted": "refuted",
        "unknown": "unknown",
        "unsupported": "unsupported",
        "limit": "unknown",
        "internal": "crash",
        "invalid": "wrong input",
        "io": "wrong input",
        "crash": "crash",
        "hang": "timeout",
        "bomb": "memory",
        "broken": "crash",
        "lonely": "wrong input",
    }
    assert processes_about(tmp_path) == []
    right = rows["level_1/proved"]
    assert (right["elements"], right["checked"], right["proved"]) == (100, 10, 10)
    assert right["phases"] == {"search": 0.25}
    assert right["findings"] == ["accuracy"]
    assert right["level"] == "1"
    assert right["seconds"] > 0 and right["cpu_seconds"] > 0
    assert right["peak_memory_bytes"] > 1 << 20
    assert (tmp_path / right["errors"]).read_text() == "said of kernel.cu\n"
    wrong = rows["level_1/refuted"]
    assert wrong["class"] == wrong["cause"] == "value"
    assert wrong["witness"] == {
        "output": "output[3, 1]",
        "candidate": 1.5,
        "reference": 1.25,
        "replayed": True,
        "loc": "kernel.cu:7",
    }
    assert (tmp_path / wrong["script"]).read_text() == "print('the witness')\n"
    assert rows["level_1/unknown"]["cause"] == "PATH took N s of N s"
    assert rows["level_1/invalid"]["cause"] == "no such name: foo(N, N)"
    assert rows["level_1/crash"]["summary"] == "assay was killed: Segmentation fault"
    assert rows["level_1/bomb"]["peak_memory_bytes"] > 1 << 29
    assert 2.4 < rows["level_1/hang"]["seconds"] < 20
    assert rows["level_2/lonely"]["summary"] == "no ref.py beside kernel.cu"
    assert "output[3, 1]: 1.5 instead of 1.25" in said
    assert "13 kernels" in said and "level 2" in said
    assert "wrong by class: value 1" in said
    assert "findings beside verdicts: accuracy 3" in said


def test_a_second_session_runs_only_what_is_new(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        make_kernel(tmp_path / "k", name, f"// proved\n// {name}")
    run(tmp_path / "k")
    (tmp_path / "k/b/kernel.cu").write_text("// refuted\n")
    (tmp_path / "k/c").rename(tmp_path / "k/d")  # known by its content
    make_kernel(tmp_path / "k", "e", "// io")
    said = run(tmp_path / "k")
    assert "2 kernels are in" in said
    assert sorted(runs_of(tmp_path)) == ["a", "b", "b", "c", "e"]
    assert "refuted" in said and "3 kernels" not in said
    # A fault of the machine is tried again, an unchanged kernel is not.
    run(tmp_path / "k")
    assert sorted(runs_of(tmp_path)) == ["a", "b", "b", "c", "e", "e"]
    run(tmp_path / "k", "--rtol", "0.1")  # another question
    assert len(runs_of(tmp_path)) == 10
    run(tmp_path / "k", "--retry", "refuted")
    assert len(runs_of(tmp_path)) == 12  # b, and e
    run(tmp_path / "k", "--fresh")
    assert len(runs_of(tmp_path)) == 16
    assert len(rows_of(tmp_path / "k")) == 4


def test_goes_on_after_kill_9(tmp_path: Path) -> None:
    corpus = tmp_path / "k"
    for number in range(8):
        make_kernel(corpus, f"k{number}", f"// proved 0.4\n// {number}")
    log = corpus / ".assay-corpus.jsonl"
    with subprocess.Popen(
        command(corpus, "-j", "2"), env=environment(), stdout=subprocess.DEVNULL
    ) as session:
        wait_for(lambda: log.exists() and log.read_bytes().count(b"\n") >= 3)
        assert "in use by another session" in run(corpus, code=4)
        session.kill()
    wait_for(lambda: not processes_about(corpus))
    first = rows_of(corpus)
    assert 3 <= len(first) < 8
    with open(log, "ab") as stream:  # what a torn write leaves
        stream.write(b'{"schema": 1, "name": "k7", "key": "abc", "verd')
    assert f"{len(first)} kernels are in" in run(corpus, "-j", "2")
    assert {r["verdict"] for r in rows_of(corpus).values()} == {"proved"}
    assert len(rows_of(corpus)) == 8
    again = runs_of(tmp_path)
    assert all(again.count(name) == 1 for name in first)
    assert set(again) == {f"k{n}" for n in range(8)}


def test_report_during_a_session(tmp_path: Path) -> None:
    make_kernel(tmp_path, "a", "// refuted")
    make_kernel(tmp_path, "b", "// hang")
    log = tmp_path / ".assay-corpus.jsonl"
    with subprocess.Popen(
        command(tmp_path, "-j", "2"), env=environment(), stdout=subprocess.DEVNULL
    ) as session:
        wait_for(lambda: log.exists() and b"refuted" in log.read_bytes())
        with open(log, "ab") as stream:
            stream.write(b'{"half a li')
        before = log.read_bytes()
        said = run(tmp_path, "--report", "--html", tmp_path / "page.html")
        session.kill()
    assert "1 kernels are not checked yet" in said
    assert "output[3, 1]: 1.5 instead of 1.25" in said
    assert (tmp_path / "page.html").exists()
    assert log.read_bytes() == before
    wait_for(lambda: not processes_about(tmp_path))


def test_a_signal_ends_all_and_tells_how_to_go_on(tmp_path: Path) -> None:
    for name in ("a", "b"):
        make_kernel(tmp_path, name, "// hang")
    with subprocess.Popen(
        command(tmp_path, "-j", "2"), env=environment(), stdout=subprocess.PIPE, text=True
    ) as session:
        wait_for(lambda: len(processes_about(FAKE)) >= 4)
        # Not SIGINT: who runs the tests may have it ignored.
        session.send_signal(signal.SIGTERM)
        said = session.communicate(timeout=30)[0]
    assert session.returncode == 130
    assert "2 kernels left" in said
    assert processes_about(tmp_path) == []
    assert rows_of(tmp_path) == {}


def test_a_folder_with_a_name_that_is_no_text(tmp_path: Path) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff[bold] </script>"))
    make_kernel(folder, "k", "// refuted")
    said = run(tmp_path, "--html", tmp_path / "page.html")
    assert "\ufffd[bold] </script>/k" in said
    assert rows_of(tmp_path)["\ufffd[bold] </script>/k"]["verdict"] == "refuted"


def test_goes_on_when_nobody_reads(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        make_kernel(tmp_path, name, f"// proved\n// {name}")
    with subprocess.Popen(
        command(tmp_path, "-j", "1", "--html", tmp_path / "page.html"),
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as session:
        session.stdout.close()
        errors = session.stderr.read()
    assert (session.returncode, errors) == (0, "")
    assert len(rows_of(tmp_path)) == 3
    assert (tmp_path / "page.html").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["missing"], "is no folder"),
        (["."], "no folder with kernel.py or kernel.cu"),
        ([".", "--retry", "provd"], "--retry provd: no verdict"),
        ([".", "--report"], "cannot read .assay-corpus.jsonl: No such file"),
        ([".", "--report", "--fresh"], "--report needs what --fresh forgets"),
        ([".", "-j", "0"], "not between 1 and 4096"),
        ([".", "--given"], "unrecognized arguments: --given"),
        ([".", "--json", "/proc/none/log"], "cannot write /proc/none/log"),
    ],
)
def test_wrong_use(tmp_path: Path, monkeypatch, words: list[str], said: str) -> None:
    monkeypatch.chdir(tmp_path)
    assert said in run(*words, code=4)


def test_what_is_missing_is_told_with_the_line_that_installs_it(tmp_path: Path) -> None:
    """-S: a Python without any package."""
    done = subprocess.run(
        [sys.executable, "-S", "-P", "-m", "assay.corpus", str(tmp_path)],
        env={"PYTHONPATH": str(ROOT / "python")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 4
    assert "lacks rich, psutil" in done.stderr
    assert f"-m pip install -r {ROOT}/requirements-corpus.txt" in done.stderr


def test_sources_belong_to_one_kernel(tmp_path: Path) -> None:
    make_kernel(tmp_path, "a", "")
    make_kernel(tmp_path, "a/b", "")
    for file in ("a/common.cuh", "a/inc/x.h", "a/notes.txt", "a/kernel.py"):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text("")
    first, second = find_kernels(tmp_path)
    assert (first.name, first.kernel, second.name) == ("a", "kernel.py", "a/b")
    files = ["common.cuh", "inc/x.h", "kernel.cu", "kernel.py", "ref.py"]
    assert [str(f) for f in first.files] == files


@pytest.mark.parametrize(
    ("message", "cause"),
    [
        ("", ""),
        ("the compiler says:\na.cu(3): error: no x", "the compiler says: error: no x"),
        ("kernel.cu:3:5: 12 of 1,024 threads\nmore", "N of N threads"),
        ("cannot read /a/b.c/d: gone", "cannot read PATH: gone"),
        ("wgmma.m64n8k16 and f32x2 at 0.5 s, -3e-05", "wgmma.m64n8k16 and f32x2 at N s, N"),
        ("x" * 200, "x" * 157 + "..."),
    ],
)
def test_causes(message: str, cause: str) -> None:
    assert outcome.cause(message) == cause


@pytest.mark.parametrize(
    ("name", "level"),
    [
        ("level_1/a", "1"),
        ("x/Level2-b", "2"),
        ("L3_004_mm", "3"),
        ("mul1/l", ""),
        ("pool2d_1", ""),
    ],
)
def test_levels(name: str, level: str) -> None:
    assert outcome.level_of(name) == level


RELU = """
#include <torch/extension.h>
__global__ void relu(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], %s);
}
torch::Tensor forward(torch::Tensor x) {
  auto y = torch::empty_like(x);
  relu<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
  return y;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward, ""); }
"""
RELU_REF = """
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
def get_inputs():
    return [torch.randn(8, 300)]
def get_init_inputs():
    return []
"""


@pytest.mark.skipif(not BINARY.exists() and "CI" not in os.environ, reason="no built program")
def test_real_kernels_from_the_program(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    make_kernel(corpus, "right", RELU % "0.0f", RELU_REF)
    make_kernel(corpus, "wrong", RELU % "0.1f", RELU_REF)
    make_kernel(corpus, "no_compile", RELU % "zero", RELU_REF)
    program = ROOT / "tests/programs/01_relu_scale"
    make_kernel(corpus, "program", "// what kernel.py might build", None)
    shutil.copy(program / "wrong.py", corpus / "program/kernel.py")
    shutil.copy(program / "ref.py", corpus / "program/ref.py")
    done = subprocess.run(
        [BINARY, "corpus", corpus, "-j", "2", "--given-shape-only", "--json", tmp_path / "log"],
        env=os.environ | {"ASSAY_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    rows = rows_of(corpus, tmp_path / "log")
    assert {n: r["verdict"] for n, r in rows.items()} == {
        "right": "proved",
        "wrong": "refuted",
        "no_compile": "wrong input",
        "program": "refuted",
    }
    assert rows["right"]["proved"] == rows["right"]["checked"] > 0
    assert "zero" in rows["no_compile"]["cause"]
    script = (tmp_path / rows["wrong"]["script"]).read_text()
    compile(script, "script", "exec")
    assert "torch" in script
    assert not list(corpus.glob(".assay*"))
    assert json.dumps(rows["wrong"]["witness"])
