// Memory: allocations, copies, fills, module symbols.
#include <cstring>

#include "host/standalone/cudart/common.h"

namespace assay::host {

namespace {

struct Place {
  int storage = -1;  // -1: host memory
  int64_t offset = 0;
};

bool locate(const void* p, Place* place) {
  auto address = reinterpret_cast<uint64_t>(p);
  if (!Recorder::get().device_range(address)) return true;
  place->storage = Recorder::get().storage_at(address, &place->offset);
  return place->storage >= 0;
}

bool inside(const Place& p, uint64_t bytes) {
  const Storage& s = Recorder::get().storage(p.storage);
  return p.offset >= 0 && static_cast<uint64_t>(p.offset) + bytes <= s.bytes;
}

cudaError_t copy_places(void* dst, Place d, const void* src, Place s, size_t bytes,
                        cudaMemcpyKind kind, int stream) {
  auto& r = Recorder::get();
  if (bytes == 0) return cudaSuccess;
  bool to_device = d.storage >= 0, from_device = s.storage >= 0;
  // Device pointers are known as such whatever `kind` says (unified addressing; seen on an H200);
  // pageable host memory is not taken for the device's.
  const bool device_dst = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool device_src = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  if (kind != cudaMemcpyDefault) {
    if ((device_dst && !to_device) || (device_src && !from_device)) return cudaErrorInvalidValue;
    if (device_dst != to_device || device_src != from_device)
      r.note("copy-kind", "low",
             "the kind of a cudaMemcpy does not fit its pointers, which CUDA leaves undefined; "
             "taken as copied by where they point");
  }
  if ((to_device && !inside(d, bytes)) || (from_device && !inside(s, bytes))) {
    r.note("copy-out-of-bounds", "verdict", "a cudaMemcpy leaves its allocation: refused");
    return cudaErrorInvalidValue;
  }
  if (!to_device && !from_device) {
    std::memmove(dst, src, bytes);
    return cudaSuccess;
  }
  if (!to_device) {
    r.sync_stream(stream);
    r.read_bytes(r.storage(s.storage).buffer, s.offset, static_cast<uint8_t*>(dst), bytes);
    return cudaSuccess;
  }
  program::CopyStep copy;
  copy.dst = r.storage(d.storage).buffer;
  copy.dst_offset = d.offset;
  copy.bytes = bytes;
  if (from_device) {
    copy.src = r.storage(s.storage).buffer;
    copy.src_offset = s.offset;
    r.take_type(copy.dst, copy.src);
  } else {
    auto* p = static_cast<const uint8_t*>(src);
    copy.host_data.assign(p, p + bytes);
  }
  program::Step step;
  step.stream = stream;
  int dst_buffer = copy.dst;
  step.what = std::move(copy);
  r.add_step(std::move(step), {dst_buffer});
  return cudaSuccess;
}

cudaError_t copy(void* dst, const void* src, size_t bytes, cudaMemcpyKind kind, int stream) {
  Place d, s;
  if (stream < 0) return cudaErrorInvalidResourceHandle;
  if (!locate(dst, &d) || !locate(src, &s)) return cudaErrorInvalidValue;
  return copy_places(dst, d, src, s, bytes, kind, stream);
}

cudaError_t symbol_copy(const void* symbol, size_t offset, const void* other, size_t bytes,
                        cudaMemcpyKind kind, int stream, bool to_symbol) {
  int storage = Modules::get().variable(symbol);
  if (storage < 0) return cudaErrorInvalidSymbol;
  Place at{storage, static_cast<int64_t>(offset)}, o;
  if (!locate(other, &o)) return cudaErrorInvalidValue;
  void* host = const_cast<void*>(other);
  return to_symbol ? copy_places(nullptr, at, other, o, bytes, kind, stream)
                   : copy_places(host, o, nullptr, at, bytes, kind, stream);
}

cudaError_t fill(void* p, int value, size_t bytes, int stream) {
  Place d;
  if (stream < 0) return cudaErrorInvalidResourceHandle;
  if (!locate(p, &d)) return cudaErrorInvalidValue;
  if (d.storage < 0) {
    std::memset(p, value, bytes);
    return cudaSuccess;
  }
  if (!inside(d, bytes)) return cudaErrorInvalidValue;
  if (bytes == 0) return cudaSuccess;
  program::FillStep f;
  f.dst = Recorder::get().storage(d.storage).buffer;
  f.offset = d.offset;
  f.bytes = bytes;
  f.value = static_cast<uint8_t>(value);
  program::Step step;
  step.what = f;
  step.stream = stream;
  Recorder::get().add_step(std::move(step), {f.dst});
  return cudaSuccess;
}

cudaError_t allocate(void** p, size_t bytes) {
  if (p == nullptr) return cudaErrorInvalidValue;
  if (bytes == 0) {
    *p = nullptr;
    return cudaSuccess;
  }
  if (bytes > (80ull << 30)) return cudaErrorMemoryAllocation;
  // Raw memory: taken as f32 where its elements are asked for.
  DType dtype = bytes % 4 == 0 ? DType::F32 : DType::U8;
  int s =
      Recorder::get().new_storage(bytes, dtype, true, program::Init::Poison, program::Role::Temp);
  *p = reinterpret_cast<void*>(Recorder::get().storage(s).base);
  return cudaSuccess;
}

cudaError_t release(void* p) {
  if (p == nullptr) return cudaSuccess;
  Place d;
  if (!locate(p, &d) || d.storage < 0 || d.offset != 0) return cudaErrorInvalidValue;
  Recorder::get().free_storage(d.storage);
  return cudaSuccess;
}

}  // namespace
}  // namespace assay::host

