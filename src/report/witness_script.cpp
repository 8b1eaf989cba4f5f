#include "report/witness_script.h"

#include <fmt/format.h>

#include <cmath>
#include <map>

#include "program/member_path.h"

namespace assay::report {

namespace {

using program::Arg;
using program::Argument;
using program::TensorView;
using program::WitnessInput;

// The generator's text; a test compares it with python/assay/philox.py.
constexpr const char* kGenerator =
#include "report/witness_generator.inc"
    ;

constexpr const char* kHead = R"py(#!/usr/bin/env python3
"""Counterexample found by assay check. Usage: python SCRIPT [REF.py] [CANDIDATE.cu]

Makes the inputs again, runs the reference and (with a GPU) the candidate, and prints the values of
both at the location where they differ.
"""

import ast
import sys
import types

import numpy as np
import torch

)py";

constexpr const char* kFunctions = R"py(

class SetNumbers(ast.NodeTransformer):
    """Module-level numbers of the reference, changed as in CHANGED ("n", or "shape[0]")."""

    def set(self, name, value):
        if isinstance(value, ast.Constant) and name in CHANGED:
            value.value = CHANGED[name]
        elif isinstance(value, ast.UnaryOp) and name in CHANGED:  # a negative literal
            value.operand.value = -CHANGED[name]
        elif isinstance(value, (ast.Tuple, ast.List)):
            for i, item in enumerate(value.elts):
                self.set(f"{name}[{i}]", item)

    def visit_Assign(self, node):
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.set(target.id, node.value)
            elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                for name, value in zip(target.elts, node.value.elts):
                    self.set(getattr(name, "id", ""), value)
        return node


def load_reference(path):
    tree = ast.parse(open(path, encoding="utf-8").read(), path)
    tree.body = [SetNumbers().visit(n) if isinstance(n, ast.Assign) else n for n in tree.body]
    module = types.ModuleType("reference")
    exec(compile(tree, path, "exec"), module.__dict__)
    return module


def tensors(device):
    """Fresh tensors of all inputs, by source; windows on flat buffers."""
    out = {}
    for source, number, dtype, shape, strides, offset, elements, how, overrides in INPUTS:
        values = draw(SEED, number, how, dtype, elements, overrides)
        flat = torch.from_numpy(values).to(getattr(torch, dtype)).to(device)
        out[source] = torch.as_strided(flat, shape, strides, offset)
    return out


def leaves(value):
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [t for v in value for t in leaves(v)] if isinstance(value, (list, tuple)) else []


def put(place, path, tensor):
    """place[1] = tensor for the path "1", place[1][0] = tensor for "1[0]"."""
    *outer, last = [int(i) for i in path.replace("]", "").split("[")]
    for i in outer:
        if isinstance(place[i], tuple):
            place[i] = list(place[i])
        place = place[i]
    place[last] = tensor


def run_model(module, t, device):
    model = module.Model(*getattr(module, "get_init_inputs", list)()).to(device)
    model.train(not EVAL)
    named = dict(model.named_parameters(remove_duplicate=False))
    named.update(model.named_buffers(remove_duplicate=False))
    inputs = list(module.get_inputs())
    for name, value in CHANGED.items():
        if name.startswith("get_inputs()["):
            put(inputs, name.removeprefix("get_inputs()["), value)
    for source, tensor in t.items():
        kind, _, name = source.partition(":")
        if kind == "input":
            put(inputs, name, tensor)
        elif name in named:
            named[name].copy_(tensor)
    result = leaves(model(*inputs))
    for source in t:  # what forward changed
        if source.partition(":")[2] in named:
            t[source] = named[source.partition(":")[2]]
    return result


def value_at(outputs, t):
    tensor = t[MUTATED] if MUTATED else outputs[OUTPUT]
    index = np.unravel_index(ELEMENT, tuple(tensor.shape)) if tensor.dim() else ()
    return tensor.reshape(-1)[ELEMENT].item(), [int(i) for i in index]


def main():
    ref_path, candidate_path = (sys.argv[1:] + [REF, CANDIDATE][len(sys.argv) - 1 :])[:2]
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    device = "cuda" if torch.cuda.is_available() else "cpu"
    module = load_reference(ref_path)
    with torch.no_grad():
        t = tensors(device)
        if FUNCTION:
            outputs = leaves(getattr(module, FUNCTION)(*arguments(t)))
        else:
            outputs = run_model(module, t, device)
        want, index = value_at(outputs, t)
        print(f"location {index} of output {OUTPUT}" + (f" ({MUTATED})" if MUTATED else ""))
        print(f"reference ({device}): {want!r}")
        if device == "cpu":
            print("candidate: needs a GPU")
            return
        from torch.utils.cpp_extension import load

