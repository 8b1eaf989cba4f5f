#include "tensor/nest_runner.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <optional>

#include "base/ieee.h"
#include "tensor/affine.h"
#include "tensor/demand.h"

namespace assay::tensor {
namespace {

constexpr int kBatch = 1024;

template <class T>
void gather(const Storage& s, const int64_t* element, const uint8_t* ok, uint64_t other,
            uint64_t* out, int n) {
  const T* data = reinterpret_cast<const T*>(s.data);
  for (int l = 0; l < n; ++l) out[l] = ok[l] ? data[element[l]] : other;
}

uint64_t typed_bits(Ty type, double value) {
  if (is_float(type)) return ieee_from_double(type, value);
  uint64_t v = static_cast<uint64_t>(static_cast<int64_t>(value));
  return type == Ty::Pred ? value != 0 : bits(type) == 64 ? v : v & ((1ull << bits(type)) - 1);
}

uint64_t int_bits(Ty type, int64_t value) {
  uint64_t v = static_cast<uint64_t>(value);
  if (type == Ty::Pred) return value != 0;
  return bits(type) == 64 ? v : v & ((1ull << bits(type)) - 1);
}

int64_t as_integer(Ty type, uint64_t v) {
  if (!is_signed(type) || bits(type) == 64) return static_cast<int64_t>(v);
  int shift = 64 - static_cast<int>(bits(type));
  return static_cast<int64_t>(v << shift) >> shift;
}

struct ReduceOp {
  Fn fn = Fn::Add;
  Mods mods;
  uint64_t neutral = 0;
};

ReduceOp reduce_op(const Nest& nest) {
  Ty t = nest.acc_type;
  bool f = is_float(t);
  ReduceOp op;
  op.mods.nan = nest.nan_propagates;
  double inf = std::numeric_limits<double>::infinity();
  int64_t lowest = is_signed(t) ? std::numeric_limits<int64_t>::min() >> (64 - bits(t)) : 0;
  int64_t highest = is_signed(t) ? std::numeric_limits<int64_t>::max() >> (64 - bits(t)) : -1;
  switch (nest.reduce) {
    case ReduceKind::None:
    case ReduceKind::Sum:
    case ReduceKind::ScanSum:
      op.fn = f ? Fn::Add : Fn::IAdd;
      break;
    case ReduceKind::Prod:
    case ReduceKind::ScanProd:
      op.fn = f ? Fn::Mul : Fn::IMul;
      op.neutral = typed_bits(t, 1);
      break;
    case ReduceKind::Max:
    case ReduceKind::ArgMax:
      op.fn = f ? Fn::Max : Fn::IMax;
      op.neutral = f ? typed_bits(t, -inf) : int_bits(t, lowest);
      break;
    case ReduceKind::Min:
    case ReduceKind::ArgMin:
      op.fn = f ? Fn::Min : Fn::IMin;
      op.neutral = f ? typed_bits(t, inf) : int_bits(t, highest);
      break;
    case ReduceKind::Any:
      op.fn = Fn::POr;
      break;
    case ReduceKind::All:
      op.fn = Fn::PAnd;
      op.neutral = 1;
      break;
  }
  return op;
}

// Lanes of one evaluation of a body or post.
class BodyEval {
 public:
  explicit BodyEval(const std::vector<BodyNode>& nodes)
      : nodes_(nodes), values_(nodes.size() * kBatch) {
    for (size_t k = 0; k < nodes.size(); ++k) {
      const BodyNode& n = nodes[k];
      if (n.kind != BodyNode::Kind::Const) continue;
      uint64_t v =
          is_float(n.type) ? ieee_from_double(n.type, n.value) : int_bits(n.type, n.ivalue);
      std::fill_n(at(k), kBatch, v);
    }
  }
  uint64_t* at(size_t node) { return values_.data() + node * kBatch; }
  // read(r): lanes of read r; iter(affine, out): its values.
  template <class Read, class Iter>
  const uint64_t* run(int n, const Read& read, const Iter& iter) {
    for (size_t k = 0; k < nodes_.size(); ++k) {
      const BodyNode& node = nodes_[k];
      if (node.kind == BodyNode::Kind::Iter) iter(node.iter, at(k));
      if (node.kind != BodyNode::Kind::Apply) continue;
      const uint64_t* a[3] = {};
      for (int j = 0; j < 3; ++j) {
        if (node.arg[j] >= 0) a[j] = lanes(node.arg[j], read);
      }
      ieee_apply(node.fn, node.type, node.mods, a[0], a[1], a[2], nullptr, at(k), n);
    }
    return lanes(static_cast<int>(nodes_.size()) - 1, read);
  }

