"""What a corpus gave, for a terminal."""

from __future__ import annotations

import os
import statistics
import sys
from collections import Counter, defaultdict

from rich.console import Console
from rich.table import Table
from rich.text import Text

from assay.corpus.outcome import VERDICTS, Row

COLORS = {
    "proved": "green",
    "refuted": "bold red",
    "approximation": "cyan",
    "unknown": "yellow",
    "unsupported": "blue",
    "wrong input": "magenta",
    "crash": "red",
    "timeout": "red",
    "memory": "red",
}
# Verdicts whose causes tell what would have to be done for them.
OPEN = ("unknown", "unsupported", "wrong input", "crash", "timeout", "memory")


class LastingConsole(Console):
    """Goes on in silence where nobody reads any more (`| head`): the log and the page matter."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def console() -> Console:
    made = LastingConsole(highlight=False)
    return made if made.is_terminal else LastingConsole(highlight=False, width=140)


def percentile(values: list[float], share: float) -> float:
    """The least value that `share` of the values do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -(-int(share * 1000) * len(ordered) // 1000) - 1)]


def painted(verdict: str) -> Text:
    return Text(verdict, style=COLORS.get(verdict, ""))


def print_summary(out: Console, rows: list[Row], wrong: int = 40) -> None:
    """Counts, times, causes, then the kernels that are wrong (`wrong` of them at most)."""
    out.print(verdict_table(rows))
    for line in claims(rows) + kinds(rows):
        out.print(line, soft_wrap=True)
    if causes := cause_table(rows):
        out.print(causes)
    refuted = [r for r in rows if r["verdict"] == "refuted"]
    if refuted:
        out.print(wrong_table(refuted[:wrong]))
        if len(refuted) > wrong:
            out.print(f"and {len(refuted) - wrong} more: the log and the page have all of them")


def verdict_table(rows: list[Row]) -> Table:
    levels = sorted({r["level"] for r in rows if r["level"]}, key=int)
    counts = Counter((r["verdict"], r["level"]) for r in rows)
    table = Table(title=f"{len(rows):,} kernels")
    table.add_column("verdict")
    for title in ("kernels", "share", *(f"level {n}" for n in levels), "median s", "95 % s"):
        table.add_column(title, justify="right")
    for verdict in VERDICTS:
        own = [r for r in rows if r["verdict"] == verdict]
        if own:
            table.add_row(
                painted(verdict),
                f"{len(own):,}",
                f"{len(own) / len(rows):.1%}",
                *(f"{counts[verdict, n]:,}" for n in levels),
                *times(own),
            )
    table.add_section()
    table.add_row(
        "all",
        f"{len(rows):,}",
        "",
        *(f"{sum(r['level'] == n for r in rows):,}" for n in levels),
        *times(rows),
    )
    return table


def times(rows: list[Row]) -> tuple[str, str]:
    """Median and 95 % of the wall seconds of kernels that ran."""
    seconds = [r["seconds"] for r in rows if r["seconds"]]
    if not seconds:
        return "", ""
    return f"{statistics.median(seconds):.1f}", f"{percentile(seconds, 0.95):.1f}"


def kinds(rows: list[Row]) -> list[str]:
    """How many kernels have each class of refutation, each kind of finding."""
    classes = Counter(r["class"] for r in rows if r["verdict"] == "refuted")
    findings = Counter(kind for r in rows for kind in r.get("findings", []))
    lines = []
    for title, counts in (("wrong by class", classes), ("findings beside verdicts", findings)):
        if counts:
            lines.append(f"{title}: " + ", ".join(f"{k} {n:,}" for k, n in counts.most_common()))
    return lines


def claims(rows: list[Row]) -> list[str]:
    """What the archive claimed of its kernels, beside what was found."""
    said = [r for r in rows if r.get("claimed_correct") is not None]
    parts = []
    for claim, word in ((True, "correct"), (False, "incorrect")):
        own = [r for r in said if r["claimed_correct"] is claim]
        if own:
            found = Counter(r["verdict"] for r in own)
            parts.append(
                f"said to be {word} by the archive: {len(own):,}, of them refuted "
                f"{found['refuted']:,}, proved {found['proved']:,}"
            )
    return parts


def cause_table(rows: list[Row], most: int = 15) -> Table | None:
    groups: defaultdict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        if row["verdict"] in OPEN:
            groups[row["verdict"], row["cause"]].append(row)
    if not groups:
        return None
    table = Table(title="what kept kernels open")
    table.add_column("kernels", justify="right")
    table.add_column("verdict")
    table.add_column("cause", overflow="fold")
    table.add_column("for example", overflow="fold")
    ordered = sorted(groups.items(), key=lambda g: (-len(g[1]), g[0]))
    for (verdict, cause), own in ordered[:most]:
        table.add_row(f"{len(own):,}", painted(verdict), Text(cause), Text(own[0]["name"]))
    if len(ordered) > most:
        rest = sum(len(own) for _, own in ordered[most:])
        table.add_row(f"{rest:,}", "", f"{len(ordered) - most} further causes", "")
    return table


def wrong_table(rows: list[Row]) -> Table:
    table = Table(title="wrong kernels")
    for title in ("kernel", "class", "witness", "line"):
        table.add_column(title, overflow="fold")
    for row in rows:
        table.add_row(
            Text(row["name"]), Text(row["class"]), Text(witness_text(row)), Text(line_of(row))
        )
    return table


def witness_text(row: Row) -> str:
    """output[3, 17]: 1.25 instead of 1.5."""
    found = row.get("witness", {})
    if found.get("candidate") is None or found.get("reference") is None:
        return found.get("output") or row["summary"]
    values = [number(found[side]) for side in ("candidate", "reference")]
    return f"{found['output']}: {values[0]} instead of {values[1]}"


def number(value: float | str) -> str:
    return f"{value:.6g}" if isinstance(value, float | int) else str(value)


def line_of(row: Row) -> str:
    return row.get("witness", {}).get("loc") or row.get("loc", "")
