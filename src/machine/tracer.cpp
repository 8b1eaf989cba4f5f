// The trace domain: registers, and the run.
#include "machine/tracer.h"

#include <algorithm>

namespace assay::machine {

Tracer::Tracer(const Kernel& k, const Launch& launch, const std::vector<BufferEnv>& env,
               Observer* observer)
    : k_(k), launch_(launch), env_(env), observer_(observer), device_(env, k) {
  op_ids_.assign(k.ops.size(), 0);
  for (const MicroOp& op : k.ops) quick_.push_back(quick_way(op));
  for (size_t b = 0; b < env.size(); ++b) {
    const bool plain = env[b].content == BufferEnv::Content::Symbolic;
    plain_.push_back({plain ? bytes(env[b].type) : 0,
                      b_.stream({static_cast<int>(b), env[b].version, env[b].type, 0})});
  }
  const_cache_.assign(k.regs.size(), kNoNode);
  is_const_reg_.assign(k.regs.size(), 0);
  for (const ConstInit& c : k.consts) is_const_reg_[c.reg.id] = 1;
}

void Tracer::begin_cta(Cta& cta) {
  cta_ = cta.linear;
  b_.forget_inputs();
  RegState fresh;
  fresh.node = b_.undef(Ty::B32, UndefReason::Register);
  states_.resize(cta.warps.size());
  for (auto& s : states_) s.assign(k_.regs.size(), fresh);
  cta_first_stamp_ = stamp_ + 1;
  shared_.clear();
  local_.clear();
  local_.resize(cta.warps.size());
  if (!(launch_.cooperative || k_.has_atomics)) {
    global_.clear();
    global_dirty_ = false;
  }
}

void Tracer::end_cta(Cta& cta) {
  emit_stores(cta);
  const Trace& t = b_.trace;
  b_.trace.ctas.push_back(
      {cta.linear, static_cast<uint32_t>(t.nodes.size()), static_cast<uint32_t>(t.stores.size()),
       static_cast<uint32_t>(t.atoms.size()), static_cast<uint32_t>(t.indexed.size())});
}

void Tracer::trap(Cta& cta, Warp&, const MicroOp& op, uint32_t mask) {
  AccessFault f;  // of 0 bytes
  f.lanes = mask;
  f.pred = path_;
  f.pc = op.pc;
  f.cta = cta.linear;
  b_.trace.faults.push_back(f);
}

Trace Tracer::finish(uint64_t warp_instructions) {
  b_.trace.warp_instructions = warp_instructions;
  return std::move(b_.trace);
}

Status Tracer::take_error() {
  if (!has_error_) return fail(DiagKind::Internal, "the trace stopped without a reason");
  return tl::unexpected<Diag>(error_);
}

bool Tracer::fail_here(const MicroOp& op, DiagKind kind, const std::string& what) {
  error_ = Diag{kind, what, k_.source(op.pc)};
  has_error_ = true;
  return false;
}

bool Tracer::known_guard(Warp& w, const MicroOp& op, uint32_t mask) {
  return !op.guard || known(w, op.guard, mask);
}
bool Tracer::known_word(Warp& w, RegRef r, uint32_t mask) { return known(w, r, mask); }
bool Tracer::known_bar(Warp& w, const MicroOp& op, uint32_t mask) {
  return known(w, op.src[0], mask) && known(w, op.src[1], mask) && known(w, op.src[2], mask);
}
void Tracer::set_known(Warp& w, RegRef r, uint32_t mask) {
  if (tainted(r)) {
    RegState& s = state(w, r);
    s.conc |= mask;
    s.nmask &= ~mask;
  }
}

uint64_t Tracer::lane_bits(Warp& w, RegRef r, uint32_t l) {
  switch (k_.regs[r.id].file) {
    case RegFile::Pred:
      return (*w.reg(r) >> l) & 1;
    case RegFile::Word:
      return w.reg(r)[l];
    default:
      return w.reg64(r)[l];
  }
}

// A constant node with the register's bits; lanes outside the mask are filled with one of them.
NodeId Tracer::const_node(Warp& w, RegRef r, Ty type, uint32_t mask) {
  if (is_const_reg_[r.id]) {
    NodeId& cached = const_cache_[r.id];
    if (cached == kNoNode || b_.type_of(cached) != type) {
      uint64_t v = lane_bits(w, r, 0);
      cached = b_.constant(type, bits(type) < 64 ? v & ((uint64_t{1} << bits(type)) - 1) : v);
    }
    return cached;
  }
  if (!mask) mask = ~0u;
  std::array<uint64_t, kLanes> v;
  uint64_t keep = bits(type) >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits(type)) - 1;
  uint64_t fill = lane_bits(w, r, static_cast<uint32_t>(std::countr_zero(mask))) & keep;
  for (uint32_t l = 0; l < kLanes; ++l) {
    v[l] = (mask >> l) & 1 ? lane_bits(w, r, l) & keep : fill;
  }
  return b_.const_vec(type, v);
}

