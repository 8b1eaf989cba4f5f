// Loads, stores, atomics, warp operations, barriers and control.
#include "machine/decoder.h"

namespace assay::machine {
namespace {

using ptx::Op;

Space space_of(ptx::Space s) {
  switch (s) {
    case ptx::Space::Global:
      return Space::Global;
    case ptx::Space::Shared:
    case ptx::Space::SharedCta:
      return Space::Shared;
    case ptx::Space::SharedCluster:
      return Space::Shared;
    case ptx::Space::Local:
      return Space::Local;
    case ptx::Space::Const:
      return Space::Const;
    case ptx::Space::Param:
    case ptx::Space::ParamEntry:
    case ptx::Space::ParamFunc:
      return Space::Param;
    default:
      return Space::Generic;
  }
}

bool is_strong(const ptx::Modifiers& m) {
  return m.sem() != ptx::Sem::None && m.sem() != ptx::Sem::Weak;
}

AtomFn atom_fn(ptx::AtomOp op) {
  switch (op) {
    case ptx::AtomOp::Min:
      return AtomFn::Min;
    case ptx::AtomOp::Max:
      return AtomFn::Max;
    case ptx::AtomOp::And:
      return AtomFn::And;
    case ptx::AtomOp::Or:
      return AtomFn::Or;
    case ptx::AtomOp::Xor:
      return AtomFn::Xor;
    case ptx::AtomOp::Exch:
      return AtomFn::Exch;
    case ptx::AtomOp::Cas:
      return AtomFn::Cas;
    case ptx::AtomOp::Inc:
      return AtomFn::Inc;
    case ptx::AtomOp::Dec:
      return AtomFn::Dec;
    default:
      return AtomFn::Add;
  }
}

}  // namespace

// Parameters by name: of the entry (constants of the launch), of an inlined call, or of a call
// sequence being filled.
void Decoder::load_param(bool store) {
  const Operand& mem = opnd(store ? 0 : 1);
  const Operand& val = opnd(store ? 1 : 0);
  bool entry_param = frame_->is_entry && mem.symbol.kind == ptx::SymbolKind::Param;
  int n = in_->mods.vector_width();
  Ty t = type();
  auto elements = val.kind == ptx::OperandKind::Vec ? frame_->fn->elements(val)
                                                    : std::span<const Operand>(&val, 1);
  if (static_cast<int>(elements.size()) != n) return invalid("vector of the wrong length");
  ParamSlot* slot = entry_param ? nullptr : slot_of(*frame_, mem.symbol);
  if (!entry_param && !(slot && slot->in_reg)) return memory(store ? OpKind::St : OpKind::Ld);
  if (slot) {
    if (store) {
      mov(slot->reg, read(val, slot->type));
      return;
    }
    RegRef d = write_to(val, frame_->fn->reg_type(val.reg));
    if (file_of(d) == file_of(slot->reg)) {
      mov(d, slot->reg);
    } else {
      memory(OpKind::Ld);
    }
    return;
  }
  for (int i = 0; i < n; ++i) {
    const Operand& e = elements[static_cast<size_t>(i)];
    if (e.kind == ptx::OperandKind::Sink) continue;
    uint64_t at = frame_->fn->params[static_cast<size_t>(mem.symbol.index)].offset +
                  static_cast<uint64_t>(mem.imm) + static_cast<uint64_t>(i) * bytes(t);
    uint64_t v = 0;
    for (uint32_t b = 0; b < bytes(t); ++b) {
      if (at + b < launch_.params.size()) v |= uint64_t{launch_.params[at + b]} << (8 * b);
    }
    Ty reg = frame_->fn->reg_type(e.reg);
    RegRef d = write_to(e, reg);
    if (is_signed(t) && bits(t) < 64 && (v >> (bits(t) - 1)) & 1) v |= ~uint64_t{0} << bits(t);
    if (bits(reg) < 64) v &= (uint64_t{1} << bits(reg)) - 1;
    RegRef c = constant(file_of(d), v);
    const SymbolicParam* symbolic = nullptr;
    for (const SymbolicParam& s : launch_.symbolic) {
      if (s.offset == at && s.size == bytes(t)) symbolic = &s;
      if (s.offset < at + bytes(t) && at < s.offset + s.size && !symbolic) {
        unsupported("part of a symbolic parameter");
      }
    }
    if (!symbolic) {
      mov(d, c);
      k_.ops.back().type = t;
      continue;
    }
    MicroOp& op = emit(OpKind::LdSym);
    op.type = t;
    op.dst = d;
    op.src[0] = c;
    op.num_src = 1;
    op.wide_dst = op.wide_src = is_wide(d);
    op.imm = symbolic - launch_.symbolic.data();
  }
}

void Decoder::memory(OpKind kind) {
  bool store = kind == OpKind::St;
  const Operand& mem = opnd(store ? 0 : 1);
  const Operand& val = opnd(store ? 1 : 0);
  int n = in_->mods.vector_width();
  Ty t = type();
  if (bits(t) > 64) return unsupported("128-bit element");
  auto elements = val.kind == ptx::OperandKind::Vec ? frame_->fn->elements(val)
                                                    : std::span<const Operand>(&val, 1);
  if (static_cast<int>(elements.size()) != n) return invalid("vector of the wrong length");
  std::vector<RegRef> regs;
  bool wide = false;
  for (const Operand& e : elements) {
    Ty reg = e.kind == ptx::OperandKind::Reg ? frame_->fn->reg_type(e.reg) : t;
    RegRef r = store ? read(e, bits(t) > 32 ? t : (bits(reg) > 32 ? t : Ty::B32)) : RegRef{};
    if (!store) r = write_to(e, bits(reg) >= bits(t) ? reg : t);
    regs.push_back(r);
    wide = wide || is_wide(r);
  }
  RegRef base;
  int64_t imm = mem.imm;
  Space space = space_of(in_->mods.space());
  if (mem.reg >= 0) {
    RegRef& r = frame_->regs[static_cast<size_t>(mem.reg)];
    if (!r) r = new_reg(frame_->fn->reg_type(mem.reg));
    base = r;
    if (space == Space::Param && !frame_->is_entry) space = Space::Local;
  } else if (mem.symbol.kind != ptx::SymbolKind::None) {
    auto at = symbol_address(mem.symbol);
    if (!at) return unsupported("address of this symbol");
    imm += static_cast<int64_t>(*at);
    ParamSlot* slot = frame_->is_entry && mem.symbol.kind == ptx::SymbolKind::Param
                          ? nullptr
                          : slot_of(*frame_, mem.symbol);
    if (slot && slot->size) space = Space::Local;
    if (space == Space::Generic) {  // the symbol's own space
      auto v = mem.symbol.kind == ptx::SymbolKind::Global
                   ? module_.variables[static_cast<size_t>(mem.symbol.index)].space
               : mem.symbol.kind == ptx::SymbolKind::Local
                   ? frame_->fn->locals[static_cast<size_t>(mem.symbol.index)].space
                   : ptx::Space::None;
      space = space_of(v);
    }
  }
  MicroOp& op = emit(kind);
  op.type = t;
  op.space = space;
  op.vec = static_cast<uint8_t>(n);
  op.imm = imm;
  op.src[0] = base;
  op.num_src = base ? 1 : 0;
  op.wide_src = is_wide(base);
  op.wide_dst = wide;
  op.strong = is_strong(in_->mods);
  op.read_only = in_->op == Op::LdNc || in_->op == Op::Ldu;
  op.vecs = static_cast<uint32_t>(k_.vecs.size());
  for (RegRef r : regs) k_.vecs.push_back(r);
}

void Decoder::atomic(bool has_dst) {
  uint32_t at = has_dst ? 1 : 0;
  const Operand& mem = opnd(at);
  Ty t = type();
  if (bits(t) > 64) return unsupported("128-bit atomic");
  RegRef d = has_dst ? write_to(opnd(0), t) : RegRef{};
  RegRef b = read(opnd(at + 1), t);
  bool cas = in_->mods.atom() == ptx::AtomOp::Cas;
  RegRef c = cas ? read(opnd(at + 2), t) : RegRef{};
  RegRef base;
  int64_t imm = mem.imm;
  if (mem.reg >= 0) {
    base = frame_->regs[static_cast<size_t>(mem.reg)];
    if (!base) {
      base = frame_->regs[static_cast<size_t>(mem.reg)] = new_reg(frame_->fn->reg_type(mem.reg));
    }
  } else if (mem.symbol.kind != ptx::SymbolKind::None) {
    auto a = symbol_address(mem.symbol);
    if (!a) return unsupported("address of this symbol");
    imm += static_cast<int64_t>(*a);
  }
  MicroOp& op = emit(OpKind::Atom);
  op.type = t;
  op.space = space_of(in_->mods.space());
  op.mode = static_cast<uint8_t>(atom_fn(in_->mods.atom()));
  op.dst = d;
  op.src = {base, b, c, {}};
  op.num_src = cas ? 3 : 2;
  op.imm = imm;
  op.wide_src = is_wide(base);
  op.wide_dst = bits(t) > 32;
  op.strong = true;
  k_.has_atomics = true;
}

bool Decoder::mem_op() {
  bool param = in_->mods.space() == ptx::Space::Param ||
               in_->mods.space() == ptx::Space::ParamEntry ||
               in_->mods.space() == ptx::Space::ParamFunc;
  switch (in_->op) {
    case Op::Ld:
      if (param && opnd(1).reg < 0) {
        load_param(false);
      } else {
        memory(OpKind::Ld);
      }
      return true;
    case Op::LdNc:
    case Op::Ldu:
      memory(OpKind::Ld);
      return true;
    case Op::St:
      if (param && opnd(0).reg < 0) {
        load_param(true);
      } else {
        memory(OpKind::St);
      }
      return true;
    case Op::AtomAdd:
    case Op::AtomMinMax:
    case Op::AtomBits:
    case Op::AtomExch:
    case Op::AtomCas:
    case Op::AtomIncDec:
    case Op::AtomHalf:
      atomic(true);
      return true;
    case Op::RedAdd:
    case Op::RedMinMax:
    case Op::RedBits:
    case Op::RedIncDec:
    case Op::RedHalf:
      atomic(false);
      return true;
    case Op::Prefetch:
    case Op::PrefetchEvict:
    case Op::Prefetchu:
    case Op::Applypriority:
    case Op::Nanosleep:
    case Op::Pmevent:
    case Op::PmeventMask:
      emit(OpKind::Nop);
      return true;
    case Op::Membar:
    case Op::Fence:
      emit(OpKind::Fence);
      return true;
    default:
      return false;
  }
}

bool Decoder::warp_op() {
  auto pair = [&](Ty t, RegRef* d, RegRef* p) {
    const Operand& o = opnd(0);
    *d = write_to(o, t);
    if (o.kind == ptx::OperandKind::Pair && o.reg2 >= 0) {
      RegRef& r = frame_->regs[static_cast<size_t>(o.reg2)];
      if (!r) r = new_reg(Ty::Pred);
      *p = r;
    }
  };
  auto make = [&](OpKind kind, RegRef d, RegRef d2, std::initializer_list<RegRef> src) -> MicroOp& {
    MicroOp& op = emit(kind);
    op.type = type();
    op.dst = d;
    op.dst2 = d2;
    for (RegRef r : src) op.src[op.num_src++] = r;
    op.wide_dst = is_wide(d);
    op.wide_src = op.num_src && is_wide(op.src[0]);
    return op;
  };
  RegRef d, p;
  switch (in_->op) {
    case Op::Shfl: {
      RegRef a = read(opnd(1), Ty::B32), b = read(opnd(2), Ty::U32), c = read(opnd(3), Ty::U32),
             m = read(opnd(4), Ty::U32);
      pair(Ty::B32, &d, &p);
      MicroOp& op = make(OpKind::Shfl, d, p, {a, b, c, m});
      op.mode = static_cast<uint8_t>(in_->mods.shfl() == ptx::ShflMode::Up     ? ShflMode::Up
                                     : in_->mods.shfl() == ptx::ShflMode::Down ? ShflMode::Down
                                     : in_->mods.shfl() == ptx::ShflMode::Bfly ? ShflMode::Bfly
                                                                               : ShflMode::Idx);
      return true;
    }
    case Op::Vote:
    case Op::VoteBallot: {
      bool ballot = in_->op == Op::VoteBallot;
      RegRef a = read_pred(opnd(1)), m = read(opnd(2), Ty::U32);
      d = write_to(opnd(0), ballot ? Ty::B32 : Ty::Pred);
      MicroOp& op = make(OpKind::Vote, d, {}, {a, m});
      op.mode = static_cast<uint8_t>(ballot                                   ? VoteMode::Ballot
                                     : in_->mods.vote() == ptx::VoteMode::All ? VoteMode::All
                                     : in_->mods.vote() == ptx::VoteMode::Any ? VoteMode::Any
                                                                              : VoteMode::Uni);
      return true;
    }
    case Op::MatchAny:
    case Op::MatchAll: {
      RegRef a = read(opnd(1), type()), m = read(opnd(2), Ty::U32);
      pair(Ty::B32, &d, &p);
      make(OpKind::Match, d, p, {a, m}).mode = in_->op == Op::MatchAll ? 1 : 0;
      return true;
    }
    case Op::Activemask:
      make(OpKind::LaneMask, write_to(opnd(0), Ty::B32), {}, {});
      return true;
    case Op::ReduxI:
    case Op::ReduxBits: {
      RegRef a = read(opnd(1), type()), m = read(opnd(2), Ty::U32);
      d = write_to(opnd(0), type());
      make(OpKind::Redux, d, {}, {a, m}).mode = static_cast<uint8_t>(atom_fn(in_->mods.atom()));
      return true;
    }
    case Op::Elect: {
      RegRef m = read(opnd(1), Ty::U32);
      pair(Ty::B32, &d, &p);
      make(OpKind::Elect, d, p, {m});
      return true;
    }
    case Op::BarWarpSync: {
      RegRef m = read(opnd(0), Ty::U32);
      make(OpKind::WarpBar, {}, {}, {m});
      return true;
    }
    default:
      return false;
  }
}

bool Decoder::ctl_op() {
  auto bar = [&](BarMode mode, bool has_dst) {
    uint32_t at = has_dst ? 1 : 0;
    bool red = mode != BarMode::Sync && mode != BarMode::Arrive;
    uint32_t left = num_opnds() - at - (red ? 1 : 0);
    RegRef id = read(opnd(at), Ty::U32);
    RegRef count = left > 1 ? read(opnd(at + 1), Ty::U32) : RegRef{};
    RegRef p = red ? read_pred(opnd(num_opnds() - 1)) : RegRef{};
    RegRef d;
    if (has_dst) d = write_to(opnd(0), mode == BarMode::RedPopc ? Ty::U32 : Ty::Pred);
    MicroOp& op = emit(OpKind::Bar);
    op.mode = static_cast<uint8_t>(mode);
    op.dst = d;
    op.src = {id, count, p, {}};
    op.num_src = 3;
    k_.has_barrier = true;
  };
  switch (in_->op) {
    case Op::Bra: {
      emit(OpKind::Bra);
      uint32_t target = frame_->fn->labels[static_cast<size_t>(opnd(0).symbol.index)].target;
      frame_->fixups.push_back({static_cast<uint32_t>(k_.ops.size() - 1), target});
      return true;
    }
    case Op::Brx: {
      RegRef a = read(opnd(0), Ty::U32);
      const ptx::TargetList& list =
          frame_->fn->target_lists[static_cast<size_t>(opnd(1).symbol.index)];
      MicroOp& op = emit(OpKind::BrxIdx);
      op.src[0] = a;
      op.num_src = 1;
      op.target = static_cast<uint32_t>(k_.targets.size());
      op.count = static_cast<uint32_t>(list.targets.size());
      for (const ptx::SymbolRef& s : list.targets) {
        uint32_t target = frame_->fn->labels[static_cast<size_t>(s.index)].target;
        frame_->target_fix.push_back({static_cast<uint32_t>(k_.targets.size()), target});
        k_.targets.push_back(0);
      }
      return true;
    }
    case Op::Call:
      call();
      return true;
    case Op::Ret:
      if (frame_->is_entry) {
        emit(OpKind::Exit);
      } else {
        emit(OpKind::Bra);
        frame_->returns_fix.push_back(static_cast<uint32_t>(k_.ops.size() - 1));
      }
      return true;
    case Op::Exit:
      emit(OpKind::Exit);
      return true;
    case Op::Trap:
    case Op::Brkpt:
      emit(OpKind::Trap);
      return true;
    case Op::BarSync:
    case Op::BarrierSync:
      bar(BarMode::Sync, false);
      return true;
    case Op::BarArrive:
    case Op::BarrierArrive:
      bar(BarMode::Arrive, false);
      return true;
    case Op::BarRedPopc:
    case Op::BarrierRedPopc:
      bar(BarMode::RedPopc, true);
      return true;
    case Op::BarRedPred:
    case Op::BarrierRedPred:
      bar(in_->mods.bar_red() == ptx::BarRed::And ? BarMode::RedAnd : BarMode::RedOr, true);
      return true;
    default:
      return false;
  }
}

RegRef Decoder::argument(const Operand& o, Ty t) {
  ParamSlot* s = slot_of(*frame_, o.symbol);
  if (o.kind == ptx::OperandKind::Symbol && s && s->size) {
    if (s->in_reg) return read_reg(s->reg, t);
    RegRef r = temp(t);
    MicroOp& ld = emit(OpKind::Ld);
    ld.space = Space::Local;
    ld.type = unsigned_of(t);
    ld.imm = s->local;
    ld.vecs = static_cast<uint32_t>(k_.vecs.size());
    ld.wide_dst = is_wide(r);
    k_.vecs.push_back(r);
    return r;
  }
  return read(o, t);
}

void Decoder::set_return(const Operand& rets, RegRef value, Ty t) {
  auto list = frame_->fn->elements(rets);
  if (list.empty()) return;
  ParamSlot* s = slot_of(*frame_, list[0].symbol);
  if (s && s->size && s->in_reg) {
    mov(s->reg, value);
  } else if (s && s->size) {
    MicroOp& st = emit(OpKind::St);
    st.space = Space::Local;
    st.type = unsigned_of(t);
    st.imm = s->local;
    st.vecs = static_cast<uint32_t>(k_.vecs.size());
    st.wide_src = is_wide(value);
    k_.vecs.push_back(value);
  } else if (list[0].kind == ptx::OperandKind::Reg) {
    mov(write_to(list[0], t), value);
  }
}

void Decoder::lib_call(const LibCall& lib, const Operand& rets, const Operand& args) {
  auto list = frame_->fn->elements(args);
  if (static_cast<int>(list.size()) != lib.arity) {
    return invalid("math function with a wrong number of arguments");
  }
  Mods m;
  m.approx = lib.approx;
  Ty result = lib.fn == Fn::FrexpExp ? Ty::S32 : lib.type;
  RegRef x = argument(list[0], lib.type);
  RegRef y;
  if (lib.arity > 1) {
    // powi, ldexp: the second operand is an integer of 32 bits.
    bool integer = lib.name.find("powi") != std::string_view::npos || lib.fn == Fn::Ldexp;
    y = argument(list[1], integer ? Ty::S32 : lib.type);
    if (integer && lib.fn == Fn::Pow) {
      RegRef f = temp(lib.type);
      Mods c;
      c.type2 = Ty::S32;
      alu(Fn::CvtIF, lib.type, c, f, {y});
      y = f;
    }
  }
  RegRef d = temp(result);
  if (lib.arity > 1) {
    alu(lib.fn, lib.type, m, d, {x, y});
  } else {
    alu(lib.fn, lib.type, m, d, {x});
  }
  set_return(rets, d, result);
}

// A function without a body: what the launch says that it computes.
void Decoder::declared_call(const ptx::Function& callee, const Operand& rets, const Operand& args) {
  const auto& known = launch_.functions;
  const auto it = std::find_if(known.begin(), known.end(),
                               [&](const auto& f) { return f.first == callee.name; });
  if (it == known.end()) {
    return unsupported("call of '" + callee.name + "', which has no body");
  }
  const LibCall* lib = find_math_function(it->second);
  if (lib == nullptr) return invalid("'" + it->second + "' is no math function");
  const bool fits = callee.returns.size() == 1 && callee.returns[0].size == bytes(lib->type) &&
                    callee.params.size() == static_cast<size_t>(lib->arity) &&
                    std::all_of(callee.params.begin(), callee.params.end(),
                                [&](const ptx::Variable& v) { return v.size == bytes(lib->type); });
  if (!fits) {
    return invalid("'" + callee.name + "' does not take and return what '" + it->second + "' does");
  }
  lib_call(*lib, rets, args);
}

void Decoder::call() {
  const Operand& rets = opnd(0);
  const Operand& target = opnd(1);
  const Operand& args = opnd(2);
  if (target.kind != ptx::OperandKind::Symbol || target.symbol.kind != ptx::SymbolKind::Function) {
    return unsupported("indirect call");
  }
  const ptx::Function& callee = module_.functions[static_cast<size_t>(target.symbol.index)];
  if (const LibCall* lib = find_libcall(callee.name)) return lib_call(*lib, rets, args);
  if (callee.name == "vprintf") {
    set_return(rets, const32(0), Ty::B32);
    return;
  }
  if (callee.name == "__assertfail") {
    emit(OpKind::Trap);
    return;
  }
  if (!callee.defined) return declared_call(callee, rets, args);
  inline_call(callee, target.symbol.index, rets, args);
}

}  // namespace assay::machine
