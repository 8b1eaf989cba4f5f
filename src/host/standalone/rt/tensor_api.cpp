// The functions of assay/abi.h about tensors: what the stand-in PyTorch headers call.
#include <fmt/format.h>

#include <cstring>

#include "assay/abi.h"
#include "assay/error.h"
#include "host/standalone/rt/call.h"

using assay::host::Recorder;
using assay::host::TensorImpl;
namespace host = assay::host;
namespace program = assay::program;

namespace {
struct Lock {
  std::lock_guard<std::recursive_mutex> guard{Recorder::get().mutex()};
};
}  // namespace

size_t assay_op(const char* name, const assay_abi::Value* args, size_t n, int32_t* outs,
                size_t max_outs) {
  Lock lock;
  host::Call c = host::decode(name, args, n, max_outs);
  host::Outs made = host::call_operator(c);
  size_t k = 0;
  for (; k < made.size() && k < max_outs; ++k) outs[k] = made[k];
  return k;
}

void assay_sizes(int32_t t, const int64_t** data, size_t* n) {
  Lock lock;
  TensorImpl& impl = Recorder::get().tensor(t);
  *data = impl.sizes.data();
  *n = impl.sizes.size();
}

void assay_strides(int32_t t, const int64_t** data, size_t* n) {
  Lock lock;
  TensorImpl& impl = Recorder::get().tensor(t);
  *data = impl.strides.data();
  *n = impl.strides.size();
}

int64_t assay_numel(int32_t t) {
  Lock lock;
  return host::element_count(Recorder::get().tensor(t).sizes);
}

int64_t assay_storage_offset(int32_t t) {
  Lock lock;
  return Recorder::get().tensor(t).offset;
}

int32_t assay_dtype(int32_t t) {
  Lock lock;
  return host::code_of_dtype(Recorder::get().tensor(t).dtype);
}

bool assay_is_cuda(int32_t t) {
  Lock lock;
  return Recorder::get().tensor(t).cuda;
}

bool assay_is_contiguous(int32_t t, int32_t memory_format) {
  Lock lock;
  return host::is_contiguous_as(Recorder::get().tensor(t), memory_format);
}

bool assay_same_storage(int32_t a, int32_t b) {
  Lock lock;
  return Recorder::get().tensor(a).storage == Recorder::get().tensor(b).storage;
}

bool assay_requires_grad(int32_t t) {
  Lock lock;
  auto& r = Recorder::get();
  int buffer = r.storage(r.tensor(t).storage).buffer;
  return r.program().buffers[static_cast<size_t>(buffer)].role == program::Role::Parameter;
}

void* assay_data_ptr(int32_t t, int32_t dtype) {
  Lock lock;
  auto& r = Recorder::get();
  TensorImpl& impl = r.tensor(t);
  int32_t own = host::code_of_dtype(impl.dtype);
  if (dtype >= 0 && own != dtype) {
    auto named = [](int32_t code) { return program::dtype_name(host::dtype_of_code(code)); };
    throw c10::Error(fmt::format("expected scalar type {} but found {}", named(dtype), named(own)));
  }
  uint64_t offset = static_cast<uint64_t>(impl.offset) * program::dtype_bytes(impl.dtype);
  if (host::element_count(impl.sizes) == 0) return nullptr;
  if (!impl.cuda) return r.host_bytes(impl.storage) + offset;
  return reinterpret_cast<void*>(r.storage(impl.storage).base + offset);
}

void assay_item(int32_t t, double* d, int64_t* i) {
  Lock lock;
  auto& r = Recorder::get();
  const TensorImpl impl = r.tensor(t);
  if (host::element_count(impl.sizes) != 1) {
    throw c10::Error(fmt::format("a Tensor with {} elements cannot be converted to Scalar",
                                 host::element_count(impl.sizes)));
  }
  if (!impl.cuda) r.push_host_writes(impl.storage);
  r.sync_stream(r.current_stream());
  host::HostRead read = r.read_element(r.storage(impl.storage).buffer, impl.offset, impl.dtype);
  *d = read.value;
  *i = read.ivalue;
  if (!program::dtype_is_float(impl.dtype)) *d = static_cast<double>(read.ivalue);
}

