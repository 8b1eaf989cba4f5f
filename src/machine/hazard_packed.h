#pragma once
// Shadow pages that nobody touches for now, in little memory: runs of equal values, and tables that
// pages share (which lane of a CTA wrote which cell is the same on most pages).
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

namespace assay::machine {

using SharedTable = std::shared_ptr<const std::vector<uint32_t>>;

class TablePool {
 public:
  SharedTable intern(std::vector<uint32_t> values);
  uint64_t bytes() const { return bytes_; }

 private:
  std::unordered_multimap<uint64_t, SharedTable> tables_;
  uint64_t bytes_ = 0;
};

class PackedField {
 public:
  // Takes the values away.
  void pack(std::vector<uint32_t>* values, TablePool* pool);
  std::vector<uint32_t> unpack() const;
  uint64_t bytes() const { return sizeof(*this) + runs_.size() * sizeof(Run); }

 private:
  using Run = std::pair<uint32_t, uint32_t>;  // value, count
  std::vector<Run> runs_;
  SharedTable table_;  // instead of runs
};

}  // namespace assay::machine
