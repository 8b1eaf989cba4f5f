#pragma once
// Makes the nodes of a trace: interning, peephole rules, conversions between types.
#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "machine/trace.h"

namespace assay::machine {

using LaneMap = std::array<uint8_t, kLanes>;

class TraceBuilder {
 public:
  TraceBuilder();

  Trace trace;

  Ty type_of(NodeId n) const { return op_type_[trace.nodes[n].op]; }
  const Op& op_of(NodeId n) const { return trace.ops[trace.nodes[n].op]; }
  bool is(NodeId n, NodeKind kind) const { return op_of(n).kind == kind; }
  bool is_fn(NodeId n, Fn fn) const {
    const Op& o = op_of(n);
    return o.kind == NodeKind::Apply && o.fn == fn;
  }
  bool is_undef(NodeId n) const { return is(n, NodeKind::Undef); }

  uint32_t intern(const Op& op);
  // `op` comes from intern; no peephole rule.
  NodeId raw(uint32_t op, NodeId a, NodeId b = kNoNode, NodeId c = kNoNode) {
    auto id = static_cast<NodeId>(trace.nodes.size());
    make_room(trace.nodes);
    trace.nodes.push_back({op, a, b, c});
    return id;
  }
  NodeId apply(Fn fn, Ty type, const Mods& mods, uint32_t pc, NodeId a, NodeId b = kNoNode,
               NodeId c = kNoNode);

  NodeId constant(Ty type, uint64_t bits);
  NodeId const_vec(Ty type, const std::array<uint64_t, kLanes>& bits);
  NodeId undef(Ty type, UndefReason reason);
  NodeId pred_const(bool v) { return constant(Ty::Pred, v ? 1 : 0); }
  // Constant nodes: the same bits in all lanes?
  bool is_constant(NodeId n, uint64_t* bits) const {
    if (!is(n, NodeKind::ConstAll)) return false;
    *bits = trace.constants[trace.nodes[n].a];
    return true;
  }

  NodeId bcast(NodeId n, uint8_t lane);
  NodeId perm(NodeId n, const LaneMap& from);
  NodeId blend(uint32_t mask, NodeId a, NodeId b);  // b is converted to the type of a
  // Lane l takes lane[l] of node[l]; node[l] == kNoNode: lane not needed. All nodes are of one
  // type.
  NodeId gather(const std::array<NodeId, kLanes>& node, const LaneMap& lane);
  NodeId input(InputPayload in);
  // Lane l: element first + l * stride of a buffer.
  struct InputStream {
    int buffer = -1;
    uint32_t version = 0;
    Ty type = Ty::None;
    int64_t stride = 0;
    bool operator==(const InputStream&) const = default;
  };
  uint32_t stream(const InputStream& s);
  NodeId input(uint32_t stream, int64_t first) {
    Stream& s = streams_[stream];
    const InputPlace at = place_of(s.what, first);
    if (s.page_number != at.page) turn_to_page(stream, at.page);
    NodeId& known = pages_[s.page][at.slot];
    if (known < first_recent_) known = new_input(s.what, first);
    return known;
  }
  void forget_inputs();  // later loads make nodes of their own
  NodeId lookup(const LookupPayload& in);

  // Select, predicate logic: with rules. Pred operands may be kNoNode in `land` (true).
  NodeId select(NodeId cond, NodeId a, NodeId b, uint32_t pc);
  NodeId lnot(NodeId a);
  NodeId land(NodeId a, NodeId b);
  NodeId lor(NodeId a, NodeId b);

  // The node's value as a value of `want`: same bits (floats and integers of one width), zero
  // extended or cut.
  NodeId convert(NodeId n, Ty want);
  NodeId pack(NodeId lo, NodeId hi, Ty want, uint32_t pc);
  NodeId half(NodeId n, bool high);  // of a 32-bit or 64-bit value

 private:
  struct Hash {
    size_t operator()(const std::array<uint64_t, 3>& k) const {
      uint64_t h = k[0] * 0x9e3779b97f4a7c15u ^ k[1];
      h = (h ^ (h >> 29)) * 0xbf58476d1ce4e5b9u ^ k[2] * 0x94d049bb133111ebu;
      return h ^ (h >> 32);
    }
  };
  uint32_t pattern(const LaneMap& from);
  NodeId moved_half(NodeId n, bool high);
  NodeId rejoined(NodeId lo, NodeId hi);
  std::pair<NodeId, uint8_t> origin(NodeId n, uint8_t lane) const;
  NodeId make_minmax(NodeId cond, NodeId a, NodeId b, uint32_t pc);

  std::vector<Ty> op_type_;
  std::unordered_map<std::array<uint64_t, 3>, uint32_t, Hash> ops_;
  std::unordered_map<std::array<uint64_t, 3>, NodeId, Hash> constants_;
  std::unordered_map<std::array<uint64_t, 3>, std::vector<NodeId>, Hash> vecs_;
  std::unordered_map<std::array<uint64_t, 3>, NodeId, Hash> unary_;  // conversions, halves, not
  std::unordered_map<std::array<uint64_t, 3>, std::vector<uint32_t>, Hash> perms_;
  std::array<uint32_t, 64> recent_perms_{};
  // Loads of one element by many instructions are one node while its page is kept. A page has 64
  // neighbours, or, of streams with a stride, 64 rows of 32 that begin at one place.
  static constexpr size_t kMostPages = 1 << 15;
  struct InputPlace {
    int64_t page;
    size_t slot;
  };
  static InputPlace place_of(const InputStream& s, int64_t first) {
    if (s.stride == 0) return {first >> 6, static_cast<size_t>(first & 63)};
    return {(first >> 11) * 32 + (first & 31), static_cast<size_t>((first >> 5) & 63)};
  }
  void turn_to_page(uint32_t stream, int64_t page);
  // Memory that is not used costs nothing, copies into ever larger blocks do.
  template <class T>
  static void make_room(std::vector<T>& v) {
    const size_t n = v.size();
    if (n == v.capacity() && n >= 4096 && n < (1 << 19)) v.reserve(8 * n);
  }
  NodeId new_input(InputPayload in);
  NodeId new_input(const InputStream& s, int64_t first);
  struct Stream {
    InputStream what;
    int64_t page_number = kNoPage;  // the page at hand
    size_t page = 0;                // its place in pages_
  };
  static constexpr int64_t kNoPage = INT64_MIN;  // no element has it
  std::vector<Stream> streams_;
  std::vector<std::array<NodeId, 64>> pages_;
  std::unordered_map<std::array<uint64_t, 3>, size_t, Hash> page_index_;
  std::unordered_map<std::array<uint64_t, 3>, uint32_t, Hash> stream_index_;
  std::array<uint32_t, 16> recent_streams_{};
  NodeId first_recent_ = 1;  // earlier nodes are forgotten
  uint32_t bcast_op_[64] = {};
  uint32_t perm_op_[64] = {};
  uint32_t blend_op_[64] = {};
  uint32_t input_op_[64] = {};
  uint32_t gather_op_[64] = {};
};

Ty result_type(const Op& op);
// Of one width, both float of one format or both integer.
inline bool same_class(Ty a, Ty b) {
  if (a == b) return true;
  if (a == Ty::Pred || b == Ty::Pred) return false;
  return bits(a) == bits(b) && !is_float(a) && !is_float(b);
}

}  // namespace assay::machine
