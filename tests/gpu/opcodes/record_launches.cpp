#include <string>

#include "tests/gpu/opcodes/driver.h"
#include "tests/gpu/opcodes/launches.h"

namespace assay::opcodes {
namespace {

struct Runtime {
  int (*load_library)(void**, const void*, int*, void**, unsigned, int*, void**,
                      unsigned) = nullptr;
  int (*get_kernel)(void**, void*, const char*) = nullptr;
  int (*set_attribute)(const void*, int, int) = nullptr;
  int (*launch)(const RuntimeLaunch*, const void*, void**) = nullptr;
  int (*synchronize)() = nullptr;
  int (*last_error)() = nullptr;
  const char* (*error_name)(int) = nullptr;

  // The runtime of the machine, or the one that ASSAY_CUDART names; false: none.
  bool open() {
    void* lib = nullptr;
    const char* const given = std::getenv("ASSAY_CUDART");
    for (const char* name : {given, "libcudart.so.13", "libcudart.so"}) {
      if (name != nullptr && lib == nullptr) lib = dlopen(name, RTLD_NOW);
    }
    if (lib == nullptr) return false;
    load(lib, "cudaLibraryLoadData", &load_library);
    load(lib, "cudaLibraryGetKernel", &get_kernel);
    load(lib, "cudaFuncSetAttribute", &set_attribute);
    load(lib, "cudaLaunchKernelExC", &launch);
    load(lib, "cudaDeviceSynchronize", &synchronize);
    load(lib, "cudaGetLastError", &last_error);
    load(lib, "cudaGetErrorName", &error_name);
    return true;
  }
};

template <class Config>
void fill_config(const LaunchProbe& p, Config* c, LaunchAttribute attributes[2]) {
  for (size_t i = 0; i < 3; ++i) {
    c->grid[i] = p.request.grid[i];
    c->block[i] = p.request.block[i];
  }
  c->shared = static_cast<decltype(c->shared)>(p.request.dynamic_shared);
  c->attributes = attributes;
  if (p.request.cooperative) {
    attributes[c->num_attributes].id = 2;
    attributes[c->num_attributes++].value.words[0] = 1;
  }
  if (p.request.cluster != std::array<uint32_t, 3>{1, 1, 1}) {
    attributes[c->num_attributes].id = 4;
    for (size_t i = 0; i < 3; ++i) {
      attributes[c->num_attributes].value.words[i] = p.request.cluster[i];
    }
    ++c->num_attributes;
  }
}

// Attributes stick to a function: each probe loads the module anew.
int by_driver(const Driver& d, const char* ptx, const LaunchProbe& p, uint64_t memory) {
  void* function = nullptr;
  d.must(d.get_function(&function, load_ptx(d, ptx), p.entry.c_str()), "cuModuleGetFunction");
  int error = 0;
  if (p.set_max_dynamic) {
    const int most = static_cast<int>(p.request.max_dynamic_shared);
    error = d.set_attribute(function, kMaxDynamicShared, most);
  }
  if (error == 0 && p.request.nonportable_cluster) {
    error = d.set_attribute(function, kNonPortableCluster, 1);
  }
  if (error != 0) return error;
  LaunchAttribute attributes[2] = {};
  DriverLaunch c{};
  fill_config(p, &c, attributes);
  void* params[] = {&memory};
  error = d.launch(&c, function, params, nullptr);
  const int later = d.synchronize();
  return error != 0 ? error : later;
}

int by_runtime(const Runtime& r, const char* ptx, const LaunchProbe& p, uint64_t memory) {
  void *library = nullptr, *kernel = nullptr;
  int error = r.load_library(&library, ptx, nullptr, nullptr, 0, nullptr, nullptr, 0);
  if (error == 0) error = r.get_kernel(&kernel, library, p.entry.c_str());
  if (error == 0 && p.set_max_dynamic) {
    error =
        r.set_attribute(kernel, kMaxDynamicShared, static_cast<int>(p.request.max_dynamic_shared));
  }
  if (error == 0 && p.request.nonportable_cluster) {
    error = r.set_attribute(kernel, kNonPortableCluster, 1);
  }
  if (error != 0) {
    r.last_error();
    return error;
  }
  LaunchAttribute attributes[2] = {};
  RuntimeLaunch c{};
  fill_config(p, &c, attributes);
  void* params[] = {&memory};
  error = r.launch(&c, kernel, params);
  const int later = r.synchronize();
  r.last_error();
  return error != 0 ? error : later;
}

}  // namespace

bool record_launches(const Driver& d, const char* path) {
  const std::string ptx = launch_module_text();
  uint64_t memory = 0;
  d.must(d.alloc(&memory, 4096), "cuMemAlloc");
  void* function = nullptr;
  int registers = 0;
  d.must(d.get_function(&function, load_ptx(d, ptx.c_str()), "registers"), "cuModuleGetFunction");
  d.must(d.function_attribute(&registers, 4, function), "cuFuncGetAttribute");
  Runtime r;
  const bool has_runtime = r.open();
  std::printf("entry `registers` has %d registers; runtime %s\n", registers,
              has_runtime ? "found" : "not found");
  std::FILE* const f = std::fopen(path, "w");
  if (f == nullptr) return false;
  for (const LaunchProbe& p : launch_probes()) {
    const int driver = by_driver(d, ptx.c_str(), p, memory);
    const char* runtime = "-";
    if (has_runtime) runtime = r.error_name(by_runtime(r, ptx.c_str(), p, memory));
    std::fprintf(f, "%s\t%s\t%s\n", p.name.c_str(), d.name(driver), runtime);
    std::printf("%-36s %-40s %s\n", p.name.c_str(), d.name(driver), runtime);
  }
  return std::fclose(f) == 0;
}

}  // namespace assay::opcodes
