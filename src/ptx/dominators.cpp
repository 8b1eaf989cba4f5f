#include "ptx/dominators.h"

#include <algorithm>

namespace assay::ptx {
namespace {

class SemiNca {
 public:
  explicit SemiNca(const std::vector<std::vector<uint32_t>>& succs)
      : succs_(succs), number_(succs.size(), -1) {}

  std::vector<int32_t> run(uint32_t root) {
    depth_first(root);
    const auto n = static_cast<int32_t>(vertex_.size());
    std::vector<std::vector<int32_t>> preds(vertex_.size());
    for (int32_t v = 0; v < n; ++v) {
      for (uint32_t w : succs_[vertex_[static_cast<size_t>(v)]]) {
        preds[static_cast<size_t>(number_[w])].push_back(v);
      }
    }
    semi_.resize(vertex_.size());
    label_.resize(vertex_.size());
    ancestor_ = parent_;
    for (int32_t v = 0; v < n; ++v) semi_[v] = label_[v] = v;
    std::vector<int32_t> idom = parent_;
    for (int32_t v = n - 1; v > 0; --v) {
      semi_[v] = parent_[v];
      for (int32_t p : preds[v]) semi_[v] = std::min(semi_[v], semi_[eval(p, v)]);
      label_[v] = v;
    }
    for (int32_t v = 1; v < n; ++v) {
      while (idom[v] > semi_[v]) idom[v] = idom[idom[v]];
    }
    std::vector<int32_t> out(succs_.size(), -1);
    for (int32_t v = 1; v < n; ++v) {
      out[vertex_[v]] = static_cast<int32_t>(vertex_[static_cast<size_t>(idom[v])]);
    }
    return out;
  }

 private:
  // Preorder numbers and tree parents.
  void depth_first(uint32_t root) {
    struct Frame {
      uint32_t v;
      size_t next;
    };
    std::vector<Frame> stack;
    const auto visit = [&](uint32_t v, int32_t parent) {
      number_[v] = static_cast<int32_t>(vertex_.size());
      vertex_.push_back(v);
      parent_.push_back(parent);
      stack.push_back({v, 0});
    };
    visit(root, -1);
    while (!stack.empty()) {
      Frame& top = stack.back();
      if (top.next == succs_[top.v].size()) {
        stack.pop_back();
        continue;
      }
      const uint32_t w = succs_[top.v][top.next++];
      if (number_[w] < 0) visit(w, number_[top.v]);
    }
  }

  // Vertex of least semidominator on the path from p up to, not including, the first vertex not yet
  // processed; vertices above `current` are processed. Compresses the path.
  int32_t eval(int32_t p, int32_t current) {
    if (p <= current) return p;
    path_.clear();
    int32_t v = p;
    while (ancestor_[v] > current) {
      path_.push_back(v);
      v = ancestor_[v];
    }
    // v is the highest processed vertex of the path; its own label stands.
    int32_t best = label_[v];
    const int32_t top = ancestor_[v];
    while (!path_.empty()) {
      const int32_t w = path_.back();
      path_.pop_back();
      if (semi_[best] < semi_[label_[w]]) label_[w] = best;
      best = label_[w];
      ancestor_[w] = top;
    }
    return best;
  }

  const std::vector<std::vector<uint32_t>>& succs_;
  std::vector<int32_t> number_;
  std::vector<uint32_t> vertex_;
  std::vector<int32_t> parent_, semi_, label_, ancestor_, path_;
};

}  // namespace

std::vector<int32_t> dominators(const std::vector<std::vector<uint32_t>>& succs, uint32_t root) {
  if (root >= succs.size()) return std::vector<int32_t>(succs.size(), -1);
  return SemiNca(succs).run(root);
}

}  // namespace assay::ptx
