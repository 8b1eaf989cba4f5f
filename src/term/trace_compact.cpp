// A trace without what is not marked: small cones of large traces are evaluated many times.
#include <algorithm>

#include "term/trace_eval.h"

namespace assay::term {

using machine::Node;
using machine::NodeId;
using machine::NodeKind;
using machine::Trace;

namespace {

class Compactor {
 public:
  Compactor(const Trace& t, const Marks& m) : t_(t), m_(m) {
    live_.reserve(m.live.size());
    for (const NodeId id : m.live) live_.push_back(id);
  }

  CompactTrace run() {
    out_.trace.ops = t_.ops;
    out_.trace.perms = t_.perms;
    out_.trace.warp_instructions = t_.warp_instructions;
    out_.trace.nodes.reserve(live_.size() + 1);
    out_.trace.nodes.push_back({});
    out_.marks.live = LiveNodes(1);
    for (const NodeId id : live_) {
      out_.marks.live.append(m_.live.lanes(id));
      out_.trace.nodes.push_back(moved(t_.nodes[id]));
    }
    roots();
    assign_places(out_.trace, out_.marks);
    return std::move(out_);
  }

 private:
  // The new number of a node; 0 if it is not marked, and then no marked lane reads it.
  NodeId at(NodeId old) const {
    const auto it = std::lower_bound(live_.begin(), live_.end(), old);
    if (it == live_.end() || *it != old) return machine::kNoNode;
    return static_cast<NodeId>(it - live_.begin()) + 1;
  }
  template <class T>
  static NodeId append(std::vector<T>& to, T value) {
    to.push_back(std::move(value));
    return static_cast<NodeId>(to.size() - 1);
  }

  Node moved(Node n) {
    Trace& to = out_.trace;
    switch (t_.ops[n.op].kind) {
      case NodeKind::Apply: {
        const int arity = info(t_.ops[n.op].fn).arity;
        n.a = at(n.a);
        if (arity >= 2) n.b = at(n.b);
        if (arity == 3) n.c = at(n.c);
        if (arity >= 4) n.c = append(to.extra, {at(t_.extra[n.c][0]), at(t_.extra[n.c][1])});
        break;
      }
      case NodeKind::ConstAll:
        n.a = append(to.constants, t_.constants[n.a]);
        break;
      case NodeKind::ConstVec:
        n.a = append(to.const_vecs, t_.const_vecs[n.a]);
        break;
      case NodeKind::Input:
        n.a = append(to.inputs, t_.inputs[n.a]);
        break;
      case NodeKind::Gather: {
        machine::GatherPayload p = t_.gathers[n.a];
        NodeId last = machine::kNoNode, number = machine::kNoNode;
        for (NodeId& id : p.node) {
          if (id != last) number = at(last = id);
          id = number;
        }
        n.a = append(to.gathers, p);
        break;
      }
      case NodeKind::Bcast:
      case NodeKind::Perm:
        n.a = at(n.a);
        break;
      case NodeKind::Blend:
        n.a = at(n.a);
        n.b = at(n.b);
        break;
      case NodeKind::Lookup: {
        machine::LookupPayload p = t_.lookups[n.a];
        p.index = at(p.index);
        n.a = append(to.lookups, p);
        break;
      }
      case NodeKind::Undef:
        break;
    }
    return n;
  }

  void roots() {
    Trace& to = out_.trace;
    for (const machine::StoreRef ref : m_.stores) {
      out_.marks.stores.push_back({static_cast<uint32_t>(to.stores.size()), 0});
      to.stores.push_back(t_.store(ref));
      to.stores.back().node = at(to.stores.back().node);
    }
    for (const uint32_t k : m_.atoms) {
      out_.marks.atoms.push_back(static_cast<uint32_t>(to.atoms.size()));
      to.atoms.push_back(t_.atoms[k]);
      to.atoms.back().node = at(t_.atoms[k].node);
    }
    for (const uint32_t k : m_.indexed) {
      out_.marks.indexed.push_back(static_cast<uint32_t>(to.indexed.size()));
      machine::IndexedOut x = t_.indexed[k];
      x.index = at(x.index);
      x.value = at(x.value);
      x.pred = at(x.pred);
      to.indexed.push_back(x);
    }
    auto below = [](const std::vector<uint32_t>& all, uint32_t end) {
      return static_cast<uint32_t>(std::lower_bound(all.begin(), all.end(), end) - all.begin());
    };
    auto stores_below = [&](uint32_t end) {
      const auto first = std::partition_point(m_.stores.begin(), m_.stores.end(),
                                              [&](const auto& ref) { return ref.entry < end; });
      return static_cast<uint32_t>(first - m_.stores.begin());
    };
    for (const machine::CtaEnd& end : t_.ctas)
      to.ctas.push_back({end.cta, below(live_, end.nodes) + 1, stores_below(end.stores),
                         below(m_.atoms, end.atoms), below(m_.indexed, end.indexed)});
  }

  const Trace& t_;
  const Marks& m_;
  std::vector<NodeId> live_;
  CompactTrace out_;
};

}  // namespace

CompactTrace compact(const Trace& trace, const Marks& marks) {
  return Compactor(trace, marks).run();
}

}  // namespace assay::term