 private:
  template <class Read>
  const uint64_t* lanes(int node, const Read& read) {
    const BodyNode& n = nodes_[static_cast<size_t>(node)];
    return n.kind == BodyNode::Kind::Read ? read(n.read) : at(static_cast<size_t>(node));
  }
  const std::vector<BodyNode>& nodes_;
  std::vector<uint64_t> values_;
};

// Runs one nest for a set of points.
class NestRunner {
 public:
  NestRunner(const Nest& nest, const std::vector<Storage>& storage)
      : nest_(nest),
        storage_(storage),
        op_(reduce_op(nest)),
        scan_(is_scan(nest)),
        arg_(nest.reduce == ReduceKind::ArgMax || nest.reduce == ReduceKind::ArgMin),
        body_(nest.body),
        post_(nest.post),
        reads_(nest.reads.size() * kBatch),
        post_reads_((nest.post_reads.size() + 1) * kBatch) {
    extents_ = nest.space;
    extents_.insert(extents_.end(), nest.reduction.begin(), nest.reduction.end());
    rank_ = extents_.size();
    for (int64_t e : nest.reduction) reduction_ *= e;
    iters_.assign(std::max<size_t>(rank_, 1) * kBatch, 0);
    done_iters_.assign(std::max<size_t>(rank_, 1) * kBatch, 0);
  }

  // Points as of demand.h. For scans only the points in the set are written.
  Status run(const ElemSet& points) {
    for (int64_t e : nest_.space) {
      if (e == 0) return {};
    }
    if (scan_) return run_scan(points);
    points.for_each_run([&](int64_t first, int64_t n) {
      for (int64_t p = first; p < first + n && !error_; ++p) add_point(p);
    });
    flush();
    flush_done();
    return status();
  }

 private:
  Status status() {
    if (error_) return tl::unexpected<Diag>(*error_);
    return {};
  }
  void invalid(std::string message) {
    if (!error_) error_ = Diag{DiagKind::Invalid, std::move(message), {}};
  }

  void decode_space(int64_t p, int64_t* it) const {
    for (size_t k = nest_.space.size(); k-- > 0;) {
      it[k] = p % nest_.space[k];
      p /= nest_.space[k];
    }
  }

  // Queues the lanes (point, r) for all r.
  void add_point(int64_t p) {
    int64_t it[64] = {};
    decode_space(p, it);
    if (reduction_ == 0) {
      finish_point(it, op_.neutral, 0);
      return;
    }
    for (int64_t r = 0; r < reduction_ && !error_; ++r) {
      if (lanes_ == kBatch) flush();
      for (size_t k = 0; k < rank_; ++k) iters_[k * kBatch + lanes_] = it[k];
      ++lanes_;
      for (size_t k = rank_; k-- > nest_.space.size();) {
        if (++it[k] < extents_[k]) break;
        it[k] = 0;
      }
    }
    segment_ends_.push_back(lanes_);
  }

  void affine_lanes(const Affine& a, const std::vector<int64_t>& iters, int n, int64_t* out) const {
    std::fill_n(out, n, a.constant);
    for (size_t k = 0; k < std::min(a.coeff.size(), rank_); ++k) {
      int64_t c = a.coeff[k];
      if (c == 0) continue;
      const int64_t* it = iters.data() + k * kBatch;
      for (int l = 0; l < n; ++l) out[l] += c * it[l];
    }
  }

