#include "region/sass.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "host/cache.h"
#include "host/process.h"
#include "host/temporary.h"

namespace assay::region {

namespace {

std::string_view first_word(std::string_view opcode) { return opcode.substr(0, opcode.find('.')); }

bool has_part(std::string_view opcode, std::string_view part) {
  for (size_t at = opcode.find('.'); at != std::string_view::npos;) {
    const size_t end = opcode.find('.', at + 1);
    if (opcode.substr(at + 1, end == std::string_view::npos ? end : end - at - 1) == part)
      return true;
    at = end;
  }
  return false;
}

// "0x140" or "R2,0x140" of a branch: the last number.
int64_t branch_target(const std::string& opcode, const std::string& operands) {
  const std::string_view word = first_word(opcode);
  if (word != "BRA" && word != "UBRA") return -1;
  const size_t at = operands.rfind("0x");
  if (at == std::string::npos) return -1;
  int64_t value = -1;
  const char* end = operands.data() + operands.size();
  if (std::from_chars(operands.data() + at + 2, end, value, 16).ec != std::errc()) return -1;
  return value;
}

void mark_padding(std::vector<Sass>* code) {
  size_t end = code->size();
  while (end > 0 && (*code)[end - 1].opcode == "NOP") (*code)[--end].padding = true;
  if (end == 0 || end == code->size()) return;
  Sass& last = (*code)[end - 1];
  if (last.target == static_cast<int64_t>((end - 1) * kSassBytes)) last.padding = true;
}

Result<Disassembly> parse(const std::string& text) {
  using Json = nlohmann::json;
  const Json all = Json::parse(text, nullptr, false);
  const auto odd = [] {
    return fail(DiagKind::Invalid, "nvdisasm -json answers in a form that Assay does not know");
  };
  if (!all.is_array() || all.size() != 2 || !all[0].is_object() || !all[1].is_array()) return odd();
  Disassembly out;
  const auto word = [](const Json& j, const char* key) -> std::string {
    auto at = j.find(key);
    return at != j.end() && at->is_string() ? at->get<std::string>() : "";
  };
  out.producer = word(all[0], "Producer");
  for (const Json& f : all[1]) {
    if (!f.is_object() || !f.contains("sass-instructions")) return odd();
    SassFunction function;
    function.name = word(f, "function-name");
    if (auto at = f.find("start"); at != f.end() && at->is_number_unsigned())
      function.offset = at->get<uint64_t>();
    for (const Json& i : f["sass-instructions"]) {
      if (!i.is_object()) return odd();
      Sass s{word(i, "predicate"), word(i, "opcode"), word(i, "operands"), false, -1};
      s.target = branch_target(s.opcode, s.operands);
      function.code.push_back(std::move(s));
    }
    mark_padding(&function.code);
    out.functions.push_back(std::move(function));
  }
  return out;
}

}  // namespace

const char* class_name(Class c) {
  static constexpr std::array<const char*, kClasses> kNames = {
#define CLASS(id, name) name,
#include "region/classes.def"
  };
  return kNames[static_cast<size_t>(c)];
}

Class sass_class(std::string_view opcode) {
  static const std::unordered_map<std::string_view, Class> kByWord = {
#define SASS(word, class) {word, Class::class},
#include "region/classes.def"
  };
  auto at = kByWord.find(first_word(opcode));
  return at == kByWord.end() ? Class::Other : at->second;
}

uint32_t access_bytes(std::string_view opcode) {
  switch (sass_class(opcode)) {
    case Class::GlobalLoad:
    case Class::GlobalStore:
    case Class::SharedLoad:
    case Class::SharedStore:
    case Class::LocalLoad:
    case Class::LocalStore:
    case Class::AsyncCopy:
      break;
    default:
      return 0;
  }
  if (has_part(opcode, "128")) return 16;
  if (has_part(opcode, "64")) return 8;
  for (const char* part : {"U8", "S8"}) {
    if (has_part(opcode, part)) return 1;
  }
  for (const char* part : {"U16", "S16", "F16"}) {
    if (has_part(opcode, part)) return 2;
  }
  return 4;
}

Result<Disassembly> disassemble(const std::string& tool, std::string_view cubin) {
  const host::TemporaryFolder folder("assay-nvdisasm");
  if (folder.path().empty()) return fail(DiagKind::Io, "cannot make a temporary folder");
  const auto file = folder.path() / "in.cubin";
  ASSAY_CHECK(host::write_file(file, cubin));
  host::ProcessSpec spec;
  spec.argv = {tool, "-json", file.string()};
  spec.wall_seconds = 60;
  spec.max_output = size_t{1} << 30;
  ASSAY_TRY(const host::ProcessResult r, host::run_process(spec));
  if (r.timed_out) return fail(DiagKind::Limit, "nvdisasm did not finish within 60 s");
  // Warnings (of cubins of other versions) may come before the answer.
  const size_t begin = r.output.find("[{");
  if (r.exit_code != 0 || begin == std::string::npos) {
    const std::string words = r.output.substr(0, r.output.find('\n')).substr(0, 300);
    return fail(DiagKind::Unsupported, fmt::format("{} refuses the cubin: {}", tool, words));
  }
  return parse(r.output.substr(begin, r.output.rfind(']') + 1 - begin));
}

std::vector<CodeLoop> code_loops(const std::vector<Sass>& code) {
  std::map<size_t, size_t> last;  // by first: branches that close the same loop make one
  for (size_t k = 0; k < code.size(); ++k) {
    const int64_t target = code[k].target;
    if (code[k].padding || target < 0 || target > static_cast<int64_t>(k * kSassBytes)) continue;
    last[static_cast<size_t>(target) / kSassBytes] = k;
  }
  std::vector<CodeLoop> loops;
  for (const auto& [first, end] : last) loops.push_back({first, end, -1});
  std::sort(loops.begin(), loops.end(), [](const CodeLoop& a, const CodeLoop& b) {
    return std::pair(a.first, b.last) < std::pair(b.first, a.last);
  });
  std::vector<size_t> open;
  for (size_t k = 0; k < loops.size(); ++k) {
    while (!open.empty() && loops[open.back()].last < loops[k].last) open.pop_back();
    if (!open.empty()) loops[k].parent = static_cast<int32_t>(open.back());
    open.push_back(k);
  }
  return loops;
}

std::vector<uint32_t> loop_depths(const std::vector<Sass>& code) {
  std::vector<int32_t> change(code.size() + 1, 0);
  for (const CodeLoop& l : code_loops(code)) {
    ++change[l.first];
    --change[l.last + 1];
  }
  std::vector<uint32_t> depths(code.size());
  int32_t depth = 0;
  for (size_t k = 0; k < code.size(); ++k) depths[k] = static_cast<uint32_t>(depth += change[k]);
  return depths;
}

}  // namespace assay::region
