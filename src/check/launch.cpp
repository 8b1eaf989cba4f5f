#include "check/launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <tuple>

#include "base/deadline.h"
#include "check/known.h"
#include "machine/affine.h"
#include "machine/flow.h"
#include "machine/run.h"
#include "ptx/module.h"

namespace assay::check {

using machine::BufferEnv;
using machine::Kernel;
using program::Buffer;
using program::LaunchStep;
using program::Program;

namespace {

constexpr size_t kHazardCtas = 1024;
// Warp instructions: of the CTAs that are looked at for endless loops, of those that are looked at
// for hazards, and of those that are traced (about 8 bytes each).
constexpr uint64_t kEndlessLimit = 20'000'000;
constexpr uint64_t kHazardLimit = 4'000'000'000;
constexpr uint64_t kTraceLimit = 500'000'000;
// Lanes out of bounds: they refute, whatever the rest of the launch does.
constexpr uint64_t kEnoughFaults = 1'000'000;

// Parsed modules by text: launches of one kernel, and both sides, share them.
Result<std::shared_ptr<const ptx::Module>> parse_cached(const std::string& text,
                                                        const std::string& name) {
  static std::mutex lock;
  static std::map<size_t, std::pair<std::string, std::shared_ptr<const ptx::Module>>> cache;
  const std::lock_guard<std::mutex> hold(lock);
  const size_t key = std::hash<std::string>{}(text);
  auto it = cache.find(key);
  if (it != cache.end() && it->second.first == text) return it->second.second;
  ASSAY_TRY(ptx::Module module, ptx::parse(text, name));
  auto shared = std::make_shared<const ptx::Module>(std::move(module));
  cache[key] = {text, shared};
  return std::shared_ptr<const ptx::Module>(shared);
}

class Launcher : public PreparedLaunch {
 public:
  Launcher(const Program& p, size_t step)
      : program_(p), step_(step), launch_(std::get<LaunchStep>(p.steps[step].what)) {}

  Status init() {
    if (launch_.module < 0 || static_cast<size_t>(launch_.module) >= program_.modules.size())
      return fail(DiagKind::Invalid, "launch of a module that does not exist");
    const program::Module& m = program_.modules[static_cast<size_t>(launch_.module)];
    const std::vector<uint64_t> addresses = program::device_addresses(program_);
    ASSAY_TRY(const_symbols_, constants_of(m));
    by_host_ = host_written(program_, step_);
    env_.reserve(program_.buffers.size());
    for (size_t b = 0; b < program_.buffers.size(); ++b)
      env_.push_back(environment(b, addresses[b]));
    for (const BufferEnv& e : env_)
      if (e.address + e.bytes > machine::kSharedWindow)
        return fail(DiagKind::Unsupported, "the buffers of a launch do not fit into 256 TiB");
    spec_.constants.grid = launch_.grid;
    spec_.constants.block = launch_.block;
    spec_.constants.cluster = launch_.cluster;
    spec_.constants.dynamic_shared = launch_.dynamic_smem;
    spec_.cooperative = launch_.cooperative;
    spec_.constants.num_buffers = static_cast<int>(env_.size());
    fill_params();
    for (const auto& [name, buffer] : m.symbols)
      spec_.constants.symbols.push_back({name, buffer, env_[static_cast<size_t>(buffer)].address});
    spec_.constants.functions = m.functions;
    ASSAY_TRY(real_, decode_one(m.real_ptx.empty() ? m.semantic_ptx : m.real_ptx, m.name));
    if (m.semantic_ptx.empty()) {
      semantic_ = real_;
    } else {
      ASSAY_TRY(semantic_, decode_one(m.semantic_ptx, m.name));
    }
    return {};
  }

