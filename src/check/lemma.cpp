#include "check/lemma.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <set>

#include "base/deadline.h"
#include "check/classes.h"
#include "check/contents.h"

namespace assay::check {

using program::DType;
using program::TensorView;

namespace {

// Warp instructions and rows of nests: of the first look at a pair of tensors, of a lemma that is
// evaluated at all of its elements, and of one that is evaluated at samples or representatives.
constexpr uint64_t kLook = 4'000'000;
constexpr int64_t kPart = int64_t{1} << 22;  // elements compared at once: their images in memory
constexpr uint64_t kAll = 4'000'000;
constexpr uint64_t kSome = 20'000'000;
constexpr uint64_t kSymbol = uint64_t{0x1e33a} << 40;

std::string kernel_name(const std::string& symbol) {
  int status = 0;
  char* text = abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status);
  std::string name = status == 0 ? text : symbol;
  std::free(text);
  name = name.substr(0, name.find('('));
  if (const size_t space = name.rfind(' '); space != std::string::npos && name.find('<') > space)
    name = name.substr(space + 1);  // the return type of a template
  return name;
}

TensorView flat(int buffer, DType dtype, int64_t first, int64_t count) {
  return {buffer, dtype, first, {count}, {1}};
}

void launch_places(Side& side, size_t s, std::vector<Intermediate>& out) {
  const auto& launch = std::get<program::LaunchStep>(side.program->steps[s].what);
  const auto cover = side.launches[s]->coverage();
  if (!cover || !(*cover)->complete) return;
  std::vector<Intermediate> found;
  for (const auto& [buffer, writers] : (*cover)->buffers) {
    int64_t first = -1, end = 0;
    writers.map.for_each_run([&](int64_t from, int64_t count, uint32_t) {
      if (first < 0) first = from;
      end = from + count;
    });
    if (first < 0 || end - first != writers.map.written()) continue;  // with holes
    const auto& b = side.program->buffers[static_cast<size_t>(buffer)];
    found.push_back({{s, 0},
                     flat(buffer, b.dtype, first, end - first),
                     kernel_name(launch.kernel),
                     side.program->steps[s].loc});
  }
  std::sort(found.begin(), found.end(), [](const Intermediate& a, const Intermediate& b) {
    return a.view.buffer < b.view.buffer;
  });
  out.insert(out.end(), found.begin(), found.end());
}

void op_places(const Side& side, size_t s, std::vector<Intermediate>& out) {
  const OpState& op = *side.ops[s];
  for (size_t n = 0; n < op.shapes.size(); ++n) {
    const term::NestShape& shape = *op.shapes[n];
    const auto operand = static_cast<size_t>(shape.nest.write.operand);
    const TensorView& view = op.lowered.tensors[operand].view;
    const std::vector<int64_t>& extents = shape.scan ? shape.extents : shape.nest.space;
    const int64_t points =
        std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<>());
    if (!view.is_contiguous() || points != view.numel()) continue;
    out.push_back({{s, n},
                   flat(op.buffers[operand], view.dtype, view.offset, view.numel()),
                   std::get<program::OpStep>(side.program->steps[s].what).op,
                   side.program->steps[s].loc});
  }
}

bool reads(const program::Step& step, int buffer) {
  if (const auto* op = std::get_if<program::OpStep>(&step.what)) {
    for (const program::Arg& arg : op->args) {
      if (const auto* view = std::get_if<TensorView>(&arg); view && view->buffer == buffer)
        return true;
      if (const auto* list = std::get_if<std::vector<TensorView>>(&arg))
        for (const TensorView& v : *list)
          if (v.buffer == buffer) return true;
    }
    return false;
  }
  if (const auto* c = std::get_if<program::CopyStep>(&step.what)) return c->src == buffer;
  if (const auto* l = std::get_if<program::LaunchStep>(&step.what))
    return std::any_of(l->slots.begin(), l->slots.end(), [&](const program::ParamSlot& slot) {
      return slot.kind == program::ParamSlot::Kind::Pointer && slot.buffer == buffer;
    });
  return false;
}

