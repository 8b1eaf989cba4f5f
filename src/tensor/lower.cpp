// lower() and infer(): look the operator up, bind the arguments, run its lowering function.
#include <fmt/format.h>

#include <map>
#include <set>

#include "tensor/ops.h"

namespace assay::tensor {

using program::Arg;
using program::OpStep;
using program::TensorView;

const std::vector<OpRow>& op_rows() {
  static const std::vector<OpRow> rows = [] {
    std::vector<OpRow> r;
    auto add = [&](LowerFn f, const char* family, const char* note, const char* schema) {
      auto parsed = parse_schema(schema);
      // A malformed row is found by the unit test that counts rows.
      if (parsed) r.push_back({f, family, note, std::move(*parsed)});
    };
#define OP(fn, note, schema) add(lower_##fn, #fn, note, schema);
#include "tensor/ops.def"
#undef OP
    return r;
  }();
  return rows;
}

namespace {

// Operators that return views: a TensorView's strides carry them, they are never steps.
const std::set<std::string, std::less<>> kViewOps = {
    "aten::alias",     "aten::as_strided", "aten::broadcast_to",
    "aten::detach",    "aten::expand",     "aten::expand_as",
    "aten::flatten",   "aten::narrow",     "aten::numpy_T",
    "aten::permute",   "aten::select",     "aten::slice",
    "aten::split",     "aten::squeeze",    "aten::t",
    "aten::transpose", "aten::unbind",     "aten::unflatten",
    "aten::unfold",    "aten::unsqueeze",  "aten::view",
    "aten::view_as",   "aten::chunk",      "aten::split_with_sizes",
    "aten::diagonal",  "aten::movedim",    "aten::swapaxes",
    "aten::reshape"};

const std::multimap<std::string, const OpRow*, std::less<>>& by_name() {
  static const auto* index = [] {
    auto* m = new std::multimap<std::string, const OpRow*, std::less<>>;
    for (const OpRow& row : op_rows()) m->emplace(row.schema.name, &row);
    return m;
  }();
  return *index;
}

struct Bound {
  const OpRow* row = nullptr;
  std::vector<Arg> args;
};

int wrapped_numbers(const OpRow& row, const std::vector<Arg>& args) {
  int n = 0;
  for (size_t k = 0; k < args.size(); ++k) {
    bool number = !std::holds_alternative<TensorView>(args[k]) &&
                  !std::holds_alternative<std::monostate>(args[k]);
    n += row.schema.parameters[k].type == ArgType::Tensor && number;
  }
  return n;
}

// The overload whose schema the arguments fit, the one with fewest numbers in place of tensors
// first. `op` is "aten::sum" or "aten::sum.dim_IntList".
Result<Bound> resolve(const std::string& op, const std::vector<Arg>& args) {
  size_t dot = op.find('.');
  std::string name = op.substr(0, dot);
  std::string overload = dot == std::string::npos ? "" : op.substr(dot + 1);
  if (overload == "default") overload.clear();
  auto [first, last] = by_name().equal_range(name);
  if (first == last && name.ends_with('_') && !name.ends_with("__")) {
    name.pop_back();
    std::tie(first, last) = by_name().equal_range(name);
  }
  if (first == last) {
    if (kViewOps.contains(name)) {
      return fail(DiagKind::Invalid, fmt::format("{} is a view: strides carry it, no step", op));
    }
    return fail(DiagKind::Unsupported, fmt::format("operator {}", op));
  }
  std::string why;
  Bound best;
  int best_numbers = 0;
  for (auto it = first; it != last; ++it) {
    if (dot != std::string::npos && it->second->schema.overload != overload) continue;
    auto bound = bind(it->second->schema, args);
    if (!bound) {
      if (why.empty()) why = bound.error().message;
      continue;
    }
    int numbers = wrapped_numbers(*it->second, *bound);
    if (best.row == nullptr || numbers < best_numbers) {
      best = {it->second, std::move(*bound)};
      best_numbers = numbers;
    }
  }
  if (best.row != nullptr) return best;
  if (why.empty()) return fail(DiagKind::Unsupported, fmt::format("overload {}", op));
  return fail(DiagKind::Invalid, fmt::format("{}: no overload fits the arguments: {}", op, why));
}

std::string called_name(const std::string& op) { return op.substr(0, op.find('.')); }

}  // namespace

Result<Lowered> lower(const OpStep& step) {
  ASSAY_TRY(Bound b, resolve(step.op, step.args));
  Context c(b.row->schema, std::move(b.args), called_name(step.op), &step.outputs);
  if (!c.failed()) b.row->lower(c);
  return c.finish();
}

Result<std::vector<OutputSpec>> infer(const std::string& op, const std::vector<Arg>& args) {
  ASSAY_TRY(Bound b, resolve(op, args));
  Context c(b.row->schema, std::move(b.args), called_name(op), nullptr);
  if (!c.failed()) b.row->lower(c);
  ASSAY_CHECK(c.finish());
  return c.specs();
}

}  // namespace assay::tensor
