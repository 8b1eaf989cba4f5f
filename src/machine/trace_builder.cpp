#include "machine/trace_builder.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <tuple>

namespace assay::machine {
namespace {

Ty int_of(Ty t) {
  switch (bits(t)) {
    case 8:
      return Ty::U8;
    case 16:
      return Ty::U16;
    case 32:
      return Ty::U32;
    default:
      return Ty::U64;
  }
}
Ty half_int(Ty t) { return bits(t) == 64 ? Ty::B32 : bits(t) == 32 ? Ty::B16 : Ty::B8; }

}  // namespace

Ty result_type(const Op& op) {
  if (op.kind != NodeKind::Apply) return op.type;
  switch (info(op.fn).cls) {
    case FnClass::C:
    case FnClass::L:
      return Ty::Pred;
    default:
      break;
  }
  switch (op.fn) {
    case Fn::IMulWide:
      switch (op.type) {
        case Ty::U16:
          return Ty::U32;
        case Ty::S16:
          return Ty::S32;
        case Ty::S32:
          return Ty::S64;
        default:
          return Ty::U64;
      }
    case Fn::FrexpExp:
      return Ty::S32;
    case Fn::Popc:
    case Fn::Clz:
    case Fn::Bfind:
      return Ty::U32;
    default:
      return op.type;
  }
}

bool same_class(Ty a, Ty b) {
  if (a == b) return true;
  if (a == Ty::Pred || b == Ty::Pred) return false;
  return bits(a) == bits(b) && !is_float(a) && !is_float(b);
}

TraceBuilder::TraceBuilder() {
  trace.ops.push_back({});
  op_type_.push_back(Ty::None);
  trace.nodes.push_back({});
}

uint32_t TraceBuilder::intern(const Op& op) {
  const Mods& m = op.mods;
  uint64_t mods = static_cast<uint64_t>(m.round) | uint64_t{m.ftz} << 8 | uint64_t{m.sat} << 9 |
                  uint64_t{m.nan} << 10 | uint64_t{m.approx} << 11 | uint64_t{m.imm} << 16 |
                  static_cast<uint64_t>(m.type2) << 24;
  uint64_t what = static_cast<uint64_t>(op.kind) | static_cast<uint64_t>(op.fn) << 8 |
                  static_cast<uint64_t>(op.type) << 16 | uint64_t{op.pc} << 32;
  auto [it, fresh] = ops_.try_emplace({what, mods, 1}, static_cast<uint32_t>(trace.ops.size()));
  if (fresh) {
    trace.ops.push_back(op);
    op_type_.push_back(result_type(op));
  }
  return it->second;
}

NodeId TraceBuilder::apply(Fn fn, Ty type, const Mods& mods, uint32_t pc, NodeId a, NodeId b,
                           NodeId c) {
  Op op;
  op.fn = fn;
  op.type = type;
  op.mods = mods;
  op.pc = pc;
  return raw(intern(op), a, b, c);
}

NodeId TraceBuilder::constant(Ty type, uint64_t v) {
  auto [it, fresh] = constants_.try_emplace({static_cast<uint64_t>(type), v, 0}, kNoNode);
  if (fresh) {
    Op op;
    op.kind = NodeKind::ConstAll;
    op.type = type;
    trace.constants.push_back(v);
    it->second = raw(intern(op), static_cast<NodeId>(trace.constants.size() - 1));
  }
  return it->second;
}

NodeId TraceBuilder::const_vec(Ty type, const std::array<uint64_t, kLanes>& v) {
  if (std::all_of(v.begin(), v.end(), [&](uint64_t x) { return x == v[0]; })) {
    return constant(type, v[0]);
  }
  uint64_t h1 = 0, h2 = 0;
  for (uint64_t x : v) {
    h1 = (h1 ^ x) * 0x9e3779b97f4a7c15u + 1;
    h2 = (h2 + x) * 0xbf58476d1ce4e5b9u ^ (h2 >> 31);
  }
  std::vector<NodeId>& list = vecs_[{static_cast<uint64_t>(type), h1, h2}];
  for (NodeId n : list) {
    if (trace.const_vecs[trace.nodes[n].a] == v) return n;
  }
  Op op;
  op.kind = NodeKind::ConstVec;
  op.type = type;
  trace.const_vecs.push_back(v);
  list.push_back(raw(intern(op), static_cast<NodeId>(trace.const_vecs.size() - 1)));
  return list.back();
}

NodeId TraceBuilder::undef(Ty type, UndefReason reason) {
  auto [it, fresh] = constants_.try_emplace(
      {static_cast<uint64_t>(type), static_cast<uint64_t>(reason), 1}, kNoNode);
  if (fresh) {
    Op op;
    op.kind = NodeKind::Undef;
    op.type = type;
    it->second = raw(intern(op), kNoNode, static_cast<NodeId>(reason));
  }
  return it->second;
}

bool TraceBuilder::is_constant(NodeId n, uint64_t* v) const {
  if (!is(n, NodeKind::ConstAll)) return false;
  *v = trace.constants[trace.nodes[n].a];
  return true;
}

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

NodeId TraceBuilder::input(InputPayload in) {
  if (in.elements.empty())
    return input(stream({in.buffer, in.version, in.type, in.stride}), in.first);
  return new_input(std::move(in));
}

NodeId TraceBuilder::new_input(const InputStream& s, int64_t first) {
  InputPayload in;
  in.buffer = s.buffer;
  in.version = s.version;
  in.type = s.type;
  in.first = first;
  in.stride = s.stride;
  return new_input(std::move(in));
}

void TraceBuilder::turn_to_page(uint32_t stream, int64_t page) {
  if (pages_.size() >= kMostPages) {
    pages_.clear();
    page_index_.clear();
    for (Stream& s : streams_) s.page_number = kNoPage;
  }
  const auto [it, fresh] =
      page_index_.try_emplace({static_cast<uint64_t>(page), stream, 0}, pages_.size());
  if (fresh) pages_.emplace_back();
  streams_[stream].page_number = page;
  streams_[stream].page = it->second;
}

NodeId TraceBuilder::new_input(InputPayload in) {
  const Ty t = in.type;
  uint32_t& op = input_op_[static_cast<int>(t)];
  if (!op) {
    Op o;
    o.kind = NodeKind::Input;
    o.type = t;
    op = intern(o);
  }
  make_room(trace.inputs);
  trace.inputs.push_back(std::move(in));
  return raw(op, static_cast<NodeId>(trace.inputs.size() - 1));
}

// The place of a stream in streams_; the few that a loop reads are found without a search.
uint32_t TraceBuilder::stream(const InputStream& s) {
  const auto buffer = static_cast<uint64_t>(s.buffer), stride = static_cast<uint64_t>(s.stride);
  uint32_t& recent = recent_streams_[(buffer + stride) % recent_streams_.size()];
  if (recent < streams_.size() && streams_[recent].what == s) return recent;
  const auto [it, fresh] =
      stream_index_.try_emplace({buffer << 8 | static_cast<uint64_t>(s.type), s.version, stride},
                                static_cast<uint32_t>(streams_.size()));
  if (fresh) streams_.push_back({.what = s});
  return recent = it->second;
}

void TraceBuilder::forget_inputs() { first_recent_ = static_cast<NodeId>(trace.nodes.size()); }

NodeId TraceBuilder::lookup(const LookupPayload& in) {
  Op o;
  o.kind = NodeKind::Lookup;
  o.type = in.type;
  trace.lookups.push_back(in);
  return raw(intern(o), static_cast<NodeId>(trace.lookups.size() - 1));
}

NodeId TraceBuilder::lnot(NodeId a) {
  uint64_t v = 0;
  if (is_constant(a, &v)) return pred_const(!v);
  if (is_fn(a, Fn::PNot)) return trace.nodes[a].a;
  auto [it, fresh] = unary_.try_emplace({a, static_cast<uint64_t>(Fn::PNot), 0}, kNoNode);
  if (fresh) it->second = apply(Fn::PNot, Ty::Pred, {}, 0, a);
  return it->second;
}

NodeId TraceBuilder::land(NodeId a, NodeId b) {
  if (a == kNoNode || a == b) return b;
  if (b == kNoNode) return a;
  uint64_t v = 0;
  if (is_constant(a, &v)) return v ? b : a;
  if (is_constant(b, &v)) return v ? a : b;
  if (is_fn(b, Fn::PNot) && trace.nodes[b].a == a) return pred_const(false);
  if (is_fn(a, Fn::PNot) && trace.nodes[a].a == b) return pred_const(false);
  if (is_fn(a, Fn::PAnd) && (trace.nodes[a].a == b || trace.nodes[a].b == b)) return a;
  auto [it, fresh] = unary_.try_emplace({a, static_cast<uint64_t>(Fn::PAnd), b}, kNoNode);
  if (fresh) it->second = apply(Fn::PAnd, Ty::Pred, {}, 0, a, b);
  return it->second;
}

NodeId TraceBuilder::lor(NodeId a, NodeId b) {
  if (a == kNoNode || b == kNoNode) return kNoNode;
  if (a == b) return a;
  uint64_t v = 0;
  if (is_constant(a, &v)) return v ? a : b;
  if (is_constant(b, &v)) return v ? b : a;
  NodeId na = lnot(a), nb = lnot(b);
  if (na == b || nb == a) return pred_const(true);
  auto conj = [&](NodeId n, NodeId* x, NodeId* y) {
    if (!is_fn(n, Fn::PAnd)) return false;
    *x = trace.nodes[n].a;
    *y = trace.nodes[n].b;
    return true;
  };
  NodeId ax = kNoNode, ay = kNoNode, bx = kNoNode, by = kNoNode;
  bool ac = conj(a, &ax, &ay), bc = conj(b, &bx, &by);
  if (ac && bc && ax == bx && (ay == lnot(by))) return ax;  // (x and c) or (x and not c)
  if (bc && bx == na) return lor(a, by);                    // a or (not a and c)
  if (bc && by == na) return lor(a, bx);
  if (ac && ax == nb) return lor(b, ay);
  if (ac && ay == nb) return lor(b, ax);
  auto [it, fresh] = unary_.try_emplace({a, static_cast<uint64_t>(Fn::POr), b}, kNoNode);
  if (fresh) it->second = apply(Fn::POr, Ty::Pred, {}, 0, a, b);
  return it->second;
}

// cond ? a : b where cond compares just these two: a maximum or minimum.
NodeId TraceBuilder::make_minmax(NodeId cond, NodeId a, NodeId b, uint32_t pc) {
  const Op& o = op_of(cond);
  if (o.kind != NodeKind::Apply) return kNoNode;
  NodeId x = trace.nodes[cond].a, y = trace.nodes[cond].b;
  bool direct = x == a && y == b;   // x op y ? x : y
  bool swapped = x == b && y == a;  // x op y ? y : x
  if (!direct && !swapped) return kNoNode;
  bool more = o.fn == Fn::Gt || o.fn == Fn::Ge;
  bool less = o.fn == Fn::Lt || o.fn == Fn::Le;
  if ((!more && !less) || o.mods.ftz) return kNoNode;
  if (!same_class(type_of(a), o.type)) return kNoNode;
  bool is_max = more == direct;
  if (is_float(o.type)) {
    // Exact only for strict comparisons in the order of the operands: imm = 1, see Op.
    Mods m;
    bool strict = o.fn == Fn::Gt || o.fn == Fn::Lt;
    if (!strict || !direct) return kNoNode;
    m.imm = 1;
    return apply(is_max ? Fn::Max : Fn::Min, o.type, m, pc, a, b);
  }
  return apply(is_max ? Fn::IMax : Fn::IMin, o.type, {}, pc, a, b);
}

NodeId TraceBuilder::select(NodeId cond, NodeId a, NodeId b, uint32_t pc) {
  if (cond == kNoNode || a == b) return a;
  uint64_t v = 0, w = 0;
  if (is_constant(cond, &v)) return v ? a : b;
  if (is_fn(cond, Fn::PNot)) return select(trace.nodes[cond].a, b, a, pc);
  Ty t = type_of(a);
  // Constants and undefined values take the other side's type.
  if ((is(a, NodeKind::ConstAll) || is(a, NodeKind::ConstVec) || is_undef(a)) &&
      is_float(type_of(b)) && bits(type_of(b)) == bits(t)) {
    t = type_of(b);
    a = convert(a, t);
  } else {
    b = convert(b, t);
  }
  if (a == b) return a;
  if (t == Ty::Pred) {
    if (is_constant(a, &v) && is_constant(b, &w)) return v ? cond : lnot(cond);
    if (is_constant(a, &v)) return v ? lor(cond, b) : land(lnot(cond), b);
    if (is_constant(b, &v)) return v ? lor(lnot(cond), a) : land(cond, a);
  }
  // select(c, select(c, x, y), b) and select(c, a, select(c, x, y))
  if (is_fn(a, Fn::Select) && trace.nodes[a].a == cond) a = trace.nodes[a].b;
  if (is_fn(b, Fn::Select) && trace.nodes[b].a == cond) b = trace.nodes[b].c;
  if (a == b) return a;
  if (NodeId m = make_minmax(cond, a, b, pc)) return m;
  return apply(Fn::Select, t, {}, pc, cond, a, b);
}

NodeId TraceBuilder::half(NodeId n, bool high) {
  if (is_fn(n, Fn::Pack)) return high ? trace.nodes[n].b : trace.nodes[n].a;
  Ty t = type_of(n);
  Ty part = half_int(t);
  uint64_t v = 0;
  uint32_t w = bits(part);
  if (is_constant(n, &v)) {
    return constant(part, (high ? v >> w : v) & ((uint64_t{1} << w) - 1));
  }
  if (is(n, NodeKind::ConstVec)) {
    std::array<uint64_t, kLanes> x = trace.const_vecs[trace.nodes[n].a];
    for (uint64_t& y : x) y = (high ? y >> w : y) & ((uint64_t{1} << w) - 1);
    return const_vec(part, x);
  }
  if (is_undef(n)) return undef(part, static_cast<UndefReason>(trace.nodes[n].b));
  if (is_fn(n, Fn::Bits)) return half(trace.nodes[n].a, high);
  if (is_fn(n, Fn::CvtII) && bits(op_of(n).mods.type2) <= w && !is_signed(op_of(n).mods.type2)) {
    if (high) return constant(part, 0);
    return convert(trace.nodes[n].a, part);
  }
  Fn fn = high ? Fn::UnpackHi : Fn::UnpackLo;
  if (auto it = unary_.find({n, static_cast<uint64_t>(fn), 0}); it != unary_.end())
    return it->second;
  NodeId made = moved_half(n, high);
  if (made == kNoNode) {
    Mods m;
    m.type2 = t;
    made = apply(fn, part, m, 0, n);
  }
  unary_[{n, static_cast<uint64_t>(fn), 0}] = made;
  return made;
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

// The half of words that were packed of floats before lanes moved: these floats, moved alike.
NodeId TraceBuilder::moved_half(NodeId n, bool high) {
  std::array<NodeId, kLanes> from;
  LaneMap lane;
  Ty type = Ty::None;
  for (uint8_t l = 0; l < kLanes; ++l) {
    std::tie(from[l], lane[l]) = origin(n, l);
    uint64_t same = 0;
    if (is_constant(from[l], &same) || is(from[l], NodeKind::ConstVec)) continue;
    if (!is_fn(from[l], Fn::Pack)) return kNoNode;
    const Node& pack = trace.nodes[from[l]];
    const Ty mine = type_of(high ? pack.b : pack.a);
    if (!is_float(mine) || (type != Ty::None && mine != type)) return kNoNode;
    type = mine;
  }
  if (type == Ty::None) return kNoNode;
  for (NodeId& source : from) source = convert(half(source, high), type);
  return gather(from, lane);
}

// Halves of values whose lanes moved alike (a shuffle moves a double by halves): the values, moved.
NodeId TraceBuilder::rejoined(NodeId lo, NodeId hi) {
  std::array<NodeId, kLanes> from;
  LaneMap lane;
  for (uint8_t l = 0; l < kLanes; ++l) {
    const auto [a, la] = origin(lo, l);
    if (!is_fn(a, Fn::UnpackLo)) return kNoNode;
    const auto [b, lb] = origin(hi, l);
    const NodeId whole = trace.nodes[a].a;
    if (la != lb || !is_fn(b, Fn::UnpackHi) || trace.nodes[b].a != whole) return kNoNode;
    if (l > 0 && type_of(whole) != type_of(from[0])) return kNoNode;
    from[l] = whole;
    lane[l] = la;
  }
  return gather(from, lane);
}

NodeId TraceBuilder::pack(NodeId lo, NodeId hi, Ty want, uint32_t pc) {
  if (is_fn(lo, Fn::UnpackLo) && is_fn(hi, Fn::UnpackHi) &&
      trace.nodes[lo].a == trace.nodes[hi].a) {
    return trace.nodes[lo].a;
  }
  uint64_t a = 0, b = 0;
  if (is_constant(lo, &a) && is_constant(hi, &b)) {
    return constant(want, a | b << bits(type_of(lo)));
  }
  if (const NodeId whole = rejoined(lo, hi); whole != kNoNode) return whole;
  return apply(Fn::Pack, want, {}, pc, lo, hi);
}

NodeId TraceBuilder::convert(NodeId n, Ty want) {
  Ty have = type_of(n);
  if (have == want || same_class(have, want)) return n;
  const Node& x = trace.nodes[n];
  uint64_t keep = bits(want) >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits(want)) - 1;
  switch (op_of(n).kind) {
    case NodeKind::ConstAll:
      return constant(want, trace.constants[x.a] & keep);
    case NodeKind::ConstVec: {
      std::array<uint64_t, kLanes> v = trace.const_vecs[x.a];
      for (uint64_t& y : v) y &= keep;
      return const_vec(want, v);
    }
    case NodeKind::Undef:
      return undef(want, static_cast<UndefReason>(x.b));
    default:
      break;
  }
  if (uint64_t v = 0; is_fn(n, Fn::Select) && !is_float(want) && want != Ty::Pred &&
                      is_constant(x.b, &v) && is_constant(x.c, &v)) {
    const Node choice = x;
    const NodeId a = convert(choice.b, want);
    return select(choice.a, a, convert(choice.c, want), op_of(n).pc);
  }
  if (bits(have) == bits(want)) {
    if (is_fn(n, Fn::Bits) && type_of(x.a) == want) return x.a;
    // A bfloat16 in the high half of a word is that number as a float.
    uint64_t zero = 1;
    if (want == Ty::F32 && is_fn(n, Fn::Pack) && is_constant(x.a, &zero) && zero == 0 &&
        bits(type_of(x.b)) == 16 && type_of(x.b) != Ty::F16) {
      Mods m;
      m.type2 = Ty::BF16;
      NodeId h = convert(x.b, Ty::BF16);
      return apply(Fn::CvtFF, Ty::F32, m, op_of(n).pc, h);
    }
    auto [it, fresh] = unary_.try_emplace(
        {n, static_cast<uint64_t>(Fn::Bits), static_cast<uint64_t>(want)}, kNoNode);
    if (fresh) {
      Mods m;
      m.type2 = have;
      it->second = apply(Fn::Bits, want, m, 0, n);
    }
    return it->second;
  }
  if (bits(have) > bits(want) && bits(have) == 2 * bits(want)) return convert(half(n, false), want);
  if (is_float(have)) return convert(convert(n, int_of(have)), want);
  if (is_float(want)) return convert(convert(n, int_of(want)), want);
  auto [it, fresh] = unary_.try_emplace(
      {n, static_cast<uint64_t>(Fn::CvtII), static_cast<uint64_t>(want)}, kNoNode);
  if (fresh) {
    Mods m;
    m.type2 = int_of(have);
    it->second = apply(Fn::CvtII, int_of(want), m, 0, n);
  }
  return it->second;
}

}  // namespace assay::machine
