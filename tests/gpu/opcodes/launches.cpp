#include "tests/gpu/opcodes/launches.h"

namespace assay::opcodes {
namespace {

using machine::LaunchRequest;
using Dims = std::array<uint32_t, 3>;

constexpr uint64_t kKiB = 1024;

LaunchProbe shape(const std::string& name, Dims grid, Dims block) {
  LaunchProbe p;
  p.name = name;
  p.entry = "noop";
  p.request.grid = grid;
  p.request.block = block;
  return p;
}

LaunchProbe shared(const std::string& name, uint64_t dynamic, uint64_t raised = 0,
                   uint64_t fixed = 0) {
  LaunchProbe p = shape(name, {1, 1, 1}, {32, 1, 1});
  p.request.dynamic_shared = dynamic;
  p.set_max_dynamic = raised != 0;
  if (raised != 0) p.request.max_dynamic_shared = raised;
  p.request.static_shared = fixed;
  if (fixed != 0) p.entry = "static40k";
  return p;
}

LaunchProbe cluster(const std::string& name, Dims grid, Dims size, bool nonportable = false) {
  LaunchProbe p = shape(name, grid, {32, 1, 1});
  p.request.cluster = size;
  p.request.nonportable_cluster = nonportable;
  return p;
}

std::vector<LaunchProbe> make() {
  std::vector<LaunchProbe> v = {
      shape("plain", {1, 1, 1}, {32, 1, 1}),
      shape("block 1024", {1, 1, 1}, {1024, 1, 1}),
      shape("block 1025", {1, 1, 1}, {1025, 1, 1}),
      shape("block 32x33", {1, 1, 1}, {32, 33, 1}),
      shape("block z 64", {1, 1, 1}, {1, 1, 64}),
      shape("block z 65", {1, 1, 1}, {1, 1, 65}),
      shape("block 0", {1, 1, 1}, {0, 1, 1}),
      shape("grid 0", {0, 1, 1}, {32, 1, 1}),
      shape("grid z 0", {1, 1, 0}, {32, 1, 1}),
      shape("grid y 65535", {1, 65535, 1}, {1, 1, 1}),
      shape("grid y 65536", {1, 65536, 1}, {1, 1, 1}),
      shape("grid z 65536", {1, 1, 65536}, {1, 1, 1}),
      shape("grid x 2^31", {2147483648u, 1, 1}, {1, 1, 1}),
      shared("dynamic 48 KiB", 48 * kKiB),
      shared("dynamic 48 KiB + 1", 48 * kKiB + 1),
      shared("dynamic 64 KiB raised", 64 * kKiB, 64 * kKiB),
      shared("dynamic above raised", 64 * kKiB + 16, 64 * kKiB),
      shared("dynamic 227 KiB raised", 227 * kKiB, 227 * kKiB),
      shared("dynamic 1 MiB", 1024 * kKiB),
      shared("static 40 dynamic 8 KiB", 8 * kKiB, 0, 40 * kKiB),
      shared("static 40 dynamic 16 KiB", 16 * kKiB, 0, 40 * kKiB),
      shared("static 40 dynamic 187 KiB raised", 187 * kKiB, 187 * kKiB, 40 * kKiB),
      cluster("cluster 8", {16, 1, 1}, {8, 1, 1}),
      cluster("cluster 16", {16, 1, 1}, {16, 1, 1}),
      cluster("cluster 16 nonportable", {16, 1, 1}, {16, 1, 1}, true),
      cluster("cluster 32", {32, 1, 1}, {32, 1, 1}, true),
      cluster("grid no multiple of cluster", {15, 1, 1}, {2, 1, 1}),
  };
  LaunchProbe p = shape("maxntid 128, block 256", {1, 1, 1}, {256, 1, 1});
  p.entry = "bounded";
  p.request.max_threads = 128;
  v.push_back(p);
  p = shape("reqntid 64, block 32", {1, 1, 1}, {32, 1, 1});
  p.entry = "required";
  p.request.required_block = {64, 1, 1};
  v.push_back(p);
  p = shape("96 registers, block 1024", {1, 1, 1}, {1024, 1, 1});
  p.entry = "registers";
  p.request.registers_per_thread = 96;
  v.push_back(p);
  p = shape("cooperative, all resident", {264, 1, 1}, {1024, 1, 1});
  p.request.cooperative = true;
  v.push_back(p);
  p.name = "cooperative, one too many";
  p.request.grid[0] = 265;
  v.push_back(p);
  return v;
}

}  // namespace

const std::vector<LaunchProbe>& launch_probes() {
  static const std::vector<LaunchProbe> list = make();
  return list;
}

std::string launch_module_text() {
  std::string s =
      ".version 9.0\n.target sm_90\n.address_size 64\n"
      ".visible .entry noop(.param .u64 p)\n{\n  ret;\n}\n"
      ".visible .entry static40k(.param .u64 p)\n{\n  .shared .align 4 .b8 s[40960];\n"
      "  .reg .b32 %a, %b;\n  mov.u32 %a, %tid.x;\n  mov.u32 %b, s;\n"
      "  st.volatile.shared.u32 [%b], %a;\n  ret;\n}\n"
      ".visible .entry bounded(.param .u64 p)\n.maxntid 128, 1, 1\n{\n  ret;\n}\n"
      ".visible .entry required(.param .u64 p)\n.reqntid 64, 1, 1\n{\n  ret;\n}\n";
  // 88 values live at once: volatile loads, then volatile stores in the same order.
  s += ".visible .entry registers(.param .u64 p)\n{\n  .reg .b64 %p;\n  .reg .b32 %v<88>;\n"
       "  ld.param.u64 %p, [p];\n";
  for (int i = 0; i < 88; ++i) {
    s += "  ld.volatile.global.u32 %v" + std::to_string(i) + ", [%p+" + std::to_string(4 * i) +
         "];\n";
  }
  for (int i = 0; i < 88; ++i) {
    s += "  st.volatile.global.u32 [%p+" + std::to_string(4 * i) + "], %v" + std::to_string(i) +
         ";\n";
  }
  return s + "  ret;\n}\n";
}

}  // namespace assay::opcodes
