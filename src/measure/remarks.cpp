#include "measure/remarks.h"

#include <regex>

namespace assay::measure {

void add_remarks(const std::string& text, region::RegionMap* map) {
  static const std::regex compiling(
      R"((?:Compiling entry function|Function properties for) '?([\w$.]+))");
  static const std::regex spills(R"((\d{1,9}) bytes spill stores, (\d{1,9}) bytes spill loads)");
  region::KernelMap* at = nullptr;
  const auto by_name = [&](const std::string& name) -> region::KernelMap* {
    for (region::KernelMap& k : map->kernels) {
      if (k.resources.name == name) return &k;
    }
    return nullptr;
  };
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    std::smatch m;
    if (std::regex_search(line, m, compiling)) {
      at = by_name(m[1]);
    } else if (std::regex_search(line, m, spills)) {
      if (at == nullptr) continue;
      at->spills_known = true;
      at->spill_store_bytes = static_cast<uint32_t>(std::stoul(m[1]));
      at->spill_load_bytes = static_cast<uint32_t>(std::stoul(m[2]));
    } else if (line.find("warning") != std::string::npos ||
               line.find("Performance Loss") != std::string::npos) {
      // A remark that names its function goes there, others to the one being compiled.
      region::KernelMap* to = at;
      for (region::KernelMap& k : map->kernels) {
        if (line.find(k.resources.name) != std::string::npos) to = &k;
      }
      if (to != nullptr) to->remarks.push_back(line);
    }
  }
}

}  // namespace assay::measure
