#include "check/replay.h"

#include <cstring>
#include <numeric>

#include "base/ieee.h"
#include "check/pages.h"
#include "term/ieee_domain.h"

namespace assay::check {

using program::Buffer;
using term::IeeeDomain;
using term::Store;

namespace {

constexpr uint64_t kWholeWork = uint64_t{32} << 20;

// Device memory as bytes, one block a buffer of the Program. Of inputs only the plan's support is
// drawn: the other pages are never touched.
class Memory {
 public:
  Memory(const Side& side, const Plan& plan, const Experiment& e) : side_(side) {
    const auto& buffers = side.program->buffers;
    uint64_t touched = 0;
    for (size_t b = 0; b < buffers.size(); ++b) {
      auto read = plan.support.find(static_cast<int>(b));
      if (read != plan.support.end())
        touched += static_cast<uint64_t>(read->second.count()) * assay::bytes(side.sources[b].type);
      if (side.sources[b].kind == term::Source::Kind::Data) touched += buffers[b].data.size();
    }
    if (touched > kReplayBytes) return;
    blocks_.resize(buffers.size());
    const Witness drawn = e.witness();
    for (size_t b = 0; b < buffers.size(); ++b) {
      const auto& source = side.sources[b];
      Pages& block = blocks_[b];
      // What nothing wrote is NaN, or a large index.
      block =
          Pages(buffers[b].bytes,
                source.kind == term::Source::Kind::Poison ? Pages::Fill::Ones : Pages::Fill::Zero);
      if (block.data() == nullptr) return;
      if (source.kind == term::Source::Kind::Data)
        std::memcpy(block.data(), source.data,
                    std::min<uint64_t>(block.bytes(), buffers[b].data.size()));
      auto read = plan.support.find(static_cast<int>(b));
      if (source.kind != term::Source::Kind::Symbol || !e.has(source.symbol)) continue;
      const Draw& draw = e.draw_of(source.symbol);
      if (draw.kind == Draw::Kind::Constant && draw.lo == 0)  // the memory is zero already
        for (const program::WitnessInput& input : drawn.inputs->inputs)
          for (const auto& [element, value] : input.overrides)
            if (input.number == source.symbol)
              fill(block, source, static_cast<int64_t>(element), 1, e);
      if (read != plan.support.end())
        read->second.for_each_run(
            [&](int64_t first, int64_t n) { fill(block, source, first, n, e); });
    }
    fits_ = true;
  }
  bool fits() const { return fits_; }
  uint8_t* data(int b) { return blocks_[static_cast<size_t>(b)].data(); }
  uint64_t size(int b) const { return blocks_[static_cast<size_t>(b)].bytes(); }
  uint64_t load(int b, int64_t element) const {
    const uint32_t width = assay::bytes(side_.sources[static_cast<size_t>(b)].type);
    uint64_t bits = 0;
    const Pages& v = blocks_[static_cast<size_t>(b)];
    if (static_cast<uint64_t>(element + 1) * width <= v.bytes())
      std::memcpy(&bits, v.data() + element * width, width);
    return bits;
  }
  void store(int b, int64_t element, uint64_t bits) {
    const uint32_t width = assay::bytes(side_.sources[static_cast<size_t>(b)].type);
    Pages& v = blocks_[static_cast<size_t>(b)];
    if (static_cast<uint64_t>(element + 1) * width <= v.bytes())
      std::memcpy(v.data() + element * width, &bits, width);
  }

