"""What is seen while a corpus runs: a bar on a terminal, else a line a kernel."""

from __future__ import annotations

from collections import Counter
from types import TracebackType

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from assay.corpus.outcome import VERDICTS, Row
from assay.corpus.table import COLORS, witness_text


def row_line(row: Row, done: int, total: int) -> Text:
    line = Text(f"{done:>{len(str(total))}}/{total} ")
    line.append(f"{row['verdict']:13}", style=COLORS.get(row["verdict"], ""))
    line.append(f" {row['seconds']:7.1f} s  {row['name']}")
    detail = witness_text(row) if row["verdict"] == "refuted" else row["cause"]
    return line.append(f"  {row['class']} {detail}".rstrip(), style="dim")


class Shown:
    """Context of a session; `add` after each kernel."""

    def __init__(self, out: Console, rows: list[Row], total: int, verbose: bool) -> None:
        self.out = out
        self.counts = Counter(r["verdict"] for r in rows)
        self.done = len(rows)
        self.total = total
        # Without a terminal nothing would be seen of a bar; on one, what is wrong stands above it.
        self.verbose = verbose or not out.is_terminal
        self.bar = Progress(
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TextColumn("{task.description}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=out,
            speed_estimate_period=3600,  # seconds; kernels differ much
            disable=not out.is_terminal,
        )

    def __enter__(self) -> Shown:
        self.bar.start()
        self.task = self.bar.add_task(self.words(), total=self.total - self.done)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.bar.stop()

    def words(self) -> str:
        return "  ".join(f"{self.counts[v]} {v}" for v in VERDICTS if self.counts[v])

    def add(self, row: Row) -> None:
        self.counts[row["verdict"]] += 1
        self.done += 1
        if self.verbose or row["verdict"] == "refuted":
            self.out.print(row_line(row, self.done, self.total), soft_wrap=True)
        self.bar.update(self.task, advance=1, description=self.words())
