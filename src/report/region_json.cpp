#include <nlohmann/json.hpp>

#include "report/region.h"

namespace assay::report {

namespace {

using Json = nlohmann::ordered_json;
using region::Evidence;
using region::KernelMap;

Json widths(const std::map<uint32_t, uint32_t>& counts) {
  Json out = Json::object();
  for (const auto& [bytes, n] : counts) out[std::to_string(bytes)] = n;
  return out;
}

Json evidence(const Evidence& e) {
  Json out = {{"instructions", e.instructions}};
  Json classes = Json::object();
  for (size_t k = 0; k < region::kClasses; ++k) {
    if (e.by_class[k] != 0) classes[class_name(static_cast<region::Class>(k))] = e.by_class[k];
  }
  out["classes"] = std::move(classes);
  const auto put = [&](const char* key, const auto& counts) {
    if (!counts.empty()) out[key] = widths(counts);
  };
  put("global_load_bytes", e.global_load);
  put("global_store_bytes", e.global_store);
  put("shared_load_bytes", e.shared_load);
  put("shared_store_bytes", e.shared_store);
  put("cp_async_bytes", e.async_copy);
  for (const auto& [key, group] : {std::pair("tensor", &e.tensor), std::pair("tma", &e.tma)}) {
    if (group->empty()) continue;
    for (const auto& [opcode, n] : *group) out[key][clean(opcode)] = n;
  }
  out["ambiguity"] = {{"no_source", e.no_source},
                      {"no_ptx", e.no_ptx},
                      {"conflicts", e.conflicts},
                      {"moved", e.moved},
                      {"repaired", e.repaired}};
  return out;
}

Json frame(const region::Frame& f) {
  Json out = {{"file", clean(f.file)}, {"line", f.line}};
  if (f.column != 0) out["column"] = f.column;
  if (!f.function.empty()) out["function"] = clean(f.function);
  return out;
}

Json region_json(const region::Region& r) {
  Json out = {{"id", r.id}, {"kind", kind_name(r.kind)}, {"parent", r.parent}};
  if (!r.label.empty()) out["label"] = clean(r.label);
  if (!r.name.empty()) out["name"] = clean(r.name);
  if (r.at.line != 0) out["at"] = frame(r.at);
  if (!r.text.empty()) out["text"] = clean(r.text);
  if (r.copies > 1) out["copies"] = r.copies;
  if (r.assembled_away) out["unrolled_by_assembler"] = true;
  out["instances"] = Json::array();
  for (const region::Instance& i : r.instances) {
    Json one = {{"instructions", i.instructions}, {"copy", i.copy}, {"loop_ptx_line", i.loop_ptx}};
    for (const region::Frame& f : i.called_at) one["called_at"].push_back(frame(f));
    out["instances"].push_back(std::move(one));
  }
  out["own"] = evidence(r.own);
  if (!r.children.empty()) out["total"] = evidence(r.total);
  return out;
}

Json kernel_json(const KernelMap& k, bool code) {
  const auto& r = k.resources;
  Json out = {{"name", clean(k.name)},
              {"symbol", clean(r.name)},
              {"kernel", r.is_kernel},
              {"registers", r.registers},
              {"shared_bytes", r.shared_bytes},
              {"barriers", r.barriers},
              {"local_bytes", r.frame_bytes},
              {"parameter_bytes", r.parameter_bytes},
              {"code_bytes", r.size}};
  if (k.spills_known)
    out["spills"] = {{"store_bytes", k.spill_store_bytes}, {"load_bytes", k.spill_load_bytes}};
  else
    out["spills"] = nullptr;
  out["occupancy"] = Json::array();
  for (const region::Occupancy& o : k.occupancy)
    out["occupancy"].push_back({{"threads", o.threads},
                                {"ctas", o.ctas},
                                {"warps", o.warps},
                                {"share", o.share},
                                {"limit", o.limit}});
  out["remarks"] = Json::array();
  for (const std::string& text : k.remarks) out["remarks"].push_back(clean(text));
  out["regions"] = Json::array();
  for (const region::Region& one : k.regions) out["regions"].push_back(region_json(one));
  out["sites"] = Json::array();
  for (const region::Site& s : k.sites)
    out["sites"].push_back({{"waits", s.waits},
                            {"what", clean(s.what)},
                            {"object", clean(s.object)},
                            {"region", s.region},
                            {"ptx_line", s.ptx_line},
                            {"offsets", s.offsets}});
  out["edges"] = Json::array();
  for (const region::Edge& e : k.edges)
    out["edges"].push_back({{"wait", e.wait}, {"issue", e.issue}, {"certain", e.certain}});
  if (!code) return out;
  out["code"] = Json::array();
  for (const region::Instr& i : k.code) {
    if (!i.sass.opcode.empty() && (i.flags & region::kPadding) != 0) continue;
    out["code"].push_back({{"offset", i.offset},
                           {"predicate", clean(i.sass.predicate)},
                           {"opcode", clean(i.sass.opcode)},
                           {"operands", clean(i.sass.operands)},
                           {"ptx_line", i.ptx_line},
                           {"region", i.region},
                           {"instance", i.instance},
                           {"flags", i.flags & ~region::kPadding}});
  }
  return out;
}

Json changes(const std::vector<measure::Change>& all) {
  Json out = Json::array();
  for (const measure::Change& c : all) {
    Json one = {{"what", c.what},
                {"unit", c.unit},
                {"before", c.before},
                {"after", c.after},
                {"worse", c.worse}};
    if (!c.words.empty()) one["words"] = clean(c.words);
    out.push_back(std::move(one));
  }
  return out;
}

std::string dump(const Json& j) {
  return j.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string json(const region::RegionMap& map, bool code) {
  Json out = {{"schema_version", kRegionSchemaVersion},
              {"kind", "region map"},
              {"input", clean(map.input)},
              {"arch", map.arch},
              {"assembler", clean(map.assembler)},
              {"disassembler", clean(map.disassembler)},
              {"basis", map.disassembler.empty() ? "ptx" : "sass"}};
  out["missing"] = Json::array();
  for (const std::string& m : map.missing) out["missing"].push_back(clean(m));
  out["kernels"] = Json::array();
  for (const KernelMap& k : map.kernels) out["kernels"].push_back(kernel_json(k, code));
  return dump(out);
}

std::string json(const measure::Diff& diff) {
  Json out = {{"schema_version", kRegionSchemaVersion},
              {"kind", "region diff"},
              {"a", clean(diff.input_a)},
              {"b", clean(diff.input_b)},
              {"comparable", diff.comparable}};
  out["missing"] = Json::array();
  for (const std::string& m : diff.missing) out["missing"].push_back(clean(m));
  out["kernels"] = Json::array();
  for (const measure::KernelDiff& k : diff.kernels) {
    Json one = {{"match", match_name(k.match)},
                {"name", clean(k.name)},
                {"symbol", clean(k.symbol)},
                {"instructions", {k.instructions_a, k.instructions_b}},
                {"changes", changes(k.changes)}};
    one["regions"] = Json::array();
    for (const measure::RegionDiff& r : k.regions) {
      if (r.match == measure::Match::Same) continue;
      one["regions"].push_back({{"match", match_name(r.match)},
                                {"id", r.id},
                                {"kind", kind_name(r.kind)},
                                {"label", clean(r.label)},
                                {"text", clean(r.text)},
                                {"file", clean(r.file)},
                                {"lines", {r.line_a, r.line_b}},
                                {"instructions", {r.instructions_a, r.instructions_b}},
                                {"changes", changes(r.changes)}});
    }
    out["kernels"].push_back(std::move(one));
  }
  return dump(out);
}

}  // namespace assay::report