  // ok[l] becomes 0 where a guard fails.
  void address(const Access& a, const std::vector<int64_t>& iters, int n, int64_t* element,
               uint8_t* ok) {
    affine_lanes(a.offset, iters, n, element);
    std::fill_n(ok, n, uint8_t{1});
    int64_t e[kBatch];
    for (const GuardedDim& g : a.guarded) {
      affine_lanes(g.expr, iters, n, e);
      for (int l = 0; l < n; ++l) {
        int64_t q = g.div == 1 ? e[l] : e[l] / g.div;
        bool holds = q * g.div == e[l] && q >= g.lo && q < g.hi;
        ok[l] = ok[l] & static_cast<uint8_t>(holds);
        element[l] += holds ? q * g.stride : 0;
      }
    }
  }

  void read(const Access& a, const std::vector<int64_t>& iters, int n, const uint64_t* index,
            Ty index_type, uint64_t* out, uint8_t* ok) {
    int64_t element[kBatch];
    address(a, iters, n, element, ok);
    const Storage& s = storage_[static_cast<size_t>(a.operand)];
    for (int l = 0; l < n && index != nullptr; ++l) {
      if (!ok[l]) continue;
      int64_t i = as_integer(index_type, index[l]);
      if (i < 0 && a.index_wrap > 0) i += a.index_wrap;
      if (i < a.index_lo || i >= a.index_hi) {
        return invalid(fmt::format("index {} is outside [{}, {})", i, a.index_lo, a.index_hi));
      }
      element[l] += i * a.index_stride;
    }
    for (int l = 0; l < n; ++l) {
      if (ok[l] && (element[l] < 0 || element[l] >= s.count)) {
        return invalid(fmt::format("element {} is outside a buffer of {}", element[l], s.count));
      }
    }
    uint64_t other = typed_bits(s.type, nest_.guard_value);
    switch (bytes(s.type)) {
      case 1:
        return gather<uint8_t>(s, element, ok, other, out, n);
      case 2:
        return gather<uint16_t>(s, element, ok, other, out, n);
      case 4:
        return gather<uint32_t>(s, element, ok, other, out, n);
      default:
        return gather<uint64_t>(s, element, ok, other, out, n);
    }
  }

  // Evaluates the body for the queued lanes; skip_[l]: the term is dropped.
  const uint64_t* evaluate_lanes(int n) {
    std::fill_n(skip_, n, uint8_t{0});
    uint8_t ok[kBatch];
    for (size_t k = 0; k < nest_.reads.size(); ++k) {
      const Access& a = nest_.reads[k];
      const uint64_t* index = nullptr;
      Ty index_type = Ty::S64;
      if (a.index_read >= 0) {
        index = &reads_[static_cast<size_t>(a.index_read) * kBatch];
        index_type = storage_[static_cast<size_t>(nest_.reads[a.index_read].operand)].type;
      }
      read(a, iters_, n, index, index_type, &reads_[k * kBatch], ok);
      if (error_) return nullptr;
      if (nest_.on_guard == OnGuard::Skip) {
        for (int l = 0; l < n; ++l) skip_[l] |= static_cast<uint8_t>(!ok[l]);
      }
    }
    return body_.run(
        n, [&](int r) { return &reads_[static_cast<size_t>(r) * kBatch]; },
        [&](const Affine& a, uint64_t* out) {
          affine_lanes(a, iters_, n, reinterpret_cast<int64_t*>(out));
        });
  }

