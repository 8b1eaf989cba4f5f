#pragma once
// The check of one shape. Its rooms: shape_check.cpp (the ladder), shape_images.cpp,
// shape_search.cpp, shape_quality.cpp; the verdict over shapes: engine.cpp.
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "check/check.h"
#include "check/congruent.h"
#include "check/defects.h"
#include "check/lemma.h"
#include "check/local.h"
#include "check/parts.h"
#include "check/prove.h"
#include "check/refute.h"
#include "check/replay.h"
#include "check/values.h"

namespace assay::check {

VerdictKind worse(VerdictKind a, VerdictKind b);

// Time and memory of the phases of a shape, and when it has to end.
struct Budget {
  Clock::time_point deadline;
  std::vector<Timing>* timings = nullptr;
  std::string prefix;
  Clock::time_point mark = Clock::now();
  double cpu_mark = usage().first;
  void lap(const std::string& phase) {
    const auto now = Clock::now();
    const auto [cpu, peak] = usage();
    auto at = std::find_if(timings->begin(), timings->end(),
                           [&](const Timing& t) { return t.phase == prefix + phase; });
    if (at == timings->end()) at = timings->insert(at, Timing{prefix + phase, 0, 0, 0});
    at->seconds += std::chrono::duration<double>(now - mark).count();
    at->cpu_seconds += cpu - cpu_mark;
    at->peak_memory = peak;
    mark = now;
    cpu_mark = cpu;
  }
  static std::pair<double, uint64_t> usage() {  // CPU seconds, peak memory in bytes
    rusage u{};
    getrusage(RUSAGE_SELF, &u);
    auto seconds = [](const timeval& t) {
      return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    };
    return {seconds(u.ru_utime) + seconds(u.ru_stime), static_cast<uint64_t>(u.ru_maxrss) * 1024};
  }
};

class ShapeCheck {
 public:
  ShapeCheck(const Pair& pair, const CheckOptions& options, Verdict& verdict, Budget budget,
             bool given)
      : pair_(pair),
        options_(options),
        verdict_(verdict),
        budget_(std::move(budget)),
        given_(given) {}
  ShapeResult run();
  bool internal() const { return internal_; }

 private:
  // shape_check.cpp: the ladder of one shape, in order; which locations; what is noted beside it
  Status body();
  Status hazards_of(size_t side, const Plan& plan);
  void take_defects(bool all = false);
  bool refuted(bool by_value) const;
  static bool refuted_by_value(const LocationResult& r);
  void note_samples(const Side& side);
  void note_assumptions();
  void add_once(std::string text);
  Result<LocationPlan> chosen_locations(int64_t limit);
  Result<bool> launches_end();
  Result<LocationPlan> locations(int64_t limit);
  bool chooses() const {  // nobody else says which
    return options_.at.empty() && (options_.at_ctas.empty() || !given_);
  }
  void spare_candidate();
  void finish();

  // shape_images.cpp: images of all locations, by parts, with merged selects, behind lemmas, or
  // runs where no formula can be made
  void run_without_trace(const LocationPlan& where, Diag& stop);
  Result<ImageDiff> images(std::vector<Positions>& positions, Plan& c_plan, Plan& r_plan);
  Result<ImageDiff> images_of(const std::vector<Positions>& positions, const BeforeTrace& watch,
                              Plan& c_plan, Plan& r_plan);
  std::optional<ImageDiff> congruent_images(const std::vector<Positions>& positions,
                                            const Plan& c_plan, const Plan& r_plan);
  void compare_merged(const Plan& c_plan, const Plan& r_plan, ImageDiff& diff);
  const CongruentCuts& congruent();
  bool too_large(const LocationPlan& where);
  bool too_long(const LocationPlan& where);
  Result<bool> with_lemmas(const LocationPlan& where);
  bool refute_behind(const Lemmas& lemmas, size_t k, const ImageDiff& diff);
  bool unlike_work(const Plan& c_plan, const Plan& r_plan) const;
  static double work(const Side& side, const Plan& plan);
  std::vector<Positions> left_alone(const std::vector<Positions>& where);
  bool refuted_at_once(const std::vector<Positions>& where);

