#pragma once
// The region map of a cubin: for each function a tree function -> role -> loop -> source line,
// which machine instructions belong to which region, where code is issued and where it waits, and
// what the binary alone says about each region. Made without annotation (region/build.h).
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "elf/cubin.h"
#include "region/sass.h"

namespace assay::region {

inline constexpr int32_t kNone = -1;

// A source position that was inlined at the next one of its chain.
struct Frame {
  std::string file;
  uint32_t line = 0;     // 1-based
  uint32_t column = 0;   // 0: not told
  std::string function;  // of inlined code, as mangled; "" of the outermost
};
using Chain = std::vector<Frame>;  // innermost first; empty: no line known

// What is uncertain about an instruction's region; bits of Instr::flags.
enum Flag : uint8_t {
  kNoSource = 1,   // no source line
  kNoPtx = 2,      // no PTX instruction, so no loop
  kConflict = 4,   // .debug_line and the PTX's .loc name different lines
  kMoved = 8,      // stands outside the loop of its line in the machine code
  kRepaired = 16,  // placed by the PTX, as the table is wrong: tensor operations, call sites
  kPadding = 32    // behind the code, or of a function that lies inside this one's range
};

struct Instr {
  uint64_t offset = 0;  // bytes into the function
  Sass sass;            // empty without a disassembler
  Class cls = Class::Other;
  uint32_t bytes = 0;     // a lane's, of memory accesses
  uint32_t ptx_line = 0;  // 0: none
  int32_t ptx = kNone;    // index in the PTX function's body
  int32_t region = 0, instance = 0;
  uint8_t flags = 0;
};

// Counts over instructions: machine instructions, or PTX ones where no disassembler is.
struct Evidence {
  std::array<uint32_t, kClasses> by_class{};
  // Bytes of an access -> how many, of global and shared loads and stores and of cp.async.
  std::map<uint32_t, uint32_t> global_load, global_store, shared_load, shared_store, async_copy;
  std::map<std::string, uint32_t> tensor;  // opcode -> how many
  std::map<std::string, uint32_t> tma;
  uint32_t instructions = 0;
  uint32_t no_source = 0, no_ptx = 0, conflicts = 0, moved = 0, repaired = 0;  // by Flag

  void add(const Instr& i);
  void add(const Evidence& other);
  uint32_t of(Class c) const { return by_class[static_cast<size_t>(c)]; }
};

enum class Kind : uint8_t { Function, Role, Loop, Line };
const char* kind_name(Kind k);

// One occurrence of a region's code: a call site it was inlined at, a copy that unrolling made, one
// of several loops that the compiler made of one.
struct Instance {
  Chain called_at;        // the chain without its innermost frame; empty: not inlined
  uint32_t loop_ptx = 0;  // PTX line of the innermost loop's header; 0: in no loop
  uint32_t copy = 0;      // 0-based, of unrolled code
  uint32_t instructions = 0;
};

struct Region {
  Kind kind = Kind::Function;
  // Stable over edits elsewhere: made of the function, the loops around, the text of the source
  // line and how many equal ones came before; 16 hexadecimal digits.
  std::string id;
  std::string key;    // the same without what is around: tells it from its siblings
  std::string label;  // given by a marker or regions.toml; ""
  int32_t parent = kNone;
  std::vector<int32_t> children;  // in the order of the source
  std::string name;               // function: demangled; role: "warps with ..."; else ""
  Frame at;                       // line 0: not known
  std::string text;               // the source line, without leading blanks; "": cannot be read
  std::vector<Instance> instances;
  uint32_t copies = 1;          // of a line: by unrolling before the assembler, in one loop
  bool assembled_away = false;  // a loop of the PTX that the machine code does not have (unrolled)
  Evidence own;                 // instructions of this region itself
  Evidence total;               // with its children's
};

// A place where work is started that goes on by itself, or where a warp waits.
struct Site {
  bool waits = false;
  std::string what;    // "cp.async", "bar.sync 0", "wgmma.wait_group 1"
  std::string object;  // the barrier, where it can be named: "barrier 0", "mbarrier smem+64"
  uint32_t ptx_line = 0;
  int32_t region = 0;
  std::vector<uint32_t> body;     // its PTX instructions, indices in the function's body
  std::vector<uint64_t> offsets;  // its machine instructions, bytes into the function
};

// The wait `wait` is for what `issue` starts (indices in KernelMap::sites).
struct Edge {
  uint32_t wait = 0, issue = 0;
  bool certain = false;  // false: by reachability alone; which barrier it is was not found
};

// How many CTAs an SM holds, for CTAs of `threads`.
struct Occupancy {
  uint32_t threads = 0;
  uint32_t ctas = 0, warps = 0;  // 0: does not launch
  double share = 0;              // of the warps an SM can hold
  std::string limit;             // "registers", "shared memory", "threads", "CTAs"
};

struct KernelMap {
  elf::CubinFunction resources;
  std::string name;
  std::vector<Region> regions;  // 0 is the function
  std::vector<Instr> code;
  std::vector<Site> sites;
  std::vector<Edge> edges;
  std::vector<Occupancy> occupancy;
  std::vector<std::string> remarks;                      // ptxas's words about this function
  uint32_t spill_load_bytes = 0, spill_store_bytes = 0;  // as ptxas says
  bool spills_known = false;
  bool has_ptx = false;

  const Evidence& total() const { return regions[0].total; }
};

struct RegionMap {
  std::string input;                    // path as given
  std::string arch;                     // "sm_90"
  std::string assembler, disassembler;  // "": unknown, none
  std::vector<KernelMap> kernels;       // kernels, then device functions; by symbol
  std::vector<std::string> missing;     // what is not known, and why
};

}  // namespace assay::region
