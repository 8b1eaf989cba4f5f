#include <fmt/format.h>

#include "program/codec.h"

namespace assay::program {

namespace {

// The Diag that a failed export left in its output file: {"error": {"kind": ..., "message": ...}}.
Diag exported_error(const Json& e) {
  Diag d{DiagKind::Invalid, "the export of the reference failed", {}};
  if (!e.is_object()) return d;
  if (auto it = e.find("message"); it != e.end() && it->is_string()) d.message = *it;
  if (auto it = e.find("kind"); it != e.end() && it->is_string()) {
    for (DiagKind kind : {DiagKind::Syntax, DiagKind::Invalid, DiagKind::Unsupported,
                          DiagKind::Limit, DiagKind::Io, DiagKind::Internal}) {
      if (it->get_ref<const std::string&>() == diag_kind_name(kind)) d.kind = kind;
    }
  }
  return d;
}

Result<ProgramSet::Skipped> decode_skipped(const Json& j) {
  ProgramSet::Skipped s;
  auto bad = [] { return fail(DiagKind::Invalid, "program set: a 'skipped' entry is malformed"); };
  if (!j.is_object()) return bad();
  if (auto it = j.find("reason"); it != j.end() && it->is_string()) s.reason = *it;
  auto changed = j.find("changed");
  if (changed == j.end() || !changed->is_array()) return bad();
  for (const Json& pair : *changed) {
    std::optional<Change> change = decode_change(pair);
    if (!change) return bad();
    s.changed.push_back(std::move(*change));
  }
  return s;
}

}  // namespace

Result<Json> parse_json(std::string_view text) {
  Json j = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (j.is_discarded()) return fail(DiagKind::Syntax, "not JSON text");
  return j;
}

Result<Program> from_json(std::string_view text) {
  ASSAY_TRY(const Json j, parse_json(text));
  return decode_program(j, nullptr);
}

Result<ProgramSet> set_from_json(std::string_view text) {
  ASSAY_TRY(const Json j, parse_json(text));
  if (!j.is_object()) return fail(DiagKind::Invalid, "program set: an object is expected");
  if (auto it = j.find("error"); it != j.end()) {
    return tl::unexpected<Diag>(exported_error(*it));
  }
  ProgramSet set;
  auto programs = j.find("programs");
  if (programs == j.end()) {
    ASSAY_TRY(Program p, decode_program(j, nullptr));
    set.programs.push_back(std::move(p));
    return set;
  }
  if (!programs->is_array()) return fail(DiagKind::Invalid, "program set: 'programs' is no array");
  for (const Json& item : *programs) {
    ASSAY_TRY(Program p, decode_program(item, nullptr));
    set.programs.push_back(std::move(p));
  }
  if (auto it = j.find("skipped"); it != j.end() && it->is_array()) {
    for (const Json& item : *it) {
      ASSAY_TRY(ProgramSet::Skipped s, decode_skipped(item));
      set.skipped.push_back(std::move(s));
    }
  }
  return set;
}

}  // namespace assay::program
