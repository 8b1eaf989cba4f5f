#include "tensor/demand.h"

#include <algorithm>
#include <numeric>
#include <unordered_set>

#include "tensor/affine.h"

namespace assay::tensor {

bool is_scan(const Nest& nest) {
  return nest.reduce == ReduceKind::ScanSum || nest.reduce == ReduceKind::ScanProd;
}

std::vector<int64_t> point_extents(const Nest& nest) {
  std::vector<int64_t> e = nest.space;
  if (is_scan(nest)) e.insert(e.end(), nest.reduction.begin(), nest.reduction.end());
  return e;
}

int64_t point_count(const Nest& nest) {
  int64_t n = 1;
  for (int64_t e : point_extents(nest)) n *= e;
  return n;
}

namespace {

std::vector<int64_t> decode(int64_t linear, const std::vector<int64_t>& extents) {
  std::vector<int64_t> it(extents.size(), 0);
  for (size_t k = extents.size(); k-- > 0;) {
    it[k] = linear % extents[k];
    linear /= extents[k];
  }
  return it;
}

int64_t value_at(const Affine& a, const std::vector<int64_t>& it) {
  int64_t v = a.constant;
  size_t n = std::min(it.size(), a.coeff.size());
  for (size_t k = 0; k < n; ++k) v += a.coeff[k] * it[k];
  return v;
}

// Digits of an injective affine map: by descending |coefficient|, each step leaves the digits whose
// rest the smaller ones can still reach. Ordinary layouts leave one candidate each.
class Inverse {
 public:
  Inverse(const Affine& a, std::vector<int64_t> extents)
      : extents_(std::move(extents)), constant_(a.constant) {
    for (size_t k = 0; k < extents_.size(); ++k) {
      if (extents_[k] > 1) digits_.push_back({k, coeff_of(a, k)});
    }
    std::sort(digits_.begin(), digits_.end(),
              [](const Digit& x, const Digit& y) { return std::abs(x.coeff) > std::abs(y.coeff); });
    int64_t lo = 0, hi = 0;
    for (size_t d = digits_.size(); d-- > 0;) {
      digits_[d].rest_lo = lo;
      digits_[d].rest_hi = hi;
      int64_t span = digits_[d].coeff * (extents_[digits_[d].iter] - 1);
      (span < 0 ? lo : hi) += span;
    }
  }

  std::optional<int64_t> point(int64_t element) const {
    std::vector<int64_t> it(extents_.size(), 0);
    if (!search(0, element - constant_, &it)) return std::nullopt;
    int64_t linear = 0;
    for (size_t k = 0; k < it.size(); ++k) linear = linear * extents_[k] + it[k];
    return linear;
  }

 private:
  struct Digit {
    size_t iter;
    int64_t coeff;
    int64_t rest_lo = 0, rest_hi = 0;  // what the later digits can add
  };
  static int64_t floor_div(int64_t a, int64_t b) {
    int64_t q = a / b;
    return q - ((a % b != 0) && ((a < 0) != (b < 0)));
  }
  bool search(size_t d, int64_t rest, std::vector<int64_t>* it) const {
    if (d == digits_.size()) return rest == 0;
    const Digit& g = digits_[d];
    if (g.coeff == 0) return search(d + 1, rest, it);  // not injective: any value
    // rest - coeff * v must lie in [rest_lo, rest_hi]
    int64_t a = rest - g.rest_hi, b = rest - g.rest_lo;
    int64_t c = g.coeff;
    if (c < 0) {
      c = -c;
      std::tie(a, b) = std::pair(-b, -a);
    }
    int64_t lo = std::max<int64_t>(-floor_div(-a, c), 0);
    int64_t hi = std::min(floor_div(b, c), extents_[g.iter] - 1);
    for (int64_t v = lo; v <= hi; ++v) {
      (*it)[g.iter] = v;
      if (search(d + 1, rest - g.coeff * v, it)) return true;
    }
    return false;
  }

