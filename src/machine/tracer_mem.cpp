// The trace domain: loads.
#include "machine/tracer.h"

namespace assay::machine {

Ty Tracer::buffer_type(int buffer) const {
  const BufferEnv* e = buffer_env(buffer);
  return e ? e->type : Ty::B32;
}

const BufferEnv* Tracer::buffer_env(int buffer) const {
  return buffer >= 0 && static_cast<size_t>(buffer) < env_.size()
             ? &env_[static_cast<size_t>(buffer)]
             : nullptr;
}

Cells& Tracer::cells_of(const Cta&, const Warp& w, Space space) {
  return space == Space::Shared ? shared_ : space == Space::Local ? local_[w.id] : global_;
}

// Local memory: the same word of all 32 lanes is adjacent.
uint64_t Tracer::cell_address(const Warp&, const LaneAddrs& a, uint32_t lane,
                              uint32_t offset) const {
  uint64_t x = a.addr[lane] + offset;
  if (a.space != Space::Local) return x;
  return (x / 4 * 32 + lane) * 4 + x % 4;
}

uint32_t Tracer::admit(Cta& cta, Warp& w, const MicroOp& op, const LaneAddrs& a, uint32_t mask,
                       AccessKind kind, uint32_t n) {
  bool tracked = a.space == Space::Shared ||
                 (a.space == Space::Global && a.addr[std::countr_zero(mask)] < kSharedWindow);
  if (observer_ && tracked) {
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
    if (!mask) return 0;
  }
  uint64_t limit = a.space == Space::Shared  ? k_.shared_bytes()
                   : a.space == Space::Local ? k_.local_bytes
                                             : 0;
  uint32_t out = 0, odd = 0;
  if (mask == ~0u) {  // the whole range at once
    AddrShape shape = lanes().shape(a.addr, n);
    if (shape != AddrShape::Other && (a.addr[0] & (n - 1)) == 0) {
      uint64_t end = a.addr[shape == AddrShape::Uniform ? 0 : 31] + n;
      if (a.space == Space::Global) {
        const Device::Area* area = device_.find(a.addr[0]);
        if (area && end - area->base <= area->bytes &&
            (kind == AccessKind::Read || area->writable)) {
          return mask;
        }
      } else if (end <= limit && end >= n) {
        return mask;
      }
    }
  }
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    auto l = static_cast<uint32_t>(std::countr_zero(rest));
    uint64_t x = a.addr[l];
    if (x & (n - 1)) {
      odd |= 1u << l;
    } else if (a.space == Space::Global) {
      const Device::Area* area = device_.find(x);
      if (!area || x - area->base + n > area->bytes ||
          (kind != AccessKind::Read && !area->writable)) {
        out |= 1u << l;
      }
    } else if (x + n > limit || x + n < x) {
      out |= 1u << l;
    }
  }
  for (uint32_t bad : {out, odd}) {
    if (!bad) continue;
    AccessFault f;
    f.address = a.addr[std::countr_zero(bad)] + (a.space == Space::Shared  ? kSharedWindow
                                                 : a.space == Space::Local ? kLocalWindow
                                                                           : 0);
    f.lanes = bad;
    f.bytes = static_cast<uint8_t>(n);
    f.store = kind != AccessKind::Read;
    f.misaligned = bad == odd;
    f.pred = b_.land(path_, guard_);
    f.pc = op.pc;
    f.cta = cta.linear;
    if (b_.trace.faults.size() < 4096) b_.trace.faults.push_back(f);
  }
  return mask & ~(out | odd);
}

// No lane's bytes were written by this CTA.
bool Tracer::untouched(const LaneAddrs& a, uint32_t mask, uint32_t n) {
  if (!global_dirty_) return true;
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    auto l = static_cast<uint32_t>(std::countr_zero(rest));
    for (uint64_t word = a.addr[l] / 4; word <= (a.addr[l] + n - 1) / 4; ++word) {
      CellPage* p = global_.find(word);
      if (p && p->tag[word % CellPage::kWords]) return false;
    }
  }
  return true;
}

void Tracer::load_slow_piece(Warp& w, const MicroOp& op, const LaneAddrs& a, uint32_t mask,
                             uint32_t offset, RegRef d) {
  LaneVal v[32];
  for (uint32_t l = 0; l < 32; ++l) {
    if ((mask >> l) & 1) {
      v[l] = read_value(global_, a.space, a.addr[l] + offset, bytes(op.type), 0);
    }
  }
  gather_lanes(w, d, mask, v, k_.regs[d.id].type, op.type);
}