bool read_later(const Side& side, const Intermediate& place) {
  const auto& steps = side.program->steps;
  for (size_t s = place.at.step + 1; s < steps.size(); ++s)
    if (reads(steps[s], place.view.buffer)) return true;
  return false;
}

class Finder {
 public:
  explicit Finder(const LemmaRequest& request) : in_(request) {}

  Status run() {
    const Deadline until(in_.until);
    try {
      const std::vector<Intermediate> ours = places_of(in_.candidate),
                                      theirs = places_of(in_.reference);
      size_t from = 0;
      for (const Intermediate& c : ours) {
        if (c.view.numel() < 2 || !program::dtype_is_float(c.view.dtype) ||
            !read_later(in_.candidate, c))
          continue;
        if (const auto partner = congruent(c, theirs)) {
          from = std::max(from, *partner + 1);
          taken_.insert(*partner);
          const bool fresh = fresh_claims_;  // the names of both are equal already
          ASSAY_CHECK(admit(c, theirs[*partner], congruence(c, theirs[*partner])));
          fresh_claims_ = fresh;
          continue;
        }
        const auto partner = match(c, theirs, from);
        if (partner) {
          from = *partner + 1;
          taken_.insert(*partner);
          ASSAY_CHECK(establish(c, theirs[*partner]));
        } else if (!out_.broken.empty() && out_.broken.back().candidate.at == c.at) {
          ASSAY_CHECK(establish_before(out_.broken.back()));
        }
      }
    } catch (const Late&) {  // what was found until now
    }
    return {};
  }
  Lemmas take() { return std::move(out_); }

 private:
  struct Compared {
    Plan c, r;
    ImageDiff diff;
    bool equal() const { return diff.differ[0].empty() && diff.undefined[0].empty(); }
  };

  static OutputPair pair_of(const Intermediate& c, const Intermediate& r) {
    return {c.name, c.view, r.view, 0, {}};
  }
  Result<Plan> plan_of(bool candidate, const Intermediate& place, const Positions& at,
                       uint64_t limit) {
    PlanRequest request = out_.request(candidate, limit);
    request.end = place.at;
    Wants wants;
    for (int64_t p : at) wants[place.view.buffer].insert(place.view.element(p));
    return make_plan(candidate ? in_.candidate : in_.reference, wants, request);
  }
  Result<Compared> compare(const Intermediate& c, const Intermediate& r, const Positions& at,
                           uint64_t limit) {
    Compared out;
    ASSAY_TRY(out.c, plan_of(true, c, at, limit));  // first: it knows early what is too large
    ASSAY_TRY(out.r, plan_of(false, r, at, limit));
    out.diff = compare_images(in_.candidate, out.c, in_.reference, out.r, {pair_of(c, r)}, {at},
                              in_.snapper, in_.seed, in_.jobs);
    return out;
  }

  // The reference's tensor that the same operator makes from the same contents: at any place, as
  // the branches of a network may be computed in either order.
  std::optional<size_t> congruent(const Intermediate& c, const std::vector<Intermediate>& theirs) {
    if (!in_.candidate.ops[c.at.step]) return {};
    if (fresh_claims_) {
      ours_ = op_contents(in_.candidate, out_.candidate, names_);
      theirs_ = op_contents(in_.reference, out_.reference, names_);
      fresh_claims_ = false;
    }
    const auto mine = ours_.find({c.at.step, c.view.buffer});
    if (mine == ours_.end() || !is_result(in_.candidate, c)) return {};
    for (size_t k = 0; k < theirs.size(); ++k) {
      if (taken_.count(k) != 0) continue;  // a place has one symbol
      const Intermediate& r = theirs[k];
      const auto their = theirs_.find({r.at.step, r.view.buffer});
      if (their == theirs_.end() || their->second != mine->second) continue;
      if (r.view.offset == c.view.offset && r.view.shape == c.view.shape &&
          r.view.dtype == c.view.dtype && is_result(in_.reference, r))
        return k;
    }
    return {};
  }
  static LemmaClaim congruence(const Intermediate& c, const Intermediate& r) {
    LemmaClaim claim;
    claim.candidate = c.name;
    claim.reference = r.name;
    claim.loc = c.loc;
    claim.elements = claim.proved = static_cast<uint64_t>(c.view.numel());
    claim.how = "the same operator of the same tensors";
    return claim;
  }

