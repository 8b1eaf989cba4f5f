// The reference's side of classes: how its reads move with its results.
#include <algorithm>
#include <set>

#include "check/classes.h"

namespace assay::check {

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
