#include "region/tree.h"

#include <fmt/format.h>

#include <algorithm>

namespace assay::region {

namespace {

// FNV-1a, 64 bits: identities, not secrets.
constexpr uint64_t kStart = 0xcbf29ce484222325;
uint64_t hash(uint64_t h, std::string_view text) {
  for (const char c : text) h = (h ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return (h ^ 0xff) * 0x100000001b3;
}

// Text without blanks: formatting does not change an identity.
std::string squeezed(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c != ' ' && c != '\t') out += c;
  }
  return out;
}

std::string file_name(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

}  // namespace

int32_t Tree::intern(Kind kind, int32_t parent, const Frame& at, const std::string& name) {
  auto [found, fresh] = regions_.try_emplace(Key{kind, parent, at.file, at.line, name},
                                             static_cast<int32_t>(map_.regions.size()));
  if (fresh) {
    Region r;
    r.kind = kind;
    r.parent = parent;
    r.at = at;
    r.name = name;
    map_.regions.push_back(std::move(r));
    if (parent != kNone)
      map_.regions[static_cast<size_t>(parent)].children.push_back(found->second);
  }
  return found->second;
}

int32_t Tree::instance(int32_t region, const Instance& like) {
  std::string chain;
  for (const Frame& f : like.called_at)
    chain += fmt::format("{}:{}:{};", f.file, f.line, f.function);
  auto& all = map_.regions[static_cast<size_t>(region)].instances;
  auto [found, fresh] = instances_.try_emplace(InstanceKey{region, chain, like.loop_ptx, like.copy},
                                               static_cast<int32_t>(all.size()));
  if (fresh) all.push_back(like);
  return found->second;
}

void Tree::identify(int32_t region) {
  // Children in the order of the source; those without a line last, as they came.
  Region& r = map_.regions[static_cast<size_t>(region)];
  std::stable_sort(r.children.begin(), r.children.end(), [&](int32_t a, int32_t b) {
    const Region& x = map_.regions[static_cast<size_t>(a)];
    const Region& y = map_.regions[static_cast<size_t>(b)];
    return std::tuple(x.at.line == 0, x.at.file, x.at.line) <
           std::tuple(y.at.line == 0, y.at.file, y.at.line);
  });
  std::map<std::string, uint32_t> before;
  for (int32_t child : r.children) {
    Region& c = map_.regions[static_cast<size_t>(child)];
    // The function's own file may have another name in another version.
    const bool own = c.at.file == map_.regions[0].at.file;
    std::string anchor =
        fmt::format("{}|{}|{}|", kind_name(c.kind), c.name, own ? "" : file_name(c.at.file));
    anchor += c.text.empty() ? std::to_string(c.at.line) : squeezed(c.text);
    const std::string ordinal = std::to_string(before[anchor]++);
    c.key = fmt::format("{:016x}", hash(hash(kStart, anchor), ordinal));
    c.id = fmt::format("{:016x}", hash(hash(hash(kStart, r.id), anchor), ordinal));
    identify(child);
  }
  r.total = r.own;
  for (int32_t child : r.children) r.total.add(map_.regions[static_cast<size_t>(child)].total);
}

void Tree::finish(Sources* sources) {
  for (const Instr& i : map_.code) {
    Region& r = map_.regions[static_cast<size_t>(i.region)];
    r.own.add(i);
    if ((i.flags & kPadding) == 0) ++r.instances[static_cast<size_t>(i.instance)].instructions;
  }
  for (Region& r : map_.regions) {
    r.text = sources->line(r.at.file, r.at.line);
    // Instances that no instruction is of were folded away by the assembler.
    uint32_t copies = 1;
    for (const Instance& i : r.instances) copies = std::max(copies, i.copy + 1);
    r.copies = copies;
  }
  map_.regions[0].key = map_.regions[0].id =
      fmt::format("{:016x}", hash(kStart, base_name(map_.name)));
  identify(0);
}

}  // namespace assay::region
