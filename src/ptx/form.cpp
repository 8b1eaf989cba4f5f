#include "ptx/form.h"

#include <algorithm>
#include <unordered_map>

namespace assay::ptx {
namespace {

constexpr OpRow kRows[] = {
#define OP(id, section, spelling, syntax, operands, ptx, sm, family, status) \
  {Op::id, #id, section, spelling, syntax, operands, ptx, sm, Family::family, OpStatus::status},
#include "ptx/ops.def"
};
static_assert(std::size(kRows) == static_cast<size_t>(Op::Count));

constexpr SpecialInfo kSpecials[] = {
#define SREG(id, spelling, type, shape, count) {spelling, Ty::type, #shape[0], count},
#include "ptx/specials.def"
};

struct ModWord {
  Slot slot;
  uint8_t value;
  std::string_view text;
};
// clang-format off
constexpr ModWord kModWords[] = {
#define SLOT(Enum, accessor)
#define MOD(Enum, id, spelling) {Slot::Enum, static_cast<uint8_t>(Enum::id), spelling},
#define FLAG(accessor, spelling) {Slot::flag_##accessor, 1, spelling},
#include "ptx/mods.def"
};
constexpr std::string_view kSlotNames[] = {
#define SLOT(Enum, accessor) #accessor,
#define MOD(Enum, id, spelling)
#define FLAG(accessor, spelling) #accessor,
#include "ptx/mods.def"
};
// clang-format on
static_assert(std::size(kSlotNames) == kSlots);
static_assert(std::size(kTyInfo) <= 64, "Word::allowed has one bit a type");

std::vector<std::string_view> split(std::string_view text, char by) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t at = std::min(text.find(by), text.size());
    std::string_view part = text.substr(0, at);
    while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
    while (!part.empty() && part.back() == ' ') part.remove_suffix(1);
    if (!part.empty()) parts.push_back(part);
    text.remove_prefix(std::min(at + 1, text.size()));
  }
  return parts;
}

int find_slot(std::string_view accessor) {
  const auto* it = std::find(std::begin(kSlotNames), std::end(kSlotNames), accessor);
  return it == std::end(kSlotNames) ? -1 : static_cast<int>(it - std::begin(kSlotNames));
}

struct Compiler {
  std::vector<std::string> errors;
  std::string_view where;

  void error(std::string_view what) {
    errors.push_back(std::string(where) + ": bad '" + std::string(what) + "'");
  }

  // `slot`, `slot=a|b`, `T=set`, `'word`, `*`
  Word word(std::string_view text) {
    Word w;
    if (text == "*") {
      w.kind = Word::Kind::Any;
      return w;
    }
    if (text.front() == '\'') {
      w.kind = Word::Kind::Fixed;
      w.fixed = text.substr(1);
      return w;
    }
    const std::string_view whole = text;
    if (text.back() == '?') {
      w.optional = true;
      text.remove_suffix(1);
    }
    const size_t eq = text.find('=');
    const std::string_view key = text.substr(0, eq);
    const auto values = eq == std::string_view::npos ? std::vector<std::string_view>{}
                                                     : split(text.substr(eq + 1), '|');
    if (key == "T" || key == "U" || key == "V") {
      w.kind = Word::Kind::Type;
      w.type_index = static_cast<uint8_t>(key[0] - 'T');
      for (std::string_view v : values) {
        const Ty t = type_by_text(v);
        if (t == Ty::None) error(whole);
        w.allowed |= uint64_t{1} << static_cast<int>(t);
      }
      if (values.empty()) error(whole);
      return w;
    }
    const int slot = find_slot(key);
    if (slot < 0) {
      error(whole);
      return w;
    }
    w.slot = static_cast<Slot>(slot);
    w.allowed = values.empty() ? ~uint64_t{0} : 0;
    for (std::string_view v : values) {
      bool found = false;
      for (const ModWord& m : kModWords) {
        if (m.slot != w.slot || m.text != v) continue;
        w.allowed |= uint64_t{1} << m.value;
        found = true;
      }
      if (!found) error(whole);
    }
    return w;
  }

  void shape_type(Shape* s, std::string_view type) {
    if (type == "any") {
      s->rule = Shape::Rule::Any;
    } else if (type == "W") {
      s->rule = Shape::Rule::Wide;
    } else if (type == "ge" || type == "Uge") {
      s->rule = Shape::Rule::AtLeast;
      s->type_index = type == "Uge" ? 1 : 0;
    } else if (type == "U" || type == "V") {
      s->type_index = static_cast<int8_t>(type[0] - 'T');
    } else {
      s->type_index = -1;
      s->type = type_by_text(type);
      if (s->type == Ty::None) error(type);
    }
  }

