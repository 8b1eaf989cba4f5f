#pragma once
// Streams, guards and checks of c10::cuda and at::cuda.
#include <cuda_runtime_api.h>

#include "assay/tensor.h"

struct cublasContext;
typedef struct cublasContext* cublasHandle_t;  // as cublas_api.h declares it

namespace c10 {
namespace cuda {

class CUDAStream {
 public:
  CUDAStream() = default;
  explicit CUDAStream(cudaStream_t s) : stream_(s) {}
  cudaStream_t stream() const { return stream_; }
  operator cudaStream_t() const { return stream_; }
  void synchronize() const { (void)cudaStreamSynchronize(stream_); }
  bool query() const { return true; }
  DeviceIndex device_index() const { return 0; }
  Device device() const { return Device(kCUDA, 0); }
  int64_t id() const { return reinterpret_cast<int64_t>(stream_); }
  CUDAStream unwrap() const { return *this; }
  bool operator==(const CUDAStream& o) const { return stream_ == o.stream_; }
  bool operator!=(const CUDAStream& o) const { return stream_ != o.stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};
inline CUDAStream getCurrentCUDAStream(DeviceIndex = -1) {
  return CUDAStream(static_cast<cudaStream_t>(assay_current_stream()));
}
inline CUDAStream getDefaultCUDAStream(DeviceIndex = -1) { return CUDAStream(); }
inline CUDAStream getStreamFromPool(bool = false, DeviceIndex = -1) {
  return CUDAStream(static_cast<cudaStream_t>(assay_stream_from_pool()));
}
inline CUDAStream getStreamFromExternal(cudaStream_t s, DeviceIndex) { return CUDAStream(s); }
inline void setCurrentCUDAStream(CUDAStream s) { assay_set_stream(s.stream()); }
inline DeviceIndex current_device() { return 0; }
inline void set_device(DeviceIndex) {}
inline DeviceIndex device_count() { return 1; }
inline void device_synchronize() { (void)cudaDeviceSynchronize(); }

struct CUDAGuard {
  CUDAGuard(int) {}
  CUDAGuard(Device) {}
  CUDAGuard(const std::optional<Device>&) {}
  void set_device(Device) {}
  void set_index(int) {}
};
struct OptionalCUDAGuard {
  OptionalCUDAGuard() {}
  OptionalCUDAGuard(int) {}
  OptionalCUDAGuard(Device) {}
  OptionalCUDAGuard(const std::optional<Device>&) {}
  void set_device(Device) {}
  void set_index(int) {}
};
struct CUDAStreamGuard {
  explicit CUDAStreamGuard(CUDAStream s) : before_(getCurrentCUDAStream()), now_(s) {
    setCurrentCUDAStream(s);
  }
  ~CUDAStreamGuard() { setCurrentCUDAStream(before_); }
  CUDAStreamGuard(const CUDAStreamGuard&) = delete;
  CUDAStreamGuard& operator=(const CUDAStreamGuard&) = delete;
  CUDAStream current_stream() const { return now_; }

