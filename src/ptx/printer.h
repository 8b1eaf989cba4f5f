#pragma once
// Printing of declarations; internal to src/ptx.
#include <map>
#include <string>
#include <tuple>

#include "ptx/module.h"

namespace assay::ptx {

class Printer {
 public:
  explicit Printer(const Module& m) : m_(m) {}
  std::string run();
  void instruction(const Function& f, const Instr& i);
  std::string take() { return std::move(out_); }

 private:
  void variable(const Variable& v, bool parameter);
  void initialiser(const Variable& v);
  void init_rows(const Variable& v, size_t dim, uint64_t* element, uint64_t end);
  void init_element(const Variable& v, uint64_t element);
  void header(const Function& f);
  void parameters(const std::vector<Variable>& list);
  void directives(const Directives& d);
  void function(const Function& f);
  void declarations(const Function& f);
  void registers(const Function& f);
  void loc(int32_t index);
  void operand(const Function& f, const Operand& o);
  void list(const Function& f, std::span<const Operand> operands);
  void call(const Function& f, const Instr& i);
  void debug_strings();
  std::string symbol_name(const Function* f, SymbolRef s) const;
  void offset(int64_t n);

  const Module& m_;
  std::string out_;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, int32_t> latest_loc_;  // as a reader sees it
};

}  // namespace assay::ptx