        extension = load(name="assay_candidate", sources=[candidate_path])
        t = tensors(device)
        outputs = leaves(getattr(extension, ENTRY)(*arguments(t)))
        got, index = value_at(outputs, t)
        print(f"candidate ({device}): {got!r}   difference: {got - want!r}")


if __name__ == "__main__":
    main()
)py";

// A Python string literal.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string number(double v) {
  if (std::isnan(v)) return "float(\"nan\")";
  if (std::isinf(v)) return v > 0 ? "float(\"inf\")" : "float(\"-inf\")";
  std::string out = fmt::format("{}", v);  // shortest text that reads back as v
  if (out.find_first_of(".e") == std::string::npos) out += ".0";
  return out;
}

std::string integers(const std::vector<int64_t>& v) {
  return fmt::format("[{}]", fmt::join(v, ", "));
}

std::string input_row(const WitnessInput& in) {
  static constexpr const char* kKinds[] = {"uniform", "grid", "constant", "integers"};
  const program::Draw& d = in.draw;
  std::vector<std::string> overrides;
  for (const auto& [element, value] : in.overrides) {
    overrides.push_back(fmt::format("({}, {})", element, number(value)));
  }
  const program::Draw::Band& b = d.band;
  const std::string band = b.extent == 0 ? ""
                                         : fmt::format(", {}, {}, {}, {}, {}", b.inner, b.extent,
                                                       b.first, b.last, number(b.factor));
  return fmt::format(
      "    ({}, {}, \"{}\", {}, {}, {}, {},\n     (\"{}\", {}, {}, {}, {}{}), [{}]),\n",
      quoted(in.source), in.number, program::dtype_name(in.view.dtype), integers(in.view.shape),
      integers(in.view.strides), in.view.offset, in.elements, kKinds[static_cast<int>(d.kind)],
      number(d.lo), number(d.hi), number(d.step), d.count, band, fmt::join(overrides, ", "));
}

class Expressions {
 public:
  explicit Expressions(const program::Witness& w) {
    for (const WitnessInput& in : w.inputs) inputs_[in.source] = &in;
  }

  // The argument list of a call, one expression a line. Consecutive arguments NAME['KEY'], NAME[3],
  // NAME['KEY'][3]['INNER'] are the members of one dictionary or list.
  Result<std::string> list(const std::vector<Argument>& arguments) const {
    std::string out;
    std::vector<std::string> open;  // names of the containers that are being written
    std::string closing;            // their brackets
    const auto indent = [&] { out.append(8 + 4 * open.size(), ' '); };
    const auto close_to = [&](size_t depth) {
      while (open.size() > depth) {
        open.pop_back();
        indent();
        out += closing.back();
        out += ",\n";
        closing.pop_back();
      }
    };
    for (const Argument& a : arguments) {
      const std::vector<program::Member> path = program::member_path(a.name);
      size_t common = 0;
      while (common < open.size() && common < path.size() && open[common] == path[common].owner)
        ++common;
      close_to(common);
      const auto label = [&](size_t depth) {  // of a member of the container open[depth]
        indent();
        if (depth > 0 && !path[depth - 1].index) out += quoted(path[depth - 1].key) + ": ";
      };
      for (size_t d = common; d < path.size(); ++d) {
        label(d);
        out += path[d].index ? "[\n" : "{\n";
        open.push_back(path[d].owner);
        closing += path[d].index ? ']' : '}';
      }
      ASSAY_TRY(const std::string value, expression(a));
      label(path.size());
      out += value + ",\n";
    }
    close_to(0);
    return out;
  }

