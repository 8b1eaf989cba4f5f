// Views: no step, another TensorImpl on the same storage.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "assay/error.h"
#include "host/standalone/rt/call.h"

namespace assay::host {

namespace {

using Ints = std::vector<int64_t>;

// Strides with which `shape` views t without a copy, as at::detail::computeStride; none if
// impossible.
std::optional<Ints> view_strides(const TensorImpl& t, const Ints& shape) {
  if (element_count(t.sizes) == 0) return contiguous_strides(shape);
  Ints out(shape.size());
  int64_t v = static_cast<int64_t>(shape.size()) - 1;
  int64_t chunk_base = t.strides.empty() ? 1 : t.strides.back();
  int64_t tensor_numel = 1, view_numel = 1;
  for (int64_t k = static_cast<int64_t>(t.sizes.size()) - 1; k >= 0; --k) {
    auto i = static_cast<size_t>(k);
    tensor_numel *= t.sizes[i];
    if (k == 0 || (t.sizes[i - 1] != 1 && t.strides[i - 1] != tensor_numel * chunk_base)) {
      while (v >= 0 && (view_numel < tensor_numel || shape[static_cast<size_t>(v)] == 1)) {
        out[static_cast<size_t>(v)] = view_numel * chunk_base;
        view_numel *= shape[static_cast<size_t>(v)];
        --v;
      }
      if (view_numel != tensor_numel) return std::nullopt;
      if (k > 0) {
        chunk_base = t.strides[i - 1];
        tensor_numel = 1;
        view_numel = 1;
      }
    }
  }
  if (v != -1) {
    for (; v >= 0; --v) {
      if (shape[static_cast<size_t>(v)] != 1) return std::nullopt;
      out[static_cast<size_t>(v)] = 1;
    }
  }
  return out;
}

Ints resolve_shape(Ints shape, int64_t numel) {
  int64_t known = 1, hole = -1;
  for (size_t k = 0; k < shape.size(); ++k) {
    if (shape[k] == -1) {
      if (hole >= 0) throw c10::Error("only one dimension can be inferred");
      hole = static_cast<int64_t>(k);
    } else {
      known *= shape[k];
    }
  }
  bool fits = hole < 0 ? known == numel : known > 0 && numel % known == 0;
  if (!fits) {
    throw c10::Error(
        fmt::format("shape '[{}]' is invalid for input of size {}", fmt::join(shape, ", "), numel));
  }
  if (hole >= 0) shape[static_cast<size_t>(hole)] = numel / known;
  return shape;
}

Outs select(const Call& c) {
  TensorImpl t = Recorder::get().tensor(c.tensor(0));
  if (t.sizes.empty()) throw c10::IndexError("select() cannot be applied to a 0-dim tensor.");
  auto d = static_cast<size_t>(wrap_dim(c.integer(1, 0), t.sizes.size()));
  int64_t k = c.integer(2, 0), n = t.sizes[d];
  if (k < -n || k >= n) {
    throw c10::IndexError(
        fmt::format("select(): index {} out of range for tensor of size [{}] at dimension {}", k,
                    fmt::join(t.sizes, ", "), d));
  }
  int64_t offset = t.offset + (k < 0 ? k + n : k) * t.strides[d];
  t.sizes.erase(t.sizes.begin() + static_cast<ptrdiff_t>(d));
  t.strides.erase(t.strides.begin() + static_cast<ptrdiff_t>(d));
  return {make_view(c.tensor(0), t.sizes, t.strides, offset)};
}

int32_t sliced(int32_t id, int64_t dim, int64_t start, int64_t end, int64_t step) {
  TensorImpl t = Recorder::get().tensor(id);
  auto d = static_cast<size_t>(wrap_dim(dim, t.sizes.size()));
  if (t.sizes.empty()) throw c10::IndexError("slice() cannot be applied to a 0-dim tensor.");
  if (step <= 0) throw c10::ValueError("slice step must be positive");
  int64_t n = t.sizes[d];
  auto clip = [n](int64_t v) { return std::clamp<int64_t>(v < 0 ? v + n : v, 0, n); };
  start = clip(start);
  end = std::max(clip(end), start);
  t.sizes[d] = (end - start + step - 1) / step;
  int64_t offset = t.offset + start * t.strides[d];
  t.strides[d] *= step;
  return make_view(id, t.sizes, t.strides, offset);
}

int32_t unsqueezed(int32_t id, int64_t dim) {
  TensorImpl t = Recorder::get().tensor(id);
  auto d = static_cast<size_t>(wrap_dim(dim, t.sizes.size() + 1));
  int64_t stride = d < t.sizes.size() ? t.sizes[d] * t.strides[d] : 1;
  t.sizes.insert(t.sizes.begin() + static_cast<ptrdiff_t>(d), 1);
  t.strides.insert(t.strides.begin() + static_cast<ptrdiff_t>(d), stride);
  return make_view(id, t.sizes, t.strides, t.offset);
}

int32_t squeezed(int32_t id, std::optional<int64_t> dim) {
  TensorImpl t = Recorder::get().tensor(id);
  Ints sizes, strides;
  int64_t only = dim ? wrap_dim(*dim, t.sizes.size()) : -1;
  for (size_t k = 0; k < t.sizes.size(); ++k) {
    if (t.sizes[k] == 1 && (only < 0 || static_cast<int64_t>(k) == only)) continue;
    sizes.push_back(t.sizes[k]);
    strides.push_back(t.strides[k]);
  }
  return make_view(id, sizes, strides, t.offset);
}

int32_t transposed(int32_t id, int64_t a, int64_t b) {
  TensorImpl t = Recorder::get().tensor(id);
  if (t.sizes.empty()) return id;
  auto i = static_cast<size_t>(wrap_dim(a, t.sizes.size()));
  auto j = static_cast<size_t>(wrap_dim(b, t.sizes.size()));
  std::swap(t.sizes[i], t.sizes[j]);
  std::swap(t.strides[i], t.strides[j]);
  return make_view(id, t.sizes, t.strides, t.offset);
}

Outs flatten(const Call& c) {
  const TensorImpl& t = Recorder::get().tensor(c.tensor(0));
  if (t.sizes.empty()) return {view_as_shape(c.tensor(0), {1}, true)};
  auto a = static_cast<size_t>(wrap_dim(c.integer(1, 0), t.sizes.size()));
  auto b = static_cast<size_t>(wrap_dim(c.integer(2, -1), t.sizes.size()));
  if (a > b) throw c10::Error("flatten() has invalid args: start_dim cannot come after end_dim");
  Ints shape(t.sizes.begin(), t.sizes.begin() + static_cast<ptrdiff_t>(a));
  int64_t n = 1;
  for (size_t k = a; k <= b; ++k) n *= t.sizes[k];
  shape.push_back(n);
  shape.insert(shape.end(), t.sizes.begin() + static_cast<ptrdiff_t>(b) + 1, t.sizes.end());
  return {view_as_shape(c.tensor(0), shape, true)};
}

Outs unflatten(const Call& c) {
  const TensorImpl& t = Recorder::get().tensor(c.tensor(0));
  auto d = static_cast<size_t>(wrap_dim(c.integer(1, 0), t.sizes.size()));
  Ints part = resolve_shape(c.ints(2), t.sizes[d]);
  Ints shape(t.sizes.begin(), t.sizes.begin() + static_cast<ptrdiff_t>(d));
  shape.insert(shape.end(), part.begin(), part.end());
  shape.insert(shape.end(), t.sizes.begin() + static_cast<ptrdiff_t>(d) + 1, t.sizes.end());
  return {view_as_shape(c.tensor(0), shape, false)};
}

Outs split(const Call& c) {
  int32_t id = c.tensor(0);
  const TensorImpl t = Recorder::get().tensor(id);
  int64_t dim = wrap_dim(c.integer(2, 0), t.sizes.size());
  int64_t n = t.sizes[static_cast<size_t>(dim)];
  Ints sizes;
  if (c.name == "chunk") {
    int64_t parts = std::max<int64_t>(c.integer(1, 1), 1), size = (n + parts - 1) / parts;
    for (int64_t at = 0; at < n; at += size) sizes.push_back(std::min(size, n - at));
  } else if (std::holds_alternative<int64_t>(c.args[1])) {
    int64_t size = c.integer(1, 1);
    if (size <= 0) throw c10::Error("split expects split_size be positive");
    for (int64_t at = 0; at < n; at += size) sizes.push_back(std::min(size, n - at));
  } else {
    sizes = c.ints(1);
  }
  Outs outs;
  int64_t at = 0;
  for (int64_t s : sizes) {
    outs.push_back(sliced(id, dim, at, at + s, 1));
    at += s;
  }
  if (at != n) {
    throw c10::Error(fmt::format("split_with_sizes expects split_sizes to sum exactly to {}", n));
  }
  return outs;
}

Outs unbind(const Call& c) {
  Call one = c;
  const TensorImpl t = Recorder::get().tensor(c.tensor(0));
  int64_t dim = wrap_dim(c.integer(1, 0), t.sizes.size());
  Outs outs;
  for (int64_t k = 0; k < t.sizes[static_cast<size_t>(dim)]; ++k) {
    one.args = {c.args[0], dim, k};
    outs.push_back(select(one)[0]);
  }
  return outs;
}

Outs diagonal(const Call& c) {
  TensorImpl t = Recorder::get().tensor(c.tensor(0));
  int64_t shift = c.integer(1, 0);
  auto a = static_cast<size_t>(wrap_dim(c.integer(2, 0), t.sizes.size()));
  auto b = static_cast<size_t>(wrap_dim(c.integer(3, 1), t.sizes.size()));
  if (a == b) throw c10::Error("diagonal dimensions cannot be identical");
  int64_t n = shift >= 0 ? std::min(t.sizes[a], t.sizes[b] - shift)
                         : std::min(t.sizes[a] + shift, t.sizes[b]);
  n = std::max<int64_t>(n, 0);
  int64_t offset = t.offset + (n == 0       ? 0
                               : shift >= 0 ? shift * t.strides[b]
                                            : -shift * t.strides[a]);
  Ints sizes, strides;
  for (size_t k = 0; k < t.sizes.size(); ++k) {
    if (k == a || k == b) continue;
    sizes.push_back(t.sizes[k]);
    strides.push_back(t.strides[k]);
  }
  sizes.push_back(n);
  strides.push_back(t.strides[a] + t.strides[b]);
  return {make_view(c.tensor(0), sizes, strides, offset)};
}

Outs unfold(const Call& c) {
  TensorImpl t = Recorder::get().tensor(c.tensor(0));
  auto d = static_cast<size_t>(wrap_dim(c.integer(1, 0), t.sizes.size()));
  int64_t size = c.integer(2, 1), step = c.integer(3, 1);
  if (size < 0 || step <= 0 || size > t.sizes[d]) throw c10::Error("unfold: wrong size or step");
  t.sizes.push_back(size);
  t.strides.push_back(t.strides[d]);
  t.sizes[d] = (t.sizes[d] - size) / step + 1;
  t.strides[d] *= step;
  return {make_view(c.tensor(0), t.sizes, t.strides, t.offset)};
}

// x.index({...}): integers, slices, None and Ellipsis are views; tensors make aten::index.
Outs index_general(const Call& c) {
  Ints code = c.ints(1);
  int32_t id = c.tensor(0);
  int64_t dim = 0;
  size_t used = 0;
  std::vector<TensorView> indices;
  std::vector<int32_t> tensors = c.lists.size() > 2 ? c.lists[2] : std::vector<int32_t>{};
  for (size_t k = 0; k + 3 < code.size(); k += 4) {
    switch (code[k]) {
      case 0:
        id = unsqueezed(id, dim++);
        break;
      case 1: {
        size_t rank = Recorder::get().tensor(id).sizes.size();
        size_t named = static_cast<size_t>(dim);
        for (size_t j = k + 4; j < code.size(); j += 4) named += code[j] >= 2 ? 1 : 0;
        dim += static_cast<int64_t>(rank > named ? rank - named : 0);
        break;
      }
      case 2: {
        Call one;
        one.name = "select";
        one.args = {std::monostate{}, dim, code[k + 1]};
        one.ids = {id, -1, -1};
        id = select(one)[0];
        break;
      }
      case 3:
        id = sliced(id, dim++, code[k + 1], code[k + 2], code[k + 3]);
        break;
      default:
        indices.resize(static_cast<size_t>(dim) + 1);
        indices.back() = Recorder::get().view(tensors.at(used++));
        ++dim;
    }
  }
  if (used == 0) return {id};
  return emit("aten::index.Tensor", {arg_of(id), indices});
}

const std::map<std::string, std::function<Outs(const Call&)>>& table() {
  static const std::map<std::string, std::function<Outs(const Call&)>> views = {
      {"view",
       [](const Call& c) -> Outs {
         if (auto t = c.dtype(1)) {
           if (*t != Recorder::get().tensor(c.tensor(0)).dtype) {
             Recorder::get().unsupported("view with another dtype");
           }
           return {c.tensor(0)};
         }
         return {view_as_shape(c.tensor(0), c.ints(1), false)};
       }},
      {"reshape",
       [](const Call& c) -> Outs { return {view_as_shape(c.tensor(0), c.ints(1), true)}; }},
      {"view_as",
       [](const Call& c) -> Outs {
         return {view_as_shape(c.tensor(0), Recorder::get().tensor(c.tensor(1)).sizes, false)};
       }},
      {"reshape_as",
       [](const Call& c) -> Outs {
         return {view_as_shape(c.tensor(0), Recorder::get().tensor(c.tensor(1)).sizes, true)};
       }},
      {"expand", [](const Call& c) -> Outs { return {expanded(c.tensor(0), c.ints(1))}; }},
      {"broadcast_to", [](const Call& c) -> Outs { return {expanded(c.tensor(0), c.ints(1))}; }},
      {"expand_as",
       [](const Call& c) -> Outs {
         return {expanded(c.tensor(0), Recorder::get().tensor(c.tensor(1)).sizes)};
       }},
      {"permute", [](const Call& c) -> Outs { return {permuted(c.tensor(0), c.ints(1))}; }},
      {"transpose",
       [](const Call& c) -> Outs {
         return {transposed(c.tensor(0), c.integer(1, 0), c.integer(2, 1))};
       }},
      {"swapaxes",
       [](const Call& c) -> Outs {
         return {transposed(c.tensor(0), c.integer(1, 0), c.integer(2, 1))};
       }},
      {"t",
       [](const Call& c) -> Outs {
         size_t rank = Recorder::get().tensor(c.tensor(0)).sizes.size();
         if (rank > 2)
           throw c10::Error(
               fmt::format("t() expects a tensor with <= 2 dimensions, but self is {}D", rank));
         return {rank < 2 ? c.tensor(0) : transposed(c.tensor(0), 0, 1)};
       }},
      {"numpy_T",
       [](const Call& c) -> Outs {
         Ints dims(Recorder::get().tensor(c.tensor(0)).sizes.size());
         for (size_t k = 0; k < dims.size(); ++k)
           dims[k] = static_cast<int64_t>(dims.size() - 1 - k);
         return {permuted(c.tensor(0), dims)};
       }},
      {"mT", [](const Call& c) -> Outs { return {transposed(c.tensor(0), -1, -2)}; }},
      {"movedim",
       [](const Call& c) -> Outs {
         size_t rank = Recorder::get().tensor(c.tensor(0)).sizes.size();
         int64_t from = wrap_dim(c.integer(1, 0), rank), to = wrap_dim(c.integer(2, 0), rank);
         Ints dims;
         for (size_t k = 0; k < rank; ++k) {
           if (static_cast<int64_t>(k) != from) dims.push_back(static_cast<int64_t>(k));
         }
         dims.insert(dims.begin() + to, from);
         return {permuted(c.tensor(0), dims)};
       }},
      {"flatten", flatten},
      {"unflatten", unflatten},
      {"squeeze",
       [](const Call& c) -> Outs {
         return {squeezed(c.tensor(0),
                          c.given(1) ? std::optional<int64_t>(c.integer(1, 0)) : std::nullopt)};
       }},
      {"unsqueeze",
       [](const Call& c) -> Outs { return {unsqueezed(c.tensor(0), c.integer(1, 0))}; }},
      {"select", select},
      {"slice",
       [](const Call& c) -> Outs {
         return {sliced(c.tensor(0), c.integer(1, 0), c.integer(2, 0), c.integer(3, INT64_MAX),
                        c.integer(4, 1))};
       }},
      {"narrow",
       [](const Call& c) -> Outs {
         const TensorImpl& t = Recorder::get().tensor(c.tensor(0));
         int64_t dim = wrap_dim(c.integer(1, 0), t.sizes.size());
         int64_t n = t.sizes[static_cast<size_t>(dim)], start = c.integer(2, 0);
         if (start < 0) start += n;
         if (start < 0 || c.integer(3, 0) < 0 || start + c.integer(3, 0) > n) {
           throw c10::Error(fmt::format("start ({}) + length ({}) exceeds dimension size ({}).",
                                        start, c.integer(3, 0), n));
         }
         return {sliced(c.tensor(0), dim, start, start + c.integer(3, 0), 1)};
       }},
      {"as_strided",
       [](const Call& c) -> Outs {
         return {make_view(c.tensor(0), c.ints(1), c.ints(2),
                           c.integer(3, Recorder::get().tensor(c.tensor(0)).offset))};
       }},
      {"diagonal", diagonal},
      {"unfold", unfold},
      {"detach", [](const Call& c) -> Outs { return {c.tensor(0)}; }},
      {"detach_", [](const Call& c) -> Outs { return {c.tensor(0)}; }},
      {"alias", [](const Call& c) -> Outs { return {c.tensor(0)}; }},
      {"split", split},
      {"split_with_sizes", split},
      {"chunk", split},
      {"unbind", unbind},
      {"index_general", index_general},
  };
  return views;
}

}  // namespace

int32_t make_view(int32_t base, Ints sizes, Ints strides, int64_t offset) {
  Recorder& r = Recorder::get();
  TensorImpl t = r.tensor(base);
  // A view never leaves its storage (PyTorch checks the same).
  int64_t last = offset;
  if (element_count(sizes) != 0) {
    for (size_t k = 0; k < sizes.size(); ++k) last += (sizes[k] - 1) * strides[k];
    auto capacity =
        static_cast<int64_t>(r.storage(t.storage).bytes / program::dtype_bytes(t.dtype));
    if (offset < 0 || last >= capacity) {
      throw c10::Error("setStorage: sizes and strides are out of bounds for the storage");
    }
  }
  t.sizes = std::move(sizes);
  t.strides = std::move(strides);
  t.offset = offset;
  return r.new_tensor(std::move(t));
}

int32_t view_as_shape(int32_t id, Ints shape, bool copy_allowed) {
  const TensorImpl t = Recorder::get().tensor(id);
  shape = resolve_shape(std::move(shape), element_count(t.sizes));
  if (auto strides = view_strides(t, shape)) return make_view(id, shape, *strides, t.offset);
  if (!copy_allowed) {
    throw c10::Error(
        "view size is not compatible with input tensor's size and stride (at least one dimension "
        "spans across two contiguous subspaces). Use .reshape(...) instead.");
  }
  return view_as_shape(contiguous_of(id), shape, false);
}

int32_t permuted(int32_t id, const Ints& dims) {
  const TensorImpl t = Recorder::get().tensor(id);
  if (dims.size() != t.sizes.size()) {
    throw c10::Error(
        "permute(sparse_coo): number of dimensions in the tensor input does not match");
  }
  Ints sizes, strides;
  std::vector<bool> seen(dims.size());
  for (int64_t d : dims) {
    auto k = static_cast<size_t>(wrap_dim(d, dims.size()));
    if (seen[k]) throw c10::Error("permute(): duplicate dims are not allowed.");
    seen[k] = true;
    sizes.push_back(t.sizes[k]);
    strides.push_back(t.strides[k]);
  }
  return make_view(id, sizes, strides, t.offset);
}

int32_t expanded(int32_t id, const Ints& shape) {
  const TensorImpl t = Recorder::get().tensor(id);
  if (shape.size() < t.sizes.size()) {
    throw c10::Error(
        "expand: the number of sizes provided must be greater or equal to the number of dimensions "
        "in the tensor");
  }
  size_t lead = shape.size() - t.sizes.size();
  Ints sizes = shape, strides(shape.size(), 0);
  for (size_t k = 0; k < shape.size(); ++k) {
    if (k < lead) {
      if (shape[k] < 0) throw c10::Error("expand: -1 isn't allowed in a leading dimension");
      continue;
    }
    int64_t have = t.sizes[k - lead];
    if (sizes[k] == -1) sizes[k] = have;
    if (have != 1 && have != sizes[k]) {
      throw c10::Error(fmt::format(
          "The expanded size of the tensor ({}) must match the existing size ({}) at non-singleton "
          "dimension {}.",
          sizes[k], have, k));
    }
    strides[k] = have == sizes[k] ? t.strides[k - lead] : 0;
  }
  return make_view(id, sizes, strides, t.offset);
}

std::optional<Outs> call_view(const Call& c) {
  auto it = table().find(c.name);
  if (it == table().end()) return std::nullopt;
  return it->second(c);
}

}  // namespace assay::host
