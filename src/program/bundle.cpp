// Layout (little-endian): magic[8], u32 schema, u32 zero, then two sections, each
// u64 raw bytes, u64 compressed bytes, zstd frame: the JSON index, then all blobs back to back.
#include <fmt/format.h>
#include <unistd.h>
#include <zstd.h>

#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <unordered_map>

#include "program/codec.h"
#include "program/sha256.h"

namespace assay::program {

namespace {

constexpr char kMagic[8] = {'A', 'S', 'S', 'A', 'Y', 'B', 'D', 'L'};
constexpr size_t kHeader = sizeof(kMagic) + 8;
constexpr int kLevel = 6;

struct Place {
  uint64_t offset = 0, size = 0;
};

class Archive : public BlobSink {
 public:
  std::string put(std::string_view bytes) override {
    std::string key = sha256_hex(bytes);
    if (places_.emplace(key, Place{bytes_.size(), bytes.size()}).second) bytes_.append(bytes);
    return key;
  }
  const std::string& bytes() const { return bytes_; }
  Json index() const {
    Json out = Json::object();
    for (const auto& [key, place] : places_) out[key] = {place.offset, place.size};
    return out;
  }

 private:
  std::string bytes_;
  std::map<std::string, Place> places_;
};

class LoadedArchive : public BlobSource {
 public:
  static Result<LoadedArchive> make(const Json& index, std::string_view bytes) {
    LoadedArchive out;
    auto bad = [] { return fail(DiagKind::Invalid, "bundle: the blob table is malformed"); };
    if (!index.is_object()) return bad();
    for (const auto& [key, place] : index.items()) {
      if (!place.is_array() || place.size() != 2 || !place[0].is_number_unsigned() ||
          !place[1].is_number_unsigned()) {
        return bad();
      }
      const uint64_t offset = place[0].get<uint64_t>(), size = place[1].get<uint64_t>();
      if (offset > bytes.size() || size > bytes.size() - offset) return bad();
      const std::string_view blob = bytes.substr(offset, size);
      if (sha256_hex(blob) != key) {
        return fail(DiagKind::Invalid, fmt::format("bundle: blob {} is damaged", key));
      }
      out.blobs_.emplace(key, blob);
    }
    return out;
  }
  Result<std::string_view> get(const std::string& key) const override {
    auto it = blobs_.find(key);
    if (it == blobs_.end()) return fail(DiagKind::Invalid, "a blob is missing");
    return it->second;
  }

 private:
  std::unordered_map<std::string, std::string_view> blobs_;
};

void append_int(std::string& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
}

Status append_section(std::string& out, std::string_view raw) {
  std::string packed(ZSTD_compressBound(raw.size()), '\0');
  const size_t n = ZSTD_compress(packed.data(), packed.size(), raw.data(), raw.size(), kLevel);
  if (ZSTD_isError(n)) {
    return fail(DiagKind::Internal, fmt::format("bundle: zstd: {}", ZSTD_getErrorName(n)));
  }
  append_int(out, raw.size(), 8);
  append_int(out, n, 8);
  out.append(packed, 0, n);
  return {};
}

class Cursor {
 public:
  explicit Cursor(std::string_view rest) : rest_(rest) {}

