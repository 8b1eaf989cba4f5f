#pragma once
// Internal to tracer*.cpp: the trace domain.
#include <memory>
#include <unordered_set>
#include <vector>

#include "machine/bit_memory.h"
#include "machine/flow.h"
#include "machine/trace_builder.h"
#include "machine/trace_cells.h"

namespace assay::machine {

// What a register holds beside its bits. Lane l: bits are known (conc), the node is valid (nmask);
// neither: never written.
struct RegState {
  NodeId node = kNoNode;
  uint32_t conc = 0;
  uint32_t nmask = 0;
};

// Integer types and bits of values of n bytes.
inline uint64_t width_keep(uint32_t n) {
  return n >= 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * n)) - 1;
}
inline Ty int_type(uint32_t n) {
  return n == 1 ? Ty::U8 : n == 2 ? Ty::U16 : n == 4 ? Ty::U32 : Ty::U64;
}
inline uint64_t extend(uint64_t v, Ty t) {  // by the sign of a signed type
  uint32_t n = bits(t);
  if (is_signed(t) && n < 64 && ((v >> (n - 1)) & 1)) v |= ~uint64_t{0} << n;
  return v;
}

class Tracer {
 public:
  static constexpr bool kData = true;
  static constexpr bool kEndless = false;
  using Exec = Executor<Tracer>;

  Tracer(const Kernel& k, const Launch& launch, const std::vector<BufferEnv>& env,
         Observer* observer);

  void begin_cta(Cta& cta);
  void end_cta(Cta& cta);
  void trap(Cta& cta, Warp& w, const MicroOp& op, uint32_t mask);
  void memory(Cta& cta, Warp& w, const MicroOp& op, uint32_t mask, bool all);
  bool execute(Cta& cta, Warp& w, const MicroOp& op, uint32_t mask);
  Status take_error();
  bool known_guard(Warp& w, const MicroOp& op, uint32_t mask);
  bool known_word(Warp& w, RegRef r, uint32_t mask);
  bool known_bar(Warp& w, const MicroOp& op, uint32_t mask);
  void set_known(Warp& w, RegRef r, uint32_t mask);
  Status symbolic_branch(Exec& exec, Cta& cta, Warp& w, const MicroOp& op);

  Trace finish(uint64_t warp_instructions);

 private:
  // A value in one lane: (node, lane), or bits, or both.
  struct LaneVal {
    NodeId node = kNoNode;
    uint8_t lane = 0;
    bool known = false;
    uint64_t bits = 0;
    bool composite = false;  // parts of several values; not joined
  };
  // Values of registers at one point of a path.
  struct Saved {
    uint32_t reg = 0;
    RegState state;
    std::array<uint64_t, 32> bits;  // of the lanes in state.conc
  };
  using Snapshot = std::shared_ptr<const std::vector<Saved>>;  // by register
  struct Entry {  // lanes waiting at the start of a block of a region
    uint32_t block = 0;
    uint32_t mask = 0;
    NodeId cond = kNoNode;
    Snapshot regs;  // null: the warp's registers hold these lanes' values
  };

  // tracer.cpp: registers.
  RegState& state(const Warp& w, RegRef r) { return states_[w.id][r.id]; }
  bool tainted(RegRef r) const { return k_.regs[r.id].tainted; }
  bool known(Warp& w, RegRef r, uint32_t mask) {
    return !r || !tainted(r) || (mask & ~state(w, r).conc) == 0;
  }
  uint64_t lane_bits(Warp& w, RegRef r, uint32_t l);
  NodeId const_node(Warp& w, RegRef r, Ty type, uint32_t mask);
  NodeId fetch(Warp& w, RegRef r, Ty type, uint32_t mask);
  NodeId fetch_raw(Warp& w, RegRef r, uint32_t mask);  // in whatever type it has
  NodeId fetch_pred(Warp& w, RegRef r, uint32_t mask);
  uint32_t assume_no_trap(const Cta& cta, Warp& w, const MicroOp& op, uint32_t open, NodeId path,
                          bool trap_if_taken);
  void assign(Warp& w, RegRef r, uint32_t mask, NodeId node);
  void assign_bits(Warp& w, RegRef r, uint32_t mask);  // the file's bits are new in these lanes
  void assign_both(Warp& w, RegRef r, uint32_t mask, NodeId node);
  void assign_plain(Warp& w, RegRef r, uint32_t mask, NodeId node) {  // whatever the guard
    if ((w.alive & ~mask) == 0)
      state(w, r) = {node, 0, ~0u};
    else
      assign_part(w, r, mask, node);
  }
  void assign_part(Warp& w, RegRef r, uint32_t mask, NodeId node);
  bool fail_here(const MicroOp& op, DiagKind kind, const std::string& what);

