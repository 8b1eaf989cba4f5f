// The verbs `diff` and `guard`: two builds compared by region.
#include "measure/diff.h"

#include <fmt/format.h>

#include "cli/cli.h"
#include "measure/load.h"
#include "report/region.h"

namespace assay::cli {

namespace {

struct DiffArgs {
  measure::LoadRequest a, b;
  std::string json;
  bool all = false;
  double growth_percent = 10;
  uint32_t slack = 16;
  int registers = -1;
};

// Exit codes: 0 compared (guard: no regression), 1 guard: a regression, else report_error's.
int run_diff(DiffArgs& args, bool guards) {
  args.b.arch = args.a.arch;
  args.b.flags = args.a.flags;
  args.b.threads = args.a.threads;
  args.b.regions = args.a.regions;
  auto a = measure::load_map(args.a);
  if (!a) return report_error(a.error(), args.json);
  auto b = measure::load_map(args.b);
  if (!b) return report_error(b.error(), args.json);
  const measure::Diff diff = measure::compare(*a, *b);
  if (!args.json.empty()) {
    if (auto written = write_file(args.json, report::json(diff)); !written)
      return report_error(written.error());
  }
  report::TextOptions options = text_options(stdout, args.all);
  if (args.json != "-" && !guards) fmt::print("{}", report::text(diff, options));
  if (!diff.comparable)
    return report_error({DiagKind::Unsupported,
                         "one side was disassembled and the other was not: counts of machine and "
                         "PTX instructions do not compare",
                         {}});
  if (!guards) return kProved;
  measure::GuardLimits limits{args.growth_percent / 100, args.slack, std::nullopt};
  if (args.registers >= 0) limits.registers = static_cast<uint32_t>(args.registers);
  const auto breaches = measure::guard(diff, limits);
  std::FILE* out = args.json == "-" ? stderr : stdout;
  for (const std::string& m : diff.missing) fmt::print(out, "note: {}\n", report::clean(m));
  for (const measure::Breach& breach : breaches)
    fmt::print(out, "regression: {}: {}\n", report::clean(breach.kernel),
               report::clean(breach.what));
  if (breaches.empty()) fmt::print(out, "no regression in {} kernels\n", diff.kernels.size());
  return breaches.empty() ? kProved : kRefuted;
}

void common_options(CLI::App* sub, DiffArgs* args) {
  sub->add_option("a", args->a.path, "Before: .cu, .ptx or .cubin")->required();
  sub->add_option("b", args->b.path, "After")->required();
  sub->add_option("--json", args->json, "File for the comparison (- for standard output)");
  sub->add_option("--arch", args->a.arch, "sm_90a and the like");
  sub->add_option("--flag", args->a.flags, "Flag for nvcc, for both")->allow_extra_args(false);
  sub->add_option("--threads", args->a.threads, "Threads of a CTA, for occupancy")
      ->check(CLI::Range(1, 1024));
  sub->add_option("--regions", args->a.regions, "regions.toml: names for regions");
}

}  // namespace

void add_diff(CLI::App& app, Run& run) {
  CLI::App* sub = app.add_subcommand("diff", "What changed between two builds, by region");
  auto args = std::make_shared<DiffArgs>();
  common_options(sub, args.get());
  sub->add_flag("--all", args->all, "Regions that are as before, too");
  sub->footer(
      "Regions are matched by the functions and loops around them and the text of their line, not\n"
      "by line numbers. Red: known to cost (spills; lost tensor cores, TMA, width of accesses).");
  sub->callback([&run, args] { run = [args] { return run_diff(*args, false); }; });
}

void add_guard(CLI::App& app, Run& run) {
  CLI::App* sub =
      app.add_subcommand("guard", "Fails (exit 1) where a build lost something, for CI");
  auto args = std::make_shared<DiffArgs>();
  common_options(sub, args.get());
  sub->add_option("--code-growth", args->growth_percent, "Percent that a kernel's code may grow")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1e6));
  sub->add_option("--code-slack", args->slack, "Instructions that it may grow in any case")
      ->capture_default_str();
  sub->add_option("--registers", args->registers, "Registers that a thread may take more")
      ->check(CLI::Range(0, 255));
  sub->footer(
      "Exit codes: 0 no regression; 1 more spills or local memory, tensor cores, TMA, cp.async or\n"
      "width of memory accesses lost, code grown, a kernel gone; 3 no comparison; 4 bad input.");
  sub->callback([&run, args] { run = [args] { return run_diff(*args, true); }; });
}

}  // namespace assay::cli
