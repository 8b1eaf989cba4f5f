#include "term/trace_eval.h"

#include <algorithm>

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

namespace {

// The row of a node is free again behind its last use, but not yet for the node that is that use:
// no result lies over an operand.
void assign_rows(const machine::Trace& t, std::vector<NodeId>& last_use, Marks& m) {
  m.slot.assign(t.nodes.size(), 0);
  std::vector<uint32_t> free;
  for (const NodeId id : m.live) {
    if (free.empty()) free.push_back(m.slots++);
    m.slot[id] = free.back();
    free.pop_back();
    for_operands(t, t.nodes[id], [&](NodeId arg) {
      if (arg == machine::kNoNode || last_use[arg] != id) return;
      free.push_back(m.slot[arg]);
      last_use[arg] = 0;  // an operand may stand twice
    });
  }
  m.slots = std::max(m.slots, 1u);
}

}  // namespace

Marks mark(const machine::Trace& t, const WantFn& wanted) {
  constexpr uint32_t kOutput = 0xffffffffu;
  Marks m;
  m.lanes.assign(t.nodes.size(), 0);
  std::vector<NodeId> last_use(t.nodes.size(), 0);
  auto root = [&](NodeId node, uint32_t lanes) {
    if (node == machine::kNoNode) return;
    m.lanes[node] |= lanes;
    last_use[node] = kOutput;
  };
  for (uint32_t k = 0; k < t.stores.size(); ++k) {
    const auto& s = t.stores[k];
    if (!wanted(s.buffer, s.element)) continue;
    m.stores.push_back(k);
    root(s.node, 1u << s.lane);
  }
  for (uint32_t k = 0; k < t.atoms.size(); ++k) {
    const auto& a = t.atoms[k];
    if (!wanted(a.buffer, a.element)) continue;
    m.atoms.push_back(k);
    root(a.node, 1u << a.lane);
  }
  for (uint32_t k = 0; k < t.indexed.size(); ++k) {
    const auto& x = t.indexed[k];
    if (!wanted(x.buffer, -1)) continue;  // any element of the buffer
    m.indexed.push_back(k);
    root(x.index, x.mask);
    root(x.value, x.mask);
    root(x.pred, x.mask);
  }
  for (NodeId id = static_cast<NodeId>(t.nodes.size()); id-- > 1;) {
    const uint32_t lanes = m.lanes[id];
    if (lanes == 0) continue;
    m.live.push_back(id);
    const machine::Node& n = t.nodes[id];
    auto use = [&](NodeId arg, uint32_t mask) {
      if (arg == machine::kNoNode || mask == 0) return;
      m.lanes[arg] |= mask;
      if (last_use[arg] == 0) last_use[arg] = id;
    };
    switch (t.ops[n.op].kind) {
      case NodeKind::Gather: {
        const auto& p = t.gathers[n.a];
        for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
          const auto l = static_cast<size_t>(__builtin_ctz(rest));
          use(p.node[l], 1u << p.lane[l]);
        }
        break;
      }
      case NodeKind::Perm: {
        const auto& p = t.perms[n.b];
        uint32_t from = 0;
        for (uint32_t rest = lanes; rest != 0; rest &= rest - 1)
          from |= 1u << p[static_cast<size_t>(__builtin_ctz(rest))];
        use(n.a, from);
        break;
      }
      case NodeKind::Bcast:
        use(n.a, 1u << n.b);
        break;
      case NodeKind::Blend:
        use(n.a, lanes & n.c);
        use(n.b, lanes & ~n.c);
        break;
      default:
        for_operands(t, n, [&](NodeId arg) { use(arg, lanes); });
        break;
    }
  }
  std::reverse(m.live.begin(), m.live.end());
  assign_rows(t, last_use, m);
  return m;
}

void marked_reads(const machine::Trace& t, const Marks& m, const ReadFn& read) {
  for (const NodeId id : m.live) {
    const machine::Node& n = t.nodes[id];
    const NodeKind kind = t.ops[n.op].kind;
    if (kind == NodeKind::Input) {
      const auto& p = t.inputs[n.a];
      for (uint32_t rest = m.lanes[id]; rest != 0; rest &= rest - 1) {
        const int l = __builtin_ctz(rest);
        const int64_t e =
            p.elements.empty() ? p.first + l * p.stride : p.elements[static_cast<size_t>(l)];
        if (e >= 0) read(p.buffer, p.type, e);
      }
    } else if (kind == NodeKind::Lookup) {
      const auto& p = t.lookups[n.a];
      for (int64_t e = p.lo; e < p.hi; ++e) read(p.buffer, p.type, e);
    }
  }
}

}  // namespace assay::term
