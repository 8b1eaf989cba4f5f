#include <fmt/format.h>

#include "cli/cli.h"

namespace assay::cli {

void add_version(CLI::App& app, Run& run) {
  CLI::App* sub = app.add_subcommand("version", "Print the version");
  sub->callback([&run] {
    run = [] {
      fmt::print("assay {}\n", ASSAY_VERSION);
      return kProved;
    };
  });
}

}  // namespace assay::cli
