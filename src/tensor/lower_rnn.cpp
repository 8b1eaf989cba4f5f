// Recurrent networks, unrolled over time: three nests a step (gates, cell, hidden state).
#include <fmt/format.h>

#include "tensor/blocks.h"
#include "tensor/ops.h"

namespace assay::tensor {
namespace {

enum class Cell : uint8_t { Lstm, Gru, Tanh, Relu };

int64_t gate_count(Cell cell) { return cell == Cell::Lstm ? 4 : cell == Cell::Gru ? 3 : 1; }

// The weights of one layer and direction: w_ih [G H, I], w_hh [G H, H], biases [G H].
struct Weights {
  Ref w_ih, w_hh;
  std::optional<Ref> b_ih, b_hh;
};

struct Rnn {
  Cell cell = Cell::Lstm;
  Ref x;                  // [T, B, I]
  Ref h0;                 // [layers * directions, B, H]
  std::optional<Ref> c0;  // likewise
  std::vector<Weights> weights;
  int64_t layers = 1, directions = 1, hidden = 1;
  Ty type = Ty::F32;
  DType dtype = DType::F32, wide = DType::F32;
};

V sigmoid(V x) { return 1.0 / (1.0 + call(Fn::Exp, -x)); }

// out[..., g] = bias[g] + sum_k in[..., k] w[g, k] (+ add[..., g])
void affine_map(Context& c, const Ref& out, const Ref& in, const Ref& w,
                const std::optional<Ref>& bias, const std::optional<Ref>& add, Ty ty) {
  if (c.failed()) return;
  NestBuilder b(out.shape, {w.shape[1]});
  std::vector<Index> index = b.space_index(), in_index = index;
  in_index.back() = Index(b.red(0));
  Index gate = index.back();
  V sum = b.reduce(ReduceKind::Sum, b.load(in, in_index, ty) * b.load(w, {gate, b.red(0)}, ty));
  if (bias) sum = sum + b.load_post(*bias, {gate}, ty);
  if (add) sum = b.load_post(*add, index, ty) + sum;
  b.store(out, index, sum);
  c.push(b);
}

// Part `k` of the gates [B, G H].
Ref gate(const Ref& gates, int64_t k, int64_t hidden) {
  return slice(gates, 1, k * hidden, hidden);
}

// One step: h_out (and c_out) from gx = W_ih x + b_ih [B, G H] and the state before.
void cell_step(Context& c, const Rnn& n, const Weights& w, const Ref& gx, const Ref& h,
               const Ref& h_out, const std::optional<Ref>& state,
               const std::optional<Ref>& state_out) {
  Ty ty = n.type;
  int64_t size = n.hidden;
  if (n.cell == Cell::Gru) {
    Ref gh = c.temp(n.wide, gx.shape);
    affine_map(c, gh, h, w.w_hh, w.b_hh, std::nullopt, ty);
    std::vector<MapIn> ins{{h, ty}};
    for (const Ref& g : {gx, gh}) {
      for (int64_t k = 0; k < 3; ++k) ins.emplace_back(gate(g, k, size), ty);
    }
    return map(c, h_out, ins, [](Expr&, const std::vector<V>& v) {
      V r = sigmoid(v[1] + v[4]), z = sigmoid(v[2] + v[5]);
      V fresh = call(Fn::Tanh, v[3] + r * v[6]);
      return (v[0] - fresh) * z + fresh;
    });
  }
  Ref g = c.temp(n.wide, gx.shape);
  affine_map(c, g, h, w.w_hh, w.b_hh, gx, ty);
  if (n.cell != Cell::Lstm) {
    return map(c, h_out, {{g, ty}}, [&](Expr& e, const std::vector<V>& v) {
      return n.cell == Cell::Tanh ? call(Fn::Tanh, v[0]) : max(v[0], e.constant(0, ty));
    });
  }
  map(c, *state_out,
      {{gate(g, 0, size), ty}, {gate(g, 1, size), ty}, {gate(g, 2, size), ty}, {*state, ty}},
      [](Expr&, const std::vector<V>& v) {
        return sigmoid(v[1]) * v[3] + sigmoid(v[0]) * call(Fn::Tanh, v[2]);
      });
  map(c, h_out, {{gate(g, 3, size), ty}, {*state_out, ty}},
      [](Expr&, const std::vector<V>& v) { return sigmoid(v[0]) * call(Fn::Tanh, v[1]); });
}

// Unrolls one layer and direction; out [T, B, H] receives the hidden states.
void unroll(Context& c, const Rnn& n, int64_t number, const Ref& x, const Ref& out,
            const Ref& h_last, const std::optional<Ref>& c_last) {
  const Weights& w = n.weights[static_cast<size_t>(number)];
  int64_t steps = x.shape[0], batch = x.shape[1];
  bool backwards = n.directions == 2 && number % 2 == 1;
  Ref gx = c.temp(n.wide, {steps, batch, gate_count(n.cell) * n.hidden});
  affine_map(c, gx, x, w.w_ih, w.b_ih, std::nullopt, n.type);
  std::optional<Ref> states, state;
  if (n.cell == Cell::Lstm) {
    states = c.temp(n.dtype, {steps, batch, n.hidden});
    state = select(*n.c0, 0, number);
  }
  Ref h = select(n.h0, 0, number);
  for (int64_t k = 0; k < steps && !c.failed(); ++k) {
    int64_t t = backwards ? steps - 1 - k : k;
    Ref h_out = select(out, 0, t);
    std::optional<Ref> state_out;
    if (states) state_out = select(*states, 0, t);
    cell_step(c, n, w, select(gx, 0, t), h, h_out, state, state_out);
    h = h_out;
    state = state_out;
  }
  copy(c, h_last, h);
  if (c_last) copy(c, *c_last, *state);
}

bool check_weights(Context& c, const Rnn& n) {
  int64_t rows = gate_count(n.cell) * n.hidden;
  for (size_t k = 0; k < n.weights.size(); ++k) {
    bool first = static_cast<int64_t>(k) < n.directions;
    int64_t in = first ? n.x.shape[2] : n.hidden * n.directions;
    const Weights& w = n.weights[k];
    bool fits = w.w_ih.shape == Shape{rows, in} && w.w_hh.shape == Shape{rows, n.hidden};
    for (const auto& b : {w.b_ih, w.b_hh}) fits = fits && (!b || b->shape == Shape{rows});
    if (!fits) {
      c.invalid(fmt::format("weights {} do not fit", k));
      return false;
    }
  }
  return true;
}

bool read_arguments(Context& c, Rnn* n) {
  auto bad = [&](const char* text) {
    c.invalid(text);
    return false;
  };
  n->x = c.tensor("input");
  if (n->x.rank() != 3) return bad("input must have rank 3");
  if (c.flag("batch_first")) n->x = transpose(n->x, 0, 1);
  if (n->cell == Cell::Lstm) {
    std::vector<Ref> hx = c.tensors("hx");
    if (hx.size() != 2 || hx[0].shape != hx[1].shape) return bad("hx must be (h_0, c_0)");
    n->h0 = hx[0];
    n->c0 = hx[1];
  } else {
    n->h0 = c.tensor("hx");
  }
  n->layers = c.integer("num_layers");
  n->directions = c.flag("bidirectional") ? 2 : 1;
  if (n->layers < 1 || n->layers > 1024) return bad("num_layers");
  if (n->h0.rank() != 3 || n->h0.shape[0] != n->layers * n->directions ||
      n->h0.shape[1] != n->x.shape[1]) {
    return bad("hx must be [num_layers * directions, batch, hidden]");
  }
  n->hidden = n->h0.shape[2];
  if (c.flag("train") && c.number("dropout") > 0 && n->layers > 1) {
    c.unsupported("random: dropout between layers");
    return false;
  }
  std::vector<Ref> params = c.tensors("params");
  bool biased = c.flag("has_biases");
  size_t each = biased ? 4 : 2, cells = static_cast<size_t>(n->layers * n->directions);
  if (params.size() == cells * (each + 1)) {
    c.unsupported("projections (proj_size)");
    return false;
  }
  if (params.size() != cells * each) return bad("the number of parameters");
  for (size_t k = 0; k < cells; ++k) {
    Weights w{params[k * each], params[k * each + 1], {}, {}};
    if (biased) {
      w.b_ih = params[k * each + 2];
      w.b_hh = params[k * each + 3];
    }
    n->weights.push_back(w);
  }
  n->dtype = n->x.dtype;
  n->wide = n->dtype == DType::F64 ? DType::F64 : DType::F32;
  n->type = compute_type(n->wide);
  if (!program::dtype_is_float(n->dtype)) return bad("needs floating-point tensors");
  return check_weights(c, *n);
}

}  // namespace

// lstm.input (output, h_n, c_n), gru.input, rnn_tanh.input, rnn_relu.input (output, h_n).
void lower_rnn(Context& c) {
  Rnn n;
  n.cell = c.base() == "lstm"       ? Cell::Lstm
           : c.base() == "gru"      ? Cell::Gru
           : c.base() == "rnn_tanh" ? Cell::Tanh
                                    : Cell::Relu;
  if (!read_arguments(c, &n)) return;
  int64_t steps = n.x.shape[0], batch = n.x.shape[1], width = n.hidden * n.directions;
  if (steps < 1 || steps * n.layers * n.directions > (int64_t{1} << 20)) {
    return c.invalid("the sequence is empty or too long");
  }
  bool batch_first = c.flag("batch_first");
  Ref out =
      c.out(0, n.dtype, batch_first ? Shape{batch, steps, width} : Shape{steps, batch, width});
  if (batch_first) out = transpose(out, 0, 1);
  Ref h_n = c.out(1, n.dtype, n.h0.shape);
  std::optional<Ref> c_n;
  if (n.cell == Cell::Lstm) c_n = c.out(2, n.dtype, n.h0.shape);
  Ref in = n.x;
  for (int64_t layer = 0; layer < n.layers && !c.failed(); ++layer) {
    bool last = layer + 1 == n.layers;
    Ref target = last ? out : c.temp(n.dtype, {steps, batch, width});
    for (int64_t d = 0; d < n.directions; ++d) {
      int64_t number = layer * n.directions + d;
      std::optional<Ref> c_last;
      if (c_n) c_last = select(*c_n, 0, number);
      unroll(c, n, number, in, slice(target, 2, d * n.hidden, n.hidden), select(h_n, 0, number),
             c_last);
    }
    in = target;
  }
}

}  // namespace assay::tensor
