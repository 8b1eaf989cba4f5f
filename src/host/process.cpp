#include "host/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>

extern char** environ;

namespace assay::host {

namespace {

using Clock = std::chrono::steady_clock;

// A pipe whose ends lie above 9, clear of the descriptors that the child sets up.
struct Pipe {
  int read = -1, write = -1;
  bool open() {
    int fd[2];
    if (pipe2(fd, O_CLOEXEC) != 0) return false;
    read = fcntl(fd[0], F_DUPFD_CLOEXEC, 10);
    write = fcntl(fd[1], F_DUPFD_CLOEXEC, 10);
    ::close(fd[0]);
    ::close(fd[1]);
    return read >= 0 && write >= 0;
  }
  void close_end(int* end) {
    if (*end >= 0) ::close(*end);
    *end = -1;
  }
  ~Pipe() {
    close_end(&read);
    close_end(&write);
  }
};

std::vector<std::string> environment(const ProcessSpec& spec) {
  std::vector<std::string> env;
  auto name_of = [](const std::string& s) { return s.substr(0, s.find('=')); };
  auto replaced = [&](const std::string& name) {
    for (const std::string& e : spec.env) {
      if (name_of(e) == name) return true;
    }
    return false;
  };
  if (!spec.clean_env) {
    for (char** e = environ; *e != nullptr; ++e) {
      if (!replaced(name_of(*e))) env.push_back(*e);
    }
  }
  for (const std::string& e : spec.env) {
    if (e.find('=') != std::string::npos) env.push_back(e);
  }
  return env;
}

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> p;
  for (const std::string& s : strings) p.push_back(const_cast<char*>(s.c_str()));
  p.push_back(nullptr);
  return p;
}

// In the child, between fork and exec: only async-signal-safe calls.
[[noreturn]] void become(const ProcessSpec& spec, char** argv, char** env, int in, int out,
                         int result) {
  setpgid(0, 0);
  signal(SIGPIPE, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  bool ok = dup2(in, 0) == 0 && dup2(out, 1) == 1 && dup2(out, 2) == 2;
  if (result >= 0) ok = ok && dup2(result, 3) == 3;
  if (!spec.cwd.empty()) ok = ok && chdir(spec.cwd.c_str()) == 0;
  if (ok) execvpe(argv[0], argv, env);
  _exit(127);
}

struct Session {
  const ProcessSpec& spec;
  ProcessResult out;
  Pipe in, text, result;
  std::string input = spec.input;
  size_t written = 0;  // of the input; large ones are not moved up at each write
  size_t scanned = 0;  // of out.result, for lines that ask
  pid_t pid = -1;

  // Compares memory and threads with the limits; true: over one of them.
  bool over_limits();
  bool stopped() const {
    return out.timed_out || out.result_too_long || out.too_much_memory || out.too_many_threads;
  }

  // Moves bytes until both outputs are closed or the deadline passes.
  void pump(Clock::time_point* deadline);
  void answer_lines(Clock::time_point* deadline);
  void feed();
  bool drain(int fd, std::string* into, size_t cap, bool* too_long);
};

bool Session::drain(int fd, std::string* into, size_t cap, bool* too_long) {
  std::array<char, 65536> block;
  ssize_t n = read(fd, block.data(), block.size());
  if (n < 0) return errno == EINTR || errno == EAGAIN;
  if (n == 0) return false;
  size_t take = std::min(static_cast<size_t>(n), cap - std::min(cap, into->size()));
  into->append(block.data(), take);
  if (take < static_cast<size_t>(n) && too_long != nullptr) *too_long = true;
  return true;
}

bool Session::over_limits() {
  if (spec.max_resident == 0 && spec.max_threads == 0) return false;
  std::FILE* file = std::fopen(("/proc/" + std::to_string(pid) + "/stat").c_str(), "re");
  if (file == nullptr) return false;
  std::array<char, 1024> line{};
  const size_t n = std::fread(line.data(), 1, line.size() - 1, file);
  std::fclose(file);
  const std::string fields(line.data(), n);
  const size_t name_end = fields.rfind(')');  // the name may hold anything
  if (name_end == std::string::npos) return false;
  unsigned long long threads = 0;
  long long pages = 0;
  // Fields 3 to 24 of proc(5).
  if (std::sscanf(fields.c_str() + name_end + 1,
                  " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %llu %*d "
                  "%*u %*u %lld",
                  &threads, &pages) != 2)
    return false;
  const auto bytes = static_cast<uint64_t>(pages) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  out.too_much_memory = spec.max_resident != 0 && bytes > spec.max_resident;
  out.too_many_threads = spec.max_threads != 0 && threads > spec.max_threads;
  return out.too_much_memory || out.too_many_threads;
}

// Takes the complete lines that ask out of the result and answers them.
void Session::answer_lines(Clock::time_point* deadline) {
  if (!spec.answer) return;
  for (;;) {
    const size_t end = out.result.find('\n', scanned);
    if (end == std::string::npos) {  // the last line is not complete
      scanned = out.result.size();
      return;
    }
    const size_t begin = end == 0 ? 0 : out.result.rfind('\n', end - 1) + 1;  // npos + 1 is 0
    if (out.result.compare(begin, 4, "ask ") != 0) {
      scanned = end + 1;
      continue;
    }
    const std::string line = out.result.substr(begin + 4, end - begin - 4);
    out.result.erase(begin, end + 1 - begin);
    scanned = begin;
    const auto start = Clock::now();
    input += spec.answer(line) + "\n";
    *deadline += Clock::now() - start;
  }
}

void Session::feed() {
  const ssize_t n = write(in.write, input.data() + written, input.size() - written);
  if (n > 0) written += static_cast<size_t>(n);
  if (written == input.size()) input.clear(), written = 0;
  const bool broken = n < 0 && errno != EAGAIN && errno != EINTR;
  if (broken || (input.empty() && !spec.answer)) in.close_end(&in.write);
}

void Session::pump(Clock::time_point* deadline) {
  while (text.read >= 0 || result.read >= 0) {
    auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(*deadline - Clock::now()).count();
    if (left <= 0) {
      out.timed_out = true;
      return;
    }
    if (over_limits()) return;
    const long wait = spec.max_resident != 0 || spec.max_threads != 0 ? 20 : 1000;  // ms
    std::array<pollfd, 3> fds{{{text.read, POLLIN, 0},
                               {result.read, POLLIN, 0},
                               {input.empty() ? -1 : in.write, POLLOUT, 0}}};
    if (poll(fds.data(), fds.size(), static_cast<int>(std::min<long>(left, wait))) < 0 &&
        errno != EINTR)
      return;
    if (text.read >= 0 && fds[0].revents != 0 &&
        !drain(text.read, &out.output, spec.max_output, nullptr)) {
      text.close_end(&text.read);
    }
    if (result.read >= 0 && fds[1].revents != 0) {
      if (!drain(result.read, &out.result, spec.max_result, &out.result_too_long)) {
        result.close_end(&result.read);
      }
      if (out.result_too_long) return;
      answer_lines(deadline);
    }
    if (fds[2].revents != 0) feed();
  }
}

// Waits until the deadline; false: still running.
bool wait_until(Session& s, Clock::time_point deadline, int* status) {
  for (;;) {
    pid_t got = waitpid(s.pid, status, WNOHANG);
    if (got == s.pid) return true;
    if (got < 0 && errno != EINTR) return false;
    if (Clock::now() >= deadline || s.over_limits()) return false;
    usleep(1000);
  }
}

}  // namespace

Result<ProcessResult> run_process(const ProcessSpec& spec) {
  signal(SIGPIPE, SIG_IGN);  // a child that reads nothing must not end this process
  Session s{spec, {}, {}, {}, {}};
  bool pipes = s.in.open() && s.text.open() && (spec.max_result == 0 || s.result.open());
  if (!pipes || spec.argv.empty()) {
    return fail(DiagKind::Io, fmt::format("cannot make pipes: {}", std::strerror(errno)));
  }
  std::vector<std::string> env_strings = environment(spec);
  std::vector<char*> argv = pointers(spec.argv), env = pointers(env_strings);
  auto start = Clock::now();
  auto deadline = start + std::chrono::duration_cast<Clock::duration>(
                              std::chrono::duration<double>(spec.wall_seconds));
  pid_t pid = fork();
  if (pid < 0) return fail(DiagKind::Io, fmt::format("cannot fork: {}", std::strerror(errno)));
  if (pid == 0) become(spec, argv.data(), env.data(), s.in.read, s.text.write, s.result.write);
  setpgid(pid, pid);
  s.in.close_end(&s.in.read);
  s.text.close_end(&s.text.write);
  s.result.close_end(&s.result.write);
  if (spec.input.empty() && !spec.answer) s.in.close_end(&s.in.write);
  if (s.in.write >= 0) fcntl(s.in.write, F_SETFL, O_NONBLOCK);
  s.pid = pid;
  s.pump(&deadline);
  int status = 0;
  bool ended = !s.stopped() && wait_until(s, deadline, &status);
  if (!ended) {
    if (!s.stopped()) s.out.timed_out = true;
    kill(-pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
  } else {
    kill(-pid, SIGKILL);  // what it may have left behind in its group
  }
  s.out.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  if (WIFEXITED(status)) s.out.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) s.out.signal = WTERMSIG(status);
  if (s.out.exit_code == 127 && s.out.output.empty()) {
    return fail(DiagKind::Io, fmt::format("cannot run {}", spec.argv[0]));
  }
  return std::move(s.out);
}

}  // namespace assay::host