  std::vector<int64_t> extents_;
  int64_t constant_;
  std::vector<Digit> digits_;
};

}  // namespace

int64_t written_element(const Nest& nest, int64_t point) {
  return value_at(nest.write.offset, decode(point, point_extents(nest)));
}

ElemSet points_of(const Nest& nest, const ElemSet& elements) {
  ElemSet points;
  std::vector<int64_t> extents = point_extents(nest);
  for (int64_t e : extents) {
    if (e == 0) return points;
  }
  Inverse inverse(nest.write.offset, extents);
  // A contiguous write maps runs to runs.
  bool contiguous = true;
  int64_t stride = 1;
  for (size_t k = extents.size(); k-- > 0;) {
    contiguous &= extents[k] == 1 || coeff_of(nest.write.offset, k) == stride;
    stride *= extents[k];
  }
  elements.for_each_run([&](int64_t first, int64_t n) {
    if (contiguous) {
      int64_t lo = std::max<int64_t>(first - nest.write.offset.constant, 0);
      int64_t hi = std::min(first + n - nest.write.offset.constant, stride);
      if (lo < hi) points.insert_range(lo, hi - lo);
      return;
    }
    for (int64_t e = first; e < first + n; ++e) {
      if (auto p = inverse.point(e)) points.insert(*p);
    }
  });
  return points;
}

namespace {

struct KeyHash {
  size_t operator()(const std::vector<int64_t>& key) const {
    uint64_t h = 0x9e3779b97f4a7c15u;
    for (int64_t k : key) h = (h ^ static_cast<uint64_t>(k)) * 0x100000001b3u + (h >> 29);
    return h;
  }
};

// One read of a nest: turns rows of points into elements.
class ReadDemand {
 public:
  // `extents`: all iterators; the first `points` of them are those of the points.
  ReadDemand(const Nest& nest, const Access& access, std::vector<int64_t> extents, size_t points,
             const IndexValue& index_value)
      : nest_(nest),
        access_(access),
        extents_(std::move(extents)),
        points_(points),
        index_value_(index_value),
        used_(extents_.size(), false),
        classed_(extents_.size(), false) {
    use(access.offset, &used_);
    for (const GuardedDim& g : access.guarded) use(g.expr, &used_);
    if (access.index_read >= 0 && index_value_) {
      const Access& index = nest.reads[access.index_read];
      use(index.offset, &used_);
      for (const GuardedDim& g : index.guarded) use(g.expr, &used_);
    }
    for (size_t k = points_; k < extents_.size(); ++k) {
      if (used_[k]) inner_.push_back(k);
    }
  }

  // A guard of another read that drops the term.
  void add_foreign(const GuardedDim& g) {
    Range r = range_of(g.expr, extents_);
    bool always = g.div == 1 && r.lo >= g.lo && r.hi < g.hi;
    if (always) return;
    foreign_.push_back(&g);
    for (size_t k = 0; k < extents_.size(); ++k) {
      if (coeff_of(g.expr, k) == 0) continue;
      if (k < points_) {
        classed_[k] = true;
      } else if (std::find(inner_.begin(), inner_.end(), k) == inner_.end()) {
        inner_.push_back(k);
      }
    }
  }

  // Points (it with the last point iterator running over [start, start + n)).
  void add_row(std::vector<int64_t> it, int64_t start, int64_t n, ElemSet* out) {
    if (points_ == 0) return add_run(it, 0, 1, out);
    size_t last = points_ - 1;
    it[last] = start;
    if (is_scan(nest_)) {  // a scan reads everything up to its position
      it[last] = 0;
      return add_run(it, 0, used_[last] ? start + n : 1, out);
    }
    if (classed_[last]) {
      for (int64_t k = 0; k < n; ++k) {
        it[last] = start + k;
        add_run(it, start + k, 1, out);
      }
    } else {
      add_run(it, start, used_[last] ? n : 1, out);
    }
  }

 private:
  void use(const Affine& a, std::vector<bool>* used) const {
    for (size_t k = 0; k < extents_.size(); ++k) (*used)[k] = (*used)[k] || coeff_of(a, k) != 0;
  }