  Result<uint64_t> integer(int bytes) {
    ASSAY_TRY(const std::string_view text, take(bytes));
    uint64_t value = 0;
    for (int i = 0; i < bytes; ++i) value |= uint64_t{static_cast<uint8_t>(text[i])} << (8 * i);
    return value;
  }
  Result<std::string_view> take(uint64_t n) {
    if (n > rest_.size()) return fail(DiagKind::Invalid, "bundle: the file is truncated");
    const std::string_view out = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return out;
  }
  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

// The output grows with what the stream really yields, so a lying header costs nothing.
Result<std::string> read_section(Cursor& in, uint64_t limit) {
  ASSAY_TRY(const uint64_t raw, in.integer(8));
  ASSAY_TRY(const uint64_t packed, in.integer(8));
  if (raw > limit) {
    return fail(DiagKind::Limit, fmt::format("bundle: a section of {} bytes is too large", raw));
  }
  ASSAY_TRY(const std::string_view text, in.take(packed));

  const std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> ctx(ZSTD_createDCtx(), ZSTD_freeDCtx);
  if (!ctx) return fail(DiagKind::Internal, "bundle: zstd has no memory");
  ZSTD_DCtx_setParameter(ctx.get(), ZSTD_d_windowLogMax, 27);
  std::string out;
  std::string chunk(ZSTD_DStreamOutSize(), '\0');
  ZSTD_inBuffer source{text.data(), text.size(), 0};
  size_t left = 1;
  while (left != 0) {
    ZSTD_outBuffer target{chunk.data(), chunk.size(), 0};
    left = ZSTD_decompressStream(ctx.get(), &target, &source);
    if (ZSTD_isError(left)) {
      return fail(DiagKind::Invalid, fmt::format("bundle: {}", ZSTD_getErrorName(left)));
    }
    if (target.pos > raw - out.size()) return fail(DiagKind::Invalid, "bundle: a section's size");
    out.append(chunk, 0, target.pos);
    if (left != 0 && source.pos == source.size && target.pos < target.size) {
      return fail(DiagKind::Invalid, "bundle: a section is truncated");
    }
  }
  if (out.size() != raw || source.pos != source.size) {
    return fail(DiagKind::Invalid, "bundle: a section's size");
  }
  return out;
}

}  // namespace

Result<std::string> bundle_to_bytes(const Bundle& b) {
  Archive archive;
  Json programs = Json::array();
  for (const Program& p : b.programs) {
    ASSAY_CHECK(validate(p));
    programs.push_back(encode_program(p, &archive));
  }
  const std::string index = dump({{"programs", programs}, {"blobs", archive.index()}});
  std::string out(kMagic, sizeof(kMagic));
  append_int(out, kSchemaVersion, 4);
  append_int(out, 0, 4);
  ASSAY_CHECK(append_section(out, index));
  ASSAY_CHECK(append_section(out, archive.bytes()));
  return out;
}

Result<Bundle> bundle_from_bytes(std::string_view bytes, const BundleLimits& limits) {
  if (bytes.size() < kHeader || std::memcmp(bytes.data(), kMagic, sizeof(kMagic)) != 0) {
    return fail(DiagKind::Syntax, "not an Assay bundle");
  }
  Cursor in(bytes.substr(sizeof(kMagic)));
  ASSAY_TRY(const uint64_t schema, in.integer(4));
  if (schema != kSchemaVersion) {
    return fail(
        DiagKind::Unsupported,
        fmt::format("bundle: schema version {} (this Assay reads {})", schema, kSchemaVersion));
  }
  ASSAY_TRY(const uint64_t reserved, in.integer(4));
  if (reserved != 0) return fail(DiagKind::Invalid, "bundle: the header is damaged");
  ASSAY_TRY(const std::string index_text, read_section(in, limits.index_bytes));
  ASSAY_TRY(const std::string blobs, read_section(in, limits.blob_bytes));
  if (!in.at_end()) return fail(DiagKind::Invalid, "bundle: bytes after the end");

  ASSAY_TRY(const Json index, parse_json(index_text));
  if (!index.is_object() || !index.contains("programs") || !index["programs"].is_array() ||
      !index.contains("blobs")) {
    return fail(DiagKind::Invalid, "bundle: the index is malformed");
  }
  ASSAY_TRY(const LoadedArchive archive, LoadedArchive::make(index["blobs"], blobs));
  Bundle out;
  for (const Json& item : index["programs"]) {
    ASSAY_TRY(Program p, decode_program(item, &archive));
    out.programs.push_back(std::move(p));
  }
  return out;
}

Status save_bundle(const Bundle& b, const std::string& path) {
  ASSAY_TRY(const std::string bytes, bundle_to_bytes(b));
  // Written beside and renamed, so that a reader never sees half a file.
  const std::string part = fmt::format("{}.{}.part", path, getpid());
  std::ofstream file(part, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file || std::rename(part.c_str(), path.c_str()) != 0) {
    std::remove(part.c_str());
    return fail(DiagKind::Io, fmt::format("cannot write {}: {}", path, std::strerror(errno)));
  }
  return {};
}

Result<Bundle> load_bundle(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return fail(DiagKind::Io, fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  }
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  if (file.bad()) return fail(DiagKind::Io, fmt::format("cannot read {}", path));
  return bundle_from_bytes(bytes);
}

}  // namespace assay::program
