#include "measure/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "region/source.h"

namespace assay::measure {

namespace {

using region::Class;
using region::Evidence;
using region::KernelMap;
using region::Kind;
using region::Region;

// Bytes a lane moves at once, on average over the accesses; 0: none.
double width(const std::map<uint32_t, uint32_t>& counts) {
  double bytes = 0, n = 0;
  for (const auto& [width, count] : counts) bytes += double(width) * count, n += count;
  return n == 0 ? 0 : bytes / n;
}

std::string lost(const std::map<std::string, uint32_t>& a,
                 const std::map<std::string, uint32_t>& b) {
  std::string out;
  for (const auto& [key, n] : a) {
    if (b.count(key) == 0) out += (out.empty() ? "lost " : ", ") + key;
  }
  return out;
}

void add(std::vector<Change>* out, Change c) {
  if (c.before != c.after || !c.words.empty()) out->push_back(std::move(c));
}

void compare_widths(const char* what, const std::map<uint32_t, uint32_t>& a,
                    const std::map<uint32_t, uint32_t>& b, std::vector<Change>* out) {
  const double before = width(a), after = width(b);
  // Accesses that came or went altogether are no change of width.
  if (before == 0 || after == 0) return;
  add(out, {fmt::format("{} width", what), "B", before, after, after < before, ""});
}

std::vector<Change> compare_evidence(const Evidence& a, const Evidence& b) {
  std::vector<Change> out;
  for (size_t k = 0; k < region::kClasses; ++k) {
    const auto c = static_cast<Class>(k);
    const bool spill = c == Class::LocalLoad || c == Class::LocalStore;
    const bool engine = c == Class::Tensor || c == Class::Tma || c == Class::AsyncCopy;
    Change change{region::class_name(c), "instructions", double(a.of(c)),
                  double(b.of(c)),       false,          ""};
    // Fewer tensor operations may be larger ones; none at all, or another kind, is a loss.
    if (spill) change.worse = change.after > change.before;
    if (engine) change.worse = change.before > 0 && change.after == 0;
    if (c == Class::Tensor) change.words = lost(a.tensor, b.tensor);
    if (c == Class::Tma) change.words = lost(a.tma, b.tma);
    add(&out, std::move(change));
  }
  compare_widths("global load", a.global_load, b.global_load, &out);
  compare_widths("global store", a.global_store, b.global_store, &out);
  compare_widths("shared load", a.shared_load, b.shared_load, &out);
  compare_widths("shared store", a.shared_store, b.shared_store, &out);
  compare_widths("cp.async", a.async_copy, b.async_copy, &out);
  // What costs comes first, then the largest.
  std::stable_sort(out.begin(), out.end(), [](const Change& x, const Change& y) {
    return std::pair(!x.worse, -std::abs(x.after - x.before)) <
           std::pair(!y.worse, -std::abs(y.after - y.before));
  });
  return out;
}

uint32_t depth_of(const KernelMap& k, int32_t region) {
  uint32_t depth = 0;
  for (; region != region::kNone; region = k.regions[static_cast<size_t>(region)].parent) ++depth;
  return depth - 1;
}

void in_order(const KernelMap& k, int32_t region, std::vector<int32_t>* out) {
  out->push_back(region);
  for (int32_t child : k.regions[static_cast<size_t>(region)].children) in_order(k, child, out);
}

RegionDiff describe(const KernelMap& k, int32_t region) {
  const Region& r = k.regions[static_cast<size_t>(region)];
  RegionDiff d;
  d.kind = r.kind;
  d.id = r.id;
  d.label = r.label;
  d.text = r.text.empty() ? r.name : r.text;
  d.file = r.at.file;
  d.depth = depth_of(k, region);
  return d;
}

// Walks both trees together: children are matched by key; loops and roles left over on both sides,
// as many here as there, by their order, since what they hold is more than their first line.
class RegionMatcher {
 public:
  RegionMatcher(const KernelMap& a, const KernelMap& b, std::vector<RegionDiff>* out)
      : a_(a), b_(b), out_(*out) {}