NodeId Tracer::fetch(Warp& w, RegRef r, Ty type, uint32_t mask) {
  if (!tainted(r)) return const_node(w, r, type, mask);
  RegState& s = state(w, r);
  if ((mask & ~s.nmask) == 0) {
    NodeId n = b_.convert(s.node, type);
    // Keep the conversion, so that it is made once.
    if (n != s.node && s.conc == 0) s.node = n;
    return n;
  }
  if ((mask & ~s.conc) == 0) {
    NodeId n = const_node(w, r, type, mask);
    if (s.conc == ~0u || (w.alive & ~s.conc) == 0) {
      s.node = n;
      s.nmask = mask;
    }
    return n;
  }
  uint32_t by_node = mask & s.nmask;
  uint32_t by_bits = mask & ~by_node & s.conc;
  NodeId n = mask & ~by_node & ~by_bits ? b_.undef(type, UndefReason::Register) : kNoNode;
  if (by_bits) {
    NodeId c = const_node(w, r, type, by_bits);
    n = n == kNoNode ? c : b_.blend(by_bits, c, n);
  }
  if (by_node) {
    NodeId c = b_.convert(s.node, type);
    n = n == kNoNode ? c : b_.blend(by_node, c, n);
  }
  return n;
}

NodeId Tracer::fetch_raw(Warp& w, RegRef r, uint32_t mask) {
  Ty declared = k_.regs[r.id].type;
  if (!tainted(r)) return const_node(w, r, declared, mask);
  RegState& s = state(w, r);
  bool fits = bits(b_.type_of(s.node)) == bits(declared);
  if ((mask & s.nmask) && fits) return fetch(w, r, b_.type_of(s.node), mask);
  return fetch(w, r, declared, mask);
}

NodeId Tracer::fetch_pred(Warp& w, RegRef r, uint32_t mask) { return fetch(w, r, Ty::Pred, mask); }

void Tracer::assign(Warp& w, RegRef r, uint32_t mask, NodeId node) {
  if (guard_ != kNoNode) {  // the old value stays where the guard fails
    RegState& s = state(w, r);
    bool fits = bits(b_.type_of(node)) == bits(k_.regs[r.id].type);
    Ty t = fits ? b_.type_of(node) : k_.regs[r.id].type;
    if (mask & (s.conc | s.nmask)) {
      NodeId old = (mask & s.nmask) ? fetch_raw(w, r, mask) : fetch(w, r, t, mask);
      node = b_.select(guard_, b_.convert(node, t), old, 0);
    }
  }
  assign_plain(w, r, mask, node);
}

void Tracer::assign_part(Warp& w, RegRef r, uint32_t mask, NodeId node) {
  RegState& s = state(w, r);
  uint32_t others = w.alive & ~mask;
  uint32_t keep = others & s.nmask & ~s.conc;  // lanes that have nothing but the old node
  s.conc &= ~mask;
  if (!keep) {
    s.node = node;
    s.nmask = mask;
    return;
  }
  bool fits = bits(b_.type_of(node)) == bits(b_.type_of(s.node));
  Ty t = fits ? b_.type_of(node) : k_.regs[r.id].type;
  s.node = b_.blend(~keep, b_.convert(node, t), s.node);
  s.nmask = mask | keep;
}

void Tracer::assign_bits(Warp& w, RegRef r, uint32_t mask) {
  RegState& s = state(w, r);
  uint32_t others = w.alive & ~mask;
  s.conc |= mask;
  s.nmask &= ~mask;
  if (!others) s.nmask = 0;
}

void Tracer::assign_both(Warp& w, RegRef r, uint32_t mask, NodeId node) {
  assign(w, r, mask, node);
  state(w, r).conc |= mask;
}

bool Tracer::execute(Cta& cta, Warp& w, const MicroOp& op, uint32_t mask) {
  guard_ = kNoNode;
  alive_ = w.alive;
  if (op.guard) {
    if (known(w, op.guard, mask)) {
      mask = guard_mask(w, op, mask);
    } else {
      NodeId g = fetch_pred(w, op.guard, mask);
      guard_ = op.guard_neg ? b_.lnot(g) : g;
    }
  }
  if (!mask) return true;
  if (guard_ == kNoNode) {
    const auto at = static_cast<uint32_t>(&op - k_.ops.data());
    const Quick way = quick_[at];
    if (way == Quick::FloatNodes && float_nodes(w, op, at, mask)) return true;
    if (way == Quick::LoadLane && (mask & (mask - 1)) == 0 && load_lane(w, op, mask)) return true;
  }
  bool ok = run(cta, w, op, mask);
  guard_ = kNoNode;
  return ok;
}

// Operations that are pure and yet touch memory: barriers' kin and parameters by address.
void Tracer::memory(Cta& cta, Warp& w, const MicroOp& op, uint32_t mask, bool) {
  execute(cta, w, op, mask);
}

Result<Trace> run_trace(const Kernel& kernel, const Launch& launch,
                        const std::vector<BufferEnv>& env, const CtaRange& ctas,
                        Observer* observer) {
  Tracer domain(kernel, launch, env, observer);
  Executor<Tracer> exec(kernel, launch, domain, observer);
  RunStats stats;
  ASSAY_CHECK(exec.run(ctas, &stats));
  return domain.finish(stats.warp_instructions);
}

}  // namespace assay::machine
