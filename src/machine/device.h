#pragma once
// The device model: limits of a GPU class, and what a launch on it is refused for. Independent of
// the rest, so that the stand-in CUDA runtime can use the same table.
// Sources: CUDA C++ Programming Guide, "Compute Capabilities" (technical specifications); CUDA
// Runtime API, "Execution Control" and "CUDA Driver data types" (error codes).
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace assay::machine {

struct DeviceModel {
  std::string_view name;
  int cc_major = 0, cc_minor = 0;
  uint32_t sm_count = 0;
  uint32_t warp_size = 32;
  std::array<uint32_t, 3> max_grid{};   // CTAs
  std::array<uint32_t, 3> max_block{};  // threads
  uint32_t max_threads_per_cta = 0;
  uint32_t max_threads_per_sm = 0, max_ctas_per_sm = 0;
  uint32_t shared_per_cta = 0;                           // bytes without opt-in
  uint32_t shared_per_cta_optin = 0;                     // bytes, static and dynamic together
  uint32_t shared_per_sm = 0;                            // bytes
  uint32_t shared_reserved_per_cta = 0;                  // bytes the system takes of each CTA
  uint32_t registers_per_cta = 0, registers_per_sm = 0;  // 32-bit
  uint32_t max_registers_per_thread = 0;
  uint32_t constant_bytes = 0;   // bytes of one module's constant bank
  uint32_t parameter_bytes = 0;  // bytes of kernel parameters
  uint32_t max_cluster = 0;      // CTAs; 0: no clusters
  uint32_t max_cluster_nonportable = 0;
};

// "h100" and "h200" (also "sm_90"), "a100" (also "sm_80"); nullptr: unknown name.
const DeviceModel* find_device(std::string_view name);
const DeviceModel& default_device();  // H200

// CUDA runtime errors that a launch can be refused with; the values are the runtime's.
enum class CudaError : int {
  InvalidValue = 1,
  InvalidConfiguration = 9,
  LaunchOutOfResources = 701,
  CooperativeLaunchTooLarge = 720,
  InvalidClusterSize = 912
};
const char* cuda_error_name(CudaError e);    // "cudaErrorInvalidConfiguration"
const char* cuda_error_string(CudaError e);  // cudaGetErrorString
const char* driver_error_name(CudaError e);  // what cuLaunchKernel returns for the same refusal

struct LaunchRequest {
  std::array<uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1};
  std::array<uint32_t, 3> cluster{1, 1, 1};
  bool nonportable_cluster = false;          // NonPortableClusterSizeAllowed was set
  uint64_t static_shared = 0;                // bytes
  uint64_t dynamic_shared = 0;               // bytes
  uint64_t max_dynamic_shared = 48 << 10;    // as set by cudaFuncSetAttribute
  uint32_t registers_per_thread = 0;         // 0: unknown, no check
  uint32_t max_threads = 0;                  // of the kernel (.maxntid, __launch_bounds__); 0: none
  std::array<uint32_t, 3> required_block{};  // .reqntid; zeros: none
  uint64_t parameter_bytes = 0;
  bool cooperative = false;
};

struct LaunchRefusal {
  CudaError error = CudaError::InvalidValue;
  std::string message;  // what was asked and what the device allows
};

// All reasons why the device refuses the launch, most basic first (the runtime reports the first
// one's error); empty: it runs.
std::vector<LaunchRefusal> check_launch(const DeviceModel& d, const LaunchRequest& r);

// cudaFuncSetAttribute(MaxDynamicSharedMemorySize): whether `bytes` is accepted.
bool accepts_dynamic_shared(const DeviceModel& d, uint64_t static_shared, uint64_t bytes);

// CTAs of one kernel that fit an SM together (threads, CTAs, shared memory, registers if known).
uint32_t resident_ctas_per_sm(const DeviceModel& d, const LaunchRequest& r);

}  // namespace assay::machine
