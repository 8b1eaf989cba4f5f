// Variables, parameters and initialisers, PTX ISA 5.1 to 5.4.
#include <algorithm>
#include <bit>

#include "ptx/parser.h"

namespace assay::ptx {

std::optional<Space> Parser::space_of(std::string_view word) {
  if (word == "global") return Space::Global;
  if (word == "shared") return Space::Shared;
  if (word == "local") return Space::Local;
  if (word == "const") return Space::Const;
  if (word == "param") return Space::Param;
  return std::nullopt;
}

std::optional<Linkage> Parser::linkage_of(std::string_view word) {
  if (word == "visible") return Linkage::Visible;
  if (word == "extern") return Linkage::Extern;
  if (word == "weak") return Linkage::Weak;
  if (word == "common") return Linkage::Common;
  return std::nullopt;
}

// .attribute(name, name(args), ...): kept as text.
bool Parser::attribute(std::vector<std::string>* out) {
  if (!expect('(')) return false;
  do {
    const Token name = next();
    if (name.kind != Tok::Directive) return syntax(name, "attribute expected");
    std::string text(name.text);
    if (accept('(')) {
      text += '(';
      for (bool first = true; !is(')'); first = false) {
        int64_t value = 0;
        if (!first && !expect(',')) return false;
        if (!integer(&value)) return false;
        text += (first ? "" : ", ") + std::to_string(value);
      }
      next();
      text += ')';
    }
    out->push_back(std::move(text));
  } while (accept(','));
  return expect(')');
}

// .ptr {.space} {.align n}, after the word ptr.
bool Parser::decl_ptr(Variable* v) {
  v->is_ptr = true;
  v->ptr_align = 4;  // 7.1.2: the default
  while (peek().kind == Tok::Directive) {
    if (const auto space = space_of(peek().text)) {
      next();
      v->ptr_space = *space;
    } else if (peek().text == "align") {
      const Token at = next();
      int64_t n = 0;
      if (!integer(&n)) return false;
      if (n <= 0 || n > (1 << 20) || !std::has_single_bit(static_cast<uint64_t>(n))) {
        return error(DiagKind::Invalid, at, "alignment must be a power of two");
      }
      v->ptr_align = static_cast<uint32_t>(n);
    } else {
      return true;
    }
  }
  return true;
}

// The words before a name: space, .align, vector, type, ...
bool Parser::decl_words(Decl* d, bool parameter) {
  Variable& v = d->proto;
  v.align = 0;
  while (peek().kind == Tok::Directive) {
    const Token t = next();
    if (t.text == "align") {
      int64_t n = 0;
      if (!integer(&n)) return false;
      if (n <= 0 || n > (1 << 20) || !std::has_single_bit(static_cast<uint64_t>(n))) {
        return error(DiagKind::Invalid, t, "alignment must be a power of two");
      }
      v.align = static_cast<uint32_t>(n);
    } else if (t.text == "ptr" && parameter) {
      if (!decl_ptr(&v)) return false;
    } else if (t.text == "attribute") {
      if (!attribute(&v.attributes)) return false;
    } else if (t.text == "v2" || t.text == "v4" || t.text == "v8") {
      v.vector = static_cast<uint8_t>(t.text[1] - '0');
    } else if (t.text == "reg") {
      d->is_reg = true;
    } else if (const auto space = space_of(t.text)) {
      v.space = *space;
    } else if (t.text == "texref" || t.text == "samplerref" || t.text == "surfref") {
      v.opaque = t.text;
    } else if (const Ty type = type_by_text(t.text); type != Ty::None) {
      v.type = type;
    } else {
      return error(DiagKind::Unsupported, t, "declaration word '." + std::string(t.text) + "'");
    }
  }
  if (v.type == Ty::None && v.opaque.empty()) return syntax(peek(), "type expected");
  return true;
}

bool Parser::array_dims(Variable* v) {
  while (accept('[')) {
    v->is_array = true;
    int64_t n = 0;
    const Token at = peek();
    if (!is(']') && !integer(&n)) return false;
    if (n < 0) return error(DiagKind::Invalid, at, "array size is negative");
    if (v->dims.size() >= 16) return error(DiagKind::Limit, at, "too many array dimensions");
    v->dims.push_back(static_cast<uint64_t>(n));
    if (!expect(']')) return false;
  }
  return true;
}

// Size in bytes and default alignment. Opaque handles are 8 bytes.
bool Parser::finish_size(Variable* v, const Token& at) {
  const uint32_t element = v->opaque.empty() ? bytes(v->type) : 8;
  uint64_t size = uint64_t{element} * v->vector;
  if (v->align == 0) v->align = std::max<uint32_t>(1, static_cast<uint32_t>(size));
  for (uint64_t d : v->dims) {
    if (__builtin_mul_overflow(size, d, &size) || size > uint64_t{1} << 48) {
      return error(DiagKind::Limit, at, "variable is too large");
    }
  }
  v->size = size;
  return true;
}

// name{dims}; the name is bound by the caller.
bool Parser::decl_name(const Decl& d, Variable* v, Token* name) {
  *v = d.proto;
  v->linkage = d.linkage;
  v->is_reg = d.is_reg;
  if (!expect_ident(name)) return false;
  v->name = name->text;
  v->line = name->line;
  return array_dims(v);
}

// A list of variables up to its ';'. Their space is known.
bool Parser::variables(Decl d, bool in_function) {
  if (!decl_words(&d, false)) return false;
  do {
    Variable v;
    Token name;
    if (!decl_name(d, &v, &name) || !finish_size(&v, name)) return false;
    if (is('=')) {
      next();
      if (!initialiser(&v)) return false;
    }
    if (v.dims.size() > 1 && v.size == 0) {
      // Only the first dimension may be open (5.4.2).
      for (size_t k = 1; k < v.dims.size(); ++k) {
        if (v.dims[k] == 0) return error(DiagKind::Invalid, name, "array dimension is missing");
      }
    }
    if (!in_function) {
      add_module_variable(std::move(v), name);
      continue;
    }
    Binding b;
    b.symbol = {SymbolKind::Local, static_cast<int32_t>(fn().locals.size())};
    if (!names_.declare(name.text, b)) {
      return error(DiagKind::Invalid, name, "'" + v.name + "' is declared twice");
    }
    v.name = names_.unique(name.text);
    fn().locals.push_back(std::move(v));
  } while (accept(','));
  return expect(';');
}

void Parser::add_module_variable(Variable v, const Token& name) {
  Binding b;
  b.symbol = {SymbolKind::Global, static_cast<int32_t>(module_.variables.size())};
  if (const Binding* old = names_.find_at_module(name.text)) {
    // An extern declaration may be repeated, or come before the definition (5.4, 11.6).
    if (old->symbol.kind == SymbolKind::Global) {
      Variable& first = module_.variables[static_cast<size_t>(old->symbol.index)];
      const bool same_kind = first.space == v.space && first.type == v.type;
      if (same_kind && v.linkage == Linkage::Extern) return;
      if (same_kind && first.linkage == Linkage::Extern) {
        first = std::move(v);
        return;
      }
    }
    error(DiagKind::Invalid, name, "'" + v.name + "' is declared twice");
    return;
  }
  names_.declare(name.text, b);
  module_.items.push_back({b.symbol});
  module_.variables.push_back(std::move(v));
}

bool Parser::initialiser(Variable* v) {
  const Token at = peek();
  if (v->space == Space::Shared || v->space == Space::Local || v->space == Space::Param) {
    return error(DiagKind::Invalid, at, "only .global and .const variables have initialisers");
  }
  if (!v->opaque.empty()) {
    return error(DiagKind::Unsupported, at, "initialiser of a ." + v->opaque);
  }
  v->has_init = true;
  uint64_t index = 0;
  const bool ok = is('{') ? init_list(v, &index, 0) : init_value(v, &index);
  if (!ok) return false;
  if (v->is_array && v->size == 0 && v->dims[0] == 0) {  // size by the initialiser
    uint64_t row = v->vector;
    for (size_t k = 1; k < v->dims.size(); ++k) row *= v->dims[k];
    if (row == 0) return error(DiagKind::Invalid, at, "array dimension is missing");
    v->dims[0] = (index + row - 1) / row;
    return finish_size(v, at);
  }
  if (index * bytes(v->type) > v->size) {
    return error(DiagKind::Invalid, at, "more initial values than the variable holds");
  }
  return true;
}

// Nested braces fill whole rows; here rows must be full or last, so the values simply follow.
bool Parser::init_list(Variable* v, uint64_t* index, uint32_t depth) {
  if (depth > kMaxDepth) return error(DiagKind::Limit, peek(), "initialiser nested too deeply");
  if (!expect('{')) return false;
  // Values in one brace at this depth: a short row is padded with zeros to its full length.
  uint64_t row = 1;
  for (size_t k = depth; k < v->dims.size(); ++k) {
    if (__builtin_mul_overflow(row, v->dims[k], &row)) row = 0;
  }
  row *= v->vector;
  const uint64_t start = *index;
  while (!is('}')) {
    const bool ok = is('{') ? init_list(v, index, depth + 1) : init_value(v, index);
    if (!ok) return false;
    if (!accept(',')) break;
  }
  if (depth > 0 && row > 0 && depth <= v->dims.size() && *index - start < row) {
    *index = start + row;
  }
  return expect('}');
}

void Parser::put_bytes(Variable* v, uint64_t offset, uint32_t width, uint64_t bits) {
  if (v->init.size() < offset + width) {
    init_bytes_ += offset + width - v->init.size();
    v->init.resize(offset + width);
  }
  for (uint32_t k = 0; k < width; ++k) {
    v->init[offset + k] = static_cast<uint8_t>(bits >> (8 * k));
  }
}

bool Parser::init_string(Variable* v, uint64_t* index, const Token& t) {
  if (bytes(v->type) != 1) return error(DiagKind::Invalid, t, "string for elements of one byte");
  for (size_t k = 0; k < t.text.size(); ++k) {
    put_bytes(v, (*index)++, 1, static_cast<uint8_t>(t.text[k]));
  }
  return true;
}

bool Parser::init_value(Variable* v, uint64_t* index) {
  const uint32_t width = bytes(v->type);
  const Token at = peek();
  uint64_t offset = 0;
  if (__builtin_mul_overflow(*index, uint64_t{width}, &offset) ||
      init_bytes_ + width > kMaxInitBytes || offset > kMaxInitBytes) {
    return error(DiagKind::Limit, at, "initialisers are too large");
  }
  if (at.kind == Tok::String) return init_string(v, index, next());
  if (at.kind == Tok::Ident && at.text != "WARP_SZ") {
    ++*index;
    return init_symbol(v, offset, width, next());
  }
  Const c;
  if (!expression(&c)) return false;
  ++*index;
  auto value = static_cast<uint64_t>(c.value);
  const bool real = c.kind != Const::Kind::Int;
  if (real != is_float(v->type) && info(v->type).cls != TyClass::B) {
    if (real) return error(DiagKind::Invalid, at, "floating value for an integer variable");
    return error(DiagKind::Invalid, at, "integer value for a floating variable");
  }
  if (c.kind == Const::Kind::F64 && width == 4) {
    value = std::bit_cast<uint32_t>(static_cast<float>(std::bit_cast<double>(value)));
  } else if (c.kind == Const::Kind::F32 && width == 8) {
    value = std::bit_cast<uint64_t>(
        static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(value))));
  } else if (real && width < 4) {
    return error(DiagKind::Unsupported, at, "floating initial value of less than 32 bits");
  }
  put_bytes(v, offset, std::min(width, 8u), value);
  return true;
}

