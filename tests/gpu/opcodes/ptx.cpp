#include "tests/gpu/opcodes/ptx.h"

namespace assay::opcodes {
namespace {

// The register type that holds a value of `t`: 8-bit values lie in 32-bit registers (cvt widens and
// narrows there), 16-bit ones in 16-bit registers.
std::string register_type(Ty t) {
  if (t == Ty::F32 || t == Ty::F64) return std::string(info(t).text);
  const uint32_t width = bits(t) == 8 ? 32 : bits(t);
  return "b" + std::to_string(width);
}

}  // namespace

std::string entry_name(size_t row) { return "r" + std::to_string(row); }

std::string module_header() { return ".version 9.0\n.target sm_90\n.address_size 64\n"; }

std::string entry_text(size_t row) {
  const Row& r = rows()[row];
  static const char* const names[] = {"%a", "%b", "%c", "%e"};
  std::string s = "\n.visible .entry " + entry_name(row) +
                  "(.param .u64 in, .param .u64 out, .param .u32 n)\n{\n"
                  "  .reg .pred %p, %q;\n  .reg .b32 %i, %n;\n  .reg .b64 %pi, %po, %r, %o;\n";
  for (size_t i = 0; i < r.operands.size(); ++i) {
    s += std::string("  .reg .") + register_type(r.operands[i]) + " " + names[i] + ";\n";
  }
  const bool pred = r.result == Ty::Pred;
  if (!pred) s += "  .reg ." + register_type(r.result) + " %d;\n";
  s += "  mov.u32 %i, %tid.x;\n"
       "  ld.param.u32 %n, [n];\n"
       "  setp.ge.u32 %q, %i, %n;\n"
       "  @%q bra DONE;\n"
       "  ld.param.u64 %pi, [in];\n"
       "  ld.param.u64 %po, [out];\n"
       "  mul.wide.u32 %o, %i, 32;\n"
       "  add.u64 %pi, %pi, %o;\n"
       "  mul.wide.u32 %o, %i, 8;\n"
       "  add.u64 %po, %po, %o;\n";
  for (size_t i = 0; i < r.operands.size(); ++i) {
    const std::string at = "[%pi+" + std::to_string(8 * i) + "]";
    const std::string type = register_type(r.operands[i]);
    s += "  ld.global." + type + " " + names[i] + ", " + at + ";\n";
  }
  s += "  " + r.ptx + ";\n";
  if (pred) {
    s += "  selp.b64 %r, 1, 0, %p;\n";
  } else {
    const std::string type = register_type(r.result);
    const uint32_t width = type == "f32" ? 32 : type == "f64" ? 64 : bits(r.result);
    if (width == 64) {
      s += "  mov.b64 %r, %d;\n";
    } else if (bits(r.result) == 16) {
      s += "  cvt.u64.u16 %r, %d;\n";
    } else {
      if (type == "f32") s += "  mov.b32 %n, %d;\n";
      s += std::string("  cvt.u64.u32 %r, ") + (type == "f32" ? "%n" : "%d") + ";\n";
      // Narrow results are extended to the register by their sign; only their own bits are kept.
      if (bits(r.result) == 8) s += "  and.b64 %r, %r, 255;\n";
    }
  }
  s += "  st.global.u64 [%po], %r;\nDONE:\n  ret;\n}\n";
  return s;
}

std::string module_text() {
  std::string s = module_header();
  for (size_t i = 0; i < rows().size(); ++i) s += entry_text(i);
  return s;
}

}  // namespace assay::opcodes
