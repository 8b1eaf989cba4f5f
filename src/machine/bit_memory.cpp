#include "machine/bit_memory.h"

#include <algorithm>
#include <cstring>

namespace assay::machine {
namespace {

template <class T>
uint64_t get_as(const uint8_t* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

// n is 1, 2, 4 or 8. A memcpy of variable size would be a call for every lane.
uint64_t get(const uint8_t* p, uint32_t n) {
  switch (n) {
    case 1:
      return *p;
    case 2:
      return get_as<uint16_t>(p);
    case 4:
      return get_as<uint32_t>(p);
    default:
      return get_as<uint64_t>(p);
  }
}

void put(uint8_t* p, uint64_t v, uint32_t n) {
  switch (n) {
    case 1:
      *p = static_cast<uint8_t>(v);
      break;
    case 2:
      std::memcpy(p, &v, 2);
      break;
    case 4:
      std::memcpy(p, &v, 4);
      break;
    default:
      std::memcpy(p, &v, 8);
  }
}

uint64_t extend(uint64_t v, Ty t) {
  uint32_t n = bits(t);
  if (is_signed(t) && n < 64 && ((v >> (n - 1)) & 1)) v |= ~uint64_t{0} << n;
  return v;
}

Space space_at(uint64_t addr) {
  if (addr < kSharedWindow) return Space::Global;
  if (addr < kSharedWindow + kWindowBytes) return Space::Shared;
  if (addr >= kLocalWindow && addr < kLocalWindow + kWindowBytes) return Space::Local;
  return Space::Global;  // parameters and module variables: by full address
}

uint64_t window_of(Space s) {
  return s == Space::Shared ? kSharedWindow : s == Space::Local ? kLocalWindow : 0;
}

}  // namespace

void lane_addresses(Warp& w, const MicroOp& op, uint32_t mask, LaneAddrs* out, uint32_t* rest) {
  *rest = 0;
  if (!op.num_src || !op.src[0]) {
    std::fill_n(out->addr, 32, static_cast<uint64_t>(op.imm));
  } else if (op.wide_src) {
    lanes().addr64(out->addr, w.reg64(op.src[0]), static_cast<uint64_t>(op.imm));
  } else {
    lanes().addr32(out->addr, w.reg(op.src[0]), static_cast<uint32_t>(op.imm));
  }
  out->space = op.space;
  if (op.space == Space::Const || op.space == Space::Param) out->space = Space::Global;
  if (op.space != Space::Generic) return;
  Space first = space_at(out->addr[std::countr_zero(mask)]);
  for (uint32_t l = 0; l < 32; ++l) {
    if (((mask >> l) & 1) && space_at(out->addr[l]) != first) *rest |= 1u << l;
  }
  out->space = first;
  if (uint64_t base = window_of(first)) {
    for (uint64_t& a : out->addr) a -= base;
  }
}

void BitMemory::begin_cta(Cta& cta) {
  cta.shared.assign(k_.shared_bytes(), 0);
  cta.local.assign(cta.warps.size(), {});
  if (k_.local_bytes) {
    for (auto& l : cta.local) l.assign((k_.local_bytes + 3) / 4 * 128, 0);
  }
}

void BitMemory::fault(Fault::Kind kind, Cta& cta, Warp& w, const MicroOp& op, const LaneAddrs& a,
                      uint32_t lanes, bool store) {
  stats_->fault_count += static_cast<uint64_t>(std::popcount(lanes));
  for (uint32_t l = 0; l < 32 && stats_->faults.size() < 64; ++l) {
    if (!((lanes >> l) & 1)) continue;
    stats_->faults.push_back({kind, a.space == Space::Shared ? MemSpace::Shared : MemSpace::Global,
                              a.addr[l], l, w.id, cta.linear, op.pc, store});
  }
}

void BitMemory::trap(Cta& cta, Warp& w, const MicroOp& op, uint32_t mask) {
  LaneAddrs none{};
  fault(Fault::Kind::Trap, cta, w, op, none, mask, false);
}

uint32_t BitMemory::admit(Cta& cta, Warp& w, const MicroOp& op, const LaneAddrs& a, uint32_t mask,
                          AccessKind kind, uint32_t n) {
  if (observer_ && (a.space == Space::Shared ||
                    (a.space == Space::Global && a.addr[std::countr_zero(mask)] < kSharedWindow))) {
    WarpAccess x;
    x.space = a.space == Space::Shared ? MemSpace::Shared : MemSpace::Global;
    x.kind = kind;
    x.strong = op.strong;
    x.bytes = static_cast<uint8_t>(n);
    x.warp = static_cast<uint8_t>(w.id);
    x.cta = x.owner_cta = cta.linear;
    x.mask = mask;
    x.pc = op.pc;
    x.addr = a.addr;
    mask = observer_->access(x);
  }
  bool store = kind != AccessKind::Read;
  uint32_t out = 0, odd = 0, fixed = 0;
  uint64_t limit = a.space == Space::Shared  ? cta.shared.size()
                   : a.space == Space::Local ? k_.local_bytes
                                             : 0;
  for (uint32_t l = 0; l < 32; ++l) {
    if (!((mask >> l) & 1)) continue;
    uint64_t x = a.addr[l];
    if (x & (n - 1)) {
      odd |= 1u << l;
    } else if (a.space == Space::Global) {
      const Device::Area* area = device_.find(x);
      if (!area || x - area->base + n > area->bytes) {
        out |= 1u << l;
      } else if (store && !area->writable) {
        fixed |= 1u << l;
      }
    } else if (x + n > limit || x + n < x) {
      out |= 1u << l;
    }
  }
  if (out) fault(Fault::Kind::OutOfBounds, cta, w, op, a, out, store);
  if (odd) fault(Fault::Kind::Misaligned, cta, w, op, a, odd, store);
  if (fixed) fault(Fault::Kind::ReadOnly, cta, w, op, a, fixed, store);
  return mask & ~(out | odd | fixed);
}

void BitMemory::pointers(Cta& cta, Warp& w, const LaneAddrs& a, uint32_t mask, uint8_t** out) {
  for (uint32_t l = 0; l < 32; ++l) {
    out[l] = nullptr;
    if (!((mask >> l) & 1)) continue;
    uint64_t x = a.addr[l];
    if (a.space == Space::Shared) {
      out[l] = cta.shared.data() + x;
    } else if (a.space == Space::Local) {
      out[l] = cta.local[w.id].data() + (x / 4 * 32 + l) * 4 + x % 4;
    } else {
      const Device::Area* area = device_.find(x);
      if (area && area->data) out[l] = area->data + (x - area->base);
    }
  }
}

// Bytes [first, first + bytes) in one piece, or null.
uint8_t* BitMemory::block_pointer(Cta& cta, const LaneAddrs& a, uint64_t first, uint64_t n,
                                  bool store) {
  if (a.space == Space::Shared) {
    return first + n <= cta.shared.size() ? cta.shared.data() + first : nullptr;
  }
  if (a.space != Space::Global) return nullptr;
  const Device::Area* area = device_.find(first);
  if (!area || !area->data || first - area->base + n > area->bytes || (store && !area->writable)) {
    return nullptr;
  }
  return area->data + (first - area->base);
}

// Full warps that read anywhere in one piece of memory.
bool BitMemory::gather_fast(Cta& cta, Warp& w, const MicroOp& op, const LaneAddrs& a) {
  const uint32_t n = bytes(op.type), total = n * op.vec;
  uint64_t low = a.addr[0], high = a.addr[0], odd = 0;
  for (uint64_t x : a.addr) low = std::min(low, x), high = std::max(high, x), odd |= x;
  if ((odd & (total - 1)) || high > ~uint64_t{0} - total || op.wide_dst != (n == 8)) return false;
  const uint8_t* p = block_pointer(cta, a, low, high - low + total, false);
  if (!p) return false;
  for (uint32_t e = 0; e < op.vec; ++e) {
    const RegRef d = k_.vecs[op.vecs + e];
    if (!d) continue;
    const uint8_t* q = p + e * n;
    if (n == 4) {
      uint32_t* r = w.reg(d);
      for (uint32_t l = 0; l < 32; ++l) std::memcpy(r + l, q + (a.addr[l] - low), 4);
    } else {
      uint64_t* r = w.reg64(d);
      for (uint32_t l = 0; l < 32; ++l) std::memcpy(r + l, q + (a.addr[l] - low), 8);
    }
  }
  return true;
}

// Full warps that read one run of memory, or one place.
bool BitMemory::load_fast(Cta& cta, Warp& w, const MicroOp& op, const LaneAddrs& a) {
  uint32_t n = bytes(op.type);
  if (a.space == Space::Local || n < 4) return false;
  uint32_t total = n * op.vec;
  AddrShape shape = lanes().shape(a.addr, total);
  if (shape == AddrShape::Other) return gather_fast(cta, w, op, a);
  if (a.addr[0] & (total - 1)) return false;
  bool uniform = shape == AddrShape::Uniform;
  uint8_t* p = block_pointer(cta, a, a.addr[0], uniform ? total : 32 * total, false);
  if (!p) return false;
  uint32_t lane_step = uniform ? 0 : total;
  for (uint32_t e = 0; e < op.vec; ++e) {
    RegRef d = k_.vecs[op.vecs + e];
    if (!d) continue;
    if (op.wide_dst != (n == 8)) return false;
    const uint8_t* q = p + e * n;
    if (n == 4) {
      uint32_t* r = w.reg(d);
      if (lane_step == 4) {
        std::memcpy(r, q, 128);
      } else if (!lane_step) {
        std::fill_n(r, 32, static_cast<uint32_t>(get(q, 4)));
      } else {
        for (uint32_t l = 0; l < 32; ++l) std::memcpy(r + l, q + l * lane_step, 4);
      }
    } else {
      uint64_t* r = w.reg64(d);
      for (uint32_t l = 0; l < 32; ++l) std::memcpy(r + l, q + l * lane_step, 8);
    }
  }
  return true;
}

// The memory of a single lane: of kernels that one thread of a warp runs. step: from one element to
// the next. Null: none, or bounds, alignment or the observer have a say.
uint8_t* BitMemory::lane_pointer(Cta& cta, Warp& w, const MicroOp& op, const LaneAddrs& a,
                                 uint32_t l, bool store, uint32_t* step) {
  const uint32_t n = bytes(op.type), total = n * op.vec;
  const uint64_t x = a.addr[l];
  if (observer_ || (x & (total - 1))) return nullptr;
  *step = n;
  if (a.space != Space::Local) return block_pointer(cta, a, x, total, store);
  if (n > 4 || x + total > k_.local_bytes || x + total < x) return nullptr;
  *step = 128;  // words: of smaller elements there is one alone
  if (n < 4 && op.vec != 1) return nullptr;
  return cta.local[w.id].data() + (x / 4 * 32 + l) * 4 + x % 4;
}

bool BitMemory::load_lane(Cta& cta, Warp& w, const MicroOp& op, const LaneAddrs& a, uint32_t l) {
  uint32_t step = 0;
  const uint8_t* p = lane_pointer(cta, w, op, a, l, false, &step);
  if (!p) return false;
  for (uint32_t e = 0; e < op.vec; ++e) {
    const RegRef d = k_.vecs[op.vecs + e];
    if (!d) continue;
    const RegInfo& info = k_.regs[d.id];
    const uint64_t v = extend(get(p + e * step, bytes(op.type)), op.type);
    if (info.file == RegFile::Double) {
      w.reg64(d)[l] = v;
    } else {
      const uint32_t width = bits(info.type);
      w.reg(d)[l] = static_cast<uint32_t>(v) & (width >= 32 ? ~0u : (1u << width) - 1);
    }
  }
  return true;
}

bool BitMemory::store_lane(Cta& cta, Warp& w, const MicroOp& op, const LaneAddrs& a, uint32_t l) {
  uint32_t step = 0;
  uint8_t* p = lane_pointer(cta, w, op, a, l, true, &step);
  if (!p) return false;
  for (uint32_t e = 0; e < op.vec; ++e) {
    const RegRef s = k_.vecs[op.vecs + e];
    const bool wide = k_.regs[s.id].file == RegFile::Double;
    put(p + e * step, wide ? w.reg64(s)[l] : w.reg(s)[l], bytes(op.type));
  }
  return true;
}

void BitMemory::load(Cta& cta, Warp& w, const MicroOp& op, const LaneAddrs& a, uint32_t mask,
                     bool all) {
  uint32_t n = bytes(op.type);
  if ((mask & (mask - 1)) == 0 &&
      load_lane(cta, w, op, a, static_cast<uint32_t>(std::countr_zero(mask))))
    return;
  if (mask == ~0u && !observer_ && load_fast(cta, w, op, a)) return;
  uint32_t ok = admit(cta, w, op, a, mask, AccessKind::Read, n * op.vec);
  uint8_t* p[32];
  pointers(cta, w, a, ok, p);
  bool split_words = a.space == Space::Local;  // elements of a lane are not adjacent
  for (uint32_t e = 0; e < op.vec; ++e) {
    RegRef d = k_.vecs[op.vecs + e];
    if (!d) continue;
    uint64_t v[32];
    for (uint32_t l = 0; l < 32; ++l) {
      v[l] = 0;
      if (!p[l]) continue;
      if (!split_words) {
        v[l] = extend(get(p[l] + e * n, n), op.type);
      } else if (n <= 4) {
        uint64_t at = a.addr[l] + e * n;
        v[l] = extend(get(cta.local[w.id].data() + (at / 4 * 32 + l) * 4 + at % 4, n), op.type);
      } else {
        uint64_t at = a.addr[l] + e * n;
        const uint8_t* q = cta.local[w.id].data() + (at / 4 * 32 + l) * 4;
        v[l] = get(q, 4) | get(q + 128, 4) << 32;
      }
    }
    if (k_.regs[d.id].file == RegFile::Double) {
      write_double(w, d, v, mask, all);
    } else {
      uint32_t tmp[32];
      uint32_t keep = bits(k_.regs[d.id].type) >= 32 ? ~0u : (1u << bits(k_.regs[d.id].type)) - 1;
      for (int l = 0; l < 32; ++l) tmp[l] = static_cast<uint32_t>(v[l]) & keep;
      write_word(w, d, tmp, mask, all);
    }
  }
}

bool BitMemory::store_fast(Cta& cta, Warp& w, const MicroOp& op, const LaneAddrs& a) {
  uint32_t n = bytes(op.type);
  if (a.space == Space::Local || n < 4) return false;
  uint32_t total = n * op.vec;
  if (lanes().shape(a.addr, total) != AddrShape::Contiguous || (a.addr[0] & (total - 1))) {
    return false;
  }
  uint8_t* p = block_pointer(cta, a, a.addr[0], 32 * total, true);
  if (!p) return false;
  for (uint32_t e = 0; e < op.vec; ++e) {
    RegRef s = k_.vecs[op.vecs + e];
    if (n == 4) {
      const uint32_t* r = w.reg(s);
      for (uint32_t l = 0; l < 32; ++l) std::memcpy(p + l * total + e * 4, r + l, 4);
    } else {
      const uint64_t* r = w.reg64(s);
      for (uint32_t l = 0; l < 32; ++l) std::memcpy(p + l * total + e * 8, r + l, 8);
    }
  }
  return true;
}

void BitMemory::store(Cta& cta, Warp& w, const MicroOp& op, const LaneAddrs& a, uint32_t mask) {
  uint32_t n = bytes(op.type);
  if ((mask & (mask - 1)) == 0 &&
      store_lane(cta, w, op, a, static_cast<uint32_t>(std::countr_zero(mask))))
    return;
  if (mask == ~0u && !observer_ && store_fast(cta, w, op, a)) return;
  uint32_t ok = admit(cta, w, op, a, mask, AccessKind::Write, n * op.vec);
  uint8_t* p[32];
  pointers(cta, w, a, ok, p);
  for (uint32_t e = 0; e < op.vec; ++e) {
    RegRef s = k_.vecs[op.vecs + e];
    bool wide = k_.regs[s.id].file == RegFile::Double;
    for (uint32_t l = 0; l < 32; ++l) {
      if (!p[l]) continue;
      uint64_t v = wide ? w.reg64(s)[l] : w.reg(s)[l];
      if (a.space != Space::Local) {
        put(p[l] + e * n, v, n);
      } else {
        uint64_t at = a.addr[l] + e * n;
        uint8_t* q = cta.local[w.id].data() + (at / 4 * 32 + l) * 4 + at % 4;
        put(q, v, std::min(n, 4u));
        if (n == 8) put(q + 128, v >> 32, 4);
      }
    }
  }
}

void BitMemory::atomic(Cta& cta, Warp& w, const MicroOp& op, const LaneAddrs& a, uint32_t mask) {
  uint32_t n = bytes(op.type);
  uint32_t ok = admit(cta, w, op, a, mask, AccessKind::Atomic, n);
  uint8_t* p[32];
  pointers(cta, w, a, ok, p);
  bool wide = n == 8;
  uint64_t old[32] = {};
  for (uint32_t l = 0; l < 32; ++l) {  // lanes in order: one of the orders that a GPU may take
    if (!p[l]) continue;
    uint64_t b = wide ? w.reg64(op.src[1])[l] : w.reg(op.src[1])[l];
    uint64_t c = op.num_src < 3 ? 0 : wide ? w.reg64(op.src[2])[l] : w.reg(op.src[2])[l];
    old[l] = get(p[l], n);
    put(p[l], atom_apply(static_cast<AtomFn>(op.mode), op.type, old[l], b, c), n);
  }
  if (!op.dst) return;
  if (wide) {
    write_double(w, op.dst, old, mask, false);
  } else {
    uint32_t tmp[32];
    for (int l = 0; l < 32; ++l) tmp[l] = static_cast<uint32_t>(old[l]);
    write_word(w, op.dst, tmp, mask, false);
  }
}

// A word of global memory into a word, by one lane: what kernels that one thread runs do most.
bool BitMemory::load_word(Warp& w, const MicroOp& op, uint32_t mask) {
  if ((mask & (mask - 1)) != 0 || observer_ || op.kind != OpKind::Ld || op.vec != 1 ||
      (op.space != Space::Global && op.space != Space::Generic) || bytes(op.type) != 4 ||
      !op.num_src || !op.src[0] || !op.wide_src)
    return false;
  const auto l = static_cast<uint32_t>(std::countr_zero(mask));
  const uint64_t at = w.reg64(op.src[0])[l] + static_cast<uint64_t>(op.imm);
  const Device::Area* area = device_.find(at);
  const RegRef d = k_.vecs[op.vecs];
  if (!area || !area->data || (at & 3) != 0 || at - area->base + 4 > area->bytes || !d ||
      k_.regs[d.id].file != RegFile::Word || bits(k_.regs[d.id].type) != 32)
    return false;
  std::memcpy(w.reg(d) + l, area->data + (at - area->base), 4);
  return true;
}

void BitMemory::memory(Cta& cta, Warp& w, const MicroOp& op, uint32_t mask, bool all) {
  if (load_word(w, op, mask)) return;
  if (op.kind == OpKind::Clock) {
    uint64_t v[32];
    std::fill_n(v, 32, stats_->warp_instructions);
    uint32_t u[32] = {};
    if (op.wide_dst) {
      write_double(w, op.dst, v, mask, false);
    } else {
      write_word(w, op.dst, u, mask, false);
    }
    return;
  }
  for (uint32_t todo = mask; todo;) {
    LaneAddrs a;
    uint32_t rest = 0;
    if (!lane_address(w, op, todo, &a)) lane_addresses(w, op, todo, &a, &rest);
    uint32_t now = todo & ~rest;
    bool whole = all && now == mask;
    if (op.kind == OpKind::Ld) load(cta, w, op, a, now, whole);
    if (op.kind == OpKind::St) store(cta, w, op, a, now);
    if (op.kind == OpKind::Atom) atomic(cta, w, op, a, now);
    todo = rest;
  }
}

}  // namespace assay::machine
