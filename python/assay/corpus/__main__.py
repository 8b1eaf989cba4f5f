"""Command line of `assay corpus`; src/cli/corpus.cpp starts it."""

from __future__ import annotations

import argparse
import os
import signal
import sys

from assay.corpus.errors import BAD_INPUT, CorpusError, need

USAGE = """\
assay corpus DIR [-j N] [--json F] [--html F] ...     check every kernel below DIR
       assay corpus import FILE DIR                          an archive's rows as such folders
       assay corpus scheduler [--port N]                     for --on: once
       assay corpus worker tcp://HOST:PORT [-j N]            for --on: on each machine"""
ABOUT = """\
A kernel is a folder with kernel.cu or kernel.py (a KernelBench program), and ref.py. Each is
checked by a process of its own; one that crashes, hangs or takes too much memory is a row like any
other. Each row is a JSON line of the log, written before the next one counts; the same command
again, also after kill -9, checks only what is not there yet or has changed. Exit code 0: it ran to
the end, whatever it found; 4: wrong use; 130: interrupted.
"""


def positive(text: str) -> float:
    value = float(text)
    if not 0 < value < 1e7:
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return value


def count(text: str) -> int:
    value = int(text)
    if not 1 <= value <= 4096:
        raise argparse.ArgumentTypeError(f"{text} is not between 1 and 4096")
    return value


class Parser(argparse.ArgumentParser):
    def error(self, message: str):
        self.print_usage(sys.stderr)
        self.exit(BAD_INPUT, f"error: {message}\n")


def run_parser() -> Parser:
    from assay.corpus.outcome import VERDICTS

    parser = Parser(
        "assay corpus",
        usage=USAGE,
        description=ABOUT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("folder", metavar="DIR", help="searched with all that lies below")
    parser.add_argument(
        "-j", type=count, metavar="N", help="kernels at once, here (default: cores)"
    )
    parser.add_argument(
        "--json", metavar="F", help="the log (default: DIR/.assay-corpus.jsonl); texts go to F.d"
    )
    parser.add_argument("--html", metavar="F", help="write one page with everything")
    parser.add_argument(
        "--report", action="store_true", help="check nothing: what is known, also during a session"
    )
    parser.add_argument("--fresh", action="store_true", help="forget the log and start anew")
    parser.add_argument(
        "--retry",
        type=lambda text: text.split(","),
        default=[],
        metavar="V,...",
        help="check kernels with these verdicts again: " + ", ".join(VERDICTS),
    )
    parser.add_argument(
        "--memory",
        type=positive,
        metavar="GIB",
        help="of all processes of one kernel (default: nine tenths of what is free, shared by -j)",
    )
    parser.add_argument(
        "--grace",
        type=positive,
        default=120,
        metavar="S",
        help="seconds beyond --timeout after which a kernel's processes are killed (120)",
    )
    parser.add_argument("--on", metavar="tcp://HOST:PORT", help="run on this Dask scheduler")
    parser.add_argument("-v", "--verbose", action="store_true", help="a line for every kernel")
    own = parser.add_argument_group("passed on to `assay check`")
    own.add_argument("--timeout", type=positive, default=120, metavar="S", help="(120)")
    own.add_argument("--rtol", type=float)
    own.add_argument("--atol", type=float)
    own.add_argument("--seed", type=int)
    own.add_argument("--entry", help="host function of a .cu")
    own.add_argument("--jobs", type=count, help="threads of one check (default: cores / -j)")
    own.add_argument("--eval", action="store_true")
    own.add_argument("--whole", action="store_true")
    own.add_argument("--given-shape-only", action="store_true")
    own.add_argument("--nvcc-flag", action="append", default=[])
    return parser


def run_corpus(words: list[str]) -> int:
    need("rich", "psutil")
    parser = run_parser()
    args = parser.parse_args(words)
    from assay.corpus.outcome import VERDICTS

    if wrong := [v for v in args.retry if v not in VERDICTS]:
        parser.error(f"--retry {wrong[0]}: no verdict")
    if not os.environ.get("ASSAY_BINARY"):
        parser.error("ASSAY_BINARY is not set: start this as `assay corpus`")
    if args.report and args.fresh:
        parser.error("--report needs what --fresh forgets")
    if args.html:
        need("plotly")
    if args.on:
        need("distributed")
    from assay.corpus.session import Session

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C
    session = Session(args)
    session.plan()
    return session.run()


def run_import(words: list[str]) -> int:
    need("rich")
    from assay.corpus.archive import main

    return main(words)


def run_worker(words: list[str]) -> int:
    need("distributed", "psutil")
    from assay.corpus.worker import worker

    return worker(words)


def run_scheduler(words: list[str]) -> int:
    need("distributed")
    from assay.corpus.worker import scheduler

    return scheduler(words)


def main(words: list[str]) -> int:
    sys.stdout.reconfigure(errors="replace")  # whatever folders are called
    verbs = {"import": run_import, "scheduler": run_scheduler, "worker": run_worker}
    try:
        if words and words[0] in verbs:
            return verbs[words[0]](words[1:])
        return run_corpus(words)
    except CorpusError as error:
        print(f"error: {error}", file=sys.stderr)
        return BAD_INPUT


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
