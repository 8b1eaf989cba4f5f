#pragma once
// torch::nn::functional and the option types that extensions use.
#include "assay/torch.h"

namespace torch {
namespace nn {
namespace functional {

#define ASSAY_OPTION(T, name, initial) \
  Self& name(T v) {                    \
    name##_ = v;                       \
    return *this;                      \
  }                                    \
  T name() const { return name##_; }   \
  T name##_ = initial;

#define ASSAY_POOL_OPTIONS(n)                                                                 \
  struct MaxPool##n##dFuncOptions {                                                           \
    using Self = MaxPool##n##dFuncOptions;                                                    \
    MaxPool##n##dFuncOptions(OptionalIntArrayRef k) : kernel(hold(k)) {}                      \
    Self& stride(OptionalIntArrayRef v) { return set(stride_, v); }                           \
    Self& padding(OptionalIntArrayRef v) { return set(padding_, v); }                         \
    Self& dilation(OptionalIntArrayRef v) { return set(dilation_, v); }                       \
    ASSAY_OPTION(bool, ceil_mode, false)                                                      \
    ASSAY_OPTION(bool, count_include_pad, true)                                               \
    static std::vector<int64_t> hold(OptionalIntArrayRef v) { return v.ref().vec(); }         \
    Self& set(std::vector<int64_t>& into, OptionalIntArrayRef v) {                            \
      into = hold(v);                                                                         \
      return *this;                                                                           \
    }                                                                                         \
    std::vector<int64_t> kernel, stride_, padding_{0}, dilation_{1};                          \
  };                                                                                          \
  using AvgPool##n##dFuncOptions = MaxPool##n##dFuncOptions;                                  \
  inline Tensor max_pool##n##d(const Tensor& x, const MaxPool##n##dFuncOptions& o) {          \
    return at::max_pool##n##d(x, o.kernel, o.stride_, o.padding_, o.dilation_, o.ceil_mode_); \
  }                                                                                           \
  inline Tensor avg_pool##n##d(const Tensor& x, const AvgPool##n##dFuncOptions& o) {          \
    return at::avg_pool##n##d(x, o.kernel, o.stride_, o.padding_, o.ceil_mode_,               \
                              o.count_include_pad_);                                          \
  }                                                                                           \
  struct AdaptiveAvgPool##n##dFuncOptions {                                                   \
    AdaptiveAvgPool##n##dFuncOptions(OptionalIntArrayRef s) : size(s.ref().vec()) {}          \
    std::vector<int64_t> size;                                                                \
  };                                                                                          \
  inline Tensor adaptive_avg_pool##n##d(const Tensor& x,                                      \
                                        const AdaptiveAvgPool##n##dFuncOptions& o) {          \
    return at::adaptive_avg_pool##n##d(x, o.size);                                            \
  }                                                                                           \
  struct Conv##n##dFuncOptions {                                                              \
    using Self = Conv##n##dFuncOptions;                                                       \
    Self& stride(OptionalIntArrayRef v) { return set(stride_, v); }                           \
    Self& padding(OptionalIntArrayRef v) { return set(padding_, v); }                         \
    Self& dilation(OptionalIntArrayRef v) { return set(dilation_, v); }                       \
    Self& output_padding(OptionalIntArrayRef v) { return set(output_padding_, v); }           \
    Self& bias(const Tensor& b) {                                                             \
      bias_ = b;                                                                              \
      return *this;                                                                           \
    }                                                                                         \
    ASSAY_OPTION(int64_t, groups, 1)                                                          \
    Self& set(std::vector<int64_t>& into, OptionalIntArrayRef v) {                            \
      into = v.ref().vec();                                                                   \
      return *this;                                                                           \
    }                                                                                         \
    std::vector<int64_t> stride_{1}, padding_{0}, dilation_{1}, output_padding_{0};           \
    Tensor bias_;                                                                             \
  };                                                                                          \
  using ConvTranspose##n##dFuncOptions = Conv##n##dFuncOptions;                               \
  inline Tensor conv##n##d(const Tensor& x, const Tensor& w,                                  \
                           const Conv##n##dFuncOptions& o = {}) {                             \
    return at::conv##n##d(x, w, o.bias_, o.stride_, IntListRef(o.padding_), o.dilation_,      \
                          o.groups_);                                                         \
  }                                                                                           \
  inline Tensor conv_transpose##n##d(const Tensor& x, const Tensor& w,                        \
                                     const ConvTranspose##n##dFuncOptions& o = {}) {          \
    return at::conv_transpose##n##d(x, w, o.bias_, o.stride_, o.padding_, o.output_padding_,  \
                                    o.groups_, o.dilation_);                                  \
  }
ASSAY_POOL_OPTIONS(1)
ASSAY_POOL_OPTIONS(2)
ASSAY_POOL_OPTIONS(3)
#undef ASSAY_POOL_OPTIONS

