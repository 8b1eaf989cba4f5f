#pragma once
// Accessors: strided views that host code (CPU tensors) or kernels (by value) index. Same layout as
// PyTorch's: data, sizes, strides.
#include "assay/array_ref.h"

namespace at {

template <class T>
struct DefaultPtrTraits {
  using PtrType = T*;
};
template <class T>
struct RestrictPtrTraits {
  using PtrType = T* __restrict__;
};

template <class T, size_t N, template <class> class P = DefaultPtrTraits, class I = int64_t>
class TensorAccessor {
 public:
  using PtrType = typename P<T>::PtrType;
  C10_HOST_DEVICE TensorAccessor(PtrType data, const I* sizes, const I* strides)
      : data_(data), sizes_(sizes), strides_(strides) {}
  C10_HOST_DEVICE I size(I k) const { return sizes_[k]; }
  C10_HOST_DEVICE I stride(I k) const { return strides_[k]; }
  C10_HOST_DEVICE PtrType data() const { return data_; }
  ::c10::ArrayRef<I> sizes() const { return ::c10::ArrayRef<I>(sizes_, N); }
  ::c10::ArrayRef<I> strides() const { return ::c10::ArrayRef<I>(strides_, N); }
  C10_HOST_DEVICE decltype(auto) operator[](I k) const {
    if constexpr (N == 1) {
      return (data_[strides_[0] * k]);
    } else {
      return TensorAccessor<T, N - 1, P, I>(data_ + strides_[0] * k, sizes_ + 1, strides_ + 1);
    }
  }

 private:
  PtrType data_;
  const I* sizes_;
  const I* strides_;
};

template <class T, size_t N, template <class> class P = DefaultPtrTraits, class I = int64_t>
class GenericPackedTensorAccessor {
 public:
  using PtrType = typename P<T>::PtrType;
  GenericPackedTensorAccessor() = default;
  C10_HOST GenericPackedTensorAccessor(PtrType data, const int64_t* sizes, const int64_t* strides)
      : data_(data) {
    for (size_t k = 0; k < N; ++k) {
      sizes_[k] = static_cast<I>(sizes[k]);
      strides_[k] = static_cast<I>(strides[k]);
    }
  }
  C10_HOST_DEVICE I size(I k) const { return sizes_[k]; }
  C10_HOST_DEVICE I stride(I k) const { return strides_[k]; }
  C10_HOST_DEVICE PtrType data() const { return data_; }
  C10_HOST_DEVICE decltype(auto) operator[](I k) const {
    if constexpr (N == 1) {
      return (data_[strides_[0] * k]);
    } else {
      return TensorAccessor<T, N - 1, P, I>(data_ + strides_[0] * k, sizes_ + 1, strides_ + 1);
    }
  }

 private:
  PtrType data_;
  I sizes_[N];
  I strides_[N];
};
template <class T, size_t N, template <class> class P = DefaultPtrTraits>
using PackedTensorAccessor32 = GenericPackedTensorAccessor<T, N, P, int32_t>;
template <class T, size_t N, template <class> class P = DefaultPtrTraits>
using PackedTensorAccessor64 = GenericPackedTensorAccessor<T, N, P, int64_t>;
template <class T, size_t N, template <class> class P = DefaultPtrTraits, class I = int64_t>
using PackedTensorAccessor = GenericPackedTensorAccessor<T, N, P, I>;

}  // namespace at
