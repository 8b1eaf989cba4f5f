// Nodes that move lanes: broadcasts, permutations, blends, gathers; where a lane comes from.
#include <bit>
#include <cstring>

#include "machine/trace_builder.h"

namespace assay::machine {

NodeId TraceBuilder::bcast(NodeId n, uint8_t lane) {
  const Node& x = trace.nodes[n];
  switch (trace.ops[x.op].kind) {
    case NodeKind::ConstAll:
    case NodeKind::Undef:
    case NodeKind::Bcast:
      return n;
    case NodeKind::ConstVec:
      return constant(type_of(n), trace.const_vecs[x.a][lane]);
    default:
      break;
  }
  Ty t = type_of(n);
  uint32_t& op = bcast_op_[static_cast<int>(t)];
  if (!op) {
    Op o;
    o.kind = NodeKind::Bcast;
    o.type = t;
    op = intern(o);
  }
  return raw(op, n, lane);
}

// The place of a pattern in trace.perms; the few that a loop uses are found without a search.
uint32_t TraceBuilder::pattern(const LaneMap& from) {
  std::array<uint64_t, 4> w;
  std::memcpy(w.data(), from.data(), 32);
  const uint64_t h = (w[0] ^ std::rotl(w[1], 17) ^ std::rotl(w[2], 31) ^ std::rotl(w[3], 47)) *
                     0x9e3779b97f4a7c15u;
  uint32_t& recent = recent_perms_[h >> 58];
  if (recent < trace.perms.size() && trace.perms[recent] == from) return recent;
  std::vector<uint32_t>& list = perms_[{w[0] ^ (w[3] << 3), w[1], w[2]}];
  for (uint32_t i : list) {
    if (trace.perms[i] == from) return recent = i;
  }
  recent = static_cast<uint32_t>(trace.perms.size());
  trace.perms.push_back(from);
  list.push_back(recent);
  return recent;
}

NodeId TraceBuilder::perm(NodeId n, const LaneMap& from) {
  static constexpr LaneMap kIdentity = [] {
    LaneMap m{};
    for (uint8_t l = 0; l < kLanes; ++l) m[l] = l;
    return m;
  }();
  if (from == kIdentity) return n;
  if (std::memcmp(from.data(), from.data() + 1, kLanes - 1) == 0) return bcast(n, from[0]);
  switch (op_of(n).kind) {
    case NodeKind::ConstAll:
    case NodeKind::Undef:
    case NodeKind::Bcast:
      return n;
    case NodeKind::ConstVec: {
      std::array<uint64_t, kLanes> v;
      for (size_t l = 0; l < kLanes; ++l) v[l] = trace.const_vecs[trace.nodes[n].a][from[l]];
      return const_vec(type_of(n), v);
    }
    default:
      break;
  }
  const uint32_t index = pattern(from);
  Ty t = type_of(n);
  uint32_t& op = perm_op_[static_cast<int>(t)];
  if (!op) {
    Op o;
    o.kind = NodeKind::Perm;
    o.type = t;
    op = intern(o);
  }
  return raw(op, n, index);
}

NodeId TraceBuilder::blend(uint32_t mask, NodeId a, NodeId b) {
  if (a == b || mask == ~0u) return a;
  if (mask == 0) return b;
  Ty t = type_of(a);
  b = convert(b, t);
  if (a == b) return a;
  // Lanes of a blend that the outer one covers are not needed.
  if (is(b, NodeKind::Blend)) {
    const Node& x = trace.nodes[b];
    if ((x.c & ~mask) == 0)
      b = x.b;
    else if ((~x.c & ~mask) == 0)
      b = x.a;
    if (a == b) return a;
  }
  uint32_t& op = blend_op_[static_cast<int>(t)];
  if (!op) {
    Op o;
    o.kind = NodeKind::Blend;
    o.type = t;
    op = intern(o);
  }
  return raw(op, a, b, mask);
}

NodeId TraceBuilder::gather(const std::array<NodeId, kLanes>& node, const LaneMap& lane) {
  NodeId first = kNoNode, second = kNoNode;
  bool more = false;
  uint32_t in_first = 0;
  for (uint32_t l = 0; l < kLanes; ++l) {
    NodeId n = node[l];
    if (n == kNoNode) continue;
    if (first == kNoNode) first = n;
    if (n == first) {
      in_first |= 1u << l;
    } else if (second == kNoNode || n == second) {
      second = n;
    } else {
      more = true;
      break;
    }
  }
  if (!more) {
    LaneMap a, b;
    uint8_t fill_a = 0, fill_b = 0;
    for (uint32_t l = kLanes; l-- > 0;) {
      if (node[l] == first) fill_a = lane[l];
      if (node[l] == second) fill_b = lane[l];
    }
    // Lanes that are not needed: the identity if the others keep their places, else a lane in use.
    bool id_a = true, id_b = true;
    for (uint8_t l = 0; l < kLanes; ++l) {
      if (node[l] == first) id_a = id_a && lane[l] == l;
      if (node[l] != kNoNode && node[l] == second) id_b = id_b && lane[l] == l;
    }
    for (uint8_t l = 0; l < kLanes; ++l) {
      a[l] = node[l] == first ? lane[l] : id_a ? l : fill_a;
      b[l] = node[l] == second && second != kNoNode ? lane[l] : id_b ? l : fill_b;
    }
    NodeId x = perm(first, a);
    return second == kNoNode ? x : blend(in_first, x, perm(second, b));
  }
  Ty t = type_of(first);
  uint32_t& op = gather_op_[static_cast<int>(t)];
  if (!op) {
    Op o;
    o.kind = NodeKind::Gather;
    o.type = t;
    op = intern(o);
  }
  GatherPayload g;
  g.lane = lane;
  for (size_t l = 0; l < kLanes; ++l) g.node[l] = node[l] == kNoNode ? first : node[l];
  trace.gathers.push_back(g);
  return raw(op, static_cast<NodeId>(trace.gathers.size() - 1));
}

// Where a lane of a node that only moves lanes comes from.
std::pair<NodeId, uint8_t> TraceBuilder::origin(NodeId n, uint8_t lane) const {
  for (;;) {
    const Node& x = trace.nodes[n];
    switch (trace.ops[x.op].kind) {
      case NodeKind::Bcast:
        n = x.a, lane = static_cast<uint8_t>(x.b);
        break;
      case NodeKind::Perm:
        n = x.a, lane = trace.perms[x.b][lane];
        break;
      case NodeKind::Blend:
        n = (x.c >> lane & 1) != 0 ? x.a : x.b;
        break;
      case NodeKind::Gather: {
        const GatherPayload& g = trace.gathers[x.a];
        n = g.node[lane], lane = g.lane[lane];
        break;
      }
      default:
        return {n, lane};
    }
  }
}

}  // namespace assay::machine
