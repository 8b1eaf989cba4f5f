#pragma once
// ATen schemas ("aten::sum.dim_IntList(Tensor self, int[1]? dim, ...) -> Tensor"), as ops.def
// writes them, and the binding of a step's arguments to them.
#include <string>
#include <string_view>
#include <vector>

#include "program/program.h"

namespace assay::tensor {

enum class ArgType : uint8_t {
  Tensor,
  TensorList,
  Int,
  IntList,
  Float,
  FloatList,
  Bool,
  Str,
  Scalar,
  DType,
  Ignored  // Layout, Device, MemoryFormat, Generator, bool[]: no effect on values
};

struct Parameter {
  std::string name;
  ArgType type = ArgType::Tensor;
  bool optional = false;
  bool has_default = false;
  int list_size = 0;  // int[2]: a single int stands for two
  program::Arg default_value;
};

struct Schema {
  std::string name;      // "aten::sum"
  std::string overload;  // "dim_IntList"; "" for the default one
  std::vector<Parameter> parameters;
};

Result<Schema> parse_schema(std::string_view text);

// The arguments in the order of the schema, defaults filled in, single ints expanded to lists, ints
// turned to floats where the schema says float. A number may stand for a tensor (PyTorch wraps it).
// An error says which argument does not fit.
Result<std::vector<program::Arg>> bind(const Schema& schema, const std::vector<program::Arg>& args);

}  // namespace assay::tensor
