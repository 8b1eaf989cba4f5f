#include "machine/merge_cases.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

namespace assay::machine {

namespace {

constexpr int kDepth = 8;    // of the cone in which an operand is looked for
constexpr int kCopies = 32;  // nodes copied for one substitution
constexpr int kShared = 2;   // depth within a formula that both arms contain

class CaseMerger {
 public:
  explicit CaseMerger(const Trace& t) : t_(t), out_(t) {
    out_.nodes.clear();
    out_.extra.clear();
    out_.nodes.reserve(t.nodes.size() + t.nodes.size() / 4);
  }

  std::optional<Trace> run() {
    moved_.resize(t_.nodes.size());
    find_extrema();
    auto end = out_.ctas.begin();
    for (NodeId id = 0; id < t_.nodes.size(); ++id) {
      for (; end != out_.ctas.end() && end->nodes <= id; ++end) end->nodes = size();
      out_.nodes.push_back(id == 0 ? Node{} : renamed(t_.nodes[id]));
      moved_[id] = size() - 1;
      if (id != 0) moved_[id] = merged(moved_[id], id);
    }
    for (; end != out_.ctas.end(); ++end) end->nodes = size();
    if (!found_) return std::nullopt;
    rename_roots();
    return std::move(out_);
  }

 private:
  NodeId size() const { return static_cast<NodeId>(out_.nodes.size()); }
  const Op& op(NodeId id) const { return out_.ops[out_.nodes[id].op]; }
  bool applies(NodeId id, Fn fn) const { return op(id).kind == NodeKind::Apply && op(id).fn == fn; }

  Node renamed(Node n) {
    switch (t_.ops[n.op].kind) {
      case NodeKind::Apply: {
        const int arity = info(t_.ops[n.op].fn).arity;
        n.a = moved_[n.a];
        if (arity >= 2) n.b = moved_[n.b];
        if (arity == 3) n.c = moved_[n.c];
        if (arity >= 4) n.c = extra(moved_[t_.extra[n.c][0]], moved_[t_.extra[n.c][1]]);
        break;
      }
      case NodeKind::Bcast:
      case NodeKind::Perm:
        n.a = moved_[n.a];
        break;
      case NodeKind::Blend:
        n.a = moved_[n.a];
        n.b = moved_[n.b];
        break;
      case NodeKind::Gather:
        for (size_t l = 0; l < kLanes; ++l)
          out_.gathers[n.a].node[l] = moved_[t_.gathers[n.a].node[l]];
        break;
      case NodeKind::Lookup:
        out_.lookups[n.a].index = moved_[t_.lookups[n.a].index];
        break;
      default:
        break;
    }
    return n;
  }
  NodeId extra(NodeId a, NodeId b) {
    out_.extra.push_back({a, b});
    return static_cast<NodeId>(out_.extra.size() - 1);
  }

  void rename_roots() {
    for (auto& s : out_.stores) s.node = moved_[s.node];
    for (auto& a : out_.atoms) a.node = moved_[a.node];
    for (auto& x : out_.indexed) {
      x.index = moved_[x.index];
      x.value = moved_[x.value];
      x.pred = moved_[x.pred];
    }
    for (auto& c : out_.conflicts)
      for (NodeId& id : c.value) id = moved_[id];
    for (auto& f : out_.faults) f.pred = moved_[f.pred];
  }

  uint32_t op_number(const Op& o) {
    const uint64_t key = static_cast<uint64_t>(o.fn) | static_cast<uint64_t>(o.type) << 8 |
                         static_cast<uint64_t>(o.mods.imm) << 16 | uint64_t{o.pc} << 32;
    auto [it, fresh] = ops_.try_emplace(key, static_cast<uint32_t>(out_.ops.size()));
    if (fresh) out_.ops.push_back(o);
    return it->second;
  }

