// record_opcodes DIR: runs every row on device 0 and writes DIR/golden.bin and DIR/launches.tsv;
// prints how the device differs from base/ieee.h. Exit code 0: recorded (whatever the differences).
#include <string>
#include <vector>

#include "tests/gpu/opcodes/driver.h"
#include "tests/gpu/opcodes/golden.h"
#include "tests/gpu/opcodes/ptx.h"

namespace assay::opcodes {

void* load_ptx(const Driver& d, const char* ptx) {
  std::vector<char> log(1 << 16);
  int options[] = {5, 6};  // error log buffer, its size
  void* values[] = {log.data(), reinterpret_cast<void*>(log.size())};
  void* module = nullptr;
  const int error = d.load_module(&module, ptx, 2, options, values);
  if (error != 0) std::fprintf(stderr, "%s\n", log.data());
  d.must(error, "cuModuleLoadDataEx");
  return module;
}

namespace {

GoldenRow run_row(const Driver& d, void* module, size_t index, uint64_t in, uint64_t out) {
  const Row& r = rows()[index];
  std::vector<uint64_t> operands(static_cast<size_t>(kTuples) * 4, 0);
  for (int t = 0; t < kTuples; ++t) {
    for (size_t i = 0; i < r.operands.size(); ++i) {
      operands[static_cast<size_t>(t) * 4 + i] = operand(r, static_cast<int>(i), t);
    }
  }
  d.must(d.to_device(in, operands.data(), operands.size() * 8), "cuMemcpyHtoD");
  d.must(d.fill(out, 0xcd, kTuples * 8), "cuMemsetD8");
  void* function = nullptr;
  d.must(d.get_function(&function, module, entry_name(index).c_str()), "cuModuleGetFunction");
  uint32_t n = kTuples;
  void* params[] = {&in, &out, &n};
  DriverLaunch launch{};
  for (int i = 0; i < 3; ++i) launch.grid[i] = launch.block[i] = 1;
  launch.block[0] = kTuples;
  d.must(d.launch(&launch, function, params, nullptr), "cuLaunchKernelEx");
  d.must(d.synchronize(), "cuCtxSynchronize");
  GoldenRow g;
  g.operand_hash = operand_hash(r);
  g.results.resize(kTuples);
  d.must(d.to_host(g.results.data(), out, kTuples * 8), "cuMemcpyDtoH");
  return g;
}

int record(const std::string& dir) {
  Driver d;
  if (!d.open()) return 2;
  d.must(d.init(0), "cuInit");
  int device = 0, version = 0;
  char name[256] = "";
  void* context = nullptr;
  d.must(d.get_device(&device, 0), "cuDeviceGet");
  d.must(d.device_name(name, sizeof name, device), "cuDeviceGetName");
  d.must(d.driver_version(&version), "cuDriverGetVersion");
  d.must(d.retain_context(&context, device), "cuDevicePrimaryCtxRetain");
  d.must(d.set_context(context), "cuCtxSetCurrent");
  std::printf("%s, driver API %d, %zu rows of %d tuples\n", name, version, rows().size(), kTuples);
  void* const module = load_ptx(d, module_text().c_str());
  uint64_t in = 0, out = 0;
  d.must(d.alloc(&in, kTuples * 32), "cuMemAlloc");
  d.must(d.alloc(&out, kTuples * 8), "cuMemAlloc");
  Golden golden;
  int differing = 0;
  for (size_t i = 0; i < rows().size(); ++i) {
    const Row& r = rows()[i];
    GoldenRow g = run_row(d, module, i, in, out);
    int bad = 0;
    for (int t = 0; t < kTuples; ++t) {
      std::string why;
      if (agrees(r, t, g.results[static_cast<size_t>(t)], &why)) continue;
      if (++bad > 4) continue;
      std::printf("%s; operands", why.c_str());
      for (size_t k = 0; k < r.operands.size(); ++k) {
        std::printf(" %llx", static_cast<unsigned long long>(operand(r, static_cast<int>(k), t)));
      }
      std::printf("\n");
    }
    if (bad > 4) std::printf("%s: %d tuples differ\n", r.ptx.c_str(), bad);
    differing += bad != 0;
    golden[r.ptx] = std::move(g);
  }
  std::printf("%d rows differ\n", differing);
  const bool ok = write_golden(dir + "/golden.bin", golden);
  const bool launches = record_launches(d, (dir + "/launches.tsv").c_str());
  if (!ok || !launches) std::fprintf(stderr, "cannot write into %s\n", dir.c_str());
  return ok && launches ? 0 : 2;
}

}  // namespace
}  // namespace assay::opcodes

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: record_opcodes DIR\n"), 2;
  return assay::opcodes::record(argv[1]);
}
