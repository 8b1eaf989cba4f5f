#include "host/standalone/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

namespace assay::host {

namespace {

// linux/landlock.h of the newest ABI used here; older kernels take a shorter structure.
struct Ruleset {
  uint64_t fs, net, scoped;
};
struct PathBeneath {
  uint64_t allowed;
  int32_t parent;
} __attribute__((packed));
constexpr uint64_t kExecute = 1, kWriteFile = 2, kReadFile = 4, kReadDir = 8, kTruncate = 1 << 14;
constexpr uint64_t kRead = kReadFile | kReadDir;

bool allow(int ruleset, const std::string& path, uint64_t rights) {
  int fd = open(path.c_str(), O_PATH | O_CLOEXEC);
  if (fd < 0) return true;  // nothing there
  PathBeneath rule{rights, fd};
  // A file takes only file rights.
  long rc = syscall(SYS_landlock_add_rule, ruleset, 1, &rule, 0);
  if (rc != 0) {
    rule.allowed &= kExecute | kWriteFile | kReadFile | kTruncate;
    rc = syscall(SYS_landlock_add_rule, ruleset, 1, &rule, 0);
  }
  close(fd);
  return rc == 0;
}

bool landlock(const Confinement& c) {
  long abi = syscall(SYS_landlock_create_ruleset, nullptr, 0, 1);
  if (abi < 1) return false;
  uint64_t fs = (1ull << 13) - 1;  // ABI 1
  if (abi >= 2) fs |= 1ull << 13;  // refer
  if (abi >= 3) fs |= kTruncate;
  if (abi >= 5) fs |= 1ull << 15;  // ioctl on devices
  Ruleset attr{fs, abi >= 4 ? 3ull : 0, abi >= 6 ? 3ull : 0};
  size_t size = abi >= 6 ? 24 : abi >= 4 ? 16 : 8;
  auto ruleset = static_cast<int>(syscall(SYS_landlock_create_ruleset, &attr, size, 0));
  if (ruleset < 0) return false;
  bool ok = true;
  for (const char* p : {"/usr", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/ld.so.conf",
                        "/etc/localtime", "/dev/urandom", "/dev/null", "/dev/zero", "/proc/self",
                        "/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system/cpu"}) {
    ok = allow(ruleset, p, kRead) && ok;
  }
  ok = allow(ruleset, "/dev/null", kReadFile | kWriteFile) && ok;
  for (const std::string& p : c.read_paths) ok = allow(ruleset, p, kRead) && ok;
  if (c.foreign == Foreign::Program) ok = allow(ruleset, "/", kRead | kExecute) && ok;
  if (!c.work_dir.empty()) ok = allow(ruleset, c.work_dir, fs & ~kExecute) && ok;
  ok = ok && syscall(SYS_landlock_restrict_self, ruleset, 0) == 0;
  close(ruleset);
  return ok;
}

// What a program needs that only computes; everything else fails with EPERM.
constexpr const char* kAllowed[] = {"read",
                                    "write",
                                    "close",
                                    "fstat",
                                    "newfstatat",
                                    "stat",
                                    "lstat",
                                    "statx",
                                    "lseek",
                                    "mmap",
                                    "mprotect",
                                    "munmap",
                                    "mremap",
                                    "madvise",
                                    "brk",
                                    "rt_sigaction",
                                    "rt_sigprocmask",
                                    "rt_sigreturn",
                                    "sigaltstack",
                                    "pread64",
                                    "pwrite64",
                                    "readv",
                                    "writev",
                                    "access",
                                    "faccessat",
                                    "faccessat2",
                                    "sched_yield",
                                    "dup",
                                    "dup2",
                                    "dup3",
                                    "nanosleep",
                                    "clock_nanosleep",
                                    "getpid",
                                    "gettid",
                                    "exit",
                                    "exit_group",
                                    "uname",
                                    "fcntl",
                                    "ftruncate",
                                    "getcwd",
                                    "readlink",
                                    "readlinkat",
                                    "futex",
                                    "sched_getaffinity",
                                    "getdents64",
                                    "set_tid_address",
                                    "clock_gettime",
                                    "clock_getres",
                                    "gettimeofday",
                                    "time",
                                    "openat",
                                    "open",
                                    "set_robust_list",
                                    "rseq",
                                    "getrandom",
                                    "sysinfo",
                                    "getrusage",
                                    "times",
                                    "getuid",
                                    "geteuid",
                                    "getgid",
                                    "getegid",
                                    "getppid",
                                    "unlink",
                                    "unlinkat",
                                    "rename",
                                    "renameat",
                                    "renameat2",
                                    "mkdir",
                                    "mkdirat",
                                    "rmdir",
                                    "fsync",
                                    "poll",
                                    "ppoll",
                                    "membarrier",
                                    "restart_syscall",
                                    "pause",
                                    "rt_sigtimedwait",
                                    "rt_sigpending",
                                    "getpgrp",
                                    "pipe2",
                                    "eventfd2",
                                    "arch_prctl",
                                    "fadvise64"};

// What an interpreter and PyTorch need besides. execve: the program itself; whatever comes after
// it is as confined.
constexpr const char* kAllowedToProgram[] = {"execve",
                                             "sched_setaffinity",
                                             "sched_getparam",
                                             "sched_getscheduler",
                                             "sched_get_priority_max",
                                             "sched_get_priority_min",
                                             "get_mempolicy",
                                             "mbind",
                                             "mincore",
                                             "mlock",
                                             "munlock",
                                             "msync",
                                             "getgroups",
                                             "getresuid",
                                             "getresgid",
                                             "getsid",
                                             "getpgid",
                                             "capget",
                                             "umask",
                                             "statfs",
                                             "fstatfs",
                                             "chdir",
                                             "pipe",
                                             "select",
                                             "pselect6",
                                             "epoll_create1",
                                             "epoll_ctl",
                                             "epoll_wait",
                                             "epoll_pwait",
                                             "setitimer",
                                             "getitimer",
                                             "alarm",
                                             "getcpu",
                                             "pwritev",
                                             "preadv",
                                             "futex_waitv"};

// Attempts that are reported rather than merely refused.
constexpr const char* kTrapped[] = {"fork",
                                    "vfork",
                                    "execve",
                                    "execveat",
                                    "socket",
                                    "socketpair",
                                    "connect",
                                    "bind",
                                    "listen",
                                    "accept",
                                    "accept4",
                                    "sendto",
                                    "sendmsg",
                                    "recvfrom",
                                    "ptrace",
                                    "kill",
                                    "tkill",
                                    "process_vm_readv",
                                    "process_vm_writev",
                                    "pidfd_open",
                                    "mount",
                                    "umount2",
                                    "unshare",
                                    "setns",
                                    "chroot",
                                    "pivot_root",
                                    "bpf",
                                    "perf_event_open",
                                    "io_uring_setup",
                                    "userfaultfd",
                                    "init_module",
                                    "finit_module",
                                    "kexec_load",
                                    "reboot",
                                    "keyctl",
                                    "add_key",
                                    "request_key",
                                    "setuid",
                                    "setgid",
                                    "capset"};

bool filter(bool deny_writes, Foreign foreign) {
  const bool program = foreign == Foreign::Program;
  scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
  if (ctx == nullptr) return false;
  bool ok = true;
  auto rule = [&](uint32_t action, const char* name) {
    int n = seccomp_syscall_resolve_name(name);
    if (n != __NR_SCMP_ERROR) ok = seccomp_rule_add(ctx, action, n, 0) == 0 && ok;
  };
  for (const char* name : kAllowed) {
    std::string s = name;
    if (deny_writes && (s == "openat" || s == "open")) continue;
    rule(SCMP_ACT_ALLOW, name);
  }
  if (program) {
    for (const char* name : kAllowedToProgram) rule(SCMP_ACT_ALLOW, name);
  } else {
    for (const char* name : kTrapped) rule(SCMP_ACT_TRAP, name);
  }
  // Threads, but no processes. clone3 hides its flags in memory: glibc then takes clone.
  ok = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0) == 0 && ok;
  ok = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
                        SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD)) == 0 &&
       ok;
  if (!program) {
    ok = seccomp_rule_add(ctx, SCMP_ACT_TRAP, SCMP_SYS(clone), 1,
                          SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0)) == 0 &&
         ok;
  }
  // abort() signals the process itself; limits may be read, not set.
  auto self = static_cast<scmp_datum_t>(getpid());
  ok =
      seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1, SCMP_A0(SCMP_CMP_EQ, self)) == 0 &&
      ok;
  ok =
      seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 1, SCMP_A2(SCMP_CMP_EQ, 0)) == 0 &&
      ok;
  ok = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOTTY), SCMP_SYS(ioctl), 0) == 0 && ok;
  ok = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(prctl), 1,
                        SCMP_A0(SCMP_CMP_EQ, PR_SET_NAME)) == 0 &&
       ok;
  if (deny_writes) {
    for (int n : {SCMP_SYS(openat), SCMP_SYS(open)}) {
      int flags = n == SCMP_SYS(openat) ? 2 : 1;
      struct scmp_arg_cmp reading = {static_cast<unsigned>(flags), SCMP_CMP_MASKED_EQ,
                                     O_WRONLY | O_RDWR | O_CREAT, 0};
      ok = seccomp_rule_add_array(ctx, SCMP_ACT_ALLOW, n, 1, &reading) == 0 && ok;
    }
  }
  ok = ok && seccomp_load(ctx) == 0;
  seccomp_release(ctx);
  return ok;
}

