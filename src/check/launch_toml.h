#pragma once
// `--launch L.toml`: how a bare kernel is launched and over which arrays. Turns PTX, or a .cu
// without a host function, into a Program. The format (docs/launch_toml.md):
//
//   kernel = "scale"           # entry, mangled or as written; may be left out if there is only one
//   grid = [8, 1, 1]           # or 8
//   block = 256
//   dynamic_smem = 0           # bytes; also: cluster = [1, 1, 1], cooperative = false
//   params = ["x", "y", "n", 0.5]  # in order: names of arrays or scalars, numbers; a list in the
//                                  # list is a struct passed by value, naturally aligned
//   [arrays.x]
//   role = "in"                # in, param, const, out, inout, scratch
//   dtype = "float32"
//   shape = [16, 128]
//   init = "symbolic"          # symbolic, zero, poison, data; default: in, inout, param symbolic,
//                              # out poison, const data
//   data = [1, 2, 3]           # init = "data"; nested lists are flattened. Also: fill = 1.5
//   range = [0, 15]            # symbolic integers: the values they take
//   symbol = "weights"         # this array is the module-scope variable `weights`, no parameter
//   [scalars.n]
//   type = "i32"
//   value = 2048               # or: symbolic = true
//
//   [functions]                # functions without a body: what they compute
//   my_exp = "expf"
//   [reference]                # keys of the first part that differ for the reference
//   block = 32
//
// Several launches: [[launch]] tables with the keys of the first part, run in order; of the
// reference alone: [[reference.launch]].
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "program/program.h"

namespace assay::check {

enum class ArrayRole : uint8_t { In, Param, Const, Out, InOut, Scratch };

struct LaunchArray {
  std::string name;
  ArrayRole role = ArrayRole::In;
  program::DType dtype = program::DType::F32;
  std::vector<int64_t> shape;
  program::Init init = program::Init::Symbolic;
  std::vector<uint8_t> data;
  std::optional<std::pair<double, double>> range;
  std::string symbol;
  SrcLoc loc;
};

struct LaunchScalar {
  std::string name;
  Ty type = Ty::None;
  std::variant<int64_t, double, bool> value;
  bool symbolic = false;
  SrcLoc loc;
};

// One kernel parameter, or a member of one passed by value.
struct LaunchParam {
  std::variant<std::string, int64_t, double, bool, std::vector<LaunchParam>> what;
  SrcLoc loc;
};

struct KernelLaunch {
  std::string kernel;
  std::array<uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1}, cluster{1, 1, 1};
  uint32_t dynamic_smem = 0;  // bytes
  bool cooperative = false;
  std::vector<LaunchParam> params;
  SrcLoc loc;
};

struct LaunchFile {
  std::vector<LaunchArray> arrays;  // in the order of the text, like scalars
  std::vector<LaunchScalar> scalars;
  std::vector<KernelLaunch> launches;
  std::vector<KernelLaunch> reference;  // of the reference, where they differ; else empty
  std::vector<std::pair<std::string, std::string>> functions;  // as program::Module::functions
};
enum class LaunchSide : uint8_t { Candidate, Reference };

// Errors: Syntax (not TOML), Invalid (unknown key, wrong type, wrong count), each with its line.
Result<LaunchFile> parse_launch(std::string_view text, const std::string& file);

// The launches of `file` on the kernels of `module` (real_ptx is read for parameter layouts), as a
// Program: buffers are the arrays in order, then symbolic scalars; arguments are all but outputs;
// outputs are role out, mutated is role inout. Errors: Invalid, with the line in the launch file;
// those of ptx::parse.
Result<program::Program> launch_program(const LaunchFile& file, program::Module module,
                                        LaunchSide side = LaunchSide::Candidate);

}  // namespace assay::check
