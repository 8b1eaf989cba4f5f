#pragma once
// Functions of namespace at (torch): those of methods.inc, factories, and operators of torch.nn.
#include "assay/tensor.h"

namespace at {

#define ASSAY_PARAMS(...) (const Tensor& self __VA_OPT__(, ) __VA_ARGS__)
#define ASSAY_BRACES(...) \
  { self __VA_OPT__(, ) __VA_ARGS__ }
#define ASSAY_METHOD(name, params, args)               \
  ASSAY_FN Tensor name ASSAY_PARAMS params ASSAY_BODY( \
      return assay_abi::one(#name, ASSAY_BRACES args);)
#define ASSAY_METHOD_IN_PLACE(name, params, args)                                               \
  ASSAY_FN Tensor name ASSAY_PARAMS params ASSAY_BODY(assay_abi::one(#name, ASSAY_BRACES args); \
                                                      return self;)
#define ASSAY_METHOD_PAIR(name, params, args)                              \
  ASSAY_FN std::tuple<Tensor, Tensor> name ASSAY_PARAMS params ASSAY_BODY( \
      return assay_abi::two(#name, ASSAY_BRACES args);)
#define ASSAY_METHOD_LIST(name, params, args)                       \
  ASSAY_FN std::vector<Tensor> name ASSAY_PARAMS params ASSAY_BODY( \
      return assay_abi::list(#name, ASSAY_BRACES args);)
#include "assay/methods.inc"
#undef ASSAY_METHOD
#undef ASSAY_METHOD_IN_PLACE
#undef ASSAY_METHOD_PAIR
#undef ASSAY_METHOD_LIST
#undef ASSAY_BRACES
#undef ASSAY_PARAMS

ASSAY_FN bool equal(const Tensor& a, const Tensor& b) ASSAY_BODY(return a.equal(b);) ASSAY_FN Tensor
    contiguous(const Tensor& t) ASSAY_BODY(return t.contiguous();) ASSAY_FN Tensor
    clone(const Tensor& t) ASSAY_BODY(return t.clone();) ASSAY_FN Tensor
    where(const Tensor& c, const Tensor& a, const Tensor& b)
        ASSAY_BODY(return assay_abi::one("where", {c, a, b});) ASSAY_FN Tensor
    where(const Tensor& c, const Tensor& a, Scalar b)
        ASSAY_BODY(return assay_abi::one("where", {c, a, b});) ASSAY_FN Tensor
    where(const Tensor& c, Scalar a, const Tensor& b)
        ASSAY_BODY(return assay_abi::one("where", {c, a, b});) ASSAY_FN Tensor
    pow(Scalar a, const Tensor& b) ASSAY_BODY(return assay_abi::one("rpow", {b, a});) ASSAY_FN
    bool is_floating_point(const Tensor& t)
        ASSAY_BODY(return t.is_floating_point();) ASSAY_FN int64_t numel(const Tensor& t)
            ASSAY_BODY(return t.numel();) ASSAY_FN int64_t size(const Tensor& t, int64_t k)
                ASSAY_BODY(return t.size(k);)

    // Factories. Options without a dtype: float32; without a device: CPU.
    ASSAY_FN Tensor make(const char* name, IntArrayRef s, const TensorOptions& o)
        ASSAY_BODY(Tensor t = assay_abi::one(name,
                                             {s, o.dtype().toScalarType(), o.device().is_cuda()});
                   if (o.memory_format_ && *o.memory_format_ != MemoryFormat::Contiguous &&
                       *o.memory_format_ != MemoryFormat::Preserve) {
                     return t.contiguous(*o.memory_format_);
                   } return t;) ASSAY_FN TensorOptions
    merged(const Tensor& like, const TensorOptions& o)
        ASSAY_BODY(TensorOptions w = o; if (!w.dtype_) w.dtype_ = like.scalar_type();
                   if (!w.device_) w.device_ = like.device(); return w;) ASSAY_FN Tensor
    empty(IntArrayRef s, const TensorOptions& o = {}, std::optional<MemoryFormat> = std::nullopt)
        ASSAY_BODY(return make("empty", s, o);) ASSAY_FN Tensor
    empty_strided(IntArrayRef sizes, IntArrayRef strides, const TensorOptions& o = {})
        ASSAY_BODY(return assay_abi::one("empty_strided",
                                         {sizes, o.dtype().toScalarType(), o.device().is_cuda(),
                                          strides});) ASSAY_FN Tensor
    empty_like(const Tensor& t, const TensorOptions& o = {},
               std::optional<MemoryFormat> f = std::nullopt)
        ASSAY_BODY(TensorOptions w = merged(t, o);
                   return assay_abi::one("empty_like",
                                         {t, w.dtype().toScalarType(), w.device().is_cuda(),
                                          static_cast<int>(f.value_or(w.memory_format_.value_or(
                                              MemoryFormat::Preserve)))});) ASSAY_FN Tensor
    full(IntArrayRef s, Scalar v, const TensorOptions& o = {})
        ASSAY_BODY(ScalarType t = o.dtype_.value_or(v.isFloatingPoint() ? kFloat : v.type());
                   return assay_abi::one("full", {s, v, t, o.device().is_cuda()});) ASSAY_FN Tensor
    full_like(const Tensor& t, Scalar v, const TensorOptions& o = {},
              std::optional<MemoryFormat> = std::nullopt)
        ASSAY_BODY(return full(t.sizes(), v, merged(t, o));)
#define ASSAY_FACTORY(name)                                                         \
  ASSAY_FN Tensor name(IntArrayRef s, const TensorOptions& o = {})                  \
      ASSAY_BODY(return make(#name, s, o);)                                         \
          ASSAY_FN Tensor name##_like(const Tensor& t, const TensorOptions& o = {}, \
                                      std::optional<MemoryFormat> = std::nullopt)   \
              ASSAY_BODY(return make(#name, t.sizes(), merged(t, o));)
            ASSAY_FACTORY(zeros) ASSAY_FACTORY(ones) ASSAY_FACTORY(rand) ASSAY_FACTORY(randn)
#undef ASSAY_FACTORY
                ASSAY_FN Tensor
    eye(int64_t n, const TensorOptions& o = {})
        ASSAY_BODY(return assay_abi::one("eye", {n, n, o.dtype().toScalarType(),
                                                 o.device().is_cuda()});) ASSAY_FN Tensor
    arange(Scalar start, Scalar end, Scalar step, const TensorOptions& o = {}) ASSAY_BODY(
        bool real = start.isFloatingPoint() || end.isFloatingPoint() || step.isFloatingPoint();
        return assay_abi::one("arange", {start, end, step, o.dtype_.value_or(real ? kFloat : kLong),
                                         o.device().is_cuda()});) ASSAY_FN Tensor
    arange(Scalar start, Scalar end, const TensorOptions& o = {})
        ASSAY_BODY(return arange(start, end, 1, o);) ASSAY_FN Tensor
    arange(Scalar end, const TensorOptions& o = {})
        ASSAY_BODY(return arange(0, end, 1, o);) ASSAY_FN Tensor
    linspace(Scalar start, Scalar end, int64_t steps, const TensorOptions& o = {})
        ASSAY_BODY(return assay_abi::one("linspace", {start, end, steps, o.dtype().toScalarType(),
                                                      o.device().is_cuda()});) ASSAY_FN Tensor
    scalar_tensor(Scalar v, const TensorOptions& o = {}) ASSAY_BODY(
        return full(IntArrayRef(), v,
                    TensorOptions(o.dtype_.value_or(kFloat)).device(o.device()));) ASSAY_FN Tensor
    from_blob(void* data, IntArrayRef sizes, const TensorOptions& o = {})
        ASSAY_BODY(return Tensor::assay_handle(assay_from_blob(
            data, static_cast<int32_t>(o.dtype().toScalarType()), o.device().is_cuda(),
            sizes.data(), nullptr, sizes.size()));) ASSAY_FN Tensor
    from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, const TensorOptions& o = {})
        ASSAY_BODY(return Tensor::assay_handle(assay_from_blob(
            data, static_cast<int32_t>(o.dtype().toScalarType()), o.device().is_cuda(),
            sizes.data(), strides.data(), sizes.size()));)
    // torch::tensor(values): a CPU tensor with these values, then moved.
    template <class T>
    Tensor tensor(ArrayRef<T> values, const TensorOptions& o = {}) {
  ScalarType t = CppTypeToScalarType<T>::value;
  int64_t n = static_cast<int64_t>(values.size());
  Tensor made =
      Tensor::assay_handle(assay_new_tensor(static_cast<int32_t>(t), false, &n, 1, values.data()));
  ScalarType wanted = o.dtype_.value_or(std::is_floating_point_v<T> ? kFloat
                                        : std::is_same_v<T, bool>   ? kBool
                                                                    : kLong);
  return made.to(TensorOptions(wanted).device(o.device()));
}
template <class T>
Tensor tensor(std::initializer_list<T> values, const TensorOptions& o = {}) {
  return tensor(ArrayRef<T>(values), o);
}
template <class T>
Tensor tensor(const std::vector<T>& values, const TensorOptions& o = {}) {
  return tensor(ArrayRef<T>(values), o);
}
template <class T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
Tensor tensor(T value, const TensorOptions& o = {}) {
  return tensor(ArrayRef<T>(value), o).reshape({});
}

// Lists of tensors.
ASSAY_FN Tensor cat(TensorList t, int64_t dim = 0)
    ASSAY_BODY(return assay_abi::one("cat", {t, dim});) ASSAY_FN Tensor
    concat(TensorList t, int64_t dim = 0) ASSAY_BODY(return cat(t, dim);) ASSAY_FN Tensor
    stack(TensorList t, int64_t dim = 0)
        ASSAY_BODY(return assay_abi::one("stack", {t, dim});) ASSAY_FN Tensor
    einsum(const std::string& equation, TensorList t)
        ASSAY_BODY(return assay_abi::one("einsum", {equation, t});)

    // torch.nn operators.
    using OptTensor = std::optional<Tensor>;
ASSAY_FN Tensor linear(const Tensor& x, const Tensor& w, const OptTensor& b = {})
    ASSAY_BODY(return assay_abi::one("linear", {x, w, b});) ASSAY_FN Tensor
    bilinear(const Tensor& a, const Tensor& b, const Tensor& w, const OptTensor& bias = {})
        ASSAY_BODY(return assay_abi::one("bilinear", {a, b, w, bias});)
#define ASSAY_CONV(n)                                                                              \
  ASSAY_FN Tensor conv##n##d(                                                                      \
      const Tensor& x, const Tensor& w, const OptTensor& b = {}, IntListRef stride = 1,            \
      IntListRef padding = 0, IntListRef dilation = 1,                                             \
      int64_t groups =                                                                             \
          1) ASSAY_BODY(return assay_abi::one("conv" #n "d",                                       \
                                              {x, w, b, stride, padding, dilation, groups});)      \
      ASSAY_FN Tensor conv##n##d(                                                                  \
          const Tensor& x, const Tensor& w, const OptTensor& b, IntListRef stride,                 \
          const char* padding, IntListRef dilation = 1,                                            \
          int64_t groups =                                                                         \
              1) ASSAY_BODY(return assay_abi::one("conv" #n "d",                                   \
                                                  {x, w, b, stride, padding, dilation, groups});)  \
          ASSAY_FN Tensor conv_transpose##n##d(                                                    \
              const Tensor& x, const Tensor& w, const OptTensor& b = {}, IntListRef stride = 1,    \
              IntListRef padding = 0, IntListRef output_padding = 0, int64_t groups = 1,           \
              IntListRef dilation = 1)                                                             \
              ASSAY_BODY(return assay_abi::one("conv_transpose" #n "d",                            \
                                               {x, w, b, stride, padding, output_padding, groups,  \
                                                dilation});)                                       \
                  ASSAY_FN Tensor max_pool##n##d(                                                  \
                      const Tensor& x, IntListRef kernel, IntListRef stride = {},                  \
                      IntListRef padding = 0, IntListRef dilation = 1, bool ceil_mode = false)     \
                      ASSAY_BODY(return assay_abi::one(                                            \
                                            "max_pool" #n "d",                                     \
                                            {x, kernel, stride, padding, dilation,                 \
                                             ceil_mode});) ASSAY_FN std::tuple<Tensor, Tensor>     \
                          max_pool##n##d_with_indices(                                             \
                              const Tensor& x,                                                     \
                              IntListRef kernel, IntListRef stride = {}, IntListRef padding = 0,   \
                              IntListRef dilation = 1, bool ceil_mode = false)                     \
                              ASSAY_BODY(return assay_abi::two("max_pool" #n "d_with_indices",     \
                                                               {x, kernel, stride, padding,        \
                                                                dilation, ceil_mode});)            \
                                  ASSAY_FN Tensor avg_pool##n##d(                                  \
                                      const Tensor& x, IntListRef kernel, IntListRef stride = {},  \
                                      IntListRef padding = 0, bool ceil_mode = false,              \
                                      bool count_include_pad = true,                               \
                                      std::optional<int64_t> divisor_override = std::nullopt)      \
                                      ASSAY_BODY(                                                  \
                                          return assay_abi::one(                                   \
                                                     "avg_pool" #n "d",                            \
                                                     {x, kernel, stride, padding, ceil_mode,       \
                                                      count_include_pad, divisor_override});)      \
                                          ASSAY_FN Tensor adaptive_avg_pool##n##d(const Tensor& x, \
                                                                                  IntListRef size) \
                                              ASSAY_BODY(return assay_abi::one(                    \
                                                                    "adaptive_avg_pool" #n "d",    \
                                                                    {x, size});)                   \
                                                  ASSAY_FN std::tuple<Tensor, Tensor>              \
                                                      adaptive_max_pool##n##d(const Tensor& x,     \
                                                                              IntListRef size)     \
                                                          ASSAY_BODY(                              \
                                                              return assay_abi::two(               \
                                                                         "adaptive_max_pool" #n    \
                                                                         "d",                      \
                                                                         {x, size});)
            ASSAY_CONV(1) ASSAY_CONV(2) ASSAY_CONV(3)
#undef ASSAY_CONV
                ASSAY_FN Tensor
    convolution(const Tensor& x, const Tensor& w, const OptTensor& b, IntArrayRef stride,
                IntArrayRef padding, IntArrayRef dilation, bool transposed,
                IntArrayRef output_padding, int64_t groups)
        ASSAY_BODY(return assay_abi::one("convolution",
                                         {x, w, b, stride, padding, dilation, transposed,
                                          output_padding, groups});) ASSAY_FN Tensor
    batch_norm(const Tensor& x, const OptTensor& w, const OptTensor& b, const OptTensor& mean,
               const OptTensor& var, bool training, double momentum, double eps, bool = true)
        ASSAY_BODY(return assay_abi::one("batch_norm", {x, w, b, mean, var, training, momentum,
                                                        eps});) ASSAY_FN Tensor
    instance_norm(const Tensor& x, const OptTensor& w, const OptTensor& b, const OptTensor& mean,
                  const OptTensor& var, bool use_input_stats, double momentum, double eps,
                  bool = true)
        ASSAY_BODY(return assay_abi::one("instance_norm", {x, w, b, mean, var, use_input_stats,
                                                           momentum, eps});) ASSAY_FN Tensor
    layer_norm(const Tensor& x, IntArrayRef shape, const OptTensor& w = {}, const OptTensor& b = {},
               double eps = 1e-5, bool = true)
        ASSAY_BODY(return assay_abi::one("layer_norm", {x, shape, w, b, eps});) ASSAY_FN
    std::tuple<Tensor, Tensor, Tensor> native_layer_norm(const Tensor& x, IntArrayRef shape,
                                                         const OptTensor& w, const OptTensor& b,
                                                         double eps)
        ASSAY_BODY(return assay_abi::three("native_layer_norm", {x, shape, w, b, eps});) ASSAY_FN
    std::tuple<Tensor, Tensor, Tensor> native_batch_norm(const Tensor& x, const OptTensor& w,
                                                         const OptTensor& b, const OptTensor& mean,
                                                         const OptTensor& var, bool training,
                                                         double momentum, double eps)
        ASSAY_BODY(return assay_abi::three("native_batch_norm", {x, w, b, mean, var, training,
                                                                 momentum, eps});) ASSAY_FN Tensor
    group_norm(const Tensor& x, int64_t groups, const OptTensor& w = {}, const OptTensor& b = {},
               double eps = 1e-5, bool = true)
        ASSAY_BODY(return assay_abi::one("group_norm", {x, groups, w, b, eps});) ASSAY_FN Tensor
    dropout(const Tensor& x, double p, bool train)
        ASSAY_BODY(return assay_abi::one("dropout", {x, p, train});) ASSAY_FN Tensor
    dropout_(const Tensor& x, double p, bool train)
        ASSAY_BODY(return assay_abi::one("dropout_", {x, p, train});) ASSAY_FN Tensor
    embedding(const Tensor& weight, const Tensor& indices, int64_t = -1, bool = false, bool = false)
        ASSAY_BODY(return assay_abi::one("embedding", {weight, indices});) ASSAY_FN Tensor
    constant_pad_nd(const Tensor& x, IntArrayRef pad, Scalar value = 0)
        ASSAY_BODY(return assay_abi::one("constant_pad_nd", {x, pad, value});) ASSAY_FN Tensor
    pad(const Tensor& x, IntArrayRef p, const char* mode = "constant",
        std::optional<double> value = std::nullopt)
        ASSAY_BODY(return assay_abi::one("pad", {x, p, mode, value});) ASSAY_FN Tensor
    scaled_dot_product_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                                 const OptTensor& mask = {}, double p = 0.0, bool causal = false,
                                 std::optional<double> scale = std::nullopt)
        ASSAY_BODY(return assay_abi::one("scaled_dot_product_attention",
                                         {q, k, v, mask, p, causal, scale});) namespace Reduction {
  enum Reduction { None, Mean, Sum };
}
#define ASSAY_LOSS(name)                                                              \
  ASSAY_FN Tensor name(const Tensor& x, const Tensor& y, int64_t r = Reduction::Mean) \
      ASSAY_BODY(return assay_abi::one(#name, {x, y, r});)
ASSAY_LOSS(mse_loss)
ASSAY_LOSS(l1_loss)
ASSAY_LOSS(soft_margin_loss)
#undef ASSAY_LOSS
ASSAY_FN Tensor smooth_l1_loss(const Tensor& x, const Tensor& y, int64_t r = Reduction::Mean,
                               double beta = 1.0)
    ASSAY_BODY(return assay_abi::one("smooth_l1_loss", {x, y, r, beta});) ASSAY_FN Tensor
    huber_loss(const Tensor& x, const Tensor& y, int64_t r = Reduction::Mean, double delta = 1.0)
        ASSAY_BODY(return assay_abi::one("huber_loss", {x, y, r, delta});) ASSAY_FN Tensor
    kl_div(const Tensor& x, const Tensor& y, int64_t r = Reduction::Mean, bool log_target = false)
        ASSAY_BODY(return assay_abi::one("kl_div", {x, y, r, log_target});) ASSAY_FN Tensor
    nll_loss(const Tensor& x, const Tensor& y, const OptTensor& w = {}, int64_t r = Reduction::Mean,
             int64_t ignore = -100)
        ASSAY_BODY(return assay_abi::one("nll_loss", {x, y, w, r, ignore});) ASSAY_FN Tensor
    cross_entropy_loss(const Tensor& x, const Tensor& y, const OptTensor& w = {},
                       int64_t r = Reduction::Mean, int64_t ignore = -100, double smoothing = 0.0)
        ASSAY_BODY(return assay_abi::one("cross_entropy_loss",
                                         {x, y, w, r, ignore, smoothing});) ASSAY_FN Tensor
    binary_cross_entropy(const Tensor& x, const Tensor& y, const OptTensor& w = {},
                         int64_t r = Reduction::Mean)
        ASSAY_BODY(return assay_abi::one("binary_cross_entropy", {x, y, w, r});) ASSAY_FN Tensor
    hinge_embedding_loss(const Tensor& x, const Tensor& y, double margin = 1.0,
                         int64_t r = Reduction::Mean)
        ASSAY_BODY(return assay_abi::one("hinge_embedding_loss",
                                         {x, y, margin, r});) ASSAY_FN Tensor
    triplet_margin_loss(const Tensor& a, const Tensor& p, const Tensor& n, double margin = 1.0,
                        double norm = 2.0, double eps = 1e-6, bool swap = false,
                        int64_t r = Reduction::Mean)
        ASSAY_BODY(return assay_abi::one("triplet_margin_loss",
                                         {a, p, n, margin, norm, eps, swap, r});) ASSAY_FN Tensor
    cosine_similarity(const Tensor& a, const Tensor& b, int64_t dim = 1, double eps = 1e-8)
        ASSAY_BODY(return assay_abi::one("cosine_similarity", {a, b, dim, eps});) ASSAY_FN
    std::tuple<Tensor, Tensor> gru(const Tensor& x, const Tensor& h, TensorList params, bool biases,
                                   int64_t layers, double p, bool train, bool bidirectional,
                                   bool batch_first)
        ASSAY_BODY(return assay_abi::two("gru", {x, h, params, biases, layers, p, train,
                                                 bidirectional, batch_first});) ASSAY_FN
    std::tuple<Tensor, Tensor, Tensor> lstm(const Tensor& x, TensorList h, TensorList params,
                                            bool biases, int64_t layers, double p, bool train,
                                            bool bidirectional, bool batch_first)
        ASSAY_BODY(return assay_abi::three("lstm", {x, h, params, biases, layers, p, train,
                                                    bidirectional, batch_first});)

    // Guards of autograd: nothing is recorded about it.
    struct NoGradGuard {
  NoGradGuard() {}
};
struct AutoGradMode {
  explicit AutoGradMode(bool) {}
};
struct InferenceMode {
  explicit InferenceMode(bool = true) {}
};

template <class T, bool cuda>
struct AccumulateType {
  using type = T;
};
template <bool cuda>
struct AccumulateType<Half, cuda> {
  using type = float;
};
template <bool cuda>
struct AccumulateType<BFloat16, cuda> {
  using type = float;
};
template <class T, bool cuda>
using acc_type = typename AccumulateType<T, cuda>::type;
template <class T>
using opmath_type = typename AccumulateType<T, true>::type;
template <class T>
using acc_type_device = acc_type<T, true>;

}  // namespace at
