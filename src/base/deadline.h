#pragma once
// The time at which the work at hand is given up. One a process; long evaluations ask now and then.
#include <atomic>
#include <chrono>
#include <cstdint>

namespace assay {

// Thrown by evaluators past the deadline, so that no half-made value is ever taken for a result;
// caught by the check of a shape. The only exception that crosses folders.
struct Late {};

class Deadline {
 public:
  using Clock = std::chrono::steady_clock;
  explicit Deadline(Clock::time_point at) : outer_(now_at()) { store(at); }
  ~Deadline() { at_ = outer_; }
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

  static bool passed() { return Clock::now().time_since_epoch().count() > at_; }

 private:
  static int64_t now_at() { return at_; }
  static void store(Clock::time_point at) { at_ = at.time_since_epoch().count(); }
  static inline std::atomic<int64_t> at_{INT64_MAX};
  int64_t outer_;
};

// Asks every 1024th call.
class DeadlineCheck {
 public:
  void operator()() {
    if ((++calls_ & 1023) == 0 && Deadline::passed()) throw Late{};
  }

 private:
  uint32_t calls_ = 0;
};

}  // namespace assay
