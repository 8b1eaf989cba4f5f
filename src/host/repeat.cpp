#include "host/repeat.h"

#include <fmt/format.h>

#include <cstring>
#include <map>
#include <set>

namespace assay::host {

namespace {

using program::Arg;
using program::Buffer;
using program::CopyStep;
using program::FillStep;
using program::LaunchStep;
using program::OpStep;
using program::Program;
using program::Role;
using program::Step;
using program::TensorView;

// A step as text, buffers aside, and the buffers that it names, in order.
struct Described {
  std::string text;
  std::vector<int> buffers;
};

struct Describer {
  Described out;

  void add(const std::string& s) { out.text += s + ";"; }
  void view(const TensorView& v) {
    out.buffers.push_back(v.buffer);
    add(fmt::format("{}@{}", program::dtype_name(v.dtype), v.offset));
    for (size_t d = 0; d < v.shape.size(); ++d)
      add(fmt::format("{}*{}", v.shape[d], d < v.strides.size() ? v.strides[d] : 0));
  }
  void operator()(const OpStep& s) {
    add(s.op);
    for (const Arg& a : s.args) {
      add(std::to_string(a.index()));
      if (const auto* v = std::get_if<TensorView>(&a)) view(*v);
      if (const auto* l = std::get_if<std::vector<TensorView>>(&a))
        for (const TensorView& v : *l) view(v);
      if (const auto* i = std::get_if<int64_t>(&a)) add(std::to_string(*i));
      if (const auto* d = std::get_if<double>(&a)) add(fmt::format("{}", *d));
      if (const auto* b = std::get_if<bool>(&a)) add(*b ? "true" : "false");
      if (const auto* t = std::get_if<std::string>(&a)) add(*t);
      if (const auto* n = std::get_if<std::vector<int64_t>>(&a))
        for (int64_t v : *n) add(std::to_string(v));
      if (const auto* r = std::get_if<std::vector<double>>(&a))
        for (double v : *r) add(fmt::format("{}", v));
    }
    for (const TensorView& v : s.outputs) view(v);
  }
  void operator()(const LaunchStep& s) {
    add(fmt::format("{}/{}", s.module, s.kernel));
    for (const auto* dims : {&s.grid, &s.block, &s.cluster})
      for (uint32_t n : *dims) add(std::to_string(n));
    add(std::to_string(s.dynamic_smem));
    std::vector<uint8_t> params = s.params;
    for (const program::ParamSlot& p : s.slots) {
      if (p.kind != program::ParamSlot::Kind::Pointer) continue;
      out.buffers.push_back(p.buffer);
      add(fmt::format("{}+{}", p.offset, p.addend));
      if (p.offset + 8 <= params.size()) std::memset(params.data() + p.offset, 0, 8);
    }
    out.text.append(params.begin(), params.end());
  }
  void operator()(const CopyStep& s) {
    out.buffers.push_back(s.dst);
    out.buffers.push_back(s.src);
    add(fmt::format("copy {} {} {}", s.dst_offset, s.src_offset, s.bytes));
    out.text.append(s.host_data.begin(), s.host_data.end());
  }
  void operator()(const FillStep& s) {
    out.buffers.push_back(s.dst);
    add(fmt::format("fill {} {} {} {}", s.offset, s.bytes, s.value, s.width));
  }
};

Described describe(const Step& step) {
  Describer d;
  std::visit(d, step.what);
  return std::move(d.out);
}

std::string name_of(const Step& step) {
  if (const auto* o = std::get_if<OpStep>(&step.what)) return o->op;
  if (const auto* l = std::get_if<LaunchStep>(&step.what)) return l->kernel;
  return std::holds_alternative<CopyStep>(step.what) ? "a copy" : "a fill";
}

std::vector<TensorView*> tensors_of(std::vector<program::Argument>& arguments) {
  std::vector<TensorView*> out;
  for (program::Argument& a : arguments) {
    if (auto* v = std::get_if<TensorView>(&a.value)) out.push_back(v);
    if (auto* l = std::get_if<std::vector<TensorView>>(&a.value))
      for (TensorView& v : *l) out.push_back(&v);
  }
  return out;
}

// Buffers that hold something computed from buffers of a role, by the steps before `end`. What a
// launch may write is not known here: all that it has a pointer to.
std::set<int> derived(const Program& p, size_t end, Role role) {
  std::set<int> found;
  for (size_t b = 0; b < p.buffers.size(); ++b)
    if (p.buffers[b].role == role) found.insert(static_cast<int>(b));
  for (size_t s = 0; s < end; ++s) {
    const std::vector<int> named = describe(p.steps[s]).buffers;
    bool any = false;
    for (int b : named) any = any || found.count(b) != 0;
    if (!any) continue;
    for (int b : named)
      if (b >= 0 && p.buffers[static_cast<size_t>(b)].role == Role::Temp) found.insert(b);
  }
  return found;
}

// Do the steps of a later call do to its buffers what the first call did to its own?
struct Comparison {
  const Program& first;
  const Program& all;
  size_t begin;
  size_t old_buffers;  // those that earlier calls made, and the request's
  std::map<int, int> to;
  std::set<int> kept;  // temporaries of earlier calls that this call uses
  std::string differs;

