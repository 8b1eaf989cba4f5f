// Rates of the engine's inner loops on one CTA of a tiled GEMM, beside a plain loop timed in the
// same run. Items are warp instructions (machine, evaluators), multiply-adds of 32 lanes (rows,
// plain loop).
#include <benchmark/benchmark.h>

#include <fstream>
#include <sstream>

#include "machine/flow.h"
#include "machine/hazard.h"
#include "machine/run.h"
#include "ptx/module.h"
#include "term/field_domain.h"
#include "term/trace_eval.h"

namespace assay {
namespace {

std::string gemm_text() {
  std::ifstream in(ASSAY_SOURCE_DIR "/tests/perf/gemm.ptx");
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

struct Gemm {
  machine::Kernel kernel;
  machine::Launch launch;
  std::vector<machine::BufferEnv> env;
  std::vector<std::vector<uint8_t>> data;

  explicit Gemm(int k, bool with_data) {
    const int m = 64, n = 64;
    const uint64_t sizes[] = {uint64_t(m) * k * 4, uint64_t(k) * n * 4, uint64_t(m) * n * 4};
    launch.constants.grid = {2, 2, 1};
    launch.constants.block = {32, 32, 1};
    launch.constants.params.resize(36);
    for (int b = 0; b < 3; ++b) {
      machine::BufferEnv e;
      e.name = std::string(1, static_cast<char>('A' + b));
      e.address = uint64_t(b + 1) << 36;
      e.bytes = sizes[b];
      if (with_data) {
        data.emplace_back(sizes[b], 1);
        e.content = machine::BufferEnv::Content::Bytes;
        e.data = data.back().data();
      }
      std::memcpy(launch.constants.params.data() + 8 * b, &e.address, 8);
      env.push_back(e);
    }
    const int dims[] = {m, n, k};
    std::memcpy(launch.constants.params.data() + 24, dims, sizeof dims);
    launch.constants.num_buffers = 3;
    kernel = *machine::decode(*ptx::parse(gemm_text(), "gemm.ptx"), "gemm", launch.constants);
  }
  machine::CtaRange one() const { return {0, 1, {}}; }
};

void rate(benchmark::State& state, uint64_t items) {
  state.counters["items/s"] =
      benchmark::Counter(static_cast<double>(items), benchmark::Counter::kIsRate);
}

void PlainLoop(benchmark::State& state) {
  std::vector<float> a(4096, 1.5f), b(4096, 0.5f), c(4096, 0.f);
  uint64_t rows = 0;
  for (auto _ : state) {
    for (size_t i = 0; i < a.size(); ++i) c[i] += a[i] * b[i];
    benchmark::DoNotOptimize(c.data());
    benchmark::ClobberMemory();
    rows += a.size() / 32;
  }
  rate(state, rows);
}
BENCHMARK(PlainLoop);

void RowFma(benchmark::State& state) {
  const term::PrimePair pair(0);
  alignas(64) double a[32], b[32], c[32];
  for (int l = 0; l < 32; ++l)
    a[l] = term::to_element(term::mix64(l)), b[l] = term::to_element(term::mix64(l + 9)), c[l] = l;
  uint64_t rows = 0;
  for (auto _ : state) {
    term::row_fma(pair.p, a, b, c, c);
    benchmark::DoNotOptimize(c);
    ++rows;
  }
  rate(state, rows);
}
BENCHMARK(RowFma);

class NoObserver : public machine::Observer {};

void Skeleton(benchmark::State& state) {
  const Gemm g(static_cast<int>(state.range(0)), false);
  const machine::Kernel sliced = machine::slice(g.kernel, {});
  NoObserver none;
  uint64_t items = 0;
  for (auto _ : state)
    items += machine::run_skeleton(sliced, g.launch, g.env, g.one(), none)->warp_instructions;
  rate(state, items);
}
BENCHMARK(Skeleton)->Arg(1024)->Arg(8192);

class Tracking : public machine::Observer {
 public:
  explicit Tracking(machine::HazardTracker& t) : t_(t) {}
  void begin_cta(uint32_t cta, uint32_t bytes) override { t_.begin_cta(cta, bytes); }
  void end_cta(uint32_t cta) override { t_.end_cta(cta); }
  uint32_t access(const machine::WarpAccess& a) override { return t_.access(a); }
  void cta_barrier(uint32_t cta, uint32_t, bool) override { t_.cta_barrier(cta); }

 private:
  machine::HazardTracker& t_;
};

void SkeletonWithHazards(benchmark::State& state) {
  const Gemm g(static_cast<int>(state.range(0)), false);
  const machine::Kernel sliced = machine::slice(g.kernel, {});
  uint64_t items = 0;
  for (auto _ : state) {
    machine::HazardTracker tracker;
    for (const auto& e : g.env) {
      machine::BufferInfo info;
      info.name = e.name, info.base = e.address, info.bytes = e.bytes;
      tracker.add_buffer(info);
    }
    tracker.begin_launch();
    Tracking observer(tracker);
    items += machine::run_skeleton(sliced, g.launch, g.env, g.one(), observer)->warp_instructions;
  }
  rate(state, items);
}
BENCHMARK(SkeletonWithHazards)->Arg(1024);

void Concrete(benchmark::State& state) {
  const Gemm g(static_cast<int>(state.range(0)), true);
  uint64_t items = 0;
  for (auto _ : state)
    items += machine::run_concrete(g.kernel, g.launch, g.env, g.one())->warp_instructions;
  rate(state, items);
}
BENCHMARK(Concrete)->Arg(1024);

void Trace(benchmark::State& state) {
  const Gemm g(static_cast<int>(state.range(0)), false);
  uint64_t items = 0;
  for (auto _ : state)
    items += machine::run_trace(g.kernel, g.launch, g.env, g.one())->warp_instructions;
  rate(state, items);
}
BENCHMARK(Trace)->Arg(1024)->Arg(8192);

// Evaluation of a traced CTA, one prime pair; items: warp instructions of the traced CTA.
void Fingerprint(benchmark::State& state) {
  const Gemm g(1024, false);
  const machine::Trace trace = *machine::run_trace(g.kernel, g.launch, g.env, g.one());
  const term::Marks marks = term::mark(trace, [](int, int64_t) { return true; });
  const term::Snapper snapper({1024});
  uint64_t items = 0;
  for (auto _ : state) {
    term::FieldDomain::Settings settings;
    settings.with_exp = state.range(0) != 0;
    term::FieldDomain domain(settings, snapper);
    std::vector<term::Source> sources(3);
    for (size_t k = 0; k < 3; ++k)
      sources[k] = {term::Source::Kind::Symbol, Ty::F32, k + 1, nullptr, 0};
    term::Store<term::FieldDomain> store(domain, sources);
    term::TraceEval<term::FieldDomain>(domain, store).run(trace, marks);
    items += trace.warp_instructions;
  }
  rate(state, items);
}
BENCHMARK(Fingerprint)->Arg(0)->Arg(1);

}  // namespace
}  // namespace assay

BENCHMARK_MAIN();
