// assay-host-runner: loads an extension in a confined process, calls one function and writes what
// it did as JSON to descriptor 3. Request: JSON on standard input (see host/protocol.h). Started by
// Assay only; everything that goes wrong is an outcome, not an exit code.
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <new>
#include <nlohmann/json.hpp>
#include <string>

#include "assay/error.h"
#include "host/standalone/confine.h"
#include "host/standalone/rt/session.h"

namespace {

using assay::host::Outcome;
using assay::host::Recorder;
using assay::host::Session;
using Json = nlohmann::json;

constexpr int kResult = 3;
volatile sig_atomic_t finished = 0;

void write_all(const char* p, size_t n) {
  while (n > 0) {
    ssize_t k = write(kResult, p, n);
    if (k < 0 && errno == EINTR) continue;
    if (k <= 0) return;
    p += k;
    n -= static_cast<size_t>(k);
  }
}

void put(const char* text) { write_all(text, strlen(text)); }

void put_hex(uint64_t v) {
  char text[19] = "0x";
  for (int k = 0; k < 16; ++k) text[2 + k] = "0123456789abcdef"[(v >> (60 - 4 * k)) & 15];
  text[18] = 0;
  put(text);
}

// Async-signal-safe: the outcome by hand.
void on_signal(int signal, siginfo_t* info, void*) {
  if (finished == 0) {
    finished = 1;
    auto address = reinterpret_cast<uint64_t>(info->si_addr);
    bool fault = signal == SIGSEGV || signal == SIGBUS;
    if (signal == SIGSYS) {
      put("{\"outcome\":\"forbidden\",\"message\":\"host code tried to ");
      put(assay::host::forbidden_action(info->si_syscall));
      put("\"}");
    } else if (signal == SIGXCPU) {
      put("{\"outcome\":\"cpu\",\"message\":\"host code used up its processor time\"}");
    } else if (fault && Recorder::get().device_range(address)) {
      put("{\"outcome\":\"crash\",\"message\":\"host code read or wrote device memory at ");
      put_hex(address);
      put(" (a kernel's pointer dereferenced on the host)\"}");
    } else {
      put("{\"outcome\":\"crash\",\"message\":\"host code crashed: ");
      put(signal == SIGSEGV   ? "segmentation fault"
          : signal == SIGBUS  ? "bus error"
          : signal == SIGFPE  ? "arithmetic exception (division by zero)"
          : signal == SIGILL  ? "illegal instruction"
          : signal == SIGABRT ? "abort"
                              : "signal");
      if (fault) {
        put(" at ");
        put_hex(address);
      }
      put("\"}");
    }
  }
  _exit(0);
}

void watch_signals() {
  static char stack[64 * 1024];
  stack_t alternative{};
  alternative.ss_sp = stack;
  alternative.ss_size = sizeof stack;
  sigaltstack(&alternative, nullptr);
  struct sigaction action {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (int s : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS, SIGXCPU}) {
    sigaction(s, &action, nullptr);
  }
}

// exit() by host code ("if (error) exit(1);").
void on_exit_by_host(int status, void*) {
  if (finished != 0) return;
  finished = 1;
  std::string text = Json{
      {"outcome", "exit"},
      {"message",
       "host code ended the process: exit(" + std::to_string(status) +
           ")"}}.dump();
  write_all(text.data(), text.size());
  _exit(0);
}

void report(const Outcome& o, Json extra) {
  extra["outcome"] = o.kind;
  extra["message"] = o.message;
  std::string text = extra.dump(-1, ' ', false, Json::error_handler_t::replace);
  finished = 1;
  write_all(text.data(), text.size());
  _exit(0);  // no destructors of host code
}

Outcome run_extension(const std::string& path, const std::string& entry) {
  try {
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      const char* why = dlerror();
      return {false, "load", why != nullptr ? why : "the extension cannot be loaded"};
    }
    auto init = reinterpret_cast<void (*)()>(dlsym(library, "assay_module_init"));
    if (init == nullptr)
      return {
          false, "no-entry",
          "the extension has no PYBIND11_MODULE (kernels without host function: --launch L.toml)"};
    init();
    return Session::get().call(entry);
  } catch (const std::bad_alloc&) {
    return {false, "memory", "host code ran out of memory"};
  } catch (const std::exception& e) {
    return {false, "exception", e.what()};
  } catch (...) {
    return {false, "exception", "an exception that is no std::exception"};
  }
}

// Further calls in the same process, with new inputs and with the first ones in turn.
Json call_again(const std::string& entry, int calls) {
  Json later = Json::array();
  for (int k = 1; k < calls; ++k) {
    Session::get().next_call(k % 2 == 1);
    Outcome o;
    try {
      o = Session::get().call(entry);
    } catch (const std::exception& e) {
      o = {false, "exception", e.what()};
    } catch (...) {
      o = {false, "exception", "an exception that is no std::exception"};
    }
    std::string unsupported = Session::get().unsupported_reason();
    if (!unsupported.empty()) o = {false, "unsupported", unsupported};
    Json one = {{"outcome", o.kind}, {"message", o.message}};
    std::string text;
    if (o.ok) o = Session::get().program_json(&text);
    if (o.ok) one["program"] = Json::parse(text);
    later.push_back(std::move(one));
    if (!o.ok) break;
  }
  return later;
}

std::string read_input() {
  std::string text;
  char block[65536];
  for (;;) {
    ssize_t n = read(0, block, sizeof block);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return text;
    text.append(block, static_cast<size_t>(n));
  }
}

}  // namespace

int main() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  Json request = Json::parse(read_input(), nullptr, false);
  if (!request.is_object())
    report({false, "internal", "the request is no JSON object"}, Json::object());
  assay::host::Confinement c;
  std::string program, extension, entry;
  assay::host::Settings settings;
  int calls = 1;
  try {
    program = request.at("program").dump();
    extension = request.at("extension").get<std::string>();
    entry = request.at("entry").get<std::string>();
    c.work_dir = request.at("work_dir").get<std::string>();
    c.read_paths = request.at("read_paths").get<std::vector<std::string>>();
    c.memory_bytes = request.at("memory_bytes").get<uint64_t>();
    c.cpu_seconds = request.at("cpu_seconds").get<uint64_t>();
    settings.run = request.at("run").get<int>();
    calls = request.at("calls").get<int>();
    settings.amid = request.value("amid", false);
    settings.side = request.value("side", false);
  } catch (const std::exception& e) {
    report({false, "internal", std::string("the request: ") + e.what()}, Json::object());
  }
  Outcome started = Session::get().begin(program, settings);
  if (!started.ok) report(started, Json::object());
  watch_signals();
  on_exit(on_exit_by_host, nullptr);
  Json extra;
  extra["missing"] = assay::host::confine(c);
  Outcome o = run_extension(extension, entry);
  try {
    std::string unsupported = Session::get().unsupported_reason();
    if (!unsupported.empty()) o = {false, "unsupported", unsupported};
    extra["reads"] = Json::parse(Session::get().reads_json());
    extra["returned"] = Session::get().returned();
    if (settings.amid) extra["done"] = Json::parse(Session::get().done_json());
    std::string text;
    Outcome written = Session::get().program_json(&text);
    if (!written.ok && o.ok) o = written;
    if (written.ok) extra["program"] = Json::parse(text);
    if (o.ok && calls > 1) extra["later"] = call_again(entry, calls);
    report(o, std::move(extra));
  } catch (const std::exception& e) {
    report({false, "memory", std::string("while writing the recording: ") + e.what()},
           Json::object());
  }
}
