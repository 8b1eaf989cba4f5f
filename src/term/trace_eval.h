#pragma once
// Marking of a trace (backwards, a lane mask a node) and its evaluation in a domain (forwards, with
// value slots that are reused after the last use).
#include <functional>
#include <memory>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"
#include "machine/trace.h"
#include "term/store.h"

namespace assay::term {

class LiveNodes {
 public:
  explicit LiveNodes(size_t nodes = 0) : lanes_(nodes, 0) {}
  // The lanes of a node that feed a wanted location.
  uint32_t lanes(machine::NodeId id) const { return lanes_[id]; }
  void add(machine::NodeId id, uint32_t lanes) {
    count_ += lanes_[id] == 0 && lanes != 0 ? 1 : 0;
    lanes_[id] |= lanes;
  }
  void append(uint32_t lanes) {
    lanes_.push_back(0);
    add(static_cast<machine::NodeId>(lanes_.size() - 1), lanes);
  }

  // The nodes that have lanes, ascending.
  class Iterator {
   public:
    Iterator(const std::vector<uint32_t>& lanes, size_t at) : lanes_(&lanes), at_(at) { settle(); }
    machine::NodeId operator*() const { return static_cast<machine::NodeId>(at_); }
    Iterator& operator++() {
      ++at_;
      settle();
      return *this;
    }
    bool operator==(const Iterator& o) const { return at_ == o.at_; }

   private:
    void settle() {
      while (at_ < lanes_->size() && (*lanes_)[at_] == 0) ++at_;
    }
    const std::vector<uint32_t>* lanes_;
    size_t at_;
  };
  Iterator begin() const { return {lanes_, 0}; }
  Iterator end() const { return {lanes_, lanes_.size()}; }
  size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }

 private:
  std::vector<uint32_t> lanes_;  // per node
  size_t count_ = 0;
};

// Which stores of a trace are wanted; everything they need is marked. A row is used again after the
// last use of its value; an operand that is not marked has row 0, whose contents mean nothing.
// Values of one marked lane share rows, 32 a row, or a kernel of one thread would fill memory with
// rows of which one lane is used.
struct Marks {
  static constexpr uint32_t kPacked = 1u << 31;  // of a slot: a packed lane, not a row
  LiveNodes live;
  std::vector<uint32_t> slot;             // per node: the row or packed lane of its value
  std::vector<machine::StoreRef> stores;  // wanted elements of the trace
  std::vector<uint32_t> atoms, indexed;   // wanted entries
  uint32_t slots = 0, packed = 0;         // rows, row 0 among them; packed lanes
};

using WantFn = std::function<bool(int buffer, int64_t element)>;
// mark = mark_lanes and assign_places: a small cone of a large trace gets its places where it is
// compact.
Marks mark(const machine::Trace& trace, const WantFn& wanted);
// The same stores, atomics and indexed stores of a trace that has more nodes (machine/merge_cases).
Marks mark_same(const machine::Trace& trace, const Marks& marks);
Marks mark_lanes(const machine::Trace& trace, const WantFn& wanted);
void assign_places(const machine::Trace& trace, Marks& marks);

// The marked nodes alone, with what is wanted of the stores; of conflicts and faults nothing.
struct CompactTrace {
  machine::Trace trace;
  Marks marks;
};
CompactTrace compact(const machine::Trace& trace, const Marks& marks);

// Elements that the marked nodes read from buffers: calls back with (buffer, type, first, count).
// Lookups report all of [lo, hi), a range that many share once.
using ReadFn = std::function<void(int buffer, Ty type, int64_t first, int64_t count)>;
void marked_reads(const machine::Trace& trace, const Marks& marks, const ReadFn& read);

Fn atomic_fn(machine::AtomKind kind, Ty type);

template <class D>
class TraceEval {
 public:
  using Row = typename D::Row;
  TraceEval(D& domain, Store<D>& store) : domain_(domain), store_(store) {}