  // Of the reference's tensors of as many elements, from the last partner on: the first that is
  // equal at two elements, and of those that follow it and are equal too the last.
  std::optional<size_t> match(const Intermediate& c, const std::vector<Intermediate>& theirs,
                              size_t from) {
    std::optional<size_t> found;
    const int64_t n = c.view.numel();
    for (size_t k = from; k < theirs.size(); ++k) {
      const Intermediate& r = theirs[k];
      if (r.view.numel() != n || r.view.dtype != c.view.dtype) continue;
      const auto seen = compare(c, r, {n / 2, n - 1}, kLook);
      if (seen && seen->equal())
        found = k;
      else if (found)
        break;
      else if (seen && seen->diff.equal[0] == Positions{n / 2})
        out_.broken.push_back(
            {c, r,
             (seen->diff.differ[0].empty() ? seen->diff.undefined : seen->diff.differ)[0][0]});
    }
    return found;
  }

  // The elements before those of the CTA whose element is wrong: the others stay open.
  Status establish_before(const Lemmas::Broken& broken) {
    Intermediate c = broken.candidate, r = broken.reference;
    const auto& launch = in_.candidate.launches[c.at.step];
    if (!launch) return {};
    ASSAY_TRY(const uint32_t writer, launch->writer(c.view.buffer, c.view.element(broken.element)));
    ASSAY_TRY(const Coverage* cover, launch->coverage());
    int64_t least = broken.element;
    cover->buffers.at(c.view.buffer).map.for_each_run([&](int64_t first, int64_t, uint32_t cta) {
      if (cta + 1 == writer) least = std::min(least, first - c.view.offset);
    });
    if (least < 2) return {};
    c.view.shape = r.view.shape = {least};
    return establish(c, r);
  }

  Status establish(const Intermediate& c, const Intermediate& r) {
    LemmaClaim claim;
    claim.candidate = c.name;
    claim.reference = r.name;
    claim.loc = c.loc;
    claim.elements = static_cast<uint64_t>(c.view.numel());
    const std::vector<uint32_t> ctas = ctas_of(c);
    claim.ctas = ctas.size();
    if (whole(c, r, claim) ||
        (!refuted_ && !by_classes(c, r, ctas, claim) && !refuted_ && in_parts(c, r, claim))) {
      claim.checked = claim.ctas;
    } else if (!refuted_ && claim.proved == 0) {
      sample(c, r, claim);
    }
    if (claim.proved == 0 || refuted_) {
      refuted_ = false;
      classes_.clear();
      return {};
    }
    ASSAY_CHECK(look_for_hazards(c, ctas));
    return admit(c, r, std::move(claim));
  }

  // What is behind both places starts from one symbol.
  Status admit(const Intermediate& c, const Intermediate& r, LemmaClaim claim) {
    fresh_claims_ = true;
    const uint64_t symbol = kSymbol + out_.claims.size();
    out_.candidate.push_back({c.at, c.view.buffer, c.view.offset, c.view.numel(), symbol});
    out_.reference.push_back({r.at, r.view.buffer, r.view.offset, r.view.numel(), symbol});
    SymbolInfo info;
    info.symbol = symbol;
    info.name = c.name;
    info.elements = claim.elements;
    info.view = flat(0, c.view.dtype, 0, c.view.numel());
    info.dtype = c.view.dtype;
    out_.symbols.push_back(std::move(info));
    out_.classes.push_back(std::move(classes_));
    classes_.clear();
    out_.claims.push_back(std::move(claim));
    return {};
  }

