#include "machine/affine.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>

#include "machine/affine_lines.h"
#include "machine/bit_memory.h"
#include "machine/flow.h"

namespace assay::machine {
namespace {

class Affine {
 public:
  static constexpr bool kData = true;
  static constexpr bool kEndless = false;
  using Exec = Executor<Affine>;

  Affine(const Kernel& k, const std::vector<BufferEnv>& env, uint32_t axis, uint64_t count)
      : k_(k), env_(env), device_(env, k), axis_(axis), run_{count} {
    use_def_.resize(k.ops.size());
    for (size_t i = 0; i < k.ops.size(); ++i) use_def(k, k.ops[i], use_def_[i]);
  }

  void begin_cta(Cta& cta);
  void end_cta(Cta&) {}
  void trap(Cta&, Warp&, const MicroOp&, uint32_t) {}
  void memory(Cta&, Warp&, const MicroOp&, uint32_t, bool) {}  // no operation is pure
  bool execute(Cta& cta, Warp& w, const MicroOp& op, uint32_t mask);
  Status take_error() { return fail(DiagKind::Unsupported, why_, where_); }
  Status symbolic_branch(Exec& exec, Cta& cta, Warp& w, const MicroOp& op);

  bool known_guard(Warp& w, const MicroOp& op, uint32_t mask) {
    return known_word(w, op.guard, mask);
  }
  bool known_word(Warp& w, RegRef r, uint32_t mask) {
    return !r || ((state(w, r.id).unknown | state(w, r.id).moving) & mask) == 0;
  }
  bool known_bar(Warp& w, const MicroOp& op, uint32_t mask) {
    return known_word(w, op.src[0], mask) && known_word(w, op.src[1], mask) &&
           known_word(w, op.src[2], mask);
  }
  void set_known(Warp& w, RegRef r, uint32_t mask) {
    state(w, r.id).unknown &= ~mask;
    state(w, r.id).moving &= ~mask;
  }

  uint64_t count() const { return run_.count; }
  Status check_areas() const;

 private:
  using Slopes = std::array<int64_t, kLanes>;
  struct Reg {
    uint32_t unknown = 0;  // lanes that hold data
    uint32_t moving = 0;   // lanes whose slope is not 0
    uint32_t at = 0;       // in slopes_, + 1; 0: none yet
  };
  struct Speed {  // of the accesses to an area
    int64_t slope = 0;
    bool stored = false, mixed = false;
  };

  Reg& state(const Warp& w, uint32_t reg) { return regs_[w.id][reg]; }
  int64_t slope(const Warp& w, RegRef r, uint32_t l) {
    const Reg& s = state(w, r.id);
    return (s.moving >> l) & 1 ? slopes_[s.at - 1][l] : 0;
  }
  Line line(Warp& w, RegRef r, Ty type, uint32_t l);
  bool refuse(const MicroOp& op, const char* why) {
    why_ = why;
    where_ = k_.source(op.pc);
    return false;
  }
  bool set_slopes(const Warp& w, uint32_t reg, uint32_t sure, uint32_t maybe, const Slopes* s);
  bool register_op(Warp& w, const MicroOp& op, uint32_t sure, uint32_t maybe);
  bool slopes_of(Warp& w, const MicroOp& op, uint32_t mask, Slopes* out);
  bool access(Warp& w, const MicroOp& op, uint32_t sure, uint32_t maybe);
  bool address(Warp& w, const MicroOp& op, uint32_t l);
  void note(const Device::Area* area, int64_t slope, bool store);

