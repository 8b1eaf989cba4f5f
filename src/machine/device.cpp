#include "machine/device.h"

#include <algorithm>

namespace assay::machine {
namespace {

constexpr uint32_t kKiB = 1024;

constexpr DeviceModel make_sm90(std::string_view name) {
  DeviceModel d;
  d.name = name;
  d.cc_major = 9;
  d.cc_minor = 0;
  d.sm_count = 132;
  d.max_grid = {2147483647u, 65535, 65535};
  d.max_block = {1024, 1024, 64};
  d.max_threads_per_cta = 1024;
  d.max_threads_per_sm = 2048;
  d.max_ctas_per_sm = 32;
  d.shared_per_cta = 48 * kKiB;
  d.shared_per_cta_optin = 227 * kKiB;
  d.shared_per_sm = 228 * kKiB;
  d.shared_reserved_per_cta = kKiB;
  d.registers_per_cta = d.registers_per_sm = 65536;
  d.max_registers_per_thread = 255;
  d.constant_bytes = 64 * kKiB;
  d.parameter_bytes = 32764;
  d.max_cluster = 8;
  d.max_cluster_nonportable = 16;
  return d;
}

constexpr DeviceModel make_a100() {
  DeviceModel d = make_sm90("NVIDIA A100");
  d.cc_major = 8;
  d.sm_count = 108;
  d.shared_per_cta_optin = 163 * kKiB;
  d.shared_per_sm = 164 * kKiB;
  d.max_cluster = d.max_cluster_nonportable = 0;
  return d;
}

constexpr DeviceModel kH200 = make_sm90("NVIDIA H200");
constexpr DeviceModel kH100 = make_sm90("NVIDIA H100");
constexpr DeviceModel kA100 = make_a100();

uint64_t volume(const std::array<uint32_t, 3>& v) {
  // Saturates: 2^32 cubed does not fit.
  const unsigned __int128 n = static_cast<unsigned __int128>(v[0]) * v[1] * v[2];
  return n > UINT64_MAX ? UINT64_MAX : static_cast<uint64_t>(n);
}

std::string text(const std::array<uint32_t, 3>& v) {
  return "(" + std::to_string(v[0]) + ", " + std::to_string(v[1]) + ", " + std::to_string(v[2]) +
         ")";
}

uint64_t round_up(uint64_t v, uint64_t to) { return (v + to - 1) / to * to; }

// Registers of a CTA: allocated for each warp in units of 256, warps in units of 4.
uint64_t cta_registers(const DeviceModel& d, const LaunchRequest& r) {
  const uint64_t warps = round_up((volume(r.block) + d.warp_size - 1) / d.warp_size, 4);
  return warps * round_up(static_cast<uint64_t>(r.registers_per_thread) * d.warp_size, 256);
}

using Refusals = std::vector<LaunchRefusal>;

void check_shape(const DeviceModel& d, const LaunchRequest& r, Refusals* out) {
  const auto add = [&](std::string m) {
    out->push_back({CudaError::InvalidConfiguration, std::move(m)});
  };
  static constexpr char kAxis[] = "xyz";
  for (size_t i = 0; i < 3; ++i) {
    if (r.grid[i] == 0) add(std::string("grid.") + kAxis[i] + " is 0: grid " + text(r.grid));
    if (r.block[i] == 0) add(std::string("block.") + kAxis[i] + " is 0: block " + text(r.block));
    if (r.grid[i] > d.max_grid[i]) {
      add(std::string("grid.") + kAxis[i] + " = " + std::to_string(r.grid[i]) + " is above " +
          std::to_string(d.max_grid[i]));
    }
    if (r.block[i] > d.max_block[i]) {
      add(std::string("block.") + kAxis[i] + " = " + std::to_string(r.block[i]) + " is above " +
          std::to_string(d.max_block[i]));
    }
  }
  if (volume(r.block) > d.max_threads_per_cta) {
    add(std::to_string(volume(r.block)) + " threads in a block " + text(r.block) + ", at most " +
        std::to_string(d.max_threads_per_cta));
  }
  if (volume(r.required_block) != 0 && r.block != r.required_block) {
    add("block " + text(r.block) + ", but the kernel requires " + text(r.required_block));
  }
}

void check_cluster(const DeviceModel& d, const LaunchRequest& r, Refusals* out) {
  const uint64_t size = volume(r.cluster);
  if (size == 1) return;
  const uint32_t most = r.nonportable_cluster ? d.max_cluster_nonportable : d.max_cluster;
  if (size == 0 || size > most) {
    out->push_back({CudaError::InvalidClusterSize, "cluster " + text(r.cluster) + " of " +
                                                       std::to_string(size) + " blocks, at most " +
                                                       std::to_string(most)});
    return;
  }
  for (size_t i = 0; i < 3; ++i) {
    if (r.grid[i] % r.cluster[i] == 0) continue;
    out->push_back({CudaError::InvalidClusterSize,
                    "grid " + text(r.grid) + " is no multiple of the cluster " + text(r.cluster)});
    return;
  }
}

void check_shared(const DeviceModel& d, const LaunchRequest& r, Refusals* out) {
  // Up to the default limit static and dynamic memory count together; the raised limit is one of
  // dynamic memory.
  const uint64_t total = r.static_shared + r.dynamic_shared;
  const bool raised = r.max_dynamic_shared > d.shared_per_cta;
  const uint64_t most =
      raised ? std::min<uint64_t>(d.shared_per_cta_optin, r.static_shared + r.max_dynamic_shared)
             : d.shared_per_cta;
  if (total <= most) return;
  std::string m = std::to_string(r.dynamic_shared) + " bytes of dynamic shared memory";
  if (r.static_shared != 0) m += " and " + std::to_string(r.static_shared) + " static ones";
  m += ", at most " + std::to_string(most);
  if (total <= d.shared_per_cta_optin) {
    m += " unless cudaFuncAttributeMaxDynamicSharedMemorySize is raised";
  }
  out->push_back({CudaError::InvalidValue, std::move(m)});
}

void check_resources(const DeviceModel& d, const LaunchRequest& r, Refusals* out) {
  const auto add = [&](CudaError e, std::string m) { out->push_back({e, std::move(m)}); };
  if (r.parameter_bytes > d.parameter_bytes) {
    add(CudaError::InvalidValue, std::to_string(r.parameter_bytes) +
                                     " bytes of kernel parameters, at most " +
                                     std::to_string(d.parameter_bytes));
  }
  if (r.max_threads != 0 && volume(r.block) > r.max_threads) {
    add(CudaError::InvalidValue, std::to_string(volume(r.block)) +
                                     " threads in a block, but the kernel was compiled for "
                                     "at most " +
                                     std::to_string(r.max_threads));
  }
  if (r.registers_per_thread != 0 && cta_registers(d, r) > d.registers_per_cta) {
    add(CudaError::LaunchOutOfResources,
        std::to_string(r.registers_per_thread) + " registers a thread for " +
            std::to_string(volume(r.block)) + " threads, at most " +
            std::to_string(d.registers_per_cta) + " registers a block");
  }
}

}  // namespace

const DeviceModel* find_device(std::string_view name) {
  if (name == "h200") return &kH200;
  if (name == "h100" || name == "sm_90" || name == "sm_90a") return &kH100;
  if (name == "a100" || name == "sm_80") return &kA100;
  return nullptr;
}
const DeviceModel& default_device() { return kH200; }

const char* cuda_error_name(CudaError e) {
  switch (e) {
    case CudaError::InvalidValue:
      return "cudaErrorInvalidValue";
    case CudaError::InvalidConfiguration:
      return "cudaErrorInvalidConfiguration";
    case CudaError::LaunchOutOfResources:
      return "cudaErrorLaunchOutOfResources";
    case CudaError::CooperativeLaunchTooLarge:
      return "cudaErrorCooperativeLaunchTooLarge";
    case CudaError::InvalidClusterSize:
      return "cudaErrorInvalidClusterSize";
  }
  return "cudaErrorUnknown";
}

const char* cuda_error_string(CudaError e) {
  switch (e) {
    case CudaError::InvalidValue:
      return "invalid argument";
    case CudaError::InvalidConfiguration:
      return "invalid configuration argument";
    case CudaError::LaunchOutOfResources:
      return "too many resources requested for launch";
    case CudaError::CooperativeLaunchTooLarge:
      return "too many blocks in cooperative launch";
    case CudaError::InvalidClusterSize:
      return "cluster size is not supported";
  }
  return "unknown error";
}

const char* driver_error_name(CudaError e) {
  switch (e) {
    case CudaError::InvalidValue:
    case CudaError::InvalidConfiguration:
      return "CUDA_ERROR_INVALID_VALUE";
    case CudaError::LaunchOutOfResources:
      return "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES";
    case CudaError::CooperativeLaunchTooLarge:
      return "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE";
    case CudaError::InvalidClusterSize:
      return "CUDA_ERROR_INVALID_CLUSTER_SIZE";
  }
  return "CUDA_ERROR_UNKNOWN";
}

std::vector<LaunchRefusal> check_launch(const DeviceModel& d, const LaunchRequest& r) {
  Refusals out;
  check_shape(d, r, &out);
  check_cluster(d, r, &out);
  check_shared(d, r, &out);
  check_resources(d, r, &out);
  if (!out.empty() || !r.cooperative) return out;
  const uint64_t fit = static_cast<uint64_t>(resident_ctas_per_sm(d, r)) * d.sm_count;
  if (volume(r.grid) > fit) {
    out.push_back({CudaError::CooperativeLaunchTooLarge,
                   std::to_string(volume(r.grid)) + " blocks in a cooperative launch, at most " +
                       std::to_string(fit) + " are resident"});
  }
  return out;
}

bool accepts_dynamic_shared(const DeviceModel& d, uint64_t static_shared, uint64_t bytes) {
  return static_shared <= d.shared_per_cta_optin && bytes <= d.shared_per_cta_optin - static_shared;
}

uint32_t resident_ctas_per_sm(const DeviceModel& d, const LaunchRequest& r) {
  const uint64_t threads = round_up(std::max<uint64_t>(volume(r.block), 1), d.warp_size);
  const uint64_t shared =
      round_up(r.static_shared + r.dynamic_shared + d.shared_reserved_per_cta, 128);
  uint64_t n = std::min<uint64_t>(d.max_ctas_per_sm, d.max_threads_per_sm / threads);
  n = std::min<uint64_t>(n, d.shared_per_sm / shared);
  if (r.registers_per_thread != 0) {
    n = std::min<uint64_t>(n, d.registers_per_sm / std::max<uint64_t>(cta_registers(d, r), 1));
  }
  return static_cast<uint32_t>(n);
}

}  // namespace assay::machine
