#pragma once
// Symbolic memory of a trace: each 32-bit word is concrete bits, (a half of) a node's lane, or
// bytes of several of them.
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "machine/trace.h"

namespace assay::machine {

enum class CellKind : uint8_t {
  Untouched,  // nothing wrote it: what lies underneath
  Bits,       // bits[], all four bytes
  Word,       // a 32-bit value: (node, lane); with kBoth the bits are known too
  Low,        // low and high half of a 64-bit value
  High,
  Parts,  // node field: index of a Parts entry
  Undef   // node field: an Undef node
};

// node << 32 | kBoth | kind << 8 | lane: the words of one store by a whole warp are a run of
// consecutive numbers.
using CellTag = uint64_t;
inline constexpr CellTag kBoth = uint64_t{1} << 16;
inline constexpr CellTag make_tag(CellKind kind, NodeId node = kNoNode, uint8_t lane = 0) {
  return uint64_t{node} << 32 | static_cast<uint64_t>(kind) << 8 | lane;
}
inline constexpr CellTag kBitsTag = make_tag(CellKind::Bits);
inline CellKind tag_kind(CellTag t) { return static_cast<CellKind>((t >> 8) & 0xff); }
inline NodeId tag_node(CellTag t) { return static_cast<NodeId>(t >> 32); }
inline uint8_t tag_lane(CellTag t) { return static_cast<uint8_t>(t); }

// One byte of a value in memory.
struct ByteRef {
  enum class Kind : uint8_t { Untouched, Bits, Node } kind = Kind::Untouched;
  uint8_t lane = 0;
  uint8_t index = 0;  // Node: which byte of the value
  uint8_t bits = 0;
  NodeId node = kNoNode;
  bool operator==(const ByteRef&) const = default;
};
using Parts = std::array<ByteRef, 4>;

struct CellPage {
  static constexpr uint32_t kWords = 1024;
  std::array<CellTag, kWords> tag{};
  std::array<uint32_t, kWords> bits{};
  std::array<uint32_t, kWords> pc{};
  std::array<uint32_t, kWords> stamp{};  // number of the store that wrote it last
};

// A sparse array of words, by byte address / 4.
class Cells {
 public:
  // The page of a word, or null if nothing wrote there.
  CellPage* find(uint64_t word) {
    uint64_t p = word / CellPage::kWords;
    if (p == last_number_) return last_;
    if (p < lowest_ || p > highest_) return nullptr;
    auto it = pages_.find(p);
    if (it == pages_.end()) return nullptr;
    last_number_ = p;
    last_ = it->second.get();
    return last_;
  }
  CellPage& make(uint64_t word) {
    if (CellPage* p = find(word)) return *p;
    uint64_t number = word / CellPage::kWords;
    auto& slot = pages_[number];
    slot = std::make_unique<CellPage>();
    lowest_ = std::min(lowest_, number);
    highest_ = std::max(highest_, number);
    last_number_ = number;
    last_ = slot.get();
    return *slot;
  }
  void clear() {
    pages_.clear();
    lowest_ = ~uint64_t{0}, highest_ = 0;
    last_number_ = ~uint64_t{0};
    last_ = nullptr;
  }
  bool empty() const { return pages_.empty(); }
  std::vector<uint64_t> page_numbers() const;  // ascending

 private:
  std::unordered_map<uint64_t, std::unique_ptr<CellPage>> pages_;
  uint64_t lowest_ = ~uint64_t{0}, highest_ = 0;  // of pages_
  uint64_t last_number_ = ~uint64_t{0};
  CellPage* last_ = nullptr;
};

}  // namespace assay::machine
