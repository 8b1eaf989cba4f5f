#include "term/trace_eval.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace assay::term {

using machine::NodeId;
using machine::NodeKind;

Fn atomic_fn(machine::AtomKind kind, Ty type) {
  const bool fl = is_float(type);
  switch (kind) {
    case machine::AtomKind::Min:
      return fl ? Fn::Min : Fn::IMin;
    case machine::AtomKind::Max:
      return fl ? Fn::Max : Fn::IMax;
    case machine::AtomKind::And:
      return Fn::And;
    case machine::AtomKind::Or:
      return Fn::Or;
    case machine::AtomKind::Xor:
      return Fn::Xor;
    default:
      return fl ? Fn::Add : Fn::IAdd;
  }
}

// Backwards: a value takes its place at its last use and gives it back where it is made, but only
// after the operands of that node have theirs: no result lies over an operand.
void assign_places(const machine::Trace& t, Marks& m) {
  constexpr uint32_t kNone = 0;  // row 0 belongs to what is not marked
  m.slot.assign(t.nodes.size(), kNone);
  m.slots = 1;
  m.packed = 0;
  std::vector<uint32_t> rows, packed;  // free
  auto use = [&](NodeId id) {
    if (id == machine::kNoNode || m.slot[id] != kNone) return;
    const uint32_t lanes = m.live.lanes(id);
    if (lanes == 0) return;
    const bool one = (lanes & (lanes - 1)) == 0;
    auto& free = one ? packed : rows;
    if (free.empty()) free.push_back(one ? m.packed++ | Marks::kPacked : m.slots++);
    m.slot[id] = free.back();
    free.pop_back();
  };
  for (const machine::StoreRef ref : m.stores) use(t.stores[ref.entry].node);
  for (const uint32_t k : m.atoms) use(t.atoms[k].node);
  for (const uint32_t k : m.indexed)
    for (const NodeId id : {t.indexed[k].index, t.indexed[k].value, t.indexed[k].pred}) use(id);
  for (NodeId id = static_cast<NodeId>(t.nodes.size()); id-- > 1;) {
    const uint32_t lanes = m.live.lanes(id);
    if (lanes == 0) continue;
    for_uses(t, t.nodes[id], lanes, [&](NodeId arg, uint32_t mask) {
      if (mask != 0) use(arg);
    });
    const uint32_t slot = m.slot[id];
    ((slot & Marks::kPacked) != 0 ? packed : rows).push_back(slot);
  }
}

// From what is wanted to all that it needs.
static void complete(const machine::Trace& t, Marks& m) {
  m.live = LiveNodes(t.nodes.size());
  auto root = [&](NodeId node, uint32_t lanes) {
    if (node != machine::kNoNode) m.live.add(node, lanes);
  };
  for (const machine::StoreRef ref : m.stores) {
    const machine::StoreOut s = t.store(ref);
    root(s.node, 1u << s.lane);
  }
  for (uint32_t k : m.atoms) root(t.atoms[k].node, 1u << t.atoms[k].lane);
  for (uint32_t k : m.indexed) {
    const auto& x = t.indexed[k];
    root(x.index, x.mask);
    root(x.value, x.mask);
    root(x.pred, x.mask);
  }
  for (NodeId id = static_cast<NodeId>(t.nodes.size()); id-- > 1;) {
    const uint32_t lanes = m.live.lanes(id);
    if (lanes == 0) continue;
    for_uses(t, t.nodes[id], lanes, [&](NodeId arg, uint32_t mask) {
      if (arg != machine::kNoNode) m.live.add(arg, mask);
    });
  }
}

Marks mark(const machine::Trace& trace, const WantFn& wanted) {
  Marks m = mark_lanes(trace, wanted);
  assign_places(trace, m);
  return m;
}

Marks mark_lanes(const machine::Trace& t, const WantFn& wanted) {
  Marks m;
  for (uint32_t k = 0; k < t.stores.size(); ++k)
    for (uint32_t part = 0; part < t.stores[k].count; ++part)
      if (wanted(t.stores[k].buffer, t.store({k, part}).element)) m.stores.push_back({k, part});
  for (uint32_t k = 0; k < t.atoms.size(); ++k)
    if (wanted(t.atoms[k].buffer, t.atoms[k].element)) m.atoms.push_back(k);
  for (uint32_t k = 0; k < t.indexed.size(); ++k)
    if (wanted(t.indexed[k].buffer, -1)) m.indexed.push_back(k);  // any element of the buffer
  complete(t, m);
  return m;
}

Marks mark_same(const machine::Trace& t, const Marks& marks) {
  Marks m;
  m.stores = marks.stores;
  m.atoms = marks.atoms;
  m.indexed = marks.indexed;
  complete(t, m);
  assign_places(t, m);
  return m;
}

void marked_reads(const machine::Trace& t, const Marks& m, const ReadFn& read) {
  std::set<std::tuple<int, int64_t, int64_t>> ranges;
  for (const NodeId id : m.live) {
    const machine::Node& n = t.nodes[id];
    const NodeKind kind = t.ops[n.op].kind;
    if (kind == NodeKind::Input) {
      const auto& p = t.inputs[n.a];
      const uint32_t lanes = m.live.lanes(id);
      if (lanes == ~0u && p.elements.empty() && p.stride == 1 && p.first >= 0) {
        read(p.buffer, p.type, p.first, machine::kLanes);
        continue;
      }
      for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        const int l = __builtin_ctz(rest);
        const int64_t e =
            p.elements.empty() ? p.first + l * p.stride : p.elements[static_cast<size_t>(l)];
        if (e >= 0) read(p.buffer, p.type, e, 1);
      }
    } else if (kind == NodeKind::Lookup) {
      const auto& p = t.lookups[n.a];
      if (p.lo < p.hi && ranges.insert({p.buffer, p.lo, p.hi}).second)
        read(p.buffer, p.type, p.lo, p.hi - p.lo);
    }
  }
}

}  // namespace assay::term
