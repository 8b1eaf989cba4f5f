#pragma once
// In which order a host function takes the inputs and parameters of a module: PyTorch fixes no
// call, so it is read from the names of the host function's parameters, else tried.
#include <string>
#include <vector>

#include "program/program.h"

namespace assay::check {

struct ArgumentList {
  std::vector<program::Argument> arguments;
  bool reordered = false;  // otherwise than the reference lists them
  bool by_name = false;    // the host function names each parameter in full
};

// What a host function may take, the likeliest first: all of a functional reference; inputs,
// then (if it takes them) parameters, of a module, with or without the scalars it is built with.
// `names`: of the host function's parameters, empty if unknown.
std::vector<ArgumentList> argument_lists(const program::Program& reference,
                                         const std::vector<std::string>& names);

// The same arguments in another order.
bool permuted(const std::vector<program::Argument>& a, const std::vector<program::Argument>& b);

}  // namespace assay::check