struct DropoutFuncOptions {
  using Self = DropoutFuncOptions;
  ASSAY_OPTION(double, p, 0.5)
  ASSAY_OPTION(bool, training, true)
  ASSAY_OPTION(bool, inplace, false)
};
inline Tensor dropout(const Tensor& x, const DropoutFuncOptions& o = {}) {
  return at::dropout(x, o.p_, o.training_);
}
struct NormalizeFuncOptions {
  using Self = NormalizeFuncOptions;
  ASSAY_OPTION(double, p, 2.0)
  ASSAY_OPTION(int64_t, dim, 1)
  ASSAY_OPTION(double, eps, 1e-12)
};
inline Tensor normalize(const Tensor& x, const NormalizeFuncOptions& o = {}) {
  Tensor n = x.norm(o.p_, o.dim_, true).clamp_min(o.eps_);
  return x / n.expand_as(x);
}
struct SoftmaxFuncOptions {
  SoftmaxFuncOptions(int64_t d) : dim(d) {}
  int64_t dim;
};
using LogSoftmaxFuncOptions = SoftmaxFuncOptions;
inline Tensor softmax(const Tensor& x, const SoftmaxFuncOptions& o) { return x.softmax(o.dim); }
inline Tensor log_softmax(const Tensor& x, const SoftmaxFuncOptions& o) {
  return x.log_softmax(o.dim);
}
struct LayerNormFuncOptions {
  using Self = LayerNormFuncOptions;
  LayerNormFuncOptions(std::vector<int64_t> s) : shape(static_cast<std::vector<int64_t>&&>(s)) {}
  Self& weight(const Tensor& t) {
    weight_ = t;
    return *this;
  }
  Self& bias(const Tensor& t) {
    bias_ = t;
    return *this;
  }
  ASSAY_OPTION(double, eps, 1e-5)
  std::vector<int64_t> shape;
  Tensor weight_, bias_;
};
inline Tensor layer_norm(const Tensor& x, const LayerNormFuncOptions& o) {
  return at::layer_norm(x, o.shape, o.weight_, o.bias_, o.eps_);
}
struct GroupNormFuncOptions {
  using Self = GroupNormFuncOptions;
  GroupNormFuncOptions(int64_t n) : groups(n) {}
  Self& weight(const Tensor& t) {
    weight_ = t;
    return *this;
  }
  Self& bias(const Tensor& t) {
    bias_ = t;
    return *this;
  }
  ASSAY_OPTION(double, eps, 1e-5)
  int64_t groups;
  Tensor weight_, bias_;
};
inline Tensor group_norm(const Tensor& x, const GroupNormFuncOptions& o) {
  return at::group_norm(x, o.groups, o.weight_, o.bias_, o.eps_);
}
struct BatchNormFuncOptions {
  using Self = BatchNormFuncOptions;
  Self& weight(const Tensor& t) {
    weight_ = t;
    return *this;
  }
  Self& bias(const Tensor& t) {
    bias_ = t;
    return *this;
  }
  ASSAY_OPTION(bool, training, false)
  ASSAY_OPTION(double, momentum, 0.1)
  ASSAY_OPTION(double, eps, 1e-5)
  Tensor weight_, bias_;
};
inline Tensor batch_norm(const Tensor& x, const Tensor& mean, const Tensor& var,
                         const BatchNormFuncOptions& o = {}) {
  return at::batch_norm(x, o.weight_, o.bias_, mean, var, o.training_, o.momentum_, o.eps_);
}
inline Tensor linear(const Tensor& x, const Tensor& w, const Tensor& b = {}) {
  return at::linear(x, w, b);
}
inline Tensor relu(const Tensor& x) { return x.relu(); }
inline Tensor sigmoid(const Tensor& x) { return x.sigmoid(); }
inline Tensor tanh(const Tensor& x) { return x.tanh(); }
inline Tensor silu(const Tensor& x) { return x.silu(); }
inline Tensor mish(const Tensor& x) { return x.mish(); }
inline Tensor gelu(const Tensor& x) { return x.gelu(); }
inline Tensor hardswish(const Tensor& x) { return x.hardswish(); }
inline Tensor softplus(const Tensor& x) { return x.softplus(); }
struct GELUFuncOptions {
  using Self = GELUFuncOptions;
  ASSAY_OPTION(std::string, approximate, "none")
};
inline Tensor gelu(const Tensor& x, const GELUFuncOptions& o) { return x.gelu(o.approximate_); }
struct LeakyReLUFuncOptions {
  using Self = LeakyReLUFuncOptions;
  ASSAY_OPTION(double, negative_slope, 0.01)
};
inline Tensor leaky_relu(const Tensor& x, const LeakyReLUFuncOptions& o = {}) {
  return x.leaky_relu(o.negative_slope_);
}
struct PadFuncOptions {
  using Self = PadFuncOptions;
  PadFuncOptions(std::vector<int64_t> p) : pad(static_cast<std::vector<int64_t>&&>(p)) {}
  ASSAY_OPTION(double, value, 0)
  std::vector<int64_t> pad;
};
inline Tensor pad(const Tensor& x, const PadFuncOptions& o) {
  return at::constant_pad_nd(x, o.pad, o.value_);
}
inline Tensor mse_loss(const Tensor& x, const Tensor& y) { return at::mse_loss(x, y); }
inline Tensor cross_entropy(const Tensor& x, const Tensor& y) {
  return at::cross_entropy_loss(x, y);
}
#undef ASSAY_OPTION

}  // namespace functional
}  // namespace nn

}  // namespace torch
