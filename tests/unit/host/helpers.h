#pragma once
// Builds requests for small extensions given as text.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "host/record.h"

namespace assay::host::test {

namespace fs = std::filesystem;

// A folder for one test's sources, removed afterwards.
class Scratch {
 public:
  Scratch() {
    std::string name = (fs::temp_directory_path() / "assay-test-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~Scratch() { fs::remove_all(path_); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name) << text;
    return (path_ / name).string();
  }
  fs::path path() const { return path_; }

 private:
  fs::path path_;
};

// Adds a contiguous tensor argument with a buffer of its own.
inline program::TensorView add_tensor(RecordRequest* r, const std::string& name,
                                      std::vector<int64_t> shape,
                                      program::DType dtype = program::DType::F32,
                                      program::Role role = program::Role::Input) {
  program::TensorView v;
  v.buffer = static_cast<int>(r->buffers.size());
  v.dtype = dtype;
  v.shape = std::move(shape);
  v.strides.resize(v.shape.size());
  int64_t step = 1;
  for (size_t k = v.shape.size(); k-- > 0;) {
    v.strides[k] = step;
    step *= v.shape[k];
  }
  program::Buffer b;
  b.name = name;
  b.dtype = dtype;
  b.bytes = static_cast<uint64_t>(step) * program::dtype_bytes(dtype);
  b.role = role;
  b.init = program::Init::Symbolic;
  r->buffers.push_back(std::move(b));
  r->arguments.push_back({name, v, ""});
  return v;
}

inline Result<program::Program> record_text(const Scratch& scratch, RecordRequest r,
                                            const std::string& text) {
  r.sources = {scratch.write("kernel.cu", text)};
  return record_extension(r);
}

template <class T>
std::vector<const T*> steps_of(const program::Program& p) {
  std::vector<const T*> found;
  for (const program::Step& s : p.steps) {
    if (auto* t = std::get_if<T>(&s.what)) found.push_back(t);
  }
  return found;
}

inline std::vector<std::string> op_names(const program::Program& p) {
  std::vector<std::string> names;
  for (const program::OpStep* o : steps_of<program::OpStep>(p)) names.push_back(o->op);
  return names;
}

inline bool has_note(const program::Program& p, const std::string& kind) {
  for (const program::Note& n : p.notes) {
    if (n.kind == kind) return true;
  }
  return false;
}

#define ASSERT_OK(r) ASSERT_TRUE(r.has_value()) << ::assay::format_diag(r.error())

}  // namespace assay::host::test
