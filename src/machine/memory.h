#pragma once
// What a launch sees of device memory: buffers in the generic address space, and where an address
// falls.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/types.h"
#include "machine/uop.h"

namespace assay::machine {

// One buffer of the environment. Buffers must not overlap.
struct BufferEnv {
  enum class Content : uint8_t {
    Symbolic,  // traces: every element is an input
    Bytes,     // known: `data`
    Poison     // undefined until written
  };
  std::string name;
  uint64_t address = 0;
  uint64_t bytes = 0;
  Content content = Content::Symbolic;
  Ty type = Ty::F32;        // of the elements as allocated
  uint32_t version = 0;     // put into InputPayload::version
  uint8_t* data = nullptr;  // concrete runs: the bytes, read and written; traces: Bytes only, read
};

// The pieces of memory that a kernel can address through global and constant space: buffers of the
// environment, then module variables that the kernel owns (numbered from the environment's size).
class Device {
 public:
  struct Area {
    uint64_t base = 0;
    uint64_t bytes = 0;
    uint8_t* data = nullptr;  // null: contents unknown
    int buffer = -1;
    bool writable = true;
  };
  // `keep_data`: areas hold contents (concrete runs). Own variables are initialised.
  Device(const std::vector<BufferEnv>& env, const Kernel& k);

  // The area that holds `addr`, or null. Not thread-safe (remembers the last two).
  const Area* find(uint64_t addr) const {
    if (addr - last_->base < last_->bytes) return last_;
    std::swap(last_, before_);
    if (addr - last_->base < last_->bytes) return last_;
    return search(addr);
  }
  const std::vector<Area>& areas() const { return areas_; }

 private:
  const Area* search(uint64_t addr) const;
  std::vector<Area> areas_;  // by address
  std::vector<std::vector<uint8_t>> own_;
  std::vector<uint8_t> params_;
  mutable const Area *last_, *before_;
};

}  // namespace assay::machine
