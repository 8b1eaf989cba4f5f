// Consistency of a Program that came from a file: whatever passes here can be indexed and sized
// without further checks.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "program/program.h"

namespace assay::program {

namespace {

constexpr int64_t kMaxElements = int64_t{1} << 48;  // far above any device, far below overflow
constexpr uint64_t kRegion = uint64_t{1} << 36;
constexpr uint64_t kLastAddress = uint64_t{1} << 60;

class Validator {
 public:
  explicit Validator(const Program& p) : p_(p) {}

  Status run() const {
    for (size_t i = 0; i < p_.buffers.size(); ++i) ASSAY_CHECK(check_buffer(i));
    ASSAY_CHECK(check_addresses());
    for (const Module& m : p_.modules) {
      for (const auto& [name, index] : m.symbols) {
        if (!is_buffer(index)) return bad(fmt::format("symbol '{}' without buffer", name));
      }
    }
    for (const SymbolicScalar& s : p_.scalars) {
      if (s.buffer >= 0) ASSAY_CHECK(check_element(s));
      if (s.buffer < -1) return bad("a scalar's buffer");
    }
    for (const Argument& a : p_.arguments) ASSAY_CHECK(check_arg(a.value));
    for (const Argument& a : p_.init_args) ASSAY_CHECK(check_arg(a.value));
    for (size_t i = 0; i < p_.steps.size(); ++i) ASSAY_CHECK(check_step(i));
    for (const TensorView& v : p_.outputs) ASSAY_CHECK(check_view(v));
    for (const TensorView& v : p_.mutated) ASSAY_CHECK(check_view(v));
    for (int s : p_.unjoined)
      if (s < 0 || static_cast<size_t>(s) >= p_.steps.size()) return bad("an unjoined step");
    for (const Note& n : p_.notes) {
      if (n.step < -1 || n.step >= static_cast<int>(p_.steps.size())) return bad("a note's step");
    }
    return {};
  }

 private:
  static tl::unexpected<Diag> bad(const std::string& what) {
    return fail(DiagKind::Invalid, "program: " + what);
  }
  bool is_buffer(int index) const {
    return index >= 0 && static_cast<size_t>(index) < p_.buffers.size();
  }

  Status check_buffer(size_t i) const {
    const Buffer& b = p_.buffers[i];
    const uint64_t limit = static_cast<uint64_t>(kMaxElements) * 8;
    if (b.bytes > limit) return bad(fmt::format("buffer {} is too large", i));
    if (b.init == Init::Data && b.data.size() != b.bytes) {
      return bad(fmt::format("buffer {} has {} bytes of data, not {}", i, b.data.size(), b.bytes));
    }
    if (b.init != Init::Data && !b.data.empty() && b.data.size() != b.bytes) {
      return bad(fmt::format("buffer {}: its example has the wrong size", i));
    }
    return {};
  }

  Status check_addresses() const {
    std::vector<std::pair<uint64_t, size_t>> given;
    for (size_t i = 0; i < p_.buffers.size(); ++i) {
      const Buffer& b = p_.buffers[i];
      if (b.address > kLastAddress) return bad(fmt::format("the address of buffer {}", i));
      if (b.address != 0 && b.bytes != 0) given.push_back({b.address, i});
    }
    std::sort(given.begin(), given.end());
    for (size_t k = 1; k < given.size(); ++k) {
      const auto& [before, i] = given[k - 1];
      if (before + p_.buffers[i].bytes > given[k].first)
        return bad(fmt::format("buffers {} and {} overlap", i, given[k].second));
    }
    return {};
  }

  Status check_element(const SymbolicScalar& s) const {
    if (!is_buffer(s.buffer)) return bad("a scalar's buffer");
    const uint64_t n = p_.buffers[s.buffer].bytes / dtype_bytes(s.dtype);
    if (s.element < 0 || static_cast<uint64_t>(s.element) >= n) return bad("a scalar's element");
    return {};
  }

