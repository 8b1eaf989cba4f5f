// The trace domain: arithmetic, comparisons, moves, warp operations on data.
#include <algorithm>
#include <cstring>
#include <limits>

#include "machine/disjoint_bits.h"
#include "machine/tracer.h"

namespace assay::machine {
namespace {

bool is_int_fn(const MicroOp& op) {
  FnClass c = info(op.fn).cls;
  return c == FnClass::I || op.fn == Fn::CvtII || op.fn == Fn::CvtFI || op.fn == Fn::Bits;
}

Ty operand_type(const MicroOp& op, size_t i) {
  switch (op.fn) {
    case Fn::CvtFF:
    case Fn::CvtIF:
    case Fn::CvtFI:
    case Fn::CvtII:
      return op.mods.type2;
    case Fn::Shl:
    case Fn::Shr:
      return i == 1 ? Ty::U32 : op.type;
    case Fn::Bfe:
      return i >= 1 ? Ty::U32 : op.type;
    case Fn::Bfi:
      return i >= 2 ? Ty::U32 : op.type;
    case Fn::Ldexp:
      return i == 1 ? Ty::S32 : op.type;
    default:
      return op.type;
  }
}

}  // namespace

uint32_t Tracer::new_op_id(const MicroOp& op) {
  Op o;
  o.fn = op.fn;
  o.type = op.type;
  o.mods = op.mods;
  o.pc = op.pc;
  return b_.intern(o);
}

// What can be said of a micro-operation once and for all about the two ways that most take.
Tracer::Quick Tracer::quick_way(const MicroOp& op) const {
  if (op.kind == OpKind::Alu) {
    bool plain = info(op.fn).cls == FnClass::R && op.fn != Fn::Ldexp && op.dst && op.num_src <= 3;
    for (size_t i = 0; i < op.num_src; ++i) plain = plain && op.src[i] && tainted(op.src[i]);
    return plain ? Quick::FloatNodes : Quick::None;
  }
  if (op.kind != OpKind::Ld || observer_ || !op.num_src || !op.src[0] ||
      (op.space != Space::Global && op.space != Space::Generic))
    return Quick::None;
  for (uint32_t k = 0; k < op.vec; ++k) {
    const RegRef d = k_.vecs[op.vecs + k];
    if (d && bits(k_.regs[d.id].type) != bits(op.type)) return Quick::None;
  }
  return Quick::LoadLane;
}

bool Tracer::all_known(Warp& w, const MicroOp& op, uint32_t mask) {
  for (size_t i = 0; i < op.num_src; ++i) {
    if (!known(w, op.src[i], mask)) return false;
  }
  return true;
}

bool Tracer::run(Cta& cta, Warp& w, const MicroOp& op, uint32_t mask) {
  switch (op.kind) {
    case OpKind::Nop:
    case OpKind::Fence:
      return true;
    case OpKind::Alu:
      return alu(w, op, mask);
    case OpKind::Mad:
      return mad(w, op, mask);
    case OpKind::Mov:
    case OpKind::PMov:
      return mov(w, op, mask);
    case OpKind::Setp:
      return setp(w, op, mask);
    case OpKind::PLogic:
      return plogic(w, op, mask);
    case OpKind::Selp:
      return selp(w, op, mask);
    case OpKind::Pack:
      return pack(w, op, mask);
    case OpKind::Unpack:
      return unpack(w, op, mask);
    case OpKind::Ld:
      return load(cta, w, op, mask);
    case OpKind::St:
      return store(cta, w, op, mask);
    case OpKind::Atom:
      return atomic(cta, w, op, mask);
    case OpKind::Clock:
      assign(w, op.dst, mask, b_.undef(op.wide_dst ? Ty::B64 : Ty::B32, UndefReason::Clock));
      return true;
    case OpKind::LdSym: {
      const SymbolicParam& s = k_.symbolic[static_cast<size_t>(op.imm)];
      InputPayload in;
      in.buffer = s.buffer;
      in.first = s.element;
      const BufferEnv* e = buffer_env(s.buffer);
      in.type = e ? e->type : op.type;
      in.version = e ? e->version : 0;
      assign(w, op.dst, mask, b_.convert(b_.input(std::move(in)), op.type));
      return true;
    }
    case OpKind::Shfl:
      return shfl(w, op, mask);
    case OpKind::Vote:
      return vote(w, op, mask);
    case OpKind::Redux:
      return redux(w, op, mask);
    case OpKind::Carry:
    case OpKind::LaneMask:
    case OpKind::IsSpace:
    case OpKind::Match:
    case OpKind::Elect:
      if (!all_known(w, op, mask) ||
          (op.kind == OpKind::Carry && op.reads_carry && !known(w, k_.carry, mask))) {
        return fail_here(op, DiagKind::Unsupported, "this instruction on symbolic data");
      }
      return bits_under_condition(w, op, mask);
    default:
      return fail_here(op, DiagKind::Internal, "unexpected micro-operation");
  }
}

// A concrete operation: bits, and the old value where the condition fails.
bool Tracer::bits_under_condition(Warp& w, const MicroOp& op, uint32_t mask) {
  bool all = mask == w.alive;
  std::vector<RegRef> dsts;
  for (RegRef d : {op.dst, op.dst2}) {
    if (d) dsts.push_back(d);
  }
  if (op.kind == OpKind::Unpack) {
    for (uint32_t i = 0; i < op.vec; ++i) {
      if (k_.vecs[op.vecs + i]) dsts.push_back(k_.vecs[op.vecs + i]);
    }
  }
  if (op.kind == OpKind::Carry && op.writes_carry) dsts.push_back(k_.carry);
  std::vector<NodeId> olds;
  if (guard_ != kNoNode) {
    for (RegRef d : dsts) {
      RegState& st = state(w, d);
      bool fresh = (mask & (st.conc | st.nmask)) == 0;
      olds.push_back(fresh ? kNoNode : fetch_raw(w, d, mask));
    }
  }
  bits_execute(w, k_, op, mask, all);
  for (RegRef d : dsts) {
    if (tainted(d)) assign_bits(w, d, mask);
  }
  for (size_t i = 0; i < olds.size(); ++i) {
    if (olds[i] == kNoNode) continue;
    Ty t = k_.regs[dsts[i].id].type;
    if (bits(b_.type_of(olds[i])) == bits(t)) t = b_.type_of(olds[i]);
    NodeId now = const_node(w, dsts[i], t, mask);
    NodeId both = b_.select(guard_, now, olds[i], op.pc);
    if (both != now) assign_plain(w, dsts[i], mask, both);
  }
  return true;
}

// Arithmetic on nodes that are of its type. False: nothing is done.
bool Tracer::float_nodes(Warp& w, const MicroOp& op, uint32_t op_at, uint32_t mask) {
  const RegState* states = states_[w.id].data();
  NodeId x[3] = {};
  uint32_t known_lanes = mask;
  for (size_t i = 0; i < op.num_src; ++i) {
    const RegState& s = states[op.src[i].id];
    if ((mask & ~s.nmask) != 0 || b_.type_of(s.node) != op.type) return false;
    known_lanes &= s.conc;
    x[i] = s.node;
  }
  if (known_lanes == mask) return false;
  assign_plain(w, op.dst, mask, b_.raw(op_id_at(op, op_at), x[0], x[1], x[2]));
  return true;
}

bool Tracer::alu(Warp& w, const MicroOp& op, uint32_t mask) {
  bool concrete = all_known(w, op, mask);
  if (concrete && is_int_fn(op)) return bits_under_condition(w, op, mask);
  NodeId n = alu_node(w, op, mask);
  if (n == kNoNode) return false;
  if (concrete && guard_ == kNoNode) {
    bits_alu(w, op, mask, mask == w.alive);
    assign_both(w, op.dst, mask, n);
  } else {
    assign(w, op.dst, mask, n);
  }
  return true;
}

NodeId Tracer::alu_node(Warp& w, const MicroOp& op, uint32_t mask) {
  if (op.fn == Fn::And || op.fn == Fn::Or || op.fn == Fn::Xor) {
    if (NodeId n = int_on_float(w, op, mask)) return n;
  }
  if (op.fn == Fn::Prmt) {
    if (NodeId n = permute_node(w, op, mask)) return n;
  }
  NodeId x[4] = {};
  for (size_t i = 0; i < op.num_src; ++i) {
    x[i] = fetch(w, op.src[i], operand_type(op, i), mask);
  }
  // 32 row | lane: an address stays a sum.
  if ((op.fn == Fn::Or || op.fn == Fn::Xor) && !is_float(op.type) && bits(op.type) >= 16 &&
      disjoint_bits(b_, x[0], x[1])) {
    return b_.apply(Fn::IAdd,
                    bits(op.type) == 64   ? Ty::U64
                    : bits(op.type) == 32 ? Ty::U32
                                          : Ty::U16,
                    {}, op.pc, x[0], x[1]);
  }
  uint64_t amount = 0;
  if (op.fn == Fn::Shr && !is_signed(op.type) && b_.is_constant(x[1], &amount) &&
      amount == bits(op.type) / 2 && b_.is_fn(x[0], Fn::Pack)) {
    return b_.convert(b_.half(x[0], true), op.type);  // the high part, zero-extended
  }
  if (op.fn == Fn::Shl && b_.is_constant(x[1], &amount) && amount == bits(op.type) / 2) {
    Ty part = bits(op.type) == 64 ? Ty::B32 : bits(op.type) == 32 ? Ty::B16 : Ty::B8;
    if (bits(part) >= 16) {
      return b_.pack(b_.constant(part, 0), b_.convert(x[0], part), op.type, op.pc);
    }
  }
  if (op.fn == Fn::CvtII && !op.mods.sat) {
    Ty from = op.mods.type2;
    if (bits(op.type) <= bits(from)) return b_.convert(x[0], op.type);
    // Halves of a word that are zero-extended and so on stay recognisable.
    if (!is_signed(from)) return b_.convert(x[0], op.type);
  }
  // Saturation in words of the integers, which every domain knows: sums of 64 bits, then clamped.
  if (op.mods.sat && op.fn == Fn::CvtII) return clamp(x[0], op.mods.type2, op.type, op.pc);
  if (op.mods.sat && (op.fn == Fn::IAdd || op.fn == Fn::ISub)) {
    const bool s = is_signed(op.type);
    const NodeId sum = b_.apply(op.fn, Ty::S64, {}, op.pc, widen(x[0], s), widen(x[1], s));
    return clamp(sum, Ty::S64, op.type, op.pc);
  }
  if (op.fn == Fn::Bfi) {
    b_.trace.extra.push_back({x[2], x[3]});
    return b_.raw(op_id(op), x[0], x[1], static_cast<NodeId>(b_.trace.extra.size() - 1));
  }
  return b_.raw(op_id(op), x[0], x[1], x[2]);
}

// The nearest number of type `to`; bounds that type `from` has anyway are left out.
NodeId Tracer::clamp(NodeId n, Ty from, Ty to, uint32_t pc) {
  const auto high = [](Ty t) { return ~uint64_t{0} >> (64 - bits(t) + (is_signed(t) ? 1 : 0)); };
  const auto low = [](Ty t) {
    return is_signed(t) ? std::numeric_limits<int64_t>::min() >> (64 - bits(t)) : int64_t{0};
  };
  if (high(to) < high(from)) {
    n = b_.apply(Fn::IMin, from, {}, pc, n, b_.constant(from, high(to)));
  }
  if (low(to) > low(from)) {
    const uint64_t all = ~uint64_t{0} >> (64 - bits(from));
    n = b_.apply(Fn::IMax, from, {}, pc, n,
                 b_.constant(from, static_cast<uint64_t>(low(to)) & all));
  }
  Mods m;
  m.type2 = from;
  return from == to ? n : b_.apply(Fn::CvtII, to, m, pc, n);
}

// Sign bit games on floats: and 0x7fffffff is abs, xor 0x80000000 is neg.
NodeId Tracer::int_on_float(Warp& w, const MicroOp& op, uint32_t mask) {
  for (size_t i = 0; i < 2; ++i) {
    RegRef data = op.src[i], con = op.src[1 - i];
    if (!tainted(data) || !known(w, con, mask)) continue;
    RegState& s = state(w, data);
    if ((mask & ~s.nmask) != 0 || s.node == kNoNode) continue;
    Ty t = b_.type_of(s.node);
    NodeId c = fetch(w, con, op.type, mask);
    uint64_t v = 0;
    if (!b_.is_constant(c, &v)) continue;
    uint32_t n = bits(op.type);
    uint64_t sign = uint64_t{1} << (n - 1);
    uint64_t full = n == 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1;
    // The low half of a packed pair.
    if (op.fn == Fn::And && n == 32 && v == 0xffff && b_.is_fn(s.node, Fn::Pack)) {
      return b_.convert(b_.half(s.node, false), op.type);
    }
    if (!is_float(t) || bits(t) != n) continue;
    NodeId x = s.node;
    if (op.fn == Fn::And && v == (full & ~sign)) return b_.apply(Fn::Abs, t, {}, op.pc, x);
    if (op.fn == Fn::Xor && v == sign) return b_.apply(Fn::Neg, t, {}, op.pc, x);
    if (op.fn == Fn::Or && v == sign) {
      return b_.apply(Fn::Neg, t, {}, op.pc, b_.apply(Fn::Abs, t, {}, op.pc, x));
    }
  }
  return kNoNode;
}

// prmt with a constant selector that moves whole halves.
NodeId Tracer::permute_node(Warp& w, const MicroOp& op, uint32_t mask) {
  if (op.mods.imm != 0 || !known(w, op.src[2], mask)) return kNoNode;
  uint64_t sel = 0;
  if (!b_.is_constant(fetch(w, op.src[2], Ty::U32, mask), &sel)) return kNoNode;
  NodeId out[2];
  NodeId whole[2] = {fetch(w, op.src[0], Ty::B32, mask), fetch(w, op.src[1], Ty::B32, mask)};
  for (uint32_t h = 0; h < 2; ++h) {
    uint32_t lo = (sel >> (8 * h)) & 0xf, hi = (sel >> (8 * h + 4)) & 0xf;
    if ((lo & 1) || hi != lo + 1 || lo > 6) return kNoNode;
    out[h] = b_.half(whole[lo / 4], (lo & 2) != 0);
  }
  return b_.pack(out[0], out[1], Ty::B32, op.pc);
}

bool Tracer::mad(Warp& w, const MicroOp& op, uint32_t mask) {
  if (all_known(w, op, mask)) return bits_under_condition(w, op, mask);
  NodeId a = fetch(w, op.src[0], op.type, mask), b = fetch(w, op.src[1], op.type, mask);
  NodeId p = b_.apply(op.fn, op.type, op.mods, op.pc, a, b);
  Ty sum = b_.type_of(p);
  NodeId c = fetch(w, op.src[2], sum, mask);
  assign(w, op.dst, mask, b_.apply(Fn::IAdd, sum, {}, op.pc, p, c));
  return true;
}

bool Tracer::mov(Warp& w, const MicroOp& op, uint32_t mask) {
  if (!tainted(op.src[0])) return bits_under_condition(w, op, mask);
  RegState src = state(w, op.src[0]);
  uint32_t by_node = mask & src.nmask;
  uint32_t by_bits = mask & ~src.nmask & src.conc;
  if (guard_ != kNoNode) {
    if (!by_node) return bits_under_condition(w, op, mask);
    assign(w, op.dst, mask, fetch_raw(w, op.src[0], mask));
    return true;
  }
  bool all = mask == w.alive;
  if (src.conc & mask) bits_execute(w, k_, op, mask, all);
  if (all) {
    state(w, op.dst) = src;
    return true;
  }
  if (by_node) assign(w, op.dst, by_node, src.node);
  if (by_bits) assign_bits(w, op.dst, by_bits);
  state(w, op.dst).conc |= src.conc & mask;
  return true;
}

bool Tracer::setp(Warp& w, const MicroOp& op, uint32_t mask) {
  if (all_known(w, op, mask)) return bits_under_condition(w, op, mask);
  NodeId t;
  if (known(w, op.src[0], mask) && known(w, op.src[1], mask)) {
    MicroOp plain = op;
    plain.combine = 0;
    plain.dst2 = {};
    uint32_t saved = *w.reg(op.dst ? op.dst : op.dst2);
    plain.dst = op.dst ? op.dst : op.dst2;
    bits_setp(w, plain, ~0u);
    uint32_t r = *w.reg(plain.dst);
    *w.reg(plain.dst) = saved;
    std::array<uint64_t, kLanes> v;
    uint32_t fill = (r >> std::countr_zero(mask)) & 1;
    for (uint32_t l = 0; l < kLanes; ++l) v[l] = (mask >> l) & 1 ? (r >> l) & 1 : fill;
    t = b_.const_vec(Ty::Pred, v);
  } else {
    NodeId a = fetch(w, op.src[0], op.type, mask), b = fetch(w, op.src[1], op.type, mask);
    t = b_.raw(op_id(op), a, b);
  }
  NodeId u = op.dst2 ? b_.lnot(t) : kNoNode;
  if (op.combine) {
    NodeId c = fetch_pred(w, op.src[2], mask);
    auto join = [&](NodeId x) {
      if (op.combine == 1) return b_.land(x, c);
      if (op.combine == 2) return b_.lor(x, c);
      return b_.apply(Fn::PXor, Ty::Pred, {}, op.pc, x, c);
    };
    t = join(t);
    if (op.dst2) u = join(u);
  }
  if (op.dst) assign(w, op.dst, mask, t);
  if (op.dst2) assign(w, op.dst2, mask, u);
  return true;
}

bool Tracer::plogic(Warp& w, const MicroOp& op, uint32_t mask) {
  if (all_known(w, op, mask)) return bits_under_condition(w, op, mask);
  NodeId a = fetch_pred(w, op.src[0], mask);
  NodeId r = kNoNode;
  if (op.fn == Fn::PNot) {
    r = b_.lnot(a);
  } else {
    NodeId b = fetch_pred(w, op.src[1], mask);
    r = op.fn == Fn::PAnd  ? b_.land(a, b)
        : op.fn == Fn::POr ? b_.lor(a, b)
                           : b_.apply(Fn::PXor, Ty::Pred, {}, op.pc, a, b);
  }
  assign(w, op.dst, mask, r);
  return true;
}

bool Tracer::selp(Warp& w, const MicroOp& op, uint32_t mask) {
  bool known_pred = known(w, op.src[2], mask);
  if (known_pred && known(w, op.src[0], mask) && known(w, op.src[1], mask)) {
    bool nodes = false;  // float values computed from constants keep their nodes
    for (size_t i = 0; i < 2; ++i) {
      nodes = nodes || (tainted(op.src[i]) && (state(w, op.src[i]).nmask & mask));
    }
    if (!nodes || guard_ != kNoNode) return bits_under_condition(w, op, mask);
  }
  if (known_pred) {
    uint32_t p = *w.reg(op.src[2]) & mask;
    NodeId a = p ? fetch_raw(w, op.src[0], p) : kNoNode;
    NodeId b = p != mask ? fetch_raw(w, op.src[1], mask & ~p) : kNoNode;
    bool both = known(w, op.src[0], p) && known(w, op.src[1], mask & ~p);
    NodeId n = !p ? b : p == mask ? a : kNoNode;
    if (n == kNoNode) {
      bool flip = !is_float(b_.type_of(a)) && is_float(b_.type_of(b));
      n = flip ? b_.blend(~p, b, a) : b_.blend(p, a, b);
    }
    if (both && guard_ == kNoNode) {
      bits_selp(w, op, mask, mask == w.alive);
      assign_both(w, op.dst, mask, n);
    } else {
      assign(w, op.dst, mask, n);
    }
    return true;
  }
  NodeId c = fetch_pred(w, op.src[2], mask);
  NodeId a = fetch_raw(w, op.src[0], mask), b = fetch_raw(w, op.src[1], mask);
  if (is_float(op.type)) {
    a = b_.convert(a, op.type);
    b = b_.convert(b, op.type);
  }
  assign(w, op.dst, mask, b_.select(c, a, b, op.pc));
  return true;
}

bool Tracer::pack(Warp& w, const MicroOp& op, uint32_t mask) {
  bool concrete = true;
  for (uint32_t i = 0; i < op.vec; ++i) concrete = concrete && known(w, k_.vecs[op.vecs + i], mask);
  if (concrete) return bits_under_condition(w, op, mask);
  std::vector<NodeId> part;
  for (uint32_t i = 0; i < op.vec; ++i) {
    NodeId n = fetch_raw(w, k_.vecs[op.vecs + i], mask);
    part.push_back(bits(b_.type_of(n)) == bits(op.type) ? n : b_.convert(n, op.type));
  }
  while (part.size() > 1) {
    std::vector<NodeId> next;
    for (size_t i = 0; i + 1 < part.size(); i += 2) {
      uint32_t n = 2 * bits(b_.type_of(part[i]));
      next.push_back(b_.pack(part[i], part[i + 1],
                             n == 64   ? Ty::B64
                             : n == 32 ? Ty::B32
                                       : Ty::B16,
                             op.pc));
    }
    part = std::move(next);
  }
  assign(w, op.dst, mask, part[0]);
  return true;
}

bool Tracer::unpack(Warp& w, const MicroOp& op, uint32_t mask) {
  if (known(w, op.src[0], mask)) return bits_under_condition(w, op, mask);
  std::vector<NodeId> part{fetch_raw(w, op.src[0], mask)};
  while (part.size() < op.vec) {
    std::vector<NodeId> next;
    for (NodeId n : part) {
      next.push_back(b_.half(n, false));
      next.push_back(b_.half(n, true));
    }
    part = std::move(next);
  }
  for (uint32_t i = 0; i < op.vec; ++i) {
    if (k_.vecs[op.vecs + i]) assign(w, k_.vecs[op.vecs + i], mask, part[i]);
  }
  return true;
}

bool Tracer::shfl(Warp& w, const MicroOp& op, uint32_t mask) {
  if (!known(w, op.src[1], mask) || !known(w, op.src[2], mask) || !known(w, op.src[3], mask)) {
    return fail_here(op, DiagKind::Unsupported, "shuffle with a data-dependent lane");
  }
  if (path_ != kNoNode || guard_ != kNoNode) {
    return fail_here(op, DiagKind::Unsupported, "shuffle under a data-dependent condition");
  }
  // Which lane each lane reads, and dst2, by the bits.
  MicroOp lanes_only = op;
  lanes_only.dst = {};
  uint8_t from[32];
  bits_shfl(w, lanes_only, mask, false, from);
  if (op.dst2 && tainted(op.dst2)) assign_bits(w, op.dst2, mask);
  if (!op.dst) return true;
  uint32_t dead = 0;
  LaneMap map;
  uint32_t sources = 0;
  for (uint32_t l = 0; l < 32; ++l) {
    map[l] = static_cast<uint8_t>(l);
    if (!((mask >> l) & 1)) continue;
    if ((mask >> from[l]) & 1) {
      map[l] = from[l];
      sources |= 1u << from[l];
    } else {
      dead |= 1u << l;
    }
  }
  RegState* s = tainted(op.src[0]) ? &state(w, op.src[0]) : nullptr;
  if (!dead && (!s || ((sources & ~s->conc) == 0 && !(sources & s->nmask)))) {
    bits_shfl(w, op, mask, mask == w.alive);
    if (tainted(op.dst)) assign_bits(w, op.dst, mask);
    return true;
  }
  bool both = !dead && (!s || (sources & ~s->conc) == 0);
  NodeId n =
      sources ? fetch_raw(w, op.src[0], sources) : b_.undef(Ty::B32, UndefReason::InactiveLane);
  NodeId r = b_.perm(n, map);
  if (dead) r = b_.blend(~dead, r, b_.undef(b_.type_of(r), UndefReason::InactiveLane));
  if (both) {
    bits_shfl(w, op, mask, mask == w.alive);
    assign_both(w, op.dst, mask, r);
  } else {
    assign(w, op.dst, mask, r);
  }
  return true;
}

// any, all: a tree over the lanes; the other modes have no value that a node could hold.
bool Tracer::vote(Warp& w, const MicroOp& op, uint32_t mask) {
  if (path_ != kNoNode || guard_ != kNoNode) {
    return fail_here(op, DiagKind::Unsupported, "vote under a data-dependent condition");
  }
  if (all_known(w, op, mask)) return bits_under_condition(w, op, mask);
  auto mode = static_cast<VoteMode>(op.mode);
  if (!known(w, op.src[1], mask) || mode == VoteMode::Uni || mode == VoteMode::Ballot) {
    return fail_here(op, DiagKind::Unsupported, "vote on symbolic data");
  }
  uint32_t members = mask & w.reg(op.src[1])[std::countr_zero(mask)];
  bool any = mode == VoteMode::Any;
  NodeId x = b_.blend(members, fetch_pred(w, op.src[0], members), b_.pred_const(!any));
  for (uint8_t step = 16; step; step /= 2) {
    LaneMap map;
    for (uint8_t l = 0; l < 32; ++l) map[l] = l ^ step;
    NodeId y = b_.perm(x, map);
    x = any ? b_.lor(x, y) : b_.land(x, y);
  }
  assign(w, op.dst, mask, x);
  return true;
}

bool Tracer::redux(Warp& w, const MicroOp& op, uint32_t mask) {
  if (path_ != kNoNode || guard_ != kNoNode) {
    return fail_here(op, DiagKind::Unsupported, "reduction under a data-dependent condition");
  }
  if (all_known(w, op, mask)) return bits_under_condition(w, op, mask);
  Fn fn = Fn::IAdd;
  uint64_t unit = 0;
  bool s = is_signed(op.type);
  switch (static_cast<AtomFn>(op.mode)) {
    case AtomFn::Min:
      fn = Fn::IMin;
      unit = s ? 0x7fffffff : 0xffffffff;
      break;
    case AtomFn::Max:
      fn = Fn::IMax;
      unit = s ? 0x80000000 : 0;
      break;
    case AtomFn::And:
      fn = Fn::And;
      unit = 0xffffffff;
      break;
    case AtomFn::Or:
      fn = Fn::Or;
      break;
    case AtomFn::Xor:
      fn = Fn::Xor;
      break;
    default:
      break;
  }
  uint32_t members = mask & w.reg(op.src[1])[std::countr_zero(mask)];
  NodeId x = b_.blend(members, fetch(w, op.src[0], op.type, members), b_.constant(op.type, unit));
  for (uint8_t step = 16; step; step /= 2) {
    LaneMap map;
    for (uint8_t l = 0; l < 32; ++l) map[l] = l ^ step;
    x = b_.apply(fn, op.type, {}, op.pc, x, b_.perm(x, map));
  }
  assign(w, op.dst, mask, x);
  return true;
}

}  // namespace assay::machine
