#include "program/witness.h"

#include "program/codec.h"

namespace assay::program {

namespace {

constexpr const char* kKinds[] = {"uniform", "grid", "constant", "integers"};

Json encode(const WitnessInput& in) {
  Json overrides = Json::array();
  for (const auto& [element, value] : in.overrides) {
    overrides.push_back(Json::array({element, encode_number(value)}));
  }
  Json draw = {{"kind", kKinds[static_cast<int>(in.draw.kind)]},
               {"lo", encode_number(in.draw.lo)},
               {"hi", encode_number(in.draw.hi)},
               {"step", encode_number(in.draw.step)},
               {"count", in.draw.count}};
  const Draw::Band& band = in.draw.band;
  if (band.extent > 0)
    draw["band"] = {band.inner, band.extent, band.first, band.last, encode_number(band.factor)};
  return {
      {"source", in.source},     {"number", in.number},        {"dtype", dtype_name(in.view.dtype)},
      {"shape", in.view.shape},  {"strides", in.view.strides}, {"offset", in.view.offset},
      {"elements", in.elements}, {"draw", std::move(draw)},    {"overrides", std::move(overrides)}};
}

// Each getter throws nlohmann's exceptions on a wrong type; witness_from_json catches them.
WitnessInput decode(const Json& j) {
  auto real = [](const Json& v) {
    const auto d = decode_number(v);
    if (!d) throw Json::other_error::create(501, "no number", &v);
    return *d;
  };
  WitnessInput in;
  in.source = j.at("source").get<std::string>();
  in.number = j.at("number").get<uint64_t>();
  const auto dtype = parse_dtype(j.at("dtype").get<std::string>());
  if (!dtype) throw Json::other_error::create(501, "unknown dtype", &j);
  in.view.dtype = *dtype;
  in.view.shape = j.at("shape").get<std::vector<int64_t>>();
  in.view.strides = j.at("strides").get<std::vector<int64_t>>();
  in.view.offset = j.at("offset").get<int64_t>();
  in.elements = j.at("elements").get<uint64_t>();
  const Json& draw = j.at("draw");
  const auto kind = draw.at("kind").get<std::string>();
  int index = 0;
  while (index < 4 && kind != kKinds[index]) ++index;
  if (index == 4) throw Json::other_error::create(501, "unknown draw", &draw);
  in.draw = {static_cast<Draw::Kind>(index),
             real(draw.at("lo")),
             real(draw.at("hi")),
             real(draw.at("step")),
             draw.at("count").get<int64_t>(),
             {}};
  if (const auto band = draw.find("band"); band != draw.end()) {
    Draw::Band& b = in.draw.band;
    b.inner = band->at(0).get<int64_t>();
    b.extent = band->at(1).get<int64_t>();
    b.first = band->at(2).get<int64_t>();
    b.last = band->at(3).get<int64_t>();
    b.factor = real(band->at(4));
    if (b.inner < 1 || b.extent < 1) throw Json::other_error::create(501, "wrong band", &draw);
  }
  for (const Json& pair : j.at("overrides")) {
    in.overrides.emplace_back(pair.at(0).get<uint64_t>(), real(pair.at(1)));
  }
  return in;
}

}  // namespace

void witness_values(const Witness& w, const WitnessInput& input, uint64_t first, size_t n,
                    double* out) {
  draw_values(w.seed, input.number, input.draw, input.view.dtype, first, n, out);
  for (const auto& [element, value] : input.overrides) {
    if (element >= first && element - first < n) out[element - first] = value;
  }
}

std::string witness_to_json(const Witness& w) {
  Json inputs = Json::array();
  for (const WitnessInput& in : w.inputs) inputs.push_back(encode(in));
  return dump({{"seed", w.seed},
               {"eval", w.evaluate},
               {"changed", encode_changes(w.changed)},
               {"inputs", std::move(inputs)},
               {"output", w.output},
               {"element", w.element},
               {"mutated", w.mutated}});
}

Result<Witness> witness_from_json(std::string_view text) {
  ASSAY_TRY(const Json j, parse_json(text));
  try {
    Witness w;
    w.seed = j.at("seed").get<uint64_t>();
    w.evaluate = j.at("eval").get<bool>();
    for (const Json& pair : j.at("changed")) {
      std::optional<Change> change = decode_change(pair);
      if (!change) throw Json::other_error::create(501, "wrong change", &pair);
      w.changed.push_back(std::move(*change));
    }
    for (const Json& in : j.at("inputs")) w.inputs.push_back(decode(in));
    w.output = j.at("output").get<int>();
    w.element = j.at("element").get<int64_t>();
    w.mutated = j.at("mutated").get<std::string>();
    return w;
  } catch (const Json::exception& e) {
    return fail(DiagKind::Invalid, std::string("witness: ") + e.what());
  }
}

}  // namespace assay::program
