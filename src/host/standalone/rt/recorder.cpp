#include "host/standalone/rt/recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "assay/error.h"
#include "base/ieee.h"

namespace assay::host {

using program::Buffer;
using program::Init;
using program::Program;
using program::Role;
using program::TensorView;

namespace {
// Device addresses: from 16 TiB up, below anything that the loader or malloc uses. Allocations lie
// at least 4 GiB apart, so that an address or index truncated to 32 bits misses its buffer.
constexpr uint64_t kArenaBegin = 0x1000'0000'0000, kArenaEnd = 0x5000'0000'0000;
constexpr uint64_t kGap = 1ull << 32, kSmallGap = 1ull << 26, kAlign = 1ull << 20;
constexpr uint64_t kRunShift = 0x0040'0000'0000;  // another run, other addresses
}  // namespace

Recorder& Recorder::get() {
  static Recorder* recorder = new Recorder;  // never destroyed: static destructors may still call
  return *recorder;
}

void Recorder::begin(Program request, Settings settings) {
  std::lock_guard lock(mutex_);
  settings_ = settings;
  program_ = std::move(request);
  request_buffers_ = program_.buffers.size();
  next_address_ = kArenaBegin + kRunShift * static_cast<uint64_t>(settings.run % 8);
  for (size_t k = 0; k < program_.buffers.size(); ++k) {
    Buffer& b = program_.buffers[k];
    Storage s;
    s.buffer = static_cast<int>(k);
    s.bytes = b.bytes;
    s.base = next_address_;
    b.address = s.base;
    next_address_ += (b.bytes + kGap + kAlign - 1) / kAlign * kAlign;
    by_address_[s.base] = static_cast<int>(storages_.size());
    storage_by_buffer_[s.buffer] = static_cast<int>(storages_.size());
    storages_.push_back(std::move(s));
  }
  if (settings.side) current_stream_ = new_stream(true);
  for (int stream = 0; settings.amid && stream <= current_stream_; ++stream) {
    program::FillStep nothing;
    nothing.dst = 0;
    program::Step step;
    step.what = nothing;
    step.stream = stream;
    add_step(std::move(step), {});
  }
}

int Recorder::new_storage(uint64_t bytes, DType dtype, bool cuda, Init init, Role role,
                          std::vector<uint8_t> data) {
  if (next_address_ == 0) next_address_ = kArenaBegin;
  if (bytes > (1ull << 42)) {
    throw c10::Error(fmt::format("CUDA out of memory. Tried to allocate {} bytes", bytes));
  }
  uint64_t gap = next_address_ < kArenaBegin + (kArenaEnd - kArenaBegin) / 4 * 3 ? kGap : kSmallGap;
  Buffer b;
  b.bytes = bytes;
  b.dtype = dtype;
  b.role = role;
  b.init = init;
  b.address = next_address_;
  b.data = std::move(data);
  Storage s;
  s.buffer = static_cast<int>(program_.buffers.size());
  s.bytes = bytes;
  s.cuda = cuda;
  s.base = next_address_;
  next_address_ += (bytes + gap + kAlign - 1) / kAlign * kAlign;
  if (next_address_ >= kArenaEnd) unsupported("more than 32 TiB of allocations in one call");
  int index = static_cast<int>(storages_.size());
  by_address_[s.base] = index;
  storage_by_buffer_[s.buffer] = index;
  program_.buffers.push_back(std::move(b));
  storages_.push_back(std::move(s));
  return index;
}

int Recorder::storage_of_buffer(int buffer) const {
  auto it = storage_by_buffer_.find(buffer);
  return it == storage_by_buffer_.end() ? -1 : it->second;
}

int32_t Recorder::new_tensor(TensorImpl impl) {
  tensors_.push_back(std::move(impl));
  return static_cast<int32_t>(tensors_.size() - 1);
}

TensorImpl& Recorder::tensor(int32_t id) {
  if (id < 0 || static_cast<size_t>(id) >= tensors_.size()) {
    throw c10::Error("tensor does not have storage: an undefined tensor was used");
  }
  return tensors_[static_cast<size_t>(id)];
}

TensorView Recorder::view(int32_t id) {
  TensorView v;
  if (id < 0) return v;
  TensorImpl& t = tensor(id);
  if (!t.cuda) push_host_writes(t.storage);
  v.buffer = storages_[static_cast<size_t>(t.storage)].buffer;
  v.dtype = t.dtype;
  v.offset = t.offset;
  v.shape = t.sizes;
  v.strides = t.strides;
  return v;
}

int32_t Recorder::tensor_of_view(const TensorView& v, bool cuda) {
  if (v.buffer < 0) return -1;
  TensorImpl t;
  t.storage = storage_of_buffer(v.buffer);
  t.dtype = v.dtype;
  t.cuda = cuda;
  t.offset = v.offset;
  t.sizes = v.shape;
  t.strides = v.strides;
  return new_tensor(std::move(t));
}

bool Recorder::device_range(uint64_t address) const {
  return address >= kArenaBegin - kGap && address < kArenaEnd;
}

int Recorder::storage_at(uint64_t address, int64_t* addend) const {
  if (!device_range(address)) return -1;
  auto next = by_address_.upper_bound(address);
  int before = next == by_address_.begin() ? -1 : std::prev(next)->second;
  int after = next == by_address_.end() ? -1 : next->second;
  auto distance = [&](int s) -> uint64_t {
    if (s < 0) return UINT64_MAX;
    const Storage& st = storages_[static_cast<size_t>(s)];
    if (address < st.base) return st.base - address;
    return address <= st.base + st.bytes ? 0 : address - st.base - st.bytes;
  };
  int found = distance(before) <= distance(after) ? before : after;
  if (found < 0 || distance(found) > kGap) return -1;
  if (addend != nullptr) {
    *addend = static_cast<int64_t>(address - storages_[static_cast<size_t>(found)].base);
  }
  return found;
}

int Recorder::add_step(program::Step step, const std::vector<int>& written) {
  if (program_.steps.size() >= settings_.max_steps) {
    unsupported(fmt::format("more than {} steps in one call", settings_.max_steps));
  }
  int index = static_cast<int>(program_.steps.size());
  if (step.stream != 0) several_streams_ = true;
  step.after = dependencies(step.stream);
  streams_[static_cast<size_t>(step.stream)].last = index;
  streams_[static_cast<size_t>(step.stream)].waits.clear();
  for (int b : written) touch(b);
  if (!std::holds_alternative<program::LaunchStep>(step.what)) {
    surely_written_.insert(written.begin(), written.end());
  }
  program_.steps.push_back(std::move(step));
  return index;
}

void Recorder::touch(int buffer, bool surely) {
  if (surely) surely_written_.insert(buffer);
  int s = storage_of_buffer(buffer);
  if (s >= 0) {
    Storage& st = storages_[static_cast<size_t>(s)];
    ++st.version;
    st.host_valid = false;
  }
  written_buffers_.insert(buffer);
}

void Recorder::note(std::string kind, std::string severity, std::string message, int step) {
  for (const program::Note& n : program_.notes) {
    if (n.kind == kind && n.message == message && n.step == step) return;
  }
  program_.notes.push_back({std::move(kind), std::move(severity), std::move(message), step, {}});
}

void Recorder::unsupported(const std::string& what) {
  if (unsupported_.empty()) unsupported_ = what;
  throw c10::NotImplementedError("Assay does not record this: " + what);
}

// Streams. A step on the legacy default stream waits for all blocking streams, and they for it.
std::vector<int> Recorder::dependencies(int stream) {
  std::set<int> after(host_waits_.begin(), host_waits_.end());
  Stream& own = streams_[static_cast<size_t>(stream)];
  if (own.last >= 0) after.insert(own.last);
  after.insert(own.waits.begin(), own.waits.end());
  for (size_t k = 0; k < streams_.size(); ++k) {
    bool ordered = stream == 0 ? !streams_[k].non_blocking : k == 0 && !own.non_blocking;
    if (ordered && streams_[k].last >= 0) after.insert(streams_[k].last);
  }
  return {after.begin(), after.end()};
}

std::vector<int> Recorder::done_before(int stream) {
  std::set<int> found;
  std::vector<int> open = dependencies(stream);
  while (!open.empty()) {
    const int step = open.back();
    open.pop_back();
    if (!found.insert(step).second) continue;
    const auto& after = program_.steps[static_cast<size_t>(step)].after;
    open.insert(open.end(), after.begin(), after.end());
  }
  return {found.begin(), found.end()};
}

int Recorder::new_stream(bool non_blocking) {
  Stream s;
  s.non_blocking = non_blocking;
  streams_.push_back(s);
  return static_cast<int>(streams_.size() - 1);
}
bool Recorder::valid_stream(int s) const {
  return s >= 0 && static_cast<size_t>(s) < streams_.size() &&
         streams_[static_cast<size_t>(s)].alive;
}
void Recorder::destroy_stream(int s) {
  if (s > 0) streams_[static_cast<size_t>(s)].alive = false;
}
void Recorder::sync_stream(int s) {
  int last = streams_[static_cast<size_t>(s)].last;
  if (last >= 0 && std::find(host_waits_.begin(), host_waits_.end(), last) == host_waits_.end()) {
    host_waits_.push_back(last);
  }
}
void Recorder::sync_all() {
  host_waits_.clear();
  for (const Stream& s : streams_) {
    if (s.last >= 0) host_waits_.push_back(s.last);
  }
}
int Recorder::new_event() {
  events_.push_back(-2);
  return static_cast<int>(events_.size() - 1);
}
bool Recorder::record_event(int event, int stream) {
  if (event < 0 || static_cast<size_t>(event) >= events_.size()) return false;
  events_[static_cast<size_t>(event)] = streams_[static_cast<size_t>(stream)].last;
  return true;
}
bool Recorder::wait_event(int stream, int event) {
  if (event < 0 || static_cast<size_t>(event) >= events_.size()) return false;
  int step = events_[static_cast<size_t>(event)];
  if (step >= 0) streams_[static_cast<size_t>(stream)].waits.push_back(step);
  return true;
}
bool Recorder::sync_event(int event) {
  if (event < 0 || static_cast<size_t>(event) >= events_.size()) return false;
  int step = events_[static_cast<size_t>(event)];
  if (step >= 0) host_waits_.push_back(step);
  return true;
}

// Bytes that are the same in every execution: constants that no step has written.
std::optional<std::vector<uint8_t>> Recorder::known_bytes(int buffer) const {
  const Buffer& b = program_.buffers[static_cast<size_t>(buffer)];
  if (written_buffers_.count(buffer) != 0) return std::nullopt;
  if (b.init == Init::Zero) return std::vector<uint8_t>(b.bytes, 0);
  bool integer_example = b.init == Init::Symbolic && !program::dtype_is_float(b.dtype);
  if ((b.init == Init::Data || integer_example) && b.data.size() == b.bytes) return b.data;
  return std::nullopt;
}

HostRead Recorder::read_element(int buffer, int64_t element, DType dtype) {
  int s = storage_of_buffer(buffer);
  HostRead r;
  r.buffer = buffer;
  r.element = element;
  r.dtype = dtype;
  r.version = s >= 0 ? storages_[static_cast<size_t>(s)].version : 0;
  auto key = std::make_tuple(buffer, element, r.version, static_cast<int>(dtype));
  auto found = read_index_.find(key);
  if (found != read_index_.end()) return reads_[found->second];
  const Buffer& b = program_.buffers[static_cast<size_t>(buffer)];
  uint32_t size = program::dtype_bytes(dtype);
  uint64_t at = static_cast<uint64_t>(element) * size;
  if (element < 0 || at + size > b.bytes) {
    throw c10::Error("host read outside the tensor's storage");
  }
  size_t n = reads_.size();
  if (auto bytes = known_bytes(buffer)) {
    uint64_t bits = 0;
    std::memcpy(&bits, bytes->data() + at, size);
    r.known = b.init != Init::Symbolic;
    if (program::dtype_is_float(dtype)) {
      r.value = ieee_to_double(program::dtype_ty(dtype), bits);
    } else {
      int shift = 64 - 8 * static_cast<int>(size);
      bool is_unsigned = dtype == DType::U8 || dtype == DType::Bool;
      r.ivalue =
          is_unsigned ? static_cast<int64_t>(bits) : static_cast<int64_t>(bits << shift) >> shift;
    }
  } else if (program::dtype_is_float(dtype)) {
    // Positive, distinct for each read and run, exact in every float type (8 significant bits).
    uint64_t h = (n * 2654435761u + static_cast<uint64_t>(settings_.run) * 40503u) & 0x7f;
    double scale = static_cast<double>(1 << (settings_.run % 3));
    r.value = scale * (1.0 + static_cast<double>(h) / 128.0);
  } else if (dtype == DType::Bool) {
    r.ivalue = settings_.run & 1;
  } else {
    r.ivalue = 1 + settings_.run;
  }
  read_index_[key] = n;
  reads_.push_back(r);
  return r;
}

void Recorder::take_type(int dst, int src) {
  Buffer& to = program_.buffers[static_cast<size_t>(dst)];
  const DType type = program_.buffers[static_cast<size_t>(src)].dtype;
  if (!to.name.empty() && program::dtype_bytes(to.dtype) == 1 &&
      to.bytes % program::dtype_bytes(type) == 0)
    to.dtype = type;
}

void Recorder::read_bytes(int buffer, int64_t offset, uint8_t* out, uint64_t bytes) {
  DType dtype = program_.buffers[static_cast<size_t>(buffer)].dtype;
  uint32_t size = program::dtype_bytes(dtype);
  if (offset % size != 0 || bytes % size != 0) {
    unsupported("a host read that does not cover whole elements");
  }
  if (bytes / size > (1u << 20)) {
    unsupported(fmt::format("a host read of {} tensor elements", bytes / size));
  }
  for (uint64_t k = 0; k < bytes / size; ++k) {
    HostRead r = read_element(buffer, offset / size + static_cast<int64_t>(k), dtype);
    uint64_t bits = program::dtype_is_float(dtype)
                        ? ieee_from_double(program::dtype_ty(dtype), r.value)
                        : static_cast<uint64_t>(r.ivalue);
    std::memcpy(out + k * size, &bits, size);
  }
}

uint8_t* Recorder::host_bytes(int index) {
  Storage& s = storages_[static_cast<size_t>(index)];
  push_host_writes(index);
  if (!s.host_valid) {
    bool fresh = s.host.empty();
    if (fresh) s.host.resize(std::max<uint64_t>(s.bytes, 1));
    const Buffer& b = program_.buffers[static_cast<size_t>(s.buffer)];
    bool untouched = b.init == Init::Poison && written_buffers_.count(s.buffer) == 0;
    if (untouched) {
      if (fresh) std::memset(s.host.data(), 0xa5, s.host.size());  // never zero by luck
    } else {
      read_bytes(s.buffer, 0, s.host.data(), s.bytes);
    }
    s.synced = s.host;
    s.host_valid = true;
  }
  return s.host.data();
}

void Recorder::push_host_writes(int index) {
  Storage& s = storages_[static_cast<size_t>(index)];
  if (s.cuda || !s.host_valid || s.host == s.synced) return;
  s.synced = s.host;
  program::CopyStep copy;
  copy.dst = s.buffer;
  copy.bytes = s.bytes;
  copy.host_data.assign(s.host.begin(), s.host.begin() + static_cast<ptrdiff_t>(s.bytes));
  program::Step step;
  step.what = std::move(copy);
  step.stream = current_stream_;
  add_step(std::move(step), {s.buffer});
  s.host_valid = true;
}

std::vector<int64_t> contiguous_strides(const std::vector<int64_t>& sizes) {
  std::vector<int64_t> strides(sizes.size());
  int64_t step = 1;
  for (size_t k = sizes.size(); k-- > 0;) {
    strides[k] = step;
    step *= std::max<int64_t>(sizes[k], 1);
  }
  return strides;
}

int64_t element_count(const std::vector<int64_t>& sizes) {
  int64_t n = 1;
  for (int64_t s : sizes) {
    if (s < 0 || (s != 0 && n > INT64_MAX / s)) throw c10::Error("invalid tensor size");
    n *= s;
  }
  return n;
}

bool is_contiguous(const TensorImpl& t) {
  int64_t step = 1;
  if (element_count(t.sizes) == 0) return true;
  for (size_t k = t.sizes.size(); k-- > 0;) {
    if (t.sizes[k] == 1) continue;
    if (t.strides[k] != step) return false;
    step *= t.sizes[k];
  }
  return true;
}

bool is_contiguous_as(const TensorImpl& t, int memory_format) {
  size_t rank = memory_format == 2 ? 4 : memory_format == 3 ? 5 : 0;
  if (rank == 0) return is_contiguous(t);
  if (t.sizes.size() != rank) return false;
  TensorImpl moved = t;  // dims N, spatial..., C
  moved.sizes.erase(moved.sizes.begin() + 1);
  moved.strides.erase(moved.strides.begin() + 1);
  moved.sizes.push_back(t.sizes[1]);
  moved.strides.push_back(t.strides[1]);
  return is_contiguous(moved);
}

DType dtype_of_code(int32_t code) {
  switch (code) {
    case 0:
      return DType::U8;
    case 1:
      return DType::I8;
    case 2:
      return DType::I16;
    case 3:
      return DType::I32;
    case 4:
      return DType::I64;
    case 5:
      return DType::F16;
    case 6:
      return DType::F32;
    case 7:
      return DType::F64;
    case 11:
      return DType::Bool;
    case 15:
      return DType::BF16;
    default:
      Recorder::get().unsupported(fmt::format("tensors of ScalarType {}", code));
  }
}

int32_t code_of_dtype(DType t) {
  switch (t) {
    case DType::U8:
      return 0;
    case DType::I8:
      return 1;
    case DType::I16:
      return 2;
    case DType::I32:
      return 3;
    case DType::I64:
      return 4;
    case DType::F16:
      return 5;
    case DType::F32:
      return 6;
    case DType::F64:
      return 7;
    case DType::Bool:
      return 11;
    case DType::BF16:
      return 15;
  }
  return 6;
}

}  // namespace assay::host
