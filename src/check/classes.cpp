#include "check/classes.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <map>
#include <optional>

#include "check/signature.h"

namespace assay::check {

namespace {

constexpr size_t kMaxClasses = 12;

using Clock = std::chrono::steady_clock;
struct Found {
  Hash hash;
  CtaClass cls;
};
using Classes = std::vector<Found>;

// False: too many classes.
bool add(Classes& classes, const Hash& hash, const std::vector<int>& looked_up,
         std::vector<ClassMember> members) {
  auto it =
      std::find_if(classes.begin(), classes.end(), [&](const Found& f) { return f.hash == hash; });
  if (it == classes.end()) {
    if (classes.size() == kMaxClasses) return false;
    it = classes.insert(it, {hash, {{}, {}, looked_up}});
  }
  std::move(members.begin(), members.end(), std::back_inserter(it->cls.members));
  return true;
}

// Runs of CTAs along the longest axis of the grid that are alike but for addresses that grow by a
// constant step (machine/affine.h): the first and the last are traced and show the steps, those
// between follow; one of them is traced all the same.
class Runs {
 public:
  Runs(const PreparedLaunch& launch, int buffer, int64_t first, int64_t count,
       Clock::time_point until)
      : launch_(launch), buffer_(buffer), first_(first), count_(count), until_(until) {
    const auto grid = launch.grid();
    axis_ = static_cast<uint32_t>(std::max_element(grid.begin(), grid.end()) - grid.begin());
    for (uint32_t k = 0; k < axis_; ++k) stride_ *= grid[k];
    extent_ = grid[axis_];
  }
  // Takes what it can; returns the CTAs that are left, ascending. Errors: Limit.
  Result<std::vector<uint32_t>> take(const std::vector<uint32_t>& ctas, Classes& classes) {
    std::map<uint32_t, std::vector<uint32_t>> lines;  // by the CTA of place 0
    for (const uint32_t cta : ctas) lines[cta - place(cta) * stride_].push_back(cta);
    std::vector<uint32_t> left;
    for (const auto& [origin, line] : lines) {
      for (size_t k = 0; k < line.size();) {
        size_t end = line.size();
        bool taken = false;
        if (useful_ && line.size() - k >= kLeast) {
          if (Clock::now() > until_) return fail(DiagKind::Limit, "no time to trace all CTAs");
          ASSAY_TRY(taken, run(line, k, &end, classes));
        }
        if (!taken)
          left.insert(left.end(), line.begin() + static_cast<std::ptrdiff_t>(k),
                      line.begin() + static_cast<std::ptrdiff_t>(end));
        k = end;
      }
    }
    std::sort(left.begin(), left.end());
    return left;
  }

 private:
  // Shorter ones are traced as quickly; so are all where several were short.
  static constexpr size_t kLeast = 8, kShort = 4;

  uint32_t place(uint32_t cta) const { return cta / stride_ % extent_; }

  // The run that begins at line[k] ends before line[*end]. False: it is to be traced.
  Result<bool> run(const std::vector<uint32_t>& line, size_t k, size_t* end, Classes& classes) {
    const uint32_t from = place(line[k]);
    const auto alike = launch_.ctas_alike(line[k], axis_, uint64_t{place(line.back())} - from + 1);
    if (!alike) {
      useful_ = false;
      return false;
    }
    *end = k + 1;
    while (*end < line.size() && place(line[*end]) - from < *alike) ++*end;
    if (*end - k < kLeast) {
      useful_ = ++short_ < kShort;
      return false;
    }
    const uint32_t steps = place(line[*end - 1]) - from;
    ASSAY_TRY(const Signed a, sign(launch_, line[k], buffer_, first_, count_, false));
    ASSAY_TRY(const Signed b, sign(launch_, line[*end - 1], buffer_, first_, count_, false));
    const uint32_t between = line[(k + *end) / 2];
    ASSAY_TRY(const Signed c, sign(launch_, between, buffer_, first_, count_, false));
    // Where some of what a CTA writes is not wanted, another one may differ in that.
    useful_ = !a.written.empty() && a.all_wanted && b.all_wanted && a.hash == b.hash &&
              a.hash == c.hash && at(a.member, b.member, 0, steps) &&
              at(a.member, b.member, place(between) - from, steps) == c.member.base;
    if (!useful_) return false;
    std::vector<ClassMember> members;
    for (size_t m = k; m < *end; ++m)
      members.push_back({line[m], *at(a.member, b.member, place(line[m]) - from, steps)});
    if (!add(classes, a.hash, a.looked_up, std::move(members)))
      return fail(DiagKind::Limit, "the CTAs are not alike");
    return true;
  }

