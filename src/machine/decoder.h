#pragma once
// Internal to decode*.cpp: the state of one decode.
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "machine/decode.h"

namespace assay::machine {

class Decoder {
 public:
  Decoder(const ptx::Module& module, const LaunchConstants& launch)
      : module_(module), launch_(launch) {}
  Result<Kernel> run(const ptx::Function& entry, std::vector<Diag>* all);

 private:
  // Where a parameter of an inlined call (or of a call sequence) lives.
  struct ParamSlot {
    bool in_reg = false;
    RegRef reg;
    Ty type = Ty::None;
    uint32_t local = 0;  // offset in local memory
    uint32_t size = 0;
  };
  struct Frame {
    const ptx::Function* fn = nullptr;
    int32_t index = 0;
    bool is_entry = false;
    std::vector<RegRef> regs;
    std::vector<ParamSlot> params, returns, locals;         // locals: only space Param
    std::vector<uint64_t> local_address;                    // others: shared offset or local offset
    std::vector<uint32_t> op_at;                            // instruction -> micro-op
    std::vector<std::pair<uint32_t, uint32_t>> fixups;      // Bra -> instruction
    std::vector<std::pair<uint32_t, uint32_t>> target_fix;  // Kernel::targets entry -> instruction
    std::vector<uint32_t> returns_fix;                      // Bra to the end of the frame
    uint32_t call_origin = kNever;
  };
  using Instr = ptx::Instr;
  using Operand = ptx::Operand;

  // decode.cpp: layout and frames.
  void layout_shared(const ptx::Function& entry);
  void layout_globals();
  void reach(int32_t fn, std::vector<bool>& seen, std::vector<int32_t>& order) const;
  void frame_begin(Frame& f);
  void frame_body(Frame& f);
  bool is_simple(const ptx::Function& fn, ptx::SymbolRef symbol, const ptx::Variable& v) const;
  ParamSlot make_slot(const ptx::Function& fn, ptx::SymbolRef symbol, const ptx::Variable& v);
  ParamSlot* slot_of(Frame& f, ptx::SymbolRef symbol);
  void fill_constants();

  // decode_reg.cpp: registers, constants, operands.
  RegRef new_reg(Ty type);
  RegRef constant(RegFile file, uint64_t bits);
  RegRef special(ptx::Special s, uint8_t component);
  RegRef const32(uint32_t v) { return constant(RegFile::Word, v); }
  RegRef read(const Operand& o, Ty type);  // by value, in the file of `type`
  RegRef read_reg(RegRef r, Ty type);
  RegRef read_pred(const Operand& o);
  RegRef write_to(const Operand& o, Ty type);  // destination; none for a sink
  RegFile file_of(RegRef r) const { return k_.regs[r.id].file; }
  bool is_wide(RegRef r) const { return r && file_of(r) == RegFile::Double; }
  std::optional<uint64_t> symbol_address(const ptx::SymbolRef& s);

  // decode_ops.cpp and one file a family: one instruction.
  void instr();
  bool int_op();
  bool float_op();
  bool half_op();
  bool compare_op();
  bool move_op();
  bool cvt_op();
  bool mem_op();
  bool warp_op();
  bool ctl_op();
  void cvt();
  void call();
  void inline_call(const ptx::Function& callee, int32_t index, const Operand& rets,
                   const Operand& args);
  void lib_call(const LibCall& lib, const Operand& rets, const Operand& args);
  void declared_call(const ptx::Function& callee, const Operand& rets, const Operand& args);
  RegRef argument(const Operand& o, Ty type);
  void set_return(const Operand& rets, RegRef value, Ty type);
  void load_param(bool store);
  void memory(OpKind kind);
  void atomic(bool has_dst);

  MicroOp& emit(OpKind kind);
  MicroOp& alu(Fn fn, Ty type, const Mods& mods, RegRef dst, std::initializer_list<RegRef> src);
  void mov(RegRef dst, RegRef src);
  void setp(Fn fn, Ty type, const Mods& mods, RegRef dst, RegRef dst2, RegRef a, RegRef b);
  void selp(RegRef dst, RegRef a, RegRef b, RegRef p);
  RegRef temp(Ty type) { return new_reg(type); }
  // Packed pairs: op(lo parts), op(hi parts), joined. body: operand registers -> result register.
  template <class Body>
  void per_half(Ty half, RegRef dst, const std::vector<RegRef>& src, Body body);
  Mods mods_of(const Instr& i) const;
  const Operand& opnd(uint32_t n) const;
  uint32_t num_opnds() const { return in_->num_operands; }
  Ty type(int n = 0) const { return in_->types[static_cast<size_t>(n)]; }
  void unsupported(const std::string& what);
  void invalid(const std::string& what);
  std::string here() const;

  const ptx::Module& module_;
  const LaunchConstants& launch_;
  Kernel k_;
  std::vector<Diag> diags_;
  std::map<std::pair<int, uint64_t>, RegRef> constants_;
  std::map<std::pair<int, uint8_t>, RegRef> specials_;
  std::map<std::pair<int32_t, int32_t>, uint64_t> shared_offset_;  // (function or -1, variable)
  std::map<int32_t, uint64_t> global_address_;
  std::vector<int32_t> call_stack_;
  Frame* frame_ = nullptr;
  const Instr* in_ = nullptr;
  uint32_t pc_ = 0;
  bool too_big_ = false;
};

Ty unsigned_of(Ty t);

// Rows whose micro-operation is one Fn on operands of one type.
struct SimpleRow {
  ptx::Op op;
  Fn fn;
  uint8_t arity;
};
template <size_t n>
const SimpleRow* find_row(const SimpleRow (&rows)[n], ptx::Op op) {
  for (const SimpleRow& s : rows) {
    if (s.op == op) return &s;
  }
  return nullptr;
}

template <class Body>
void Decoder::per_half(Ty half, RegRef dst, const std::vector<RegRef>& src, Body body) {
  RegRef out[2];
  std::vector<RegRef> part[2];
  for (RegRef s : src) {
    RegRef lo = temp(half), hi = temp(half);
    MicroOp& op = emit(OpKind::Unpack);
    op.vec = 2;
    op.src[0] = s;
    op.num_src = 1;
    op.type = unsigned_of(half);
    op.vecs = static_cast<uint32_t>(k_.vecs.size());
    k_.vecs.push_back(lo);
    k_.vecs.push_back(hi);
    part[0].push_back(lo);
    part[1].push_back(hi);
  }
  for (int h = 0; h < 2; ++h) out[h] = body(part[h]);
  MicroOp& op = emit(OpKind::Pack);
  op.vec = 2;
  op.dst = dst;
  op.type = unsigned_of(half);
  op.vecs = static_cast<uint32_t>(k_.vecs.size());
  k_.vecs.push_back(out[0]);
  k_.vecs.push_back(out[1]);
}

}  // namespace assay::machine
