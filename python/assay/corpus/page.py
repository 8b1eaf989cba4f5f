"""The page: one file with everything, which needs no network and no server.

Rows are few and small, and stand as they are. What belongs to one kernel (sources, the text of the
check, the script) is compressed in chunks that the browser unpacks when one is asked for.
"""

from __future__ import annotations

import base64
import itertools
import json
import math
import os
import re
import time
import zlib
from collections import Counter
from pathlib import Path

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from assay.corpus.folders import REFERENCE
from assay.corpus.outcome import VERDICTS, Row
from assay.corpus.table import OPEN, line_of, times, witness_text

HERE = Path(__file__).parent
CHUNK = 32  # kernels unpacked together
SOURCE = 256 * 1024  # characters shown of a source
COLORS = {
    "proved": "#2a9d5c",
    "refuted": "#d1383d",
    "approximation": "#2f9fb3",
    "unknown": "#e0a526",
    "unsupported": "#5b7fc7",
    "wrong input": "#a569bd",
    "crash": "#7a4b3a",
    "timeout": "#8a8f98",
    "memory": "#4d5259",
}
# Columns of the table, by their field in the page's rows.
COLUMNS = (
    "name",
    "level",
    "verdict",
    "class",
    "about",
    "findings",
    "seconds",
    "memory",
    "checked",
    "claimed",
)


def write_page(out: Path, title: str, rows: list[Row], folders: dict[str, Path], log: Path) -> None:
    """Errors: OSError."""
    chunks = [
        pack([detail(r, folders.get(r["name"]), log) for r in rows[start : start + CHUNK]])
        for start in range(0, len(rows), CHUNK)
    ]
    data = {
        "rows": [flat(r) for r in rows],
        "columns": COLUMNS,
        "chunk": CHUNK,
        "verdicts": [v for v in VERDICTS if any(r["verdict"] == v for r in rows)],
        "colors": COLORS,
        "figures": {k: json.loads(f.to_json()) for k, f in figures(rows).items()},
    }
    median, high = times(rows)
    parts = {
        "TITLE": escape(title),
        "ABOUT": escape(
            f"{len(rows):,} kernels, {time.strftime('%Y-%m-%d %H:%M')}; "
            f"median {median or '0'} s, 95 % within {high or '0'} s"
        ),
        "STYLE": (HERE / "page.css").read_text(),
        "PLOTLY": get_plotlyjs(),
        "SCRIPT": (HERE / "page.js").read_text(),
        "DATA": json.dumps(data, separators=(",", ":")).replace("<", "\\u003c"),
        "CHUNKS": "\n".join(
            f'<script type="text/plain" id="chunk{n}">{text}</script>'
            for n, text in enumerate(chunks)
        ),
    }
    # Every second piece is the name of a part; what parts hold is not looked at.
    pieces = re.split(r"@([A-Z]+)@", (HERE / "page.html").read_text())
    text = "".join(parts[p] if n % 2 else p for n, p in enumerate(pieces))
    # Whole or not at all: a page that is open must not be half of one.
    new = out.with_name(out.name + ".new")
    new.write_text(text, encoding="utf-8", errors="replace")
    os.replace(new, out)


def escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")


def flat(row: Row) -> list:
    """The fields of COLUMNS."""
    elements = row.get("elements", 0)
    about = witness_text(row) if row["verdict"] == "refuted" else row["cause"] or row["summary"]
    claimed = row.get("claimed_correct")
    return [
        row["name"],
        row["level"],
        row["verdict"],
        row["class"],
        about[:200],
        ", ".join(f for f in row.get("findings", []) if f != "note"),
        round(row["seconds"], 1),
        row.get("peak_memory_bytes", 0) >> 20,
        round(100 * row.get("checked", 0) / elements, 4) if elements else None,
        "" if claimed is None else "correct" if claimed else "incorrect",
    ]


def detail(row: Row, folder: Path | None, log: Path) -> dict:
    """What is shown of one kernel when it is opened."""
    phases = row.get("phases", {})
    facts = {
        "summary": row["summary"],
        "line": line_of(row),
        "elements": shares(row),
        "processor seconds": row.get("cpu_seconds", ""),
        "phases": ", ".join(f"{k} {s:.1f} s" for k, s in phases.items() if s >= 0.05),
        "key": row["key"],
    }
    return {
        "facts": {k: v for k, v in facts.items() if v},
        "text": row.get("text", ""),
        "errors": read(log.parent / row["errors"]) if row.get("errors") else "",
        "script": read(log.parent / row["script"]) if row.get("script") else "",
        "kernel": row["kernel"],
        "source": read(folder / row["kernel"]) if folder else "",
        "reference": read(folder / REFERENCE) if folder else "",
    }


