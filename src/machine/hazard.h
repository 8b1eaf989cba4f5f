#pragma once
// Races, bounds, alignment and initialisation of one launch (or of several launches in a row) on
// the virtual GPU. The machine reports each warp access and each synchronisation; the tracker keeps
// a shadow of shared and global memory and answers with a deduplicated list of hazards.
//
// Order (PTX ISA section 8, reduced to what kernels use): an access happens before another one if
// program order of one thread, a barrier of the CTA, a warp synchronisation with both lanes among
// its members, a release/acquire pair, a cluster or grid barrier, or a chain of these lies between.
// Every synchronisation advances one clock; an access is stamped with it, so "ordered" is a
// comparison with a time that the current thread knows of the other one. Of several reads the
// tracker keeps those that no later read follows in this order (as FastTrack does): the first race
// on each location is never missed; later ones on the same location may be. Two limits: lanes and
// warps that read a word between two full barriers share the latest one's time, so partial orders
// may show a race too many; and of CTAs that are ordered by flags, the readers of two are kept.
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace assay::machine {

enum class MemSpace : uint8_t { Global, Shared };
enum class AccessKind : uint8_t { Read, Write, Atomic };

enum class HazardKind : uint8_t {
  ReadWriteRace,   // unordered threads of one CTA; one writes (or an atomic meets a plain access)
  WriteWriteRace,  // likewise, both write
  IntraWarpConflict,  // lanes of one store instruction write the same bytes
  RacyIdiom,  // same warp, no warp synchronisation between; in lockstep the order is defined
  CrossCtaReadWrite,  // CTAs of one launch without grid or cluster order
  CrossCtaWriteWrite,
  OutOfBounds,
  Misaligned,
  UninitialisedRead
};
const char* hazard_kind_name(HazardKind kind);

// A thread of the launch: linear CTA id in the grid, thread = warp * 32 + lane in the CTA.
struct ThreadId {
  uint32_t cta = 0;
  uint32_t thread = 0;
};

// One observed instance. `first` is the earlier access of the two, `second` the one that was
// checked when the hazard was seen. Faults (bounds, alignment, initialisation) have only `second`.
struct HazardExample {
  ThreadId first, second;
  bool first_exact = true;  // false: `first` is one of several readers, its lane is a guess
  int buffer = -1;          // id given to add_buffer; -1: no buffer (wild address) or shared memory
  int64_t offset = 0;       // bytes from the buffer's start (may be negative, or past its extent);
                            // shared: offset in the CTA's window; wild: the address
};

struct Hazard {
  static constexpr size_t kMaxExamples = 4;
  HazardKind kind = HazardKind::ReadWriteRace;
  MemSpace space = MemSpace::Global;
  uint32_t first_pc = 0, second_pc = 0;
  AccessKind first_kind = AccessKind::Read, second_kind = AccessKind::Read;
  bool strong = false;  // both accesses are volatile, relaxed or atomic: no undefined behaviour,
                        // but the value depends on the schedule
  uint8_t bytes = 0;    // width of the second access, per lane
  uint64_t count = 0;   // lane instances
  std::string buffer;   // name of the example's buffer; "shared" for shared memory; "" if wild
  uint64_t extent = 0;  // its size in bytes
  std::vector<HazardExample> examples;  // the first few, at most kMaxExamples
};

// "cross-CTA write-write: pc 17 (cta 3, thread 5) and pc 17 (cta 4, thread 5), y+12 of 64 bytes"
std::string format_hazard(const Hazard& h);

// What a thread that acquires this clock knows: a time for each warp of each CTA. Kept by the
// machine in each mbarrier, named barrier or flag that orders memory.
struct SyncClock {
  std::map<uint32_t, std::array<int32_t, 32>> ctas;
};

struct BufferInfo {
  std::string name;
  uint64_t base = 0;  // device address of byte 0
  uint64_t bytes = 0;
  bool initialised = true;  // false: contents are undefined until written
  bool track_reads = true;  // false: reads make no shadow; see untracked_conflicts()
};

// One warp instruction (one vector element or the whole vector: `bytes` is what one lane moves).
struct WarpAccess {
  MemSpace space = MemSpace::Global;
  AccessKind kind = AccessKind::Read;
  bool strong = false;     // .volatile, .relaxed, .acquire, .release; atomics are always strong
  uint8_t bytes = 4;       // 1, 2, 4, 8, 16 or 32 (ld.v8.b32) per lane
  uint8_t align = 0;       // required alignment; 0: `bytes`
  uint8_t warp = 0;        // in the CTA, 0..31
  uint32_t cta = 0;        // of the accessing thread
  uint32_t owner_cta = 0;  // Shared: whose window (differs from cta for shared::cluster)
  uint32_t mask = 0;       // active lanes
  uint32_t pc = 0;
  const uint64_t* addr = nullptr;  // 32 entries; Global: device addresses; Shared: window offsets
  bool maybe = false;  // it may not happen (a condition on data): it races, but faults of bounds,
                       // alignment and initialisation are not reported
  bool anywhere = false;  // with maybe: one of several addresses that it may have; lanes that write
                          // the same bytes here need not do so
};

class Shadow;
class TablePool;
class AccessRecorder;
struct CtaOrder;

class HazardTracker {
 public:
  // max_shadow_bytes: memory for shadows of global buffers; beyond it accesses are checked for
  // bounds and alignment only and saturated() is true (nothing may then be called race-free).
  explicit HazardTracker(uint64_t max_shadow_bytes = uint64_t{1} << 30, size_t max_hazards = 256);
  ~HazardTracker();
  HazardTracker(const HazardTracker&) = delete;
  HazardTracker& operator=(const HazardTracker&) = delete;

  // Buffers must not overlap. Returns the id. A write to a buffer of the host (copy, fill) is
  // mark_initialised; bytes are clipped to the buffer.
  int add_buffer(BufferInfo info);
  void mark_initialised(int buffer, uint64_t offset, uint64_t bytes);
  const BufferInfo& buffer(int id) const { return buffers_[static_cast<size_t>(id)].info; }

  // Order points. A new launch is ordered behind all earlier accesses; CTAs live until end_cta.
  void begin_launch();
  void begin_cta(uint32_t cta, uint32_t shared_bytes);  // static and dynamic shared memory
  void end_cta(uint32_t cta);                           // drops the shared shadow
  void cta_barrier(uint32_t cta);                       // bar.sync of all live threads
  void warp_barrier(uint32_t cta, uint32_t warp_mask);  // bar.sync id, n: the warps that took part
  void warp_sync(uint32_t cta, uint32_t warp, uint32_t member_lanes, uint32_t live_lanes);
  void cluster_barrier(const std::vector<uint32_t>& ctas);  // barrier.cluster of all their threads
  void grid_barrier();                                      // cooperative grid sync
  void release(uint32_t cta, uint32_t warp, SyncClock* clock);  // joins into *clock
  void acquire(uint32_t cta, uint32_t warp, const SyncClock& clock);
  // The lanes of `mask` meet here again, at a post-dominator. No order (sm_70 and later), but it
  // defines the lockstep order that tells RacyIdiom from a race between divergent arms. Lanes of
  // one access are together by themselves.
  void converged(uint32_t cta, uint32_t warp, uint32_t mask);

  // Checks and records one warp access. Returns the lanes that may perform it: those in bounds and
  // aligned.
  uint32_t access(const WarpAccess& a);

  const std::vector<Hazard>& hazards() const { return hazards_; }
  uint64_t dropped() const { return dropped_; }  // distinct hazards beyond max_hazards
  bool saturated() const { return saturated_; }
  uint64_t faults() const { return faults_; }  // lane instances of out of bounds and misaligned
  // Buffers with track_reads == false that one launch both read and wrote: run again with
  // track_reads, else races between these reads and writes are not seen.
  std::vector<int> untracked_conflicts() const;
  uint64_t shadow_bytes() const { return shadow_bytes_; }  // of global buffers

 private:
  struct Buffer {
    BufferInfo info;
    std::unique_ptr<Shadow> shadow;
    bool read = false, written = false;  // in the current launch
    bool conflict = false;               // both, while reads were untracked
  };
  struct Cta {
    std::unique_ptr<CtaOrder> order;
    std::unique_ptr<Shadow> shared;
  };
  // The memory that an address belongs to: a buffer, or a window of shared memory.
  struct Target {
    uint64_t base = 0, extent = 0;
    int buffer = -1;
    const std::string* name = nullptr;
  };
  friend class ExactCheck;
  friend class AccessRecorder;

  Cta& cta_of(uint32_t cta);
  int nearest_buffer(uint64_t addr) const;
  Target target_of(const WarpAccess& a, uint64_t addr);
  uint32_t admit_lanes(const WarpAccess& a);
  void fault(HazardKind kind, const WarpAccess& a, uint32_t lane, const Target& t);
  bool touch(const WarpAccess& a, int buffer);
  void pack_pages();
  void report(const Hazard& what, const HazardExample& example);

  std::vector<Buffer> buffers_;
  std::vector<std::pair<uint64_t, int>> by_base_;  // sorted
  std::map<uint32_t, Cta> ctas_;
  uint32_t last_cta_ = 0;
  Cta* last_cta_state_ = nullptr;
  int last_buffer_ = -1, buffer_before_ = -1;
  int32_t clock_ = 1;         // advances at every synchronisation
  int32_t launch_start_ = 1;  // accesses before it are ordered before everything now
  std::vector<Hazard> hazards_;
  std::map<std::array<uint32_t, 3>, size_t> index_;  // kinds and space, pcs -> hazards_
  uint64_t max_shadow_bytes_;
  uint64_t shadow_bytes_ = 0;
  uint64_t pack_at_;  // of shadow_bytes_: pages of CTAs that have ended are packed
  std::unique_ptr<TablePool> tables_;
  bool foreign_order_ = false;  // something but this launch's end may order CTAs
  size_t max_hazards_;
  uint64_t dropped_ = 0;
  uint64_t faults_ = 0;
  bool saturated_ = false;
};

}  // namespace assay::machine
