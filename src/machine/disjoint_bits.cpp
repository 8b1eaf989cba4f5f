#include "machine/disjoint_bits.h"

#include <algorithm>
#include <bit>

namespace assay::machine {
namespace {

constexpr int kDepth = 8;

// Bits of a constant that are set in some lane. False: no constant.
bool bits_of_constant(const TraceBuilder& b, NodeId n, uint64_t* set) {
  const Node& x = b.trace.nodes[n];
  const uint64_t all = ~uint64_t{0} >> (64 - bits(b.type_of(n)));
  *set = 0;
  if (b.is(n, NodeKind::ConstAll)) {
    *set = b.trace.constants[x.a] & all;
    return true;
  }
  if (!b.is(n, NodeKind::ConstVec)) return false;
  for (const uint64_t v : b.trace.const_vecs[x.a]) *set |= v & all;
  return true;
}

// A multiple of 2^k: k, at most the width of the type.
int low_zeros(const TraceBuilder& b, NodeId n, int depth) {
  const int width = static_cast<int>(bits(b.type_of(n)));
  uint64_t set = 0;
  if (bits_of_constant(b, n, &set)) return std::min(width, std::countr_zero(set));
  if (depth == 0 || !b.is(n, NodeKind::Apply) || b.op_of(n).mods.sat) return 0;
  const Node& x = b.trace.nodes[n];
  auto of = [&](NodeId arg) { return low_zeros(b, arg, depth - 1); };
  switch (b.op_of(n).fn) {
    case Fn::Shl:
      if (!b.is_constant(x.b, &set) || set >= static_cast<uint64_t>(width)) return 0;
      return std::min(width, of(x.a) + static_cast<int>(set));
    case Fn::IMul:
    case Fn::IMulWide:
      return std::min(width, of(x.a) + of(x.b));
    case Fn::IAdd:
    case Fn::ISub:
    case Fn::Or:
    case Fn::Xor:
      return std::min(of(x.a), of(x.b));
    case Fn::And:
      return std::max(of(x.a), of(x.b));
    case Fn::CvtII:
    case Fn::Bits:
      return is_float(b.type_of(x.a)) ? 0 : std::min(width, of(x.a));
    default:
      return 0;
  }
}

// Below 2^k as an unsigned number: k.
int high_bit(const TraceBuilder& b, NodeId n, int depth) {
  const int width = static_cast<int>(bits(b.type_of(n)));
  uint64_t set = 0;
  if (bits_of_constant(b, n, &set)) return std::bit_width(set);
  if (depth == 0 || !b.is(n, NodeKind::Apply) || b.op_of(n).mods.sat) return width;
  const Node& x = b.trace.nodes[n];
  auto of = [&](NodeId arg) { return high_bit(b, arg, depth - 1); };
  switch (b.op_of(n).fn) {
    case Fn::And:
      return std::min({width, of(x.a), of(x.b)});
    case Fn::Or:
    case Fn::Xor:
      return std::min(width, std::max(of(x.a), of(x.b)));
    case Fn::Shl:
      if (!b.is_constant(x.b, &set) || set >= static_cast<uint64_t>(width)) return width;
      return std::min(width, of(x.a) + static_cast<int>(set));
    case Fn::Bits:
      return is_float(b.type_of(x.a)) ? width : std::min(width, of(x.a));
    case Fn::CvtII: {
      const int from = of(x.a), narrow = static_cast<int>(bits(b.type_of(x.a)));
      return from < narrow || narrow >= width ? std::min(width, from) : width;  // not its sign
    }
    default:
      return width;
  }
}

}  // namespace

bool disjoint_bits(const TraceBuilder& b, NodeId x, NodeId y) {
  return low_zeros(b, x, kDepth) >= high_bit(b, y, kDepth) ||
         low_zeros(b, y, kDepth) >= high_bit(b, x, kDepth);
}

}  // namespace assay::machine
