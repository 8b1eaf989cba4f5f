#pragma once
// Concrete execution of a lowered operator in the IEEE arithmetic of the types it states.
//
// Sums are pairwise: PyTorch leaves their order open.
// Reads of an operand see what its buffer held before the step; reads of an output (a tensor that
// an earlier nest of the lowering writes) see the new values, also where both share a buffer.
#include <span>
#include <vector>

#include "tensor/demand.h"
#include "tensor/nest.h"

namespace assay::tensor {

// Bytes of each buffer by number; those that the step does not use may be empty. An access outside
// its buffer, and an index outside its range, is Invalid.
using BufferBytes = std::vector<std::span<uint8_t>>;

// Evaluates all outputs.
Status evaluate(const Lowered& op, const BufferBytes& buffers);

// Evaluates only `wanted[t]` (elements of the buffer) of each output tensor t of op.tensors
// (missing or empty: nothing), and what they need.
Status evaluate(const Lowered& op, const BufferBytes& buffers, const std::vector<ElemSet>& wanted);

// What each tensor of op.tensors must hold for `wanted`: for each nest the points to run, for each
// tensor the elements read from outside (operands).
struct StepDemand {
  std::vector<ElemSet> points;    // one a nest
  std::vector<ElemSet> operands;  // one a tensor: elements read that no nest of this step writes
};
StepDemand step_demand(const Lowered& op, const std::vector<ElemSet>& wanted,
                       const IndexValue& index_value = nullptr);

}  // namespace assay::tensor
