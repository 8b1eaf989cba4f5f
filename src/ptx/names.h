#pragma once
// Names in nested scopes (PTX ISA 4.4, 9.7.12.1) while parsing.
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ptx/module.h"

namespace assay::ptx {

struct Binding {
  SymbolRef symbol;     // kind None: a register
  int32_t reg = kNone;  // first register
  uint8_t vector = 1;
  uint32_t depth = 0;
};

// Scope 0 is the module. Keys are views into the parsed text, which outlives this.
class Names {
 public:
  void push() { marks_.push_back(log_.size()); }
  void pop();
  uint32_t depth() const { return static_cast<uint32_t>(marks_.size()); }

  // False: the innermost scope has the name already.
  bool declare(std::string_view name, Binding b);
  // prefix0 .. prefix<count-1>
  bool declare_range(std::string_view prefix, int32_t first_reg, uint32_t count);
  // The innermost meaning, or null.
  const Binding* find(std::string_view name);
  const Binding* find_at_module(std::string_view name) const;

  // Names of the current function as they will be printed, where all scopes are one.
  void begin_function();
  // A name like `name` that nothing in the function or the module has; `name` itself if free.
  std::string unique(std::string_view name);
  std::string unique_range(std::string_view prefix, uint32_t count);

 private:
  struct Range {
    int32_t first = 0;
    uint32_t count = 0;
    uint32_t depth = 0;
  };
  struct Undo {
    std::string_view key;
    bool range = false, had = false;
    Binding binding;
    Range old_range;
  };
  bool taken(const std::string& name) const;

  std::unordered_map<std::string_view, Binding> bindings_;
  std::unordered_map<std::string_view, Range> ranges_;
  std::vector<Undo> log_;
  std::vector<size_t> marks_;
  Binding scratch_;
  std::unordered_set<std::string> used_;
  std::unordered_map<std::string, uint32_t> used_ranges_;  // prefix -> count
  // prefix -> single names used that read prefix + number
  std::unordered_map<std::string, uint32_t> numbered_;
  std::unordered_map<std::string, uint32_t> counters_;
};

// "%r12" -> "%r" and 12. False: no trailing number, or one that a range cannot give (leading zero).
bool split_number(std::string_view name, std::string_view* prefix, uint32_t* number);

}  // namespace assay::ptx
