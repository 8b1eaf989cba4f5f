#include "check/traps.h"

#include <set>
#include <vector>

#include "term/trace_eval.h"

namespace assay::check {
namespace {

// No float anywhere in the cone of a condition.
bool on_integers(const machine::Trace& t, machine::NodeId condition) {
  std::vector<machine::NodeId> open{condition};
  std::set<machine::NodeId> seen{condition};
  while (!open.empty()) {
    const machine::Node& n = t.nodes[open.back()];
    open.pop_back();
    if (is_float(t.ops[n.op].type)) return false;
    term::for_operands(t, n, [&](machine::NodeId id) {
      if (id != machine::kNoNode && seen.insert(id).second) open.push_back(id);
    });
  }
  return true;
}

}  // namespace

void add_traps(const machine::Trace& t, TrapSites& sites) {
  for (const machine::AccessFault& f : t.faults) {
    if (f.bytes != 0) continue;
    TrapSite& site = sites.try_emplace(f.pc, TrapSite{f.cta, false, true}).first->second;
    if (f.pred == machine::kNoNode) site.always = true;
    if (!site.always && site.integers) site.integers = on_integers(t, f.pred);
  }
}

}  // namespace assay::check