  // True: equal at all of `at`. What differs is noted.
  bool accept(const Intermediate& c, const Intermediate& r, Result<Compared>& seen) {
    if (!seen) return false;
    if (!seen->equal()) {
      refuted_ = true;
      const auto& bad =
          seen->diff.differ[0].empty() ? seen->diff.undefined[0] : seen->diff.differ[0];
      out_.broken.push_back({c, r, bad[0]});
      return false;
    }
    if (not_excluded(in_.candidate, seen->c, in_.symbols, seen->diff.extra) != nullptr) {
      refuted_ = true;  // where it is defined nothing is proved
      return false;
    }
    out_.error_bound = std::max(out_.error_bound, seen->diff.error_bound);
    for (const std::string& f : seen->diff.folds) out_.folds.push_back(f);
    plan_ = std::move(seen->c);
    return true;
  }

  bool whole(const Intermediate& c, const Intermediate& r, LemmaClaim& claim) {
    if (static_cast<uint64_t>(c.view.numel()) / 32 > kAll) return false;
    Positions all(static_cast<size_t>(c.view.numel()));
    std::iota(all.begin(), all.end(), 0);
    auto seen = compare(c, r, all, kAll);
    if (!accept(c, r, seen)) return false;
    claim.proved = claim.elements;
    claim.how = "all elements";
    return true;
  }

  // All elements, some after the others, so that the traces of few CTAs are in memory at once.
  bool in_parts(const Intermediate& c, const Intermediate& r, LemmaClaim& claim) {
    const int64_t n = c.view.numel();
    const int64_t most = std::min(n / 2, kPart), least = most / 32;
    for (int64_t size = most, from = 0; from < n;) {
      const auto start = Clock::now();
      Positions part(static_cast<size_t>(std::min(size, n - from)));
      std::iota(part.begin(), part.end(), from);
      auto seen = compare(c, r, part, kAll);
      if (!seen && seen.error().kind == DiagKind::Limit && from == 0 && size > least) {
        size = (size + 1) / 2;
        continue;
      }
      if (!accept(c, r, seen)) return false;
      from += static_cast<int64_t>(part.size());
      const auto each = (Clock::now() - start) / static_cast<int64_t>(part.size());
      if (each * (n - from) > (in_.until - Clock::now()) * 2 / 3) return false;
    }
    claim.proved = claim.elements;
    claim.how = "all elements";
    return true;
  }

  bool by_classes(const Intermediate& c, const Intermediate& r, const std::vector<uint32_t>& ctas,
                  LemmaClaim& claim);
  bool transfers(const Intermediate& c, const Intermediate& r, const CtaClass& cls);

  void sample(const Intermediate& c, const Intermediate& r, LemmaClaim& claim) {
    for (int64_t budget : {4096, 512, 64}) {
      const auto where = choose_locations(in_.candidate, {pair_of(c, r)}, false, budget);
      if (!where) return;
      auto seen = compare(c, r, where->outputs[0], kSome);
      if (!seen && seen.error().kind == DiagKind::Limit) continue;
      if (accept(c, r, seen)) {
        claim.proved = where->outputs[0].size();
        claim.how = "a sample";
        const auto& launch = plan_.steps[c.at.step].launch;
        claim.checked = launch ? launch->ctas.size() : 0;
      }
      return;
    }
  }

  // That write it; all, where that is known of some alone.
  std::vector<uint32_t> ctas_of(const Intermediate& c) {
    const auto& launch = in_.candidate.launches[c.at.step];
    if (!launch) return {};
    const auto cover = launch->coverage();
    std::set<uint32_t> out;
    if (cover && (*cover)->sampled && (*cover)->sampled_ctas < launch->num_ctas()) {
      for (uint64_t k = 0; k < launch->num_ctas(); ++k) out.insert(static_cast<uint32_t>(k));
    } else if (cover)
      (*cover)->buffers.at(c.view.buffer).map.for_each_run([&](int64_t, int64_t, uint32_t cta) {
        out.insert(cta);
      });
    return {out.begin(), out.end()};
  }