  Shape shape(std::string_view text) {
    Shape s;
    const std::string_view whole = text;
    if (const size_t at = text.find('@'); at != std::string_view::npos) {
      s.when_slot = static_cast<int8_t>(find_slot(text.substr(at + 1)));
      if (s.when_slot < 0) error(whole);
      text = text.substr(0, at);
    }
    if (const size_t bar = text.find('|'); bar != std::string_view::npos) {
      const std::string_view second = text.substr(bar + 1);
      if (second != "p" && second != "p?") error(whole);
      s.pair = second == "p" ? Shape::Second::Required : Shape::Second::Optional;
      text = text.substr(0, bar);
    }
    if (text.back() == '?') {
      s.optional = true;
      text.remove_suffix(1);
    }
    if (const size_t colon = text.find(':'); colon != std::string_view::npos) {
      shape_type(&s, text.substr(colon + 1));
      text = text.substr(0, colon);
    }
    if (!text.empty() && text.front() == '=') {
      s.def = true;
      text.remove_prefix(1);
    }
    if (text == "[m]") text = "m";
    if (text.size() != 1 || std::string_view("dapvVsimLCB*").find(text[0]) == text.npos) {
      error(whole);
      return s;
    }
    s.letter = text[0];
    return s;
  }

  Row row(const OpRow& op) {
    Row r;
    r.op = &op;
    where = op.name;
    r.name = split(op.spelling, '.');
    for (std::string_view w : split(op.syntax, ' ')) {
      r.words.push_back(word(w));
      if (r.words.back().kind == Word::Kind::Any) r.free_words = true;
    }
    for (std::string_view s : split(op.operands, ',')) {
      r.shapes.push_back(shape(s));
      if (r.shapes.back().letter == '*') r.free_operands = true;
    }
    return r;
  }
};

struct Table {
  std::vector<Row> rows;
  std::vector<std::string> errors;
  std::unordered_map<std::string_view, std::vector<const Row*>> by_name;
  std::unordered_map<std::string_view, std::vector<ModWord>> words;
  std::unordered_map<std::string_view, Ty> types;

  Table() {
    Compiler c;
    for (const OpRow& op : kRows) rows.push_back(c.row(op));
    errors = std::move(c.errors);
    for (const Row& r : rows) by_name[r.name.front()].push_back(&r);
    for (auto& [name, list] : by_name) {
      std::stable_sort(list.begin(), list.end(),
                       [](const Row* a, const Row* b) { return a->name.size() > b->name.size(); });
    }
    for (const ModWord& m : kModWords) words[m.text].push_back(m);
    for (size_t t = 1; t < std::size(kTyInfo); ++t) types[kTyInfo[t].text] = static_cast<Ty>(t);
  }
};

const Table& table() {
  static const Table t;
  return t;
}

bool place_type(const Row& row, std::string_view text, Form* form, uint64_t* used) {
  const Ty t = type_by_text(text);
  if (t == Ty::None) return false;
  for (size_t k = 0; k < row.words.size(); ++k) {
    const Word& w = row.words[k];
    if (w.kind != Word::Kind::Type || (*used >> k & 1) != 0) continue;
    if ((w.allowed >> static_cast<int>(t) & 1) == 0) return false;
    form->types[w.type_index] = t;
    *used |= uint64_t{1} << k;
    return true;
  }
  return false;
}

bool place_word(const Row& row, std::string_view text, Form* form, uint64_t* used) {
  const auto meanings = table().words.find(text);
  for (size_t k = 0; k < row.words.size(); ++k) {
    const Word& w = row.words[k];
    if ((*used >> k & 1) != 0) continue;
    if (w.kind == Word::Kind::Fixed && w.fixed == text) {
      *used |= uint64_t{1} << k;
      return true;
    }
    if (w.kind != Word::Kind::Slot || meanings == table().words.end()) continue;
    for (const ModWord& m : meanings->second) {
      if (m.slot != w.slot || (w.allowed >> m.value & 1) == 0) continue;
      form->mods.set(m.slot, m.value);
      *used |= uint64_t{1} << k;
      return true;
    }
  }
  return false;
}

bool match_row(const Row& row, const std::vector<std::string_view>& words, std::string_view text,
               Form* form) {
  if (words.size() < row.name.size()) return false;
  form->op = row.op->id;
  if (row.free_words) {
    form->suffix = text.substr(std::min(row.op->spelling.size(), text.size()));
    return std::equal(row.name.begin(), row.name.end(), words.begin());
  }
  // Like modifiers, further words of the name may stand anywhere ("vote.ballot.sync").
  uint64_t used = 0, named = 1;
  for (size_t k = 1; k < words.size(); ++k) {
    size_t n = 1;
    while (n < row.name.size() && ((named >> n & 1) != 0 || row.name[n] != words[k])) ++n;
    if (n < row.name.size()) {
      named |= uint64_t{1} << n;
      continue;
    }
    if (!place_type(row, words[k], form, &used) && !place_word(row, words[k], form, &used)) {
      return false;
    }
  }
  if (named != (uint64_t{1} << row.name.size()) - 1) return false;
  for (size_t k = 0; k < row.words.size(); ++k) {
    if ((used >> k & 1) == 0 && !row.words[k].optional) return false;
  }
  return true;
}

bool known_word(std::string_view word) {
  const Table& t = table();
  if (t.types.count(word) != 0 || t.words.count(word) != 0) return true;
  for (const Row& r : t.rows) {
    for (std::string_view n : r.name) {
      if (n == word) return true;
    }
    for (const Word& w : r.words) {
      if (w.kind == Word::Kind::Fixed && w.fixed == word) return true;
    }
  }
  return false;
}

}  // namespace

