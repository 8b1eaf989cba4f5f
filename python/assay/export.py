"""python -m assay.export REF.py -o OUT.json: a PyTorch reference as Programs.

Runs ref.py as it is: `assay export` and `assay check` start this confined (src/host/reference.h).

Exit codes: 0; 4 wrong input (missing file, no Model, exceptions of ref.py); 3 unsupported; 5 a bug
of the exporter. On failure OUT.json holds {"schema": 1, "error": {"kind", "message"}}.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import traceback
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay import key, shapes
from assay.errors import ExportError, InvalidError
from assay.program import SCHEMA

if TYPE_CHECKING:
    from assay.program import Builder


def parse_shapes(text: str, source: str) -> dict[str, int]:
    """ "batch_size=3,shape[1]=7": integers of module level. Errors: Invalid."""
    known = shapes.module_integers(source)
    out = {}
    for part in filter(None, text.split(",")):
        name, _, value = part.partition("=")
        try:
            out[name.strip()] = int(value)
        except ValueError as error:
            raise InvalidError(f"--shapes: '{part}' is not NAME=INTEGER") from error
        if name.strip() not in known:
            choices = ", ".join(known) or "none"
            raise InvalidError(f"--shapes: no module-level integer '{name}' (there are: {choices})")
    return out


def read_source(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ExportError("io", f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ExportError("syntax", f"{path}: not UTF-8 text") from error


def scalar_kinds(given: Builder, source: str, kinds: list[shapes.Kind]) -> list[shapes.Kind]:
    """Other floats at the shrunk shape: those the candidate is called with, then those it may be
    called with. A float is known by its value, which a constant may share (see `arriving`)."""
    passed, built = given.passed_floats()
    known = shapes.module_floats(source)
    floats = {n: v for n, v in known.items() if v in passed}
    floats |= {shapes.input_name(k): v for k, v in given.input_floats.items()}
    init = {n: v for n, v in known.items() if v in built - passed}
    sizes = next((k.attempts for k in kinds if k.name == "shrunk"), [])
    out = []
    for group in (floats, init):
        altered = shapes.altered_floats(group, passed | built)
        if altered:
            out.append(shapes.Kind("scalars", [{**size, **altered} for size in [*sizes, {}]]))
    return out


def arriving(change: shapes.Changes, program: Builder) -> shapes.Changes:
    """The change without the floats that reach no argument of a candidate."""
    passed, built = program.passed_floats()
    return {n: v for n, v in change.items() if not isinstance(v, float) or v in passed | built}


def export(args: argparse.Namespace) -> dict[str, Any]:
    """The program set of docs/program_schema.md."""
    try:
        from assay.trace import Options, trace  # imports torch
    except ModuleNotFoundError as error:
        if (error.name or "assay").partition(".")[0] == "assay":
            raise
        raise InvalidError(
            f"{sys.executable} has no module '{error.name}': ASSAY_PYTHON must name a Python with "
            "the packages of requirements.txt"
        ) from error

    source = read_source(args.ref)
    options = Options(args.eval, args.fn, args.seed, args.inputs_only)
    try:
        changes = parse_shapes(args.shapes, source)
    except SyntaxError as error:
        raise ExportError("syntax", f"{args.ref}: {error}") from error
    given = trace(args.ref, changes, options)
    programs = [given.json()]
    skipped: list[dict[str, Any]] = []
    tried: list[shapes.Changes] = []
    kinds = shapes.kinds({**shapes.module_integers(source), **changes})
    for kind in [*kinds[:2], *scalar_kinds(given, source, kinds), *kinds[2:]]:
        if len(programs) > args.altered:
            break
        rejected: dict[str, Any] | None = None
        attempts = [{**changes, **attempt} for attempt in reversed(kind.attempts)]
        while attempts:
            change = attempts.pop()
            if change in tried:
                continue
            tried.append(change)
            try:
                program = trace(args.ref, change, options)
            except ExportError as error:
                first = {"changed": [list(p) for p in change.items()], "reason": error.message}
                rejected = rejected or first
                continue
            rejected = None
            used = arriving(change, program)
            if used == change:
                programs.append(program.json())
            elif any(isinstance(v, float) for v in used.values()):
                attempts = [used]
                continue
            break
        if rejected is not None:
            skipped.append(rejected)
    return {"schema": SCHEMA, "programs": programs, "skipped": skipped}


def parse_arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="assay.export", description=__doc__)
    parser.add_argument("ref", type=Path, help="ref.py: Model, get_inputs, get_init_inputs")
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument(
        "--output-fd",
        type=int,
        metavar="N",
        help="descriptor instead of a file; a line comes first: keep, or once where the result "
        "depends on files that --key does not cover",
    )
    parser.add_argument(
        "--key", action="store_true", help="only the identity of the result; ref.py is not run"
    )
    parser.add_argument("--eval", action="store_true", help="model.eval() (default: as built)")
    parser.add_argument("--shapes", default="", metavar="NAME=N,...", help="module-level integers")
    parser.add_argument(
        "--altered", type=int, default=0, metavar="N", help="N other shapes as well"
    )
    parser.add_argument("--fn", default="module_fn", help="function whose arguments a .cu takes")
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument(
        "--inputs-only", action="store_true", help="the arguments alone: no steps, no outputs"
    )
    args = parser.parse_args(argv)
    if (args.output is None) == (args.output_fd is None):
        parser.error("give either --output or --output-fd")
    return args


def key_of(args: argparse.Namespace) -> str:
    options = (args.eval, args.shapes, args.altered, args.fn, args.seed, args.inputs_only)
    return key.key(args.ref, options)


def run(args: argparse.Namespace) -> str:
    with contextlib.redirect_stdout(sys.stderr), warnings.catch_warnings():  # ref.py may print
        warnings.simplefilter("ignore")
        return json.dumps(export(args), separators=(",", ":"), allow_nan=False)


def write(args: argparse.Namespace, text: str) -> None:
    if args.output is not None:
        args.output.write_text(text, encoding="utf-8")
        return
    head = "" if args.key else "once\n" if key.imported_siblings(args.ref) else "keep\n"
    with open(args.output_fd, "w", encoding="utf-8", closefd=False) as out:
        out.write(head + text)


def main(argv: list[str] | None = None) -> int:
    args = parse_arguments(argv)
    try:
        text, code = key_of(args) if args.key else run(args), 0
    except ExportError as error:
        print(f"error ({error.kind}): {error.message}", file=sys.stderr)
        failure = {"kind": error.kind, "message": error.message}
        text, code = json.dumps({"schema": SCHEMA, "error": failure}), error.exit_code
    except Exception as error:
        traceback.print_exc()
        failure = {"kind": "internal", "message": f"export: {error!r}"}
        text, code = json.dumps({"schema": SCHEMA, "error": failure}), 5
    try:
        write(args, text)
    except OSError as error:
        print(f"error (io): cannot write {args.output}: {error.strerror}", file=sys.stderr)
        return 4
    return code


if __name__ == "__main__":
    sys.exit(main())
