#include "check/order.h"

#include <set>

namespace assay::check {
namespace {

struct Touched {
  std::set<int> reads, writes;
};

Touched touched(Side& side, size_t s) {
  Touched t;
  const auto& what = side.program->steps[s].what;
  if (const auto* launch = std::get_if<program::LaunchStep>(&what)) {
    for (const auto& slot : launch->slots)
      if (slot.kind == program::ParamSlot::Kind::Pointer && slot.buffer >= 0)
        t.reads.insert(slot.buffer);
    auto cover = side.launches[s]->coverage();
    if (cover && (*cover)->complete)
      for (const auto& [buffer, writers] : (*cover)->buffers) t.writes.insert(buffer);
    else
      t.writes = t.reads;
  } else if (const auto* op = std::get_if<program::OpStep>(&what)) {
    for (const program::Arg& a : op->args) {
      if (const auto* v = std::get_if<program::TensorView>(&a)) t.reads.insert(v->buffer);
      if (const auto* list = std::get_if<std::vector<program::TensorView>>(&a))
        for (const auto& v : *list) t.reads.insert(v.buffer);
    }
    for (const auto& v : op->outputs) t.writes.insert(v.buffer);
  } else if (const auto* copy = std::get_if<program::CopyStep>(&what)) {
    t.reads.insert(copy->src);
    t.writes.insert(copy->dst);
  } else if (const auto* fill = std::get_if<program::FillStep>(&what)) {
    t.writes.insert(fill->dst);
  }
  t.reads.erase(-1);
  t.writes.erase(-1);
  return t;
}

int shared_buffer(const Touched& a, const Touched& b) {
  for (int w : a.writes)
    if (b.writes.count(w) != 0 || b.reads.count(w) != 0) return w;
  for (int w : b.writes)
    if (a.reads.count(w) != 0) return w;
  return -1;
}

}  // namespace

std::vector<Unordered> unordered_steps(Side& side) {
  const auto& steps = side.program->steps;
  std::vector<std::set<size_t>> before(steps.size());  // steps that are known to end before
  std::vector<Touched> access;
  std::vector<Unordered> out;
  bool all_implicit = true;
  for (const auto& s : steps) all_implicit = all_implicit && s.implicit_order;
  if (all_implicit) return out;
  for (size_t s = 0; s < steps.size(); ++s) {
    access.push_back(touched(side, s));
    auto add = [&](size_t k) {
      before[s].insert(k);
      before[s].insert(before[k].begin(), before[k].end());
    };
    if (steps[s].implicit_order) {
      for (size_t k = 0; k < s; ++k) before[s].insert(k);
    } else {
      for (int k : steps[s].after)
        if (k >= 0 && static_cast<size_t>(k) < s) add(static_cast<size_t>(k));
    }
    for (size_t k = 0; k < s; ++k) {
      if (before[s].count(k) != 0) continue;
      const int buffer = shared_buffer(access[k], access[s]);
      if (buffer >= 0) out.push_back({k, s, buffer});
    }
  }
  return out;
}

std::vector<size_t> unjoined_writers(Side& side, int buffer) {
  std::vector<size_t> out;
  for (int step : side.program->unjoined) {
    const auto s = static_cast<size_t>(step);
    bool writes = false;
    if (side.launches[s]) {  // stores that were seen: a pointer alone refutes nothing
      const auto cover = side.launches[s]->coverage();
      writes = cover && (*cover)->buffers.count(buffer) != 0;
    } else {
      writes = touched(side, s).writes.count(buffer) != 0;
    }
    if (writes) out.push_back(s);
  }
  return out;
}

}  // namespace assay::check
