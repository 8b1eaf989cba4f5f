#pragma once
// Takes rights away from this process before foreign code is loaded. Linux, no privileges needed.
// No network, no further processes, no writes outside one folder, no reach into other processes.
#include <cstdint>
#include <string>
#include <vector>

namespace assay::host {

enum class Foreign : uint8_t {
  Library,  // host code loaded into this process: attempts at what is forbidden end it
  // A program (an interpreter with its libraries) that this process becomes: may read everything;
  // what is forbidden fails with EPERM, so that libraries which can do without it go on and the
  // rest names the line. Its memory is watched from outside: large weights are reserved and never
  // touched.
  Program
};

struct Confinement {
  Foreign foreign = Foreign::Library;
  std::string work_dir;                 // may be written
  std::vector<std::string> read_paths;  // Library: may be read, besides the system's libraries
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
