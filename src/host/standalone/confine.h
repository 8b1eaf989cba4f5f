#pragma once
// Takes rights away from this process before foreign code is loaded. Linux, no privileges needed.
#include <cstdint>
#include <string>
#include <vector>

namespace assay::host {

struct Confinement {
  std::string work_dir;                 // may be written
  std::vector<std::string> read_paths;  // may be read, besides the system's libraries
  uint64_t memory_bytes = 4ull << 30;
  uint64_t cpu_seconds = 10;
  uint64_t file_bytes = 64ull << 20;
};

// Names of mechanisms that this kernel lacks ("landlock", "seccomp", "rlimit"); empty: all in
// place.
std::vector<std::string> confine(const Confinement& c);

// For a SIGSYS handler: what a forbidden system call is for; async-signal-safe.
const char* forbidden_action(int syscall_number);

}  // namespace assay::host
