// Module scope: headers, directives, debug strings, diagnostics. PTX ISA 4, 11.1, 11.5, 11.6.
#include <algorithm>
#include <cstdlib>

#include "ptx/parser.h"

namespace assay::ptx {

bool Parser::accept(char punct) {
  if (!is(punct)) return false;
  next();
  return true;
}

std::string Parser::describe(const Token& t) const {
  switch (t.kind) {
    case Tok::End:
      return "the end of the text";
    case Tok::Directive:
      return "'." + std::string(t.text) + "'";
    case Tok::Bad:
      return std::string(t.text);
    case Tok::String:
      return "a string";
    default:
      return "'" + std::string(t.text) + "'";
  }
}

bool Parser::expect(char punct) {
  if (is(punct)) {
    next();
    return true;
  }
  return syntax(peek(), std::string("'") + punct + "' expected, found " + describe(peek()));
}

bool Parser::expect_ident(Token* out) {
  *out = peek();
  if (out->kind != Tok::Ident) return syntax(*out, "name expected, found " + describe(*out));
  next();
  return true;
}

bool Parser::expect_string(Token* out) {
  *out = peek();
  if (out->kind != Tok::String) return syntax(*out, "string expected, found " + describe(*out));
  next();
  return true;
}

// Skips to behind the next ';', or before a '}' that ends the scope at hand (one that closes the
// vector in which the error was has more of the statement behind it).
void Parser::recover() {
  int depth = 0;
  for (;;) {
    const Token& t = peek();
    if (t.kind == Tok::End) return;
    if (t.kind == Tok::Punct && t.punct == '}') {
      const char follow = lex_.following_visible();
      const bool vector = follow == ';' || follow == ',' || follow == ']' || follow == ')';
      if (depth == 0 && current_ != kNone && !vector) return;
      if (depth > 0) --depth;
      next();
      if (depth == 0 && current_ == kNone) return;
      continue;
    }
    if (t.kind == Tok::Punct && t.punct == '{') ++depth;
    const bool stop = t.kind == Tok::Punct && t.punct == ';' && depth == 0;
    next();
    if (stop) return;
  }
}

bool Parser::error(DiagKind kind, const Token& at, std::string message) {
  if (kind == DiagKind::Unsupported) {
    unsupported(at, std::move(message));
    return false;
  }
  if (++diagnostics_ > kMaxDiagnostics) return false;
  if (at.kind == Tok::Bad && kind == DiagKind::Syntax) message = std::string(at.text);
  sites_.push_back({kNone, errors_.size(), loc_});
  errors_.push_back({kind, std::move(message), where(at)});
  return false;
}

// Goes to the function whose body is read, else to the module.
void Parser::unsupported(const Token& at, std::string message) {
  if (++diagnostics_ > kMaxDiagnostics) return;
  auto& list = current_ == kNone ? module_.diagnostics : fn().diagnostics;
  if (current_ != kNone) sites_.push_back({current_, list.size(), loc_});
  list.push_back({DiagKind::Unsupported, std::move(message), where(at)});
}

int32_t Parser::string_index(std::string_view text) {
  const auto [it, fresh] =
      strings_.try_emplace(std::string(text), static_cast<int32_t>(module_.strings.size()));
  if (fresh) module_.strings.emplace_back(text);
  return it->second;
}

bool Parser::header_version() {
  uint32_t major = 0, minor = 0;
  if (!lex_.version(&major, &minor)) return syntax(peek(), "version number expected");
  if (major > 99 || minor > 9) {
    return error(DiagKind::Invalid, peek(), "version number out of range");
  }
  module_.version = static_cast<uint16_t>(major * 10 + minor);
  return true;
}

bool Parser::header_target() {
  Token t;
  do {
    if (!expect_ident(&t)) return false;
    if (t.text.substr(0, 3) != "sm_") {
      // Debug sections are not kept, so neither is the word that makes ptxas ask for them.
      if (t.text != "debug") module_.target_options.emplace_back(t.text);
      continue;
    }
    module_.target = t.text;
    module_.sm = 0;
    for (char c : t.text.substr(3)) {
      if (c < '0' || c > '9' || module_.sm > 9999) break;
      module_.sm = module_.sm * 10 + static_cast<uint32_t>(c - '0');
    }
  } while (accept(','));
  return true;
}

bool Parser::address_size() {
  const Token at = peek();
  int64_t n = 0;
  if (!integer(&n)) return false;
  if (n != 32 && n != 64) return error(DiagKind::Invalid, at, "address size must be 32 or 64");
  module_.address_size = static_cast<uint32_t>(n);
  return true;
}

// .file index "path" {, timestamp, size}
bool Parser::file_directive() {
  const Token at = peek();
  int64_t id = 0;
  Token path;
  if (!integer(&id) || !expect_string(&path)) return false;
  if (id < 0 || id > UINT32_MAX) return error(DiagKind::Invalid, at, "file index out of range");
  while (accept(',')) {
    int64_t unused = 0;
    if (!integer(&unused)) return false;
  }
  module_.files.push_back({static_cast<uint32_t>(id), std::string(path.text)});
  return true;
}

// .loc file line column {, function_name label {+n}, inlined_at file line column}. 11.5.3
bool Parser::loc_directive() {
  uint32_t n[3];
  const auto position = [&](uint32_t* out) {
    for (int k = 0; k < 3; ++k) {
      const Token t = next();
      if (t.kind != Tok::Int || t.value > UINT32_MAX) return syntax(t, "source position expected");
      out[k] = static_cast<uint32_t>(t.value);
    }
    return true;
  };
  if (!position(n)) return false;
  Loc loc{n[0], n[1], n[2], kNone, kNone};
  LocName name;
  while (accept(',')) {
    Token word;
    if (!expect_ident(&word)) return false;
    if (word.text == "function_name") {
      Token label;
      if (!expect_ident(&label)) return false;
      name.label = label.text;
      if (is('+')) {
        int64_t offset = 0;
        if (!addend(&offset)) return false;
        name.offset = static_cast<uint64_t>(offset);
      }
    } else if (word.text == "inlined_at") {
      uint32_t at[3];
      if (!position(at)) return false;
      const std::tuple key{at[0], at[1], at[2]};
      const auto [it, fresh] =
          latest_loc_.try_emplace(key, static_cast<int32_t>(module_.locs.size()));
      if (fresh) {
        module_.locs.push_back({at[0], at[1], at[2], kNone, kNone});
        loc_names_.emplace_back();
      }
      loc.inlined_at = it->second;
    } else {
      return syntax(word, "function_name or inlined_at expected");
    }
  }
  const std::tuple key{n[0], n[1], n[2], name.label, name.offset, loc.inlined_at};
  const auto [it, fresh] = loc_ids_.try_emplace(key, static_cast<int32_t>(module_.locs.size()));
  if (fresh) {
    module_.locs.push_back(loc);
    loc_names_.push_back(name);
  }
  loc_ = it->second;
  latest_loc_[{n[0], n[1], n[2]}] = loc_;
  return true;
}

bool Parser::pragma_directive() {
  Token text;
  if (!expect_string(&text) || !expect(';')) return false;
  module_.pragmas.push_back({static_cast<uint32_t>(module_.items.size()), std::string(text.text)});
  return true;
}

bool Parser::alias_directive() {
  Token names[2];
  SymbolRef refs[2];
  if (!expect_ident(&names[0]) || !expect(',') || !expect_ident(&names[1]) || !expect(';')) {
    return false;
  }
  for (int k = 0; k < 2; ++k) {
    const Binding* b = names_.find_at_module(names[k].text);
    if (b == nullptr || b->symbol.kind != SymbolKind::Function) {
      return error(DiagKind::Invalid, names[k],
                   "'" + std::string(names[k].text) + "' is no function");
    }
    refs[k] = b->symbol;
  }
  module_.aliases.push_back({refs[0], refs[1]});
  return true;
}

// Debug sections are skipped, except that .debug_str holds the names of inlined functions.
bool Parser::section_directive() {
  const Token name = next();
  if (name.kind != Tok::Directive && name.kind != Tok::Ident) {
    return syntax(name, "section name expected");
  }
  if (!is('{')) return syntax(peek(), "'{' expected, found " + describe(peek()));
  next();
  std::string_view text;
  if (!lex_.skip_braces(&text)) return syntax(name, "section without end");
  if (name.text == "debug_str") debug_strings(text);
  return true;
}

// Lines `label:` and `.b8 n, n, ...`; anything else is passed over.
void Parser::debug_strings(std::string_view text) {
  Lexer lex(text);
  for (Token t = lex.next(); t.kind != Tok::End; t = lex.next()) {
    if (t.kind == Tok::Ident) debug_labels_[t.text] = debug_text_.size();
    if (t.kind == Tok::Int) debug_text_ += static_cast<char>(t.value);
  }
}

void Parser::finish_locs() {
  for (size_t k = 0; k < module_.locs.size(); ++k) {
    const LocName& name = loc_names_[k];
    if (name.label.empty()) continue;
    const auto it = debug_labels_.find(name.label);
    if (it == debug_labels_.end()) continue;
    const size_t start = it->second + name.offset;
    if (start < it->second || start >= debug_text_.size()) continue;
    const size_t end = std::min(debug_text_.find('\0', start), debug_text_.size());
    module_.locs[k].function =
        string_index(std::string_view(debug_text_).substr(start, end - start));
  }
}

// Source positions are known only now, since .file may come last.
void Parser::finish_diagnostics(std::vector<Diag>* all) {
  for (const Site& site : sites_) {
    if (site.loc == kNone) continue;
    auto& list = site.function == kNone
                     ? errors_
                     : module_.functions[static_cast<size_t>(site.function)].diagnostics;
    if (site.index >= list.size()) continue;  // the function was refused
    Instr at;
    at.loc = site.loc;
    std::string text;
    for (const SrcLoc& s : module_.source_chain(at)) {
      if (s.line == 0) continue;
      text += (text.empty() ? "source " : ", inlined at ") + s.file + ":" + std::to_string(s.line);
    }
    if (!text.empty()) list[site.index].message += " [" + text + "]";
  }
  if (diagnostics_ > kMaxDiagnostics) {
    const Diag more{DiagKind::Limit,
                    std::to_string(diagnostics_ - kMaxDiagnostics) + " more diagnostics",
                    {file_, 0, 0}};
    (errors_.empty() ? module_.diagnostics : errors_).push_back(more);
  }
  if (all == nullptr) return;
  *all = errors_;
  all->insert(all->end(), module_.diagnostics.begin(), module_.diagnostics.end());
  for (const Function& f : module_.functions) {
    all->insert(all->end(), f.diagnostics.begin(), f.diagnostics.end());
  }
  std::stable_sort(all->begin(), all->end(), [](const Diag& a, const Diag& b) {
    return std::pair(a.loc.line, a.loc.column) < std::pair(b.loc.line, b.loc.column);
  });
}

bool Parser::module_directive(const Token& t) {
  if (t.text == "version") return header_version();
  if (t.text == "target") return header_target();
  if (t.text == "address_size") return address_size();
  if (t.text == "file") return file_directive();
  if (t.text == "loc") return loc_directive();
  if (t.text == "pragma") return pragma_directive();
  if (t.text == "alias") return alias_directive();
  if (t.text == "section") return section_directive();
  return error(DiagKind::Unsupported, t, "directive '." + std::string(t.text) + "'");
}

void Parser::module_item() {
  const Token t = next();
  if (t.kind == Tok::Punct && t.punct == ';') return;
  if (t.kind != Tok::Directive) {
    syntax(t, "directive expected, found " + describe(t));
    recover();
    return;
  }
  Linkage linkage = Linkage::Internal;
  std::vector<std::string> attributes;
  Token word = t;
  while (word.kind == Tok::Directive) {
    if (const auto l = linkage_of(word.text)) {
      linkage = *l;
    } else {
      break;
    }
    word = next();
  }
  if (word.kind != Tok::Directive) {
    syntax(word, "directive expected, found " + describe(word));
    recover();
    return;
  }
  if (word.text == "entry" || word.text == "func") {
    function(linkage, word.text == "entry", std::move(attributes));
    return;
  }
  bool ok = true;
  if (const auto space = space_of(word.text)) {
    Decl d;
    d.linkage = linkage;
    d.proto.space = *space;
    ok = variables(std::move(d), false);
  } else {
    ok = module_directive(word);
  }
  if (!ok) recover();
}

Result<Module> Parser::run(std::vector<Diag>* all) {
  while (peek().kind != Tok::End && diagnostics_ < kMaxDiagnostics) module_item();
  finish_locs();
  if (module_.version == 0 && errors_.empty()) {
    Token start;
    syntax(start, "no .version directive: not a PTX module");
  } else if (module_.target.empty() && errors_.empty()) {
    Token start;
    syntax(start, "no .target directive");
  }
  loc_ = kNone;
  finish_diagnostics(all);
  if (!errors_.empty()) {
    const auto first =
        std::min_element(errors_.begin(), errors_.end(),
                         [](const Diag& a, const Diag& b) { return a.loc.line < b.loc.line; });
    return tl::unexpected<Diag>(*first);
  }
  return std::move(module_);
}

Result<Module> parse(std::string_view text, const std::string& file, std::vector<Diag>* all) {
  return Parser(text, file).run(all);
}

}  // namespace assay::ptx
