// The trace domain: stores, and what a CTA leaves in global memory.
#include <algorithm>
#include <cstring>

#include "machine/same_value.h"
#include "machine/tracer.h"

namespace assay::machine {

bool Tracer::store(Cta& cta, Warp& w, const MicroOp& op, uint32_t mask) {
  if (op.num_src && !known(w, op.src[0], mask)) return symbolic_store(cta, w, op, mask);
  uint32_t n = bytes(op.type);
  for (uint32_t todo = mask; todo;) {
    LaneAddrs a;
    uint32_t rest = 0;
    lane_addresses(w, op, todo, &a, &rest);
    uint32_t now = todo & ~rest;
    todo = rest;
    uint32_t ok = admit(cta, w, op, a, now, AccessKind::Write, n * op.vec);
    if (!ok) continue;
    ++stamp_;
    if (a.space == Space::Global) global_dirty_ = true;
    for (uint32_t e = 0; e < op.vec; ++e) {
      RegRef s = k_.vecs[op.vecs + e];
      if (ok == ~0u && store_run(cta, w, op, a, e, s)) continue;
      store_lanes(cta, w, op, a, ok, e * n, s);
    }
  }
  return !has_error_;
}

// A whole warp writes element e of 32 adjacent vectors of words.
bool Tracer::store_run(Cta& cta, Warp& w, const MicroOp& op, const LaneAddrs& a, uint32_t e,
                       RegRef s) {
  if (bytes(op.type) != 4 || a.space == Space::Local || guard_ != kNoNode || path_ != kNoNode) {
    return false;
  }
  const uint32_t vec = op.vec;
  if (lanes().shape(a.addr, 4 * vec) != AddrShape::Contiguous) return false;
  uint64_t word = a.addr[0] / 4 + e;
  uint32_t i = word % CellPage::kWords;
  if (i + 31 * vec >= CellPage::kWords || bits(k_.regs[s.id].type) != 32) return false;
  RegState plain;
  plain.conc = ~0u;
  const RegState& st = tainted(s) ? state(w, s) : plain;
  CellTag first = 0;
  if (st.nmask == ~0u && bits(b_.type_of(st.node)) == 32 && !b_.is_undef(st.node)) {
    if (st.conc != 0 && st.conc != ~0u) return false;
    first = make_tag(CellKind::Word, st.node) | (st.conc ? kBoth : 0);
  } else if (st.conc == ~0u && st.nmask == 0) {
    first = kBitsTag;
  } else {
    return false;
  }
  CellPage& p = cells_of(cta, w, a.space).make(word);
  uint64_t step = first == kBitsTag ? 0 : 1;
  if (vec != 1) {
    for (uint32_t l = 0, k = i; l < 32; ++l, k += vec) {
      p.tag[k] = first + l * step;
      if (st.conc) p.bits[k] = w.reg(s)[l];
      p.pc[k] = op.pc;
      p.stamp[k] = stamp_;
    }
    return true;
  }
  for (uint32_t l = 0; l < 32; ++l) p.tag[i + l] = first + l * step;
  if (st.conc) std::memcpy(&p.bits[i], w.reg(s), 128);
  std::fill_n(&p.pc[i], 32, op.pc);
  std::fill_n(&p.stamp[i], 32, stamp_);
  return true;
}

Tracer::LaneVal Tracer::lane_value(Warp& w, RegRef s, NodeId node, uint32_t l, Ty type,
                                   bool is_known) {
  LaneVal v;
  v.node = node;
  v.lane = static_cast<uint8_t>(l);
  v.known = is_known;
  if (is_known) {
    v.bits = lane_bits(w, s, l);
    if (bits(type) < 64) v.bits &= (uint64_t{1} << bits(type)) - 1;
  }
  return v;
}

void Tracer::store_lanes(Cta& cta, Warp& w, const MicroOp& op, const LaneAddrs& a, uint32_t mask,
                         uint32_t offset, RegRef s) {
  Cells& cells = cells_of(cta, w, a.space);
  uint32_t n = bytes(op.type);
  uint32_t local_step = a.space == Space::Local ? 128 : 4;
  uint32_t by_bits = 0, both = 0;
  if (!tainted(s)) {
    by_bits = mask;
  } else {
    const RegState& st = state(w, s);
    by_bits = mask & ~st.nmask & st.conc;
    both = mask & st.nmask & st.conc;
  }
  NodeId node = kNoNode;
  if (mask & ~by_bits) {
    node = fetch_raw(w, s, mask & ~by_bits);
    if (bits(b_.type_of(node)) != bits(op.type)) node = b_.convert(node, op.type);
  }
  NodeId cond = b_.land(path_, guard_);
  LaneVal v[32];
  for (uint32_t l = 0; l < 32; ++l) {
    if (!((mask >> l) & 1)) continue;
    bool is_bits = (by_bits >> l) & 1;
    v[l] = lane_value(w, s, is_bits ? kNoNode : node, l, op.type, is_bits || ((both >> l) & 1));
  }
  if (cond != kNoNode) {  // what was there stays where the condition fails
    LaneVal old[32];
    std::array<NodeId, kLanes> x{}, y{};
    LaneMap lx{}, ly{};
    Ty t = Ty::None;
    for (uint32_t l = 0; l < 32; ++l) {
      if (!((mask >> l) & 1)) continue;
      old[l] = read_value(cells, a.space, cell_address(w, a, l, offset), n, local_step);
      for (const LaneVal* z : {&v[l], &old[l]}) {
        if (z->node == kNoNode || b_.is_undef(z->node)) continue;
        Ty u = b_.type_of(z->node);
        if (bits(u) == bits(op.type) && (t == Ty::None || (is_float(u) && !is_float(t)))) t = u;
      }
    }
    if (t == Ty::None) t = op.type;
    for (uint32_t l = 0; l < 32; ++l) {
      if (!((mask >> l) & 1)) continue;
      x[l] = node_of(v[l], t, &lx[l]);
      y[l] = node_of(old[l], t, &ly[l]);
    }
    NodeId now = b_.select(cond, b_.gather(x, lx), b_.gather(y, ly), op.pc);
    for (uint32_t l = 0; l < 32; ++l) {
      if ((mask >> l) & 1) v[l] = LaneVal{now, static_cast<uint8_t>(l), false, 0};
    }
  }
  for (uint32_t l = 0; l < 32; ++l) {
    if (!((mask >> l) & 1)) continue;
    uint64_t at = cell_address(w, a, l, offset);
    CellPage& p = cells.make(at / 4);
    uint32_t i = at / 4 % CellPage::kWords;
    if (p.stamp[i] == stamp_ && a.space != Space::Local &&
        tag_kind(p.tag[i]) != CellKind::Untouched) {
      LaneVal before = read_value(cells, a.space, at, n, local_step);
      bool touched = true;
      if (tag_kind(p.tag[i]) == CellKind::Parts) {
        touched = parts_[tag_node(p.tag[i])][at % 4].kind != ByteRef::Kind::Untouched;
      }
      // Another lane (or element) of this instruction wrote here.
      bool same = before.node == v[l].node && before.lane == v[l].lane &&
                  before.known == v[l].known && before.bits == v[l].bits;
      bool same_bits = before.known && v[l].known && before.bits == v[l].bits;
      if (touched && !same && !same_bits && n >= 4 &&
          (before.composite ||
           !same_value(b_.trace, before.node, before.lane, v[l].node, v[l].lane))) {
        conflict(cta, op, a.space, at, l, v[l], before, 0);
        v[l] = LaneVal{b_.undef(op.type, UndefReason::Conflict), 0, false, 0};
      }
    }
    write_value(cells, a.space, at, n, v[l], op.pc, local_step);
  }
}

void Tracer::conflict(Cta& cta, const MicroOp& op, Space space, uint64_t addr, uint32_t lane,
                      const LaneVal& v, const LaneVal& before, uint32_t) {
  StoreConflict c;
  c.pc = op.pc;
  c.cta = cta.linear;
  c.byte = static_cast<int64_t>(addr);
  if (space == Space::Global) {
    const Device::Area* area = device_.find(addr);
    c.buffer = area ? area->buffer : -1;
    c.byte = area ? static_cast<int64_t>(addr - area->base) : c.byte;
  }
  c.lanes = 1u << lane | 1u << before.lane;
  c.value = {before.node, v.node};
  c.lane = {before.lane, v.lane};
  if (b_.trace.conflicts.size() < 4096) b_.trace.conflicts.push_back(c);
}

// Writes an n-byte value at a cell address.
void Tracer::write_value(Cells& cells, Space space, uint64_t addr, uint32_t n, const LaneVal& v,
                         uint32_t pc, uint32_t local_step) {
  auto word_at = [&](uint64_t at, CellTag tag, uint32_t value) {
    CellPage& p = cells.make(at / 4);
    uint32_t i = at / 4 % CellPage::kWords;
    p.tag[i] = tag;
    p.bits[i] = value;
    p.pc[i] = pc;
    p.stamp[i] = stamp_;
  };
  CellTag both = v.known ? kBoth : 0;
  bool undef = v.node != kNoNode && b_.is_undef(v.node);
  if (n >= 4) {
    for (uint32_t h = 0; h < n / 4; ++h) {
      uint64_t at = h ? addr + local_step : addr;
      auto value = static_cast<uint32_t>(v.bits >> (32 * h));
      if (undef) {
        word_at(at, make_tag(CellKind::Undef, v.node), 0);
      } else if (v.node == kNoNode) {
        word_at(at, kBitsTag, value);
      } else {
        CellKind kind = n == 4 ? CellKind::Word : h ? CellKind::High : CellKind::Low;
        word_at(at, make_tag(kind, v.node, v.lane) | both, value);
      }
    }
    return;
  }
  CellPage& p = cells.make(addr / 4);
  uint32_t i = addr / 4 % CellPage::kWords;
  CellTag t = p.tag[i];
  if (tag_kind(t) == CellKind::Bits && v.node == kNoNode) {
    uint32_t shift = 8 * (addr % 4);
    uint32_t m = static_cast<uint32_t>((uint64_t{1} << (8 * n)) - 1) << shift;
    word_at(addr, kBitsTag, (p.bits[i] & ~m) | (static_cast<uint32_t>(v.bits) << shift & m));
    return;
  }
  Parts parts{};
  if (tag_kind(t) == CellKind::Parts) {
    parts = parts_[tag_node(t)];
  } else if (tag_kind(t) != CellKind::Untouched) {
    for (uint32_t k = 0; k < 4; ++k) parts[k] = read_byte(cells, space, addr / 4 * 4 + k);
  }
  for (uint32_t k = 0; k < n; ++k) {
    ByteRef& b = parts[addr % 4 + k];
    b = {};
    if (v.node == kNoNode) {
      b.kind = ByteRef::Kind::Bits;
      b.bits = static_cast<uint8_t>(v.bits >> (8 * k));
    } else {
      b.kind = ByteRef::Kind::Node;
      b.node = v.node;
      b.lane = v.lane;
      b.index = static_cast<uint8_t>(k);
    }
  }
  bool all_bits = std::all_of(parts.begin(), parts.end(),
                              [](const ByteRef& b) { return b.kind == ByteRef::Kind::Bits; });
  if (all_bits) {
    uint32_t value = 0;
    for (uint32_t k = 0; k < 4; ++k) value |= uint32_t{parts[k].bits} << (8 * k);
    word_at(addr, kBitsTag, value);
    return;
  }
  uint32_t index = 0;
  if (tag_kind(t) == CellKind::Parts) {
    index = tag_node(t);
    parts_[index] = parts;
  } else {
    index = static_cast<uint32_t>(parts_.size());
    parts_.push_back(parts);
  }
  word_at(addr, make_tag(CellKind::Parts, index), 0);
}

// Joined to one of the entries before it where that is of the same CTA and instruction: vectors of
// up to four elements a lane alternate between their nodes.
void Tracer::add_store(const StoreOut& out) {
  Trace& t = b_.trace;
  const size_t mine = t.stores.size() - (t.ctas.empty() ? 0 : t.ctas.back().stores);
  for (size_t back = 1; back <= std::min<size_t>(4, mine); ++back) {
    StoreOut& before = t.stores[t.stores.size() - back];
    if (before.node != out.node || before.pc != out.pc || before.buffer != out.buffer) continue;
    const int64_t step = out.element - before.last();
    if (before.lane + before.count != out.lane || step < 1 || step > 4 ||
        (before.count > 1 && step != before.step))
      break;
    before.step = static_cast<uint8_t>(step);
    ++before.count;
    return;
  }
  t.stores.push_back(out);
}

void Tracer::emit_page(uint64_t number, CellPage& page) {
  const Device::Area* area = nullptr;
  for (uint32_t i = 0; i < CellPage::kWords; ++i) {
    CellTag t = page.tag[i];
    if (tag_kind(t) == CellKind::Untouched || page.stamp[i] < cta_first_stamp_) continue;
    uint64_t addr = (number * CellPage::kWords + i) * 4;
    if (!area || addr - area->base >= area->bytes) area = device_.find(addr);
    if (!area) continue;
    StoreOut out;
    out.buffer = area->buffer;
    out.type = buffer_type(area->buffer);
    out.pc = page.pc[i];
    uint32_t es = std::max(1u, bytes(out.type));
    auto emit = [&](uint64_t at, const LaneVal& v) {
      out.element = static_cast<int64_t>((at - area->base) / es);
      out.node = node_of(v, out.type, &out.lane);
      add_store(out);
    };
    if (es == 4 && tag_kind(t) == CellKind::Word && b_.type_of(tag_node(t)) == out.type) {
      out.element = static_cast<int64_t>((addr - area->base) / 4);
      out.node = tag_node(t);
      out.lane = tag_lane(t);
      add_store(out);
    } else if (es == 4) {
      emit(addr, read_value(global_, Space::Global, addr, 4, 0));
    } else if (es == 8) {
      uint64_t at = addr - (addr - area->base) % 8;
      bool second = at != addr;
      CellPage* before = second ? global_.find(at / 4) : nullptr;
      bool done = before &&
                  tag_kind(before->tag[at / 4 % CellPage::kWords]) != CellKind::Untouched &&
                  before->stamp[at / 4 % CellPage::kWords] >= cta_first_stamp_;
      if (!done) emit(at, read_value(global_, Space::Global, at, 8, 0));
    } else {
      for (uint32_t k = 0; k < 4; k += es) {
        bool touched = true;
        if (tag_kind(t) == CellKind::Parts) {
          touched = false;
          for (uint32_t q = 0; q < es; ++q) {
            touched = touched || parts_[tag_node(t)][k + q].kind != ByteRef::Kind::Untouched;
          }
        }
        if (touched && addr + k - area->base < area->bytes) {
          emit(addr + k, read_value(global_, Space::Global, addr + k, es, 0));
        }
      }
    }
  }
}

void Tracer::emit_stores(Cta&) {
  if (global_.empty()) return;
  for (uint64_t number : global_.page_numbers()) {
    emit_page(number, *global_.find(number * CellPage::kWords));
  }
}

}  // namespace assay::machine
