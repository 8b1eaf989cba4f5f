#pragma once
// Loop nests in a domain: which elements a set of results needs (demand), and their evaluation on
// demand. Lanes are 32 results; where few results have a long reduction, lanes are its iterations.
#include <algorithm>
#include <optional>
#include <vector>

#include "base/result.h"
#include "tensor/elem_set.h"
#include "tensor/nest.h"
#include "term/store.h"

namespace assay::term {

// A nest with its accesses prepared: space and reduction iterators in one list.
class NestShape {
 public:
  explicit NestShape(const tensor::Nest& nest);

  const tensor::Nest& nest;
  size_t space_rank, total_rank;
  std::vector<int64_t> extents;  // space, then reduction
  bool scan;                     // written for every reduction index
  int64_t reduction_count;

  // Iterators (space; for scans also the scan index) of a written element. False: not written here.
  bool invert(int64_t element, int64_t* iters) const;

 private:
  struct Digit {
    size_t iter;
    int64_t stride, extent;
  };
  std::vector<Digit> digits_;  // by descending |stride|
  int64_t base_;
};

int64_t eval_affine(const tensor::Affine& a, const int64_t* iters, size_t rank);

// The elements of each operand buffer that results `wanted` (elements of the written buffer) read.
// Indirect reads want their whole index range. reads: one set a read, then one a post_read.
void nest_demand(const NestShape& shape, const tensor::ElemSet& wanted,
                 std::vector<tensor::ElemSet>& reads);

template <class D>
class NestEval {
 public:
  using Row = typename D::Row;
  using Cell = typename D::Cell;
  // buffers[operand]: buffer of each tensor of the lowering.
  NestEval(D& domain, Store<D>& store, const std::vector<int>& buffers,
           const std::vector<Ty>& types)
      : domain_(domain), store_(store), buffers_(buffers), types_(types) {}

  void run(const NestShape& shape, const tensor::ElemSet& wanted);

 private:
  struct Batch {
    int64_t iters[kRow][16];
    int64_t element[kRow];
    uint32_t mask = 0;
  };
  void flush(const NestShape& shape, Batch& batch);
  void run_across(const NestShape& shape, const Batch& batch, int lane);
  // Reads one access for the active lanes; returns the lanes whose guards hold.
  uint32_t read(const NestShape& shape, const tensor::Access& access, const Batch& b, uint32_t mask,
                Row& out);
  // Value of the body; `mask` shrinks to lanes that take part.
  void body(const NestShape& shape, const Batch& b, uint32_t& mask, Row& out);
  void post(const NestShape& shape, const Batch& b, uint32_t mask, const Row& value, Row& out);
  void nodes(const std::vector<tensor::BodyNode>& nodes, const std::vector<Row>& reads,
             const Batch& b, size_t rank, uint32_t mask, Row& out);
  void accumulate(const NestShape& shape, const Row& value, const Batch& b, uint32_t mask,
                  uint32_t& started, Row& acc, Row& arg);
  void finish(const NestShape& shape, const Batch& b, uint32_t mask, uint32_t started, Row& acc,
              const Row& arg);

