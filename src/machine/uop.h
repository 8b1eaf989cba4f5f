#pragma once
// A decoded kernel: a flat array of micro-operations over dense register slots. Device functions
// are inlined at their call sites, parameters of the launch are constants.
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/fn.h"
#include "base/result.h"
#include "machine/lanes.h"
#include "ptx/op.h"

namespace assay::machine {

enum class OpKind : uint8_t {
  Nop,
  Alu,     // dst = fn(src...), no predicate among them
  Mad,     // dst = fn(src0, src1) + src2; fn: IMul, IMulWide, IMulHi
  Carry,   // dst = src0 +- src1 +- carry (fn IAdd, ISub); reads and writes the carry predicate
  Mov,     // dst = src0, same file
  Setp,    // dst, dst2 (may be none) = fn(src0, src1) combined by `combine` with predicate src2
  PLogic,  // predicates: fn PAnd, POr, PXor, PNot; Select of three predicates
  PMov,
  Selp,      // dst = src2 (predicate) ? src0 : src1
  Pack,      // dst = concatenation of vecs, low part first
  Unpack,    // vecs = parts of src0, low part first
  Clock,     // dst = a value that nothing determines
  LaneMask,  // dst = active lanes
  Ld,
  St,
  Atom,       // dst may be none
  LdSym,      // dst = symbolic scalar parameter; its example bits are src0
  IsSpace,    // predicate dst = address src0 lies in `space`
  Shfl,       // dst, predicate dst2 = shuffle of src0 by src1, c = src2, members src3
  Vote,       // predicate dst, or register dst for ballot; src0 predicate, src1 members
  Match,      // dst, predicate dst2; src0 value, src1 members
  Redux,      // dst; src0 value, src1 members
  Elect,      // dst, predicate dst2; src0 members
  SyncPoint,  // slices: what is left of a warp operation whose result is not needed; src0 members
  Bar,        // barrier of the CTA: sync, arrive or red; src0 id, src1 count, src2 predicate
  WarpBar,    // src0 members
  ClusterBar,
  Fence,
  Bra,     // to `target`; uniform, or by guard
  BrxIdx,  // to Kernel::targets[target + src0]
  Exit,
  Trap  // also a failed assertion
};

enum class Space : uint8_t { Generic, Global, Shared, Local, Const, Param };
enum class AtomFn : uint8_t { Add, Min, Max, And, Or, Xor, Exch, Cas, Inc, Dec };
enum class VoteMode : uint8_t { All, Any, Uni, Ballot };
enum class BarMode : uint8_t { Sync, Arrive, RedPopc, RedAnd, RedOr };
enum class ShflMode : uint8_t { Up, Down, Bfly, Idx };

// A register: `id` counts all registers of the kernel (kNoReg: none), `off` is its place in a
// warp's file, in 32-bit words. Predicates take one word (a lane mask), registers of up to 32 bits
// 32 words, of 64 bits 64 words.
inline constexpr uint32_t kNoReg = ~0u;
struct RegRef {
  uint32_t off = 0;
  uint32_t id = kNoReg;
  explicit operator bool() const { return id != kNoReg; }
};
enum class RegFile : uint8_t { Word, Double, Pred };

struct MicroOp {
  OpKind kind = OpKind::Nop;
  Fn fn = Fn::Add;
  Ty type = Ty::None;  // operands' type (Ld, St, Atom: in memory)
  Mods mods;
  bool wide_dst = false, wide_src = false;  // 64-bit destination, first source
  uint8_t num_src = 0;
  bool guard_neg = false;
  bool reads_carry = false, writes_carry = false;
  uint8_t combine = 0;  // Setp: 0 none, 1 and, 2 or, 3 xor; PRed: src2 negated in combine bit 7
  uint8_t mode = 0;     // AtomFn, VoteMode, BarMode, ShflMode; Match: 1 all
  Space space = Space::Generic;
  uint8_t vec = 1;         // Ld, St: elements; Pack, Unpack: parts
  bool strong = false;     // volatile, relaxed, acquire, release
  bool read_only = false;  // ld.global.nc
  bool value = true;  // Ld, St, Atom: the data is moved; false in slices: only the access counts
  bool pure = false;  // set by flow: touches no data, so it has concrete operands only
  bool top = false;   // first operation of a basic block
  RegRef guard;
  RegRef dst, dst2;
  std::array<RegRef, 4> src;
  uint32_t vecs = 0;    // index of the first of `vec` entries in Kernel::vecs
  uint32_t target = 0;  // Bra: micro-op; BrxIdx: first entry in Kernel::targets
  uint32_t count = 0;   // BrxIdx: entries
  uint32_t reconv = 0;  // Bra, BrxIdx: where divergent lanes meet again; kNever: at the end
  uint32_t pc = 0;      // Kernel::origins; below the entry's body size it is the body index
  uint32_t weight = 1;  // instructions that this one stands for (slices)
  int64_t imm = 0;      // Ld, St, Atom: added to the address
  LaneFn lane = nullptr;
  CmpFn cmp = nullptr;
};
inline constexpr uint32_t kNever = ~0u;

struct RegInfo {
  RegFile file = RegFile::Word;
  Ty type = Ty::None;  // as declared
  uint32_t off = 0;
  bool tainted = false;  // may hold data or depend on it; set by flow
};
struct ConstInit {
  RegRef reg;
  RegFile file = RegFile::Word;
  uint64_t bits = 0;
};
struct SpecialInit {  // filled when a warp starts
  RegRef reg;
  ptx::Special special{};
  uint8_t component = 0;
};
struct Origin {          // where a micro-op comes from
  int32_t function = 0;  // ptx::Module::functions
  uint32_t instr = 0;
  uint32_t call = kNever;  // origin of the call that was inlined
};

// A module-scope variable of space .global or .const that the kernel uses.
struct GlobalVar {
  std::string name;
  uint64_t address = 0;
  uint64_t bytes = 0;
  std::vector<uint8_t> init;  // empty: zero
  int buffer = -1;            // of the environment, or environment size + k
  bool is_const = false;
};

// A symbolic scalar in the parameter block.
struct SymbolicParam {
  uint32_t offset = 0, size = 4;
  int buffer = -1;  // pseudo buffer and element that stand for it in traces
  int64_t element = 0;
};

struct Block {
  uint32_t first = 0, end = 0;  // micro-ops
  std::vector<uint32_t> succ, pred;
  uint32_t ipdom = kNever;  // block; kNever: the end of the kernel
  uint32_t rpo = kNever;    // place in reverse postorder; kNever: unreachable
  bool traps = false;       // every path from here ends in a trap
};

struct Kernel {
  std::string name;
  std::vector<MicroOp> ops;
  std::vector<RegRef> vecs;
  std::vector<uint32_t> targets;
  std::vector<RegInfo> regs;
  std::vector<ConstInit> consts;
  std::vector<SpecialInit> specials;
  std::vector<Origin> origins;
  std::vector<SrcLoc> locs;  // per origin: source position, or the PTX line
  std::vector<GlobalVar> globals;
  std::vector<SymbolicParam> symbolic;
  std::vector<uint8_t> params;  // the parameter block
  uint32_t file_words = 0;      // registers of one warp, in 32-bit words
  uint32_t static_shared = 0;   // bytes; dynamic shared memory starts behind it, aligned
  uint32_t dynamic_shared = 0;
  uint32_t local_bytes = 0;  // of one thread
  // Variables in shared and local memory: (offset, bytes).
  std::vector<std::pair<uint32_t, uint32_t>> shared_vars, local_vars;
  RegRef carry;  // predicate
  std::vector<Block> blocks;
  std::vector<uint32_t> block_of;  // micro-op -> block
  bool has_barrier = false, has_atomics = false, has_clock = false;
  bool may_spin = false;  // atomics or strong loads: threads may wait for what others write

  uint32_t shared_bytes() const { return static_shared + dynamic_shared; }
  SrcLoc source(uint32_t pc) const { return pc < locs.size() ? locs[pc] : SrcLoc{}; }
};

// Windows of the generic address space above every buffer of the host (47 bits).
inline constexpr uint64_t kSharedWindow = uint64_t{1} << 48;
inline constexpr uint64_t kLocalWindow = kSharedWindow + (uint64_t{1} << 40);
inline constexpr uint64_t kParamWindow = kSharedWindow + (uint64_t{2} << 40);
inline constexpr uint64_t kGlobalVarWindow = kSharedWindow + (uint64_t{3} << 40);
inline constexpr uint64_t kWindowBytes = uint64_t{1} << 32;

}  // namespace assay::machine
