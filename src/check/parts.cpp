#include "check/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace assay::check {

namespace {

// The only launch, if its stores are known; else null.
PreparedLaunch* only_launch(Side& side) {
  PreparedLaunch* one = nullptr;
  for (const auto& launch : side.launches) {
    if (!launch) continue;
    if (one != nullptr) return nullptr;
    one = launch.get();
  }
  if (one == nullptr) return nullptr;
  const auto cover = one->coverage();
  return cover && (*cover)->complete ? one : nullptr;
}

}  // namespace

Parts by_cta(Side& side, const std::vector<OutputPair>& pairs,
             const std::vector<Positions>& positions, uint64_t together) {
  const Parts one{{positions}, {}};
  PreparedLaunch* launch = only_launch(side);
  if (launch == nullptr) return one;
  const auto cover = launch->coverage();
  std::map<uint32_t, std::vector<Positions>> parts;
  for (size_t k = 0; k < pairs.size(); ++k) {
    const program::TensorView& view = pairs[k].candidate;
    const auto written = (*cover)->buffers.find(view.buffer);
    if (written == (*cover)->buffers.end()) return one;
    for (const int64_t p : positions[k]) {
      const int64_t e = view.element(p);
      const auto writer = launch->writer(view.buffer, e);
      if (!writer || *writer == 0 || written->second.map.more(e) != nullptr) return one;
      auto& part = parts[*writer - 1];
      part.resize(pairs.size());
      part[k].push_back(p);
    }
  }
  if (parts.size() < 2 || parts.size() * launch->warp_instructions() < together) return one;
  Parts out;
  std::vector<std::pair<int64_t, uint32_t>> order;  // by the last position
  for (const auto& [cta, part] : parts) {
    out.ctas.push_back(cta);
    int64_t last = -1;
    for (const Positions& p : part)
      if (!p.empty()) last = p.back();
    order.push_back({last, cta});
  }
  std::sort(order.begin(), order.end());
  for (const auto& [last, cta] : order) out.parts.push_back(std::move(parts[cta]));
  return out;
}

Result<std::vector<Positions>> positions_of_cta(Side& side, const std::vector<OutputPair>& pairs,
                                                uint64_t cta) {
  std::vector<Positions> out(pairs.size());
  bool any = false;
  for (size_t k = 0; k < pairs.size(); ++k) {
    const program::TensorView& view = pairs[k].candidate;
    PreparedLaunch* launch = nullptr;
    for (const auto& one : side.launches) {
      if (!one) continue;
      ASSAY_TRY(const Coverage* cover, one->coverage());
      if (cover->buffers.count(view.buffer) != 0) launch = one.get();
    }
    if (launch == nullptr) continue;
    ASSAY_TRY(const tensor::ElemSet stored, launch->written_by(view.buffer, cta));
    if (view.is_contiguous()) {
      stored.for_each([&](int64_t e) {
        if (e >= view.offset && e - view.offset < view.numel()) out[k].push_back(e - view.offset);
      });
    } else {
      for (int64_t p = 0; p < view.numel(); ++p)
        if (stored.contains(view.element(p))) out[k].push_back(p);
    }
    any = any || !out[k].empty();
  }
  if (any) return out;
  return fail(DiagKind::Invalid, fmt::format("--at: CTA {} stores to no output", cta));
}

}  // namespace assay::check
