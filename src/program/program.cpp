#include "program/program.h"

namespace assay::program {

namespace {

struct DTypeInfo {
  DType dtype;
  const char* name;
  const char* short_name;
  Ty ty;
  bool is_float;
};

constexpr DTypeInfo kDTypes[] = {
    {DType::F16, "float16", "f16", Ty::F16, true},
    {DType::BF16, "bfloat16", "bf16", Ty::BF16, true},
    {DType::F32, "float32", "f32", Ty::F32, true},
    {DType::F64, "float64", "f64", Ty::F64, true},
    {DType::U8, "uint8", "u8", Ty::U8, false},
    {DType::I8, "int8", "i8", Ty::S8, false},
    {DType::I16, "int16", "i16", Ty::S16, false},
    {DType::I32, "int32", "i32", Ty::S32, false},
    {DType::I64, "int64", "i64", Ty::S64, false},
    {DType::Bool, "bool", "b8", Ty::U8, false},
};

constexpr bool table_in_enum_order() {
  for (size_t i = 0; i < std::size(kDTypes); ++i) {
    if (static_cast<size_t>(kDTypes[i].dtype) != i) return false;
  }
  return std::size(kDTypes) == static_cast<size_t>(DType::Bool) + 1;
}
static_assert(table_in_enum_order());

const DTypeInfo& info(DType t) { return kDTypes[static_cast<size_t>(t)]; }

}  // namespace

const char* dtype_name(DType t) { return info(t).name; }

std::optional<DType> parse_dtype(std::string_view text) {
  if (text.starts_with("torch.")) text.remove_prefix(6);
  for (const DTypeInfo& row : kDTypes) {
    if (text == row.name || text == row.short_name) return row.dtype;
  }
  // PyTorch's own aliases.
  if (text == "half") return DType::F16;
  if (text == "float") return DType::F32;
  if (text == "double") return DType::F64;
  if (text == "short") return DType::I16;
  if (text == "int") return DType::I32;
  if (text == "long") return DType::I64;
  return std::nullopt;
}

uint32_t dtype_bytes(DType t) { return bytes(dtype_ty(t)); }
Ty dtype_ty(DType t) { return info(t).ty; }
bool dtype_is_float(DType t) { return info(t).is_float; }

int64_t TensorView::numel() const {
  int64_t n = 1;
  for (int64_t d : shape) n *= d;
  return n;
}

bool TensorView::is_contiguous() const {
  if (numel() == 0) return true;
  int64_t expected = 1;
  for (size_t k = shape.size(); k-- > 0;) {
    if (shape[k] == 1) continue;
    if (strides[k] != expected) return false;
    expected *= shape[k];
  }
  return true;
}

int64_t TensorView::element(int64_t linear) const {
  int64_t at = offset;
  for (size_t k = shape.size(); k-- > 0;) {
    at += linear % shape[k] * strides[k];
    linear /= shape[k];
  }
  return at;
}

}  // namespace assay::program
