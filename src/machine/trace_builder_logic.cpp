// Nodes of predicate logic and selection, with peephole rules.
#include "machine/trace_builder.h"

namespace assay::machine {

NodeId TraceBuilder::lnot(NodeId a) {
  uint64_t v = 0;
  if (is_constant(a, &v)) return pred_const(!v);
  if (is_fn(a, Fn::PNot)) return trace.nodes[a].a;
  auto [it, fresh] = unary_.try_emplace({a, static_cast<uint64_t>(Fn::PNot), 0}, kNoNode);
  if (fresh) it->second = apply(Fn::PNot, Ty::Pred, {}, 0, a);
  return it->second;
}

NodeId TraceBuilder::land(NodeId a, NodeId b) {
  if (a == kNoNode || a == b) return b;
  if (b == kNoNode) return a;
  uint64_t v = 0;
  if (is_constant(a, &v)) return v ? b : a;
  if (is_constant(b, &v)) return v ? a : b;
  if (is_fn(b, Fn::PNot) && trace.nodes[b].a == a) return pred_const(false);
  if (is_fn(a, Fn::PNot) && trace.nodes[a].a == b) return pred_const(false);
  if (is_fn(a, Fn::PAnd) && (trace.nodes[a].a == b || trace.nodes[a].b == b)) return a;
  auto [it, fresh] = unary_.try_emplace({a, static_cast<uint64_t>(Fn::PAnd), b}, kNoNode);
  if (fresh) it->second = apply(Fn::PAnd, Ty::Pred, {}, 0, a, b);
  return it->second;
}

NodeId TraceBuilder::lor(NodeId a, NodeId b) {
  if (a == kNoNode || b == kNoNode) return kNoNode;
  if (a == b) return a;
  uint64_t v = 0;
  if (is_constant(a, &v)) return v ? a : b;
  if (is_constant(b, &v)) return v ? b : a;
  NodeId na = lnot(a), nb = lnot(b);
  if (na == b || nb == a) return pred_const(true);
  auto conj = [&](NodeId n, NodeId* x, NodeId* y) {
    if (!is_fn(n, Fn::PAnd)) return false;
    *x = trace.nodes[n].a;
    *y = trace.nodes[n].b;
    return true;
  };
  NodeId ax = kNoNode, ay = kNoNode, bx = kNoNode, by = kNoNode;
  bool ac = conj(a, &ax, &ay), bc = conj(b, &bx, &by);
  if (ac && bc && ax == bx && (ay == lnot(by))) return ax;  // (x and c) or (x and not c)
  if (bc && bx == na) return lor(a, by);                    // a or (not a and c)
  if (bc && by == na) return lor(a, bx);
  if (ac && ax == nb) return lor(b, ay);
  if (ac && ay == nb) return lor(b, ax);
  auto [it, fresh] = unary_.try_emplace({a, static_cast<uint64_t>(Fn::POr), b}, kNoNode);
  if (fresh) it->second = apply(Fn::POr, Ty::Pred, {}, 0, a, b);
  return it->second;
}

// cond ? a : b where cond compares just these two: a maximum or minimum.
NodeId TraceBuilder::make_minmax(NodeId cond, NodeId a, NodeId b, uint32_t pc) {
  const Op& o = op_of(cond);
  if (o.kind != NodeKind::Apply) return kNoNode;
  NodeId x = trace.nodes[cond].a, y = trace.nodes[cond].b;
  bool direct = x == a && y == b;   // x op y ? x : y
  bool swapped = x == b && y == a;  // x op y ? y : x
  if (!direct && !swapped) return kNoNode;
  bool more = o.fn == Fn::Gt || o.fn == Fn::Ge;
  bool less = o.fn == Fn::Lt || o.fn == Fn::Le;
  if ((!more && !less) || o.mods.ftz) return kNoNode;
  if (!same_class(type_of(a), o.type)) return kNoNode;
  bool is_max = more == direct;
  if (is_float(o.type)) {
    // Exact only for strict comparisons in the order of the operands: imm = 1, see Op.
    Mods m;
    bool strict = o.fn == Fn::Gt || o.fn == Fn::Lt;
    if (!strict || !direct) return kNoNode;
    m.imm = 1;
    return apply(is_max ? Fn::Max : Fn::Min, o.type, m, pc, a, b);
  }
  return apply(is_max ? Fn::IMax : Fn::IMin, o.type, {}, pc, a, b);
}

NodeId TraceBuilder::select(NodeId cond, NodeId a, NodeId b, uint32_t pc) {
  if (cond == kNoNode || a == b) return a;
  uint64_t v = 0, w = 0;
  if (is_constant(cond, &v)) return v ? a : b;
  if (is_fn(cond, Fn::PNot)) return select(trace.nodes[cond].a, b, a, pc);
  Ty t = type_of(a);
  // Constants and undefined values take the other side's type.
  if ((is(a, NodeKind::ConstAll) || is(a, NodeKind::ConstVec) || is_undef(a)) &&
      is_float(type_of(b)) && bits(type_of(b)) == bits(t)) {
    t = type_of(b);
    a = convert(a, t);
  } else {
    b = convert(b, t);
  }
  if (a == b) return a;
  if (t == Ty::Pred) {
    if (is_constant(a, &v) && is_constant(b, &w)) return v ? cond : lnot(cond);
    if (is_constant(a, &v)) return v ? lor(cond, b) : land(lnot(cond), b);
    if (is_constant(b, &v)) return v ? lor(lnot(cond), a) : land(cond, a);
  }
  // select(c, select(c, x, y), b) and select(c, a, select(c, x, y))
  if (is_fn(a, Fn::Select) && trace.nodes[a].a == cond) a = trace.nodes[a].b;
  if (is_fn(b, Fn::Select) && trace.nodes[b].a == cond) b = trace.nodes[b].c;
  if (a == b) return a;
  if (NodeId m = make_minmax(cond, a, b, pc)) return m;
  return apply(Fn::Select, t, {}, pc, cond, a, b);
}

}  // namespace assay::machine
