// Devices, streams, events, errors.
#include <cstdio>
#include <cstring>

#include "host/standalone/cudart/common.h"
#include "host/standalone/rt/device_model.h"

using namespace assay::host;  // NOLINT: this file is the C interface

namespace {

const char* const kDeviceName = "NVIDIA H100 80GB HBM3";

void fill_properties(cudaDeviceProp* p) {
  std::memset(p, 0, sizeof *p);
  std::snprintf(p->name, sizeof p->name, "%s", kDeviceName);
  p->totalGlobalMem = device::kMemory;
  p->sharedMemPerBlock = device::kSharedDefault;
  p->regsPerBlock = static_cast<int>(device::kRegistersPerSm);
  p->warpSize = 32;
  p->memPitch = 2147483647;
  p->maxThreadsPerBlock = static_cast<int>(device::kThreadsPerBlock);
  for (int k = 0; k < 3; ++k) {
    p->maxThreadsDim[k] = static_cast<int>(device::kBlockDim[k]);
    p->maxGridSize[k] = static_cast<int>(device::kGridDim[k]);
  }
  p->totalConstMem = 65536;
  p->major = 9;
  p->minor = 0;
  p->textureAlignment = 512;
  p->multiProcessorCount = static_cast<int>(device::kSms);
  p->concurrentKernels = 1;
  p->unifiedAddressing = 1;
  p->memoryBusWidth = 5120;
  p->l2CacheSize = 50 << 20;
  p->maxThreadsPerMultiProcessor = static_cast<int>(device::kThreadsPerSm);
  p->sharedMemPerMultiprocessor = device::kSharedPerSm;
  p->regsPerMultiprocessor = static_cast<int>(device::kRegistersPerSm);
  p->managedMemory = 1;
  p->cooperativeLaunch = 1;
  p->sharedMemPerBlockOptin = device::kSharedOptin;
  p->maxBlocksPerMultiProcessor = static_cast<int>(device::kBlocksPerSm);
  p->reservedSharedMemPerBlock = device::kSharedReserved;
}

int attribute(cudaDeviceAttr a) {
  switch (a) {
    case cudaDevAttrMaxThreadsPerBlock:
      return static_cast<int>(device::kThreadsPerBlock);
    case cudaDevAttrMaxBlockDimX:
    case cudaDevAttrMaxBlockDimY:
    case cudaDevAttrMaxBlockDimZ:
      return static_cast<int>(device::kBlockDim[a - cudaDevAttrMaxBlockDimX]);
    case cudaDevAttrMaxGridDimX:
    case cudaDevAttrMaxGridDimY:
    case cudaDevAttrMaxGridDimZ:
      return static_cast<int>(device::kGridDim[a - cudaDevAttrMaxGridDimX]);
    case cudaDevAttrMaxSharedMemoryPerBlock:
      return static_cast<int>(device::kSharedDefault);
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      return static_cast<int>(device::kSharedOptin);
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      return static_cast<int>(device::kSharedPerSm);
    case cudaDevAttrReservedSharedMemoryPerBlock:
      return static_cast<int>(device::kSharedReserved);
    case cudaDevAttrTotalConstantMemory:
      return 65536;
    case cudaDevAttrWarpSize:
      return 32;
    case cudaDevAttrMaxRegistersPerBlock:
    case cudaDevAttrMaxRegistersPerMultiprocessor:
      return static_cast<int>(device::kRegistersPerSm);
    case cudaDevAttrMultiProcessorCount:
      return static_cast<int>(device::kSms);
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      return static_cast<int>(device::kThreadsPerSm);
    case cudaDevAttrMaxBlocksPerMultiprocessor:
      return static_cast<int>(device::kBlocksPerSm);
    case cudaDevAttrComputeCapabilityMajor:
      return 9;
    case cudaDevAttrL2CacheSize:
      return 50 << 20;
    case cudaDevAttrClockRate:
      return 1980000;
    case cudaDevAttrConcurrentKernels:
    case cudaDevAttrCooperativeLaunch:
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrManagedMemory:
      return 1;
    default:
      return 0;
  }
}

}  // namespace

