#include "check/programs.h"

#include <algorithm>
#include <future>

#include "host/candidate.h"

namespace assay::check {

using program::Argument;
using program::Program;
using program::ProgramSet;
using program::TensorView;

namespace {

// A buffer of the reference that the candidate never receives.
TensorView unused(Program* p, const Program& reference, TensorView view) {
  if (view.buffer < 0) return view;
  p->buffers.push_back(reference.buffers[static_cast<size_t>(view.buffer)]);
  view.buffer = static_cast<int>(p->buffers.size()) - 1;
  return view;
}

// The candidate's arguments in the reference's order, matched by source.
void align_arguments(Program* p, const Program& reference) {
  std::vector<Argument> own = std::move(p->arguments), out;
  for (const Argument& r : reference.arguments) {
    const auto same = std::find_if(own.begin(), own.end(),
                                   [&](const Argument& a) { return a.source == r.source; });
    if (same != own.end() && r.source.find(':') != std::string::npos) {
      out.push_back(std::move(*same));
      own.erase(same);
      continue;
    }
    Argument a = r;
    if (auto* v = std::get_if<TensorView>(&a.value)) *v = unused(p, reference, *v);
    if (auto* l = std::get_if<std::vector<TensorView>>(&a.value))
      for (TensorView& v : *l) v = unused(p, reference, v);
    out.push_back(std::move(a));
  }
  for (Argument& a : own)
    if (a.source == "own" || a.source == "earlier" || a.source.rfind("state:", 0) == 0)
      out.push_back(std::move(a));
  p->arguments = std::move(out);
}

// Whether every altered float comes to a ModelNew: with the call or as it is built. Others are
// constants to it.
bool floats_arrive(const Program& reference) {
  std::vector<double> built;
  const auto add = [&](const Argument& a) {
    if (const auto* one = std::get_if<double>(&a.value)) built.push_back(*one);
    if (const auto* list = std::get_if<std::vector<double>>(&a.value))
      built.insert(built.end(), list->begin(), list->end());
  };
  for (const Argument& a : reference.init_args) add(a);
  if (reference.form == "module")  // all of its scalars are inputs
    for (const Argument& a : reference.arguments) add(a);
  return std::all_of(reference.changed.begin(), reference.changed.end(),
                     [&](const program::Change& c) {
                       const auto* v = std::get_if<double>(&c.second);
                       return v == nullptr || c.first.rfind("get_inputs()[", 0) == 0 ||
                              std::find(built.begin(), built.end(), *v) != built.end();
                     });
}

}  // namespace

Result<RecordedPrograms> record_programs(const CheckRequest& rq, Lacks& lacks) {
  Lacks reference_lacks;
  std::shared_future<Result<ProgramSet>> exported =
      std::async(std::launch::async, [&] { return load_module(rq, reference_lacks); });
  host::CandidateRequest request;
  request.path = rq.candidate;
  request.reference = rq.reference;
  request.eval = rq.eval;
  request.extra_flags = rq.nvcc_flags;
  request.wall_seconds = std::max(60.0, rq.options.timeout_s);
  request.altered = [&exported] {
    std::vector<host::ShapeChange> out;
    if (const auto& set = exported.get(); set)
      for (size_t k = 1; k < set->programs.size(); ++k)
        if (floats_arrive(set->programs[k])) out.push_back(set->programs[k].changed);
    return out;
  };
  auto recorded = host::record_candidate(request);
  Result<ProgramSet> reference = exported.get();
  if (!reference) return tl::unexpected<Diag>(reference.error());
  if (!recorded) {
    Diag why = recorded.error();
    if (why.loc.file.empty()) why.loc.file = rq.candidate;
    return tl::unexpected<Diag>(why);
  }
  lacks.insert(reference_lacks.begin(), reference_lacks.end());
  lacks.insert(recorded->missing_confinement.begin(), recorded->missing_confinement.end());
  RecordedPrograms out;
  out.reference_skipped = std::move(reference->skipped);
  out.candidate_skipped = std::move(recorded->set.skipped);
  for (Program& r : reference->programs) {
    auto& all = recorded->set.programs;
    const auto c = std::find_if(all.begin(), all.end(),
                                [&](const Program& p) { return p.changed == r.changed; });
    if (c == all.end()) continue;
    align_arguments(&*c, r);
    for (host::LaterCall& later : recorded->later)
      if (out.pairs.empty()) align_arguments(&later.program, r);
    out.pairs.push_back({"", std::move(*c), std::move(r), {}, {}});
  }
  if (out.pairs.empty() || !out.pairs[0].reference.changed.empty())
    return fail(DiagKind::Internal, "the program was not recorded at the reference's shape",
                {rq.candidate, 0, 0});
  out.pairs[0].later = std::move(recorded->later);
  return out;
}

}  // namespace assay::check
