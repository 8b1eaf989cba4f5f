// The skeleton domain: bits where they follow from parameters, indices and known buffers; "unknown"
// elsewhere.
#include <algorithm>
#include <cstring>
#include <optional>
#include <unordered_map>

#include "machine/bit_memory.h"
#include "machine/flow.h"

namespace assay::machine {
namespace {

class Skeleton {
 public:
  static constexpr bool kData = true;
  static constexpr bool kEndless = true;
  using Exec = Executor<Skeleton>;

  Skeleton(const Kernel& k, const std::vector<BufferEnv>& env, Observer& observer)
      : k_(k), env_(env), device_(env, k), observer_(observer) {
    for (const MicroOp& op : k.ops) {
      bool memory = op.kind == OpKind::Ld || op.kind == OpKind::St || op.kind == OpKind::Atom;
      values_ = values_ || (memory && op.value && op.space != Space::Param);
    }
  }

  void begin_cta(Cta& cta) {
    unknown_.resize(cta.warps.size());
    for (auto& u : unknown_) u.assign(k_.regs.size(), 0);
    choices_.assign(cta.warps.size(), {});
    if (!values_) return;
    cta.shared.assign(k_.shared_bytes() * 2, 0);  // bytes, then which of them are known
    cta.local.assign(cta.warps.size(), {});
    for (auto& l : cta.local) l.assign(size_t{k_.local_bytes} * 64, 0);
    lost_[static_cast<int>(Space::Shared)] = lost_[static_cast<int>(Space::Local)] = false;
  }
  void end_cta(Cta&) {}
  void trap(Cta&, Warp&, const MicroOp&, uint32_t) {}
  Status take_error() { return {}; }

  bool known_guard(Warp& w, const MicroOp& op, uint32_t mask) {
    return known_word(w, op.guard, mask);
  }
  bool known_word(Warp& w, RegRef r, uint32_t mask) {
    return !r || !k_.regs[r.id].tainted || !(unknown_[w.id][r.id] & mask);
  }
  bool known_bar(Warp& w, const MicroOp& op, uint32_t mask) {
    return known_word(w, op.src[0], mask) && known_word(w, op.src[1], mask);
  }
  void set_known(Warp& w, RegRef r, uint32_t mask) { unknown_[w.id][r.id] &= ~mask; }

  bool execute(Cta& cta, Warp& w, const MicroOp& op, uint32_t mask);
  void memory(Cta& cta, Warp& w, const MicroOp& op, uint32_t mask, bool all);
  Status symbolic_branch(Exec& exec, Cta& cta, Warp& w, const MicroOp& op);
  const std::vector<uint32_t>& state_of(Warp& w) const { return unknown_[w.id]; }

 private:
  struct Page {
    uint8_t bytes[4096];
    uint8_t known[4096];
  };
  // Unknown lanes of a register that hold one of two values: what stands there, or `other`. The
  // compiler makes loads at such addresses of selects between two words of memory.
  struct Choice {
    uint32_t lanes = 0;
    uint64_t other[32];
  };

  uint32_t unknown(Warp& w, RegRef r) {
    return r && k_.regs[r.id].tainted ? unknown_[w.id][r.id] : 0;
  }
  void set_unknown(Warp& w, RegRef r, uint32_t mask, uint32_t u) {
    if (!r) return;
    uint32_t& x = unknown_[w.id][r.id];
    x = (x & ~mask) | (u & mask);
    auto& choices = choices_[w.id];
    if (choices.empty()) return;
    if (const auto it = choices.find(r.id); it != choices.end()) it->second.lanes &= ~mask;
  }
  const Choice* choice(Warp& w, RegRef r, uint32_t* lanes) const {
    const auto& all = choices_[w.id];
    const auto it = r ? all.find(r.id) : all.end();
    *lanes = it == all.end() ? 0 : it->second.lanes & unknown_[w.id][r.id];
    return *lanes != 0 ? &it->second : nullptr;
  }
  uint64_t value(Warp& w, RegRef r, uint32_t lane) const {
    return k_.regs[r.id].file == RegFile::Double ? w.reg64(r)[lane] : w.reg(r)[lane];
  }
  void set_value(Warp& w, RegRef r, uint32_t lane, uint64_t v) const {
    if (k_.regs[r.id].file == RegFile::Double)
      w.reg64(r)[lane] = v;
    else
      w.reg(r)[lane] = static_cast<uint32_t>(v);
  }
  // Puts the other values of `lanes` of a register into place, and takes them away at the end.
  class Swapped {
   public:
    Swapped(Skeleton& s, Warp& w, RegRef r, const Choice& c, uint32_t lanes)
        : s_(s), w_(w), r_(r), lanes_(lanes) {
      for (uint32_t m = lanes; m != 0; m &= m - 1) {
        const auto l = static_cast<uint32_t>(__builtin_ctz(m));
        keep_[l] = s.value(w, r, l);
        s.set_value(w, r, l, c.other[l]);
      }
    }
    ~Swapped() {
      for (uint32_t m = lanes_; m != 0; m &= m - 1) {
        const auto l = static_cast<uint32_t>(__builtin_ctz(m));
        s_.set_value(w_, r_, l, keep_[l]);
      }
    }
    Swapped(const Swapped&) = delete;
    Swapped& operator=(const Swapped&) = delete;

