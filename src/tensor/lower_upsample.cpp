// Upsampling: one dimension after the other, the last first. Along a dimension every result is a
// weighted sum of a few elements; results that read with the same weights at equal distances are
// one nest, so that a scale of 2 makes few of them.
#include <fmt/format.h>

#include <cmath>

#include "tensor/blocks.h"
#include "tensor/ops.h"

namespace assay::tensor {
namespace {

constexpr int64_t kMostNests = 4096, kMostPeriod = 64, kMostExtent = int64_t{1} << 20;

// What one result reads along a dimension. Weights empty: one element as it is.
struct Taps {
  std::vector<int64_t> index;
  std::vector<double> weight;
};

// Elements first, first + step, ... (count): tap k of the n-th reads index[k] + move * n.
struct Run {
  int64_t first = 0, count = 1, move = 0;
  Taps taps;
};

enum class Mode : uint8_t { Nearest, NearestExact, Linear, Cubic };

struct Extent {
  int64_t in = 1, out = 1;
  std::optional<double> scale;  // as interpolate's scale_factor; out / in if it is not given
  bool align_corners = false;
};

struct Position {
  int64_t index = 0;
  double fraction = 0;
};

// Where result o lies in the input. An exact quotient wherever the scale is one, so that fractions
// of equal meaning are equal.
Position position(const Extent& e, int64_t o) {
  auto quotient = [](int64_t a, int64_t b) {
    int64_t floor = a >= 0 ? a / b : -((-a + b - 1) / b);
    return Position{floor, static_cast<double>(a - floor * b) / static_cast<double>(b)};
  };
  if (e.align_corners) return e.out > 1 ? quotient(o * (e.in - 1), e.out - 1) : Position{};
  double in = static_cast<double>(e.in), out = static_cast<double>(e.out);
  if (!e.scale || *e.scale * in == out) {
    return quotient((2 * o + 1) * e.in - e.out, 2 * e.out);
  }
  double at = (static_cast<double>(o) + 0.5) / *e.scale - 0.5, floor = std::floor(at);
  return {static_cast<int64_t>(floor), at - floor};
}

// PyTorch computes this one in float whatever the tensor holds.
int64_t nearest(const Extent& e, int64_t o, bool exact) {
  float ratio = e.scale ? static_cast<float>(1.0 / *e.scale)
                        : static_cast<float>(e.in) / static_cast<float>(e.out);
  float at = (static_cast<float>(o) + (exact ? 0.5f : 0.0f)) * ratio;
  return static_cast<int64_t>(std::floor(at));
}

Taps taps_of(const Extent& e, int64_t o, Mode mode) {
  auto inside = [&](int64_t i) { return std::clamp<int64_t>(i, 0, e.in - 1); };
  if (mode == Mode::Nearest || mode == Mode::NearestExact) {
    return {{inside(nearest(e, o, mode == Mode::NearestExact))}, {}};
  }
  Position p = position(e, o);
  if (mode == Mode::Linear) {
    if (p.index < 0) p = {};
    return {{inside(p.index), inside(p.index + 1)}, {1 - p.fraction, p.fraction}};
  }
  Taps t;
  constexpr double a = -0.75;
  for (int64_t k = -1; k <= 2; ++k) {
    double d = std::fabs(p.fraction - static_cast<double>(k));
    t.index.push_back(inside(p.index + k));
    t.weight.push_back(d <= 1 ? ((a + 2) * d - (a + 3)) * d * d + 1
                              : ((a * d - 5 * a) * d + 8 * a) * d - 4 * a);
  }
  return t;
}

// The distance by which all taps of `b` lie behind those of `a`, if it is one and the weights are
// the same.
std::optional<int64_t> distance(const Taps& a, const Taps& b) {
  if (a.weight != b.weight) return std::nullopt;
  int64_t move = b.index[0] - a.index[0];
  for (size_t k = 1; k < a.index.size(); ++k) {
    if (b.index[k] - a.index[k] != move) return std::nullopt;
  }
  return move;
}

std::vector<Run> runs_of(const std::vector<Taps>& taps, int64_t period) {
  std::vector<Run> runs;
  int64_t n = static_cast<int64_t>(taps.size());
  for (int64_t residue = 0; residue < std::min(period, n); ++residue) {
    bool open = false;
    for (int64_t o = residue; o < n; o += period) {
      if (open) {
        Run& r = runs.back();
        auto move = distance(taps[static_cast<size_t>(o - period)], taps[static_cast<size_t>(o)]);
        if (move && (r.count == 1 || *move == r.move)) {
          r.move = *move;
          ++r.count;
          continue;
        }
      }
      runs.push_back({o, 1, 0, taps[static_cast<size_t>(o)]});
      open = true;
    }
  }
  return runs;
}

// out[..., o, ...] = sum of weight * x[..., index, ...] along dim. False: too many nests.
bool resample(Context& c, const Ref& out, const Ref& x, int dim, const Extent& e, Mode mode,
              Ty ty) {
  std::vector<Taps> taps;
  for (int64_t o = 0; o < e.out; ++o) taps.push_back(taps_of(e, o, mode));
  int64_t period = 1;
  std::vector<Run> runs = runs_of(taps, 1);
  for (int64_t p = 2; p <= kMostPeriod; ++p) {
    std::vector<Run> other = runs_of(taps, p);
    if (other.size() < runs.size()) {
      runs = std::move(other);
      period = p;
    }
  }
  if (static_cast<int64_t>(runs.size()) > kMostNests) return false;
  for (const Run& r : runs) {
    Ref part = slice(out, dim, r.first, r.count, period);
    NestBuilder b(part.shape, {});
    std::vector<Index> index = b.space_index();
    V sum;
    for (size_t k = 0; k < r.taps.index.size(); ++k) {
      std::vector<Index> from = index;
      from[dim] = Index(b.space(dim) * r.move + r.taps.index[k]);
      V v = b.load(x, from, ty);
      if (!r.taps.weight.empty()) v = v * r.taps.weight[k];
      sum = sum.expr == nullptr ? v : sum + v;
    }
    b.store(part, index, sum);
    c.push(b);
  }
  return true;
}

}  // namespace

// upsample_{nearest,linear,bilinear,trilinear,bicubic}Nd, _upsample_nearest_exactNd.
void lower_upsample(Context& c) {
  std::string_view name = c.base();
  int s = name.back() == 'd' ? name[name.size() - 2] - '0' : 0;
  Mode mode = name.find("exact") != std::string_view::npos     ? Mode::NearestExact
              : name.find("nearest") != std::string_view::npos ? Mode::Nearest
              : name.find("cubic") != std::string_view::npos   ? Mode::Cubic
                                                               : Mode::Linear;
  bool weighs = mode == Mode::Linear || mode == Mode::Cubic;
  Ref x = c.tensor("self");
  Shape size = c.ints("output_size");
  if (x.rank() != s + 2 || size.size() != static_cast<size_t>(s)) {
    return c.invalid("the input's rank or output_size");
  }
  if (weighs && !program::dtype_is_float(x.dtype)) {
    return c.unsupported("interpolation of integers");
  }
  static constexpr const char* kScales[] = {"scales_d", "scales_h", "scales_w"};
  Shape shape = x.shape;
  std::vector<Extent> extents;
  for (int k = 0; k < s; ++k) {
    const char* scale = s == 1 ? "scales" : kScales[3 - s + k];
    Extent e{x.shape[2 + k], size[k], {}, c.flag("align_corners")};
    if (c.given(scale) && c.number(scale) > 0) e.scale = c.number(scale);
    if (e.in < 1 || e.out < 1) return c.invalid("sizes must be positive");
    if (std::max(e.in, e.out) > kMostExtent) return c.unsupported("extents beyond 2^20");
    if (e.scale && !(*e.scale > 1e-6 && *e.scale < 1e6)) return c.invalid("scale");
    extents.push_back(e);
    shape[2 + k] = e.out;
  }
  // CUDA copies where no extent changes, whatever the scales say; not where it takes the nearest.
  if (shape == x.shape && mode == Mode::Linear) {
    for (Extent& e : extents) e.scale.reset();
  }
  Ref out = c.out(0, x.dtype, shape);
  if (c.failed()) return;
  Ty ty = weighs ? compute_type(x.dtype) : Ty::None;
  DType wide = weighs && x.dtype != DType::F64 ? DType::F32 : x.dtype;
  for (int k = s - 1; k >= 0; --k) {
    Shape part = x.shape;
    part[2 + k] = extents[k].out;
    Ref to = k == 0 ? out : c.temp(wide, part);
    if (!resample(c, to, x, 2 + k, extents[k], mode, ty)) {
      return c.unsupported(fmt::format("a scale that makes more than {} nests", kMostNests));
    }
    x = to;
  }
}

}  // namespace assay::tensor
