// assay_operators_coverage [--check] PATH: writes docs/operators-coverage.md from ops.def, or
// fails if PATH differs from what would be written.
#include <fmt/format.h>

#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "tensor/ops.h"

namespace {

std::string page() {
  const auto& rows = assay::tensor::op_rows();
  std::string text = "# Tensor operators\n\n";
  text += "Generated from `src/tensor/ops.def` by `assay_operators_coverage`; do not edit.\n";
  text += "In-place forms (`add_`) stand for their functional form. Views are no operators.\n\n";
  std::map<std::string, std::vector<std::string>> overloads;
  std::vector<std::string> names;
  std::map<std::string, const assay::tensor::OpRow*> first;
  for (const auto& row : rows) {
    auto& list = overloads[row.schema.name];
    if (list.empty()) {
      names.push_back(row.schema.name);
      first[row.schema.name] = &row;
    }
    list.push_back(row.schema.overload.empty() ? "default" : row.schema.overload);
  }
  text += fmt::format("{} operators, {} overloads.\n\n", names.size(), rows.size());
  text += "| operator | overloads | lowering | limits |\n|---|---|---|---|\n";
  for (const std::string& name : names) {
    std::string list;
    for (const std::string& o : overloads[name]) list += (list.empty() ? "" : ", ") + o;
    const auto* row = first[name];
    text += fmt::format("| `{}` | {} | `lower_{}` | {} |\n", name, list, row->family, row->note);
  }
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  bool check = argc == 3 && std::string(argv[1]) == "--check";
  if (argc != 2 && !check) {
    std::cerr << "usage: assay_operators_coverage [--check] PATH\n";
    return 4;
  }
  std::string path = argv[argc - 1], text = page();
  if (!check) {
    std::ofstream(path) << text;
    return 0;
  }
  std::ifstream in(path);
  std::string old{std::istreambuf_iterator<char>(in), {}};
  if (old == text) return 0;
  std::cerr << path << " is not current: run assay_operators_coverage " << path << "\n";
  return 1;
}
