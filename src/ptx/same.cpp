// Equality of modules.
#include <algorithm>

#include "ptx/module.h"

namespace assay::ptx {
namespace {

template <class T, class F>
bool all(const std::vector<T>& a, const std::vector<T>& b, F&& equal) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), equal);
}

bool variable(const Variable& a, const Variable& b) {
  return a.name == b.name && a.space == b.space && a.type == b.type && a.opaque == b.opaque &&
         a.vector == b.vector && a.is_array == b.is_array && a.dims == b.dims && a.size == b.size &&
         a.align == b.align && a.offset == b.offset && a.linkage == b.linkage &&
         a.has_init == b.has_init && a.init == b.init && a.relocations == b.relocations &&
         a.is_ptr == b.is_ptr && a.ptr_space == b.ptr_space && a.ptr_align == b.ptr_align &&
         a.is_reg == b.is_reg && a.reg == b.reg && a.attributes == b.attributes;
}

bool variables(const std::vector<Variable>& a, const std::vector<Variable>& b) {
  return all(a, b, variable);
}

class Compare {
 public:
  Compare(const Module& a, const Module& b) : a_(a), b_(b) {}

  bool function(const Function& f, const Function& g) {
    const auto group = [](const RegGroup& x, const RegGroup& y) {
      return x.name == y.name && x.type == y.type && x.vector == y.vector && x.range == y.range &&
             x.first == y.first && x.count == y.count;
    };
    const auto prototype = [](const Prototype& x, const Prototype& y) {
      return x.name == y.name && variables(x.returns, y.returns) && variables(x.params, y.params) &&
             x.noreturn == y.noreturn;
    };
    const auto targets = [](const TargetList& x, const TargetList& y) {
      return x.name == y.name && x.calls == y.calls && x.targets == y.targets;
    };
    return f.name == g.name && f.is_entry == g.is_entry && f.defined == g.defined &&
           f.declared_first == g.declared_first && f.linkage == g.linkage &&
           variables(f.returns, g.returns) && variables(f.params, g.params) &&
           f.param_bytes == g.param_bytes && f.directives == g.directives &&
           all(f.regs, g.regs, group) && f.num_regs == g.num_regs &&
           variables(f.locals, g.locals) && all(f.prototypes, g.prototypes, prototype) &&
           all(f.target_lists, g.target_lists, targets) && f.labels == g.labels &&
           f.pragmas == g.pragmas && f.attributes == g.attributes &&
           all(f.body, g.body, [&](const Instr& i, const Instr& j) { return instr(f, i, g, j); });
  }

 private:
  bool instr(const Function& f, const Instr& i, const Function& g, const Instr& j) {
    return i.op == j.op && i.types == j.types && i.guard_negated == j.guard_negated &&
           i.guard == j.guard && i.mods == j.mods && string(i.suffix, j.suffix) &&
           location(i.loc, j.loc) && operands(f, f.operands(i), g, g.operands(j));
  }

  bool string(int32_t x, int32_t y) {
    if (x == kNone || y == kNone) return x == y;
    return a_.strings[static_cast<size_t>(x)] == b_.strings[static_cast<size_t>(y)];
  }

  bool location(int32_t x, int32_t y) {
    while (x != kNone && y != kNone) {
      const Loc& a = a_.locs[static_cast<size_t>(x)];
      const Loc& b = b_.locs[static_cast<size_t>(y)];
      if (a.file != b.file || a.line != b.line || a.column != b.column ||
          !string(a.function, b.function)) {
        return false;
      }
      x = a.inlined_at;
      y = b.inlined_at;
    }
    return x == y;
  }

  bool operands(const Function& f, std::span<const Operand> x, const Function& g,
                std::span<const Operand> y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                      [&](const Operand& o, const Operand& p) {
                        return o.kind == p.kind && o.negated == p.negated && o.type == p.type &&
                               o.component == p.component && o.special == p.special &&
                               o.reg == p.reg && o.reg2 == p.reg2 && o.symbol == p.symbol &&
                               o.imm == p.imm && operands(f, f.elements(o), g, g.elements(p));
                      });
  }

  const Module& a_;
  const Module& b_;
};

}  // namespace

bool same(const Module& a, const Module& b) {
  Compare compare(a, b);
  return a.version == b.version && a.target == b.target && a.target_options == b.target_options &&
         a.sm == b.sm && a.address_size == b.address_size && a.files == b.files &&
         variables(a.variables, b.variables) && a.items == b.items && a.aliases == b.aliases &&
         a.pragmas == b.pragmas &&
         all(a.functions, b.functions,
             [&](const Function& f, const Function& g) { return compare.function(f, g); });
}

}  // namespace assay::ptx
