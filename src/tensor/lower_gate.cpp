// Activations of more than one output or of two halves.
#include "tensor/blocks.h"
#include "tensor/ops.h"

namespace assay::tensor {

// (output, buffer): the buffer, exp(-|x|), serves the gradient alone; CUDA leaves it empty.
void lower_log_sigmoid_forward(Context& c) {
  Ref x = c.tensor("self");
  if (!program::dtype_is_float(x.dtype)) return c.invalid("needs a floating-point tensor");
  const program::TensorView* given = c.declared(1);
  bool none = given != nullptr && given->shape == Shape{0};
  Ref out = c.out(0, x.dtype, x.shape), buffer = c.out(1, x.dtype, none ? Shape{0} : x.shape);
  if (c.failed()) return;
  Ty ty = compute_type(x.dtype);
  auto decay = [](V v) { return call(Fn::Exp, -call(Fn::Abs, v)); };
  map(c, out, {{x, ty}}, [&](Expr& e, const std::vector<V>& v) {
    return min(e.constant(0, ty), v[0]) - call(Fn::Log1p, decay(v[0]));
  });
  if (none) return;
  map(c, buffer, {{x, ty}}, [&](Expr&, const std::vector<V>& v) { return decay(v[0]); });
}

// The first half along dim times the sigmoid of the second.
void lower_glu(Context& c) {
  Ref x = c.tensor("self");
  if (!program::dtype_is_float(x.dtype) || x.rank() == 0) {
    return c.invalid("needs a floating-point tensor with dimensions");
  }
  int dim = c.wrap_dim(c.integer("dim", -1), x.rank());
  if (x.shape[dim] % 2 != 0) return c.invalid("the halved dimension must be even");
  Shape shape = x.shape;
  int64_t half = shape[dim] /= 2;
  Ref out = c.out(0, x.dtype, shape);
  if (c.failed()) return;
  Ty ty = compute_type(x.dtype);
  map(c, out, {{slice(x, dim, 0, half), ty}, {slice(x, dim, half, half), ty}},
      [](Expr&, const std::vector<V>& v) { return v[0] / (1.0 + call(Fn::Exp, -v[1])); });
}

}  // namespace assay::tensor