  D& domain_;
  Store<D>& store_;
  const std::vector<int>& buffers_;
  const std::vector<Ty>& types_;
  std::vector<Row> reads_, values_;
};

Fn reduce_fn(tensor::ReduceKind kind, Ty type);
bool is_arg(tensor::ReduceKind kind);

template <class D>
void NestEval<D>::run(const NestShape& shape, const tensor::ElemSet& wanted) {
  Batch batch;
  int n = 0;
  const bool across = shape.reduction_count >= 128 && !shape.scan && !is_arg(shape.nest.reduce) &&
                      wanted.count() <= 8;
  auto emit = [&] {
    batch.mask = n == kRow ? 0xffffffffu : (1u << n) - 1;
    if (across) {
      for (int l = 0; l < n; ++l) run_across(shape, batch, l);
    } else if (n > 0) {
      flush(shape, batch);
    }
    n = 0;
  };
  if (shape.scan) {
    // One lane a scanned line; everything up to the last wanted element is computed.
    tensor::ElemSet lines;
    wanted.for_each([&](int64_t e) {
      int64_t it[16];
      if (!shape.invert(e, it)) return;
      it[shape.space_rank] = 0;
      lines.insert(eval_affine(shape.nest.write.offset, it, shape.total_rank));
    });
    lines.for_each([&](int64_t e) {
      if (!shape.invert(e, batch.iters[n])) return;
      batch.element[n] = e;
      if (++n == kRow) emit();
    });
    emit();
    return;
  }
  wanted.for_each([&](int64_t e) {
    if (!shape.invert(e, batch.iters[n])) return;
    batch.element[n] = e;
    if (++n == kRow) emit();
  });
  emit();
}

template <class D>
uint32_t NestEval<D>::read(const NestShape& shape, const tensor::Access& access, const Batch& b,
                           uint32_t mask, Row& out) {
  int64_t elements[kRow];
  uint32_t ok = mask;
  const size_t rank = shape.total_rank;
  for (uint32_t m = mask; m != 0; m &= m - 1) {
    const int l = __builtin_ctz(m);
    int64_t e = eval_affine(access.offset, b.iters[l], rank);
    for (const tensor::GuardedDim& g : access.guarded) {
      const int64_t x = eval_affine(g.expr, b.iters[l], rank);
      const int64_t q = g.div == 1 ? x : x / g.div;
      if ((g.div != 1 && x % g.div != 0) || q < g.lo || q >= g.hi ||
          (g.div != 1 && x < 0 && g.lo >= 0)) {
        ok &= ~(1u << l);
        break;
      }
      e += g.stride * q;
    }
    elements[l] = e;
  }
  if (ok == 0) return 0;
  const int buffer = buffers_[static_cast<size_t>(access.operand)];
  const Ty type = types_[static_cast<size_t>(access.operand)];
  if (access.index_read < 0) {
    store_.load(buffer, elements, ok, out);
    return ok;
  }
  // base + index * stride; an index outside [lo, hi) lies outside the domain.
  const Row& index = reads_[static_cast<size_t>(access.index_read)];
  int64_t strides[kRow];
  std::fill_n(strides, kRow, access.index_stride);
  Row stride, scaled;
  domain_.set_integer(strides, stride);
  domain_.apply(Fn::IMul, Ty::S64, {}, &index, &stride, nullptr, nullptr, scaled, ok);
  domain_.lookup(store_, buffer, type, scaled, elements, INT64_MIN, INT64_MAX, ok, out);
  return ok;
}

template <class D>
void NestEval<D>::nodes(const std::vector<tensor::BodyNode>& body_nodes,
                        const std::vector<Row>& reads, const Batch& b, size_t rank, uint32_t mask,
                        Row& out) {
  using Kind = tensor::BodyNode::Kind;
  if (values_.size() < body_nodes.size()) values_.resize(body_nodes.size());
  auto arg = [&](int k) -> const Row& {
    const tensor::BodyNode& n = body_nodes[static_cast<size_t>(k)];
    return n.kind == Kind::Read ? reads[static_cast<size_t>(n.read)]
                                : values_[static_cast<size_t>(k)];
  };
  for (size_t k = 0; k < body_nodes.size(); ++k) {
    const tensor::BodyNode& n = body_nodes[k];
    Row& v = values_[k];
    switch (n.kind) {
      case Kind::Read:
        break;
      case Kind::Const:
        if (is_float(n.type)) {
          domain_.set_number(n.type, n.value, v);
        } else {
          int64_t ints[kRow];
          std::fill_n(ints, kRow, n.ivalue);
          domain_.set_integer(ints, v);
        }
        break;
      case Kind::Iter: {
        int64_t ints[kRow] = {};
        for (uint32_t m = mask; m != 0; m &= m - 1) {
          const int l = __builtin_ctz(m);
          ints[l] = eval_affine(n.iter, b.iters[l], rank);
        }
        domain_.set_integer(ints, v);
        break;
      }
      case Kind::Apply:
        domain_.apply(n.fn, n.type, n.mods, &arg(n.arg[0]),
                      n.arg[1] >= 0 ? &arg(n.arg[1]) : nullptr,
                      n.arg[2] >= 0 ? &arg(n.arg[2]) : nullptr, nullptr, v, mask);
        break;
    }
  }
  out = arg(static_cast<int>(body_nodes.size()) - 1);
}

template <class D>
void NestEval<D>::body(const NestShape& shape, const Batch& b, uint32_t& mask, Row& out) {
  const tensor::Nest& nest = shape.nest;
  if (reads_.size() < nest.reads.size() + nest.post_reads.size() + 1)
    reads_.resize(nest.reads.size() + nest.post_reads.size() + 1);
  for (size_t k = 0; k < nest.reads.size(); ++k) {
    const uint32_t ok = read(shape, nest.reads[k], b, mask, reads_[k]);
    if (ok == mask) continue;
    if (nest.on_guard == tensor::OnGuard::Skip) {
      mask = ok;
      if (mask == 0) return;
      continue;
    }
    const Ty type = types_[static_cast<size_t>(nest.reads[k].operand)];
    Row pad;
    domain_.set_number(is_float(type) ? type : Ty::F64, nest.guard_value, pad);
    if (ok == 0) domain_.clear(reads_[k]);
    for (uint32_t m = mask & ~ok; m != 0; m &= m - 1)
      D::copy_lane(pad, __builtin_ctz(m), reads_[k], __builtin_ctz(m));
  }
  nodes(nest.body, reads_, b, shape.total_rank, mask, out);
}

template <class D>
void NestEval<D>::post(const NestShape& shape, const Batch& b, uint32_t mask, const Row& value,
                       Row& out) {
  const tensor::Nest& nest = shape.nest;
  if (nest.post.empty()) {
    out = value;
    return;
  }
  std::vector<Row> reads(nest.post_reads.size() + 1);
  reads[0] = value;
  for (size_t k = 0; k < nest.post_reads.size(); ++k)
    read(shape, nest.post_reads[k], b, mask, reads[k + 1]);
  nodes(nest.post, reads, b, shape.total_rank, mask, out);
}

template <class D>
void NestEval<D>::accumulate(const NestShape& shape, const Row& value, const Batch& b,
                             uint32_t mask, uint32_t& started, Row& acc, Row& arg) {
  const tensor::Nest& nest = shape.nest;
  const Ty type = nest.acc_type;
  Row index;
  if (is_arg(nest.reduce)) {
    int64_t ints[kRow] = {};
    for (uint32_t m = mask; m != 0; m &= m - 1)
      ints[__builtin_ctz(m)] =
          eval_affine(nest.arg_index, b.iters[__builtin_ctz(m)], shape.total_rank);
    domain_.set_integer(ints, index);
  }
  const uint32_t fresh = mask & ~started, old = mask & started;
  if (old != 0) {
    Row next;
    if (is_arg(nest.reduce)) {  // first best: strictly better replaces
      Row better;
      domain_.apply(nest.reduce == tensor::ReduceKind::ArgMax ? Fn::Gt : Fn::Lt, type, {}, &value,
                    &acc, nullptr, nullptr, better, old);
      Row best, where;
      domain_.apply(Fn::Select, type, {}, &better, &value, &acc, nullptr, best, old);
      domain_.apply(Fn::Select, Ty::S64, {}, &better, &index, &arg, nullptr, where, old);
      for (uint32_t m = old; m != 0; m &= m - 1) {
        D::copy_lane(best, __builtin_ctz(m), acc, __builtin_ctz(m));
        D::copy_lane(where, __builtin_ctz(m), arg, __builtin_ctz(m));
      }
    } else {
      Mods mods;
      mods.nan = nest.nan_propagates;
      domain_.apply(reduce_fn(nest.reduce, type), type, mods, &acc, &value, nullptr, nullptr, next,
                    old);
      if (old == 0xffffffffu) {
        acc = next;
      } else {
        for (uint32_t m = old; m != 0; m &= m - 1)
          D::copy_lane(next, __builtin_ctz(m), acc, __builtin_ctz(m));
      }
    }
  }
  for (uint32_t m = fresh; m != 0; m &= m - 1) {
    D::copy_lane(value, __builtin_ctz(m), acc, __builtin_ctz(m));
    if (is_arg(nest.reduce)) D::copy_lane(index, __builtin_ctz(m), arg, __builtin_ctz(m));
  }
  started |= mask;
}

// Lanes that no term reached: the neutral element.
template <class D>
void NestEval<D>::finish(const NestShape& shape, const Batch& b, uint32_t mask, uint32_t started,
                         Row& acc, const Row& arg) {
  const tensor::Nest& nest = shape.nest;
  if ((mask & ~started) != 0) {
    Row neutral;
    const double inf = __builtin_inf();
    using tensor::ReduceKind;
    const double v = nest.reduce == ReduceKind::Prod || nest.reduce == ReduceKind::All ? 1
                     : nest.reduce == ReduceKind::Max                                  ? -inf
                     : nest.reduce == ReduceKind::Min                                  ? inf
                     : nest.reduce == ReduceKind::None ? nest.guard_value
                                                       : 0;
    domain_.set_number(nest.acc_type == Ty::None ? Ty::F64 : nest.acc_type, v, neutral);
    for (uint32_t m = mask & ~started; m != 0; m &= m - 1)
      D::copy_lane(neutral, __builtin_ctz(m), acc, __builtin_ctz(m));
  }
  Row out;
  post(shape, b, mask, is_arg(nest.reduce) ? arg : acc, out);
  const int buffer = buffers_[static_cast<size_t>(nest.write.operand)];
  for (uint32_t m = mask; m != 0; m &= m - 1) {
    const int l = __builtin_ctz(m);
    store_.store(buffer, b.element[l], domain_.cell(out, l, nest.out_type));
  }
}

template <class D>
void NestEval<D>::flush(const NestShape& shape, Batch& b) {
  const tensor::Nest& nest = shape.nest;
  Row value, acc, arg;
  domain_.clear(acc);
  domain_.clear(arg);
  uint32_t started = 0;
  if (nest.reduce == tensor::ReduceKind::None) {
    uint32_t mask = b.mask;
    body(shape, b, mask, value);
    if (mask != 0) acc = value;
    finish(shape, b, b.mask, mask, acc, arg);
    return;
  }
  const size_t s = shape.space_rank, r = shape.total_rank;
  int64_t index[16] = {};
  for (int64_t k = 0; k < shape.reduction_count; ++k) {
    for (uint32_t m = b.mask; m != 0; m &= m - 1)
      for (size_t d = s; d < r; ++d) b.iters[__builtin_ctz(m)][d] = index[d - s];
    uint32_t mask = b.mask;
    body(shape, b, mask, value);
    if (mask != 0) accumulate(shape, value, b, mask, started, acc, arg);
    if (shape.scan) {
      for (uint32_t m = b.mask; m != 0; m &= m - 1) {
        const int l = __builtin_ctz(m);
        b.element[l] = eval_affine(nest.write.offset, b.iters[l], r);
      }
      Row prefix = acc;
      finish(shape, b, b.mask, started, prefix, arg);
    }
    for (size_t d = r; d-- > s;) {
      if (++index[d - s] < shape.extents[d]) break;
      index[d - s] = 0;
    }
  }
  if (!shape.scan) finish(shape, b, b.mask, started, acc, arg);
}

// One result; lanes are iterations of the flattened reduction.
template <class D>
void NestEval<D>::run_across(const NestShape& shape, const Batch& from, int lane) {
  const tensor::Nest& nest = shape.nest;
  const size_t s = shape.space_rank, r = shape.total_rank;
  Batch b;
  Row value, acc, arg;
  domain_.clear(acc);
  domain_.clear(arg);
  uint32_t started = 0;
  int64_t index[16] = {};
  for (int64_t k = 0; k < shape.reduction_count; k += kRow) {
    const int n = static_cast<int>(std::min<int64_t>(kRow, shape.reduction_count - k));
    for (int l = 0; l < n; ++l) {
      for (size_t d = 0; d < s; ++d) b.iters[l][d] = from.iters[lane][d];
      for (size_t d = s; d < r; ++d) b.iters[l][d] = index[d - s];
      for (size_t d = r; d-- > s;) {
        if (++index[d - s] < shape.extents[d]) break;
        index[d - s] = 0;
      }
    }
    uint32_t mask = n == kRow ? 0xffffffffu : (1u << n) - 1;
    body(shape, b, mask, value);
    if (mask != 0) accumulate(shape, value, b, mask, started, acc, arg);
  }
  // Fold the lanes: pairs at distance 16, 8, ..., 1.
  Mods mods;
  mods.nan = nest.nan_propagates;
  for (int half = kRow / 2; half > 0; half /= 2) {
    Row other = acc, next;
    uint32_t both = 0;
    for (int l = 0; l < half; ++l) {
      const bool has = ((started >> (l + half)) & 1) != 0;
      if (!has) continue;
      D::copy_lane(acc, l + half, other, l);
      if (((started >> l) & 1) != 0)
        both |= 1u << l;
      else
        D::copy_lane(acc, l + half, acc, l), started |= 1u << l;
    }
    if (both == 0) continue;
    domain_.apply(reduce_fn(nest.reduce, nest.acc_type), nest.acc_type, mods, &acc, &other, nullptr,
                  nullptr, next, both);
    for (uint32_t m = both; m != 0; m &= m - 1)
      D::copy_lane(next, __builtin_ctz(m), acc, __builtin_ctz(m));
  }
  for (size_t d = 0; d < s; ++d) b.iters[0][d] = from.iters[lane][d];
  b.element[0] = from.element[lane];
  finish(shape, b, 1, started & 1, acc, arg);
}

}  // namespace assay::term
