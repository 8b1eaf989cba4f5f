#include "check/coverage.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace assay::check {

using machine::BufferEnv;
using machine::WarpAccess;

// --- WriterMap ----------------------------------------------------------------------------------

uint32_t WriterMap::writer(int64_t element) const {
  const auto p = static_cast<size_t>(element >> kPageBits);
  if (element < 0 || p >= pages_.size()) return 0;
  const Page& page = pages_[p];
  return page.words == nullptr ? page.one : page.words[static_cast<size_t>(element & (kPage - 1))];
}

const std::vector<uint32_t>* WriterMap::more(int64_t element) const {
  auto it = more_.find(element);
  return it == more_.end() ? nullptr : &it->second;
}

void WriterMap::make_words(Page& page) {
  page.words = std::make_unique<uint32_t[]>(static_cast<size_t>(kPage));
  std::fill_n(page.words.get(), kPage, page.one);
  ++dense_;
}

void WriterMap::shared(int64_t element, uint32_t cta) {
  auto& list = more_[element];
  if (list.empty() || list.back() != cta) list.push_back(cta);
}

namespace {

// Sixteen words at once, without a way out among them.
bool all_are(const uint32_t* words, int64_t count, uint32_t value) {
  int64_t k = 0;
  for (; k + 16 <= count; k += 16) {
    uint32_t other = 0;
    for (int j = 0; j < 16; ++j) other |= words[k + j] ^ value;
    if (other != 0) return false;
  }
  for (; k < count; ++k)
    if (words[k] != value) return false;
  return true;
}

}  // namespace

void WriterMap::write_page(Page& page, int64_t base, int64_t from, int64_t to, uint32_t cta) {
  const uint32_t mine = cta + 1;
  if (page.words == nullptr) {
    if (page.one == mine) return;
    if (page.one == 0 && to - from == kPage) {
      page.one = mine;
      page.count = static_cast<int32_t>(kPage);
      written_ += kPage;
      return;
    }
    make_words(page);
  }
  uint32_t* const words = page.words.get();
  bool one = true;
  if (all_are(words + from, to - from, 0)) {
    std::fill(words + from, words + to, mine);
    page.count += static_cast<int32_t>(to - from);
    written_ += to - from;
    from = to;
  }
  for (int64_t k = from; k < to; ++k) {
    uint32_t& w = page.words[static_cast<size_t>(k)];
    if (w == 0) {
      w = mine;
      ++page.count;
      ++written_;
    } else if (w != mine) {
      shared(base + k, cta);
      one = false;
    }
  }
  if (!one || page.count != kPage || page.words[0] != mine || page.words[kPage - 1] != mine) return;
  if (!all_are(words, kPage, mine)) return;
  page.one = mine;
  page.words.reset();
  --dense_;
}

void WriterMap::write(int64_t first, int64_t count, uint32_t cta) {
  while (count > 0) {
    const auto p = static_cast<size_t>(first >> kPageBits);
    if (p >= pages_.size()) pages_.resize(p + 1);
    const int64_t from = first & (kPage - 1), to = std::min(kPage, from + count);
    write_page(pages_[p], static_cast<int64_t>(p) << kPageBits, from, to, cta);
    first += to - from;
    count -= to - from;
  }
}

// --- the observer -------------------------------------------------------------------------------

