"""What one check found, as a row: a flat dictionary, one line of the log."""

from __future__ import annotations

import re
import signal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.corpus.supervise import Result
    from assay.corpus.task import Task

Row = dict[str, Any]
SCHEMA = 1

# In the order of tables.
VERDICTS = (
    "proved",
    "refuted",
    "approximation",
    "unknown",
    "unsupported",
    "wrong input",
    "crash",
    "timeout",
    "memory",
)
LEVEL = re.compile(r"(?:^|[/_-])(?:level|l)[_-]?(\d+)(?=$|[/_-])", re.IGNORECASE)
TEXT = 16 * 1024  # characters kept of what the check printed
ERROR_VERDICTS = {"unsupported": "unsupported", "limit": "unknown", "internal": "crash"}


def level_of(name: str) -> str:
    """The level in KernelBench that a folder's name has; "" if none."""
    found = LEVEL.search(name)
    return found.group(1) if found else ""


def head(task: Task) -> Row:
    return {
        "schema": SCHEMA,
        "name": task.name,
        "key": task.key,
        "kernel": task.kernel,
        "verdict": "",
        "class": "",
        "cause": "",
        "summary": "",
        "exit_code": None,
        "seconds": 0.0,
        **task.more,
    }


def crash_row(task: Task, verdict: str, reason: str, retry: bool = False) -> Row:
    """A row without a run. `retry`: the kernel is not to blame, a later session tries again."""
    row = head(task) | {"verdict": verdict, "summary": reason, "cause": cause(reason)}
    return row | {"retry": True} if retry else row


def make_row(task: Task, result: Result, data: dict) -> Row:
    row = head(task) | {
        "exit_code": result.exit_code,
        "seconds": round(result.wall_seconds, 3),
        "cpu_seconds": round(result.cpu_seconds, 3),
        "peak_memory_bytes": max(result.peak_memory_bytes, data.get("peak_memory_bytes", 0)),
        "phases": {t["phase"]: round(t["seconds"], 3) for t in data.get("timings", [])},
    }
    if result.killed == "memory":
        limit = f"{task.memory_bytes / 2**30:.3g} GiB"
        row |= {"verdict": "memory", "summary": f"its processes held more than {limit}"}
        row |= {"cause": "memory limit", "memory_limit_bytes": task.memory_bytes}
    elif result.killed:
        row |= {"verdict": "timeout", "summary": f"killed after {task.wall_seconds:g} s"}
        row["cause"] = "wall limit"
    elif result.signal is not None:
        row |= {"verdict": "crash", "signal": result.signal}
        row["summary"] = row["cause"] = f"assay was killed: {signal.strsignal(result.signal)}"
        if result.signal in (signal.SIGKILL, signal.SIGTERM):  # from outside: no memory was left
            row["retry"] = True
    elif "verdict" in data:
        row |= verdict_fields(data)
        row["text"] = result.output[:TEXT]
    else:
        row |= error_fields(data, result)
    if result.errors.strip():
        row["errors"] = result.errors[-TEXT:]
    return row


def verdict_fields(data: dict) -> Row:
    worst = worst_result(data)
    outputs = [o for shape in data.get("shapes", [])[:1] for o in shape["outputs"]]
    kind = data["verdict"]
    reason = worst.get("reason") or data.get("summary", "")
    row = {
        "verdict": kind,
        "class": worst.get("class", "") if kind == "refuted" else "",
        "summary": data.get("summary", ""),
        "findings": sorted({f["kind"] for f in data.get("findings", [])}),
        "elements": sum(o["elements"] for o in outputs),
        "checked": sum(o["checked"] for o in outputs),
        "proved": sum(o["proved"] for o in outputs),
    }
    if kind == "refuted":
        row["cause"] = row["class"]
        row["witness"] = witness(worst)
        if script := first_script(data):
            row["script"] = script
    elif kind not in ("proved", "approximation"):
        row["cause"] = cause(reason)
    return row


def error_fields(data: dict, result: Result) -> Row:
    error = data.get("error")
    if error is None:
        said = f"exit code {result.exit_code} without a verdict: {result.errors.strip()[-500:]}"
        return {"verdict": "crash", "summary": said, "cause": cause(said)}
    row = {
        "verdict": ERROR_VERDICTS.get(error["kind"], "wrong input"),
        "error": error["kind"],
        "summary": error["message"],
        "cause": cause(error["message"]),
    }
    if error["kind"] == "internal":
        row["cause"] = f"internal error: {row['cause']}"
    if loc := error.get("loc"):
        row["loc"] = f"{loc['file']}:{loc['line']}"
    # No compiler, a full disk: the machine is to blame, so a later session tries again.
    return row | {"retry": True} if error["kind"] == "io" else row


def worst_result(data: dict) -> dict:
    """The result that decides: the first of the verdict's own kind, at the given shape if there."""
    results = [r for shape in data.get("shapes", []) for r in shape.get("results", [])]
    same = [r for r in results if r["verdict"] == data["verdict"]]
    return (same or results or [{}])[0]


def first_script(data: dict) -> str:
    """As `assay check --script` picks it."""
    results = [r for shape in data.get("shapes", []) for r in shape.get("results", [])]
    return next((s for r in results if (s := (r.get("witness") or {}).get("script"))), "")


def witness(result: dict) -> Row:
    """What a table can show of a refutation."""
    loc = result.get("loc") or {}
    row = {
        "output": f"{result.get('output_name', '')}{result.get('index', [])}",
        "candidate": result.get("candidate"),
        "reference": result.get("reference"),
        "replayed": bool((result.get("witness") or {}).get("replayed")),
    }
    if loc.get("file"):
        row["loc"] = f"{loc['file']}:{loc['line']}"
    return row


PLACE = re.compile(r"^(?:\S+\.(?:cu|cuh|h|hpp|cpp|py|ptx)[:(]\d+(?:[:,]\d+)?\)?:?\s*)+")
PATHS = re.compile(r"(?:/[\w.+-]+){2,}")
NUMBERS = re.compile(r"(?<![\w.%])-?\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?(?![\w])", re.IGNORECASE)


def cause(message: str) -> str:
    """The message without what differs from kernel to kernel: places, paths, numbers."""
    lines = [line.strip() for line in message.strip().splitlines() if line.strip()]
    text = PLACE.sub("", lines[0]) if lines else ""
    if text.endswith(":") and len(lines) > 1:  # the compiler's words follow
        text += " " + PLACE.sub("", lines[1])
    text = PATHS.sub("PATH", text)
    text = NUMBERS.sub("N", text)
    return text if len(text) <= 160 else text[:157] + "..."
