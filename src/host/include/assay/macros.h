#pragma once
// c10/macros/Macros.h: attributes, and assertions of kernels.
#include <cassert>
#include <cstdio>

#include "assay/abi.h"

#define C10_UNUSED [[maybe_unused]]
#define C10_USED __attribute__((__used__))
#define C10_NODISCARD [[nodiscard]]
#define C10_RESTRICT __restrict
#define C10_LIKELY(x) (__builtin_expect(static_cast<bool>(x), 1))
#define C10_UNLIKELY(x) (__builtin_expect(static_cast<bool>(x), 0))
#define C10_NOINLINE __attribute__((noinline))
#define C10_ALWAYS_INLINE inline __attribute__((always_inline))
#define C10_ALWAYS_INLINE_ATTRIBUTE __attribute__((always_inline))
#define C10_ERASE C10_ALWAYS_INLINE
#define C10_CONCATENATE_IMPL(a, b) a##b
#define C10_CONCATENATE(a, b) C10_CONCATENATE_IMPL(a, b)
#define C10_STRINGIZE_IMPL(x) #x
#define C10_STRINGIZE(x) C10_STRINGIZE_IMPL(x)
#define C10_UID __COUNTER__
#define C10_ANONYMOUS_VARIABLE(str) C10_CONCATENATE(str, __COUNTER__)
#define C10_DISABLE_COPY_AND_ASSIGN(name) \
  name(const name&) = delete;             \
  name& operator=(const name&) = delete
#define C10_API
#define C10_EXPORT
#define C10_IMPORT
#define TORCH_API
#define TORCH_CUDA_CPP_API
#define TORCH_CUDA_CU_API

#define C10_WARP_SIZE 32
// PyTorch cuts what a device cannot have; H100 and A100 have 2048 threads a multiprocessor.
#define C10_MAX_THREADS_PER_BLOCK(val) (((val) <= 1024) ? (val) : 256)
#define C10_MIN_BLOCKS_PER_SM(threads, blocks) \
  ((((threads) * (blocks)) <= 2048) ? (blocks) : (2048 / (threads)))
#define C10_LAUNCH_BOUNDS_0 __launch_bounds__(256, 4)
#define C10_LAUNCH_BOUNDS_1(threads) __launch_bounds__(C10_MAX_THREADS_PER_BLOCK(threads))
#define C10_LAUNCH_BOUNDS_2(threads, blocks) \
  __launch_bounds__((C10_MAX_THREADS_PER_BLOCK(threads)), (C10_MIN_BLOCKS_PER_SM(threads, blocks)))

// As in PyTorch these hold under NDEBUG too.
#if defined(NDEBUG)
extern "C" {
#if defined(__CUDA_ARCH__)
__host__ __device__
#endif
    void
    __assert_fail(const char* assertion, const char* file, unsigned int line,
                  const char* function) noexcept __attribute__((__noreturn__));
}
#endif
#define CUDA_KERNEL_ASSERT_MSG(cond, msg)                                        \
  if (C10_UNLIKELY(!(cond))) {                                                   \
    __assert_fail(msg, __FILE__, static_cast<unsigned int>(__LINE__), __func__); \
  }
#define CUDA_KERNEL_ASSERT(cond) CUDA_KERNEL_ASSERT_MSG(cond, #cond)
#define CUDA_KERNEL_ASSERT_PRINTF(cond, msg, ...)                                  \
  if (C10_UNLIKELY(!(cond))) {                                                     \
    printf(msg "\n" __VA_OPT__(, ) __VA_ARGS__);                                   \
    __assert_fail(#cond, __FILE__, static_cast<unsigned int>(__LINE__), __func__); \
  }
#define CUDA_KERNEL_ASSERT_VERBOSE(cond, ...) CUDA_KERNEL_ASSERT(cond)
#define CUDA_KERNEL_ASSERT2(cond) CUDA_KERNEL_ASSERT(cond)
