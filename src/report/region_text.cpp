#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "report/paint.h"
#include "report/region.h"

namespace assay::report {

namespace {

using region::Class;
using region::Evidence;
using region::Instance;
using region::Instr;
using region::KernelMap;
using region::Kind;
using region::Region;

constexpr size_t kTreeWidth = 62;  // columns of the tree before the evidence

std::string plural(uint64_t n, const char* what) {
  return fmt::format("{} {}{}", grouped(n), what, n == 1 ? "" : "s");
}

// UTF-8 text cut to so many columns (code points).
std::string cut(const std::string& text, size_t columns) {
  size_t seen = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    if ((text[at] & 0xc0) == 0x80) continue;
    if (++seen == columns && at + 1 < text.size()) return text.substr(0, at) + "…";
  }
  return text;
}

size_t columns(const std::string& text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

// "2 × 16 B + 1 × 4 B".
std::string widths(const std::map<uint32_t, uint32_t>& counts) {
  std::string out;
  for (auto at = counts.rbegin(); at != counts.rend(); ++at)
    out += fmt::format("{}{}×{} B", out.empty() ? "" : " + ", at->second, at->first);
  return out;
}

void add(std::vector<std::string>* out, std::string text) {
  if (!text.empty()) out->push_back(std::move(text));
}

// What matters of a region's instructions, most telling first.
std::string summary(const Evidence& e, const Paint& paint) {
  std::vector<std::string> parts;
  for (const auto* group : {&e.tensor, &e.tma}) {
    for (const auto& [opcode, n] : *group)
      parts.push_back(paint.green(fmt::format("{} {}", n, clean(opcode))));
  }
  const auto access = [&](const char* what, const std::map<uint32_t, uint32_t>& counts) {
    if (!counts.empty()) parts.push_back(fmt::format("{} {}", what, widths(counts)));
  };
  access("cp.async", e.async_copy);
  access("global load", e.global_load);
  access("global store", e.global_store);
  access("shared load", e.shared_load);
  access("shared store", e.shared_store);
  const uint32_t local = e.of(Class::LocalLoad) + e.of(Class::LocalStore);
  if (local != 0) parts.push_back(paint.red(fmt::format("{} local (spill or array)", local)));
  for (const Class c : {Class::Atomic, Class::Fp32, Class::Fp64, Class::Half, Class::Special,
                        Class::Barrier, Class::Shuffle}) {
    if (e.of(c) != 0) parts.push_back(fmt::format("{} {}", e.of(c), class_name(c)));
  }
  return fmt::format("{}", fmt::join(parts, " · "));
}

class Printer {
 public:
  Printer(const KernelMap& k, const RegionTextOptions& options)
      : k_(k), options_(options), paint_{options.text.color} {}

  std::string run() {
    head();
    out_ +=
        paint_.dim(fmt::format("\n   own  all  {:<{}}  own instructions\n", "region", kTreeWidth));
    tree(0, "", "");
    named();
    waits();
    ambiguity();
    return std::move(out_);
  }

 private:
  void head() {
    const auto& r = k_.resources;
    out_ += paint_.bold(clean(k_.name)) + (r.is_kernel ? "" : "  (device function)") + "\n";
    std::vector<std::string> parts = {plural(k_.total().instructions, "instruction")};
    if (r.registers != 0) parts.push_back(plural(r.registers, "register"));
    if (r.shared_bytes != 0) parts.push_back(grouped(r.shared_bytes) + " B shared");
    if (r.barriers != 0) parts.push_back(plural(r.barriers, "barrier"));
    if (k_.spills_known && k_.spill_store_bytes + k_.spill_load_bytes == 0)
      parts.push_back("no spills");
    if (k_.spill_store_bytes + k_.spill_load_bytes != 0)
      parts.push_back(paint_.red(fmt::format("spills: {} B stored, {} B loaded",
                                             k_.spill_store_bytes, k_.spill_load_bytes)));
    if (r.frame_bytes != 0) parts.push_back(fmt::format("{} B local a thread", r.frame_bytes));
    out_ += fmt::format("  {}\n", fmt::join(parts, " · "));
    occupancy();
    for (const std::string& remark : k_.remarks) out_ += "  " + paint_.yellow(clean(remark)) + "\n";
  }

  // CTA sizes that fill an SM alike stand together.
  void occupancy() {
    std::vector<std::pair<std::string, std::string>> groups;  // what, sizes
    for (const region::Occupancy& o : k_.occupancy) {
      const std::string what =
          o.ctas == 0 ? "does not launch"
                      : fmt::format("{:.0f} % of its warps, {} limit it", 100 * o.share, o.limit);
      const std::string size = fmt::format("{}×{} threads", o.ctas, o.threads);
      if (groups.empty() || groups.back().first != what) groups.emplace_back(what, "");
      groups.back().second += (groups.back().second.empty() ? "" : ", ") + size;
    }
    for (const auto& [what, sizes] : groups)
      out_ += fmt::format("  CTAs an SM: {} ({})\n", sizes, what);
  }

  std::string title(const Region& r) const {
    std::string text;
    if (r.kind == Kind::Function) text = "function";
    if (r.kind == Kind::Role) text = "role: " + r.name;
    if (r.kind == Kind::Loop) text = "loop ";
    if (r.at.line != 0 && r.kind != Kind::Function) {
      const Region& f = k_.regions[0];
      const std::string file =
          r.at.file == f.at.file ? "" : r.at.file.substr(r.at.file.find_last_of('/') + 1) + ":";
      text += fmt::format("{}{} ", file, r.at.line);
    }
    if (r.kind == Kind::Loop && r.at.line == 0) text += r.name;
    if (!r.label.empty()) text += "[" + r.label + "] ";
    if (r.kind != Kind::Function) text += r.text;
    return clean(text);
  }

  // What tells copies apart: calls, loops, unrolling.
  std::string instances(const Region& r) const {
    std::vector<std::string> parts;
    std::set<uint32_t> loops;
    std::set<std::string> calls;
    for (const Instance& i : r.instances) {
      loops.insert(i.loop_ptx);
      std::string chain;
      for (const region::Frame& f : i.called_at) chain += fmt::format("{} ", f.line);
      calls.insert(chain);
    }
    if (r.kind == Kind::Loop && r.assembled_away) parts.push_back("unrolled by ptxas");
    if (r.kind == Kind::Loop && loops.size() > 1)
      parts.push_back(fmt::format("{} loops", loops.size()));
    if (r.copies > 1) parts.push_back(fmt::format("×{}", r.copies));
    calls.erase("");
    if (calls.size() > 1) parts.push_back(fmt::format("inlined at {} places", calls.size()));
    if (calls.size() == 1) {
      std::string at = *calls.begin();
      at.pop_back();
      parts.push_back("inlined at " + at);
    }
    return fmt::format("{}", fmt::join(parts, ", "));
  }

  void tree(int32_t region, const std::string& before, const std::string& below) {
    const Region& r = k_.regions[static_cast<size_t>(region)];
    std::string line = before + title(r);
    const std::string extra = instances(r);
    const size_t room = kTreeWidth - (extra.empty() ? 0 : columns(extra) + 3);
    line = cut(line, std::max<size_t>(room, 16));
    if (!extra.empty()) line += " (" + extra + ")";
    const size_t width = columns(line);
    if (r.kind == Kind::Loop) line = paint_.blue(line);
    if (r.kind == Kind::Role) line = paint_.yellow(line);
    out_ += fmt::format("{:>6} {:>4}  {}{}  {}\n", r.own.instructions, r.total.instructions, line,
                        std::string(width < kTreeWidth ? kTreeWidth - width : 0, ' '),
                        summary(r.own, paint_));
    if (options_.code) code(region);
    std::vector<int32_t> children;
    for (int32_t c : r.children) {
      if (k_.regions[static_cast<size_t>(c)].total.instructions != 0) children.push_back(c);
    }
    for (size_t k = 0; k < children.size(); ++k) {
      const bool last = k + 1 == children.size();
      tree(children[k], below + (last ? "└ " : "├ "), below + (last ? "  " : "│ "));
    }
  }

  void code(int32_t region) {
    for (const Instr& i : k_.code) {
      if (i.region != region || (i.flags & region::kPadding) != 0) continue;
      std::string notes;
      if ((i.flags & region::kMoved) != 0) notes += " [outside the loop]";
      if ((i.flags & region::kConflict) != 0) notes += " [tables disagree]";
      if ((i.flags & region::kRepaired) != 0) notes += " [placed by PTX]";
      out_ += paint_.dim(fmt::format("             {:06x} {} {} {}{}\n", i.offset,
                                     clean(i.sass.predicate), clean(i.sass.opcode),
                                     clean(i.sass.operands), notes));
    }
  }

  // Regions of one name together.
  void named() {
    std::map<std::string, Evidence> by_name;
    for (const Region& r : k_.regions) {
      if (!r.label.empty()) by_name[r.label].add(r.own);
    }
    if (by_name.empty()) return;
    out_ += "  named regions\n";
    for (const auto& [name, e] : by_name)
      out_ += fmt::format("{:>6}       {}  {}\n", e.instructions, paint_.bold(clean(name)),
                          summary(e, paint_));
  }

  std::string place(const region::Site& s) const {
    const Region& r = k_.regions[static_cast<size_t>(s.region)];
    if (r.at.line == 0) return fmt::format("PTX line {}", s.ptx_line);
    const std::string calls = instances(r);
    return fmt::format("line {}{}", r.at.line, calls.rfind("inlined", 0) == 0 ? ", " + calls : "");
  }

  void waits() {
    bool any = false;
    for (uint32_t k = 0; k < k_.sites.size(); ++k) {
      const region::Site& s = k_.sites[k];
      if (!s.waits) continue;
      if (!any) out_ += "  waits\n";
      any = true;
      out_ += fmt::format("    {} {}{} for", paint_.bold(s.what), place(s),
                          s.object.empty() ? "" : " (" + clean(s.object) + ")");
      std::vector<std::string> issues;
      for (const region::Edge& e : k_.edges) {
        if (e.wait != k) continue;
        const region::Site& i = k_.sites[e.issue];
        issues.push_back(fmt::format("{} {}{}", i.what, place(i), e.certain ? "" : " (perhaps)"));
      }
      out_ += issues.empty() ? " the other warps\n" : fmt::format(" {}\n", fmt::join(issues, ", "));
    }
  }

  void ambiguity() {
    const Evidence& e = k_.total();
    std::vector<std::string> parts;
    const auto share = [&](uint32_t n, const char* what) {
      if (n != 0)
        parts.push_back(
            fmt::format("{} ({:.0f} %) {}", n, 100.0 * n / std::max(1u, e.instructions), what));
    };
    share(e.no_source, "without a source line");
    share(e.no_ptx, "without a PTX line");
    share(e.conflicts, "on which the line tables disagree");
    share(e.moved, "outside the loop of their line");
    share(e.repaired, "placed by the PTX against the line table");
    if (!parts.empty())
      out_ += "  " + paint_.dim(fmt::format("uncertain: {}", fmt::join(parts, ", "))) + "\n";
  }

  const KernelMap& k_;
  const RegionTextOptions& options_;
  const Paint paint_;
  std::string out_;
};

}  // namespace

std::string text(const region::RegionMap& map, const RegionTextOptions& options) {
  const Paint paint{options.text.color};
  std::vector<std::string> head = {clean(map.input), map.arch};
  add(&head, clean(map.assembler.substr(0, map.assembler.find("; Build"))));
  std::string out = paint.dim(fmt::format("{}\n", fmt::join(head, " · ")));
  for (const std::string& m : map.missing) out += paint.yellow("not known: ") + clean(m) + "\n";
  bool any = false;
  for (const KernelMap& k : map.kernels) {
    if (k.name.find(options.kernel) == std::string::npos) continue;
    any = true;
    out += "\n" + Printer(k, options).run();
  }
  if (!any) out += map.kernels.empty() ? "no function has code\n" : "no function of that name\n";
  return out;
}

}  // namespace assay::report