  // Of the CTAs that were evaluated, and of others of the launch.
  Status look_for_hazards(const Intermediate& c, const std::vector<uint32_t>& ctas) {
    constexpr size_t kCtas = 512;
    if (!in_.candidate.launches[c.at.step]) return in_.hazards(plan_);
    Plan wider;
    wider.steps.resize(plan_.steps.size());
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      if (!plan_.steps[s].launch) continue;
      std::set<uint32_t> some(plan_.steps[s].launch->ctas.begin(),
                              plan_.steps[s].launch->ctas.end());
      if (s == c.at.step)
        for (size_t k = 0; k < kCtas && !ctas.empty(); ++k)
          some.insert(ctas[k * (ctas.size() - 1) / (kCtas - 1)]);
      wider.steps[s].launch.emplace();
      wider.steps[s].launch->ctas.assign(some.begin(), some.end());
    }
    return in_.hazards(wider);
  }

  const LemmaRequest& in_;
  Lemmas out_;
  Plan plan_;                        // of the candidate, of the last lemma
  std::vector<LemmaClass> classes_;  // of the lemma at hand
  ContentNames names_;
  std::map<std::pair<size_t, int>, int> ours_, theirs_;  // contents, with what is claimed
  bool fresh_claims_ = true;                             // since they were named
  std::set<size_t> taken_;                               // places of the reference with a partner
  bool refuted_ = false;  // the lemma at hand does not hold, or is not defined everywhere
};

// One CTA of each class is evaluated at all that it writes.
bool Finder::by_classes(const Intermediate& c, const Intermediate& r,
                        const std::vector<uint32_t>& ctas, LemmaClaim& claim) {
  const auto& launch = in_.candidate.launches[c.at.step];
  if (!launch || ctas.size() < 2) return false;
  const auto now = Clock::now();
  const auto share = std::chrono::duration_cast<Clock::duration>((in_.until - now) * 0.8);
  const auto classes = cta_classes(*launch, ctas, c.view.buffer, c.view.offset, c.view.numel(),
                                   in_.jobs, now + share);
  if (!classes) return false;
  std::set<int64_t> chosen;
  tensor::ElemSet elements;
  for (const CtaClass& cls : *classes) {
    for (const ClassMember& m : cls.members) {
      const int64_t by = base_of(m, c.view.buffer) - base_of(cls.members[0], c.view.buffer);
      for (int64_t e : cls.written)
        if (!elements.insert(e + by)) return false;  // written by two CTAs
    }
    const auto add = [&](const ClassMember& m) {
      const int64_t by = base_of(m, c.view.buffer) - base_of(cls.members[0], c.view.buffer);
      for (int64_t e : cls.written) chosen.insert(e + by - c.view.offset);
    };
    add(cls.members[0]);
    // Whether an index from data stays inside its buffer depends on where it starts.
    for (int b : cls.looked_up) {
      const auto less = [&](const ClassMember& x, const ClassMember& y) {
        return base_of(x, b) < base_of(y, b);
      };
      const auto [lo, hi] = std::minmax_element(cls.members.begin(), cls.members.end(), less);
      add(*lo), add(*hi);
    }
  }
  if (static_cast<uint64_t>(elements.count()) != claim.elements) return false;
  for (const CtaClass& cls : *classes) {
    if (transfers(c, r, cls)) continue;
    classes_.clear();
    return false;
  }
  const auto ends = choose_locations(in_.candidate, {pair_of(c, r)}, false, 256);
  if (ends) chosen.insert(ends->outputs[0].begin(), ends->outputs[0].end());
  auto seen = compare(c, r, {chosen.begin(), chosen.end()}, kSome);
  if (!accept(c, r, seen)) {
    classes_.clear();
    return false;
  }
  claim.proved = claim.elements;
  claim.checked = plan_.steps[c.at.step].launch->ctas.size();
  claim.how = fmt::format("{} class{} of CTAs", classes->size(), classes->size() == 1 ? "" : "es");
  return true;
}

