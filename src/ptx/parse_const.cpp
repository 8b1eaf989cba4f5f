// Constant expressions, PTX ISA 4.5.
#include <bit>

#include "ptx/parser.h"

namespace assay::ptx {
namespace {

int64_t shift(char op, int64_t a, int64_t b, bool is_unsigned) {
  const auto amount = static_cast<uint64_t>(b);
  if (op == 'l') return amount > 63 ? 0 : static_cast<int64_t>(static_cast<uint64_t>(a) << amount);
  if (is_unsigned)
    return amount > 63 ? 0 : static_cast<int64_t>(static_cast<uint64_t>(a) >> amount);
  return a >> (amount > 63 ? 63 : amount);
}

// Two's complement throughout; operators: l << r >> L <= G >= e == n != A && O || and C's own.
bool apply(char op, int64_t a, int64_t b, bool is_unsigned, int64_t* out) {
  const auto ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  const bool less = is_unsigned ? ua < ub : a < b;
  switch (op) {
    case '+':
      *out = static_cast<int64_t>(ua + ub);
      return true;
    case '-':
      *out = static_cast<int64_t>(ua - ub);
      return true;
    case '*':
      *out = static_cast<int64_t>(ua * ub);
      return true;
    case '/':
    case '%':
      if (b == 0) return false;
      if (is_unsigned) {
        *out = static_cast<int64_t>(op == '/' ? ua / ub : ua % ub);
      } else if (b == -1) {
        *out = op == '/' ? static_cast<int64_t>(0 - ua) : 0;
      } else {
        *out = op == '/' ? a / b : a % b;
      }
      return true;
    case 'l':
    case 'r':
      *out = shift(op, a, b, is_unsigned);
      return true;
    case '<':
      *out = less;
      return true;
    case 'G':
      *out = !less;
      return true;
    case '>':
      *out = is_unsigned ? ub < ua : b < a;
      return true;
    case 'L':
      *out = !(is_unsigned ? ub < ua : b < a);
      return true;
    case 'e':
      *out = a == b;
      return true;
    case 'n':
      *out = a != b;
      return true;
    case '&':
      *out = a & b;
      return true;
    case '^':
      *out = a ^ b;
      return true;
    case '|':
      *out = a | b;
      return true;
    case 'A':
      *out = a != 0 && b != 0;
      return true;
    case 'O':
      *out = a != 0 || b != 0;
      return true;
    default:
      return false;
  }
}

}  // namespace

// The operator at hand and its level (higher binds tighter); *two: it has two characters. 0: none.
char Parser::binary_operator(int* level, bool* two) {
  const Token& t = peek();
  const char follow = lex_.following();
  *two = false;
  if (t.kind == Tok::Ident && t.text == "%") {
    *level = 10;
    return '%';
  }
  if (t.kind != Tok::Punct) return 0;
  const char c = t.punct;
  *two = follow == '=' ? c == '<' || c == '>' || c == '=' || c == '!'
                       : follow == c && (c == '<' || c == '>' || c == '&' || c == '|');
  switch (c) {
    case '*':
    case '/':
      *level = 10;
      return c;
    case '+':
    case '-':
      *level = 9;
      return c;
    case '<':
    case '>':
      *level = follow == c ? 8 : 7;
      if (follow == c) return c == '<' ? 'l' : 'r';
      if (*two) return c == '<' ? 'L' : 'G';
      return c;
    case '=':
    case '!':
      *level = 6;
      return !*two ? '\0' : c == '=' ? 'e' : 'n';
    case '&':
      *level = *two ? 2 : 5;
      return *two ? 'A' : c;
    case '^':
      *level = 4;
      return c;
    case '|':
      *level = *two ? 1 : 3;
      return *two ? 'O' : c;
    default:
      return 0;
  }
}

bool Parser::binary(Const* out, int min_level, uint32_t depth) {
  if (depth > kMaxDepth) return error(DiagKind::Limit, peek(), "expression nested too deeply");
  if (!unary(out, depth)) return false;
  for (;;) {
    int level = 0;
    bool two = false;
    const char op = binary_operator(&level, &two);
    if (op == 0 || level < min_level) return true;
    const Token at = next();
    if (two) next();
    Const right;
    if (!binary(&right, level + 1, depth + 1)) return false;
    if (out->kind != Const::Kind::Int || right.kind != Const::Kind::Int) {
      return error(DiagKind::Unsupported, at, "arithmetic on floating constants");
    }
    out->is_unsigned |= right.is_unsigned;
    if (!apply(op, out->value, right.value, out->is_unsigned, &out->value)) {
      return error(DiagKind::Invalid, at, "constant expression divides by zero");
    }
  }
}

bool Parser::unary(Const* out, uint32_t depth) {
  if (depth > kMaxDepth) return error(DiagKind::Limit, peek(), "expression nested too deeply");
  const Token t = next();
  *out = Const{};
  if (t.kind == Tok::Int) {
    out->value = static_cast<int64_t>(t.value);
    out->is_unsigned = t.is_unsigned || out->value < 0;
    return true;
  }
  if (t.kind == Tok::Float32 || t.kind == Tok::Float64) {
    out->kind = t.kind == Tok::Float32 ? Const::Kind::F32 : Const::Kind::F64;
    out->value = static_cast<int64_t>(t.value);
    return true;
  }
  if (t.kind == Tok::Ident && t.text == "WARP_SZ") {
    out->value = 32;
    return true;
  }
  if (t.kind != Tok::Punct) return syntax(t, "constant expected, found " + describe(t));
  if (t.punct == '(') {
    if (peek().kind == Tok::Directive) {  // cast
      const Token type = next();
      if (type.text != "s64" && type.text != "u64") return syntax(type, "cast to .s64 or .u64");
      if (!expect(')') || !unary(out, depth + 1)) return false;
      out->is_unsigned = type.text == "u64";
      return true;
    }
    return binary(out, 1, depth + 1) && expect(')');
  }
  if (t.punct != '-' && t.punct != '+' && t.punct != '!' && t.punct != '~') {
    return syntax(t, "constant expected, found " + describe(t));
  }
  if (!unary(out, depth + 1)) return false;
  if (out->kind != Const::Kind::Int) {
    if (t.punct == '-') {
      const int sign = out->kind == Const::Kind::F32 ? 31 : 63;
      out->value = static_cast<int64_t>(static_cast<uint64_t>(out->value) ^ uint64_t{1} << sign);
    } else if (t.punct != '+') {
      return syntax(t, "integer operator on a floating constant");
    }
    return true;
  }
  if (t.punct == '-') {
    out->value = static_cast<int64_t>(0 - static_cast<uint64_t>(out->value));
    out->is_unsigned = false;
  } else if (t.punct == '!') {
    out->value = out->value == 0;
  } else if (t.punct == '~') {
    out->value = ~out->value;
  }
  return true;
}

bool Parser::expression(Const* out) {
  if (!binary(out, 1, 0)) return false;
  if (!is('?')) return true;
  const Token at = next();
  Const yes, no;
  if (out->kind != Const::Kind::Int) return syntax(at, "condition must be an integer");
  if (!binary(&yes, 1, 1) || !expect(':') || !binary(&no, 1, 1)) return false;
  *out = out->value != 0 ? yes : no;
  return true;
}

bool Parser::integer(int64_t* out) {
  const Token at = peek();
  Const c;
  if (!expression(&c)) return false;
  if (c.kind != Const::Kind::Int) return syntax(at, "integer expected");
  *out = c.value;
  return true;
}

}  // namespace assay::ptx
