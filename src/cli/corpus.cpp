#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/install.h"
#include "cli/cli.h"
#include "host/python_run.h"

namespace assay::cli {

namespace {

// Becomes python -m assay.corpus, which starts this program again for each kernel. Nothing foreign
// runs in it.
int run_corpus(const std::vector<std::string>& words) {
  auto python_dir = resource("python");
  if (!python_dir) return report_error(python_dir.error());
  std::error_code ec;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", ec);
  if (ec) return report_error({DiagKind::Io, "cannot read /proc/self/exe: " + ec.message(), {}});
  setenv("ASSAY_BINARY", self.c_str(), 1);
  setenv("PYTHONPATH", python_dir->c_str(), 1);
  // -P: a file of the working folder must not stand in for a module.
  std::vector<std::string> argv = {host::python_interpreter(), "-P", "-m", "assay.corpus"};
  argv.insert(argv.end(), words.begin(), words.end());
  std::vector<char*> pointers;
  for (std::string& word : argv) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  execvp(pointers[0], pointers.data());
  return report_error(
      {DiagKind::Io, fmt::format("cannot run {}: {}", argv[0], std::strerror(errno)), {}});
}

}  // namespace

void add_corpus(CLI::App& app, Run& run) {
  CLI::App* sub = app.add_subcommand("corpus", "Check every kernel of a folder; corpus --help");
  // Everything behind the verb, --help too, is for Python.
  sub->set_help_flag();
  sub->prefix_command();
  sub->callback([&run, sub] { run = [words = sub->remaining()] { return run_corpus(words); }; });
}

}  // namespace assay::cli
