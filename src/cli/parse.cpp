#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/cli.h"
#include "ptx/module.h"

namespace assay::cli {

namespace {

struct ParseArgs {
  std::string file;
  bool print = false;
  bool forms = false;
};

struct FormCount {
  uint64_t count = 0;
  uint32_t first_line = 0;
};

std::map<ptx::Op, FormCount> count_forms(const ptx::Module& module) {
  std::map<ptx::Op, FormCount> forms;
  for (const auto& function : module.functions) {
    for (const auto& instr : function.body) {
      FormCount& form = forms[instr.op];
      if (form.count++ == 0) form.first_line = instr.line;
    }
  }
  return forms;
}

bool executed(ptx::Op op) { return ptx::row(op).status == ptx::OpStatus::Executed; }

void print_coverage(const ptx::Module& module, bool all_forms) {
  auto forms = count_forms(module);
  uint64_t total = 0, run = 0, run_forms = 0;
  for (const auto& [op, form] : forms) {
    total += form.count;
    if (executed(op)) run += form.count, ++run_forms;
  }
  fmt::print(
      "PTX {}.{}, {}: {} functions, {} instructions of {} forms; executed by Assay: {} "
      "instructions "
      "of {} forms\n",
      module.version / 10, module.version % 10, report::clean(module.target),
      module.functions.size(), report::grouped(total), forms.size(), report::grouped(run),
      run_forms);
  std::vector<std::pair<ptx::Op, FormCount>> rows(forms.begin(), forms.end());
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.second.count > b.second.count; });
  for (const auto& [op, form] : rows) {
    if (!all_forms && executed(op)) continue;
    const ptx::OpRow& row = ptx::row(op);
    fmt::print("  {:>8} {:<20} {:<12} PTX ISA {}, first at line {}\n", form.count, row.spelling,
               executed(op) ? "executed" : "not executed", row.section, form.first_line);
  }
}

int run_parse(const ParseArgs& args) {
  auto text = read_file(args.file);
  if (!text) return report_error(text.error());
  std::vector<Diag> diags;
  auto module = ptx::parse(*text, args.file, &diags);
  if (!module && diags.empty()) diags.push_back(module.error());
  int code = kProved;
  for (const auto& diag : diags) {
    int own = report_error(diag);
    // A text that does not parse outweighs a construct that is not executed.
    if (code == kProved || code == kUnsupported) code = own;
  }
  if (module && args.print) fmt::print("{}", ptx::print(*module));
  if (module && !args.print) print_coverage(*module, args.forms);
  return code;
}

}  // namespace

void add_parse(CLI::App& app, Run& run) {
  CLI::App* sub = app.add_subcommand("parse", "Parse PTX: all diagnostics, coverage of its forms");
  auto args = std::make_shared<ParseArgs>();
  sub->add_option("file", args->file, "PTX text")->required();
  sub->add_flag("--print", args->print, "Print the module as PTX again");
  sub->add_flag("--forms", args->forms, "List every form used, not only those not executed");
  sub->footer("Exit code 3: the text is right, but holds constructs that Assay does not execute.");
  sub->callback([&run, args] { run = [args] { return run_parse(*args); }; });
}

}  // namespace assay::cli
