#pragma once
// A plan: what must be evaluated for a set of output elements, found backwards over the steps, and
// the evaluation of a plan in a domain, forwards.
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "check/side.h"
#include "tensor/elem_set.h"
#include "term/trace_eval.h"

namespace assay::check {

using Wants = std::map<int, tensor::ElemSet>;  // buffer -> elements

// A place among the steps: after nest `nest` of an operator, after any other step (nest 0).
struct Point {
  size_t step = 0, nest = 0;
  auto operator<=>(const Point&) const = default;
};

// From a point on, elements [first, first + count) of a buffer hold symbols, whatever was there:
// element `first` is element 0 of the symbol. See check/lemma.
struct Cut {
  Point at;
  int buffer = -1;
  int64_t first = 0, count = 0;
  uint64_t symbol = 0;
};

struct PlannedCut {
  size_t nest = 0;
  int buffer = -1;
  int64_t first = 0;
  uint64_t symbol = 0;
  tensor::ElemSet elements;  // wanted ones
};

struct LaunchPlan {
  std::vector<uint32_t> ctas;
  std::shared_ptr<const machine::Trace> trace;  // of these CTAs or more
  term::Marks marks;
};

struct StepPlan {
  std::vector<tensor::ElemSet> nests;  // operators: wanted results of each nest
  std::optional<LaunchPlan> launch;
  tensor::ElemSet copied;  // copies and fills: wanted destination elements
  std::vector<PlannedCut> cuts;

