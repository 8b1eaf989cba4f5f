#include "host/standalone/rt/modules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "host/standalone/rt/device_model.h"

namespace assay::host {

namespace {

std::string dims(const std::array<uint32_t, 3>& d) {
  return fmt::format("({}, {}, {})", d[0], d[1], d[2]);
}

// Bytes of shared memory with a size of its own that the kernel names.
uint64_t static_shared(const ptx::Module& m, const ptx::Function& f) {
  uint64_t bytes = 0;
  auto add = [&](const ptx::Variable& v) {
    if (v.space != ptx::Space::Shared || v.is_dynamic()) return;
    bytes = (bytes + v.align - 1) / std::max<uint64_t>(v.align, 1) * std::max<uint64_t>(v.align, 1);
    bytes += v.size;
  };
  for (const ptx::Variable& v : f.locals) add(v);
  std::set<int32_t> named;
  for (const ptx::Operand& o : f.operand_pool) {
    if (o.symbol.kind == ptx::SymbolKind::Global) named.insert(o.symbol.index);
  }
  for (int32_t k : named) add(m.variables[static_cast<size_t>(k)]);
  return bytes;
}

}  // namespace

Modules& Modules::get() {
  static Modules* modules = new Modules;
  return *modules;
}

int Modules::add_fat_binary(const void* image) {
  Image made;
  std::vector<std::string> texts = ptx_of_fat_binary(image);
  if (texts.empty()) {
    made.error = "a fat binary without PTX";
  } else {
    made.ptx = texts.front();
  }
  images_.push_back(std::move(made));
  return static_cast<int>(images_.size() - 1);
}

void Modules::add_function(int handle, const void* f, const char* name) {
  functions_[f] = {handle, name};
}

void Modules::add_variable(int handle, const void* v, const char* name, uint64_t bytes) {
  variables_[v] = {handle, name, bytes, -1};
}

// Lazy, as the driver's module loading is.
Modules::Image* Modules::loaded(int index) {
  Image& image = images_[static_cast<size_t>(index)];
  if (image.program_module >= 0 || !image.error.empty()) return &image;
  auto parsed = ptx::parse(image.ptx, "kernel.ptx");
  if (!parsed) {
    image.error = format_diag(parsed.error());
    return &image;
  }
  image.module = std::move(*parsed);
  program::Module m;
  // The source: nvcc's own helper files come with it in .file; the first one named .cu is it.
  for (const ptx::File& f : image.module->files) {
    if (m.name.empty() || (f.path.size() > 3 && f.path.rfind(".cu") == f.path.size() - 3 &&
                           m.name.rfind(".cu") != m.name.size() - 3)) {
      m.name = f.path;
    }
  }
  m.real_ptx = image.ptx;
  auto& program = Recorder::get().program();
  image.program_module = static_cast<int>(program.modules.size());
  program.modules.push_back(std::move(m));
  return &image;
}

KernelInfo* Modules::kernel(const void* f) {
  auto known = kernels_.find(f);
  if (known != kernels_.end()) return &known->second;
  auto it = functions_.find(f);
  if (it == functions_.end()) return nullptr;
  Image* image = loaded(it->second.first);
  if (!image->module) return nullptr;
  const ptx::Function* code = image->module->find_function(it->second.second);
  if (code == nullptr || !code->is_entry) return nullptr;
  KernelInfo k;
  k.module = image->program_module;
  k.name = it->second.second;
  k.function = code;
  k.static_shared = static_shared(*image->module, *code);
  return &kernels_.emplace(f, std::move(k)).first->second;
}

int Modules::variable(const void* v) {
  auto it = variables_.find(v);
  if (it == variables_.end()) return -1;
  Variable& var = it->second;
  if (var.storage >= 0) return var.storage;
  Image* image = loaded(var.image);
  if (!image->module) return -1;
  const ptx::Variable* declared = image->module->find_variable(var.name);
  if (declared == nullptr) return -1;
  auto& r = Recorder::get();
  // Module variables start as their initialiser says, else zero.
  std::vector<uint8_t> init;
  if (declared->has_init) {
    init = declared->init;
    init.resize(var.bytes);
  }
  DType dtype = declared->type == Ty::F64 || bytes(declared->type) == 8   ? DType::F64
                : declared->type == Ty::F32 || bytes(declared->type) == 4 ? DType::F32
                                                                          : DType::U8;
  bool data = !init.empty();
  var.storage =
      r.new_storage(var.bytes, dtype, true, data ? program::Init::Data : program::Init::Zero,
                    program::Role::Temp, std::move(init));
  int buffer = r.storage(var.storage).buffer;
  r.program().buffers[static_cast<size_t>(buffer)].name = var.name;
  r.program().modules[static_cast<size_t>(image->program_module)].symbols.push_back(
      {var.name, buffer});
  return var.storage;
}

int Modules::refuse(int code, const std::string& kernel, const std::string& why) {
  Recorder::get().note("launch-refused", "verdict",
                       fmt::format("the launch of {} is refused: {}", kernel, why),
                       static_cast<int>(Recorder::get().program().steps.size()) - 1);
  Recorder::get().last_error = code;
  return code;
}

int Modules::launch(const void* f, const LaunchRequest& q) {
  auto& r = Recorder::get();
  KernelInfo* k = kernel(f);
  if (k == nullptr) {
    auto it = functions_.find(f);
    std::string name = it == functions_.end() ? "an unregistered function" : it->second.second;
    std::string error =
        it == functions_.end() ? "" : images_[static_cast<size_t>(it->second.first)].error;
    if (!error.empty()) r.unsupported("the device code of " + name + ": " + error);
    return refuse(err::kInvalidDeviceFunction, name, "it has no device code");
  }
  const ptx::Directives& d = k->function->directives;
  for (int i = 0; i < 3; ++i) {
    if (q.grid[i] == 0 || q.block[i] == 0) {
      return refuse(err::kInvalidConfiguration, k->name,
                    "a dimension is zero: grid " + dims(q.grid) + ", block " + dims(q.block));
    }
    if (q.grid[i] > device::kGridDim[i] || q.block[i] > device::kBlockDim[i]) {
      return refuse(err::kInvalidConfiguration, k->name,
                    fmt::format("grid {}, block {} is beyond the device's limits", dims(q.grid),
                                dims(q.block)));
    }
  }
  uint64_t threads = uint64_t{q.block[0]} * q.block[1] * q.block[2];
  if (threads > device::kThreadsPerBlock) {
    return refuse(
        err::kInvalidConfiguration, k->name,
        fmt::format("{} threads in a block, the limit is {}", threads, device::kThreadsPerBlock));
  }
  uint64_t bound = uint64_t{d.maxntid[0]} * std::max(d.maxntid[1], 1u) * std::max(d.maxntid[2], 1u);
  if (bound != 0 && threads > bound) {
    return refuse(err::kLaunchOutOfResources, k->name,
                  fmt::format("{} threads in a block, __launch_bounds__ says {}", threads, bound));
  }
  if (d.reqntid[0] != 0 &&
      q.block != std::array<uint32_t, 3>{d.reqntid[0], std::max(d.reqntid[1], 1u),
                                         std::max(d.reqntid[2], 1u)}) {
    return refuse(err::kInvalidConfiguration, k->name, "the block differs from the required one");
  }
  if (k->static_shared > device::kStaticShared) {
    return refuse(err::kInvalidPtx, k->name,
                  fmt::format("{} bytes of static shared memory, the limit is {}", k->static_shared,
                              device::kStaticShared));
  }
  if (q.dynamic_shared > k->max_dynamic ||
      k->static_shared + q.dynamic_shared >
          std::max<uint64_t>(device::kSharedDefault, k->static_shared + k->max_dynamic) ||
      k->static_shared + q.dynamic_shared > device::kSharedOptin ||
      (k->max_dynamic <= device::kSharedDefault &&
       k->static_shared + q.dynamic_shared > device::kSharedDefault)) {
    return refuse(err::kInvalidValue, k->name,
                  fmt::format("{} bytes of dynamic and {} of static shared memory; without "
                              "cudaFuncSetAttribute a block has {}, with it at most {}",
                              q.dynamic_shared, k->static_shared, device::kSharedDefault,
                              device::kSharedOptin));
  }
  if (k->function->param_bytes > device::kParamBytes) {
    return refuse(err::kInvalidPtx, k->name, "too many bytes of parameters");
  }
  uint64_t cluster = uint64_t{q.cluster[0]} * q.cluster[1] * q.cluster[2];
  uint32_t cluster_limit =
      k->non_portable_cluster ? device::kClusterSizeOptin : device::kClusterSize;
  if (cluster > cluster_limit || q.grid[0] % q.cluster[0] != 0 || q.grid[1] % q.cluster[1] != 0 ||
      q.grid[2] % q.cluster[2] != 0) {
    return refuse(err::kInvalidConfiguration, k->name,
                  fmt::format("cluster {} does not fit grid {}", dims(q.cluster), dims(q.grid)));
  }
  if (q.cooperative) {
    uint64_t blocks = uint64_t{q.grid[0]} * q.grid[1] * q.grid[2];
    auto fit = static_cast<uint64_t>(occupancy(f, static_cast<int>(threads), q.dynamic_shared));
    if (blocks > fit * device::kSms) {
      return refuse(
          err::kCooperativeTooLarge, k->name,
          fmt::format("{} cooperative blocks, {} fit the device", blocks, fit * device::kSms));
    }
  }
  program::LaunchStep step;
  step.module = k->module;
  step.kernel = k->name;
  step.grid = q.grid;
  step.block = q.block;
  step.cluster = q.cluster;
  step.dynamic_smem = static_cast<uint32_t>(q.dynamic_shared);
  step.max_dynamic_smem = k->max_dynamic;
  step.cooperative = q.cooperative;
  step.params.assign(k->function->param_bytes, 0);
  std::vector<int> touched;
  for (size_t p = 0; p < k->function->params.size(); ++p) {
    const ptx::Variable& v = k->function->params[p];
    if (q.args == nullptr || q.args[p] == nullptr) {
      return refuse(err::kInvalidValue, k->name, fmt::format("parameter {} is missing", p));
    }
    uint8_t* at = step.params.data() + v.offset;
    std::memcpy(at, q.args[p], v.size);
    for (uint64_t o = 0; o + 8 <= v.size; o += 8) {
      if ((v.offset + o) % 8 != 0) break;
      uint64_t value;
      std::memcpy(&value, at + o, 8);
      int64_t addend = 0;
      int s = r.storage_at(value, &addend);
      if (s < 0) continue;
      program::ParamSlot slot;
      slot.offset = static_cast<uint32_t>(v.offset + o);
      slot.buffer = r.storage(s).buffer;
      slot.addend = addend;
      step.slots.push_back(slot);
      touched.push_back(slot.buffer);
      if (r.storage(s).freed) {
        r.note("use-after-free", "high", fmt::format("{} gets a pointer to freed memory", k->name),
               static_cast<int>(r.program().steps.size()));
      }
    }
  }
  program::Step s;
  s.what = std::move(step);
  s.stream = q.stream;
  r.add_step(std::move(s), touched);
  return err::kSuccess;
}

int Modules::occupancy(const void* f, int block_size, uint64_t dynamic_shared) {
  KernelInfo* k = kernel(f);
  if (k == nullptr || block_size <= 0 || block_size > static_cast<int>(device::kThreadsPerBlock)) {
    return 0;
  }
  uint64_t shared = k->static_shared + dynamic_shared;
  if (shared > device::kSharedOptin) return 0;
  uint64_t warps = (static_cast<uint64_t>(block_size) + 31) / 32;
  uint64_t n = std::min<uint64_t>(device::kBlocksPerSm, device::kThreadsPerSm / 32 / warps);
  return static_cast<int>(std::min(n, device::kSharedPerSm / (shared + device::kSharedReserved)));
}

}  // namespace assay::host
