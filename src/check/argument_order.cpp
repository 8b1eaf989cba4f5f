#include "check/argument_order.h"

#include <algorithm>
#include <cctype>
#include <optional>

namespace assay::check {

using program::Argument;
using program::Program;

namespace {

bool is_parameter(const Argument& a) { return a.source.rfind("parameter:", 0) == 0; }
bool is_input(const Argument& a) { return a.source.rfind("input:", 0) == 0; }

// "conv.weight" and "ConvWeight" are both "convweight".
std::string plain(const std::string& name) {
  std::string out;
  for (char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::string path_of(const Argument& a) { return a.source.substr(a.source.find(':') + 1); }

std::string last_part(const Argument& a) {
  const std::string path = path_of(a);
  const size_t dot = path.rfind('.');
  return dot == std::string::npos ? path : path.substr(dot + 1);
}

// PyTorch lists a module's own parameters before those of its parts; the parts may stand first in
// the source, and a host function often takes them so.
std::vector<Argument> parts_first(std::vector<Argument> arguments) {
  std::stable_partition(arguments.begin(), arguments.end(), [](const Argument& a) {
    return !is_parameter(a) || a.source.find('.') != std::string::npos;
  });
  return arguments;
}

bool same_order(const std::vector<Argument>& a, const std::vector<Argument>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Argument& x, const Argument& y) { return x.source == y.source; });
}

// Each name goes to the parameter that it names whole; then, of those left, to the only one whose
// last part it is; then the last one left to the last name. Nothing if a name stays open.
std::optional<ArgumentList> by_name(const std::vector<Argument>& arguments,
                                    const std::vector<std::string>& names) {
  if (names.size() != arguments.size()) return std::nullopt;
  std::vector<size_t> places, open;
  for (size_t k = 0; k < arguments.size(); ++k)
    if (is_parameter(arguments[k])) places.push_back(k);
  open = places;
  std::vector<std::optional<size_t>> chosen(arguments.size());  // place -> argument
  const auto give = [&](auto matches) {
    for (size_t place : places) {
      if (chosen[place]) continue;
      const std::string name = plain(names[place]);
      std::vector<size_t> fit;
      for (size_t a : open)
        if (matches(name, arguments[a])) fit.push_back(a);
      if (fit.size() != 1) continue;
      chosen[place] = fit[0];
      open.erase(std::find(open.begin(), open.end(), fit[0]));
    }
  };
  give([](const std::string& name, const Argument& a) { return name == plain(path_of(a)); });
  const bool in_full = open.empty();
  give([](const std::string& name, const Argument& a) { return name == plain(last_part(a)); });
  if (open.size() == 1) give([](const std::string&, const Argument&) { return true; });
  if (!open.empty()) return std::nullopt;
  ArgumentList out{arguments, false, in_full && !places.empty()};
  for (size_t place : places) out.arguments[place] = arguments[*chosen[place]];
  out.reordered = !same_order(out.arguments, arguments);
  return out;
}

}  // namespace

std::vector<ArgumentList> argument_lists(const Program& reference,
                                         const std::vector<std::string>& names) {
  const std::vector<Argument>& all = reference.arguments;
  if (reference.form != "module") return {{all}};
  const auto with_scalars = [&](std::vector<Argument> list) {
    list.insert(list.end(), reference.init_args.begin(), reference.init_args.end());
    return list;
  };
  std::vector<std::vector<Argument>> lists = {all};
  std::vector<Argument> inputs;
  for (const Argument& a : all)
    if (is_input(a) || a.source == "scalar") inputs.push_back(a);
  const bool scalars = !reference.init_args.empty();
  if (scalars) lists.push_back(with_scalars(all));
  if (inputs.size() != all.size()) {
    lists.push_back(inputs);
    if (scalars) lists.push_back(with_scalars(inputs));
  }
  std::vector<ArgumentList> out;
  for (std::vector<Argument>& list : lists) {
    auto named = by_name(list, names);
    const bool also = !named || named->reordered;
    if (named) out.push_back(std::move(*named));
    if (also) out.push_back({list});
  }
  for (const std::vector<Argument>& list : lists)
    if (auto other = parts_first(list); !same_order(other, list))
      out.push_back({std::move(other), true});
  return out;
}

bool permuted(const std::vector<Argument>& a, const std::vector<Argument>& b) {
  if (a.size() != b.size() || same_order(a, b)) return false;
  return std::is_permutation(a.begin(), a.end(), b.begin(), b.end(),
                             [](const Argument& x, const Argument& y) {
                               return x.source == y.source && x.name == y.name;
                             });
}

}  // namespace assay::check
