#pragma once
// The recorder: what one run of a host function does, as a Program. One per process (the runner's),
// used from the stand-in PyTorch functions (tensor_api.cpp, ops_*.cpp) and the stand-in CUDA
// runtime (cudart/*.cpp). Host code may use threads; every entry point takes the lock.
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "program/program.h"

#define ASSAY_EXPORT __attribute__((visibility("default")))

namespace assay::host {

using program::DType;

// Memory of one tensor or allocation. Device memory is an address without pages behind it: host
// code that dereferences it faults, and the runner says which buffer it was.
struct Storage {
  int buffer = -1;  // in Program::buffers
  uint64_t base = 0;
  uint64_t bytes = 0;
  bool cuda = true;
  bool freed = false;
  uint64_t version = 0;  // counts steps that may write it
  // CPU storage that host code has looked at: its bytes, and how they were when last in step with
  // the Program (a difference means that host code wrote them).
  std::vector<uint8_t> host, synced;
  bool host_valid = false;
};

struct TensorImpl {
  int storage = -1;
  DType dtype = DType::F32;
  bool cuda = true;
  int64_t offset = 0;  // elements
  std::vector<int64_t> sizes, strides;
};

// A host read of one element of tensor data whose value the recorder made up (or knows).
struct HostRead {
  int buffer = -1;
  int64_t element = 0;  // in elements of dtype from the buffer's start
  uint64_t version = 0;
  DType dtype = DType::F32;
  double value = 0;    // floats
  int64_t ivalue = 0;  // integers, bool
  bool known = false;  // the real value, not a probe
};

struct Settings {
  int run = 0;  // index of the probing run: moves addresses and probe values
  uint64_t max_steps = 200000;
  // The call stands amid other work: the first step (a fill of nothing) stands for what the default
  // stream did before. `side`: it runs under a stream of PyTorch's pool (number 1), and the second
  // step stands for what that one did.
  bool amid = false, side = false;
};

class ASSAY_EXPORT Recorder {
 public:
  static Recorder& get();
  std::recursive_mutex& mutex() { return mutex_; }

  // Starts a recording with these buffers and arguments (Program of the request).
  void begin(program::Program request, Settings settings);
  program::Program& program() { return program_; }
  const Settings& settings() const { return settings_; }
  size_t request_buffers() const { return request_buffers_; }
  // Written by an operator, copy or fill (launches: unknown here).
  bool surely_written(int buffer) const { return surely_written_.count(buffer) != 0; }

  // Storage and tensors.
  int new_storage(uint64_t bytes, DType dtype, bool cuda, program::Init init, program::Role role,
                  std::vector<uint8_t> data = {});
  int storage_of_buffer(int buffer) const;
  Storage& storage(int index) { return storages_[static_cast<size_t>(index)]; }
  int32_t new_tensor(TensorImpl impl);
  TensorImpl& tensor(int32_t id);  // throws c10::Error for the undefined tensor
  program::TensorView view(int32_t id);
  int32_t tensor_of_view(const program::TensorView& v, bool cuda);
  // The storage that holds an address, or -1; *addend: bytes from its start (may be negative or
  // past the end, as long as the address is nearer to it than to any other).
  int storage_at(uint64_t address, int64_t* addend) const;
  void touch(int buffer, bool surely = false);  // a step already recorded writes it
  void free_storage(int index) { storages_[static_cast<size_t>(index)].freed = true; }
  bool device_range(uint64_t address) const;

  // Steps. Written buffers get a new version.
  int add_step(program::Step step, const std::vector<int>& written_buffers);
  void note(std::string kind, std::string severity, std::string message, int step = -1);
  // A construct that cannot be recorded: kept as the run's outcome even if host code catches what
  // is thrown.
  [[noreturn]] void unsupported(const std::string& what);
  const std::string& unsupported_reason() const { return unsupported_; }

  // Host reads.
  HostRead read_element(int buffer, int64_t element, DType dtype);
  const std::vector<HostRead>& reads() const { return reads_; }
  // Bytes of CPU storage for host code; push_host_writes brings changes back into the Program.
  uint8_t* host_bytes(int storage);
  void push_host_writes(int storage);
  // A module variable declared as bytes holds what is copied to it from another buffer.
  void take_type(int dst, int src);
  // Fills `out` with what the host sees of `bytes` bytes of a buffer.
  void read_bytes(int buffer, int64_t offset, uint8_t* out, uint64_t bytes);

  // Streams: 0 is the legacy default stream.
  int new_stream(bool non_blocking);
  void destroy_stream(int stream);
  bool valid_stream(int stream) const;
  void sync_stream(int stream);
  // The steps that further work on a stream is ordered behind, or that those are.
  std::vector<int> done_before(int stream);
  void sync_all();
  int new_event();
  bool record_event(int event, int stream);
  bool wait_event(int stream, int event);
  bool sync_event(int event);
  int current_stream() const { return current_stream_; }
  void set_current_stream(int s) { current_stream_ = s; }

  // CUDA error state.
  int last_error = 0;
  int sticky_error = 0;

 private:
  std::vector<int> dependencies(int stream);
  std::optional<std::vector<uint8_t>> known_bytes(int buffer) const;

  std::recursive_mutex mutex_;
  program::Program program_;
  Settings settings_;
  std::deque<Storage> storages_;
  std::deque<TensorImpl> tensors_;
  std::map<uint64_t, int> by_address_;
  std::unordered_map<int, int> storage_by_buffer_;
  std::set<int> written_buffers_, surely_written_;
  size_t request_buffers_ = 0;
  uint64_t next_address_ = 0;
  uint64_t host_address_end_ = 0;
  std::vector<HostRead> reads_;
  std::map<std::tuple<int, int64_t, uint64_t, int>, size_t> read_index_;
  std::string unsupported_;
  struct Stream {
    bool non_blocking = false, alive = true;
    int last = -1;
    std::vector<int> waits;
  };
  std::vector<Stream> streams_{Stream{}};
  std::vector<int> events_;      // last step of the stream when recorded; -2: never recorded
  std::vector<int> host_waits_;  // steps that the host has waited for
  int current_stream_ = 0;
  bool several_streams_ = false;
};

// Shapes.
std::vector<int64_t> contiguous_strides(const std::vector<int64_t>& sizes);
int64_t element_count(const std::vector<int64_t>& sizes);
bool is_contiguous(const TensorImpl& t);
bool is_contiguous_as(const TensorImpl& t, int memory_format);

// c10::ScalarType codes.
DType dtype_of_code(int32_t code);  // throws for types that Assay has not
int32_t code_of_dtype(DType t);

}  // namespace assay::host
