#include "term/nest_eval.h"

#include <unordered_set>

namespace assay::term {

using tensor::Access;
using tensor::Affine;
using tensor::ElemSet;
using tensor::ReduceKind;

int64_t eval_affine(const Affine& a, const int64_t* iters, size_t rank) {
  int64_t v = a.constant;
  const size_t n = std::min(rank, a.coeff.size());
  for (size_t k = 0; k < n; ++k) v += a.coeff[k] * iters[k];
  return v;
}

Fn reduce_fn(ReduceKind kind, Ty type) {
  const bool fl = is_float(type);
  switch (kind) {
    case ReduceKind::Sum:
    case ReduceKind::ScanSum:
      return fl ? Fn::Add : Fn::IAdd;
    case ReduceKind::Prod:
    case ReduceKind::ScanProd:
      return fl ? Fn::Mul : Fn::IMul;
    case ReduceKind::Max:
      return fl ? Fn::Max : Fn::IMax;
    case ReduceKind::Min:
      return fl ? Fn::Min : Fn::IMin;
    case ReduceKind::Any:
      return type == Ty::Pred ? Fn::POr : Fn::Or;
    case ReduceKind::All:
      return type == Ty::Pred ? Fn::PAnd : Fn::And;
    default:
      return Fn::Add;
  }
}

bool is_arg(ReduceKind kind) { return kind == ReduceKind::ArgMax || kind == ReduceKind::ArgMin; }

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
  }
  void add(const int64_t* iters, int64_t scan_end, ElemSet& out) {
    int64_t key = 0;
    for (size_t k : space_) key = key * shape_.extents[k] + iters[k];
    if (shape_.scan) key = key * (shape_.extents[shape_.space_rank] + 1) + scan_end;
    if (!seen_.insert(key).second) return;
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
  std::unordered_set<int64_t> seen_;
};

}  // namespace

void nest_demand(const NestShape& shape, const ElemSet& wanted, std::vector<ElemSet>& reads) {
  std::vector<AccessDemand> demands;
  for (const Access& a : shape.nest.reads) demands.emplace_back(shape, a, false);
  for (const Access& a : shape.nest.post_reads) demands.emplace_back(shape, a, true);
  reads.resize(demands.size());
  wanted.for_each([&](int64_t e) {
    int64_t iters[16];
    if (!shape.invert(e, iters)) return;
    const int64_t scan_end = shape.scan ? iters[shape.space_rank] : 0;
    for (size_t k = 0; k < demands.size(); ++k) demands[k].add(iters, scan_end, reads[k]);
  });
}

}  // namespace assay::term
