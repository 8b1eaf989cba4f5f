// Random programs against an oracle that has a vector clock for each thread.
#include <map>
#include <random>
#include <set>
#include <vector>

#include "tests/unit/machine/hazard_test_util.h"

namespace assay::machine {
namespace {

// Random programs against an oracle with a vector clock for each thread: the words on which the
// tracker reports a race are those on which two unordered accesses conflict.
class Oracle {
 public:
  static constexpr uint32_t kWarps = 3, kThreads = 2 * kWarps * 32;  // two CTAs
  using Clock = std::array<uint32_t, kThreads>;
  Oracle() : known_(kThreads, Clock{}) { now_.fill(1); }

  void access(uint32_t thread, uint32_t word, AccessKind kind) {
    for (const Past& p : past_[word]) {
      const bool conflict = (p.kind != AccessKind::Read || kind != AccessKind::Read) &&
                            !(p.kind == AccessKind::Atomic && kind == AccessKind::Atomic);
      if (conflict && p.thread != thread && p.time > known_[thread][p.thread]) racy_.insert(word);
    }
    past_[word].push_back({thread, now_[thread], kind});
  }
  void join(const std::vector<uint32_t>& threads) {
    Clock c = release(threads);
    for (uint32_t t : threads) known_[t] = c;
  }
  // What `threads` know and have done; they go on to a new time.
  Clock release(const std::vector<uint32_t>& threads) {
    Clock c{};
    for (uint32_t t : threads) {
      for (uint32_t i = 0; i < kThreads; ++i) c[i] = std::max(c[i], known_[t][i]);
    }
    for (uint32_t t : threads) c[t] = now_[t]++;
    return c;
  }
  void acquire(const std::vector<uint32_t>& threads, const Clock& c) {
    for (uint32_t t : threads) {
      for (uint32_t i = 0; i < kThreads; ++i) known_[t][i] = std::max(known_[t][i], c[i]);
    }
  }
  const std::set<uint32_t>& racy() const { return racy_; }

 private:
  struct Past {
    uint32_t thread, time;
    AccessKind kind;
  };
  std::vector<Clock> known_;
  Clock now_{};
  std::map<uint32_t, std::vector<Past>> past_;
  std::set<uint32_t> racy_;
};

std::vector<uint32_t> threads_of(uint32_t cta, uint32_t warps, uint32_t lanes = kAll) {
  std::vector<uint32_t> v;
  for (uint32_t w = 0; w < Oracle::kWarps; ++w) {
    for (uint32_t l = 0; l < 32; ++l) {
      if (((warps >> w) & 1) != 0 && ((lanes >> l) & 1) != 0) {
        v.push_back((cta * Oracle::kWarps + w) * 32 + l);
      }
    }
  }
  return v;
}

TEST(HazardOracleTest, RandomPrograms) {
  size_t racy_words = 0, clean_words = 0, spurious = 0;
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    std::mt19937 rng(seed);
    HazardTracker t(1 << 24, 1 << 20);
    t.add_buffer({"x", kBase, 4096, true, true});
    t.begin_launch();
    t.begin_cta(0, 0);
    t.begin_cta(1, 0);
    Oracle oracle;
    SyncClock clock;
    Oracle::Clock oracle_clock{};
    const bool dense = seed % 4 == 1;  // one warp, few words, many synchronisations
    const uint32_t ctas = seed % 3 == 0 ? 2 : 1, syncs = dense ? 3 : 5 + seed % 20;
    const bool named = seed % 2 == 0, flags = seed % 5 == 0, partial = seed % 7 < 3;
    std::set<uint32_t> touched;
    for (uint32_t step = 0; step < 60; ++step) {
      const uint32_t cta = rng() % ctas, warp = dense ? 0 : rng() % Oracle::kWarps;
      const uint32_t what = rng() % (syncs * 4);
      if (what == 0) {
        t.cta_barrier(cta);
        oracle.join(threads_of(cta, 7));
      } else if (what == 1 && named) {
        const uint32_t warps = 1 + rng() % 7;
        t.warp_barrier(cta, warps);
        oracle.join(threads_of(cta, warps));
      } else if (what == 2 || what == 3) {
        const uint32_t lanes = partial || dense ? rng() | 1 : kAll;
        t.warp_sync(cta, warp, lanes, kAll);
        oracle.join(threads_of(cta, 1u << warp, lanes));
      } else if (what == 4 && flags) {
        t.release(cta, warp, &clock);
        const Oracle::Clock c = oracle.release(threads_of(cta, 1u << warp));
        for (uint32_t i = 0; i < Oracle::kThreads; ++i) {
          oracle_clock[i] = std::max(oracle_clock[i], c[i]);
        }
      } else if (what == 5 && flags) {
        t.acquire(cta, warp, clock);
        oracle.acquire(threads_of(cta, 1u << warp), oracle_clock);
      } else {
        const uint32_t kind = rng() % 8;
        WarpAccess a;
        a.kind = kind < 5 ? AccessKind::Read : kind < 7 ? AccessKind::Write : AccessKind::Atomic;
        a.cta = cta;
        a.warp = static_cast<uint8_t>(warp);
        a.pc = step;
        // At most 4 lanes, so that no example is dropped; a common pattern of addresses.
        a.mask = 0xfu << (rng() % (dense ? 5 : 29));
        const uint32_t start = rng() % (dense ? 4 : 24),
                       scale = a.kind == AccessKind::Write ? 1 : rng() % 2;
        std::array<uint64_t, 32> addr{};
        for (uint32_t l = 0; l < 32; ++l) {
          const uint32_t word = start + l % 4 * scale;
          addr[l] = kBase + word * 4;
          if (((a.mask >> l) & 1) == 0) continue;
          touched.insert(word);
          oracle.access((cta * Oracle::kWarps + warp) * 32 + l, word, a.kind);
        }
        a.addr = addr.data();
        EXPECT_EQ(t.access(a), a.mask);
      }
    }
    std::set<uint32_t> reported;
    for (const Hazard& h : t.hazards()) {
      for (const HazardExample& e : h.examples)
        reported.insert(static_cast<uint32_t>(e.offset / 4));
    }
    // Never a race missed. Under partial orders a set of readers has one time for all of them, so a
    // race may be seen too many (35 words in 60000 such programs).
    ASSERT_TRUE(
        std::includes(reported.begin(), reported.end(), oracle.racy().begin(), oracle.racy().end()))
        << "seed " << seed;
    if (!named && !flags && !partial && !dense) {
      ASSERT_EQ(reported, oracle.racy()) << "seed " << seed;
    }
    spurious += reported.size() - oracle.racy().size();
    racy_words += reported.size();
    clean_words += touched.size() - reported.size();
  }
  EXPECT_LE(spurious, 5u);
  EXPECT_GT(racy_words, 10000u);
  EXPECT_GT(clean_words, 8000u);
}

}  // namespace
}  // namespace assay::machine
