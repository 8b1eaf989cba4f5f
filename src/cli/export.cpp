#include "cli/cli.h"
#include "host/reference.h"
#include "program/program.h"

namespace assay::cli {

namespace {

struct ExportArgs {
  host::ReferenceRequest request;
  std::string output;
  double memory_gib = 8;
};

int run_export(ExportArgs& args) {
  args.request.memory_bytes = static_cast<uint64_t>(args.memory_gib * (1ull << 30));
  std::error_code ec;
  if (!std::filesystem::is_regular_file(args.request.path, ec))
    return report_error({DiagKind::Io, "no such file", {args.request.path, 0, 0}});
  auto exported = host::export_reference(args.request);
  if (!exported) return report_error(exported.error());
  auto set = program::set_from_json(exported->json);
  if (!set) {
    Diag diag = set.error();
    if (diag.loc.file.empty()) diag.loc.file = args.request.path;
    return report_error(diag);
  }
  if (auto written = write_file(args.output, exported->json); !written)
    return report_error(written.error());
  return kProved;
}

}  // namespace

void add_export(CLI::App& app, Run& run) {
  CLI::App* sub = app.add_subcommand("export", "A PyTorch reference as a file without PyTorch");
  auto args = std::make_shared<ExportArgs>();
  host::ReferenceRequest& request = args->request;
  sub->add_option("reference", request.path, "REF.py: Model, get_inputs, get_init_inputs")
      ->required();
  sub->add_option("-o,--output", args->output, "File to write (- for standard output)")->required();
  sub->add_flag("--eval", request.eval, "In eval mode (default: as built)");
  sub->add_flag("--inputs-only", request.inputs_only, "Only what --inputs of check needs");
  sub->add_option("--altered", request.altered, "Further shapes")
      ->capture_default_str()
      ->check(CLI::Range(0, 64));
  sub->add_option("--shapes", request.shapes, "NAME=N,...: module-level integers to change");
  sub->add_option("--fn", request.function, "Function whose arguments a .cu takes")
      ->capture_default_str();
  sub->add_option("--seed", request.seed, "Seed of the example")->capture_default_str();
  sub->add_option("--timeout", request.wall_seconds, "Seconds")
      ->capture_default_str()
      ->check(CLI::Range(0.1, 1e6));
  sub->add_option("--memory", args->memory_gib, "GiB that REF.py may use")
      ->capture_default_str()
      ->check(CLI::Range(0.1, 1e4));
  sub->footer(
      "REF.py runs confined: no network, no other processes, no writes outside a temporary "
      "folder.");
  sub->callback([&run, args] { run = [args] { return run_export(*args); }; });
}

}  // namespace assay::cli
