// Nodes that see the same bits as another type: halves, packed halves, conversions.
#include <tuple>

#include "machine/trace_builder.h"

namespace assay::machine {
namespace {

Ty int_of(Ty t) {
  switch (bits(t)) {
    case 8:
      return Ty::U8;
    case 16:
      return Ty::U16;
    case 32:
      return Ty::U32;
    default:
      return Ty::U64;
  }
}
Ty half_int(Ty t) { return bits(t) == 64 ? Ty::B32 : bits(t) == 32 ? Ty::B16 : Ty::B8; }

}  // namespace

NodeId TraceBuilder::half(NodeId n, bool high) {
  if (is_fn(n, Fn::Pack)) return high ? trace.nodes[n].b : trace.nodes[n].a;
  Ty t = type_of(n);
  Ty part = half_int(t);
  uint64_t v = 0;
  uint32_t w = bits(part);
  if (is_constant(n, &v)) {
    return constant(part, (high ? v >> w : v) & ((uint64_t{1} << w) - 1));
  }
  if (is(n, NodeKind::ConstVec)) {
    std::array<uint64_t, kLanes> x = trace.const_vecs[trace.nodes[n].a];
    for (uint64_t& y : x) y = (high ? y >> w : y) & ((uint64_t{1} << w) - 1);
    return const_vec(part, x);
  }
  if (is_undef(n)) return undef(part, static_cast<UndefReason>(trace.nodes[n].b));
  if (is_fn(n, Fn::Bits)) return half(trace.nodes[n].a, high);
  if (is_fn(n, Fn::CvtII) && bits(op_of(n).mods.type2) <= w && !is_signed(op_of(n).mods.type2)) {
    if (high) return constant(part, 0);
    return convert(trace.nodes[n].a, part);
  }
  Fn fn = high ? Fn::UnpackHi : Fn::UnpackLo;
  if (auto it = unary_.find({n, static_cast<uint64_t>(fn), 0}); it != unary_.end())
    return it->second;
  NodeId made = moved_half(n, high);
  if (made == kNoNode) {
    Mods m;
    m.type2 = t;
    made = apply(fn, part, m, 0, n);
  }
  unary_[{n, static_cast<uint64_t>(fn), 0}] = made;
  return made;
}

// The half of words that were packed of floats before lanes moved: these floats, moved alike.
NodeId TraceBuilder::moved_half(NodeId n, bool high) {
  std::array<NodeId, kLanes> from;
  LaneMap lane;
  Ty type = Ty::None;
  for (uint8_t l = 0; l < kLanes; ++l) {
    std::tie(from[l], lane[l]) = origin(n, l);
    uint64_t same = 0;
    if (is_constant(from[l], &same) || is(from[l], NodeKind::ConstVec)) continue;
    if (!is_fn(from[l], Fn::Pack)) return kNoNode;
    const Node& pack = trace.nodes[from[l]];
    const Ty mine = type_of(high ? pack.b : pack.a);
    if (!is_float(mine) || (type != Ty::None && mine != type)) return kNoNode;
    type = mine;
  }
  if (type == Ty::None) return kNoNode;
  for (NodeId& source : from) source = convert(half(source, high), type);
  return gather(from, lane);
}

// Halves of values whose lanes moved alike (a shuffle moves a double by halves): the values, moved.
NodeId TraceBuilder::rejoined(NodeId lo, NodeId hi) {
  std::array<NodeId, kLanes> from;
  LaneMap lane;
  for (uint8_t l = 0; l < kLanes; ++l) {
    const auto [a, la] = origin(lo, l);
    if (!is_fn(a, Fn::UnpackLo)) return kNoNode;
    const auto [b, lb] = origin(hi, l);
    const NodeId whole = trace.nodes[a].a;
    if (la != lb || !is_fn(b, Fn::UnpackHi) || trace.nodes[b].a != whole) return kNoNode;
    if (l > 0 && type_of(whole) != type_of(from[0])) return kNoNode;
    from[l] = whole;
    lane[l] = la;
  }
  return gather(from, lane);
}

NodeId TraceBuilder::pack(NodeId lo, NodeId hi, Ty want, uint32_t pc) {
  if (is_fn(lo, Fn::UnpackLo) && is_fn(hi, Fn::UnpackHi) &&
      trace.nodes[lo].a == trace.nodes[hi].a) {
    return trace.nodes[lo].a;
  }
  uint64_t a = 0, b = 0;
  if (is_constant(lo, &a) && is_constant(hi, &b)) {
    return constant(want, a | b << bits(type_of(lo)));
  }
  if (const NodeId whole = rejoined(lo, hi); whole != kNoNode) return whole;
  return apply(Fn::Pack, want, {}, pc, lo, hi);
}

NodeId TraceBuilder::convert(NodeId n, Ty want) {
  Ty have = type_of(n);
  if (have == want || same_class(have, want)) return n;
  const Node& x = trace.nodes[n];
  uint64_t keep = bits(want) >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits(want)) - 1;
  switch (op_of(n).kind) {
    case NodeKind::ConstAll:
      return constant(want, trace.constants[x.a] & keep);
    case NodeKind::ConstVec: {
      std::array<uint64_t, kLanes> v = trace.const_vecs[x.a];
      for (uint64_t& y : v) y &= keep;
      return const_vec(want, v);
    }
    case NodeKind::Undef:
      return undef(want, static_cast<UndefReason>(x.b));
    default:
      break;
  }
  if (uint64_t v = 0; is_fn(n, Fn::Select) && !is_float(want) && want != Ty::Pred &&
                      is_constant(x.b, &v) && is_constant(x.c, &v)) {
    const Node choice = x;
    const NodeId a = convert(choice.b, want);
    return select(choice.a, a, convert(choice.c, want), op_of(n).pc);
  }
  if (bits(have) == bits(want)) {
    if (is_fn(n, Fn::Bits) && type_of(x.a) == want) return x.a;
    // A bfloat16 in the high half of a word is that number as a float.
    uint64_t zero = 1;
    if (want == Ty::F32 && is_fn(n, Fn::Pack) && is_constant(x.a, &zero) && zero == 0 &&
        bits(type_of(x.b)) == 16 && type_of(x.b) != Ty::F16) {
      Mods m;
      m.type2 = Ty::BF16;
      NodeId h = convert(x.b, Ty::BF16);
      return apply(Fn::CvtFF, Ty::F32, m, op_of(n).pc, h);
    }
    auto [it, fresh] = unary_.try_emplace(
        {n, static_cast<uint64_t>(Fn::Bits), static_cast<uint64_t>(want)}, kNoNode);
    if (fresh) {
      Mods m;
      m.type2 = have;
      it->second = apply(Fn::Bits, want, m, 0, n);
    }
    return it->second;
  }
  if (bits(have) > bits(want) && bits(have) == 2 * bits(want)) return convert(half(n, false), want);
  if (is_float(have)) return convert(convert(n, int_of(have)), want);
  if (is_float(want)) return convert(convert(n, int_of(want)), want);
  auto [it, fresh] = unary_.try_emplace(
      {n, static_cast<uint64_t>(Fn::CvtII), static_cast<uint64_t>(want)}, kNoNode);
  if (fresh) {
    Mods m;
    m.type2 = int_of(have);
    it->second = apply(Fn::CvtII, int_of(want), m, 0, n);
  }
  return it->second;
}

}  // namespace assay::machine