  using Bases = std::vector<std::pair<int, int64_t>>;
  // After `k` of `steps` from one CTA to another; nothing: the steps are not whole.
  static std::optional<Bases> at(const ClassMember& from, const ClassMember& to, int64_t k,
                                 int64_t steps) {
    Bases out = from.base;
    if (out.size() != to.base.size()) return std::nullopt;
    for (size_t i = 0; i < out.size(); ++i) {
      const int64_t by = to.base[i].second - out[i].second;
      if (to.base[i].first != out[i].first || by % steps != 0) return std::nullopt;
      out[i].second += by / steps * k;
    }
    return out;
  }

  const PreparedLaunch& launch_;
  int buffer_;
  int64_t first_, count_;
  Clock::time_point until_;
  uint32_t axis_ = 0, stride_ = 1, extent_ = 1;
  bool useful_ = true;
  size_t short_ = 0;
};

// Classes of CTAs each of which is traced.
Result<Classes> traced_classes(const PreparedLaunch& launch, const std::vector<uint32_t>& ctas,
                               int buffer, int64_t first, int64_t count, int jobs,
                               Clock::time_point until) {
  using Part = Result<Classes>;
  const auto start = Clock::now();
  std::atomic<bool> stop = false;
  auto run = [&](size_t from, size_t to) -> Part {
    Classes classes;
    for (size_t k = from; k < to && !stop; ++k) {
      const auto now = Clock::now();
      // The rest at the pace so far.
      const auto rest = (now - start) * static_cast<int64_t>(to - k) /
                        static_cast<int64_t>(std::max<size_t>(1, k - from));
      if (now > until || (now - start > (until - start) / 8 && now + rest > until)) {
        stop = true;
        return fail(DiagKind::Limit, "no time to trace all CTAs");
      }
      auto one = sign(launch, ctas[k], buffer, first, count, false);
      if (!one) {
        stop = true;
        return tl::unexpected<Diag>(one.error());
      }
      if (one->written.empty()) continue;
      if (!add(classes, one->hash, one->looked_up, {std::move(one->member)})) {
        stop = true;
        return fail(DiagKind::Limit, "the CTAs are not alike");
      }
    }
    return classes;
  };
  const size_t half = jobs > 1 ? ctas.size() / 2 : ctas.size();
  auto second =
      std::async(jobs > 1 ? std::launch::async : std::launch::deferred, run, half, ctas.size());
  Part mine = run(0, half);
  Part other = second.get();
  ASSAY_CHECK(mine);
  ASSAY_CHECK(other);
  for (Found& f : *other)
    if (!add(*mine, f.hash, f.cls.looked_up, std::move(f.cls.members)))
      return fail(DiagKind::Limit, "the CTAs are not alike");
  return mine;
}

}  // namespace

Result<std::vector<CtaClass>> cta_classes(const PreparedLaunch& launch,
                                          const std::vector<uint32_t>& ctas, int buffer,
                                          int64_t first, int64_t count, int jobs,
                                          Clock::time_point until) {
  Classes classes;
  ASSAY_TRY(const auto left, Runs(launch, buffer, first, count, until).take(ctas, classes));
  ASSAY_TRY(Classes rest, traced_classes(launch, left, buffer, first, count, jobs, until));
  for (Found& f : rest)
    if (!add(classes, f.hash, f.cls.looked_up, std::move(f.cls.members)))
      return fail(DiagKind::Limit, "the CTAs are not alike");
  std::vector<CtaClass> out;
  for (Found& f : classes) {
    ASSAY_TRY(Signed one, sign(launch, f.cls.members[0].cta, buffer, first, count, true));
    f.cls.written = std::move(one.written);
    std::sort(f.cls.written.begin(), f.cls.written.end());
    out.push_back(std::move(f.cls));
  }
  return out;
}

int64_t base_of(const ClassMember& member, int buffer) {
  for (const auto& [b, base] : member.base)
    if (b == buffer) return base;
  return 0;
}

}  // namespace assay::check