class StoreObserver : public machine::Observer {
 public:
  explicit StoreObserver(Writers& writers) : writers_(writers), out_(writers.cover_) {
    for (size_t b = 0; b < writers.env_.size(); ++b) order_.push_back({writers.env_[b].address, b});
    std::sort(order_.begin(), order_.end());
  }
  uint32_t access(const WarpAccess& a) override {
    if (a.space != machine::MemSpace::Global || a.kind == machine::AccessKind::Read) return a.mask;
    // Lanes that write one run of bytes are one entry.
    if (a.mask == ~0u &&
        machine::lanes().shape(a.addr, a.bytes) == machine::AddrShape::Contiguous) {
      store(a, a.addr[0], uint64_t{32} * a.bytes);
      return a.mask;
    }
    uint64_t begin = 0, bytes = 0;
    for (uint32_t m = a.mask; m != 0; m &= m - 1) {
      const uint64_t address = a.addr[__builtin_ctz(m)];
      if (bytes != 0 && address == begin + bytes) {
        bytes += a.bytes;
        continue;
      }
      if (bytes != 0) store(a, begin, bytes);
      begin = address, bytes = a.bytes;
    }
    if (bytes != 0) store(a, begin, bytes);
    return a.mask;
  }
  void unknown_access(const WarpAccess& a, bool) override {
    if (a.space != machine::MemSpace::Global || a.kind == machine::AccessKind::Read) return;
    out_.complete = false;
    if (a.addr != nullptr) access(a);  // at least one of the places where it may write
  }
  // The slice keeps only branches that decide about stores.
  void unknown_branch(uint32_t, uint32_t, uint32_t, uint32_t) override { out_.complete = false; }
  void begin_cta(uint32_t cta, uint32_t) override {
    if (!out_.sampled) return;
    writers_.extents_[cta];
    out_.sampled_ctas = writers_.extents_.size();
  }

 private:
  void store(const WarpAccess& a, uint64_t address, uint64_t bytes) {
    if (last_env_ == nullptr || address - last_env_->address >= last_env_->bytes) {
      auto it = std::upper_bound(order_.begin(), order_.end(), std::make_pair(address, ~size_t{0}));
      if (it == order_.begin()) return bad(a, bytes);
      buffer_ = std::prev(it)->second;
      const BufferEnv& env = writers_.env_[buffer_];
      if (address - env.address >= env.bytes) return bad(a, bytes);
      last_env_ = &env;
      last_ = &out_.buffers[static_cast<int>(buffer_)];
      if (last_->elements == 0) {
        last_->type = env.type;
        last_->elements = static_cast<int64_t>(env.bytes / width());
      }
    }
    const uint64_t offset = address - last_env_->address;
    if (offset + bytes > last_env_->bytes) {  // the run leaves the buffer: lane by lane
      const uint64_t inside = (last_env_->bytes - offset) / a.bytes * a.bytes;
      bad(a, bytes - inside);
      bytes = inside;
      if (bytes == 0) return;
    }
    last_->atomic = last_->atomic || a.kind == machine::AccessKind::Atomic;
    const auto first = static_cast<int64_t>(offset / width());
    const auto count = static_cast<int64_t>((offset + bytes - 1) / width()) - first + 1;
    last_->map.write(first, count, a.cta);
    if (!out_.sampled) return;
    Writers::Extent& e = writers_.extents_[a.cta][static_cast<int>(buffer_)];
    if (e.runs.empty() || first < e.lo) e.lo = first;
    e.hi = std::max(e.hi, first + count - 1);
    if (!e.runs.empty() && e.runs.back().first + e.runs.back().second == first)
      e.runs.back().second += count;
    else
      e.runs.push_back({first, count});
  }
  uint32_t width() const { return std::max<uint32_t>(1, assay::bytes(last_env_->type)); }
  void bad(const WarpAccess& a, uint64_t bytes) {
    if (out_.out_of_bounds == 0) out_.out_of_bounds_pc = a.pc;
    out_.out_of_bounds += bytes / std::max<uint64_t>(1, a.bytes);
  }

  Writers& writers_;
  Coverage& out_;
  std::vector<std::pair<uint64_t, size_t>> order_;
  const BufferEnv* last_env_ = nullptr;
  Coverage::BufferWriters* last_ = nullptr;
  size_t buffer_ = 0;
};

