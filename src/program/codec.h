#pragma once
// Program <-> nlohmann JSON values; internal to src/program.
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "program/program.h"

namespace assay::program {

using Json = nlohmann::json;

// Where large texts and byte strings go when they do not stay in the JSON.
class BlobSink {
 public:
  virtual ~BlobSink() = default;
  virtual std::string put(std::string_view bytes) = 0;  // returns the key
};

class BlobSource {
 public:
  virtual ~BlobSource() = default;
  virtual Result<std::string_view> get(const std::string& key) const = 0;
};

// sink null: data inline as base64, PTX inline as text.
Json encode_program(const Program& p, BlobSink* sink);
// source null: blob references are Invalid. The result has been validated.
Result<Program> decode_program(const Json& j, const BlobSource* source);

// JSON has no NaN and no infinities: {"float": "nan" | "inf" | "-inf"}.
Json encode_number(double v);
std::optional<double> decode_number(const Json& j);

// [[NAME, INT or FLOAT]...]
Json encode_changes(const std::vector<Change>& changes);
std::optional<Change> decode_change(const Json& j);

// Text of a JSON value; ill-formed UTF-8 in names is replaced, never an exception.
std::string dump(const Json& j);
// Errors: Syntax.
Result<Json> parse_json(std::string_view text);

std::string base64_encode(const std::vector<uint8_t>& bytes);
std::optional<std::vector<uint8_t>> base64_decode(std::string_view text);

}  // namespace assay::program
