#include "check/check.h"

#include <fmt/format.h>

#include <charconv>

#include "cli/cli.h"
#include "report/scripts.h"

namespace assay::cli {

namespace {

struct CheckArgs {
  check::CheckRequest request;
  std::vector<std::string> at;
  std::vector<std::string> fail_on;
  std::optional<double> rtol, atol;
  std::string json, script;
  bool verbose = false;
  bool given_shape_only = false;
};

// "3,17" (output 0) or "1:3,17" or "1:" (a scalar).
Result<check::Location> parse_location(std::string_view text) {
  check::Location location;
  auto bad = [&] {
    return fail(
        DiagKind::Invalid,
        fmt::format("--at {}: expected [OUTPUT:]I,J,... such as 3,17 or 1:3,17, or cta:5", text));
  };
  auto number = [](std::string_view s, auto& value) {
    auto [end, ec] = std::from_chars(s.data(), s.data() + s.size(), value);
    return ec == std::errc() && end == s.data() + s.size() && value >= 0;
  };
  std::string_view rest = text;
  if (size_t colon = rest.find(':'); colon != std::string_view::npos) {
    if (!number(rest.substr(0, colon), location.output)) return bad();
    rest = rest.substr(colon + 1);
    if (rest.empty()) return location;
  }
  while (true) {
    size_t comma = rest.find(',');
    if (!number(rest.substr(0, comma), location.index.emplace_back())) return bad();
    if (comma == std::string_view::npos) return location;
    rest = rest.substr(comma + 1);
  }
}

// "cta:N".
std::optional<uint64_t> parse_cta(std::string_view text) {
  uint64_t cta = 0;
  if (text.substr(0, 4) != "cta:") return std::nullopt;
  const auto [end, ec] = std::from_chars(text.data() + 4, text.data() + text.size(), cta);
  if (ec != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return cta;
}

// The script of the first witness, in the order in which results are shown.
const std::string* find_script(const check::Verdict& verdict) {
  for (const auto& shape : verdict.shapes) {
    for (const auto& result : shape.results) {
      if (result.witness && !result.witness->script.empty()) return &result.witness->script;
    }
  }
  return nullptr;
}

// Findings named by --fail-on turn a verdict that would pass into 1.
int exit_code(const check::Verdict& verdict, const std::vector<std::string>& fail_on) {
  int code = check::verdict_exit_code(verdict.kind);
  if (code != kProved && code != kApproximation) return code;
  for (const auto& finding : verdict.findings) {
    for (const auto& kind : fail_on) {
      if (finding.kind == kind || kind == "any") return kRefuted;
    }
  }
  return code;
}

int run_check(CheckArgs& args) {
  check::CheckRequest& request = args.request;
  request.options.rtol = args.rtol;
  request.options.atol = args.atol;
  request.altered_shapes = !args.given_shape_only;
  for (const auto& text : args.at) {
    if (const auto cta = parse_cta(text)) {
      request.options.at_ctas.push_back(*cta);
      continue;
    }
    auto location = parse_location(text);
    if (!location) return report_error(location.error(), args.json);
    request.options.at.push_back(*location);
  }
  auto verdict = check::check_files(request);
  if (!verdict) return report_error(verdict.error(), args.json);
  report::add_scripts(*verdict);
  int code = exit_code(*verdict, args.fail_on);
  if (args.json != "-") {
    fmt::print("{}", report::text(*verdict, text_options(stdout, args.verbose)));
  }
  if (!args.json.empty()) {
    if (auto s = write_file(args.json, report::json(*verdict, code)); !s) {
      return report_error(s.error());
    }
  }
  if (!args.script.empty()) {
    const std::string* script = find_script(*verdict);
    if (script == nullptr) {
      fmt::print(stderr, "no witness that a script in PyTorch can show, so {} is not written\n",
                 args.script);
    } else if (auto s = write_file(args.script, *script); !s) {
      return report_error(s.error());
    }
  }
  return code;
}

void add_options(CLI::App* sub, CheckArgs& args) {
  check::CheckRequest& request = args.request;
  check::CheckOptions& options = request.options;
  sub->add_option("candidate", request.candidate,
                  "Kernel: .cu, .ptx or .assay; or a KernelBench program, .py with ModelNew")
      ->required();
  sub->add_option("reference", request.reference,
                  "What it must equal: PyTorch (.py, or .json as exported), .cu, .ptx or .assay")
      ->required();
  sub->add_option("--inputs", request.inputs,
                  "For two .cu files: the .py or .json whose inputs both host functions take");
  sub->add_option("--launch", request.launch_toml,
                  "Launch description (TOML) for .ptx, or .cu without host function");
  sub->add_option("--entry", request.entry, "Host function of a .cu")->capture_default_str();
  sub->add_option("--reference-entry", request.reference_entry,
                  "Host function of a reference that is a .cu (default: as --entry)");
  sub->add_option(
      "--at", args.at,
      "Only this location, [OUTPUT:]I,J,..., or what this CTA of the candidate writes at the "
      "given shape, cta:N (repeatable)");
  sub->add_option("--timeout", options.timeout_s, "Seconds")
      ->capture_default_str()
      ->check(CLI::Range(0.1, 1e6));
  sub->add_option("--rtol", args.rtol, "Relative tolerance (default: by dtype)")
      ->check(CLI::NonNegativeNumber);
  sub->add_option("--atol", args.atol, "Absolute tolerance (default: by dtype)")
      ->check(CLI::NonNegativeNumber);
  sub->add_option("--seed", options.seed, "Seed of all random choices")->capture_default_str();
  sub->add_option("--jobs", options.jobs, "Threads")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024));
  sub->add_flag("--eval", request.eval, "Reference in eval mode (default: as built)");
  sub->add_flag("--whole", options.whole, "All locations, not the chosen ones");
  sub->add_flag("--given-shape-only", args.given_shape_only, "No altered shapes");
  sub->add_option("--nvcc-flag", request.nvcc_flags, "Further flag for nvcc (repeatable)");
  sub->add_option("--fail-on", args.fail_on,
                  "Exit 1 on this kind of finding, or \"any\" (repeatable)");
  sub->add_option("--json", args.json, "Write everything as JSON (- for standard output)");
  sub->add_option("--script", args.script, "Write the witness as a Python script");
  sub->add_flag("-v,--verbose", args.verbose, "All locations, phases and the script");
}

}  // namespace

void add_check(CLI::App& app, Run& run) {
  CLI::App* sub = app.add_subcommand("check", "Is the kernel right, for every input?");
  auto args = std::make_shared<CheckArgs>();
  add_options(sub, *args);
  sub->footer(
      "assay check KERNEL.cu REF.py                     a kernel against PyTorch\n"
      "assay check MODEL_NEW.py REF.py                  a KernelBench program against PyTorch\n"
      "assay check NEW.cu OLD.cu --inputs REF.py        two versions, called as REF.py calls them\n"
      "assay check NEW.ptx OLD.ptx --launch L.toml      two versions, launched as L.toml says\n"
      "assay check NEW.cu OLD.cu|OLD.ptx --launch L.toml    the same for kernels alone\n");
  sub->callback([&run, args] { run = [args] { return run_check(*args); }; });
}

}  // namespace assay::cli