bool limit(__rlimit_resource_t what, uint64_t value, uint64_t grace = 0) {
  rlimit now{};
  if (getrlimit(what, &now) != 0) return false;
  rlimit wanted{std::min<rlim_t>(value, now.rlim_max),
                std::min<rlim_t>(value + grace, now.rlim_max)};
  return setrlimit(what, &wanted) == 0;
}

}  // namespace

std::vector<std::string> confine(const Confinement& c) {
  std::vector<std::string> missing;
  bool limits = limit(RLIMIT_CORE, 0) && limit(RLIMIT_FSIZE, c.file_bytes) &&
                limit(RLIMIT_NOFILE, c.foreign == Foreign::Program ? 1024 : 64) &&
                limit(RLIMIT_CPU, c.cpu_seconds, 1);
  if (c.foreign == Foreign::Library) {
    limits = limit(RLIMIT_NPROC, 256) && limits;
#if !defined(__SANITIZE_ADDRESS__)
    limits = limit(RLIMIT_AS, c.memory_bytes) && limits;
#endif
  }
  if (!limits) missing.push_back("rlimit");
  prctl(PR_SET_DUMPABLE, 0);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) missing.push_back("no_new_privs");
  bool files = landlock(c);
  if (!files) missing.push_back("landlock");
  if (!filter(!files, c.foreign)) missing.push_back("seccomp");
  return missing;
}

const char* forbidden_action(int n) {
  switch (n) {
    case SYS_fork:
    case SYS_vfork:
    case SYS_clone:
      return "start a process";
    case SYS_execve:
    case SYS_execveat:
      return "run a program";
    case SYS_socket:
    case SYS_socketpair:
    case SYS_connect:
    case SYS_bind:
    case SYS_listen:
    case SYS_accept:
    case SYS_accept4:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_recvfrom:
      return "use the network";
    case SYS_ptrace:
    case SYS_process_vm_readv:
    case SYS_process_vm_writev:
    case SYS_kill:
    case SYS_tkill:
    case SYS_pidfd_open:
      return "reach into another process";
    default:
      return "change the system";
  }
}

}  // namespace assay::host
