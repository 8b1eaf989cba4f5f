#pragma once
// Test kit of the virtual GPU: kernels from files, launches on random data, a tiny evaluator of
// traces by base/ieee.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

#include "base/ieee.h"
#include "machine/run.h"
#include "ptx/module.h"

namespace assay::machine::test {

inline std::string read_text(const std::string& path) {
  std::ifstream f(path);
  std::stringstream s;
  s << f.rdbuf();
  return s.str();
}

inline const ptx::Module& module_of(const std::string& file) {
  static std::map<std::string, ptx::Module> cache;
  auto it = cache.find(file);
  if (it != cache.end()) return it->second;
  std::string path = std::string(ASSAY_SOURCE_DIR) + "/tests/unit/machine/kernels/" + file;
  auto m = ptx::parse(read_text(path), file);
  EXPECT_TRUE(m) << (m ? "" : m.error().message);
  return cache.emplace(file, m ? *m : ptx::Module{}).first->second;
}

// What a buffer is for and what it holds.
struct BufferSpec {
  Ty type = Ty::F32;
  size_t count = 0;
  enum Kind { Input, Permutation, Known, Output, Zero } kind = Input;  // Input: symbolic in traces
  double lo = -2, hi = 2;  // random contents (integers: truncated)
};

// A pointer parameter (index of a buffer) or a scalar.
struct Buf {
  int index;
};
using Param = std::variant<Buf, int, float, double, long long>;

struct Case {
  std::string file, kernel;
  std::array<uint32_t, 3> grid{1, 1, 1}, block{32, 1, 1};
  std::vector<BufferSpec> buffers;
  std::vector<Param> params;
  uint32_t shared = 0;
  std::vector<std::pair<std::string, int>> symbols = {};  // module variable, buffer
  bool cooperative = false;
};

struct Setup {
  std::vector<BufferEnv> env;
  std::vector<std::vector<uint8_t>> data;
  Launch launch;
  Kernel kernel;
};

inline void fill(std::vector<uint8_t>& out, const BufferSpec& b, uint32_t seed) {
  uint32_t n = bytes(b.type);
  out.assign(b.count * n, 0);
  if (b.kind == BufferSpec::Zero) return;
  if (b.kind == BufferSpec::Output) {
    std::fill(out.begin(), out.end(), 0xcd);
    return;
  }
  std::mt19937 rng(seed);
  if (b.kind == BufferSpec::Permutation) {  // of 0 .. count-1
    std::vector<int32_t> p(b.count);
    for (size_t i = 0; i < b.count; ++i) p[i] = static_cast<int32_t>(i);
    std::shuffle(p.begin(), p.end(), rng);
    std::memcpy(out.data(), p.data(), out.size());
    return;
  }
  std::uniform_real_distribution<double> d(b.lo, b.hi);
  for (size_t i = 0; i < b.count; ++i) {
    double v = d(rng);
    uint64_t x = is_float(b.type) ? ieee_from_double(b.type, v)
                                  : static_cast<uint64_t>(static_cast<int64_t>(std::floor(v)));
    std::memcpy(out.data() + i * n, &x, n);
  }
}

inline Result<Setup> setup(const Case& c, uint32_t seed) {
  Setup s;
  s.data.resize(c.buffers.size());
  s.env.resize(c.buffers.size());
  for (size_t i = 0; i < c.buffers.size(); ++i) {
    const BufferSpec& b = c.buffers[i];
    fill(s.data[i], b, seed + static_cast<uint32_t>(i) * 977);
    BufferEnv& e = s.env[i];
    e.address = (i + 1) << 33;
    e.bytes = s.data[i].size();
    e.type = b.type;
    e.data = s.data[i].data();
    e.version = 7;
    e.content = b.kind == BufferSpec::Input || b.kind == BufferSpec::Permutation
                    ? BufferEnv::Content::Symbolic
                : b.kind == BufferSpec::Output ? BufferEnv::Content::Poison
                                               : BufferEnv::Content::Bytes;
  }
  LaunchConstants& l = s.launch.constants;
  l.grid = c.grid;
  l.block = c.block;
  l.dynamic_shared = c.shared;
  l.num_buffers = static_cast<int>(c.buffers.size());
  s.launch.cooperative = c.cooperative;
  s.launch.step_limit = 50'000'000;
  auto put = [&](const void* p, size_t n) {
    while (l.params.size() % n) l.params.push_back(0);
    auto* q = static_cast<const uint8_t*>(p);
    l.params.insert(l.params.end(), q, q + n);
  };
  for (const Param& p : c.params) {
    if (auto* b = std::get_if<Buf>(&p)) {
      put(&s.env[static_cast<size_t>(b->index)].address, 8);
    } else if (auto* i = std::get_if<int>(&p)) {
      put(i, 4);
    } else if (auto* f = std::get_if<float>(&p)) {
      put(f, 4);
    } else if (auto* d = std::get_if<double>(&p)) {
      put(d, 8);
    } else {
      put(&std::get<long long>(p), 8);
    }
  }
  for (auto& [name, buffer] : c.symbols) {
    l.symbols.push_back({name, buffer, s.env[static_cast<size_t>(buffer)].address});
  }
  auto k = decode(module_of(c.file), c.kernel, l);
  if (!k) return tl::unexpected<Diag>(k.error());
  s.kernel = std::move(*k);
  return s;
}

using Lanes = std::array<uint64_t, 32>;

// Values of all nodes on the contents of the buffers. undef[n]: lanes that are undefined.
class TraceValues {
 public:
  TraceValues(const Trace& t, const std::vector<BufferEnv>& env) : t_(t), env_(env) {
    values_.resize(t.nodes.size());
    undef_.assign(t.nodes.size(), 0);
    for (NodeId n = 1; n < t.nodes.size(); ++n) eval(n);
  }
  uint64_t value(NodeId n, uint8_t lane) const { return values_[n][lane]; }
  bool undef(NodeId n, uint8_t lane) const { return (undef_[n] >> lane) & 1; }

