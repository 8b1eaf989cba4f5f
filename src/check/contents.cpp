#include "check/contents.h"

#include <fmt/format.h>

#include "check/classes.h"

namespace assay::check {

using program::Arg;
using program::TensorView;

int ContentNames::of_data(const uint8_t* data, size_t bytes) {
  const std::string_view text(reinterpret_cast<const char*>(data), bytes);
  for (const auto& [known, name] : data_)
    if (known == text) return name;
  data_.emplace_back(text, next_);
  return next_++;
}

namespace {

// Strides of dimensions of one element say nothing.
std::string geometry(const TensorView& v) {
  std::string out = fmt::format("{}+{}", program::dtype_name(v.dtype), v.offset);
  for (size_t d = 0; d < v.shape.size(); ++d)
    out += fmt::format("[{}:{}]", v.shape[d], v.shape[d] == 1 ? 0 : v.strides[d]);
  return out;
}

class Walk {
 public:
  Walk(Side& side, const std::vector<Cut>& cuts, ContentNames& names)
      : side_(side), cuts_(cuts), names_(names) {
    for (const term::Source& s : side.sources) now_.push_back(initial(s));
    for (size_t b = 0; b < side.sources.size(); ++b)
      writers_.push_back(writers_of(side, static_cast<int>(b)));
  }

  std::map<std::pair<size_t, int>, int> run() {
    for (size_t s = 0; s < side_.program->steps.size(); ++s) {
      const auto& what = side_.program->steps[s].what;
      if (const auto* op = std::get_if<program::OpStep>(&what))
        operate(s, *op);
      else
        for (size_t b = 0; b < now_.size(); ++b)
          if (written(b, s)) now_[b] = other(static_cast<int>(b), what);
      place_cuts(s);
    }
    return std::move(out_);
  }

 private:
  int initial(const term::Source& s) {
    using Kind = term::Source::Kind;
    switch (s.kind) {
      case Kind::Symbol:
        return names_.of(fmt::format("symbol {} {}", s.symbol, static_cast<int>(s.type)));
      case Kind::Zero:
        return names_.of(fmt::format("zero {} {}", s.elements, static_cast<int>(s.type)));
      case Kind::Data:
        return names_.of(fmt::format(
            "data {} {}", names_.of_data(s.data, static_cast<size_t>(s.elements) * bytes(s.type)),
            static_cast<int>(s.type)));
      case Kind::Poison:
        break;
    }
    return names_.fresh();
  }
  bool written(size_t buffer, size_t s) const {
    for (const Point& w : writers_[buffer])
      if (w.step == s) return true;
    return false;
  }
  std::string text(const TensorView& v) {
    if (v.buffer < 0) return "none";
    return fmt::format("{}{}", now_[static_cast<size_t>(v.buffer)], geometry(v));
  }
  std::string text(const Arg& arg) {
    struct Print {
      Walk& walk;
      std::string operator()(std::monostate) const { return "none"; }
      std::string operator()(const TensorView& v) const { return walk.text(v); }
      std::string operator()(const std::vector<TensorView>& list) const {
        std::string out = "(";
        for (const TensorView& v : list) out += walk.text(v) + ",";
        return out + ")";
      }
      std::string operator()(int64_t v) const { return fmt::format("i{}", v); }
      std::string operator()(double v) const { return fmt::format("f{:a}", v); }
      std::string operator()(bool v) const { return v ? "true" : "false"; }
      std::string operator()(const std::string& v) const {
        return fmt::format("'{}:{}'", v.size(), v);
      }
      std::string operator()(const std::vector<int64_t>& v) const {
        return fmt::format("i[{}]", fmt::join(v, ","));
      }
      std::string operator()(const std::vector<double>& v) const {
        std::string out = "f[";
        for (double d : v) out += fmt::format("{:a},", d);
        return out + "]";
      }
      std::string operator()(program::DType v) const { return program::dtype_name(v); }
    };
    return std::visit(Print{*this}, arg);
  }