   private:
    Skeleton& s_;
    Warp& w_;
    RegRef r_;
    uint32_t lanes_;
    uint64_t keep_[32];
  };
  uint32_t choose(Warp& w, const MicroOp& op, uint32_t lanes, uint64_t* first, uint64_t* second);
  void settle(Warp& w, RegRef dst, uint32_t lanes, const uint64_t* first, const uint64_t* second);
  void access_either(Cta& cta, Warp& w, const MicroOp& op, uint32_t mask);
  WarpAccess describe(const Cta& cta, const Warp& w, const MicroOp& op, Space space) const;
  void access(Cta& cta, Warp& w, const MicroOp& op, uint32_t mask, uint32_t address_unknown,
              bool conditional);
  void move(Cta& cta, Warp& w, const MicroOp& op, const LaneAddrs& a, uint32_t mask);
  bool get(Cta& cta, Warp& w, const LaneAddrs& a, uint32_t l, uint32_t off, uint32_t n,
           uint64_t* v);
  void put(Cta& cta, Warp& w, const LaneAddrs& a, uint32_t l, uint32_t off, uint32_t n, uint64_t v,
           bool known);
  uint8_t* local_byte(Cta& cta, Warp& w, uint32_t l, uint64_t at) {
    return cta.local[w.id].data() + (l * uint64_t{k_.local_bytes} + at);
  }
  Page& page(uint64_t addr);
  void lose(Space s);
  void walk(Cta& cta, Warp& w, const Block& block, uint32_t mask);