  // tracer_alu.cpp
  bool run(Cta& cta, Warp& w, const MicroOp& op, uint32_t mask);
  bool all_known(Warp& w, const MicroOp& op, uint32_t mask);
  bool bits_under_condition(Warp& w, const MicroOp& op, uint32_t mask);
  bool float_nodes(Warp& w, const MicroOp& op, uint32_t op_at, uint32_t mask);
  bool alu(Warp& w, const MicroOp& op, uint32_t mask);
  NodeId alu_node(Warp& w, const MicroOp& op, uint32_t mask);
  NodeId clamp(NodeId n, Ty from, Ty to, uint32_t pc);
  NodeId int_on_float(Warp& w, const MicroOp& op, uint32_t mask);
  NodeId permute_node(Warp& w, const MicroOp& op, uint32_t mask);
  bool mad(Warp& w, const MicroOp& op, uint32_t mask);
  bool mov(Warp& w, const MicroOp& op, uint32_t mask);
  bool setp(Warp& w, const MicroOp& op, uint32_t mask);
  bool plogic(Warp& w, const MicroOp& op, uint32_t mask);
  bool selp(Warp& w, const MicroOp& op, uint32_t mask);
  bool pack(Warp& w, const MicroOp& op, uint32_t mask);
  bool unpack(Warp& w, const MicroOp& op, uint32_t mask);
  bool shfl(Warp& w, const MicroOp& op, uint32_t mask);
  bool vote(Warp& w, const MicroOp& op, uint32_t mask);
  bool redux(Warp& w, const MicroOp& op, uint32_t mask);
  uint32_t op_id(const MicroOp& op) {
    return op_id_at(op, static_cast<size_t>(&op - k_.ops.data()));
  }
  uint32_t op_id_at(const MicroOp& op, size_t at) {
    return op_ids_[at] != 0 ? op_ids_[at] : op_ids_[at] = new_op_id(op);
  }
  uint32_t new_op_id(const MicroOp& op);
  enum class Quick : uint8_t { None, FloatNodes, LoadLane };
  Quick quick_way(const MicroOp& op) const;

