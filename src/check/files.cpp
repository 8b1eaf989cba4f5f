// From files to pairs of Programs: the front ends of both sides.
#include <fmt/format.h>

#include "check/check.h"

namespace assay::check {

Result<Verdict> check_files(const CheckRequest& request) {
  return fail(DiagKind::Unsupported, fmt::format("{}: no front end yet", request.candidate));
}

}  // namespace assay::check