  void both(int32_t a, int32_t b) {
    const Region& before = a_.regions[static_cast<size_t>(a)];
    const Region& now = b_.regions[static_cast<size_t>(b)];
    RegionDiff d = describe(b_, b);
    d.line_a = before.at.line;
    d.line_b = now.at.line;
    d.instructions_a = before.own.instructions;
    d.instructions_b = now.own.instructions;
    d.changes = compare_evidence(before.own, now.own);
    if (before.copies != now.copies)
      d.changes.push_back(
          {"unrolled copies", "", double(before.copies), double(now.copies), false, ""});
    d.match = d.changes.empty() && before.key == now.key ? Match::Same : Match::Changed;
    out_.push_back(std::move(d));
    children(before, now);
  }

 private:
  void children(const Region& before, const Region& now) {
    std::map<std::string, int32_t> of_a;
    for (int32_t c : before.children) of_a[a_.regions[static_cast<size_t>(c)].key] = c;
    std::map<int32_t, int32_t> partner;  // of B's children
    std::set<int32_t> taken;
    for (int32_t c : now.children) {
      auto found = of_a.find(b_.regions[static_cast<size_t>(c)].key);
      if (found == of_a.end()) continue;
      partner[c] = found->second;
      taken.insert(found->second);
    }
    for (const Kind kind : {Kind::Role, Kind::Loop}) {
      std::vector<int32_t> here, there;
      for (int32_t c : before.children) {
        if (a_.regions[static_cast<size_t>(c)].kind == kind && taken.count(c) == 0)
          here.push_back(c);
      }
      for (int32_t c : now.children) {
        if (b_.regions[static_cast<size_t>(c)].kind == kind && partner.count(c) == 0)
          there.push_back(c);
      }
      for (size_t k = 0; here.size() == there.size() && k < here.size(); ++k) {
        partner[there[k]] = here[k];
        taken.insert(here[k]);
      }
    }
    for (int32_t c : now.children) {
      if (auto at = partner.find(c); at != partner.end())
        both(at->second, c);
      else
        alone(b_, c, Match::Added);
    }
    for (int32_t c : before.children) {
      if (taken.count(c) == 0) alone(a_, c, Match::Removed);
    }
  }

  void alone(const KernelMap& k, int32_t region, Match match) {
    std::vector<int32_t> order;
    in_order(k, region, &order);
    for (int32_t r : order) {
      const Region& only = k.regions[static_cast<size_t>(r)];
      RegionDiff d = describe(k, r);
      d.match = match;
      (match == Match::Added ? d.line_b : d.line_a) = only.at.line;
      (match == Match::Added ? d.instructions_b : d.instructions_a) = only.own.instructions;
      out_.push_back(std::move(d));
    }
  }

