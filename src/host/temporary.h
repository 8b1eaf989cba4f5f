#pragma once
// A folder of its own for a child process, removed with all it holds.
#include <stdlib.h>

#include <filesystem>
#include <string>

namespace assay::host {

class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::string& prefix) {
    std::error_code ec;
    std::string name = (std::filesystem::temp_directory_path(ec) / (prefix + "-XXXXXX")).string();
    if (mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ec;
    if (!path_.empty()) std::filesystem::remove_all(path_, ec);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }  // empty: none could be made

 private:
  std::filesystem::path path_;
};

}  // namespace assay::host
