#pragma once
// Lines of source files, read once.
#include <map>
#include <string>
#include <vector>

namespace assay::region {

class Sources {
 public:
  // Without leading and trailing blanks and a comment at its end; "": no such line, or no readable
  // source file. Only files that are named like sources are opened: the names come from the binary.
  std::string line(const std::string& file, uint32_t line);
  // All lines of a file as they are; empty: as above.
  const std::vector<std::string>& lines(const std::string& file);

 private:
  std::map<std::string, std::vector<std::string>> files_;
};

// C++ names as people write them; others as they are.
std::string demangle(const std::string& name);
// A demangled function without its parameters.
std::string base_name(const std::string& name);

}  // namespace assay::region