const OpRow& row(Op op) { return kRows[static_cast<int>(op)]; }
const SpecialInfo& info(Special s) { return kSpecials[static_cast<int>(s)]; }
const Row& compiled(Op op) { return table().rows[static_cast<int>(op)]; }
const std::vector<std::string>& table_errors() { return table().errors; }

std::string_view slot_word(Slot slot, uint8_t value) {
  for (const ModWord& m : kModWords) {
    if (m.slot == slot && m.value == value) return m.text;
  }
  return {};
}

Ty type_by_text(std::string_view text) {
  static const std::unordered_map<std::string_view, Ty> types = [] {
    std::unordered_map<std::string_view, Ty> map;
    for (size_t t = 1; t < std::size(kTyInfo); ++t) map[kTyInfo[t].text] = static_cast<Ty>(t);
    return map;
  }();
  const auto it = types.find(text);
  return it == types.end() ? Ty::None : it->second;
}

std::vector<Form> match_opcode(std::string_view text, std::string* why, bool* unknown_word) {
  const auto words = split(text, '.');
  std::vector<Form> forms;
  *unknown_word = false;
  if (words.empty()) {
    *why = "empty opcode";
    return forms;
  }
  const auto it = table().by_name.find(words.front());
  if (it == table().by_name.end()) {
    *why = "unknown opcode '" + std::string(text) + "'";
    *unknown_word = true;
    return forms;
  }
  size_t name_words = 0;
  std::string_view rule;
  for (const Row* row : it->second) {
    if (!forms.empty() && row->name.size() < name_words) break;
    Form form;
    if (!match_row(*row, words, text, &form)) continue;
    if (const std::string_view broken = broken_rule(form); !broken.empty()) {
      rule = broken;
      continue;
    }
    forms.push_back(form);
    name_words = row->name.size();
  }
  if (!forms.empty()) return forms;
  if (!rule.empty()) {
    *why = "'" + std::string(text) + "': " + std::string(rule);
    return forms;
  }
  *why = "no form of '" + std::string(words.front()) + "' reads '" + std::string(text) + "'";
  for (std::string_view w : words) {
    if (known_word(w)) continue;
    *unknown_word = true;
    *why += ": unknown word '." + std::string(w) + "'";
    break;
  }
  return forms;
}

Ty wanted_type(const Shape& shape, const std::array<Ty, 3>& types) {
  if (shape.rule == Shape::Rule::Any) return Ty::None;
  const Ty t = shape.type_index < 0 ? shape.type : types[shape.type_index];
  if (shape.rule != Shape::Rule::Wide) return t;
  switch (t) {
    case Ty::U16:
      return Ty::U32;
    case Ty::S16:
      return Ty::S32;
    case Ty::U32:
      return Ty::U64;
    case Ty::S32:
      return Ty::S64;
    default:
      return Ty::None;
  }
}

bool assign_positions(const Row& row, const Modifiers& mods, uint32_t n,
                      std::vector<const Shape*>* positions) {
  positions->clear();
  uint32_t optional = 0;
  for (const Shape& s : row.shapes) {
    if (s.when_slot >= 0 && mods.raw[s.when_slot] == 0) continue;
    positions->push_back(&s);
    if (s.optional) ++optional;
  }
  if (n > positions->size() || n + optional < positions->size()) return false;
  for (size_t k = positions->size(); positions->size() > n;) {
    --k;
    if ((*positions)[k]->optional) positions->erase(positions->begin() + static_cast<long>(k));
  }
  return true;
}

std::string opcode_text(const Module& m, const Instr& i) {
  const Row& r = compiled(i.op);
  std::string text(r.op->spelling);
  if (r.free_words) {
    if (i.suffix >= 0) text += m.strings[i.suffix];
    return text;
  }
  for (const Word& w : r.words) {
    std::string_view part;
    switch (w.kind) {
      case Word::Kind::Slot:
        if (i.mods.get(w.slot) != 0) part = slot_word(w.slot, i.mods.get(w.slot));
        break;
      case Word::Kind::Type:
        part = assay::info(i.types[w.type_index]).text;
        break;
      case Word::Kind::Fixed:
        part = w.fixed;
        break;
      case Word::Kind::Any:
        break;
    }
    if (part.empty()) continue;
    text += '.';
    text += part;
  }
  return text;
}

}  // namespace assay::ptx
