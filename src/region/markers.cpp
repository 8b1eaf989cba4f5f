#include "region/markers.h"

#include <fmt/format.h>

#include <charconv>
#include <set>
#include <sstream>

#include "region/source.h"

#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

namespace assay::region {

namespace {

constexpr std::string_view kMarker = "ASSAY_REGION";

bool is_word(char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; }

// Follows braces through C++ text, and finds markers among them.
class ScopeReader {
 public:
  explicit ScopeReader(const std::vector<std::string>& lines) : lines_(lines) {}

  std::vector<Scope> run() {
    for (uint32_t k = 0; k < lines_.size(); ++k) line(lines_[k], k + 1);
    for (const Open& o : open_) close(o, static_cast<uint32_t>(lines_.size()));
    return std::move(out_);
  }

 private:
  struct Open {
    Scope scope;
    int depth = 0;
  };

  void close(const Open& o, uint32_t line) {
    out_.push_back(o.scope);
    out_.back().last = line;
  }

  void line(const std::string& text, uint32_t number) {
    const size_t first = text.find_first_not_of(" \t");
    if (!comment_ && first != std::string::npos && text[first] == '#') return;  // its definition
    for (size_t at = 0; at < text.size(); ++at) {
      const char c = text[at];
      if (comment_) {
        if (text.compare(at, 2, "*/") == 0) comment_ = false, ++at;
      } else if (text.compare(at, 2, "//") == 0) {
        return;
      } else if (text.compare(at, 2, "/*") == 0) {
        comment_ = true;
        ++at;
      } else if (c == '"' || (c == '\'' && (at == 0 || !is_word(text[at - 1])))) {
        for (++at; at < text.size() && text[at] != c; ++at) at += text[at] == '\\';
      } else if (c == '{') {
        ++depth_;
      } else if (c == '}') {
        --depth_;
        while (!open_.empty() && open_.back().depth > depth_) {
          close(open_.back(), number);
          open_.pop_back();
        }
      } else if (text.compare(at, kMarker.size(), kMarker) == 0 &&
                 (at == 0 || !is_word(text[at - 1]))) {
        at = marker(text, at + kMarker.size(), number);
      }
    }
  }

  // Behind the word: ("name"). Returns where to go on.
  size_t marker(const std::string& text, size_t at, uint32_t number) {
    const size_t quote =
        text.find_first_not_of(" \t", std::min(text.find('(', at), text.size() - 1) + 1);
    if (quote == std::string::npos || text[quote] != '"') return at - 1;
    const size_t end = text.find('"', quote + 1);
    if (end == std::string::npos) return at - 1;
    open_.push_back({{text.substr(quote + 1, end - quote - 1), number, 0}, depth_});
    return end;
  }

  const std::vector<std::string>& lines_;
  std::vector<Scope> out_;
  std::vector<Open> open_;
  int depth_ = 0;
  bool comment_ = false;
};

struct Rule {
  std::string name;
  std::string file, text;  // "" any file; "" any text
  uint32_t first = 0, last = 0;
};

bool same_file(const std::string& path, const std::string& wanted) {
  if (wanted.empty() || path == wanted) return true;
  return path.size() > wanted.size() &&
         path.compare(path.size() - wanted.size(), wanted.size(), wanted) == 0 &&
         path[path.size() - wanted.size() - 1] == '/';
}

bool fits(const Rule& rule, const Region& r) {
  if (r.at.line == 0 || !same_file(r.at.file, rule.file)) return false;
  if (!rule.text.empty()) return r.text.find(rule.text) != std::string::npos;
  return r.at.line >= rule.first && r.at.line <= rule.last;
}

// "mm.cu:10-13", "mm.cu:10".
Result<Rule> read_range(const std::string& name, const std::string& text, const SrcLoc& at) {
  Rule rule{name, "", "", 0, 0};
  const size_t colon = text.rfind(':');
  const char* end = text.data() + text.size();
  const auto bad = [&] {
    return fail(DiagKind::Invalid, fmt::format("\"{}\" is no FILE:FIRST-LAST", text), at);
  };
  if (colon == std::string::npos) return bad();
  rule.file = text.substr(0, colon);
  auto [next, error] = std::from_chars(text.data() + colon + 1, end, rule.first);
  if (error != std::errc() || rule.first == 0) return bad();
  rule.last = rule.first;
  if (next != end) {
    if (*next != '-') return bad();
    auto [rest, error2] = std::from_chars(next + 1, end, rule.last);
    if (error2 != std::errc() || rest != end || rule.last < rule.first) return bad();
  }
  return rule;
}

Result<std::vector<Rule>> read_toml(const std::string& path) {
  const toml::parse_result parsed = toml::parse_file(path);
  const auto place = [&](const toml::source_region& r) {
    return SrcLoc{path, r.begin.line, r.begin.column};
  };
  if (!parsed)
    return fail(DiagKind::Syntax, std::string(parsed.error().description()),
                place(parsed.error().source()));
  std::vector<Rule> rules;
  const toml::array* regions = parsed.table()["region"].as_array();
  if (regions == nullptr) return fail(DiagKind::Invalid, "no [[region]] in it", {path, 0, 0});
  for (const toml::node& node : *regions) {
    const toml::table* t = node.as_table();
    const std::string name = t == nullptr ? "" : (*t)["name"].value_or(std::string());
    const SrcLoc at = place(node.source());
    if (name.empty()) return fail(DiagKind::Invalid, "a region without a name", at);
    const size_t before = rules.size();
    for (const char* key : {"lines", "text"}) {
      const toml::node_view<const toml::node> list = (*t)[key];
      if (!list) continue;
      if (!list.is_array())
        return fail(DiagKind::Invalid, fmt::format("{} is a list of strings", key), at);
      for (const toml::node& item : *list.as_array()) {
        const auto text = item.value<std::string>();
        if (!text || text->empty())
          return fail(DiagKind::Invalid, fmt::format("{} is a list of strings", key), at);
        if (std::string_view(key) == "text") {
          rules.push_back({name, "", *text, 0, 0});
        } else {
          ASSAY_TRY(Rule rule, read_range(name, *text, at));
          rules.push_back(std::move(rule));
        }
      }
    }
    if (rules.size() == before)
      return fail(DiagKind::Invalid, fmt::format("region {} has neither lines nor text", name), at);
  }
  return rules;
}

}  // namespace

std::vector<Scope> marked_scopes(const std::vector<std::string>& lines) {
  return ScopeReader(lines).run();
}

Status apply_markers(const std::string& toml, RegionMap* map) {
  std::vector<Rule> rules;
  Sources sources;
  std::set<std::string> files;
  for (const KernelMap& k : map->kernels) {
    for (const Region& r : k.regions) {
      if (!r.at.file.empty()) files.insert(r.at.file);
    }
  }
  for (const std::string& file : files) {
    // Inner scopes end first; outer ones must not take what they have named.
    for (const Scope& s : marked_scopes(sources.lines(file)))
      rules.push_back({s.name, file, "", s.first, s.last});
  }
  if (!toml.empty()) {
    ASSAY_TRY(std::vector<Rule> own, read_toml(toml));
    rules.insert(rules.begin(), own.begin(), own.end());  // the file outranks the source
  }
  for (KernelMap& k : map->kernels) {
    for (Region& r : k.regions) {
      if (r.kind == Kind::Function) continue;
      for (const Rule& rule : rules) {
        if (!fits(rule, r)) continue;
        r.label = rule.name;
        break;
      }
    }
  }
  return {};
}

}  // namespace assay::region
