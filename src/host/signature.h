#pragma once
// What a host function calls its parameters, read from the source text.
#include <string>
#include <vector>

namespace assay::host {

// The names of the parameters of the function that `source` binds with m.def("entry", ...) (else of
// the function named `entry`), in order; "" for one without a name. Empty if there is no such
// definition, or several that differ. No more than a hint: the text is not preprocessed.
std::vector<std::string> parameter_names(const std::string& source, const std::string& entry);

}  // namespace assay::host
