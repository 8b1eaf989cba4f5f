#include "measure/occupancy.h"

#include <algorithm>

#include "machine/device.h"

namespace assay::measure {

namespace {

uint32_t volume(const std::array<uint32_t, 3>& n) {
  const uint64_t all = uint64_t{n[0]} * n[1] * n[2];
  return all > 1024 ? 0 : static_cast<uint32_t>(all);
}

region::Occupancy occupancy(const machine::DeviceModel& d, const elf::CubinFunction& f,
                            uint32_t threads) {
  machine::LaunchRequest launch;
  launch.block = {threads, 1, 1};
  launch.static_shared = f.shared_bytes;
  launch.registers_per_thread = f.registers;
  launch.max_threads = volume(f.max_threads);
  region::Occupancy out;
  out.threads = threads;
  if (!machine::check_launch(d, launch).empty()) return out;
  out.ctas = machine::resident_ctas_per_sm(d, launch);
  out.warps = out.ctas * ((threads + d.warp_size - 1) / d.warp_size);
  out.share = static_cast<double>(out.warps) * d.warp_size / d.max_threads_per_sm;
  // What, if it were free, would let more in.
  machine::LaunchRequest no_registers = launch, no_shared = launch;
  no_registers.registers_per_thread = 0;
  no_shared.static_shared = 0;
  if (machine::resident_ctas_per_sm(d, no_registers) > out.ctas)
    out.limit = "registers";
  else if (machine::resident_ctas_per_sm(d, no_shared) > out.ctas)
    out.limit = "shared memory";
  else
    out.limit = out.ctas == d.max_ctas_per_sm ? "CTAs" : "threads";
  return out;
}

}  // namespace

void add_occupancy(uint32_t threads, region::RegionMap* map) {
  const machine::DeviceModel* d = machine::find_device(map->arch);
  if (d == nullptr) {
    map->missing.push_back("occupancy: no model of " + map->arch);
    return;
  }
  for (region::KernelMap& k : map->kernels) {
    if (!k.resources.is_kernel) continue;
    uint32_t own = volume(k.resources.required_threads);
    if (own == 0) own = volume(k.resources.max_threads);
    if (threads != 0) own = threads;
    if (own != 0) {
      k.occupancy.push_back(occupancy(*d, k.resources, own));
      continue;
    }
    for (const uint32_t n : {128u, 256u, 512u, 1024u})
      k.occupancy.push_back(occupancy(*d, k.resources, n));
  }
}

}  // namespace assay::measure
