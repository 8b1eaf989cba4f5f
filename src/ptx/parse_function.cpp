// Functions and the statements of their bodies, PTX ISA 4.3, 5.1, 7, 11.2 to 11.4.
#include <algorithm>

#include "ptx/parser.h"

namespace assay::ptx {

void Parser::push_scope() {
  names_.push();
  scope_parents_.push_back(scope_);
  scope_ = static_cast<uint32_t>(scope_parents_.size() - 1);
}

void Parser::pop_scope() {
  names_.pop();
  scope_ = scope_parents_[scope_];
}

bool Parser::parameter_list(std::vector<Variable>* params) {
  if (!expect('(')) return false;
  if (accept(')')) return true;
  do {
    Decl d;
    Variable v;
    Token name;
    if (!decl_words(&d, true) || !decl_name(d, &v, &name) || !finish_size(&v, name)) return false;
    if (!v.is_reg && v.space != Space::Param) return syntax(name, ".param or .reg expected");
    params->push_back(std::move(v));
  } while (accept(','));
  return expect(')');
}

// Offsets in the parameter block: each parameter at its natural (or given) alignment.
void Parser::layout_params(Function* f) {
  uint64_t at = 0;
  for (Variable& p : f->params) {
    at = (at + p.align - 1) / p.align * p.align;
    p.offset = at;
    at += p.size;
  }
  f->param_bytes = at;
}

bool Parser::directive_numbers(uint32_t* out, int least, int most) {
  for (int k = 0; k < most; ++k) {
    if (k > 0 && !accept(',')) return k >= least || syntax(peek(), "',' expected");
    const Token at = peek();
    int64_t n = 0;
    if (!integer(&n)) return false;
    if (n < 0 || n > UINT32_MAX) return error(DiagKind::Invalid, at, "number out of range");
    out[k] = static_cast<uint32_t>(n);
  }
  return true;
}

// Performance and other directives between a function's parameters and its body.
bool Parser::directives(Directives* d, std::vector<Pragma>* pragmas) {
  const auto triple = [&](std::array<uint32_t, 3>* out) {
    std::array<uint32_t, 3> n{0, 1, 1};
    if (!directive_numbers(n.data(), 1, 3)) return false;
    *out = n;
    return true;
  };
  while (peek().kind == Tok::Directive) {
    const Token t = next();
    bool ok = true;
    if (t.text == "maxntid") {
      ok = triple(&d->maxntid);
    } else if (t.text == "reqntid") {
      ok = triple(&d->reqntid);
    } else if (t.text == "reqnctapercluster") {
      ok = triple(&d->reqnctapercluster);
    } else if (t.text == "maxnreg") {
      ok = directive_numbers(&d->maxnreg, 1, 1);
    } else if (t.text == "minnctapersm") {
      ok = directive_numbers(&d->minnctapersm, 1, 1);
    } else if (t.text == "maxnctapersm") {
      ok = directive_numbers(&d->maxnctapersm, 1, 1);
    } else if (t.text == "maxclusterrank") {
      ok = directive_numbers(&d->maxclusterrank, 1, 1);
    } else if (t.text == "abi_preserve") {
      ok = directive_numbers(&d->abi_preserve, 1, 1);
    } else if (t.text == "abi_preserve_control") {
      ok = directive_numbers(&d->abi_preserve_control, 1, 1);
    } else if (t.text == "explicitcluster") {
      d->explicitcluster = true;
    } else if (t.text == "blocksareclusters") {
      d->blocksareclusters = true;
    } else if (t.text == "noreturn") {
      d->noreturn = true;
    } else if (t.text == "pragma") {
      Token text;
      ok = expect_string(&text) && expect(';');
      if (ok) pragmas->push_back({0, std::string(text.text)});
    } else {
      return error(DiagKind::Unsupported, t, "function directive '." + std::string(t.text) + "'");
    }
    if (!ok) return false;
  }
  return true;
}

// Registers a header: a new function, or the definition of one that was declared.
Function* Parser::enter_function(Function header, const Token& name, bool has_body) {
  header.defined = has_body;
  const auto [it, fresh] =
      functions_.try_emplace(header.name, static_cast<int32_t>(module_.functions.size()));
  if (fresh) {
    Binding b;
    b.symbol = {SymbolKind::Function, it->second};
    if (!names_.declare(name.text, b)) {
      functions_.erase(it);
      error(DiagKind::Invalid, name, "'" + header.name + "' is declared twice");
      return nullptr;
    }
    module_.items.push_back({b.symbol});
    module_.functions.push_back(std::move(header));
    return &module_.functions.back();
  }
  Function& old = module_.functions[static_cast<size_t>(it->second)];
  if (has_body && old.defined) {
    error(DiagKind::Invalid, name, "'" + header.name + "' is defined twice");
    return nullptr;
  }
  if (old.is_entry != header.is_entry || old.params.size() != header.params.size() ||
      old.returns.size() != header.returns.size()) {
    error(DiagKind::Invalid, name, "'" + header.name + "' is declared in two ways");
    return nullptr;
  }
  if (has_body) {
    header.declared_first = true;
    old = std::move(header);
  }
  return &old;
}

void Parser::bind_params(Function* f) {
  const auto bind = [&](std::vector<Variable>& list, SymbolKind kind) {
    for (size_t k = 0; k < list.size(); ++k) {
      Variable& v = list[k];
      Token at;
      at.line = v.line;
      Binding b;
      if (v.is_reg) {
        b.reg = v.reg = static_cast<int32_t>(f->num_regs++);
      } else {
        b.symbol = {kind, static_cast<int32_t>(k)};
      }
      // Names are views: the variable's own string stays where it is while the body is read.
      if (v.name != "_" && !names_.declare(v.name, b)) {
        error(DiagKind::Invalid, at, "parameter '" + v.name + "' is declared twice");
      }
      names_.unique(v.name);
      if (!v.is_reg) continue;
      RegGroup g;
      g.name = v.name;
      g.type = v.type;
      g.first = static_cast<uint32_t>(v.reg);
      f->regs.push_back(std::move(g));
    }
  };
  bind(f->returns, SymbolKind::ReturnParam);
  bind(f->params, SymbolKind::Param);
}

bool Parser::function_header(Function* f) {
  if (!f->is_entry && peek().kind == Tok::Directive && peek().text == "attribute") {
    next();
    if (!attribute(&f->attributes)) return false;
  }
  if (!f->is_entry && is('(') && !parameter_list(&f->returns)) return false;
  Token name;
  if (!expect_ident(&name)) return false;
  f->name = name.text;
  f->line = name.line;
  if (is('(') && !parameter_list(&f->params)) return false;
  layout_params(f);
  if (!directives(&f->directives, &f->pragmas)) return false;
  const bool has_body = is('{');
  if (!has_body && !expect(';')) return false;
  Function* entered = enter_function(std::move(*f), name, has_body);
  if (!has_body) return entered != nullptr;
  if (entered == nullptr) {
    next();
    std::string_view skipped;
    lex_.skip_braces(&skipped);
    return true;
  }
  current_ = static_cast<int32_t>(entered - module_.functions.data());
  next();
  body();
  current_ = kNone;
  return true;
}

void Parser::function(Linkage linkage, bool entry, std::vector<std::string> attributes) {
  Function f;
  f.is_entry = entry;
  f.linkage = linkage;
  f.attributes = std::move(attributes);
  if (!function_header(&f)) recover();
}

// The statements after '{' up to the matching '}'.
void Parser::body() {
  names_.begin_function();
  labels_.clear();
  label_uses_.clear();
  scope_parents_.assign(1, 0);
  scope_ = 0;
  loc_ = kNone;
  names_.push();
  bind_params(&fn());
  uint32_t depth = 1;
  while (depth > 0) {
    const Token t = peek();
    if (t.kind == Tok::End) {
      syntax(t, "'}' expected at the end of '" + fn().name + "'");
      break;
    }
    if (is('{')) {
      next();
      if (depth >= kMaxDepth) {
        error(DiagKind::Limit, t, "scopes nested too deeply");
        std::string_view skipped;
        lex_.skip_braces(&skipped);
        continue;
      }
      ++depth;
      push_scope();
    } else if (is('}')) {
      next();
      if (--depth > 0) pop_scope();
    } else if (!statement()) {
      recover();
    }
  }
  resolve_labels();
  while (names_.depth() > 0) names_.pop();
}

bool Parser::statement() {
  Token t = next();
  const Token first = t;
  if (t.kind == Tok::Punct && t.punct == ';') return true;
  if (t.kind == Tok::Directive) return body_directive(t);
  int32_t guard = kNone;
  bool negated = false;
  if (t.kind == Tok::Punct && t.punct == '@') {
    negated = accept('!');
    Token name;
    if (!expect_ident(&name)) return false;
    const Binding* b = names_.find(name.text);
    if (b == nullptr || b->reg == kNone || fn().reg_type(b->reg) != Ty::Pred) {
      return error(DiagKind::Invalid, name,
                   "'" + std::string(name.text) + "' is no predicate register");
    }
    guard = b->reg;
    t = next();
  }
  if (t.kind != Tok::Ident) return syntax(t, "statement expected, found " + describe(t));
  if (guard == kNone && lex_.label_follows()) return labelled(t);
  return instruction(t, guard, negated, first);
}

bool Parser::body_directive(const Token& t) {
  if (t.text == "loc") return loc_directive();
  if (t.text == "reg") return registers();
  if (t.text == "pragma") {
    Token text;
    if (!expect_string(&text) || !expect(';')) return false;
    fn().pragmas.push_back({static_cast<uint32_t>(fn().body.size()), std::string(text.text)});
    return true;
  }
  Decl d;
  std::string_view word = t.text;
  if (const auto linkage = linkage_of(word)) {
    d.linkage = *linkage;
    const Token space = next();
    if (space.kind != Tok::Directive) return syntax(space, "state space expected");
    word = space.text;
  }
  if (const auto space = space_of(word)) {
    d.proto.space = *space;
    return variables(std::move(d), true);
  }
  if (word == "file") return file_directive();
  return error(DiagKind::Unsupported, t, "directive '." + std::string(t.text) + "' in a function");
}

// .reg {.vN} .type name, name<n>, ...;
bool Parser::registers() {
  uint8_t vector = 1;
  Ty type = Ty::None;
  while (peek().kind == Tok::Directive) {
    const Token t = next();
    if (t.text == "v2" || t.text == "v4") {
      vector = static_cast<uint8_t>(t.text[1] - '0');
    } else if (type = type_by_text(t.text); type == Ty::None) {
      return error(DiagKind::Unsupported, t, "register type '." + std::string(t.text) + "'");
    }
  }
  if (type == Ty::None) return syntax(peek(), "register type expected");
  do {
    Token name;
    if (!expect_ident(&name) || !register_name(type, vector, name)) return false;
  } while (accept(','));
  return expect(';');
}

bool Parser::register_name(Ty type, uint8_t vector, const Token& name) {
  Function& f = fn();
  RegGroup g;
  g.type = type;
  g.vector = vector;
  g.first = f.num_regs;
  int64_t count = 1;
  if (accept('<')) {
    const Token at = next();
    if (at.kind != Tok::Int) return syntax(at, "number of registers expected");
    count = at.value > kMaxRegisters ? int64_t{kMaxRegisters} + 1 : static_cast<int64_t>(at.value);
    g.range = true;
    if (!expect('>')) return false;
    if (vector > 1) return error(DiagKind::Unsupported, at, "a range of vector registers");
  }
  if (f.num_regs + count * vector > kMaxRegisters) {
    return error(DiagKind::Limit, name, "more than 2^20 registers in one function");
  }
  g.count = static_cast<uint32_t>(count);
  const auto first = static_cast<int32_t>(g.first);
  Binding b;
  b.reg = first;
  b.vector = vector;
  const bool fresh =
      g.range ? names_.declare_range(name.text, first, g.count) : names_.declare(name.text, b);
  if (!fresh) {
    return error(DiagKind::Invalid, name, "'" + std::string(name.text) + "' is declared twice");
  }
  g.name = g.range ? names_.unique_range(name.text, g.count) : names_.unique(name.text);
  f.num_regs += g.count * vector;
  f.regs.push_back(std::move(g));
  return true;
}

// name: a label, or a named prototype or list of targets.
bool Parser::labelled(const Token& name) {
  next();  // ':'
  if (peek().kind == Tok::Directive) {
    const std::string_view word = peek().text;
    if (word == "callprototype" || word == "branchtargets" || word == "calltargets") {
      next();
      return word == "callprototype" ? prototype(name) : targets(name, word == "calltargets");
    }
  }
  const auto index = static_cast<int32_t>(fn().labels.size());
  if (!labels_.try_emplace({scope_, name.text}, index).second) {
    return error(DiagKind::Invalid, name,
                 "label '" + std::string(name.text) + "' is defined twice");
  }
  fn().labels.push_back({names_.unique(name.text), static_cast<uint32_t>(fn().body.size())});
  return true;
}

bool Parser::prototype(const Token& name) {
  Prototype p;
  Token underscore;
  if (is('(') && !parameter_list(&p.returns)) return false;
  if (!expect_ident(&underscore)) return false;
  if (is('(') && !parameter_list(&p.params)) return false;
  Directives d;
  std::vector<Pragma> pragmas;
  if (!directives(&d, &pragmas) || !expect(';')) return false;
  p.noreturn = d.noreturn;
  Binding b;
  b.symbol = {SymbolKind::Prototype, static_cast<int32_t>(fn().prototypes.size())};
  if (!names_.declare(name.text, b)) {
    return error(DiagKind::Invalid, name, "'" + std::string(name.text) + "' is declared twice");
  }
  p.name = names_.unique(name.text);
  fn().prototypes.push_back(std::move(p));
  return true;
}

bool Parser::targets(const Token& name, bool calls) {
  TargetList list;
  list.calls = calls;
  const auto index = static_cast<uint32_t>(fn().target_lists.size());
  do {
    Token target;
    if (!expect_ident(&target)) return false;
    SymbolRef ref;
    if (calls) {
      const Binding* b = names_.find(target.text);
      if (b == nullptr || b->symbol.kind != SymbolKind::Function) {
        return error(DiagKind::Invalid, target,
                     "'" + std::string(target.text) + "' is no function");
      }
      ref = b->symbol;
    } else {
      label_uses_.push_back({target.text, scope_, target.line, target.column, true, index,
                             static_cast<uint32_t>(list.targets.size())});
      ref.kind = SymbolKind::Label;
    }
    list.targets.push_back(ref);
  } while (accept(','));
  if (!expect(';')) return false;
  Binding b;
  b.symbol = {SymbolKind::Targets, static_cast<int32_t>(index)};
  if (!names_.declare(name.text, b)) {
    return error(DiagKind::Invalid, name, "'" + std::string(name.text) + "' is declared twice");
  }
  list.name = names_.unique(name.text);
  fn().target_lists.push_back(std::move(list));
  return true;
}

void Parser::resolve_labels() {
  for (const LabelUse& use : label_uses_) {
    if (use.in_targets && use.index >= fn().target_lists.size()) continue;  // its list was wrong
    int32_t found = kNone;
    for (uint32_t scope = use.scope;; scope = scope_parents_[scope]) {
      const auto it = labels_.find({scope, use.name});
      if (it != labels_.end()) found = it->second;
      if (found != kNone || scope == 0) break;
    }
    if (found == kNone) {
      Token at;
      at.line = use.line;
      at.column = use.column;
      error(DiagKind::Invalid, at, "label '" + std::string(use.name) + "' is not defined");
      continue;
    }
    if (use.in_targets) {
      auto& list = fn().target_lists[use.index].targets;
      if (use.sub < list.size()) list[use.sub].index = found;
    } else {
      fn().operand_pool[use.index].symbol = {SymbolKind::Label, found};
    }
  }
}

}  // namespace assay::ptx
