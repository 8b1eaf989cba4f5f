#pragma once
// Shared by the files of the stand-in CUDA runtime.
#define CUDART_API_EXPORT extern "C" __attribute__((visibility("default")))
#include <cuda_runtime_api.h>

#include <mutex>

#include "host/standalone/cudart/handles.h"
#include "host/standalone/rt/modules.h"
#include "host/standalone/rt/recorder.h"

namespace assay::host {

struct ApiLock {
  std::lock_guard<std::recursive_mutex> guard{Recorder::get().mutex()};
};

// Keeps the error for cudaGetLastError.
inline cudaError_t set_error(cudaError_t e) {
  if (e != cudaSuccess) Recorder::get().last_error = static_cast<int>(e);
  return e;
}

// Runs `body`, which may throw what the recorder throws: host code sees an error code, the run's
// outcome keeps the reason.
template <class F>
cudaError_t guarded(F body) noexcept {
  ApiLock lock;
  try {
    return set_error(body());
  } catch (...) {
    return set_error(cudaErrorNotSupported);
  }
}

}  // namespace assay::host
