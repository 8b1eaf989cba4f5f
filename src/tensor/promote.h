#pragma once
// PyTorch's type promotion (c10/core/ScalarType.h, ATen/native/TypeProperties.cpp).
#include <vector>

#include "tensor/context.h"

namespace assay::tensor {

DType promote(DType a, DType b);
// Tensors with dimensions first, then 0-d tensors, then Python numbers, each only if of a higher
// category (bool < integer < float).
DType result_type(const std::vector<Operand>& operands);
DType result_type(const std::vector<Ref>& refs);
DType scalar_dtype(const Scalar& s);  // float32, int64 or bool
DType float_result(DType t);          // integers and bool give float32

}  // namespace assay::tensor