// name{+n}, generic(name){+n}, mask(0xff.., name{+n}): an address.
bool Parser::init_symbol(Variable* v, uint64_t offset, uint32_t width, Token name) {
  Relocation r;
  r.offset = offset;
  r.size = width;
  bool close = false, close_before_addend = false;
  if (name.text == "mask" && is('(')) {
    next();
    int64_t mask = 0;
    if (!integer(&mask) || !expect(',') || !expect_ident(&name)) return false;
    r.mask = static_cast<uint64_t>(mask);
    close = true;
  }
  if (name.text == "generic" && is('(')) {
    next();
    r.generic = true;
    if (!expect_ident(&name)) return false;
    close_before_addend = true;
  }
  const Binding* b = names_.find_at_module(name.text);
  if (b == nullptr) {
    return error(DiagKind::Invalid, name, "unknown name '" + std::string(name.text) + "'");
  }
  r.symbol = b->symbol;
  if (is('+') || is('-')) {
    if (!addend(&r.addend)) return false;
  }
  if (close_before_addend && !expect(')')) return false;
  if (is('+') || is('-')) {
    int64_t more = 0;
    if (!addend(&more)) return false;
    r.addend = static_cast<int64_t>(static_cast<uint64_t>(r.addend) + static_cast<uint64_t>(more));
  }
  if (close && !expect(')')) return false;
  if (width < 4 && r.mask == 0) {
    return error(DiagKind::Invalid, name, "an address needs 4 or 8 bytes");
  }
  put_bytes(v, offset, width, 0);
  v->relocations.push_back(r);
  return true;
}

}  // namespace assay::ptx