  void add_run(std::vector<int64_t>& it, int64_t start, int64_t n, ElemSet* out) {
    std::vector<int64_t> key;
    for (size_t k = 0; k < points_; ++k) {
      if (used_[k]) key.push_back(it[k]);
    }
    key.push_back(n);
    for (const GuardedDim* g : foreign_) {
      // Points whose guard has the same value for equal reduction iterators are one class; those
      // for which it always holds are another.
      Affine at = g->expr;
      at.coeff.resize(extents_.size(), 0);
      for (size_t k = 0; k < points_; ++k) {
        at.constant += at.coeff[k] * it[k];
        at.coeff[k] = 0;
      }
      Range r = range_of(at, extents_);
      bool always = g->div == 1 && r.lo >= g->lo && r.hi < g->hi;
      key.push_back(always ? INT64_MIN : at.constant);
    }
    if (!seen_.insert(key).second) return;
    Loop run{points_ == 0 ? 0 : points_ - 1, start, n};
    std::vector<Loop> loops;
    for (size_t k : inner_) loops.push_back({k, 0, extents_[k]});
    if (n > 1) loops.push_back(run);
    choose_innermost(&loops);
    walk(loops, 0, &it, out);
  }

  struct Loop {
    size_t iter;
    int64_t start, count;
  };

  bool simple_inner(size_t iter) const {
    if (access_.index_read >= 0) return false;
    for (const GuardedDim& g : access_.guarded) {
      if (coeff_of(g.expr, iter) != 0 && g.div != 1) return false;
    }
    for (const GuardedDim* g : foreign_) {
      if (coeff_of(g->expr, iter) != 0 && g->div != 1) return false;
    }
    return true;
  }

  int64_t total_stride(size_t iter) const {
    int64_t s = coeff_of(access_.offset, iter);
    for (const GuardedDim& g : access_.guarded) s += g.stride * coeff_of(g.expr, iter);
    return s;
  }

  // The loop of stride +-1 (or else the longest) that can be one insert_range goes last.
  void choose_innermost(std::vector<Loop>* loops) const {
    size_t best = loops->size();
    auto better = [&](const Loop& a, const Loop& b) {
      bool one_a = std::abs(total_stride(a.iter)) == 1, one_b = std::abs(total_stride(b.iter)) == 1;
      return one_a != one_b ? one_a : a.count > b.count;
    };
    for (size_t k = 0; k < loops->size(); ++k) {
      if (!simple_inner((*loops)[k].iter)) continue;
      if (best == loops->size() || better((*loops)[k], (*loops)[best])) best = k;
    }
    if (best < loops->size()) std::swap((*loops)[best], loops->back());
  }

  static bool holds(const GuardedDim& g, const std::vector<int64_t>& it, int64_t* index) {
    int64_t e = value_at(g.expr, it);
    if (e % g.div != 0) return false;
    *index = e / g.div;
    return *index >= g.lo && *index < g.hi;
  }

  // Inserts the elements for it[loop.iter] in the loop's range.
  void insert_line(const Loop& loop, std::vector<int64_t>* it, ElemSet* out) {
    (*it)[loop.iter] = 0;
    int64_t lo = loop.start, hi = loop.start + loop.count;
    int64_t first = value_at(access_.offset, *it), stride = coeff_of(access_.offset, loop.iter);
    auto cut = [&](const GuardedDim& g, bool own) {
      int64_t c = coeff_of(g.expr, loop.iter), e = value_at(g.expr, *it), index = 0;
      if (c == 0) {
        if (!holds(g, *it, &index)) return false;
        if (own) first += g.stride * index;
        return true;
      }
      // g.lo <= e + c * t < g.hi (div is 1)
      auto ceil_div = [](int64_t a, int64_t b) { return a / b + (a % b != 0 && (a > 0)); };
      int64_t a = g.lo - e, b = g.hi - 1 - e;
      if (c < 0) std::tie(a, b, c) = std::tuple(-b, -a, -c);
      lo = std::max(lo, ceil_div(a, c));
      hi = std::min(hi, -ceil_div(-b, c) + 1);
      if (own) {
        first += g.stride * e;
        stride += g.stride * coeff_of(g.expr, loop.iter);
      }
      return lo < hi;
    };
    for (const GuardedDim& g : access_.guarded) {
      if (!cut(g, true)) return;
    }
    for (const GuardedDim* g : foreign_) {
      if (!cut(*g, false)) return;
    }
    out->insert_range(first + stride * lo, hi - lo, stride);
  }

