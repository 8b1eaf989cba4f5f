#pragma once
// Values of the symbols in one concrete experiment.
#include <cstdint>

#include "base/types.h"

namespace assay::term {

class InputModel {
 public:
  virtual ~InputModel() = default;
  // out[l] for the lanes of the mask; integers are exact in double up to 2^53.
  virtual void values(uint64_t symbol, Ty type, const int64_t* elements, uint32_t mask,
                      double* out) const = 0;
};

}  // namespace assay::term
