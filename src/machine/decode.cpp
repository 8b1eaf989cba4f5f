// Layout of shared, local and module variables; frames of inlined functions.
#include "machine/decode.h"

#include <algorithm>
#include <cstring>

#include "machine/decoder.h"
#include "machine/flow.h"

namespace assay::machine {
namespace {

constexpr size_t kMaxOps = 4'000'000;
constexpr size_t kMaxDepth = 64;

uint64_t align_up(uint64_t x, uint64_t a) { return a ? (x + a - 1) / a * a : x; }

bool is_shared(ptx::Space s) {
  return s == ptx::Space::Shared || s == ptx::Space::SharedCta || s == ptx::Space::SharedCluster;
}
bool is_param(ptx::Space s) {
  return s == ptx::Space::Param || s == ptx::Space::ParamEntry || s == ptx::Space::ParamFunc;
}

}  // namespace

void Decoder::reach(int32_t fn, std::vector<bool>& seen, std::vector<int32_t>& order) const {
  if (seen[static_cast<size_t>(fn)]) return;
  seen[static_cast<size_t>(fn)] = true;
  order.push_back(fn);
  const ptx::Function& f = module_.functions[static_cast<size_t>(fn)];
  for (const ptx::Operand& o : f.operand_pool) {
    if (o.symbol.kind == ptx::SymbolKind::Function) reach(o.symbol.index, seen, order);
  }
}

// Static variables in order of appearance; dynamic shared memory, one area for all its names,
// behind them.
void Decoder::layout_shared(const ptx::Function& entry) {
  std::vector<bool> seen(module_.functions.size());
  std::vector<int32_t> order;
  reach(static_cast<int32_t>(&entry - module_.functions.data()), seen, order);
  uint64_t top = 0;
  uint64_t dynamic_align = 16;
  auto place = [&](int32_t fn, const std::vector<ptx::Variable>& vars) {
    for (size_t i = 0; i < vars.size(); ++i) {
      const ptx::Variable& v = vars[i];
      if (!is_shared(v.space)) continue;
      if (v.is_dynamic()) {
        dynamic_align = std::max<uint64_t>(dynamic_align, v.align);
        continue;
      }
      top = align_up(top, v.align);
      shared_offset_[{fn, static_cast<int32_t>(i)}] = top;
      k_.shared_vars.push_back({static_cast<uint32_t>(top), static_cast<uint32_t>(v.size)});
      top += v.size;
    }
  };
  place(-1, module_.variables);
  for (int32_t fn : order) place(fn, module_.functions[static_cast<size_t>(fn)].locals);
  top = launch_.dynamic_shared ? align_up(top, dynamic_align) : top;
  auto dynamic = [&](int32_t fn, const std::vector<ptx::Variable>& vars) {
    for (size_t i = 0; i < vars.size(); ++i) {
      if (is_shared(vars[i].space) && vars[i].is_dynamic()) {
        shared_offset_[{fn, static_cast<int32_t>(i)}] = align_up(top, dynamic_align);
      }
    }
  };
  dynamic(-1, module_.variables);
  for (int32_t fn : order) dynamic(fn, module_.functions[static_cast<size_t>(fn)].locals);
  constexpr uint64_t kMaxShared = uint64_t{1} << 24;
  if (top > kMaxShared || launch_.dynamic_shared > kMaxShared) {
    diags_.push_back({DiagKind::Limit, "more than 16 MiB of shared memory", {}});
    return;
  }
  k_.static_shared = static_cast<uint32_t>(top);
  if (launch_.dynamic_shared) k_.shared_vars.push_back({k_.static_shared, launch_.dynamic_shared});
  k_.dynamic_shared = launch_.dynamic_shared;
}

// Module-scope variables of space .global and .const: the host's buffer, or storage of their own.
void Decoder::layout_globals() {
  uint64_t top = kGlobalVarWindow + 4096;
  for (size_t i = 0; i < module_.variables.size(); ++i) {
    const ptx::Variable& v = module_.variables[i];
    if (v.space != ptx::Space::Global && v.space != ptx::Space::Const) continue;
    auto it = std::find_if(launch_.symbols.begin(), launch_.symbols.end(),
                           [&](const auto& s) { return s.name == v.name; });
    if (it != launch_.symbols.end() && it->address) {
      global_address_[static_cast<int32_t>(i)] = it->address;
      continue;
    }
    GlobalVar g;
    g.name = v.name;
    top = align_up(top, std::max<uint64_t>(v.align, 256));
    g.address = top;
    g.bytes = v.size;
    g.init = v.init;
    g.is_const = v.space == ptx::Space::Const;
    g.buffer = launch_.num_buffers + static_cast<int>(k_.globals.size());
    top += v.size + 4096;  // a gap, so that an overrun is seen
    global_address_[static_cast<int32_t>(i)] = g.address;
    k_.globals.push_back(std::move(g));
  }
  for (size_t i = 0; i < module_.variables.size(); ++i) {
    const ptx::Variable& v = module_.variables[i];
    auto at = global_address_.find(static_cast<int32_t>(i));
    if (at == global_address_.end() || v.relocations.empty()) continue;
    for (GlobalVar& g : k_.globals) {
      if (g.address != at->second) continue;
      g.init.resize(v.size);
      for (const ptx::Relocation& r : v.relocations) {
        auto target = r.symbol.kind == ptx::SymbolKind::Global
                          ? global_address_.find(r.symbol.index)
                          : global_address_.end();
        if (target == global_address_.end() || r.mask != 0 || r.offset + r.size > v.size) {
          diags_.push_back({DiagKind::Unsupported,
                            "PTX line " + std::to_string(v.line) + ": initialiser of '" + v.name +
                                "' holds an address that is not that of a variable",
                            {}});
          break;
        }
        uint64_t value = target->second + static_cast<uint64_t>(r.addend);
        std::memcpy(g.init.data() + r.offset, &value, std::min<uint64_t>(r.size, 8));
      }
    }
  }
}

// A parameter or return value that is only ever read and written as a whole lives in a register.
bool Decoder::is_simple(const ptx::Function& fn, ptx::SymbolRef symbol,
                        const ptx::Variable& v) const {
  if (v.is_array || v.vector != 1 || bytes(v.type) == 0 || bytes(v.type) > 8) return false;
  for (const ptx::Instr& i : fn.body) {
    for (const ptx::Operand& o : fn.operands(i)) {
      if (o.kind == ptx::OperandKind::Symbol && o.symbol == symbol && i.op != ptx::Op::Call) {
        return false;  // its address is taken
      }
      if (o.kind != ptx::OperandKind::Mem || !(o.symbol == symbol)) continue;
      if (o.imm != 0 || bytes(i.type()) != bytes(v.type) || i.mods.vector_width() != 1)
        return false;
    }
  }
  return true;
}

Decoder::ParamSlot Decoder::make_slot(const ptx::Function& fn, ptx::SymbolRef symbol,
                                      const ptx::Variable& v) {
  ParamSlot s;
  s.type = v.type;
  s.size = static_cast<uint32_t>(v.size);
  if (is_simple(fn, symbol, v)) {
    s.in_reg = true;
    s.reg = new_reg(v.type);
    return s;
  }
  k_.local_bytes = static_cast<uint32_t>(align_up(k_.local_bytes, std::max(v.align, 16u)));
  s.local = k_.local_bytes;
  k_.local_bytes += static_cast<uint32_t>(v.size);
  return s;
}

Decoder::ParamSlot* Decoder::slot_of(Frame& f, ptx::SymbolRef symbol) {
  auto at = [&](std::vector<ParamSlot>& v) {
    auto i = static_cast<size_t>(symbol.index);
    return i < v.size() ? &v[i] : nullptr;
  };
  switch (symbol.kind) {
    case ptx::SymbolKind::Param:
      return at(f.params);
    case ptx::SymbolKind::ReturnParam:
      return at(f.returns);
    case ptx::SymbolKind::Local:
      return at(f.locals);
    default:
      return nullptr;
  }
}

void Decoder::frame_begin(Frame& f) {
  const ptx::Function& fn = *f.fn;
  f.regs.resize(fn.num_regs);
  for (const ptx::RegGroup& g : fn.regs) {
    for (uint32_t r = 0; r < g.count; ++r) f.regs[g.first + r] = RegRef{};
    if (g.vector != 1) unsupported("vector register '" + g.name + "'");
  }
  f.locals.resize(fn.locals.size());
  f.local_address.resize(fn.locals.size());
  for (size_t i = 0; i < fn.locals.size(); ++i) {
    const ptx::Variable& v = fn.locals[i];
    ptx::SymbolRef symbol{ptx::SymbolKind::Local, static_cast<int32_t>(i)};
    if (is_param(v.space)) {
      f.locals[i] = make_slot(fn, symbol, v);
    } else if (is_shared(v.space)) {
      f.local_address[i] = shared_offset_[{f.index, static_cast<int32_t>(i)}];
    } else if (v.space == ptx::Space::Local) {
      k_.local_bytes = static_cast<uint32_t>(align_up(k_.local_bytes, std::max(v.align, 16u)));
      f.local_address[i] = k_.local_bytes;
      k_.local_vars.push_back({k_.local_bytes, static_cast<uint32_t>(v.size)});
      k_.local_bytes += static_cast<uint32_t>(v.size);
    }
    if (k_.local_bytes > (1u << 20)) {
      too_big_ = true;
      k_.local_bytes = 0;
    }
  }
}

void Decoder::frame_body(Frame& f) {
  Frame* outer = frame_;
  frame_ = &f;
  const ptx::Function& fn = *f.fn;
  f.op_at.assign(fn.body.size() + 1, 0);
  for (size_t i = 0; i < fn.body.size() && !too_big_; ++i) {
    in_ = &fn.body[i];
    if (f.is_entry) {
      pc_ = static_cast<uint32_t>(i);
    } else {
      pc_ = static_cast<uint32_t>(k_.origins.size());
      k_.origins.push_back({f.index, static_cast<uint32_t>(i), f.call_origin});
    }
    f.op_at[i] = static_cast<uint32_t>(k_.ops.size());
    instr();
    if (k_.ops.size() > kMaxOps) too_big_ = true;
  }
  if (!too_big_) {
    f.op_at[fn.body.size()] = static_cast<uint32_t>(k_.ops.size());
    if (f.is_entry) {
      in_ = nullptr;
      emit(OpKind::Exit);
    }
    for (auto [op, instr_index] : f.fixups) k_.ops[op].target = f.op_at[instr_index];
    for (auto [at, instr_index] : f.target_fix) k_.targets[at] = f.op_at[instr_index];
    for (uint32_t op : f.returns_fix) k_.ops[op].target = static_cast<uint32_t>(k_.ops.size());
  }
  frame_ = outer;
}

void Decoder::inline_call(const ptx::Function& callee, int32_t index, const Operand& rets,
                          const Operand& args) {
  if (call_stack_.size() >= kMaxDepth ||
      std::find(call_stack_.begin(), call_stack_.end(), index) != call_stack_.end()) {
    unsupported("recursive call of '" + callee.name + "'");
    return;
  }
  Frame f;
  f.fn = &callee;
  f.index = index;
  f.call_origin = pc_;
  const Instr* call_instr = in_;
  uint32_t call_pc = pc_;
  auto arg_list = frame_->fn->elements(args);
  auto ret_list = frame_->fn->elements(rets);
  if (arg_list.size() != callee.params.size() || ret_list.size() != callee.returns.size()) {
    invalid("call of '" + callee.name + "' with a wrong number of arguments");
    return;
  }
  frame_begin(f);
  for (size_t i = 0; i < callee.params.size(); ++i) {
    ptx::SymbolRef symbol{ptx::SymbolKind::Param, static_cast<int32_t>(i)};
    const ptx::Variable& v = callee.params[i];
    ParamSlot* given = slot_of(*frame_, arg_list[i].symbol);
    if (given && !given->in_reg) {
      f.params.push_back(*given);  // by value: the callee may not write it back (PTX ISA 5.1.6.2)
      continue;
    }
    ParamSlot s = make_slot(callee, symbol, v);
    RegRef value = argument(arg_list[i], v.type);
    if (s.in_reg) {
      mov(s.reg, value);
    } else {
      MicroOp& st = emit(OpKind::St);
      st.space = Space::Local;
      st.type = unsigned_of(v.type);
      st.imm = s.local;
      st.vecs = static_cast<uint32_t>(k_.vecs.size());
      st.wide_src = is_wide(value);
      k_.vecs.push_back(value);
    }
    if (v.is_reg && v.reg >= 0) f.regs[static_cast<size_t>(v.reg)] = s.reg;
    f.params.push_back(s);
  }
  for (size_t i = 0; i < callee.returns.size(); ++i) {
    ptx::SymbolRef symbol{ptx::SymbolKind::ReturnParam, static_cast<int32_t>(i)};
    ParamSlot* given = slot_of(*frame_, ret_list[i].symbol);
    f.returns.push_back(given && !given->in_reg ? *given
                                                : make_slot(callee, symbol, callee.returns[i]));
    const ptx::Variable& v = callee.returns[i];
    if (v.is_reg && v.reg >= 0) f.regs[static_cast<size_t>(v.reg)] = f.returns.back().reg;
  }
  call_stack_.push_back(index);
  frame_body(f);
  call_stack_.pop_back();
  in_ = call_instr;
  pc_ = call_pc;
  for (size_t i = 0; i < callee.returns.size(); ++i) {
    ParamSlot* given = slot_of(*frame_, ret_list[i].symbol);
    if (given && !given->in_reg) continue;
    RegRef value = f.returns[i].reg;
    if (!f.returns[i].in_reg) {
      value = new_reg(callee.returns[i].type);
      MicroOp& ld = emit(OpKind::Ld);
      ld.space = Space::Local;
      ld.type = unsigned_of(callee.returns[i].type);
      ld.imm = f.returns[i].local;
      ld.vecs = static_cast<uint32_t>(k_.vecs.size());
      ld.wide_dst = is_wide(value);
      k_.vecs.push_back(value);
    }
    if (given) {
      mov(given->reg, value);
    } else if (ret_list[i].kind == ptx::OperandKind::Reg) {
      mov(write_to(ret_list[i], callee.returns[i].type), value);
    }
  }
}

void Decoder::fill_constants() {
  for (const auto& [key, reg] : constants_) {
    k_.consts.push_back({reg, static_cast<RegFile>(key.first), key.second});
  }
  for (const auto& [key, reg] : specials_) {
    k_.specials.push_back({reg, static_cast<ptx::Special>(key.first), key.second});
  }
}

Result<Kernel> Decoder::run(const ptx::Function& entry, std::vector<Diag>* all) {
  k_.name = entry.name;
  k_.params = launch_.params;
  k_.symbolic = launch_.symbolic;
  if (launch_.params.size() < entry.param_bytes) {
    return fail(DiagKind::Invalid, "kernel '" + entry.name + "' takes " +
                                       std::to_string(entry.param_bytes) +
                                       " bytes of parameters, the launch gives " +
                                       std::to_string(launch_.params.size()));
  }
  layout_shared(entry);
  layout_globals();
  Frame f;
  f.fn = &entry;
  f.index = static_cast<int32_t>(&entry - module_.functions.data());
  f.is_entry = true;
  for (size_t i = 0; i < entry.body.size(); ++i) {
    k_.origins.push_back({f.index, static_cast<uint32_t>(i), kNever});
  }
  call_stack_.push_back(f.index);
  frame_begin(f);
  frame_body(f);
  if (too_big_) diags_.push_back({DiagKind::Limit, "kernel '" + entry.name + "' is too large", {}});
  if (all) *all = diags_;
  if (!diags_.empty()) {
    Diag first = diags_.front();
    for (const Diag& d : diags_) {
      if (d.kind != DiagKind::Unsupported) first = d;
    }
    std::string text;
    for (size_t i = 0; i < std::min<size_t>(diags_.size(), 20); ++i) {
      text += (i ? "\n" : "") + diags_[i].message;
    }
    if (diags_.size() > 20) text += "\nand " + std::to_string(diags_.size() - 20) + " more";
    return fail(first.kind, text, first.loc);
  }
  fill_constants();
  for (const Origin& o : k_.origins) {
    const ptx::Function& fn = module_.functions[static_cast<size_t>(o.function)];
    // Without source positions, the line of the PTX.
    const ptx::Instr& instr = fn.body[o.instr];
    k_.locs.push_back(module_.locs.empty() ? SrcLoc{"", instr.line, 0} : module_.source(instr));
  }
  analyse(k_);
  return std::move(k_);
}

Result<Kernel> decode(const ptx::Module& module, std::string_view entry,
                      const LaunchConstants& launch, std::vector<Diag>* all) {
  const ptx::Function* fn = module.find_function(entry);
  if (!fn || !fn->is_entry || !fn->defined) {
    return fail(DiagKind::Invalid, "no kernel '" + std::string(entry) + "' in the module");
  }
  return Decoder(module, launch).run(*fn, all);
}

const LibCall* find_libcall(std::string_view name) {
  static const std::map<std::string_view, LibCall> table = [] {
    std::map<std::string_view, LibCall> t;
#define LIBCALL(stem, fn, ty, approx) \
  t["assay_" #stem] =                 \
      LibCall{"assay_" #stem, Fn::fn, Ty::ty, approx, static_cast<int8_t>(info(Fn::fn).arity)};
#include "machine/libcalls.def"
#undef LIBCALL
    return t;
  }();
  auto it = table.find(name);
  return it == table.end() ? nullptr : &it->second;
}

const LibCall* find_math_function(std::string_view name) {
  return find_libcall("assay_" + std::string(name));
}

}  // namespace assay::machine