  NodeId add(uint32_t op, NodeId a, NodeId b, NodeId c) {
    const bool four = info(out_.ops[op].fn).arity >= 4;  // operands behind c: not shared
    const uint64_t key[] = {uint64_t{op} << 32 | a, uint64_t{b} << 32 | c};
    if (!four) {
      auto [it, fresh] = nodes_.try_emplace(key[0] * 0x9E3779B97F4A7C15u ^ key[1], kNoNode);
      const Node& n = out_.nodes[it->second];
      if (!fresh && n.op == op && n.a == a && n.b == b && n.c == c) return it->second;
      it->second = size();
    }
    out_.nodes.push_back({op, a, b, c});
    return size() - 1;
  }

  // Both constants with the same bits, or one node.
  bool same(NodeId x, NodeId y) const {
    if (x == y) return true;
    const Node &m = out_.nodes[x], &n = out_.nodes[y];
    return op(x).kind == NodeKind::ConstAll && op(y).kind == NodeKind::ConstAll &&
           op(x).type == op(y).type && out_.constants[m.a] == out_.constants[n.a];
  }

  template <class F>
  void operands(NodeId id, F&& f) {
    const Node n = out_.nodes[id];
    const int arity = info(op(id).fn).arity;
    f(n.a);
    if (arity >= 2) f(n.b);
    if (arity == 3) f(n.c);
    if (arity >= 4) {
      const auto pair = out_.extra[n.c];
      f(pair[0]);
      f(pair[1]);
    }
  }

  void cone(NodeId id, int depth, std::unordered_set<NodeId>& seen) {
    if (!seen.insert(id).second || depth == 0 || op(id).kind != NodeKind::Apply) return;
    if (seen.size() > 256) return;
    operands(id, [&](NodeId a) { cone(a, depth - 1, seen); });
  }

  // A formula with `from` replaced by `to`; what both arms contain is a state from before the
  // branch, and is spared unless the operand stands just below.
  struct Substitution {
    NodeId from, to;
    int copies = 0;
    bool failed = false, found = false;
    std::unordered_map<NodeId, NodeId> done;
  };
  NodeId replaced(NodeId id, int depth, Substitution& s) {
    if (same(id, s.from)) {
      s.found = true;
      return s.to;
    }
    if (depth <= 0 || op(id).kind != NodeKind::Apply) return id;
    if (shared_.count(id) != 0) {
      const Fn fn = op(id).fn;
      if (fn == Fn::Select || fn == Fn::Agree || fn == Fn::Max || fn == Fn::Min) return id;
      depth = std::min(depth, kShared);
    }
    if (auto it = s.done.find(id); it != s.done.end()) return it->second;
    const Node n = out_.nodes[id];
    const int arity = info(op(id).fn).arity;
    const NodeId a = replaced(n.a, depth - 1, s);
    const NodeId b = arity >= 2 ? replaced(n.b, depth - 1, s) : n.b;
    NodeId c = n.c;
    if (arity == 3) c = replaced(n.c, depth - 1, s);
    if (arity >= 4) {
      const auto pair = out_.extra[n.c];
      const NodeId x = replaced(pair[0], depth - 1, s), y = replaced(pair[1], depth - 1, s);
      if (x != pair[0] || y != pair[1]) c = extra(x, y);
    }
    NodeId result = id;
    if (a != n.a || b != n.b || c != n.c) {
      if (++s.copies > kCopies) s.failed = true;
      if (!s.failed) result = add(n.op, a, b, c);
    }
    s.done[id] = result;
    return result;
  }
  // kNoNode where it became too large; *found: whether `from` was there.
  NodeId with(NodeId formula, NodeId from, NodeId to, bool* found) {
    Substitution s{from, to, 0, false, false, {}};
    const NodeId result = replaced(formula, kDepth, s);
    *found = *found || s.found;
    return s.failed ? kNoNode : result;
  }

