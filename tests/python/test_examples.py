"""The references that the demo ships are what the exporter makes of the ref.py beside them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    "reference", sorted(ROOT.glob("examples/*/ref.py")), ids=lambda p: p.parent.name
)
def test_shipped_reference_is_up_to_date(reference: Path, tmp_path: Path) -> None:
    out = tmp_path / "ref.json"
    command = [sys.executable, "-m", "assay.export", "ref.py", "-o", str(out), "--altered", "3"]
    env = os.environ | {"PYTHONPATH": str(ROOT / "python"), "ASSAY_CACHE": str(tmp_path / "cache")}
    subprocess.run(command, cwd=reference.parent, env=env, check=True)
    assert json.loads(out.read_text()) == json.loads(reference.with_name("ref.json").read_text())
