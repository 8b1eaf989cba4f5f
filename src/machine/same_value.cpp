#include "machine/same_value.h"

namespace assay::machine {
namespace {

struct Place {
  NodeId node = kNoNode;
  uint32_t lane = 0;
};

class Comparison {
 public:
  Comparison(const Trace& t, int budget) : t_(t), budget_(budget) {}

  bool same(Place p, Place q) {
    p = source(p);
    q = source(q);
    if (p.node == q.node && p.lane == q.lane) return true;
    if (p.node == kNoNode || q.node == kNoNode || --budget_ < 0) return false;
    const Node &m = t_.nodes[p.node], &n = t_.nodes[q.node];
    const Op &f = t_.ops[m.op], &g = t_.ops[n.op];
    uint64_t c = 0, d = 0;
    if (constant(p, &c) && constant(q, &d)) return f.type == g.type && c == d;
    if (f.kind != g.kind || f.fn != g.fn || f.type != g.type || !(f.mods == g.mods)) return false;
    switch (f.kind) {
      case NodeKind::Apply:
        return operands(f, m, p.lane, n, q.lane);
      case NodeKind::Input:
        return same_element(t_.inputs[m.a], p.lane, t_.inputs[n.a], q.lane);
      case NodeKind::Lookup: {
        const LookupPayload &u = t_.lookups[m.a], &v = t_.lookups[n.a];
        return u.buffer == v.buffer && u.version == v.version && u.type == v.type &&
               u.base[p.lane] == v.base[q.lane] && same({u.index, p.lane}, {v.index, q.lane});
      }
      default:
        return false;
    }
  }

 private:
  // Where a lane's value comes from, through moves between lanes.
  Place source(Place p) const {
    while (p.node != kNoNode) {
      const Node& n = t_.nodes[p.node];
      switch (t_.ops[n.op].kind) {
        case NodeKind::Gather:
          p = {t_.gathers[n.a].node[p.lane], t_.gathers[n.a].lane[p.lane]};
          break;
        case NodeKind::Bcast:
          p = {n.a, n.b};
          break;
        case NodeKind::Blend:
          p.node = (n.c >> p.lane & 1) != 0 ? n.a : n.b;
          break;
        case NodeKind::Perm:
          p = {n.a, t_.perms[n.b][p.lane]};
          break;
        default:
          return p;
      }
    }
    return p;
  }
  bool constant(Place p, uint64_t* bits) const {
    const Node& n = t_.nodes[p.node];
    const NodeKind kind = t_.ops[n.op].kind;
    if (kind == NodeKind::ConstAll) *bits = t_.constants[n.a];
    if (kind == NodeKind::ConstVec) *bits = t_.const_vecs[n.a][p.lane];
    return kind == NodeKind::ConstAll || kind == NodeKind::ConstVec;
  }
  bool operands(const Op& op, const Node& m, uint32_t x, const Node& n, uint32_t y) {
    const auto both = [&](NodeId a, NodeId b) {
      return (a == kNoNode && b == kNoNode) || same({a, x}, {b, y});
    };
    if (!both(m.a, n.a) || !both(m.b, n.b)) return false;
    if (op.fn != Fn::Bfi) return both(m.c, n.c);
    const auto &u = t_.extra[m.c], &v = t_.extra[n.c];
    return both(u[0], v[0]) && both(u[1], v[1]);
  }
  static int64_t element(const InputPayload& i, uint32_t lane) {
    return i.elements.empty() ? i.first + static_cast<int64_t>(lane) * i.stride : i.elements[lane];
  }
  static bool same_element(const InputPayload& u, uint32_t x, const InputPayload& v, uint32_t y) {
    const int64_t e = element(u, x);
    return u.buffer == v.buffer && u.version == v.version && u.type == v.type && e >= 0 &&
           e == element(v, y);
  }

  const Trace& t_;
  int budget_;
};

}  // namespace

bool same_value(const Trace& t, NodeId a, uint32_t x, NodeId b, uint32_t y, int budget) {
  return Comparison(t, budget).same({a, x}, {b, y});
}

}  // namespace assay::machine
