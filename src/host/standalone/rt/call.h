#pragma once
// One operator call on its way into the Program.
#include <string>
#include <vector>

#include "assay/abi.h"
#include "host/standalone/rt/recorder.h"

namespace assay::host {

using program::Arg;
using program::TensorView;

// The arguments of a call, decoded. Tensors appear as views in `args`; ids keep their handles.
struct Call {
  std::string name;
  std::vector<Arg> args;
  std::vector<int32_t> ids;                 // handle of a tensor argument, else -1
  std::vector<std::vector<int32_t>> lists;  // handles of a tensor-list argument
  size_t max_outs = 1;

  bool given(size_t k) const;      // present and not None
  int32_t tensor(size_t k) const;  // throws if absent
  int64_t integer(size_t k, int64_t otherwise) const;
  double real(size_t k, double otherwise) const;
  bool boolean(size_t k, bool otherwise) const;
  std::string text(size_t k, const std::string& otherwise) const;
  std::vector<int64_t> ints(size_t k) const;  // an int counts as a list of one
  std::optional<DType> dtype(size_t k) const;
  bool is_number(size_t k) const;
};

using Outs = std::vector<int32_t>;

Call decode(const char* name, const assay_abi::Value* values, size_t n, size_t max_outs);

// Records `op` (ATen name with overload) and returns handles of its new outputs. dest[k], if given
// and not -1, is an existing tensor that output k is written to.
Outs emit(const std::string& op, const std::vector<Arg>& args,
          const std::vector<int32_t>& dest = {});
// Finds the overload of aten::<name> that the arguments fit, and records it.
Outs emit_by_name(const std::string& name, std::vector<Arg> args,
                  const std::vector<int32_t>& dest = {});

Arg arg_of(int32_t tensor);

// Views (views.cpp) and factories (create.cpp); empty result: not such an operator.
std::optional<Outs> call_view(const Call& c);
std::optional<Outs> call_create(const Call& c);
std::optional<Outs> call_nn(const Call& c);
std::optional<Outs> call_in_place(const Call& c);
Outs einsum(const Call& c);  // einsum.cpp
Outs call_operator(const Call& c);

int32_t make_view(int32_t base, std::vector<int64_t> sizes, std::vector<int64_t> strides,
                  int64_t offset);
int32_t view_as_shape(int32_t t, std::vector<int64_t> shape, bool copy_allowed);
int32_t permuted(int32_t t, const std::vector<int64_t>& dims);
int32_t expanded(int32_t t, const std::vector<int64_t>& shape);
int32_t contiguous_of(int32_t t);
int32_t cast_to(int32_t t, DType dtype);
int32_t new_empty(const std::vector<int64_t>& sizes, DType dtype, bool cuda,
                  program::Init init = program::Init::Poison);
int64_t wrap_dim(int64_t d, size_t rank);

}  // namespace assay::host