  struct Comparison {
    Fn fn = Fn::Eq;
    NodeId u = kNoNode, v = kNoNode;
    Ty type = Ty::F32;
    bool negated = false;
  };
  std::optional<Comparison> comparison(NodeId cond) const {
    Comparison c;
    for (; applies(cond, Fn::PNot); cond = out_.nodes[cond].a) c.negated = !c.negated;
    const Op& o = op(cond);
    if (o.kind != NodeKind::Apply || info(o.fn).cls != FnClass::C || !is_float(o.type)) return {};
    switch (o.fn) {
      case Fn::Lt:
      case Fn::Le:
      case Fn::Ltu:
      case Fn::Leu:
        c.fn = Fn::Lt;
        break;
      case Fn::Gt:
      case Fn::Ge:
      case Fn::Gtu:
      case Fn::Geu:
        c.fn = Fn::Gt;
        break;
      case Fn::Eq:
      case Fn::Equ:
        c.fn = Fn::Eq;
        break;
      case Fn::Ne:
      case Fn::Neu:
        c.fn = Fn::Eq;
        c.negated = !c.negated;
        break;
      default:
        return {};
    }
    c.u = out_.nodes[cond].a;
    c.v = out_.nodes[cond].b;
    c.type = o.type;
    return c;
  }

