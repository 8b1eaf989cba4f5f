#pragma once
// Marking of a trace (backwards, a lane mask a node) and its evaluation in a domain (forwards, with
// value slots that are reused after the last use).
#include <deque>
#include <functional>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"
#include "machine/trace.h"
#include "term/store.h"

namespace assay::term {

// Which stores of a trace are wanted; everything they need is marked. A row is used again after the
// last use of its value; an operand that is not marked has row 0, whose contents mean nothing.
struct Marks {
  std::vector<uint32_t> lanes;                   // per node: lanes that feed a wanted location
  std::vector<machine::NodeId> live;             // nodes with lanes, ascending
  std::vector<uint32_t> slot;                    // per node: the row that holds its value
  std::vector<uint32_t> stores, atoms, indexed;  // wanted entries of the trace
  uint32_t slots = 0;
};

using WantFn = std::function<bool(int buffer, int64_t element)>;
Marks mark(const machine::Trace& trace, const WantFn& wanted);

// The marked nodes alone, with what is wanted of the stores; of conflicts and faults nothing.
struct CompactTrace {
  machine::Trace trace;
  Marks marks;
};
CompactTrace compact(const machine::Trace& trace, const Marks& marks);

// Elements that the marked nodes read from buffers: calls back with (buffer, type, element).
// Lookups report every element in [lo, hi).
using ReadFn = std::function<void(int buffer, Ty type, int64_t element)>;
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
  const Row& value(machine::NodeId id) const { return rows_[slot_[id]]; }
  void eval(const machine::Trace& t, const machine::Node& n, machine::NodeId id, uint32_t mask,
            Row& out);
  void eval_lookup(const machine::LookupPayload& p, uint32_t mask, Row& out);
  void commit_until(const machine::Trace& t, const Marks& marks, uint32_t stores, uint32_t atoms);
  void commit(const machine::Trace& t, const Marks& marks);

  static constexpr bool kForgets = requires(D & d) { d.forget_facts(); };
  std::vector<uint32_t>::const_iterator next_store_, next_atom_;
  D& domain_;
  Store<D>& store_;
  std::deque<Row> rows_;
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

template <class D>
void TraceEval<D>::run(const machine::Trace& t, const Marks& marks, bool last) {
  slot_ = marks.slot.data();
  rows_.resize(marks.slots);
  next_store_ = marks.stores.begin();
  next_atom_ = marks.atoms.begin();
  // A load at a symbolic address reads the store: it must not see what this launch writes.
  const bool early = t.lookups.empty();
  if constexpr (kForgets)
    if (last) domain_.keep_facts();
  auto end = t.ctas.begin();
  DeadlineCheck late;
  for (const machine::NodeId id : marks.live) {
    for (; early && end != t.ctas.end() && end->nodes <= id; ++end) {
      commit_until(t, marks, end->stores, end->atoms);
      if constexpr (kForgets)
        if (last) domain_.forget_facts();
    }
    late();
    eval(t, t.nodes[id], id, marks.lanes[id], rows_[slot_[id]]);
  }
  commit(t, marks);
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
      if (arity >= 4) {
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
        D::copy_lane(value(p.node[static_cast<size_t>(l)]), p.lane[static_cast<size_t>(l)], out, l);
      }
      break;
    }
    case NodeKind::Perm: {
      const auto& lanes = t.perms[n.b];
      const Row& from = value(n.a);
      domain_.clear(out);
      for (uint32_t m = mask; m != 0; m &= m - 1) {
        const int l = __builtin_ctz(m);
        D::copy_lane(from, lanes[static_cast<size_t>(l)], out, l);
      }
      break;
    }
    case NodeKind::Bcast:
      domain_.broadcast(value(n.a), static_cast<int>(n.b), out);
      break;
    case NodeKind::Blend: {
      if ((mask & ~n.c) != 0)
        out = value(n.b);
      else
        domain_.clear(out);
      for (uint32_t m = mask & n.c; m != 0; m &= m - 1) {
        const int l = __builtin_ctz(m);
        D::copy_lane(value(n.a), l, out, l);
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
  for (; next_store_ != marks.stores.end() && *next_store_ < stores; ++next_store_) {
    const machine::StoreOut& s = t.stores[*next_store_];
    store_.store(s.buffer, s.element, domain_.cell(value(s.node), s.lane, s.type));
  }
  for (; next_atom_ != marks.atoms.end() && *next_atom_ < atoms; ++next_atom_) {
    const machine::AtomOut& a = t.atoms[*next_atom_];
    const auto old = store_.load1(a.buffer, a.element);
    const auto add = domain_.cell(value(a.node), a.lane, a.type);
    store_.store(a.buffer, a.element, domain_.combine(atomic_fn(a.kind, a.type), a.type, old, add));
  }
}

// In the order of the CTAs: a plain store of one CTA and atomics of another do not commute.
template <class D>
void TraceEval<D>::commit(const machine::Trace& t, const Marks& marks) {
  for (const machine::CtaEnd& end : t.ctas) commit_until(t, marks, end.stores, end.atoms);
  commit_until(t, marks, 0xffffffffu, 0xffffffffu);
  for (uint32_t k : marks.indexed) {
    const machine::IndexedOut& x = t.indexed[k];
    domain_.scatter(store_, x, value(x.index), value(x.value),
                    x.pred == machine::kNoNode ? nullptr : &value(x.pred));
  }
}

}  // namespace assay::term