using namespace assay::host;  // NOLINT: this file is the C interface

extern "C" {

cudaError_t cudaMalloc(void** p, size_t n) {
  return guarded([&] { return allocate(p, n); });
}
cudaError_t cudaMallocAsync(void** p, size_t n, cudaStream_t) {
  return guarded([&] { return allocate(p, n); });
}
cudaError_t cudaMallocManaged(void** p, size_t, unsigned) {
  return guarded([&]() -> cudaError_t {
    *p = nullptr;
    Recorder::get().unsupported("managed memory (cudaMallocManaged)");
  });
}
cudaError_t cudaMallocPitch(void** p, size_t* pitch, size_t width, size_t height) {
  return guarded([&] {
    *pitch = (width + 511) / 512 * 512;
    return allocate(p, *pitch * height);
  });
}
cudaError_t cudaMallocHost(void** p, size_t n) {
  *p = malloc(n);
  return *p != nullptr ? cudaSuccess : set_error(cudaErrorMemoryAllocation);
}
cudaError_t cudaHostAlloc(void** p, size_t n, unsigned) { return cudaMallocHost(p, n); }
cudaError_t cudaFreeHost(void* p) {
  free(p);
  return cudaSuccess;
}
cudaError_t cudaHostRegister(void*, size_t, unsigned) { return cudaSuccess; }
cudaError_t cudaHostUnregister(void*) { return cudaSuccess; }
cudaError_t cudaFree(void* p) {
  return guarded([&] { return release(p); });
}
cudaError_t cudaFreeAsync(void* p, cudaStream_t) {
  return guarded([&] { return release(p); });
}
cudaError_t cudaMemcpy(void* dst, const void* src, size_t n, cudaMemcpyKind kind) {
  return guarded([&] { return copy(dst, src, n, kind, 0); });
}
cudaError_t cudaMemcpyAsync(void* dst, const void* src, size_t n, cudaMemcpyKind kind,
                            cudaStream_t s) {
  return guarded([&] { return copy(dst, src, n, kind, stream_index(s)); });
}
cudaError_t cudaMemcpy2D(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width,
                         size_t height, cudaMemcpyKind kind) {
  return guarded([&] {
    for (size_t k = 0; k < height; ++k) {
      cudaError_t e = copy(static_cast<char*>(dst) + k * dpitch,
                           static_cast<const char*>(src) + k * spitch, width, kind, 0);
      if (e != cudaSuccess) return e;
    }
    return cudaSuccess;
  });
}
cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* src, size_t n, size_t offset,
                               cudaMemcpyKind kind) {
  return guarded([&] { return symbol_copy(symbol, offset, src, n, kind, 0, true); });
}
cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* src, size_t n, size_t offset,
                                    cudaMemcpyKind kind, cudaStream_t s) {
  return guarded([&] { return symbol_copy(symbol, offset, src, n, kind, stream_index(s), true); });
}
cudaError_t cudaMemcpyFromSymbol(void* dst, const void* symbol, size_t n, size_t offset,
                                 cudaMemcpyKind kind) {
  return guarded([&] { return symbol_copy(symbol, offset, dst, n, kind, 0, false); });
}
cudaError_t cudaMemcpyFromSymbolAsync(void* dst, const void* symbol, size_t n, size_t offset,
                                      cudaMemcpyKind kind, cudaStream_t s) {
  return guarded([&] { return symbol_copy(symbol, offset, dst, n, kind, stream_index(s), false); });
}
cudaError_t cudaGetSymbolAddress(void** p, const void* symbol) {
  return guarded([&] {
    int s = Modules::get().variable(symbol);
    if (s < 0) return cudaErrorInvalidSymbol;
    *p = reinterpret_cast<void*>(Recorder::get().storage(s).base);
    return cudaSuccess;
  });
}
cudaError_t cudaGetSymbolSize(size_t* n, const void* symbol) {
  return guarded([&] {
    int s = Modules::get().variable(symbol);
    if (s < 0) return cudaErrorInvalidSymbol;
    *n = Recorder::get().storage(s).bytes;
    return cudaSuccess;
  });
}
cudaError_t cudaMemset(void* p, int value, size_t n) {
  return guarded([&] { return fill(p, value, n, 0); });
}
cudaError_t cudaMemsetAsync(void* p, int value, size_t n, cudaStream_t s) {
  return guarded([&] { return fill(p, value, n, stream_index(s)); });
}
cudaError_t cudaMemGetInfo(size_t* available, size_t* total) {
  *total = 80ull << 30;
  *available = 79ull << 30;
  return cudaSuccess;
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* a, const void* p) {
  return guarded([&] {
    std::memset(a, 0, sizeof *a);
    Place place;
    if (!locate(p, &place)) return cudaErrorInvalidValue;
    a->type = place.storage >= 0 ? cudaMemoryTypeDevice : cudaMemoryTypeUnregistered;
    a->devicePointer = place.storage >= 0 ? const_cast<void*>(p) : nullptr;
    a->hostPointer = place.storage >= 0 ? nullptr : const_cast<void*>(p);
    return cudaSuccess;
  });
}

}  // extern "C"
