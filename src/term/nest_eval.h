#pragma once
// Evaluation of loop nests in a domain. Lanes are 32 results; where few results have a long
// reduction, lanes are its iterations. Up to 32 rows of results are swept together, so that a read
// that they share is made once: a matrix product reads 2 rows an iteration for 32 x 32 results.
#include <algorithm>
#include <memory>
#include <vector>

#include "base/deadline.h"
#include "term/nest_shape.h"
#include "term/store.h"

namespace assay::term {

Fn reduce_fn(tensor::ReduceKind kind, Ty type);
bool is_arg(tensor::ReduceKind kind);
// The value of a reduction without terms.
double neutral_element(const tensor::Nest& nest);
uint64_t constant_bits(Ty type, double value);  // of an integer type

template <class D>
class NestEval {
 public:
  using Row = typename D::Row;
  // buffers[operand], types[operand]: of each tensor of the lowering.
  NestEval(D& domain, Store<D>& store, const std::vector<int>& buffers,
           const std::vector<Ty>& types)
      : domain_(domain), store_(store), buffers_(buffers), types_(types) {}

  // Throws Late. last: nothing reads the results, so what is known of them may be forgotten.
  // last: nothing reads the results but the comparison; forget: whatever does is sums and products.
  void run(const NestShape& shape, const tensor::ElemSet& wanted, bool last = false,
           bool forget = false);

 private:
  using BodyNode = tensor::BodyNode;
  static constexpr int kGroup = 32;
  static constexpr bool kForgets = requires(D & d) { d.forget_facts(); };

  bool last_ = false;         // nothing reads the results but the comparison
  std::vector<double> live_;  // images of results that are read later

  // 32 results. Unused lanes repeat the first one.
  struct Batch {
    LaneIters iters;
    int64_t element[kRow];
    uint32_t mask = 0, started = 0;
    Row rows[2], arg;
    Row *acc = &rows[0], *next = &rows[1];
    std::vector<size_t> reader;  // per read
    Terms write_terms, arg_terms;
    std::vector<Terms> iter_terms;  // per Iter node of the body
  };
  // One read for all batches that make it alike.
  struct Reader {
    Terms terms;
    bool uniform = false;  // all lanes read the same: 32 iterations are read at once
    uint32_t ok = 0, ahead_ok = 0;
    Row row, ahead;
  };
  // What the 32 iterations at hand add to every affine expression.
  struct Block {
    LaneIters iters;
    std::vector<Terms> reads;
    Terms write, arg;
    std::vector<Terms> iter_nodes;
  };
  // The values of a list of nodes; constants are made once.
  struct Values {
    std::vector<Row> rows;
    std::vector<const Row*> at;
  };

  void prepare(const NestShape& shape);
  void constant(Ty type, double value, Row& out);
  void prepare_values(const std::vector<BodyNode>& nodes, Values& values);
  void add_result(int64_t element, const int64_t* iters);
  void close_batch();
  void sweep();
  void sweep_across();
  void assign_readers(Batch& b);
  void block_terms(int n);
  void fill(size_t read, Reader& r, int j, int n, bool across);
  void read_indirect(const tensor::Access& access, const Terms& space, const Terms& reduction,
                     int j, bool across, uint32_t& mask, Row& out);
  Row scaled_index(const tensor::Access& access, uint32_t mask);
  void pad(size_t read, uint32_t ok, Row& out);
  bool body(Batch& b, int j, bool across, uint32_t& mask);
  void step(Batch& b, int j, bool across);
  void accumulate(Batch& b, int j, uint32_t mask);
  void accumulate_arg(Batch& b, int j, uint32_t mask);
  void keep(Batch& b, const Row& fresh, uint32_t mask, Row& into);
  void finish(Batch& b, const Row& value, uint32_t started);

  D& domain_;
  Store<D>& store_;
  const std::vector<int>& buffers_;
  const std::vector<Ty>& types_;

