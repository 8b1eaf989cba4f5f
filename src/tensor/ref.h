#pragma once
// Ref: a strided view on one tensor of a lowering (operand, temporary or output). All functions
// here are pure view arithmetic; callers pass valid dimensions.
#include <cstdint>
#include <vector>

#include "program/program.h"

namespace assay::tensor {

using program::DType;
using Shape = std::vector<int64_t>;

struct Ref {
  int tensor = -1;  // index in Lowered::tensors
  DType dtype = DType::F32;
  int64_t offset = 0;  // elements, relative to the tensor's buffer
  Shape shape, strides;

  int rank() const { return static_cast<int>(shape.size()); }
};

int64_t shape_numel(const Shape& shape);
Shape contiguous_strides(const Shape& shape);
std::string shape_text(const Shape& shape);  // "[2, 3]"

Ref transpose(const Ref& a, int d0, int d1);
Ref permute(const Ref& a, const std::vector<int>& order);
Ref unsqueeze(const Ref& a, int dim);
Ref squeeze(const Ref& a, int dim);  // shape[dim] == 1
Ref select(const Ref& a, int dim, int64_t index);
// step may be negative: the elements are start, start + step, ...
Ref slice(const Ref& a, int dim, int64_t start, int64_t length, int64_t step = 1);
// Splits dim into (outer, inner); outer * inner == shape[dim].
Ref unflatten(const Ref& a, int dim, int64_t outer, int64_t inner);
Ref expand(const Ref& a, const Shape& shape);  // broadcasts as PyTorch (shape is broadcastable)

// The common broadcast shape; false: not broadcastable.
bool broadcast_shape(const Shape& a, Shape* into);

}  // namespace assay::tensor
