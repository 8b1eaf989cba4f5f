// Rates of the engine's inner loops on CTAs of a tiled GEMM, beside plain loops timed in the same
// run, and how they grow with K, the number of CTAs and the size of a CTA. Items are warp
// instructions (machine, evaluators) or multiply-adds of 32 lanes (rows, plain loops). Arguments:
// tile (threads of a CTA are its square), K, CTAs; evaluators: tile, K, whether exponent images are
// computed too.
#include <benchmark/benchmark.h>

#include <cstring>
#include <fstream>
#include <optional>
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

// C[8T, 8T] = A[8T, K] B[K, 8T] in tiles of T x T: 64 CTAs.
struct Gemm {
  machine::Kernel kernel;
  machine::Launch launch;
  std::vector<machine::BufferEnv> env;
  std::vector<std::vector<uint8_t>> data;
  machine::CtaRange ctas;

  Gemm(int tile, int k, int num_ctas, bool with_data) {
    const int m = 8 * tile, n = 8 * tile;
    const uint64_t sizes[] = {uint64_t(m) * k * 4, uint64_t(k) * n * 4, uint64_t(m) * n * 4};
    launch.constants.grid = {8, 8, 1};
    launch.constants.block = {uint32_t(tile), uint32_t(tile), 1};
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
    static const ptx::Module module = *ptx::parse(gemm_text(), "gemm.ptx");
    kernel = *machine::decode(module, "gemm" + std::to_string(tile), launch.constants);
    ctas = {0, static_cast<uint64_t>(num_ctas), {}};
  }
  explicit Gemm(const benchmark::State& state, bool with_data = false)
      : Gemm(static_cast<int>(state.range(0)), static_cast<int>(state.range(1)),
             static_cast<int>(state.range(2)), with_data) {}
};

// Along one axis at a time from the middle: tile 32, K 1024, one CTA.
void axes(benchmark::internal::Benchmark* b) {
  b->ArgNames({"tile", "K", "CTAs"});
  for (int k : {256, 1024, 4096, 16384}) b->Args({32, k, 1});
  for (int ctas : {4, 16, 64}) b->Args({32, 1024, ctas});
  for (int tile : {8, 16}) b->Args({tile, 1024, 1});
}

void middle(benchmark::internal::Benchmark* b) {
  b->ArgNames({"tile", "K", "CTAs"})->Args({32, 1024, 1});
}

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

class Tracking : public machine::Observer {
 public:
  explicit Tracking(const std::vector<machine::BufferEnv>& env) {
    for (const auto& e : env) {
      machine::BufferInfo info;
      info.name = e.name, info.base = e.address, info.bytes = e.bytes;
      tracker_.add_buffer(info);
    }
    tracker_.begin_launch();
  }
  void begin_cta(uint32_t cta, uint32_t bytes) override { tracker_.begin_cta(cta, bytes); }
  void end_cta(uint32_t cta) override { tracker_.end_cta(cta); }
  uint32_t access(const machine::WarpAccess& a) override { return tracker_.access(a); }
  void cta_barrier(uint32_t cta, uint32_t, bool) override { tracker_.cta_barrier(cta); }

 private:
  machine::HazardTracker tracker_;
};

void Skeleton(benchmark::State& state) {
  const Gemm g(state);
  const machine::Kernel sliced = machine::slice(g.kernel, {});
  NoObserver none;
  uint64_t items = 0;
  for (auto _ : state)
    items += machine::run_skeleton(sliced, g.launch, g.env, g.ctas, none)->warp_instructions;
  rate(state, items);
}
BENCHMARK(Skeleton)->Apply(axes);

void SkeletonWithHazards(benchmark::State& state) {
  const Gemm g(state);
  const machine::Kernel sliced = machine::slice(g.kernel, {});
  uint64_t items = 0;
  for (auto _ : state) {
    Tracking observer(g.env);
    items += machine::run_skeleton(sliced, g.launch, g.env, g.ctas, observer)->warp_instructions;
  }
  rate(state, items);
}
BENCHMARK(SkeletonWithHazards)->Apply(axes);

void concrete(benchmark::State& state, bool hazards) {
  const Gemm g(state, true);
  uint64_t items = 0;
  for (auto _ : state) {
    std::optional<Tracking> observer;
    if (hazards) observer.emplace(g.env);
    items +=
        machine::run_concrete(g.kernel, g.launch, g.env, g.ctas, observer ? &*observer : nullptr)
            ->warp_instructions;
  }
  rate(state, items);
}
void Concrete(benchmark::State& state) { concrete(state, false); }
void ConcreteWithHazards(benchmark::State& state) { concrete(state, true); }
BENCHMARK(Concrete)->Apply(axes);
BENCHMARK(ConcreteWithHazards)->Apply(middle);

void trace(benchmark::State& state, bool hazards) {
  const Gemm g(state);
  uint64_t items = 0;
  for (auto _ : state) {
    std::optional<Tracking> observer;
    if (hazards) observer.emplace(g.env);
    items += machine::run_trace(g.kernel, g.launch, g.env, g.ctas, observer ? &*observer : nullptr)
                 ->warp_instructions;
  }
  rate(state, items);
}
void Trace(benchmark::State& state) { trace(state, false); }
void TraceWithHazards(benchmark::State& state) { trace(state, true); }
BENCHMARK(Trace)->Apply(axes);
BENCHMARK(TraceWithHazards)->Apply(middle);

// Evaluation of one traced CTA, one prime pair; items: warp instructions of the traced CTA.
void Fingerprint(benchmark::State& state) {
  const Gemm g(static_cast<int>(state.range(0)), static_cast<int>(state.range(1)), 1, false);
  const machine::Trace trace = *machine::run_trace(g.kernel, g.launch, g.env, g.ctas);
  const term::Marks marks = term::mark(trace, [](int, int64_t) { return true; });
  const term::Snapper snapper({1024});
  uint64_t items = 0;
  for (auto _ : state) {
    term::FieldDomain::Settings settings;
    settings.with_exp = state.range(2) != 0;
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
BENCHMARK(Fingerprint)
    ->ArgNames({"tile", "K", "exp"})
    ->Args({32, 256, 0})
    ->Args({32, 1024, 0})
    ->Args({32, 4096, 0})
    ->Args({8, 1024, 0})
    ->Args({16, 1024, 0})
    ->Args({32, 1024, 1});

}  // namespace
}  // namespace assay

BENCHMARK_MAIN();
