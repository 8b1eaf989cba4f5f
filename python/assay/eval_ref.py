"""python -m assay.eval_ref REF.py WITNESS.json -o OUT.json: a second opinion on a witness.

Runs the reference in PyTorch on the CPU on the witness's inputs, in the dtypes of the program and,
where every tensor is a float32 one, once more in float64. OUT.json: {"value": X, "value_f64": X or
null, "shape": [...], "index": [...]} of the witness's location.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import sys
import warnings
from pathlib import Path
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from assay import reference as ref
from assay.errors import ExportError, InvalidError
from assay.program import number
from assay.witness import Witness, read


def _set_input(inputs: list[Any], source: str, tensor: torch.Tensor) -> None:
    """source "input:1" or "input:0[2]" (an element of a list)."""
    path = source.removeprefix("input:").replace("]", "").split("[")
    place: Any = inputs
    for index in path[:-1]:
        if isinstance(place[int(index)], tuple):
            place[int(index)] = list(place[int(index)])
        place = place[int(index)]
    place[int(path[-1])] = tensor


def _named(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    named: dict[str, torch.Tensor] = dict(model.named_parameters(remove_duplicate=False))
    named.update(model.named_buffers(remove_duplicate=False))
    return named


def evaluate(path: Path, witness: Witness, double: bool) -> list[torch.Tensor]:
    """The outputs of forward (of module_fn, where an input is one that forward computes), then
    the tensors named by witness.mutated. Errors: as reference.load; Invalid."""
    reference = ref.load(path, witness.changed, seed=42)
    built = ref.build(reference, ref.init_inputs(reference, 42), seed=42)
    model = built.model.train(not witness.evaluate)
    given = {i.source.partition(":")[2] for i in witness.inputs}
    for name, parameter in model.named_parameters():
        if name not in given and not built.has_values(parameter):
            raise InvalidError(f"witness: the large parameter {name} is not given")
    inputs, _ = ref.make_inputs(reference, seed=42)
    tensors = witness.tensors()
    if double:
        model = model.double()
        tensors = {k: v.double() if v.dtype.is_floating_point else v for k, v in tensors.items()}
    named = _named(model)
    computed: dict[str, torch.Tensor] = {}
    with torch.no_grad():
        for source, tensor in tensors.items():
            kind, _, name = source.partition(":")
            if kind == "input":
                _set_input(inputs, source, tensor)
            elif kind == "computed":
                computed[name] = tensor
            elif name in named:
                named[name].copy_(tensor)
            else:
                raise InvalidError(f"witness: {path.name} has no {source}")
        with ref.blamed_on_reference("forward", path):
            result = _call(reference, model, inputs, computed)
    outputs = [t for t in tree_leaves(result) if isinstance(t, torch.Tensor)]
    if witness.mutated.startswith("input:"):
        outputs.append(tensors[witness.mutated])
    elif witness.mutated:
        outputs.append(_named(model)[witness.mutated.partition(":")[2]])
    return outputs


def _call(
    reference: ref.Reference,
    model: torch.nn.Module,
    inputs: list[Any],
    computed: dict[str, torch.Tensor],
) -> Any:
    """forward, or what module_fn returns inside it if the reference has one."""
    function = reference.functional("module_fn")
    if function is None:
        return model(*inputs)
    results = []

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        bound = ref.bind(function, args, kwargs)
        bound.update(computed)
        results.append(ref.call_bound(function, bound))
        return results[-1]

    keywords = ref.replace_function(reference, model, function, function.__name__, wrapper)
    out = model(*inputs, **keywords)
    return results[0] if len(results) == 1 else out


def opinion(path: Path, witness: Witness) -> dict[str, Any]:
    outputs = evaluate(path, witness, double=False)
    position = len(outputs) - 1 if witness.mutated else witness.output
    if not 0 <= position < len(outputs):
        raise InvalidError(f"witness: there is no output {position}")
    tensor = outputs[position]
    if not 0 <= witness.element < tensor.numel():
        raise InvalidError(f"witness: output {position} has no element {witness.element}")

    def at(t: torch.Tensor) -> float:
        return float(t.reshape(-1)[witness.element])

    floats = {i.dtype for i in witness.inputs if i.dtype.startswith(("float", "bfloat"))}
    wide = None
    if floats <= {"float32"}:
        with contextlib.suppress(ExportError):  # references that name float32 themselves
            wide = at(evaluate(path, witness, double=True)[position])
    index, rest = [], witness.element
    for size in reversed(tensor.shape):
        index.append(rest % size)
        rest //= size
    return {
        "value": number(at(tensor)),
        "value_f64": None if wide is None or math.isnan(wide) else number(wide),
        "shape": list(tensor.shape),
        "index": index[::-1],
    }


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="assay.eval_ref", description=__doc__)
    parser.add_argument("ref", type=Path)
    parser.add_argument("witness", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    args = parser.parse_args(argv)
    try:
        with contextlib.redirect_stdout(sys.stderr), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            text = json.dumps(opinion(args.ref, read(args.witness)))
        args.output.write_text(text, encoding="utf-8")
    except ExportError as error:
        print(f"error ({error.kind}): {error.message}", file=sys.stderr)
        return error.exit_code
    except OSError as error:
        print(f"error (io): {error}", file=sys.stderr)
        return 4
    return 0


if __name__ == "__main__":
    sys.exit(main())
