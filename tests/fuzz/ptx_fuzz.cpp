// Any text: the parser never crashes or hangs, what it accepts prints as text that it reads as the
// same module, and the graph of every function can be built.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "ptx/cfg.h"

namespace {

void require(bool condition, const char* what, const std::string& text) {
  if (condition) return;
  std::fprintf(stderr, "%s\n%s\n", what, text.c_str());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace assay;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto module = ptx::parse(text, "fuzz");
  if (!module) return 0;
  const std::string printed = ptx::print(*module);
  auto again = ptx::parse(printed, "printed");
  require(again.has_value(), again ? "" : format_diag(again.error()).c_str(), printed);
  require(ptx::same(*module, *again), "print changes the module", printed);
  ptx::DefUse def_use;
  for (const ptx::Function& f : module->functions) {
    ptx::build_cfg(f);
    for (const ptx::Instr& i : f.body) {
      ptx::def_use(f, i, &def_use);
      module->source_chain(i);
    }
  }
  return 0;
}
