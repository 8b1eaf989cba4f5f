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

}  // namespace assay::term

#include "term/nest_eval_reads.h"
#include "term/nest_eval_sweep.h"