 private:
  uint64_t element(int buffer, int64_t i, Ty type) const {
    const BufferEnv& e = env_[static_cast<size_t>(buffer)];
    uint64_t v = 0;
    uint32_t n = bytes(type);
    if (i >= 0 && (static_cast<uint64_t>(i) + 1) * n <= e.bytes) {
      std::memcpy(&v, e.data + static_cast<uint64_t>(i) * n, n);
    }
    return v;
  }
  static uint64_t keep(Ty t) { return bits(t) >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits(t)) - 1; }
  void eval(NodeId id) {
    const Node& n = t_.nodes[id];
    const Op& op = t_.ops[n.op];
    Lanes& out = values_[id];
    uint32_t& bad = undef_[id];
    switch (op.kind) {
      case NodeKind::Apply:
        apply(op, n, out, bad);
        break;
      case NodeKind::ConstAll:
        out.fill(t_.constants[n.a]);
        break;
      case NodeKind::ConstVec:
        out = t_.const_vecs[n.a];
        break;
      case NodeKind::Input: {
        const InputPayload& in = t_.inputs[n.a];
        for (size_t l = 0; l < 32; ++l) {
          int64_t i =
              in.elements.empty() ? in.first + static_cast<int64_t>(l) * in.stride : in.elements[l];
          out[l] = element(in.buffer, i, in.type);
        }
        break;
      }
      case NodeKind::Gather:
        for (size_t l = 0; l < 32; ++l)
          take(out, bad, l, t_.gathers[n.a].node[l], t_.gathers[n.a].lane[l]);
        break;
      case NodeKind::Bcast:
        for (size_t l = 0; l < 32; ++l) take(out, bad, l, n.a, static_cast<uint8_t>(n.b));
        break;
      case NodeKind::Perm:
        for (size_t l = 0; l < 32; ++l) take(out, bad, l, n.a, t_.perms[n.b][l]);
        break;
      case NodeKind::Blend:
        for (size_t l = 0; l < 32; ++l) {
          take(out, bad, l, (n.c >> l) & 1 ? n.a : n.b, static_cast<uint8_t>(l));
        }
        break;
      case NodeKind::Lookup: {
        const LookupPayload& p = t_.lookups[n.a];
        for (size_t l = 0; l < 32; ++l) {
          auto index = static_cast<int64_t>(values_[p.index][l]);
          Ty it = type_of(p.index);
          if (bits(it) == 32) {
            index = is_signed(it) || it == Ty::B32
                        ? static_cast<int32_t>(index)
                        : static_cast<int64_t>(static_cast<uint32_t>(index));
          }
          out[l] = element(p.buffer, p.base[l] + index, p.type);
        }
        bad = undef_[p.index];
        break;
      }
      case NodeKind::Undef:
        bad = ~0u;
        break;
    }
  }
  Ty type_of(NodeId n) const { return t_.ops[t_.nodes[n].op].type; }
  void take(Lanes& out, uint32_t& bad, size_t l, NodeId n, uint8_t lane) {
    out[l] = values_[n][lane];
    bad |= ((undef_[n] >> lane) & 1u) << l;
  }
  void apply(const Op& op, const Node& n, Lanes& out, uint32_t& bad) {
    NodeId x[4] = {n.a, n.b, n.c, kNoNode};
    int arity = info(op.fn).arity;
    if (op.fn == Fn::Bfi) {
      x[2] = t_.extra[n.c][0];
      x[3] = t_.extra[n.c][1];
    }
    if (op.fn == Fn::Select) {
      for (size_t l = 0; l < 32; ++l) {
        take(out, bad, l, values_[n.a][l] & 1 ? n.b : n.c, static_cast<uint8_t>(l));
      }
      bad |= undef_[n.a];
      return;
    }
    for (int i = 0; i < arity; ++i) bad |= undef_[x[i]];
    Ty a_type = op.type;
    if (info(op.fn).cls == FnClass::V && op.mods.type2 != Ty::None) a_type = op.mods.type2;
    for (size_t l = 0; l < 32; ++l) {
      uint64_t v[4] = {};
      for (int i = 0; i < arity; ++i) v[i] = values_[x[i]][l];
      uint64_t& r = out[l];
      switch (op.fn) {
        case Fn::Bits:
          r = v[0];
          break;
        case Fn::Pack: {
          uint32_t half = bits(op.type) / 2;
          r = (v[0] & ((uint64_t{1} << half) - 1)) | v[1] << half;
          break;
        }
        case Fn::UnpackLo:
          r = v[0] & keep(op.type);
          break;
        case Fn::UnpackHi:
          r = (v[0] >> bits(op.type)) & keep(op.type);
          break;
        case Fn::Max:
        case Fn::Min:
          if (op.mods.imm == 1) {
            Fn c = op.fn == Fn::Max ? Fn::Gt : Fn::Lt;
            r = ieee_apply1(c, op.type, {}, v[0], v[1]) & 1 ? v[0] : v[1];
            break;
          }
          [[fallthrough]];
        default:
          if (info(op.fn).cls == FnClass::V) v[0] &= keep(a_type);
          r = ieee_apply1(op.fn, op.type, op.mods, v[0], v[1], v[2], v[3]);
      }
    }
  }

