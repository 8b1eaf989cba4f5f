#!/usr/bin/env python3
"""Runs one golden-text case: python3 run_case.py PROGRAM CASE.

A case is any text file; lines that begin with a comment sign (// # ;) and a keyword steer it:

    ARGS: check %s --json %t/out.json   one run of PROGRAM; several ARGS run one after the other
    EXIT: 1                             exit code of the runs (default 0)
    CHECK: refuted at %int              found in the output of the last run, in this order
    CHECK-NOT: internal error           found nowhere in it
    CHECK-FILE: %t/out.json             what follows looks into this file instead
    REQUIRES: nvcc                      programs without which the case is skipped (ctest code 77)
    ENV: NAME=value                     environment of the runs

Output is standard output and standard error together. In ARGS and ENV: %s the case file, %d its
folder, %t a fresh temporary folder, %r the repository. In CHECK lines the rest is literal but for
%int, %float, %path, %hex, %any and %%; runs of blanks match any run of blanks. Where CASE.expect
exists, the whole output must match it line by line under the same rules. ASSAY_UPDATE=1 rewrites
an existing CASE.expect that does not match (placeholders are then to be put back by hand).
"""

import os
import re
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

SKIPPED = 77
TIMEOUT_S = 300
PLACEHOLDERS = {
    "%int": r"[-+]?\d+",
    "%float": r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|inf|nan)",
    "%path": r"\S+",
    "%hex": r"(?:0x)?[0-9a-fA-F]+",
    "%any": r".*?",
    "%%": "%",
}
DIRECTIVE = re.compile(
    r"^\s*(?://|#|;)\s*(ARGS|EXIT|CHECK|CHECK-NOT|CHECK-FILE|REQUIRES|ENV):\s*(.*?)\s*$"
)


class Failure(Exception):
    """The case does not hold; the message says where."""


@dataclass
class Case:
    runs: list[str] = field(default_factory=list)
    exit_code: int = 0
    checks: list[tuple[str, str, int]] = field(default_factory=list)  # kind, text, line
    requires: list[str] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)


def parse(path: Path) -> Case:
    case = Case()
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        match = DIRECTIVE.match(line)
        if not match:
            continue
        kind, text = match.groups()
        if kind == "ARGS":
            case.runs.append(text)
        elif kind == "EXIT":
            case.exit_code = int(text)
        elif kind == "REQUIRES":
            case.requires += text.split()
        elif kind == "ENV":
            name, _, value = text.partition("=")
            case.env[name] = value
        else:
            if not text:
                raise Failure(f"{path}:{number}: {kind} without text")
            case.checks.append((kind, text, number))
    if not case.runs:
        raise Failure(f"{path}: no ARGS line")
    if not case.checks and not expect_path(path).exists() and case.exit_code == 0:
        raise Failure(f"{path}: checks nothing: no CHECK line, no .expect file, no EXIT code")
    return case


def pattern(text: str) -> re.Pattern[str]:
    parts = re.split(r"(%(?:int|float|path|hex|any|%)|\s+)", text)
    return re.compile(
        "".join(
            PLACEHOLDERS.get(p) or (r"\s+" if p.isspace() else re.escape(p)) for p in parts if p
        )
    )


def expect_path(path: Path) -> Path:
    return path.with_name(path.name + ".expect")


def substitute(text: str, values: dict[str, str]) -> str:
    return re.sub(r"%[sdtr]\b", lambda m: values[m.group()], text)


def check_lines(case: Case, path: Path, output: str, values: dict[str, str]) -> None:
    text, position = output, 0
    for kind, wanted, number in case.checks:
        if kind == "CHECK-FILE":
            file = Path(substitute(wanted, values))
            if not file.exists():
                raise Failure(f"{path}:{number}: no file {file}")
            text, position = file.read_text(errors="replace"), 0
            continue
        found = pattern(wanted).search(text, 0 if kind == "CHECK-NOT" else position)
        if kind == "CHECK-NOT" and found:
            raise Failure(f"{path}:{number}: found, and must not be: {found.group()}")
        if kind == "CHECK":
            if not found:
                raise Failure(f"{path}:{number}: not found (in this order): {wanted}")
            position = found.end()


def check_expected(path: Path, output: str) -> None:
    file = expect_path(path)
    if not file.exists():
        return
    wanted, got = file.read_text().splitlines(), output.splitlines()
    lines = enumerate(zip(wanted, got, strict=False))
    bad = next((i for i, (w, g) in lines if w != g and not pattern(w).fullmatch(g)), None)
    if bad is None and len(wanted) != len(got):
        bad = min(len(wanted), len(got))
    if bad is None:
        return
    if os.environ.get("ASSAY_UPDATE") == "1":
        file.write_text(output)
        print(f"rewritten: {file}")
        return
    line = [lines[bad] if bad < len(lines) else "(end)" for lines in (wanted, got)]
    raise Failure(f"{file}:{bad + 1}: differs\n  wanted: {line[0]}\n  got:    {line[1]}")


def which(program: str) -> bool:
    given = os.environ.get("ASSAY_" + program.upper())
    return any(os.access(Path(folder) / program, os.X_OK) for folder in os.get_exec_path()) or (
        given is not None and os.access(given, os.X_OK)
    )


def run(program: str, path: Path) -> int:
    case = parse(path)
    missing = [name for name in case.requires if not which(name)]
    if missing:
        print(f"skipped: not on this machine: {' '.join(missing)}")
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="assay-text-") as temp:
        repository = Path(__file__).resolve().parents[2]
        values = {"%s": str(path), "%d": str(path.parent), "%t": temp, "%r": str(repository)}
        env = os.environ | {"NO_COLOR": "1", "ASSAY_CACHE": temp + "/cache"}
        env |= {name: substitute(value, values) for name, value in case.env.items()}
        for args in case.runs:
            command = [program, *shlex.split(substitute(args, values))]
            done = subprocess.run(
                command,
                env=env,
                cwd=temp,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                timeout=TIMEOUT_S,
            )
            try:
                if done.returncode != case.exit_code:
                    raise Failure(f"exit code {done.returncode}, wanted {case.exit_code}")
                if args is case.runs[-1]:
                    check_lines(case, path, done.stdout, values)
                    check_expected(path, done.stdout)
            except Failure:
                print(f"$ {shlex.join(command)}\n{done.stdout}")
                raise
    return 0


def main() -> int:
    try:
        return run(sys.argv[1], Path(sys.argv[2]).resolve())
    except (Failure, subprocess.TimeoutExpired) as error:
        print(f"FAILED {error}")
        return 1


if __name__ == "__main__":
    sys.exit(main())
