#include "term/smt/feasible.h"

#include <fmt/format.h>
#include <z3.h>

#include <cmath>
#include <string>
#include <unordered_map>

namespace assay::term {
namespace {

class Translator {
 public:
  Translator(Z3_context ctx, Z3_solver solver, const TermDag& dag,
             const std::function<bool(TermId)>& leaf, const Snapper& snapper)
      : ctx_(ctx),
        solver_(solver),
        dag_(dag),
        leaf_(leaf),
        snapper_(snapper),
        real_(Z3_mk_real_sort(ctx)) {}

  Z3_ast real(TermId id) {
    auto [it, fresh] = reals_.try_emplace(id, nullptr);
    if (!fresh) return it->second;
    const Z3_ast ast = make_real(id);
    return reals_[id] = ast;
  }

 private:
  Z3_ast variable(const std::string& name) {
    return Z3_mk_const(ctx_, Z3_mk_string_symbol(ctx_, name.c_str()), real_);
  }
  Z3_ast number(Ty type, double v) {
    const Ideal& i = snapper_.snap(type, v);
    if (i.kind == Ideal::Kind::Rational)
      return Z3_mk_numeral(ctx_, fmt::format("{}/{}", i.num, i.den).c_str(), real_);
    return Z3_mk_numeral(ctx_, fmt::format("{:.40f}", i.value).c_str(), real_);
  }
  Z3_ast ite(Z3_ast c, Z3_ast a, Z3_ast b) { return Z3_mk_ite(ctx_, c, a, b); }
  Z3_ast boolean(TermId id) {
    auto [it, fresh] = bools_.try_emplace(id, nullptr);
    if (!fresh) return it->second;
    const Z3_ast ast = make_bool(id);
    return bools_[id] = ast;
  }
  Z3_ast make_bool(TermId id) {
    const Term& t = dag_[id];
    if (t.kind == Term::Kind::Integer) return t.element != 0 ? Z3_mk_true(ctx_) : Z3_mk_false(ctx_);
    auto a = [&] { return real(t.arg[0]); };
    auto b = [&] { return real(t.arg[1]); };
    if (!leaf_(id)) {
      switch (t.fn) {
        case Fn::Lt:
        case Fn::Ltu:
          return Z3_mk_lt(ctx_, a(), b());
        case Fn::Le:
        case Fn::Leu:
          return Z3_mk_le(ctx_, a(), b());
        case Fn::Gt:
        case Fn::Gtu:
          return Z3_mk_gt(ctx_, a(), b());
        case Fn::Ge:
        case Fn::Geu:
          return Z3_mk_ge(ctx_, a(), b());
        case Fn::Eq:
        case Fn::Equ:
          return Z3_mk_eq(ctx_, a(), b());
        case Fn::Ne:
        case Fn::Neu:
          return Z3_mk_not(ctx_, Z3_mk_eq(ctx_, a(), b()));
        case Fn::Num:
          return Z3_mk_true(ctx_);
        case Fn::Nan:
        case Fn::IsInf:
          return Z3_mk_false(ctx_);
        case Fn::PNot:
          return Z3_mk_not(ctx_, boolean(t.arg[0]));
        case Fn::PAnd:
        case Fn::POr: {
          const Z3_ast args[2] = {boolean(t.arg[0]), boolean(t.arg[1])};
          return t.fn == Fn::PAnd ? Z3_mk_and(ctx_, 2, args) : Z3_mk_or(ctx_, 2, args);
        }
        case Fn::PXor:
          return Z3_mk_xor(ctx_, boolean(t.arg[0]), boolean(t.arg[1]));
        default:
          break;
      }
    }
    return Z3_mk_const(ctx_, Z3_mk_string_symbol(ctx_, fmt::format("b{}", id).c_str()),
                       Z3_mk_bool_sort(ctx_));
  }
  Z3_ast make_real(TermId id) {
    const Term& t = dag_[id];
    // An infinity is no real: a free value, which proves less.
    if (t.kind == Term::Kind::Number)
      return std::isfinite(t.value) ? number(t.type, t.value) : variable(fmt::format("inf{}", id));
    if (t.kind == Term::Kind::Integer) return Z3_mk_int64(ctx_, t.element, real_);
    if (t.kind != Term::Kind::Apply || leaf_(id)) return variable(fmt::format("x{}", id));
    auto a = [&] { return real(t.arg[0]); };
    auto b = [&] { return real(t.arg[1]); };
    auto pair = [&](Z3_ast x, Z3_ast y, auto make) {
      const Z3_ast args[2] = {x, y};
      return make(ctx_, 2u, args);
    };
    const Z3_ast zero = Z3_mk_int64(ctx_, 0, real_), one = Z3_mk_int64(ctx_, 1, real_);
    switch (t.fn) {
      case Fn::Add:
      case Fn::IAdd:
        return pair(a(), b(), Z3_mk_add);
      case Fn::Sub:
      case Fn::ISub:
        return pair(a(), b(), Z3_mk_sub);
      case Fn::Mul:
      case Fn::IMul:
        return pair(a(), b(), Z3_mk_mul);
      case Fn::Fma:
        return pair(pair(a(), b(), Z3_mk_mul), real(t.arg[2]), Z3_mk_add);
      case Fn::Div:
        return Z3_mk_div(ctx_, a(), b());
      case Fn::Rcp:
        return Z3_mk_div(ctx_, one, a());
      case Fn::Neg:
        return Z3_mk_unary_minus(ctx_, a());
      case Fn::Abs:
        return ite(Z3_mk_ge(ctx_, a(), zero), a(), Z3_mk_unary_minus(ctx_, a()));
      case Fn::Max:
      case Fn::IMax:
        return ite(Z3_mk_ge(ctx_, a(), b()), a(), b());
      case Fn::Min:
      case Fn::IMin:
        return ite(Z3_mk_le(ctx_, a(), b()), a(), b());
      case Fn::Sat:
        return ite(Z3_mk_lt(ctx_, a(), zero), zero, ite(Z3_mk_gt(ctx_, a(), one), one, a()));
      case Fn::Select:
        return ite(boolean(t.arg[0]), b(), real(t.arg[2]));
      case Fn::CvtFF:
      case Fn::CvtIF:
      case Fn::CvtII:
        return a();
      default:
        break;
    }
    const int arity = info(t.fn).arity;
    std::vector<Z3_sort> sorts(static_cast<size_t>(arity), real_);
    std::vector<Z3_ast> args;
    for (int k = 0; k < arity; ++k) args.push_back(real(t.arg[k]));
    const Z3_func_decl f =
        Z3_mk_func_decl(ctx_, Z3_mk_string_symbol(ctx_, std::string(info(t.fn).name).c_str()),
                        static_cast<unsigned>(arity), sorts.data(), real_);
    const Z3_ast app = Z3_mk_app(ctx_, f, static_cast<unsigned>(arity), args.data());
    if (t.fn == Fn::Exp || t.fn == Fn::Exp2)
      Z3_solver_assert(ctx_, solver_, Z3_mk_gt(ctx_, app, zero));
    return app;
  }

