#include "term/terms.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/ieee.h"

namespace assay::term {
namespace {

template <class F>
void for_lanes(uint32_t mask, F&& f) {
  for (; mask != 0; mask &= mask - 1) f(__builtin_ctz(mask));
}

uint64_t key_of(const Term& t) {
  uint64_t h = mix64(static_cast<uint64_t>(t.kind) * 1315423911 +
                     static_cast<uint64_t>(t.fn) * 2654435761 + static_cast<uint64_t>(t.type) * 97 +
                     t.mods.imm * 13 + static_cast<uint64_t>(t.mods.type2) * 7 +
                     (t.mods.sat ? 3 : 0) + static_cast<uint64_t>(t.mods.round) * 31);
  for (TermId a : t.arg) h = mix64(h ^ a);
  return mix64(h ^ t.symbol ^ mix64(static_cast<uint64_t>(t.element)) ^
               std::bit_cast<uint64_t>(t.value));
}

bool same_mods(const Mods& a, const Mods& b) {
  return a.imm == b.imm && a.sat == b.sat && a.round == b.round && a.type2 == b.type2;
}
bool same(const Term& a, const Term& b) {
  return a.kind == b.kind && a.fn == b.fn && a.type == b.type && a.symbol == b.symbol &&
         a.element == b.element &&
         std::bit_cast<uint64_t>(a.value) == std::bit_cast<uint64_t>(b.value) &&
         same_mods(a.mods, b.mods) &&
         std::equal(std::begin(a.arg), std::end(a.arg), std::begin(b.arg));
}

bool commutes(Fn fn) {
  switch (fn) {
    case Fn::Add:
    case Fn::Mul:
    case Fn::Max:
    case Fn::Min:
    case Fn::IAdd:
    case Fn::IMul:
    case Fn::IMin:
    case Fn::IMax:
    case Fn::PAnd:
    case Fn::POr:
    case Fn::PXor:
      return true;
    default:
      return false;
  }
}

}  // namespace

TermId TermDag::intern(const Term& t) {
  auto place = [&](const Term& x) { return key_of(x) & (index_.size() - 1); };
  if (terms_.size() * 2 > index_.size()) {
    index_.assign(index_.size() * 2, 0);
    for (size_t id = 1; id < terms_.size(); ++id) {
      size_t at = place(terms_[id]);
      while (index_[at] != 0) at = (at + 1) & (index_.size() - 1);
      index_[at] = static_cast<TermId>(id);
    }
  }
  size_t at = place(t);
  for (; index_[at] != 0; at = (at + 1) & (index_.size() - 1))
    if (same(terms_[index_[at]], t)) return index_[at];
  const auto id = static_cast<TermId>(terms_.size());
  terms_.push_back(t);
  return index_[at] = id;
}

TermId TermDag::symbol(uint64_t symbol, Ty type, int64_t element) {
  Term t;
  t.kind = Term::Kind::Symbol;
  t.type = type;
  t.symbol = symbol;
  t.element = element;
  return intern(t);
}
TermId TermDag::number(Ty type, double value) {
  Term t;
  t.kind = Term::Kind::Number;
  t.type = type;
  t.value = value;
  return intern(t);
}
TermId TermDag::integer(int64_t value) {
  Term t;
  t.kind = Term::Kind::Integer;
  t.type = Ty::S64;
  t.element = value;
  return intern(t);
}
TermId TermDag::undef(uint64_t tag) {
  Term t;
  t.kind = Term::Kind::Undef;
  t.symbol = tag;
  return intern(t);
}
constexpr double kStartValue = 1e4;

// Extrema have start values of loops outermost, so that these do not hide what they were compared
// with: max(max(-1e10, a), b) is max(max(a, b), -1e10). Clamps stay as they are.
TermId TermDag::constant_last(Fn fn, Ty type, const Mods& mods, const TermId* args, uint32_t pc) {
  for (int k = 0; k < 2; ++k) {
    const Term inner = terms_[args[k]];
    if (inner.kind != Term::Kind::Apply || inner.fn != fn || inner.type != type ||
        !same_mods(inner.mods, mods))
      continue;
    for (int j = 0; j < 2; ++j) {
      const Term constant = terms_[inner.arg[j]];
      if (constant.kind != Term::Kind::Number || std::fabs(constant.value) < kStartValue) continue;
      const Term& other = terms_[args[1 - k]];
      TermId outer[2] = {inner.arg[1 - j], inner.arg[j]};
      if (other.kind == Term::Kind::Number) {
        outer[1] = number(type, fn == Fn::Max ? std::max(constant.value, other.value)
                                              : std::min(constant.value, other.value));
      } else {
        const TermId both[2] = {inner.arg[1 - j], args[1 - k]};
        outer[0] = apply(fn, type, mods, both, 2, pc);
      }
      return apply(fn, type, mods, outer, 2, pc);
    }
  }
  return 0;
}

TermId TermDag::apply(Fn fn, Ty type, const Mods& mods, const TermId* args, int count,
                      uint32_t pc) {
  if (count == 2 && (fn == Fn::Max || fn == Fn::Min))
    if (const TermId t = constant_last(fn, type, mods, args, pc); t != 0) return t;
  Term t;
  t.fn = fn;
  t.type = type;
  t.mods = mods;
  t.pc = pc;
  for (int k = 0; k < count; ++k) t.arg[k] = args[k];
  if (count == 2 && commutes(fn) && t.arg[0] > t.arg[1]) std::swap(t.arg[0], t.arg[1]);
  return intern(t);
}

std::string TermDag::text(TermId id, const std::unordered_map<TermId, std::string>& names,
                          int limit) const {
  auto it = names.find(id);
  if (it != names.end() && !it->second.empty()) return it->second;
  const Term& t = terms_[id];
  switch (t.kind) {
    case Term::Kind::Symbol:
      return fmt::format("s{}[{}]", t.symbol, t.element);
    case Term::Kind::Number:
      return fmt::format("{:.9g}", t.value);
    case Term::Kind::Integer:
      return fmt::format("{}", t.element);
    case Term::Kind::Undef:
      return "undefined";
    default:
      break;
  }
  if (limit <= 1) return "...";
  const int arity = info(t.fn).arity;
  const int share = (limit - 1) / std::max(1, arity);
  std::vector<std::string> args;
  for (int k = 0; k < arity; ++k) args.push_back(text(t.arg[k], names, share));
  const char* infix = nullptr;
  switch (t.fn) {
    case Fn::Add:
    case Fn::IAdd:
      infix = " + ";
      break;
    case Fn::Sub:
    case Fn::ISub:
      infix = " - ";
      break;
    case Fn::Mul:
    case Fn::IMul:
      infix = " * ";
      break;
    case Fn::Div:
      infix = " / ";
      break;
    case Fn::Gt:
      infix = " > ";
      break;
    case Fn::Lt:
      infix = " < ";
      break;
    case Fn::Ge:
      infix = " >= ";
      break;
    case Fn::Le:
      infix = " <= ";
      break;
    case Fn::Eq:
      infix = " == ";
      break;
    default:
      break;
  }
  if (infix != nullptr) return "(" + args[0] + infix + args[1] + ")";
  if (t.fn == Fn::Fma) return "(" + args[0] + " * " + args[1] + " + " + args[2] + ")";
  if (t.fn == Fn::Select) return "(" + args[0] + " ? " + args[1] + " : " + args[2] + ")";
  if (t.fn == Fn::CvtFF || t.fn == Fn::CvtII || t.fn == Fn::CvtIF) return args[0];
  std::string out = std::string(info(t.fn).name) + "(";
  for (size_t k = 0; k < args.size(); ++k) out += (k == 0 ? "" : ", ") + args[k];
  return out + ")";
}

TermId TermDomain::lane_term(const Row& row, int lane, Ty type) {
  if (((row.raw >> lane) & 1) == 0) return static_cast<TermId>(row.t[lane]);
  const uint64_t bits = row.t[lane];
  if (is_float(type)) return dag_.number(type, ieee_to_double(type, bits));
  const uint32_t width = assay::bits(type);
  if (type == Ty::Pred) return dag_.integer(bits != 0 ? 1 : 0);
  if (type == Ty::U8 || type == Ty::U16 || width >= 64)
    return dag_.integer(static_cast<int64_t>(bits));
  return dag_.integer(static_cast<int64_t>(bits << (64 - width)) >> (64 - width));
}

void TermDomain::apply(Fn fn, Ty type, const Mods& mods, const Row* a, const Row* b, const Row* c,
                       const Row* d, Row& out, uint32_t mask) {
  if (dag_.size() > max_terms_) overflow = true;
  const FnInfo& f = info(fn);
  const Row* rows[4] = {a, b, c, d};
  Row result;
  std::fill_n(result.t, kRow, uint64_t{0});  // term 0 after an overflow: nobody looks at it
  for_lanes(overflow ? 0 : mask, [&](int l) {
    TermId args[4] = {};
    for (int k = 0; k < f.arity; ++k) {
      Ty t = type;
      if (f.cls == FnClass::L || (fn == Fn::Select && k == 0)) t = Ty::Pred;
      if (f.cls == FnClass::V && mods.type2 != Ty::None && fn != Fn::Bits) t = mods.type2;
      if (fn == Fn::Pack) t = bits(type) == 64 ? Ty::F32 : Ty::F16;
      args[k] = lane_term(*rows[k], l, t);
    }
    result.t[l] = dag_.apply(fn, type, mods, args, f.arity, pc);
  });
  for (int l = 0; l < kRow; ++l) out.t[l] = result.t[l];
  out.raw = out.undef = 0;
}
void TermDomain::set_bits(uint64_t bits, Row& out) const {
  out.undef = 0;
  out.raw = 0xffffffffu;
  for (uint64_t& t : out.t) t = bits;
}
void TermDomain::set_bits(const uint64_t* bits, Row& out) const {
  out.undef = 0;
  out.raw = 0xffffffffu;
  for (int l = 0; l < kRow; ++l) out.t[l] = bits[l];
}
void TermDomain::set_number(Ty type, double value, Row& out) {
  clear(out);
  const TermId id = dag_.number(type, value);
  for (uint64_t& t : out.t) t = id;
}
void TermDomain::set_integer(const int64_t* values, Row& out) {
  clear(out);
  for (int l = 0; l < kRow; ++l) out.t[l] = dag_.integer(values[l]);
}
void TermDomain::set_undef(uint64_t tag, Row& out) {
  clear(out);
  for (int l = 0; l < kRow; ++l) out.t[l] = dag_.undef(tag * 64 + static_cast<uint64_t>(l));
}
void TermDomain::symbol(uint64_t symbol, Ty type, const int64_t* elements, uint32_t mask,
                        Row& out) {
  clear(out);
  for_lanes(mask, [&](int l) { out.t[l] = dag_.symbol(symbol, type, elements[l]); });
}
void TermDomain::broadcast(const Row& from, int lane, Row& out) const {
  const uint64_t t = from.t[lane];
  const uint32_t raw = (from.raw >> lane) & 1 ? 0xffffffffu : 0;
  for (uint64_t& x : out.t) x = t;
  out.raw = raw;
}
void TermDomain::fix_type(Ty type, Row& row, uint32_t mask) {
  for_lanes(row.raw & mask, [&](int l) { row.t[l] = lane_term(row, l, type); });
  row.raw = 0;
}
TermDomain::Cell TermDomain::cell(const Row& row, int lane, Ty type) {
  return {lane_term(row, lane, type)};
}
void TermDomain::set_lane(Row& row, int lane, const Cell& cell) const {
  row.raw &= ~(1u << lane);
  row.t[lane] = cell.t;
}
void TermDomain::copy_lane(const Row& from, int from_lane, Row& to, int lane) {
  const uint32_t bit = 1u << lane;
  to.t[lane] = from.t[from_lane];
  to.raw = (from.raw >> from_lane) & 1 ? to.raw | bit : to.raw & ~bit;
}
TermDomain::Cell TermDomain::combine(Fn fn, Ty type, const Cell& a, const Cell& b) {
  const TermId args[2] = {a.t, b.t};
  return {dag_.apply(fn, type, {}, args, 2, pc)};
}

// Symbolic indices make no terms of their own: the cone is given up.
void TermDomain::lookup(Store<TermDomain>& store, int buffer, Ty type, const Row& index,
                        const int64_t* base, int64_t lo, int64_t hi, uint32_t mask, Row& out) {
  (void)type, (void)lo, (void)hi;
  clear(out);
  std::fill_n(out.t, kRow, uint64_t{0});
  for_lanes(overflow ? 0 : mask, [&](int l) {
    const TermId i = lane_term(index, l, Ty::S64);
    if (dag_[i].kind == Term::Kind::Integer) {
      out.t[l] = store.load1(buffer, base[l] + dag_[i].element).t;
      return;
    }
    overflow = true;
    out.t[l] = i;
  });
}
void TermDomain::scatter(Store<TermDomain>&, const machine::IndexedOut&, const Row&, const Row&,
                         const Row*) {
  overflow = true;
}

}  // namespace assay::term
