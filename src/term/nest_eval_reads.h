#pragma once
// NestEval: what each row of results reads. Included by nest_eval.h.
#include "term/nest_eval.h"

namespace assay::term {

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

}  // namespace assay::term