int32_t assay_new_tensor(int32_t dtype, bool cuda, const int64_t* sizes, size_t n,
                         const void* data) {
  Lock lock;
  auto& r = Recorder::get();
  TensorImpl impl;
  impl.dtype = host::dtype_of_code(dtype);
  impl.cuda = cuda;
  impl.sizes.assign(sizes, sizes + n);
  impl.strides = host::contiguous_strides(impl.sizes);
  uint64_t bytes =
      static_cast<uint64_t>(host::element_count(impl.sizes)) * program::dtype_bytes(impl.dtype);
  std::vector<uint8_t> content;
  if (data != nullptr) {
    auto* p = static_cast<const uint8_t*>(data);
    content.assign(p, p + bytes);
  }
  impl.storage = r.new_storage(
      bytes, impl.dtype, cuda, data != nullptr ? program::Init::Data : program::Init::Poison,
      data != nullptr ? program::Role::Constant : program::Role::Temp, std::move(content));
  return r.new_tensor(std::move(impl));
}

int32_t assay_from_blob(void* data, int32_t dtype, bool cuda, const int64_t* sizes,
                        const int64_t* strides, size_t n) {
  Lock lock;
  auto& r = Recorder::get();
  if (!cuda) {
    if (strides != nullptr) r.unsupported("from_blob of strided CPU memory");
    return assay_new_tensor(dtype, false, sizes, n, data);
  }
  int64_t addend = 0;
  int s = r.storage_at(reinterpret_cast<uint64_t>(data), &addend);
  TensorImpl impl;
  impl.dtype = host::dtype_of_code(dtype);
  int64_t size = program::dtype_bytes(impl.dtype);
  if (s < 0 || addend < 0 || addend % size != 0) {
    throw c10::Error("from_blob: the pointer is in no device allocation");
  }
  impl.storage = s;
  impl.offset = addend / size;
  impl.sizes.assign(sizes, sizes + n);
  impl.strides = strides != nullptr ? std::vector<int64_t>(strides, strides + n)
                                    : host::contiguous_strides(impl.sizes);
  return r.new_tensor(std::move(impl));
}

const char* assay_tensor_text(int32_t t) {
  static thread_local std::string text;
  if (t < 0) return "[ Tensor (undefined) ]";
  Lock lock;
  const TensorImpl& impl = Recorder::get().tensor(t);
  text = fmt::format("[ {}{{{}}} ]", program::dtype_name(impl.dtype), fmt::join(impl.sizes, ","));
  return text.c_str();
}

void assay_unsupported(const char* what) {
  Lock lock;
  Recorder::get().unsupported(what);
}

void assay_note(const char* kind, const char* severity, const char* message) {
  Lock lock;
  Recorder::get().note(kind, severity, message);
}

// Streams: cudaStream_t values are small integers in disguise (see cudart/handles.h).
void* assay_current_stream() {
  Lock lock;
  int s = Recorder::get().current_stream();
  return s == 0 ? nullptr : reinterpret_cast<void*>(0x5700'0000ull + static_cast<uint64_t>(s) * 16);
}

void assay_set_stream(void* stream) {
  Lock lock;
  auto v = reinterpret_cast<uint64_t>(stream);
  Recorder::get().set_current_stream(v < 16 ? 0 : static_cast<int>((v - 0x5700'0000ull) / 16));
}

void* assay_stream_from_pool() {
  Lock lock;
  int s = Recorder::get().new_stream(true);
  return reinterpret_cast<void*>(0x5700'0000ull + static_cast<uint64_t>(s) * 16);
}

void* assay_blas_handle() { return reinterpret_cast<void*>(0x5800'0000ull); }
