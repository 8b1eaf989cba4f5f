#pragma once
// cudaStream_t and cudaEvent_t values: indices in disguise, in a range that is no memory. Null and
// 1 are the legacy default stream; 2, the per-thread one, is taken as it (one host thread).
#include <cstdint>

namespace assay::host {

inline constexpr uint64_t kStreamBase = 0x5700'0000, kEventBase = 0x5900'0000;

inline void* stream_handle(int s) {
  return s == 0 ? nullptr : reinterpret_cast<void*>(kStreamBase + static_cast<uint64_t>(s) * 16);
}
inline int stream_index(const void* h) {  // -1: no stream
  auto v = reinterpret_cast<uint64_t>(h);
  if (v <= 2) return 0;
  if (v <= kStreamBase || v >= kEventBase || v % 16 != 0) return -1;
  return static_cast<int>((v - kStreamBase) / 16);
}
inline void* event_handle(int e) {
  return reinterpret_cast<void*>(kEventBase + static_cast<uint64_t>(e) * 16);
}
inline int event_index(const void* h) {
  auto v = reinterpret_cast<uint64_t>(h);
  return v < kEventBase || v > kEventBase + (1u << 28) ? -1
                                                       : static_cast<int>((v - kEventBase) / 16);
}

}  // namespace assay::host
