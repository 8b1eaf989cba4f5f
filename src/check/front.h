#pragma once
// The front ends of one side: from a file to a Program.
#include <set>
#include <string>
#include <vector>

#include "check/argument_order.h"
#include "check/check.h"
#include "host/record.h"

namespace assay::check {

// Mechanisms of confinement that the machine lacks where foreign code was run.
using Lacks = std::set<std::string>;

Result<std::string> read_text(const std::string& path);
std::string extension_of(const std::string& path);

// Of a .assay file, at least one.
Result<std::vector<program::Program>> load_programs(const std::string& path);
// A .py, .json or .assay: the given shape first, then altered ones.
Result<program::ProgramSet> load_reference(const CheckRequest& rq, Lacks& lacks);
// A ref.py as KernelBench calls it: the module, whatever functions its forward is made of.
Result<program::ProgramSet> load_module(const CheckRequest& rq, Lacks& lacks);
// The arguments of --inputs alone: what both sources are called with.
Result<program::ProgramSet> load_inputs(const CheckRequest& rq, Lacks& lacks);

// What the host function of `path` may take: argument_lists with the names in its source.
std::vector<ArgumentList> lists_for(const std::string& path, const std::string& entry,
                                    const program::Program& reference);
// The source `path`, called with the first of `lists` from `choice` on that it takes; `choice`
// becomes that one. repeat: further calls are looked at.
Result<host::Recording> record_source(const CheckRequest& rq, const std::string& path,
                                      const std::string& entry,
                                      const std::vector<ArgumentList>& lists, size_t& choice,
                                      const program::Program& reference, bool repeat, Lacks& lacks);
// A reference that is a source too. Its arguments are those of the inputs, also where its host
// function takes fewer: argument k means the same on both sides.
Result<program::Program> record_reference(const CheckRequest& rq, const program::Program& inputs,
                                          Lacks& lacks);

}  // namespace assay::check
