#pragma once
// Internal to launch_program (launch_toml.h).
#include <fmt/format.h>

#include <set>
#include <string>

#include "check/launch_toml.h"
#include "ptx/module.h"

namespace assay::check::launch {

template <class... Args>
tl::unexpected<Diag> bad(const SrcLoc& loc, fmt::format_string<Args...> format, Args&&... args) {
  return fail(DiagKind::Invalid, fmt::format(format, std::forward<Args>(args)...), loc);
}

// Writes parameters of launches of `program`, whose buffers are the arrays of `file` in order.
class ParamWriter {
 public:
  ParamWriter(const LaunchFile& file, const program::Program& program)
      : file_(file), program_(program) {}

  // One parameter into step.params and step.slots, at the place that the kernel declares.
  Status set_param(const LaunchParam& param, const ptx::Variable& variable,
                   program::LaunchStep& step);
  const std::set<std::string>& used() const { return used_; }  // arrays passed so far

 private:
  Status set_struct(const std::vector<LaunchParam>& members, const ptx::Variable& variable,
                    const SrcLoc& loc, program::LaunchStep& step);
  Status set_scalar(const LaunchScalar& scalar, uint32_t offset, const SrcLoc& loc,
                    program::LaunchStep& step);
  Status set_pointer(size_t array, uint32_t offset, program::LaunchStep& step);
  const LaunchArray* find_array(const std::string& name, size_t& index) const;
  const LaunchScalar* find_scalar(const std::string& name) const;

  const LaunchFile& file_;
  const program::Program& program_;
  std::set<std::string> used_;
};

}  // namespace assay::check::launch
