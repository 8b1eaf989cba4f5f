#include "check/outputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

namespace assay::check {

using program::TensorView;

std::vector<int64_t> unravel(int64_t position, const std::vector<int64_t>& shape) {
  std::vector<int64_t> index(shape.size());
  for (size_t k = shape.size(); k-- > 0;) {
    index[k] = shape[k] == 0 ? 0 : position % shape[k];
    if (shape[k] != 0) position /= shape[k];
  }
  return index;
}

namespace {

std::vector<int64_t> squeezed(const std::vector<int64_t>& shape) {
  std::vector<int64_t> out;
  for (int64_t d : shape)
    if (d != 1) out.push_back(d);
  return out;
}

LocationResult form_mismatch(const std::string& name, int output, std::string reason) {
  LocationResult r;
  r.location.output = output;
  r.location.output_name = name;
  r.kind = VerdictKind::Refuted;
  r.cls = "shape";
  r.reason = std::move(reason);
  return r;
}

void pair_one(const std::string& name, const TensorView& c, const TensorView& r, int index,
              std::vector<OutputPair>& pairs, std::vector<Finding>& findings,
              std::vector<LocationResult>& refuted) {
  if (c.shape != r.shape) {
    const auto text = fmt::format("{} has shape [{}], the reference [{}]", name,
                                  fmt::join(c.shape, ", "), fmt::join(r.shape, ", "));
    if (squeezed(c.shape) != squeezed(r.shape)) {
      refuted.push_back(form_mismatch(name, index, text));
      return;
    }
    findings.push_back({"shape-differs", Severity::Medium, text + " (broadcastable)", {}});
  }
  if (c.dtype != r.dtype)
    findings.push_back({"dtype-differs",
                        Severity::Medium,
                        fmt::format("{} has dtype {}, the reference {}", name, dtype_name(c.dtype),
                                    dtype_name(r.dtype)),
                        {}});
  pairs.push_back({name, c, r, index, {}});
}

// May a launch write the buffer? A launch whose stores depend on data may write all it points to.
bool may_write(const Side& side, size_t step, int buffer) {
  const auto cover = side.launches[step]->coverage();
  if (!cover) return false;  // nothing of it runs
  if ((*cover)->complete || (*cover)->buffers.count(buffer) != 0)
    return (*cover)->buffers.count(buffer) != 0;
  const auto& launch = std::get<program::LaunchStep>(side.program->steps[step].what);
  return std::any_of(launch.slots.begin(), launch.slots.end(), [&](const auto& slot) {
    return slot.kind == program::ParamSlot::Kind::Pointer && slot.buffer == buffer;
  });
}

// Arguments that operators, copies and fills write, as recorded, and those that kernels write.
std::vector<TensorView> changed_arguments(const Side& side) {
  std::vector<TensorView> out = side.program->mutated;
  for (const SymbolInfo& s : side.symbols) {
    const int buffer = s.view.buffer;
    auto same = [&](const TensorView& v) { return v.buffer == buffer; };
    if (buffer < 0 || std::any_of(out.begin(), out.end(), same)) continue;
    for (size_t k = 0; k < side.launches.size(); ++k) {
      if (!side.launches[k] || !may_write(side, k, buffer)) continue;
      out.push_back(s.view);
      break;
    }
  }
  return out;
}

uint64_t symbol_of(const Side& side, int buffer) {
  if (buffer < 0) return 0;
  const auto& s = side.sources[static_cast<size_t>(buffer)];
  return s.kind == term::Source::Kind::Symbol ? s.symbol : 0;
}

}  // namespace

std::vector<OutputPair> pair_outputs(const Side& candidate, const Side& reference,
                                     std::vector<Finding>& findings,
                                     std::vector<LocationResult>& refuted) {
  std::vector<OutputPair> pairs;
  const auto& c = *candidate.program;
  const auto& r = *reference.program;
  if (c.outputs.size() != r.outputs.size()) {
    refuted.push_back(
        form_mismatch("outputs", 0,
                      fmt::format("the candidate returns {} tensors, the reference {}",
                                  c.outputs.size(), r.outputs.size())));
  }
  for (size_t k = 0; k < std::min(c.outputs.size(), r.outputs.size()); ++k) {
    const std::string name = r.outputs.size() == 1 ? "output" : fmt::format("output[{}]", k);
    pair_one(name, c.outputs[k], r.outputs[k], static_cast<int>(k), pairs, findings, refuted);
    const uint64_t aliased = symbol_of(candidate, c.outputs[k].buffer);
    if (aliased == 0 || symbol_of(reference, r.outputs[k].buffer) != 0) continue;
    for (const SymbolInfo& s : candidate.symbols)
      if (s.symbol == aliased)
        findings.push_back(
            {"output-aliases-input",
             Severity::Medium,
             fmt::format("{} shares the memory of {}, in the reference it does not", name, s.name),
             {}});
  }
  // Mutated arguments: whatever either side writes is compared with the other's contents.
  std::map<uint64_t, std::pair<const TensorView*, const TensorView*>> mutated;
  const std::vector<TensorView> by_candidate = changed_arguments(candidate),
                                by_reference = changed_arguments(reference);
  for (const TensorView& v : by_candidate) mutated[symbol_of(candidate, v.buffer)].first = &v;
  for (const TensorView& v : by_reference) mutated[symbol_of(reference, v.buffer)].second = &v;
  int index = static_cast<int>(r.outputs.size());
  for (const auto& entry : mutated) {
    const uint64_t symbol = entry.first;  // clang 14 captures no structured bindings
    const auto& views = entry.second;
    if (symbol == 0) continue;
    auto find = [&](const Side& side) -> const SymbolInfo* {
      for (const SymbolInfo& s : side.symbols)
        if (s.symbol == symbol) return &s;
      return nullptr;
    };
    const SymbolInfo* ci = find(candidate);
    const SymbolInfo* ri = find(reference);
    if (ci == nullptr || ri == nullptr) continue;
    const size_t before = pairs.size();
    pair_one(ri->name, views.first != nullptr ? *views.first : ci->view,
             views.second != nullptr ? *views.second : ri->view, index++, pairs, findings, refuted);
    if (pairs.size() == before) continue;
    for (const program::Argument& a : r.arguments)
      if (const auto* t = std::get_if<TensorView>(&a.value);
          t != nullptr && t->buffer == ri->view.buffer)
        pairs.back().argument = a.source;
  }
  return pairs;
}

namespace {

// Writers of the candidate's output over all steps: an operator, copy or fill counts as whole.
struct BufferWriters {
  bool by_step = false;                   // some non-launch step writes the buffer
  std::vector<const Coverage*> covers;    // launches that do
  std::vector<PreparedLaunch*> launches;  // the same
  bool sampled() const {
    return std::any_of(covers.begin(), covers.end(), [](const Coverage* c) { return c->sampled; });
  }
};

Result<BufferWriters> writers_of(Side& side, int buffer) {
  BufferWriters w;
  for (size_t s = 0; s < side.program->steps.size(); ++s) {
    if (side.launches[s]) {
      ASSAY_TRY(const Coverage* cover, side.launches[s]->coverage());
      if (cover->complete && cover->buffers.count(buffer) == 0) continue;
      w.covers.push_back(cover);
      w.launches.push_back(side.launches[s].get());
    } else if (side.ops[s]) {
      for (const TensorView& v : std::get<program::OpStep>(side.program->steps[s].what).outputs)
        w.by_step = w.by_step || v.buffer == buffer;
    } else if (const auto* c = std::get_if<program::CopyStep>(&side.program->steps[s].what)) {
      w.by_step = w.by_step || c->dst == buffer;
    } else if (const auto* f = std::get_if<program::FillStep>(&side.program->steps[s].what)) {
      w.by_step = w.by_step || f->dst == buffer;
    }
  }
  return w;
}

// Corners, neighbours of corners along each dimension, and an even spread.
Positions spread(const std::vector<int64_t>& shape, int64_t numel, int64_t limit) {
  std::set<int64_t> out;
  if (numel <= 0) return {};
  if (numel <= limit) {
    for (int64_t p = 0; p < numel; ++p) out.insert(p);
    return {out.begin(), out.end()};
  }
  out.insert({0, numel - 1});
  int64_t stride = 1;
  for (size_t k = shape.size(); k-- > 0;) {
    for (int64_t i :
         {int64_t{1}, shape[k] - 2, shape[k] - 1, shape[k] / 2, int64_t{31}, int64_t{32}})
      if (i >= 0 && i < shape[k]) out.insert({i * stride, numel - 1 - i * stride});
    stride *= shape[k];
  }
  for (int64_t k = 1; static_cast<int64_t>(out.size()) < limit && k < limit; ++k)
    out.insert(static_cast<int64_t>(static_cast<double>(numel - 1) *
                                    std::fmod(static_cast<double>(k) * 0.6180339887498949, 1.0)));
  Positions all(out.begin(), out.end());
  if (static_cast<int64_t>(all.size()) > limit) {
    Positions few;
    for (int64_t k = 0; k < limit; ++k)
      few.push_back(all[static_cast<size_t>(k) * (all.size() - 1) /
                        static_cast<size_t>(std::max<int64_t>(1, limit - 1))]);
    few.erase(std::unique(few.begin(), few.end()), few.end());
    return few;
  }
  return all;
}

// Without the map of the whole grid: a spread of positions whose writers cannot be predicted, and
// a run of all stores that looks for these.
Result<Unwritten> probe_unwritten(const BufferWriters& w, const OutputPair& pair) {
  constexpr int64_t kProbes = 64, kShown = 4;
  const TensorView& v = pair.candidate;
  Unwritten out;
  std::vector<int64_t> elements;
  for (int64_t p : spread(pair.reference.shape, v.numel(), kProbes)) {
    bool known = false;
    for (PreparedLaunch* launch : w.launches) {
      auto writer = launch->writer(v.buffer, v.element(p));
      known = known || (writer && *writer != 0);
    }
    if (known) continue;
    out.first.push_back(p);
    elements.push_back(v.element(p));
    if (static_cast<int64_t>(elements.size()) == kShown) break;
  }
  if (elements.empty()) return out;
  for (PreparedLaunch* launch : w.launches) {
    auto any = launch->any_writes(v.buffer, elements);
    if (!any || *any) return Unwritten{};  // decided at the locations
  }
  out.count = static_cast<int64_t>(elements.size());
  return out;
}

}  // namespace

Result<Unwritten> find_unwritten(Side& side, const OutputPair& pair) {
  Unwritten out;
  const TensorView& v = pair.candidate;
  if (v.buffer < 0) return out;
  if (side.sources[static_cast<size_t>(v.buffer)].kind != term::Source::Kind::Poison) return out;
  ASSAY_TRY(const BufferWriters w, writers_of(side, v.buffer));
  if (w.by_step) return out;
  for (const Coverage* c : w.covers)
    if (!c->complete) return out;  // decided at the locations
  if (w.sampled()) return probe_unwritten(w, pair);
  const int64_t n = v.numel();
  for (const Coverage* c : w.covers) {  // the usual case: one launch writes all of the buffer
    const auto& b = c->buffers.at(v.buffer);
    if (b.map.written() == b.elements) return out;
  }
  for (int64_t p = 0; p < n; ++p) {
    const int64_t e = v.element(p);
    const bool written = std::any_of(w.covers.begin(), w.covers.end(), [&](const Coverage* c) {
      return c->buffers.at(v.buffer).map.writer(e) != 0;
    });
    if (written) continue;
    if (out.first.size() < 4) out.first.push_back(p);
    ++out.count;
  }
  return out;
}

namespace {

// The CTAs whose outputs are checked: first, last, one interior, one for each distinct amount
// written.
std::set<uint32_t> representative_ctas(const Coverage::BufferWriters& w) {
  std::map<uint32_t, int64_t> amount;
  w.map.for_each_run([&](int64_t, int64_t n, uint32_t cta) { amount[cta] += n; });
  std::set<uint32_t> out;
  if (amount.empty()) return out;
  out.insert(amount.begin()->first);
  out.insert(amount.rbegin()->first);
  auto middle = amount.begin();
  std::advance(middle, amount.size() / 2);
  out.insert(middle->first);
  std::set<int64_t> sizes;
  for (const auto& [cta, n] : amount)
    if (sizes.size() < 6 && sizes.insert(n).second) out.insert(cta);
  return out;
}

}  // namespace

Result<LocationPlan> choose_locations(Side& side, const std::vector<OutputPair>& pairs, bool whole,
                                      int64_t budget) {
  LocationPlan plan;
  plan.whole = true;
  const int64_t share =
      std::max<int64_t>(16, budget / std::max<int64_t>(1, static_cast<int64_t>(pairs.size())));
  for (const OutputPair& pair : pairs) {
    const int64_t n = pair.numel();
    if (whole || n <= share) {
      plan.outputs.push_back(spread(pair.reference.shape, n, n));
      continue;
    }
    plan.whole = false;
    std::set<int64_t> chosen;
    ASSAY_TRY(const BufferWriters w, writers_of(side, pair.candidate.buffer));
    if (!w.covers.empty() && pair.candidate.is_contiguous()) {
      const Coverage* cover = w.covers.back();
      auto it = cover->buffers.find(pair.candidate.buffer);
      if (it != cover->buffers.end()) {
        const std::set<uint32_t> ctas = representative_ctas(it->second);
        std::map<uint32_t, Positions> by_cta;
        Positions untouched;  // left as they were before the launch
        const int64_t offset = pair.candidate.offset;
        int64_t next = 0;
        auto leave = [&](int64_t to) {
          for (int64_t p = std::max<int64_t>(0, next); p < std::min(to, n); ++p) {
            if (untouched.size() < 8) {
              untouched.push_back(p);
            } else {
              untouched.back() = std::min(to, n) - 1;
              break;
            }
          }
        };
        it->second.map.for_each_run([&](int64_t first, int64_t count, uint32_t cta) {
          leave(first - offset);
          next = first - offset + count;
          if (ctas.count(cta) == 0) return;
          for (int64_t e = first; e < first + count; ++e)
            if (e >= offset && e < offset + n) by_cta[cta].push_back(e - offset);
        });
        leave(n);
        if (cover->sampled) untouched.clear();  // others may write them
        chosen.insert(untouched.begin(), untouched.end());
        const size_t each = static_cast<size_t>(std::max<int64_t>(
            8, share / std::max<int64_t>(1, static_cast<int64_t>(by_cta.size()))));
        for (const auto& [cta, ps] : by_cta) {
          if (ps.size() <= each) {
            chosen.insert(ps.begin(), ps.end());
          } else {  // its ends whole, the rest evenly
            const size_t half = each / 4;
            chosen.insert(ps.begin(), ps.begin() + static_cast<int64_t>(half));
            chosen.insert(ps.end() - static_cast<int64_t>(half), ps.end());
            for (size_t k = 0; k < each - 2 * half; ++k)
              chosen.insert(ps[k * (ps.size() - 1) / std::max<size_t>(1, each - 2 * half - 1)]);
          }
        }
      }
    }
    if (chosen.empty()) {
      const Positions s = spread(pair.reference.shape, n, std::min<int64_t>(share, 256));
      chosen.insert(s.begin(), s.end());
    }
    plan.outputs.emplace_back(chosen.begin(), chosen.end());
  }
  return plan;
}

Wants wants_of(const std::vector<OutputPair>& pairs, const std::vector<Positions>& positions,
               bool candidate) {
  Wants w;
  for (size_t k = 0; k < pairs.size(); ++k) {
    const TensorView& v = candidate ? pairs[k].candidate : pairs[k].reference;
    for (int64_t p : positions[k]) w[v.buffer].insert(v.element(p));
  }
  return w;
}

}  // namespace assay::check
