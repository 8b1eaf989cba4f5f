// The trace domain: loads.
#include <algorithm>
#include <cstring>

#include "machine/tracer.h"

namespace assay::machine {
namespace {

uint64_t width_keep(uint32_t n) { return n >= 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * n)) - 1; }

Ty int_type(uint32_t n) { return n == 1 ? Ty::U8 : n == 2 ? Ty::U16 : n == 4 ? Ty::U32 : Ty::U64; }

uint64_t extend(uint64_t v, Ty t) {
  uint32_t n = bits(t);
  if (is_signed(t) && n < 64 && ((v >> (n - 1)) & 1)) v |= ~uint64_t{0} << n;
  return v;
}

}  // namespace

std::vector<uint64_t> Cells::page_numbers() const {
  std::vector<uint64_t> out;
  for (const auto& [n, page] : pages_) out.push_back(n);
  std::sort(out.begin(), out.end());
  return out;
}

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
  for (uint32_t l = 0; l < 32; ++l) {
    if (!((mask >> l) & 1)) continue;
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
  for (uint32_t l = 0; l < 32; ++l) {
    if (!((mask >> l) & 1)) continue;
    for (uint64_t word = a.addr[l] / 4; word <= (a.addr[l] + n - 1) / 4; ++word) {
      CellPage* p = global_.find(word);
      if (p && p->tag[word % CellPage::kWords]) return false;
    }
  }
  return true;
}

NodeId Tracer::input_node(int buffer, const int64_t* element, uint32_t mask, uint32_t step) {
  const BufferEnv* e = buffer_env(buffer);
  InputPayload in;
  in.buffer = buffer;
  in.version = e ? e->version : 0;
  in.type = e ? e->type : Ty::B32;
  uint32_t first = static_cast<uint32_t>(std::countr_zero(mask));
  // Affine in the lane? Inactive lanes take part in no claim and may be filled in.
  int64_t stride = 0;
  uint32_t others = mask & (mask - 1);
  bool affine = true;
  if (others) {
    auto second = static_cast<uint32_t>(std::countr_zero(others));
    int64_t d = element[second] - element[first];
    int64_t n = static_cast<int64_t>(second) - first;
    affine = d % n == 0;
    stride = affine ? d / n : 0;
    for (uint32_t l = first; l < 32 && affine; ++l) {
      if ((mask >> l) & 1) {
        affine = element[l] == element[first] + (static_cast<int64_t>(l) - first) * stride;
      }
    }
  }
  (void)step;
  if (affine && mask == ~0u) {
    in.first = element[0];
    in.stride = stride;
  } else {
    in.elements.resize(kLanes, -1);
    for (uint32_t l = 0; l < 32; ++l) {
      if ((mask >> l) & 1) in.elements[l] = element[l];
    }
  }
  return b_.input(std::move(in));
}

