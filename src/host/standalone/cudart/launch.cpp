// Registration of device code, launches, function attributes, occupancy.
#include <cstring>
#include <vector>

#include "host/standalone/cudart/common.h"
#include "host/standalone/rt/device_model.h"

using namespace assay::host;  // NOLINT: this file is the C interface

namespace {

struct Configuration {
  dim3 grid, block;
  size_t shared;
  cudaStream_t stream;
};
std::vector<Configuration>& pushed() {
  static thread_local std::vector<Configuration> stack;
  return stack;
}

cudaError_t launch(const void* f, dim3 grid, dim3 block, void** args, size_t shared,
                   cudaStream_t stream, bool cooperative,
                   const cudaLaunchAttribute* attributes = nullptr, unsigned n = 0) {
  ApiLock lock;
  LaunchRequest q;
  q.grid = {grid.x, grid.y, grid.z};
  q.block = {block.x, block.y, block.z};
  q.dynamic_shared = shared;
  q.cooperative = cooperative;
  q.args = args;
  q.stream = stream_index(stream);
  if (q.stream < 0 || !Recorder::get().valid_stream(q.stream)) {
    return set_error(cudaErrorInvalidResourceHandle);
  }
  for (unsigned k = 0; k < n; ++k) {
    if (attributes[k].id == cudaLaunchAttributeClusterDimension) {
      auto& c = attributes[k].val.clusterDim;
      q.cluster = {c.x, c.y, c.z};
    } else if (attributes[k].id == cudaLaunchAttributeCooperative) {
      q.cooperative = attributes[k].val.cooperative != 0;
    }
  }
  try {
    return static_cast<cudaError_t>(Modules::get().launch(f, q));
  } catch (...) {
    return set_error(cudaErrorNotSupported);
  }
}

}  // namespace

extern "C" {

void** __cudaRegisterFatBinary(void* wrapper) {
  struct Wrapper {
    int magic, version;
    const void* data;
    void* names;
  };
  ApiLock lock;
  auto* w = static_cast<Wrapper*>(wrapper);
  auto* handle = new void*;
  int index = Modules::get().add_fat_binary(w->magic == 0x466243b1 ? w->data : nullptr);
  *handle = reinterpret_cast<void*>(static_cast<intptr_t>(index));
  return handle;
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
void __cudaRegisterFunction(void** handle, const char* host, char*, const char* name, int, void*,
                            void*, void*, void*, int*) {
  ApiLock lock;
  Modules::get().add_function(static_cast<int>(reinterpret_cast<intptr_t>(*handle)), host, name);
}
void __cudaRegisterVar(void** handle, char* host, char*, const char* name, int, size_t size, int,
                       int) {
  ApiLock lock;
  Modules::get().add_variable(static_cast<int>(reinterpret_cast<intptr_t>(*handle)), host, name,
                              size);
}
char __cudaInitModule(void**) { return 1; }
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream) {
  pushed().push_back({grid, block, shared, stream});
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
  if (pushed().empty()) return cudaErrorMissingConfiguration;
  Configuration c = pushed().back();
  pushed().pop_back();
  *grid = c.grid;
  *block = c.block;
  *shared = c.shared;
  *static_cast<cudaStream_t*>(stream) = c.stream;
  return cudaSuccess;
}
// CUDA 13: the launch stub resolves the kernel once, then launches it by that handle.
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* f) {
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(f));
  return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** args,
                               size_t shared, cudaStream_t stream) {
  return launch(reinterpret_cast<const void*>(kernel), grid, block, args, shared, stream, false);
}
cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void** args,
                                    size_t shared, cudaStream_t stream) {
  return __cudaLaunchKernel(kernel, grid, block, args, shared, stream);
}
cudaError_t cudaGetKernel(cudaKernel_t* kernel, const void* f) {
  return __cudaGetKernel(kernel, f);
}
cudaError_t cudaLaunchKernel(const void* f, dim3 grid, dim3 block, void** args, size_t shared,
                             cudaStream_t stream) {
  return launch(f, grid, block, args, shared, stream, false);
}
cudaError_t cudaLaunchCooperativeKernel(const void* f, dim3 grid, dim3 block, void** args,
                                        size_t shared, cudaStream_t stream) {
  return launch(f, grid, block, args, shared, stream, true);
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* c, const void* f, void** args) {
  return launch(f, c->gridDim, c->blockDim, args, c->dynamicSmemBytes, c->stream, false, c->attrs,
                c->numAttrs);
}
cudaError_t cudaLaunchHostFunc(cudaStream_t, cudaHostFn_t f, void* data) {
  f(data);
  return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void* f, cudaFuncAttribute attribute, int value) {
  return guarded([&] {
    KernelInfo* k = Modules::get().kernel(f);
    if (k == nullptr) return cudaErrorInvalidDeviceFunction;
    if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize) {
      if (value < 0 || static_cast<uint64_t>(value) + k->static_shared > device::kSharedOptin) {
        Recorder::get().note("launch-refused", "high",
                             "cudaFuncSetAttribute asks for " + std::to_string(value) +
                                 " bytes of dynamic shared memory for " + k->name +
                                 ", more than a block can have: refused");
        return cudaErrorInvalidValue;
      }
      k->max_dynamic = static_cast<uint32_t>(value);
    } else if (attribute == cudaFuncAttributeNonPortableClusterSizeAllowed) {
      k->non_portable_cluster = value != 0;
    }
    return cudaSuccess;
  });
}
cudaError_t cudaFuncSetCacheConfig(const void*, cudaFuncCache) { return cudaSuccess; }
cudaError_t cudaFuncSetSharedMemConfig(const void*, cudaSharedMemConfig) { return cudaSuccess; }
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* a, const void* f) {
  return guarded([&] {
    KernelInfo* k = Modules::get().kernel(f);
    if (k == nullptr) return cudaErrorInvalidDeviceFunction;
    std::memset(a, 0, sizeof *a);
    a->sharedSizeBytes = k->static_shared;
    a->maxThreadsPerBlock = static_cast<int>(device::kThreadsPerBlock);
    a->numRegs = 32;  // not known from PTX
    a->ptxVersion = a->binaryVersion = 90;
    a->maxDynamicSharedSizeBytes = static_cast<int>(k->max_dynamic);
    return cudaSuccess;
  });
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* n, const void* f, int block,
                                                          size_t shared) {
  return guarded([&] {
    *n = Modules::get().occupancy(f, block, shared);
    return cudaSuccess;
  });
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* n, const void* f, int block,
                                                                   size_t shared, unsigned) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(n, f, block, shared);
}
cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, const void* f, int blocks,
                                                      int) {
  return guarded([&] {
    KernelInfo* k = Modules::get().kernel(f);
    if (k == nullptr || blocks <= 0) return cudaErrorInvalidValue;
    uint64_t each = device::kSharedPerSm / static_cast<uint64_t>(blocks);
    each = std::min<uint64_t>(each > device::kSharedReserved ? each - device::kSharedReserved : 0,
                              device::kSharedOptin);
    *bytes = each > k->static_shared ? each - k->static_shared : 0;
    return cudaSuccess;
  });
}

}  // extern "C"
