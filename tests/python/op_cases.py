"""Random arguments for every row of src/tensor/ops.def, keyed by "op.overload"."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import torch

F32, F64, F16, BF16 = torch.float32, torch.float64, torch.float16, torch.bfloat16
I64, I32, U8, BOOL = torch.int64, torch.int32, torch.uint8, torch.bool
FLOATS = [F32, F64, F16, BF16]
INF = float("inf")

Args = tuple[list[Any], dict[str, Any]]
Generator = Callable[["Gen"], Args]


class Gen:
    """Random shapes and tensors in random layouts (transposed, sliced, expanded)."""

    def __init__(self, seed: int, dtype: torch.dtype = F32) -> None:
        self.rng = random.Random(seed)
        self.torch = torch.Generator().manual_seed(seed)
        self.dtype = dtype

    def int(self, low: int, high: int) -> int:
        return self.rng.randint(low, high)

    def flag(self) -> bool:
        return self.rng.random() < 0.5

    def pick(self, *items: Any) -> Any:
        return self.rng.choice(items)

    def shape(self, low: int = 0, high: int = 4, most: int = 5) -> list[int]:
        return [self.int(1, most) for _ in range(self.int(low, high))]

    def values(
        self, shape: list[int], dtype: torch.dtype, low: float, high: float, ties: bool
    ) -> torch.Tensor:
        if dtype == BOOL:
            return torch.randint(0, 2, shape, generator=self.torch).bool()
        if not dtype.is_floating_point:
            return torch.randint(int(low), int(high) + 1, shape, generator=self.torch).to(dtype)
        t = torch.rand(shape, generator=self.torch, dtype=F64) * (high - low) + low
        return (t.round() if ties else t).to(dtype)

    def t(
        self,
        shape: list[int],
        low: float = -3,
        high: float = 3,
        dtype: torch.dtype | None = None,
        ties: bool = False,
        expand: bool = True,
    ) -> torch.Tensor:
        dtype = dtype or self.dtype
        rank = len(shape)
        layout = self.pick("plain", "permuted", "sliced", "expanded" if expand else "plain")
        if layout == "permuted" and rank > 1:
            order = list(range(rank))
            self.rng.shuffle(order)
            base = self.values([shape[k] for k in order], dtype, low, high, ties)
            return base.permute([order.index(k) for k in range(rank)])
        if layout == "sliced" and rank > 0:
            d = self.int(0, rank - 1)
            big = list(shape)
            big[d] = 2 * shape[d] + 3
            base = self.values(big, dtype, low, high, ties)
            return base.narrow(d, 2, 2 * shape[d]).unflatten(d, (shape[d], 2)).select(d + 1, 0)
        if layout == "expanded" and rank > 0:
            d = self.int(0, rank - 1)
            small = list(shape)
            small[d] = 1
            return self.values(small, dtype, low, high, ties).expand(shape)
        return self.values(shape, dtype, low, high, ties)

    def operands(self, n: int, low: float = -3, high: float = 3, **k: Any) -> list[torch.Tensor]:
        """n tensors whose shapes broadcast."""
        full = self.shape(0, 3)
        out = []
        for _ in range(n):
            shape = [1 if self.rng.random() < 0.2 else d for d in full]
            out.append(
                self.t(shape[self.int(0, len(shape)) if self.flag() else 0 :], low, high, **k)
            )
        return out

    def dims(self, rank: int) -> list[int]:
        if rank == 0:
            return []
        chosen = self.rng.sample(range(rank), self.int(1, rank))
        return [d - rank if self.flag() else d for d in chosen]

    def dim(self, rank: int) -> int:
        return self.int(-max(rank, 1), max(rank, 1) - 1)


CASES: dict[str, Generator] = {}
DTYPES: dict[str, list[torch.dtype]] = {}  # what self.dtype runs over; default: FLOATS
LOOSE: dict[str, float] = {}  # factor on the tolerance of float32 and float64
# Outputs that are float32 on CUDA where PyTorch's CPU kernels give half types.
CUDA_WIDE = {"native_layer_norm": (1, 2)}
# Saved statistics in evaluation: empty on the CPU, on CUDA what was normalized by (arguments 3 and
# 4, epsilon last).
CUDA_SAVES = (
    "native_batch_norm",
    "_native_batch_norm_legit",
    "_native_batch_norm_legit_functional",
    "_native_batch_norm_legit_no_training",
)
# Operators that update running statistics (arguments 3 and 4): further outputs of the step.
UPDATES = ("batch_norm", "native_batch_norm", "_native_batch_norm_legit")


def case(*names: str, dtypes: list[torch.dtype] | None = None, loose: float = 1) -> Callable:
    def add(f: Generator) -> Generator:
        for name in names:
            CASES[name] = f
            if dtypes:
                DTYPES[name] = dtypes
            if loose != 1:
                LOOSE[name] = loose
        return f

    return add


# ---- elementwise, one tensor ----

UNARY = {
    "exp exp2 expm1 erf erfc sin cos atan sinh cosh tanh asinh sigmoid silu mish": (-3, 3),
    "hardswish hardsigmoid log_sigmoid selu relu relu6 abs absolute neg negative": (-8, 8),
    "square positive sign sgn floor ceil trunc fix round frac signbit": (-4, 4),
    "log log2 log10 sqrt rsqrt reciprocal": (0.1, 9),
    "log1p": (-0.7, 5),
    "tan": (-1.2, 1.2),
    "asin acos erfinv atanh": (-0.9, 0.9),
    "acosh": (1.1, 9),
    "lgamma": (0.3, 6),
    "isnan isinf isfinite logical_not": (-1, 1),
}
for _names, (_low, _high) in UNARY.items():
    for _name in _names.split():
        CASES[_name] = lambda g, low=_low, high=_high: ([g.t(g.shape(), low, high)], {})
for _name in ["neg", "abs", "sign", "square", "sgn", "relu"]:
    DTYPES[_name] = [*FLOATS, I64, I32]
for _name in ["exp", "sqrt", "sigmoid", "tanh", "logical_not", "isnan", "isinf", "isfinite"]:
    DTYPES[_name] = [*FLOATS, I64, U8, BOOL]


@case("isnan", "isinf", "isfinite", "nan_to_num")
def _special(g: Gen) -> Args:
    x = g.t([4, 5], -2 if g.dtype != U8 else 0, expand=False)
    for v in (INF, -INF, float("nan")) if g.dtype.is_floating_point else ():
        x[g.int(0, 3), g.int(0, 4)] = v
    return [x], {}


@case("bitwise_not", dtypes=[I64, I32, U8, BOOL])
def _bitwise_not(g: Gen) -> Args:
    return [g.t(g.shape(), 0, 100)], {}


@case("gelu")
def _gelu(g: Gen) -> Args:
    return [g.t(g.shape(), -4, 4)], {"approximate": g.pick("none", "tanh")}


@case("round.decimals")
def _round(g: Gen) -> Args:
    return [g.t(g.shape())], {"decimals": 0}


def _with(low: float, high: float, **kwargs: Any) -> Generator:
    return lambda g: ([g.t(g.shape(), low, high)], {k: v(g) for k, v in kwargs.items()})


CASES["softplus"] = _with(-9, 9, beta=lambda g: g.pick(1, 2.0), threshold=lambda g: g.pick(20, 3))
CASES["leaky_relu"] = _with(-3, 3, negative_slope=lambda g: g.pick(0.01, 0.2))
CASES["elu"] = _with(
    -3, 3, alpha=lambda g: g.pick(1, 0.7), scale=lambda g: 1.3, input_scale=lambda g: g.pick(1, 2)
)
CASES["celu"] = _with(-3, 3, alpha=lambda g: g.pick(1.0, 0.7))
CASES["softshrink"] = _with(-2, 2, lambd=lambda g: 0.5)
CASES["hardshrink"] = _with(-2, 2, lambd=lambda g: 0.5)
CASES["logit"] = _with(0.05, 0.95, eps=lambda g: g.pick(None, 0.1))
CASES["hardtanh"] = _with(-3, 3, min_val=lambda g: -1, max_val=lambda g: g.pick(1, 1.5))
CASES["threshold"] = _with(-2, 2, threshold=lambda g: 0.25, value=lambda g: 7)


@case("prelu")
def _prelu(g: Gen) -> Args:
    x = g.t(g.shape(2, 4))
    return [x, g.t([g.pick(1, x.shape[1])])], {}


@case("_prelu_kernel")
def _prelu_kernel(g: Gen) -> Args:
    x = g.t([3, 4, 2])
    return [x, g.t([1, 4, 1])], {}


@case("dropout", "feature_dropout", "alpha_dropout")
def _dropout(g: Gen) -> Args:
    return [g.t(g.shape(2, 3)), *g.pick((0.0, True), (0.3, False))], {}


@case("native_dropout")
def _native_dropout(g: Gen) -> Args:
    return [g.t(g.shape()), *g.pick((0.0, True), (0.3, False), (1.0, True))], {}


# ---- elementwise, several tensors ----

ANY = [*FLOATS, I64, I32, U8]


def _pair(low: float, high: float, **kwargs: Any) -> Generator:
    def f(g: Gen) -> Args:
        a, b = g.operands(2, low, high)
        if g.rng.random() < 0.3:  # promotion: another dtype on one side
            b = g.t(list(b.shape), max(low, 1), high, dtype=g.pick(F32, F64, I64))
        return [a, b], {k: v(g) for k, v in kwargs.items()}

    return f


def _scalar(low: float, high: float, *scalars: Any, **kwargs: Any) -> Generator:
    return lambda g: (
        [g.t(g.shape(), low, high), g.pick(*scalars)],
        {k: v(g) for k, v in kwargs.items()},
    )


def _alpha(g: Gen) -> Any:
    return g.pick(1, 2, 0.5 if g.dtype.is_floating_point else 3)


for _name in ["add", "sub", "subtract", "rsub"]:
    CASES[f"{_name}.Tensor"] = lambda g: (g.operands(2, 0, 9), {"alpha": _alpha(g)})
    CASES[f"{_name}.Scalar"] = _scalar(0, 9, 2, 1.7, alpha=lambda g: g.pick(1, 2))
    DTYPES[f"{_name}.Tensor"] = DTYPES[f"{_name}.Scalar"] = ANY
for _name in ["mul", "multiply", "div", "divide", "true_divide"]:
    CASES[f"{_name}.Tensor"] = _pair(1, 9)
    CASES[f"{_name}.Scalar"] = _scalar(1, 9, 2, 0.3)
    DTYPES[f"{_name}.Tensor"] = DTYPES[f"{_name}.Scalar"] = ANY
DTYPES["mul.Tensor"] = [*ANY, BOOL]
for _name in ["maximum", "minimum", "max.other", "min.other", "fmax", "fmin"]:
    CASES[_name] = _pair(0, 9)
    DTYPES[_name] = [*ANY, BOOL]
for _name in ["atan2", "hypot", "logaddexp", "copysign.Tensor", "xlogy.Tensor"]:
    CASES[_name] = lambda g: (g.operands(2, 0.2, 4), {})
CASES["copysign.Scalar"] = _scalar(-3, 3, -2, 1.5)
CASES["xlogy.Scalar_Other"] = _scalar(-3, 3, 2, 1.5)


def _division(g: Gen) -> tuple[torch.Tensor, torch.Tensor]:
    """Operands whose quotient is no near-integer: floor and trunc are not at a jump."""
    if not g.dtype.is_floating_point:
        low = 0 if g.dtype == U8 else -40
        b = g.t([4, 5], 1, 7)
        return g.t([4, 5], low, 40), b if g.dtype == U8 or g.flag() else -b
    q = g.t([4, 5], -6, 5, dtype=F64, ties=True) + 0.25 + 0.5 * torch.rand([4, 5], dtype=F64)
    b = torch.tensor(2.0) ** g.t([4, 5], -1, 2, dtype=F64, ties=True)
    b = torch.where(g.t([4, 5], dtype=BOOL), b, -b)
    return (q.to(g.dtype) * b.to(g.dtype)).to(g.dtype), b.to(g.dtype)


for _name in ["floor_divide", "fmod.Tensor", "remainder.Tensor"]:
    CASES[_name] = lambda g: (list(_division(g)), {})
    DTYPES[_name] = ANY
for _name in ["floor_divide.Scalar", "fmod.Scalar", "remainder.Scalar"]:
    CASES[_name] = lambda g: ([_division(g)[0], g.pick(2, 4)], {})
    DTYPES[_name] = ANY
CASES["div.Tensor_mode"] = lambda g: (
    list(_division(g)),
    {"rounding_mode": g.pick("floor", "trunc", None)},
)
CASES["div.Scalar_mode"] = lambda g: (
    [_division(g)[0], g.pick(2, 4)],
    {"rounding_mode": g.pick("floor", "trunc")},
)
DTYPES["div.Tensor_mode"] = DTYPES["div.Scalar_mode"] = ANY

for _name in ["eq", "ne", "lt", "le", "gt", "ge"]:
    CASES[f"{_name}.Tensor"] = lambda g: (g.operands(2, 0, 4, ties=True), {})
    CASES[f"{_name}.Scalar"] = lambda g: (
        [g.t(g.shape(), 0, 4, ties=True), g.pick(2, 1.0, 0.1)],
        {},
    )
    DTYPES[f"{_name}.Tensor"] = DTYPES[f"{_name}.Scalar"] = [*ANY, BOOL]
for _name in ["logical_and", "logical_or", "logical_xor"]:
    CASES[_name] = _pair(0, 1)
    DTYPES[_name] = [F32, I64, BOOL]
for _name in ["bitwise_and", "bitwise_or", "bitwise_xor", "__and__", "__or__", "__xor__"]:
    CASES[f"{_name}.Tensor"] = lambda g: (g.operands(2, 0, 100), {})
    CASES[f"{_name}.Scalar"] = _scalar(0, 100, 5, 77)
    DTYPES[f"{_name}.Tensor"] = [I64, I32, U8, BOOL]
    DTYPES[f"{_name}.Scalar"] = [I64, I32, U8]
for _name in ["bitwise_left_shift", "bitwise_right_shift"]:
    CASES[f"{_name}.Tensor"] = lambda g: ([g.t([4, 5], -50, 100), g.t([4, 5], 0, 5)], {})
    CASES[f"{_name}.Tensor_Scalar"] = _scalar(-50, 100, 2, 4)
    DTYPES[f"{_name}.Tensor"] = DTYPES[f"{_name}.Tensor_Scalar"] = [I64, I32]


@case("pow.Tensor_Scalar", dtypes=[*FLOATS, I64])
def _pow_scalar(g: Gen) -> Args:
    if g.dtype == I64:
        return [g.t(g.shape(), -3, 3), g.pick(0, 1, 2, 3, 5)], {}
    return [g.t(g.shape(), 0.2, 3), g.pick(0, 1, 2, 3, 0.5, -0.5, -1, -2, 1.7, 4)], {}


CASES["pow.Tensor_Tensor"] = lambda g: (g.operands(2, 0.2, 3), {})
CASES["pow.Scalar"] = lambda g: ([g.pick(2, 1.5), g.t(g.shape())], {})


@case("clamp", dtypes=ANY)
def _clamp(g: Gen) -> Args:
    low, high = g.pick((1, 4), (None, 4), (1, None), (3, 2), (1.5, 4))
    return [g.t(g.shape(), 0, 6), low, high], {}


@case("clamp.Tensor", dtypes=ANY)
def _clamp_tensor(g: Gen) -> Args:
    x, low, high = g.operands(3, 0, 6)
    return [x, *g.pick((low, high), (None, high), (low, None))], {}


for _name in ["clamp_min", "clamp_max"]:
    CASES[_name] = _scalar(0, 6, 2, 3)
    CASES[f"{_name}.Tensor"] = lambda g: (g.operands(2, 0, 6), {})


def _where(g: Gen) -> list[torch.Tensor]:
    p, a, b = g.operands(3)
    return [g.t(list(p.shape), dtype=BOOL), a, b]


CASES["where.self"] = lambda g: (_where(g), {})
CASES["where.ScalarOther"] = lambda g: ([*_where(g)[:2], g.pick(2, 0.3)], {})
CASES["where.ScalarSelf"] = lambda g: ([_where(g)[0], g.pick(2, 0.3), _where(g)[1].sum()], {})
CASES["where.Scalar"] = lambda g: ([_where(g)[0], g.pick(2, 0.5), 0.25], {})
DTYPES["where.self"] = [*FLOATS, I64, BOOL]


@case("masked_fill.Scalar", dtypes=[*FLOATS, I64])
def _masked_fill(g: Gen) -> Args:
    s = g.shape(1, 3)
    return [g.t(s), g.t(s[-1:], dtype=BOOL), g.pick(-INF, 2.0) if g.dtype != I64 else 3], {}


CASES["masked_fill.Tensor"] = lambda g: (
    [g.t([3, 4]), g.t([3, 4], dtype=BOOL), torch.tensor(1.5, dtype=g.dtype)],
    {},
)
CASES["addcmul"] = lambda g: (g.operands(3, 0.5, 3), {"value": g.pick(1, 0.3)})
CASES["addcdiv"] = lambda g: (g.operands(3, 0.5, 3), {"value": g.pick(1, 0.3)})
CASES["lerp.Tensor"] = lambda g: (g.operands(3, 0, 1), {})
CASES["lerp.Scalar"] = lambda g: ([*g.operands(2, 0, 1), g.pick(0.2, 0.8)], {})

# ---- reductions ----

RED = [*FLOATS, I64, I32, BOOL]
CASES["sum"] = CASES["prod"] = lambda g: ([g.t(g.shape(), -2, 2)], {})
CASES["mean"] = lambda g: ([g.t(g.shape())], {})
DTYPES["sum"] = DTYPES["prod"] = DTYPES["sum.dim_IntList"] = DTYPES["prod.dim_int"] = RED


@case("sum.dim_IntList", dtypes=RED)
def _sum(g: Gen) -> Args:
    x = g.t(g.shape(most=7), -2, 2)
    dtype = g.pick(None, F32, F64, I64) if g.dtype not in (F16, BF16) else None
    return [x, g.pick(g.dims(x.dim()), None, [])], {"keepdim": g.flag(), "dtype": dtype}


@case("mean.dim")
def _mean(g: Gen) -> Args:
    x = g.t(g.shape(most=7))
    return [x, g.pick(g.dims(x.dim()), None, [])], {"keepdim": g.flag()}


@case("prod.dim_int", dtypes=RED)
def _prod(g: Gen) -> Args:
    x = g.t(g.shape(1), -2, 2)
    return [x, g.dim(x.dim())], {"keepdim": g.flag()}


@case("nansum")
def _nansum(g: Gen) -> Args:
    x = g.t([4, 5], expand=False)
    x[1, 2] = float("nan")
    return [x, g.pick(None, [0], [1])], {"keepdim": g.flag()}


@case("amax", "amin", dtypes=RED)
def _amax(g: Gen) -> Args:
    x = g.t(g.shape(), ties=True)
    return [x, g.pick(g.dims(x.dim()), [])], {"keepdim": g.flag()}


CASES["max"] = CASES["min"] = lambda g: ([g.t(g.shape())], {})
DTYPES["max"] = DTYPES["min"] = RED


@case("aminmax", dtypes=RED)
def _aminmax(g: Gen) -> Args:
    x = g.t(g.shape(1))
    return [x], {"dim": g.pick(None, g.dim(x.dim())), "keepdim": g.flag()}


@case("max.dim", "min.dim", dtypes=RED)
def _max_dim(g: Gen) -> Args:
    x = g.t(g.shape(0, 4, 9), -2, 2, ties=True)
    return [x, g.dim(x.dim()), g.flag()], {}


@case("argmax", "argmin", dtypes=[*FLOATS, I64])
def _argmax(g: Gen) -> Args:
    x = g.t(g.shape(0, 4, 9), -2, 2, ties=True)
    return [x, g.pick(None, g.dim(x.dim())), g.flag()], {}


CASES["any"] = CASES["all"] = lambda g: ([g.t(g.shape(), 0, 1)], {})
CASES["any.dim"] = CASES["all.dim"] = lambda g: ([g.t([3, 4, 2], 0, 1), g.dim(3), g.flag()], {})
CASES["any.dims"] = CASES["all.dims"] = lambda g: (
    [g.t([3, 4, 2], 0, 1), g.pick(None, g.dims(3)), g.flag()],
    {},
)
for _name in ["any", "all", "any.dim", "all.dim", "any.dims", "all.dims"]:
    DTYPES[_name] = [F32, I64, U8, BOOL]
CASES["count_nonzero"] = lambda g: ([g.t([3, 4, 2], 0, 1, ties=True), g.pick(None, g.dim(3))], {})
CASES["count_nonzero.dim_IntList"] = lambda g: ([g.t([3, 4], 0, 1, ties=True), g.dims(2)], {})
DTYPES["count_nonzero"] = [F32, I64, BOOL]


@case("logsumexp")
def _logsumexp(g: Gen) -> Args:
    x = g.t(g.shape(1))
    return [x, g.dims(x.dim()), g.flag()], {}


for _name in ["var", "std", "var_mean", "std_mean"]:
    CASES[_name] = lambda g: ([g.t([4, 5, 3]), g.flag()], {})
    CASES[f"{_name}.dim"] = lambda g: ([g.t([4, 5, 3]), g.pick(None, g.dims(3)), g.flag()], {})
    CASES[f"{_name}.correction"] = lambda g: (
        [g.t([4, 5, 3]), g.pick(None, g.dims(3))],
        {"correction": g.pick(None, 0, 1, 2), "keepdim": g.flag()},
    )


@case("linalg_vector_norm")
def _vector_norm(g: Gen) -> Args:
    x = g.t(g.shape(1), 0.1, 3)
    return [x, g.pick(2, 1, 0, INF, -INF, 3, 2.5), g.pick(None, g.dims(x.dim())), g.flag()], {}


CASES["norm.Scalar"] = lambda g: ([g.t([3, 4], 0.1, 2), g.pick(2, 1, 3)], {})
CASES["norm.ScalarOpt_dim"] = lambda g: (
    [g.t([3, 4]), g.pick(None, 2, 1), [g.dim(2)], g.flag()],
    {},
)
CASES["norm.ScalarOpt_dtype"] = lambda g: ([g.t([3, 4]), 2], {"dtype": F64})
CASES["norm.ScalarOpt_dim_dtype"] = lambda g: ([g.t([3, 4]), 2, [1], g.flag()], {"dtype": F64})
DTYPES["norm.ScalarOpt_dtype"] = DTYPES["norm.ScalarOpt_dim_dtype"] = [F32]


@case("bucketize.Tensor", dtypes=[F32, F64, I64])
def _bucketize(g: Gen) -> Args:
    bounds = g.values([6], g.dtype, -3, 3, ties=True).sort().values
    kwargs = {"right": g.flag(), "out_int32": g.flag()}
    return [g.t(g.shape(0, 3), ties=g.flag()), bounds], kwargs


CASES["log_sigmoid_forward"] = lambda g: ([g.t(g.shape(1, 3), -8, 8, expand=False)], {})
CASES["glu"] = lambda g: ([g.t([4, 2, 6]), g.pick(-1, 0, 1, 2)], {})


@case("cumsum", "cumprod", dtypes=[*FLOATS, I64, BOOL])
def _cumsum(g: Gen) -> Args:
    x = g.t(g.shape(0, 3, 6), -2, 2)
    return [x, g.dim(x.dim())], {}


CASES["logcumsumexp"] = lambda g: ([g.t([3, 5, 2]), g.dim(3)], {})

# ---- products ----


def _mats(g: Gen, *batch: int) -> tuple[torch.Tensor, torch.Tensor, int, int]:
    m, k, n = g.int(1, 6), g.int(1, 40), g.int(1, 6)
    return g.t([*batch, m, k]), g.t([*batch, k, n]), m, n


CASES["mm"] = lambda g: (list(_mats(g)[:2]), {})
CASES["bmm"] = lambda g: (list(_mats(g, 3)[:2]), {})
DTYPES["mm"] = DTYPES["bmm"] = [*FLOATS, I64]


def _addmm_with(batch: tuple[int, ...]) -> Generator:
    def f(g: Gen) -> Args:
        a, b, m, n = _mats(g, *batch)
        bias = g.t(g.pick([*batch, m, n], [n], [m, 1], [1, n]))
        return [bias, a, b], {"beta": g.pick(1, 0.5, 0), "alpha": g.pick(1, 2.0)}

    return f


CASES["addmm"] = _addmm_with(())
CASES["baddbmm"] = _addmm_with((3,))
CASES["mv"] = lambda g: ([g.t([3, 17]), g.t([17])], {})
CASES["addmv"] = lambda g: ([g.t([3]), g.t([3, 17]), g.t([17])], {"beta": 0.5, "alpha": 2})
CASES["dot"] = CASES["vdot"] = lambda g: ([g.t([33]), g.t([33])], {})
CASES["outer"] = CASES["ger"] = lambda g: ([g.t([4]), g.t([5])], {})


@case("matmul")
def _matmul(g: Gen) -> Args:
    a, b = g.pick(
        ([7], [7]), ([3, 7], [7]), ([7], [7, 4]), ([3, 7], [7, 4]), ([2, 3, 7], [7, 4]),
        ([2, 1, 3, 7], [5, 7, 4]), ([7], [2, 7, 4]), ([2, 3, 7], [7]),
    )  # fmt: skip
    return [g.t(a), g.t(b)], {}


@case("linear")
def _linear(g: Gen) -> Args:
    x = g.t([*g.shape(0, 3), 9])
    return [x, g.t([5, 9]), g.pick(None, g.t([5]))], {}


@case("scaled_dot_product_attention", dtypes=[F32, F64])
def _sdpa(g: Gen) -> Args:
    q, k, v = g.t([2, 3, 5, 8]), g.t([2, 3, 6, 8]), g.t([2, 3, 6, 4])
    mask = g.pick(None, g.t([5, 6]), torch.ones(5, 6).tril().bool())
    causal = mask is None and g.flag()
    return [q, k, v, mask, 0.0, causal], {"scale": g.pick(None, 0.3)}


# ---- convolutions ----


def _conv_args(g: Gen, n: int, transposed: bool) -> tuple[Any, ...]:
    groups = g.pick(1, 1, 2, 3)
    ic, oc = groups * g.int(1, 2), groups * g.int(1, 2)
    kernel = [g.int(1, 3) for _ in range(n)]
    stride = [g.int(1, 3) for _ in range(n)]
    dilation = [g.int(1, 2) for _ in range(n)]
    padding = [g.int(0, 2) for _ in range(n)]
    extra = [g.int(0, max(s, d) - 1) for s, d in zip(stride, dilation, strict=True)]
    size = [g.int(5, 7) for _ in range(n)]
    x = g.t([g.int(1, 2), ic, *size])
    w = g.t([ic, oc // groups, *kernel] if transposed else [oc, ic // groups, *kernel])
    bias = g.pick(None, g.t([oc]))
    return x, w, bias, stride, padding, dilation, extra, groups


@case("convolution")
def _convolution(g: Gen) -> Args:
    transposed = g.flag()
    x, w, b, s, p, d, extra, groups = _conv_args(g, g.int(1, 3), transposed)
    out = extra if transposed else [0] * len(s)
    return [x, w, b, s, p, d, transposed, out, groups], {}


def _conv_n(n: int, transposed: bool) -> Generator:
    def f(g: Gen) -> Args:
        x, w, b, s, p, d, extra, groups = _conv_args(g, n, transposed)
        if g.flag():
            x = x[0]
        return [x, w, b, s, p, *([extra, groups, d] if transposed else [d, groups])], {}

    return f


def _conv_same(n: int) -> Generator:
    def f(g: Gen) -> Args:
        x, w, b, _, _, d, _, groups = _conv_args(g, n, False)
        return [x, w, b, [1] * n, "same", d, groups], {}

    return f


for _n in (1, 2, 3):
    CASES[f"conv{_n}d"] = _conv_n(_n, False)
    CASES[f"conv{_n}d.padding"] = _conv_same(_n)
    CASES[f"conv_transpose{_n}d" + (".input" if _n > 1 else "")] = _conv_n(_n, True)

# ---- pooling ----


def _window(g: Gen, n: int) -> tuple[torch.Tensor, list[int], list[int], list[int], bool]:
    kernel = [g.int(2, 3) for _ in range(n)]
    stride = [g.int(1, 3) for _ in range(n)]
    padding = [g.int(0, k // 2) for k in kernel]
    lead = [2, 3] if n == 1 or g.flag() else [3]
    x = g.t([*lead, *[g.int(6, 8) for _ in range(n)]], -3, 3)
    return x, kernel, stride, padding, g.flag()


def _max_pool(n: int) -> Generator:
    def f(g: Gen) -> Args:
        x, kernel, stride, padding, ceil = _window(g, n)
        return [x, kernel, stride, padding, [g.int(1, 2) for _ in range(n)], ceil], {}

    return f


def _avg_pool(n: int) -> Generator:
    def f(g: Gen) -> Args:
        x, kernel, stride, padding, ceil = _window(g, n)
        rest = [ceil, g.flag()] + ([] if n == 1 else [g.pick(None, None, 5)])
        return [x, kernel, g.pick(stride, []), padding, *rest], {}

    return f


def _adaptive(n: int, nullable: bool = False) -> Generator:
    def f(g: Gen) -> Args:
        lead = [2, 3] if g.flag() else [3]
        x = g.t([*lead, *[g.int(3, 9) for _ in range(n)]])
        return [x, [g.int(1, 6) for _ in range(n)]], {}

    return f


for _n in (1, 2, 3):
    CASES[f"max_pool{_n}d"] = _max_pool(_n)
    CASES[f"max_pool{_n}d_with_indices"] = _max_pool(_n)
    CASES[f"avg_pool{_n}d"] = _avg_pool(_n)
    CASES[f"adaptive_avg_pool{_n}d"] = _adaptive(_n)
    CASES[f"adaptive_max_pool{_n}d"] = _adaptive(_n)
    if _n > 1:
        CASES[f"_adaptive_avg_pool{_n}d"] = _adaptive(_n)
    for _name in (f"avg_pool{_n}d", f"adaptive_avg_pool{_n}d", f"max_pool{_n}d"):
        DTYPES[_name] = [F32, F64, BF16]
    DTYPES[f"max_pool{_n}d_with_indices"] = DTYPES[f"adaptive_max_pool{_n}d"] = [F32, F64]

# ---- upsampling ----


def _upsample(n: int, corners: bool) -> Generator:
    def f(g: Gen) -> Args:
        x = g.t([2, 3, *[g.int(1, 6) for _ in range(n)]])
        align = [g.flag()] if corners else []
        if g.flag():  # sizes
            return [x, [g.int(1, 13) for _ in range(n)], *align, *[None] * n], {}
        scales = [g.pick(2.0, 3.0, 1.5, 0.5, 1.3, 2.7) for _ in range(n)]
        size = [max(1, int(d * s)) for d, s in zip(x.shape[2:], scales, strict=True)]
        # Where an extent stays, CPU and CUDA differ in what a scale means.
        given = [None if a == b else s for a, b, s in zip(x.shape[2:], size, scales, strict=True)]
        return [x, size, *align, *given], {}

    return f


for _n, _name in ((1, "linear1d"), (2, "bilinear2d"), (2, "bicubic2d"), (3, "trilinear3d")):
    case(f"upsample_{_name}", dtypes=[F32, F64, BF16], loose=10)(_upsample(_n, True))
for _n in (1, 2, 3):
    for _name in ("upsample_nearest", "_upsample_nearest_exact"):
        case(f"{_name}{_n}d", dtypes=[F32, F64, BF16])(_upsample(_n, False))

# ---- normalizations ----


@case("softmax.int", "log_softmax.int")
def _softmax(g: Gen) -> Args:
    x = g.t(g.shape(0, 4, 7))
    return [x, g.dim(x.dim()), g.pick(None, F64)], {}


@case("_softmax", "_log_softmax")
def __softmax(g: Gen) -> Args:
    x = g.t(g.shape(1, 4, 7))
    return [x, g.dim(x.dim()), False], {}


def _norm_shape(g: Gen) -> tuple[torch.Tensor, list[int]]:
    x = g.t([*g.shape(1, 2), 4, 6])
    return x, list(x.shape[-g.int(1, 2) :])


@case("layer_norm", "native_layer_norm", loose=20)
def _layer_norm(g: Gen) -> Args:
    x, n = _norm_shape(g)
    return [x, n, g.pick(None, g.t(n)), g.pick(None, g.t(n)), 1e-5], {}


@case("rms_norm", dtypes=[F32, F64], loose=4)
def _rms_norm(g: Gen) -> Args:
    x, n = _norm_shape(g)
    return [x, n, g.pick(None, g.t(n)), g.pick(None, 1e-5)], {}


@case("group_norm", loose=20)
def _group_norm(g: Gen) -> Args:
    x = g.t([2, 6, *g.shape(0, 2)])
    return [x, g.pick(1, 2, 3), g.pick(None, g.t([6])), g.pick(None, g.t([6])), 1e-5], {}


@case("native_group_norm", loose=20)
def _native_group_norm(g: Gen) -> Args:
    x = g.t([2, 6, *g.shape(1, 2)], expand=False)
    hw = x[0, 0].numel()
    return [x, g.pick(None, g.t([6])), g.pick(None, g.t([6])), 2, 6, hw, g.pick(1, 2, 3), 1e-5], {}


def _bn(g: Gen) -> tuple[torch.Tensor, Any, Any, torch.Tensor, torch.Tensor]:
    x = g.t([3, 4, *g.shape(0, 2)], expand=False)
    w, b = g.pick((None, None), (g.t([4]), g.t([4])))
    return x, w, b, g.t([4], expand=False), g.t([4], 0.5, 2, expand=False)


WIDE = [F32, F64]


@case("batch_norm", dtypes=WIDE, loose=20)
def _batch_norm(g: Gen) -> Args:
    x, w, b, m, v = _bn(g)
    train = g.flag()
    if train and g.flag():
        m = v = None
    return [x, w, b, m, v, train, 0.1, 1e-5, False], {}


@case("native_batch_norm", "_native_batch_norm_legit", dtypes=WIDE, loose=20)
def _native_bn(g: Gen) -> Args:
    return [*_bn(g), g.flag(), 0.1, 1e-5], {}


@case("_native_batch_norm_legit_functional", dtypes=WIDE, loose=20)
def _functional_bn(g: Gen) -> Args:
    return [*_bn(g), g.flag(), g.pick(0.1, 0.3), 1e-5], {}


@case("_native_batch_norm_legit.no_stats", dtypes=WIDE, loose=20)
def _no_stats_bn(g: Gen) -> Args:
    return [*_bn(g)[:3], True, 0.1, 1e-5], {}


@case("_native_batch_norm_legit_no_training", dtypes=WIDE, loose=20)
def _eval_bn(g: Gen) -> Args:
    return [*_bn(g), 0.1, 1e-5], {}


@case("instance_norm", dtypes=WIDE, loose=20)
def _instance_norm(g: Gen) -> Args:
    x = g.t([2, 4, *g.shape(1, 2)])
    w, b = g.pick((None, None), (g.t([4]), g.t([4])))
    if g.flag():
        return [x, w, b, None, None, True, 0.1, 1e-5, False], {}
    return [
        x,
        w,
        b,
        g.t([4], expand=False),
        g.t([4], 0.5, 2, expand=False),
        False,
        0.1,
        1e-5,
        False,
    ], {}


# ---- losses ----


def _loss(low: float, high: float, **kwargs: Any) -> Generator:
    def f(g: Gen) -> Args:
        s = g.shape(1, 3)
        extra = {k: v(g) for k, v in kwargs.items()}
        return [g.t(s, low, high), g.t(s, low, high)], {"reduction": g.int(0, 2), **extra}

    return f


CASES["mse_loss"] = CASES["l1_loss"] = CASES["soft_margin_loss"] = _loss(-2, 2)
CASES["smooth_l1_loss"] = _loss(-2, 2, beta=lambda g: g.pick(1.0, 0.5, 0.0))
CASES["huber_loss"] = _loss(-2, 2, delta=lambda g: g.pick(1.0, 0.5))
CASES["kl_div"] = _loss(0.1, 1, log_target=lambda g: g.flag())
CASES["binary_cross_entropy"] = _loss(0.05, 0.95)
CASES["margin_ranking_loss"] = lambda g: (
    [*(g.t([3, 4]) for _ in range(3))],
    {"margin": 0.3, "reduction": g.int(0, 2)},
)
for _name in ["mse_loss", "l1_loss", "soft_margin_loss", "smooth_l1_loss", "huber_loss", "kl_div"]:
    DTYPES[_name] = WIDE
for _name in ["binary_cross_entropy", "margin_ranking_loss", "hinge_embedding_loss"]:
    DTYPES[_name] = WIDE


@case("binary_cross_entropy_with_logits", dtypes=WIDE)
def _bce_logits(g: Gen) -> Args:
    s = [3, 4]
    weight, pos = g.pick(None, g.t(s, 0.5, 2)), g.pick(None, g.t([4], 0.5, 2))
    return [g.t(s), g.t(s, 0, 1), weight, pos, g.int(0, 2)], {}


@case("hinge_embedding_loss", dtypes=WIDE)
def _hinge(g: Gen) -> Args:
    y = g.t([3, 4], 0, 1, dtype=I64).to(g.dtype) * 2 - 1
    return [g.t([3, 4]), y], {"margin": 1.0, "reduction": g.int(0, 2)}


CASES["_cdist_forward"] = lambda g: (
    [*(g.t([*lead, n, 5]) for lead in [g.pick([], [2])] for n in (4, 3)), g.pick(2.0, 1.0, 3.0), 2],
    {},
)
CASES["pairwise_distance"] = lambda g: (
    [g.t([4, 5]), g.t([4, 5]), g.pick(2, 1, 3)],
    {"keepdim": g.flag()},
)
CASES["triplet_margin_loss"] = lambda g: (
    [*(g.t([4, 5]) for _ in range(3))],
    {"margin": 1.0, "p": g.pick(2, 1), "swap": g.flag(), "reduction": g.int(0, 2)},
)
CASES["cosine_similarity"] = lambda g: ([g.t([3, 4, 5]), g.t([3, 4, 5]), g.dim(3)], {})
for _name in ["_cdist_forward", "pairwise_distance", "triplet_margin_loss", "cosine_similarity"]:
    DTYPES[_name] = WIDE


def _classes(g: Gen, lead: list[int], tail: list[int]) -> tuple[torch.Tensor, torch.Tensor, Any]:
    c = g.int(2, 5)
    target = g.t([*lead, *tail], 0, c - 1, dtype=I64, expand=False)
    if target.numel() > 1 and g.flag():
        target[(0,) * target.dim()] = -100
    return g.t([*lead, c, *tail]), target, g.pick(None, g.t([c], 0.5, 2))


@case("nll_loss", "nll_loss_forward", dtypes=WIDE)
def _nll(g: Gen) -> Args:
    return [*_classes(g, [4], []), g.int(0, 2), -100], {}


@case("nll_loss2d", "nll_loss2d_forward", dtypes=WIDE)
def _nll2d(g: Gen) -> Args:
    x, t, w = _classes(g, [3], [2, 4])
    return [x.contiguous(), t, w, g.int(0, 2), -100], {}


@case("nll_loss_nd", dtypes=WIDE)
def _nll_nd(g: Gen) -> Args:
    return [*_classes(g, *g.pick(([4], []), ([3], [2, 3]))), g.int(0, 2), -100], {}


@case("cross_entropy_loss", dtypes=WIDE)
def _cross_entropy(g: Gen) -> Args:
    x, t, w = _classes(g, *g.pick(([5], []), ([3], [4]), ([], [])))
    if g.rng.random() < 0.3:
        t = torch.softmax(g.t(list(x.shape)), -1)
    return [x, t, w, g.int(0, 2), -100, g.pick(0.0, 0.0, 0.1)], {}


# ---- indexing and movement ----

MOVE = [F32, F16, I64, BOOL]


def move(*names: str) -> Callable:
    return case(*names, dtypes=MOVE)


@move("gather", "take_along_dim")
def _gather(g: Gen) -> Args:
    x = g.t([3, 4, 5])
    d = g.int(0, 2)
    s = [g.int(1, n) for n in x.shape]
    s[d] = g.int(1, 7)
    return [x, d, g.t(s, 0, x.shape[d] - 1, dtype=I64)], {}


CASES["take_along_dim"] = lambda g: (
    [g.t([3, 4]), g.t([3, 6], 0, 3, dtype=I64), 1],
    {},
)


@move("index_select")
def _index_select(g: Gen) -> Args:
    return [g.t([3, 4, 5]), 1, g.t([6], 0, 3, dtype=g.pick(I64, I32))], {}


@move("embedding")
def _embedding(g: Gen) -> Args:
    return [g.t([7, 3]), g.t(g.shape(0, 3), 0, 6, dtype=g.pick(I64, I32))], {}


@move("index.Tensor")
def _index(g: Gen) -> Args:
    x = g.t([3, 4, 5, 2])
    i, j = g.t([2, 3], -3, 2, dtype=I64), g.t([3], -4, 3, dtype=I64)
    return [x, g.pick([i], [None, j], [i, j], [i, None, g.t([3], -5, 4, dtype=I64)])], {}


@case("scatter_add", dtypes=[F32, F64, I64])
def _scatter_add(g: Gen) -> Args:
    d, s = g.int(0, 1), [g.int(1, 4), g.int(1, 5)]
    return [g.t([4, 5]), d, g.t(s, 0, 3, dtype=I64), g.t([4, 5])], {}


@case("scatter.value", dtypes=[F32, I64])
def _scatter_value(g: Gen) -> Args:
    return [g.t([4, 5]), g.int(0, 1), g.t([g.int(1, 4), 2], 0, 3, dtype=I64), 2], {}


@case("index_add", dtypes=[F32, F64, I64])
def _index_add(g: Gen) -> Args:
    return [g.t([4, 5]), 1, g.t([6], 0, 4, dtype=I64), g.t([4, 6])], {"alpha": g.pick(1, 2)}


@case("one_hot", dtypes=[I64])
def _one_hot(g: Gen) -> Args:
    return [g.t(g.shape(0, 2), 0, 4), 5], {}


@case("bincount", dtypes=[I64])
def _bincount(g: Gen) -> Args:
    x = g.t([g.int(0, 9)], 0, 5, dtype=I64)
    return [x], {"minlength": 6} | ({"weights": g.t(x.shape, dtype=F32)} if g.flag() else {})


@case("histc", dtypes=[F32, F64])
def _histc(g: Gen) -> Args:
    return [g.t(g.shape(0, 2)), g.int(1, 6), -1.5, 2], {}


@move("tril", "triu")
def _tril(g: Gen) -> Args:
    return [g.t([*g.shape(0, 2), 4, 5]), g.int(-3, 3)], {}


@move("diag")
def _diag(g: Gen) -> Args:
    return [g.t(g.pick([4], [4, 5], [5, 3])), g.int(-2, 2)], {}


@move("flip")
def _flip(g: Gen) -> Args:
    x = g.t(g.shape(1))
    return [x, g.dims(x.dim())], {}


@move("roll")
def _roll(g: Gen) -> Args:
    x = g.t([3, 4, 5])
    if g.flag():
        return [x, g.int(-9, 9), []], {}
    d = g.dims(3)
    return [x, [g.int(-6, 6) for _ in d], d], {}


CASES["repeat"] = lambda g: ([g.t([2, 3]), g.pick([2, 1], [1, 3], [2, 1, 2])], {})
CASES["tile"] = lambda g: ([g.t([2, 3]), g.pick([2], [1, 3], [2, 1, 2])], {})
CASES["repeat_interleave.self_int"] = lambda g: ([g.t([2, 3]), 3, g.dim(2)], {})
CASES["cat"] = CASES["concat"] = CASES["concatenate"] = lambda g: (
    [[g.t([2, 3]), g.t([2, 1], dtype=g.pick(g.dtype, F32)), g.t([2, 2])], g.pick(1, -1)],
    {},
)
CASES["stack"] = lambda g: ([[g.t([2, 3]) for _ in range(3)], g.dim(3)], {})
for _name in [
    "repeat",
    "tile",
    "repeat_interleave.self_int",
    "cat",
    "concat",
    "concatenate",
    "stack",
]:
    DTYPES[_name] = MOVE


@move("constant_pad_nd")
def _pad(g: Gen) -> Args:
    return [g.t([3, 4, 5]), [g.int(-1, 2) for _ in range(2 * g.int(0, 3))], g.pick(0, 1)], {}


@case("pad", dtypes=[F32, F64])
def _pad_mode(g: Gen) -> Args:
    mode = g.pick("constant", "reflect", "replicate", "circular")
    value = 0.5 if mode == "constant" else None
    return [g.t([2, 3, 4, 5]), [g.int(0, 2) for _ in range(4)], mode, value], {}


for _n in (1, 2, 3):
    for _mode in ("reflection", "replication"):
        CASES[f"{_mode}_pad{_n}d"] = lambda g, n=_n: (
            [g.t([2, 3, *[4] * n]), [g.int(0, 2) for _ in range(2 * n)]],
            {},
        )
        DTYPES[f"{_mode}_pad{_n}d"] = [F32, F64]
CASES["channel_shuffle"] = lambda g: ([g.t([2, 6, *g.shape(1, 2)]), g.pick(1, 2, 3)], {})
DTYPES["channel_shuffle"] = MOVE
CASES["pixel_shuffle"] = lambda g: ([g.t([*g.pick([], [2]), 8, 3, 2]), 2], {})
CASES["pixel_unshuffle"] = lambda g: ([g.t([*g.pick([], [2]), 2, 4, 6]), 2], {})
DTYPES["pixel_shuffle"] = DTYPES["pixel_unshuffle"] = [F32]

# ---- creation ----

for _name in ["zeros", "ones"]:
    CASES[_name] = lambda g: ([g.shape()], {"dtype": g.pick(None, g.dtype)})
    CASES[f"{_name}_like"] = lambda g: ([g.t(g.shape())], {"dtype": g.pick(None, F64)})
    CASES[f"new_{_name}"] = lambda g: ([g.t([2]), g.shape()], {})
    DTYPES[_name] = DTYPES[f"{_name}_like"] = DTYPES[f"new_{_name}"] = MOVE
CASES["full"] = lambda g: ([g.shape(), g.pick(2, 0.3, True)], {"dtype": g.pick(None, g.dtype)})
CASES["full_like"] = lambda g: ([g.t(g.shape()), g.pick(2, 3)], {})
CASES["new_full"] = lambda g: ([g.t([2]), g.shape(), 2], {})
CASES["scalar_tensor"] = lambda g: ([g.pick(2, 0.1)], {"dtype": g.pick(None, g.dtype)})
CASES["fill.Scalar"] = lambda g: ([g.t(g.shape()), g.pick(2, 1)], {})
CASES["fill.Tensor"] = lambda g: ([g.t(g.shape()), torch.tensor(2.5)], {})
CASES["zero"] = lambda g: ([g.t(g.shape())], {})
CASES["arange"] = lambda g: ([g.pick(5, 4.5)], {"dtype": g.pick(None, F32, I64)})
CASES["arange.start"] = lambda g: ([1, g.pick(7, 6.5)], {"dtype": g.pick(None, F64)})
CASES["arange.start_step"] = lambda g: (
    [*g.pick((0, 10, 3), (5, -4, -2), (0.5, 3, 0.25))],
    {"dtype": g.pick(None, F32)},
)
CASES["linspace"] = lambda g: ([0.0, g.pick(1.0, -3.5), g.pick(1, 2, 9)], {})
CASES["eye"] = lambda g: ([g.int(0, 4)], {})
CASES["eye.m"] = lambda g: ([g.int(0, 4), g.int(0, 4)], {})
for _name in ["arange", "arange.start", "arange.start_step", "linspace", "eye", "eye.m"]:
    DTYPES[_name] = [F32]
for _name in ["scalar_tensor", "full", "fill.Tensor"]:
    DTYPES[_name] = [F32, F16]


def _convert(g: Gen) -> tuple[torch.Tensor, torch.dtype]:
    to = g.pick(F32, F64, F16, BF16, I64, I32, U8, BOOL)
    return g.t(g.shape(), 0 if to == U8 else -5, 5), to


CONVERT = [*FLOATS, I64, I32, U8, BOOL]
CASES["clone"] = CASES["contiguous"] = CASES["lift_fresh_copy"] = lambda g: ([g.t(g.shape())], {})
CASES["_to_copy"] = lambda g: ([_convert(g)[0]], {"dtype": F32})
CASES["to.dtype"] = lambda g: (list(_convert(g)), {})
CASES["to.dtype_layout"] = lambda g: ([_convert(g)[0]], {"dtype": F64})
CASES["to.device"] = lambda g: ([_convert(g)[0], "cpu", F64], {})
CASES["to.other"] = CASES["type_as"] = lambda g: ([_convert(g)[0], g.t([2], dtype=F64)], {})
CASES["copy"] = lambda g: ([g.t([3, 4]), g.t(g.pick([4], [3, 4], []), dtype=g.pick(F32, I64))], {})
for _name in [
    "clone",
    "contiguous",
    "lift_fresh_copy",
    "_to_copy",
    "to.dtype",
    "to.dtype_layout",
    "to.device",
]:
    DTYPES[_name] = CONVERT
DTYPES["to.other"] = DTYPES["type_as"] = DTYPES["copy"] = [F32, I64]

# ---- sorting and recurrent networks ----

SORT = [F32, F64, F16, I64]


def _distinct(g: Gen, shape: list[int]) -> torch.Tensor:
    """No ties: their order is open in PyTorch."""
    n = int(torch.Size(shape).numel())
    x = (torch.randperm(n, generator=g.torch) - n // 2).reshape(shape).to(g.dtype)
    return x.transpose(0, -1) if len(shape) > 1 and g.flag() else x


@case("topk", dtypes=SORT)
def _topk(g: Gen) -> Args:
    x = _distinct(g, [4, 7, 4])
    return [x, g.pick(1, 2, 4), g.dim(3), g.flag()], {}


@case("sort", "argsort", dtypes=SORT)
def _sort(g: Gen) -> Args:
    return [_distinct(g, [4, 7]), g.dim(2), g.flag()], {}


@case("sort.stable", "argsort.stable", dtypes=SORT)
def _stable(g: Gen) -> Args:
    return [g.t([4, 7], -2, 2, ties=True)], {
        "stable": True,
        "dim": g.dim(2),
        "descending": g.flag(),
    }


@case("kthvalue", dtypes=SORT)
def _kthvalue(g: Gen) -> Args:
    return [_distinct(g, [4, 7]), g.int(1, 4), g.dim(2), g.flag()], {}


CASES["median"] = lambda g: ([_distinct(g, [3, 5])], {})
CASES["median.dim"] = lambda g: ([_distinct(g, [4, 7]), g.dim(2), g.flag()], {})
DTYPES["median"] = DTYPES["median.dim"] = [F32, F64, I64]


def _rnn(gates: int) -> Generator:
    def f(g: Gen) -> Args:
        layers, dirs, hidden, size, batch = g.int(1, 2), g.int(1, 2), 3, 4, 2
        biases, batch_first = g.flag(), g.flag()
        params = []
        for layer in range(layers):
            for _ in range(dirs):
                width = size if layer == 0 else hidden * dirs
                params += [
                    g.t([gates * hidden, width], -1, 1),
                    g.t([gates * hidden, hidden], -1, 1),
                ]
                if biases:
                    params += [g.t([gates * hidden], -1, 1) for _ in range(2)]
        x = g.t([batch, 5, size] if batch_first else [5, batch, size])
        h = [g.t([layers * dirs, batch, hidden]) for _ in range(2)]
        state = h if gates == 4 else h[0]
        return [x, state, params, biases, layers, 0.0, g.flag(), dirs == 2, batch_first], {}

    return f


for _name, _gates in {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}.items():
    CASES[f"{_name}.input"] = _rnn(_gates)
    DTYPES[f"{_name}.input"] = WIDE
    LOOSE[f"{_name}.input"] = 4

# In-place forms: the functional row run with its output written to self.
IN_PLACE = [
    "relu", "hardtanh", "add.Tensor", "mul.Tensor", "sub.Scalar", "div.Tensor", "clamp", "sigmoid",
    "masked_fill.Scalar", "copy", "zero", "fill.Scalar", "tanh", "leaky_relu", "silu", "tril",
    "cumsum", "exp", "pow.Tensor_Scalar",
]  # fmt: skip