  // Evaluates the marked nodes and writes the wanted stores and atomics to the store. Throws Late.
  // last: nothing
  // reads what is stored, so what is known of it may be forgotten.
  void run(const machine::Trace& t, const Marks& marks, bool last = false);

 private:
  using Place = LaneOf<Row>;
  // Where lane `lane` of a value lies.
  Place place(machine::NodeId id, int lane) const {
    const uint32_t slot = slot_[id];
    if ((slot & Marks::kPacked) == 0) return {&rows_[slot], lane};
    return {&packed_[(slot & ~Marks::kPacked) / kRow], static_cast<int>(slot % kRow)};
  }
  // Of a value with several marked lanes.
  const Row& value(machine::NodeId id) const { return rows_[slot_[id]]; }
  void eval_lane(const machine::Trace& t, const machine::Node& n, machine::NodeId id, int lane);
  void apply_lane(const machine::Trace& t, const machine::Node& n, int lane, Place out);
  const Row& spread(const Marks& marks, machine::NodeId id, Row& scratch) const;
  void eval(const machine::Trace& t, const machine::Node& n, machine::NodeId id, uint32_t mask,
            Row& out);
  // machine/merge_cases: only domains with images know whether two formulas are one.
  void agree(Ty type, const Row& otherwise, const Row& result, const Row& left, const Row& right,
             Row& out, uint32_t mask) {
    if constexpr (requires(D & d) { d.agree(type, left, right, mask); }) {
      const uint32_t same = domain_.agree(type, left, right, mask);
      Row chosen = otherwise;
      for (uint32_t m = same; m != 0; m &= m - 1) {
        const int l = __builtin_ctz(m);
        D::copy_lane(result, l, chosen, l);
      }
      out = chosen;
    } else {
      out = otherwise;
    }
  }
  void eval_lookup(const machine::LookupPayload& p, uint32_t mask, Row& out);
  void write(int buffer, int64_t element, const typename D::Cell& cell) {
    store_.store(buffer, element, cell);
    if constexpr (kForgets)
      if (!last_) live_.push_back(cell.v);
  }
  void commit_until(const machine::Trace& t, const Marks& marks, uint32_t stores, uint32_t atoms);
  void commit(const machine::Trace& t, const Marks& marks);

  static constexpr bool kForgets = requires(D & d) { d.forget_facts(); };
  std::vector<machine::StoreRef>::const_iterator next_store_;
  std::vector<uint32_t>::const_iterator next_atom_;
  bool last_ = false;         // nothing reads what is stored but the comparison
  std::vector<double> live_;  // images of what is stored and read later
  D& domain_;
  Store<D>& store_;
  std::unique_ptr<Row[]> rows_, packed_;
  Row one_[4] = {}, result_ = {};  // operands and result of an operation on one lane
  const uint32_t* slot_ = nullptr;
};

// Calls f(operand id) for every operand of a node.
template <class F>
void for_operands(const machine::Trace& t, const machine::Node& n, F&& f) {
  using machine::NodeKind;
  const machine::Op& op = t.ops[n.op];
  switch (op.kind) {
    case NodeKind::Apply:
      f(n.a);
      if (info(op.fn).arity >= 4) {
        f(n.b);
        f(t.extra[n.c][0]);
        f(t.extra[n.c][1]);
      } else {
        if (info(op.fn).arity >= 2) f(n.b);
        if (info(op.fn).arity >= 3) f(n.c);
      }
      break;
    case NodeKind::Bcast:
    case NodeKind::Perm:
      f(n.a);
      break;
    case NodeKind::Blend:
      f(n.a), f(n.b);
      break;
    case NodeKind::Lookup:
      f(t.lookups[n.a].index);
      break;
    case NodeKind::Gather: {
      machine::NodeId last = machine::kNoNode;
      for (machine::NodeId id : t.gathers[n.a].node)
        if (id != last) f(last = id);
      break;
    }
    default:
      break;
  }
}

