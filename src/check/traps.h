#pragma once
// Instructions that end a whole launch where a thread comes to them: traps, failed assertions. No
// values come of such a launch, also not those stored before.
#include <map>

#include "machine/trace.h"

namespace assay::check {

struct TrapSite {
  uint32_t cta = 0;       // the first that comes there
  bool always = false;    // whatever the data
  bool integers = false;  // else: the conditions are on integers alone
};
using TrapSites = std::map<uint32_t, TrapSite>;  // by instruction

void add_traps(const machine::Trace& t, TrapSites& sites);

}  // namespace assay::check
