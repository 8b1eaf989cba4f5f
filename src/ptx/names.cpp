#include "ptx/names.h"

#include <algorithm>

namespace assay::ptx {

bool split_number(std::string_view name, std::string_view* prefix, uint32_t* number) {
  size_t start = name.size();
  while (start > 0 && name[start - 1] >= '0' && name[start - 1] <= '9') --start;
  const size_t digits = name.size() - start;
  if (start == 0 || digits == 0 || digits > 9) return false;
  if (name[start] == '0' && digits > 1) return false;
  uint32_t value = 0;
  for (size_t k = start; k < name.size(); ++k) value = value * 10 + (name[k] - '0');
  *prefix = name.substr(0, start);
  *number = value;
  return true;
}

void Names::pop() {
  const size_t mark = marks_.back();
  marks_.pop_back();
  while (log_.size() > mark) {
    const Undo& u = log_.back();
    if (u.range && u.had) {
      ranges_[u.key] = u.old_range;
    } else if (u.range) {
      ranges_.erase(u.key);
    } else if (u.had) {
      bindings_[u.key] = u.binding;
    } else {
      bindings_.erase(u.key);
    }
    log_.pop_back();
  }
}

bool Names::declare(std::string_view name, Binding b) {
  b.depth = depth();
  const auto [it, fresh] = bindings_.try_emplace(name, b);
  if (!fresh && it->second.depth == b.depth) return false;
  if (b.depth != 0) log_.push_back({name, false, !fresh, it->second, {}});
  it->second = b;
  return true;
}

bool Names::declare_range(std::string_view prefix, int32_t first_reg, uint32_t count) {
  const Range r{first_reg, count, depth()};
  const auto [it, fresh] = ranges_.try_emplace(prefix, r);
  if (!fresh && it->second.depth == r.depth) return false;
  if (r.depth != 0) log_.push_back({prefix, true, !fresh, {}, it->second});
  it->second = r;
  return true;
}

const Binding* Names::find(std::string_view name) {
  const auto exact = bindings_.find(name);
  const Binding* found = exact == bindings_.end() ? nullptr : &exact->second;
  std::string_view prefix;
  uint32_t number = 0;
  if (!split_number(name, &prefix, &number)) return found;
  const auto range = ranges_.find(prefix);
  if (range == ranges_.end() || number >= range->second.count) return found;
  if (found != nullptr && found->depth >= range->second.depth) return found;
  scratch_ = Binding{};
  scratch_.reg = range->second.first + static_cast<int32_t>(number);
  scratch_.depth = range->second.depth;
  return &scratch_;
}

const Binding* Names::find_at_module(std::string_view name) const {
  const auto it = bindings_.find(name);
  return it != bindings_.end() && it->second.depth == 0 ? &it->second : nullptr;
}

void Names::begin_function() {
  used_.clear();
  used_ranges_.clear();
  numbered_.clear();
  counters_.clear();
}

bool Names::taken(const std::string& name) const {
  if (used_.count(name) != 0 || find_at_module(name) != nullptr) return true;
  std::string_view prefix;
  uint32_t number = 0;
  if (!split_number(name, &prefix, &number)) return false;
  const auto it = used_ranges_.find(std::string(prefix));
  return it != used_ranges_.end() && number < it->second;
}

std::string Names::unique(std::string_view name) {
  std::string candidate(name);
  while (taken(candidate)) {
    candidate = std::string(name) + "_s" + std::to_string(++counters_[std::string(name)]);
  }
  std::string_view prefix;
  uint32_t number = 0;
  if (split_number(candidate, &prefix, &number)) ++numbered_[std::string(prefix)];
  used_.insert(std::string(name));  // also if a module name forced the change
  used_.insert(candidate);
  return candidate;
}

// Conservative: a prefix is free only if no single name of the function is prefix + number.
std::string Names::unique_range(std::string_view prefix, uint32_t count) {
  std::string candidate(prefix);
  const std::string counter = "<" + candidate;
  while (used_ranges_.count(candidate) != 0 || numbered_.count(candidate) != 0) {
    candidate = std::string(prefix) + "_s" + std::to_string(++counters_[counter]) + "_";
  }
  used_ranges_[candidate] = count;
  return candidate;
}

}  // namespace assay::ptx
