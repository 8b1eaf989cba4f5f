// The nodes of a trace: interned operations, constants, inputs.
#include "machine/trace_builder.h"

#include <algorithm>

namespace assay::machine {

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

}  // namespace assay::machine
