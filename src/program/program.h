#pragma once
// A Program: buffers and ordered steps. A PyTorch reference is a Program of tensor operators; a
// recorded `.cu` extension, Triton or cuTile host function is a Program with kernel launches.
// Views (transpose, slice, expand, reshape without copy) are no steps: a TensorView carries
// strides.
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/types.h"

namespace assay::program {

inline constexpr int kSchemaVersion = 1;

// Tensor element types. Bool is one byte, 0 or 1.
enum class DType : uint8_t { F16, BF16, F32, F64, U8, I8, I16, I32, I64, Bool };
const char* dtype_name(DType t);                     // "float32", as PyTorch prints it
std::optional<DType> parse_dtype(std::string_view);  // also "torch.float32", "f32"
uint32_t dtype_bytes(DType t);
Ty dtype_ty(DType t);  // Bool and U8 map to Ty::U8
bool dtype_is_float(DType t);

enum class Role : uint8_t {
  Input,      // symbolic: argument of forward
  Parameter,  // symbolic: weights
  State,      // symbolic: running statistics
  Constant,   // values known (masks, index and position tables): `data`
  Temp        // made by the program; contents undefined until written
};

// What a buffer holds before the first step.
enum class Init : uint8_t { Symbolic, Poison, Zero, Data };

struct Buffer {
  std::string name;  // argument or state_dict name; "" for temporaries
  uint64_t bytes = 0;
  DType dtype = DType::F32;  // of the elements as allocated
  Role role = Role::Temp;
  Init init = Init::Poison;
  uint64_t address = 0;  // device address given by the recorder (above 4 GiB, far apart); 0: none
  std::vector<uint8_t> data;  // Init::Data: the bytes. Symbolic integer inputs: the example's bytes
  // Symbolic inputs: range of the example's values (integers: the domain; floats: only
  // informative).
  std::optional<std::pair<double, double>> example_range;
};

// A strided window on a buffer. offset and strides in elements of dtype; shape {} is a scalar.
struct TensorView {
  int buffer = -1;  // index in Program::buffers; -1: undefined tensor
  DType dtype = DType::F32;
  int64_t offset = 0;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;

  int64_t numel() const;
  bool is_contiguous() const;
  // Elements (relative to the buffer) in row-major order of the shape: offset + sum i_k * stride_k.
  int64_t element(int64_t linear) const;
};

using Scalar = std::variant<int64_t, double, bool>;

// An argument of a tensor operator, in the order of the ATen schema; defaults are filled in.
using Arg = std::variant<std::monostate,           // None
                         TensorView,               // Tensor
                         std::vector<TensorView>,  // Tensor[]; buffer -1 for None members
                         int64_t, double, bool, std::string,  // int, float, bool, str
                         std::vector<int64_t>, std::vector<double>, DType>;

// Calls an operator of the table in src/tensor/ops.def, e.g. "aten::convolution", "aten::mm".
// Outputs may alias inputs (in-place forms read the old contents).
struct OpStep {
  std::string op;
  std::vector<Arg> args;
  std::vector<TensorView> outputs;
};

// One 4- or 8-byte piece of a launch's parameter block that is not plain bytes.
struct ParamSlot {
  enum class Kind : uint8_t { Pointer, Scalar } kind = Kind::Pointer;
  uint32_t offset = 0;  // in the parameter block
  uint32_t size = 8;
  int buffer = -1;  // Pointer: buffer + addend bytes
  int64_t addend = 0;
  int scalar = -1;  // Scalar: index in Program::scalars
};

struct LaunchStep {
  int module = -1;
  std::string kernel;  // symbol in the module
  std::array<uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1}, cluster{1, 1, 1};
  uint32_t dynamic_smem = 0;
  uint32_t max_dynamic_smem = 48 * 1024;  // as raised by cudaFuncSetAttribute
  bool cooperative = false;
  std::vector<uint8_t> params;  // laid out as the PTX entry's .param declarations
  std::vector<ParamSlot> slots;
};

struct CopyStep {  // `bytes` bytes; module symbols stand as buffers of their own (see Module)
  int dst = -1, src = -1;
  int64_t dst_offset = 0, src_offset = 0;
  uint64_t bytes = 0;
  std::vector<uint8_t> host_data;  // src == -1: bytes from the host
};

struct FillStep {  // memset: `bytes` bytes of `value` repeated with the given width (1, 2, 4)
  int dst = -1;
  int64_t offset = 0;
  uint64_t bytes = 0;
  uint32_t value = 0;
  uint8_t width = 1;
};

struct Step {
  std::variant<OpStep, LaunchStep, CopyStep, FillStep> what;
  int stream = 0;          // 0: legacy default stream
  std::vector<int> after;  // earlier steps it is ordered behind (stream order, events, syncs); with
                           // implicit_order, all earlier ones
  bool implicit_order = true;
  SrcLoc loc;
};