// Words of one node anywhere in a page: rows of a tile that is smaller than a warp.
bool Tracer::load_shared_lanes(Warp& w, const MicroOp& op) {
  const uint32_t* base = w.reg(op.src[0]);
  const auto imm = static_cast<uint32_t>(op.imm);
  const uint32_t first = base[0] + imm;
  CellPage* page = shared_.find(first / 4);
  const RegRef d = k_.vecs[op.vecs];
  const uint32_t start = first / 4 / CellPage::kWords * CellPage::kWords * 4;
  const uint32_t size = k_.shared_bytes();
  if (!page || !d || bits(k_.regs[d.id].type) != 32 || size < start + 4) return false;
  const uint32_t last = std::min(CellPage::kWords * 4, size - start) - 4;
  const CellTag tag = page->tag[first / 4 % CellPage::kWords];
  if (tag_kind(tag) != CellKind::Word || (tag & kBoth)) return false;
  LaneMap lane;
  CellTag other = 0;  // differences beside the lane
  uint32_t beyond = 0, odd = 0;
  for (uint32_t l = 0; l < kLanes; ++l) {
    const uint32_t at = base[l] + imm - start;  // wraps where it lies before the page
    odd |= at;
    beyond |= static_cast<uint32_t>(at > last);
    const CellTag t = page->tag[at / 4 % CellPage::kWords];
    lane[l] = tag_lane(t);
    other |= (t ^ tag) >> 8;
  }
  if (beyond || odd % 4 != 0 || other != 0) return false;
  assign_plain(w, d, ~0u, b_.perm(tag_node(tag), lane));
  return true;
}

// The usual load of a whole warp: words of shared memory at one address or at adjacent ones, as
// they were stored. False: nothing is done.
bool Tracer::load_shared_words(Warp& w, const MicroOp& op) {
  const uint32_t n = 4 * op.vec;
  const uint32_t* base = w.reg(op.src[0]);
  const AddrShape shape = lanes().shape32(base, n);
  if (shape == AddrShape::Other && op.vec == 1) return load_shared_lanes(w, op);
  if (shape == AddrShape::Other || (shape == AddrShape::Contiguous && op.vec != 1)) return false;
  const uint64_t first = static_cast<uint32_t>(base[0] + static_cast<uint32_t>(op.imm));
  const uint64_t end = first + n + (shape == AddrShape::Contiguous ? 31 * n : 0);
  if (first % n != 0 || end > k_.shared_bytes()) return false;
  CellPage* page = shared_.find(first / 4);
  const auto at = static_cast<uint32_t>(first / 4 % CellPage::kWords);
  if (!page || at + (end - first) / 4 > CellPage::kWords) return false;
  for (uint32_t e = 0; e < op.vec; ++e) {
    const RegRef d = k_.vecs[op.vecs + e];
    const CellTag t = page->tag[at + e];
    if (d && (tag_kind(t) != CellKind::Word || (t & kBoth) || bits(k_.regs[d.id].type) != 32))
      return false;
  }
  if (shape == AddrShape::Contiguous) {
    const CellTag t = page->tag[at];
    if (tag_lane(t) != 0 || !lanes().is_run(&page->tag[at], t)) return false;
    if (const RegRef d = k_.vecs[op.vecs]) assign_plain(w, d, ~0u, tag_node(t));
    return true;
  }
  for (uint32_t e = 0; e < op.vec; ++e) {
    const CellTag t = page->tag[at + e];
    if (const RegRef d = k_.vecs[op.vecs + e])
      assign_plain(w, d, ~0u, b_.bcast(tag_node(t), tag_lane(t)));
  }
  return true;
}

