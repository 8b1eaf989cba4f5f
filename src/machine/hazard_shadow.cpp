#include "machine/hazard_shadow.h"

#include <algorithm>

namespace assay::machine {
namespace {

template <class T>
void spread(std::vector<T>* v, uint32_t factor_shift) {
  std::vector<T> out(v->size() << factor_shift);
  for (size_t i = 0; i < out.size(); ++i) out[i] = (*v)[i >> factor_shift];
  *v = std::move(out);
}

void spread(AccessSet* s, uint32_t by) {
  if (s == nullptr) return;
  spread(&s->when, by);
  spread(&s->cta, by);
  spread(&s->warps, by);
  spread(&s->lanes, by);
  spread(&s->thread, by);
  spread(&s->pc, by);
}

struct LaneTables {
  std::array<std::vector<uint32_t>, 6> lane, bit;
  LaneTables() {
    for (uint32_t k = 0; k < 6; ++k) {
      for (uint32_t i = 0; i < 32u << k; ++i) {
        lane[k].push_back(i >> k);
        bit[k].push_back(1u << (i >> k));
      }
    }
  }
};
const LaneTables& tables() {
  static const LaneTables t;
  return t;
}

}  // namespace

AccessSet::AccessSet(uint32_t cells)
    : when(cells, kNoAccess), cta(cells), warps(cells), lanes(cells), thread(cells), pc(cells) {}

void AccessSet::copy_cell(const AccessSet& from, uint32_t cell) {
  when[cell] = from.when[cell];
  cta[cell] = from.cta[cell];
  warps[cell] = from.warps[cell];
  lanes[cell] = from.lanes[cell];
  thread[cell] = from.thread[cell];
  pc[cell] = from.pc[cell];
}

void AccessSet::swap_cell(AccessSet* with, uint32_t cell) {
  std::swap(when[cell], with->when[cell]);
  std::swap(cta[cell], with->cta[cell]);
  std::swap(warps[cell], with->warps[cell]);
  std::swap(lanes[cell], with->lanes[cell]);
  std::swap(thread[cell], with->thread[cell]);
  std::swap(pc[cell], with->pc[cell]);
}

WriterSet::WriterSet(uint32_t cells, int32_t initial)
    : when(cells, initial), cta(cells), thread(cells), pc(cells) {}

ShadowPage::ShadowPage(bool initialised)
    : writes(kPageBytes >> 2, initialised ? kBeforeLaunch : kNoAccess) {}

RunCells ShadowPage::run(uint32_t cell) {
  RunCells c{};
  c.w_when = writes.when.data() + cell;
  c.w_cta = writes.cta.data() + cell;
  c.w_thread = writes.thread.data() + cell;
  c.w_pc = writes.pc.data() + cell;
  if (reads == nullptr) return c;
  c.r_when = reads->when.data() + cell;
  c.r_cta = reads->cta.data() + cell;
  c.r_warps = reads->warps.data() + cell;
  c.r_lanes = reads->lanes.data() + cell;
  c.r_thread = reads->thread.data() + cell;
  c.r_pc = reads->pc.data() + cell;
  return c;
}

AccessSet& ShadowPage::make_reads() {
  if (reads == nullptr) reads = std::make_unique<AccessSet>(cells());
  return *reads;
}
AccessSet& ShadowPage::make_atomics() {
  if (atomics == nullptr) atomics = std::make_unique<AccessSet>(cells());
  return *atomics;
}

void ShadowPage::split(uint32_t new_shift) {
  if (new_shift >= shift) return;
  const uint32_t by = shift - new_shift;
  spread(&writes.when, by);
  spread(&writes.cta, by);
  spread(&writes.thread, by);
  spread(&writes.pc, by);
  spread(reads.get(), by);
  spread(atomics.get(), by);
  spread(other_reads.get(), by);
  spread(other_atomics.get(), by);
  shift = new_shift;
}

template <class F>
void ShadowPage::for_each_field(F&& f) {
  for (auto* field : {&writes.cta, &writes.thread, &writes.pc}) f(*field);
  f(writes.when);
  for (auto* set : {&reads, &atomics, &other_reads, &other_atomics}) {
    if (*set == nullptr) continue;
    AccessSet& s = **set;
    for (auto* field : {&s.cta, &s.warps, &s.lanes, &s.thread, &s.pc}) f(*field);
    f(s.when);
  }
}

namespace {

void coarsen(std::vector<int32_t>* when, int32_t launch_start) {
  if (when->empty()) return;
  const int32_t latest = *std::max_element(when->begin(), when->end());
  for (int32_t& w : *when) w = w >= launch_start ? latest : std::min(w, kBeforeLaunch);
}

struct Pack {
  TablePool* pool;
  std::vector<PackedField>* out;
  void operator()(std::vector<uint32_t>& field) { out->emplace_back().pack(&field, pool); }
  void operator()(std::vector<int32_t>& field) {
    std::vector<uint32_t> values(field.begin(), field.end());
    std::vector<int32_t>().swap(field);
    (*this)(values);
  }
};

struct Unpack {
  std::vector<PackedField>::const_iterator next;
  void operator()(std::vector<uint32_t>& field) { field = (next++)->unpack(); }
  void operator()(std::vector<int32_t>& field) {
    const std::vector<uint32_t> values = (next++)->unpack();
    field.assign(values.begin(), values.end());
  }
};

}  // namespace

void ShadowPage::pack(int32_t launch_start, TablePool* pool) {
  coarsen(&writes.when, launch_start);
  for (auto* set : {&reads, &atomics, &other_reads, &other_atomics}) {
    if (*set != nullptr) coarsen(&(*set)->when, launch_start);
  }
  std::vector<PackedField> fields;
  for_each_field(Pack{pool, &fields});
  packed = std::move(fields);
}

void ShadowPage::unpack() {
  const std::vector<PackedField> fields = std::exchange(packed, {});
  for_each_field(Unpack{fields.begin()});
}

uint64_t ShadowPage::bytes() const {
  if (!packed.empty()) {
    uint64_t n = 0;
    for (const PackedField& f : packed) n += f.bytes();
    return n;
  }
  uint64_t n = WriterSet::bytes(cells());
  for (const auto* set : {&reads, &atomics, &other_reads, &other_atomics}) {
    if (*set != nullptr) n += AccessSet::bytes(cells());
  }
  return n;
}

void Shadow::mark_initialised(uint64_t offset, uint64_t bytes) {
  if (initialised_ || bytes == 0 || offset >= size_) return;
  const uint64_t end = std::min(size_, bytes > size_ - offset ? size_ : offset + bytes);
  while (offset < end) {
    ShadowPage& p = page(offset);
    const uint64_t in_page = offset & (kPageBytes - 1);
    const uint64_t n = std::min<uint64_t>(end - offset, kPageBytes - in_page);
    // Edges that cut a cell split the page; the end of the space may be any byte.
    const uint64_t edges = in_page | (offset + n == size_ ? 0 : in_page + n);
    if ((edges & 3) != 0) p.split((edges & 1) != 0 ? 0 : 1);
    for (uint64_t c = in_page >> p.shift; c <= (in_page + n - 1) >> p.shift; ++c) {
      p.writes.when[c] = std::max(p.writes.when[c], kBeforeLaunch);
    }
    offset += n;
  }
}

const uint32_t* lane_table(uint32_t log2_cells) { return tables().lane[log2_cells].data(); }
const uint32_t* lane_bit_table(uint32_t log2_cells) { return tables().bit[log2_cells].data(); }

}  // namespace assay::machine