  const Kernel& k_;
  const std::vector<BufferEnv>& env_;
  Device device_;
  Observer& observer_;
  bool values_ = false;
  std::vector<std::vector<uint32_t>> unknown_;  // of each warp and register: unknown lanes
  std::vector<std::unordered_map<uint32_t, Choice>> choices_;  // of each warp, by register
  std::unordered_map<uint64_t, Page> pages_;  // global memory that the launch has written
  bool lost_[8] = {};                         // of each space: all contents unknown
};

WarpAccess Skeleton::describe(const Cta& cta, const Warp& w, const MicroOp& op, Space space) const {
  WarpAccess x;
  x.space = space == Space::Shared ? MemSpace::Shared : MemSpace::Global;
  x.kind = op.kind == OpKind::Ld   ? AccessKind::Read
           : op.kind == OpKind::St ? AccessKind::Write
                                   : AccessKind::Atomic;
  x.strong = op.strong;
  x.bytes = static_cast<uint8_t>(bytes(op.type) * op.vec);
  x.warp = static_cast<uint8_t>(w.id);
  x.cta = x.owner_cta = cta.linear;
  x.pc = op.pc;
  return x;
}

// Known lanes first, then those whose address is not.
void Skeleton::access(Cta& cta, Warp& w, const MicroOp& op, uint32_t mask, uint32_t address_unknown,
                      bool conditional) {
  for (uint32_t todo = mask & ~address_unknown; todo;) {
    LaneAddrs a;
    uint32_t rest = 0;
    if (!lane_address(w, op, todo, &a)) lane_addresses(w, op, todo, &a, &rest);
    uint32_t now = todo & ~rest;
    todo = rest;
    uint32_t ok = now;
    if (a.space == Space::Shared ||
        (a.space == Space::Global && a.addr[std::countr_zero(now)] < kSharedWindow)) {
      WarpAccess x = describe(cta, w, op, a.space);
      x.mask = now;
      x.addr = a.addr;
      if (conditional) {
        observer_.unknown_access(x, true);
      } else {
        ok = observer_.access(x);
      }
    }
    if (!op.value) continue;
    if (op.kind == OpKind::Ld) {
      for (uint32_t e = 0; e < op.vec; ++e) set_unknown(w, k_.vecs[op.vecs + e], now & ~ok, ~0u);
    }
    if (ok) move(cta, w, op, a, ok);
  }
  uint32_t either = 0;
  if ((mask & address_unknown) != 0 && op.num_src != 0 &&
      (op.space == Space::Shared || op.space == Space::Global || op.space == Space::Generic))
    choice(w, op.src[0], &either);
  either &= mask & address_unknown;
  if (either != 0) access_either(cta, w, op, either);
  if (uint32_t u = mask & address_unknown & ~either) {
    Space s = op.space == Space::Const || op.space == Space::Param ? Space::Global : op.space;
    WarpAccess x = describe(cta, w, op, s);
    x.mask = u;
    if (s != Space::Local) observer_.unknown_access(x, conditional);
    if (!op.value) return;
    if (op.kind == OpKind::Ld) {
      for (uint32_t e = 0; e < op.vec; ++e) set_unknown(w, k_.vecs[op.vecs + e], u, ~0u);
    } else {
      lose(s);
      set_unknown(w, op.dst, u, ~0u);
    }
  }
}

// Each lane at one of two addresses: both are looked at, and what is there is unknown afterwards.
void Skeleton::access_either(Cta& cta, Warp& w, const MicroOp& op, uint32_t mask) {
  uint32_t lanes = 0;
  const Choice* c = choice(w, op.src[0], &lanes);
  for (const bool second : {false, true}) {
    std::optional<Swapped> swapped;
    if (second) swapped.emplace(*this, w, op.src[0], *c, mask);
    for (uint32_t todo = mask; todo != 0;) {
      LaneAddrs a;
      uint32_t rest = 0;
      lane_addresses(w, op, todo, &a, &rest);
      const uint32_t now = todo & ~rest;
      todo = rest;
      if (a.space == Space::Shared ||
          (a.space == Space::Global && a.addr[std::countr_zero(now)] < kSharedWindow)) {
        WarpAccess x = describe(cta, w, op, a.space);
        x.mask = now;
        x.addr = a.addr;
        x.anywhere = true;
        observer_.unknown_access(x, true);
      }
      if (!op.value || op.kind == OpKind::Ld) continue;
      for (uint32_t m = now; m != 0; m &= m - 1)
        put(cta, w, a, static_cast<uint32_t>(std::countr_zero(m)), 0, bytes(op.type) * op.vec, 0,
            false);
    }
  }
  if (!op.value) return;
  if (op.kind == OpKind::Ld)
    for (uint32_t e = 0; e < op.vec; ++e) set_unknown(w, k_.vecs[op.vecs + e], mask, ~0u);
  else
    set_unknown(w, op.dst, mask, ~0u);
}

// The lanes whose result is one of two values, and those: of a select whose predicate alone is
// unknown, and of arithmetic on one such value and known ones.
uint32_t Skeleton::choose(Warp& w, const MicroOp& op, uint32_t lanes, uint64_t* first,
                          uint64_t* second) {
  if (op.kind == OpKind::Selp) {
    lanes &= unknown(w, op.src[2]) & ~unknown(w, op.src[0]) & ~unknown(w, op.src[1]);
    for (uint32_t m = lanes; m != 0; m &= m - 1) {
      const auto l = static_cast<uint32_t>(std::countr_zero(m));
      first[l] = value(w, op.src[0], l);
      second[l] = value(w, op.src[1], l);
    }
    return lanes;
  }
  if ((op.kind != OpKind::Alu && op.kind != OpKind::Mad && op.kind != OpKind::Mov) ||
      choices_[w.id].empty())
    return 0;
  uint32_t out = 0;
  for (size_t i = 0; i < op.num_src; ++i) {
    const RegRef r = op.src[i];
    uint32_t found = 0;
    const Choice* c = choice(w, r, &found);
    found &= lanes & ~out;
    for (size_t j = 0; j < op.num_src; ++j)
      if (op.src[j] && op.src[j].id != r.id) found &= ~unknown(w, op.src[j]);
    if (c == nullptr || found == 0) continue;
    uint64_t keep[32];
    for (uint32_t m = found; m != 0; m &= m - 1) {
      const auto l = static_cast<uint32_t>(std::countr_zero(m));
      keep[l] = value(w, op.dst, l);
    }
    const auto run = [&](uint64_t* to) {
      bits_execute(w, k_, op, found, false);
      for (uint32_t m = found; m != 0; m &= m - 1) {
        const auto l = static_cast<uint32_t>(std::countr_zero(m));
        to[l] = value(w, op.dst, l);
        set_value(w, op.dst, l, keep[l]);
      }
    };
    {
      const Swapped other(*this, w, r, *c, found);
      run(second);
    }
    run(first);
    out |= found;
  }
  return out;
}

void Skeleton::settle(Warp& w, RegRef dst, uint32_t lanes, const uint64_t* first,
                      const uint64_t* second) {
  for (uint32_t m = lanes; m != 0; m &= m - 1) {
    const auto l = static_cast<uint32_t>(std::countr_zero(m));
    set_value(w, dst, l, first[l]);
    if (first[l] == second[l]) {
      set_unknown(w, dst, 1u << l, 0);
      continue;
    }
    Choice& c = choices_[w.id][dst.id];
    c.lanes |= 1u << l;
    c.other[l] = second[l];
  }
}

void Skeleton::lose(Space s) {
  for (Space x : {Space::Global, Space::Shared, Space::Local}) {
    if (s == x || s == Space::Generic) lost_[static_cast<int>(x)] = true;
  }
}

void Skeleton::memory(Cta& cta, Warp& w, const MicroOp& op, uint32_t mask, bool) {
  access(cta, w, op, mask, 0, false);
}

bool Skeleton::execute(Cta& cta, Warp& w, const MicroOp& op, uint32_t mask) {
  uint32_t maybe = op.guard ? unknown(w, op.guard) & mask : 0;  // lanes that may or may not run it
  uint32_t sure = guard_mask(w, op, mask & ~maybe);
  bool is_memory = op.kind == OpKind::Ld || op.kind == OpKind::St || op.kind == OpKind::Atom;
  if (is_memory) {
    uint32_t u = op.num_src ? unknown(w, op.src[0]) : 0;
    if (sure) access(cta, w, op, sure, u, false);
    if (maybe) {
      // What it would read or write cannot be known.
      MicroOp plain = op;
      plain.value = false;
      access(cta, w, plain, maybe, u, true);
      if (op.value && op.kind != OpKind::Ld) lose(op.space);
      if (op.value && op.kind == OpKind::Ld) {
        for (uint32_t e = 0; e < op.vec; ++e) set_unknown(w, k_.vecs[op.vecs + e], maybe, ~0u);
      }
      set_unknown(w, op.dst, maybe, ~0u);
    }
    return true;
  }
  uint32_t u = maybe;
  for (size_t i = 0; i < op.num_src; ++i) u |= unknown(w, op.src[i]);
  if (op.kind == OpKind::Pack) {
    for (uint32_t i = 0; i < op.vec; ++i) u |= unknown(w, k_.vecs[op.vecs + i]);
  }
  if (op.kind == OpKind::Carry && op.reads_carry) u |= unknown(w, k_.carry);
  uint32_t run = sure | maybe;
  if (!run) return true;
  switch (op.kind) {
    case OpKind::Shfl: {
      uint8_t from[32];
      MicroOp plain = op;
      plain.dst = plain.dst2 = {};
      bits_shfl(w, plain, run, false, from);
      uint32_t data = unknown(w, op.src[0]);
      for (uint32_t l = 0; l < 32; ++l) u |= ((data >> from[l]) & 1u) << l;
      break;
    }
    case OpKind::Vote:
    case OpKind::Match:
    case OpKind::Redux:
      if (u & run) u = ~0u;
      break;
    case OpKind::LdSym:
    case OpKind::Clock:
      u = ~0u;
      break;
    default:
      break;
  }
  uint64_t first[32], second[32];
  const uint32_t either = u != 0 && op.dst ? choose(w, op, sure, first, second) : 0;
  if (op.kind != OpKind::Clock) bits_execute(w, k_, op, run, run == w.alive);
  set_unknown(w, op.dst, run, u);
  if (either != 0) settle(w, op.dst, either, first, second);
  set_unknown(w, op.dst2, run, u);
  if (op.kind == OpKind::Unpack) {
    for (uint32_t i = 0; i < op.vec; ++i) set_unknown(w, k_.vecs[op.vecs + i], run, u);
  }
  if (op.kind == OpKind::Carry && op.writes_carry) set_unknown(w, k_.carry, run, u);
  return true;
}

Skeleton::Page& Skeleton::page(uint64_t addr) {
  auto [it, fresh] = pages_.try_emplace(addr / 4096);
  if (fresh) {
    std::memset(&it->second, 0, sizeof(Page));
    for (uint64_t i = 0; i < 4096; ++i) {
      const Device::Area* area = device_.find(addr / 4096 * 4096 + i);
      if (!area || !area->data) continue;
      bool is_env = area->buffer >= 0 && static_cast<size_t>(area->buffer) < env_.size();
      if (is_env && env_[static_cast<size_t>(area->buffer)].content != BufferEnv::Content::Bytes) {
        continue;
      }
      it->second.bytes[i] = area->data[addr / 4096 * 4096 + i - area->base];
      it->second.known[i] = 1;
    }
  }
  return it->second;
}

bool Skeleton::get(Cta& cta, Warp& w, const LaneAddrs& a, uint32_t l, uint32_t off, uint32_t n,
                   uint64_t* v) {
  *v = 0;
  if (lost_[static_cast<int>(a.space)]) return false;
  uint64_t at = a.addr[l] + off;
  bool known = true;
  for (uint32_t i = 0; i < n; ++i) {
    uint8_t byte = 0, k = 0;
    uint64_t x = at + i;
    if (a.space == Space::Shared) {
      if (x >= k_.shared_bytes()) return false;
      byte = cta.shared[x];
      k = cta.shared[k_.shared_bytes() + x];
    } else if (a.space == Space::Local) {
      if (x >= k_.local_bytes) return false;
      byte = *local_byte(cta, w, l, x);
      k = cta.local[w.id][size_t{k_.local_bytes} * 32 + l * uint64_t{k_.local_bytes} + x];
    } else {
      auto p = pages_.find(x / 4096);
      Page& q = p != pages_.end() ? p->second : page(x);
      byte = q.bytes[x % 4096];
      k = q.known[x % 4096];
    }
    *v |= uint64_t{byte} << (8 * i);
    known = known && k;
  }
  return known;
}

void Skeleton::put(Cta& cta, Warp& w, const LaneAddrs& a, uint32_t l, uint32_t off, uint32_t n,
                   uint64_t v, bool known) {
  uint64_t at = a.addr[l] + off;
  for (uint32_t i = 0; i < n; ++i) {
    auto byte = static_cast<uint8_t>(v >> (8 * i));
    uint64_t x = at + i;
    if (a.space == Space::Shared) {
      if (x >= k_.shared_bytes()) return;
      cta.shared[x] = byte;
      cta.shared[k_.shared_bytes() + x] = known;
    } else if (a.space == Space::Local) {
      if (x >= k_.local_bytes) return;
      *local_byte(cta, w, l, x) = byte;
      cta.local[w.id][size_t{k_.local_bytes} * 32 + l * uint64_t{k_.local_bytes} + x] = known;
    } else {
      Page& q = page(x);
      q.bytes[x % 4096] = byte;
      q.known[x % 4096] = known;
    }
  }
}

void Skeleton::move(Cta& cta, Warp& w, const MicroOp& op, const LaneAddrs& a, uint32_t mask) {
  uint32_t n = bytes(op.type);
  auto reg_value = [&](RegRef r, uint32_t l) -> uint64_t {
    return k_.regs[r.id].file == RegFile::Double ? w.reg64(r)[l] : w.reg(r)[l];
  };
  auto set = [&](RegRef r, uint32_t l, uint64_t v, bool known) {
    if (!r) return;
    uint32_t width = bits(op.type);
    if (is_signed(op.type) && width < 64 && ((v >> (width - 1)) & 1)) v |= ~uint64_t{0} << width;
    if (k_.regs[r.id].file == RegFile::Double) {
      w.reg64(r)[l] = v;
    } else {
      uint32_t have = bits(k_.regs[r.id].type);
      w.reg(r)[l] = static_cast<uint32_t>(v) & (have >= 32 ? ~0u : (1u << have) - 1);
    }
    set_unknown(w, r, 1u << l, known ? 0 : ~0u);
  };
  for (uint32_t l = 0; l < 32; ++l) {
    if (!((mask >> l) & 1)) continue;
    if (op.kind == OpKind::Atom) {
      uint64_t old = 0;
      bool known = get(cta, w, a, l, 0, n, &old);
      bool operands = !((unknown(w, op.src[1]) >> l) & 1) &&
                      (op.num_src < 3 || !((unknown(w, op.src[2]) >> l) & 1));
      uint64_t now = atom_apply(static_cast<AtomFn>(op.mode), op.type, old, reg_value(op.src[1], l),
                                op.num_src > 2 ? reg_value(op.src[2], l) : 0);
      put(cta, w, a, l, 0, n, now, known && operands);
      set(op.dst, l, old, known);
      continue;
    }
    for (uint32_t e = 0; e < op.vec; ++e) {
      RegRef r = k_.vecs[op.vecs + e];
      if (op.kind == OpKind::Ld) {
        uint64_t v = 0;
        bool known = get(cta, w, a, l, e * n, n, &v);
        set(r, l, v, known);
      } else {
        put(cta, w, a, l, e * n, n, reg_value(r, l), !((unknown(w, r) >> l) & 1));
      }
    }
  }
}

// One block between an unknown branch and its post-dominator: what its lanes access if they come
// here, as far as the addresses follow from before the branch or from this block.
void Skeleton::walk(Cta& cta, Warp& w, const Block& block, uint32_t mask) {
  UseDef ud;
  for (uint32_t i = block.first; i < block.end; ++i) {
    const MicroOp& op = k_.ops[i];
    if (op.kind >= OpKind::Bar) continue;  // where these lanes go, and what they wait for, is open
    if (op.kind != OpKind::Ld && op.kind != OpKind::St && op.kind != OpKind::Atom) {
      execute(cta, w, op, mask);
      continue;
    }
    const uint32_t maybe = op.guard ? unknown(w, op.guard) & mask : 0;
    const uint32_t lanes = guard_mask(w, op, mask & ~maybe) | maybe;
    MicroOp plain = op;
    plain.value = false;
    if (lanes) access(cta, w, plain, lanes, op.num_src ? unknown(w, op.src[0]) : 0, true);
    if (op.value && op.kind != OpKind::Ld) lose(op.space);
    use_def(k_, op, ud);
    for (uint32_t r : ud.defs) set_unknown(w, RegRef{k_.regs[r].off, r}, mask, ~0u);
  }
}

// Lanes whose way is unknown: every block up to the post-dominator is walked once with all of them;
// then they go on there. A register that some block writes is unknown at the start of each block
// (which of the writes came last is open) but one that is entered from the block before it alone.
Status Skeleton::symbolic_branch(Exec& exec, Cta& cta, Warp& w, const MicroOp& op) {
  Split& s = w.cur();
  const uint32_t mask = s.mask;
  const auto index = static_cast<uint32_t>(&op - k_.ops.data());
  const bool trap_if_taken = k_.blocks[k_.block_of[op.target]].traps;
  if (trap_if_taken != k_.blocks[k_.block_of[index + 1]].traps) {  // as Tracer::assume_no_trap
    const uint32_t open = mask & unknown(w, op.guard);
    const uint32_t taken = guard_mask(w, op, mask & ~open) | (trap_if_taken ? 0 : open);
    w.go(taken, op);
    return {};
  }
  observer_.unknown_branch(cta.linear, w.id, op.pc, mask);
  std::vector<uint32_t> blocks = region(k_, k_.block_of[static_cast<size_t>(&op - k_.ops.data())]);
  std::sort(blocks.begin(), blocks.end(),
            [&](uint32_t a, uint32_t b) { return k_.blocks[a].rpo < k_.blocks[b].rpo; });
  std::vector<uint32_t> written;
  UseDef ud;
  for (uint32_t b : blocks) {
    for (uint32_t i = k_.blocks[b].first; i < k_.blocks[b].end; ++i) {
      use_def(k_, k_.ops[i], ud);
      written.insert(written.end(), ud.defs.begin(), ud.defs.end());
    }
  }
  auto forget = [&] {
    for (uint32_t r : written) set_unknown(w, RegRef{k_.regs[r].off, r}, mask, ~0u);
  };
  uint32_t before = kNever;
  for (uint32_t b : blocks) {
    const Block& block = k_.blocks[b];
    if (block.pred.size() != 1 || block.pred[0] != before) forget();
    walk(cta, w, block, mask);
    before = b;
  }
  forget();
  if (op.reconv == kNever) {
    exec.retire(cta, w, mask);
  } else {
    s.pc = op.reconv;
  }
  return {};
}

}  // namespace

Result<RunStats> run_skeleton(const Kernel& sliced, const Launch& launch,
                              const std::vector<BufferEnv>& env, const CtaRange& ctas,
                              Observer& observer) {
  RunStats stats;
  Skeleton domain(sliced, env, observer);
  Executor<Skeleton> exec(sliced, launch, domain, &observer);
  ASSAY_CHECK(exec.run(ctas, &stats));
  return stats;
}

}  // namespace assay::machine
