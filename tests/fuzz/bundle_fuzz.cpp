// Bundles and Program JSON from untrusted files: any bytes give a valid value or a Diag.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "program/program.h"

using namespace assay::program;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const BundleLimits limits{1 << 20, 1 << 20};
  if (const auto bundle = bundle_from_bytes(text, limits)) {
    const auto again = bundle_to_bytes(*bundle);
    if (!again || !bundle_from_bytes(*again, limits)) std::abort();
  }
  if (const auto set = set_from_json(text)) {
    const auto written = set_to_json(*set);
    if (!written) std::abort();
    const auto back = set_from_json(*written);
    if (!back || *set_to_json(*back) != *written) std::abort();
    for (const Program& p : set->programs) {
      for (const TensorView& v : p.outputs) {
        if (v.buffer >= 0 && v.numel() > 0) (void)v.element(v.numel() - 1);
      }
    }
  }
  return 0;
}
