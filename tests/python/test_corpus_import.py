"""`assay corpus import`: folders of an archive's rows, whatever form and columns it has."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path

import pytest
from corpus_runs import run

if "CI" not in os.environ:
    pytest.importorskip("rich", reason="no packages of requirements-corpus.txt")
    pytest.importorskip("pyarrow", reason="no packages of requirements-corpus.txt")

ROW = {
    "Op_Name": "19_ReLU",
    "Level_ID": 1,
    "Task_ID": 19,
    "Kernel_Name": "vector/../4 (base)",
    "CUDA_Code": '// one, "two"\n\u00e9',
    "PyTorch_Code_Module": "module = 1\n",
    "PyTorch_Code_Functional": "functional = 1\n",
    "Correct": True,
    "Max_Diff": 0.5,
}


def write_csv(file: Path, rows: list[dict], columns: list[str] | None = None) -> Path:
    with open(file, "w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, columns or list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return file


def write_parquet(file: Path, rows: list[dict]) -> Path:
    import pyarrow
    from pyarrow import parquet

    parquet.write_table(pyarrow.Table.from_pylist(rows), file)
    return file


def imported(folder: Path) -> dict[str, dict[str, str]]:
    """Folder names without their hash, and the texts in them."""
    out = {}
    for kernel in sorted(folder.rglob("kernel.cu")):
        name = str(kernel.parent.relative_to(folder)).rpartition("-")[0]
        assert name not in out
        out[name] = {f.name: f.read_text() for f in kernel.parent.iterdir()}
    return out


@pytest.mark.parametrize("write", [write_csv, write_parquet])
def test_a_row_is_a_folder(tmp_path: Path, write) -> None:
    other = ROW | {"Kernel_Name": None, "PyTorch_Code_Functional": None, "Correct": False}
    file = write(tmp_path / "archive", [ROW, other])
    said = run("import", file, tmp_path / "out")
    assert "2 kernels in" in said
    folders = imported(tmp_path / "out")
    assert set(folders) == {"level_1/19_ReLU/vector_.._4_base", "level_1/19_ReLU/kernel"}
    first = folders["level_1/19_ReLU/vector_.._4_base"]
    assert first["kernel.cu"] == ROW["CUDA_Code"]
    assert first["ref.py"] == "functional = 1\n"
    meta = json.loads(first["meta.json"])
    assert meta["Correct"] is True
    assert str(meta["Max_Diff"]) == "0.5"
    assert not any("Code" in column for column in meta)
    second = folders["level_1/19_ReLU/kernel"]
    assert second["ref.py"] == "module = 1\n"
    assert json.loads(second["meta.json"])["Correct"] is False


def test_names_depend_on_nothing_but_the_row(tmp_path: Path) -> None:
    rows = [ROW | {"CUDA_Code": f"// {n}", "Op_Name": "same"} for n in (1, 2, 2, 3)]
    said = run("import", write_csv(tmp_path / "a.csv", rows), tmp_path / "a")
    assert "3 kernels in" in said
    assert "1 rows left out: the same kernel and reference as an earlier row" in said
    run("import", write_csv(tmp_path / "b.csv", rows[:1:-1]), tmp_path / "b")
    names = [{p.parent.name for p in (tmp_path / f).rglob("kernel.cu")} for f in "ab"]
    assert len(names[0]) == 3
    assert names[1] < names[0]


def test_what_rows_lack_is_counted(tmp_path: Path) -> None:
    rows = [
        ROW,
        ROW | {"CUDA_Code": " "},
        ROW | {"PyTorch_Code_Module": "", "PyTorch_Code_Functional": ""},
        ROW | {"Level_ID": 2},
        ROW | {"Correct": "False"},
    ]
    file = write_csv(tmp_path / "a.csv", rows)
    said = run("import", file, tmp_path / "a", "--level", "1", "--correct")
    assert "1 kernels in" in said
    assert "1 rows left out: without a kernel" in said
    assert "1 rows left out: without a reference" in said
    assert "2 rows left out: not asked for" in said


def test_columns_in_other_spelling_and_few_of_them(tmp_path: Path) -> None:
    file = write_csv(tmp_path / "a.csv", [{"cuda_code": "// x", "pytorch_code_module": "m"}])
    run("import", file, tmp_path / "a")
    assert imported(tmp_path / "a") == {
        "level_unknown/unnamed/kernel": {"kernel.cu": "// x", "ref.py": "m", "meta.json": "{}\n"}
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b\n1,2\n", "has no column CUDA_Code; its columns are: a, b"),
        ("CUDA_Code\nx\n", "has no column PyTorch_Code_Functional or PyTorch_Code_Module"),
        ("", "its columns are: none"),
        ("PAR1 and nothing more", "is no Parquet file that can be read"),
    ],
)
def test_wrong_files(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "file").write_text(text)
    assert said in run("import", tmp_path / "file", tmp_path / "out", code=4)
    assert not (tmp_path / "out").exists()


def test_missing_file(tmp_path: Path) -> None:
    assert "cannot read" in run("import", tmp_path / "none", tmp_path / "out", code=4)
    assert "required: DIR" in run("import", tmp_path / "none", code=4)