// Looks for stores to a few elements and remembers nothing else.
class ElementObserver : public machine::Observer {
 public:
  ElementObserver(const BufferEnv& env, const std::vector<int64_t>& elements) {
    const uint32_t width = std::max<uint32_t>(1, assay::bytes(env.type));
    for (int64_t e : elements)
      targets_.push_back({env.address + static_cast<uint64_t>(e) * width, width});
  }
  uint32_t access(const WarpAccess& a) override {
    if (a.space != machine::MemSpace::Global || a.kind == machine::AccessKind::Read) return a.mask;
    for (uint32_t m = a.mask; m != 0; m &= m - 1) {
      const uint64_t address = a.addr[__builtin_ctz(m)];
      for (const auto& [at, width] : targets_)
        found = found || (address < at + width && at < address + a.bytes);
    }
    return a.mask;
  }
  void unknown_access(const WarpAccess&, bool) override { found = true; }
  void unknown_branch(uint32_t, uint32_t, uint32_t, uint32_t) override { found = true; }
  bool found = false;

 private:
  std::vector<std::pair<uint64_t, uint32_t>> targets_;
};

// --- Writers ------------------------------------------------------------------------------------

namespace {

// Warp instructions of the store slices that are run for a complete map, and bytes of that map.
constexpr uint64_t kWholeGrid = 40'000'000;
constexpr uint64_t kMapBytes = uint64_t{512} << 20;
constexpr uint64_t kElementSearch = 2'000'000'000;
constexpr uint64_t kOnDemand = 64;  // CTAs that one prediction may run
constexpr uint64_t kTests = 1'000'000;

}  // namespace

Writers::Writers(const machine::Kernel& sliced, const machine::Launch& launch,
                 const std::vector<BufferEnv>& env)
    : sliced_(sliced), launch_(launch), env_(env) {
  for (size_t d = 0; d < 3; ++d) grid_[d] = launch.constants.grid[d];
  num_ctas_ = grid_[0] * grid_[1] * grid_[2];
}

uint64_t Writers::linear(const std::array<uint64_t, 3>& at) const {
  return (at[2] * grid_[1] + at[1]) * grid_[0] + at[0];
}

Status Writers::run_list(std::vector<uint64_t> ctas, uint64_t limit) {
  StoreObserver observer(*this);
  machine::Launch spec = launch_;
  spec.step_limit = limit;
  machine::CtaRange range;
  range.list = std::move(ctas);
  auto stats = machine::run_skeleton(sliced_, spec, env_, range, observer);
  if (!stats) return tl::unexpected<Diag>(stats.error());
  cover_.warp_instructions += stats->warp_instructions;
  return {};
}

// Ends, middles and neighbours along each dimension of the grid, and an even spread.
std::vector<uint64_t> Writers::samples() const {
  std::set<uint64_t> out;
  std::array<std::vector<uint64_t>, 3> along;
  for (size_t d = 0; d < 3; ++d) {
    std::set<uint64_t> s;
    const uint64_t n = grid_[d];
    for (uint64_t k : {uint64_t{0}, uint64_t{1}, n / 2, n / 2 + 1, n - 2, n - 1})
      if (k < n) s.insert(k);
    along[d].assign(s.begin(), s.end());
  }
  for (uint64_t x : along[0])
    for (uint64_t y : along[1])
      for (uint64_t z : along[2]) out.insert(linear({x, y, z}));
  for (uint64_t k = 1; k < 32; ++k) out.insert(k * (num_ctas_ - 1) / 32);
  return {out.begin(), out.end()};
}