 private:
  Result<std::string> expression(const Argument& a) const {
    struct Text {
      std::string operator()(std::monostate) const { return "None"; }
      std::string operator()(const TensorView&) const { return ""; }
      std::string operator()(const std::vector<TensorView>&) const { return ""; }
      std::string operator()(int64_t v) const { return fmt::format("{}", v); }
      std::string operator()(double v) const { return number(v); }
      std::string operator()(bool v) const { return v ? "True" : "False"; }
      std::string operator()(const std::string& v) const { return quoted(v); }
      std::string operator()(const std::vector<int64_t>& v) const { return integers(v); }
      std::string operator()(const std::vector<double>& v) const {
        std::vector<std::string> items;
        for (double d : v) items.push_back(number(d));
        return fmt::format("[{}]", fmt::join(items, ", "));
      }
      std::string operator()(program::DType v) const {
        return fmt::format("torch.{}", program::dtype_name(v));
      }
    };
    if (const auto* view = std::get_if<TensorView>(&a.value)) return tensor(*view, a.source);
    if (const auto* views = std::get_if<std::vector<TensorView>>(&a.value)) {
      return tensor_list(*views, a.source);
    }
    return std::visit(Text{}, a.value);
  }

  Result<std::string> tensor(const TensorView& view, const std::string& source) const {
    if (view.buffer < 0) return std::string("None");
    auto it = inputs_.find(source);
    if (it == inputs_.end()) {
      return fail(DiagKind::Invalid, fmt::format("the witness has no input '{}'", source));
    }
    const TensorView& own = it->second->view;
    std::string out = fmt::format("t[{}]", quoted(source));
    if (view.shape == own.shape && view.strides == own.strides && view.offset == own.offset) {
      return out;
    }
    return out + fmt::format(".as_strided({}, {}, {})", integers(view.shape),
                             integers(view.strides), view.offset);
  }

  Result<std::string> tensor_list(const std::vector<TensorView>& views,
                                  const std::string& sources) const {
    std::vector<std::string> items;
    size_t at = 0;
    for (const TensorView& v : views) {
      const size_t comma = sources.find(',', at);
      const std::string source = v.buffer < 0 ? "" : sources.substr(at, comma - at);
      ASSAY_TRY(std::string item, tensor(v, source));
      items.push_back(std::move(item));
      if (v.buffer >= 0) at = comma == std::string::npos ? sources.size() : comma + 1;
    }
    return fmt::format("[{}]", fmt::join(items, ", "));
  }

  std::map<std::string, const WitnessInput*> inputs_;
};

std::string expectation(const WitnessScript& s) {
  if (!s.reference_value || !s.candidate_value) return "";
  return fmt::format("# Assay computed: reference {}, candidate {}.\n", *s.reference_value,
                     *s.candidate_value);
}

}  // namespace

Result<std::string> witness_script(const WitnessScript& s) {
  const program::Witness& w = s.witness;
  ASSAY_TRY(const std::string arguments, Expressions(w).list(s.arguments));
  std::string out = kHead;
  out += expectation(s);
  out += fmt::format("REF = {}\nCANDIDATE = {}\nENTRY = {}\n", quoted(s.ref_path),
                     quoted(s.candidate_path), quoted(s.entry));
  out += fmt::format("FUNCTION = {}\n", s.functional ? quoted(s.function) : "None");
  out += fmt::format("EVAL = {}\nSEED = {}\n", w.evaluate ? "True" : "False", w.seed);
  out += fmt::format("OUTPUT, ELEMENT, MUTATED = {}, {}, {}\n", w.output, w.element,
                     quoted(w.mutated));
  std::vector<std::string> changed;
  for (const auto& [name, value] : w.changed) {
    const auto* real = std::get_if<double>(&value);
    const std::string text = real ? number(*real) : fmt::format("{}", std::get<int64_t>(value));
    changed.push_back(quoted(name) + ": " + text);
  }
  out += fmt::format("CHANGED = {{{}}}\n", fmt::join(changed, ", "));
  out += "# source, number, dtype, shape, strides, offset, elements of the buffer,\n";
  out +=
      "# draw (kind, lo, hi, step, count and a band), overrides (element of the buffer, value)\n"
      "INPUTS = [\n";
  for (const WitnessInput& in : w.inputs) out += input_row(in);
  out += "]\n\n\ndef arguments(t):\n    return [\n" + arguments + "    ]\n\n";
  out += kGenerator;
  out += kFunctions;
  return out;
}

}  // namespace assay::report
