"""References are foreign code: each way to misbehave has an error of its own, and harms nothing."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

BINARY = Path(os.environ.get("ASSAY_HOME", "/nonexistent")) / "bin" / "assay"
pytestmark = pytest.mark.skipif(
    not BINARY.exists() and "CI" not in os.environ, reason="no built program (ASSAY_HOME)"
)

GOOD = """
class Model(torch.nn.Module):
    def forward(self, x):
        return x + 1
def get_inputs():
    return [torch.randn(4)]
"""


def run(folder: Path, text: str, *options: str, good: bool = True):
    """Exports ref.py with HOME in `folder`; exit code, words, seconds."""
    ref = folder / "ref.py"
    ref.write_text("import os\nimport torch\n" + text + (GOOD if good else ""))
    env = os.environ | {
        "ASSAY_PYTHON": sys.executable,
        "ASSAY_CACHE": str(folder / "cache"),
        "HOME": str(folder / "home"),
        "NO_COLOR": "1",
    }
    (folder / "home").mkdir(exist_ok=True)
    command = [str(BINARY), "export", str(ref), "-o", str(folder / "out.json"), *options]
    start = time.monotonic()
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=200)
    return done.returncode, done.stdout + done.stderr, time.monotonic() - start


def test_good_references_run_and_are_kept(tmp_path: Path) -> None:
    text = """
import tempfile, threading
thread = threading.Thread(target=lambda: None)
thread.start()
thread.join()
with tempfile.TemporaryFile("w") as file:
    file.write("own")
torch.randn(512, 512) @ torch.randn(512, 512)
print("words of its own")
"""
    code, words, _ = run(tmp_path, text)
    assert code == 0, words
    first = (tmp_path / "out.json").read_text()
    assert json.loads(first)["programs"][0]["steps"]
    assert len(list((tmp_path / "cache" / "refs").iterdir())) == 1
    kept = next((tmp_path / "cache" / "refs").iterdir())
    kept.write_text(first.replace("aten::add", "aten::sub"))
    assert run(tmp_path, text)[0] == 0
    assert "aten::sub" in (tmp_path / "out.json").read_text()  # ref.py was not run again
    assert run(tmp_path, text, "--eval")[0] == 0
    assert "aten::add" in (tmp_path / "out.json").read_text()


def test_modules_beside_a_reference_are_not_covered_by_its_key(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("def f(x): return x + 1\n")
    text = "import helper\n"
    assert run(tmp_path, text)[0] == 0
    assert not (tmp_path / "cache" / "refs").exists()


def test_writes_outside(tmp_path: Path) -> None:
    text = "open(os.path.expanduser('~/owned'), 'w').write('x')\n"
    code, words, _ = run(tmp_path, text)
    assert code == 4
    assert "error[invalid]: ref.py: loading it raised PermissionError" in words
    assert "(line 3: open(" in words and "references run confined" in words
    assert list((tmp_path / "home").iterdir()) == []


@pytest.mark.parametrize(
    "action",
    [
        "os.remove(victim)",
        "os.rename(victim, victim + '2')",
        "os.chmod(victim, 0)",
        "os.truncate(victim, 0)",
        "os.symlink(victim, victim + '2')",
        "os.utime(victim, (0, 0))",
        "os.mkdir(victim + '2')",
        "os.kill(os.getppid(), 9)",
        "os.execv('/bin/sh', ['sh', '-c', 'echo gone > ' + victim])",
        "os.setuid(1)",
    ],
)
def test_other_harm(tmp_path: Path, action: str) -> None:
    victim = tmp_path / "home" / "victim"
    victim.parent.mkdir()
    victim.write_text("whole")
    before = victim.stat()
    code, words, _ = run(tmp_path, f"victim = {str(victim)!r}\n{action}\n")
    assert code == 4, words
    after = victim.stat()
    assert victim.read_text() == "whole"
    assert (before.st_mode, before.st_mtime_ns) == (after.st_mode, after.st_mtime_ns)
    assert [p.name for p in victim.parent.iterdir()] == ["victim"]


def test_processes(tmp_path: Path) -> None:
    for action in (
        "os.fork()",
        "import subprocess; subprocess.run(['true'])",
        "os.posix_spawn('/bin/true', ['true'], {})",
    ):
        code, words, _ = run(tmp_path, action + "\n", good=False)
        assert code == 4 and "PermissionError" in words and "no other processes" in words, words


def test_forks_without_end(tmp_path: Path) -> None:
    text = """
while True:
    try:
        os.fork()
    except OSError:
        pass
"""
    code, words, seconds = run(tmp_path, text, "--timeout", "12", good=False)
    assert code == 2 and "did not finish within 12 s" in words
    assert seconds < 60
    mine = [p for p in Path("/proc").glob("[0-9]*/cmdline") if _holds(p, str(tmp_path))]
    assert mine == []


def _holds(cmdline: Path, text: str) -> bool:
    try:
        return text in cmdline.read_text(errors="replace")
    except OSError:
        return False


def test_loops_forever(tmp_path: Path) -> None:
    code, words, _ = run(tmp_path, "while True: pass\n", "--timeout", "12", good=False)
    assert code == 2
    assert "error[limit]: the reference did not finish within 12 s" in words
    assert "ref.py" in words


def test_allocates_without_end(tmp_path: Path) -> None:
    text = "keep = []\nwhile True: keep.append(torch.ones(1 << 24))\n"
    code, words, _ = run(tmp_path, text, "--memory", "1", good=False)
    assert code == 2
    assert "error[limit]: the reference used more than 1 GiB of memory" in words


def test_reserving_memory_is_no_use_of_it(tmp_path: Path) -> None:
    assert run(tmp_path, "big = torch.empty(1 << 32)\n", "--memory", "1")[0] == 0


def test_threads_without_end(tmp_path: Path) -> None:
    text = """
import threading
while True:
    threading.Thread(target=threading.Event().wait, daemon=True).start()
"""
    code, words, _ = run(tmp_path, text, good=False)
    assert code == 2 and "started more than 1024 threads" in words


def test_network(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.1)
        port = server.getsockname()[1]
        text = f"import socket\nsocket.create_connection(('127.0.0.1', {port}))\n"
        code, words, _ = run(tmp_path, text, good=False)
        assert code == 4 and "no network" in words, words
        with pytest.raises(TimeoutError):
            server.accept()
    text = "import urllib.request\nurllib.request.urlopen('http://127.0.0.1:1/')\n"
    code, words, _ = run(tmp_path, text, good=False)
    assert code == 4 and "no network" in words, words


def test_crashes_and_exits(tmp_path: Path) -> None:
    code, words, _ = run(tmp_path, "print('last words', flush=True)\nos.abort()\n", good=False)
    assert code == 4 and "crashed: Aborted" in words and "last words" in words
    code, words, _ = run(tmp_path, "os._exit(0)\n", good=False)
    assert code == 4 and "ended the process: exit code 0" in words
    code, words, _ = run(tmp_path, "os.write(3, b'keep\\n{')\nos._exit(0)\n", good=False)
    assert code == 4, words
    assert not (tmp_path / "out.json").exists()
