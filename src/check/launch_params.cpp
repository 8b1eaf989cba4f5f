// The parameter block of a launch: names and numbers of the launch file against the kernel's .param
// declarations.
#include "check/launch_params.h"

#include <fmt/format.h>

#include "base/ieee.h"

namespace assay::check::launch {

using program::LaunchStep;
using program::ParamSlot;

namespace {

// Bits of a number as a value of `type`; integers must fit as signed or as unsigned.
Result<uint64_t> encode(const LaunchScalar& scalar, const SrcLoc& loc) {
  Ty type = scalar.type;
  if (is_float(type)) {
    double value = std::holds_alternative<double>(scalar.value) ? std::get<double>(scalar.value)
                   : std::holds_alternative<int64_t>(scalar.value)
                       ? static_cast<double>(std::get<int64_t>(scalar.value))
                       : static_cast<double>(std::get<bool>(scalar.value));
    return ieee_from_double(type, value);
  }
  if (std::holds_alternative<double>(scalar.value)) {
    return bad(loc, "{} is .{} in the kernel, and {} is no integer", scalar.name, info(type).text,
               std::get<double>(scalar.value));
  }
  int64_t value = std::holds_alternative<bool>(scalar.value)
                      ? static_cast<int64_t>(std::get<bool>(scalar.value))
                      : std::get<int64_t>(scalar.value);
  uint32_t width = bits(type);
  if (width < 64 && (value < -(int64_t{1} << (width - 1)) || value >= int64_t{1} << width)) {
    return bad(loc, "{} is .{} in the kernel, and {} does not fit", scalar.name, info(type).text,
               value);
  }
  uint64_t mask = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
  return static_cast<uint64_t>(value) & mask;
}

// A number of no declared type, as C would take it.
LaunchScalar literal(const LaunchParam& param, Ty type) {
  LaunchScalar out;
  out.name = "the parameter";
  out.type = type;
  if (const auto* i = std::get_if<int64_t>(&param.what)) out.value = *i;
  if (const auto* f = std::get_if<double>(&param.what)) out.value = *f;
  if (const auto* b = std::get_if<bool>(&param.what)) out.value = *b;
  return out;
}

}  // namespace

const LaunchArray* ParamWriter::find_array(const std::string& name, size_t& index) const {
  for (index = 0; index < file_.arrays.size(); ++index) {
    if (file_.arrays[index].name == name) return &file_.arrays[index];
  }
  return nullptr;
}

const LaunchScalar* ParamWriter::find_scalar(const std::string& name) const {
  for (const LaunchScalar& s : file_.scalars) {
    if (s.name == name) return &s;
  }
  return nullptr;
}

Status ParamWriter::set_scalar(const LaunchScalar& scalar, uint32_t offset, const SrcLoc& loc,
                               LaunchStep& step) {
  if (scalar.symbolic) {
    ParamSlot slot;
    slot.kind = ParamSlot::Kind::Scalar;
    slot.offset = offset;
    slot.size = bytes(scalar.type);
    for (size_t k = 0; k < program_.scalars.size(); ++k) {
      if (program_.scalars[k].name == scalar.name) slot.scalar = static_cast<int>(k);
    }
    step.slots.push_back(slot);
    return {};
  }
  ASSAY_TRY(uint64_t value, encode(scalar, loc));
  for (uint32_t k = 0; k < bytes(scalar.type); ++k) {
    step.params[offset + k] = static_cast<uint8_t>(value >> (8 * k));
  }
  return {};
}

Status ParamWriter::set_pointer(size_t array, uint32_t offset, LaunchStep& step) {
  ParamSlot slot;
  slot.offset = offset;
  slot.buffer = static_cast<int>(array);
  step.slots.push_back(slot);
  uint64_t address = program_.buffers[array].address;
  for (uint32_t k = 0; k < 8; ++k) {
    step.params[offset + k] = static_cast<uint8_t>(address >> (8 * k));
  }
  used_.insert(file_.arrays[array].name);
  return {};
}

Status ParamWriter::set_struct(const std::vector<LaunchParam>& members,
                               const ptx::Variable& variable, const SrcLoc& loc, LaunchStep& step) {
  uint64_t offset = variable.offset;
  for (const LaunchParam& member : members) {
    size_t array = 0;
    LaunchScalar scalar;
    bool pointer = false;
    if (const auto* name = std::get_if<std::string>(&member.what)) {
      pointer = find_array(*name, array) != nullptr;
      const LaunchScalar* declared = find_scalar(*name);
      if (!pointer && declared == nullptr) return bad(member.loc, "no array or scalar {}", *name);
      if (declared != nullptr) scalar = *declared;
    } else {
      scalar = literal(member, std::holds_alternative<double>(member.what)    ? Ty::F32
                               : std::holds_alternative<int64_t>(member.what) ? Ty::S32
                                                                              : Ty::U8);
    }
    uint32_t size = pointer ? 8 : bytes(scalar.type);
    offset = (offset + size - 1) / size * size;
    if (offset + size > variable.offset + variable.size) {
      return bad(loc, "the members take more than the {} bytes of {}", variable.size,
                 variable.name);
    }
    auto at = static_cast<uint32_t>(offset);
    ASSAY_CHECK(pointer ? set_pointer(array, at, step) : set_scalar(scalar, at, member.loc, step));
    offset += size;
  }
  return {};
}

Status ParamWriter::set_param(const LaunchParam& param, const ptx::Variable& variable,
                              LaunchStep& step) {
  auto offset = static_cast<uint32_t>(variable.offset);
  if (const auto* members = std::get_if<std::vector<LaunchParam>>(&param.what)) {
    return set_struct(*members, variable, param.loc, step);
  }
  if (variable.is_array) {
    return bad(param.loc, "{} is a struct of {} bytes in the kernel: give a list of its members",
               variable.name, variable.size);
  }
  const auto* name = std::get_if<std::string>(&param.what);
  if (name == nullptr) {
    return set_scalar(literal(param, variable.type), offset, param.loc, step);
  }
  size_t array = 0;
  if (find_array(*name, array) != nullptr) {
    if (variable.size != 8 || is_float(variable.type)) {
      return bad(param.loc, "{} is an array, and {} is .{} in the kernel", *name, variable.name,
                 info(variable.type).text);
    }
    return set_pointer(array, offset, step);
  }
  const LaunchScalar* scalar = find_scalar(*name);
  if (scalar == nullptr) return bad(param.loc, "no array or scalar \"{}\"", *name);
  if (bytes(scalar->type) != variable.size || is_float(scalar->type) != is_float(variable.type)) {
    return bad(scalar->loc, "{} is {}, and {} is .{} in the kernel", *name, info(scalar->type).text,
               variable.name, info(variable.type).text);
  }
  return set_scalar(*scalar, offset, param.loc, step);
}

}  // namespace assay::check::launch