// A load from memory that this CTA has not written: one kind of contents for all lanes.
void Tracer::base_load(Warp& w, const MicroOp& op, const LaneAddrs& a, uint32_t mask,
                       uint32_t offset, RegRef d, const Device::Area& area) {
  uint32_t n = bytes(op.type);
  const BufferEnv* e = buffer_env(area.buffer);
  bool known_bytes = !e || e->content == BufferEnv::Content::Bytes;
  if (known_bytes && area.data) {
    bool wide = k_.regs[d.id].file == RegFile::Double;
    if (guard_ != kNoNode || !tainted(d)) {
      LaneVal v[32];
      for (uint32_t l = 0; l < 32; ++l) {
        if (!((mask >> l) & 1)) continue;
        v[l].known = true;
        std::memcpy(&v[l].bits, area.data + (a.addr[l] + offset - area.base), n);
      }
      gather_lanes(w, d, mask, v, k_.regs[d.id].type, op.type);
      return;
    }
    uint64_t keep = width_keep(bytes(k_.regs[d.id].type));
    for (uint32_t l = 0; l < 32; ++l) {
      if (!((mask >> l) & 1)) continue;
      uint64_t v = 0;
      std::memcpy(&v, area.data + (a.addr[l] + offset - area.base), n);
      v = extend(v, op.type) & keep;
      if (wide) {
        w.reg64(d)[l] = v;
      } else {
        w.reg(d)[l] = static_cast<uint32_t>(v);
      }
    }
    assign_bits(w, d, mask);
    return;
  }
  Ty reg = k_.regs[d.id].type;
  if (e && e->content == BufferEnv::Content::Poison) {
    assign(w, d, mask, b_.undef(reg, UndefReason::Uninitialised));
    return;
  }
  Ty et = buffer_type(area.buffer);
  uint32_t es = std::max(1u, bytes(et));
  NodeId node = kNoNode;
  int64_t element[32] = {};
  auto at = [&](uint32_t add) {
    for (uint32_t l = 0; l < 32; ++l) {
      if ((mask >> l) & 1) {
        element[l] = static_cast<int64_t>((a.addr[l] + offset + add - area.base) / es);
      }
    }
    return input_node(area.buffer, element, mask, 0);
  };
  if (n == es) {
    node = at(0);
  } else if (n > es && n % es == 0) {  // several elements side by side
    std::vector<NodeId> part;
    for (uint32_t i = 0; i < n / es; ++i) part.push_back(at(i * es));
    while (part.size() > 1) {
      std::vector<NodeId> next;
      for (size_t i = 0; i + 1 < part.size(); i += 2) {
        next.push_back(
            b_.pack(part[i], part[i + 1], int_type(2 * bytes(b_.type_of(part[i]))), op.pc));
      }
      part = std::move(next);
    }
    node = part[0];
  } else {  // a piece of an element: the same piece in all lanes, or lane by lane
    uint64_t piece = 0;
    bool same = true, first = true;
    for (uint32_t l = 0; l < 32; ++l) {
      if (!((mask >> l) & 1)) continue;
      uint64_t p = (a.addr[l] + offset - area.base) % es / n;
      same = same && (first || p == piece);
      piece = p;
      first = false;
    }
    if (!same) return load_slow_piece(w, op, a, mask, offset, d);
    node = at(0);
    for (uint32_t width = es; width > n; width /= 2) {
      uint32_t half = width / 2;
      node = b_.half(node, (piece * n % width) >= half);
    }
  }
  if (is_signed(op.type) && bits(reg) > bits(op.type)) {
    Mods m;
    m.type2 = op.type;
    Ty wide = bits(reg) == 64 ? Ty::S64 : bits(reg) == 32 ? Ty::S32 : Ty::S16;
    node = b_.apply(Fn::CvtII, wide, m, op.pc, b_.convert(node, op.type));
  } else if (bits(reg) > bits(op.type)) {
    node = b_.convert(node, reg);
  }
  assign(w, d, mask, node);
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

bool Tracer::load(Cta& cta, Warp& w, const MicroOp& op, uint32_t mask) {
  if (op.num_src && !known(w, op.src[0], mask)) return symbolic_load(cta, w, op, mask);
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
        for (uint32_t l = 0; l < 32 && one; ++l) {
          one = !((ok >> l) & 1) || a.addr[l] - area->base < area->bytes;
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

// What lies under a byte that nothing wrote.
ByteRef Tracer::base_byte(Space space, uint64_t addr) {
  ByteRef r;
  if (space == Space::Global) {
    const Device::Area* area = device_.find(addr);
    const BufferEnv* e = area ? buffer_env(area->buffer) : nullptr;
    if (area && area->data && (!e || e->content == BufferEnv::Content::Bytes)) {
      r.kind = ByteRef::Kind::Bits;
      r.bits = area->data[addr - area->base];
      return r;
    }
    if (area && e && e->content == BufferEnv::Content::Symbolic) {
      uint32_t es = std::max(1u, bytes(e->type));
      auto element = static_cast<int64_t>((addr - area->base) / es);
      InputPayload in;
      in.buffer = area->buffer;
      in.version = e->version;
      in.type = e->type;
      in.first = element;
      r.kind = ByteRef::Kind::Node;
      r.node = b_.input(std::move(in));
      r.index = static_cast<uint8_t>((addr - area->base) % es);
      return r;
    }
  }
  r.kind = ByteRef::Kind::Node;
  r.node = b_.undef(Ty::B8, UndefReason::Uninitialised);
  return r;
}

ByteRef Tracer::read_byte(Cells& cells, Space space, uint64_t addr) {
  uint64_t word = addr / 4;
  CellPage* p = cells.find(word);
  uint32_t i = word % CellPage::kWords;
  CellTag t = p ? p->tag[i] : 0;
  ByteRef r;
  auto at = static_cast<uint8_t>(addr % 4);
  switch (tag_kind(t)) {
    case CellKind::Untouched:
      return base_byte(space, addr);
    case CellKind::Bits:
      r.kind = ByteRef::Kind::Bits;
      r.bits = static_cast<uint8_t>(p->bits[i] >> (8 * at));
      return r;
    case CellKind::Word:
    case CellKind::Low:
    case CellKind::High:
      r.kind = ByteRef::Kind::Node;
      r.node = tag_node(t);
      r.lane = tag_lane(t);
      r.index = static_cast<uint8_t>(at + (tag_kind(t) == CellKind::High ? 4 : 0));
      return r;
    case CellKind::Parts:
      r = parts_[tag_node(t)][at];
      return r.kind == ByteRef::Kind::Untouched ? base_byte(space, addr) : r;
    case CellKind::Undef:
      r.kind = ByteRef::Kind::Node;
      r.node = tag_node(t);
      return r;
  }
  return r;
}

// n bytes that make one value.
Tracer::LaneVal Tracer::join_bytes(const ByteRef* b, uint32_t n, Ty hint, bool join) {
  LaneVal v;
  bool all_bits = true;
  for (uint32_t i = 0; i < n; ++i) {
    all_bits = all_bits && b[i].kind == ByteRef::Kind::Bits;
    v.bits |= uint64_t{b[i].bits} << (8 * i);
    if (b[i].kind == ByteRef::Kind::Node && b_.is_undef(b[i].node)) {
      v.node = b_.undef(hint, static_cast<UndefReason>(b_.trace.nodes[b[i].node].b));
      return v;
    }
  }
  if (all_bits) {
    v.known = true;
    return v;
  }
  v.bits = 0;
  if (b[0].kind == ByteRef::Kind::Node) {
    uint32_t width = bytes(b_.type_of(b[0].node));
    bool run = b[0].index % n == 0;
    for (uint32_t i = 1; i < n; ++i) {
      run = run && b[i].kind == ByteRef::Kind::Node && b[i].node == b[0].node &&
            b[i].lane == b[0].lane && b[i].index == b[0].index + i;
    }
    if (run) {  // a value, or an aligned piece of one
      v.node = b[0].node;
      v.lane = b[0].lane;
      for (uint32_t at = b[0].index; width > n; width /= 2) {
        bool high = at % width >= width / 2;
        v.node = b_.half(v.node, high);
      }
      return v;
    }
  }
  if (n == 1) {  // a constant byte cannot come here
    v.node = b_.undef(hint, UndefReason::Uninitialised);
    return v;
  }
  if (!join) {
    v.composite = true;
    return v;
  }
  Ty half_hint = int_type(n / 2);
  LaneVal part[2] = {join_bytes(b, n / 2, half_hint, true),
                     join_bytes(b + n / 2, n / 2, half_hint, true)};
  NodeId x[2];
  for (int i = 0; i < 2; ++i) {
    uint8_t lane = 0;
    x[i] = node_of(part[i], half_hint, &lane);
    x[i] = b_.bcast(x[i], lane);
  }
  v.node = b_.pack(x[0], x[1], hint, 0);
  v.lane = 0;
  return v;
}

// n bytes at a cell address; local_step: bytes from one word to the next.
Tracer::LaneVal Tracer::read_value(Cells& cells, Space space, uint64_t addr, uint32_t n,
                                   uint32_t local_step, bool join) {
  uint64_t word = addr / 4;
  CellPage* p = cells.find(word);
  uint32_t i = word % CellPage::kWords;
  CellTag t = p ? p->tag[i] : 0;
  LaneVal v;
  if (n == 4 && tag_kind(t) == CellKind::Word) {
    v.node = tag_node(t);
    v.lane = tag_lane(t);
    v.known = (t & kBoth) != 0;
    v.bits = v.known ? p->bits[i] : 0;
    return v;
  }
  uint64_t next = local_step ? addr + local_step : addr + 4;
  if (n == 8 && tag_kind(t) == CellKind::Low) {
    CellPage* q = cells.find(next / 4);
    CellTag u = q ? q->tag[next / 4 % CellPage::kWords] : 0;
    if (tag_kind(u) == CellKind::High && tag_node(u) == tag_node(t) && tag_lane(u) == tag_lane(t)) {
      v.node = tag_node(t);
      v.lane = tag_lane(t);
      v.known = (t & kBoth) && (u & kBoth);
      if (v.known) v.bits = p->bits[i] | uint64_t{q->bits[next / 4 % CellPage::kWords]} << 32;
      return v;
    }
  }
  ByteRef b[8];
  for (uint32_t k = 0; k < n; ++k) {
    uint64_t at = n == 8 && k >= 4 ? next + (k - 4) : addr + k;
    b[k] = read_byte(cells, space, at);
  }
  return join_bytes(b, n, int_type(n), join);
}

NodeId Tracer::node_of(const LaneVal& v, Ty type, uint8_t* lane) {
  *lane = v.lane;
  if (v.node != kNoNode) return b_.convert(v.node, type);
  *lane = 0;
  return b_.constant(type, bits(type) < 64 ? v.bits & width_keep(bytes(type)) : v.bits);
}

// Values of single lanes into a register of type `type`; `mem`: the type they have in memory.
void Tracer::gather_lanes(Warp& w, RegRef d, uint32_t mask, const LaneVal* v, Ty type, Ty mem) {
  bool wide = k_.regs[d.id].file == RegFile::Double;
  uint32_t known_lanes = 0, node_lanes = 0;
  Ty t = Ty::None;  // type of the node values: floats win over plain bits
  for (uint32_t l = 0; l < 32; ++l) {
    if (!((mask >> l) & 1)) continue;
    if (v[l].known) known_lanes |= 1u << l;
    if (v[l].node == kNoNode) continue;
    node_lanes |= 1u << l;
    Ty u = b_.type_of(v[l].node);
    if (b_.is_undef(v[l].node)) continue;
    if (t == Ty::None || (is_float(u) && !is_float(t))) t = u;
  }
  if (t == Ty::None || bits(t) != bits(mem)) t = mem;
  bool conditional = guard_ != kNoNode;
  auto put_bits = [&](uint32_t lanes_mask) {
    uint64_t keep = width_keep(bytes(type));
    for (uint32_t l = 0; l < 32; ++l) {
      if (!((lanes_mask >> l) & 1)) continue;
      uint64_t x = extend(v[l].bits & width_keep(bytes(mem)), mem) & keep;
      if (wide) {
        w.reg64(d)[l] = x;
      } else {
        w.reg(d)[l] = static_cast<uint32_t>(x);
      }
    }
  };
  if (!node_lanes && !conditional) {
    put_bits(mask);
    if (tainted(d)) assign_bits(w, d, mask);
    return;
  }
  std::array<NodeId, kLanes> node{};
  LaneMap lane{};
  std::array<uint64_t, kLanes> con{};
  uint32_t con_lanes = mask & ~node_lanes;
  for (uint32_t l = 0; l < 32; ++l) {
    con[l] = con_lanes ? v[std::countr_zero(con_lanes)].bits & width_keep(bytes(mem)) : 0;
    if ((con_lanes >> l) & 1) con[l] = v[l].bits & width_keep(bytes(mem));
  }
  NodeId con_node = con_lanes ? b_.const_vec(t, con) : kNoNode;
  for (uint32_t l = 0; l < 32; ++l) {
    if (!((mask >> l) & 1)) continue;
    lane[l] = static_cast<uint8_t>(l);
    node[l] = (con_lanes >> l) & 1 ? con_node : node_of(v[l], t, &lane[l]);
  }
  NodeId g = b_.gather(node, lane);
  if (bits(type) > bits(t)) {
    if (is_signed(mem)) {
      Mods m;
      m.type2 = mem;
      Ty to = bits(type) == 64 ? Ty::S64 : bits(type) == 32 ? Ty::S32 : Ty::S16;
      g = b_.apply(Fn::CvtII, to, m, 0, b_.convert(g, mem));
    } else {
      g = b_.convert(g, type);
    }
  }
  assign(w, d, mask, g);
  if (known_lanes && !conditional) {
    put_bits(known_lanes);
    state(w, d).conc |= known_lanes;
  }
}

}  // namespace assay::machine