// One lane reads whole elements of a buffer that the CTA has not written there: of kernels that one
// thread of a warp runs. False: nothing is done.
bool Tracer::load_lane(Warp& w, const MicroOp& op, uint32_t mask) {
  const auto l = static_cast<uint32_t>(std::countr_zero(mask));
  const RegRef base = op.src[0];
  if (!known(w, base, mask)) return false;
  const auto imm = static_cast<uint64_t>(op.imm);
  const uint64_t at =
      op.wide_src ? w.reg64(base)[l] + imm : static_cast<uint32_t>(w.reg(base)[l] + imm);
  const Device::Area* area = device_.find(at);
  if (!area || static_cast<size_t>(area->buffer) >= plain_.size()) return false;
  const uint32_t n = bytes(op.type), total = n * op.vec;
  const PlainBuffer buffer = plain_[static_cast<size_t>(area->buffer)];
  if (buffer.bytes != n || (at & (total - 1)) != 0 || at - area->base + total > area->bytes)
    return false;
  if (!scattered_.empty() && scattered_.count(area->buffer)) return false;
  for (uint64_t word = at / 4; global_dirty_ && word <= (at + total - 1) / 4; ++word) {
    const CellPage* p = global_.find(word);
    if (p && p->tag[word % CellPage::kWords]) return false;
  }
  const auto first = static_cast<int64_t>((at - area->base) >> std::countr_zero(n));
  for (uint32_t k = 0; k < op.vec; ++k) {
    if (const RegRef d = k_.vecs[op.vecs + k])
      assign_plain(w, d, mask, b_.input(buffer.stream, first + k));
  }
  return true;
}

bool Tracer::load(Cta& cta, Warp& w, const MicroOp& op, uint32_t mask) {
  if (op.num_src && !known(w, op.src[0], mask)) return symbolic_load(cta, w, op, mask);
  if (mask == ~0u && op.space == Space::Shared && bytes(op.type) == 4 && op.num_src && op.src[0] &&
      !op.wide_src && guard_ == kNoNode && !observer_ && load_shared_words(w, op))
    return true;
  uint32_t n = bytes(op.type);
  for (uint32_t todo = mask; todo;) {
    LaneAddrs a;
    uint32_t rest = 0;
    lane_addresses(w, op, todo, &a, &rest);
    uint32_t now = todo & ~rest;
    todo = rest;
    uint32_t ok = admit(cta, w, op, a, now, AccessKind::Read, n * op.vec);
    for (uint32_t e = 0; e < op.vec; ++e) {
      RegRef d = k_.vecs[op.vecs + e];
      if (!d) continue;
      if (uint32_t bad = now & ~ok) {
        assign(w, d, bad, b_.undef(k_.regs[d.id].type, UndefReason::OutOfBounds));
      }
      if (!ok) continue;
      uint32_t offset = e * n;
      if (a.space == Space::Global) {
        // All lanes in one area that the CTA has not written: straight from the contents.
        const Device::Area* area = device_.find(a.addr[std::countr_zero(ok)]);
        bool one = area != nullptr;
        for (uint32_t left = ok; left && one; left &= left - 1) {
          one = a.addr[std::countr_zero(left)] - area->base < area->bytes;
        }
        if (one && !scattered_.empty() && scattered_.count(area->buffer)) {
          return fail_here(op, DiagKind::Unsupported,
                           "load from memory that was written at a data-dependent address");
        }
        LaneAddrs at = a;
        if (offset && global_dirty_) {
          for (uint64_t& x : at.addr) x += offset;
        }
        if (one && untouched(at, ok, n)) {
          base_load(w, op, a, ok, offset, d, *area);
          continue;
        }
      }
      if (n == 4 && bits(k_.regs[d.id].type) == 32 && load_word(cta, w, op, a, ok, offset, d)) {
        continue;
      }
      load_slow(cta, w, op, a, ok, offset, d);
    }
  }
  return !has_error_;
}