// Calls f(operand id, lanes of it that the lanes of the node need) for every operand.
template <class F>
void for_uses(const machine::Trace& t, const machine::Node& n, uint32_t lanes, F&& f) {
  using machine::NodeKind;
  switch (t.ops[n.op].kind) {
    case NodeKind::Gather: {
      const auto& p = t.gathers[n.a];
      for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        const auto l = static_cast<size_t>(__builtin_ctz(rest));
        f(p.node[l], 1u << p.lane[l]);
      }
      break;
    }
    case NodeKind::Perm: {
      const auto& p = t.perms[n.b];
      uint32_t from = 0;
      for (uint32_t rest = lanes; rest != 0; rest &= rest - 1)
        from |= 1u << p[static_cast<size_t>(__builtin_ctz(rest))];
      f(n.a, from);
      break;
    }
    case NodeKind::Bcast:
      f(n.a, 1u << n.b);
      break;
    case NodeKind::Blend:
      f(n.a, lanes & n.c);
      f(n.b, lanes & ~n.c);
      break;
    default:
      for_operands(t, n, [&](machine::NodeId arg) { f(arg, lanes); });
      break;
  }
}

template <class D>
void TraceEval<D>::run(const machine::Trace& t, const Marks& marks, bool last) {
  slot_ = marks.slot.data();
  rows_ = std::make_unique_for_overwrite<Row[]>(marks.slots);
  packed_ = std::make_unique_for_overwrite<Row[]>((marks.packed + kRow - 1) / kRow);
  next_store_ = marks.stores.begin();
  next_atom_ = marks.atoms.begin();
  // A load at a symbolic address reads the store: it must not see what this launch writes.
  const bool early = t.lookups.empty();
  last_ = last;
  live_.clear();
  if constexpr (kForgets)
    if (early) domain_.keep_facts();
  auto end = t.ctas.begin();
  DeadlineCheck late;
  for (const machine::NodeId id : marks.live) {
    for (; early && end != t.ctas.end() && end->nodes <= id; ++end) {
      commit_until(t, marks, end->stores, end->atoms);
      if constexpr (kForgets)
        if (last_ && domain_.forget_facts(live_)) live_.clear();
    }
    late();
    if ((slot_[id] & Marks::kPacked) != 0)
      eval_lane(t, t.nodes[id], id, __builtin_ctz(marks.live.lanes(id)));
    else
      eval(t, t.nodes[id], id, marks.live.lanes(id), rows_[slot_[id]]);
  }
  commit(t, marks);
  if constexpr (kForgets) domain_.release_lazy();
}

