#pragma once
// NestEval: a body of one iteration, its reduction, results. Included by nest_eval.h.
#include "term/nest_eval.h"

namespace assay::term {

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
