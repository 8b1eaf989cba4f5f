#include "check/pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

namespace assay::check {
namespace {

constexpr uint64_t kTile = uint64_t{4} << 20;
constexpr uint64_t kMostTiles = 16384;  // a process may have 65530 mappings

// A file of one tile of ones, or -1. Made once; its descriptor stays open.
int tile_of_ones() {
  static const int tile = [] {
    const int fd = memfd_create("ones", MFD_CLOEXEC);
    if (fd < 0) return -1;
    const std::vector<uint8_t> ones(kTile, 0xff);
    uint64_t at = 0;
    while (at < kTile) {
      const ssize_t n = write(fd, ones.data() + at, kTile - at);
      if (n <= 0) {
        close(fd);
        return -1;
      }
      at += static_cast<uint64_t>(n);
    }
    return fd;
  }();
  return tile;
}

}  // namespace

Pages::Pages(uint64_t bytes, Fill fill) : bytes_(bytes) {
  mapped_ = (std::max<uint64_t>(bytes, 1) + kTile - 1) / kTile * kTile;
  if (mapped_ < bytes) return;
  void* p = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return;
  data_ = static_cast<uint8_t*>(p);
  if (fill == Fill::Ones && !map_ones()) std::memset(data_, 0xff, bytes_);
}

// Private copies of one tile: pages that nothing writes are shared.
bool Pages::map_ones() {
  if (bytes_ < kTile || mapped_ / kTile > kMostTiles) return false;
  const int tile = tile_of_ones();
  if (tile < 0) return false;
  for (uint64_t at = 0; at < mapped_; at += kTile)
    if (mmap(data_ + at, kTile, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE,
             tile, 0) == MAP_FAILED)
      return false;
  return true;
}

Pages::~Pages() {
  if (data_ != nullptr) munmap(data_, mapped_);
}

void Pages::swap(Pages& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(mapped_, other.mapped_);
}

}  // namespace assay::check
