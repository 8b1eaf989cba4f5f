#pragma once
// A short stand-alone Python script that shows a counterexample in PyTorch on any GPU: numpy
// generator written out, sparse overrides, reference and candidate run with TF32 off, both values
// printed at the location.
#include <optional>
#include <string>
#include <vector>

#include "program/witness.h"

namespace assay::report {

struct WitnessScript {
  program::Witness witness;
  // What the candidate takes, in order (Program::arguments of the reference, or those of them that
  // the candidate has parameters for). Tensors are found by their source among witness.inputs.
  std::vector<program::Argument> arguments;
  bool functional = false;               // the reference's module_fn takes the same arguments
  std::string function = "module_fn";    // its name
  std::string ref_path, candidate_path;  // default values; the script takes others as arguments
  std::string entry = "forward";         // function of the extension
  std::optional<double> reference_value, candidate_value;  // as Assay computed them
};

// Errors: Invalid (an argument's tensor has no witness input).
Result<std::string> witness_script(const WitnessScript& s);

}  // namespace assay::report
