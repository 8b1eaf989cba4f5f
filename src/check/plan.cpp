#include "check/plan.h"

#include <set>

#include "base/deadline.h"
#include "machine/merge_cases.h"

namespace assay::check {

using program::CopyStep;
using program::FillStep;
using tensor::ElemSet;

uint32_t element_bytes(const Side& side, int buffer) {
  return bytes(side.sources[static_cast<size_t>(buffer)].type);
}

namespace {

// What is wanted at a point of a cut comes from the symbol.
void apply_cuts(const std::vector<Cut>& cuts, Point at, Wants& want, StepPlan& plan) {
  for (const Cut& cut : cuts) {
    if (cut.at != at) continue;
    auto it = want.find(cut.buffer);
    if (it == want.end()) continue;
    ElemSet mine = it->second.within(cut.first, cut.count);
    if (mine.empty()) continue;
    it->second.subtract(mine);
    plan.cuts.push_back({at.nest, cut.buffer, cut.first, cut.symbol, std::move(mine)});
  }
}

Status too_much(const PlanRequest& request, const Plan& plan, uint64_t more) {
  if (plan.warp_instructions + plan.nest_rows + more <= request.limit) return {};
  return fail(DiagKind::Limit, "the cone is too large");
}

// The first `count` nests of step `s`.
Status plan_op(const OpState& op, size_t s, size_t count, const PlanRequest& request, Wants& want,
               Plan& whole) {
  StepPlan& plan = whole.steps[s];
  plan.nests.resize(op.shapes.size());
  for (size_t n = count; n-- > 0;) {
    apply_cuts(request.cuts, {s, n}, want, plan);
    const term::NestShape& shape = *op.shapes[n];
    const int target = op.buffers[static_cast<size_t>(shape.nest.write.operand)];
    auto it = want.find(target);
    if (it == want.end()) continue;
    ElemSet& mine = plan.nests[n];
    if (const auto dense = shape.dense()) {
      mine = it->second.within(dense->first, dense->second);
    } else {
      int64_t iters[16];
      DeadlineCheck late;
      it->second.for_each([&](int64_t e) {
        late();
        if (shape.invert(e, iters)) mine.insert(e);
      });
    }
    if (mine.empty()) continue;
    const auto each = static_cast<uint64_t>(shape.scan ? 1 : shape.reduction_count);
    const uint64_t rows = (static_cast<uint64_t>(mine.count()) * each + 31) / 32;
    ASSAY_CHECK(too_much(request, whole, rows));
    whole.nest_rows += rows;
    it->second.subtract(mine);
    std::vector<ElemSet> reads;
    term::nest_demand(shape, mine, reads);
    const size_t direct = shape.nest.reads.size();
    for (size_t k = 0; k < reads.size(); ++k) {
      const tensor::Access& a =
          k < direct ? shape.nest.reads[k] : shape.nest.post_reads[k - direct];
      want[op.buffers[static_cast<size_t>(a.operand)]].unite(reads[k]);
    }
  }
  return {};
}

Status plan_launch(PreparedLaunch& launch, const PlanRequest& request,
                   const std::function<void(const std::vector<uint32_t>&)>& before, Wants& want,
                   const Plan& whole, StepPlan& plan) {
  ASSAY_TRY(const Coverage* cover, launch.coverage());
  std::set<uint32_t> ctas;
  for (const auto& entry : cover->buffers) {
    auto it = want.find(entry.first);
    if (it == want.end()) continue;
    Status failed;
    uint32_t last = 0;
    DeadlineCheck late;
    it->second.for_each([&](int64_t e) {
      late();
      if (!failed || e < 0 || e >= entry.second.elements) return;
      const Result<uint32_t> writer = launch.writer(entry.first, e);
      if (!writer) {
        failed = tl::unexpected<Diag>(writer.error());
        return;
      }
      if (*writer == 0) return;
      if (*writer != last) ctas.insert(*writer - 1);
      last = *writer;
      if (const auto* more = entry.second.map.more(e)) ctas.insert(more->begin(), more->end());
    });
    ASSAY_CHECK(failed);
  }
  if (!cover->complete) {  // stores that depend on data: any CTA may write
    for (uint32_t c = 0; c < launch.num_ctas(); ++c) ctas.insert(c);
  }
  if (ctas.empty()) return {};
  constexpr size_t kFewCtas = 16;
  if (request.limit != UINT64_MAX && ctas.size() > kFewCtas) {
    ASSAY_TRY(const uint64_t each, launch.cta_cost());
    ASSAY_CHECK(too_much(request, whole, each * ctas.size()));
  }
  LaunchPlan lp;
  lp.ctas.assign(ctas.begin(), ctas.end());
  before(lp.ctas);
  ASSAY_TRY(lp.trace, launch.trace(lp.ctas, request.descending));
  int buffer_at = -1;
  std::optional<ElemSet::Cursor> wanted;  // of that buffer
  lp.marks = term::mark_lanes(*lp.trace, [&](int buffer, int64_t e) {
    if (buffer != buffer_at) {
      const auto it = want.find(buffer);
      buffer_at = buffer;
      wanted.reset();
      if (it != want.end()) wanted.emplace(it->second);
    }
    return wanted && (e < 0 || wanted->contains(e));
  });
  Wants stored;
  for (const machine::StoreRef ref : lp.marks.stores) {
    const machine::StoreOut s = lp.trace->store(ref);
    stored[s.buffer].insert(s.element);
  }
  for (const auto& [buffer, elements] : stored) want[buffer].subtract(elements);
  int last = -1;
  ElemSet* reads = nullptr;
  term::marked_reads(*lp.trace, lp.marks, [&](int buffer, Ty, int64_t first, int64_t count) {
    if (buffer != last) reads = &want[last = buffer];
    if (count == 1)
      reads->insert(first);
    else
      reads->insert_range(first, count);
  });
  if (lp.marks.live.size() < lp.trace->nodes.size() / 4) {
    term::CompactTrace small = term::compact(*lp.trace, lp.marks);
    lp.trace = std::make_shared<const machine::Trace>(std::move(small.trace));
    lp.marks = std::move(small.marks);
  } else {
    term::assign_places(*lp.trace, lp.marks);
  }
  plan.launch = std::move(lp);
  return {};
}

// Elements of `buffer` that bytes [offset, offset + count) cover, among the wanted ones.
ElemSet covered(const Side& side, const ElemSet& wanted, int buffer, int64_t offset,
                uint64_t count) {
  const auto width = static_cast<int64_t>(element_bytes(side, buffer));
  const int64_t lo = offset / width, hi = (offset + static_cast<int64_t>(count)) / width;
  return wanted.within(lo, hi - lo);
}

}  // namespace

Result<Plan> make_plan(Side& side, const Wants& outputs, bool descending,
                       const BeforeTrace& before) {
  PlanRequest request;
  request.descending = descending;
  request.before = before;
  return make_plan(side, outputs, request);
}

Result<Plan> make_plan(Side& side, const Wants& outputs, const PlanRequest& request) {
  Plan plan;
  Wants want = outputs;
  plan.steps.resize(side.program->steps.size());
  for (size_t s = request.end ? request.end->step + 1 : plan.steps.size(); s-- > 0;) {
    StepPlan& step = plan.steps[s];
    if (!side.ops[s]) apply_cuts(request.cuts, {s, 0}, want, step);
    if (side.launches[s]) {
      const auto mine = [&](const std::vector<uint32_t>& ctas) {
        if (request.before) request.before(s, ctas);
      };
      ASSAY_CHECK(plan_launch(*side.launches[s], request, mine, want, plan, step));
      if (step.launch) {
        plan.live_nodes += step.launch->marks.live.size();
        plan.warp_instructions += step.launch->trace->warp_instructions;
      }
    } else if (side.ops[s]) {
      const size_t all = side.ops[s]->shapes.size();
      const bool end = request.end && request.end->step == s;
      ASSAY_CHECK(plan_op(*side.ops[s], s, end ? request.end->nest + 1 : all, request, want, plan));
    } else if (const auto* copy = std::get_if<CopyStep>(&side.program->steps[s].what)) {
      auto it = want.find(copy->dst);
      if (it == want.end()) continue;
      step.copied = covered(side, it->second, copy->dst, copy->dst_offset, copy->bytes);
      it->second.subtract(step.copied);
      if (copy->src < 0) continue;
      const auto width = static_cast<int64_t>(element_bytes(side, copy->dst));
      ElemSet& from = want[copy->src];
      step.copied.for_each(
          [&](int64_t e) { from.insert(e - copy->dst_offset / width + copy->src_offset / width); });
    } else if (const auto* fill = std::get_if<FillStep>(&side.program->steps[s].what)) {
      auto it = want.find(fill->dst);
      if (it == want.end()) continue;
      step.copied = covered(side, it->second, fill->dst, fill->offset, fill->bytes);
      it->second.subtract(step.copied);
    }
  }
  for (auto& [buffer, set] : want) {
    if (set.empty()) continue;
    if (side.sources[static_cast<size_t>(buffer)].kind == term::Source::Kind::Poison)
      plan.unwritten[buffer] = set;
    else
      plan.support[buffer] = std::move(set);
  }
  return plan;
}

std::optional<Plan> merge_cases(const Plan& plan) {
  Plan out = plan;
  bool any = false;
  for (StepPlan& step : out.steps) {
    if (!step.launch) continue;
    std::optional<machine::Trace> merged = machine::merge_cases(*step.launch->trace);
    if (!merged) continue;
    step.launch->marks = term::mark_same(*merged, step.launch->marks);
    step.launch->trace = std::make_shared<const machine::Trace>(std::move(*merged));
    any = true;
  }
  if (!any) return std::nullopt;
  return out;
}

}  // namespace assay::check