  Status check_view(const TensorView& v) const {
    if (v.buffer == -1) return {};
    if (!is_buffer(v.buffer)) return bad(fmt::format("a view on buffer {}", v.buffer));
    if (v.shape.size() != v.strides.size()) return bad("a view's rank");
    int64_t numel = 1;
    bool empty = false;
    for (int64_t d : v.shape) {
      if (d < 0) return bad("a negative size");
      if (d > kMaxElements) return bad("a view's size");
      if (d == 0) empty = true;
      if (d != 0 && __builtin_mul_overflow(numel, d, &numel)) return bad("a view's size");
      if (numel > kMaxElements) return bad("a view's size");
    }
    if (empty) return {};
    int64_t lo = v.offset, hi = v.offset;
    for (size_t k = 0; k < v.shape.size(); ++k) {
      int64_t span = 0;
      if (__builtin_mul_overflow(v.shape[k] - 1, v.strides[k], &span)) return bad("a stride");
      int64_t& end = span < 0 ? lo : hi;
      if (__builtin_add_overflow(end, span, &end)) return bad("a stride");
    }
    const uint64_t n = p_.buffers[v.buffer].bytes / dtype_bytes(v.dtype);
    if (lo < 0 || static_cast<uint64_t>(hi) >= n) {
      return bad(fmt::format("a view reads elements {}..{} of buffer {}, which holds {}", lo, hi,
                             v.buffer, n));
    }
    return {};
  }

  Status check_arg(const Arg& a) const {
    if (const auto* v = std::get_if<TensorView>(&a)) return check_view(*v);
    if (const auto* list = std::get_if<std::vector<TensorView>>(&a)) {
      for (const TensorView& v : *list) ASSAY_CHECK(check_view(v));
    }
    return {};
  }

  Status check_step(size_t i) const {
    for (int before : p_.steps[i].after) {
      if (before < 0 || static_cast<size_t>(before) >= i) return bad("a step's order");
    }
    return std::visit([&](const auto& s) { return check(s); }, p_.steps[i].what);
  }

  Status check(const OpStep& s) const {
    for (const Arg& a : s.args) ASSAY_CHECK(check_arg(a));
    for (const TensorView& v : s.outputs) ASSAY_CHECK(check_view(v));
    return {};
  }

  Status check(const LaunchStep& s) const {
    if (s.module < 0 || static_cast<size_t>(s.module) >= p_.modules.size()) {
      return bad(fmt::format("launch of '{}' without module", s.kernel));
    }
    for (const ParamSlot& slot : s.slots) {
      if (slot.size == 0 || slot.size > 8 || slot.offset > s.params.size() ||
          slot.size > s.params.size() - slot.offset) {
        return bad("a parameter slot");
      }
      const bool known =
          slot.kind == ParamSlot::Kind::Pointer
              ? is_buffer(slot.buffer)
              : slot.scalar >= 0 && static_cast<size_t>(slot.scalar) < p_.scalars.size();
      if (!known) return bad("a parameter slot's index");
    }
    return {};
  }

  Status check_range(int buffer, int64_t offset, uint64_t bytes) const {
    if (!is_buffer(buffer)) return bad("a copy or fill without buffer");
    const uint64_t size = p_.buffers[buffer].bytes;
    if (offset < 0 || static_cast<uint64_t>(offset) > size ||
        bytes > size - static_cast<uint64_t>(offset)) {
      return bad("a copy or fill beyond its buffer");
    }
    return {};
  }

  Status check(const CopyStep& s) const {
    ASSAY_CHECK(check_range(s.dst, s.dst_offset, s.bytes));
    if (s.src != -1) return check_range(s.src, s.src_offset, s.bytes);
    if (s.host_data.size() != s.bytes) return bad("a copy's host data");
    return {};
  }

  Status check(const FillStep& s) const {
    if (s.width != 1 && s.width != 2 && s.width != 4) return bad("a fill's width");
    if (s.bytes % s.width != 0) return bad("a fill's size");
    return check_range(s.dst, s.offset, s.bytes);
  }

  const Program& p_;
};

}  // namespace

std::vector<uint64_t> device_addresses(const Program& p) {
  uint64_t end = 0;
  for (const Buffer& b : p.buffers)
    if (b.address != 0) end = std::max(end, b.address + b.bytes);
  std::vector<uint64_t> out;
  for (const Buffer& b : p.buffers) {
    if (b.address != 0) {
      out.push_back(b.address);
      continue;
    }
    out.push_back((end / kRegion + (end % kRegion != 0 ? 2 : 1)) * kRegion);
    end = out.back() + b.bytes;
  }
  return out;
}

Status validate(const Program& p) { return Validator(p).run(); }

}  // namespace assay::program
