#include "term/nest_shape.h"

#include <algorithm>
#include <cstdlib>
#include <unordered_set>

#include "base/deadline.h"

namespace assay::term {

using tensor::Access;
using tensor::Affine;
using tensor::ElemSet;
using tensor::ReduceKind;

bool is_ring(const tensor::Nest& nest) {
  using tensor::ReduceKind;
  if (nest.reduce != ReduceKind::None && nest.reduce != ReduceKind::Sum) return false;
  const auto ring = [](const tensor::BodyNode& n) {
    if (n.kind != tensor::BodyNode::Kind::Apply) return n.kind != tensor::BodyNode::Kind::Iter;
    if (!is_float(n.type) || n.mods.sat) return false;
    switch (n.fn) {
      case Fn::Add:
      case Fn::Sub:
      case Fn::Mul:
      case Fn::Fma:
      case Fn::Neg:
      case Fn::Div:
        return true;
      default:
        return false;
    }
  };
  return std::all_of(nest.body.begin(), nest.body.end(), ring) &&
         std::all_of(nest.post.begin(), nest.post.end(), ring);
}

int64_t eval_affine(const Affine& a, const int64_t* iters, size_t rank) {
  int64_t v = a.constant;
  const size_t n = std::min(rank, a.coeff.size());
  for (size_t k = 0; k < n; ++k) v += a.coeff[k] * iters[k];
  return v;
}

NestShape::NestShape(const tensor::Nest& n)
    : nest(n),
      space_rank(n.space.size()),
      total_rank(n.space.size() + n.reduction.size()),
      extents(n.space),
      scan(n.reduce == ReduceKind::ScanSum || n.reduce == ReduceKind::ScanProd),
      reduction_count(1),
      base_(n.write.offset.constant) {
  extents.insert(extents.end(), n.reduction.begin(), n.reduction.end());
  for (int64_t e : n.reduction) reduction_count *= e;
  for (size_t k = 0; k < (scan ? total_rank : space_rank); ++k) {
    const int64_t stride = k < n.write.offset.coeff.size() ? n.write.offset.coeff[k] : 0;
    if (extents[k] <= 1) continue;
    digits_.push_back({k, stride, extents[k]});
    if (stride < 0) base_ += stride * (extents[k] - 1);
  }
  std::sort(digits_.begin(), digits_.end(),
            [](const Digit& a, const Digit& b) { return std::abs(a.stride) > std::abs(b.stride); });
}

bool NestShape::invert(int64_t element, int64_t* iters) const {
  int64_t rest = element - base_;
  if (rest < 0) return false;
  for (size_t k = 0; k < total_rank; ++k) iters[k] = 0;
  for (const Digit& d : digits_) {
    const int64_t stride = std::abs(d.stride);
    if (stride == 0) return false;
    const int64_t q = rest / stride;
    if (q >= d.extent) return false;
    rest -= q * stride;
    iters[d.iter] = d.stride < 0 ? d.extent - 1 - q : q;
  }
  return rest == 0;
}

std::optional<std::pair<int64_t, int64_t>> NestShape::dense() const {
  int64_t count = 1;
  for (size_t k = digits_.size(); k-- > 0;) {
    if (std::abs(digits_[k].stride) != count) return std::nullopt;
    count *= digits_[k].extent;
  }
  return std::pair{base_, count};
}

int64_t NestShape::line(const int64_t* iters, size_t* along) const {
  *along = 0;
  if (digits_.empty() || digits_.back().stride != 1) return 1;
  const Digit& d = digits_.back();
  *along = d.iter;
  return d.extent - iters[d.iter];
}

namespace {

// Marks what one access reads from every (i, r) with the iterators it does not depend on left out.
class AccessDemand {
 public:
  AccessDemand(const NestShape& shape, const Access& access, bool post)
      : shape_(shape), access_(access) {
    const size_t rank = post ? shape.space_rank : shape.total_rank;
    for (size_t k = 0; k < rank; ++k) {
      bool used = k < access.offset.coeff.size() && access.offset.coeff[k] != 0;
      for (const auto& g : access.guarded)
        used = used || (k < g.expr.coeff.size() && g.expr.coeff[k] != 0);
      if (!used) continue;
      (k < shape.space_rank ? space_ : inner_).push_back(k);
    }
    size_t moving = 0;
    for (size_t k = 0; k < shape.space_rank; ++k) moving += shape.extents[k] > 1 ? 1 : 0;
    for (size_t k : space_) moving -= shape.extents[k] > 1 ? 1 : 0;
    distinct_ = moving == 0;
    linear_ = inner_.empty() && access.guarded.empty() && access.index_read < 0 && !shape.scan;
  }
  // One element each, at a constant distance along an iterator: of `count` results from iters on.
  bool linear() const { return linear_; }
  void add_line(const int64_t* iters, size_t along, int64_t count, ElemSet& out) const {
    const int64_t stride =
        along < access_.offset.coeff.size() ? access_.offset.coeff[along] : int64_t{0};
    out.insert_range(eval_affine(access_.offset, iters, shape_.total_rank), count, stride);
  }
  void add(const int64_t* iters, int64_t scan_end, ElemSet& out) {
    int64_t key = 0;
    for (size_t k : space_) key = key * shape_.extents[k] + iters[k];
    if (shape_.scan) key = key * (shape_.extents[shape_.space_rank] + 1) + scan_end;
    if (!distinct_ && !seen_.insert(key).second) return;
    int64_t it[16];
    std::copy_n(iters, shape_.total_rank, it);
    for (size_t k = shape_.space_rank; k < shape_.total_rank; ++k) it[k] = 0;
    walk(0, it, scan_end, out);
  }