// 32-bit words from memory that was written word by word.
bool Tracer::load_word(Cta& cta, Warp& w, const MicroOp&, const LaneAddrs& a, uint32_t mask,
                       uint32_t offset, RegRef d) {
  Cells& cells = cells_of(cta, w, a.space);
  CellTag tag[32];
  uint32_t word_bits[32];
  uint32_t first = static_cast<uint32_t>(std::countr_zero(mask));
  uint64_t a0 = cell_address(w, a, first, offset) / 4;
  CellPage* page = cells.find(a0);
  if (!page) return false;
  if (mask == ~0u && a.space != Space::Local) {
    AddrShape shape = lanes().shape(a.addr, 4);
    uint32_t i = a0 % CellPage::kWords;
    if (shape == AddrShape::Uniform) {
      CellTag t = page->tag[i];
      if (tag_kind(t) == CellKind::Word && !(t & kBoth)) {
        assign(w, d, mask, b_.bcast(tag_node(t), tag_lane(t)));
        return true;
      }
    } else if (shape == AddrShape::Contiguous && i + 32 <= CellPage::kWords) {
      CellTag t = page->tag[i];
      if (tag_kind(t) == CellKind::Word && !(t & kBoth) && tag_lane(t) == 0 &&
          lanes().is_run(&page->tag[i], t)) {
        assign(w, d, mask, tag_node(t));
        return true;
      }
    }
  }
  CellTag all_or = 0, all_and = ~uint64_t{0};
  for (uint32_t l = 0; l < 32; ++l) {
    if (!((mask >> l) & 1)) continue;
    uint64_t word = cell_address(w, a, l, offset) / 4;
    CellPage* p = word / CellPage::kWords == a0 / CellPage::kWords ? page : cells.find(word);
    if (!p) return false;
    tag[l] = p->tag[word % CellPage::kWords];
    word_bits[l] = p->bits[word % CellPage::kWords];
    all_or |= tag[l];
    all_and &= tag[l];
  }
  if (tag_kind(all_or) != tag_kind(all_and)) return false;  // kinds differ
  CellKind kind = tag_kind(all_or);
  bool conditional = guard_ != kNoNode;
  if (kind == CellKind::Bits) {
    if (conditional) return false;
    write_word(w, d, word_bits, mask, mask == w.alive);
    assign_bits(w, d, mask);
    return true;
  }
  if (kind != CellKind::Word) return false;
  std::array<NodeId, kLanes> node{};
  LaneMap lane{};
  Ty t = Ty::None;
  bool one_type = true;
  for (uint32_t l = 0; l < 32; ++l) {
    if (!((mask >> l) & 1)) continue;
    node[l] = tag_node(tag[l]);
    lane[l] = tag_lane(tag[l]);
    Ty u = b_.type_of(node[l]);
    if (t == Ty::None) t = u;
    one_type = one_type && t == u;
  }
  if (!one_type) return false;
  NodeId g = b_.gather(node, lane);
  if ((all_and & kBoth) && !conditional) {
    write_word(w, d, word_bits, mask, mask == w.alive);
    assign_both(w, d, mask, g);
  } else {
    assign(w, d, mask, g);
  }
  return true;
}

void Tracer::load_slow(Cta& cta, Warp& w, const MicroOp& op, const LaneAddrs& a, uint32_t mask,
                       uint32_t offset, RegRef d) {
  Cells& cells = cells_of(cta, w, a.space);
  LaneVal v[32];
  uint32_t step = a.space == Space::Local ? 128 : 4;
  uint32_t n = bytes(op.type);
  bool composite = false;
  for (uint32_t l = 0; l < 32; ++l) {
    if (!((mask >> l) & 1)) continue;
    v[l] = read_value(cells, a.space, cell_address(w, a, l, offset), n, step, false);
    composite = composite || v[l].composite;
  }
  if (!composite) {
    gather_lanes(w, d, mask, v, k_.regs[d.id].type, op.type);
    return;
  }
  NodeId x = load_node(cells, w, a, mask, offset, n);
  assign(w, d, mask, extend_node(x, op.type, k_.regs[d.id].type, op.pc));
}

// All lanes' values as one node; values that were stored in pieces are joined for all lanes at
// once.
NodeId Tracer::load_node(Cells& cells, const Warp& w, const LaneAddrs& a, uint32_t mask,
                         uint32_t offset, uint32_t n) {
  LaneVal v[32];
  Ty t = Ty::None;
  for (uint32_t l = 0; l < 32; ++l) {
    if (!((mask >> l) & 1)) continue;
    v[l] = read_value(cells, a.space, cell_address(w, a, l, offset), n,
                      a.space == Space::Local ? 128 : 4, false);
    if (v[l].composite) {
      NodeId lo = load_node(cells, w, a, mask, offset, n / 2);
      NodeId hi = load_node(cells, w, a, mask, offset + n / 2, n / 2);
      return b_.pack(lo, hi, int_type(n), 0);
    }
    if (v[l].node == kNoNode || b_.is_undef(v[l].node)) continue;
    Ty u = b_.type_of(v[l].node);
    if (t == Ty::None || (is_float(u) && !is_float(t))) t = u;
  }
  if (t == Ty::None || bytes(t) != n) t = int_type(n);
  std::array<NodeId, kLanes> node{};
  LaneMap lane{};
  for (uint32_t l = 0; l < 32; ++l) {
    if ((mask >> l) & 1) node[l] = node_of(v[l], t, &lane[l]);
  }
  return b_.gather(node, lane);
}

}  // namespace assay::machine