 private:
  static void fill(Pages& block, const term::Source& source, int64_t first, int64_t count,
                   const Experiment& e) {
    const uint32_t width = assay::bytes(source.type);
    count = std::min(count, static_cast<int64_t>(block.bytes() / width) - first);
    int64_t elements[term::kRow];
    double values[term::kRow];
    for (int64_t at = 0; at < count; at += term::kRow) {
      const auto n = static_cast<int>(std::min<int64_t>(term::kRow, count - at));
      for (int l = 0; l < term::kRow; ++l) elements[l] = first + at + l;
      e.values(source.symbol, source.type, elements, n == term::kRow ? 0xffffffffu : (1u << n) - 1,
               values);
      for (int l = 0; l < n; ++l) {
        const uint64_t bits = is_float(source.type)
                                  ? ieee_from_double(source.type, values[l])
                                  : static_cast<uint64_t>(static_cast<int64_t>(values[l]));
        std::memcpy(block.data() + (first + at + l) * width, &bits, width);
      }
    }
  }
  const Side& side_;
  std::vector<Pages> blocks_;
  bool fits_ = false;
};

// One operator on bytes: its nests in the IEEE domain, results copied back.
void run_op(const Side& side, size_t step, const StepPlan& plan, const Experiment& e,
            Memory& memory) {
  const OpState& op = *side.ops[step];
  IeeeDomain domain(e);
  Store<IeeeDomain> store(domain, side.sources);
  std::vector<tensor::ElemSet> reads;
  // What the nests read from buffers of the Program comes from the bytes.
  for (size_t n = 0; n < plan.nests.size(); ++n) {
    reads.clear();
    term::nest_demand(*op.shapes[n], plan.nests[n], reads);
    const tensor::Nest& nest = op.shapes[n]->nest;
    for (size_t k = 0; k < reads.size(); ++k) {
      const tensor::Access& a =
          k < nest.reads.size() ? nest.reads[k] : nest.post_reads[k - nest.reads.size()];
      const int b = op.buffers[static_cast<size_t>(a.operand)];
      if (static_cast<size_t>(b) >= side.program->buffers.size()) continue;
      reads[k].for_each([&](int64_t x) {
        if (store.written(b, x) == nullptr) store.store(b, x, {memory.load(b, x), false});
      });
    }
    term::NestEval<IeeeDomain>(domain, store, op.buffers, op.types)
        .run(*op.shapes[n], plan.nests[n]);
    const int out = op.buffers[static_cast<size_t>(nest.write.operand)];
    if (static_cast<size_t>(out) >= side.program->buffers.size()) continue;
    plan.nests[n].for_each([&](int64_t x) { memory.store(out, x, store.load1(out, x).v); });
  }
}

double value_at(const Memory& memory, const program::TensorView& view, int64_t position) {
  const Ty type = program::dtype_ty(view.dtype);
  const uint64_t bits = memory.load(view.buffer, view.element(position));
  if (is_float(type)) return ieee_to_double(type, bits);
  const uint32_t width = assay::bits(type);
  if (view.dtype == program::DType::Bool || view.dtype == program::DType::U8 || width >= 64)
    return static_cast<double>(static_cast<int64_t>(bits));
  return static_cast<double>(static_cast<int64_t>(bits << (64 - width)) >> (64 - width));
}

void run_copy_bytes(const program::CopyStep& c, Memory& memory) {
  if (static_cast<uint64_t>(c.dst_offset) + c.bytes > memory.size(c.dst)) return;
  const uint8_t* from = c.src >= 0 ? memory.data(c.src) + c.src_offset : c.host_data.data();
  std::memmove(memory.data(c.dst) + c.dst_offset, from, c.bytes);
}

void run_fill_bytes(const program::FillStep& f, Memory& memory) {
  uint8_t* dst = memory.data(f.dst);
  for (uint64_t k = 0; k < f.bytes && static_cast<uint64_t>(f.offset) + k < memory.size(f.dst); ++k)
    dst[static_cast<uint64_t>(f.offset) + k] = static_cast<uint8_t>(f.value >> (8 * (k % f.width)));
}

}  // namespace

Result<std::vector<double>> replay_places(Side& side, const Plan& plan,
                                          const std::vector<Place>& places, const Experiment& e,
                                          const Replication* copies) {
  for (const program::SymbolicScalar& scalar : side.program->scalars)
    if (scalar.fn != "identity" || scalar.buffer < 0)
      return fail(DiagKind::Unsupported, "a parameter is a host read of tensor data");
  Memory memory(side, plan, e);
  if (!memory.fits()) return fail(DiagKind::Limit, "the buffers are too large to replay");
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const StepPlan& step = plan.steps[s];
    if (side.launches[s]) {
      if (!step.launch) continue;
      std::vector<uint8_t*> data;
      for (size_t b = 0; b < side.program->buffers.size(); ++b)
        data.push_back(memory.data(static_cast<int>(b)));
      ASSAY_CHECK(side.launches[s]->run_real(step.launch->ctas, data));
      if (copies != nullptr && copies->count(s) != 0)
        for (const ElementCopy& c : copies->at(s))
          memory.store(c.buffer, c.to, memory.load(c.buffer, c.from));
    } else if (side.ops[s]) {
      run_op(side, s, step, e, memory);
    } else if (const auto* copy = std::get_if<program::CopyStep>(&side.program->steps[s].what)) {
      run_copy_bytes(*copy, memory);
    } else if (const auto* fill = std::get_if<program::FillStep>(&side.program->steps[s].what)) {
      run_fill_bytes(*fill, memory);
    }
  }
  std::vector<double> values;
  for (const Place& place : places) values.push_back(value_at(memory, place.view, place.position));
  return values;
}

