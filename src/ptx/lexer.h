#pragma once
// Tokens of PTX text (PTX ISA 4.2 to 4.5). Works in place on the text; never allocates.
#include <cstdint>
#include <string_view>

namespace assay::ptx {

enum class Tok : uint8_t {
  End,
  Ident,      // may start with % $ _
  Directive,  // ".reg"; text without the dot
  Int,
  Float32,  // 0fXXXXXXXX; value = bit pattern
  Float64,  // 0dXXXXXXXXXXXXXXXX or decimal; value = bit pattern
  String,   // text without quotes, escapes as written
  Punct,    // one of ( ) { } [ ] < > , ; : = + - * / & | ^ ~ ! @ ?
  Bad       // text = what is wrong
};

struct Token {
  Tok kind = Tok::End;
  char punct = 0;
  std::string_view text;
  uint64_t value = 0;
  bool is_unsigned = false;  // Int with suffix U
  uint32_t line = 1;
  uint32_t column = 1;
};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  const Token& peek() {
    if (!ready_) scan();
    return token_;
  }
  Token next() {
    if (!ready_) scan();
    ready_ = false;
    return token_;
  }

  // The character right behind the token that peek() shows.
  char following() const { return at(pos_); }
  char following_visible() const;  // the same, past white space
  // Whether a ':' that is no '::' follows an Ident that was just taken: it is a label.
  bool label_follows() const;
  // After an Ident was taken: the opcode's text that starts with it ("ld.global.v4.f32").
  std::string_view opcode_after(const Token& ident);
  // `9.0` after .version: major and minor. False: no such number.
  bool version(uint32_t* major, uint32_t* minor);
  // The text up to the '}' that matches an already taken '{'; false: it ends before.
  bool skip_braces(std::string_view* body);
  uint32_t line() const { return line_; }

 private:
  void scan();
  void skip_space();
  void scan_number();
  void scan_float(size_t start);
  void scan_string();
  void bad(std::string_view what) {
    token_.kind = Tok::Bad;
    token_.text = what;
  }
  char at(size_t k) const { return k < text_.size() ? text_[k] : '\0'; }

  std::string_view text_;
  size_t pos_ = 0;
  size_t line_start_ = 0;
  uint32_t line_ = 1;
  bool ready_ = false;
  bool unclosed_ = false;
  Token token_;
};

}  // namespace assay::ptx
