#include "machine/memory.h"

#include <algorithm>

namespace assay::machine {

Device::Device(const std::vector<BufferEnv>& env, const Kernel& k) {
  for (size_t i = 0; i < env.size(); ++i) {
    if (env[i].bytes == 0 || env[i].address == 0) continue;
    areas_.push_back({env[i].address, env[i].bytes, env[i].data, static_cast<int>(i), true});
  }
  own_.reserve(k.globals.size());
  for (const GlobalVar& g : k.globals) {
    if (g.bytes == 0) continue;
    std::vector<uint8_t>& data = own_.emplace_back(g.init);
    data.resize(g.bytes);
    areas_.push_back({g.address, g.bytes, data.data(), g.buffer, !g.is_const});
  }
  params_ = k.params;
  if (!params_.empty()) {
    areas_.push_back({kParamWindow, params_.size(), params_.data(), -1, false});
  }
  std::sort(areas_.begin(), areas_.end(),
            [](const Area& a, const Area& b) { return a.base < b.base; });
  areas_.push_back({~uint64_t{0}, 0, nullptr, -1, false});  // so that last_ always points somewhere
  last_ = before_ = &areas_.back();
}

const Device::Area* Device::search(uint64_t addr) const {
  auto it = std::upper_bound(areas_.begin(), areas_.end() - 1, addr,
                             [](uint64_t a, const Area& x) { return a < x.base; });
  if (it == areas_.begin()) return nullptr;
  --it;
  if (addr - it->base >= it->bytes) return nullptr;
  last_ = &*it;
  return last_;
}

}  // namespace assay::machine