template <class D>
void TraceEval<D>::eval(const machine::Trace& t, const machine::Node& n, machine::NodeId id,
                        uint32_t mask, Row& out) {
  using machine::NodeKind;
  const machine::Op& op = t.ops[n.op];
  switch (op.kind) {
    case NodeKind::Apply: {
      domain_.pc = op.pc;
      const int arity = info(op.fn).arity;
      if (op.fn == Fn::Agree) {
        agree(op.type, value(n.a), value(n.b), value(t.extra[n.c][0]), value(t.extra[n.c][1]), out,
              mask);
      } else if (arity >= 4) {
        domain_.apply(op.fn, op.type, op.mods, &value(n.a), &value(n.b), &value(t.extra[n.c][0]),
                      &value(t.extra[n.c][1]), out, mask);
      } else {
        domain_.apply(op.fn, op.type, op.mods, &value(n.a), arity >= 2 ? &value(n.b) : nullptr,
                      arity >= 3 ? &value(n.c) : nullptr, nullptr, out, mask);
      }
      break;
    }
    case NodeKind::ConstAll:
      domain_.set_bits(t.constants[n.a], out);
      break;
    case NodeKind::ConstVec:
      domain_.set_bits(t.const_vecs[n.a].data(), out);
      break;
    case NodeKind::Input: {
      const machine::InputPayload& p = t.inputs[n.a];
      if (!p.elements.empty()) {
        store_.load(p.buffer, p.elements.data(), mask, out);
      } else {
        int64_t elements[kRow];
        for (int l = 0; l < kRow; ++l) elements[l] = p.first + l * p.stride;
        store_.load(p.buffer, elements, mask, out);
      }
      break;
    }
    case NodeKind::Gather: {
      const machine::GatherPayload& p = t.gathers[n.a];
      domain_.clear(out);
      for (uint32_t m = mask; m != 0; m &= m - 1) {
        const int l = __builtin_ctz(m);
        const Place from = place(p.node[static_cast<size_t>(l)], p.lane[static_cast<size_t>(l)]);
        D::copy_lane(*from.row, from.lane, out, l);
      }
      break;
    }
    case NodeKind::Perm: {
      const auto& lanes = t.perms[n.b];
      if constexpr (requires(const Row& from) { D::permute(from, lanes.data(), out); })
        if (mask == ~0u && (slot_[n.a] & Marks::kPacked) == 0 &&
            D::permute(value(n.a), lanes.data(), out))
          break;
      domain_.clear(out);
      for (uint32_t m = mask; m != 0; m &= m - 1) {
        const int l = __builtin_ctz(m);
        const Place from = place(n.a, lanes[static_cast<size_t>(l)]);
        D::copy_lane(*from.row, from.lane, out, l);
      }
      break;
    }
    case NodeKind::Bcast: {
      const Place from = place(n.a, static_cast<int>(n.b));
      domain_.broadcast(*from.row, from.lane, out);
      break;
    }
    case NodeKind::Blend: {
      uint32_t lanes = mask;
      if ((mask & ~n.c) != 0 && (slot_[n.b] & Marks::kPacked) == 0) {
        out = value(n.b);
        lanes = mask & n.c;
      } else {
        domain_.clear(out);
      }
      for (; lanes != 0; lanes &= lanes - 1) {
        const int l = __builtin_ctz(lanes);
        const Place from = place(((n.c >> l) & 1) != 0 ? n.a : n.b, l);
        D::copy_lane(*from.row, from.lane, out, l);
      }
      break;
    }
    case NodeKind::Lookup:
      eval_lookup(t.lookups[n.a], mask, out);
      break;
    case NodeKind::Undef:
      domain_.set_undef(id | (uint64_t{n.b} << 56), out);
      break;
  }
}

template <class D>
void TraceEval<D>::eval_lane(const machine::Trace& t, const machine::Node& n, machine::NodeId id,
                             int lane) {
  using machine::NodeKind;
  const Place out = place(id, lane);
  const uint32_t mask = 1u << lane;
  auto copy = [&](const Place& from) { D::copy_lane(*from.row, from.lane, *out.row, out.lane); };
  switch (t.ops[n.op].kind) {
    case NodeKind::Apply:
      apply_lane(t, n, lane, out);
      return;
    case NodeKind::Input: {
      const machine::InputPayload& p = t.inputs[n.a];
      const auto l = static_cast<size_t>(lane);
      int64_t elements[kRow];
      std::fill_n(elements, kRow, p.elements.empty() ? p.first + lane * p.stride : p.elements[l]);
      store_.load(p.buffer, elements, 1, result_);
      copy({&result_, 0});
      return;
    }
    case NodeKind::Gather: {
      const machine::GatherPayload& p = t.gathers[n.a];
      const auto l = static_cast<size_t>(lane);
      copy(place(p.node[l], p.lane[l]));
      return;
    }
    case NodeKind::Perm:
      copy(place(n.a, t.perms[n.b][static_cast<size_t>(lane)]));
      return;
    case NodeKind::Bcast:
      copy(place(n.a, static_cast<int>(n.b)));
      return;
    case NodeKind::Blend:
      copy(place((mask & n.c) != 0 ? n.a : n.b, lane));
      return;
    case NodeKind::Lookup: {
      const machine::LookupPayload& p = t.lookups[n.a];
      const Place index = place(p.index, lane);
      domain_.clear(one_[0]);
      D::copy_lane(*index.row, index.lane, one_[0], lane);
      domain_.lookup(store_, p.buffer, p.type, one_[0], p.base.data(), p.lo, p.hi, mask, result_);
      break;
    }
    default:
      eval(t, n, id, mask, result_);
      break;
  }
  copy({&result_, lane});
}