  const Kernel& k_;
  const std::vector<BufferEnv>& env_;
  Device device_;
  uint32_t axis_;
  CtaSpan run_;
  std::vector<UseDef> use_def_;
  std::vector<std::vector<Reg>> regs_;  // of each warp
  std::vector<Slopes> slopes_;
  std::map<const Device::Area*, Speed> areas_;
  std::string why_;
  SrcLoc where_;
};

void Affine::begin_cta(Cta& cta) {
  regs_.assign(cta.warps.size(), std::vector<Reg>(k_.regs.size()));
  Slopes one;
  one.fill(1);
  for (const Warp& w : cta.warps)
    for (const SpecialInit& s : k_.specials)
      if (s.component == axis_ &&
          (s.special == ptx::Special::Ctaid || s.special == ptx::Special::Clusterid))
        set_slopes(w, s.reg.id, ~0u, 0, &one);
}

Line Affine::line(Warp& w, RegRef r, Ty type, uint32_t l) {
  uint64_t v = k_.regs[r.id].file == RegFile::Double ? w.reg64(r)[l] : w.reg(r)[l];
  return {integer(v, type), slope(w, r, l), ((state(w, r.id).unknown >> l) & 1) != 0};
}

// What a register becomes in lanes that write it for sure, and in those that may.
bool Affine::set_slopes(const Warp& w, uint32_t reg, uint32_t sure, uint32_t maybe,
                        const Slopes* s) {
  Reg& r = state(w, reg);
  uint32_t moving = 0;
  if (s != nullptr) {
    for (uint32_t l = 0; l < kLanes; ++l) moving |= static_cast<uint32_t>((*s)[l] != 0) << l;
  }
  moving &= sure | maybe;
  if ((moving ^ r.moving) & maybe) return false;
  for (uint32_t rest = moving & maybe; rest != 0; rest &= rest - 1) {
    const auto l = static_cast<size_t>(std::countr_zero(rest));
    if (slopes_[r.at - 1][l] != (*s)[l]) return false;
  }
  if (moving != 0) {
    if (r.at == 0) {
      slopes_.emplace_back();
      r.at = static_cast<uint32_t>(slopes_.size());
    }
    for (uint32_t rest = moving; rest != 0; rest &= rest - 1) {
      const auto l = static_cast<size_t>(std::countr_zero(rest));
      slopes_[r.at - 1][l] = (*s)[l];
    }
  }
  r.moving = (r.moving & ~sure) | (moving & sure);
  return true;
}

bool Affine::execute(Cta&, Warp& w, const MicroOp& op, uint32_t mask) {
  uint32_t maybe = op.guard ? state(w, op.guard.id).unknown & mask : 0;
  const uint32_t sure = guard_mask(w, op, mask & ~maybe);
  if ((sure | maybe) == 0) return true;
  switch (op.kind) {
    case OpKind::Nop:
    case OpKind::Fence:
    case OpKind::SyncPoint:
      return true;
    case OpKind::Ld:
    case OpKind::St:
    case OpKind::Atom:
      return access(w, op, sure, maybe);
    default:
      return register_op(w, op, sure, maybe);
  }
}

bool Affine::register_op(Warp& w, const MicroOp& op, uint32_t sure, uint32_t maybe) {
  const UseDef& ud = use_def_[static_cast<size_t>(&op - k_.ops.data())];
  const bool crosses = op.kind >= OpKind::Shfl && op.kind <= OpKind::Elect;  // lanes
  const uint32_t mask = sure | maybe;
  uint32_t unknown = op.kind == OpKind::LdSym || op.kind == OpKind::Clock ? ~0u : maybe;
  uint32_t moving = 0;
  for (const uint32_t r : ud.uses) {
    unknown |= state(w, r).unknown;
    moving |= state(w, r).moving;
  }
  if (crosses && unknown != 0) unknown = ~0u;
  Slopes s{};
  if (crosses ? moving != 0 : (moving & mask) != 0) {
    if (crosses) return refuse(op, "a warp operation on a value that depends on the CTA");
    if (!slopes_of(w, op, mask, &s)) return false;
  }
  if (op.kind != OpKind::Clock && !bits_execute(w, k_, op, mask, mask == w.alive))
    return refuse(op, "unexpected micro-operation");
  for (const uint32_t r : ud.defs) {
    const bool whole = r == op.dst.id;
    if (!set_slopes(w, r, sure, maybe, whole ? &s : nullptr))
      return refuse(op, "a guard on data decides about a value that depends on the CTA");
    Reg& d = state(w, r);
    d.unknown = (d.unknown & ~mask) | (unknown & mask);
  }
  return true;
}

// Of the result; comparisons and choices must come out alike in all CTAs.
bool Affine::slopes_of(Warp& w, const MicroOp& op, uint32_t mask, Slopes* out) {
  const bool selp = op.kind == OpKind::Selp, setp = op.kind == OpKind::Setp;
  const bool value = op.kind == OpKind::Alu || op.kind == OpKind::Mad || op.kind == OpKind::Mov;
  bool ok = selp || setp || value;
  for (uint32_t rest = mask; ok && rest != 0; rest &= rest - 1) {
    const auto l = static_cast<uint32_t>(std::countr_zero(rest));
    Line x[4];
    for (size_t i = 0; i < (selp || setp ? 2 : op.num_src); ++i)
      x[i] = line(w, op.src[i], operand_type(op, i), l);
    int64_t& slope = (*out)[l];
    if (selp) {
      const bool known = ((state(w, op.src[2].id).unknown >> l) & 1) == 0;
      slope = x[(*w.reg(op.src[2]) >> l) & 1 ? 0 : 1].slope;
      ok = known || x[0].slope == x[1].slope;
    } else if (setp) {
      ok = is_int(op.type) && same_order(x[0], x[1], op.type, &run_);
    } else if (op.kind == OpKind::Mov) {
      slope = x[0].slope;
    } else {
      ok = slope_of(op, x, &run_, &slope);
    }
  }
  return ok || refuse(op, "a value that depends on the CTA, but not by a constant step");
}

void Affine::note(const Device::Area* area, int64_t slope, bool store) {
  const auto [it, fresh] = areas_.try_emplace(area, Speed{slope, store, false});
  if (fresh) return;
  it->second.stored |= store;
  it->second.mixed |= it->second.slope != slope;
}

Status Affine::check_areas() const {
  for (const auto& [area, speed] : areas_)
    if (speed.stored && speed.mixed)
      return fail(DiagKind::Unsupported, "a buffer is written and walked through in several ways");
  return {};
}

// One lane's access, in all CTAs.
bool Affine::address(Warp& w, const MicroOp& op, uint32_t l) {
  const Line a =
      op.num_src && op.src[0] ? line(w, op.src[0], op.wide_src ? Ty::U64 : Ty::U32, l) : Line{};
  const bool store = op.kind != OpKind::Ld;
  const uint64_t n = uint64_t{bytes(op.type)} * op.vec;
  const auto at = static_cast<uint64_t>(a.value) + static_cast<uint64_t>(op.imm);
  const bool global =
      op.space == Space::Global || (op.space == Space::Generic && !a.unknown && at < kSharedWindow);
  if (a.slope == 0) {
    if (global && !a.unknown) note(device_.find(at), 0, store);
    return true;
  }
  if (!global) return refuse(op, "an address outside of global memory depends on the CTA");
  if (!op.wide_src || a.slope % static_cast<int64_t>(n) != 0)
    return refuse(op, "an address that depends on the CTA is not aligned in all");
  // No sum wraps, so that where the first and the last CTA are in one area all others are.
  constexpr Wide kFar = Wide{1} << 60;
  if (!stay(0, a.slope, -kFar, kFar, &run_)) return refuse(op, "addresses too far apart");
  if (a.unknown) return true;
  const Device::Area* area = device_.find(at);
  if (area == nullptr || !stay(at, a.slope, area->base, Wide{area->base} + area->bytes - n, &run_))
    return refuse(op, "an access outside of all buffers");
  const auto b = static_cast<size_t>(area->buffer);
  const bool bytes_known = b >= env_.size() || env_[b].content == BufferEnv::Content::Bytes;
  if (!store && bytes_known && area->data != nullptr)
    return refuse(op, "constants that depend on the CTA");
  note(area, a.slope, store);
  return true;
}

bool Affine::access(Warp& w, const MicroOp& op, uint32_t sure, uint32_t maybe) {
  const uint32_t mask = sure | maybe;
  if (op.kind == OpKind::Atom && op.space != Space::Shared)
    return refuse(op, "an atomic on global memory");
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1)
    if (!address(w, op, static_cast<uint32_t>(std::countr_zero(rest)))) return false;
  const UseDef& ud = use_def_[static_cast<size_t>(&op - k_.ops.data())];
  for (const uint32_t r : ud.uses)
    if ((state(w, r).moving & mask) != 0 && !(op.num_src && op.src[0] && r == op.src[0].id))
      return refuse(op, "a value that depends on the CTA is stored");
  if (op.kind == OpKind::St)  // of the address register itself
    for (uint32_t e = 0; e < op.vec; ++e)
      if (const RegRef v = k_.vecs[op.vecs + e]; v && (state(w, v.id).moving & mask) != 0)
        return refuse(op, "a value that depends on the CTA is stored");
  if (op.kind == OpKind::Atom)
    for (size_t i = 1; i < op.num_src; ++i)
      if ((state(w, op.src[i].id).moving & mask) != 0)
        return refuse(op, "a value that depends on the CTA is stored");
  for (const uint32_t r : ud.defs) {
    if (!set_slopes(w, r, sure, maybe, nullptr))
      return refuse(op, "a guard on data decides about a value that depends on the CTA");
    state(w, r).unknown |= mask;
  }
  return true;
}

// Ways that depend on data are not followed, but for those that end in a trap: the others are taken
// (as the tracer does).
Status Affine::symbolic_branch(Exec&, Cta&, Warp& w, const MicroOp& op) {
  const uint32_t mask = w.cur().mask;
  const auto index = static_cast<uint32_t>(&op - k_.ops.data());
  const bool trap_if_taken = k_.blocks[k_.block_of[op.target]].traps;
  if (trap_if_taken == k_.blocks[k_.block_of[index + 1]].traps)
    return fail(DiagKind::Unsupported, "a branch on data", k_.source(op.pc));
  const uint32_t open = mask & state(w, op.guard.id).unknown;
  w.go(guard_mask(w, op, mask & ~open) | (trap_if_taken ? 0 : open), op);
  return {};
}

Status check_launch(const Kernel& k, const Launch& launch) {
  const auto refuse = [](const char* why) { return fail(DiagKind::Unsupported, why); };
  if (launch.cooperative) return refuse("CTAs that run together");
  if (launch.constants.cluster != std::array<uint32_t, 3>{1, 1, 1}) return refuse("clusters");
  // The executor takes guard and members of a barrier of the warp as they are.
  for (const MicroOp& op : k.ops) {
    if (op.kind != OpKind::WarpBar) continue;
    const auto is_members = [&](const ConstInit& c) { return c.reg.id == op.src[0].id; };
    if (op.guard || std::none_of(k.consts.begin(), k.consts.end(), is_members))
      return refuse("a barrier of lanes that are computed");
  }
  return {};
}

}  // namespace

Result<uint64_t> ctas_alike(const Kernel& kernel, const Launch& launch,
                            const std::vector<BufferEnv>& env, uint64_t first, uint32_t axis,
                            uint64_t count) {
  ASSAY_CHECK(check_launch(kernel, launch));
  Kernel all = kernel;
  for (MicroOp& op : all.ops) op.pure = false;
  Affine domain(all, env, axis, std::max<uint64_t>(count, 1));
  Executor<Affine> exec(all, launch, domain, nullptr);
  CtaRange range;
  range.list = {first};
  RunStats stats;
  ASSAY_CHECK(exec.run(range, &stats));
  ASSAY_CHECK(domain.check_areas());
  return domain.count();
}

}  // namespace assay::machine
