#include "check/known.h"

#include <algorithm>

namespace assay::check {

using program::Buffer;
using program::CopyStep;
using program::FillStep;
using program::Init;
using program::LaunchStep;
using program::OpStep;
using program::Program;
using program::Role;

namespace {

constexpr uint64_t kMost = uint64_t{64} << 20;

// A launch may write whatever it points to, and the variables of its module.
bool launch_writes(const Program& p, const LaunchStep& launch, int buffer) {
  const auto points = [&](const program::ParamSlot& s) {
    return s.kind == program::ParamSlot::Kind::Pointer && s.buffer == buffer;
  };
  const auto& symbols = p.modules[static_cast<size_t>(launch.module)].symbols;
  return std::any_of(launch.slots.begin(), launch.slots.end(), points) ||
         std::any_of(symbols.begin(), symbols.end(),
                     [&](const auto& s) { return s.second == buffer; });
}

struct Contents {
  std::vector<uint8_t> bytes;
  std::vector<bool> known;

  void set(uint64_t at, uint8_t byte) {
    bytes[at] = byte;
    known[at] = true;
  }
};

class Reader {
 public:
  Reader(const Program& p, const std::set<int>& const_symbols)
      : program_(p), const_symbols_(const_symbols) {}

  bool writes(const program::Step& step, int buffer) const {
    if (const auto* op = std::get_if<OpStep>(&step.what))
      return std::any_of(op->outputs.begin(), op->outputs.end(),
                         [&](const auto& v) { return v.buffer == buffer; });
    if (const auto* c = std::get_if<CopyStep>(&step.what)) return c->dst == buffer;
    if (const auto* f = std::get_if<FillStep>(&step.what)) return f->dst == buffer;
    return const_symbols_.count(buffer) == 0 &&
           launch_writes(program_, std::get<LaunchStep>(step.what), buffer);
  }

  std::optional<std::vector<uint8_t>> read(int buffer, size_t step) const {
    const Buffer& b = program_.buffers[static_cast<size_t>(buffer)];
    const bool constant = b.init == Init::Data && b.role == Role::Constant;
    size_t first = step;  // the last writer that is not the host begins anew
    bool host = false;
    while (first > 0) {
      const program::Step& s = program_.steps[first - 1];
      if (writes(s, buffer)) {
        if (std::holds_alternative<OpStep>(s.what) || std::holds_alternative<LaunchStep>(s.what))
          break;
        host = true;
      }
      --first;
    }
    const bool initial = first == 0 && (constant || b.init == Init::Zero);
    if ((!initial && !host) || (!constant && b.bytes > kMost)) return {};
    Contents out{std::vector<uint8_t>(b.bytes), std::vector<bool>(b.bytes, initial)};
    if (constant && initial)
      std::copy_n(b.data.begin(), std::min(b.data.size(), out.bytes.size()), out.bytes.begin());
    for (size_t s = first; s < step; ++s)
      if (writes(program_.steps[s], buffer)) apply(program_.steps[s], s, out);
    if (std::find(out.known.begin(), out.known.end(), false) != out.known.end()) return {};
    return std::move(out.bytes);
  }

 private:
  void apply(const program::Step& step, size_t s, Contents& out) const {
    if (const auto* fill = std::get_if<FillStep>(&step.what)) {
      for (uint64_t k = 0; k < fill->bytes; ++k)
        out.set(static_cast<uint64_t>(fill->offset) + k,
                static_cast<uint8_t>(fill->value >> (8 * (k % fill->width))));
      return;
    }
    const auto& copy = std::get<CopyStep>(step.what);
    std::optional<std::vector<uint8_t>> from;
    if (copy.src >= 0) from = read(copy.src, s);
    for (uint64_t k = 0; k < copy.bytes; ++k) {
      const auto to = static_cast<uint64_t>(copy.dst_offset) + k;
      if (copy.src < 0)
        out.set(to, copy.host_data[k]);
      else if (from)
        out.set(to, (*from)[static_cast<uint64_t>(copy.src_offset) + k]);
      else
        out.known[to] = false;
    }
  }

  const Program& program_;
  const std::set<int>& const_symbols_;
};

}  // namespace

bool written_before(const Program& p, int buffer, size_t step, const std::set<int>& const_symbols) {
  const Reader reader(p, const_symbols);
  return std::any_of(p.steps.begin(), p.steps.begin() + static_cast<ptrdiff_t>(step),
                     [&](const program::Step& s) { return reader.writes(s, buffer); });
}

std::optional<std::vector<uint8_t>> known_contents(const Program& p, int buffer, size_t step,
                                                   const std::set<int>& const_symbols) {
  return Reader(p, const_symbols).read(buffer, step);
}

}  // namespace assay::check
