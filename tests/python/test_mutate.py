"""tests/mutants/mutate.py: places, operands and draws on small sources."""

import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS / "mutants"))
from cuda_source import Source  # noqa: E402
from mutate import draws  # noqa: E402
from operators import OPERATORS  # noqa: E402

KERNEL = """
#define TILE 16
#define UNUSED 3
// a < b + 1
template <typename scalar_t>
__global__ void kernel(const scalar_t* __restrict__ x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;  // i < n
  if (i >= n) return;
  %s
}
void host(int n) { int m = n + 7; if (n < 3) m = 2; }
"""


def edits(operator: str, body: str) -> set[tuple[str, str]]:
    """(before, after) of every variant of an operator in the line `body`."""
    text = KERNEL % body
    line = text[: text.index(body)].count("\n") + 1
    last = line + body.count("\n")
    found = set()
    for site in OPERATORS[operator](Source(text)):
        for edit in site:
            if line <= text.count("\n", 0, edit.start) + 1 <= last:
                found.add((text[edit.start : edit.end], edit.after))
    return found


CASES = [
    ("nudge-constant", "y[i] = 0.5f;", {("0.5f", f"{v}f") for v in ("0.505", "0.495", "0.55")}),
    ("nudge-constant", 'printf("1 + 2");  /* 3 */', set()),
    ("nudge-constant", "y[i] = 0x0fu;", {("0x0fu", "0x10u"), ("0x0fu", "0xeu")}),
    ("drop-term", "y[i] = a + b * c;", {("a + b * c", "a"), ("a + b * c", "b * c"),
                                        ("b * c", "b"), ("b * c", "c")}),
    ("drop-term", "y[i] = (float)x[i] / n;", {("(float)x[i] / n", "(float)x[i]")}),
    ("drop-term", "const float* p = x;", set()),
    ("drop-term", "y[i] = -x[i] * f(a, b).z;", {("-x[i] * f(a, b).z", "-x[i]"),
                                                ("-x[i] * f(a, b).z", "f(a, b).z")}),
    ("drop-term", "y[i] = static_cast<float>(n) - (scalar_t)2;",
     {("static_cast<float>(n) - (scalar_t)2", "static_cast<float>(n)")}),
    ("drop-guard", "if (i < n && i > 0) y[i] = 0;",
     {("i < n && i > 0", "true"), ("i < n && i > 0", "i < n"), ("i < n && i > 0", "i > 0")}),
    ("drop-guard", "if (i >= n) { continue; }", {("i >= n", "false")}),
    ("swap-operands", "y[i] = a - b;", {("a - b", "b - (a)")}),
    ("swap-operands", "y[i] = fmaxf(a, b);", set()),
    ("swap-operands", "y[i] = powf(a, b);", {("a, b", "b, a")}),
    ("shift-index", "float t[4]; t[1] = x[i];",
     {("1", "(1) + 1"), ("1", "(1) - 1"), ("i", "(i) + 1"), ("i", "(i) - 1")}),
    ("wrong-start", "float s = 0.0f; s += x[i];", {("0.0f", "1")}),
    ("wrong-start", "float s = -INFINITY; s = f(s);",
     {("-INFINITY", "0"), ("-INFINITY", "INFINITY")}),
    ("wrong-start", "float s = 0.0f; y[i] = s;", set()),
    ("drop-sync", "__syncthreads();", {("__syncthreads()", "")}),
    ("max-for-min", "y[i] = fmaxf(a, 0.f);", {("fmaxf", "fminf")}),
    ("plain-assignment", "s += x[i];", {("+=", "=")}),
    ("off-by-one-relation", "y[i] = a < b ? a : f<float>(b);", {("<", "<=")}),
    ("wrong-axis", "y[i] = threadIdx.y;", {("y", "x"), ("threadIdx", "blockIdx")}),
    ("wrong-axis", "for (int k = 0; k < n; k++) y[k] = 0;", {("k++", "k += 2")}),
    ("drop-step", "for (int o = 16; o > 0; o >>= 1) s += y[o];", {("16", "(16) / 2"), ("0", "1")}),
    ("drop-step", "for (int o = 1; o < n; o <<= 1) s += y[o];", {("n", "(n) / 2")}),
    ("drop-step", "for (int o = 1; o < n; ++o) s += y[o];", set()),
]  # fmt: skip


@pytest.mark.parametrize(("operator", "body", "expected"), CASES)
def test_places_of_an_operator(operator, body, expected):
    assert edits(operator, body) == expected


def test_every_operator_has_a_case():
    assert {case[0] for case in CASES} == set(OPERATORS)


def test_draws_are_distinct_repeatable_and_in_device_code():
    text = KERNEL % "y[i] = x[i] * TILE;"
    first = list(draws(text, 1, "k"))
    assert first == list(draws(text, 1, "k"))
    assert first != list(draws(text, 2, "k"))
    texts = [m.text for m in first]
    assert len(set(texts)) == len(texts) > 20
    assert text not in texts
    host = text[text.index("void host") :]
    assert all(t.endswith(host) for t in texts)
    assert all("// a < b + 1" in t and "// i < n" in t for t in texts)
    defines = {line for t in texts for line in t.splitlines() if line.startswith("#")}
    assert defines == {
        "#define TILE 16", "#define TILE 17", "#define TILE 15", "#define UNUSED 3",
    }  # fmt: skip


def test_the_kernels_of_the_runner_exist():
    from run_mutants import KERNELS, PAIRS

    names = [name for pair in KERNELS.values() for name in pair]
    assert len(set(names)) == 20
    assert all((PAIRS / name / "right.cu").is_file() for name in names)