Replayed replay_real(Side& side, const Plan& plan, const program::TensorView& view,
                     int64_t position, const Experiment& e) {
  const auto values = replay_places(side, plan, {{view, position}}, e);
  if (!values) return {std::nullopt, values.error().message};
  return {values->front(), ""};
}

Result<Plan> whole_plan(const Side& side) {
  Plan plan;
  plan.steps.resize(side.program->steps.size());
  auto all = [&](int buffer) {
    tensor::ElemSet out;
    out.insert_range(0, side.sources[static_cast<size_t>(buffer)].elements);
    return out;
  };
  auto part = [&](int buffer, int64_t offset, uint64_t count) {
    const auto width = static_cast<int64_t>(element_bytes(side, buffer));
    tensor::ElemSet out;
    out.insert_range(offset / width, static_cast<int64_t>(count) / width);
    return out;
  };
  uint64_t work = 0;  // threads and elements
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    StepPlan& step = plan.steps[s];
    if (side.launches[s]) {
      const auto& launch = std::get<program::LaunchStep>(side.program->steps[s].what);
      const uint64_t ctas = side.launches[s]->num_ctas();
      work += ctas * launch.block[0] * launch.block[1] * launch.block[2];
      if (work > kWholeWork) break;
      step.launch.emplace();
      step.launch->ctas.resize(ctas);
      std::iota(step.launch->ctas.begin(), step.launch->ctas.end(), 0u);
    } else if (side.ops[s]) {
      for (const auto& shape : side.ops[s]->shapes) {
        const int target = side.ops[s]->buffers[static_cast<size_t>(shape->nest.write.operand)];
        tensor::ElemSet mine;
        int64_t iters[term::kMaxRank];
        all(target).for_each([&](int64_t e) {
          if (shape->invert(e, iters)) mine.insert(e);
        });
        work += static_cast<uint64_t>(mine.count() * std::max<int64_t>(1, shape->reduction_count));
        step.nests.push_back(std::move(mine));
      }
    } else if (const auto* copy = std::get_if<program::CopyStep>(&side.program->steps[s].what)) {
      step.copied = part(copy->dst, copy->dst_offset, copy->bytes);
    } else if (const auto* fill = std::get_if<program::FillStep>(&side.program->steps[s].what)) {
      step.copied = part(fill->dst, fill->offset, fill->bytes);
    }
  }
  for (size_t b = 0; b < side.program->buffers.size(); ++b) {
    if (side.sources[b].kind != term::Source::Kind::Symbol) continue;
    work += static_cast<uint64_t>(side.sources[b].elements);
    if (work <= kWholeWork) plan.support[static_cast<int>(b)] = all(static_cast<int>(b));
  }
  if (work > kWholeWork) return fail(DiagKind::Limit, "too large for a concrete run of all of it");
  return plan;
}

}  // namespace assay::check