  Z3_context ctx_;
  Z3_solver solver_;
  const TermDag& dag_;
  const std::function<bool(TermId)>& leaf_;
  const Snapper& snapper_;
  Z3_sort real_;
  std::unordered_map<TermId, Z3_ast> reals_, bools_;
};

template <class F>
Feasible with_solver(const TermDag& dag, const std::function<bool(TermId)>& leaf,
                     const Snapper& snapper, unsigned timeout_ms, F&& assert_all) {
  const Z3_config cfg = Z3_mk_config();
  Z3_set_param_value(cfg, "timeout", std::to_string(timeout_ms).c_str());
  const Z3_context ctx = Z3_mk_context(cfg);
  Z3_del_config(cfg);
  Z3_set_error_handler(ctx, [](Z3_context, Z3_error_code) {});
  const Z3_solver solver = Z3_mk_solver(ctx);
  Z3_solver_inc_ref(ctx, solver);
  Translator tr(ctx, solver, dag, leaf, snapper);
  assert_all(ctx, solver, tr);
  Feasible out = Feasible::Unknown;
  if (Z3_get_error_code(ctx) == Z3_OK) {
    const Z3_lbool r = Z3_solver_check(ctx, solver);
    out = r == Z3_L_FALSE ? Feasible::No : r == Z3_L_TRUE ? Feasible::Yes : Feasible::Unknown;
  }
  Z3_solver_dec_ref(ctx, solver);
  Z3_del_context(ctx);
  return out;
}

}  // namespace

Feasible feasible(const TermDag& dag, const std::vector<OrderConstraint>& constraints,
                  const std::function<bool(TermId)>& is_leaf, const Snapper& snapper,
                  unsigned timeout_ms) {
  return with_solver(dag, is_leaf, snapper, timeout_ms,
                     [&](Z3_context ctx, Z3_solver solver, Translator& tr) {
                       for (const OrderConstraint& c : constraints) {
                         const Z3_ast a = tr.real(c.a), b = tr.real(c.b);
                         Z3_solver_assert(ctx, solver,
                                          c.sign > 0   ? Z3_mk_gt(ctx, a, b)
                                          : c.sign < 0 ? Z3_mk_lt(ctx, a, b)
                                                       : Z3_mk_eq(ctx, a, b));
                       }
                     });
}

}  // namespace assay::term
