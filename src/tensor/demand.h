#pragma once
// Which elements a nest reads for a set of its results.
//
// A point is the row-major number of a space iteration; of a scan, of (space iteration, scan
// position). Reads that do not depend on some space iterators are enumerated once for each distinct
// projection of the points, so that a 32x32 tile of a matrix product costs 2 * 32 * K insertions.
#include <functional>
#include <optional>
#include <vector>

#include "tensor/elem_set.h"
#include "tensor/nest.h"

namespace assay::tensor {

struct Demand {
  std::vector<ElemSet> reads;       // one for each read: elements of its operand's buffer
  std::vector<ElemSet> post_reads;  // likewise
};

bool is_scan(const Nest& nest);
// Space extents; of a scan followed by the scanned one. Product: number of points.
std::vector<int64_t> point_extents(const Nest& nest);
int64_t point_count(const Nest& nest);

// The element of the written tensor's buffer that a point writes, and its inverse: all points that
// write one of `elements` (elements that the nest does not write are left out).
int64_t written_element(const Nest& nest, int64_t point);
ElemSet points_of(const Nest& nest, const ElemSet& elements);

// Value of an integer element, if known: makes indirect reads exact. Without it an indirect read
// wants its whole index range.
using IndexValue = std::function<std::optional<int64_t>(int operand, int64_t element)>;

// Elements behind failed guards are not read. A term that OnGuard::Skip drops reads none of its
// operands.
Demand demand(const Nest& nest, const ElemSet& points, const IndexValue& index_value = nullptr);

}  // namespace assay::tensor
