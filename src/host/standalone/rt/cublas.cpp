// The cuBLAS calls that extensions make, as matrix products of views: column-major matrices are
// views with strides (1, ld). Other routines are undefined symbols, reported when the extension is
// loaded.
#include <cstdint>

#include "host/standalone/cudart/handles.h"
#include "host/standalone/rt/call.h"

using namespace assay::host;  // NOLINT: this file is the C interface

namespace {

constexpr int kSuccess = 0, kInvalidValue = 7, kNotSupported = 15;
struct Handle {
  int stream = 0;
  bool device_scalars = false;
};
Handle& state(void* h) {
  static Handle shared;  // the library's own handle
  return h == assay_blas_handle() ? shared : *static_cast<Handle*>(h);
}

// A matrix of rows x cols; `transposed`: stored as its transpose.
int32_t matrix(const void* p, DType dtype, int64_t rows, int64_t cols, int64_t ld, bool transposed,
               int64_t batch = 1, int64_t batch_stride = 0) {
  int64_t addend = 0;
  int s = Recorder::get().storage_at(reinterpret_cast<uint64_t>(p), &addend);
  auto size = static_cast<int64_t>(assay::program::dtype_bytes(dtype));
  if (s < 0 || addend < 0 || addend % size != 0) return -1;
  TensorImpl t;
  t.storage = s;
  t.dtype = dtype;
  t.offset = addend / size;
  t.sizes = {rows, cols};
  t.strides = transposed ? std::vector<int64_t>{ld, 1} : std::vector<int64_t>{1, ld};
  if (batch > 1) {
    t.sizes.insert(t.sizes.begin(), batch);
    t.strides.insert(t.strides.begin(), batch_stride);
  }
  return Recorder::get().new_tensor(std::move(t));
}

struct Gemm {
  int op_a, op_b;
  int64_t m, n, k;
  double alpha, beta;
  const void *a, *b;
  void* c;
  int64_t lda, ldb, ldc, stride_a = 0, stride_b = 0, stride_c = 0, batch = 1;
  DType dtype;
};

int gemm(void* handle, const Gemm& g) {
  std::lock_guard lock(Recorder::get().mutex());
  Recorder& r = Recorder::get();
  try {
    Handle& h = state(handle);
    if (h.device_scalars) r.unsupported("cuBLAS with scalars in device memory");
    if (g.m < 0 || g.n < 0 || g.k < 0) return kInvalidValue;
    if (g.m == 0 || g.n == 0) return kSuccess;
    int32_t a = matrix(g.a, g.dtype, g.m, g.k, g.lda, g.op_a != 0, g.batch, g.stride_a);
    int32_t b = matrix(g.b, g.dtype, g.k, g.n, g.ldb, g.op_b != 0, g.batch, g.stride_b);
    int32_t c = matrix(g.c, g.dtype, g.m, g.n, g.ldc, false, g.batch, g.stride_c);
    if (a < 0 || b < 0 || c < 0) return kInvalidValue;
    int before = r.current_stream();
    r.set_current_stream(h.stream);
    bool many = g.batch > 1;
    if (g.alpha == 1 && g.beta == 0) {
      emit(many ? "aten::bmm" : "aten::mm", {arg_of(a), arg_of(b)}, {c});
    } else {
      emit(many ? "aten::baddbmm" : "aten::addmm",
           {arg_of(c), arg_of(a), arg_of(b), g.beta, g.alpha}, {c});
    }
    r.set_current_stream(before);
    return kSuccess;
  } catch (...) {
    return kNotSupported;
  }
}

}  // namespace

extern "C" {

int cublasCreate_v2(void** h) {
  *h = new Handle;
  return kSuccess;
}
int cublasDestroy_v2(void* h) {
  if (h != assay_blas_handle()) delete static_cast<Handle*>(h);
  return kSuccess;
}
int cublasSetStream_v2(void* h, void* stream) {
  int s = stream_index(stream);
  if (s < 0) return kInvalidValue;
  state(h).stream = s;
  return kSuccess;
}
int cublasGetStream_v2(void* h, void** stream) {
  *stream = stream_handle(state(h).stream);
  return kSuccess;
}
int cublasSetMathMode(void*, int mode) {
  if (mode != 0) {
    Recorder::get().note("reduced-precision", "low",
                         "cuBLAS is allowed a faster math mode (tensor cores, TF32)");
  }
  return kSuccess;
}
int cublasGetMathMode(void*, int* mode) {
  *mode = 0;
  return kSuccess;
}
int cublasSetPointerMode_v2(void* h, int mode) {
  state(h).device_scalars = mode != 0;
  return kSuccess;
}
int cublasSetWorkspace_v2(void*, void*, size_t) { return kSuccess; }
int cublasGetVersion_v2(void*, int* v) {
  *v = 130000;
  return kSuccess;
}
const char* cublasGetStatusString(int status) {
  return status == kSuccess        ? "success"
         : status == kInvalidValue ? "an unsupported value or parameter was passed to the function"
                                   : "the functionality requested is not supported";
}
const char* cublasGetStatusName(int status) {
  return status == kSuccess        ? "CUBLAS_STATUS_SUCCESS"
         : status == kInvalidValue ? "CUBLAS_STATUS_INVALID_VALUE"
                                   : "CUBLAS_STATUS_NOT_SUPPORTED";
}
int cublasSgemm_v2(void* h, int ta, int tb, int m, int n, int k, const float* alpha, const float* a,
                   int lda, const float* b, int ldb, const float* beta, float* c, int ldc) {
  return gemm(h, {ta, tb, m, n, k, *alpha, *beta, a, b, c, lda, ldb, ldc, 0, 0, 0, 1, DType::F32});
}
int cublasDgemm_v2(void* h, int ta, int tb, int m, int n, int k, const double* alpha,
                   const double* a, int lda, const double* b, int ldb, const double* beta,
                   double* c, int ldc) {
  return gemm(h, {ta, tb, m, n, k, *alpha, *beta, a, b, c, lda, ldb, ldc, 0, 0, 0, 1, DType::F64});
}
int cublasSgemmStridedBatched(void* h, int ta, int tb, int m, int n, int k, const float* alpha,
                              const float* a, int lda, long long sa, const float* b, int ldb,
                              long long sb, const float* beta, float* c, int ldc, long long sc,
                              int batch) {
  return gemm(
      h, {ta, tb, m, n, k, *alpha, *beta, a, b, c, lda, ldb, ldc, sa, sb, sc, batch, DType::F32});
}
// A := alpha x y^T + A.
int cublasSger_v2(void* h, int m, int n, const float* alpha, const float* x, int incx,
                  const float* y, int incy, float* a, int lda) {
  const Gemm g{0, 0, m, n, 1, *alpha, 1.0, x, y, a, m, incy, lda, 0, 0, 0, 1, DType::F32};
  if (incx != 1) return kNotSupported;
  return gemm(h, g);
}

}  // extern "C"
