// Pooling. A window's elements outside the input are skipped by guards.
#include <fmt/format.h>

#include <memory>

#include "tensor/blocks.h"
#include "tensor/ops.h"

namespace assay::tensor {
namespace {

constexpr int64_t kMaxWindow = 1 << 20;  // keeps products with extents inside int64

struct Window {
  Shape kernel, stride, padding, dilation;
  bool ceil_mode = false;
  Shape out;  // output extents
};

int spatial_rank(const Context& c) {
  std::string_view n = c.base();
  for (int d = 1; d <= 3; ++d) {
    if (n.find(std::to_string(d) + "d") != std::string_view::npos) return d;
  }
  return 0;
}

Shape spread(Shape v, int n, int64_t otherwise) {
  if (v.empty()) v.assign(n, otherwise);
  if (v.size() == 1) v.assign(n, v[0]);
  return v;
}

// ATen's pooling_output_shape: with ceil_mode the last window starts inside input + left padding.
int64_t out_extent(int64_t in, int64_t k, int64_t s, int64_t p, int64_t d, bool ceil_mode) {
  int64_t span = in + 2 * p - d * (k - 1) - 1 + (ceil_mode ? s - 1 : 0);
  if (span < 0) return 0;
  int64_t out = span / s + 1;
  if (ceil_mode && (out - 1) * s >= in + p) --out;
  return out;
}

// Input with exactly one batch and channel part: [outer..., spatial]; leading dims are kept as are.
std::optional<Window> window_args(Context& c, const Ref& x, int s) {
  Window w;
  auto bad = [&](const char* m) {
    c.invalid(m);
    return std::nullopt;
  };
  if (x.rank() != s + 1 && x.rank() != s + 2) return bad("the input's rank");
  w.kernel = spread(c.ints("kernel_size"), s, 1);
  w.stride = c.ints("stride").empty() ? w.kernel : spread(c.ints("stride"), s, 1);
  w.padding = spread(c.ints("padding"), s, 0);
  w.dilation = spread(c.ints("dilation"), s, 1);
  w.ceil_mode = c.flag("ceil_mode");
  size_t n = static_cast<size_t>(s);
  if (w.kernel.size() != n || w.stride.size() != n || w.padding.size() != n ||
      w.dilation.size() != n) {
    return bad("window arguments need one value for each spatial dimension");
  }
  for (int k = 0; k < s; ++k) {
    if (w.kernel[k] < 1 || w.stride[k] < 1 || w.dilation[k] < 1 || w.padding[k] < 0) {
      return bad("kernel_size, stride and dilation must be positive");
    }
    if (std::max({w.kernel[k], w.stride[k], w.dilation[k], w.padding[k]}) > kMaxWindow) {
      return bad("kernel_size, stride, dilation or padding is too large");
    }
    if (w.padding[k] * 2 > w.kernel[k]) return bad("padding must be at most half of kernel_size");
    int64_t in = x.shape[x.rank() - s + k];
    int64_t out =
        out_extent(in, w.kernel[k], w.stride[k], w.padding[k], w.dilation[k], w.ceil_mode);
    if (out < 1) return bad("the output would be empty");
    w.out.push_back(out);
  }
  return w;
}

struct PoolNest {
  std::unique_ptr<NestBuilder> b;
  std::vector<Index> read;
  std::vector<Affine> position;  // input position in each spatial dimension, padding subtracted
};

PoolNest pool_nest(const Ref& x, const Shape& shape, const Window& w) {
  PoolNest p{std::make_unique<NestBuilder>(shape, w.kernel), {}, {}};
  int s = static_cast<int>(w.kernel.size()), lead = x.rank() - s;
  p.b->guards(OnGuard::Skip, 0);
  for (int k = 0; k < lead; ++k) p.read.emplace_back(p.b->space(k));
  for (int k = 0; k < s; ++k) {
    Affine at = p.b->space(lead + k) * w.stride[k] + p.b->red(k) * w.dilation[k] + -w.padding[k];
    int64_t last = (w.out[k] - 1) * w.stride[k] + (w.kernel[k] - 1) * w.dilation[k] - w.padding[k];
    bool inside = w.padding[k] == 0 && last < x.shape[lead + k];
    p.read.push_back(inside ? Index(at) : Index::guard(at));
    p.position.push_back(at);
  }
  return p;
}

Shape pooled_shape(const Ref& x, const Window& w) {
  Shape shape(x.shape.begin(), x.shape.end() - static_cast<std::ptrdiff_t>(w.kernel.size()));
  shape.insert(shape.end(), w.out.begin(), w.out.end());
  return shape;
}

void max_pool(Context& c, const Ref& x, const Window& w, bool indices) {
  Shape shape = pooled_shape(x, w);
  Ref out = c.out(0, x.dtype, shape);
  std::optional<Ref> index_out;
  if (indices) index_out = c.out(1, DType::I64, shape);
  if (c.failed()) return;
  Ty ty = program::dtype_ty(x.dtype);
  PoolNest p = pool_nest(x, shape, w);
  p.b->store(out, p.b->space_index(), p.b->reduce(ReduceKind::Max, p.b->load(x, p.read, ty)));
  c.push(*p.b);
  if (!indices) return;
  PoolNest q = pool_nest(x, shape, w);
  Affine flat = affine(0);
  int64_t stride = 1;
  for (int k = static_cast<int>(w.kernel.size()) - 1; k >= 0; --k) {
    flat = flat + q.position[k] * stride;
    stride *= x.shape[x.rank() - static_cast<int>(w.kernel.size()) + k];
  }
  V best = q.b->reduce_arg(ReduceKind::ArgMax, q.b->load(x, q.read, ty), flat);
  q.b->store(*index_out, q.b->space_index(), best);
  c.push(*q.b);
}

}  // namespace

// max_pool{1,2,3}d, max_pool{2,3}d_with_indices, max_pool1d_with_indices: indices are flattened
// over the spatial dimensions.
void lower_max_pool(Context& c) {
  Ref x = c.tensor("self");
  auto w = window_args(c, x, spatial_rank(c));
  if (w) max_pool(c, x, *w, c.base().ends_with("with_indices"));
}

namespace {

// How many elements of window position `o` count along one dimension: min(start + kernel,
// bound) - max(start, floor), as an S64 value; `include_pad`: bounds are those of the padded input.
V window_count(Expr& e, const Affine& o, int64_t stride, int64_t padding, int64_t kernel,
               int64_t in, bool include_pad) {
  V start = e.iter(o * stride + -padding);
  V end = min(start + static_cast<double>(kernel), e.integer(in + padding, Ty::S64));
  if (include_pad) return end - start;
  V zero = e.integer(0, Ty::S64);
  return min(end, e.integer(in, Ty::S64)) - max(start, zero);
}

bool count_varies(const Window& w, int k, int64_t in, bool include_pad) {
  int64_t last_end = (w.out[k] - 1) * w.stride[k] - w.padding[k] + w.kernel[k];
  if (include_pad) return last_end > in + w.padding[k];
  return w.padding[k] > 0 || last_end > in;
}

}  // namespace

void lower_avg_pool(Context& c) {
  Ref x = c.tensor("self");
  int s = spatial_rank(c), lead = x.rank() - s;
  auto w = window_args(c, x, s);
  if (!w) return;
  bool include_pad = c.flag("count_include_pad", true);
  Shape shape = pooled_shape(x, *w);
  Ref out = c.out(0, x.dtype, shape);
  if (c.given("divisor_override") && c.integer("divisor_override") == 0) {
    return c.invalid("divisor must not be zero");
  }
  if (c.failed()) return;
  Ty ty = compute_type(x.dtype);
  PoolNest p = pool_nest(x, shape, *w);
  V sum = p.b->reduce(ReduceKind::Sum, p.b->load(x, p.read, ty));
  Expr& e = p.b->post();
  if (c.given("divisor_override")) {
    sum = sum / static_cast<double>(c.integer("divisor_override"));
  } else {
    double fixed = 1;
    V varying;
    for (int k = 0; k < s; ++k) {
      int64_t in = x.shape[lead + k];
      if (!count_varies(*w, k, in, include_pad)) {
        fixed *= static_cast<double>(w->kernel[k]);
        continue;
      }
      V n = window_count(e, p.b->space(lead + k), w->stride[k], w->padding[k], w->kernel[k], in,
                         include_pad);
      varying = varying.expr == nullptr ? n : varying * n;
    }
    if (varying.expr != nullptr) {
      sum = sum / (cast(varying, ty) * fixed);
    } else {
      sum = sum / fixed;
    }
  }
  p.b->store(out, p.b->space_index(), sum);
  c.push(*p.b);
}

namespace {

// A run of outputs [first, first + count) whose windows all have `length` elements and start at
// start + step * i.
struct Run {
  int64_t first = 0, count = 1, start = 0, step = 0, length = 1;
};

// Adaptive windows: start = floor(i * in / out), end = ceil((i + 1) * in / out).
std::vector<Run> adaptive_runs(int64_t in, int64_t out) {
  std::vector<Run> runs;
  for (int64_t i = 0; i < out; ++i) {
    int64_t start = i * in / out;
    int64_t length = ((i + 1) * in + out - 1) / out - start;
    if (!runs.empty() && runs.back().length == length) {
      Run& r = runs.back();
      int64_t step = start - (r.start + (r.count - 1) * r.step);
      if (r.count == 1 || step == r.step) {
        r.step = step;
        ++r.count;
        continue;
      }
    }
    runs.push_back({i, 1, start, 0, length});
  }
  return runs;
}

// One nest for each combination of runs. Calls emit(out part, input part, runs).
template <class Emit>
void for_each_run(const Ref& out, const std::vector<std::vector<Run>>& runs, const Emit& emit) {
  std::vector<size_t> at(runs.size(), 0);
  int lead = out.rank() - static_cast<int>(runs.size());
  for (;;) {
    Ref part = out;
    std::vector<Run> chosen;
    for (size_t k = 0; k < runs.size(); ++k) {
      const Run& r = runs[k][at[k]];
      chosen.push_back(r);
      part = slice(part, lead + static_cast<int>(k), r.first, r.count);
    }
    emit(part, chosen);
    size_t k = runs.size();
    while (k > 0 && ++at[k - 1] == runs[k - 1].size()) at[--k] = 0;
    if (k == 0) return;
  }
}

std::unique_ptr<NestBuilder> adaptive_nest(const Ref& part, const std::vector<Run>& runs,
                                           std::vector<Index>* read,
                                           std::vector<Affine>* position) {
  Shape kernel;
  for (const Run& r : runs) kernel.push_back(r.length);
  auto b = std::make_unique<NestBuilder>(part.shape, kernel);
  int lead = part.rank() - static_cast<int>(runs.size());
  for (int k = 0; k < lead; ++k) read->emplace_back(b->space(k));
  for (int k = 0; k < static_cast<int>(runs.size()); ++k) {
    Affine at = b->space(lead + k) * runs[k].step + b->red(k) + runs[k].start;
    read->emplace_back(at);
    position->push_back(at);
  }
  return b;
}

}  // namespace

void lower_adaptive_pool(Context& c) {
  Ref x = c.tensor("self");
  int s = spatial_rank(c);
  Shape size = spread(c.ints("output_size"), s, 1);
  if ((x.rank() != s + 1 && x.rank() != s + 2) || size.size() != static_cast<size_t>(s)) {
    return c.invalid("the input's rank or output_size");
  }
  int lead = x.rank() - s;
  Shape shape(x.shape.begin(), x.shape.begin() + lead);
  std::vector<std::vector<Run>> runs;
  size_t nests = 1;
  for (int k = 0; k < s; ++k) {
    int64_t in = x.shape[lead + k];
    if (size[k] < 1 || in < 1 || size[k] > (1 << 16)) return c.invalid("output_size");
    shape.push_back(size[k]);
    runs.push_back(adaptive_runs(in, size[k]));
    nests *= runs.back().size();
  }
  if (nests > 4096) return c.unsupported("more than 4096 kinds of windows");
  bool largest = c.base().find("max") != std::string_view::npos;
  Ref out = c.out(0, x.dtype, shape);
  std::optional<Ref> index_out;
  if (largest) index_out = c.out(1, DType::I64, shape);
  if (c.failed()) return;
  Ty ty = largest ? program::dtype_ty(x.dtype) : compute_type(x.dtype);
  for_each_run(out, runs, [&](const Ref& part, const std::vector<Run>& r) {
    std::vector<Index> read;
    std::vector<Affine> position;
    auto b = adaptive_nest(part, r, &read, &position);
    V total = b->reduce(largest ? ReduceKind::Max : ReduceKind::Sum, b->load(x, read, ty));
    double n = 1;
    for (const Run& run : r) n *= static_cast<double>(run.length);
    b->store(part, b->space_index(), largest ? total : total / n);
    c.push(*b);
  });
  if (!largest) return;
  for_each_run(*index_out, runs, [&](const Ref& part, const std::vector<Run>& r) {
    std::vector<Index> read;
    std::vector<Affine> position;
    auto b = adaptive_nest(part, r, &read, &position);
    Affine flat = affine(0);
    int64_t stride = 1;
    for (int k = s - 1; k >= 0; --k) {
      flat = flat + position[k] * stride;
      stride *= x.shape[lead + k];
    }
    b->store(part, b->space_index(), b->reduce_arg(ReduceKind::ArgMax, b->load(x, read, ty), flat));
    c.push(*b);
  });
}

}  // namespace assay::tensor