  // tracer_mem.cpp, tracer_base.cpp, tracer_cells.cpp, tracer_store.cpp
  bool load(Cta& cta, Warp& w, const MicroOp& op, uint32_t mask);
  bool store(Cta& cta, Warp& w, const MicroOp& op, uint32_t mask);
  bool load_lane(Warp& w, const MicroOp& op, uint32_t mask);
  bool load_shared_words(Warp& w, const MicroOp& op);
  bool load_shared_lanes(Warp& w, const MicroOp& op);
  bool load_word(Cta& cta, Warp& w, const MicroOp& op, const LaneAddrs& a, uint32_t mask,
                 uint32_t offset, RegRef d);
  void load_slow(Cta& cta, Warp& w, const MicroOp& op, const LaneAddrs& a, uint32_t mask,
                 uint32_t offset, RegRef d);
  Cells& cells_of(const Cta& cta, const Warp& w, Space space);
  uint64_t cell_address(const Warp& w, const LaneAddrs& a, uint32_t lane, uint32_t offset) const;
  LaneVal read_value(Cells& cells, Space space, uint64_t addr, uint32_t n, uint32_t local_step,
                     bool join = true);
  NodeId load_node(Cells& cells, const Warp& w, const LaneAddrs& a, uint32_t mask, uint32_t offset,
                   uint32_t n);
  ByteRef read_byte(Cells& cells, Space space, uint64_t addr);
  ByteRef base_byte(Space space, uint64_t addr);
  LaneVal join_bytes(const ByteRef* b, uint32_t n, Ty hint, bool join);
  NodeId node_of(const LaneVal& v, Ty type, uint8_t* lane);
  void gather_lanes(Warp& w, RegRef d, uint32_t mask, const LaneVal* v, Ty type, Ty mem);
  void write_value(Cells& cells, Space space, uint64_t addr, uint32_t n, const LaneVal& v,
                   uint32_t pc, uint32_t local_step);
  void store_lanes(Cta& cta, Warp& w, const MicroOp& op, const LaneAddrs& a, uint32_t mask,
                   uint32_t offset, RegRef s);
  bool store_run(Cta& cta, Warp& w, const MicroOp& op, const LaneAddrs& a, uint32_t e, RegRef s);
  LaneVal lane_value(Warp& w, RegRef s, NodeId node, uint32_t l, Ty type, bool known);
  uint32_t admit(Cta& cta, Warp& w, const MicroOp& op, const LaneAddrs& a, uint32_t mask,
                 AccessKind kind, uint32_t n);
  void base_load(Warp& w, const MicroOp& op, const LaneAddrs& a, uint32_t mask, uint32_t offset,
                 RegRef d, const Device::Area& area);
  void load_slow_piece(Warp& w, const MicroOp& op, const LaneAddrs& a, uint32_t mask,
                       uint32_t offset, RegRef d);
  NodeId input_node(int buffer, const int64_t* element, uint32_t mask);
  bool untouched(const LaneAddrs& a, uint32_t mask, uint32_t n);
  void conflict(Cta& cta, const MicroOp& op, Space space, uint64_t addr, uint32_t lane,
                const LaneVal& v, const LaneVal& before, uint32_t before_lanes);
  void emit_stores(Cta& cta);
  void emit_page(uint64_t page, CellPage& cells);
  void add_store(const StoreOut& out);
  Ty buffer_type(int buffer) const;
  const BufferEnv* buffer_env(int buffer) const;

  // tracer_atom.cpp
  bool atomic(Cta& cta, Warp& w, const MicroOp& op, uint32_t mask);
  bool atomic_out(Warp& w, const MicroOp& op, const LaneAddrs& a, uint32_t mask, NodeId cond);
  bool atomic_cells(Cta& cta, Warp& w, const MicroOp& op, const LaneAddrs& a, uint32_t mask,
                    NodeId cond);

  // tracer_symbolic.cpp: accesses at symbolic addresses.
  struct AffineAddr {  // base[lane] + sum of scale * node
    std::array<int64_t, 32> base{};
    std::vector<std::pair<NodeId, int64_t>> terms;
  };
  bool decompose(NodeId n, int64_t scale, int depth, AffineAddr* out);
  bool global_written(const Device::Area& area);
  NodeId extend_node(NodeId n, Ty mem, Ty reg, uint32_t pc);
  NodeId widen(NodeId n, bool is_signed_value, uint32_t from = 32);
  NodeId index_node(const AffineAddr& a, int64_t unit, uint32_t pc);
  const Device::Area* area_near(const AffineAddr& a, uint32_t mask, int64_t* base);
  bool address_of(Warp& w, const MicroOp& op, uint32_t mask, AffineAddr* a, Space* space);
  bool symbolic_load(Cta& cta, Warp& w, const MicroOp& op, uint32_t mask);
  bool symbolic_store(Cta& cta, Warp& w, const MicroOp& op, uint32_t mask);
  NodeId global_lookup(const MicroOp& op, uint32_t mask, const AffineAddr& a, uint32_t offset);
  bool split_address(const AffineAddr& a, AffineAddr* x, AffineAddr* y, NodeId* cond,
                     uint32_t* lanes_of_x);
  NodeId load_affine(Cta& cta, Warp& w, const MicroOp& op, uint32_t mask, const AffineAddr& a,
                     Space space, uint32_t offset, Ty type, int depth);
  NodeId load_places(Cta& cta, Warp& w, const MicroOp& op, uint32_t mask, const AffineAddr& a,
                     Space space, uint32_t offset, Ty type);
  bool global_scatter(Warp& w, const MicroOp& op, uint32_t mask, const AffineAddr& a);
  NodeId cell_lookup(Cta& cta, Warp& w, const MicroOp& op, uint32_t mask, const AffineAddr& a,
                     Space space, uint32_t offset, Ty type);
  bool cell_scatter(Cta& cta, Warp& w, const MicroOp& op, uint32_t mask, const AffineAddr& a,
                    Space space);
  bool cell_add(Cta& cta, Warp& w, const MicroOp& op, uint32_t mask, const AffineAddr& a);
  std::vector<uint32_t> candidates(const AffineAddr& a, uint32_t mask, Space space, uint32_t n,
                                   size_t limit);
  NodeId at_candidate(const AffineAddr& a, uint32_t mask, uint32_t candidate, uint32_t pc);
  NodeId cell_node(Cta& cta, Warp& w, Space space, uint32_t mask, uint64_t addr, uint32_t n,
                   Ty type);