  // shape_quality.cpp: what is looked at beside a proof: definedness, rounding and special values,
  // the real build
  void definedness(const ImageDiff& diff, const Plan& c_plan);
  int64_t written_position(const OutputPair& pair, const Positions& positions);
  void quality(const ImageDiff& diff);
  struct Cones;
  struct CrossValues {
    explicit CrossValues(Experiment e) : input(std::move(e)) {}
    Experiment input;
    ExactValue exact;
    Replayed candidate, reference;
  };
  struct CrossRun {
    std::vector<std::function<void()>> parts;
    std::shared_ptr<CrossValues> values;  // complete when all parts have run
  };
  static std::array<Draw, 2> cross_draws();
  CrossRun cross_run(size_t k, int64_t position, const Cones& cones, const Draw& draw);
  void cross_check(const CrossRun& first, size_t k, int64_t position, const Cones& cones);
  void cross_check_build(const Side& side, const Replayed& real, size_t k, int64_t position,
                         const ExactValue& exact);

  // shape_search.cpp: locations whose images differ: search for inputs, local proofs, confirmation
  // on the real build One location with its plans.
  struct Cones {
    size_t k;
    int64_t position;
    Plan c_plan, r_plan;
    Tolerance tolerance;
    SearchRequest request(ShapeCheck& check) const {
      const auto now = Clock::now();  // half of the time is for proofs
      const auto half =
          std::chrono::duration_cast<Clock::duration>((check.budget_.deadline - now) / 2);
      return {{check.candidate_, c_plan, check.reference_, r_plan, check.pairs_[k], position,
               *check.snapper_, std::min(check.budget_.deadline, now + half)},
              tolerance};
    }
  };
  Status examine(const ImageDiff& diff);
  void settle_together(size_t k, Positions& open);  // shape_together.cpp
  bool refuted_soon(size_t k, int64_t position);
  void examine_rest(size_t k, const Positions& open, const std::map<int64_t, int64_t>& done);
  std::vector<Positions> only(size_t k, Positions positions) const;
  std::vector<Positions> alike_positions(size_t k, const Positions& open);
  void not_examined(size_t k, uint64_t count);
  Result<Cones> cones_of(size_t k, int64_t position);
  bool examine_one(size_t k, int64_t position, bool thorough);
  void add_refutation(const SearchRequest& rq, const SearchResult& found);
  void blame_race(const SearchRequest& rq, LocationResult& r);
  std::vector<Experiment> experiments_for(const SearchRequest& rq,
                                          const std::vector<Suspect>& spots);
  void search_few(const SearchRequest& rq, SearchResult& found);
  SearchResult search_location(const SearchRequest& rq, bool thorough,
                               std::optional<LocalResult>& local);
  LocalResult look(const SearchRequest& rq);
  void confirm(LocationResult& r, const Plan& c_plan, const Plan& r_plan, const OutputPair& pair,
               int64_t position, const Tolerance& tol);
  LocationResult settle(const SearchRequest& rq, const SearchResult& found,
                        const std::optional<LocalResult>& known);
  bool default_parameters_hide(const SearchRequest& rq, const std::optional<Witness>& witness);

  const Pair& pair_;
  const CheckOptions& options_;
  Verdict& verdict_;
  Budget budget_;
  bool given_;
  bool internal_ = false;
  Side candidate_, reference_;
  bool dual_ = false;                // the reference is a kernel too
  std::vector<SymbolInfo> symbols_;  // the reference's, then those that only the candidate has
  std::vector<OutputPair> pairs_;
  std::deque<Defects> defects_;  // of the candidate and, where it is a kernel, of the reference
  std::optional<term::Snapper> snapper_;
  std::vector<double> boundaries_;
  std::optional<CongruentCuts> congruent_;
  bool settled_ = false;              // refuted before images were compared
  std::vector<Experiment> refuting_;  // inputs that refuted a location: the first to try at others
  ShapeResult out_;
};

}  // namespace assay::check