  void insert_point(const std::vector<int64_t>& it, ElemSet* out) {
    int64_t e = value_at(access_.offset, it), index = 0;
    for (const GuardedDim* g : foreign_) {
      if (!holds(*g, it, &index)) return;
    }
    for (const GuardedDim& g : access_.guarded) {
      if (!holds(g, it, &index)) return;
      e += g.stride * index;
    }
    if (access_.index_read < 0) {
      out->insert(e);
      return;
    }
    if (index_value_) {
      const Access& by = nest_.reads[access_.index_read];
      int64_t at = value_at(by.offset, it);
      for (const GuardedDim& g : by.guarded) {
        if (!holds(g, it, &index)) return;
        at += g.stride * index;
      }
      if (auto v = index_value_(by.operand, at)) {
        if (*v < 0 && access_.index_wrap > 0) *v += access_.index_wrap;
        if (*v >= access_.index_lo && *v < access_.index_hi) {
          out->insert(e + *v * access_.index_stride);
        }
        return;
      }
    }
    out->insert_range(e + access_.index_lo * access_.index_stride,
                      access_.index_hi - access_.index_lo, access_.index_stride);
  }

  void walk(const std::vector<Loop>& loops, size_t depth, std::vector<int64_t>* it, ElemSet* out) {
    if (depth == loops.size()) return insert_point(*it, out);
    const Loop& loop = loops[depth];
    if (depth + 1 == loops.size() && simple_inner(loop.iter)) return insert_line(loop, it, out);
    for (int64_t k = 0; k < loop.count; ++k) {
      (*it)[loop.iter] = loop.start + k;
      walk(loops, depth + 1, it, out);
    }
  }

  const Nest& nest_;
  const Access& access_;
  std::vector<int64_t> extents_;
  size_t points_;
  const IndexValue& index_value_;
  std::vector<bool> used_;     // iterators that the read itself depends on
  std::vector<bool> classed_;  // point iterators that only foreign guards (or they too) depend on
  std::vector<size_t> inner_;  // reduction iterators to enumerate
  std::vector<const GuardedDim*> foreign_;
  std::unordered_set<std::vector<int64_t>, KeyHash> seen_;
};

}  // namespace

Demand demand(const Nest& nest, const ElemSet& points, const IndexValue& index_value) {
  Demand d;
  d.reads.resize(nest.reads.size());
  d.post_reads.resize(nest.post_reads.size());
  std::vector<int64_t> point_box = point_extents(nest), box = nest.space;
  box.insert(box.end(), nest.reduction.begin(), nest.reduction.end());
  for (int64_t e : point_box) {
    if (e == 0) return d;
  }
  bool empty_reduction =
      std::any_of(nest.reduction.begin(), nest.reduction.end(), [](int64_t e) { return e == 0; });
  std::vector<std::pair<ReadDemand, ElemSet*>> reads;
  for (size_t k = 0; k < nest.reads.size() && !empty_reduction; ++k) {
    reads.emplace_back(ReadDemand(nest, nest.reads[k], box, point_box.size(), index_value),
                       &d.reads[k]);
    if (nest.on_guard != OnGuard::Skip) continue;
    for (size_t other = 0; other < nest.reads.size(); ++other) {
      if (other == k) continue;
      for (const GuardedDim& g : nest.reads[other].guarded) reads.back().first.add_foreign(g);
    }
  }
  for (size_t k = 0; k < nest.post_reads.size(); ++k) {
    reads.emplace_back(ReadDemand(nest, nest.post_reads[k], point_box, point_box.size(), nullptr),
                       &d.post_reads[k]);
  }
  int64_t row = point_box.empty() ? 1 : point_box.back();
  points.for_each_run([&](int64_t first, int64_t n) {
    while (n > 0) {
      int64_t start = first % row, take = std::min(n, row - start);
      std::vector<int64_t> it = decode(first, point_box);
      it.resize(box.size(), 0);
      for (auto& [read, out] : reads) read.add_row(it, start, take, out);
      first += take;
      n -= take;
    }
  });
  return d;
}

}  // namespace assay::tensor
