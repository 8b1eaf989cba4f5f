#pragma once
// Limits of the device that the recorder stands for: an H100/H200-class GPU, compute capability 9.0
// (CUDA C++ Programming Guide, table "Technical Specifications per Compute Capability").
#include <cstdint>

namespace assay::host::device {

inline constexpr uint32_t kThreadsPerBlock = 1024;
inline constexpr uint32_t kBlockDim[3] = {1024, 1024, 64};
inline constexpr uint64_t kGridDim[3] = {2147483647, 65535, 65535};
inline constexpr uint32_t kStaticShared = 48 * 1024;
inline constexpr uint32_t kSharedDefault = 48 * 1024;  // without cudaFuncSetAttribute
inline constexpr uint32_t kSharedOptin = 227 * 1024;   // static + dynamic, one block
inline constexpr uint32_t kSharedPerSm = 228 * 1024;
inline constexpr uint32_t kSharedReserved = 1024;  // a block, by the system
inline constexpr uint32_t kSms = 132;
inline constexpr uint32_t kThreadsPerSm = 2048;
inline constexpr uint32_t kBlocksPerSm = 32;
inline constexpr uint32_t kRegistersPerSm = 65536;
inline constexpr uint32_t kParamBytes = 32764;  // PTX ISA 8.1 and later, sm_70+
inline constexpr uint32_t kClusterSize = 8;     // portable
inline constexpr uint32_t kClusterSizeOptin = 16;
inline constexpr uint64_t kMemory = 80ull << 30;

}  // namespace assay::host::device
