// From files to pairs of Programs: the front ends of both sides.
#include <fmt/format.h>

#include <filesystem>
#include <future>

#include "check/check.h"
#include "check/front.h"
#include "check/launch_toml.h"
#include "check/programs.h"
#include "host/compile.h"

namespace assay::check {

namespace fs = std::filesystem;
using program::Argument;
using program::Program;
using program::ProgramSet;

namespace {

using SteadyClock = std::chrono::steady_clock;

double since(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

Result<Program> from_launch(const std::string& path, const LaunchFile& launch, LaunchSide side,
                            const CheckRequest& rq) {
  program::Module module;
  module.name = path;
  if (extension_of(path) == ".ptx") {
    ASSAY_TRY(module.real_ptx, read_text(path));
  } else {
    host::CompileRequest compile;
    compile.sources = {path};
    compile.extra_flags = rq.nvcc_flags;
    ASSAY_TRY(host::CompiledKernels built, host::compile_kernels(compile));
    module.real_ptx = std::move(built.real_ptx);
    module.semantic_ptx = std::move(built.semantic_ptx);
  }
  return launch_program(launch, std::move(module), side);
}

std::string change_text(const std::vector<program::Change>& changed) {
  std::string out;
  for (const auto& [name, value] : changed)
    out += (out.empty() ? "" : ", ") + name + "=" +
           std::visit([](auto v) { return fmt::format("{}", v); }, value);
  return out;
}

// The altered floats that the host function is not called with: for it they are constants, which it
// may well contain. (No altered float has a value that another scalar has, see shapes.py.)
std::string not_passed(const std::vector<program::Change>& changed,
                       const std::vector<Argument>& called) {
  std::vector<double> passed;
  for (const Argument& a : called) {
    if (const auto* one = std::get_if<double>(&a.value)) passed.push_back(*one);
    if (const auto* list = std::get_if<std::vector<double>>(&a.value))
      passed.insert(passed.end(), list->begin(), list->end());
  }
  std::string out;
  for (const auto& [name, value] : changed) {
    const auto* v = std::get_if<double>(&value);
    if (v != nullptr && std::find(passed.begin(), passed.end(), *v) == passed.end())
      out += (out.empty() ? "" : ", ") + name;
  }
  return out;
}

// Both sides by one launch file.
Result<std::vector<Pair>> launch_pairs(const CheckRequest& rq, std::vector<Timing>& timings,
                                       Lacks& lacks) {
  const auto start = SteadyClock::now();
  ASSAY_TRY(const std::string text, read_text(rq.launch_toml));
  ASSAY_TRY(const LaunchFile launch, parse_launch(text, rq.launch_toml));
  Pair pair;
  ASSAY_TRY(pair.candidate, from_launch(rq.candidate, launch, LaunchSide::Candidate, rq));
  const std::string ext = extension_of(rq.reference);
  if (ext == ".ptx" || ext == ".cu") {
    ASSAY_TRY(pair.reference, from_launch(rq.reference, launch, LaunchSide::Reference, rq));
  } else {
    ASSAY_TRY(ProgramSet set, load_reference(rq, lacks));
    pair.reference = std::move(set.programs.front());
  }
  timings.push_back({"compile", since(start)});
  std::vector<Pair> pairs;
  pairs.push_back(std::move(pair));
  return pairs;
}

Status compile_sources(const CheckRequest& rq) {
  for (const std::string& path : {rq.candidate, rq.reference}) {
    if (extension_of(path) != ".cu") continue;
    host::CompileRequest compile;
    compile.sources = {path};
    compile.extra_flags = rq.nvcc_flags;
    auto done = host::compile_extension(compile);
    if (!done) return tl::unexpected<Diag>(done.error());
  }
  return {};
}

// The pairs of recorded sides; further orders of the host function's arguments can be asked for.
struct Recorded {
  ProgramSet set;           // of the reference (two sources: its inputs)
  std::vector<Pair> pairs;  // empty where recording failed
  size_t choice = 0;        // of the argument lists
  std::vector<ArgumentList> lists;
};

// Records all shapes with the first list from `out.choice` on that the host function takes.
Status record_pairs(const CheckRequest& rq, Recorded& out, std::vector<Finding>& notes,
                    Lacks& lacks) {
  out.pairs.clear();
  for (size_t k = 0; k < out.set.programs.size(); ++k) {
    if (k > 0 && !rq.altered_shapes) break;
    Program reference = out.set.programs[k];
    const std::string change = change_text(reference.changed);
    const auto rejects = [&](const char* who, const Diag& why) {
      notes.push_back({"note",
                       Severity::Info,
                       fmt::format("the {} rejects {}: {}", who, change, why.message),
                       {}});
    };
    std::vector<ArgumentList> lists = lists_for(rq.candidate, rq.entry, reference);
    if (k == 0) out.lists = lists;
    size_t choice = out.choice;
    auto candidate =
        record_source(rq, rq.candidate, rq.entry, lists, choice, reference, k == 0, lacks);
    if (k == 0) out.choice = choice;
    if (!candidate) {
      if (k == 0) return tl::unexpected<Diag>(candidate.error());
      rejects("candidate", candidate.error());
      continue;
    }
    if (std::string constants = not_passed(reference.changed, lists[choice].arguments);
        !constants.empty()) {
      notes.push_back({"note",
                       Severity::Info,
                       "the host function does not take " + constants + ": not tried with others",
                       {}});
      continue;
    }
    if (!rq.inputs.empty()) {
      auto other = record_reference(rq, reference, lacks);
      if (!other) {
        if (k == 0) return tl::unexpected<Diag>(other.error());
        rejects("reference", other.error());
        continue;
      }
      reference = std::move(*other);
    }
    out.pairs.push_back({k == 0 ? "" : change, std::move(candidate->program), std::move(reference),
                         std::move(candidate->called), std::move(candidate->later)});
  }
  return {};
}

Result<Recorded> recorded_pairs(const CheckRequest& rq, std::vector<Finding>& notes,
                                std::vector<Timing>& timings, Lacks& lacks) {
  const auto start = SteadyClock::now();
  const bool two_sources = !rq.inputs.empty();
  // The compilers run while the reference is exported.
  auto compiled = std::async(std::launch::async, [&rq] { return compile_sources(rq); });
  auto set = two_sources ? load_inputs(rq, lacks) : load_reference(rq, lacks);
  const double reference_s = since(start);
  timings.push_back({two_sources ? "inputs" : "reference", reference_s});
  const Status ok = compiled.get();
  timings.push_back({"compile", since(start) - reference_s});  // beyond the reference
  if (!set) return tl::unexpected<Diag>(set.error());
  ASSAY_CHECK(ok);
  Recorded out;
  out.set = std::move(*set);
  if (extension_of(rq.candidate) == ".assay") {
    ASSAY_TRY(std::vector<Program> candidate, load_programs(rq.candidate));
    out.pairs.push_back({"", std::move(candidate.front()), out.set.programs.front(), {}, {}});
    return out;
  }
  const auto record_start = SteadyClock::now();
  ASSAY_CHECK(record_pairs(rq, out, notes, lacks));
  for (const auto& s : out.set.skipped)
    notes.push_back({"note",
                     Severity::Info,
                     fmt::format("the reference rejects {}: {}", change_text(s.changed), s.reason),
                     {}});
  timings.push_back({"record", since(record_start)});
  return out;
}

Result<std::vector<Pair>> program_pairs(const CheckRequest& rq, std::vector<Finding>& notes,
                                        std::vector<Timing>& timings, Lacks& lacks) {
  const auto start = SteadyClock::now();
  ASSAY_TRY(RecordedPrograms recorded, record_programs(rq, lacks));
  for (const auto& [who, skipped] : {std::pair("reference", &recorded.reference_skipped),
                                     std::pair("candidate", &recorded.candidate_skipped)})
    for (const auto& s : *skipped)
      notes.push_back({"note",
                       Severity::Info,
                       fmt::format("the {} rejects {}: {}", who, change_text(s.changed), s.reason),
                       {}});
  for (Pair& p : recorded.pairs) p.change = change_text(p.reference.changed);
  timings.push_back({"record", since(start)});
  return std::move(recorded.pairs);
}

const std::vector<Argument>& arguments_of(const Pair& pair) {
  return !pair.called.empty()                ? pair.called
         : !pair.candidate.arguments.empty() ? pair.candidate.arguments
                                             : pair.reference.arguments;
}

Sides describe_sides(const Pair& pair, const CheckRequest& request) {
  Sides sides;
  const Program& reference = pair.reference;
  sides.arguments = arguments_of(pair);
  sides.functional =
      reference.form == "functional" && sides.arguments.size() == reference.arguments.size();
  sides.function = reference.function;
  sides.entry = request.entry;
  sides.eval = request.eval;
  return sides;
}

Status check_usage(const CheckRequest& rq) {
  for (const std::string& path : {rq.candidate, rq.reference, rq.inputs, rq.launch_toml}) {
    std::error_code ec;
    if (path.empty() || fs::is_regular_file(path, ec)) continue;
    return fail(DiagKind::Io,
                fs::is_directory(path, ec) ? "this is a folder, not a file" : "no such file",
                {path, 0, 0});
  }
  const std::string ext = extension_of(rq.candidate), other = extension_of(rq.reference);
  const auto bad = [](const std::string& message, const std::string& path) {
    return fail(DiagKind::Invalid, message, {path, 0, 0});
  };
  if (ext != ".cu" && ext != ".py" && ext != ".ptx" && ext != ".assay")
    return bad("a candidate is a .cu, .py, .ptx or .assay file", rq.candidate);
  if (ext == ".py") {
    if (other != ".py")
      return bad("a program with ModelNew is checked against a ref.py with Model", rq.reference);
    if (!rq.launch_toml.empty() || !rq.inputs.empty())
      return bad("--launch and --inputs are for kernels, not for a program", rq.candidate);
    return {};
  }
  if (other != ".py" && other != ".json" && other != ".assay" && other != ".cu" && other != ".ptx")
    return bad(
        "a reference is a .py, .json or .assay file, or a .cu (with --inputs or --launch) or .ptx "
        "(with --launch)",
        rq.reference);
  if (!rq.reference_entry.empty() && (other != ".cu" || !rq.launch_toml.empty()))
    return bad("--reference-entry names the host function of a reference that is a .cu",
               rq.reference);
  if (!rq.launch_toml.empty()) {
    if (ext == ".assay") return bad("--launch goes with .ptx and .cu", rq.candidate);
    if (!rq.inputs.empty()) return bad("give either --inputs or --launch", rq.inputs);
    return {};
  }
  if (ext == ".ptx" || other == ".ptx")
    return bad("PTX needs --launch L.toml (how it is launched, and over which arrays)",
               ext == ".ptx" ? rq.candidate : rq.reference);
  const bool two_sources = ext == ".cu" && other == ".cu";
  if (two_sources && rq.inputs.empty())
    return bad(
        "two .cu files need either --inputs REF.py|REF.json (whose get_inputs and get_init_inputs "
        "give the arguments of both host functions) or --launch L.toml (for kernels without host "
        "function)",
        rq.reference);
  if (!two_sources && !rq.inputs.empty())
    return bad("--inputs is for two .cu files; here the reference gives the inputs", rq.inputs);
  return {};
}

double left(SteadyClock::time_point end) { return -since(end); }

std::string parameter_list(const std::vector<Argument>& arguments) {
  std::string out;
  for (const Argument& a : arguments)
    if (a.source.rfind("parameter:", 0) == 0)
      out += (out.empty() ? "" : ", ") + a.source.substr(a.source.find(':') + 1);
  return out;
}

// A kernel that is wrong for parameters in one order may have been written for another; PyTorch
// fixes none. The first order for which it is proved is taken to be its own, and said.
void try_other_orders(const CheckRequest& rq, SteadyClock::time_point end, Recorded& recorded,
                      Verdict& v, std::vector<Finding>& notes, Lacks& lacks) {
  if (recorded.lists.empty() || recorded.lists[recorded.choice].by_name) return;
  const std::vector<Argument> refuted = recorded.lists[recorded.choice].arguments;
  for (size_t k = 0; k < recorded.lists.size() && left(end) > 1; ++k) {
    if (k == recorded.choice || !permuted(recorded.lists[k].arguments, refuted)) continue;
    Recorded other;
    other.set = recorded.set;
    other.choice = k;
    std::vector<Finding> said;
    if (!record_pairs(rq, other, said, lacks) || other.choice != k) continue;
    CheckOptions options = rq.options;
    options.timeout_s = left(end);
    auto verdict = check_programs(other.pairs, options);
    if (!verdict || verdict->kind != VerdictKind::Proved) continue;
    said.push_back(
        {"note",
         Severity::Low,
         fmt::format("the host function takes the parameters as {}; as {} "
                     "it is wrong",
                     parameter_list(recorded.lists[k].arguments), parameter_list(refuted)),
         {}});
    recorded = std::move(other);
    v = std::move(*verdict);
    notes = std::move(said);
    return;
  }
}

}  // namespace

Result<Verdict> check_files(const CheckRequest& request) {
  const auto start = SteadyClock::now();
  std::vector<Finding> notes;
  std::vector<Timing> timings;
  Lacks lacks;
  ASSAY_CHECK(check_usage(request));
  Recorded recorded;
  std::vector<Pair>& pairs = recorded.pairs;
  if (extension_of(request.candidate) == ".py") {
    ASSAY_TRY(pairs, program_pairs(request, notes, timings, lacks));
  } else if (!request.launch_toml.empty()) {
    ASSAY_TRY(pairs, launch_pairs(request, timings, lacks));
  } else {
    ASSAY_TRY(recorded, recorded_pairs(request, notes, timings, lacks));
  }
  const auto end = start + std::chrono::duration_cast<SteadyClock::duration>(
                               std::chrono::duration<double>(request.options.timeout_s));
  CheckOptions options = request.options;
  options.timeout_s = std::max(1.0, left(end));
  ASSAY_TRY(Verdict v, check_programs(pairs, options));
  if (v.kind == VerdictKind::Refuted) try_other_orders(request, end, recorded, v, notes, lacks);
  for (const std::string& l : lacks)
    notes.push_back({"note",
                     Severity::Low,
                     "foreign code was less confined: this machine's kernel lacks " + l,
                     {}});
  v.candidate = request.candidate;
  v.reference = request.reference;
  v.sides = describe_sides(pairs[0], request);
  for (ShapeResult& shape : v.shapes)
    for (const Pair& pair : pairs)
      if (pair.change == shape.change) {
        shape.changed = pair.reference.changed;
        shape.arguments = arguments_of(pair);
      }
  v.findings.insert(v.findings.end(), notes.begin(), notes.end());
  timings.insert(timings.end(), v.timings.begin(), v.timings.end());
  v.timings = std::move(timings);
  return v;
}

}  // namespace assay::check