  // tracer_region.cpp
  Status run_region(Exec& exec, Cta& cta, Warp& w, const MicroOp& branch, const Entry& at,
                    uint32_t* exited, Entry* joined);
  Status run_block(Exec& exec, Cta& cta, Warp& w, Entry e, uint32_t end, uint32_t* exited);
  Status split(Exec& exec, Cta& cta, Warp& w, const MicroOp& op, const Entry& e, uint32_t end,
               bool nested, uint32_t* exited);
  void push_entry(Warp& w, Entry e);
  Snapshot save(Warp& w, uint32_t mask, uint32_t block, uint32_t other_block);
  void restore(Warp& w, const Entry& e);
  Entry merge(Warp& w, const Entry& a, const Entry& b);
  Saved merge_reg(Warp& w, RegRef r, const Saved& a, uint32_t am, const Saved& b, uint32_t bm,
                  NodeId first);
  NodeId saved_node(RegRef r, const Saved& v, Ty type, uint32_t mask);
  NodeId merge_cond(const Entry& a, const Entry& b);
  NodeId distinguish(NodeId a, NodeId b);

  const Kernel& k_;
  const Launch& launch_;
  const std::vector<BufferEnv>& env_;
  Observer* observer_;
  Device device_;
  TraceBuilder b_;
  std::vector<std::vector<RegState>> states_;  // of each warp
  std::vector<uint32_t> op_ids_;               // interned op of each micro-op, 0: not yet
  std::vector<Quick> quick_;                   // of each micro-op: what is tried first
  struct PlainBuffer {
    uint32_t bytes = 0;   // of an element; 0: contents are not inputs
    uint32_t stream = 0;  // of single elements
  };
  std::vector<PlainBuffer> plain_;   // by buffer
  std::vector<NodeId> const_cache_;  // of constant registers
  std::vector<uint8_t> is_const_reg_;
  Cells global_, shared_;
  std::vector<Cells> local_;
  bool global_dirty_ = false;
  std::vector<Parts> parts_;
  std::unordered_set<int> scattered_;  // buffers written at symbolic addresses
  uint32_t stamp_ = 0;
  uint32_t cta_first_stamp_ = 0;  // stores of the current CTA have this stamp or a later one
  std::unordered_set<uint64_t> atomic_words_;  // that an unused-result atomic of the run changes
  // The condition under which the current operation takes effect (path, guard); kNoNode: always.
  NodeId path_ = kNoNode, guard_ = kNoNode;
  bool in_region_ = false;
  std::vector<Entry> pending_;
  std::unique_ptr<Liveness> liveness_;
  uint64_t region_steps_ = 0;
  uint32_t alive_ = 0;
  Diag error_;
  bool has_error_ = false;
  uint32_t cta_ = 0;
};

}  // namespace assay::machine
