#include <fmt/format.h>

#include "report/paint.h"
#include "report/region.h"

namespace assay::report {

namespace {

using measure::Change;
using measure::Match;

std::string describe(const Change& c, const Paint& paint) {
  std::string text = fmt::format("{} {:.4g} → {:.4g}{}{}", c.what, c.before, c.after,
                                 c.unit == "B" || c.unit == "%" ? " " + c.unit : "",
                                 c.words.empty() ? "" : " (" + clean(c.words) + ")");
  if (c.worse) return paint.red(text);
  return text;
}

std::string describe(const std::vector<Change>& all, const Paint& paint) {
  std::vector<std::string> parts;
  for (const Change& c : all) parts.push_back(describe(c, paint));
  return fmt::format("{}", fmt::join(parts, " · "));
}

std::string signed_number(int64_t n) { return n == 0 ? "0" : fmt::format("{:+}", n); }

std::string lines(const measure::RegionDiff& r) {
  if (r.line_a == 0 && r.line_b == 0) return "";
  if (r.match == Match::Removed) return fmt::format("{} → gone ", r.line_a);
  if (r.match == Match::Added) return fmt::format("new {} ", r.line_b);
  return r.line_a == r.line_b ? fmt::format("{} ", r.line_b)
                              : fmt::format("{} → {} ", r.line_a, r.line_b);
}

void print(const measure::KernelDiff& k, const TextOptions& options, std::string* out) {
  const Paint paint{options.color};
  *out += fmt::format("\n{}  {}\n", paint.bold(clean(k.name)), match_name(k.match));
  if (k.match == Match::Same) return;
  *out += fmt::format("  instructions {} → {} ({})\n", k.instructions_a, k.instructions_b,
                      signed_number(k.instructions_b - k.instructions_a));
  if (!k.changes.empty()) *out += "  " + describe(k.changes, paint) + "\n";
  size_t same = 0;
  for (const measure::RegionDiff& r : k.regions) {
    if (r.match == Match::Same && !options.verbose) {
      ++same;
      continue;
    }
    const std::string title = fmt::format(
        "{}{}{}{}", std::string(2 * r.depth, ' '), r.kind == region::Kind::Loop ? "loop " : "",
        lines(r), r.kind == region::Kind::Function ? "function itself" : clean(r.text));
    *out += fmt::format("{:>8}  {}\n", signed_number(r.instructions_b - r.instructions_a),
                        r.match == Match::Added     ? paint.green(title)
                        : r.match == Match::Removed ? paint.yellow(title)
                                                    : title);
    if (!r.changes.empty())
      *out += fmt::format("          {}{}\n", std::string(2 * r.depth + 2, ' '),
                          describe(r.changes, paint));
  }
  if (same != 0) *out += paint.dim(fmt::format("  {} regions as before\n", same));
}

}  // namespace

std::string text(const measure::Diff& diff, const TextOptions& options) {
  const Paint paint{options.color};
  std::string out =
      paint.dim(fmt::format("A {} · B {}\n", clean(diff.input_a), clean(diff.input_b)));
  if (!diff.comparable)
    out += paint.red("one side counts machine instructions, the other PTX: no comparison\n");
  for (const std::string& m : diff.missing) out += paint.yellow("note: ") + clean(m) + "\n";
  for (const measure::KernelDiff& k : diff.kernels) print(k, options, &out);
  return out;
}

}  // namespace assay::report
