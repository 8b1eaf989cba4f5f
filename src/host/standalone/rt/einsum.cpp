// torch.einsum as ATen decomposes it: products of two operands at a time, left to right, each a bmm
// of permuted views (or mul, where nothing is summed), so that both sides name the same operators
// on the same contents.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "assay/error.h"
#include "host/standalone/rt/call.h"

namespace assay::host {

namespace {

using Ints = std::vector<int64_t>;
constexpr size_t kLetters = 52;
constexpr size_t kEllipsis = kLetters;
using Labels = std::vector<size_t>;

const TensorImpl& impl(int32_t id) { return Recorder::get().tensor(id); }

[[noreturn]] void bad(const std::string& what) { throw c10::Error("einsum(): " + what); }

// Upper case first, as ATen orders labels that are summed.
size_t label_of(char letter) {
  if (std::isalpha(static_cast<unsigned char>(letter)) == 0) {
    bad(fmt::format("invalid subscript '{}', subscripts must be in [a-zA-Z]", letter));
  }
  return static_cast<size_t>(letter >= 'a' ? 26 + letter - 'a' : letter - 'A');
}

Labels parse_labels(std::string_view text) {
  Labels labels;
  for (size_t k = 0; k < text.size(); ++k) {
    if (text[k] == ' ') continue;
    if (text[k] != '.') {
      labels.push_back(label_of(text[k]));
      continue;
    }
    if (text.substr(k, 3) != "..." || std::count(labels.begin(), labels.end(), kEllipsis) != 0) {
      bad("found '.' that is not part of the only ellipsis ('...')");
    }
    labels.push_back(kEllipsis);
    k += 2;
  }
  return labels;
}

// The equation, and the dimension that each label has in operands aligned to output dimensions,
// then summed ones.
struct Equation {
  std::vector<Labels> inputs;
  std::array<int64_t, kLetters> position;
  int64_t ellipsis = 0, ellipsis_rank = 0;  // first dimension and count of what "..." stands for
  int64_t outputs = 0, rank = 0;
};

void place_output(Equation* e, std::string_view output, const std::array<int, kLetters>& count) {
  e->ellipsis = -1;
  for (size_t label : parse_labels(output)) {
    if (label == kEllipsis) {
      e->ellipsis = e->rank;
      e->rank += e->ellipsis_rank;
      continue;
    }
    if (e->position[label] >= 0) bad("output subscripts appear more than once in the output");
    if (count[label] == 0) bad("output subscripts do not appear in the equation for any operand");
    e->position[label] = e->rank++;
  }
  e->outputs = e->rank;
  if (e->ellipsis >= 0) return;
  e->ellipsis = e->rank;
  e->rank += e->ellipsis_rank;
}

Equation parse_equation(const std::string& text, const std::vector<int32_t>& operands) {
  Equation e;
  const size_t arrow = text.find("->");
  const std::string lhs = text.substr(0, arrow);
  for (size_t at = 0; at <= lhs.size();) {
    const size_t comma = std::min(lhs.find(',', at), lhs.size());
    e.inputs.push_back(parse_labels(std::string_view(lhs).substr(at, comma - at)));
    at = comma + 1;
  }
  if (e.inputs.size() != operands.size()) {
    bad("the number of operands and of subscripts in the equation differ");
  }
  std::array<int, kLetters> count{};
  for (size_t k = 0; k < operands.size(); ++k) {
    const auto rank = static_cast<int64_t>(impl(operands[k]).sizes.size());
    const auto named = static_cast<int64_t>(e.inputs[k].size());
    bool ellipsis = false;
    for (size_t label : e.inputs[k]) {
      ellipsis = ellipsis || label == kEllipsis;
      if (label != kEllipsis) ++count[label];
    }
    if (ellipsis ? named > rank + 1 : named != rank) {
      bad(fmt::format("the subscripts of operand {} do not fit its {} dimensions", k, rank));
    }
    if (ellipsis) e.ellipsis_rank = std::max(e.ellipsis_rank, rank - named + 1);
  }
  e.position.fill(-1);
  if (arrow != std::string::npos) {
    place_output(&e, std::string_view(text).substr(arrow + 2), count);
  } else {
    e.rank = e.ellipsis_rank;
    for (size_t label = 0; label < kLetters; ++label) {
      if (count[label] == 1) e.position[label] = e.rank++;
    }
    e.outputs = e.rank;
  }
  for (size_t label = 0; label < kLetters; ++label) {
    if (count[label] > 0 && e.position[label] < 0) e.position[label] = e.rank++;
  }
  return e;
}

void remove_dim(TensorImpl* t, int64_t dim) {
  t->sizes.erase(t->sizes.begin() + dim);
  t->strides.erase(t->strides.begin() + dim);
}

// A view of an operand that has all dimensions of the equation, in its order; repeated labels are
// diagonals. sizes, uses: of each dimension, so far.
int32_t aligned(const Equation& e, const Labels& labels, int32_t id, Ints* sizes, Ints* uses) {
  TensorImpl t = impl(id);
  const int64_t own = static_cast<int64_t>(t.sizes.size()) - static_cast<int64_t>(labels.size());
  Ints from(static_cast<size_t>(e.rank), -1);
  int64_t dim = 0;
  auto place = [&](int64_t to) {
    const int64_t size = t.sizes[static_cast<size_t>(dim)];
    const auto k = static_cast<size_t>(to);
    if (size != 1) {
      if ((*sizes)[k] != 1 && (*sizes)[k] != size) {
        bad(fmt::format("operands do not broadcast: sizes {} and {}", (*sizes)[k], size));
      }
      (*sizes)[k] = size;
      ++(*uses)[k];
    }
    from[k] = dim++;
  };
  for (size_t label : labels) {
    if (label == kEllipsis) {
      for (int64_t k = e.ellipsis_rank - own - 1; k < e.ellipsis_rank; ++k) place(e.ellipsis + k);
      continue;
    }
    const int64_t before = from[static_cast<size_t>(e.position[label])];
    if (before < 0) {
      place(e.position[label]);
      continue;
    }
    if (t.sizes[static_cast<size_t>(before)] != t.sizes[static_cast<size_t>(dim)]) {
      bad("a subscript is repeated for dimensions of different sizes");
    }
    t.strides[static_cast<size_t>(before)] += t.strides[static_cast<size_t>(dim)];
    remove_dim(&t, dim);
  }
  for (int64_t& f : from) {
    if (f >= 0) continue;
    t.sizes.push_back(1);
    t.strides.push_back(1);
    f = dim++;
  }
  return permuted(make_view(id, t.sizes, t.strides, t.offset), from);
}

int32_t summed(int32_t t, const Ints& dims, bool keep) {
  if (dims.empty()) return t;
  return emit("aten::sum.dim_IntList", {arg_of(t), dims, keep, Arg()})[0];
}

Ints joined(std::initializer_list<const Ints*> parts) {
  Ints all;
  for (const Ints* p : parts) all.insert(all.end(), p->begin(), p->end());
  return all;
}

int64_t volume(int32_t t, const Ints& dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= impl(t).sizes[static_cast<size_t>(d)];
  return n;
}

// The product of two aligned operands, summed over dims, which stay as dimensions of size 1. A
// dimension is of both (and stays), of the left alone, or of the right.
int32_t product(int32_t left, int32_t right, const Ints& dims) {
  if (dims.empty()) return emit("aten::mul.Tensor", {arg_of(left), arg_of(right)})[0];
  const Ints sl = impl(left).sizes, sr = impl(right).sizes;
  Ints both, lefts, rights;
  for (size_t k = 0; k < sl.size(); ++k) {
    const auto d = static_cast<int64_t>(k);
    if (std::count(dims.begin(), dims.end(), d) != 0) continue;
    (sl[k] != 1 && sr[k] != 1 ? both : sl[k] != 1 ? lefts : rights).push_back(d);
  }
  // Swapped where bmm then writes the order that the output has.
  if (!lefts.empty() && !rights.empty() && rights.back() < lefts.front()) {
    std::swap(left, right);
    std::swap(lefts, rights);
  }
  const int64_t batch = volume(left, both), n = volume(left, lefts), m = volume(right, rights);
  const int64_t k = volume(left, dims);
  Ints shape;
  for (int64_t d : joined({&both, &lefts})) shape.push_back(impl(left).sizes[size_t(d)]);
  shape.insert(shape.end(), dims.size(), 1);
  for (int64_t d : rights) shape.push_back(impl(right).sizes[size_t(d)]);
  const Ints order = joined({&both, &lefts, &dims, &rights});
  Ints back(order.size());
  for (size_t i = 0; i < order.size(); ++i) back[size_t(order[i])] = static_cast<int64_t>(i);
  const int32_t a = view_as_shape(permuted(left, order), {batch, n, k}, true);
  const int32_t b =
      view_as_shape(permuted(right, joined({&both, &dims, &rights, &lefts})), {batch, k, m}, true);
  const int32_t y = emit("aten::bmm", {arg_of(a), arg_of(b)})[0];
  return permuted(view_as_shape(y, shape, false), back);
}

}  // namespace

Outs einsum(const Call& c) {
  const std::vector<int32_t> operands = c.lists.size() > 1 ? c.lists[1] : std::vector<int32_t>{};
  if (operands.empty()) bad("must provide at least one operand");
  const Equation e = parse_equation(c.text(0, ""), operands);
  Ints sizes(static_cast<size_t>(e.rank), 1), uses(static_cast<size_t>(e.rank), 0);
  std::vector<int32_t> ops;
  for (size_t k = 0; k < operands.size(); ++k) {
    ops.push_back(aligned(e, e.inputs[k], operands[k], &sizes, &uses));
  }
  int32_t y = ops[0];
  for (size_t k = 1; k < ops.size(); ++k) {
    int32_t b = ops[k];
    const Ints sa = impl(y).sizes, sb = impl(b).sizes;
    Ints together, left, right;  // dimensions that no later operand has
    for (int64_t dim = e.outputs; dim < e.rank; ++dim) {
      const auto d = static_cast<size_t>(dim);
      if (sa[d] != 1 && sb[d] != 1) {
        if (--uses[d] == 1) together.push_back(dim);
      } else if (uses[d] == 1 && (sa[d] != 1 || sb[d] != 1)) {
        (sa[d] != 1 ? left : right).push_back(dim);
      }
    }
    for (const Ints* done : {&together, &left, &right}) {
      for (int64_t dim : *done) uses[static_cast<size_t>(dim)] = 0;
    }
    y = product(summed(y, left, true), summed(b, right, true), together);
  }
  Ints rest;
  for (int64_t dim = e.outputs; dim < e.rank; ++dim) rest.push_back(dim);
  if (ops.size() == 1) return {summed(y, rest, false)};
  TensorImpl t = impl(y);
  for (size_t k = rest.size(); k-- > 0;) remove_dim(&t, rest[k]);
  return {make_view(y, t.sizes, t.strides, t.offset)};
}

}  // namespace assay::host
