#pragma once
// The table of tensor operators (ops.def) and the families that lower them.
#include <string>
#include <vector>

#include "tensor/context.h"

namespace assay::tensor {

using LowerFn = void (*)(Context&);

struct OpRow {
  LowerFn lower;
  const char* family;  // name of the lowering function
  const char* note;    // what is not covered; "" for a whole operator
  Schema schema;
};

// All rows in the order of ops.def. Parsed once.
const std::vector<OpRow>& op_rows();

// Lowering functions, by file (lower_<family>.cpp). Errors are recorded in the context.
#define OP(fn, note, schema) void lower_##fn(Context& c);
#include "tensor/ops.def"
#undef OP

}  // namespace assay::tensor
