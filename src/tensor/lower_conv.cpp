// Convolutions: one nest, space [N, groups, OC/groups, out...], reduction [IC/groups, kernel...].
#include <fmt/format.h>

#include "tensor/blocks.h"
#include "tensor/ops.h"

namespace assay::tensor {
namespace {

constexpr int64_t kMaxWindow = 1 << 20;  // keeps products with extents inside int64

struct Conv {
  Ref x, w;  // batched
  std::optional<Ref> bias;
  Shape stride, padding, dilation, output_padding;
  bool transposed = false;
  int64_t groups = 1;
  int spatial() const { return x.rank() - 2; }
};

Shape spread(Shape v, int n, int64_t otherwise) {
  if (v.empty()) v.assign(n, otherwise);
  if (v.size() == 1) v.assign(n, v[0]);
  return v;
}

// padding='same': total = dilation * (kernel - 1), the odd element at the end; asymmetric.
bool same_padding(Context& c, Conv* v) {
  std::string mode = c.str("padding");
  v->padding.assign(v->spatial(), 0);
  if (mode == "valid") return true;
  if (mode != "same") c.invalid("padding must be 'same' or 'valid'");
  for (int k = 0; k < v->spatial(); ++k) {
    if (v->stride[k] != 1) c.invalid("padding='same' needs stride 1");
    v->padding[k] = v->dilation[k] * (v->w.shape[2 + k] - 1) / 2;
  }
  return !c.failed();
}

bool check(Context& c, const Conv& v) {
  int s = v.spatial();
  auto bad = [&](std::string m) {
    c.invalid(std::move(m));
    return false;
  };
  if (s < 1 || s > 3 || v.w.rank() != s + 2)
    return bad("input and weight must have equal ranks, 3 to 5");
  if (v.x.dtype != v.w.dtype) return bad("input and weight must have the same dtype");
  size_t n = static_cast<size_t>(s);
  if (v.stride.size() != n || v.padding.size() != n || v.dilation.size() != n ||
      v.output_padding.size() != n) {
    return bad("stride, padding, dilation must have one value for each spatial dimension");
  }
  if (v.groups < 1 || v.groups > std::max(v.w.shape[0], v.x.shape[1])) return bad("groups");
  int64_t in = v.x.shape[1], want = v.transposed ? v.w.shape[0] : v.w.shape[1] * v.groups;
  if (in != want || v.w.shape[0] % v.groups != 0) {
    return bad(fmt::format("input {} and weight {} do not fit with groups = {}",
                           shape_text(v.x.shape), shape_text(v.w.shape), v.groups));
  }
  int64_t out = v.transposed ? v.w.shape[1] * v.groups : v.w.shape[0];
  if (v.bias && v.bias->shape != Shape{out}) return bad("bias must have one element per channel");
  for (int k = 0; k < s; ++k) {
    if (v.stride[k] < 1 || v.dilation[k] < 1 || v.padding[k] < 0 || v.output_padding[k] < 0) {
      return bad("stride and dilation must be positive, padding not negative");
    }
    int64_t most = std::max({v.stride[k], v.dilation[k], v.padding[k], v.output_padding[k]});
    if (most > kMaxWindow) return bad("stride, dilation or padding is too large");
  }
  return true;
}

// Output extents; `extra` is 1 where 'same' padding has an odd total.
Shape out_extents(const Conv& v, bool same) {
  Shape e;
  for (int k = 0; k < v.spatial(); ++k) {
    int64_t in = v.x.shape[2 + k], reach = v.dilation[k] * (v.w.shape[2 + k] - 1);
    if (same) {
      e.push_back(in);
    } else if (v.transposed) {
      e.push_back((in - 1) * v.stride[k] - 2 * v.padding[k] + reach + v.output_padding[k] + 1);
    } else {
      int64_t span = in + 2 * v.padding[k] - reach - 1;
      e.push_back(span < 0 ? 0 : span / v.stride[k] + 1);
    }
  }
  return e;
}

void emit(Context& c, const Conv& v, const Ref& out) {
  int s = v.spatial();
  int64_t g = v.groups;
  int64_t ic = v.x.shape[1] / g, oc = out.shape[1] / g;
  Ref x = unflatten(v.x, 1, g, ic);
  Ref w = v.transposed ? unflatten(v.w, 0, g, ic) : unflatten(v.w, 0, g, oc);
  Ref o = unflatten(out, 1, g, oc);
  Shape reduction{ic};
  reduction.insert(reduction.end(), v.w.shape.begin() + 2, v.w.shape.end());
  NestBuilder b(o.shape, reduction);
  b.guards(OnGuard::Skip, 0);
  std::vector<Index> xi{b.space(0), b.space(1), b.red(0)};
  // weight: [g, oc, ic, k...], transposed: [g, ic, oc, k...]
  std::vector<Index> wi{b.space(1), v.transposed ? b.red(0) : b.space(2),
                        v.transposed ? b.space(2) : b.red(0)};
  for (int k = 0; k < s; ++k) {
    Affine at = b.space(3 + k), kernel = b.red(1 + k);
    wi.emplace_back(kernel);
    if (v.transposed) {
      Affine e = at + kernel * -v.dilation[k] + v.padding[k];
      xi.push_back(Index::guard(e, v.stride[k]));
      continue;
    }
    Affine e = at * v.stride[k] + kernel * v.dilation[k] + -v.padding[k];
    Shape extents = o.shape;
    extents.insert(extents.end(), reduction.begin(), reduction.end());
    bool empty = shape_numel(extents) == 0;
    Range range = empty ? Range{} : range_of(e, extents);
    bool inside = range.lo >= 0 && range.hi < v.x.shape[2 + k];
    xi.push_back(inside ? Index(e) : Index::guard(e));
  }
  Ty ty = compute_type(v.x.dtype);
  V sum = b.reduce(ReduceKind::Sum, b.load(x, xi, ty) * b.load(w, wi, ty));
  if (v.bias) {
    Ref bias = unflatten(*v.bias, 0, g, oc);
    sum = sum + b.load_post(bias, {b.space(1), b.space(2)}, ty);
  }
  b.store(o, b.space_index(), sum);
  c.push(b);
}

void conv(Context& c, Conv v, bool unbatched, bool same) {
  if (c.failed() || !check(c, v)) return;
  Shape shape{v.x.shape[0], v.transposed ? v.w.shape[1] * v.groups : v.w.shape[0]};
  for (int64_t e : out_extents(v, same)) {
    if (e <= 0) return c.invalid("the output would be empty");
    shape.push_back(e);
  }
  if (unbatched) shape.erase(shape.begin());
  Ref out = c.out(0, v.x.dtype, shape);
  if (unbatched) out = unsqueeze(out, 0);
  if (!c.failed()) emit(c, v, out);
}

}  // namespace

// convolution (transposed as an argument), conv1d/2d/3d, conv_transpose1d/2d/3d.
void lower_conv(Context& c) {
  Conv v;
  v.x = c.tensor("input");
  v.w = c.tensor("weight");
  v.bias = c.maybe("bias");
  v.transposed = c.flag("transposed", c.base().starts_with("conv_transpose"));
  v.groups = c.integer("groups", 1);
  bool unbatched = v.x.rank() == v.w.rank() - 1;
  if (unbatched) v.x = unsqueeze(v.x, 0);
  if (v.x.rank() < 3 || v.w.rank() != v.x.rank()) {
    return c.invalid("input and weight must have equal ranks, 3 to 5");
  }
  int s = v.spatial();
  v.stride = spread(c.ints("stride"), s, 1);
  v.dilation = spread(c.ints("dilation"), s, 1);
  v.output_padding = spread(c.ints("output_padding"), s, 0);
  v.padding = spread(c.ints("padding"), s, 0);
  std::string mode = c.str("padding");
  if (!mode.empty()) {
    if (v.stride.size() != static_cast<size_t>(s) || v.dilation.size() != static_cast<size_t>(s)) {
      return c.invalid("stride and dilation need one value for each spatial dimension");
    }
    if (!same_padding(c, &v)) return;
  }
  conv(c, v, unbatched, mode == "same");
}

}  // namespace assay::tensor
