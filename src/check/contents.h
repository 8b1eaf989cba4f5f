#pragma once
// Which tensors of two Programs hold the same contents for all inputs because the same operators
// made them from the same contents: congruence, without a look at any element.
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "check/plan.h"

namespace assay::check {

// Names of contents, shared by both sides: equal names, equal contents. A name is the number of an
// expression over other names, so no two expressions share one.
class ContentNames {
 public:
  int of(const std::string& expression) {
    return names_.try_emplace(expression, next_).second ? next_++ : names_.at(expression);
  }
  int fresh() { return next_++; }  // equal to nothing else
  int of_data(const uint8_t* data, size_t bytes);

 private:
  std::map<std::string, int> names_;
  std::vector<std::pair<std::string, int>> data_;
  int next_ = 0;
};

// Names of what operators' results hold just behind their step, by (step, buffer); a name is of the
// buffer as a whole, of which views are taken by their geometry. `cuts` hold their symbols from
// their points on. Launches write contents of which nothing is known.
std::map<std::pair<size_t, int>, int> op_contents(Side& side, const std::vector<Cut>& cuts,
                                                  ContentNames& names);

}  // namespace assay::check
