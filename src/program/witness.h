#pragma once
// A witness: all that is needed to make the inputs of a counterexample again, and where to look.
// Inputs may hold 10^9 elements, so only what differs from the generator is stored.
#include "program/philox.h"

namespace assay::program {

struct WitnessInput {
  // As Argument::source of one tensor: "input:0", "parameter:NAME", "state:NAME"; "computed:NAME"
  // for a tensor that Model.forward computes before it calls module_fn.
  std::string source;
  uint64_t number = 0;    // of the generator
  TensorView view;        // dtype, shape, strides, offset within the buffer; `buffer` is not used
  uint64_t elements = 0;  // of the whole buffer
  Draw draw;
  std::vector<std::pair<uint64_t, double>> overrides;  // element of the buffer, value
};

struct Witness {
  uint64_t seed = 0;
  bool evaluate = false;        // model.eval()
  std::vector<Change> changed;  // as Program::changed
  std::vector<WitnessInput> inputs;
  // Where the sides differ: an output (those of forward, then Program::mutated), row-major element.
  int output = 0;
  int64_t element = 0;
  std::string mutated;  // source of the changed tensor ("state:NAME") where `output` is one
};

// Elements first .. first + n of an input, overrides included, exact in its dtype.
void witness_values(const Witness& w, const WitnessInput& input, uint64_t first, size_t n,
                    double* out);

// JSON that python/assay/witness.py reads. Errors of the reader: Syntax, Invalid.
std::string witness_to_json(const Witness& w);
Result<Witness> witness_from_json(std::string_view text);

}  // namespace assay::program
