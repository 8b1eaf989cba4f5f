// The trace domain: atomics, and accesses at symbolic addresses.
#include <algorithm>

#include "machine/tracer.h"

namespace assay::machine {
namespace {

Fn atom_node_fn(AtomFn fn, bool fp) {
  switch (fn) {
    case AtomFn::Min:
      return fp ? Fn::Min : Fn::IMin;
    case AtomFn::Max:
      return fp ? Fn::Max : Fn::IMax;
    case AtomFn::And:
      return Fn::And;
    case AtomFn::Or:
      return Fn::Or;
    case AtomFn::Xor:
      return Fn::Xor;
    default:
      return fp ? Fn::Add : Fn::IAdd;
  }
}

}  // namespace

bool Tracer::atomic(Cta& cta, Warp& w, const MicroOp& op, uint32_t mask) {
  if (op.num_src && op.src[0] && !known(w, op.src[0], mask)) {
    return symbolic_store(cta, w, op, mask);
  }
  uint32_t n = bytes(op.type);
  auto fn = static_cast<AtomFn>(op.mode);
  NodeId cond = b_.land(path_, guard_);
  for (uint32_t todo = mask; todo;) {
    LaneAddrs a;
    uint32_t rest = 0;
    lane_addresses(w, op, todo, &a, &rest);
    uint32_t now = todo & ~rest;
    todo = rest;
    uint32_t ok = admit(cta, w, op, a, now, AccessKind::Atomic, n);
    if (op.dst && (now & ~ok)) {
      assign(w, op.dst, now & ~ok, b_.undef(op.type, UndefReason::OutOfBounds));
    }
    if (!ok) continue;
    if (!(a.space == Space::Global && !op.dst && fn != AtomFn::Cas && fn != AtomFn::Exch
              ? atomic_out(w, op, a, ok, cond)
              : atomic_cells(cta, w, op, a, ok, cond))) {
      return false;
    }
  }
  return true;
}

// An atomic on global memory whose result nothing uses: left to the checker, in any order.
bool Tracer::atomic_out(Warp& w, const MicroOp& op, const LaneAddrs& a, uint32_t mask,
                        NodeId cond) {
  auto fn = static_cast<AtomFn>(op.mode);
  NodeId v = fetch(w, op.src[1], op.type, mask);
  if (cond != kNoNode) {  // where the condition fails, the neutral element
    uint64_t unit = 0;
    uint32_t n = bits(op.type);
    uint64_t ones = n == 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1;
    bool s = is_signed(op.type);
    switch (fn) {
      case AtomFn::Min:
        unit = s ? ones >> 1 : ones;
        break;
      case AtomFn::Max:
        unit = s ? uint64_t{1} << (n - 1) : 0;
        break;
      case AtomFn::And:
        unit = ones;
        break;
      case AtomFn::Add:
      case AtomFn::Or:
      case AtomFn::Xor:
        break;
      default:
        return fail_here(op, DiagKind::Unsupported, "this atomic under a data-dependent condition");
    }
    if (is_float(op.type) && fn != AtomFn::Add) {
      return fail_here(op, DiagKind::Unsupported, "this atomic under a data-dependent condition");
    }
    v = b_.select(cond, v, b_.constant(op.type, unit), op.pc);
  }
  for (uint32_t l = 0; l < 32; ++l) {
    if (!((mask >> l) & 1)) continue;
    const Device::Area* area = device_.find(a.addr[l]);
    AtomOut out;
    out.buffer = area->buffer;
    out.element = static_cast<int64_t>((a.addr[l] - area->base) / bytes(op.type));
    out.type = op.type;
    out.kind = static_cast<AtomKind>(fn);
    out.node = v;
    out.lane = static_cast<uint8_t>(l);
    out.pc = op.pc;
    b_.trace.atoms.push_back(out);
    atomic_words_.insert(a.addr[l] / 4);
  }
  return true;
}

// Executed on the cells, lane by lane in order: concrete where both sides are, else as nodes if the
// result is unused (the order of the lanes is one of those that a GPU may take).
bool Tracer::atomic_cells(Cta& cta, Warp& w, const MicroOp& op, const LaneAddrs& a, uint32_t mask,
                          NodeId cond) {
  Cells& cells = cells_of(cta, w, a.space);
  uint32_t n = bytes(op.type);
  auto fn = static_cast<AtomFn>(op.mode);
  bool b_known = known(w, op.src[1], mask);
  bool c_known = op.num_src < 3 || known(w, op.src[2], mask);
  NodeId value = kNoNode;
  LaneVal old[32];
  ++stamp_;
  if (a.space == Space::Global) global_dirty_ = true;
  for (uint32_t l = 0; l < 32; ++l) {
    if (!((mask >> l) & 1)) continue;
    if (a.space == Space::Global && atomic_words_.count(a.addr[l] / 4)) {
      return fail_here(op, DiagKind::Unsupported,
                       "result of an atomic on memory that other atomics change");
    }
    uint64_t at = cell_address(w, a, l, 0);
    old[l] = read_value(cells, a.space, at, n, a.space == Space::Local ? 128 : 4);
    LaneVal now;
    bool concrete = old[l].known && old[l].node == kNoNode && b_known && c_known;
    if (concrete && cond == kNoNode) {
      now.known = true;
      now.bits = atom_apply(fn, op.type, old[l].bits, lane_bits(w, op.src[1], l),
                            op.num_src > 2 ? lane_bits(w, op.src[2], l) : 0);
    } else {
      bool foldable = fn == AtomFn::Add || fn == AtomFn::Min || fn == AtomFn::Max ||
                      fn == AtomFn::And || fn == AtomFn::Or || fn == AtomFn::Xor ||
                      fn == AtomFn::Exch;
      if (op.dst || !foldable) {
        return fail_here(op, DiagKind::Unsupported,
                         "an atomic on symbolic data whose result is used");
      }
      if (value == kNoNode) value = fetch(w, op.src[1], op.type, mask);
      uint8_t lane = 0;
      NodeId before = b_.bcast(node_of(old[l], op.type, &lane), lane);
      NodeId mine = b_.bcast(value, static_cast<uint8_t>(l));
      NodeId after = fn == AtomFn::Exch ? mine
                                        : b_.apply(atom_node_fn(fn, is_float(op.type)), op.type, {},
                                                   op.pc, before, mine);
      if (cond != kNoNode) {
        after = b_.select(b_.bcast(cond, static_cast<uint8_t>(l)), after, before, op.pc);
      }
      now.node = after;
      now.lane = 0;
    }
    write_value(cells, a.space, at, n, now, op.pc, a.space == Space::Local ? 128 : 4);
  }
  if (op.dst) gather_lanes(w, op.dst, mask, old, k_.regs[op.dst.id].type, op.type);
  return true;
}

}  // namespace assay::machine
