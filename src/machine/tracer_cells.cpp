// The trace domain: values in cells of memory, joined from bytes where they were stored apart.
#include <algorithm>

#include "machine/tracer.h"

namespace assay::machine {

std::vector<uint64_t> Cells::page_numbers() const {
  std::vector<uint64_t> out;
  for (const auto& [n, page] : pages_) out.push_back(n);
  std::sort(out.begin(), out.end());
  return out;
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
