#include "tests/gpu/opcodes/golden.h"

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>

namespace assay::opcodes {
namespace {

constexpr char kMagic[] = "ASSAYOP1";

void put(std::string* s, uint64_t v, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) s->push_back(static_cast<char>(v >> (8 * i)));
}

struct Reader {
  const std::string& s;
  size_t at = 0;
  bool ok = true;
  uint64_t get(size_t bytes) {
    if (s.size() - at < bytes) return ok = false, 0;
    uint64_t v = 0;
    for (size_t i = 0; i < bytes; ++i) {
      v |= static_cast<uint64_t>(static_cast<unsigned char>(s[at + i])) << (8 * i);
    }
    at += bytes;
    return v;
  }
  std::string text(size_t bytes) {
    if (s.size() - at < bytes) return ok = false, "";
    at += bytes;
    return s.substr(at - bytes, bytes);
  }
};

}  // namespace

uint64_t operand_hash(const Row& r) {  // FNV-1a
  uint64_t h = 0xcbf29ce484222325;
  for (int t = 0; t < kTuples; ++t) {
    for (size_t i = 0; i < r.operands.size(); ++i) {
      const uint64_t v = operand(r, static_cast<int>(i), t);
      for (int b = 0; b < 8; ++b) h = (h ^ ((v >> (8 * b)) & 0xff)) * 0x100000001b3;
    }
  }
  return h;
}

bool write_golden(const std::string& path, const Golden& golden) {
  std::string s = kMagic;
  put(&s, golden.size(), 4);
  for (const auto& [name, row] : golden) {
    uint64_t all = 0;
    for (uint64_t v : row.results) all |= v;
    size_t bytes = 1;
    while (bytes < 8 && (all >> (8 * bytes)) != 0) ++bytes;
    put(&s, name.size(), 2);
    s += name;
    put(&s, bytes, 1);
    put(&s, row.operand_hash, 8);
    for (uint64_t v : row.results) put(&s, v, bytes);
  }
  std::ofstream f(path, std::ios::binary);
  f << s;
  f.close();
  return f.good();
}

bool read_golden(const std::string& path, Golden* golden) {
  std::ifstream f(path, std::ios::binary);
  const std::string s((std::istreambuf_iterator<char>(f)), std::istreambuf_iterator<char>());
  Reader r{s};
  if (r.text(std::strlen(kMagic)) != kMagic) return false;
  const uint64_t rows = r.get(4);
  for (uint64_t i = 0; i < rows && r.ok; ++i) {
    GoldenRow row;
    const std::string name = r.text(r.get(2));
    const size_t bytes = r.get(1);
    if (bytes == 0 || bytes > 8) return false;
    row.operand_hash = r.get(8);
    for (int t = 0; t < kTuples && r.ok; ++t) row.results.push_back(r.get(bytes));
    (*golden)[name] = std::move(row);
  }
  return r.ok && r.at == s.size();
}

}  // namespace assay::opcodes
