#pragma once
// Concrete execution of one nest; internal to eval.cpp.
#include <cstdint>
#include <cstring>
#include <vector>

#include "tensor/elem_set.h"
#include "tensor/nest.h"

namespace assay::tensor {

// Where a tensor of the lowering lives during the step.
struct Storage {
  uint8_t* data = nullptr;
  int64_t count = 0;  // elements
  Ty type = Ty::F32;
  ElemSet* written = nullptr;  // staged outputs: elements to commit

  uint64_t load(int64_t e) const {
    uint64_t v = 0;
    std::memcpy(&v, data + e * bytes(type), bytes(type));
    return v;
  }
  void store(int64_t e, uint64_t v) const { std::memcpy(data + e * bytes(type), &v, bytes(type)); }
};

// Runs a nest for a set of points (demand.h); storage[t] is tensor t of the lowering. Of a scan
// only the points in the set are written.
Status run_nest(const Nest& nest, const std::vector<Storage>& storage, const ElemSet& points);

}  // namespace assay::tensor
