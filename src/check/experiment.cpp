#include "check/experiment.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <memory>
#include <tuple>

#include "base/ieee.h"

namespace assay::check {
namespace {

Draw integer_draw(const SymbolInfo& s) {
  Draw d;
  d.kind = Draw::Kind::Integers;
  d.lo = s.range ? s.range->first : 0;
  d.hi = s.range ? s.range->second + 1 : 2;
  return d;
}

}  // namespace

Experiment::Experiment(const std::vector<SymbolInfo>& symbols, uint64_t seed)
    : symbols_(symbols), seed_(seed) {
  for (const SymbolInfo& s : symbols) {
    info_[s.symbol] = &s;
    draws_[s.symbol] = dtype_is_float(s.dtype) ? Draw{} : integer_draw(s);
  }
}

Experiment Experiment::from_witness(const std::vector<SymbolInfo>& symbols,
                                    const program::Witness& w) {
  Experiment e(symbols, w.seed);
  for (const program::WitnessInput& input : w.inputs) {
    e.set(input.number, input.draw);
    for (const auto& [element, value] : input.overrides)
      e.override_value(input.number, static_cast<int64_t>(element), value);
  }
  return e;
}

void Experiment::set_all(const Draw& draw) {
  id_ = next_id();
  for (const SymbolInfo& s : symbols_)
    if (dtype_is_float(s.dtype)) draws_[s.symbol] = draw;
}

void Experiment::override_value(uint64_t symbol, int64_t element, double value) {
  overrides_[{symbol, element}] = value;
}

double Experiment::value(uint64_t symbol, int64_t element) const {
  auto info = info_.find(symbol);
  if (info == info_.end()) return 0;
  const Ty type = program::dtype_ty(info->second->dtype);
  const auto it = overrides_.empty() ? overrides_.end() : overrides_.find({symbol, element});
  if (it == overrides_.end()) return drawn(symbol, element, *info->second);
  if (!is_float(type)) return it->second;
  return ieee_to_double(type, ieee_from_double(type, it->second));
}

uint64_t Experiment::next_id() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

// The drawn values of 64 elements, as far as they were asked for.
struct Experiment::Block {
  double at[64];
  uint64_t known = 0;
};

namespace {

// What one thread drew last: both sides read an input several times, and so do experiments that
// differ in overrides alone. Of one experiment at a time.
template <class Block>
class Drawn {
 public:
  // The block of elements [number * 64, ... + 64), or null: more was drawn than is kept.
  Block* block(uint64_t id, uint64_t symbol, int64_t number) {
    if (id != id_) {
      id_ = id;
      tables_.clear();
      table_ = nullptr;
      used_ = 0;
    }
    if (table_ == nullptr || symbol != symbol_) table_ = &tables_[symbol_ = symbol];
    const auto top = static_cast<size_t>(number) / kTop;
    if (top >= table_->size()) table_->resize(top + 1);
    auto& places = (*table_)[top];
    if (places == nullptr) places = std::make_unique<uint32_t[]>(kTop);
    uint32_t& place = places[static_cast<size_t>(number) % kTop];
    if (place == 0) {
      if (used_ == kMost) return nullptr;
      if (used_ == groups_.size() * kGroup) groups_.push_back(std::make_unique<Block[]>(kGroup));
      place = static_cast<uint32_t>(++used_);
      at(place)->known = 0;
    }
    return at(place);
  }

 private:
  static constexpr size_t kTop = 1024, kGroup = 1024;
  static constexpr size_t kMost = size_t{1} << 18;  // 136 MB
  Block* at(uint32_t place) { return &groups_[(place - 1) / kGroup][(place - 1) % kGroup]; }

