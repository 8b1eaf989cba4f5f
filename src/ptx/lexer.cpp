#include "ptx/lexer.h"

#include <array>
#include <bit>
#include <cstdlib>
#include <string>

namespace assay::ptx {
namespace {

constexpr uint8_t kIdentStart = 1, kIdent = 2, kDigit = 4, kHex = 8, kPunct = 16;

constexpr std::array<uint8_t, 256> make_classes() {
  std::array<uint8_t, 256> c{};
  for (int k = 'a'; k <= 'z'; ++k) c[k] = kIdentStart | kIdent;
  for (int k = 'A'; k <= 'Z'; ++k) c[k] = kIdentStart | kIdent;
  for (int k = '0'; k <= '9'; ++k) c[k] = kIdent | kDigit | kHex;
  for (int k = 'a'; k <= 'f'; ++k) c[k] |= kHex;
  for (int k = 'A'; k <= 'F'; ++k) c[k] |= kHex;
  c['_'] = c['$'] = kIdentStart | kIdent;
  c['%'] = kIdentStart;
  for (char k : std::string_view("(){}[]<>,;:=+-*/&|^~!@?")) c[static_cast<uint8_t>(k)] = kPunct;
  return c;
}
constexpr auto kClass = make_classes();

bool is(char c, uint8_t cls) { return (kClass[static_cast<uint8_t>(c)] & cls) != 0; }

int digit_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return (c | 0x20) - 'a' + 10;
}

}  // namespace

void Lexer::skip_space() {
  for (;;) {
    const char c = at(pos_);
    if (c == '\n') {
      ++pos_;
      ++line_;
      line_start_ = pos_;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
      ++pos_;
    } else if (c == '/' && at(pos_ + 1) == '/') {
      pos_ = std::min(text_.find('\n', pos_), text_.size());
    } else if (c == '/' && at(pos_ + 1) == '*') {
      const size_t end = text_.find("*/", pos_ + 2);
      if (end == text_.npos) unclosed_ = true;
      const size_t stop = end == text_.npos ? text_.size() : end + 2;
      for (; pos_ < stop; ++pos_) {
        if (text_[pos_] != '\n') continue;
        ++line_;
        line_start_ = pos_ + 1;
      }
    } else {
      return;
    }
  }
}

void Lexer::scan() {
  ready_ = true;
  skip_space();
  token_ = Token{};
  token_.line = line_;
  token_.column = static_cast<uint32_t>(pos_ - line_start_) + 1;
  if (pos_ >= text_.size()) {
    if (unclosed_) bad("comment without end");
    unclosed_ = false;
    return;
  }
  const char c = text_[pos_];
  size_t end = pos_ + 1;
  if (is(c, kIdentStart)) {
    while (is(at(end), kIdent)) ++end;
    token_.kind = Tok::Ident;
    token_.text = text_.substr(pos_, end - pos_);
  } else if (is(c, kDigit)) {
    scan_number();
    return;
  } else if (c == '.') {
    if (is(at(end), kDigit)) {
      scan_float(pos_);
      return;
    }
    while (is(at(end), kIdent) || (at(end) == ':' && at(end + 1) == ':' && is(at(end + 2), kIdent)))
      end += at(end) == ':' ? 2 : 1;
    token_.kind = Tok::Directive;
    token_.text = text_.substr(pos_ + 1, end - pos_ - 1);
    if (token_.text.empty()) bad("'.' without a word");
  } else if (c == '"') {
    scan_string();
    return;
  } else if (is(c, kPunct)) {
    token_.kind = Tok::Punct;
    token_.punct = c;
    token_.text = text_.substr(pos_, 1);
  } else {
    bad(c == '\0' ? "NUL byte" : "unexpected character");
  }
  pos_ = end;
}

void Lexer::scan_string() {
  size_t end = pos_ + 1;
  while (end < text_.size() && text_[end] != '"' && text_[end] != '\n') {
    end += text_[end] == '\\' && end + 1 < text_.size() && text_[end + 1] != '\n' ? 2 : 1;
  }
  if (at(end) != '"') {
    bad("string without end");
    pos_ = std::min(end, text_.size());
    return;
  }
  token_.kind = Tok::String;
  token_.text = text_.substr(pos_ + 1, end - pos_ - 1);
  pos_ = end + 1;
}

