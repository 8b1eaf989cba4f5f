#pragma once
// PTX to micro-operations, once for each kernel and launch.
#include <string_view>
#include <vector>

#include "machine/uop.h"
#include "ptx/module.h"

namespace assay::machine {

// What a launch fixes before any thread runs.
struct LaunchConstants {
  std::array<uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1}, cluster{1, 1, 1};
  uint32_t dynamic_shared = 0;          // bytes
  std::vector<uint8_t> params;          // the parameter block, pointers filled in
  std::vector<SymbolicParam> symbolic;  // pieces of it that stand for symbolic scalars
  // Addresses of module-scope variables that the host owns; others get storage in
  // Kernel::globals.
  struct Symbol {
    std::string name;
    int buffer = -1;
    uint64_t address = 0;
  };
  std::vector<Symbol> symbols;
  int num_buffers = 0;  // of the environment; further globals are numbered from here
  // What functions without a body compute: (name in the PTX, CUDA math function, as "expf").
  std::vector<std::pair<std::string, std::string>> functions;
};

// Errors: Invalid (no such entry, parameter block too short, undefined function), Unsupported (the
// message lists every construct that cannot be executed, with PTX and source line; `all` gets them
// one by one), Limit (inlining makes too many operations).
Result<Kernel> decode(const ptx::Module& module, std::string_view entry,
                      const LaunchConstants& launch, std::vector<Diag>* all = nullptr);

// Fn, type and precision of a device math function: "assay_expf" -> {Exp, F32, false}.
struct LibCall {
  std::string_view name;
  Fn fn = Fn::Add;
  Ty type = Ty::F32;
  bool approx = false;
  int8_t arity = 1;
};
const LibCall* find_libcall(std::string_view name);
// By the name of CUDA's math library: "expf".
const LibCall* find_math_function(std::string_view name);

}  // namespace assay::machine