Status Writers::run() {
  // One CTA of the middle tells what all would cost.
  uint64_t estimate = 0;
  if (num_ctas_ > 64) {
    Writers probe(sliced_, launch_, env_);
    probe.cover_.sampled = true;
    Status ran = probe.run_list({num_ctas_ / 2}, kWholeGrid);
    if (!ran && ran.error().kind != DiagKind::Limit) return ran;
    estimate = ran ? probe.cover_.warp_instructions * num_ctas_ : kWholeGrid + 1;
  }
  uint64_t bytes = 0;
  for (const BufferEnv& b : env_) bytes = std::max(bytes, b.bytes);
  if (estimate <= kWholeGrid) {
    StoreObserver observer(*this);
    machine::Launch spec = launch_;
    spec.step_limit = kWholeGrid * 2;
    auto stats = machine::run_skeleton(sliced_, spec, env_, {}, observer);
    uint64_t used = 0;
    for (const auto& b : cover_.buffers) used += b.second.map.bytes();
    if (!stats && stats.error().kind != DiagKind::Limit) return tl::unexpected<Diag>(stats.error());
    if (stats && used <= kMapBytes) {
      cover_.warp_instructions = stats->warp_instructions;
      return {};
    }
    if (!stats && num_ctas_ <= 64) {
      cover_.complete = false;
      cover_.incomplete_why = stats.error().message;
      return {};
    }
  }
  cover_ = Coverage{};
  cover_.sampled = true;
  ASSAY_CHECK(run_list(samples(), kWholeGrid * 4));
  cover_.sampled_ctas = extents_.size();
  return {};
}

const Writers::Extent* Writers::extent(uint64_t cta, int buffer) {
  if (extents_.count(cta) == 0 && !run_list({cta}, kWholeGrid)) return nullptr;
  auto& all = extents_[cta];
  auto it = all.find(buffer);
  return it == all.end() ? nullptr : &it->second;
}

bool Writers::writes(uint64_t cta, int buffer, int64_t element) {
  const Extent* e = extent(cta, buffer);
  if (e == nullptr || element < e->lo || element > e->hi) return false;
  const WriterMap& map = cover_.buffers[buffer].map;
  if (map.writer(element) == cta + 1) return true;
  const auto* more = map.more(element);
  return more != nullptr &&
         std::find(more->begin(), more->end(), static_cast<uint32_t>(cta)) != more->end();
}

// Elements move by a constant for a step along each dimension of the grid.
uint32_t Writers::predict_affine(int buffer, int64_t element) {
  // CTAs of a grid-stride loop differ in the number of their turns.
  for (const uint64_t part : {1, 0, 2}) {
    std::array<uint64_t, 3> base{};
    for (size_t d = 0; d < 3; ++d) base[d] = (grid_[d] - 1) * part / 2;
    if (const uint32_t cta = predict_from(base, buffer, element); cta != 0) return cta;
  }
  return 0;
}

uint32_t Writers::predict_from(const std::array<uint64_t, 3>& base, int buffer, int64_t element) {
  const Extent* found = extent(linear(base), buffer);
  if (found == nullptr) return 0;
  const Extent e = *found;
  std::array<int64_t, 3> step{};
  std::array<size_t, 3> order{0, 1, 2};
  for (size_t d = 0; d < 3; ++d) {
    if (grid_[d] < 2) continue;
    auto next = base;
    const bool up = base[d] + 1 < grid_[d];
    up ? ++next[d] : --next[d];
    const Extent* n = extent(linear(next), buffer);
    if (n == nullptr) return 0;
    step[d] = up ? n->lo - e.lo : e.lo - n->lo;
  }
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return std::abs(step[a]) > std::abs(step[b]); });
  // From the longest step to the shortest; the shortest is solved for each run of the base.
  size_t last = 3;
  while (last > 0 && step[order[last - 1]] == 0) --last;
  uint64_t tests = 0, runs = 0;
  uint32_t result = 0;
  auto verify = [&](const std::array<uint64_t, 3>& at) {
    if (++runs <= kOnDemand && writes(linear(at), buffer, element))
      result = static_cast<uint32_t>(linear(at)) + 1;
  };
  auto search = [&](auto&& self, size_t k, std::array<uint64_t, 3> at, int64_t rest) -> void {
    if (result != 0 || ++tests > kTests || runs > kOnDemand) return;
    if (k == last) {
      if (last == 0) verify(at);
      return;
    }
    const size_t d = order[k];
    const int64_t s = step[d], b = static_cast<int64_t>(base[d]),
                  n = static_cast<int64_t>(grid_[d]);
    // rest - q s in [lo, hi], for the q that the grid has
    auto quotients = [&](int64_t lo, int64_t hi, auto&& f) {
      const int64_t x = (rest - hi) / s, y = (rest - lo) / s;
      for (int64_t q = std::max(std::min(x, y) - 1, -b);
           q <= std::min(std::max(x, y) + 1, n - 1 - b) && result == 0; ++q) {
        if (++tests > kTests) return;
        if (rest - q * s >= lo && rest - q * s <= hi) f(q);
      }
    };
    if (k + 1 == last) {
      for (const auto& run : e.runs)
        quotients(run.first, run.first + run.second - 1, [&](int64_t q) {
          at[d] = static_cast<uint64_t>(b + q);
          verify(at);
        });
      return;
    }
    int64_t reach = 0;  // what the shorter steps can add
    for (size_t j = k + 1; j < 3; ++j)
      reach += std::abs(step[order[j]]) * static_cast<int64_t>(grid_[order[j]]);
    quotients(e.lo - reach, e.hi + reach, [&](int64_t q) {
      at[d] = static_cast<uint64_t>(b + q);
      self(self, k + 1, at, rest - q * s);
    });
  };
  search(search, 0, base, element);
  return result;
}