  Result<std::optional<Endless>> endless() override;
  uint64_t warp_instructions() const override {
    machine::Launch spec = spec_;
    spec.step_limit = 2'000'000;
    machine::CtaRange range;
    range.count = 1;
    machine::Observer nobody;
    const Kernel sliced = machine::slice(real_, {});
    const auto stats = machine::run_skeleton(sliced, spec, env_, range, nobody);
    return stats ? stats->warp_instructions : spec.step_limit;
  }
  Result<const Coverage*> coverage() override {
    ASSAY_CHECK(cover());
    return &writers_->coverage();
  }
  Result<uint32_t> writer(int buffer, int64_t element) override {
    ASSAY_CHECK(cover());
    return writers_->find(buffer, element);
  }
  Result<tensor::ElemSet> written_by(int buffer, uint64_t cta) override {
    ASSAY_CHECK(cover());
    return writers_->written_by(buffer, cta);
  }
  Result<bool> any_writes(int buffer, const std::vector<int64_t>& elements) override {
    ASSAY_CHECK(cover());
    return writers_->any_writes(buffer, elements);
  }
  Result<std::shared_ptr<const machine::Trace>> trace(const std::vector<uint32_t>& ctas,
                                                      bool descending) override {
    // A trace of a few CTAs more costs less than making one anew.
    if (last_.trace && last_.descending == descending && last_.ctas.size() <= 4 * ctas.size() &&
        std::includes(last_.ctas.begin(), last_.ctas.end(), ctas.begin(), ctas.end()))
      return last_.trace;
    last_ = {};  // memory
    machine::CtaRange range;
    range.list.assign(ctas.begin(), ctas.end());
    machine::Launch spec = spec_;
    spec.step_limit = kTraceLimit;
    spec.descending = descending;
    if (descending) std::reverse(range.list.begin(), range.list.end());
    ASSAY_TRY(machine::Trace made, machine::run_trace(semantic_, spec, env_, range));
    ASSAY_CHECK(lookups_read_only(made));
    note_traps(made);
    last_ = {ctas, descending, std::make_shared<const machine::Trace>(std::move(made))};
    return last_.trace;
  }
  Result<uint64_t> cta_cost() override {
    if (cta_cost_ == 0) {
      ASSAY_TRY(const machine::Trace made, trace_one(static_cast<uint32_t>(num_ctas() / 2)));
      cta_cost_ = std::max<uint64_t>(1, made.warp_instructions);
    }
    return cta_cost_;
  }
  Result<machine::Trace> trace_one(uint32_t cta) const override {
    machine::CtaRange range;
    range.list = {cta};
    machine::Launch spec = spec_;
    spec.step_limit = kTraceLimit;
    auto made = machine::run_trace(semantic_, spec, env_, range);
    if (made) note_traps(*made);
    return made;
  }
  std::array<uint32_t, 3> grid() const override { return spec_.constants.grid; }
  Result<uint64_t> ctas_alike(uint32_t first, uint32_t axis, uint64_t count) const override {
    machine::Launch spec = spec_;
    spec.step_limit = kTraceLimit;
    return machine::ctas_alike(semantic_, spec, env_, first, axis, count);
  }
  TrapSites traps() const override {
    const std::lock_guard<std::mutex> hold(traps_lock_);
    return traps_;
  }
  Status hazards(const std::vector<uint32_t>& ctas, std::vector<Finding>& findings,
                 std::vector<LocationResult>& refutations) override;
  Status run_real(const std::vector<uint32_t>& ctas, const std::vector<uint8_t*>& data) override {
    std::vector<BufferEnv> env = env_;
    for (size_t b = 0; b < env.size(); ++b) {
      env[b].content = BufferEnv::Content::Bytes;
      env[b].data = data[b];
    }
    machine::CtaRange range;
    range.list.assign(ctas.begin(), ctas.end());
    if (!spec_.constants.symbolic.empty()) return run_with_scalars(env, range, data);
    auto stats = machine::run_concrete(real_, spec_, env, range);
    if (!stats) return tl::unexpected<Diag>(stats.error());
    return {};
  }
  uint64_t num_ctas() const override {
    return uint64_t{launch_.grid[0]} * launch_.grid[1] * launch_.grid[2];
  }
  SrcLoc source(uint32_t pc) const override { return semantic_.source(pc); }
  SrcLoc real_source(uint32_t pc) const override { return real_.source(pc); }
  bool has_exp() const override {
    for (const machine::MicroOp& op : semantic_.ops) {
      switch (op.fn) {
        case Fn::Exp:
        case Fn::Exp2:
        case Fn::Exp10:
        case Fn::Expm1:
        case Fn::Tanh:
        case Fn::Sinh:
        case Fn::Cosh:
        case Fn::Log:
        case Fn::Log2:
        case Fn::Log10:
        case Fn::Log1p:
          return true;
        default:
          break;
      }
    }
    return false;
  }

