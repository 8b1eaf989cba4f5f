#include "machine/bits.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/ieee.h"

namespace assay::machine {
namespace {

uint64_t width_mask(Ty t) {
  uint32_t n = bits(t);
  return n >= 64 || n == 0 ? ~uint64_t{0} : (uint64_t{1} << n) - 1;
}

// Type of operand i of an Alu operation.
Ty operand_type(const MicroOp& op, int i) {
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

void read_lanes(Warp& w, RegRef r, bool wide, uint64_t mask, uint64_t* out) {
  if (wide) {
    const uint64_t* s = w.reg64(r);
    for (int l = 0; l < 32; ++l) out[l] = s[l] & mask;
  } else {
    const uint32_t* s = w.reg(r);
    for (int l = 0; l < 32; ++l) out[l] = s[l] & mask;
  }
}

void write_lanes(Warp& w, RegRef r, bool wide, const uint64_t* v, uint32_t mask, bool all) {
  if (wide) return write_double(w, r, v, mask, all);
  uint32_t tmp[32];
  for (int l = 0; l < 32; ++l) tmp[l] = static_cast<uint32_t>(v[l]);
  write_word(w, r, tmp, mask, all);
}

void generic_alu(Warp& w, const MicroOp& op, uint32_t mask, bool all) {
  uint64_t in[4][32];
  for (int i = 0; i < op.num_src; ++i) {
    Ty t = operand_type(op, i);
    read_lanes(w, op.src[static_cast<size_t>(i)], bits(t) > 32, width_mask(t), in[i]);
  }
  uint64_t out[32];
  ieee_apply(op.fn, op.type, op.mods, in[0], in[1], in[2], in[3], out, 32);
  if (op.dst) write_lanes(w, op.dst, op.wide_dst, out, mask, all);
}

}  // namespace

void write_word(Warp& w, RegRef r, const uint32_t* v, uint32_t mask, bool all) {
  if (all) {
    std::memcpy(w.reg(r), v, 128);
  } else {
    lanes().blend32(w.reg(r), v, mask);
  }
}
void write_double(Warp& w, RegRef r, const uint64_t* v, uint32_t mask, bool all) {
  if (all) {
    std::memcpy(w.reg64(r), v, 256);
  } else {
    lanes().blend64(w.reg64(r), v, mask);
  }
}
void write_pred(Warp& w, RegRef r, uint32_t v, uint32_t mask) {
  uint32_t* p = w.reg(r);
  *p = (*p & ~mask) | (v & mask);
}

void bits_alu(Warp& w, const MicroOp& op, uint32_t mask, bool all) {
  if (!op.lane) return generic_alu(w, op, mask, all);
  const uint32_t* a = w.reg(op.src[0]);
  const uint32_t* b = op.num_src > 1 ? w.reg(op.src[1]) : nullptr;
  const uint32_t* c = op.num_src > 2 ? w.reg(op.src[2]) : nullptr;
  if (all) {
    op.lane(w.reg(op.dst), a, b, c);
    return;
  }
  alignas(64) uint64_t tmp[32];
  op.lane(tmp, a, b, c);
  if (op.wide_dst) {
    lanes().blend64(w.reg(op.dst), tmp, mask);
  } else {
    lanes().blend32(w.reg(op.dst), tmp, mask);
  }
}

void bits_mad(Warp& w, const MicroOp& op, uint32_t mask, bool all) {
  if (op.lane) return bits_alu(w, op, mask, all);
  uint64_t a[32], b[32], c[32], p[32];
  Ty wide = op.fn != Fn::IMulWide ? op.type
            : bits(op.type) == 16 ? (is_signed(op.type) ? Ty::S32 : Ty::U32)
                                  : (is_signed(op.type) ? Ty::S64 : Ty::U64);
  read_lanes(w, op.src[0], bits(op.type) > 32, width_mask(op.type), a);
  read_lanes(w, op.src[1], bits(op.type) > 32, width_mask(op.type), b);
  read_lanes(w, op.src[2], bits(wide) > 32, width_mask(wide), c);
  ieee_apply(op.fn, op.type, Mods{}, a, b, nullptr, nullptr, p, 32);
  ieee_apply(Fn::IAdd, wide, Mods{}, p, c, nullptr, nullptr, p, 32);
  write_lanes(w, op.dst, op.wide_dst, p, mask, all);
}

void bits_carry(Warp& w, const MicroOp& op, uint32_t mask) {
  bool wide = bits(op.type) == 64;
  uint64_t m = width_mask(op.type);
  uint64_t a[32], b[32], r[32];
  read_lanes(w, op.src[0], wide, m, a);
  read_lanes(w, op.src[1], wide, m, b);
  uint32_t in = op.reads_carry ? *w.reg(op.src[2]) : 0;
  uint32_t out = 0;
  for (uint32_t l = 0; l < 32; ++l) {
    unsigned __int128 x = a[l], y = b[l];
    // Borrow: CC.CF is set if the subtraction borrows (PTX ISA 9.7.2.3).
    unsigned __int128 c = (in >> l) & 1;
    unsigned __int128 s = op.fn == Fn::IAdd ? x + y + c : x - y - c;
    r[l] = static_cast<uint64_t>(s) & m;
    out |= (static_cast<uint32_t>(s >> bits(op.type)) & 1u) << l;
  }
  if (op.dst) write_lanes(w, op.dst, wide, r, mask, false);
  if (op.writes_carry) write_pred(w, op.src[2], out, mask);
}

void bits_mov(Warp& w, const MicroOp& op, uint32_t mask, bool all) {
  if (op.wide_dst) {
    write_double(w, op.dst, w.reg64(op.src[0]), mask, all);
  } else {
    write_word(w, op.dst, w.reg(op.src[0]), mask, all);
  }
}

void bits_setp(Warp& w, const MicroOp& op, uint32_t mask) {
  uint32_t t = 0;
  if (op.cmp) {
    t = op.cmp(w.reg(op.src[0]), w.reg(op.src[1]));
  } else {
    uint64_t a[32], b[32], r[32];
    bool wide = bits(op.type) > 32;
    read_lanes(w, op.src[0], wide, width_mask(op.type), a);
    read_lanes(w, op.src[1], wide, width_mask(op.type), b);
    ieee_apply(op.fn, op.type, op.mods, a, b, nullptr, nullptr, r, 32);
    for (uint32_t l = 0; l < 32; ++l) t |= static_cast<uint32_t>(r[l] & 1) << l;
  }
  uint32_t u = ~t;
  if (op.combine) {
    uint32_t c = *w.reg(op.src[2]);
    auto join = [&](uint32_t x) {
      return op.combine == 1 ? x & c : op.combine == 2 ? x | c : x ^ c;
    };
    t = join(t);
    u = join(u);
  }
  if (op.dst) write_pred(w, op.dst, t, mask);
  if (op.dst2) write_pred(w, op.dst2, u, mask);
}

void bits_plogic(Warp& w, const MicroOp& op, uint32_t mask) {
  uint32_t a = *w.reg(op.src[0]);
  uint32_t b = op.num_src > 1 ? *w.reg(op.src[1]) : 0;
  uint32_t r = op.fn == Fn::PAnd   ? a & b
               : op.fn == Fn::POr  ? a | b
               : op.fn == Fn::PXor ? a ^ b
                                   : ~a;
  write_pred(w, op.dst, r, mask);
}

void bits_selp(Warp& w, const MicroOp& op, uint32_t mask, bool all) {
  uint32_t p = *w.reg(op.src[2]);
  alignas(64) uint64_t tmp[32];
  void* out = all ? static_cast<void*>(w.reg(op.dst)) : tmp;
  if (op.wide_dst) {
    lanes().select64(out, w.reg(op.src[0]), w.reg(op.src[1]), p);
    if (!all) lanes().blend64(w.reg(op.dst), tmp, mask);
  } else {
    lanes().select32(out, w.reg(op.src[0]), w.reg(op.src[1]), p);
    if (!all) lanes().blend32(w.reg(op.dst), tmp, mask);
  }
}

void bits_pack(Warp& w, const Kernel& k, const MicroOp& op, uint32_t mask, bool all) {
  uint64_t out[32] = {};
  uint32_t width = bits(op.type);
  for (uint32_t i = 0; i < op.vec; ++i) {
    const uint32_t* s = w.reg(k.vecs[op.vecs + i]);
    for (int l = 0; l < 32; ++l) out[l] |= (s[l] & width_mask(op.type)) << (i * width);
  }
  write_lanes(w, op.dst, op.wide_dst, out, mask, all);
}

void bits_unpack(Warp& w, const Kernel& k, const MicroOp& op, uint32_t mask, bool all) {
  uint64_t in[32];
  uint32_t width = bits(op.type);
  read_lanes(w, op.src[0], op.wide_src, ~uint64_t{0}, in);
  for (uint32_t i = 0; i < op.vec; ++i) {
    RegRef d = k.vecs[op.vecs + i];
    if (!d) continue;
    uint32_t part[32];
    for (int l = 0; l < 32; ++l) {
      part[l] = static_cast<uint32_t>((in[l] >> (i * width)) & width_mask(op.type));
    }
    write_word(w, d, part, mask, all);
  }
}

void bits_isspace(Warp& w, const MicroOp& op, uint32_t mask) {
  const uint64_t* a = w.reg64(op.src[0]);
  uint32_t r = 0;
  for (uint32_t l = 0; l < 32; ++l) {
    uint64_t x = a[l];
    bool hit = false;
    auto in = [&](uint64_t window) { return x >= window && x < window + kWindowBytes; };
    switch (op.space) {
      case Space::Shared:
        hit = in(kSharedWindow);
        break;
      case Space::Local:
        hit = in(kLocalWindow);
        break;
      case Space::Param:
        hit = in(kParamWindow);
        break;
      case Space::Const:
        hit = false;
        break;
      default:
        hit = !in(kSharedWindow) && !in(kLocalWindow) && !in(kParamWindow);
    }
    r |= static_cast<uint32_t>(hit) << l;
  }
  write_pred(w, op.dst, r, mask);
}

// PTX ISA 9.7.9.6: source lane and predicate of each lane.
void bits_shfl(Warp& w, const MicroOp& op, uint32_t mask, bool all, uint8_t* from) {
  const uint32_t* a = w.reg(op.src[0]);
  const uint32_t* b = w.reg(op.src[1]);
  const uint32_t* c = w.reg(op.src[2]);
  uint32_t out[32];
  uint32_t valid = 0;
  for (uint32_t l = 0; l < 32; ++l) {
    uint32_t bval = b[l] & 0x1f, cval = c[l] & 0x1f, seg = (c[l] >> 8) & 0x1f;
    uint32_t max_lane = (l & seg) | (cval & ~seg);
    uint32_t min_lane = l & seg;
    uint32_t j = 0;
    bool p = false;
    switch (static_cast<ShflMode>(op.mode)) {
      case ShflMode::Up:
        j = l - bval;
        p = static_cast<int32_t>(j) >= static_cast<int32_t>(max_lane);
        break;
      case ShflMode::Down:
        j = l + bval;
        p = j <= max_lane;
        break;
      case ShflMode::Bfly:
        j = l ^ bval;
        p = j <= max_lane;
        break;
      case ShflMode::Idx:
        j = min_lane | (bval & ~seg);
        p = j <= max_lane;
        break;
    }
    if (!p) j = l;
    out[l] = a[j & 31];
    if (from) from[l] = static_cast<uint8_t>(j & 31);
    valid |= static_cast<uint32_t>(p) << l;
  }
  if (op.dst) write_word(w, op.dst, out, mask, all);
  if (op.dst2) write_pred(w, op.dst2, valid, mask);
}

void bits_vote(Warp& w, const MicroOp& op, uint32_t mask) {
  uint32_t p = *w.reg(op.src[0]);
  const uint32_t* members = w.reg(op.src[1]);
  uint32_t first = static_cast<uint32_t>(std::countr_zero(mask | (1u << 31)));
  uint32_t m = mask & members[first];
  uint32_t yes = p & m;
  auto mode = static_cast<VoteMode>(op.mode);
  if (mode == VoteMode::Ballot) {
    uint32_t out[32];
    std::fill_n(out, 32, yes);
    write_word(w, op.dst, out, mask, false);
    return;
  }
  bool r = mode == VoteMode::All ? yes == m : mode == VoteMode::Any ? yes != 0 : yes == m || !yes;
  write_pred(w, op.dst, r ? ~0u : 0, mask);
}

void bits_match(Warp& w, const MicroOp& op, uint32_t mask, bool all) {
  uint64_t v[32];
  read_lanes(w, op.src[0], op.wide_src, width_mask(op.type), v);
  uint32_t out[32] = {};
  bool same = true;
  uint32_t first = static_cast<uint32_t>(std::countr_zero(mask | (1u << 31)));
  for (uint32_t l = 0; l < 32; ++l) {
    if (!((mask >> l) & 1)) continue;
    for (uint32_t j = 0; j < 32; ++j) {
      if (((mask >> j) & 1) && v[j] == v[l]) out[l] |= 1u << j;
    }
    same = same && v[l] == v[first];
  }
  if (op.mode == 1) {
    std::fill_n(out, 32, same ? mask : 0);
    if (op.dst2) write_pred(w, op.dst2, same ? ~0u : 0, mask);
  }
  if (op.dst) write_word(w, op.dst, out, mask, all);
}

void bits_redux(Warp& w, const MicroOp& op, uint32_t mask, bool all) {
  const uint32_t* a = w.reg(op.src[0]);
  bool first = true;
  uint64_t acc = 0;
  for (uint32_t l = 0; l < 32; ++l) {
    if (!((mask >> l) & 1)) continue;
    acc = first ? a[l] : atom_apply(static_cast<AtomFn>(op.mode), op.type, acc, a[l], 0);
    first = false;
  }
  uint32_t out[32];
  std::fill_n(out, 32, static_cast<uint32_t>(acc));
  write_word(w, op.dst, out, mask, all);
}

void bits_elect(Warp& w, const MicroOp& op, uint32_t mask, bool all) {
  uint32_t leader = static_cast<uint32_t>(std::countr_zero(mask | (1u << 31)));
  uint32_t out[32];
  std::fill_n(out, 32, leader);
  if (op.dst) write_word(w, op.dst, out, mask, all);
  if (op.dst2) write_pred(w, op.dst2, 1u << leader, mask);
}

bool bits_execute(Warp& w, const Kernel& k, const MicroOp& op, uint32_t mask, bool all) {
  switch (op.kind) {
    case OpKind::Nop:
    case OpKind::SyncPoint:
    case OpKind::Fence:
      return true;
    case OpKind::Alu:
      bits_alu(w, op, mask, all);
      return true;
    case OpKind::Mad:
      bits_mad(w, op, mask, all);
      return true;
    case OpKind::Carry:
      bits_carry(w, op, mask);
      return true;
    case OpKind::LdSym:
    case OpKind::Mov:
      bits_mov(w, op, mask, all);
      return true;
    case OpKind::Setp:
      bits_setp(w, op, mask);
      return true;
    case OpKind::PLogic:
      bits_plogic(w, op, mask);
      return true;
    case OpKind::PMov:
      write_pred(w, op.dst, *w.reg(op.src[0]), mask);
      return true;
    case OpKind::Selp:
      bits_selp(w, op, mask, all);
      return true;
    case OpKind::Pack:
      bits_pack(w, k, op, mask, all);
      return true;
    case OpKind::Unpack:
      bits_unpack(w, k, op, mask, all);
      return true;
    case OpKind::IsSpace:
      bits_isspace(w, op, mask);
      return true;
    case OpKind::Shfl:
      bits_shfl(w, op, mask, all);
      return true;
    case OpKind::Vote:
      bits_vote(w, op, mask);
      return true;
    case OpKind::Match:
      bits_match(w, op, mask, all);
      return true;
    case OpKind::Redux:
      bits_redux(w, op, mask, all);
      return true;
    case OpKind::Elect:
      bits_elect(w, op, mask, all);
      return true;
    case OpKind::LaneMask: {
      uint32_t out[32];
      std::fill_n(out, 32, mask);
      write_word(w, op.dst, out, mask, all);
      return true;
    }
    default:
      return false;
  }
}

uint64_t bits_scalar(const MicroOp& op, uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
  return ieee_apply1(op.fn, op.type, op.mods, a, b, c, d);
}

uint64_t atom_apply(AtomFn fn, Ty type, uint64_t old, uint64_t b, uint64_t c) {
  uint64_t m = width_mask(type);
  old &= m;
  b &= m;
  Mods mods;
  bool fp = is_float(type) || type == Ty::F16x2 || type == Ty::BF16x2;
  switch (fn) {
    case AtomFn::Add:
      // atom.add.f32 on global memory flushes subnormals (PTX ISA 9.7.13.5).
      if (type == Ty::F16x2 || type == Ty::BF16x2) {
        Ty half = type == Ty::F16x2 ? Ty::F16 : Ty::BF16;
        uint64_t lo = ieee_apply1(Fn::Add, half, mods, old & 0xffff, b & 0xffff);
        uint64_t hi = ieee_apply1(Fn::Add, half, mods, old >> 16, b >> 16);
        return lo | hi << 16;
      }
      return ieee_apply1(fp ? Fn::Add : Fn::IAdd, type, mods, old, b);
    case AtomFn::Min:
      return ieee_apply1(fp ? Fn::Min : Fn::IMin, type, mods, old, b);
    case AtomFn::Max:
      return ieee_apply1(fp ? Fn::Max : Fn::IMax, type, mods, old, b);
    case AtomFn::And:
      return old & b;
    case AtomFn::Or:
      return old | b;
    case AtomFn::Xor:
      return old ^ b;
    case AtomFn::Exch:
      return b;
    case AtomFn::Cas:
      return old == b ? c & m : old;
    case AtomFn::Inc:
      return old >= b ? 0 : old + 1;
    case AtomFn::Dec:
      return old == 0 || old > b ? b : old - 1;
  }
  return old;
}

}  // namespace assay::machine
