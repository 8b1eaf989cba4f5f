"""CUDA C++ source as tokens: which of them stand in device code, and what each operator binds.

No compiler: a lexer, bracket matching, and operands by precedence. It need not be right about all
of C++: an edit that does not compile is drawn again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

TOKEN = re.compile(
    r"""(?P<space>\s+)
  | (?P<comment>//(?:\\\n|[^\n])*|/\*.*?\*/)
  | (?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
  | (?P<number>0[xX][0-9a-fA-F]+[uUlL]*
      |(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][+-]?\d+)?[fFlL]?|\d+[uUlL]*)
  | (?P<name>[A-Za-z_]\w*)
  | (?P<mark><<<|>>>|<<=|>>=|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|::|.)""",
    re.VERBOSE | re.DOTALL,
)
BINARY = {"*": 13, "/": 13, "%": 13, "+": 12, "-": 12, "<<": 11, ">>": 11}
BINARY |= {"<": 10, ">": 10, "<=": 10, ">=": 10, "==": 9, "!=": 9, "&": 8, "^": 7, "|": 6}
BINARY |= {"&&": 5, "||": 4}
UNARY = {"-", "+", "!", "~", "*", "&", "++", "--"}
TYPE_NAMES = """void bool char short int long unsigned signed float double half auto const size_t
__half __half2 half2 __nv_bfloat16 __nv_bfloat162 scalar_t volatile __restrict__"""
VECTORS = {t + n for t in ("float", "int", "uint", "double") for n in "234"}
TYPES = set(TYPE_NAMES.split()) | VECTORS
KEYWORDS = {"return", "case", "else", "if", "for", "while", "do", "sizeof"}
OPEN, CLOSE = {"(": ")", "[": "]", "{": "}"}, {")", "]", "}"}


@dataclass(frozen=True)
class Token:
    kind: str  # name, number, string, mark, line (a whole preprocessor line)
    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Operation:
    """A binary operator and the tokens of its operands (half open ranges)."""

    at: int
    left: tuple[int, int]
    right: tuple[int, int]


def tokenize(text: str) -> list[Token]:
    """All tokens but white space and comments."""
    out, position, line_start = [], 0, True
    while position < len(text):
        if line_start and text[position] == "#":
            end = re.compile(r"(?:\\\n|[^\n])*").match(text, position).end()
            out.append(Token("line", text[position:end], position, end))
            position = end
            continue
        match = TOKEN.match(text, position)
        kind, position = match.lastgroup, match.end()
        if kind == "space":
            line_start = line_start or "\n" in match[0]
            continue
        if kind != "comment":
            out.append(Token(kind, match[0], match.start(), match.end()))
            line_start = False
    return out


class Source:
    """A file, its tokens, and for each token whether it stands in the body of device code."""

    def __init__(self, text: str):
        self.text = text
        self.tokens = tokenize(text)
        self.match = self._brackets()
        self.types = TYPES | {
            b.text
            for a, b in zip(self.tokens, self.tokens[1:], strict=False)
            if a.text in ("typename", "class", "struct", "using")
        }
        self.bodies = self._bodies()

    def __getitem__(self, index: int) -> str:
        return self.tokens[index].text if 0 <= index < len(self.tokens) else ""

    def span(self, first: int, last: int) -> tuple[int, int]:
        """Characters of the tokens [first, last)."""
        return self.tokens[first].start, self.tokens[last - 1].end

    def cut(self, first: int, last: int) -> str:
        start, end = self.span(first, last)
        return self.text[start:end]

    def line(self, position: int) -> int:
        return self.text.count("\n", 0, position) + 1

    def _brackets(self) -> dict[int, int]:
        match, stack = {}, []
        for k, token in enumerate(self.tokens):
            if token.kind != "mark":
                continue
            if token.text in OPEN:
                stack.append(k)
            elif token.text in CLOSE and stack:
                match[k] = stack.pop()
                match[match[k]] = k
        return match

    def _bodies(self) -> list[range]:
        """Token ranges of the bodies of __global__ and __device__ functions."""
        out: list[range] = []
        k = 0
        while k < len(self.tokens):
            if self[k] not in ("__global__", "__device__"):
                k += 1
                continue
            while k < len(self.tokens) and self[k] not in ("{", ";", "="):
                k = self.match.get(k, k) + 1 if self[k] == "(" else k + 1
            if self[k] == "{":
                out.append(range(k + 1, self.match.get(k, k)))
                k = self.match.get(k, k)
        return out

    @cached_property
    def inside(self) -> list[int]:
        """Indices of all tokens of device code, preprocessor lines left out."""
        return [k for body in self.bodies for k in body if self.tokens[k].kind != "line"]

    def is_type(self, k: int) -> bool:
        return self[k] in self.types or (self[k].endswith("_t") and self.tokens[k].kind == "name")

    def is_operand_end(self, k: int) -> bool:
        if self.tokens[k].kind in ("number", "string"):
            return True
        if self.tokens[k].kind == "name":
            return self[k] not in KEYWORDS and not self.is_type(k)
        return self[k] in (")", "]") and not self.is_cast(k)

    def is_cast(self, close: int) -> bool:
        """Does this ')' close a cast, as in (float)x?"""
        first = self.match.get(close)
        if self[close] != ")" or first is None or close - first < 2:
            return False
        inner = range(first + 1, close)
        if not all(self.is_type(k) or self[k] in ("*", "&", "::") for k in inner):
            return False
        return self.tokens[first - 1].kind != "name" or self[first - 1] in KEYWORDS

    @cached_property
    def angles(self) -> dict[int, int]:
        """Angle brackets of template arguments: both ways."""
        out = {}
        for k, token in enumerate(self.tokens):
            if token.text != "<" or k == 0 or self.tokens[k - 1].kind != "name":
                continue
            end = k + 1
            while end < len(self.tokens) and (
                self.tokens[end].kind in ("name", "number") or self[end] in ("::", ",", "*", "&")
            ):
                end += 1
            typed = self[k - 1].endswith("_cast") or any(self.is_type(j) for j in range(k + 1, end))
            if self[end] == ">" and (typed or self[end + 1] in ("(", "::")):
                out[k], out[end] = end, k
        return out

    def is_binary(self, k: int) -> bool:
        if self[k] not in BINARY or self.tokens[k].kind != "mark" or k in self.angles:
            return False
        if not self.is_operand_end(k - 1):
            return False
        # `T* p` and `T& r`: a declarator.
        return not (self[k] in "*&" and self[k + 1] in ("__restrict__", ")", ",", ">"))

    def operand_right(self, k: int) -> int:
        """End of the unary expression that starts at token k."""
        while self[k] in UNARY or (self[k] == "(" and self.is_cast(self.match.get(k, k))):
            k = self.match[k] + 1 if self[k] == "(" else k + 1
        k = self.match.get(k, k) + 1
        while True:
            if self[k] in ("(", "[", "{"):
                k = self.match.get(k, k) + 1
            elif self[k] in (".", "->", "::"):
                k += 2
            elif self[k] in ("++", "--"):
                k += 1
            elif k in self.angles and self[k] == "<":
                k = self.angles[k] + 1
            else:
                return k

    def operand_left(self, k: int) -> int:
        """Start of the unary expression whose last token is k."""
        while True:
            if self[k] in (")", "]", "}") and not self.is_cast(k):
                k = self.match.get(k, k)
                before = self[k - 1]
                called = self.tokens[k - 1].kind == "name" and before not in KEYWORDS
                if called or before in (")", "]") or (k - 1) in self.angles:
                    k -= 1
                    continue
            elif k in self.angles and self[k] == ">":
                k = self.angles[k] - 1
                continue
            if self[k - 1] in (".", "->", "::"):
                k -= 2
                continue
            break
        while True:
            if self.is_cast(k - 1):
                k = self.match[k - 1]
            elif self[k - 1] in UNARY and not self.is_operand_end(k - 2):
                k -= 1
            else:
                return k

    @cached_property
    def operations(self) -> list[Operation]:
        """Every binary operation of device code."""
        out = []
        for k in self.inside:
            if not self.is_binary(k):
                continue
            level = BINARY[self[k]]
            end = self.operand_right(k + 1)
            while self.is_binary(end) and BINARY[self[end]] > level:
                end = self.operand_right(end + 1)
            start = self.operand_left(k - 1)
            while self.is_binary(start - 1) and BINARY[self[start - 1]] >= level:
                start = self.operand_left(start - 2)
            out.append(Operation(k, (start, k), (k + 1, end)))
        return out

    def commas(self, first: int, last: int, mark: str = ",") -> list[tuple[int, int]]:
        """The parts of tokens [first, last) between commas (or `mark`) outside of brackets."""
        parts, start, k = [], first, first
        while k < last:
            if self[k] == mark:
                parts.append((start, k))
                start = k + 1
            if self[k] in OPEN or (k in self.angles and self[k] == "<"):
                k = self.match.get(k, self.angles.get(k, k))
            k += 1
        return [*parts, (start, last)] if start < last or parts else []

    def statement_start(self, k: int) -> int:
        while k > 0 and self[k - 1] not in (";", "{", "}") and self.tokens[k - 1].kind != "line":
            k -= 1
        return k

    def statement_end(self, k: int) -> int:
        """End of the statement that starts at token k (a block, or up to its ';')."""
        if self[k] in ("for", "while", "if"):
            return self.statement_end(self.match.get(k + 1, k + 1) + 1)
        if self[k] == "{":
            return self.match.get(k, k) + 1
        while k < len(self.tokens) and self[k] != ";":
            k = self.match.get(k, k) + 1 if self[k] in OPEN else k + 1
        return k + 1
