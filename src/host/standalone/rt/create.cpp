// Factories, copies between devices and types.
#include <algorithm>
#include <functional>
#include <map>

#include "assay/error.h"
#include "host/standalone/rt/call.h"

namespace assay::host {

namespace {

using Ints = std::vector<int64_t>;

// Headers pass (sizes, dtype, cuda).
int32_t of_sizes(const Call& c, size_t first, program::Init init) {
  return new_empty(c.ints(first), c.dtype(first + 1).value_or(DType::F32),
                   c.boolean(first + 2, false), init);
}

// Strides of `sizes` in the order of dimensions of t if t is dense, else contiguous.
Ints like_strides(const TensorImpl& t) {
  std::vector<size_t> order(t.sizes.size());
  for (size_t k = 0; k < order.size(); ++k) order[k] = k;
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return t.strides[a] > t.strides[b]; });
  Ints strides(t.sizes.size());
  int64_t step = 1;
  bool dense = true;
  for (size_t k = order.size(); k-- > 0;) {
    size_t d = order[k];
    strides[d] = step;
    dense = dense && (t.sizes[d] == 1 || t.strides[d] == step);
    step *= std::max<int64_t>(t.sizes[d], 1);
  }
  return dense ? strides : contiguous_strides(t.sizes);
}

Outs empty_like(const Call& c) {
  const TensorImpl t = Recorder::get().tensor(c.tensor(0));
  int32_t out = new_empty(t.sizes, c.dtype(1).value_or(t.dtype), c.boolean(2, t.cuda));
  int64_t format = c.integer(3, 1);
  TensorImpl& made = Recorder::get().tensor(out);
  if (format == 1) made.strides = like_strides(t);
  if (format == 2 || format == 3) {  // channels last
    Ints dims = made.sizes;
    if (dims.size() == (format == 2 ? 4u : 5u)) {
      int64_t step = dims[1];
      made.strides[1] = 1;
      for (size_t k = dims.size(); k-- > 2;) {
        made.strides[k] = step;
        step *= dims[k];
      }
      made.strides[0] = step;
    }
  }
  return {out};
}

Outs empty_strided(const Call& c) {
  Recorder& r = Recorder::get();
  Ints sizes = c.ints(0), strides = c.ints(3);
  int64_t span = 1;
  for (size_t k = 0; k < sizes.size(); ++k) span += (sizes[k] - 1) * strides[k];
  if (element_count(sizes) == 0) span = 0;
  int32_t out = new_empty({span}, c.dtype(1).value_or(DType::F32), c.boolean(2, false));
  TensorImpl& t = r.tensor(out);
  t.sizes = sizes;
  t.strides = strides;
  return {out};
}

Outs full(const Call& c) {
  DType dtype = c.dtype(2).value_or(DType::F32);
  int32_t out = new_empty(c.ints(0), dtype, c.boolean(3, false));
  return emit("aten::full", {c.args[0], c.args[1], dtype}, {out});
}

Outs to(const Call& c) {
  Recorder& r = Recorder::get();
  int32_t id = c.tensor(0);
  const TensorImpl t = r.tensor(id);
  DType dtype = c.dtype(1).value_or(t.dtype);
  bool cuda = c.boolean(2, t.cuda);
  if (dtype == t.dtype && cuda == t.cuda && !c.boolean(3, false)) return {id};
  int32_t out = new_empty(t.sizes, dtype, cuda);
  r.tensor(out).strides = like_strides(t);
  if (dtype != t.dtype) return emit("aten::_to_copy", {arg_of(id), dtype}, {out});
  return emit("aten::clone", {arg_of(id)}, {out});
}

Outs contiguous(const Call& c) {
  int64_t format = c.integer(1, 0);
  const TensorImpl t = Recorder::get().tensor(c.tensor(0));
  if (format == 0 || format == 1) return {contiguous_of(c.tensor(0))};
  if (is_contiguous_as(t, static_cast<int>(format))) return {c.tensor(0)};
  Call like = c;
  like.args = {c.args[0], t.dtype, t.cuda, format};
  return emit("aten::clone", {arg_of(c.tensor(0))}, {empty_like(like)[0]});
}

const std::map<std::string, std::function<Outs(const Call&)>>& table() {
  auto random = [](const Call& c) -> Outs {
    Recorder::get().unsupported("random numbers (" + c.name + ")");
  };
  static const std::map<std::string, std::function<Outs(const Call&)>> creators = {
      {"empty", [](const Call& c) -> Outs { return {of_sizes(c, 0, program::Init::Poison)}; }},
      {"zeros", [](const Call& c) -> Outs { return {of_sizes(c, 0, program::Init::Zero)}; }},
      {"ones",
       [](const Call& c) -> Outs {
         DType dtype = c.dtype(1).value_or(DType::F32);
         Arg one = program::dtype_is_float(dtype) ? Arg(1.0) : Arg(int64_t{1});
         return emit("aten::full", {c.args[0], one, dtype},
                     {of_sizes(c, 0, program::Init::Poison)});
       }},
      {"rand", random},
      {"randn", random},
      {"normal_", random},
      {"uniform_", random},
      {"empty_like", empty_like},
      {"empty_strided", empty_strided},
      {"full", full},
      {"eye",
       [](const Call& c) -> Outs {
         DType dtype = c.dtype(2).value_or(DType::F32);
         int32_t out = new_empty({c.integer(0, 0), c.integer(1, 0)}, dtype, c.boolean(3, false));
         return emit("aten::eye.m", {c.args[0], c.args[1], dtype}, {out});
       }},
      {"arange",
       [](const Call& c) -> Outs {
         Outs o = emit("aten::arange.start_step",
                       {c.args[0], c.args[1], c.args[2], c.dtype(3).value_or(DType::I64)});
         Recorder::get().tensor(o[0]).cuda = c.boolean(4, false);
         return o;
       }},
      {"linspace",
       [](const Call& c) -> Outs {
         Outs o = emit("aten::linspace",
                       {c.args[0], c.args[1], c.args[2], c.dtype(3).value_or(DType::F32)});
         Recorder::get().tensor(o[0]).cuda = c.boolean(4, false);
         return o;
       }},
      {"to", to},
      {"contiguous", contiguous},
      {"clone",
       [](const Call& c) -> Outs {
         const TensorImpl t = Recorder::get().tensor(c.tensor(0));
         int32_t out = new_empty(t.sizes, t.dtype, t.cuda);
         if (c.integer(1, 1) == 1) Recorder::get().tensor(out).strides = like_strides(t);
         return emit("aten::clone", {arg_of(c.tensor(0))}, {out});
       }},
  };
  return creators;
}

}  // namespace

std::optional<Outs> call_create(const Call& c) {
  auto it = table().find(c.name);
  if (it == table().end()) return std::nullopt;
  return it->second(c);
}

}  // namespace assay::host