 private:
  void walk(size_t depth, int64_t* it, int64_t scan_end, ElemSet& out) {
    if (depth == inner_.size()) {
      emit(it, out);
      return;
    }
    const size_t k = inner_[depth];
    const int64_t n = shape_.scan ? std::min(shape_.extents[k], scan_end + 1) : shape_.extents[k];
    if (depth + 1 == inner_.size() && access_.guarded.empty() && access_.index_read < 0) {
      it[k] = 0;
      out.insert_range(eval_affine(access_.offset, it, shape_.total_rank), n,
                       access_.offset.coeff[k]);
      return;
    }
    for (it[k] = 0; it[k] < n; ++it[k]) walk(depth + 1, it, scan_end, out);
  }
  void emit(const int64_t* it, ElemSet& out) {
    int64_t e = eval_affine(access_.offset, it, shape_.total_rank);
    for (const auto& g : access_.guarded) {
      const int64_t x = eval_affine(g.expr, it, shape_.total_rank);
      if (g.div != 1 && (x % g.div != 0 || (x < 0 && g.lo >= 0))) return;
      const int64_t q = x / g.div;
      if (q < g.lo || q >= g.hi) return;
      e += g.stride * q;
    }
    if (access_.index_read >= 0)
      out.insert_range(e + access_.index_lo * access_.index_stride,
                       access_.index_hi - access_.index_lo, access_.index_stride);
    else
      out.insert(e);
  }
  const NestShape& shape_;
  const Access& access_;
  std::vector<size_t> space_, inner_;
  bool distinct_ = false;  // no two results have one key
  bool linear_ = false;
  std::unordered_set<int64_t> seen_;
};

}  // namespace

void nest_demand(const NestShape& shape, const ElemSet& wanted, std::vector<ElemSet>& reads) {
  std::vector<AccessDemand> demands;
  for (const Access& a : shape.nest.reads) demands.emplace_back(shape, a, false);
  for (const Access& a : shape.nest.post_reads) demands.emplace_back(shape, a, true);
  reads.resize(demands.size());
  DeadlineCheck late;
  auto one = [&](int64_t e) {
    int64_t iters[16];
    late();
    if (!shape.invert(e, iters)) return;
    const int64_t scan_end = shape.scan ? iters[shape.space_rank] : 0;
    for (size_t k = 0; k < demands.size(); ++k)
      if (!demands[k].linear()) demands[k].add(iters, scan_end, reads[k]);
  };
  // Results that lie together, along the iterator in which they do.
  auto line = [&](int64_t first, int64_t count) {
    while (count > 0) {
      int64_t iters[16];
      size_t along = 0;
      int64_t n = 1;
      late();
      if (shape.invert(first, iters)) {
        n = std::min(count, shape.line(iters, &along));
        for (size_t k = 0; k < demands.size(); ++k)
          if (demands[k].linear()) demands[k].add_line(iters, along, n, reads[k]);
      }
      first += n;
      count -= n;
    }
  };
  const auto linear = [](const AccessDemand& d) { return d.linear(); };
  if (!std::all_of(demands.begin(), demands.end(), linear)) wanted.for_each(one);
  if (std::any_of(demands.begin(), demands.end(), linear)) wanted.for_each_run(line);
}

void lane_affine(const Affine& a, const LaneIters& iters, size_t from, size_t to, int64_t* out) {
  std::fill_n(out, kRow, int64_t{0});
  for (size_t k = from; k < std::min(to, a.coeff.size()); ++k) {
    const int64_t c = a.coeff[k];
    if (c == 0) continue;
    for (int l = 0; l < kRow; ++l) out[l] += c * iters.at[k][l];
  }
}

void ReductionBlock::restart() { std::fill_n(index_, kMaxRank, int64_t{0}); }

void ReductionBlock::next(int n, LaneIters& out) {
  const size_t s = shape_.space_rank, r = shape_.total_rank;
  for (int l = 0; l < n; ++l) {
    for (size_t d = s; d < r; ++d) out.at[d][l] = index_[d];
    for (size_t d = r; d-- > s;) {
      if (++index_[d] < shape_.extents[d]) break;
      index_[d] = 0;
    }
  }
}

void space_terms(const Access& a, const LaneIters& iters, size_t space_rank, Terms& out) {
  reduction_terms(a, iters, 0, space_rank, out);
  for (size_t t = 0; t <= a.guarded.size(); ++t) {
    const int64_t constant = t == 0 ? a.offset.constant : a.guarded[t - 1].expr.constant;
    for (int l = 0; l < kRow; ++l) out[t * kRow + static_cast<size_t>(l)] += constant;
  }
}

void reduction_terms(const Access& a, const LaneIters& iters, size_t from, size_t to, Terms& out) {
  out.resize((1 + a.guarded.size()) * kRow);
  lane_affine(a.offset, iters, from, to, out.data());
  for (size_t g = 0; g < a.guarded.size(); ++g)
    lane_affine(a.guarded[g].expr, iters, from, to, out.data() + (g + 1) * kRow);
}

bool all_equal(const Terms& terms) {
  for (size_t t = 0; t < terms.size(); ++t)
    if (terms[t] != terms[t - t % kRow]) return false;
  return true;
}

bool depends_on(const Access& a, size_t from, size_t to) {
  auto uses = [&](const Affine& e) {
    for (size_t k = from; k < std::min(to, e.coeff.size()); ++k)
      if (e.coeff[k] != 0) return true;
    return false;
  };
  return uses(a.offset) || std::any_of(a.guarded.begin(), a.guarded.end(),
                                       [&](const auto& g) { return uses(g.expr); });
}

namespace {

// x holds a guard's expression in each lane; adds the guarded dimension to elements.
uint32_t guard(const tensor::GuardedDim& g, const int64_t* x, int64_t* elements) {
  uint32_t ok = 0;
  for (int l = 0; l < kRow; ++l) {
    const int64_t q = g.div == 1 ? x[l] : x[l] / g.div;
    const bool holds =
        q >= g.lo && q < g.hi && (g.div == 1 || (x[l] % g.div == 0 && (x[l] >= 0 || g.lo < 0)));
    ok |= static_cast<uint32_t>(holds) << l;
    elements[l] += g.stride * q;
  }
  return ok;
}

}  // namespace

uint32_t place_results(const Access& a, const Terms& space, const Terms& reduction, int j,
                       int64_t* elements) {
  const auto at = static_cast<size_t>(j);
  for (int l = 0; l < kRow; ++l) elements[l] = space[static_cast<size_t>(l)] + reduction[at];
  uint32_t ok = 0xffffffffu;
  for (size_t g = 0; g < a.guarded.size(); ++g) {
    int64_t x[kRow];
    const size_t row = (g + 1) * kRow;
    for (int l = 0; l < kRow; ++l) x[l] = space[row + static_cast<size_t>(l)] + reduction[row + at];
    ok &= guard(a.guarded[g], x, elements);
  }
  return ok;
}

uint32_t place_iterations(const Access& a, const Terms& space, const Terms& reduction,
                          int64_t* elements) {
  for (int l = 0; l < kRow; ++l) elements[l] = space[0] + reduction[static_cast<size_t>(l)];
  uint32_t ok = 0xffffffffu;
  for (size_t g = 0; g < a.guarded.size(); ++g) {
    int64_t x[kRow];
    const size_t row = (g + 1) * kRow;
    for (int l = 0; l < kRow; ++l) x[l] = space[row] + reduction[row + static_cast<size_t>(l)];
    ok &= guard(a.guarded[g], x, elements);
  }
  return ok;
}

}  // namespace assay::term