// The smallest elements ascend with the linear id.
uint32_t Writers::predict_monotone(int buffer, int64_t element) {
  uint64_t lo = 0, hi = num_ctas_ - 1;
  while (lo < hi) {  // the last CTA whose smallest element is not beyond `element`
    const uint64_t mid = lo + (hi - lo + 1) / 2;
    const Extent* e = extent(mid, buffer);
    if (e != nullptr && e->lo <= element)
      lo = mid;
    else
      hi = mid - 1;
  }
  for (uint64_t back = 0; back < 8 && back <= lo; ++back)
    if (writes(lo - back, buffer, element)) return static_cast<uint32_t>(lo - back) + 1;
  return 0;
}

Result<uint32_t> Writers::find(int buffer, int64_t element) {
  auto it = cover_.buffers.find(buffer);
  if (it == cover_.buffers.end()) return 0u;
  if (const uint32_t known = it->second.map.writer(element); known != 0 || !cover_.sampled)
    return known;
  if (const uint32_t cta = predict_affine(buffer, element); cta != 0) return cta;
  if (const uint32_t cta = predict_monotone(buffer, element); cta != 0) return cta;
  return fail(DiagKind::Limit,
              "the grid is too large to run all its stores, and the CTA that writes element " +
                  std::to_string(element) + " could not be predicted");
}

Result<tensor::ElemSet> Writers::written_by(int buffer, uint64_t cta) {
  tensor::ElemSet out;
  if (cta >= num_ctas_)
    return fail(DiagKind::Invalid,
                fmt::format("there is no CTA {} in a grid of {}", cta, num_ctas_));
  if (cover_.sampled) {
    if (const Extent* e = extent(cta, buffer))
      for (const auto& [first, count] : e->runs)
        for (int64_t k = 0; k < count; ++k) out.insert(first + k);
    return out;
  }
  const auto it = cover_.buffers.find(buffer);
  if (it == cover_.buffers.end()) return out;
  const WriterMap& map = it->second.map;
  map.for_each_run([&](int64_t first, int64_t count, uint32_t writer) {
    for (int64_t e = first; e < first + count; ++e) {
      const auto* more = writer == cta ? nullptr : map.more(e);
      if (writer == cta ||
          (more != nullptr && std::find(more->begin(), more->end(), cta) != more->end()))
        out.insert(e);
    }
  });
  return out;
}

Result<bool> Writers::any_writes(int buffer, const std::vector<int64_t>& elements) {
  ElementObserver observer(env_[static_cast<size_t>(buffer)], elements);
  machine::Launch spec = launch_;
  spec.step_limit = kElementSearch;
  auto stats = machine::run_skeleton(sliced_, spec, env_, {}, observer);
  if (!stats) return tl::unexpected<Diag>(stats.error());
  return observer.found;
}

}  // namespace assay::check
