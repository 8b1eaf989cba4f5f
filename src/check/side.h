#pragma once
// One Program made ready for evaluation: contents of its buffers, lowered operators, decoded
// launches.
#include <memory>
#include <vector>

#include "check/launch.h"
#include "program/program.h"
#include "tensor/nest.h"
#include "term/nest_eval.h"
#include "term/store.h"

namespace assay::check {

// The identity of the contents of argument k (member j of a list): the same for both sides.
inline uint64_t argument_symbol(size_t k, size_t j) { return 1 + k * 4096 + j; }

// An operator step, lowered.
struct OpState {
  tensor::Lowered lowered;
  std::vector<int> buffers;  // of each lowered tensor; temporaries get buffers of their own
  std::vector<Ty> types;
  std::vector<std::unique_ptr<term::NestShape>> shapes;
};

// An argument tensor as a symbol.
struct SymbolInfo {
  uint64_t symbol = 0;
  size_t argument = 0, member = 0;
  std::string name, source;  // as Argument::name, Argument::source
  uint64_t elements = 0;     // of the whole buffer
  program::TensorView view;
  program::DType dtype = program::DType::F32;
  std::optional<std::pair<double, double>> range;  // of the example
  const std::vector<uint8_t>* data = nullptr;      // the example's bytes, for integers
  bool is_parameter = false;
};

struct Side {
  const program::Program* program = nullptr;
  std::vector<term::Source> sources;  // per buffer: Program::buffers, then temporaries
  std::vector<SymbolInfo> symbols;
  std::vector<std::unique_ptr<OpState>> ops;              // per step, null for others
  std::vector<std::unique_ptr<PreparedLaunch>> launches;  // per step, null for others
  std::vector<int64_t> dims;                              // all dimensions that occur, for snapping
  bool uses_exp = false;  // some function of the exponential family occurs
};

// Lowers operators and decodes launches. Errors: Unsupported (all constructs listed), Invalid.
// `reference_order`: for a reference, the arguments are the symbols' order; both sides must agree.
Result<Side> prepare(const program::Program& p);

}  // namespace assay::check
