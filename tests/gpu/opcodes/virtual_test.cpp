// The rows through parser, decoder and virtual GPU: the concrete machine equals base/ieee bit for
// bit.
#include <gtest/gtest.h>

#include <cstring>

#include "machine/run.h"
#include "ptx/module.h"
#include "tests/gpu/opcodes/ptx.h"

namespace assay::opcodes {
namespace {

// Runs one row's entry on the virtual GPU. Returns "" or what went wrong.
std::string run_virtually(size_t index, std::vector<uint64_t>* results) {
  constexpr uint64_t kIn = 0x700000000000, kOut = 0x710000000000;
  const Row& r = rows()[index];
  const auto module = ptx::parse(module_header() + entry_text(index), "row");
  if (!module) return "parse: " + module.error().message;
  std::vector<uint64_t> in(static_cast<size_t>(kTuples) * 4, 0);
  for (int t = 0; t < kTuples; ++t) {
    for (size_t i = 0; i < r.operands.size(); ++i) {
      in[static_cast<size_t>(t) * 4 + i] = operand(r, static_cast<int>(i), t);
    }
  }
  results->assign(kTuples, 0xcdcdcdcdcdcdcdcd);
  const auto buffer = [](const char* name, uint64_t address, std::vector<uint64_t>* data) {
    machine::BufferEnv b;
    b.name = name;
    b.address = address;
    b.bytes = data->size() * 8;
    b.content = machine::BufferEnv::Content::Bytes;
    b.type = Ty::U64;
    b.data = reinterpret_cast<uint8_t*>(data->data());
    return b;
  };
  const std::vector<machine::BufferEnv> env = {buffer("in", kIn, &in),
                                               buffer("out", kOut, results)};
  machine::Launch launch;
  launch.constants.block = {kTuples, 1, 1};
  launch.constants.num_buffers = 2;
  launch.constants.params.resize(20);
  const uint64_t pointers[] = {kIn, kOut};
  const uint32_t n = kTuples;
  std::memcpy(launch.constants.params.data(), pointers, 16);
  std::memcpy(launch.constants.params.data() + 16, &n, 4);
  const auto kernel = machine::decode(*module, entry_name(index), launch.constants);
  if (!kernel) return "decode: " + kernel.error().message;
  const auto stats = machine::run_concrete(*kernel, launch, env, machine::CtaRange{});
  if (!stats) return "run: " + stats.error().message;
  return stats->fault_count == 0 ? "" : "faults";
}

TEST(Opcodes, VirtualGpuAgreesWithIeee) {
  size_t ran = 0;
  std::string refused;
  for (size_t i = 0; i < rows().size(); ++i) {
    const Row& r = rows()[i];
    std::vector<uint64_t> got;
    const std::string error = run_virtually(i, &got);
    if (!error.empty()) {
      refused += r.ptx + ": " + error + "\n";
      continue;
    }
    ++ran;
    int bad = 0;
    for (int t = 0; t < kTuples && bad < 2; ++t) {
      const uint64_t want = expected(r, t);
      if (got[static_cast<size_t>(t)] == want) continue;
      ++bad;
      ADD_FAILURE() << r.ptx << " tuple " << t << std::hex << ": virtual GPU "
                    << got[static_cast<size_t>(t)] << ", ieee " << want << ", a "
                    << operand(r, 0, t);
    }
  }
  EXPECT_GE(ran, rows().size() * 97 / 100) << refused;
  if (!refused.empty()) std::printf("not executed:\n%s", refused.c_str());
}

}  // namespace
}  // namespace assay::opcodes
