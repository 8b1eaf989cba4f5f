"""Mutation operators: each finds its places in the device code of a file.

A place is a list of edits, of which one is drawn; OPERATORS at the end names them all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from cuda_source import Source

AXES = {"x": "y", "y": "x", "z": "x"}
BUILTIN = ("threadIdx", "blockIdx", "blockDim", "gridDim")
TWINS = {"tx": "ty", "row": "col", "rows": "cols"}
TWINS |= {b: a for a, b in TWINS.items()}
SWAPPED = {"-", "/", "%", "<", ">", "<=", ">=", "<<", ">>"}
RELATIONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
COMPOUND = {"+=", "-=", "*=", "/=", "%=", "|=", "&=", "^=", "<<=", ">>="}
EXTREMES = {"fmaxf": "fminf", "fmax": "fmin", "max": "min", "atomicMax": "atomicMin"}
EXTREMES |= {"__hmax": "__hmin", "__hmax2": "__hmin2"}
EXTREMES |= {b: a for a, b in EXTREMES.items()}
# Functions that do not care for the order of their arguments (fmaf: of the first two, which is
# rare enough), and those whose exchange says nothing.
COMMUTATIVE = {*EXTREMES, "__hadd", "__hmul", "__hadd2", "__hmul2", "fmaf", "__fmaf_rn"}
SYNCS = {"__syncthreads", "__syncwarp"}


@dataclass(frozen=True)
class Edit:
    """Characters [start, end) become `after`."""

    start: int
    end: int
    after: str


Sites = Iterator[list[Edit]]  # a place: its variants


def nudge_constant(s: Source) -> Sites:
    """A literal: an integer by one, a fraction by one or ten per cent."""
    for token in (s.tokens[k] for k in s.inside if s.tokens[k].kind == "number"):
        if variants := nudged(token.text):
            yield [Edit(token.start, token.end, v) for v in variants]
    used = {s[k] for k in s.inside}
    for name, start, literal in file_constants(s):
        if name in used and (variants := nudged(literal)):
            yield [Edit(start, start + len(literal), v) for v in variants]


def file_constants(s: Source) -> Iterator[tuple[str, int, str]]:
    """Name, position and text of the literal of each #define and constexpr of the file."""
    literal = r"\(?(-?[\d.][\w.]*(?:[eE][-+]\d+f?)?)\)?"
    for pattern in (
        rf"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+{literal}[ \t]*(?://.*)?$",
        rf"^(?:static[ \t]+)?(?:constexpr|const)[ \t]+\w+[ \t]+(\w+)[ \t]*=[ \t]*{literal};",
    ):
        for match in re.finditer(pattern, s.text, re.MULTILINE):
            yield match[1], match.start(2), match[2]


def nudged(literal: str) -> list[str]:
    if re.fullmatch(r"0[xX].*|\d+[uUlL]*", literal):
        digits, suffix = re.fullmatch(r"(0[xX][0-9a-fA-F]+|\d+)([uUlL]*)", literal).groups()
        value = int(digits, 0) if digits.lower().startswith("0x") else int(digits)
        show = hex if digits.lower().startswith("0x") else str
        return [show(v) + suffix for v in (value + 1, value - 1) if v >= 0]
    match = re.fullmatch(r"(-?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)([fFlL]?)", literal)
    if not match or float(match[1]) == 0:
        return []
    out = []
    for factor in (1.01, 0.99, 1.1):
        number = repr(float(f"{float(match[1]) * factor:.12g}"))
        out.append(number + match[2])
    return out


def drop_term(s: Source) -> Sites:
    """One operand of a sum, a difference, a product or a quotient."""
    for o in s.operations:
        if s[o.at] not in ("+", "-", "*", "/"):
            continue
        start, end = s.span(o.left[0], o.right[1])
        kept = [s.cut(*o.left)]
        if s[o.at] in ("+", "*"):
            kept.append(s.cut(*o.right))
        yield [Edit(start, end, text) for text in kept]


