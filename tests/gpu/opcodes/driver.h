#pragma once
// The few CUDA driver and runtime functions that the recorder needs, found at run time. Types and
// values are those of cuda.h and driver_types.h, CUDA 13.
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace assay::opcodes {

struct LaunchAttribute {  // CUlaunchAttribute, cudaLaunchAttribute
  int id;                 // 2: cooperative, 4: cluster dimension
  char pad[4];
  union {
    char bytes[64];
    uint32_t words[16];
  } value;
};

struct DriverLaunch {  // CUlaunchConfig
  uint32_t grid[3], block[3], shared;
  void* stream;
  LaunchAttribute* attributes;
  uint32_t num_attributes;
};

struct RuntimeLaunch {  // cudaLaunchConfig_t
  uint32_t grid[3], block[3];
  size_t shared;
  void* stream;
  LaunchAttribute* attributes;
  uint32_t num_attributes;
};

inline constexpr int kMaxDynamicShared = 8;  // function attributes, driver and runtime
inline constexpr int kNonPortableCluster = 14;

// A symbol of a shared library as a function pointer; exits if it is missing.
template <class F>
void load(void* library, const char* name, F** out) {
  *out = reinterpret_cast<F*>(dlsym(library, name));
  if (*out != nullptr) return;
  std::fprintf(stderr, "no symbol %s\n", name);
  std::exit(2);
}

struct Driver {
  int (*init)(unsigned) = nullptr;
  int (*get_device)(int*, int) = nullptr;
  int (*device_name)(char*, int, int) = nullptr;
  int (*driver_version)(int*) = nullptr;
  int (*retain_context)(void**, int) = nullptr;
  int (*set_context)(void*) = nullptr;
  int (*load_module)(void**, const void*, unsigned, int*, void**) = nullptr;
  int (*get_function)(void**, void*, const char*) = nullptr;
  int (*function_attribute)(int*, int, void*) = nullptr;
  int (*set_attribute)(void*, int, int) = nullptr;
  int (*alloc)(uint64_t*, size_t) = nullptr;
  int (*to_device)(uint64_t, const void*, size_t) = nullptr;
  int (*to_host)(void*, uint64_t, size_t) = nullptr;
  int (*fill)(uint64_t, unsigned char, size_t) = nullptr;
  int (*launch)(const DriverLaunch*, void*, void**, void**) = nullptr;
  int (*synchronize)() = nullptr;
  int (*error_name)(int, const char**) = nullptr;

  bool open() {
    void* const lib = dlopen("libcuda.so.1", RTLD_NOW);
    if (lib == nullptr) return std::fprintf(stderr, "%s\n", dlerror()), false;
    load(lib, "cuInit", &init);
    load(lib, "cuDeviceGet", &get_device);
    load(lib, "cuDeviceGetName", &device_name);
    load(lib, "cuDriverGetVersion", &driver_version);
    load(lib, "cuDevicePrimaryCtxRetain", &retain_context);
    load(lib, "cuCtxSetCurrent", &set_context);
    load(lib, "cuModuleLoadDataEx", &load_module);
    load(lib, "cuModuleGetFunction", &get_function);
    load(lib, "cuFuncGetAttribute", &function_attribute);
    load(lib, "cuFuncSetAttribute", &set_attribute);
    load(lib, "cuMemAlloc_v2", &alloc);
    load(lib, "cuMemcpyHtoD_v2", &to_device);
    load(lib, "cuMemcpyDtoH_v2", &to_host);
    load(lib, "cuMemsetD8_v2", &fill);
    load(lib, "cuLaunchKernelEx", &launch);
    load(lib, "cuCtxSynchronize", &synchronize);
    load(lib, "cuGetErrorName", &error_name);
    return true;
  }

  const char* name(int error) const {
    const char* s = nullptr;
    return error_name(error, &s) == 0 && s != nullptr ? s : "?";
  }
  void must(int error, const char* what) const {
    if (error == 0) return;
    std::fprintf(stderr, "%s: %s\n", what, name(error));
    std::exit(2);
  }
};

// PTX to a module; prints the JIT's log on failure.
void* load_ptx(const Driver& d, const char* ptx);

// Writes one line a probe: name, driver's error name, runtime's error name ("-": no runtime found).
bool record_launches(const Driver& d, const char* path);

}  // namespace assay::opcodes
