#pragma once
// A trace of one CTA (or several CTAs of one launch): one node for each warp instruction on data,
// no value of any kind. Control, addresses and integers were executed concretely while tracing.
// Evaluators (src/term) run over a marked trace. Node 0 is "no value".
#include <array>
#include <cstdint>
#include <vector>

#include "base/fn.h"
#include "base/result.h"

namespace assay::machine {

using NodeId = uint32_t;
inline constexpr NodeId kNoNode = 0;
inline constexpr int kLanes = 32;

enum class NodeKind : uint8_t {
  Apply,     // op.fn on a, b, c (lane by lane); Bfi: extra[c] holds its 3rd and 4th operand
  ConstAll,  // the same bits in all lanes: constants[a]
  ConstVec,  // lane-dependent bits: const_vecs[a]
  Input,     // element of a buffer: inputs[a]
  Gather,    // lane l takes lane gathers[a].lane[l] of node gathers[a].node[l]
  Bcast,     // every lane takes lane b of node a
  Blend,     // lanes in mask c take a, the others b
  Lookup,    // element of a buffer at a symbolic index: lookups[a]
  Undef,     // lanes never written, or read across lanes that do not take part; b: UndefReason
  Perm       // lane l takes lane perms[b][l] of node a (shuffles, strided reads)
};

// Why a value is undefined (Node::b of an Undef node).
enum class UndefReason : uint8_t {
  Register,       // register never written
  Uninitialised,  // shared, local or global memory that nothing wrote
  InactiveLane,   // shuffle from a lane that does not take part
  Conflict,       // lanes of one store wrote different values to one address
  OutOfBounds,    // load outside every buffer, or misaligned
  Clock           // %clock, %globaltimer and other values that no input determines
};

// The static part of a node: what an instruction of the program does. Interned per trace.
//
// Result type of a node: Apply: comparisons and predicate logic Pred, IMulWide twice the operands'
// width, FrexpExp S32, Popc, Clz and Bfind U32, all others `type`. Other kinds: `type` (of the bits
// of constants too). Max and Min that were written as a comparison and a select carry mods.imm = 1:
// in IEEE they are (a > b) ? a : b, resp. (a < b) ? a : b, also for NaN and signed zeros.
struct Op {
  NodeKind kind = NodeKind::Apply;
  Fn fn = Fn::Add;
  Ty type = Ty::F32;  // operands' type; result type: see fn.def
  Mods mods;
  uint32_t pc = 0;  // instruction index in the kernel's body (ptx::Function), for source lines
};

struct Node {
  uint32_t op = 0;  // index in Trace::ops
  NodeId a = 0, b = 0, c = 0;
};
static_assert(sizeof(Node) == 16);

struct GatherPayload {
  std::array<NodeId, kLanes> node;
  std::array<uint8_t, kLanes> lane;
};

// Lane l reads element first + l * stride of `buffer` unless `elements` is not empty.
struct InputPayload {
  int buffer = -1;
  uint32_t version = 0;  // step whose writes are seen; see check/plan
  Ty type = Ty::F32;
  int64_t first = 0, stride = 0;
  std::vector<int64_t> elements;  // 32 entries, -1: lane inactive (else any element may stand)
};

// Address = base element + index node * stride, in elements; candidates in [lo, hi).
struct LookupPayload {
  int buffer = -1;
  uint32_t version = 0;
  Ty type = Ty::F32;
  NodeId index = kNoNode;            // integer node, in elements
  std::array<int64_t, kLanes> base;  // per lane, in elements
  int64_t lo = 0, hi = 0;            // bounds of the buffer in elements
};

// What the CTA leaves in global memory. Stores are final contents: one entry an element, or `count`
// of them, `step` apart, that take consecutive lanes of the node.
struct StoreOut {       // in this order: there may be millions
  int64_t element = 0;  // in units of type
  int buffer = -1;
  NodeId node = kNoNode;
  uint32_t pc = 0;
  Ty type = Ty::F32;
  uint8_t lane = 0;
  uint8_t count = 1, step = 1;
  int64_t last() const { return element + int64_t{step} * (count - 1); }
};
static_assert(sizeof(StoreOut) == 24);
enum class AtomKind : uint8_t { Add, Min, Max, And, Or, Xor, Exch, Cas, Inc, Dec };
struct AtomOut {  // an unused-result atomic: folded into the buffer in any order
  int buffer = -1;
  int64_t element = 0;
  Ty type = Ty::F32;
  AtomKind kind = AtomKind::Add;
  NodeId node = kNoNode;
  uint8_t lane = 0;
  uint32_t pc = 0;
};
// Store or atomic through a symbolic index: out[base + index] = / op= value, under `pred`.
struct IndexedOut {
  int buffer = -1;
  Ty type = Ty::F32;
  bool atomic = false;
  AtomKind kind = AtomKind::Add;
  NodeId index = kNoNode, value = kNoNode, pred = kNoNode;
  std::array<int64_t, kLanes> base;
  uint32_t mask = 0;
  uint32_t pc = 0;
};

// Several lanes of one store instruction wrote different values to one address: the cell is Undef.
// Identical values (computed in the same way, or same bits) are no conflict.
struct StoreConflict {
  int buffer = -1;                // -1: shared memory of the CTA
  int64_t byte = 0;               // from the start of the buffer or of the CTA's shared window
  uint32_t lanes = 0;             // the lanes that collide there
  std::array<NodeId, 2> value{};  // the values of the first two, with their lanes
  std::array<uint8_t, 2> lane{};
  uint32_t pc = 0;
  uint32_t cta = 0;
};
// An access outside every buffer or window, or misaligned. Loads give Undef, stores nothing.
struct AccessFault {
  uint64_t address = 0;
  uint32_t lanes = 0;
  uint8_t bytes = 0;
  bool store = false, misaligned = false;
  NodeId pred = kNoNode;  // the symbolic condition under which it happens, or kNoNode: always
  uint32_t pc = 0;
  uint32_t cta = 0;
};
// Entries of one CTA end (exclusive) in the vectors below.
struct CtaEnd {
  uint32_t cta = 0;  // linear id in the grid
  uint32_t nodes = 0, stores = 0, atoms = 0, indexed = 0;
};

// One element of an entry of Trace::stores.
struct StoreRef {
  uint32_t entry = 0;
  uint32_t part = 0;  // < count
};

struct Trace {
  std::vector<Op> ops;
  std::vector<Node> nodes;  // nodes[0] is a dummy
  std::vector<uint64_t> constants;
  std::vector<std::array<uint64_t, kLanes>> const_vecs;
  std::vector<std::array<NodeId, 2>> extra;
  std::vector<GatherPayload> gathers;
  std::vector<InputPayload> inputs;
  std::vector<LookupPayload> lookups;
  std::vector<StoreOut> stores;
  std::vector<AtomOut> atoms;
  std::vector<IndexedOut> indexed;
  std::vector<std::array<uint8_t, kLanes>> perms;  // interned lane patterns
  std::vector<StoreConflict> conflicts;
  std::vector<AccessFault> faults;
  std::vector<CtaEnd> ctas;        // in the order of execution
  uint64_t warp_instructions = 0;  // executed while tracing

  StoreOut store(StoreRef r) const {  // of one element
    StoreOut out = stores[r.entry];
    out.element += int64_t{out.step} * r.part;
    out.lane = static_cast<uint8_t>(out.lane + r.part);
    out.count = out.step = 1;
    return out;
  }
};

}  // namespace assay::machine
