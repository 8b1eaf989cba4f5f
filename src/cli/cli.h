#pragma once
// Verbs of the program. One file a verb: each adds its subcommand and fills in `run`.
#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "base/result.h"
#include "report/report.h"

namespace assay::cli {

// Exit codes of every verb.
enum Exit : int {
  kProved = 0,  // also: done
  kRefuted = 1,
  kUnknown = 2,
  kUnsupported = 3,
  kBadInput = 4,  // and wrong usage
  kInternal = 5,
  kApproximation = 6
};

// What main runs after the command line is read: the exit code of the verb that was named.
using Run = std::function<int()>;

void add_check(CLI::App& app, Run& run);
void add_corpus(CLI::App& app, Run& run);
void add_diff(CLI::App& app, Run& run);
void add_export(CLI::App& app, Run& run);
void add_guard(CLI::App& app, Run& run);
void add_map(CLI::App& app, Run& run);
void add_parse(CLI::App& app, Run& run);
void add_version(CLI::App& app, Run& run);

// Colour when `stream` is a terminal, NO_COLOR is not set and TERM is not "dumb".
report::TextOptions text_options(std::FILE* stream, bool verbose);

// Prints the diagnostic on standard error and, where json_path is given, writes it as JSON;
// returns its exit code.
int report_error(const Diag& diag, const std::string& json_path = "");

// Writes a whole file; "-" is standard output.
Status write_file(const std::string& path, std::string_view text);
Result<std::string> read_file(const std::string& path);

}  // namespace assay::cli
