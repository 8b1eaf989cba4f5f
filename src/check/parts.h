#pragma once
// Locations in parts that are traced and compared one after the other, so that the traces of one
// part are in memory at a time; and the locations of one CTA.
#include <vector>

#include "check/outputs.h"

namespace assay::check {

struct Parts {
  // Per part: positions of each pair. The last part holds the last positions.
  std::vector<std::vector<Positions>> parts;
  std::vector<uint32_t> ctas;  // of all parts, where there are several: of the one launch
};

// One part for each CTA where a single launch of the candidate makes all outputs, each of the
// positions has one writer, and the CTAs have more than `together` warp instructions; else one
// part.
Parts by_cta(Side& candidate, const std::vector<OutputPair>& pairs,
             const std::vector<Positions>& positions, uint64_t together = 4'000'000);

// The positions of each pair that CTA `cta` of the last launch that writes it stores to. Errors:
// Invalid where it stores to none.
Result<std::vector<Positions>> positions_of_cta(Side& candidate,
                                                const std::vector<OutputPair>& pairs, uint64_t cta);

}  // namespace assay::check