  bool idle() const {
    return !launch && copied.empty() && cuts.empty() &&
           std::all_of(nests.begin(), nests.end(), [](const auto& n) { return n.empty(); });
  }
};

struct Plan {
  std::vector<StepPlan> steps;
  Wants support;  // elements of initial contents that are read
  uint64_t live_nodes = 0;
  uint64_t warp_instructions = 0;
  uint64_t nest_rows = 0;  // iterations of nests, 32 a row
  // Elements wanted that no step writes and that start undefined.
  Wants unwritten;
};

// Called with a step and the CTAs of its launch before they are traced.
using BeforeTrace = std::function<void(size_t step, const std::vector<uint32_t>& ctas)>;
struct PlanRequest {
  bool descending = false;  // traces by the other schedule (see PreparedLaunch::trace)
  BeforeTrace before = {};
  std::vector<Cut> cuts = {};
  std::optional<Point> end = {};  // outputs are wanted as they are there; later steps do not matter
  // Warp instructions and rows of nests; an error of kind Limit where more are needed. What the
  // launches need is estimated before they are traced.
  uint64_t limit = UINT64_MAX;
};
Result<Plan> make_plan(Side& side, const Wants& outputs, const PlanRequest& request);
Result<Plan> make_plan(Side& side, const Wants& outputs, bool descending = false,
                       const BeforeTrace& before = {});

// The plan with traces in which selects meet (machine/merge_cases), for images; nothing where no
// trace has one that can.
std::optional<Plan> merge_cases(const Plan& plan);

// Runs the plan; the store then holds the wanted outputs.
// given: cells of cut symbols by element; those without are symbols of the domain.
template <class D>
using GivenCells = std::map<uint64_t, std::vector<typename D::Cell>>;
template <class D>
void run_plan(const Side& side, const Plan& plan, D& domain, term::Store<D>& store,
              const GivenCells<D>* given = nullptr);

// Byte width of the elements of a buffer as the evaluators count them.
uint32_t element_bytes(const Side& side, int buffer);

template <class D>
void run_copy(const Side& side, const program::CopyStep& c, const tensor::ElemSet& wanted,
              D& domain, term::Store<D>& store) {
  const auto width = static_cast<int64_t>(element_bytes(side, c.dst));
  const Ty type = side.sources[static_cast<size_t>(c.dst)].type;
  wanted.for_each([&](int64_t e) {
    const int64_t from = e - c.dst_offset / width;
    if (c.src >= 0) {
      store.store(c.dst, e, store.load1(c.src, from + c.src_offset / width));
      return;
    }
    uint64_t bits = 0;
    for (int64_t k = 0; k < width; ++k)
      bits |= static_cast<uint64_t>(c.host_data[static_cast<size_t>(from * width + k)]) << (8 * k);
    typename D::Row row;
    domain.set_bits(bits, row);
    store.store(c.dst, e, domain.cell(row, 0, type));
  });
}

template <class D>
void run_fill(const Side& side, const program::FillStep& f, const tensor::ElemSet& wanted,
              D& domain, term::Store<D>& store) {
  const uint32_t width = element_bytes(side, f.dst);
  uint64_t bits = 0;
  for (uint32_t k = 0; k < width; ++k)
    bits |= static_cast<uint64_t>((f.value >> (8 * (k % f.width))) & 255) << (8 * k);
  typename D::Row row;
  domain.set_bits(bits, row);
  const auto cell = domain.cell(row, 0, side.sources[static_cast<size_t>(f.dst)].type);
  wanted.for_each([&](int64_t e) { store.store(f.dst, e, cell); });
}

template <class D>
void place_cut(const PlannedCut& cut, Ty type, D& domain, term::Store<D>& store,
               const GivenCells<D>* given) {
  const std::vector<typename D::Cell>* cells = nullptr;
  if (given != nullptr) {
    auto it = given->find(cut.symbol);
    if (it != given->end()) cells = &it->second;
  }
  cut.elements.for_each_run([&](int64_t from, int64_t count) {
    for (int64_t at = from; at < from + count; at += term::kRow) {
      const auto n = static_cast<int>(std::min<int64_t>(term::kRow, from + count - at));
      if (cells != nullptr) {
        for (int l = 0; l < n; ++l)
          store.store(cut.buffer, at + l, (*cells)[static_cast<size_t>(at + l - cut.first)]);
        continue;
      }
      int64_t elements[term::kRow];
      for (int l = 0; l < term::kRow; ++l) elements[l] = at - cut.first + std::min(l, n - 1);
      typename D::Row row;
      domain.symbol(cut.symbol, type, elements, 0xffffffffu, row);
      for (int l = 0; l < n; ++l) store.store(cut.buffer, at + l, domain.cell(row, l, type));
    }
  });
}

template <class D>
void run_plan(const Side& side, const Plan& plan, D& domain, term::Store<D>& store,
              const GivenCells<D>* given) {
  size_t last = plan.steps.size();  // the step whose results nothing reads
  while (last > 0 && plan.steps[last - 1].idle()) --last;
  // From this nest of this step on only sums and products follow, to which deep facts are nothing.
  std::pair<size_t, size_t> calm{last, 0};
  for (size_t s = last; s-- > 0 && calm == std::pair{s + 1, size_t{0}};) {
    const StepPlan& step = plan.steps[s];
    if (step.launch) break;
    size_t n = step.nests.size();
    const auto quiet = [&](size_t k) {
      return step.nests[k].empty() || term::is_ring(side.ops[s]->shapes[k]->nest);
    };
    while (n > 0 && quiet(n - 1)) --n;
    calm = {s, n};
  }
  for (size_t s = 0; s < last; ++s) {
    const StepPlan& step = plan.steps[s];
    auto place = [&](size_t nest) {
      for (const PlannedCut& cut : step.cuts)
        if (cut.nest == nest)
          place_cut(cut, side.sources[static_cast<size_t>(cut.buffer)].type, domain, store, given);
    };
    if (step.launch) {
      term::TraceEval<D>(domain, store).run(*step.launch->trace, step.launch->marks, s + 1 == last);
    } else if (side.ops[s]) {
      const OpState& op = *side.ops[s];
      term::NestEval<D> eval(domain, store, op.buffers, op.types);
      for (size_t n = 0; n < step.nests.size(); ++n) {
        const bool ends = n + 1 == step.nests.size();
        const auto next = ends ? std::pair{s + 1, size_t{0}} : std::pair{s, n + 1};
        eval.run(*op.shapes[n], step.nests[n], s + 1 == last && ends, next >= calm);
        place(n);
      }
      continue;
    } else if (const auto* copy = std::get_if<program::CopyStep>(&side.program->steps[s].what)) {
      run_copy(side, *copy, step.copied, domain, store);
    } else if (const auto* fill = std::get_if<program::FillStep>(&side.program->steps[s].what)) {
      run_fill(side, *fill, step.copied, domain, store);
    }
    place(0);
  }
}

}  // namespace assay::check