  const KernelMap& a_;
  const KernelMap& b_;
  std::vector<RegionDiff>& out_;
};

double best_share(const KernelMap& k) {
  double best = 0;
  for (const region::Occupancy& o : k.occupancy) best = std::max(best, o.share);
  return best;
}

KernelDiff compare_kernels(const KernelMap& a, const KernelMap& b) {
  KernelDiff out;
  out.name = b.name;
  out.symbol = b.resources.name;
  out.instructions_a = a.total().instructions;
  out.instructions_b = b.total().instructions;
  const auto& x = a.resources;
  const auto& y = b.resources;
  auto number = [&](const char* what, const char* unit, double before, double after, bool worse) {
    add(&out.changes, {what, unit, before, after, worse && after > before, ""});
  };
  if (a.spills_known && b.spills_known) {
    number("spill stores", "B", a.spill_store_bytes, b.spill_store_bytes, true);
    number("spill loads", "B", a.spill_load_bytes, b.spill_load_bytes, true);
  }
  number("local memory of a thread", "B", x.frame_bytes, y.frame_bytes, true);
  number("registers", "", x.registers, y.registers, false);
  number("shared memory", "B", double(x.shared_bytes), double(y.shared_bytes), false);
  number("barriers", "", x.barriers, y.barriers, false);
  if (!a.occupancy.empty() && !b.occupancy.empty()) {
    const double before = 100 * best_share(a), after = 100 * best_share(b);
    add(&out.changes, {"occupancy", "%", before, after, after < before, ""});
  }
  const auto evidence = compare_evidence(a.total(), b.total());
  out.changes.insert(out.changes.end(), evidence.begin(), evidence.end());
  RegionMatcher(a, b, &out.regions).both(0, 0);
  const bool same = out.changes.empty() &&
                    std::all_of(out.regions.begin(), out.regions.end(),
                                [](const RegionDiff& r) { return r.match == Match::Same; });
  out.match = same ? Match::Same : Match::Changed;
  return out;
}

KernelDiff alone(const KernelMap& k, Match match) {
  KernelDiff out;
  out.match = match;
  out.name = k.name;
  out.symbol = k.resources.name;
  (match == Match::Added ? out.instructions_b : out.instructions_a) = k.total().instructions;
  return out;
}

// The kernel of that symbol; else, where a signature changed, the only one of that name without
// parameters that the other side lacks.
const KernelMap* find(const region::RegionMap& map, const KernelMap& like,
                      const region::RegionMap& others) {
  const auto by_symbol = [](const region::RegionMap& m, const std::string& symbol) {
    auto at = std::find_if(m.kernels.begin(), m.kernels.end(),
                           [&](const KernelMap& k) { return k.resources.name == symbol; });
    return at == m.kernels.end() ? nullptr : &*at;
  };
  if (const KernelMap* k = by_symbol(map, like.resources.name)) return k;
  const auto candidates = [&](const region::RegionMap& m, const region::RegionMap& lacks) {
    std::vector<const KernelMap*> out;
    for (const KernelMap& k : m.kernels) {
      if (region::base_name(k.name) == region::base_name(like.name) &&
          by_symbol(lacks, k.resources.name) == nullptr)
        out.push_back(&k);
    }
    return out;
  };
  const auto here = candidates(map, others), there = candidates(others, map);
  return here.size() == 1 && there.size() == 1 ? here[0] : nullptr;
}

}  // namespace

const char* match_name(Match m) {
  switch (m) {
    case Match::Same:
      return "same";
    case Match::Changed:
      return "changed";
    case Match::Added:
      return "added";
    case Match::Removed:
      return "removed";
  }
  return "";
}

Diff compare(const region::RegionMap& a, const region::RegionMap& b) {
  Diff out;
  out.input_a = a.input;
  out.input_b = b.input;
  out.comparable = a.disassembler.empty() == b.disassembler.empty();
  if (a.arch != b.arch) out.missing.push_back(fmt::format("built for {} and {}", a.arch, b.arch));
  if (a.assembler != b.assembler && !a.assembler.empty() && !b.assembler.empty())
    out.missing.push_back("assemblers differ: " + a.assembler + " | " + b.assembler);
  for (const std::string& m : a.missing) out.missing.push_back("A: " + m);
  for (const std::string& m : b.missing) out.missing.push_back("B: " + m);
  for (const KernelMap& k : b.kernels) {
    const KernelMap* before = find(a, k, b);
    out.kernels.push_back(before == nullptr ? alone(k, Match::Added) : compare_kernels(*before, k));
  }
  for (const KernelMap& k : a.kernels) {
    if (find(b, k, a) == nullptr) out.kernels.push_back(alone(k, Match::Removed));
  }
  return out;
}

std::vector<Breach> guard(const Diff& diff, const GuardLimits& limits) {
  std::vector<Breach> out;
  for (const KernelDiff& k : diff.kernels) {
    if (k.match == Match::Removed) out.push_back({k.name, "the kernel is gone"});
    if (k.match != Match::Changed) continue;
    for (const Change& c : k.changes) {
      const bool registers =
          c.what == "registers" && limits.registers && c.after > c.before + *limits.registers;
      // Occupancy is a consequence, judged by what causes it.
      if ((!c.worse || c.what == "occupancy") && !registers) continue;
      const std::string unit = c.unit.empty() ? "" : " " + c.unit;
      out.push_back(
          {k.name, fmt::format("{}: {:.4g}{} before, {:.4g}{} now{}{}", c.what, c.before, unit,
                               c.after, unit, c.words.empty() ? "" : "; ", c.words)});
    }
    const auto growth = static_cast<double>(k.instructions_b - k.instructions_a);
    if (growth > limits.code_slack && growth > limits.code_growth * double(k.instructions_a))
      out.push_back({k.name, fmt::format("code: {} instructions before, {} now (+{:.0f} %)",
                                         k.instructions_a, k.instructions_b,
                                         100 * growth / std::max(1.0, double(k.instructions_a)))});
  }
  return out;
}

}  // namespace assay::measure
