#include "tensor/ref.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

namespace assay::tensor {

int64_t shape_numel(const Shape& shape) {
  int64_t n = 1;
  for (int64_t d : shape) n *= d;
  return n;
}

Shape contiguous_strides(const Shape& shape) {
  Shape strides(shape.size());
  int64_t s = 1;
  for (size_t k = shape.size(); k-- > 0;) {
    strides[k] = s;
    s *= std::max<int64_t>(shape[k], 1);
  }
  return strides;
}

std::string shape_text(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

Ref transpose(const Ref& a, int d0, int d1) {
  Ref r = a;
  std::swap(r.shape[d0], r.shape[d1]);
  std::swap(r.strides[d0], r.strides[d1]);
  return r;
}

Ref permute(const Ref& a, const std::vector<int>& order) {
  Ref r = a;
  for (size_t k = 0; k < order.size(); ++k) {
    r.shape[k] = a.shape[order[k]];
    r.strides[k] = a.strides[order[k]];
  }
  return r;
}

Ref unsqueeze(const Ref& a, int dim) {
  Ref r = a;
  r.shape.insert(r.shape.begin() + dim, 1);
  r.strides.insert(r.strides.begin() + dim, 0);
  return r;
}

Ref squeeze(const Ref& a, int dim) {
  Ref r = a;
  r.shape.erase(r.shape.begin() + dim);
  r.strides.erase(r.strides.begin() + dim);
  return r;
}

Ref select(const Ref& a, int dim, int64_t index) {
  Ref r = a;
  r.offset += index * a.strides[dim];
  return squeeze(r, dim);
}

Ref slice(const Ref& a, int dim, int64_t start, int64_t length, int64_t step) {
  Ref r = a;
  if (length > 0) r.offset += start * a.strides[dim];
  r.shape[dim] = length;
  r.strides[dim] *= step;
  return r;
}

Ref unflatten(const Ref& a, int dim, int64_t outer, int64_t inner) {
  Ref r = a;
  r.shape[dim] = outer;
  r.strides[dim] = a.strides[dim] * inner;
  r.shape.insert(r.shape.begin() + dim + 1, inner);
  r.strides.insert(r.strides.begin() + dim + 1, a.strides[dim]);
  return r;
}

Ref expand(const Ref& a, const Shape& shape) {
  Ref r = a;
  r.shape = shape;
  r.strides.assign(shape.size(), 0);
  size_t lead = shape.size() - a.shape.size();
  for (size_t k = 0; k < a.shape.size(); ++k) {
    if (a.shape[k] == shape[lead + k]) r.strides[lead + k] = a.strides[k];
  }
  return r;
}

bool broadcast_shape(const Shape& a, Shape* into) {
  if (into->size() < a.size()) into->insert(into->begin(), a.size() - into->size(), 1);
  size_t lead = into->size() - a.size();
  for (size_t k = 0; k < a.size(); ++k) {
    int64_t& d = (*into)[lead + k];
    if (d == a[k] || a[k] == 1) continue;
    if (d != 1) return false;
    d = a[k];
  }
  return true;
}

}  // namespace assay::tensor
