#include "tensor/nest_builder.h"

#include <utility>

namespace assay::tensor {
namespace {

bool same(const Access& a, const Access& b) {
  if (a.operand != b.operand || !(a.offset == b.offset) || a.index_read != b.index_read ||
      a.index_stride != b.index_stride || a.guarded.size() != b.guarded.size()) {
    return false;
  }
  for (size_t k = 0; k < a.guarded.size(); ++k) {
    const GuardedDim &g = a.guarded[k], &h = b.guarded[k];
    if (!(g.expr == h.expr) || g.div != h.div || g.lo != h.lo || g.hi != h.hi ||
        g.stride != h.stride) {
      return false;
    }
  }
  return true;
}

// Keeps the ancestors of `value` only, in order, so that it becomes the last node.
void prune(std::vector<BodyNode>* nodes, int value) {
  std::vector<bool> live(nodes->size(), false);
  live[value] = true;
  for (int k = value; k >= 0; --k) {
    if (!live[k]) continue;
    for (int a : (*nodes)[k].arg) {
      if (a >= 0) live[a] = true;
    }
  }
  std::vector<int> renamed(nodes->size(), -1);
  std::vector<BodyNode> kept;
  for (int k = 0; k <= value; ++k) {
    if (!live[k]) continue;
    BodyNode n = (*nodes)[k];
    for (int& a : n.arg) {
      if (a >= 0) a = renamed[a];
    }
    renamed[k] = static_cast<int>(kept.size());
    kept.push_back(std::move(n));
  }
  *nodes = std::move(kept);
}

// Removes reads that no node uses; read numbers in nodes are biased by `bias` (post: 1).
void prune_reads(std::vector<Access>* reads, std::vector<BodyNode>* nodes, int bias) {
  std::vector<bool> live(reads->size(), false);
  for (const BodyNode& n : *nodes) {
    if (n.kind == BodyNode::Kind::Read && n.read >= bias) live[n.read - bias] = true;
  }
  for (size_t k = reads->size(); k-- > 0;) {
    if (live[k] && (*reads)[k].index_read >= 0) live[(*reads)[k].index_read] = true;
  }
  std::vector<int> renamed(reads->size(), -1);
  std::vector<Access> kept;
  for (size_t k = 0; k < reads->size(); ++k) {
    if (!live[k]) continue;
    renamed[k] = static_cast<int>(kept.size());
    Access a = (*reads)[k];
    if (a.index_read >= 0) a.index_read = renamed[a.index_read];
    kept.push_back(std::move(a));
  }
  for (BodyNode& n : *nodes) {
    if (n.kind == BodyNode::Kind::Read && n.read >= bias) n.read = renamed[n.read - bias] + bias;
  }
  *reads = std::move(kept);
}

std::vector<Affine*> affines_of(Nest* nest) {
  std::vector<Affine*> all{&nest->arg_index, &nest->write.offset};
  auto add = [&](std::vector<Access>* reads, std::vector<BodyNode>* nodes) {
    for (Access& a : *reads) {
      all.push_back(&a.offset);
      for (GuardedDim& g : a.guarded) all.push_back(&g.expr);
    }
    for (BodyNode& n : *nodes) {
      if (n.kind == BodyNode::Kind::Iter) all.push_back(&n.iter);
    }
  };
  add(&nest->reads, &nest->body);
  add(&nest->post_reads, &nest->post);
  return all;
}

// Merges or drops iterators of one list; `base` is the number of its first iterator.
void simplify_list(std::vector<int64_t>* extents, size_t base, const std::vector<Affine*>& all) {
  auto erase = [&](size_t k) {
    extents->erase(extents->begin() + static_cast<std::ptrdiff_t>(k));
    for (Affine* a : all) a->coeff.erase(a->coeff.begin() + static_cast<std::ptrdiff_t>(base + k));
  };
  for (size_t k = extents->size(); k-- > 0;) {
    if ((*extents)[k] == 1) erase(k);
  }
  for (size_t k = extents->size(); k-- > 1;) {
    bool merges = std::all_of(all.begin(), all.end(), [&](const Affine* a) {
      return a->coeff[base + k - 1] == a->coeff[base + k] * (*extents)[k];
    });
    if (!merges) continue;
    (*extents)[k] *= (*extents)[k - 1];
    erase(k - 1);
  }
}

}  // namespace

void simplify(Nest* nest) {
  std::vector<Affine*> all = affines_of(nest);
  for (Affine* a : all) a->coeff.resize(nest->space.size() + nest->reduction.size(), 0);
  for (int64_t e : nest->space) {
    if (e == 0) return;
  }
  for (int64_t e : nest->reduction) {
    if (e == 0) return;
  }
  // A scan's single iterator stays, whatever its extent.
  bool scan = nest->reduce == ReduceKind::ScanSum || nest->reduce == ReduceKind::ScanProd;
  if (!scan) simplify_list(&nest->reduction, nest->space.size(), all);
  simplify_list(&nest->space, 0, all);
}

NestBuilder::NestBuilder(Shape space, Shape reduction) : body_(&nest_.body), post_(&nest_.post) {
  nest_.space = std::move(space);
  nest_.reduction = std::move(reduction);
}

std::vector<Index> NestBuilder::space_index() const {
  std::vector<Index> index;
  for (size_t k = 0; k < nest_.space.size(); ++k) index.emplace_back(space(static_cast<int>(k)));
  return index;
}

Access NestBuilder::access(const Ref& a, const std::vector<Index>& index) const {
  Access out;
  out.operand = a.tensor;
  out.offset = affine(a.offset);
  for (size_t k = 0; k < index.size(); ++k) {
    const Index& i = index[k];
    int64_t hi = i.hi == -1 ? a.shape[k] : i.hi;
    if (i.guarded) {
      out.guarded.push_back({i.expr, i.div, i.lo, hi, a.strides[k]});
    } else {
      out.offset = out.offset + i.expr * a.strides[k];
    }
  }
  return out;
}

V NestBuilder::add_read(std::vector<Access>* reads, Expr* expr, Access access, DType dtype, Ty ty,
                        int bias) {
  size_t k = 0;
  while (k < reads->size() && !same((*reads)[k], access)) ++k;
  if (k == reads->size()) reads->push_back(std::move(access));
  V v = expr->read(static_cast<int>(k) + bias, program::dtype_ty(dtype));
  if (dtype == DType::Bool) v = cast(v, Ty::Pred);
  return cast(v, ty == Ty::None ? value_type(dtype) : ty);
}

V NestBuilder::load(const Ref& a, const std::vector<Index>& index, Ty ty) {
  return add_read(&nest_.reads, &body_, access(a, index), a.dtype, ty, 0);
}

V NestBuilder::load_post(const Ref& a, const std::vector<Index>& index, Ty ty) {
  return add_read(&nest_.post_reads, &post_, access(a, index), a.dtype, ty, 1);
}

V NestBuilder::load_index(const Ref& a, const std::vector<Index>& index) {
  return add_read(&nest_.reads, &body_, access(a, index), a.dtype, program::dtype_ty(a.dtype), 0);
}

V NestBuilder::load_indirect(const Ref& a, std::vector<Index> index, int dim, V by, bool wraps,
                             Ty ty) {
  index[dim] = Index(affine(0));
  Access acc = access(a, index);
  acc.index_read = nest_.body[by.id].read;
  acc.index_stride = a.strides[dim];
  acc.index_lo = 0;
  acc.index_hi = a.shape[dim];
  acc.index_wrap = wraps ? a.shape[dim] : 0;
  return add_read(&nest_.reads, &body_, std::move(acc), a.dtype, ty, 0);
}

void NestBuilder::guards(OnGuard on, double value) {
  nest_.on_guard = on;
  nest_.guard_value = value;
}

V NestBuilder::reduce(ReduceKind kind, V value) {
  nest_.reduce = kind;
  nest_.acc_type = value.ty;
  prune(&nest_.body, value.id);
  return post_.read(0, value.ty);
}

V NestBuilder::reduce_arg(ReduceKind kind, V value, Affine index) {
  nest_.arg_index = std::move(index);
  reduce(kind, value);
  nest_.post.clear();
  return post_.read(0, Ty::S64);
}

void NestBuilder::store(const Ref& out, const std::vector<Index>& index, V value) {
  nest_.write = access(out, index);
  nest_.out_type = program::dtype_ty(out.dtype);
  if (out.dtype == DType::Bool) value = cast(value, Ty::Pred);
  value = cast(value, nest_.out_type);
  prune(nest_.reduce == ReduceKind::None ? &nest_.body : &nest_.post, value.id);
}

Nest NestBuilder::finish() {
  if (nest_.post.size() == 1 && nest_.post[0].kind == BodyNode::Kind::Read &&
      nest_.post[0].read == 0) {
    nest_.post.clear();  // the reduced value itself
  }
  prune_reads(&nest_.reads, &nest_.body, 0);
  prune_reads(&nest_.post_reads, &nest_.post, 1);
  simplify(&nest_);
  return std::move(nest_);
}

}  // namespace assay::tensor
