#include "check/verdict.h"

namespace assay::check {

const char* verdict_name(VerdictKind k) {
  switch (k) {
    case VerdictKind::Proved:
      return "proved";
    case VerdictKind::Approximation:
      return "approximation";
    case VerdictKind::Unknown:
      return "unknown";
    case VerdictKind::Unsupported:
      return "unsupported";
    case VerdictKind::Refuted:
      return "refuted";
  }
  return "unknown";
}

int verdict_exit_code(VerdictKind k) {
  switch (k) {
    case VerdictKind::Proved:
      return 0;
    case VerdictKind::Refuted:
      return 1;
    case VerdictKind::Unknown:
      return 2;
    case VerdictKind::Unsupported:
      return 3;
    case VerdictKind::Approximation:
      return 6;
  }
  return 5;
}

const char* severity_name(Severity s) {
  switch (s) {
    case Severity::Info:
      return "info";
    case Severity::Low:
      return "low";
    case Severity::Medium:
      return "medium";
    case Severity::High:
      return "high";
  }
  return "info";
}

}  // namespace assay::check
