#include "check/congruent.h"

#include <algorithm>
#include <tuple>

#include "check/classes.h"
#include "check/contents.h"
#include "check/lemma.h"

namespace assay::check {

namespace {

constexpr int64_t kLong = 8;  // terms of a result
constexpr uint64_t kSymbol = uint64_t{0x1e33b} << 40;

using Key = std::tuple<int, int64_t, int64_t>;  // content of a buffer, and elements of it

struct Long {
  Key key;
  Cut cut;
  SymbolInfo info;
};

SymbolInfo info_of(const Intermediate& place, uint64_t symbol) {
  SymbolInfo info;
  info.symbol = symbol;
  info.name = place.name;
  info.elements = static_cast<uint64_t>(place.view.numel());
  info.view = place.view;
  info.dtype = place.view.dtype;
  return info;
}

// Results of operators that are long sums or the like, as the end of their step leaves them.
std::vector<Long> long_results(Side& side, ContentNames& names) {
  const auto contents = op_contents(side, {}, names);
  std::vector<Long> out;
  for (const Intermediate& place : places_of_operators(side)) {
    const program::TensorView& v = place.view;
    const auto name = contents.find({place.at.step, v.buffer});
    if (v.numel() < 2 || !program::dtype_is_float(v.dtype) || name == contents.end() ||
        !is_result(side, place))
      continue;
    const term::NestShape& shape = *side.ops[place.at.step]->shapes[place.at.nest];
    if (shape.scan || shape.reduction_count < kLong) continue;
    // By content: what one side computes twice is one symbol.
    const uint64_t symbol = kSymbol + static_cast<uint64_t>(name->second);
    out.push_back({{name->second, v.offset, v.numel()},
                   {place.at, v.buffer, v.offset, v.numel(), symbol},
                   info_of(place, symbol)});
  }
  return out;
}

}  // namespace

CongruentCuts congruent_cuts(Side& candidate, Side& reference) {
  ContentNames names;
  const auto ours = long_results(candidate, names), theirs = long_results(reference, names);
  CongruentCuts out;
  const auto share = [](const Long& x, const std::vector<Long>& others) {
    return std::any_of(others.begin(), others.end(), [&](auto& o) { return o.key == x.key; });
  };
  for (const Long& x : ours)
    if (share(x, theirs)) out.candidate.push_back(x.cut);
  for (const Long& x : theirs) {
    if (!share(x, ours)) continue;
    out.reference.push_back(x.cut);
    const bool known = std::any_of(out.symbols.begin(), out.symbols.end(),
                                   [&](auto& s) { return s.symbol == x.info.symbol; });
    if (!known) out.symbols.push_back(x.info);
  }
  return out;
}

}  // namespace assay::check
