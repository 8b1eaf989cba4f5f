#include <fmt/format.h>
#include <malloc.h>

#include <exception>

#include "cli/cli.h"

namespace {

constexpr const char* kExitCodes =
    "Exit codes: 0 proved, 1 refuted, 2 unknown, 3 unsupported, 4 bad input or usage,\n"
    "5 internal error, 6 approximation.";

int run_main(int argc, char** argv) {
  CLI::App app{"Assay proves or refutes GPU kernels for every input.", "assay"};
  app.require_subcommand(1);
  app.footer(kExitCodes);
  assay::cli::Run run;
  assay::cli::add_check(app, run);
  assay::cli::add_corpus(app, run);
  assay::cli::add_diff(app, run);
  assay::cli::add_export(app, run);
  assay::cli::add_guard(app, run);
  assay::cli::add_map(app, run);
  assay::cli::add_parse(app, run);
  assay::cli::add_version(app, run);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? assay::cli::kProved : assay::cli::kBadInput;
  }
  return run();
}

}  // namespace

int main(int argc, char** argv) {
  // Arrays of a megabyte and more go back to the system when they are freed: left alone, glibc
  // raises this threshold with each of them, and keeps them.
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
  try {
    return run_main(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "error[internal]: {}\nthis is a bug in Assay, not in the kernel\n",
               error.what());
  }
  return assay::cli::kInternal;
}
