#pragma once
// The PTX parser: one pass, one token of look-ahead. Internal to src/ptx.
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "ptx/form.h"
#include "ptx/lexer.h"
#include "ptx/names.h"

namespace assay::ptx {

// Limits that keep hostile text from costing more than its own length.
inline constexpr uint32_t kMaxDepth = 64;            // nesting of scopes, expressions, vectors
inline constexpr uint32_t kMaxRegisters = 1u << 20;  // in one function
inline constexpr size_t kMaxDiagnostics = 1000;      // of one module
inline constexpr uint64_t kMaxInitBytes = 1u << 28;  // of one module

class Parser {
 public:
  Parser(std::string_view text, std::string file) : lex_(text), file_(std::move(file)) {}
  Result<Module> run(std::vector<Diag>* all);

 private:
  // A constant of an expression or initialiser.
  struct Const {
    enum class Kind : uint8_t { Int, F32, F64 } kind = Kind::Int;
    int64_t value = 0;  // or bit pattern
    bool is_unsigned = false;
  };
  // A use of a label, resolved when the function ends.
  struct LabelUse {
    std::string_view name;
    uint32_t scope = 0;
    uint32_t line = 0, column = 0;
    bool in_targets = false;
    uint32_t index = 0, sub = 0;  // operand in the pool, or target list and entry
  };
  struct Site {                // of a diagnostic whose source line is filled in at the end
    int32_t function = kNone;  // kNone: in errors_
    size_t index = 0;
    int32_t loc = kNone;
  };

  // parse_module.cpp
  void module_item();
  bool module_directive(const Token& t);
  bool header_version();
  bool header_target();
  bool address_size();
  bool file_directive();
  bool loc_directive();
  bool pragma_directive();
  bool alias_directive();
  bool section_directive();
  void debug_strings(std::string_view body);
  void finish_locs();
  void finish_diagnostics(std::vector<Diag>* all);

  // parse_variable.cpp
  struct Decl {  // what stands before a variable's name
    Linkage linkage = Linkage::Internal;
    Variable proto;
    bool is_reg = false;
  };
  static std::optional<Space> space_of(std::string_view word);
  static std::optional<Linkage> linkage_of(std::string_view word);
  bool decl_words(Decl* d, bool parameter);
  bool decl_ptr(Variable* v);
  bool decl_name(const Decl& d, Variable* v, Token* name);
  bool array_dims(Variable* v);
  bool finish_size(Variable* v, const Token& at);
  bool attribute(std::vector<std::string>* out);
  bool variables(Decl d, bool in_function);
  void add_module_variable(Variable v, const Token& name);
  bool initialiser(Variable* v);
  bool init_list(Variable* v, uint64_t* index, uint32_t depth);
  bool init_value(Variable* v, uint64_t* index);
  bool init_symbol(Variable* v, uint64_t offset, uint32_t width, Token name);
  void put_bytes(Variable* v, uint64_t offset, uint32_t width, uint64_t bits);
  bool init_string(Variable* v, uint64_t* index, const Token& t);

  // parse_function.cpp
  void function(Linkage linkage, bool entry, std::vector<std::string> attributes);
  bool function_header(Function* f);
  bool parameter_list(std::vector<Variable>* params);
  bool directives(Directives* d, std::vector<Pragma>* pragmas);
  bool directive_numbers(uint32_t* out, int least, int most);
  Function* enter_function(Function header, const Token& name, bool has_body);
  void layout_params(Function* f);
  void bind_params(Function* f);
  void body();
  bool statement();
  bool body_directive(const Token& t);
  bool registers();
  bool register_name(Ty type, uint8_t vector, const Token& name);
  bool labelled(const Token& name);
  bool prototype(const Token& name);
  bool targets(const Token& name, bool calls);
  void resolve_labels();
  void push_scope();
  void pop_scope();

  // parse_instr.cpp
  bool instruction(const Token& name, int32_t guard, bool negated, const Token& first);
  bool instruction_operands(std::vector<Operand>* out, bool labels);
  bool call_operands(std::vector<Operand>* out);
  bool operand(Operand* out, bool labels, uint32_t depth);
  bool named_operand(Operand* out, const Token& name, bool labels);
  bool reg_operand(Operand* out, const Binding& b, const Token& name);
  bool pair_rest(Operand* out);
  bool special(Operand* out, const Token& name);
  bool mem_operand(Operand* out, uint32_t depth);
  bool vec_operand(Operand* out, char close, uint32_t depth);
  bool addend(int64_t* value);
  void finish_instruction(Instr instr, const std::vector<Form>& forms,
                          std::vector<Operand>* operands, std::string_view opcode, const Token& at);
  bool fits(const Form& form, const std::vector<Operand>& operands, std::string* why);
  std::string misfit(const Shape& s, const Operand& o, const Form& form) const;
  std::string misfit_vec(const Shape& s, const Operand& o, const Form& form) const;
  bool reg_fits(int32_t reg, Ty want, Shape::Rule rule) const;
  void set_float_type(Operand* o, Ty want);

  // parse_const.cpp
  bool expression(Const* out);
  bool binary(Const* out, int min_level, uint32_t depth);
  bool unary(Const* out, uint32_t depth);
  char binary_operator(int* level, bool* two);
  bool integer(int64_t* out);  // a constant expression that is an integer

  // Tokens.
  const Token& peek() { return lex_.peek(); }
  Token next() { return lex_.next(); }
  bool is(char punct) { return peek().kind == Tok::Punct && peek().punct == punct; }
  bool accept(char punct);
  bool expect(char punct);
  bool expect_ident(Token* out);
  bool expect_string(Token* out);
  std::string describe(const Token& t) const;
  void recover();

  // Diagnostics. error() returns false.
  bool error(DiagKind kind, const Token& at, std::string message);
  bool syntax(const Token& at, std::string message) {
    return error(DiagKind::Syntax, at, std::move(message));
  }
  void unsupported(const Token& at, std::string message);
  SrcLoc where(const Token& t) const { return {file_, t.line, t.column}; }
  Function& fn() { return module_.functions[static_cast<size_t>(current_)]; }
  const Function& fn() const { return module_.functions[static_cast<size_t>(current_)]; }
  int32_t string_index(std::string_view text);

  Lexer lex_;
  std::string file_;
  Module module_;
  Names names_;
  std::vector<Diag> errors_;
  size_t diagnostics_ = 0;
  std::vector<Site> sites_;

  int32_t current_ = kNone;  // function whose body is read
  int32_t loc_ = kNone;
  uint32_t scope_ = 0;  // index in scope_parents_
  std::vector<uint32_t> scope_parents_;
  std::map<std::pair<uint32_t, std::string_view>, int32_t> labels_;  // (scope, name) -> label
  std::vector<LabelUse> label_uses_;

  std::unordered_map<std::string_view, std::vector<Form>> forms_;
  std::unordered_map<std::string, int32_t> strings_;
  std::unordered_map<std::string, int32_t> functions_;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, int32_t> latest_loc_;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t, std::string_view, uint64_t, int32_t>, int32_t>
      loc_ids_;
  struct LocName {
    std::string_view label;
    uint64_t offset = 0;
  };
  std::vector<LocName> loc_names_;  // parallel to Module::locs
  std::unordered_map<std::string_view, size_t> debug_labels_;
  std::string debug_text_;
  uint64_t init_bytes_ = 0;
  std::vector<Operand> operands_;        // scratch of one instruction
  std::vector<const Shape*> positions_;  // of operands_, by the last fits()
};

}  // namespace assay::ptx