def shares(row: Row) -> str:
    if not row.get("elements"):
        return ""
    return f"{row['elements']:,}, {row['checked']:,} looked at, {row['proved']:,} proved"


def read(file: Path) -> str:
    try:
        return file.read_text(errors="replace")[:SOURCE]
    except OSError:
        return ""


def pack(details: list[dict]) -> str:
    return base64.b64encode(zlib.compress(json.dumps(details).encode(), 9)).decode()


def figures(rows: list[Row]) -> dict[str, go.Figure]:
    return {
        "verdicts": styled(verdict_figure(rows), "verdicts"),
        "seconds": styled(time_figure(rows), "seconds a kernel"),
        "causes": styled(cause_figure(rows), "what kept kernels open, and classes of wrong ones"),
    }


def styled(figure: go.Figure, title: str) -> go.Figure:
    return figure.update_layout(
        title={"text": title, "font": {"size": 14}, "x": 0.01},
        template="plotly_white",
        barmode="stack",
        margin={"l": 10, "r": 10, "t": 36, "b": 10},
        font={"size": 12},
        showlegend=False,  # colours are those of the buttons below
        xaxis={"automargin": True},
        yaxis={"automargin": True},
    )


def verdict_figure(rows: list[Row]) -> go.Figure:
    """A bar a verdict, in parts by level."""
    counts = Counter((r["level"], r["verdict"]) for r in rows)
    present = [v for v in VERDICTS if any(r["verdict"] == v for r in rows)]
    levels = sorted({r["level"] for r in rows}, key=lambda n: (not n, n.zfill(4)))
    bars = [
        go.Bar(
            name=f"level {level}" if level else "without a level",
            x=present,
            y=[counts[level, v] for v in present],
            marker={"color": [COLORS[v] for v in present], "opacity": 1 - 0.25 * (n % 4)},
            text=[f"{counts[level, v]:,}" if counts[level, v] else "" for v in present],
        )
        for n, level in enumerate(levels)
    ]
    return go.Figure(bars)


def time_figure(rows: list[Row]) -> go.Figure:
    """Bins of a third of a factor of ten, so that seconds and minutes both are seen."""
    bins = Counter()
    for row in rows:
        if row["seconds"] > 0:
            bins[row["verdict"], math.floor(math.log10(row["seconds"]) * 3)] += 1
    if not bins:
        return go.Figure()
    low, high = min(b for _, b in bins), max(b for _, b in bins)
    steps = range(low, high + 1)
    edges = [f"{float(f'{10 ** (b / 3):.2g}'):g}" for b in range(low, high + 2)]
    names = [f"{a}–{b}" for a, b in itertools.pairwise(edges)]
    return go.Figure(
        [
            go.Bar(name=v, x=names, y=[bins[v, b] for b in steps], marker={"color": COLORS[v]})
            for v in VERDICTS
            if any(bins[v, b] for b in steps)
        ]
    )


def cause_figure(rows: list[Row], most: int = 12) -> go.Figure:
    counts = Counter(
        (r["verdict"], r["cause"]) for r in rows if r["verdict"] in (*OPEN, "refuted")
    ).most_common(most)
    shown = [(v, c or v, n) for (v, c), n in counts][::-1]
    axis = {"tickvals": list(range(len(shown)))}
    axis["ticktext"] = [short(escape(f"{v}: {c}" if c != v else v)) for v, c, _ in shown]
    figure = go.Figure(
        go.Bar(
            orientation="h",
            x=[n for _, _, n in shown],
            y=axis["tickvals"],
            customdata=[[v, c] for v, c, _ in shown],
            hovertext=[escape(f"{v}: {c}") for v, c, _ in shown],
            hoverinfo="text+x",
            marker={"color": [COLORS[v] for v, _, _ in shown]},
        )
    )
    return figure.update_layout(yaxis=axis)


def short(text: str, most: int = 48) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
