"""Constructors of programs: which weights are which, and what a cheat looks like in the source."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from assay import cheats
from assay.construct import Construction, OnCpuNoted
from assay.errors import UnsupportedError
from assay.pairing import pair, weights
from assay.program import Builder
from assay.recorder import Recorder
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode


def build(make, seed: int = 42, skip: bool = True):
    """A module as a program's constructor makes it, and its Construction."""
    recorder = Recorder(Builder("m"), FakeTensorMode(allow_non_fake_inputs=True), "m.py")
    construction = Construction(recorder, "cpu", skip)
    register = nn.Module.register_parameter

    def follow(module, name, value):
        if value is not None:
            construction.follow(value)
        register(module, name, value)

    nn.Module.register_parameter = follow
    try:
        with torch.no_grad(), construction, OnCpuNoted(construction):
            construction.seed(seed)
            torch.manual_seed(seed)
            return make(), construction
    finally:
        nn.Module.register_parameter = register


class Own(nn.Module):
    def __init__(self, make):
        super().__init__()
        make(self)


def paired(reference, program) -> tuple[dict[str, str], list[str], list[str]]:
    found = pair(weights(*build(reference)), weights(*build(program)))
    pairs = {r.name: c.name for r, c in found.pairs}
    return pairs, [w.name for w in found.missing], [w.name for w in found.extra]


def linear_by_hand(self, features: int = 6, hidden: int = 5) -> None:
    self.w = nn.Parameter(torch.empty(hidden, features))
    nn.init.kaiming_uniform_(self.w, a=math.sqrt(5))
    bound = 1 / math.sqrt(features)
    self.b = nn.Parameter(torch.empty(hidden).uniform_(-bound, bound))


def test_same_draws_are_the_same_weight() -> None:
    pairs, missing, extra = paired(lambda: nn.Linear(6, 5), lambda: Own(linear_by_hand))
    assert pairs == {"weight": "w", "bias": "b"}
    assert not missing and not extra


def test_large_weights_are_paired_unfilled() -> None:
    pairs, _, _ = paired(
        lambda: nn.Linear(2048, 2048), lambda: Own(lambda m: linear_by_hand(m, 2048, 2048))
    )
    assert pairs == {"weight": "w", "bias": "b"}


def test_another_order_of_draws_is_another_weight() -> None:
    def other(self):
        self.bias2 = nn.Parameter(torch.rand(5))
        self.weight2 = nn.Parameter(torch.rand(5, 6))

    pairs, missing, extra = paired(lambda: nn.Linear(6, 5), lambda: Own(other))
    assert pairs == {}
    assert missing == ["weight", "bias"] and extra == ["bias2", "weight2"]


def test_gpu_and_cpu_generators_differ() -> None:
    def on(device):
        def make(self):
            self.w = nn.Parameter(torch.randn(4, device=device))

        return lambda: Own(make)

    def renamed(self):
        self.v = nn.Parameter(torch.randn(4, device="cuda"))

    assert paired(on("cpu"), lambda: Own(renamed))[0] == {}
    assert paired(on("cuda"), lambda: Own(renamed))[0] == {"w": "v"}


def test_equal_constants_pair_in_order_or_not_at_all() -> None:
    def names(*all_names):
        def make(self):
            for n in all_names:
                setattr(self, n, nn.Parameter(torch.zeros(3)))

        return lambda: Own(make)

    assert paired(names("a", "b"), names("c", "d"))[0] == {"a": "c", "b": "d"}
    with pytest.raises(UnsupportedError, match="ambiguous"):
        paired(names("a", "b"), names("c"))


def test_what_is_made_of_weights_is_recorded() -> None:
    def make(self):
        self.linear = nn.Linear(6, 5)
        self.folded = self.linear.weight * 2

    model, construction = build(lambda: Own(make))
    own = weights(model, construction)
    buffer = construction.buffer_of(own[0].tensor)
    construction.builder.buffers[buffer].role = "parameter"
    assert construction.buffer_of(model.folded) in construction.symbolic()
    assert [s["op"] for s in construction.builder.steps].count("aten::mul.Tensor") == 1


def test_reading_a_weight_is_noted() -> None:
    def make(self):
        self.linear = nn.Linear(6, 5)
        self.n = float(torch.ones(3).sum())

    assert build(lambda: Own(make))[1].reads == []

    def reads(self):
        make(self)
        self.scale = self.linear.weight.max().item()
        self.list = self.linear.bias.tolist()

    assert build(lambda: Own(reads))[1].reads == ["_local_scalar_dense", "tolist"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import sys as s\nf = s._getframe(1)", ["looks at its caller: sys._getframe"]),
        ("from inspect import stack\nx = stack()", ["looks at its caller: inspect.stack"]),
        ("import torch\ntorch.cuda.Event.elapsed_time = None", ["replaces torch.cuda.Event"]),
        ("import torch\ntorch.backends.cudnn.benchmark = True", []),
        ("import torch\ntry:\n    f()\nexcept Exception:\n    y = torch.relu(x)", ["falls back"]),
        ("try:\n    f()\nexcept Exception:\n    y = x.relu()", ["falls back"]),
        (
            "def g(s):\n    try:\n        f()\n    except Exception:\n        return h(s)",
            ["falls b"],
        ),
        ("try:\n    f()\nexcept Exception as e:\n    print(str(e).strip())\n    raise", []),
    ],
)
def test_cheats_in_the_source(tmp_path: Path, text: str, words: list[str]) -> None:
    path = tmp_path / "m.py"
    path.write_text(text)
    found = [message for _, message, _ in cheats.static(path)]
    assert len(found) == len(words), found
    for message, word in zip(found, words, strict=True):
        assert word in message