def drop_guard(s: Source) -> Sites:
    """A condition that always lets through; one side of && or ||."""
    for k in s.inside:
        if s[k] != "if" or s[k + 1] != "(" or k + 1 not in s.match:
            continue
        close = s.match[k + 1]
        body = s[close + 2] if s[close + 1] == "{" else s[close + 1]
        leaves = body in ("return", "continue", "break")
        start, end = s.span(k + 2, close)
        yield [Edit(start, end, "false" if leaves else "true")]
    for o in s.operations:
        if s[o.at] in ("&&", "||"):
            start, end = s.span(o.left[0], o.right[1])
            yield [Edit(start, end, s.cut(*part)) for part in (o.left, o.right)]


def swap_operands(s: Source) -> Sites:
    """Both operands of an operator, or two neighbouring arguments, exchanged."""
    for o in s.operations:
        if s[o.at] in SWAPPED:
            start, end = s.span(o.left[0], o.right[1])
            yield [Edit(start, end, f"{s.cut(*o.right)} {s[o.at]} ({s.cut(*o.left)})")]
    for k in s.inside:
        is_call = s[k + 1] == "(" and s.tokens[k].kind == "name" and s.is_operand_end(k)
        if not is_call or s[k] in COMMUTATIVE | {"if", "for", "while"} or k + 1 not in s.match:
            continue
        parts = s.commas(k + 2, s.match[k + 1])
        edits = []
        for a, b in pairwise(parts):
            start, end = s.span(a[0], b[1])
            edits.append(Edit(start, end, f"{s.cut(*b)}, {s.cut(*a)}"))
        if edits:
            yield edits


def shift_index(s: Source) -> Sites:
    """A subscript off by one (not the size of a declared array)."""
    for k in s.inside:
        if s[k] != "[" or k not in s.match or s.match[k] == k + 1:
            continue
        first = s.statement_start(k)
        declared = s[first] in ("__shared__", "extern") or s.is_type(first)
        if declared and "=" not in [s[j] for j in range(first, k)]:
            continue
        start, end = s.span(k + 1, s.match[k])
        index = s.text[start:end]
        yield [Edit(start, end, f"({index}) + 1"), Edit(start, end, f"({index}) - 1")]


def wrong_start(s: Source) -> Sites:
    """The initial value of a variable that is updated later in the same function."""
    for body in s.bodies:
        for k in body:
            if s[k] != "=" or s.tokens[k - 1].kind != "name" or in_for_head(s, k):
                continue
            if not s.is_type(s.statement_start(k)):
                continue
            if not updated(s, s[k - 1], range(k + 1, body.stop)):
                continue
            end = next((e for a, e in s.commas(k + 1, s.statement_end(k) - 1) if a == k + 1), None)
            if end is None:
                continue
            start, stop = s.span(k + 1, end)
            value = s.text[start:stop]
            zero = re.fullmatch(r"0(\.0*)?[fF]?", value)
            variants = ["1" if zero else "0"]
            if "INFINITY" in value or "FLT_MAX" in value:
                variants.append(value[1:] if value.startswith("-") else f"-{value}")
            yield [Edit(start, stop, v) for v in variants]


def updated(s: Source, name: str, where: range) -> bool:
    later = [k for k in where if s[k] == name and s[k - 1] not in (".", "->")]
    return any(s[k + 1] in COMPOUND | {"=", "++", "--"} for k in later)


def in_for_head(s: Source, k: int) -> bool:
    while k > 0 and s[k] not in ("{", "}"):
        k -= 1
        if s[k] == ")" and k in s.match:
            k = s.match[k]
        elif s[k] == "(":
            return s[k - 1] == "for"
    return False


def drop_sync(s: Source) -> Sites:
    """__syncthreads() or __syncwarp(), removed."""
    for k in s.inside:
        method = s[k] == "sync" and s[k - 1] == "." and s[k + 1] == "("
        if (s[k] in SYNCS or method) and s[k + 1] == "(":
            first = k - 2 if method else k
            start, end = s.span(first, s.match[k + 1] + 1)
            yield [Edit(start, end, "")]


def max_for_min(s: Source) -> Sites:
    """max and min exchanged."""
    for k in s.inside:
        if s[k] in EXTREMES and s[k + 1] == "(":
            yield [Edit(*s.span(k, k + 1), EXTREMES[s[k]])]


