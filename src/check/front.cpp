// The front ends of one side: from a file to a Program.
#include "check/front.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "host/record.h"
#include "host/reference.h"
#include "host/signature.h"

namespace assay::check {

namespace fs = std::filesystem;
using program::Program;
using program::ProgramSet;

namespace {

constexpr int kAlteredShapes = 8;  // besides the given one, as far as time allows

// Errors of the readers know no file.
template <class T>
Result<T> of_file(Result<T> result, const std::string& path) {
  if (!result && result.error().loc.file.empty()) result.error().loc.file = path;
  return result;
}

// The Programs of a ref.py: the given shape first, then altered ones. `inputs_only`: its arguments
// alone, no steps and no outputs. `function`: the one whose arguments they are, where it has it.
Result<ProgramSet> export_python(const CheckRequest& rq, const std::string& path, bool inputs_only,
                                 Lacks& lacks, const std::string& function = "module_fn") {
  host::ReferenceRequest request;
  request.path = path;
  request.eval = rq.eval;
  request.inputs_only = inputs_only;
  request.function = function;
  request.altered = rq.altered_shapes ? kAlteredShapes : 0;
  request.wall_seconds =
      std::max(60.0, rq.options.timeout_s);  // importing PyTorch alone takes long
  ASSAY_TRY(const host::ExportedReference exported, host::export_reference(request));
  lacks.insert(exported.missing.begin(), exported.missing.end());
  return of_file(program::set_from_json(exported.json), path);
}

}  // namespace

Result<std::string> read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in || fs::is_directory(path))
    return fail(DiagKind::Io, "cannot read the file", {path, 0, 0});
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string extension_of(const std::string& path) { return fs::path(path).extension().string(); }

Result<std::vector<Program>> load_programs(const std::string& path) {
  ASSAY_TRY(program::Bundle bundle, of_file(program::load_bundle(path), path));
  if (bundle.programs.empty())
    return fail(DiagKind::Invalid, "the bundle holds no program", {path, 0, 0});
  return std::move(bundle.programs);
}

Result<ProgramSet> load_reference(const CheckRequest& rq, Lacks& lacks) {
  const std::string ext = extension_of(rq.reference);
  if (ext == ".py") return export_python(rq, rq.reference, false, lacks);
  ASSAY_TRY(const std::string text, read_text(rq.reference));
  if (ext == ".json") return of_file(program::set_from_json(text), rq.reference);
  if (ext == ".assay") {
    ProgramSet set;
    ASSAY_TRY(set.programs, load_programs(rq.reference));
    return set;
  }
  return fail(DiagKind::Invalid, "a reference is a .py, .json or .assay file",
              {rq.reference, 0, 0});
}

Result<ProgramSet> load_module(const CheckRequest& rq, Lacks& lacks) {
  return export_python(rq, rq.reference, false, lacks, "");
}

Result<ProgramSet> load_inputs(const CheckRequest& rq, Lacks& lacks) {
  const std::string ext = extension_of(rq.inputs);
  if (ext == ".py") return export_python(rq, rq.inputs, true, lacks);
  if (ext != ".json")
    return fail(DiagKind::Invalid, "--inputs takes a .py or .json file", {rq.inputs, 0, 0});
  ASSAY_TRY(const std::string text, read_text(rq.inputs));
  ASSAY_TRY(ProgramSet set, of_file(program::set_from_json(text), rq.inputs));
  for (Program& p : set.programs) {
    p.modules.clear();
    p.scalars.clear();
    p.steps.clear();
    p.outputs.clear();
    p.mutated.clear();
    p.notes.clear();
  }
  return set;
}

Result<host::Recording> record_source(const CheckRequest& rq, const std::string& path,
                                      const std::string& entry,
                                      const std::vector<ArgumentList>& lists, size_t& choice,
                                      const Program& reference, bool repeat, Lacks& lacks) {
  std::optional<Diag> first;
  for (size_t k = choice; k < lists.size(); ++k) {
    host::RecordRequest record;
    record.sources = {path};
    record.entry = entry;
    record.arguments = lists[k].arguments;
    record.buffers = reference.buffers;
    record.extra_flags = rq.nvcc_flags;
    record.repeat = repeat && !lists[k].reordered;
    auto recorded = host::record(record);
    if (recorded) {
      lacks.insert(recorded->missing_confinement.begin(), recorded->missing_confinement.end());
      recorded->called = recorded->program.arguments;
      // Argument k means the same on both sides.
      if (lists[k].reordered) recorded->program.arguments = reference.arguments;
      choice = k;
      return recorded;
    }
    if (!first) first = recorded.error();
    const std::string& said = recorded.error().message;
    const bool signature = said.find("argument") != std::string::npos ||
                           said.find("host code threw") != std::string::npos;
    if (recorded.error().kind != DiagKind::Invalid || !signature) break;
  }
  if (first->loc.file.empty()) first->loc.file = path;
  return tl::unexpected<Diag>(*first);
}

std::vector<ArgumentList> lists_for(const std::string& path, const std::string& entry,
                                    const Program& reference) {
  const auto text = read_text(path);
  return argument_lists(reference,
                        text ? host::parameter_names(*text, entry) : std::vector<std::string>());
}

Result<Program> record_reference(const CheckRequest& rq, const Program& inputs, Lacks& lacks) {
  const std::string& entry = rq.reference_entry.empty() ? rq.entry : rq.reference_entry;
  const std::vector<ArgumentList> lists = lists_for(rq.reference, entry, inputs);
  size_t choice = 0;
  ASSAY_TRY(host::Recording recording,
            record_source(rq, rq.reference, entry, lists, choice, inputs, false, lacks));
  Program& p = recording.program;
  p.arguments = inputs.arguments;
  p.changed = inputs.changed;
  return std::move(p);
}

}  // namespace assay::check