extern "C" {

cudaError_t cudaGetDevice(int* d) {
  *d = 0;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int d) {
  return d == 0 ? cudaSuccess : set_error(cudaErrorInvalidDevice);
}
cudaError_t cudaGetDeviceCount(int* n) {
  *n = 1;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int d) {
  if (d != 0) return set_error(cudaErrorInvalidDevice);
  fill_properties(p);
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* v, cudaDeviceAttr a, int d) {
  if (d != 0) return set_error(cudaErrorInvalidDevice);
  *v = attribute(a);
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
  ApiLock lock;
  Recorder::get().sync_all();
  return cudaSuccess;
}
cudaError_t cudaThreadSynchronize() { return cudaDeviceSynchronize(); }
cudaError_t cudaDeviceReset() { return cudaSuccess; }
cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) { return cudaSuccess; }
cudaError_t cudaDeviceSetLimit(cudaLimit, size_t) { return cudaSuccess; }
cudaError_t cudaDeviceGetLimit(size_t* v, cudaLimit) {
  *v = 1024;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int) {
  *pool = nullptr;
  return cudaSuccess;
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) { return cudaSuccess; }
cudaError_t cudaDriverGetVersion(int* v) {
  *v = 13000;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* v) {
  *v = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaProfilerStart() { return cudaSuccess; }
cudaError_t cudaProfilerStop() { return cudaSuccess; }
cudaError_t cudaCtxResetPersistingL2Cache() { return cudaSuccess; }

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* s, unsigned flags, int) {
  return guarded([&] {
    int n = Recorder::get().new_stream((flags & cudaStreamNonBlocking) != 0);
    *s = static_cast<cudaStream_t>(stream_handle(n));
    return cudaSuccess;
  });
}
cudaError_t cudaStreamCreate(cudaStream_t* s) { return cudaStreamCreateWithPriority(s, 0, 0); }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* s, unsigned flags) {
  return cudaStreamCreateWithPriority(s, flags, 0);
}
cudaError_t cudaStreamDestroy(cudaStream_t s) {
  return guarded([&] {
    int n = stream_index(s);
    if (n <= 0 || !Recorder::get().valid_stream(n)) return cudaErrorInvalidResourceHandle;
    Recorder::get().destroy_stream(n);
    return cudaSuccess;
  });
}
cudaError_t cudaStreamSynchronize(cudaStream_t s) {
  return guarded([&] {
    int n = stream_index(s);
    if (n < 0 || !Recorder::get().valid_stream(n)) return cudaErrorInvalidResourceHandle;
    if (n == 0) {
      Recorder::get().sync_all();
    } else {
      Recorder::get().sync_stream(n);
    }
    return cudaSuccess;
  });
}
cudaError_t cudaStreamQuery(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* s) {
  *s = cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned) {
  return guarded([&] {
    int n = stream_index(s);
    if (n < 0 || !Recorder::get().valid_stream(n)) return cudaErrorInvalidResourceHandle;
    return Recorder::get().wait_event(n, event_index(e)) ? cudaSuccess
                                                         : cudaErrorInvalidResourceHandle;
  });
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* e, unsigned) {
  return guarded([&] {
    *e = static_cast<cudaEvent_t>(event_handle(Recorder::get().new_event()));
    return cudaSuccess;
  });
}
cudaError_t cudaEventCreate(cudaEvent_t* e) { return cudaEventCreateWithFlags(e, 0); }
cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s) {
  return guarded([&] {
    int n = stream_index(s);
    if (n < 0 || !Recorder::get().valid_stream(n)) return cudaErrorInvalidResourceHandle;
    return Recorder::get().record_event(event_index(e), n) ? cudaSuccess
                                                           : cudaErrorInvalidResourceHandle;
  });
}
cudaError_t cudaEventSynchronize(cudaEvent_t e) {
  return guarded([&] {
    return Recorder::get().sync_event(event_index(e)) ? cudaSuccess
                                                      : cudaErrorInvalidResourceHandle;
  });
}
cudaError_t cudaEventQuery(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t, cudaEvent_t) {
  *ms = 1.0f;
  return cudaSuccess;
}

cudaError_t cudaGetLastError() {
  ApiLock lock;
  int e = Recorder::get().last_error;
  Recorder::get().last_error = 0;
  return static_cast<cudaError_t>(e);
}
cudaError_t cudaPeekAtLastError() {
  ApiLock lock;
  return static_cast<cudaError_t>(Recorder::get().last_error);
}
const char* cudaGetErrorName(cudaError_t e) {
  switch (e) {
#define ASSAY_ERROR(name, text) \
  case name:                    \
    return #name;
#include "host/standalone/cudart/errors.def"
#undef ASSAY_ERROR
    default:
      return "unrecognized error code";
  }
}
const char* cudaGetErrorString(cudaError_t e) {
  switch (e) {
#define ASSAY_ERROR(name, text) \
  case name:                    \
    return text;
#include "host/standalone/cudart/errors.def"
#undef ASSAY_ERROR
    default:
      return "unrecognized error code";
  }
}

}  // extern "C"