  const Trace& t_;
  const std::vector<BufferEnv>& env_;
  std::vector<Lanes> values_;
  std::vector<uint32_t> undef_;
};

// Memory after the trace's stores and atomics, in their order; undefined bytes are marked.
struct Replayed {
  std::vector<std::vector<uint8_t>> data;
  std::vector<std::vector<bool>> undef;
};

uint64_t apply_atom(AtomKind kind, Ty type, uint64_t old, uint64_t v);

inline Replayed replay(const Trace& t, const std::vector<BufferEnv>& env) {
  Replayed r;
  for (const BufferEnv& e : env) {
    r.data.emplace_back(e.data, e.data + e.bytes);
    r.undef.emplace_back(e.bytes, false);
  }
  TraceValues v(t, env);
  auto put = [&](int buffer, int64_t element, Ty type, uint64_t value, bool undef) {
    auto b = static_cast<size_t>(buffer);
    uint32_t n = bytes(type);
    size_t at = static_cast<size_t>(element) * n;
    ASSERT_LE(at + n, r.data[b].size());
    std::memcpy(r.data[b].data() + at, &value, n);
    for (uint32_t i = 0; i < n; ++i) r.undef[b][at + i] = undef;
  };
  size_t s = 0, a = 0, x = 0;
  for (const CtaEnd& c : t.ctas) {
    for (; s < c.stores; ++s) {
      for (uint32_t part = 0; part < t.stores[s].count; ++part) {
        const StoreOut o = t.store({static_cast<uint32_t>(s), part});
        put(o.buffer, o.element, o.type, v.value(o.node, o.lane), v.undef(o.node, o.lane));
      }
    }
    for (; x < c.indexed; ++x) {
      const IndexedOut& o = t.indexed[x];
      for (uint8_t l = 0; l < 32; ++l) {
        if (!((o.mask >> l) & 1)) continue;
        if (o.pred != kNoNode && !(v.value(o.pred, l) & 1)) continue;
        auto index = static_cast<int64_t>(v.value(o.index, l));
        if (bits(t.ops[t.nodes[o.index].op].type) == 32) index = static_cast<int32_t>(index);
        int64_t e = o.base[l] + index;
        uint64_t value = v.value(o.value, l);
        if (o.atomic) {
          uint64_t old = 0;
          std::memcpy(&old, r.data[static_cast<size_t>(o.buffer)].data() + e * bytes(o.type),
                      bytes(o.type));
          value = apply_atom(o.kind, o.type, old, value);
        }
        put(o.buffer, e, o.type, value, v.undef(o.value, l));
      }
    }
    for (; a < c.atoms; ++a) {
      const AtomOut& o = t.atoms[a];
      uint64_t old = 0;
      std::memcpy(&old, r.data[static_cast<size_t>(o.buffer)].data() + o.element * bytes(o.type),
                  bytes(o.type));
      put(o.buffer, o.element, o.type, apply_atom(o.kind, o.type, old, v.value(o.node, o.lane)),
          v.undef(o.node, o.lane));
    }
  }
  return r;
}