  void flush() {
    int n = lanes_;
    if (n == 0 || error_) {
      lanes_ = 0;
      segment_ends_.clear();
      return;
    }
    const uint64_t* v = evaluate_lanes(n);
    if (nest_.reduce == ReduceKind::None) return finish_lanes(v, n);
    if (arg_) affine_lanes(nest_.arg_index, iters_, n, arg_index_);
    int from = 0;
    size_t closed = segment_ends_.size();
    for (size_t s = 0; s <= closed && v != nullptr; ++s) {
      int to = s < closed ? segment_ends_[s] : n;
      if (s == closed && from == to) break;
      accumulate(v, from, to);
      if (s < closed) {
        int64_t it[64];
        for (size_t k = 0; k < rank_; ++k) it[k] = iters_[k * kBatch + to - 1];
        close_point(it);
      }
      from = to;
    }
    lanes_ = 0;
    segment_ends_.clear();
  }

  bool better(uint64_t a, uint64_t b) const {
    bool max = nest_.reduce == ReduceKind::ArgMax;
    Ty t = nest_.acc_type;
    if (is_float(t)) {
      double x = ieee_to_double(t, a), y = ieee_to_double(t, b);
      if (nest_.nan_propagates && (std::isnan(x) || std::isnan(y))) {
        return std::isnan(x) && !std::isnan(y);
      }
      return max ? x > y : x < y;
    }
    if (is_signed(t)) {
      int64_t x = as_integer(t, a), y = as_integer(t, b);
      return max ? x > y : x < y;
    }
    return max ? a > b : a < b;
  }

  // Adds the terms of lanes [from, to) to the running point.
  void accumulate(const uint64_t* v, int from, int to) {
    if (arg_) {
      for (int l = from; l < to; ++l) {
        if (skip_[l] || (started_ && !better(v[l], acc_))) continue;
        acc_ = v[l];
        arg_value_ = arg_index_[l];
        started_ = true;
      }
      return;
    }
    uint64_t t[kBatch];
    int n = 0;
    for (int l = from; l < to; ++l) {
      t[n] = v[l];
      n += !skip_[l];
    }
    if (n == 0) return;
    while (n > 1) {  // pairwise
      int half = n / 2;
      ieee_apply(op_.fn, nest_.acc_type, op_.mods, t, t + (n - half), nullptr, nullptr, t, half);
      n -= half;
    }
    push_block(t[0]);
  }

  // Blocks combine as in a binary counter: level k holds the result of 2^k blocks.
  void push_block(uint64_t v) {
    size_t k = 0;
    while (block_mask_ >> k & 1) {
      v = ieee_apply1(op_.fn, nest_.acc_type, op_.mods, blocks_[k], v);
      block_mask_ &= ~(uint64_t{1} << k++);
    }
    blocks_[k] = v;
    block_mask_ |= uint64_t{1} << k;
    started_ = true;
  }

  uint64_t fold_blocks() {
    uint64_t v = 0;
    bool any = false;
    for (size_t k = 0; block_mask_ >> k != 0; ++k) {
      if (!(block_mask_ >> k & 1)) continue;
      v = any ? ieee_apply1(op_.fn, nest_.acc_type, op_.mods, blocks_[k], v) : blocks_[k];
      any = true;
      if (k == 63) break;
    }
    block_mask_ = 0;
    return v;
  }

  // Without a reduction every lane is a point.
  void finish_lanes(const uint64_t* v, int n) {
    lanes_ = 0;
    segment_ends_.clear();
    if (v == nullptr) return;
    iters_.swap(done_iters_);
    uint64_t skipped = typed_bits(nest_.out_type, nest_.guard_value);
    for (int l = 0; l < n; ++l) post_reads_[l] = skip_[l] ? skipped : v[l];
    done_ = n;
    flush_done();
  }

  void close_point(const int64_t* it) {
    uint64_t value = !started_ ? op_.neutral : arg_ ? acc_ : fold_blocks();
    finish_point(it, value, started_ ? arg_value_ : 0);
    started_ = false;
    arg_value_ = 0;
  }

  void finish_point(const int64_t* it, uint64_t value, int64_t arg) {
    if (done_ == kBatch) flush_done();
    for (size_t k = 0; k < rank_; ++k) done_iters_[k * kBatch + done_] = it[k];
    post_reads_[done_] = arg_ ? static_cast<uint64_t>(arg) : value;
    ++done_;
  }