 private:
  CUDAStream before_, now_;
};
using OptionalCUDAStreamGuard = CUDAStreamGuard;

}  // namespace cuda

using DeviceGuard = cuda::CUDAGuard;
using OptionalDeviceGuard = cuda::OptionalCUDAGuard;

namespace detail {
inline void cuda_check(cudaError_t e) {
  if (e != cudaSuccess) {
    raise<Error>("", "CUDA error: ", static_cast<const char*>(cudaGetErrorString(e)));
  }
}
}  // namespace detail
}  // namespace c10

namespace at {
inline std::optional<Device> device_of(const Tensor& t) {
  return t.defined() ? std::optional<Device>(t.device()) : std::nullopt;
}
namespace cuda {
using namespace c10::cuda;  // NOLINT: as PyTorch does
inline cudaDeviceProp* getCurrentDeviceProperties() {
  static cudaDeviceProp properties = [] {
    cudaDeviceProp p;
    (void)cudaGetDeviceProperties(&p, 0);
    return p;
  }();
  return &properties;
}
inline cudaDeviceProp* getDeviceProperties(int64_t) { return getCurrentDeviceProperties(); }
inline int warp_size() { return 32; }
inline bool is_available() { return true; }
template <class T>
T ATenCeilDiv(T a, T b) {
  return (a + b - 1) / b;
}
// As PyTorch's: made at the first record; what was never recorded blocks nothing.
class CUDAEvent {
 public:
  CUDAEvent() = default;
  explicit CUDAEvent(unsigned int flags) : flags_(flags) {}
  ~CUDAEvent() {
    if (event_ != nullptr) (void)cudaEventDestroy(event_);
  }
  CUDAEvent(const CUDAEvent&) = delete;
  CUDAEvent& operator=(const CUDAEvent&) = delete;
  CUDAEvent(CUDAEvent&& o) noexcept { swap(o); }
  CUDAEvent& operator=(CUDAEvent&& o) noexcept {
    swap(o);
    return *this;
  }
  operator cudaEvent_t() const { return event_; }
  cudaEvent_t event() const { return event_; }
  std::optional<Device> device() const {
    return isCreated() ? std::optional<Device>(Device(kCUDA, 0)) : std::nullopt;
  }
  bool isCreated() const { return event_ != nullptr; }
  DeviceIndex device_index() const { return 0; }
  bool query() const { return true; }
  void record() { record(getCurrentCUDAStream()); }
  void record(const CUDAStream& stream) {
    if (event_ == nullptr) c10::detail::cuda_check(cudaEventCreateWithFlags(&event_, flags_));
    c10::detail::cuda_check(cudaEventRecord(event_, stream.stream()));
    recorded_ = true;
  }
  void recordOnce(const CUDAStream& stream) {
    if (!recorded_) record(stream);
  }
  void block(const CUDAStream& stream) const {
    if (event_ != nullptr)
      c10::detail::cuda_check(cudaStreamWaitEvent(stream.stream(), event_, 0));
  }
  void synchronize() const {
    if (event_ != nullptr) c10::detail::cuda_check(cudaEventSynchronize(event_));
  }
  float elapsed_time(const CUDAEvent& other) const {
    float ms = 0;
    c10::detail::cuda_check(cudaEventElapsedTime(&ms, event_, other.event_));
    return ms;
  }

 private:
  void swap(CUDAEvent& o) noexcept {
    std::swap(event_, o.event_);
    std::swap(flags_, o.flags_);
    std::swap(recorded_, o.recorded_);
  }
  cudaEvent_t event_ = nullptr;
  unsigned int flags_ = cudaEventDisableTiming;
  bool recorded_ = false;
};
inline cublasHandle_t getCurrentCUDABlasHandle() {
  return static_cast<cublasHandle_t>(assay_blas_handle());
}
}  // namespace cuda
template <class T>
T ceil_div(T a, T b) {
  return (a + b - 1) / b;
}
}  // namespace at

#define C10_CUDA_CHECK(expr) ::c10::detail::cuda_check(expr)
#define C10_CUDA_CHECK_WARN(expr) ((void)(expr))
#define C10_CUDA_IGNORE_ERROR(expr) ((void)(expr))
#define C10_CUDA_CLEAR_ERROR() ((void)cudaGetLastError())
#define AT_CUDA_CHECK(expr) C10_CUDA_CHECK(expr)
#define C10_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_CHECK(cudaGetLastError())
#define TORCH_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_KERNEL_LAUNCH_CHECK()
#define THCudaCheck(expr) C10_CUDA_CHECK(expr)
#define CUDA_1D_KERNEL_LOOP_TYPE(i, n, T)                                           \
  int64_t _i_n_d_e_x = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; \
  for (T i = static_cast<T>(_i_n_d_e_x); _i_n_d_e_x < (n);                          \
       _i_n_d_e_x += static_cast<int64_t>(blockDim.x) * gridDim.x, i = static_cast<T>(_i_n_d_e_x))
#define CUDA_1D_KERNEL_LOOP(i, n) CUDA_1D_KERNEL_LOOP_TYPE(i, n, int)
#define CUDA_KERNEL_LOOP(i, n) CUDA_1D_KERNEL_LOOP(i, n)

#if defined(__CUDACC__)
template <class T>
inline __device__ T gpuAtomicAdd(T* address, T value) {
  return atomicAdd(address, value);
}
template <class T>
inline __device__ T WARP_SHFL_DOWN(T v, unsigned d, int width = 32, unsigned mask = 0xffffffffu) {
  return __shfl_down_sync(mask, v, d, width);
}
template <class T>
inline __device__ T WARP_SHFL_XOR(T v, int m, int width = 32, unsigned mask = 0xffffffffu) {
  return __shfl_xor_sync(mask, v, m, width);
}
template <class T>
inline __device__ T WARP_SHFL(T v, int lane, int width = 32, unsigned mask = 0xffffffffu) {
  return __shfl_sync(mask, v, lane, width);
}
#endif
