#include "check/experiment.h"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <cmath>
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

// Cones of one location ask for elements one by one, each several times: for both sides, and for
// experiments that differ in overrides alone.
double Experiment::drawn(uint64_t symbol, int64_t element, const SymbolInfo& info) const {
  struct Known {
    uint64_t id = 0, symbol = 0;
    int64_t element = 0;
    double value = 0;
  };
  thread_local std::vector<Known> table(1 << 15);
  auto place = [&](int64_t e) -> Known& {
    uint64_t h = (id_ << 40 ^ symbol << 32) + static_cast<uint64_t>(e >> 5);
    h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9u;
    return table[((h ^ h >> 32) * 32 + static_cast<uint64_t>(e & 31)) % table.size()];
  };
  auto is = [&](const Known& k, int64_t e) {
    return k.id == id_ && k.symbol == symbol && k.element == e;
  };
  Known& mine = place(element);
  if (is(mine, element)) return mine.value;
  // The element before was asked for: so will be those behind it.
  const bool run = is(place(element - 1), element - 1);
  const int64_t count = run ? 32 - (element & 31) : 1;
  double values[32];
  program::draw_values(seed_, symbol, draws_.at(symbol), info.dtype, static_cast<uint64_t>(element),
                       static_cast<size_t>(count), values);
  for (int64_t k = 0; k < count; ++k) place(element + k) = {id_, symbol, element + k, values[k]};
  return values[0];
}

void Experiment::values(uint64_t symbol, Ty type, const int64_t* elements, uint32_t mask,
                        double* out) const {
  (void)type;
  bool run = mask == 0xffffffffu && overrides_.empty() && info_.count(symbol) != 0;
  for (int l = 1; l < term::kRow && run; ++l) run = elements[l] == elements[0] + l;
  if (run) {
    program::draw_values(seed_, symbol, draws_.at(symbol), info_.at(symbol)->dtype,
                         static_cast<uint64_t>(elements[0]), term::kRow, out);
    return;
  }
  for (uint32_t m = mask; m != 0; m &= m - 1) {
    const int l = __builtin_ctz(m);
    out[l] = value(symbol, elements[l]);
  }
}

std::optional<Experiment> Experiment::folded() const {
  Experiment out = *this;
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
    for (double height : {10.0, -10.0, 1000.0}) {
      Experiment& e = add("one spike", {K::Uniform, -1, 1, 1, 1});
      e.override_value(spot.symbol, spot.element, height);
    }
    add("one zero", {K::Uniform, 0.1, 2, 1, 1}).override_value(spot.symbol, spot.element, 0);
  }
  return out;
}

}  // namespace assay::check
