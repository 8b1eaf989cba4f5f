#pragma once
// Compiles a PyTorch CUDA extension against Assay's own headers: the real build (shared object with
// host code and PTX) and the semantic build (PTX in which math functions stay calls). Results are
// cached by content under $ASSAY_CACHE or ~/.cache/assay.
#include <string>
#include <vector>

#include "base/result.h"

namespace assay::host {

struct CompileRequest {
  std::vector<std::string> sources;      // .cu, .cpp; at least one
  std::vector<std::string> extra_flags;  // the submission's own; see allowed_flags
  double wall_seconds = 180;
};

struct CompiledUnit {
  std::string source;
  std::string semantic_ptx;  // "": a .cpp file
};

struct Compiled {
  std::string extension;  // path of the shared object
  std::vector<CompiledUnit> units;
  bool from_cache = false;
  double seconds = 0;
};

// Errors: Invalid (the compiler's words, with file and line; a flag that is not allowed), Limit
// (time), Io (no nvcc, no source, cache folder), Internal (the semantic library has no effect).
Result<Compiled> compile_extension(const CompileRequest& request);

// The kernels of one .cu, its host code left out. It may know nothing of PyTorch. Errors: the same.
struct CompiledKernels {
  std::string real_ptx, semantic_ptx;
};
Result<CompiledKernels> compile_kernels(const CompileRequest& request);

// One module assembled: what a GPU would load, and what the assembler says about it.
struct Assembled {
  std::string ptx;      // with `.loc` for every line
  std::string cubin;    // bytes
  std::string remarks;  // ptxas -v
  std::string arch;     // "sm_90a"
};

// The kernels of one .cu for `arch` ("sm_90a"), with line tables. Errors: as compile_kernels.
Result<Assembled> compile_cubin(const CompileRequest& request, const std::string& arch);

// PTX text (`source` names it) with ptxas, which stands beside nvcc. `arch`: "" is that of the
// text; `flags`: further ones for ptxas. Errors: Invalid (ptxas's words), Limit, Io.
Result<Assembled> assemble_ptx(const std::string& ptx, const std::string& source,
                               const std::string& arch, double wall_seconds,
                               const std::vector<std::string>& flags = {});

// nvdisasm from $ASSAY_NVDISASM, PATH, beside nvcc, or in the Python packages of $ASSAY_PYTHON; "":
// there is none.
std::string find_nvdisasm();

// nvcc from $ASSAY_NVCC, PATH or /usr/local/cuda/bin. Errors: Io.
Result<std::string> find_nvcc();

// Of the submission's flags, those that the compiler gets. Link and assembler flags say nothing
// about what is computed and are dropped; what could run programs or read other files is Invalid.
Result<std::vector<std::string>> allowed_flags(const std::vector<std::string>& flags);

// Whether the semantic build keeps math as calls, and calls nothing else: compiled once for each
// nvcc and semantic library (cached). Errors: Internal.
Status check_semantic_build();

// Headers that <torch/extension.h> brings in PyTorch but Assay's brings only where `text` uses
// them.
std::vector<std::string> needed_headers(const std::string& text);

}  // namespace assay::host
