// From files to pairs of Programs: the front ends of both sides.
#include <fmt/format.h>

#include <filesystem>
#include <future>

#include "check/check.h"
#include "check/front.h"
#include "check/launch_toml.h"
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

std::string change_text(const Program& p) {
  std::string out;
  for (const auto& [name, value] : p.changed)
    out += fmt::format("{}{}={}", out.empty() ? "" : ", ", name, value);
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

Result<std::vector<Pair>> recorded_pairs(const CheckRequest& rq, std::vector<Finding>& notes,
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
  std::vector<Pair> pairs;
  const auto record_start = SteadyClock::now();
  if (extension_of(rq.candidate) == ".assay") {
    ASSAY_TRY(std::vector<Program> candidate, load_programs(rq.candidate));
    pairs.push_back({"", std::move(candidate.front()), std::move(set->programs.front()), {}, {}});
    return pairs;
  }
  for (size_t k = 0; k < set->programs.size(); ++k) {
    if (k > 0 && !rq.altered_shapes) break;
    Program& reference = set->programs[k];
    const std::string change = change_text(reference);
    const auto rejects = [&](const char* who, const Diag& why) {
      notes.push_back({"note",
                       Severity::Info,
                       fmt::format("the {} rejects {}: {}", who, change, why.message),
                       {}});
    };
    auto candidate = record_source(rq, rq.candidate, rq.entry, reference, k == 0, lacks);
    if (!candidate) {
      if (k == 0) return tl::unexpected<Diag>(candidate.error());
      rejects("candidate", candidate.error());
      continue;
    }
    if (two_sources) {
      auto other = record_reference(rq, reference, lacks);
      if (!other) {
        if (k == 0) return tl::unexpected<Diag>(other.error());
        rejects("reference", other.error());
        continue;
      }
      reference = std::move(*other);
    }
    pairs.push_back({k == 0 ? "" : change, std::move(candidate->program), std::move(reference),
                     std::move(candidate->called), std::move(candidate->later)});
  }
  for (const auto& s : set->skipped) {
    std::string what;
    for (const auto& [name, value] : s.changed)
      what += fmt::format("{}{}={}", what.empty() ? "" : ", ", name, value);
    notes.push_back(
        {"note", Severity::Info, fmt::format("the reference rejects {}: {}", what, s.reason), {}});
  }
  timings.push_back({"record", since(record_start)});
  return pairs;
}

Sides describe_sides(const Pair& pair, const CheckRequest& request) {
  Sides sides;
  const Program& reference = pair.reference;
  sides.arguments = !pair.called.empty()                ? pair.called
                    : !pair.candidate.arguments.empty() ? pair.candidate.arguments
                                                        : reference.arguments;
  sides.functional =
      reference.form == "functional" && sides.arguments.size() == reference.arguments.size();
  for (const program::TensorView& view : reference.mutated) {
    std::string& source = sides.mutated.emplace_back();
    for (const Argument& a : reference.arguments)
      if (const auto* t = std::get_if<program::TensorView>(&a.value); t && t->buffer == view.buffer)
        source = a.source;
  }
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
  if (ext != ".cu" && ext != ".ptx" && ext != ".assay")
    return bad("a candidate is a .cu, .ptx or .assay file", rq.candidate);
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

}  // namespace

Result<Verdict> check_files(const CheckRequest& request) {
  const auto start = SteadyClock::now();
  std::vector<Finding> notes;
  std::vector<Timing> timings;
  Lacks lacks;
  ASSAY_CHECK(check_usage(request));
  std::vector<Pair> pairs;
  if (!request.launch_toml.empty()) {
    ASSAY_TRY(pairs, launch_pairs(request, timings, lacks));
  } else {
    ASSAY_TRY(pairs, recorded_pairs(request, notes, timings, lacks));
  }
  for (const std::string& l : lacks)
    notes.push_back({"note",
                     Severity::Low,
                     "foreign code was less confined: this machine's kernel lacks " + l,
                     {}});
  CheckOptions options = request.options;
  options.timeout_s = std::max(1.0, options.timeout_s - since(start));
  ASSAY_TRY(Verdict v, check_programs(pairs, options));
  v.candidate = request.candidate;
  v.reference = request.reference;
  v.sides = describe_sides(pairs[0], request);
  for (ShapeResult& shape : v.shapes)
    for (const Pair& pair : pairs)
      if (pair.change == shape.change) shape.changed = pair.reference.changed;
  v.findings.insert(v.findings.end(), notes.begin(), notes.end());
  timings.insert(timings.end(), v.timings.begin(), v.timings.end());
  v.timings = std::move(timings);
  return v;
}

}  // namespace assay::check
