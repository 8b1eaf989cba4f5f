#include "tensor/eval.h"

#include <cstring>
#include <memory>

#include "tensor/nest_runner.h"

namespace assay::tensor {
namespace {

// Temporaries, operands and outputs of a step in memory. Outputs that share a buffer with another
// tensor are staged and committed at the end.
class StepMemory {
 public:
  StepMemory(const Lowered& op, const BufferBytes& buffers) : op_(op) {
    std::vector<bool> written(op.tensors.size(), false);
    for (const Nest& n : op.nests) written[static_cast<size_t>(n.write.operand)] = true;
    for (size_t t = 0; t < op.tensors.size(); ++t) {
      const auto& tensor = op.tensors[t];
      Storage s;
      s.type = program::dtype_ty(tensor.view.dtype);
      if (tensor.is_temp) {
        int64_t n = tensor.view.numel();
        owned_.emplace_back(static_cast<size_t>(n) * bytes(s.type), uint8_t{0});
        s.data = owned_.back().data();
        s.count = n;
      } else if (static_cast<size_t>(tensor.view.buffer) < buffers.size()) {
        std::span<uint8_t> b = buffers[static_cast<size_t>(tensor.view.buffer)];
        s.data = b.data();
        s.count = static_cast<int64_t>(b.size()) / bytes(s.type);
        if (written[t] && shared(t)) stage(b, &s);
      }
      storage.push_back(s);
    }
  }

  void commit() {
    for (const Staged& s : staged_) {
      const Storage& from = storage[s.tensor];
      s.written->for_each([&](int64_t e) {
        size_t width = bytes(from.type);
        std::memcpy(s.target + static_cast<size_t>(e) * width,
                    from.data + static_cast<size_t>(e) * width, width);
      });
    }
  }

  std::vector<Storage> storage;

 private:
  struct Staged {
    size_t tensor;
    uint8_t* target;
    std::unique_ptr<ElemSet> written;
  };
  bool shared(size_t t) const {
    for (size_t k = 0; k < op_.tensors.size(); ++k) {
      if (k != t && !op_.tensors[k].is_temp &&
          op_.tensors[k].view.buffer == op_.tensors[t].view.buffer) {
        return true;
      }
    }
    return false;
  }
  void stage(std::span<uint8_t> b, Storage* s) {
    owned_.emplace_back(b.begin(), b.end());
    staged_.push_back({storage.size(), s->data, std::make_unique<ElemSet>()});
    s->data = owned_.back().data();
    s->written = staged_.back().written.get();
  }

  const Lowered& op_;
  std::vector<std::vector<uint8_t>> owned_;
  std::vector<Staged> staged_;
};

}  // namespace

Status evaluate(const Lowered& op, const BufferBytes& buffers) {
  StepMemory memory(op, buffers);
  for (const Nest& nest : op.nests) {
    ElemSet all;
    all.insert_range(0, point_count(nest));
    ASSAY_CHECK(run_nest(nest, memory.storage, all));
  }
  memory.commit();
  return {};
}

Status evaluate(const Lowered& op, const BufferBytes& buffers, const std::vector<ElemSet>& wanted) {
  StepDemand d = step_demand(op, wanted);
  StepMemory memory(op, buffers);
  for (size_t k = 0; k < op.nests.size(); ++k) {
    if (d.points[k].empty()) continue;
    ASSAY_CHECK(run_nest(op.nests[k], memory.storage, d.points[k]));
  }
  memory.commit();
  return {};
}

StepDemand step_demand(const Lowered& op, const std::vector<ElemSet>& wanted,
                       const IndexValue& index_value) {
  StepDemand d;
  d.points.resize(op.nests.size());
  d.operands = wanted;
  d.operands.resize(op.tensors.size());
  for (size_t k = op.nests.size(); k-- > 0;) {
    const Nest& nest = op.nests[k];
    ElemSet& target = d.operands[static_cast<size_t>(nest.write.operand)];
    if (target.empty()) continue;
    d.points[k] = points_of(nest, target);
    if (d.points[k].empty()) continue;
    // What this nest writes is settled: earlier nests that write it too are overwritten.
    ElemSet written;
    d.points[k].for_each([&](int64_t p) { written.insert(written_element(nest, p)); });
    target.subtract(written);
    Demand needs = demand(nest, d.points[k], index_value);
    for (size_t r = 0; r < nest.reads.size(); ++r) {
      d.operands[static_cast<size_t>(nest.reads[r].operand)].unite(needs.reads[r]);
    }
    for (size_t r = 0; r < nest.post_reads.size(); ++r) {
      d.operands[static_cast<size_t>(nest.post_reads[r].operand)].unite(needs.post_reads[r]);
    }
  }
  return d;
}

}  // namespace assay::tensor