  // A value that is a select behind its Agree nodes.
  NodeId merged(NodeId id, NodeId old) {
    if (!applies(id, Fn::Select) || !is_float(op(id).type)) return id;
    const Node n = out_.nodes[id];
    const auto c = comparison(n.a);
    if (!c) return id;
    const NodeId a = c->negated ? n.c : n.b, b = c->negated ? n.b : n.c;
    std::unordered_set<NodeId> in_a, in_b;
    cone(a, kDepth, in_a);
    cone(b, kDepth, in_b);
    shared_.clear();
    for (const NodeId x : in_a)
      if (in_b.count(x) != 0) shared_.insert(x);
    const Op origin = op(id);
    result_ = id;
    if (c->fn == Fn::Eq) {
      for (const auto& [from, to] : {std::pair{c->u, c->v}, std::pair{c->v, c->u}}) {
        bool found = false;
        const NodeId left = with(a, from, to, &found), right = with(b, from, to, &found);
        if (found) agree(origin, b, left, right);
      }
      return result_;
    }
    Op extremum = origin;
    extremum.type = c->type;
    extremum.mods = {};
    extremum.fn = Fn::Max;
    const NodeId high = add(op_number(extremum), c->u, c->v, kNoNode);
    extremum.fn = Fn::Min;
    const NodeId low = add(op_number(extremum), c->u, c->v, kNoNode);
    // u under c is `mine`, v is `other`; otherwise the reverse.
    const bool more = c->fn == Fn::Gt;
    const NodeId mine = more ? high : low, other = more ? low : high;
    bool found = false;
    NodeId left = with(a, c->u, mine, &found);
    NodeId right = with(b, c->v, mine, &found);
    if (found) agree(origin, left, left, right);
    found = false;
    left = with(a, c->v, other, &found);
    right = with(b, c->u, other, &found);
    if (found) agree(origin, left, left, right);
    // A e^u = B e^v says the same as A e^-v = B e^-u, in terms of the other extremum: last, and so
    // preferred, is the one that the kernel goes on with.
    const bool low_last = is_minimum(old);
    for (const Fn power : {Fn::Exp, Fn::Exp2}) {
      if (!contains(in_a, power) && !contains(in_b, power)) continue;
      for (const bool is_low : {!low_last, low_last}) {
        const NodeId e = is_low ? low : high;
        const bool u_first = e == mine;
        weighted(origin, a, u_first ? c->u : c->v, b, u_first ? c->v : c->u, e, power);
      }
    }
    // One arm is the other's value at the boundary.
    one_sided(origin, a, b, c->u, c->v, other);
    one_sided(origin, a, b, c->v, c->u, mine);
    one_sided(origin, b, a, c->u, c->v, mine);
    one_sided(origin, b, a, c->v, c->u, other);
    return result_;
  }
  bool contains(const std::unordered_set<NodeId>& cone, Fn fn) const {
    return std::any_of(cone.begin(), cone.end(), [&](NodeId id) { return applies(id, fn); });
  }
  // Sums relative to an extremum e, which is x in the case of a and y in that of b: both arms are
  // one value over e^e (for a maximum) or e^-e.
  void weighted(const Op& origin, NodeId a, NodeId x, NodeId b, NodeId y, NodeId e, Fn power) {
    Op o = origin;
    o.mods = {};
    const auto make = [&](Fn fn, NodeId p, NodeId q = kNoNode) {
      o.fn = fn;
      return add(op_number(o), p, q, kNoNode);
    };
    const bool negative = applies(e, Fn::Min);
    const auto weighed = [&](NodeId arm, NodeId z) {
      return make(Fn::Mul, arm, make(power, negative ? make(Fn::Neg, z) : z));
    };
    const NodeId shift = negative ? make(Fn::Sub, e, x) : make(Fn::Sub, x, e);
    agree(origin, make(Fn::Mul, a, make(power, shift)), weighed(a, x), weighed(b, y));
  }
  // Does the trace select the smaller, and not the larger, of the two that this select compares?
  bool is_minimum(NodeId select) const {
    NodeId cond = t_.nodes[select].a;
    for (; t_.ops[t_.nodes[cond].op].fn == Fn::PNot; cond = t_.nodes[cond].a) {
    }
    const Node& n = t_.nodes[cond];
    const auto found = extrema_.find({std::min(n.a, n.b), std::max(n.a, n.b)});
    return found != extrema_.end() && found->second == 2;
  }
  // Pairs of which the trace has the maximum (1), the minimum (2) or both.
  void find_extrema() {
    for (NodeId id = 1; id < t_.nodes.size(); ++id) {
      const Node& n = t_.nodes[id];
      const Op& o = t_.ops[n.op];
      if (o.kind != NodeKind::Apply) continue;
      if (o.fn == Fn::Max || o.fn == Fn::Min) {
        extrema_[{std::min(n.a, n.b), std::max(n.a, n.b)}] |= o.fn == Fn::Max ? 1 : 2;
      } else if (o.fn == Fn::Select) {
        bool swapped = false;
        NodeId cond = n.a;
        for (; t_.ops[t_.nodes[cond].op].fn == Fn::PNot; cond = t_.nodes[cond].a)
          swapped = !swapped;
        const Node& k = t_.nodes[cond];
        const Op& compare = t_.ops[k.op];
        const bool more = compare.fn == Fn::Gt || compare.fn == Fn::Ge;
        const bool less = compare.fn == Fn::Lt || compare.fn == Fn::Le;
        const bool same = k.a == n.b && k.b == n.c, exchanged = k.a == n.c && k.b == n.b;
        if (compare.kind != NodeKind::Apply || (!more && !less) || (!same && !exchanged)) continue;
        extrema_[{std::min(k.a, k.b), std::max(k.a, k.b)}] |= ((more == same) != swapped) ? 1 : 2;
      }
    }
  }

  // special = general[from:=to] makes general[from:=extremum] the value in both cases.
  void one_sided(const Op& origin, NodeId special, NodeId general, NodeId from, NodeId to,
                 NodeId extremum) {
    bool found = false;
    const NodeId at = with(general, from, to, &found);
    if (!found || at == kNoNode) return;
    agree(origin, with(general, from, extremum, &found), special, at);
  }

  void agree(const Op& origin, NodeId value, NodeId left, NodeId right) {
    if (value == kNoNode || left == kNoNode || right == kNoNode) return;
    Op o = origin;
    o.fn = Fn::Agree;
    o.mods = {};
    result_ = add(op_number(o), result_, value, extra(left, right));
    found_ = true;
  }

  const Trace& t_;
  Trace out_;
  std::vector<NodeId> moved_;
  std::unordered_map<uint64_t, uint32_t> ops_;
  std::unordered_map<uint64_t, NodeId> nodes_;
  std::unordered_set<NodeId> shared_;
  std::map<std::pair<NodeId, NodeId>, int> extrema_;
  NodeId result_ = kNoNode;
  bool found_ = false;
};

}  // namespace

std::optional<Trace> merge_cases(const Trace& trace) { return CaseMerger(trace).run(); }

}  // namespace assay::machine
