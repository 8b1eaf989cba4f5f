// The rows against what a device gave (golden.bin and launches.tsv, recorded by record_opcodes).
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/ieee.h"
#include "tests/gpu/opcodes/golden.h"
#include "tests/gpu/opcodes/launches.h"

namespace assay::opcodes {
namespace {

const std::string kDir = ASSAY_GOLDEN_DIR;

TEST(Opcodes, EveryRowHasAMeaning) {
  std::map<std::string, int> seen;
  for (const Row& r : rows()) {
    EXPECT_TRUE(ieee_defined(r.fn, r.type, r.mods)) << r.ptx;
    EXPECT_EQ(seen[r.ptx]++, 0) << r.ptx;
    EXPECT_EQ(r.operands.size(), r.order.size()) << r.ptx;
  }
  EXPECT_GT(rows().size(), 850u);
}

TEST(Opcodes, DeviceAgreesWithIeee) {
  Golden golden;
  ASSERT_TRUE(read_golden(kDir + "/golden.bin", &golden)) << "missing or damaged";
  size_t compared = 0;
  for (const Row& r : rows()) {
    const auto it = golden.find(r.ptx);
    if (it == golden.end()) continue;
    ASSERT_EQ(it->second.operand_hash, operand_hash(r)) << r.ptx << ": record anew";
    int bad = 0;
    for (int t = 0; t < kTuples; ++t) {
      std::string why;
      if (agrees(r, t, it->second.results[static_cast<size_t>(t)], &why)) continue;
      if (++bad <= 3) ADD_FAILURE() << why;
    }
    ++compared;
  }
  EXPECT_GE(compared, rows().size() * 95 / 100) << "too many rows were never recorded";
}

TEST(Opcodes, GoldenFilesRoundTrip) {
  Golden golden, back;
  golden["add"].results.assign(kTuples, 0x123456789a);
  golden["setp"].results.assign(kTuples, 1);
  golden["setp"].operand_hash = 77;
  const std::string path = ::testing::TempDir() + "/assay_golden_round_trip.bin";
  ASSERT_TRUE(write_golden(path, golden));
  ASSERT_TRUE(read_golden(path, &back));
  EXPECT_EQ(back["add"].results, golden["add"].results);
  EXPECT_EQ(back["setp"].operand_hash, 77u);
  std::ofstream(path, std::ios::app) << "x";
  EXPECT_FALSE(read_golden(path, &back));
}

TEST(Opcodes, DeviceModelRefusesWhatTheDeviceRefuses) {
  std::ifstream f(kDir + "/launches.tsv");
  ASSERT_TRUE(f) << "launches.tsv is missing";
  std::map<std::string, std::pair<std::string, std::string>> seen;
  for (std::string line; std::getline(f, line);) {
    std::istringstream s(line);
    std::string name, driver, runtime;
    std::getline(s, name, '\t');
    std::getline(s, driver, '\t');
    std::getline(s, runtime, '\t');
    seen[name] = {driver, runtime};
  }
  for (const LaunchProbe& p : launch_probes()) {
    ASSERT_TRUE(seen.count(p.name)) << p.name;
    const auto refusals = machine::check_launch(machine::default_device(), p.request);
    const auto& [driver, runtime] = seen[p.name];
    EXPECT_EQ(driver,
              refusals.empty() ? "CUDA_SUCCESS" : machine::driver_error_name(refusals[0].error))
        << p.name;
    if (runtime == "-") continue;
    // cudaLaunchKernelExC on a library kernel names every refused shape cudaErrorInvalidValue; the
    // <<< >>> of a compiled program (what cuda_error_name gives) says
    // cudaErrorInvalidConfiguration.
    const std::string name =
        refusals.empty() ? "cudaSuccess" : machine::cuda_error_name(refusals[0].error);
    EXPECT_EQ(runtime, name == "cudaErrorInvalidConfiguration" ? "cudaErrorInvalidValue" : name)
        << p.name;
  }
}

}  // namespace
}  // namespace assay::opcodes
