// A launch file and PTX become a Program.
#include <cxxabi.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>

#include "check/launch_params.h"

namespace assay::check {

using launch::bad;
using program::Buffer;
using program::Init;
using program::LaunchStep;
using program::Program;
using program::Role;

namespace {

// Buffers lie above 4 GiB and at least as far apart, so that a truncated address misses.
constexpr uint64_t kFirstAddress = uint64_t{0x10} << 32;
constexpr uint64_t kGap = uint64_t{1} << 32;

// "scale" for "_Z5scalePfi" and for "void ns::scale<4>(float*, int)": what a user would write.
std::string written_name(const std::string& mangled) {
  int status = 0;
  char* text = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
  std::string name = status == 0 && text != nullptr ? text : mangled;
  std::free(text);
  name = name.substr(0, name.find('('));
  if (size_t space = name.find(' '); space != std::string::npos && space < name.find('<')) {
    name = name.substr(space + 1);  // return type of a template
  }
  return name;
}

Result<const ptx::Function*> find_kernel(const ptx::Module& module, const std::string& file,
                                         const KernelLaunch& launch) {
  std::vector<const ptx::Function*> found;
  std::vector<std::string> names;
  for (const auto& f : module.functions) {
    if (!f.is_entry || !f.defined) continue;
    names.push_back(written_name(f.name));
    if (f.name == launch.kernel) return &f;
    if (launch.kernel.empty() || names.back() == launch.kernel) found.push_back(&f);
  }
  if (found.size() == 1) return found[0];
  if (names.empty())
    return fail(DiagKind::Invalid,
                "there is no kernel (a __global__ function; templates need an instantiation)",
                {file, 0, 0});
  std::string known = fmt::format("{}", fmt::join(names, ", "));
  if (found.empty()) {
    return bad(launch.loc, "no kernel \"{}\" in the PTX; kernels there: {}", launch.kernel, known);
  }
  return bad(launch.loc, "\"kernel\" is not unique; give the mangled name. Kernels there: {}",
             known);
}

// Is the array a parameter of a launch of either side?
bool named(const LaunchFile& file, const std::string& array) {
  std::function<bool(const LaunchParam&)> is = [&](const LaunchParam& p) {
    if (const auto* members = std::get_if<std::vector<LaunchParam>>(&p.what))
      return std::any_of(members->begin(), members->end(), is);
    const auto* name = std::get_if<std::string>(&p.what);
    return name != nullptr && *name == array;
  };
  auto takes = [&](const KernelLaunch& l) {
    return std::any_of(l.params.begin(), l.params.end(), is);
  };
  return std::any_of(file.launches.begin(), file.launches.end(), takes) ||
         std::any_of(file.reference.begin(), file.reference.end(), takes);
}

class Builder {
 public:
  Builder(const LaunchFile& file, program::Module module, LaunchSide side)
      : file_(file),
        launches_(side == LaunchSide::Reference && !file.reference.empty() ? file.reference
                                                                           : file.launches) {
    program_.name = module.name;
    module.functions = file.functions;
    program_.modules.push_back(std::move(module));
  }

  Result<Program> build();

 private:
  void add_buffer(Buffer buffer);
  Status add_arrays();
  void add_symbolic_scalars();
  Status add_symbols(const ptx::Module& ptx);
  Status add_launch(const KernelLaunch& launch, const ptx::Module& ptx);

