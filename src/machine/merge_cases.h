#pragma once
// Selects whose arms are one formula. Online algorithms branch on the new maximum,
//   if (x > m) { s = s e^(m - x) + 1; m = x; } else s += e^(x - m);
// although with M = max(x, m) both arms are (s e^m + e^x) / e^M. A node Agree is added behind
// each select over a comparison of floats for each way in which its arms may meet.
#include <optional>

#include "machine/trace.h"

namespace assay::machine {

// The trace with such nodes; stores, atomics and CTAs keep their places. Nothing where no select
// can meet. For c ? A : B with c comparing u and v, each of these is an identity over the reals (E
// is the extremum that the substituted operand equals where c holds or not):
//   A[u:=E] = B[v:=E]  ->  A[u:=E]        (c: u = E; not c: v = E; and with u, v exchanged)
//   A e^u = B e^v      ->  A e^(u - E)    (c: u = E, not c: v = E; for a minimum e^-u; also 2^u)
//   A = B[u:=v]        ->  B[u:=E]        (c: E = v, not c: E = u; and v:=u; and A, B exchanged)
//   A[u:=v] = B[u:=v]  ->  B              (c is u = v)
// Agree(select, result, left, right) is `result` where the images of left and right are equal, else
// the select. A substitution may spare any occurrence, since the operands are equal in that case.
std::optional<Trace> merge_cases(const Trace& trace);

}  // namespace assay::machine
