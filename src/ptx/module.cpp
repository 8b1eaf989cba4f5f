#include "ptx/module.h"

#include <algorithm>

namespace assay::ptx {
namespace {

// Length of an inlining chain that is followed; compilers stay far below.
constexpr int kMaxInlineDepth = 64;

const RegGroup* group_of(const Function& f, int32_t reg) {
  const auto it = std::upper_bound(
      f.regs.begin(), f.regs.end(), reg,
      [](int32_t r, const RegGroup& g) { return r < static_cast<int32_t>(g.first); });
  return it == f.regs.begin() ? nullptr : &*(it - 1);
}

}  // namespace

Ty Function::reg_type(int32_t reg) const {
  const RegGroup* g = group_of(*this, reg);
  return g == nullptr ? Ty::None : g->type;
}

std::string Function::reg_name(int32_t reg) const {
  const RegGroup* g = group_of(*this, reg);
  if (g == nullptr) return "_";
  const auto k = static_cast<uint32_t>(reg) - g->first;
  if (g->range) return g->name + std::to_string(k);
  if (g->vector > 1) return g->name + "." + "xyzw"[k % 4];
  return g->name;
}

int32_t Function::find_label(std::string_view label) const {
  for (size_t k = 0; k < labels.size(); ++k) {
    if (labels[k].name == label) return static_cast<int32_t>(k);
  }
  return kNone;
}

const Function* Module::find_function(std::string_view name) const {
  const auto it = std::find_if(functions.begin(), functions.end(),
                               [&](const Function& f) { return f.name == name; });
  return it == functions.end() ? nullptr : &*it;
}

const Variable* Module::find_variable(std::string_view name) const {
  const auto it = std::find_if(variables.begin(), variables.end(),
                               [&](const Variable& v) { return v.name == name; });
  return it == variables.end() ? nullptr : &*it;
}

std::vector<SrcLoc> Module::source_chain(const Instr& instr) const {
  std::vector<SrcLoc> chain;
  for (int32_t k = instr.loc; k != kNone && chain.size() < kMaxInlineDepth;) {
    const Loc& loc = locs[static_cast<size_t>(k)];
    const auto file =
        std::find_if(files.begin(), files.end(), [&](const File& f) { return f.id == loc.file; });
    chain.push_back({file == files.end() ? "" : file->path, loc.line, loc.column});
    k = loc.inlined_at;
  }
  return chain;
}

SrcLoc Module::source(const Instr& instr) const {
  const auto chain = source_chain(instr);
  return chain.empty() ? SrcLoc{} : chain.front();
}

}  // namespace assay::ptx