  uint64_t id_ = 0, symbol_ = 0;
  std::unordered_map<uint64_t, std::vector<std::unique_ptr<uint32_t[]>>> tables_;
  std::vector<std::unique_ptr<uint32_t[]>>* table_ = nullptr;
  std::vector<std::unique_ptr<Block[]>> groups_;
  size_t used_ = 0;
};

}  // namespace

Experiment::Block* Experiment::block(uint64_t symbol, int64_t element) const {
  thread_local Drawn<Block> drawn;
  return element < 0 ? nullptr : drawn.block(id_, symbol, element >> 6);
}

void Experiment::draw(uint64_t symbol, const SymbolInfo& info, int64_t first, size_t count,
                      double* out) const {
  program::draw_values(seed_, symbol, draws_.at(symbol), info.dtype, static_cast<uint64_t>(first),
                       count, out);
}

// Cones of one location ask for elements one by one: where the element before was asked for, those
// behind it will be too.
double Experiment::drawn(uint64_t symbol, int64_t element, const SymbolInfo& info) const {
  Block* b = block(symbol, element);
  double value = 0;
  if (b == nullptr) {
    draw(symbol, info, element, 1, &value);
    return value;
  }
  const int at = static_cast<int>(element & 63);
  if (((b->known >> at) & 1) != 0) return b->at[at];
  const bool run = at > 0 && ((b->known >> (at - 1)) & 1) != 0;
  const int count = run ? std::min(32, 64 - at) : 1;
  draw(symbol, info, element, static_cast<size_t>(count), b->at + at);
  b->known |= (~uint64_t{0} >> (64 - count)) << at;
  return b->at[at];
}

// `count` <= 32 elements from `first` on, without overrides.
void Experiment::drawn_run(uint64_t symbol, int64_t first, int count, const SymbolInfo& info,
                           double* out) const {
  while (count > 0) {
    const int at = static_cast<int>(first & 63), n = std::min(count, 64 - at);
    const uint64_t bits = (~uint64_t{0} >> (64 - n)) << at;
    Block* b = block(symbol, first);
    if (b == nullptr) {
      draw(symbol, info, first, static_cast<size_t>(n), out);
    } else {
      if ((b->known & bits) != bits) {
        // A row that begins a half of the block; the other half may never be asked for.
        const int from = at & ~31, to = (at + n + 31) & ~31;
        draw(symbol, info, first - at + from, static_cast<size_t>(to - from), b->at + from);
        b->known |= (~uint64_t{0} >> (64 - (to - from))) << from;
      }
      std::copy(b->at + at, b->at + at + n, out);
    }
    first += n, out += n, count -= n;
  }
}

void Experiment::values(uint64_t symbol, Ty type, const int64_t* elements, uint32_t mask,
                        double* out) const {
  (void)type;
  auto info = info_.find(symbol);
  bool run = mask == 0xffffffffu && info != info_.end() && elements[0] >= 0;
  for (int l = 1; l < term::kRow && run; ++l) run = elements[l] == elements[0] + l;
  if (!run) {
    for (uint32_t m = mask; m != 0; m &= m - 1) {
      const int l = __builtin_ctz(m);
      out[l] = value(symbol, elements[l]);
    }
    return;
  }
  drawn_run(symbol, elements[0], term::kRow, *info->second, out);
  if (overrides_.empty()) return;
  for (auto it = overrides_.lower_bound({symbol, elements[0]});
       it != overrides_.end() && it->first.first == symbol && it->first.second <= elements[31];
       ++it)
    out[it->first.second - elements[0]] = value(symbol, it->first.second);
}

std::optional<Experiment> Experiment::folded() const {
  Experiment out = *this;
  out.id_ = next_id();
  bool any = false;
  for (const SymbolInfo& s : symbols_) {
    Draw& d = out.draws_.at(s.symbol);
    if (!dtype_is_float(s.dtype) || d.lo >= 0) continue;
    any = true;
    if (d.kind == Draw::Kind::Uniform && d.hi > 0) {
      d.hi = std::max(-d.lo, d.hi);
      d.lo = 0;
    } else if (d.kind == Draw::Kind::Uniform) {
      std::tie(d.lo, d.hi) = std::make_pair(-d.hi, -d.lo);
    } else {
      d.lo = d.kind == Draw::Kind::Grid ? 0 : -d.lo;
    }
  }
  for (auto& [key, value] : out.overrides_) {
    any = any || value < 0;
    value = std::fabs(value);
  }
  if (!any) return std::nullopt;
  out.name += ", folded to positive values";
  return out;
}

Witness Experiment::witness() const {
  Witness w;
  w.seed = seed_;
  w.inputs.emplace();
  w.inputs->seed = seed_;
  for (const SymbolInfo& s : symbols_) {
    program::WitnessInput input;
    input.source = s.source;
    input.number = s.symbol;
    input.view = s.view;
    input.elements = s.elements;
    input.draw = draws_.at(s.symbol);
    for (const auto& [key, value] : overrides_)
      if (key.first == s.symbol)
        input.overrides.emplace_back(static_cast<uint64_t>(key.second), value);
    w.inputs->inputs.push_back(std::move(input));
  }
  for (const SymbolInfo& s : symbols_) {
    const Draw& d = draws_.at(s.symbol);
    InputDraw draw;
    draw.argument = static_cast<int>(s.argument);
    draw.name = s.name;
    switch (d.kind) {
      case Draw::Kind::Uniform:
        draw.distribution = fmt::format("uniform({}, {})", d.lo, d.hi);
        break;
      case Draw::Kind::Grid:
        draw.distribution = fmt::format("{} + {} * integers(0, {})", d.lo, d.step, d.count);
        break;
      case Draw::Kind::Constant:
        draw.distribution = fmt::format("constant({})", d.lo);
        break;
      case Draw::Kind::Integers:
        draw.distribution = fmt::format("integers({}, {})", d.lo, d.hi);
        break;
    }
    if (d.band.extent != 0)
      draw.distribution +=
          fmt::format(", times {} where index {} to {} of {} (every {} elements)", d.band.factor,
                      d.band.first, d.band.last - 1, d.band.extent, d.band.inner);
    draw.shift = d.lo;
    draw.scale = d.kind == Draw::Kind::Grid ? d.step : d.hi - d.lo;
    w.draws.push_back(std::move(draw));
  }
  for (const auto& [key, value] : overrides_) {
    const SymbolInfo* s = info_.at(key.first);
    Override o;
    o.argument = static_cast<int>(s->argument);
    o.name = s->name;
    int64_t rest = key.second - s->view.offset;
    for (size_t d = 0; d < s->view.shape.size(); ++d) {
      const int64_t stride = std::max<int64_t>(1, s->view.strides[d]);
      o.index.push_back(rest / stride);
      rest %= stride;
    }
    o.value = value;
    w.overrides.push_back(std::move(o));
  }
  return w;
}

namespace {

// The first half of every float argument negative, along its outermost (or innermost) dimension of
// more than one; nothing if that makes no difference between the two.
std::optional<Experiment> one_half_negative(const std::vector<SymbolInfo>& symbols, uint64_t seed,
                                            bool outer) {
  Experiment e(symbols, seed);
  e.name = outer ? "the first half of every argument negative"
                 : "the first half of every argument's rows negative";
  bool any = false;
  for (const SymbolInfo& s : symbols) {
    if (!dtype_is_float(s.dtype)) continue;
    Draw draw{Draw::Kind::Uniform, 0.5, 1, 1, 1, {}};
    std::vector<size_t> wide;
    for (size_t d = 0; d < s.view.shape.size(); ++d)
      if (s.view.shape[d] > 1 && s.view.strides[d] > 0) wide.push_back(d);
    if (!wide.empty()) {
      const size_t d = outer ? wide.front() : wide.back();
      draw.band = {s.view.strides[d], s.view.shape[d], 0, s.view.shape[d] / 2, -1};
      any = any || outer || wide.size() > 1;
    }
    e.set(s.symbol, draw);
  }
  if (!any) return std::nullopt;
  return e;
}

}  // namespace

std::vector<Experiment> structured_experiments(const std::vector<SymbolInfo>& symbols,
                                               const std::vector<Suspect>& suspects,
                                               const std::vector<Suspect>& spots,
                                               const std::vector<double>& boundaries,
                                               uint64_t seed) {
  std::vector<Experiment> out;
  auto add = [&](const char* name, const Draw& draw) -> Experiment& {
    Experiment e(symbols, seed + out.size());
    e.set_all(draw);
    e.name = name;
    out.push_back(std::move(e));
    return out.back();
  };
  using K = Draw::Kind;
  auto zeros = [&](bool parameters) {  // zeros in one argument, the others positive
    for (const SymbolInfo& s : symbols) {
      if (!dtype_is_float(s.dtype) || s.is_parameter != parameters) continue;
      add("zeros and ones in one argument", {K::Uniform, 0.1, 2, 1, 1})
          .set(s.symbol, {K::Grid, 0, 0, 1, 2});
      add("one argument zero", {K::Uniform, 0.1, 2, 1, 1}).set(s.symbol, {K::Constant, 0, 0, 1, 1});
    }
  };
  add("uniform in [-1, 1)", {K::Uniform, -1, 1, 1, 1});
  add("uniform in [-2, -0.1)", {K::Uniform, -2, -0.1, 1, 1});
  add("uniform in [0.1, 2)", {K::Uniform, 0.1, 2, 1, 1});
  // Arguments that vary together: what pairs elements of two of them is told from what pairs all.
  for (const bool outer : {true, false}) {
    const std::optional<Experiment> halves = one_half_negative(symbols, seed + out.size(), outer);
    if (halves) out.push_back(*halves);
  }
  // Constants added under roots and to divisors show where inputs are small and nothing else is.
  for (const double size : {3e-3, 1e-4}) {
    Experiment& e = add("small inputs, ordinary parameters", {K::Uniform, -size, size, 1, 1});
    for (const SymbolInfo& s : symbols)
      if (dtype_is_float(s.dtype) && s.is_parameter) e.set(s.symbol, {K::Uniform, 0.5, 2, 1, 1});
  }
  for (size_t k = 0; k < std::min<size_t>(suspects.size(), 8); ++k) {
    Experiment& e = add("one element that only one side reads", {K::Uniform, -0.5, 0.5, 1, 1});
    e.override_value(suspects[k].symbol, suspects[k].element, 64);
  }
  add("ties: {-1, 0, 1}", {K::Grid, -1, 0, 1, 3});
  add("all equal", {K::Constant, 0.5, 0.5, 1, 1});
  add("all zero", {K::Constant, 0, 0, 1, 1});
  zeros(false);
  add("uniform in [-8, 8)", {K::Uniform, -8, 8, 1, 1});
  add("uniform in [-32, 32)", {K::Uniform, -32, 32, 1, 1});
  add("uniform in [-100, -1)", {K::Uniform, -100, -1, 1, 1});
  add("halves in [-8, 8]", {K::Grid, -8, 0, 0.5, 33});
  add("uniform in [-0.01, 0.01)", {K::Uniform, -0.01, 0.01, 1, 1});
  for (double b : boundaries) {
    add("at a boundary", {K::Constant, b, b, 1, 1});
    const double h = std::max(std::fabs(b) * 1e-3, 1e-3);
    add("around a boundary", {K::Grid, b - h, 0, h, 3});
    add("near a boundary", {K::Uniform, b - 1, b + 1, 1, 1});
  }
  add("uniform in [-1000, 1000)", {K::Uniform, -1000, 1000, 1, 1});
  // Inputs around zero, parameters away from their defaults, and the reverse.
  for (bool parameters : {true, false}) {
    Experiment& e =
        add(parameters ? "large parameters" : "large inputs", {K::Uniform, -1, 1, 1, 1});
    for (const SymbolInfo& s : symbols)
      if (dtype_is_float(s.dtype) && s.is_parameter == parameters)
        e.set(s.symbol, {K::Uniform, 2, 50, 1, 1});
  }
  for (const SymbolInfo& s : symbols) {  // one argument negative, the others positive
    if (!dtype_is_float(s.dtype)) continue;
    Experiment& e = add("one argument negative", {K::Uniform, 0.1, 2, 1, 1});
    e.set(s.symbol, {K::Uniform, -3, -0.1, 1, 1});
  }
  zeros(true);
  add("uniform in [-1e-6, 1e-6)", {K::Uniform, -1e-6, 1e-6, 1, 1});
  add("uniform in [-1e6, 1e6)", {K::Uniform, -1e6, 1e6, 1, 1});
  add("all -1e30", {K::Uniform, -2e30, -1e30, 1, 1});  // below every hand-written sentinel
  for (const Suspect& spot :
       spots) {  // moderate ones first: a large one inflates the condition scale
    for (double height : {10.0, -10.0, 40.0, 1000.0}) {
      Experiment& e = add("one spike", {K::Uniform, -1, 1, 1, 1});
      e.override_value(spot.symbol, spot.element, height);
    }
    for (double height : {0.5, 1e-3})  // what is divided by a sum or a norm stays large
      add("one value, all others zero", {K::Constant, 0, 0, 1, 1})
          .override_value(spot.symbol, spot.element, height);
    add("one zero", {K::Uniform, 0.1, 2, 1, 1}).override_value(spot.symbol, spot.element, 0);
  }
  return out;
}

}  // namespace assay::check
