#pragma once
// namespace torch: that of at.
#include "assay/ops.h"

namespace torch {
using namespace at;  // NOLINT: as PyTorch does
using at::Tensor;
template <class T>
using optional = std::optional<T>;
using c10::nullopt;
namespace indexing = at::indexing;
namespace cuda {
inline bool is_available() { return true; }
inline void synchronize(int64_t = -1) {}
}  // namespace cuda

}  // namespace torch
