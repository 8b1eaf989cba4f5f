#pragma once
// Bounds-checked little-endian reading of untrusted bytes. A read past the end gives zeros and
// sets failed(), which callers test once at the end of what they read.
#include <cstdint>
#include <string_view>

namespace assay::elf {

class Bytes {
 public:
  explicit Bytes(std::string_view data, size_t at = 0) : data_(data), at_(at) {}

  size_t at() const { return at_; }
  bool failed() const { return failed_; }
  bool done() const { return failed_ || at_ >= data_.size(); }
  size_t left() const { return at_ < data_.size() ? data_.size() - at_ : 0; }
  void skip(uint64_t n) { take(n); }

  uint8_t u8() { return static_cast<uint8_t>(fixed(1)); }
  uint16_t u16() { return static_cast<uint16_t>(fixed(2)); }
  uint32_t u32() { return static_cast<uint32_t>(fixed(4)); }
  uint64_t u64() { return fixed(8); }

  std::string_view take(uint64_t n) {
    if (failed_ || n > left()) {
      failed_ = true;
      return {};
    }
    std::string_view out = data_.substr(at_, n);
    at_ += n;
    return out;
  }
  // A string that ends in NUL, without it.
  std::string_view text() {
    const size_t end = failed_ ? std::string_view::npos : data_.find('\0', at_);
    if (end == std::string_view::npos) {
      failed_ = true;
      return {};
    }
    std::string_view out = data_.substr(at_, end - at_);
    at_ = end + 1;
    return out;
  }
  // LEB128 (DWARF 2, 7.6); bits above 63 are dropped.
  uint64_t uleb() {
    int shift = 0;
    return leb(&shift);
  }
  int64_t sleb() {
    int shift = 0;
    uint64_t value = leb(&shift);
    if (shift < 64 && (last_ & 0x40) != 0) value |= ~uint64_t{0} << shift;
    return static_cast<int64_t>(value);
  }

 private:
  uint64_t fixed(int bytes) {
    uint64_t value = 0;
    const std::string_view raw = take(bytes);
    for (size_t k = 0; k < raw.size(); ++k)
      value |= static_cast<uint64_t>(static_cast<uint8_t>(raw[k])) << (8 * k);
    return value;
  }
  uint64_t leb(int* shift) {
    uint64_t value = 0;
    do {
      last_ = u8();
      if (*shift < 64) value |= static_cast<uint64_t>(last_ & 0x7f) << *shift;
      *shift += 7;
    } while ((last_ & 0x80) != 0 && !failed_);
    return value;
  }

  std::string_view data_;
  size_t at_ = 0;
  uint8_t last_ = 0;
  bool failed_ = false;
};

}  // namespace assay::elf
