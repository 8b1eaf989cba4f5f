"""tests/sizes/run_sizes.py: what it reads, and how it judges what a check cost."""

import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS / "sizes"))
sys.path.insert(0, str(TESTS))
from assay_runs import Cost, measure  # noqa: E402
from run_sizes import check_seconds, judge, read_aims  # noqa: E402


def cost(wall: float, check: float, peak: int = 0) -> Cost:
    timings = [{"phase": "compile", "seconds": wall - check}, {"phase": "trace", "seconds": check}]
    return Cost(0, "", {"timings": timings, "peak_memory_bytes": peak}, wall, wall)


def test_every_kernel_has_aims():
    folders = {p.parent.name for p in (TESTS / "sizes").glob("*/ref.py")}
    assert {a["folder"] for a in read_aims()} == folders


def test_a_key_that_nothing_reads_is_refused(tmp_path):
    (tmp_path / "aims.toml").write_text('[[kernel]]\nname = "k"\nsize = "1"\nseconds = 1\n')
    with pytest.raises(ValueError, match="seconds"):
        read_aims(tmp_path / "aims.toml")


def test_builds_do_not_count_as_check():
    assert check_seconds(cost(wall=9, check=2)) == 2


def test_what_is_missed_is_named():
    aims = {"check": 2.0, "whole": 10.0, "memory": 1000}
    assert judge(aims, cost(9, 2, peak=1000), None) == []
    assert [m.split()[0] for m in judge(aims, cost(9, 3, peak=1001), cost(11, 3))] == [
        "check", "whole", "memory",
    ]  # fmt: skip


def test_a_run_is_measured_and_killed_in_time():
    code = "import sys; open(sys.argv[2], 'w').write('{\"peak_memory_bytes\": 7}'); sys.exit(3)"
    got = measure([sys.executable, "-c", code])
    assert (got.code, got.peak, got.phases()) == (3, 7, {})
    assert measure([sys.executable, "-c", "import time; time.sleep(60)"], timeout=0.2).code == -9
