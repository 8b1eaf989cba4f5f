// Any bytes: the cubin reader, its line tables and the region map never crash or hang; PTX comes
// from the cubin itself. The disassembler is another program and left out.
#include <cstdint>
#include <string>

#include "elf/cubin.h"
#include "elf/lines.h"
#include "region/build.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace assay;
  auto cubin = elf::read_cubin(std::string(reinterpret_cast<const char*>(data), size), "fuzz");
  if (!cubin) return 0;
  auto module = ptx::parse(elf::embedded_ptx(**cubin), "fuzz (PTX)");
  for (const bool with_ptx : {true, false}) {
    region::BuildInput input{cubin->get(), "fuzz", with_ptx && module ? &*module : nullptr,
                             nullptr};
    auto map = region::build_map(input);
    if (!map) continue;
    for (const region::KernelMap& k : map->kernels) {
      if (k.regions.empty() || k.total().no_source > k.total().instructions) __builtin_trap();
    }
  }
  return 0;
}