inline uint64_t apply_atom(AtomKind kind, Ty type, uint64_t old, uint64_t v) {
  bool fp = is_float(type);
  switch (kind) {
    case AtomKind::Add:
      return ieee_apply1(fp ? Fn::Add : Fn::IAdd, type, {}, old, v);
    case AtomKind::Min:
      return ieee_apply1(fp ? Fn::Min : Fn::IMin, type, {}, old, v);
    case AtomKind::Max:
      return ieee_apply1(fp ? Fn::Max : Fn::IMax, type, {}, old, v);
    case AtomKind::And:
      return old & v;
    case AtomKind::Or:
      return old | v;
    case AtomKind::Xor:
      return old ^ v;
    default:
      return v;
  }
}

// The key test: the trace, evaluated on the data, leaves the memory that the concrete run leaves.
inline void expect_trace_equals_concrete(const Case& c, uint32_t seed, bool expect_defined = true) {
  SCOPED_TRACE(c.kernel + " seed " + std::to_string(seed));
  auto s = setup(c, seed);
  ASSERT_TRUE(s) << s.error().message;
  auto t = run_trace(s->kernel, s->launch, s->env, {});
  ASSERT_TRUE(t) << t.error().message << " line " << t.error().loc.line;
  Replayed r = replay(*t, s->env);
  auto run = run_concrete(s->kernel, s->launch, s->env, {});
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->fault_count, 0u);
  EXPECT_EQ(run->warp_instructions > 0, true);
  size_t different = 0, undefined = 0;
  for (size_t b = 0; b < s->data.size(); ++b) {
    for (size_t i = 0; i < s->data[b].size(); ++i) {
      if (r.undef[b][i]) {
        ++undefined;
      } else if (r.data[b][i] != s->data[b][i]) {
        if (different++ < 4) {
          ADD_FAILURE() << "buffer " << b << " byte " << i << ": trace " << int(r.data[b][i])
                        << ", concrete " << int(s->data[b][i]);
        }
      }
    }
  }
  EXPECT_EQ(different, 0u);
  if (expect_defined) {
    EXPECT_EQ(undefined, 0u);
  }
}

}  // namespace assay::machine::test
