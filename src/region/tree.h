#pragma once
// Builds the regions of one function: by parent and place, each once.
#include <map>
#include <string>
#include <tuple>

#include "region/map.h"
#include "region/source.h"

namespace assay::region {

class Tree {
 public:
  explicit Tree(KernelMap* map) : map_(*map) {}

  // The region of that kind at that place below `parent`; made if there is none. `name` tells roles
  // apart.
  int32_t intern(Kind kind, int32_t parent, const Frame& at, const std::string& name = "");
  int32_t instance(int32_t region, const Instance& like);

  // When all instructions are placed: evidence, texts, order, ids.
  void finish(Sources* sources);

 private:
  using Key = std::tuple<Kind, int32_t, std::string, uint32_t, std::string>;
  using InstanceKey = std::tuple<int32_t, std::string, uint32_t, uint32_t>;
  void identify(int32_t region);

  KernelMap& map_;
  std::map<Key, int32_t> regions_;
  std::map<InstanceKey, int32_t> instances_;
};

}  // namespace assay::region
