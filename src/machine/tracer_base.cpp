// The trace domain: memory as the launch found it.
#include <algorithm>
#include <cstring>

#include "machine/tracer.h"

namespace assay::machine {

NodeId Tracer::input_node(int buffer, const int64_t* element, uint32_t mask) {
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
    for (uint32_t rest = others; rest && affine; rest &= rest - 1) {
      auto l = static_cast<uint32_t>(std::countr_zero(rest));
      affine = element[l] == element[first] + (static_cast<int64_t>(l) - first) * stride;
    }
  }
  if (affine) {
    in.first = element[first] - static_cast<int64_t>(first) * stride;
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
  const int shift = std::has_single_bit(es) ? std::countr_zero(es) : -1;
  auto at = [&](uint32_t add) {
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
      auto l = static_cast<uint32_t>(std::countr_zero(rest));
      uint64_t byte = a.addr[l] + offset + add - area.base;
      element[l] = static_cast<int64_t>(shift >= 0 ? byte >> shift : byte / es);
    }
    return input_node(area.buffer, element, mask);
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

}  // namespace assay::machine
