#include "report/scripts.h"

#include <filesystem>

#include "report/witness_script.h"

namespace assay::report {

namespace {

namespace fs = std::filesystem;

std::string python_reference(const std::string& path) {
  fs::path p(path);
  if (p.extension() == ".json") p.replace_extension(".py");
  std::error_code ec;
  return p.extension() == ".py" && fs::exists(p, ec) ? fs::absolute(p).string() : "";
}

// The row-major number of an index.
int64_t linear(const std::vector<int64_t>& index, const std::vector<int64_t>& shape) {
  int64_t element = 0;
  for (size_t k = 0; k < index.size() && k < shape.size(); ++k) {
    element = element * shape[k] + index[k];
  }
  return element;
}

void add_script(check::LocationResult& result, const check::ShapeResult& shape,
                WitnessScript script, const check::Sides& sides) {
  const check::Location& location = result.location;
  script.witness = *result.witness->inputs;
  script.witness.evaluate = sides.eval;
  script.witness.changed = shape.changed;
  if (!shape.arguments.empty()) script.arguments = shape.arguments;
  script.witness.output = location.output;
  const auto output = static_cast<size_t>(location.output);
  if (output < shape.outputs.size()) {
    script.witness.element = linear(location.index, shape.outputs[output].shape);
    script.witness.mutated = shape.outputs[output].argument;
  }
  script.candidate_value = result.candidate;
  script.reference_value = result.reference;
  // An argument that no witness input describes: there is no script then, and the report says none.
  if (auto text = witness_script(script)) result.witness->script = std::move(*text);
}

}  // namespace

void add_scripts(check::Verdict& verdict) {
  WitnessScript script;
  script.ref_path = python_reference(verdict.reference);
  if (script.ref_path.empty() || fs::path(verdict.candidate).extension() != ".cu") return;
  script.candidate_path = fs::absolute(verdict.candidate).string();
  script.arguments = verdict.sides.arguments;
  script.functional = verdict.sides.functional;
  if (!verdict.sides.function.empty()) script.function = verdict.sides.function;
  script.entry = verdict.sides.entry;
  for (check::ShapeResult& shape : verdict.shapes) {
    for (check::LocationResult& result : shape.results) {
      if (result.witness && result.witness->inputs && result.witness->script.empty()) {
        add_script(result, shape, script, verdict.sides);
      }
    }
  }
}

}  // namespace assay::report
