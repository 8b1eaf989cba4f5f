#include <fmt/format.h>

#include "cli/cli.h"
#include "measure/load.h"
#include "report/region.h"

namespace assay::cli {

namespace {

struct MapArgs {
  measure::LoadRequest request;
  std::string kernel, json;
  bool code = false, quiet = false;
};

int run_map(const MapArgs& args) {
  auto map = measure::load_map(args.request);
  if (!map) return report_error(map.error(), args.json);
  if (!args.json.empty()) {
    if (auto written = write_file(args.json, report::json(*map, args.code)); !written)
      return report_error(written.error());
  }
  if (args.json == "-" || args.quiet) return kProved;
  const report::RegionTextOptions options{text_options(stdout, false), args.kernel, args.code};
  fmt::print("{}", report::text(*map, options));
  return kProved;
}

}  // namespace

void add_map(CLI::App& app, Run& run) {
  CLI::App* sub = app.add_subcommand("map", "Regions of a kernel's machine code, without a GPU");
  auto args = std::make_shared<MapArgs>();
  measure::LoadRequest& request = args->request;
  sub->add_option("file", request.path, "Kernels: .cu (also a PyTorch extension), .ptx or .cubin")
      ->required();
  sub->add_option("--json", args->json, "File for the map as JSON (- for standard output)");
  sub->add_flag("--quiet", args->quiet, "Nothing on the terminal");
  sub->add_option("--kernel", args->kernel, "Only functions whose name holds this");
  sub->add_flag("--code", args->code, "With every machine instruction, below its region");
  sub->add_option("--arch", request.arch, "sm_90a and the like (default: that of the PTX, sm_90a)");
  sub->add_option("--flag", request.flags, "Flag for nvcc (--flag=-maxrregcount=64)")
      ->allow_extra_args(false);
  sub->add_option("--ptx", request.ptx,
                  "PTX text that a cubin was made of (default: what it holds)");
  sub->add_option("--regions", request.regions, "regions.toml: names for regions");
  sub->add_option("--threads", request.threads, "Threads of a CTA, for occupancy")
      ->check(CLI::Range(1, 1024));
  sub->add_option("--timeout", request.wall_seconds, "Seconds that compiling may take")
      ->capture_default_str()
      ->check(CLI::Range(0.1, 1e6));
  sub->footer(
      "Each line: its own machine instructions, those with its children, the region, what the own\n"
      "ones are. Machine instructions are read by nvdisasm where it is found (ASSAY_NVDISASM, "
      "PATH,\n"
      "beside nvcc, ASSAY_PYTHON's packages); without it PTX instructions are counted.");
  sub->callback([&run, args] { run = [args] { return run_map(*args); }; });
}

}  // namespace assay::cli
