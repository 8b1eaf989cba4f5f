#pragma once
// Context: one lowering under way. Lowering functions read the bound arguments by schema name,
// declare outputs, take temporaries and push nests.
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "tensor/nest_builder.h"
#include "tensor/schema.h"

namespace assay::tensor {

using program::Scalar;

// A tensor argument that may be a Python number.
struct Operand {
  std::optional<Ref> ref;
  Scalar scalar = int64_t{0};
  Shape shape() const { return ref ? ref->shape : Shape{}; }
};

class Context {
 public:
  // `outputs`: the step's outputs, or null to infer them (then all are temporaries).
  // `name` is the name as called; "aten::add_" keeps its underscore.
  Context(const Schema& schema, std::vector<program::Arg> bound, std::string name,
          const std::vector<program::TensorView>* outputs);

  const std::string& name() const { return name_; }  // "aten::add_"
  std::string_view base() const;                     // "add": no namespace, no trailing underscore
  bool in_place() const { return in_place_; }

  // Arguments by name. A name that the schema lacks counts as None (overloads share a function).
  bool given(std::string_view name) const;
  Ref tensor(std::string_view name);  // a number becomes Invalid
  std::optional<Ref> maybe(std::string_view name);
  std::vector<Ref> tensors(std::string_view name);
  std::vector<std::optional<Ref>> optional_tensors(std::string_view name);
  Operand operand(std::string_view name);
  int64_t integer(std::string_view name, int64_t otherwise = 0) const;
  double number(std::string_view name, double otherwise = 0) const;
  Scalar scalar(std::string_view name, Scalar otherwise = int64_t{0}) const;
  bool flag(std::string_view name, bool otherwise = false) const;
  std::string str(std::string_view name, std::string_view otherwise = "") const;
  Shape ints(std::string_view name) const;
  std::optional<DType> dtype(std::string_view name) const;

  // Output k. A step whose output differs in shape or dtype is Invalid; in-place forms give output
  // 0 the dtype of self. Once an error is recorded everything goes on with temporaries.
  Ref out(size_t k, DType dtype, const Shape& shape);
  // Whether the step has an output k: for forms whose further outputs are optional.
  bool wants(size_t k) const { return outputs_ != nullptr && k < outputs_->size(); }
  // What the step says of output k, where that differs between PyTorch's devices; null: not given.
  const program::TensorView* declared(size_t k) const {
    return wants(k) && (*outputs_)[k].buffer >= 0 ? &(*outputs_)[k] : nullptr;
  }
  Ref temp(DType dtype, const Shape& shape);
  void push(NestBuilder& nest) { lowered_.nests.push_back(nest.finish()); }

  // Records the first error.
  void invalid(std::string message) { record(DiagKind::Invalid, std::move(message)); }
  void unsupported(std::string message) { record(DiagKind::Unsupported, std::move(message)); }
  bool failed() const { return error_.has_value(); }

  // Dimension `dim` of a tensor of `rank`, negative ones counted from the end. Records Invalid.
  int wrap_dim(int64_t dim, int rank);
  // Sorted, distinct dimensions; an empty list means all if `empty_is_all`.
  std::vector<int> wrap_dims(const Shape& dims, int rank, bool empty_is_all);

  Result<Lowered> finish();
  const std::vector<OutputSpec>& specs() const { return specs_; }

 private:
  const program::Arg* find(std::string_view name) const;
  void record(DiagKind kind, std::string message);
  Ref add_view(const program::TensorView& view);

  const Schema& schema_;
  std::vector<program::Arg> bound_;
  std::string name_;
  bool in_place_ = false;
  const std::vector<program::TensorView>* outputs_;
  std::vector<std::vector<int>> tensor_of_arg_;  // per argument: tensors index of each member
  Lowered lowered_;
  std::vector<OutputSpec> specs_;
  std::optional<Diag> error_;
};

}  // namespace assay::tensor
