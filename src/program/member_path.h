#pragma once
// Names of arguments that lie in containers, as the exporter writes them:
// "group['key'][3]['inner']" (members of dicts and lists).
#include <string>
#include <vector>

namespace assay::program {

// One step of such a name: the container so far, and the key in it.
struct Member {
  std::string owner, key;
  bool index = false;  // the container is a list
};

// The steps of a name, outermost first; none of a plain name.
inline std::vector<Member> member_path(const std::string& name) {
  std::vector<Member> out;
  for (size_t at = name.find('['); at < name.size() && name[at] == '[';) {
    const bool quoted = name.compare(at, 2, "['") == 0;
    const size_t begin = at + (quoted ? 2 : 1), end = name.find(quoted ? "']" : "]", begin);
    if (end == std::string::npos) break;
    out.push_back({name.substr(0, at), name.substr(begin, end - begin), !quoted});
    at = end + (quoted ? 2 : 1);
  }
  return out;
}

}  // namespace assay::program
