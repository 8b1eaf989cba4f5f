#include "machine/hazard_packed.h"

namespace assay::machine {
namespace {

constexpr size_t kMaxRuns = 16;

uint64_t hash_of(const std::vector<uint32_t>& values) {
  uint64_t h = values.size();
  for (const uint32_t v : values) h = (h ^ v) * 0x9e3779b97f4a7c15ull;
  return h;
}

}  // namespace

SharedTable TablePool::intern(std::vector<uint32_t> values) {
  const uint64_t key = hash_of(values);
  const auto [first, last] = tables_.equal_range(key);
  for (auto it = first; it != last; ++it) {
    if (*it->second == values) return it->second;
  }
  bytes_ += values.size() * sizeof(uint32_t);
  values.shrink_to_fit();
  auto table = std::make_shared<const std::vector<uint32_t>>(std::move(values));
  tables_.emplace(key, table);
  return table;
}

void PackedField::pack(std::vector<uint32_t>* values, TablePool* pool) {
  std::vector<uint32_t> all = std::exchange(*values, {});
  std::vector<Run> runs;
  for (const uint32_t v : all) {
    if (!runs.empty() && runs.back().first == v) {
      ++runs.back().second;
      continue;
    }
    if (runs.size() == kMaxRuns) {
      table_ = pool->intern(std::move(all));
      return;
    }
    runs.emplace_back(v, 1);
  }
  runs_.assign(runs.begin(), runs.end());
}

std::vector<uint32_t> PackedField::unpack() const {
  if (table_ != nullptr) return *table_;
  std::vector<uint32_t> values;
  for (const auto& [value, count] : runs_) values.insert(values.end(), count, value);
  return values;
}

}  // namespace assay::machine
