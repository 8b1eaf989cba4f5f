#pragma once
// Parsed PTX (PTX ISA 9.0). Names are resolved: registers are dense indices, symbols and labels are
// indices, modifiers are enums. Nested { } scopes are flattened; names that clash get a suffix.
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/types.h"
#include "ptx/op.h"

namespace assay::ptx {

inline constexpr int32_t kNone = -1;

// What a name in an operand, an initialiser or an alias stands for.
enum class SymbolKind : uint8_t {
  None,
  Global,       // Module::variables[index]
  Function,     // Module::functions[index]
  Local,        // Function::locals[index] (.local, .shared, .param of call sequences, ...)
  Param,        // Function::params[index]
  ReturnParam,  // Function::returns[index]
  Prototype,    // Function::prototypes[index]
  Targets,      // Function::target_lists[index]
  Label         // Function::labels[index]
};
struct SymbolRef {
  SymbolKind kind = SymbolKind::None;
  int32_t index = kNone;
  bool operator==(const SymbolRef&) const = default;
};

enum class OperandKind : uint8_t {
  None,
  Reg,   // reg (negated: `!p`)
  Imm,   // imm, an integer (sign-extended to 64 bits as written; a reader truncates it to its type)
  FImm,  // imm = bit pattern of `type` (F32 or F64: the type the instruction gives its operand)
  Special,  // special; component 0..3 = x y z w, or the number in a numbered family
  Symbol,   // symbol + imm, as a value: an address in the symbol's own space
  Label,    // branch target: symbol.index in Function::labels
  Mem,      // [base + imm]: base is reg, or symbol, or neither (absolute); elements: coordinates
  Vec,      // {...}: elements
  Pair,     // d|p: reg is d, reg2 is p; kNone is the sink `_`
  Sink      // `_`
};

struct Operand {
  OperandKind kind = OperandKind::None;
  bool negated = false;
  Ty type = Ty::None;  // FImm only
  uint8_t component = 0;
  Special special{};
  int32_t reg = kNone;
  int32_t reg2 = kNone;
  SymbolRef symbol;
  int64_t imm = 0;
  uint32_t first = 0, count = 0;  // elements: Function::operand_pool[first, first + count)
};

// An instruction. Operands are in written order, destinations first (see the row's `operands`).
// call: always Vec of returns, target (Symbol or Reg), Vec of arguments, then Symbol (Prototype or
// Targets) if written. bar/barrier: as written.
struct Instr {
  Op op{};
  std::array<Ty, 3> types{};  // in the order of spelling, e.g. cvt: destination, source
  bool guard_negated = false;
  int32_t guard = kNone;  // predicate register of @p / @!p
  Modifiers mods;
  uint32_t first_operand = 0;  // in Function::operand_pool
  uint32_t num_operands = 0;
  int32_t suffix = kNone;  // rows whose suffix is free text (tensor forms): Module::strings
  int32_t loc = kNone;     // Module::locs: source position, by the last `.loc`
  uint32_t line = 0;       // in the PTX text

  Ty type() const { return types[0]; }
};

// Registers of one declaration: `.reg .b32 %r<12>` is one group of 12, names %r0 .. %r11.
struct RegGroup {
  std::string name;
  Ty type = Ty::None;
  uint8_t vector = 1;  // .v2, .v4
  bool range = false;  // declared with <n>: names carry a number
  uint32_t first = 0;  // dense index of its first register
  uint32_t count = 1;
};

enum class Linkage : uint8_t { Internal, Visible, Extern, Weak, Common };

// An initialiser word that holds an address.
struct Relocation {
  uint64_t offset = 0;  // bytes into the variable
  uint32_t size = 8;    // bytes
  SymbolRef symbol;
  int64_t addend = 0;
  bool generic = false;  // generic(symbol): a generic address, else one in the symbol's space
  uint64_t mask = 0;     // mask(imm, symbol): the byte(s) selected; 0: the whole address
  bool operator==(const Relocation&) const = default;
};

// A variable, a parameter, or a return parameter.
struct Variable {
  std::string name;
  Space space = Space::None;
  Ty type = Ty::None;
  std::string opaque;  // texref, samplerref, surfref; else empty
  uint8_t vector = 1;
  bool is_array = false;
  std::vector<uint64_t> dims;  // 0: unsized, `smem[]` (dynamic shared memory)
  uint64_t size = 0;           // bytes; 0 if unsized
  uint32_t align = 1;          // bytes
  uint64_t offset = 0;         // parameters: offset in the parameter block, bytes
  Linkage linkage = Linkage::Internal;
  bool has_init = false;
  std::vector<uint8_t> init;  // the first bytes; the rest of `size` is zero
  std::vector<Relocation> relocations;
  bool is_ptr =
      false;  // .ptr: a pointer parameter, to ptr_space (None: generic), aligned ptr_align
  Space ptr_space = Space::None;
  uint32_t ptr_align = 0;
  bool is_reg = false;  // .reg parameter of a function: `reg` is its register
  int32_t reg = kNone;
  std::vector<std::string> attributes;  // .attribute(...), e.g. "managed"
  uint32_t line = 0;