struct Module {
  std::string name;          // source file
  std::string real_ptx;      // as nvcc compiles it
  std::string semantic_ptx;  // math kept as calls; empty: there is no source (PTX alone)
  // Module-scope variables that the host writes: (symbol, buffer).
  std::vector<std::pair<std::string, int>> symbols;
  // What functions without a body compute: (name in the PTX, CUDA math function, as "expf").
  std::vector<std::pair<std::string, std::string>> functions;
};

// A scalar that the check treats as symbolic (a host read of tensor data that reaches a parameter).
struct SymbolicScalar {
  std::string name;
  DType dtype = DType::F32;
  std::string expression;  // "identity(buffer 3 [0])", "sqrt(...)": how it was fitted by probing
  int buffer = -1;
  int64_t element = 0;
  std::string fn;  // identity, sqrt, rcp, affine
  double scale = 1, shift = 0;
};

// A literal of ref.py with another value: a number of module level by its name, a float in the list
// of get_inputs() as "get_inputs()[K]".
using Change = std::pair<std::string, std::variant<int64_t, double>>;

struct Argument {  // an argument of forward, in order
  std::string name;
  Arg value;
  // Where the value comes from: "input:K" (K-th of get_inputs), "parameter:NAME", "state:NAME",
  // "constant:NAME", "scalar" (a Python number, string or list), "computed:NAME" (a tensor that
  // Model.forward computes before module_fn), "none", "object" (a value that Programs do not
  // hold); "" where unknown. A list of tensors: several, comma-separated.
  std::string source;
};

// Something seen while recording that is reported beside any verdict.
struct Note {
  std::string kind;      // "launch-refused", "harness-cheat", "host-read", "input-mutated", ...
  std::string severity;  // "info", "low", "high", "verdict"
  std::string message;
  int step = -1;
  SrcLoc loc;
};

struct Program {
  std::string name;
  std::vector<Module> modules;
  std::vector<Buffer> buffers;
  std::vector<SymbolicScalar> scalars;
  std::vector<Argument> arguments;
  std::vector<Step> steps;
  std::vector<TensorView> outputs;  // what forward returns, flattened
  // Argument tensors whose buffer is written (running statistics, in-place); checked as outputs
  // too.
  std::vector<TensorView> mutated;
  // Steps on other streams that nothing orders before what the caller does next on its own.
  std::vector<int> unjoined;
  std::vector<Note> notes;

  // Of exported references. form: "functional" (arguments are those of module_fn, in order) or
  // "module" (inputs of Model.forward, then parameters and states in state_dict order, which a
  // candidate may take or not).
  std::string form;
  std::string function;             // its name beside Model where form is "functional"
  std::vector<Argument> init_args;  // get_init_inputs(), Python scalars alone
  std::vector<Change> changed;      // what was altered in ref.py
};

// Indices, sizes and view ranges are consistent, no two buffers share an address (from_json and
// load_bundle have called it). Errors: Invalid.
Status validate(const Program& p);

// Where each buffer lies on the device: its own address, else one above all others, at a multiple
// of 2^36 with a gap of at least as much behind it, so that an access that overflows or a truncated
// address hits nothing. For Programs that validate() accepts.
std::vector<uint64_t> device_addresses(const Program& p);

// JSON text (schema: docs/program_schema.md). Errors of the readers: Syntax (not JSON), Invalid
// (wrong fields), Unsupported (newer schema).
Result<std::string> to_json(const Program& p);
Result<Program> from_json(std::string_view text);

// What python/assay/export.py writes: the reference at its own shapes first, then at altered ones.
struct ProgramSet {
  struct Skipped {
    std::vector<Change> changed;
    std::string reason;
  };
  std::vector<Program> programs;
  std::vector<Skipped> skipped;  // shapes that the reference rejects
};
Result<std::string> set_to_json(const ProgramSet& s);
// Reads also a single Program; the Diag that a failed export left in the file is returned as such.
Result<ProgramSet> set_from_json(std::string_view text);

// The bundle file (.assay): magic, schema version, zstd-compressed JSON index, one zstd archive of
// blobs (PTX texts, buffer data) stored once by content hash.
struct Bundle {
  std::vector<Program> programs;
};
Status save_bundle(const Bundle& b, const std::string& path);
Result<Bundle> load_bundle(const std::string& path);

// Sizes above these are refused before anything of that size is allocated.
struct BundleLimits {
  uint64_t index_bytes = uint64_t{256} << 20;
  uint64_t blob_bytes = uint64_t{8} << 30;
};
Result<std::string> bundle_to_bytes(const Bundle& b);
Result<Bundle> bundle_from_bytes(std::string_view bytes, const BundleLimits& limits = {});

}  // namespace assay::program