  bool map(const std::vector<int>& a, const std::vector<int>& b) {
    for (size_t k = 0; k < a.size(); ++k) {
      auto [it, fresh] = to.try_emplace(a[k], b[k]);
      if (it->second != b[k]) return false;
      const bool old = b[k] >= 0 && static_cast<size_t>(b[k]) < old_buffers;
      if (fresh && old && a[k] != b[k]) return false;
    }
    return true;
  }
  void note_kept(const std::vector<int>& buffers) {
    for (int b : buffers)
      if (b >= 0 && static_cast<size_t>(b) < old_buffers &&
          all.buffers[static_cast<size_t>(b)].role == Role::Temp)
        kept.insert(b);
  }
  void run() {
    const size_t n = first.steps.size(), m = all.steps.size() - begin;
    if (n != m) differs = fmt::format("{} steps in the first call, {} in this one", n, m);
    for (size_t k = 0; k < m; ++k) {
      const Described b = describe(all.steps[begin + k]);
      note_kept(b.buffers);
      if (!differs.empty() || k >= n) continue;
      const Described a = describe(first.steps[k]);
      if (a.text != b.text || !map(a.buffers, b.buffers))
        differs = fmt::format("step {} ({}) is another one", k, name_of(all.steps[begin + k]));
    }
    std::vector<int> a, b;
    for (const TensorView& v : first.outputs) a.push_back(v.buffer);
    for (const TensorView& v : all.outputs) b.push_back(v.buffer);
    note_kept(b);
    if (differs.empty() && (a.size() != b.size() || !map(a, b)))
      differs = "it returns other tensors";
  }
};

// Contents of the request's inputs change between calls: this call's are copied in before it.
void refill_inputs(Program* all, size_t begin) {
  std::map<int, int> fresh;
  std::vector<Step> copies;
  for (TensorView* v : tensors_of(all->arguments)) {
    if (v->buffer < 0 || all->buffers[static_cast<size_t>(v->buffer)].role != Role::Input) continue;
    auto [it, added] = fresh.try_emplace(v->buffer, static_cast<int>(all->buffers.size()));
    if (added) {
      Buffer copy = all->buffers[static_cast<size_t>(v->buffer)];
      copy.address = 0;  // no launch has a pointer to it
      CopyStep step;
      step.dst = v->buffer;
      step.src = it->second;
      step.bytes = copy.bytes;
      copies.push_back({step, 0, {}, true, {}});
      all->buffers.push_back(std::move(copy));
    }
    v->buffer = it->second;
  }
  const auto added = static_cast<int>(copies.size());
  for (size_t k = begin; k < all->steps.size(); ++k) {
    for (int& s : all->steps[k].after)
      if (static_cast<size_t>(s) >= begin) s += added;
    for (int c = 0; c < added; ++c) all->steps[k].after.push_back(static_cast<int>(begin) + c);
  }
  for (Step& c : copies) {
    for (size_t s = 0; s < begin; ++s) c.after.push_back(static_cast<int>(s));
    c.implicit_order = all->steps.empty() || all->steps[0].implicit_order;
  }
  for (int& s : all->unjoined)
    if (static_cast<size_t>(s) >= begin) s += added;
  all->steps.insert(all->steps.begin() + static_cast<std::ptrdiff_t>(begin), copies.begin(),
                    copies.end());
}

// Inputs of earlier calls are symbols of their own: arguments behind those that the reference has.
void keep_earlier_inputs(Program* all) {
  std::set<int> known;
  for (const TensorView* v : tensors_of(all->arguments)) known.insert(v->buffer);
  for (size_t b = 0; b < all->buffers.size(); ++b) {
    const Buffer& buffer = all->buffers[b];
    if (buffer.role != Role::Input || known.count(static_cast<int>(b)) != 0) continue;
    TensorView v;
    v.buffer = static_cast<int>(b);
    v.dtype = buffer.dtype;
    v.shape = {static_cast<int64_t>(buffer.bytes / program::dtype_bytes(buffer.dtype))};
    v.strides = {1};
    all->arguments.push_back({buffer.name + " of an earlier call", v, "earlier"});
  }
}

}  // namespace

std::optional<LaterCall> compare_call(const Program& first, const Program& before, Program all,
                                      std::vector<program::Note>* notes) {
  Comparison c{first, all, before.steps.size(), before.buffers.size(), {}, {}, {}};
  std::vector<program::Argument> arguments = first.arguments, own = all.arguments;
  const auto a = tensors_of(arguments), b = tensors_of(own);
  for (size_t k = 0; k < std::min(a.size(), b.size()); ++k) c.to[a[k]->buffer] = b[k]->buffer;
  c.run();
  for (const TensorView& v : all.outputs) {
    if (c.kept.count(v.buffer) == 0) continue;
    const program::Note note = {"shared-output",
                                "low",
                                "a later call returns the memory that an earlier one returned: the "
                                "earlier result changes",
                                -1,
                                {}};
    if (notes->empty() || notes->back().kind != note.kind) notes->push_back(note);
  }
  if (c.differs.empty() && c.kept.empty()) return std::nullopt;
  LaterCall later;
  later.differs = c.differs;
  const std::set<int> inputs = derived(all, c.begin, Role::Input);
  const std::set<int> parameters = derived(all, c.begin, Role::Parameter);
  for (int k : c.kept) {
    later.from_inputs = later.from_inputs || inputs.count(k) != 0;
    later.from_parameters = later.from_parameters || parameters.count(k) != 0;
  }
  bool new_inputs = false;
  for (const TensorView* v : b)
    new_inputs = new_inputs || static_cast<size_t>(v->buffer) >= before.buffers.size();
  if (!new_inputs) refill_inputs(&all, c.begin);
  keep_earlier_inputs(&all);
  later.what = new_inputs ? "a second call, with new input tensors"
                          : "a third call, with other contents in the first input tensors";
  later.program = std::move(all);
  return later;
}

Repetition repeat_calls(const SandboxRequest& request) {
  Repetition out;
  SandboxRequest r = request;
  r.calls = 3;
  auto run = run_confined(r);
  if (run && (!run->reads.empty() || !run->exception.empty())) return out;
  std::string why = run ? run->later_error : run.error().message;
  if (run) {
    const Program* before = &run->program;
    for (const Program& all : run->later) {
      auto later = compare_call(run->program, *before, all, &out.notes);
      if (later) out.calls.push_back(std::move(*later));
      before = &all;
    }
  }
  if (!why.empty())
    out.notes.push_back({"static-state",
                         "low",
                         "the first call succeeds, a further one in the same process fails: " + why,
                         -1,
                         {}});
  return out;
}

}  // namespace assay::host