  const LaunchFile& file_;
  const std::vector<KernelLaunch>& launches_;
  Program program_;
  launch::ParamWriter params_{file_, program_};
  uint64_t next_address_ = kFirstAddress;
};

void Builder::add_buffer(Buffer buffer) {
  buffer.address = next_address_;
  next_address_ += (buffer.bytes + kGap - 1) / kGap * kGap + kGap;
  program_.buffers.push_back(std::move(buffer));
}

// Symbolic integers stand with example values: the range, over and over.
std::vector<uint8_t> example_bytes(const LaunchArray& array, uint64_t bytes) {
  uint32_t width = program::dtype_bytes(array.dtype);
  auto [least, most] = array.range.value_or(std::pair(0.0, 1.0));
  auto low = static_cast<int64_t>(std::ceil(least));
  auto high = static_cast<int64_t>(std::floor(most));
  std::vector<uint8_t> out;
  out.reserve(bytes);
  int64_t value = low;
  for (uint64_t k = 0; k < bytes / width; ++k) {
    for (uint32_t b = 0; b < width; ++b) out.push_back(static_cast<uint8_t>(value >> (8 * b)));
    value = value >= high ? low : value + 1;
  }
  return out;
}

Status Builder::add_arrays() {
  for (const LaunchArray& array : file_.arrays) {
    program::TensorView view;
    view.buffer = static_cast<int>(program_.buffers.size());
    view.dtype = array.dtype;
    view.shape = array.shape;
    view.strides.assign(array.shape.size(), 1);
    for (size_t k = array.shape.size(); k-- > 1;) {
      view.strides[k - 1] = view.strides[k] * array.shape[k];
    }
    Buffer buffer;
    buffer.name = array.name;
    buffer.dtype = array.dtype;
    buffer.bytes = static_cast<uint64_t>(view.numel()) * program::dtype_bytes(array.dtype);
    buffer.init = array.init;
    buffer.data = array.data;
    buffer.example_range = array.range;
    if (array.init == Init::Symbolic && !program::dtype_is_float(array.dtype)) {
      buffer.data = example_bytes(array, buffer.bytes);
      if (!buffer.example_range) buffer.example_range = {0, 1};  // Bool
    }
    std::string source = "input:" + std::to_string(program_.arguments.size());
    switch (array.role) {
      case ArrayRole::In:
      case ArrayRole::InOut:
        buffer.role = Role::Input;
        break;
      case ArrayRole::Param:
        buffer.role = Role::Parameter;
        source = "parameter:" + array.name;
        break;
      case ArrayRole::Const:
        buffer.role = Role::Constant;
        source = "constant:" + array.name;
        break;
      case ArrayRole::Out:
        buffer.role = array.init == Init::Symbolic ? Role::Input : Role::Temp;
        break;
      case ArrayRole::Scratch:
        break;
    }
    if (array.role == ArrayRole::Out) {
      program_.outputs.push_back(view);
    } else if (array.role != ArrayRole::Scratch) {
      program_.arguments.push_back({array.name, view, source});
    }
    if (array.role == ArrayRole::InOut) program_.mutated.push_back(view);
    add_buffer(std::move(buffer));
  }
  if (program_.outputs.empty() && program_.mutated.empty()) {
    return bad(launches_[0].loc, "no array has role out or inout: there is nothing to check");
  }
  return {};
}

// A symbolic scalar is the one element of a buffer of its own.
void Builder::add_symbolic_scalars() {
  for (const LaunchScalar& scalar : file_.scalars) {
    if (!scalar.symbolic) continue;
    program::SymbolicScalar symbolic;
    symbolic.name = scalar.name;
    symbolic.dtype = program::parse_dtype(info(scalar.type).text).value_or(program::DType::F32);
    symbolic.expression = "identity(" + scalar.name + ")";
    symbolic.fn = "identity";
    symbolic.buffer = static_cast<int>(program_.buffers.size());
    program::TensorView view{symbolic.buffer, symbolic.dtype, 0, {}, {}};
    Buffer buffer;
    buffer.name = scalar.name;
    buffer.dtype = symbolic.dtype;
    buffer.bytes = program::dtype_bytes(symbolic.dtype);
    buffer.role = Role::Input;
    buffer.init = Init::Symbolic;
    program_.arguments.push_back(
        {scalar.name, view, "input:" + std::to_string(program_.arguments.size())});
    program_.scalars.push_back(std::move(symbolic));
    add_buffer(std::move(buffer));
  }
}

Status Builder::add_symbols(const ptx::Module& ptx) {
  for (size_t k = 0; k < file_.arrays.size(); ++k) {
    const LaunchArray& array = file_.arrays[k];
    if (array.symbol.empty()) continue;
    const ptx::Variable* variable = ptx.find_variable(array.symbol);
    if (variable == nullptr) {
      return bad(array.loc, "no module-scope variable \"{}\" in the PTX", array.symbol);
    }
    if (variable->size != program_.buffers[k].bytes) {
      return bad(array.loc, "variable {} has {} bytes, array {} has {}", array.symbol,
                 variable->size, array.name, program_.buffers[k].bytes);
    }
    program_.modules[0].symbols.emplace_back(array.symbol, static_cast<int>(k));
  }
  return {};
}

Status Builder::add_launch(const KernelLaunch& launch, const ptx::Module& ptx) {
  ASSAY_TRY(const ptx::Function* kernel, find_kernel(ptx, program_.modules[0].name, launch));
  if (launch.params.size() != kernel->params.size()) {
    return bad(launch.loc, "kernel {} has {} parameters, \"params\" has {}",
               written_name(kernel->name), kernel->params.size(), launch.params.size());
  }
  LaunchStep step;
  step.module = 0;
  step.kernel = kernel->name;
  step.grid = launch.grid;
  step.block = launch.block;
  step.cluster = launch.cluster;
  step.dynamic_smem = launch.dynamic_smem;
  // As a host would raise it for this launch; the device's own limit stays.
  step.max_dynamic_smem = std::max(step.max_dynamic_smem, launch.dynamic_smem);
  step.cooperative = launch.cooperative;
  step.params.assign(kernel->param_bytes, 0);
  for (size_t k = 0; k < launch.params.size(); ++k) {
    ASSAY_CHECK(params_.set_param(launch.params[k], kernel->params[k], step));
  }
  program::Step out;
  out.what = std::move(step);
  out.loc = launch.loc;
  program_.steps.push_back(std::move(out));
  return {};
}

Result<Program> Builder::build() {
  const program::Module& module = program_.modules[0];
  ASSAY_TRY(ptx::Module ptx, ptx::parse(module.real_ptx, module.name));
  ASSAY_CHECK(add_arrays());
  add_symbolic_scalars();
  ASSAY_CHECK(add_symbols(ptx));
  for (const KernelLaunch& launch : launches_) ASSAY_CHECK(add_launch(launch, ptx));
  for (const LaunchArray& array : file_.arrays) {
    if (!array.symbol.empty() || params_.used().count(array.name) != 0) continue;
    if (array.role == ArrayRole::Out || !named(file_, array.name)) {
      return bad(array.loc, "array {} is no parameter of any launch", array.name);
    }
  }
  ASSAY_CHECK(program::validate(program_));
  return std::move(program_);
}

}  // namespace

Result<Program> launch_program(const LaunchFile& file, program::Module module, LaunchSide side) {
  if (file.launches.empty()) return fail(DiagKind::Invalid, "the launch file has no launch");
  return Builder(file, std::move(module), side).build();
}

}  // namespace assay::check
