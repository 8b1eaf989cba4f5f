#pragma once
// Contents of a Program's buffers in a domain, while an evaluation sweeps over the steps. Elements
// that no step wrote are drawn from the buffer's initial contents on demand.
#include <array>
#include <cstring>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/types.h"
#include "term/field.h"

namespace assay::term {

// One lane of a row.
template <class Row>
struct LaneOf {
  Row* row = nullptr;
  int lane = 0;
};

// What a buffer holds before the first step.
struct Source {
  enum class Kind : uint8_t { Symbol, Data, Zero, Poison } kind = Kind::Poison;
  Ty type = Ty::F32;              // element type of the buffer
  uint64_t symbol = 0;            // Symbol: content identity, shared by both sides
  const uint8_t* data = nullptr;  // Data
  int64_t elements = 0;
};

template <class D>
class Store {
 public:
  using Row = typename D::Row;
  using Cell = typename D::Cell;

  Store(D& domain, std::vector<Source> sources)
      : domain_(domain), sources_(std::move(sources)), pages_(sources_.size()) {}

  const Source& source(int buffer) const { return sources_[static_cast<size_t>(buffer)]; }
  void set_source(int buffer, const Source& s) {
    sources_[static_cast<size_t>(buffer)] = s;
    pages_[static_cast<size_t>(buffer)].clear();
  }
  int add(const Source& s) {
    sources_.push_back(s);
    pages_.emplace_back();
    return static_cast<int>(sources_.size()) - 1;
  }

  void store(int buffer, int64_t element, const Cell& cell) {
    auto& slot = pages_[static_cast<size_t>(buffer)][element >> kShift];
    if (!slot) slot = std::make_unique<Page>();
    slot->cells[static_cast<size_t>(element & kMask)] = cell;
    slot->valid |= 1ULL << (element & kMask);
  }
  bool written(int buffer) const { return !pages_[static_cast<size_t>(buffer)].empty(); }
  // The cell that a step wrote, or null: initial contents.
  const Cell* written(int buffer, int64_t element) const {
    const auto& pages = pages_[static_cast<size_t>(buffer)];
    auto it = pages.find(element >> kShift);
    if (it == pages.end() || ((it->second->valid >> (element & kMask)) & 1) == 0) return nullptr;
    return &it->second->cells[static_cast<size_t>(element & kMask)];
  }
  // Lanes outside the mask are left unspecified.
  void load(int buffer, const int64_t* elements, uint32_t mask, Row& out) {
    const auto& pages = pages_[static_cast<size_t>(buffer)];
    if (pages.empty()) {
      initial(buffer, elements, mask, out);
      return;
    }
    uint32_t missing = 0;
    int64_t last = -1;
    const Page* page = nullptr;
    domain_.clear(out);
    for (uint32_t m = mask; m != 0; m &= m - 1) {
      const int l = __builtin_ctz(m);
      const int64_t key = elements[l] >> kShift;
      if (key != last || page == nullptr) {
        auto it = pages.find(key);
        page = it == pages.end() ? nullptr : it->second.get();
        last = key;
      }
      if (page == nullptr || ((page->valid >> (elements[l] & kMask)) & 1) == 0) {
        missing |= 1u << l;
      } else {
        domain_.set_lane(out, l, page->cells[static_cast<size_t>(elements[l] & kMask)]);
      }
    }
    if (missing == 0) return;
    Row fresh;
    initial(buffer, elements, missing, fresh);
    for (uint32_t m = missing; m != 0; m &= m - 1) {
      const int l = __builtin_ctz(m);
      D::copy_lane(fresh, l, out, l);
    }
  }
  Cell load1(int buffer, int64_t element) {
    if (const Cell* cell = written(buffer, element)) return *cell;
    std::array<int64_t, kRow> elements;
    elements.fill(element);
    Row row;
    initial(buffer, elements.data(), 1, row);
    return domain_.cell(row, 0, source(buffer).type);
  }

 private:
  static constexpr int kShift = 6;
  static constexpr int64_t kMask = 63;
  struct Page {
    std::array<Cell, 64> cells;
    uint64_t valid = 0;
  };

  void initial(int buffer, const int64_t* elements, uint32_t mask, Row& out) {
    const Source& s = sources_[static_cast<size_t>(buffer)];
    switch (s.kind) {
      case Source::Kind::Symbol:
        domain_.symbol(s.symbol, s.type, elements, mask, out);
        return;
      case Source::Kind::Poison:
        domain_.set_undef(static_cast<uint64_t>(buffer) << 40 ^
                              static_cast<uint64_t>(elements[__builtin_ctz(mask)]),
                          out);
        return;
      case Source::Kind::Zero:
        domain_.set_bits(uint64_t{0}, out);
        break;
      case Source::Kind::Data: {
        std::array<uint64_t, kRow> bits{};
        const uint32_t width = bytes(s.type);
        for (uint32_t m = mask; m != 0; m &= m - 1) {
          const int l = __builtin_ctz(m);
          if (elements[l] >= 0 && elements[l] < s.elements)
            std::memcpy(&bits[static_cast<size_t>(l)], s.data + elements[l] * width, width);
        }
        domain_.set_bits(bits.data(), out);
        break;
      }
    }
    domain_.fix_type(s.type, out, mask);  // raw lanes take the buffer's type
  }

  D& domain_;
  std::vector<Source> sources_;
  std::vector<std::unordered_map<int64_t, std::unique_ptr<Page>>> pages_;
};

}  // namespace assay::term
