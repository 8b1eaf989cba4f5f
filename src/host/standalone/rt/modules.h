#pragma once
// Device code registered by extensions (fat binaries), and launches of its kernels.
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "host/standalone/rt/recorder.h"
#include "ptx/module.h"

namespace assay::host {

struct KernelInfo {
  int module = -1;  // Program::modules
  std::string name;
  const ptx::Function* function = nullptr;
  uint64_t static_shared = 0;
  uint32_t max_dynamic = 48 * 1024;
  bool non_portable_cluster = false;
};

struct LaunchRequest {
  std::array<uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1}, cluster{1, 1, 1};
  uint64_t dynamic_shared = 0;
  int stream = 0;
  bool cooperative = false;
  void** args = nullptr;
};

// cudaError_t values that the recorder uses.
namespace err {
inline constexpr int kSuccess = 0, kInvalidValue = 1, kMemoryAllocation = 2,
                     kInvalidConfiguration = 9, kInvalidSymbol = 13, kInvalidDevicePointer = 17,
                     kInvalidMemcpyDirection = 21, kInvalidDeviceFunction = 98,
                     kNoKernelImage = 209, kInvalidPtx = 218, kInvalidHandle = 400,
                     kLaunchOutOfResources = 701, kCooperativeTooLarge = 720, kNotSupported = 801;
}  // namespace err

class ASSAY_EXPORT Modules {
 public:
  static Modules& get();
  // `image`: the fat binary's container. Returns a handle for the calls below.
  int add_fat_binary(const void* image);
  void add_function(int handle, const void* host_function, const char* name);
  void add_variable(int handle, const void* host_variable, const char* name, uint64_t bytes);

  KernelInfo* kernel(const void* host_function);  // null: not registered or without code
  // The storage behind a __device__ or __constant__ variable; -1: none.
  int variable(const void* host_variable);
  // Records the launch, or a note "launch-refused"; a cudaError_t value.
  int launch(const void* host_function, const LaunchRequest& request);
  // Blocks of this kernel that fit one SM (shared memory, threads); registers are not known here.
  int occupancy(const void* host_function, int block_size, uint64_t dynamic_shared);

 private:
  struct Image {
    std::string ptx;
    std::optional<ptx::Module> module;
    std::string error;
    int program_module = -1;
  };
  struct Variable {
    int image;
    std::string name;
    uint64_t bytes;
    int storage = -1;
  };
  Image* loaded(int image);
  int refuse(int code, const std::string& kernel, const std::string& why);

  std::deque<Image> images_;
  std::map<const void*, std::pair<int, std::string>> functions_;
  std::map<const void*, KernelInfo> kernels_;
  std::map<const void*, Variable> variables_;
};

// PTX texts in a fat binary container (uncompressed, LZ4 or zstd).
std::vector<std::string> ptx_of_fat_binary(const void* image);

}  // namespace assay::host
