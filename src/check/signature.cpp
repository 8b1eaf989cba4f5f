#include "check/signature.h"

#include <algorithm>
#include <map>

namespace assay::check {

using machine::Node;
using machine::NodeKind;
using machine::Trace;

namespace {

// What one CTA's marked nodes compute, with elements relative to the least one of their buffer: a
// hash over each node and what it needs. Whether equal loads are one node does not matter.
class Signature {
 public:
  Signature(const Trace& trace, const term::Marks& marks) : t_(trace), marks_(marks) {
    for (const machine::NodeId id : marks.live) note_bases(t_.nodes[id], marks.live.lanes(id));
    for (const machine::StoreRef ref : marks.stores)
      note(t_.store(ref).buffer, t_.store(ref).element);
    std::vector<Hash> value(t_.nodes.size());
    for (const machine::NodeId id : marks.live)
      value[id] = node(t_.nodes[id], marks.live.lanes(id), value);
    for (const machine::StoreRef ref : marks.stores) {
      const machine::StoreOut s = t_.store(ref);
      place(hash, s.buffer, s.element);
      hash.add(static_cast<uint64_t>(s.type) | uint64_t{s.lane} << 8);
      hash.add(value[s.node]);
    }
  }
  Hash hash;
  std::map<int, int64_t> base;
  std::vector<int> looked_up;

 private:
  void note(int buffer, int64_t element) {
    auto [it, fresh] = base.try_emplace(buffer, element);
    if (!fresh) it->second = std::min(it->second, element);
  }
  void note_bases(const Node& n, uint32_t lanes) {
    const NodeKind kind = t_.ops[n.op].kind;
    if (kind == NodeKind::Input) {
      const machine::InputPayload& p = t_.inputs[n.a];
      if (p.elements.empty()) note(p.buffer, p.first);
      for (int64_t e : p.elements)
        if (e >= 0) note(p.buffer, e);
    } else if (kind == NodeKind::Lookup) {
      const machine::LookupPayload& p = t_.lookups[n.a];
      for (uint32_t m = lanes; m != 0; m &= m - 1)
        note(p.buffer, p.base[static_cast<size_t>(__builtin_ctz(m))]);
      if (std::find(looked_up.begin(), looked_up.end(), p.buffer) == looked_up.end())
        looked_up.push_back(p.buffer);
    }
  }
  void place(Hash& h, int buffer, int64_t element) const {
    h.add(static_cast<uint64_t>(buffer));
    h.add(static_cast<uint64_t>(element - base.at(buffer)));
  }
  Hash node(const Node& n, uint32_t lanes, const std::vector<Hash>& value) const;

  const Trace& t_;
  const term::Marks& marks_;
};

Hash Signature::node(const Node& n, uint32_t lanes, const std::vector<Hash>& value) const {
  const machine::Op& op = t_.ops[n.op];
  const Mods& m = op.mods;
  Hash h;
  h.add(static_cast<uint64_t>(op.kind) | static_cast<uint64_t>(op.fn) << 8 |
        static_cast<uint64_t>(op.type) << 24 | static_cast<uint64_t>(m.round) << 32 |
        static_cast<uint64_t>(m.type2) << 40 | static_cast<uint64_t>(m.sat) << 48 |
        static_cast<uint64_t>(m.ftz) << 49 | static_cast<uint64_t>(m.nan) << 50);
  h.add(static_cast<uint64_t>(m.imm));
  switch (op.kind) {
    case NodeKind::Input: {
      const machine::InputPayload& p = t_.inputs[n.a];
      h.add(static_cast<uint64_t>(p.type) | uint64_t{p.version} << 8);
      if (p.elements.empty()) {
        place(h, p.buffer, p.first);
        h.add(static_cast<uint64_t>(p.stride));
      }
      for (int64_t e : p.elements) e < 0 ? h.add(1) : place(h, p.buffer, e);
      return h;
    }
    case NodeKind::Lookup: {
      const machine::LookupPayload& p = t_.lookups[n.a];
      h.add(static_cast<uint64_t>(p.type) | uint64_t{p.version} << 8);
      h.add(static_cast<uint64_t>(p.lo)), h.add(static_cast<uint64_t>(p.hi));
      h.add(value[p.index]);
      for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        const auto l = static_cast<size_t>(__builtin_ctz(rest));
        h.add(l);
        place(h, p.buffer, p.base[l]);
      }
      return h;
    }
    case NodeKind::ConstAll:
      h.add(t_.constants[n.a]);
      return h;
    case NodeKind::ConstVec:
      for (uint64_t bits : t_.const_vecs[n.a]) h.add(bits);
      return h;
    case NodeKind::Gather: {
      const machine::GatherPayload& p = t_.gathers[n.a];
      for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        const auto l = static_cast<size_t>(__builtin_ctz(rest));
        h.add(l | uint64_t{p.lane[l]} << 8);
        h.add(value[p.node[l]]);
      }
      return h;
    }
    case NodeKind::Perm:
      for (uint8_t lane : t_.perms[n.b]) h.add(lane);
      break;
    case NodeKind::Bcast:
      h.add(n.b);
      break;
    case NodeKind::Blend:
      h.add(n.c);
      break;
    case NodeKind::Undef:
      h.add(n.b);
      return h;
    case NodeKind::Apply:
      break;
  }
  term::for_operands(t_, n, [&](machine::NodeId id) { h.add(value[id]); });
  return h;
}

}  // namespace

Result<Signed> sign(const PreparedLaunch& launch, uint32_t cta, int buffer, int64_t first,
                    int64_t count, bool keep) {
  ASSAY_TRY(const Trace t, launch.trace_one(cta));
  const auto ours = [&](int b, int64_t e) {
    return b == buffer && (e < 0 || (e >= first && e < first + count));
  };
  const term::Marks marks = term::mark_lanes(t, ours);
  if (!marks.atoms.empty() || !marks.indexed.empty())
    return fail(DiagKind::Unsupported, "atomics or stores at data-dependent addresses");
  for (const machine::InputPayload& in : t.inputs)
    if (in.buffer == buffer) return fail(DiagKind::Unsupported, "the launch reads what it writes");
  Signed out;
  out.member.cta = cta;
  if (marks.stores.empty()) return out;
  const Signature s(t, marks);
  out.hash = s.hash;
  out.member.base.assign(s.base.begin(), s.base.end());
  out.looked_up = s.looked_up;
  for (const machine::StoreOut& store : t.stores)
    if (store.buffer == buffer && (!ours(buffer, store.element) || !ours(buffer, store.last())))
      out.all_wanted = false;
  for (const machine::StoreRef ref : marks.stores) {
    if (!keep && !out.written.empty()) break;
    out.written.push_back(t.store(ref).element);
  }
  return out;
}

}  // namespace assay::check
