#include "check/classes.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <optional>
#include <set>

#include "base/deadline.h"
#include "term/field.h"

namespace assay::check {

using machine::Node;
using machine::NodeKind;
using machine::Trace;

namespace {

constexpr size_t kMaxClasses = 12;

struct Hash {
  uint64_t a = 1, b = 2;
  void add(uint64_t x) {
    a = term::mix64(a ^ x);
    b = term::mix64(b * 0x9e3779b97f4a7c15ULL + x);
  }
  void add(const Hash& h) { add(h.a), add(h.b); }
  bool operator==(const Hash&) const = default;
};

// What one CTA's marked nodes compute, with elements relative to the least one of their buffer: a
// hash over each node and what it needs. Whether equal loads are one node does not matter.
class Signature {
 public:
  Signature(const Trace& trace, const term::Marks& marks) : t_(trace), marks_(marks) {
    for (const machine::NodeId id : marks.live) note_bases(t_.nodes[id], marks.live.lanes(id));
    for (const uint32_t k : marks.stores) note(t_.stores[k].buffer, t_.stores[k].element);
    std::vector<Hash> value(t_.nodes.size());
    for (const machine::NodeId id : marks.live)
      value[id] = node(t_.nodes[id], marks.live.lanes(id), value);
    for (const uint32_t k : marks.stores) {
      const machine::StoreOut& s = t_.stores[k];
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

struct Signed {
  Hash hash;
  ClassMember member;
  std::vector<int64_t> written;
  std::vector<int> looked_up;
};

// keep: with the list of elements.
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
  for (const uint32_t k : marks.stores) {
    if (!keep && !out.written.empty()) break;
    out.written.push_back(t.stores[k].element);
  }
  return out;
}

}  // namespace

Result<std::vector<CtaClass>> cta_classes(const PreparedLaunch& launch,
                                          const std::vector<uint32_t>& ctas, int buffer,
                                          int64_t first, int64_t count, int jobs,
                                          std::chrono::steady_clock::time_point until) {
  using Clock = std::chrono::steady_clock;
  struct Found {
    Hash hash;
    CtaClass cls;
  };
  using Part = Result<std::vector<Found>>;
  const auto start = Clock::now();
  std::atomic<bool> stop = false;
  auto run = [&](size_t from, size_t to) -> Part {
    std::vector<Found> classes;
    for (size_t k = from; k < to && !stop; ++k) {
      const auto now = Clock::now();
      // The rest at the pace so far.
      const auto rest = (now - start) * static_cast<int64_t>(to - k) /
                        static_cast<int64_t>(std::max<size_t>(1, k - from));
      if (now > until || (now - start > (until - start) / 8 && now + rest > until)) {
        stop = true;
        return fail(DiagKind::Limit, "no time to trace all CTAs");
      }
      auto one = sign(launch, ctas[k], buffer, first, count, false);
      if (!one) {
        stop = true;
        return tl::unexpected<Diag>(one.error());
      }
      if (one->written.empty()) continue;
      auto it = std::find_if(classes.begin(), classes.end(),
                             [&](const Found& f) { return f.hash == one->hash; });
      if (it == classes.end()) {
        if (classes.size() == kMaxClasses) {
          stop = true;
          return fail(DiagKind::Limit, "the CTAs are not alike");
        }
        it = classes.insert(it, {one->hash, {{}, {}, one->looked_up}});
      }
      it->cls.members.push_back(std::move(one->member));
    }
    return classes;
  };
  const size_t half = jobs > 1 ? ctas.size() / 2 : ctas.size();
  auto second =
      std::async(jobs > 1 ? std::launch::async : std::launch::deferred, run, half, ctas.size());
  Part mine = run(0, half);
  Part other = second.get();
  ASSAY_CHECK(mine);
  ASSAY_CHECK(other);
  for (Found& f : *other) {
    auto it =
        std::find_if(mine->begin(), mine->end(), [&](const Found& g) { return f.hash == g.hash; });
    if (it == mine->end())
      mine->push_back(std::move(f));
    else
      std::move(f.cls.members.begin(), f.cls.members.end(), std::back_inserter(it->cls.members));
  }
  if (mine->size() > kMaxClasses) return fail(DiagKind::Limit, "the CTAs are not alike");
  std::vector<CtaClass> out;
  for (Found& f : *mine) {
    ASSAY_TRY(Signed one, sign(launch, f.cls.members[0].cta, buffer, first, count, true));
    f.cls.written = std::move(one.written);
    std::sort(f.cls.written.begin(), f.cls.written.end());
    out.push_back(std::move(f.cls));
  }
  return out;
}

int64_t base_of(const ClassMember& member, int buffer) {
  for (const auto& [b, base] : member.base)
    if (b == buffer) return base;
  return 0;
}

// --- the reference ------------------------------------------------------------------------------

std::vector<Point> writers_of(Side& side, int buffer) {
  std::vector<Point> out;
  for (size_t s = 0; s < side.program->steps.size(); ++s) {
    const auto& what = side.program->steps[s].what;
    if (side.ops[s]) {
      const OpState& op = *side.ops[s];
      for (size_t n = 0; n < op.shapes.size(); ++n)
        if (op.buffers[static_cast<size_t>(op.shapes[n]->nest.write.operand)] == buffer)
          out.push_back({s, n});
    } else if (side.launches[s]) {
      const auto cover = side.launches[s]->coverage();
      if (!cover || !(*cover)->complete || (*cover)->buffers.count(buffer) != 0)
        out.push_back({s, 0});
    } else if (const auto* copy = std::get_if<program::CopyStep>(&what)) {
      if (copy->dst == buffer) out.push_back({s, 0});
    } else if (const auto* fill = std::get_if<program::FillStep>(&what)) {
      if (fill->dst == buffer) out.push_back({s, 0});
    }
  }
  return out;
}

bool stays_inside(const PlannedCut& planned, const std::vector<Cut>& cuts, int64_t by) {
  for (const Cut& cut : cuts)
    if (cut.symbol == planned.symbol && cut.buffer == planned.buffer)
      return planned.elements.front() + by >= cut.first &&
             planned.elements.back() + by < cut.first + cut.count;
  return false;
}

PlanShift::PlanShift(Side& side, const Plan& plan, const PlanRequest& request, int buffer)
    : side_(side), plan_(plan), cuts_(request.cuts), buffer_(buffer) {
  for (size_t s = plan.steps.size(); s-- > 0;) {
    const StepPlan& step = plan.steps[s];
    if (step.launch || !step.copied.empty()) usable_ = false;
    auto cuts = [&](size_t nest) {
      for (const PlannedCut& cut : step.cuts) {
        if (cut.nest != nest) continue;
        Step one;
        one.cut = &cut;
        steps_.push_back(std::move(one));
      }
    };
    if (!side.ops[s]) {
      cuts(0);
      continue;
    }
    for (size_t n = step.nests.size(); n-- > 0;) {
      cuts(n);
      if (step.nests[n].empty()) continue;
      Step one;
      one.op = side.ops[s].get();
      one.shape = one.op->shapes[n].get();
      one.first = step.nests[n].front();
      const size_t rank = one.shape->total_rank;
      int64_t iters[term::kMaxRank] = {};
      step.nests[n].for_each([&](int64_t e) {
        if (!one.shape->invert(e, iters)) usable_ = false;
        if (one.at.empty()) {
          one.at.assign(iters, iters + rank);
          one.lo = one.hi = one.at;
        }
        for (size_t k = 0; k < rank; ++k) {
          one.lo[k] = std::min(one.lo[k], iters[k]);
          one.hi[k] = std::max(one.hi[k], iters[k]);
        }
      });
      for (size_t k = one.shape->space_rank; k < rank; ++k) {
        one.lo[k] = 0;  // a scan starts at the beginning, a reduction runs over all
        if (!one.shape->scan) one.hi[k] = one.shape->extents[k] - 1;
      }
      steps_.push_back(std::move(one));
    }
  }
  // An element that moves must not come to where another step wrote.
  const Point end = request.end ? *request.end : Point{plan.steps.size(), 0};
  const auto sole = [&](int b, std::optional<Point> after, size_t most) {
    size_t count = 0;
    for (const Point& w : writers_of(side, b))
      if (w <= end && (!after || w > *after)) ++count;
    usable_ = usable_ && count <= most;
  };
  std::set<int> cut_buffers;
  for (size_t s = 0; s < plan.steps.size(); ++s)
    for (const PlannedCut& cut : plan.steps[s].cuts) {
      sole(cut.buffer, Point{s, cut.nest}, 0);
      cut_buffers.insert(cut.buffer);
    }
  for (const auto& [b, elements] : plan.support) sole(b, std::nullopt, 0);
  for (const Step& step : steps_) {
    if (step.shape == nullptr) continue;
    const int b = step.op->buffers[static_cast<size_t>(step.shape->nest.write.operand)];
    usable_ = usable_ && cut_buffers.count(b) == 0;
    sole(b, std::nullopt, 1);
  }
}

namespace {

int64_t along(const tensor::Affine& a, const std::vector<int64_t>& move) {
  int64_t sum = 0;
  for (size_t k = 0; k < a.coeff.size() && k < move.size(); ++k) sum += a.coeff[k] * move[k];
  return sum;
}

// By how many elements an access moves; nothing: differently from place to place.
std::optional<int64_t> access_shift(const tensor::Access& a, const std::vector<int64_t>& move,
                                    const std::vector<int64_t>& lo,
                                    const std::vector<int64_t>& hi) {
  int64_t by = along(a.offset, move);
  for (const tensor::GuardedDim& g : a.guarded) {
    const int64_t moved = along(g.expr, move);
    if (moved == 0) continue;
    if (g.div != 1) return std::nullopt;
    int64_t least = g.expr.constant, most = g.expr.constant;
    for (size_t k = 0; k < g.expr.coeff.size() && k < lo.size(); ++k) {
      const int64_t x = g.expr.coeff[k] * lo[k], y = g.expr.coeff[k] * hi[k];
      least += std::min(x, y);
      most += std::max(x, y);
    }
    least += std::min<int64_t>(0, moved);
    most += std::max<int64_t>(0, moved);
    if (least < g.lo || most >= g.hi) return std::nullopt;  // the guard need not hold at both
    by += g.stride * moved;
  }
  return by;
}

bool depends_on_place(const tensor::Nest& nest, const std::vector<int64_t>& move) {
  for (const auto* body : {&nest.body, &nest.post})
    for (const tensor::BodyNode& n : *body)
      if (n.kind == tensor::BodyNode::Kind::Iter && along(n.iter, move) != 0) return true;
  return along(nest.arg_index, move) != 0;
}

}  // namespace

bool PlanShift::shift(int64_t by, std::map<uint64_t, int64_t>* symbols) const {
  if (!usable_) return false;
  std::map<int, int64_t> moving{{buffer_, by}};  // one shift for each buffer
  const auto put = [](auto& map, auto key, int64_t value) {
    return map.try_emplace(key, value).first->second == value;
  };
  std::vector<int64_t> move;
  for (const Step& step : steps_) {
    if (step.shape == nullptr) {
      auto it = moving.find(step.cut->buffer);
      if (it == moving.end() || !stays_inside(*step.cut, cuts_, it->second) ||
          !put(*symbols, step.cut->symbol, it->second))
        return false;
      continue;
    }
    const tensor::Nest& nest = step.shape->nest;
    auto it = moving.find(step.op->buffers[static_cast<size_t>(nest.write.operand)]);
    if (it == moving.end()) return false;
    const size_t rank = step.shape->total_rank;
    int64_t iters[term::kMaxRank] = {};
    if (!step.shape->invert(step.first + it->second, iters)) return false;
    move.assign(rank, 0);
    const size_t moved = step.shape->scan ? rank : step.shape->space_rank;
    for (size_t k = 0; k < moved; ++k) {
      move[k] = iters[k] - step.at[k];
      if (step.lo[k] + move[k] < 0 || step.hi[k] + move[k] >= step.shape->extents[k]) return false;
      if (k >= step.shape->space_rank && move[k] != 0) return false;
    }
    if (depends_on_place(nest, move)) return false;
    for (const auto* reads : {&nest.reads, &nest.post_reads})
      for (const tensor::Access& a : *reads) {
        const auto d = access_shift(a, move, step.lo, step.hi);
        if (!d || !put(moving, step.op->buffers[static_cast<size_t>(a.operand)], *d)) return false;
      }
  }
  for (const auto& [buffer, elements] : plan_.support) {
    const term::Source& source = side_.sources[static_cast<size_t>(buffer)];
    auto it = moving.find(buffer);
    if (it == moving.end()) return false;
    if (source.kind != term::Source::Kind::Symbol) {
      if (it->second != 0) return false;
    } else if (!put(*symbols, source.symbol, it->second)) {
      return false;
    }
  }
  return plan_.unwritten.empty();
}

}  // namespace assay::check