 private:
  // Buffers of module variables in constant memory, which kernels do not write.
  static Result<std::set<int>> constants_of(const program::Module& m) {
    std::set<int> out;
    if (m.symbols.empty()) return out;
    ASSAY_TRY(const auto module,
              parse_cached(m.real_ptx.empty() ? m.semantic_ptx : m.real_ptx, m.name));
    for (const auto& [name, buffer] : m.symbols)
      for (const ptx::Variable& v : module->variables)
        if (v.name == name && v.space == ptx::Space::Const) out.insert(buffer);
    return out;
  }
  BufferEnv environment(size_t index, uint64_t address) {
    const Buffer& b = program_.buffers[index];
    BufferEnv e;
    e.name = b.name.empty() ? fmt::format("buffer {}", index) : b.name;
    e.address = address;
    e.bytes = b.bytes;
    e.type = program::dtype_ty(b.dtype);
    e.content = BufferEnv::Content::Symbolic;
    const auto id = static_cast<int>(index);
    if (b.init == program::Init::Data && b.role == program::Role::Constant &&
        !written_before(program_, id, step_, const_symbols_)) {
      e.content = BufferEnv::Content::Bytes;
      e.data = const_cast<uint8_t*>(b.data.data());
    } else if (b.init == program::Init::Zero || b.init == program::Init::Data ||
               by_host_.count(id) != 0) {
      auto bytes = known_contents(program_, id, step_, const_symbols_);
      if (!bytes) return e;
      known_.push_back(std::move(*bytes));
      e.content = BufferEnv::Content::Bytes;
      e.data = known_.back().data();
    }
    return e;
  }
  // What copies and fills of the host write before the launch; nothing else begins to be known.
  static std::set<int> host_written(const Program& p, size_t step) {
    std::set<int> out;
    for (size_t s = 0; s < step; ++s) {
      if (const auto* c = std::get_if<program::CopyStep>(&p.steps[s].what)) out.insert(c->dst);
      if (const auto* f = std::get_if<program::FillStep>(&p.steps[s].what)) out.insert(f->dst);
    }
    return out;
  }
  void fill_params() {
    auto& params = spec_.constants.params;
    params = launch_.params;
    for (const program::ParamSlot& s : launch_.slots) {
      if (params.size() < s.offset + s.size) params.resize(s.offset + s.size);
      if (s.kind == program::ParamSlot::Kind::Pointer) {
        const uint64_t address = s.buffer < 0 ? 0
                                              : env_[static_cast<size_t>(s.buffer)].address +
                                                    static_cast<uint64_t>(s.addend);
        std::memcpy(params.data() + s.offset, &address, std::min<size_t>(8, s.size));
      } else if (s.scalar >= 0) {
        const auto& scalar = program_.scalars[static_cast<size_t>(s.scalar)];
        spec_.constants.symbolic.push_back({s.offset, s.size, scalar.buffer, scalar.element});
      }
    }
  }
  Result<Kernel> decode_one(const std::string& text, const std::string& name) {
    ASSAY_TRY(const auto module, parse_cached(text, name));
    std::vector<Diag> all;
    auto kernel = machine::decode(*module, launch_.kernel, spec_.constants, &all);
    if (kernel)
      for (SrcLoc& loc : kernel->locs)
        if (loc.file.empty() && loc.line != 0) loc.file = name;
    return kernel;
  }
  Status run_with_scalars(const std::vector<BufferEnv>& env, const machine::CtaRange& range,
                          const std::vector<uint8_t*>& data);
  Status cover();
  void declare_buffers(machine::HazardTracker& tracker, const std::set<int>& tracked) const;
  // A load at a data-dependent address may read any element of its buffer: if the launch writes
  // that buffer, no order between the two is known.
  void note_traps(const machine::Trace& trace) const {
    const std::lock_guard<std::mutex> hold(traps_lock_);
    add_traps(trace, traps_);
  }
  Status lookups_read_only(const machine::Trace& trace) {
    if (trace.lookups.empty()) return {};
    ASSAY_TRY(const Coverage* all, coverage());
    for (const machine::LookupPayload& load : trace.lookups) {
      const auto same = [&](const auto& out) { return out.buffer == load.buffer; };
      const auto cover = all->buffers.find(load.buffer);
      if ((cover == all->buffers.end() || cover->second.elements == 0) &&
          std::none_of(trace.stores.begin(), trace.stores.end(), same) &&
          std::none_of(trace.atoms.begin(), trace.atoms.end(), same) &&
          std::none_of(trace.indexed.begin(), trace.indexed.end(), same))
        continue;
      return fail(DiagKind::Unsupported,
                  "load at a data-dependent address from memory that the launch writes");
    }
    return {};
  }
  void report_hazards(const std::vector<machine::Hazard>& hazards, std::vector<Finding>& findings,
                      std::vector<LocationResult>& results) const;
  std::string hazard_text(const machine::Hazard& h) const;