  // Runs post for the finished points and writes them.
  void flush_done() {
    int n = done_;
    done_ = 0;
    if (n == 0 || error_) return;
    uint8_t ok[kBatch];
    for (size_t k = 0; k < nest_.post_reads.size(); ++k) {
      read(nest_.post_reads[k], done_iters_, n, nullptr, Ty::S64, &post_reads_[(k + 1) * kBatch],
           ok);
      if (error_) return;
    }
    const uint64_t* v = post_reads_.data();
    if (!nest_.post.empty()) {
      v = post_.run(
          n, [&](int r) { return &post_reads_[static_cast<size_t>(r) * kBatch]; },
          [&](const Affine& a, uint64_t* out) {
            affine_lanes(a, done_iters_, n, reinterpret_cast<int64_t*>(out));
          });
    }
    int64_t element[kBatch];
    address(nest_.write, done_iters_, n, element, ok);
    const Storage& s = storage_[static_cast<size_t>(nest_.write.operand)];
    for (int l = 0; l < n; ++l) {
      if (element[l] < 0 || element[l] >= s.count) {
        return invalid(fmt::format("writes element {} of {}", element[l], s.count));
      }
      s.store(element[l], v[l]);
      if (s.written != nullptr) s.written->insert(element[l]);
    }
  }

  // One line after another: prefixes up to the last wanted position.
  Status run_scan(const ElemSet& points) {
    int64_t length = reduction_;
    if (length == 0) return {};
    ElemSet lines;
    points.for_each_run([&](int64_t first, int64_t n) {
      lines.insert_range(first / length, (first + n - 1) / length - first / length + 1);
    });
    lines.for_each([&](int64_t line) {
      if (!error_) scan_line(line, points);
    });
    flush_done();
    return status();
  }

  void scan_line(int64_t line, const ElemSet& points) {
    int64_t it[64] = {};
    decode_space(line, it);
    size_t r_iter = nest_.space.size();
    bool first = true;
    uint64_t acc = 0;
    for (int64_t start = 0; start < reduction_ && !error_; start += kBatch) {
      int n = static_cast<int>(std::min<int64_t>(kBatch, reduction_ - start));
      for (int l = 0; l < n; ++l) {
        it[r_iter] = start + l;
        for (size_t k = 0; k < rank_; ++k) iters_[k * kBatch + l] = it[k];
      }
      const uint64_t* v = evaluate_lanes(n);
      if (v == nullptr) return;
      for (int l = 0; l < n; ++l) {
        if (!skip_[l]) {
          acc = first ? v[l] : ieee_apply1(op_.fn, nest_.acc_type, op_.mods, acc, v[l]);
          first = false;
        }
        it[r_iter] = start + l;
        if (points.contains(line * reduction_ + start + l)) finish_point(it, acc, 0);
      }
    }
  }

  const Nest& nest_;
  const std::vector<Storage>& storage_;
  ReduceOp op_;
  bool scan_, arg_;
  BodyEval body_, post_;
  std::vector<uint64_t> reads_, post_reads_;  // post_reads_[0..kBatch): the reduced values
  std::vector<int64_t> extents_;
  size_t rank_ = 0;
  int64_t reduction_ = 1;
  std::vector<int64_t> iters_, done_iters_;  // [iterator][lane]
  int lanes_ = 0, done_ = 0;
  std::vector<int> segment_ends_;  // lanes at which a point's terms end
  uint8_t skip_[kBatch] = {};
  bool started_ = false;
  uint64_t acc_ = 0;  // best value of ArgMax, ArgMin
  uint64_t blocks_[64] = {}, block_mask_ = 0;
  int64_t arg_value_ = 0;
  int64_t arg_index_[kBatch] = {};
  std::optional<Diag> error_;
};

}  // namespace

Status run_nest(const Nest& nest, const std::vector<Storage>& storage, const ElemSet& points) {
  return NestRunner(nest, storage).run(points);
}

}  // namespace assay::tensor
