#include "region/ptx_code.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace assay::region {

namespace {

constexpr size_t kMaxChain = 256;
constexpr uint32_t kMatrixRow = 16;  // bytes of an 8 by 8 matrix's row of b16

using ptx::Family;
using ptx::Op;

bool is_shared(ptx::Space s) {
  return s == ptx::Space::Shared || s == ptx::Space::SharedCta || s == ptx::Space::SharedCluster;
}

Class memory_class(const ptx::Instr& i, bool store) {
  const ptx::Space space = i.mods.space();
  if (is_shared(space)) return store ? Class::SharedStore : Class::SharedLoad;
  if (space == ptx::Space::Local) return store ? Class::LocalStore : Class::LocalLoad;
  if (space == ptx::Space::Global || space == ptx::Space::None)
    return store ? Class::GlobalStore : Class::GlobalLoad;
  return Class::Constant;
}

Class arithmetic_class(const ptx::Instr& i) {
  switch (i.type()) {
    case Ty::F32:
      return Class::Fp32;
    case Ty::F64:
      return Class::Fp64;
    default:
      return Class::Half;
  }
}

}  // namespace

Class ptx_class(const ptx::Instr& i) {
  switch (i.op) {
    case Op::Ld:
    case Op::LdNc:
    case Op::Ldu:
      return memory_class(i, false);
    case Op::St:
      return memory_class(i, true);
    case Op::CpAsync:
    case Op::CpAsyncIgnore:
      return Class::AsyncCopy;
    case Op::CpAsyncBulk:
    case Op::CpReduceAsync:
      return Class::Tma;
    case Op::CpAsyncWait:
    case Op::CpAsyncWaitAll:
    case Op::CpAsyncCommit:
    case Op::CpAsyncMbarrier:
    case Op::Mbarrier:
      return Class::Barrier;
    case Op::Wgmma:
    case Op::Wmma:
    case Op::Mma:
    case Op::Tcgen05:
      return Class::Tensor;
    case Op::Ldmatrix:
      return Class::SharedLoad;
    case Op::Stmatrix:
      return Class::SharedStore;
    default:
      break;
  }
  switch (ptx::row(i.op).family) {
    case Family::Int:
      return Class::Integer;
    case Family::Fp:
      return arithmetic_class(i);
    case Family::Half:
      return Class::Half;
    case Family::Cvt:
      return Class::Convert;
    case Family::Mov:
      return Class::Move;
    case Family::Atom:
      return Class::Atomic;
    case Family::Sync:
      return Class::Barrier;
    case Family::Warp:
      return Class::Shuffle;
    case Family::Ctl:
      return Class::Control;
    default:
      return Class::Other;
  }
}

uint32_t ptx_access_bytes(const ptx::Function& f, const ptx::Instr& i) {
  if (i.op == Op::Ldmatrix || i.op == Op::Stmatrix) return kMatrixRow;
  if (ptx_class(i) == Class::AsyncCopy) {
    const auto ops = f.operands(i);
    return ops.size() > 2 ? static_cast<uint32_t>(ops[2].imm) : 0;
  }
  switch (ptx_class(i)) {
    case Class::GlobalLoad:
    case Class::GlobalStore:
    case Class::SharedLoad:
    case Class::SharedStore:
    case Class::LocalLoad:
    case Class::LocalStore:
      return static_cast<uint32_t>(i.mods.vector_width()) * std::max(bytes(i.type()), 1u);
    default:
      return 0;
  }
}

Chain ptx_chain(const ptx::Module& m, const ptx::Instr& i) {
  Chain chain;
  for (int32_t k = i.loc; k != ptx::kNone && chain.size() < kMaxChain;) {
    const ptx::Loc& loc = m.locs[static_cast<size_t>(k)];
    const auto file = std::find_if(m.files.begin(), m.files.end(),
                                   [&](const ptx::File& f) { return f.id == loc.file; });
    Frame frame{file == m.files.end() ? "" : file->path, loc.line, loc.column, ""};
    if (loc.function != ptx::kNone) frame.function = m.strings[static_cast<size_t>(loc.function)];
    chain.push_back(std::move(frame));
    k = loc.inlined_at;
  }
  if (!chain.empty() && chain[0].line == 0) chain.clear();
  return chain;
}

uint64_t copy_key(const ptx::Instr& i) {
  switch (ptx_class(i)) {
    case Class::Integer:
    case Class::Move:
    case Class::Convert:
    case Class::Constant:
    case Class::Control:
    case Class::Other:
      return 0;
    default:
      break;
  }
  uint64_t key = 1 + static_cast<uint64_t>(i.op);
  for (Ty t : i.types) key = key * 131 + static_cast<uint64_t>(t);
  for (uint8_t m : i.mods.raw) key = key * 131 + m;
  return key;
}

namespace {

std::map<uint64_t, uint32_t> occurrences(const CopyKeys& keys) {
  std::map<uint64_t, uint32_t> counts;
  for (uint64_t k : keys) {
    if (k != 0) ++counts[k];
  }
  return counts;
}

}  // namespace

uint32_t count_copies(const CopyKeys& keys) {
  const auto counts = occurrences(keys);
  if (counts.size() < 2) return 1;
  uint32_t common = 0;
  for (const auto& [key, n] : counts) common = std::gcd(common, n);
  return std::max(common, 1u);
}

uint32_t fitting_copies(const CopyKeys& keys, uint32_t others) {
  const auto counts = occurrences(keys);
  return counts.size() == 1 && others > 1 && counts.begin()->second % others == 0 ? others : 1;
}

std::vector<uint32_t> assign_copies(const CopyKeys& keys, uint32_t copies) {
  const auto counts = occurrences(keys);
  std::map<uint64_t, uint32_t> seen;
  std::vector<uint32_t> out;
  uint32_t last = 0;
  for (uint64_t k : keys) {
    if (k != 0) last = static_cast<uint32_t>(uint64_t{seen[k]++} * copies / counts.at(k));
    out.push_back(std::min(last, copies - 1));
  }
  return out;
}

}  // namespace assay::region
