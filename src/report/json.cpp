#include <cmath>
#include <nlohmann/json.hpp>

#include "report/report.h"

namespace assay::report {

namespace {

using Json = nlohmann::ordered_json;

Json number(double x) {
  if (std::isnan(x)) return "nan";
  if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
  return x;
}

Json number(const std::optional<double>& x) { return x ? number(*x) : Json(nullptr); }

Json encode(const SrcLoc& loc) {
  if (loc.file.empty()) return nullptr;
  return {{"file", loc.file}, {"line", loc.line}, {"column", loc.column}};
}

// Declared before list(), which calls them.
Json encode(const check::Override& o);
Json encode(const check::InputDraw& d);
Json encode(const check::LocationResult& r);
Json encode(const check::OutputCoverage& o);
Json encode(const check::LemmaClaim& l);
Json encode(const check::ShapeResult& s);
Json encode(const check::Finding& f);
Json encode(const check::Snap& s);
Json encode(const check::Timing& t);

template <class T>
Json list(const std::vector<T>& items) {
  Json out = Json::array();
  for (const T& item : items) out.push_back(encode(item));
  return out;
}

Json encode(const check::Override& o) {
  return {
      {"argument", o.argument}, {"name", o.name}, {"index", o.index}, {"value", number(o.value)}};
}

Json encode(const check::InputDraw& d) {
  return {{"argument", d.argument},
          {"name", d.name},
          {"distribution", d.distribution},
          {"scale", number(d.scale)},
          {"shift", number(d.shift)}};
}

Json encode(const check::Witness& w) {
  return {{"seed", w.seed},         {"draws", list(w.draws)}, {"overrides", list(w.overrides)},
          {"replayed", w.replayed}, {"replay", w.replay},     {"script", w.script}};
}

Json encode(const check::LocationResult& r) {
  return {{"output", r.location.output},
          {"output_name", r.location.output_name},
          {"index", r.location.index},
          {"verdict", check::verdict_name(r.kind)},
          {"class", r.cls},
          {"side", r.side},
          {"reason", r.reason},
          {"candidate", number(r.candidate)},
          {"reference", number(r.reference)},
          {"candidate_ieee", number(r.candidate_ieee)},
          {"reference_ieee", number(r.reference_ieee)},
          {"rho", number(r.rho)},
          {"witness", r.witness ? encode(*r.witness) : Json(nullptr)},
          {"differing", r.differing},
          {"loc", encode(r.loc)},
          {"count", r.count}};
}

Json encode(const check::OutputCoverage& o) {
  return {{"name", o.name},
          {"shape", o.shape},
          {"elements", o.elements},
          {"checked", o.checked},
          {"proved", o.proved}};
}

Json encode(const check::LemmaClaim& l) {
  return {{"candidate", l.candidate},
          {"reference", l.reference},
          {"elements", l.elements},
          {"proved", l.proved},
          {"ctas", l.ctas},
          {"checked_ctas", l.checked},
          {"how", l.how},
          {"loc", encode(l.loc)}};
}

Json encode(const check::ShapeResult& s) {
  return {{"change", s.change},
          {"verdict", check::verdict_name(s.kind)},
          {"outputs", list(s.outputs)},
          {"lemmas", list(s.lemmas)},
          {"results", list(s.results)}};
}

Json encode(const check::Finding& f) {
  return {{"kind", f.kind},
          {"severity", check::severity_name(f.severity)},
          {"message", f.message},
          {"side", f.side},
          {"loc", encode(f.loc)}};
}

Json encode(const check::Snap& s) { return {{"literal", s.literal}, {"ideal", s.ideal}}; }

Json encode(const check::Timing& t) {
  Json out = {{"phase", t.phase}, {"seconds", number(t.seconds)}};
  if (t.peak_memory != 0) {
    out["cpu_seconds"] = number(t.cpu_seconds);
    out["peak_memory_bytes"] = t.peak_memory;
  }
  return out;
}

std::string dump(const Json& j) {
  // Foreign text may hold anything: what is no UTF-8 is replaced.
  return j.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json head(int exit_code) {
  return {{"schema_version", kJsonSchemaVersion},
          {"assay_version", ASSAY_VERSION},
          {"exit_code", exit_code}};
}

}  // namespace

std::string json(const check::Verdict& v, int exit_code) {
  Json out = head(exit_code);
  out["verdict"] = check::verdict_name(v.kind);
  out["summary"] = v.summary;
  out["candidate"] = v.candidate;
  out["reference"] = v.reference;
  out["error_bound"] = number(v.error_bound);
  out["domain"] = v.domain;
  out["assumptions"] = v.assumptions;
  out["snaps"] = list(v.snaps);
  out["findings"] = list(v.findings);
  out["shapes"] = list(v.shapes);
  out["timings"] = list(v.timings);
  out["peak_memory_bytes"] = v.peak_memory;
  return dump(out);
}

std::string json(const Diag& diag, int exit_code) {
  Json out = head(exit_code);
  out["error"] = {
      {"kind", diag_kind_name(diag.kind)}, {"message", diag.message}, {"loc", encode(diag.loc)}};
  return dump(out);
}

}  // namespace assay::report