  const Program& program_;
  size_t step_;
  uint64_t cta_cost_ = 0;
  mutable std::mutex traps_lock_;
  mutable TrapSites traps_;
  const LaunchStep& launch_;
  std::vector<BufferEnv> env_;
  std::set<int> const_symbols_;
  std::set<int> by_host_;
  std::deque<std::vector<uint8_t>> known_;  // contents that env_ points to
  machine::Launch spec_;
  Kernel real_, semantic_;
  Kernel stores_;  // the slice that writers_ runs
  std::unique_ptr<Writers> writers_;
  struct {
    std::vector<uint32_t> ctas;  // ascending
    bool descending = false;
    std::shared_ptr<const machine::Trace> trace;
  } last_;
};

class EndlessObserver : public machine::Observer {
 public:
  void endless(uint32_t cta, uint32_t warp, uint32_t pc) override { found = {cta, warp, pc}; }
  std::optional<std::array<uint32_t, 3>> found;
};

Result<std::optional<Endless>> Launcher::endless() {
  machine::SliceOptions options;
  options.global_loads = options.shared = options.sync = false;
  options.loops = true;
  const Kernel sliced = machine::slice(real_, options);
  machine::Launch spec = spec_;
  spec.step_limit = kEndlessLimit;
  const uint64_t n = num_ctas();
  std::set<uint64_t> some;
  for (uint64_t k = 0; k <= 8; ++k) some.insert(k * (n - 1) / 8);
  machine::CtaRange range;
  range.list.assign(some.begin(), some.end());
  EndlessObserver observer;
  auto stats = machine::run_skeleton(sliced, spec, env_, range, observer);
  if (observer.found) {
    const auto [cta, warp, pc] = *observer.found;
    return Endless{cta, warp, real_.source(pc)};
  }
  if (!stats && stats.error().kind != DiagKind::Limit) return tl::unexpected<Diag>(stats.error());
  return std::nullopt;
}

// Symbolic scalars take their values from `data`: the parameter block is another, and so is the
// kernel.
Status Launcher::run_with_scalars(const std::vector<BufferEnv>& env, const machine::CtaRange& range,
                                  const std::vector<uint8_t*>& data) {
  machine::Launch spec = spec_;
  for (const machine::SymbolicParam& s : spec.constants.symbolic)
    std::memcpy(spec.constants.params.data() + s.offset,
                data[static_cast<size_t>(s.buffer)] + s.element * s.size, s.size);
  spec.constants.symbolic.clear();
  const program::Module& m = program_.modules[static_cast<size_t>(launch_.module)];
  const std::string& text = m.real_ptx.empty() ? m.semantic_ptx : m.real_ptx;
  ASSAY_TRY(const auto module, parse_cached(text, m.name));
  ASSAY_TRY(const Kernel kernel, machine::decode(*module, launch_.kernel, spec.constants));
  auto stats = machine::run_concrete(kernel, spec, env, range);
  if (!stats) return tl::unexpected<Diag>(stats.error());
  return {};
}

Status Launcher::cover() {
  if (writers_) return {};
  machine::SliceOptions only_stores;
  only_stores.global_loads = only_stores.shared = only_stores.sync = false;
  stores_ = machine::slice(real_, only_stores);
  auto writers = std::make_unique<Writers>(stores_, spec_, env_);
  ASSAY_CHECK(writers->run());
  writers_ = std::move(writers);
  return {};
}

// Feeds the tracker.
class HazardObserver : public machine::Observer {
 public:
  explicit HazardObserver(machine::HazardTracker& tracker) : tracker_(tracker) {}
  void begin_cta(uint32_t cta, uint32_t shared_bytes) override {
    shared_bytes_ = shared_bytes;
    tracker_.begin_cta(cta, shared_bytes);
  }
  void end_cta(uint32_t cta) override { tracker_.end_cta(cta); }
  uint32_t access(const machine::WarpAccess& a) override { return tracker_.access(a); }
  // What may happen races like what does. An unknown address of shared memory may be any of its
  // cells; one of global memory is left to the trace, which knows the buffer (Launcher::trace).
  void unknown_access(const machine::WarpAccess& a, bool) override {
    machine::WarpAccess may = a;
    may.maybe = true;
    if (a.addr != nullptr) {
      tracker_.access(may);
      return;
    }
    if (a.space != machine::MemSpace::Shared || a.bytes == 0) return;
    may.anywhere = true;
    uint64_t addr[32];
    may.addr = addr;
    // Past the deadline the run itself ends at its next look at the time.
    for (uint64_t at = 0; at + a.bytes <= shared_bytes_ && !Deadline::passed(); at += a.bytes) {
      std::fill_n(addr, 32, at);
      tracker_.access(may);
    }
  }
  void cta_barrier(uint32_t cta, uint32_t warp_mask, bool whole) override {
    if (whole)
      tracker_.cta_barrier(cta);
    else
      tracker_.warp_barrier(cta, warp_mask);
  }
  void warp_sync(uint32_t cta, uint32_t warp, uint32_t members, uint32_t live) override {
    tracker_.warp_sync(cta, warp, members, live);
  }
  void reconverge(uint32_t cta, uint32_t warp, uint32_t mask) override {
    tracker_.converged(cta, warp, mask);
  }
  void barrier_mismatch(uint32_t, uint32_t pc, uint32_t other) override {
    mismatches.push_back({pc, other});
  }
  bool has_enough() const override { return tracker_.faults() > kEnoughFaults; }
  std::vector<std::pair<uint32_t, uint32_t>> mismatches;