template <class D>
void TraceEval<D>::apply_lane(const machine::Trace& t, const machine::Node& n, int lane,
                              Place out) {
  const machine::Op& op = t.ops[n.op];
  const int arity = info(op.fn).arity;
  domain_.pc = op.pc;
  Place args[4];
  args[0] = place(n.a, lane);
  if (arity >= 2) args[1] = place(n.b, lane);
  if (arity >= 4) {
    args[2] = place(t.extra[n.c][0], lane);
    args[3] = place(t.extra[n.c][1], lane);
  } else if (arity >= 3) {
    args[2] = place(n.c, lane);
  }
  if constexpr (requires { typename D::Lane; }) {
    if (op.fn != Fn::Agree && domain_.apply_lane(op.fn, op.mods, args, *out.row, out.lane)) return;
  }
  for (int k = 0; k < arity; ++k) D::copy_lane(*args[k].row, args[k].lane, one_[k], 0);
  auto arg = [&](int k) { return k < arity ? &one_[k] : nullptr; };
  if (op.fn == Fn::Agree)
    agree(op.type, one_[0], one_[1], one_[2], one_[3], result_, 1);
  else
    domain_.apply(op.fn, op.type, op.mods, &one_[0], arg(1), arg(2), arg(3), result_, 1);
  D::copy_lane(result_, 0, *out.row, out.lane);
}

// The value of a node in the lanes of the trace, also if it is packed.
template <class D>
const typename D::Row& TraceEval<D>::spread(const Marks& marks, machine::NodeId id,
                                            Row& scratch) const {
  if ((slot_[id] & Marks::kPacked) == 0) return rows_[slot_[id]];
  const int lane = __builtin_ctz(marks.live.lanes(id));
  const Place from = place(id, lane);
  domain_.clear(scratch);
  D::copy_lane(*from.row, from.lane, scratch, lane);
  return scratch;
}

// A load at a symbolic address: up to 4096 candidates are expanded to sum_k [index = k] * x_k,
// larger ranges stay a congruent function of the index.
template <class D>
void TraceEval<D>::eval_lookup(const machine::LookupPayload& p, uint32_t mask, Row& out) {
  const Row& index = value(p.index);
  domain_.lookup(store_, p.buffer, p.type, index, p.base.data(), p.lo, p.hi, mask, out);
}

template <class D>
void TraceEval<D>::commit_until(const machine::Trace& t, const Marks& marks, uint32_t stores,
                                uint32_t atoms) {
  for (; next_store_ != marks.stores.end() && next_store_->entry < stores; ++next_store_) {
    const machine::StoreOut s = t.store(*next_store_);
    const Place from = place(s.node, s.lane);
    write(s.buffer, s.element, domain_.cell(*from.row, from.lane, s.type));
  }
  for (; next_atom_ != marks.atoms.end() && *next_atom_ < atoms; ++next_atom_) {
    const machine::AtomOut& a = t.atoms[*next_atom_];
    const auto old = store_.load1(a.buffer, a.element);
    const Place from = place(a.node, a.lane);
    const auto add = domain_.cell(*from.row, from.lane, a.type);
    write(a.buffer, a.element, domain_.combine(atomic_fn(a.kind, a.type), a.type, old, add));
  }
}

// In the order of the CTAs: a plain store of one CTA and atomics of another do not commute.
template <class D>
void TraceEval<D>::commit(const machine::Trace& t, const Marks& marks) {
  for (const machine::CtaEnd& end : t.ctas) commit_until(t, marks, end.stores, end.atoms);
  commit_until(t, marks, 0xffffffffu, 0xffffffffu);
  for (uint32_t k : marks.indexed) {
    const machine::IndexedOut& x = t.indexed[k];
    Row index, value, pred;
    domain_.scatter(store_, x, spread(marks, x.index, index), spread(marks, x.value, value),
                    x.pred == machine::kNoNode ? nullptr : &spread(marks, x.pred, pred));
  }
}

}  // namespace assay::term
