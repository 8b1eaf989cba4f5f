"""`assay corpus worker` and `assay corpus scheduler`: Dask's own programs, set up for checks."""

from __future__ import annotations

import argparse
import os
import sys

from assay.corpus.errors import BAD_INPUT
from assay.corpus.local import cores


def become(module: str, words: list[str]) -> int:
    """This process becomes Dask's, whose own options may follow ours."""
    os.execv(sys.executable, [sys.executable, "-P", "-m", module, *words])


def worker(words: list[str]) -> int:
    parser = argparse.ArgumentParser(
        "assay corpus worker", description="Lends this machine to `assay corpus --on`."
    )
    parser.error = lambda message: parser.exit(BAD_INPUT, f"error: {message}\n")
    parser.add_argument("address", metavar="tcp://HOST:PORT", help="the scheduler's")
    parser.add_argument("-j", type=int, default=cores(), help="kernels at once (default: cores)")
    args, more = parser.parse_known_args(words)
    # One process whose threads only wait for checks. Their memory is not Dask's concern.
    own = ["--nworkers", "1", "--nthreads", str(args.j), "--memory-limit", "0", "--no-dashboard"]
    own += ["--preload", "assay.corpus.cluster"]
    return become("distributed.cli.dask_worker", [args.address, *own, *more])


def scheduler(words: list[str]) -> int:
    """--host and --port are Dask's own options."""
    return become("distributed.cli.dask_scheduler", ["--no-dashboard", *words])
