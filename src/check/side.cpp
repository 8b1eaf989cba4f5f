#include "check/side.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/deadline.h"

namespace assay::check {

using program::Arg;
using program::Buffer;
using program::Init;
using program::OpStep;
using program::TensorView;

namespace {

bool exp_family(Fn fn) {
  switch (fn) {
    case Fn::Exp:
    case Fn::Exp2:
    case Fn::Exp10:
    case Fn::Expm1:
    case Fn::Tanh:
    case Fn::Sinh:
    case Fn::Cosh:
    case Fn::Log:
    case Fn::Log2:
    case Fn::Log10:
    case Fn::Log1p:
      return true;
    default:
      return false;
  }
}

void note_dims(const TensorView& v, std::vector<int64_t>& dims) {
  dims.insert(dims.end(), v.shape.begin(), v.shape.end());
}

term::Source source_of(const Buffer& b) {
  term::Source s;
  s.type = dtype_ty(b.dtype);
  s.elements = static_cast<int64_t>(b.bytes / std::max<uint32_t>(1, dtype_bytes(b.dtype)));
  switch (b.init) {
    case Init::Symbolic:
      s.kind = term::Source::Kind::Poison;
      break;  // until its argument names it
    case Init::Poison:
      s.kind = term::Source::Kind::Poison;
      break;
    case Init::Zero:
      s.kind = term::Source::Kind::Zero;
      break;
    case Init::Data:
      s.kind = term::Source::Kind::Data;
      s.data = b.data.data();
      s.elements = static_cast<int64_t>(b.data.size() / dtype_bytes(b.dtype));
      break;
  }
  return s;
}

void add_symbol(Side& side, size_t argument, size_t member, const std::string& name,
                const std::string& source_name, const TensorView& view) {
  if (view.buffer < 0) return;
  const Buffer& b = side.program->buffers[static_cast<size_t>(view.buffer)];
  term::Source& source = side.sources[static_cast<size_t>(view.buffer)];
  if (b.init == Init::Data && b.role == program::Role::Constant) return;
  if (source.kind == term::Source::Kind::Symbol) return;  // one buffer under two names: the first
  source.kind = term::Source::Kind::Symbol;
  source.symbol = argument_symbol(argument, member);
  SymbolInfo info;
  info.symbol = source.symbol;
  info.argument = argument;
  info.member = member;
  info.name = name;
  info.source = source_name;
  info.elements = b.bytes / std::max<uint32_t>(1, dtype_bytes(b.dtype));
  info.view = view;
  info.dtype = b.dtype;
  info.range = b.example_range;
  info.data = b.data.empty() ? nullptr : &b.data;
  info.is_parameter = b.role == program::Role::Parameter || b.role == program::Role::State;
  side.symbols.push_back(std::move(info));
}

// The j-th of the comma-separated sources of a list.
std::string member_source(const std::string& sources, size_t j) {
  size_t at = 0;
  for (; j > 0; --j) {
    at = sources.find(',', at);
    if (at == std::string::npos) return "";
    ++at;
  }
  return sources.substr(at, sources.find(',', at) - at);
}

// Evaluators copy element by element.
Status copies_whole_elements(const program::Program& p) {
  for (const program::Step& step : p.steps) {
    const auto* copy = std::get_if<program::CopyStep>(&step.what);
    if (copy == nullptr || copy->src < 0) continue;
    const uint32_t to = dtype_bytes(p.buffers[static_cast<size_t>(copy->dst)].dtype);
    const uint32_t from = dtype_bytes(p.buffers[static_cast<size_t>(copy->src)].dtype);
    if (to == from && copy->dst_offset % to == 0 && copy->src_offset % to == 0 &&
        copy->bytes % to == 0)
      continue;
    return fail(DiagKind::Unsupported,
                "a copy between buffers whose elements are of different sizes, or of parts of them",
                step.loc);
  }
  return {};
}

Result<std::unique_ptr<OpState>> prepare_op(Side& side, const OpStep& op) {
  auto state = std::make_unique<OpState>();
  ASSAY_TRY(state->lowered, tensor::lower(op));
  for (const auto& t : state->lowered.tensors) {
    note_dims(t.view, side.dims);
    state->types.push_back(dtype_ty(t.view.dtype));
    if (!t.is_temp) {
      state->buffers.push_back(t.view.buffer);
      continue;
    }
    term::Source s;
    s.kind = term::Source::Kind::Poison;
    s.type = dtype_ty(t.view.dtype);
    s.elements = t.view.numel();
    state->buffers.push_back(static_cast<int>(side.sources.size()));
    side.sources.push_back(s);
  }
  for (const tensor::Nest& nest : state->lowered.nests) {
    if (nest.space.size() + nest.reduction.size() > 16)
      return fail(DiagKind::Unsupported, op.op + ": more than 16 loop dimensions");
    state->shapes.push_back(std::make_unique<term::NestShape>(nest));
    for (const auto* body : {&nest.body, &nest.post})
      for (const tensor::BodyNode& n : *body) side.uses_exp = side.uses_exp || exp_family(n.fn);
  }
  return state;
}

}  // namespace

Result<Side> prepare(const program::Program& p) {
  Side side;
  side.program = &p;
  for (const Buffer& b : p.buffers) side.sources.push_back(source_of(b));
  for (size_t k = 0; k < p.arguments.size(); ++k) {
    const auto& arg = p.arguments[k];
    if (const auto* view = std::get_if<TensorView>(&arg.value)) {
      note_dims(*view, side.dims);
      add_symbol(side, k, 0, arg.name, arg.source, *view);
    } else if (const auto* list = std::get_if<std::vector<TensorView>>(&arg.value)) {
      for (size_t j = 0; j < list->size(); ++j) {
        note_dims((*list)[j], side.dims);
        add_symbol(side, k, j, arg.name + "[" + std::to_string(j) + "]",
                   member_source(arg.source, j), (*list)[j]);
      }
    }
  }
  ASSAY_CHECK(copies_whole_elements(p));
  side.ops.resize(p.steps.size());
  side.launches.resize(p.steps.size());
  for (size_t s = 0; s < p.steps.size(); ++s) {
    if (Deadline::passed())
      return fail(DiagKind::Limit, fmt::format("no time left to prepare {} steps", p.steps.size()));
    if (const auto* op = std::get_if<OpStep>(&p.steps[s].what)) {
      ASSAY_TRY(side.ops[s], prepare_op(side, *op));
    } else if (std::holds_alternative<program::LaunchStep>(p.steps[s].what)) {
      ASSAY_TRY(side.launches[s], prepare_launch(p, s));
      side.uses_exp = side.uses_exp || side.launches[s]->has_exp();
    }
  }
  return side;
}

}  // namespace assay::check