  bool is_dynamic() const { return is_array && size == 0; }
};

struct Label {
  std::string name;
  uint32_t target = 0;  // index in Function::body; body.size() is the end of the function
  bool operator==(const Label&) const = default;
};

// name: .callprototype (returns) _ (params);
struct Prototype {
  std::string name;
  std::vector<Variable> returns, params;
  bool noreturn = false;
};

// name: .branchtargets L1, L2;  or  name: .calltargets f1, f2;
struct TargetList {
  std::string name;
  bool calls = false;
  std::vector<SymbolRef> targets;
};

// Performance and launch directives, PTX ISA 11.4. 0: not given.
struct Directives {
  std::array<uint32_t, 3> maxntid{}, reqntid{}, reqnctapercluster{};
  uint32_t maxnreg = 0, minnctapersm = 0, maxnctapersm = 0, maxclusterrank = 0;
  bool explicitcluster = false, noreturn = false, blocksareclusters = false;
  uint32_t abi_preserve = 0, abi_preserve_control = 0;
  bool operator==(const Directives&) const = default;
};

struct Pragma {
  uint32_t before = 0;  // instruction index
  std::string text;
  bool operator==(const Pragma&) const = default;
};

// An .entry (kernel) or .func, defined or only declared.
struct Function {
  std::string name;
  bool is_entry = false;
  bool defined = false;         // has a body
  bool declared_first = false;  // a prototype came before the definition
  Linkage linkage = Linkage::Internal;
  std::vector<Variable> returns, params;
  uint64_t param_bytes = 0;  // size of the parameter block (end of the last parameter)
  Directives directives;
  std::vector<RegGroup> regs;  // ordered by `first`
  uint32_t num_regs = 0;
  std::vector<Variable> locals;
  std::vector<Prototype> prototypes;
  std::vector<TargetList> target_lists;
  std::vector<Label> labels;
  std::vector<Pragma> pragmas;
  std::vector<Instr> body;
  std::vector<Operand> operand_pool;
  std::vector<std::string> attributes;
  std::vector<Diag> diagnostics;  // every construct of this function that Assay does not execute
  uint32_t line = 0;

  std::span<const Operand> operands(const Instr& i) const {
    return {operand_pool.data() + i.first_operand, i.num_operands};
  }
  std::span<const Operand> elements(const Operand& o) const {  // of Vec and Mem
    return {operand_pool.data() + o.first, o.count};
  }
  Ty reg_type(int32_t reg) const;
  std::string reg_name(int32_t reg) const;
  int32_t find_label(std::string_view label) const;  // index in labels, kNone: no such label
};

// A source position. Positions that inlining gave carry the function's name and where it was
// called.
struct Loc {
  uint32_t file = 0;  // Module::files entry whose id is this
  uint32_t line = 0, column = 0;
  int32_t function = kNone;    // Module::strings: the inlined function's (mangled) name
  int32_t inlined_at = kNone;  // Module::locs
};
struct File {
  uint32_t id = 0;
  std::string path;
  bool operator==(const File&) const = default;
};

// What the module declares, in order of first appearance.
struct Item {
  SymbolRef symbol;  // Global or Function
  bool operator==(const Item&) const = default;
};

struct Alias {
  SymbolRef alias, aliasee;  // functions
  bool operator==(const Alias&) const = default;
};

struct Module {
  uint16_t version = 0;  // 10 * major + minor: 90 is PTX 9.0
  std::string target;    // "sm_90a"
  std::vector<std::string>
      target_options;  // further words of .target ("texmode_..."), less "debug"
  uint32_t sm = 0;     // 90
  uint32_t address_size = 64;
  std::vector<File> files;
  std::vector<Variable> variables;  // space Const, Global, Shared (also extern, dynamic), Local
  std::vector<Function> functions;
  std::vector<Item> items;
  std::vector<Alias> aliases;
  std::vector<Pragma> pragmas;  // module scope; `before` is an index into items
  std::vector<Loc> locs;
  std::vector<std::string> strings;
  std::vector<Diag> diagnostics;  // module scope; those of functions are in Function::diagnostics

  const Function* find_function(std::string_view name) const;
  const Variable* find_variable(std::string_view name) const;
  // Innermost source position first, then the call sites it was inlined at; empty: unknown.
  std::vector<SrcLoc> source_chain(const Instr& instr) const;
  SrcLoc source(const Instr& instr) const;  // innermost
};

// Parses PTX text; `file` names it in diagnostics. Fails with the first Syntax, Invalid or Limit
// diagnostic, and *all (if given) then holds every one of them, Unsupported ones too. Constructs
// that are right but that Assay does not execute are no failure: they stand in the diagnostics of
// the module and of each function, with the PTX line and, where known, the source line in the
// message.
Result<Module> parse(std::string_view text, const std::string& file,
                     std::vector<Diag>* all = nullptr);

// PTX text that parse() turns into the same module (`same`) and that ptxas accepts.
std::string print(const Module& m);
std::string print(const Module& m, const Function& f, const Instr& i);  // one line, no newline

// Equality of everything but PTX line numbers, diagnostics and unused source positions.
bool same(const Module& a, const Module& b);

}  // namespace assay::ptx