// Decimal floating constant (4.5.2): always a double.
void Lexer::scan_float(size_t start) {
  size_t end = start;
  while (is(at(end), kDigit)) ++end;
  if (at(end) == '.') ++end;
  while (is(at(end), kDigit)) ++end;
  if (at(end) == 'e' || at(end) == 'E') {
    size_t exponent = end + 1;
    if (at(exponent) == '+' || at(exponent) == '-') ++exponent;
    if (is(at(exponent), kDigit)) {
      end = exponent;
      while (is(at(end), kDigit)) ++end;
    }
  }
  const std::string copy(text_.substr(start, end - start));
  token_.kind = Tok::Float64;
  token_.value = std::bit_cast<uint64_t>(std::strtod(copy.c_str(), nullptr));
  token_.text = text_.substr(start, end - start);
  pos_ = end;
  if (is(at(pos_), kIdent)) bad("malformed number");
}

void Lexer::scan_number() {
  const size_t start = pos_;
  const char second = static_cast<char>(at(start + 1) | 0x20);
  const bool zero = text_[start] == '0';
  size_t digits = start;
  int base = 10;
  size_t fixed = 0;  // exact count of digits of a floating bit pattern
  if (zero && second == 'x')
    base = 16, digits += 2;
  else if (zero && second == 'b')
    base = 2, digits += 2;
  else if (zero && second == 'f')
    base = 16, digits += 2, fixed = 8;
  else if (zero && second == 'd')
    base = 16, digits += 2, fixed = 16;
  size_t end = digits;
  while (is(at(end), base == 16 ? kHex : kDigit)) ++end;
  const char stop = at(end);
  if (base == 10 && (stop == '.' || stop == 'e' || stop == 'E')) {
    // `1.` followed by a word is no float: `%envreg`-like components never follow a number.
    scan_float(start);
    return;
  }
  if (base == 10 && zero && end > digits + 1) base = 8, ++digits;
  uint64_t value = 0;
  bool overflow = false, wrong = end == digits;
  for (size_t k = digits; k < end; ++k) {
    const auto d = static_cast<uint64_t>(digit_value(text_[k]));
    if (d >= static_cast<uint64_t>(base)) wrong = true;
    uint64_t wide = 0;
    overflow |= __builtin_mul_overflow(value, static_cast<uint64_t>(base), &wide);
    overflow |= __builtin_add_overflow(wide, d, &value);
  }
  pos_ = end;
  token_.kind = fixed == 0 ? Tok::Int : fixed == 8 ? Tok::Float32 : Tok::Float64;
  token_.value = value;
  if (fixed == 0 && at(pos_) == 'U') {
    token_.is_unsigned = true;
    ++pos_;
  }
  token_.text = text_.substr(start, pos_ - start);
  if (fixed != 0 && end - digits != fixed) wrong = true;
  if (is(at(pos_), kIdent)) {
    wrong = true;
    while (is(at(pos_), kIdent)) ++pos_;
  }
  if (wrong) {
    bad("malformed number");
  } else if (overflow) {
    bad("number does not fit 64 bits");
  }
}

char Lexer::following_visible() const {
  size_t k = pos_;
  while (at(k) == ' ' || at(k) == '\t' || at(k) == '\n' || at(k) == '\r') ++k;
  return at(k);
}

bool Lexer::label_follows() const {
  size_t k = pos_;
  while (at(k) == ' ' || at(k) == '\t') ++k;
  return !ready_ && at(k) == ':' && at(k + 1) != ':';
}

std::string_view Lexer::opcode_after(const Token& ident) {
  const size_t start = static_cast<size_t>(ident.text.data() - text_.data());
  size_t end = start + ident.text.size();
  ready_ = false;
  while (at(end) == '.' && is(at(end + 1), kIdent)) {
    ++end;
    while (is(at(end), kIdent) || (at(end) == ':' && at(end + 1) == ':' && is(at(end + 2), kIdent)))
      end += at(end) == ':' ? 2 : 1;
  }
  pos_ = end;
  return text_.substr(start, end - start);
}

bool Lexer::version(uint32_t* major, uint32_t* minor) {
  if (ready_) return false;
  skip_space();
  uint32_t* parts[] = {major, minor};
  for (uint32_t* part : parts) {
    if (!is(at(pos_), kDigit)) return false;
    *part = 0;
    for (; is(at(pos_), kDigit) && *part < 1000; ++pos_) *part = *part * 10 + (text_[pos_] - '0');
    if (part == major && at(pos_++) != '.') return false;
  }
  return true;
}

bool Lexer::skip_braces(std::string_view* body) {
  if (ready_) return false;
  const size_t start = pos_;
  int depth = 1;
  for (; pos_ < text_.size(); ++pos_) {
    const char c = text_[pos_];
    if (c == '\n') {
      ++line_;
      line_start_ = pos_ + 1;
    } else if (c == '{') {
      ++depth;
    } else if (c == '}' && --depth == 0) {
      *body = text_.substr(start, pos_ - start);
      ++pos_;
      return true;
    }
  }
  return false;
}

}  // namespace assay::ptx