  // A result that fills its buffer owes nothing to what was there.
  void operate(size_t s, const program::OpStep& op) {
    std::string call = op.op;
    for (const Arg& arg : op.args) call += " " + text(arg);
    std::map<int, int> made;
    for (size_t k = 0; k < op.outputs.size(); ++k) {
      const TensorView& v = op.outputs[k];
      if (v.buffer < 0) continue;
      const auto b = static_cast<size_t>(v.buffer);
      const bool fills =
          v.offset == 0 && v.is_contiguous() && v.numel() == side_.sources[b].elements;
      std::string name = fmt::format("{} -> {} {}", call, k, geometry(v));
      if (!fills) name += fmt::format(" in {}", now_[b]);
      // Two results in one buffer: nothing is known.
      const int copied = fills ? whole_copy(op, v) : -1;
      const int id = made.count(v.buffer) != 0 ? names_.fresh()
                     : copied >= 0             ? copied
                                               : names_.of(name);
      made[v.buffer] = id;
    }
    for (size_t b = 0; b < now_.size(); ++b) {
      const auto it = made.find(static_cast<int>(b));
      if (it != made.end())
        now_[b] = it->second;
      else if (written(b, s))
        now_[b] = names_.fresh();
    }
    for (const auto& [b, id] : made) out_[{s, b}] = id;
  }

  // The contents of the buffer that a copying operator copies as it lies, or -1.
  int whole_copy(const program::OpStep& op, const TensorView& to) const {
    if (op.op != "aten::clone" || op.args.empty()) return -1;
    const auto* from = std::get_if<TensorView>(&op.args[0]);
    if (from == nullptr || from->buffer < 0 || from->dtype != to.dtype || from->offset != 0 ||
        !from->is_contiguous() || from->shape != to.shape)
      return -1;
    const auto b = static_cast<size_t>(from->buffer);
    const term::Source &a = side_.sources[b], &c = side_.sources[static_cast<size_t>(to.buffer)];
    return a.elements == to.numel() && a.type == c.type ? now_[b] : -1;
  }

  int other(int buffer, const decltype(program::Step::what)& what) {
    const auto b = static_cast<size_t>(buffer);
    const auto size =
        static_cast<uint64_t>(side_.sources[b].elements) * bytes(side_.sources[b].type);
    if (const auto* copy = std::get_if<program::CopyStep>(&what);
        copy != nullptr && copy->src >= 0 && copy->dst_offset == 0 && copy->src_offset == 0) {
      const term::Source& from = side_.sources[static_cast<size_t>(copy->src)];
      if (copy->bytes == size && from.type == side_.sources[b].type &&
          from.elements == side_.sources[b].elements)
        return now_[static_cast<size_t>(copy->src)];
    }
    if (const auto* fill = std::get_if<program::FillStep>(&what);
        fill != nullptr && fill->offset == 0 && fill->bytes == size)
      return fill->value == 0 ? names_.of(fmt::format("zero {} {}", side_.sources[b].elements,
                                                      static_cast<int>(side_.sources[b].type)))
                              : names_.fresh();
    return names_.fresh();
  }

  void place_cuts(size_t s) {
    for (const Cut& cut : cuts_) {
      if (cut.at.step != s) continue;
      const auto b = static_cast<size_t>(cut.buffer);
      // Behind a later nest of the step the buffer holds something else.
      bool last = true;
      for (const Point& w : writers_[b]) last = last && !(w.step == s && w > cut.at);
      if (!last) continue;
      const bool fills = cut.first == 0 && cut.count == side_.sources[b].elements;
      now_[b] = names_.of(fmt::format(
          "symbol {:x} {} at {}{}", cut.symbol, static_cast<int>(side_.sources[b].type), cut.first,
          fills ? std::string() : fmt::format("+{} in {}", cut.count, now_[b])));
      if (auto it = out_.find({s, cut.buffer}); it != out_.end()) it->second = now_[b];
    }
  }

  Side& side_;
  const std::vector<Cut>& cuts_;
  ContentNames& names_;
  std::vector<int> now_;  // of each buffer
  std::vector<std::vector<Point>> writers_;
  std::map<std::pair<size_t, int>, int> out_;
};

}  // namespace

std::map<std::pair<size_t, int>, int> op_contents(Side& side, const std::vector<Cut>& cuts,
                                                  ContentNames& names) {
  return Walk(side, cuts, names).run();
}

}  // namespace assay::check
