#pragma once
#include "check/verdict.h"

namespace assay::report {

// Fills Witness::script of every result of `verdict` whose witness says how its inputs are made,
// where the reference is a Python file (or was exported from the .py beside it) and the candidate a
// .cu: what PyTorch can run.
void add_scripts(check::Verdict& verdict);

}  // namespace assay::report