 private:
  machine::HazardTracker& tracker_;
  uint32_t shared_bytes_ = 0;
};

LocationResult refutation(const char* cls, std::string reason, SrcLoc loc) {
  LocationResult r;
  r.kind = VerdictKind::Refuted;
  r.cls = cls;
  r.reason = std::move(reason);
  r.loc = std::move(loc);
  return r;
}

const char* access_name(machine::AccessKind kind) {
  return kind == machine::AccessKind::Read    ? "read"
         : kind == machine::AccessKind::Write ? "write"
                                              : "atomic";
}

// One hazard in the words of the source: lines instead of program counters.
std::string Launcher::hazard_text(const machine::Hazard& h) const {
  const std::string where = h.space == machine::MemSpace::Shared ? "shared memory"
                            : h.buffer.empty()                   ? "global memory"
                                                                 : h.buffer;
  const SrcLoc first = real_.source(h.first_pc), second = real_.source(h.second_pc);
  std::string text = machine::hazard_kind_name(h.kind);
  using Kind = machine::HazardKind;
  if (h.kind == Kind::OutOfBounds || h.kind == Kind::Misaligned ||
      h.kind == Kind::UninitialisedRead) {
    text += fmt::format(": {} at line {} in {}", access_name(h.second_kind), second.line, where);
    if (!h.examples.empty() && h.extent != 0)
      text += fmt::format(", byte {} of {}", h.examples[0].offset, h.extent);
  } else {
    text += fmt::format(": {} at line {} and {} at line {} in {}", access_name(h.first_kind),
                        first.line, access_name(h.second_kind), second.line, where);
  }
  if (!h.examples.empty()) {
    const auto& e = h.examples[0];
    text += fmt::format(" (CTA {}, thread {}{})", e.second.cta, e.second.thread,
                        h.kind == Kind::OutOfBounds
                            ? ""
                            : fmt::format("; CTA {}, thread {}", e.first.cta, e.first.thread));
  }
  return text;
}

// One result or finding for each kind and pair of lines.
void Launcher::report_hazards(const std::vector<machine::Hazard>& hazards,
                              std::vector<Finding>& findings,
                              std::vector<LocationResult>& results) const {
  using Kind = machine::HazardKind;
  std::map<std::tuple<Kind, uint32_t, uint32_t>, LocationResult*> seen;
  std::deque<LocationResult> merged;
  for (const machine::Hazard& h : hazards) {
    const SrcLoc first = real_.source(h.first_pc), loc = real_.source(h.second_pc);
    const bool fault = h.kind == Kind::OutOfBounds || h.kind == Kind::Misaligned;
    const bool idiom = h.kind == Kind::RacyIdiom, uninit = h.kind == Kind::UninitialisedRead;
    const Kind group = fault || idiom || uninit ? h.kind : Kind::ReadWriteRace;
    auto [it, fresh] = seen.try_emplace(
        {group, std::min(first.line, loc.line), std::max(first.line, loc.line)}, nullptr);
    if (!fresh) {
      if (it->second != nullptr) it->second->count += h.count;
      continue;
    }
    if (idiom || uninit) {
      findings.push_back(
          {idiom ? "racy-idiom" : "uninitialised", Severity::Medium, hazard_text(h), loc});
      continue;
    }
    merged.push_back(refutation(fault ? "out-of-bounds" : "race", hazard_text(h), loc));
    if (fault) {
      merged.back().witness.emplace();
      merged.back().witness->replayed = true;
      merged.back().witness->replay = "the addresses of the checked CTAs";
    } else {
      merged.back().kind = VerdictKind::Unknown;  // a race forbids Proved; decided by schedules
    }
    merged.back().count = h.count;
    it->second = &merged.back();
  }
  for (LocationResult& r : merged) results.push_back(std::move(r));
}

// Reads of buffers that the launch does not write cannot race: they are tracked only if it turns
// out that it does.
Status Launcher::hazards(const std::vector<uint32_t>& ctas, std::vector<Finding>& findings,
                         std::vector<LocationResult>& refutations) {
  machine::CtaRange range;
  range.list.assign(ctas.begin(), ctas.end());
  if (range.list.size() > kHazardCtas) {
    findings.push_back(
        {"note",
         Severity::Low,
         fmt::format("races were looked for in {} of the {} CTAs of the checked locations",
                     kHazardCtas, range.list.size()),
         {}});
    range.list.resize(kHazardCtas);
  }
  const Kernel sliced = machine::slice(real_, {});
  machine::Launch spec = spec_;
  spec.step_limit = kHazardLimit;
  std::set<int> tracked;
  if (writers_)
    for (const auto& entry : writers_->coverage().buffers) tracked.insert(entry.first);
  for (bool again = true; again;) {
    machine::HazardTracker tracker;
    declare_buffers(tracker, tracked);
    tracker.begin_launch();
    HazardObserver observer(tracker);
    auto stats = machine::run_skeleton(sliced, spec, env_, range, observer);
    if (!stats) {
      if (stats.error().kind != DiagKind::Limit) return tl::unexpected<Diag>(stats.error());
      report_hazards(tracker.hazards(), findings, refutations);  // what was seen until then
      if (observer.has_enough()) return {};
      const bool stuck = stats.error().message.rfind("deadlock", 0) == 0;
      refutations.push_back(
          refutation(stuck ? "deadlock" : "limit", stats.error().message, stats.error().loc));
      refutations.back().kind = VerdictKind::Unknown;
      return {};
    }
    const std::vector<int> missed = tracker.untracked_conflicts();
    again = false;
    for (int b : missed) again = tracked.insert(b).second || again;
    if (again) continue;
    if (tracker.saturated() || !missed.empty()) {
      refutations.push_back(refutation(
          "limit", "the accesses of this launch are too many to look for races in all", {}));
      refutations.back().kind = VerdictKind::Unknown;
    }
    report_hazards(tracker.hazards(), findings, refutations);
    for (const auto& [pc, other] : observer.mismatches)
      findings.push_back(
          {"barrier-mismatch", Severity::High,
           fmt::format("threads of one CTA meet at different barriers (line {} and line {})",
                       real_.source(pc).line, real_.source(other).line),
           real_.source(pc)});
  }
  return {};
}

void Launcher::declare_buffers(machine::HazardTracker& tracker,
                               const std::set<int>& tracked) const {
  for (size_t b = 0; b < env_.size(); ++b) {
    machine::BufferInfo info;
    info.name = env_[b].name;
    info.base = env_[b].address;
    info.bytes = env_[b].bytes;
    info.track_reads = tracked.count(static_cast<int>(b)) != 0;
    const bool written = written_before(program_, static_cast<int>(b), step_, const_symbols_);
    info.initialised = written || program_.buffers[b].init != program::Init::Poison;
    tracker.add_buffer(info);
  }
}

}  // namespace

Result<std::unique_ptr<PreparedLaunch>> prepare_launch(const Program& p, size_t step) {
  auto launcher = std::make_unique<Launcher>(p, step);
  ASSAY_CHECK(launcher->init());
  return std::unique_ptr<PreparedLaunch>(std::move(launcher));
}

}  // namespace assay::check
