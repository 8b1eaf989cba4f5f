#pragma once
// Virtual memory that costs only what is touched of it: the buffers of a Program are run on at
// their full size, of which a few CTAs see little.
#include <cstdint>

namespace assay::check {

class Pages {
 public:
  enum class Fill : uint8_t { Zero, Ones };  // Ones: every bit, NaN as a float
  Pages() = default;
  // data() is null where the system refuses.
  Pages(uint64_t bytes, Fill fill);
  Pages(Pages&& other) noexcept { swap(other); }
  Pages& operator=(Pages&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Pages();
  uint8_t* data() const { return data_; }
  uint64_t bytes() const { return bytes_; }

 private:
  void swap(Pages& other) noexcept;
  bool map_ones();
  uint8_t* data_ = nullptr;
  uint64_t bytes_ = 0, mapped_ = 0;
};

}  // namespace assay::check
