// Operators that PyTorch composes of others: decomposed as torch.export does for the reference
// (core ATen), so that both sides name the same operators on the same contents.
#include <fmt/format.h>

#include <functional>
#include <map>

#include "assay/error.h"
#include "host/standalone/rt/call.h"

namespace assay::host {

namespace {

using Ints = std::vector<int64_t>;

const TensorImpl& impl(int32_t id) { return Recorder::get().tensor(id); }
size_t rank(int32_t id) { return impl(id).sizes.size(); }

Outs linear(const Call& c) {
  int32_t x = c.tensor(0), w = c.tensor(1);
  if (rank(w) != 2 || rank(x) < 2) return emit_by_name("linear", c.args);
  Ints shape = impl(x).sizes;
  int64_t in = shape.back(), out = impl(w).sizes[0];
  if (in != impl(w).sizes[1]) {
    throw c10::Error(
        fmt::format("mat1 and mat2 shapes cannot be multiplied ({} and {})", in, impl(w).sizes[1]));
  }
  int32_t rows = rank(x) == 2 ? x : view_as_shape(x, {-1, in}, true);
  int32_t wt = permuted(w, {1, 0});
  Outs y = c.given(2) ? emit("aten::addmm", {c.args[2], arg_of(rows), arg_of(wt)})
                      : emit("aten::mm", {arg_of(rows), arg_of(wt)});
  if (rank(x) == 2) return y;
  shape.back() = out;
  return {view_as_shape(y[0], shape, true)};
}

Outs matmul(const Call& c) {
  int32_t a = c.tensor(0), b = c.tensor(1);
  size_t ra = rank(a), rb = rank(b);
  if (ra == 2 && rb == 2) return emit("aten::mm", {arg_of(a), arg_of(b)});
  if (ra < 2 || rb < 2) return emit_by_name("matmul", c.args);
  Ints sa = impl(a).sizes, sb = impl(b).sizes;
  if (ra > 2 && rb == 2) {  // folded into rows
    Ints shape = sa;
    shape.back() = sb[1];
    int32_t y = emit("aten::mm", {arg_of(view_as_shape(a, {-1, sa.back()}, true)), arg_of(b)})[0];
    return {view_as_shape(y, shape, true)};
  }
  Ints batch;  // broadcast
  size_t n = std::max(ra, rb) - 2;
  for (size_t k = 0; k < n; ++k) {
    int64_t da = k + ra >= n + 2 ? sa[k + ra - n - 2] : 1;
    int64_t db = k + rb >= n + 2 ? sb[k + rb - n - 2] : 1;
    if (da != db && da != 1 && db != 1) throw c10::Error("matmul: batch dimensions do not match");
    batch.push_back(da == 1 ? db : da);
  }
  auto folded = [&](int32_t t, const Ints& s) {
    Ints whole = batch;
    whole.push_back(s[s.size() - 2]);
    whole.push_back(s.back());
    return view_as_shape(expanded(t, whole), {element_count(batch), s[s.size() - 2], s.back()},
                         true);
  };
  int32_t y = emit("aten::bmm", {arg_of(folded(a, sa)), arg_of(folded(b, sb))})[0];
  Ints shape = batch;
  shape.push_back(sa[ra - 2]);
  shape.push_back(sb[rb - 1]);
  return {view_as_shape(y, shape, true)};
}

Ints spread(const Ints& v, size_t n, int64_t otherwise) {
  if (v.empty()) return Ints(n, otherwise);
  return v.size() == 1 ? Ints(n, v[0]) : v;
}

// conv{n}d and conv_transpose{n}d: aten::convolution.
Outs conv(const Call& c) {
  bool transposed = c.name.compare(0, 14, "conv_transpose") == 0;
  auto n = static_cast<size_t>(c.name[c.name.size() - 2] - '0');
  if (rank(c.tensor(0)) != n + 2 ||
      (c.args.size() > 4 && std::holds_alternative<std::string>(c.args[4]))) {
    return emit_by_name(c.name, c.args);
  }
  Ints stride = spread(c.ints(3), n, 1), padding = spread(c.ints(4), n, 0);
  Ints dilation = spread(c.ints(transposed ? 7 : 5), n, 1);
  Ints output_padding = transposed ? spread(c.ints(5), n, 0) : Ints(n, 0);
  int64_t groups = c.integer(6, 1);
  Arg bias = c.given(2) ? c.args[2] : Arg();
  return emit("aten::convolution", {c.args[0], c.args[1], bias, stride, padding, dilation,
                                    transposed, output_padding, groups});
}

Outs batch_norm(const Call& c) {
  bool training = c.boolean(5, false), has_stats = c.given(3);
  Arg momentum = c.real(6, 0.1), eps = c.real(7, 1e-5);
  auto arg = [&](size_t k) { return c.given(k) ? c.args[k] : Arg(); };
  if (!has_stats) {
    return emit("aten::_native_batch_norm_legit.no_stats",
                {c.args[0], arg(1), arg(2), true, momentum, eps});
  }
  if (!training) {
    return emit("aten::_native_batch_norm_legit_no_training",
                {c.args[0], arg(1), arg(2), arg(3), arg(4), momentum, eps});
  }
  // Outputs 3 and 4 are the new running statistics, written where the old ones stand.
  return emit("aten::_native_batch_norm_legit_functional",
              {c.args[0], arg(1), arg(2), arg(3), arg(4), true, momentum, eps},
              {-1, -1, -1, c.tensor(3), c.tensor(4)});
}

Outs group_norm(const Call& c) {
  const Ints s = impl(c.tensor(0)).sizes;
  if (s.size() < 2) throw c10::Error("Expected at least 2 dimensions for input tensor");
  int64_t hw = 1;
  for (size_t k = 2; k < s.size(); ++k) hw *= s[k];
  int32_t x = contiguous_of(c.tensor(0));
  return {emit("aten::native_group_norm",
               {arg_of(x), c.given(2) ? c.args[2] : Arg(), c.given(3) ? c.args[3] : Arg(), s[0],
                s[1], hw, c.integer(1, 1), c.real(4, 1e-5)})[0]};
}

Outs softmax(const Call& c) {
  int32_t x = c.tensor(0);
  if (auto t = c.dtype(2)) x = cast_to(x, *t);
  return emit("aten::_" + c.name, {arg_of(x), c.integer(1, -1), false});
}

Outs dropout(const Call& c) {
  if (!c.boolean(2, true) || c.real(1, 0.5) == 0.0) return {c.tensor(0)};
  return {emit("aten::native_dropout", {c.args[0], c.real(1, 0.5), true})[0]};
}

// sum, mean, prod: (self, dims or None, keepdim, dtype).
Outs reduction(const Call& c) {
  bool whole = !c.given(1) || (c.name != "prod" && c.ints(1).empty());
  Arg dtype = c.given(3) ? c.args[3] : Arg();
  if (whole && !c.boolean(2, false)) return emit("aten::" + c.name, {c.args[0], dtype});
  if (c.name == "prod") {
    return emit("aten::prod.dim_int", {c.args[0], c.args[1], c.boolean(2, false), dtype});
  }
  return emit(c.name == "sum" ? "aten::sum.dim_IntList" : "aten::mean.dim",
              {c.args[0], c.given(1) ? c.args[1] : Arg(), c.boolean(2, false), dtype});
}

Outs variance(const Call& c) {
  Arg dims = c.given(1) ? c.args[1] : Arg();
  return emit("aten::" + c.name + ".correction",
              {c.args[0], dims, int64_t{c.boolean(2, true) ? 1 : 0}, c.boolean(3, false)});
}

Outs extremum(const Call& c) {
  if (c.args.size() == 1) return emit("aten::" + c.name, {c.args[0]});
  if (c.ids.size() > 1 && c.ids[1] >= 0) {
    return emit(c.name == "max" ? "aten::maximum" : "aten::minimum", {c.args[0], c.args[1]});
  }
  return emit("aten::" + c.name + ".dim", {c.args[0], c.args[1], c.boolean(2, false)});
}

// "radd": the operands of a Python-number-first operator, swapped by the header.
Outs reflected(const Call& c) {
  std::string name = c.name.substr(1);
  if (name == "sub") return emit("aten::rsub.Scalar", {c.args[0], c.args[1]});
  if (name == "pow") return emit("aten::pow.Scalar", {c.args[1], c.args[0]});
  if (name == "div") {
    int32_t inverse = emit("aten::reciprocal", {c.args[0]})[0];
    if (c.real(1, 0) == 1.0) return {inverse};
    return emit("aten::mul.Tensor", {arg_of(inverse), c.args[1]});
  }
  static const std::map<std::string, std::string> mirrored = {
      {"lt", "gt"}, {"gt", "lt"}, {"le", "ge"}, {"ge", "le"}};
  auto m = mirrored.find(name);
  return emit_by_name(m == mirrored.end() ? name : m->second, c.args);
}

Outs adaptive_avg_pool(const Call& c) {
  auto n = static_cast<size_t>(c.name[c.name.size() - 2] - '0');
  Ints size = spread(c.ints(1), n, 1);
  bool global = n > 1 && rank(c.tensor(0)) >= n;
  for (int64_t s : size) global = global && s == 1;
  if (!global) return emit_by_name(c.name, {c.args[0], size});
  Ints dims;
  for (size_t k = 0; k < n; ++k) dims.push_back(-1 - static_cast<int64_t>(k));
  return emit("aten::mean.dim", {c.args[0], dims, true});
}

Outs max_pool(const Call& c) {
  return {emit("aten::" + c.name + "_with_indices",
               {c.args[0], c.ints(1), c.ints(2), c.ints(3), c.ints(4), c.boolean(5, false)})[0]};
}

const std::map<std::string, std::function<Outs(const Call&)>>& table() {
  static const std::map<std::string, std::function<Outs(const Call&)>> operators = {
      {"linear", linear},
      {"matmul", matmul},
      {"inner", matmul},
      {"conv1d", conv},
      {"conv2d", conv},
      {"conv3d", conv},
      {"conv_transpose1d", conv},
      {"conv_transpose2d", conv},
      {"conv_transpose3d", conv},
      {"batch_norm", batch_norm},
      {"native_batch_norm", batch_norm},
      {"layer_norm",
       [](const Call& c) -> Outs {
         return {
             emit("aten::native_layer_norm", {c.args[0], c.args[1], c.given(2) ? c.args[2] : Arg(),
                                              c.given(3) ? c.args[3] : Arg(), c.real(4, 1e-5)})[0]};
       }},
      {"group_norm", group_norm},
      {"softmax", softmax},
      {"log_softmax", softmax},
      {"dropout", dropout},
      {"sum", reduction},
      {"mean", reduction},
      {"prod", reduction},
      {"var", variance},
      {"std", variance},
      {"norm",
       [](const Call& c) -> Outs {
         return emit("aten::linalg_vector_norm",
                     {c.args[0], c.given(1) ? c.args[1] : Arg(int64_t{2}),
                      c.given(2) ? c.args[2] : Arg(), c.boolean(3, false)});
       }},
      {"max", extremum},
      {"min", extremum},
      {"radd", reflected},
      {"rsub", [](const Call& c) -> Outs { return emit_by_name("rsub", c.args); }},
      {"rmul", reflected},
      {"rdiv", reflected},
      {"rpow", reflected},
      {"req", reflected},
      {"rne", reflected},
      {"rlt", reflected},
      {"rle", reflected},
      {"rgt", reflected},
      {"rge", reflected},
      {"rbitwise_and", reflected},
      {"rbitwise_or", reflected},
      {"adaptive_avg_pool1d", adaptive_avg_pool},
      {"adaptive_avg_pool2d", adaptive_avg_pool},
      {"adaptive_avg_pool3d", adaptive_avg_pool},
      {"max_pool2d", max_pool},
      {"max_pool3d", max_pool},
      {"clip", [](const Call& c) -> Outs { return emit_by_name("clamp", c.args); }},
      {"square",
       [](const Call& c) -> Outs {
         return emit("aten::pow.Tensor_Scalar", {c.args[0], int64_t{2}});
       }},
      {"multiply", [](const Call& c) -> Outs { return emit_by_name("mul", c.args); }},
      {"subtract", [](const Call& c) -> Outs { return emit_by_name("sub", c.args); }},
      {"divide", [](const Call& c) -> Outs { return emit_by_name("div", c.args); }},
      {"true_divide", [](const Call& c) -> Outs { return emit_by_name("div", c.args); }},
      {"einsum", einsum},
  };
  return operators;
}

}  // namespace

std::optional<Outs> call_nn(const Call& c) {
  auto it = table().find(c.name);
  if (it == table().end()) return std::nullopt;
  return it->second(c);
}

}  // namespace assay::host
