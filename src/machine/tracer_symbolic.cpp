// The trace domain: loads, stores and atomics whose address depends on data. The address is brought
// to base[lane] + sum of scale * node. Global memory: an element at a symbolic index (Lookup), or
// an indexed store. Shared and local memory: one case for each place of the variable that it may
// be.
#include <algorithm>

#include "machine/tracer.h"

namespace assay::machine {
namespace {

constexpr size_t kMaxCandidates = 64;
constexpr size_t kMaxBins = 1024;  // of atomic additions

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

}  // namespace

// As a 64-bit integer. `from`: bits of it that count.
NodeId Tracer::widen(NodeId n, bool is_signed_value, uint32_t from) {
  if (bits(b_.type_of(n)) == 64) return n;
  Mods m;
  if (from == 16)
    m.type2 = is_signed_value ? Ty::S16 : Ty::U16;
  else
    m.type2 = is_signed_value ? Ty::S32 : Ty::U32;
  n = b_.convert(n, m.type2);
  const Node x = b_.trace.nodes[n];
  uint64_t u = 0, v = 0;
  if (b_.is_fn(n, Fn::Select) && b_.is_constant(x.b, &u) && b_.is_constant(x.c, &v)) {
    const uint32_t shift = 64 - bits(m.type2);
    const auto whole = [&](uint64_t k) {
      const auto extended = static_cast<int64_t>(k << shift) >> shift;
      return is_signed_value ? static_cast<uint64_t>(extended) : k << shift >> shift;
    };
    const NodeId a = b_.constant(Ty::S64, whole(u));
    return b_.select(x.a, a, b_.constant(Ty::S64, whole(v)), 0);
  }
  return b_.apply(Fn::CvtII, Ty::S64, m, 0, n);
}

// Adds scale * n. 64-bit sums wrap as addresses do; 32-bit ones are addresses in a small space.
bool Tracer::decompose(NodeId n, int64_t scale, int depth, AffineAddr* out) {
  const Node x = b_.trace.nodes[n];
  const Op op = b_.op_of(n);
  bool wide = bits(b_.type_of(n)) == 64;
  auto as_int = [&](uint64_t v) {
    return wide ? static_cast<int64_t>(v) : static_cast<int64_t>(static_cast<int32_t>(v));
  };
  if (op.kind == NodeKind::ConstAll || op.kind == NodeKind::ConstVec) {
    for (size_t l = 0; l < 32; ++l) {
      uint64_t v =
          op.kind == NodeKind::ConstAll ? b_.trace.constants[x.a] : b_.trace.const_vecs[x.a][l];
      out->base[l] += scale * as_int(v);
    }
    return true;
  }
  if (op.kind == NodeKind::Undef) return false;
  if (op.kind == NodeKind::Apply && depth > 0) {
    uint64_t v = 0;
    switch (op.fn) {
      case Fn::IAdd:
        return decompose(x.a, scale, depth - 1, out) && decompose(x.b, scale, depth - 1, out);
      case Fn::ISub:
        return decompose(x.a, scale, depth - 1, out) && decompose(x.b, -scale, depth - 1, out);
      case Fn::Shl:
        if (b_.is_constant(x.b, &v) && v < 32) {
          return decompose(x.a, scale * (int64_t{1} << v), depth - 1, out);
        }
        break;
      case Fn::IMul:
        if (b_.is_constant(x.b, &v)) return decompose(x.a, scale * as_int(v), depth - 1, out);
        if (b_.is_constant(x.a, &v)) return decompose(x.b, scale * as_int(v), depth - 1, out);
        break;
      case Fn::IMulWide: {
        const uint32_t from = bits(op.type);
        const bool s = is_signed(op.type);
        if (from != 16 && from != 32) break;
        auto factor = [&](uint64_t c) {
          if (from == 16) return s ? int64_t{static_cast<int16_t>(c)} : static_cast<int64_t>(c);
          return s ? int64_t{static_cast<int32_t>(c)} : static_cast<int64_t>(c);
        };
        if (b_.is_constant(x.b, &v))
          return decompose(widen(x.a, s, from), scale * factor(v), depth - 1, out);
        if (b_.is_constant(x.a, &v))
          return decompose(widen(x.b, s, from), scale * factor(v), depth - 1, out);
        break;
      }
      case Fn::Bits:
        return decompose(x.a, scale, depth - 1, out);
      default:
        break;
    }
  }
  NodeId leaf = widen(n, true);
  for (auto& [node, s] : out->terms) {
    if (node == leaf) {
      s += scale;
      return true;
    }
  }
  out->terms.push_back({leaf, scale});
  return out->terms.size() <= 8;
}

// Sum of the terms in units of `unit` bytes, as a 64-bit integer node; kNoNode: not a multiple.
NodeId Tracer::index_node(const AffineAddr& a, int64_t unit, uint32_t pc) {
  NodeId sum = kNoNode;
  for (auto [node, scale] : a.terms) {
    if (scale % unit != 0) return kNoNode;
    NodeId term = node;
    if (scale != unit) {
      term = b_.apply(Fn::IMul, Ty::S64, {}, pc, node,
                      b_.constant(Ty::S64, static_cast<uint64_t>(scale / unit)));
    }
    sum = sum == kNoNode ? term : b_.apply(Fn::IAdd, Ty::S64, {}, pc, sum, term);
  }
  return sum == kNoNode ? b_.constant(Ty::S64, 0) : sum;
}

bool Tracer::address_of(Warp& w, const MicroOp& op, uint32_t mask, AffineAddr* a, Space* space) {
  NodeId n = fetch(w, op.src[0], op.wide_src ? Ty::U64 : Ty::U32, mask);
  if (!decompose(n, 1, 24, a)) {
    return fail_here(op, DiagKind::Unsupported, "address that is not affine in data");
  }
  for (int64_t& b : a->base) b += op.imm;
  *space = op.space == Space::Const || op.space == Space::Param ? Space::Global : op.space;
  if (op.space != Space::Generic) return true;
  auto first = static_cast<uint64_t>(a->base[static_cast<size_t>(std::countr_zero(mask))]);
  auto in = [&](uint64_t window) {
    return first + kWindowBytes / 2 - window < kWindowBytes;  // near it
  };
  *space = in(kSharedWindow) ? Space::Shared : in(kLocalWindow) ? Space::Local : Space::Global;
  uint64_t window = *space == Space::Shared  ? kSharedWindow
                    : *space == Space::Local ? kLocalWindow
                                             : 0;
  for (int64_t& b : a->base) b -= static_cast<int64_t>(window);
  return true;
}

// The buffer whose address the constant part is near to (buffers lie at least 4 GiB apart).
const Device::Area* Tracer::area_near(const AffineAddr& a, uint32_t mask, int64_t* base) {
  auto first = static_cast<uint64_t>(a.base[static_cast<size_t>(std::countr_zero(mask))]);
  const Device::Area* best = device_.find(first);
  uint64_t distance = ~uint64_t{0};
  for (const Device::Area& x : device_.areas()) {
    if (best || x.bytes == 0) continue;
    uint64_t d = first < x.base ? x.base - first : first - (x.base + x.bytes);
    if (d < distance) distance = d;
  }
  if (!best) {
    for (const Device::Area& x : device_.areas()) {
      if (x.bytes == 0) continue;
      uint64_t d = first < x.base ? x.base - first : first - (x.base + x.bytes);
      if (d == distance && d < (uint64_t{1} << 31)) best = &x;
    }
  }
  if (best) *base = static_cast<int64_t>(best->base);
  return best;
}

bool Tracer::global_written(const Device::Area& area) {
  for (uint64_t p : global_.page_numbers()) {
    uint64_t first = p * CellPage::kWords * 4;
    if (first < area.base + area.bytes && area.base < first + CellPage::kWords * 4) return true;
  }
  return false;
}

// A value loaded as `mem` into a register of type `reg`.
NodeId Tracer::extend_node(NodeId n, Ty mem, Ty reg, uint32_t pc) {
  if (bits(reg) <= bits(mem)) return n;
  if (!is_signed(mem)) return b_.convert(n, reg);
  Mods m;
  m.type2 = mem;
  Ty wide = bits(reg) == 64 ? Ty::S64 : bits(reg) == 32 ? Ty::S32 : Ty::S16;
  return b_.apply(Fn::CvtII, wide, m, pc, b_.convert(n, mem));
}

NodeId Tracer::global_lookup(const MicroOp& op, uint32_t mask, const AffineAddr& a,
                             uint32_t offset) {
  auto refuse = [&](const char* why) {
    fail_here(op, DiagKind::Unsupported, why);
    return kNoNode;
  };
  int64_t base = 0;
  const Device::Area* area = area_near(a, mask, &base);
  if (!area) return refuse("data-dependent address in no buffer");
  const BufferEnv* e = buffer_env(area->buffer);
  if (scattered_.count(area->buffer) || (global_dirty_ && global_written(*area))) {
    return refuse("load at a data-dependent address from memory that the kernel writes");
  }
  uint32_t n = bytes(op.type);
  Ty et = buffer_type(area->buffer);
  uint32_t es = std::max(1u, bytes(et));
  NodeId index = index_node(a, es, op.pc);
  if (n % es != 0 || index == kNoNode) {
    return refuse("data-dependent address inside of an element");
  }
  std::vector<NodeId> part;
  for (uint32_t i = 0; i < n / es; ++i) {
    LookupPayload p;
    p.buffer = area->buffer;
    p.version = e ? e->version : 0;
    p.type = et;
    p.index = index;
    p.base.fill(0);
    p.hi = static_cast<int64_t>(area->bytes / es);
    for (uint32_t l = 0; l < 32; ++l) {
      if ((mask >> l) & 1) p.base[l] = floor_div(a.base[l] + offset + i * es - base, es);
    }
    part.push_back(b_.lookup(p));
  }
  while (part.size() > 1) {
    std::vector<NodeId> next;
    for (size_t i = 0; i + 1 < part.size(); i += 2) {
      next.push_back(
          b_.pack(part[i], part[i + 1], int_type(2 * bytes(b_.type_of(part[i]))), op.pc));
    }
    part = std::move(next);
  }
  return part[0];
}

// A term that selects between addresses (or lanes that have addresses of different origin): one
// address for each side. False: no such term.
bool Tracer::split_address(const AffineAddr& a, AffineAddr* x, AffineAddr* y, NodeId* cond,
                           uint32_t* lanes_of_x) {
  for (size_t i = 0; i < a.terms.size(); ++i) {
    auto [node, scale] = a.terms[i];
    const Node n = b_.trace.nodes[node];
    bool is_select = b_.is_fn(node, Fn::Select);
    if (!is_select && !b_.is(node, NodeKind::Blend)) continue;
    NodeId sides[2] = {is_select ? n.b : n.a, is_select ? n.c : n.b};
    *cond = is_select ? n.a : kNoNode;
    *lanes_of_x = is_select ? ~0u : n.c;
    for (int k = 0; k < 2; ++k) {
      AffineAddr* out = k ? y : x;
      out->base = a.base;
      out->terms.clear();
      bool ok = decompose(sides[k], scale, 24, out);
      for (size_t j = 0; j < a.terms.size(); ++j) {
        if (j != i) ok = ok && decompose(a.terms[j].first, a.terms[j].second, 24, out);
      }
      if (!ok) return false;
    }
    return true;
  }
  return false;
}

// The value at the address, `offset` bytes further, of the lanes of the mask; kNoNode: an error.
NodeId Tracer::load_affine(Cta& cta, Warp& w, const MicroOp& op, uint32_t mask, const AffineAddr& a,
                           Space space, uint32_t offset, Ty type, int depth) {
  AffineAddr x, y;
  NodeId cond = kNoNode;
  uint32_t first = 0;
  if (a.terms.empty()) return load_places(cta, w, op, mask, a, space, offset, type);
  if (depth > 0 && split_address(a, &x, &y, &cond, &first)) {
    uint32_t mx = cond == kNoNode ? mask & first : mask;
    uint32_t my = cond == kNoNode ? mask & ~first : mask;
    NodeId u = mx ? load_affine(cta, w, op, mx, x, space, offset, type, depth - 1) : kNoNode;
    if (mx && u == kNoNode) return kNoNode;
    NodeId v = my ? load_affine(cta, w, op, my, y, space, offset, type, depth - 1) : kNoNode;
    if (my && v == kNoNode) return kNoNode;
    if (cond != kNoNode) return b_.select(cond, u, v, op.pc);
    return !mx ? v : !my ? u : b_.blend(first, u, v);
  }
  if (space == Space::Global) return global_lookup(op, mask, a, offset);
  return cell_lookup(cta, w, op, mask, a, space, offset, type);
}

// Concrete addresses after all.
NodeId Tracer::load_places(Cta& cta, Warp& w, const MicroOp& op, uint32_t mask, const AffineAddr& a,
                           Space space, uint32_t offset, Ty type) {
  LaneAddrs at;
  at.space = space;
  for (size_t l = 0; l < 32; ++l) at.addr[l] = static_cast<uint64_t>(a.base[l] + offset);
  uint32_t n = bytes(op.type);
  uint32_t ok = admit(cta, w, op, at, mask, AccessKind::Read, n);
  std::array<NodeId, kLanes> node{};
  LaneMap lane{};
  Cells& cells = cells_of(cta, w, space);
  for (uint32_t l = 0; l < 32; ++l) {
    if (!((mask >> l) & 1)) continue;
    if (!((ok >> l) & 1)) {
      node[l] = b_.undef(type, UndefReason::OutOfBounds);
      continue;
    }
    LaneVal v =
        read_value(cells, space, cell_address(w, at, l, 0), n, space == Space::Local ? 128 : 4);
    node[l] = node_of(v, type, &lane[l]);
  }
  return b_.gather(node, lane);
}

bool Tracer::global_scatter(Warp& w, const MicroOp& op, uint32_t mask, const AffineAddr& a) {
  int64_t base = 0;
  const Device::Area* area = area_near(a, mask, &base);
  if (!area || !area->writable) {
    return fail_here(op, DiagKind::Unsupported, "data-dependent address in no buffer");
  }
  if (op.kind == OpKind::Atom && op.dst) {
    return fail_here(op, DiagKind::Unsupported, "result of an atomic at a data-dependent address");
  }
  uint32_t n = bytes(op.type);
  Ty et = buffer_type(area->buffer);
  if (bytes(et) != n) et = op.type;
  NodeId index = index_node(a, n, op.pc);
  if (index == kNoNode) {
    return fail_here(op, DiagKind::Unsupported, "data-dependent address inside of an element");
  }
  scattered_.insert(area->buffer);
  for (uint32_t v = 0; v < op.vec; ++v) {
    IndexedOut out;
    out.buffer = area->buffer;
    out.type = op.kind == OpKind::Atom ? op.type : et;
    out.atomic = op.kind == OpKind::Atom;
    out.kind = static_cast<AtomKind>(op.mode);
    if (!out.atomic) out.kind = AtomKind::Exch;
    out.index = index;
    out.value =
        fetch(w, op.kind == OpKind::Atom ? op.src[1] : k_.vecs[op.vecs + v], out.type, mask);
    out.pred = b_.land(path_, guard_);
    out.base.fill(0);
    for (uint32_t l = 0; l < 32; ++l) {
      if ((mask >> l) & 1) out.base[l] = floor_div(a.base[l] + v * n - base, n);
    }
    out.mask = mask;
    out.pc = op.pc;
    b_.trace.indexed.push_back(out);
  }
  return true;
}

// Places of an n-byte access: all of shared or local memory if that is small, else the variables
// that the constant part lies in or shortly before (an index may be offset by a constant). Empty:
// too many.
std::vector<uint32_t> Tracer::candidates(const AffineAddr& a, uint32_t mask, Space space,
                                         uint32_t n, size_t limit) {
  uint64_t size = space == Space::Shared ? k_.shared_bytes() : k_.local_bytes;
  std::vector<uint32_t> out;
  auto add = [&](uint64_t lo, uint64_t hi) {
    for (uint64_t x = lo; x + n <= hi && out.size() <= limit; x += n) {
      out.push_back(static_cast<uint32_t>(x));
    }
  };
  bool indexed = true;
  int64_t reach = 0;
  for (auto [node, scale] : a.terms) {
    indexed = indexed && scale % n == 0;
    reach = std::max(reach, 16 * (scale < 0 ? -scale : scale));
  }
  if (size / n <= limit || !indexed) {
    add(0, size);
  } else {
    int64_t first = a.base[static_cast<size_t>(std::countr_zero(mask))];
    for (auto [at, length] : space == Space::Shared ? k_.shared_vars : k_.local_vars) {
      auto lo = static_cast<int64_t>(at);
      if (first >= lo - reach && first < lo + length + reach) add(at, at + length);
    }
  }
  if (out.size() > limit) out.clear();
  return out;
}

// True where the address is the candidate.
NodeId Tracer::at_candidate(const AffineAddr& a, uint32_t mask, uint32_t candidate, uint32_t pc) {
  if (a.terms.size() == 1) {  // index = k
    auto [node, scale] = a.terms[0];
    std::array<uint64_t, kLanes> want{};
    uint32_t possible = 0;
    uint64_t fill = 0;
    for (uint32_t l = 0; l < 32; ++l) {
      if (!((mask >> l) & 1)) continue;
      int64_t d = static_cast<int64_t>(candidate) - a.base[l];
      if (d % scale != 0) continue;
      possible |= 1u << l;
      want[l] = fill = static_cast<uint64_t>(d / scale);
    }
    if (!possible) return b_.pred_const(false);
    for (uint32_t l = 0; l < 32; ++l) {
      if (!((possible >> l) & 1)) want[l] = fill;
    }
    NodeId eq = b_.apply(Fn::Eq, Ty::S64, {}, pc, node, b_.const_vec(Ty::S64, want));
    return possible == mask ? eq : b_.blend(possible | ~mask, eq, b_.pred_const(false));
  }
  NodeId sum = index_node(a, 1, pc);
  std::array<uint64_t, kLanes> want;
  for (uint32_t l = 0; l < 32; ++l) {
    want[l] = static_cast<uint64_t>(static_cast<int64_t>(candidate) - a.base[l]);
  }
  return b_.apply(Fn::Eq, Ty::S64, {}, pc, sum, b_.const_vec(Ty::S64, want));
}

// What all lanes of the mask read at one (concrete) place.
NodeId Tracer::cell_node(Cta& cta, Warp& w, Space space, uint32_t mask, uint64_t addr, uint32_t n,
                         Ty type) {
  Cells& cells = cells_of(cta, w, space);
  LaneAddrs at;
  at.space = space;
  std::fill_n(at.addr, 32, addr);
  std::array<NodeId, kLanes> node{};
  LaneMap lane{};
  for (uint32_t l = 0; l < 32; ++l) {
    if (!((mask >> l) & 1)) continue;
    LaneVal v =
        read_value(cells, space, cell_address(w, at, l, 0), n, space == Space::Local ? 128 : 4);
    node[l] = node_of(v, type, &lane[l]);
  }
  return b_.gather(node, lane);
}

NodeId Tracer::cell_lookup(Cta& cta, Warp& w, const MicroOp& op, uint32_t mask, const AffineAddr& a,
                           Space space, uint32_t offset, Ty type) {
  std::vector<uint32_t> where = candidates(a, mask, space, bytes(op.type) * op.vec, kMaxBins);
  if (where.empty()) {
    fail_here(op, DiagKind::Unsupported,
              "data-dependent address in a large array of shared or local memory");
    return kNoNode;
  }
  NodeId r = b_.undef(type, UndefReason::OutOfBounds);
  for (uint32_t x : where) {
    NodeId cond = at_candidate(a, mask, x, op.pc);
    NodeId here = cell_node(cta, w, space, mask, x + offset, bytes(op.type), type);
    r = b_.select(cond, here, r, op.pc);
  }
  return r;
}

bool Tracer::cell_scatter(Cta& cta, Warp& w, const MicroOp& op, uint32_t mask, const AffineAddr& a,
                          Space space) {
  uint32_t n = bytes(op.type);
  bool alone = (mask & (mask - 1)) == 0;
  if (space == Space::Shared && !alone) {
    return fail_here(op, DiagKind::Unsupported,
                     "several lanes store to shared memory at data-dependent addresses");
  }
  std::vector<uint32_t> where = candidates(a, mask, space, n * op.vec, kMaxCandidates);
  if (where.empty()) {
    return fail_here(op, DiagKind::Unsupported,
                     "store at a data-dependent address in a large array");
  }
  Cells& cells = cells_of(cta, w, space);
  ++stamp_;
  for (uint32_t v = 0; v < op.vec; ++v) {
    NodeId value = fetch_raw(w, k_.vecs[op.vecs + v], mask);
    if (bits(b_.type_of(value)) != bits(op.type)) value = b_.convert(value, op.type);
    Ty t = b_.type_of(value);
    for (uint32_t x : where) {
      NodeId cond = b_.land(b_.land(path_, guard_), at_candidate(a, mask, x, op.pc));
      NodeId old = cell_node(cta, w, space, mask, x + v * n, n, t);
      NodeId now = b_.select(cond, value, old, op.pc);
      LaneAddrs at;
      at.space = space;
      std::fill_n(at.addr, 32, x + v * n);
      for (uint32_t l = 0; l < 32; ++l) {
        if (!((mask >> l) & 1)) continue;
        write_value(cells, space, cell_address(w, at, l, 0), n,
                    LaneVal{now, static_cast<uint8_t>(l), false, 0}, op.pc,
                    space == Space::Local ? 128 : 4);
      }
    }
  }
  return true;
}

// A histogram: each place gains the sum over the lanes that hit it.
bool Tracer::cell_add(Cta& cta, Warp& w, const MicroOp& op, uint32_t mask, const AffineAddr& a) {
  if (op.dst || static_cast<AtomFn>(op.mode) != AtomFn::Add) {
    return fail_here(op, DiagKind::Unsupported,
                     "atomic at a data-dependent address of shared memory");
  }
  uint32_t n = bytes(op.type);
  std::vector<uint32_t> where = candidates(a, mask, Space::Shared, n, kMaxBins);
  if (where.empty()) {
    return fail_here(op, DiagKind::Unsupported, "data-dependent address in a large array");
  }
  NodeId value = fetch(w, op.src[1], op.type, mask);
  NodeId zero = b_.constant(op.type, 0);
  Fn add = is_float(op.type) ? Fn::Add : Fn::IAdd;
  ++stamp_;
  for (uint32_t x : where) {
    NodeId cond = b_.land(b_.land(path_, guard_), at_candidate(a, mask, x, op.pc));
    NodeId s = b_.blend(mask, b_.select(cond, value, zero, op.pc), zero);
    for (uint8_t step = 16; step; step /= 2) {
      LaneMap map;
      for (uint8_t l = 0; l < 32; ++l) map[l] = l ^ step;
      s = b_.apply(add, op.type, {}, op.pc, s, b_.perm(s, map));
    }
    NodeId old = cell_node(cta, w, Space::Shared, mask, x, n, op.type);
    NodeId now = b_.apply(add, op.type, {}, op.pc, old, s);
    auto lane = static_cast<uint8_t>(std::countr_zero(mask));
    write_value(shared_, Space::Shared, x, n, LaneVal{now, lane, false, 0}, op.pc, 4);
  }
  return true;
}

bool Tracer::symbolic_load(Cta& cta, Warp& w, const MicroOp& op, uint32_t mask) {
  AffineAddr a;
  Space space = Space::Global;
  if (!address_of(w, op, mask, &a, &space)) return false;
  for (uint32_t v = 0; v < op.vec; ++v) {
    RegRef d = k_.vecs[op.vecs + v];
    if (!d) continue;
    Ty reg = k_.regs[d.id].type;
    Ty t = bits(reg) == bits(op.type) ? reg : op.type;
    NodeId n = load_affine(cta, w, op, mask, a, space, v * bytes(op.type), t, 6);
    if (n == kNoNode) return false;
    assign(w, d, mask, extend_node(n, op.type, reg, op.pc));
  }
  return true;
}

bool Tracer::symbolic_store(Cta& cta, Warp& w, const MicroOp& op, uint32_t mask) {
  AffineAddr a;
  Space space = Space::Global;
  if (!address_of(w, op, mask, &a, &space)) return false;
  if (space == Space::Global) return global_scatter(w, op, mask, a);
  if (op.kind == OpKind::Atom && space == Space::Shared) return cell_add(cta, w, op, mask, a);
  if (op.kind == OpKind::Atom) {
    return fail_here(op, DiagKind::Unsupported, "atomic on local memory");
  }
  return cell_scatter(cta, w, op, mask, a, space);
}

}  // namespace assay::machine