  const NestShape* shape_ = nullptr;
  const tensor::Nest* nest_ = nullptr;
  std::vector<std::unique_ptr<Batch>> batches_;
  int full_ = 0, lanes_ = 0;  // batches in use; lanes of the last one
  std::vector<std::vector<Reader>> readers_;
  std::vector<uint8_t> fixed_;  // per read: the same in every iteration
  std::vector<Row> pads_, indirect_;
  std::vector<const Row*> reads_;
  Block block_;
  Values body_, post_;
  DeadlineCheck late_;
  bool fused_ = false;    // the body's last product goes into the sum
  bool squares_ = false;  // that product is of a value with itself
};

template <class D>
void NestEval<D>::prepare_values(const std::vector<BodyNode>& nodes, Values& values) {
  values.rows.resize(nodes.size());
  values.at.assign(nodes.size(), nullptr);
  for (size_t k = 0; k < nodes.size(); ++k) {
    const BodyNode& n = nodes[k];
    Row& row = values.rows[k];
    values.at[k] = &row;
    domain_.clear(row);
    if (n.kind != BodyNode::Kind::Const) continue;
    if (is_float(n.type)) {
      domain_.set_number(n.type, n.value, row);
    } else {
      int64_t ints[kRow];
      std::fill_n(ints, kRow, n.ivalue);
      domain_.set_integer(ints, row);
    }
  }
}

// Integers are truncated; infinities become their extremes.
template <class D>
void NestEval<D>::constant(Ty type, double value, Row& out) {
  if (is_float(type)) {
    domain_.set_number(type, value, out);
    return;
  }
  domain_.set_bits(constant_bits(type, value), out);
  domain_.fix_type(type, out, 0xffffffffu);
}

template <class D>
void NestEval<D>::prepare(const NestShape& shape) {
  shape_ = &shape;
  nest_ = &shape.nest;
  const tensor::Nest& nest = shape.nest;
  const size_t reads = nest.reads.size();
  readers_.resize(reads);
  pads_.resize(reads);
  indirect_.resize(reads);
  reads_.assign(reads, nullptr);
  fixed_.assign(reads, 0);
  block_.reads.resize(reads);
  for (size_t k = 0; k < reads; ++k) {
    const tensor::Access& a = nest.reads[k];
    fixed_[k] = a.index_read < 0 && !depends_on(a, shape.space_rank, shape.total_rank);
    constant(types_[static_cast<size_t>(a.operand)], nest.guard_value, pads_[k]);
  }
  prepare_values(nest.body, body_);
  prepare_values(nest.post, post_);
  block_.iter_nodes.resize(nest.body.size());
  const BodyNode* last = nest.body.empty() ? nullptr : &nest.body.back();
  fused_ = D::kExact && nest.reduce == tensor::ReduceKind::Sum && last != nullptr &&
           last->kind == BodyNode::Kind::Apply && last->fn == Fn::Mul && is_float(last->type) &&
           !last->mods.sat && is_float(nest.acc_type);
  squares_ = fused_ && last->arg[0] == last->arg[1];
  full_ = lanes_ = 0;
}

template <class D>
void NestEval<D>::run(const NestShape& shape, const tensor::ElemSet& wanted, bool last,
                      bool forget) {
  prepare(shape);
  const bool across = shape.reduction_count >= 128 && !shape.scan && !is_arg(shape.nest.reduce) &&
                      wanted.count() < kRow;
  last_ = last;
  live_.clear();
  if constexpr (kForgets) domain_.keep_facts();
  // Shared reads pay where terms are cheap; what is known of an order of many values costs memory.
  using tensor::ReduceKind;
  const ReduceKind kind = shape.nest.reduce;
  const int group =
      kind == ReduceKind::None || kind == ReduceKind::Sum || kind == ReduceKind::Prod ? kGroup : 1;
  auto add = [&](int64_t e) {
    int64_t iters[kMaxRank];
    if (!shape.invert(e, iters)) return;
    add_result(e, iters);
    if (across) {
      close_batch();
      sweep_across();
    } else if (full_ == group) {
      sweep();
      if constexpr (kForgets)
        if (forget && domain_.many_facts()) {
          if (!domain_.ring_facts()) live_.clear();
          if (domain_.forget_facts(live_)) live_.clear();
        }
    }
  };
  if (shape.scan) {
    // One lane a scanned line; the whole line is computed.
    tensor::ElemSet lines;
    wanted.for_each([&](int64_t e) {
      int64_t it[kMaxRank];
      if (!shape.invert(e, it)) return;
      it[shape.space_rank] = 0;
      lines.insert(eval_affine(shape.nest.write.offset, it, shape.total_rank));
    });
    lines.for_each(add);
  } else {
    wanted.for_each(add);
  }
  close_batch();
  sweep();
}

template <class D>
void NestEval<D>::add_result(int64_t element, const int64_t* iters) {
  if (static_cast<size_t>(full_) == batches_.size()) batches_.push_back(std::make_unique<Batch>());
  Batch& b = *batches_[static_cast<size_t>(full_)];
  if (lanes_ == 0) {  // unused lanes repeat the first
    for (size_t d = 0; d < shape_->total_rank; ++d) std::fill_n(b.iters.at[d], kRow, iters[d]);
    std::fill_n(b.element, kRow, element);
  } else {
    for (size_t d = 0; d < shape_->total_rank; ++d) b.iters.at[d][lanes_] = iters[d];
    b.element[lanes_] = element;
  }
  if (++lanes_ == kRow) close_batch();
}

template <class D>
void NestEval<D>::close_batch() {
  if (lanes_ == 0) return;
  Batch& b = *batches_[static_cast<size_t>(full_)];
  b.mask = lanes_ == kRow ? 0xffffffffu : (1u << lanes_) - 1;
  b.started = 0;
  domain_.clear(*b.acc);
  domain_.clear(*b.next);
  domain_.clear(b.arg);
  ++full_;
  lanes_ = 0;
}

template <class D>
void NestEval<D>::assign_readers(Batch& b) {
  const tensor::Nest& nest = *nest_;
  const size_t s = shape_->space_rank;
  b.reader.resize(nest.reads.size());
  for (size_t k = 0; k < nest.reads.size(); ++k) {
    Reader r;
    space_terms(nest.reads[k], b.iters, s, r.terms);
    auto& all = readers_[k];
    size_t at = 0;
    while (at < all.size() && all[at].terms != r.terms) ++at;
    if (at == all.size()) {
      r.uniform = all_equal(r.terms);
      domain_.clear(r.row);
      domain_.clear(r.ahead);
      all.push_back(std::move(r));
    }
    b.reader[k] = at;
  }
  b.iter_terms.resize(nest.body.size());
  for (size_t k = 0; k < nest.body.size(); ++k) {
    if (nest.body[k].kind != BodyNode::Kind::Iter) continue;
    b.iter_terms[k].resize(kRow);
    lane_affine(nest.body[k].iter, b.iters, 0, s, b.iter_terms[k].data());
    for (int64_t& x : b.iter_terms[k]) x += nest.body[k].iter.constant;
  }
  if (is_arg(nest.reduce)) {
    b.arg_terms.resize(kRow);
    lane_affine(nest.arg_index, b.iters, 0, s, b.arg_terms.data());
    for (int64_t& x : b.arg_terms) x += nest.arg_index.constant;
  }
  if (shape_->scan) space_terms(nest.write, b.iters, s, b.write_terms);
}

// block_.iters holds the next n iterations.
template <class D>
void NestEval<D>::block_terms(int n) {
  const size_t s = shape_->space_rank, r = shape_->total_rank;
  for (size_t d = s; d < r; ++d)
    std::fill(block_.iters.at[d] + n, block_.iters.at[d] + kRow, block_.iters.at[d][0]);
  for (size_t k = 0; k < nest_->reads.size(); ++k)
    reduction_terms(nest_->reads[k], block_.iters, s, r, block_.reads[k]);
  for (size_t k = 0; k < nest_->body.size(); ++k) {
    if (nest_->body[k].kind != BodyNode::Kind::Iter) continue;
    block_.iter_nodes[k].resize(kRow);
    lane_affine(nest_->body[k].iter, block_.iters, s, r, block_.iter_nodes[k].data());
  }
  block_.arg.resize(kRow);
  if (is_arg(nest_->reduce)) lane_affine(nest_->arg_index, block_.iters, s, r, block_.arg.data());
  if (shape_->scan) reduction_terms(nest_->write, block_.iters, s, r, block_.write);
}

// Lanes whose guards fail: the padding, unless such terms are skipped.
template <class D>
void NestEval<D>::pad(size_t read, uint32_t ok, Row& out) {
  if (ok == 0xffffffffu || nest_->on_guard == tensor::OnGuard::Skip) return;
  if (ok == 0) {
    out = pads_[read];
    return;
  }
  for (uint32_t m = ~ok; m != 0; m &= m - 1)
    D::copy_lane(pads_[read], __builtin_ctz(m), out, __builtin_ctz(m));
}

// The row of iteration j (of n at hand), or in `across` mode of all n iterations.
template <class D>
void NestEval<D>::fill(size_t k, Reader& r, int j, int n, bool across) {
  const tensor::Access& access = nest_->reads[k];
  const int buffer = buffers_[static_cast<size_t>(access.operand)];
  int64_t elements[kRow];
  const uint32_t in_block = n == kRow ? 0xffffffffu : (1u << n) - 1;
  if (across) {
    r.ok = place_iterations(access, r.terms, block_.reads[k], elements) & in_block;
    if (r.ok != 0) store_.load(buffer, elements, r.ok, r.row);
    pad(k, r.ok | ~in_block, r.row);
    return;
  }
  if (!r.uniform) {
    r.ok = place_results(access, r.terms, block_.reads[k], j, elements);
    if (r.ok != 0) store_.load(buffer, elements, r.ok, r.row);
    pad(k, r.ok, r.row);
    return;
  }
  if (j == 0) {
    r.ahead_ok = place_iterations(access, r.terms, block_.reads[k], elements) & in_block;
    if (r.ahead_ok != 0) store_.load(buffer, elements, r.ahead_ok, r.ahead);
  }
  r.ok = ((r.ahead_ok >> j) & 1) != 0 ? 0xffffffffu : 0;
  if (r.ok != 0) domain_.broadcast(r.ahead, j, r.row);
  pad(k, r.ok, r.row);
}

template <class D>
void NestEval<D>::read_indirect(const tensor::Access& access, const Terms& space,
                                const Terms& reduction, int j, bool across, uint32_t& mask,
                                Row& out) {
  int64_t elements[kRow];
  mask &= across ? place_iterations(access, space, reduction, elements)
                 : place_results(access, space, reduction, j, elements);
  if (mask == 0) return;
  const auto operand = static_cast<size_t>(access.operand);
  if (access.index_read < 0) {
    store_.load(buffers_[operand], elements, mask, out);
    return;
  }
  const Row scaled = scaled_index(access, mask);
  // An index outside [lo, hi) lies outside the domain: undefined. The bounds of the element differ
  // from lane to lane as the bases do.
  const int64_t first = access.index_lo * access.index_stride;
  const int64_t last = (access.index_hi - 1) * access.index_stride;
  for (uint32_t rest = mask; rest != 0;) {
    const int64_t base = elements[__builtin_ctz(rest)];
    uint32_t same = 0;
    for (uint32_t m = rest; m != 0; m &= m - 1)
      if (elements[__builtin_ctz(m)] == base) same |= m & -m;
    Row part;
    domain_.lookup(store_, buffers_[operand], types_[operand], scaled, elements,
                   base + std::min(first, last), base + std::max(first, last) + 1, same, part);
    if (rest == mask) {
      out = part;
    } else {
      for (uint32_t m = same; m != 0; m &= m - 1)
        D::copy_lane(part, __builtin_ctz(m), out, __builtin_ctz(m));
    }
    rest &= ~same;
  }
}

// index * stride, negative indices counted from the end where the access wraps.
template <class D>
typename D::Row NestEval<D>::scaled_index(const tensor::Access& access, uint32_t mask) {
  auto number = [&](int64_t value) {
    int64_t ints[kRow];
    std::fill_n(ints, kRow, value);
    Row row;
    domain_.set_integer(ints, row);
    return row;
  };
  auto apply = [&](Fn fn, const Mods& mods, const Row& a, const Row& b, const Row& c) {
    Row row;
    domain_.clear(row);
    domain_.apply(fn, Ty::S64, mods, &a, &b, &c, nullptr, row, mask);
    return row;
  };
  const auto k = static_cast<size_t>(access.index_read);
  Row index = *reads_[k];
  Mods from;
  from.type2 = types_[static_cast<size_t>(nest_->reads[k].operand)];
  if (from.type2 != Ty::S64) index = apply(Fn::CvtII, from, index, index, index);
  if (access.index_wrap > 0) {
    const Row negative = apply(Fn::Lt, {}, index, number(0), index);
    const Row wrapped = apply(Fn::IAdd, {}, index, number(access.index_wrap), index);
    index = apply(Fn::Select, {}, negative, wrapped, index);
  }
  return apply(Fn::IMul, {}, index, number(access.index_stride), index);
}

// Evaluates the nodes of the body; body_.at.back() is the value (with fused_: its factors only).
// False: no lane takes part.
template <class D>
bool NestEval<D>::body(Batch& b, int j, bool across, uint32_t& mask) {
  const tensor::Nest& nest = *nest_;
  for (size_t k = 0; k < nest.reads.size(); ++k) {
    Reader& r = readers_[k][b.reader[k]];
    uint32_t ok = mask;
    if (nest.reads[k].index_read < 0) {
      ok &= r.ok;
      reads_[k] = &r.row;
    } else {
      read_indirect(nest.reads[k], r.terms, block_.reads[k], j, across, ok, indirect_[k]);
      if (ok == 0) domain_.clear(indirect_[k]);
      pad(k, ok | ~mask, indirect_[k]);
      reads_[k] = &indirect_[k];
    }
    if (nest.on_guard != tensor::OnGuard::Skip) continue;
    mask = ok;
    if (mask == 0) return false;
  }
  const size_t n = nest.body.size() - (fused_ ? 1 : 0);
  for (size_t k = 0; k < n; ++k) {
    const BodyNode& node = nest.body[k];
    auto arg = [&](int i) { return i < 0 ? nullptr : body_.at[static_cast<size_t>(i)]; };
    switch (node.kind) {
      case BodyNode::Kind::Read:
        body_.at[k] = reads_[static_cast<size_t>(node.read)];
        break;
      case BodyNode::Kind::Const:
        break;
      case BodyNode::Kind::Iter: {
        int64_t ints[kRow];
        const Terms &s = b.iter_terms[k], &r = block_.iter_nodes[k];
        for (size_t l = 0; l < kRow; ++l)
          ints[l] = across ? s[0] + r[l] : s[l] + r[static_cast<size_t>(j)];
        domain_.set_integer(ints, body_.rows[k]);
        break;
      }
      case BodyNode::Kind::Apply:
        domain_.apply(node.fn, node.type, node.mods, arg(node.arg[0]), arg(node.arg[1]),
                      arg(node.arg[2]), nullptr, body_.rows[k], mask);
        break;
    }
  }
  return true;
}

// Lanes of `mask` become those of `fresh`.
template <class D>
void NestEval<D>::keep(Batch& b, const Row& fresh, uint32_t mask, Row& into) {
  if (((b.mask | b.started) & ~mask) == 0) {
    into = fresh;
    return;
  }
  for (uint32_t m = mask; m != 0; m &= m - 1)
    D::copy_lane(fresh, __builtin_ctz(m), into, __builtin_ctz(m));
}

template <class D>
void NestEval<D>::accumulate_arg(Batch& b, int j, uint32_t mask) {
  const Ty type = nest_->acc_type;
  const Row& value = *body_.at.back();
  int64_t ints[kRow];
  for (size_t l = 0; l < kRow; ++l) ints[l] = b.arg_terms[l] + block_.arg[static_cast<size_t>(j)];
  Row index;
  domain_.set_integer(ints, index);
  const uint32_t fresh = mask & ~b.started, old = mask & b.started;
  if (old != 0) {  // first best: strictly better replaces
    const bool max = nest_->reduce == tensor::ReduceKind::ArgMax;
    Row better, where;
    if (D::kHoldsNan && is_float(type) && nest_->nan_propagates) {  // the first NaN is best
      Row replaces, open;
      domain_.apply(max ? Fn::Gtu : Fn::Ltu, type, {}, &value, b.acc, nullptr, nullptr, replaces,
                    old);
      domain_.apply(Fn::Num, type, {}, b.acc, b.acc, nullptr, nullptr, open, old);
      domain_.apply(Fn::PAnd, Ty::Pred, {}, &replaces, &open, nullptr, nullptr, better, old);
    } else {
      domain_.apply(max ? Fn::Gt : Fn::Lt, type, {}, &value, b.acc, nullptr, nullptr, better, old);
    }
    domain_.apply(Fn::Select, type, {}, &better, &value, b.acc, nullptr, *b.next, old);
    domain_.apply(Fn::Select, Ty::S64, {}, &better, &index, &b.arg, nullptr, where, old);
    keep(b, *b.next, old, *b.acc);
    keep(b, where, old, b.arg);
  }
  if (fresh != 0) {
    keep(b, value, fresh, *b.acc);
    keep(b, index, fresh, b.arg);
  }
  b.started |= mask;
}

template <class D>
void NestEval<D>::accumulate(Batch& b, int j, uint32_t mask) {
  if (is_arg(nest_->reduce)) {
    accumulate_arg(b, j, mask);
    return;
  }
  const Ty type = nest_->acc_type;
  const uint32_t fresh = mask & ~b.started, old = mask & b.started;
  const BodyNode& last = nest_->body.back();
  const Row* x = fused_ ? body_.at[static_cast<size_t>(last.arg[0])] : body_.at.back();
  const Row* y = fused_ ? body_.at[static_cast<size_t>(last.arg[1])] : nullptr;
  const bool all = ((b.mask | b.started) & ~old) == 0;
  if (old != 0) {
    Mods mods;
    mods.nan = nest_->nan_propagates;
    Row* out = D::kExact && fused_ && all ? b.acc : b.next;
    if (fused_)
      domain_.apply(Fn::Fma, type, {}, x, y, b.acc, nullptr, *out, old);
    else
      domain_.apply(reduce_fn(nest_->reduce, type), type, mods, b.acc, x, nullptr, nullptr, *out,
                    old);
    if (!all)
      keep(b, *out, old, *b.acc);
    else if (out != b.acc)
      std::swap(b.acc, b.next);
  }
  if (fresh != 0) {
    if (fused_)
      domain_.apply(Fn::Mul, last.type, last.mods, x, y, nullptr, nullptr, *b.next, fresh);
    keep(b, fused_ ? *b.next : *x, fresh, *b.acc);
  }
  b.started |= mask;
}

// `started`: lanes that some term reached; the others hold the neutral element.
template <class D>
void NestEval<D>::finish(Batch& b, const Row& value, uint32_t started) {
  const tensor::Nest& nest = *nest_;
  Row complete;
  const Row* result = &value;
  if ((b.mask & ~started) != 0) {
    Row neutral;
    constant(nest.reduce == tensor::ReduceKind::None ? nest.out_type : nest.acc_type,
             neutral_element(nest), neutral);
    complete = value;
    for (uint32_t m = b.mask & ~started; m != 0; m &= m - 1)
      D::copy_lane(neutral, __builtin_ctz(m), complete, __builtin_ctz(m));
    result = &complete;
  }
  constexpr bool kNotes = requires(D & d) { d.note_nonnegative(value, started); };
  std::vector<uint8_t> nonnegative(nest.post.size(), 0);
  if constexpr (kNotes)
    if (squares_) domain_.note_nonnegative(*result, b.mask);
  if (!nest.post.empty()) {
    std::vector<Row> reads(nest.post_reads.size());
    const Terms none((1 + kMaxRank) * kRow, 0);
    Terms space;
    for (size_t k = 0; k < reads.size(); ++k) {
      const tensor::Access& a = nest.post_reads[k];
      space_terms(a, b.iters, shape_->total_rank, space);
      domain_.clear(reads[k]);
      uint32_t mask = b.mask;
      read_indirect(a, space, none, 0, false, mask, reads[k]);
    }
    for (size_t k = 0; k < nest.post.size(); ++k) {
      const BodyNode& node = nest.post[k];
      auto arg = [&](int i) { return i < 0 ? nullptr : post_.at[static_cast<size_t>(i)]; };
      if (node.kind == BodyNode::Kind::Read) {
        post_.at[k] = node.read == 0 ? result : &reads[static_cast<size_t>(node.read) - 1];
      } else if (node.kind == BodyNode::Kind::Iter) {
        int64_t ints[kRow];
        lane_affine(node.iter, b.iters, 0, shape_->total_rank, ints);
        for (int64_t& i : ints) i += node.iter.constant;
        domain_.set_integer(ints, post_.rows[k]);
      } else if (node.kind == BodyNode::Kind::Apply) {
        domain_.apply(node.fn, node.type, node.mods, arg(node.arg[0]), arg(node.arg[1]),
                      arg(node.arg[2]), nullptr, post_.rows[k], b.mask);
      }
      if constexpr (kNotes) {
        if (!squares_) continue;
        const auto is = [&](int i) { return i >= 0 && nonnegative[static_cast<size_t>(i)] != 0; };
        const bool product = node.kind == BodyNode::Kind::Apply && is_float(node.type) &&
                             (node.fn == Fn::Mul || node.fn == Fn::Div) && is(node.arg[0]) &&
                             is(node.arg[1]);
        nonnegative[k] = (node.kind == BodyNode::Kind::Read && node.read == 0) ||
                         (node.kind == BodyNode::Kind::Const && node.value > 0) || product;
        if (product) domain_.note_nonnegative(post_.rows[k], b.mask);
      }
    }
    result = post_.at.back();
  }
  const int buffer = buffers_[static_cast<size_t>(nest.write.operand)];
  for (uint32_t m = b.mask; m != 0; m &= m - 1) {
    const int l = __builtin_ctz(m);
    const typename D::Cell cell = domain_.cell(*result, l, nest.out_type);
    store_.store(buffer, b.element[l], cell);
    if constexpr (kForgets)
      if (!last_) live_.push_back(cell.v);
  }
}

template <class D>
void NestEval<D>::step(Batch& b, int j, bool across) {
  late_();
  uint32_t mask = b.mask;
  const bool any = body(b, j, across, mask);
  if (nest_->reduce == tensor::ReduceKind::None) {
    finish(b, any ? *body_.at.back() : *b.acc, any ? mask : 0);
    return;
  }
  if (any) accumulate(b, j, mask);
  if (!shape_->scan) return;
  for (size_t l = 0; l < kRow; ++l)
    b.element[l] = b.write_terms[l] + block_.write[static_cast<size_t>(j)];
  for (size_t d = shape_->space_rank; d < shape_->total_rank; ++d)
    std::fill_n(b.iters.at[d], kRow, block_.iters.at[d][j]);
  finish(b, is_arg(nest_->reduce) ? b.arg : *b.acc, b.started);
}

// Lanes are results; all batches move through the reduction together.
template <class D>
void NestEval<D>::sweep() {
  if (full_ == 0) return;
  for (auto& r : readers_) r.clear();
  for (int i = 0; i < full_; ++i) assign_readers(*batches_[static_cast<size_t>(i)]);
  ReductionBlock reduction(*shape_);
  for (int64_t k = 0; k < shape_->reduction_count; k += kRow) {
    const int n = static_cast<int>(std::min<int64_t>(kRow, shape_->reduction_count - k));
    reduction.next(n, block_.iters);
    block_terms(n);
    for (int j = 0; j < n; ++j) {
      for (size_t read = 0; read < readers_.size(); ++read) {
        if (nest_->reads[read].index_read >= 0 || (fixed_[read] != 0 && k + j > 0)) continue;
        for (Reader& r : readers_[read]) fill(read, r, j, n, false);
      }
      for (int i = 0; i < full_; ++i) step(*batches_[static_cast<size_t>(i)], j, false);
    }
  }
  if (nest_->reduce != tensor::ReduceKind::None && !shape_->scan) {
    for (int i = 0; i < full_; ++i) {
      Batch& b = *batches_[static_cast<size_t>(i)];
      finish(b, is_arg(nest_->reduce) ? b.arg : *b.acc, b.started);
    }
  }
  full_ = 0;
  if constexpr (kForgets) domain_.release_lazy();
}

// One result; lanes are iterations of the flattened reduction.
template <class D>
void NestEval<D>::sweep_across() {
  Batch& b = *batches_[0];
  for (auto& r : readers_) r.clear();
  assign_readers(b);
  ReductionBlock reduction(*shape_);
  for (int64_t k = 0; k < shape_->reduction_count; k += kRow) {
    const int n = static_cast<int>(std::min<int64_t>(kRow, shape_->reduction_count - k));
    reduction.next(n, block_.iters);
    block_terms(n);
    b.mask = n == kRow ? 0xffffffffu : (1u << n) - 1;
    for (size_t read = 0; read < readers_.size(); ++read)
      if (nest_->reads[read].index_read < 0) fill(read, readers_[read][0], 0, n, true);
    step(b, 0, true);
    if constexpr (kForgets) {
      // What stays is known of the sums so far; an extremum is not computed yet.
      if (nest_->reduce == tensor::ReduceKind::Sum && domain_.many_facts())
        domain_.forget_facts({b.acc->v, b.acc->v + kRow});
    }
  }
  // Fold the lanes: pairs at distance 16, 8, ..., 1.
  Mods mods;
  mods.nan = nest_->nan_propagates;
  for (int half = kRow / 2; half > 0; half /= 2) {
    Row other = *b.acc;
    uint32_t both = 0;
    for (int l = 0; l < half; ++l) {
      if (((b.started >> (l + half)) & 1) == 0) continue;
      D::copy_lane(*b.acc, l + half, other, l);
      if (((b.started >> l) & 1) != 0)
        both |= 1u << l;
      else
        D::copy_lane(*b.acc, l + half, *b.acc, l), b.started |= 1u << l;
    }
    if (both == 0) continue;
    domain_.apply(reduce_fn(nest_->reduce, nest_->acc_type), nest_->acc_type, mods, b.acc, &other,
                  nullptr, nullptr, *b.next, both);
    for (uint32_t m = both; m != 0; m &= m - 1)
      D::copy_lane(*b.next, __builtin_ctz(m), *b.acc, __builtin_ctz(m));
  }
  b.mask = 1;
  finish(b, *b.acc, b.started & 1);
  full_ = 0;
  if constexpr (kForgets) domain_.release_lazy();
}

}  // namespace assay::term
