// One instruction: the families in turn.
#include "machine/decoder.h"

namespace assay::machine {

using ptx::Op;

void Decoder::instr() {
  if (ptx::row(in_->op).status != ptx::OpStatus::Executed) {
    unsupported("not executed");
    return;
  }
  if (in_->guard >= 0 && in_->op == Op::Call) {  // run around it
    RegRef& g = frame_->regs[static_cast<size_t>(in_->guard)];
    if (!g) g = new_reg(Ty::Pred);
    emit(OpKind::Bra).guard_neg = !in_->guard_negated;
    size_t skip = k_.ops.size() - 1;
    Instr plain = *in_;
    plain.guard = ptx::kNone;
    const Instr* guarded = in_;
    in_ = &plain;
    call();
    in_ = guarded;
    k_.ops[skip].target = static_cast<uint32_t>(k_.ops.size());
    return;
  }
  if (int_op() || float_op() || half_op() || compare_op() || move_op() || cvt_op() || mem_op() ||
      warp_op() || ctl_op()) {
    return;
  }
  unsupported("not executed");
}

}  // namespace assay::machine