def plain_assignment(s: Source) -> Sites:
    """+= and its kin become =."""
    for k in s.inside:
        if s[k] in COMPOUND:
            yield [Edit(*s.span(k, k + 1), "=")]


def off_by_one_relation(s: Source) -> Sites:
    """< for <=, == for !=."""
    for o in s.operations:
        if s[o.at] in RELATIONS:
            yield [Edit(*s.span(o.at, o.at + 1), RELATIONS[s[o.at]])]


def wrong_axis(s: Source) -> Sites:
    """x for y: of a built-in index, of a pair of names; a loop whose stride is one too long."""
    names = {s[k] for k in s.inside}
    for k in s.inside:
        if s[k] in BUILTIN and s[k + 1] == "." and s[k + 2] in AXES:
            edits = [Edit(*s.span(k + 2, k + 3), AXES[s[k + 2]])]
            if s[k].endswith("Idx"):
                other = "blockIdx" if s[k] == "threadIdx" else "threadIdx"
            else:
                other = "gridDim" if s[k] == "blockDim" else "blockDim"
            edits.append(Edit(*s.span(k, k + 1), other))
            yield edits
        elif TWINS.get(s[k]) in names and s[k - 1] not in (".", "->"):
            yield [Edit(*s.span(k, k + 1), TWINS[s[k]])]
        elif s[k] == "for" and k + 1 in s.match:
            parts = s.commas(k + 2, s.match[k + 1], ";")
            if len(parts) == 3 and parts[2][0] < parts[2][1]:
                yield from wrong_stride(s, *parts[2])


def wrong_stride(s: Source, first: int, last: int) -> Sites:
    head = s.cut(first, last)
    start, end = s.span(first, last)
    if step := re.fullmatch(r"(\w+)\+\+|\+\+(\w+)", head):
        yield [Edit(start, end, f"{step[1] or step[2]} += 2")]
    elif step := re.fullmatch(r"(\w+)\s*\+=\s*(.+)", head, re.DOTALL):
        yield [
            Edit(start, end, f"{step[1]} += {step[2]} + 1"),
            Edit(start, end, f"{step[1]} += 2 * ({step[2]})"),
        ]


def drop_step(s: Source) -> Sites:
    """One step less of a loop that halves or doubles its variable (trees, shuffles)."""
    for k in s.inside:
        if s[k] != "for" or k + 1 not in s.match:
            continue
        parts = s.commas(k + 2, s.match[k + 1], ";")
        if len(parts) != 3 or any(a >= b for a, b in parts):
            continue
        step = s.cut(*parts[2])
        if not re.search(r"(<<|>>)=\s*1$|[*/]=\s*2$", step):
            continue
        edits = []
        starts = [j for j in range(*parts[0]) if s[j] == "="]
        if starts and re.search(r">>=|/=", step):
            start, end = s.span(starts[0] + 1, parts[0][1])
            edits.append(Edit(start, end, f"({s.text[start:end]}) / 2"))
        bounds = [o for o in s.operations if parts[1][0] <= o.at < parts[1][1]]
        for o in bounds:
            start, end = s.span(*o.right)
            bound = s.text[start:end]
            if s[o.at] in (">", ">=") and re.fullmatch(r"\d+", bound):
                edits.append(Edit(start, end, str(int(bound) * 2 or 1)))
            elif s[o.at] in ("<", "<="):
                edits.append(Edit(start, end, f"({bound}) / 2"))
        if edits:
            yield edits


OPERATORS: dict[str, Callable[[Source], Sites]] = {
    "nudge-constant": nudge_constant,
    "drop-term": drop_term,
    "drop-guard": drop_guard,
    "swap-operands": swap_operands,
    "shift-index": shift_index,
    "wrong-start": wrong_start,
    "drop-sync": drop_sync,
    "max-for-min": max_for_min,
    "plain-assignment": plain_assignment,
    "off-by-one-relation": off_by_one_relation,
    "wrong-axis": wrong_axis,
    "drop-step": drop_step,
}
