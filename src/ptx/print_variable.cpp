// Printing of variables and initialisers.
#include <fmt/format.h>

#include "ptx/form.h"
#include "ptx/printer.h"

namespace assay::ptx {
namespace {

uint32_t natural_align(const Variable& v) {
  return std::max<uint32_t>(1, (v.opaque.empty() ? bytes(v.type) : 8) * v.vector);
}

std::string_view linkage_text(Linkage l) {
  switch (l) {
    case Linkage::Visible:
      return ".visible ";
    case Linkage::Extern:
      return ".extern ";
    case Linkage::Weak:
      return ".weak ";
    case Linkage::Common:
      return ".common ";
    case Linkage::Internal:
      break;
  }
  return "";
}

}  // namespace

void Printer::variable(const Variable& v, bool parameter) {
  out_ += linkage_text(v.linkage);
  out_ += v.is_reg ? std::string(".reg")
                   : "." + std::string(slot_word(Slot::Space, static_cast<uint8_t>(v.space)));
  for (const std::string& a : v.attributes) out_ += " .attribute(." + a + ")";
  if (v.align != natural_align(v)) out_ += fmt::format(" .align {}", v.align);
  if (v.vector > 1) out_ += fmt::format(" .v{}", v.vector);
  out_ += " .";
  out_ += v.opaque.empty() ? std::string(assay::info(v.type).text) : v.opaque;
  if (v.is_ptr) {
    out_ += " .ptr";
    if (v.ptr_space != Space::None) {
      out_ += '.';
      out_ += slot_word(Slot::Space, static_cast<uint8_t>(v.ptr_space));
    }
    out_ += fmt::format(" .align {}", v.ptr_align);
  }
  out_ += ' ';
  out_ += v.name;
  for (uint64_t d : v.dims) out_ += d == 0 ? "[]" : fmt::format("[{}]", d);
  if (!parameter && v.has_init) initialiser(v);
}

void Printer::init_element(const Variable& v, uint64_t element) {
  const uint32_t width = bytes(v.type);
  for (const Relocation& r : v.relocations) {
    if (r.offset != element * width) continue;
    std::string name = symbol_name(nullptr, r.symbol);
    if (r.generic) name = "generic(" + name + ")";
    if (r.addend != 0) name += fmt::format("{:+}", r.addend);
    out_ += r.mask == 0 ? name : fmt::format("mask({:#x}, {})", r.mask, name);
    return;
  }
  uint64_t bits = 0;
  for (uint32_t k = 0; k < width && k < 8 && element * width + k < v.init.size(); ++k) {
    bits |= uint64_t{v.init[element * width + k]} << (8 * k);
  }
  if (v.type == Ty::F32) {
    out_ += fmt::format("0f{:08X}", bits);
  } else if (v.type == Ty::F64) {
    out_ += fmt::format("0d{:016X}", bits);
  } else {
    out_ += fmt::format("{}", bits);
  }
}

// The elements [*element, end) in braces, one level a dimension from `dim` on.
void Printer::init_rows(const Variable& v, size_t dim, uint64_t* element, uint64_t end) {
  const bool vector = v.vector > 1;
  const size_t levels = v.dims.size() + (vector ? 1 : 0);
  uint64_t length = v.vector;
  if (dim < v.dims.size()) length = v.dims[dim];
  out_ += '{';
  for (uint64_t k = 0; k < length && *element < end; ++k) {
    if (k > 0) out_ += ", ";
    if (dim + 1 < levels) {
      init_rows(v, dim + 1, element, end);
    } else {
      init_element(v, (*element)++);
    }
  }
  out_ += '}';
}

void Printer::initialiser(const Variable& v) {
  out_ += " = ";
  const uint64_t end = v.init.size() / std::max<uint32_t>(1, bytes(v.type));
  uint64_t element = 0;
  if (v.dims.empty() && v.vector == 1) {
    init_element(v, 0);
  } else {
    init_rows(v, 0, &element, end);
  }
}

}  // namespace assay::ptx
