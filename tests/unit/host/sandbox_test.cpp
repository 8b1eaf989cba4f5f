// Host code that misbehaves: each way has an outcome of its own, and nothing leaves the sandbox.
#include "tests/unit/host/helpers.h"

namespace assay::host::test {
namespace {

const char* const kAttacks = R"(
#include <torch/extension.h>
#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>

void fork_bomb() { for (;;) if (fork() < 0) return; }
void shell() { if (system("echo out > /tmp/assay-escaped") != 0) exit(3); }
void loop() { for (volatile int k = 0;; k = k + 1) {} }
void sleep_long() { for (;;) sleep(100); }
void memory_bomb() {
  std::vector<std::vector<char>> all;
  for (;;) all.emplace_back(64 << 20, 'x');
}
void map_bomb() {
  for (int k = 0; k < 100000; ++k) {
    void* p = mmap(nullptr, 64 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) throw std::runtime_error("map failed after " + std::to_string(k));
  }
}
void network() { socket(AF_INET, SOCK_STREAM, 0); }
void kill_parent() { kill(getppid(), SIGKILL); }
void null_pointer() { *(volatile int*)16 = 1; }
void device_pointer(torch::Tensor x) { x.data_ptr<float>()[0] = 1.0f; }
void divide(int64_t n) { printf("%ld\n", 10 / n); }
void abort_now() { fprintf(stderr, "last words\n"); abort(); }
void exit_now() { exit(0); }
void throw_int() { throw 42; }
int overflow(volatile char* p) { volatile char block[4096]; block[0] = p[0]; return overflow(block) + block[1]; }
void stack() { char c = 0; overflow(&c); }
void threads() { std::thread t([] {}); t.join(); }
std::string write_outside(std::string path) {
  int fd = open(path.c_str(), O_WRONLY | O_CREAT, 0644);
  return fd >= 0 ? "written" : strerror(errno);
}
void must_fail(std::string path) { TORCH_CHECK(write_outside(path) == "written", "write: ", write_outside(path)); }
void must_not_read(std::string path) { TORCH_CHECK(open(path.c_str(), O_RDONLY) >= 0, "read: ", strerror(errno)); }
void own_folder() {
  std::ofstream("note.txt") << "hello";
  std::string text;
  std::ifstream("note.txt") >> text;
  TORCH_CHECK(text == "hello", "cannot write in the own folder");
}
void big_file() {
  FILE* f = fopen("big", "w");
  std::vector<char> block(1 << 20);
  for (int k = 0; k < 1000; ++k) if (fwrite(block.data(), 1, block.size(), f) != block.size()) throw std::runtime_error("file limit");
}
void environment() { for (char** e = environ; *e; ++e) printf("%s\n", *e); TORCH_CHECK(getenv("ASSAY_SECRET") == nullptr, "leaked"); }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
#define D(f) m.def(#f, &f)
  D(fork_bomb); D(shell); D(loop); D(sleep_long); D(memory_bomb); D(map_bomb); D(network); D(kill_parent);
  D(null_pointer); D(device_pointer); D(divide); D(abort_now); D(exit_now); D(throw_int); D(stack); D(threads);
  D(must_fail); D(must_not_read); D(own_folder); D(big_file); D(environment);
}
)";

class Attack : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    scratch_ = new Scratch;
    source_ = scratch_->write("attacks.cu", kAttacks);
  }
  static void TearDownTestSuite() { delete scratch_; }

  // The error of running `entry`, or "ok".
  static Diag run(const std::string& entry, std::vector<program::Argument> arguments = {},
                  double wall_seconds = 100) {
    RecordRequest r;
    r.sources = {source_};
    r.entry = entry;
    r.arguments = std::move(arguments);
    r.limits.wall_seconds = wall_seconds;
    r.limits.cpu_seconds = 3;
    r.limits.memory_bytes = 512ull << 20;
    auto p = record_extension(r);
    return p ? Diag{DiagKind::Internal, "ok", {}} : p.error();
  }
  static void expect(const Diag& d, DiagKind kind, const std::string& words) {
    EXPECT_EQ(d.kind, kind) << d.message;
    EXPECT_NE(d.message.find(words), std::string::npos) << d.message;
  }

  static Scratch* scratch_;
  static std::string source_;
};
Scratch* Attack::scratch_ = nullptr;
std::string Attack::source_;

TEST_F(Attack, Processes) {
  expect(run("fork_bomb"), DiagKind::Invalid, "tried to start a process");
  expect(run("shell"), DiagKind::Invalid, "tried to start a process");
  EXPECT_FALSE(fs::exists("/tmp/assay-escaped"));
  expect(run("kill_parent"), DiagKind::Invalid, "tried to reach into another process");
  EXPECT_EQ(run("threads").message, "ok");
}

TEST_F(Attack, Network) { expect(run("network"), DiagKind::Invalid, "tried to use the network"); }

TEST_F(Attack, Time) {
  expect(run("loop"), DiagKind::Limit, "processor time");
  expect(run("sleep_long", {}, 2), DiagKind::Limit, "did not finish within 2 s");
}

TEST_F(Attack, Memory) {
  expect(run("memory_bomb"), DiagKind::Limit, "out of memory");
  expect(run("map_bomb"), DiagKind::Invalid, "map failed after");
}

TEST_F(Attack, Crashes) {
  expect(run("null_pointer"), DiagKind::Invalid, "segmentation fault at 0x0000000000000010");
  expect(run("divide", {{"n", int64_t{0}, ""}}), DiagKind::Invalid, "division by zero");
  expect(run("abort_now"), DiagKind::Invalid, "abort; it printed: last words");
  expect(run("exit_now"), DiagKind::Invalid, "ended the process: exit(0)");
  expect(run("throw_int"), DiagKind::Invalid, "no std::exception");
  expect(run("stack"), DiagKind::Invalid, "segmentation fault");
  RecordRequest r;
  add_tensor(&r, "x", {8});
  r.sources = {source_};
  r.entry = "device_pointer";
  auto p = record_extension(r);
  ASSERT_FALSE(p.has_value());
  expect(p.error(), DiagKind::Invalid, "device memory");
}

TEST_F(Attack, Files) {
  std::string outside = (scratch_->path() / "outside.txt").string();
  expect(run("must_fail", {{"path", outside, ""}}), DiagKind::Invalid, "write: Permission denied");
  EXPECT_FALSE(fs::exists(outside));
  expect(run("must_fail", {{"path", std::string("/dev/shm/assay-x"), ""}}), DiagKind::Invalid,
         "write: ");
  scratch_->write("secret.txt", "secret");
  expect(run("must_not_read", {{"path", (scratch_->path() / "secret.txt").string(), ""}}),
         DiagKind::Invalid, "read: Permission denied");
  EXPECT_EQ(run("own_folder").message, "ok");
  Diag d = run("big_file");
  EXPECT_NE(d.message, "ok");
  setenv("ASSAY_SECRET", "1", 1);
  EXPECT_EQ(run("environment").message, "ok");
}

}  // namespace
}  // namespace assay::host::test