// Both sides of every member are those of the representative under one function: the shift that the
// traces show, by which the reference's reads must move as well.
bool Finder::transfers(const Intermediate& c, const Intermediate& r, const CtaClass& cls) {
  Positions at;
  for (int64_t e : cls.written) at.push_back(e - c.view.offset);
  const auto c_plan = plan_of(true, c, at, kSome), r_plan = plan_of(false, r, at, kSome);
  if (!c_plan || !r_plan || !c_plan->unwritten.empty()) return false;
  struct Key {  // what the launch reads
    int buffer;
    uint64_t symbol;
    const PlannedCut* cut;
  };
  std::vector<Key> keys;
  std::set<int> known{c.view.buffer};
  for (size_t s = 0; s < c_plan->steps.size(); ++s) {
    const StepPlan& step = c_plan->steps[s];
    if (s == c.at.step ? !step.launch || step.launch->ctas.size() != 1
                       : step.launch || !step.copied.empty() ||
                             std::any_of(step.nests.begin(), step.nests.end(),
                                         [](const auto& n) { return !n.empty(); }))
      return false;
    for (const PlannedCut& cut : step.cuts) {
      for (const Point& w : writers_of(in_.candidate, cut.buffer))
        if (w > Point{s, cut.nest} && w <= c.at) return false;
      keys.push_back({cut.buffer, cut.symbol, &cut});
      if (!known.insert(cut.buffer).second) return false;
    }
  }
  for (const auto& [b, elements] : c_plan->support) {
    const term::Source& source = in_.candidate.sources[static_cast<size_t>(b)];
    if (source.kind != term::Source::Kind::Symbol || !known.insert(b).second) return false;
    for (const Point& w : writers_of(in_.candidate, b))
      if (w <= c.at) return false;
    keys.push_back({b, source.symbol, nullptr});
  }
  for (const auto& [b, base] : cls.members[0].base)
    if (known.count(b) == 0) return false;
  PlanRequest r_request = out_.request(false, kSome);
  r_request.end = r.at;
  const PlanShift reference(in_.reference, *r_plan, r_request, r.view.buffer);
  LemmaClass proved;
  proved.written = at;
  for (const auto& [b, elements] : r_plan->support)
    proved.reads[in_.reference.sources[static_cast<size_t>(b)].symbol].unite(elements);
  for (const StepPlan& step : r_plan->steps)
    for (const PlannedCut& cut : step.cuts) proved.reads[cut.symbol].unite(cut.elements);
  DeadlineCheck late;
  for (const ClassMember& m : cls.members) {
    late();
    std::map<uint64_t, int64_t> moves;
    const int64_t by = base_of(m, c.view.buffer) - base_of(cls.members[0], c.view.buffer);
    if (!reference.shift(by, &moves)) return false;
    for (const Key& key : keys) {
      const int64_t d = base_of(m, key.buffer) - base_of(cls.members[0], key.buffer);
      if (key.cut != nullptr && !stays_inside(*key.cut, out_.candidate, d)) return false;
      if (moves.try_emplace(key.symbol, d).first->second != d) return false;
    }
    proved.members.push_back({m.cta, by, std::move(moves)});
  }
  classes_.push_back(std::move(proved));
  return true;
}

}  // namespace

std::vector<Intermediate> places_of_operators(const Side& side) {
  std::vector<Intermediate> out;
  for (size_t s = 0; s < side.program->steps.size(); ++s)
    if (side.ops[s]) op_places(side, s, out);
  return out;
}

bool is_result(Side& side, const Intermediate& place) {
  for (const Point& w : writers_of(side, place.view.buffer))
    if (w.step == place.at.step && w > place.at) return false;
  return true;
}

std::vector<Intermediate> places_of(Side& side) {
  std::vector<Intermediate> out;
  for (size_t s = 0; s < side.program->steps.size(); ++s) {
    if (side.launches[s])
      launch_places(side, s, out);
    else if (side.ops[s])
      op_places(side, s, out);
  }
  return out;
}

PlanRequest Lemmas::request(bool of_candidate, uint64_t limit) const {
  PlanRequest r;
  r.cuts = of_candidate ? candidate : reference;
  r.limit = limit;
  return r;
}

Result<Lemmas> find_lemmas(const LemmaRequest& request) {
  Finder finder(request);
  ASSAY_CHECK(finder.run());
  return finder.take();
}

std::string given_text(const LemmaClaim& claim) {
  return fmt::format(
      "given that {} computes what {} does: proved at {} of {} elements ({:.3g} %)",
      claim.candidate, claim.reference, claim.proved, claim.elements,
      100.0 * static_cast<double>(claim.proved) / static_cast<double>(claim.elements));
}

}  // namespace assay::check
