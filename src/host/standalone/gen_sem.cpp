// Writes sem.ll, the library that replaces libdevice in the semantic build, from libdevice.def.
// Typed pointers and plain attributes only: the compute_90 back end reads LLVM 7 bitcode. The
// assembler gives intrinsics that it knows newer attributes, so they are spelled llxm.* until the
// bitcode is written; names stand in its string table as plain bytes, and --restore renames them.
#include <cstdio>
#include <fstream>
#include <iostream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

enum class Kind { Call, Split, SqrtF, Intrinsic, IntrinsicFtz, Body };

struct Row {
  std::string name, signature;
  Kind kind;
  std::string text;
};

const Row kRows[] = {
#define LIBDEVICE(name, signature, kind, text) {#name, signature, Kind::kind, text},
#include "host/libdevice.def"
#undef LIBDEVICE
};

std::string type_of(char letter) {
  switch (letter) {
    case 'f':
      return "float";
    case 'd':
      return "double";
    case 'h':
      return "i16";
    case 'i':
      return "i32";
    case 'l':
      return "i64";
    case 'F':
      return "float*";
    case 'D':
      return "double*";
    case 'I':
      return "i32*";
    case 'C':
      return "i8*";
    default:
      return "void";
  }
}

bool is_pointer(char letter) { return letter >= 'A' && letter <= 'Z'; }

class Writer {
 public:
  void add(const Row& row);
  std::string finish() const;

 private:
  // Declares `name` once, with the types of `letters`, pointers left out unless `pointers`.
  void declare(const std::string& name, const std::string& result, const std::string& letters,
               const char* attributes);
  std::string call(const std::string& name, const std::string& result, const std::string& letters);
  void by_ftz(const std::string& flushing, const std::string& plain, const std::string& result);
  void split(const Row& row, const std::string& args, const std::string& result);

  std::ostringstream out_;
  std::set<std::string> declarations_;
};

void Writer::declare(const std::string& name, const std::string& result, const std::string& letters,
                     const char* attributes) {
  std::string types;
  for (char c : letters) types += (types.empty() ? "" : ", ") + type_of(c);
  declarations_.insert("declare " + result + " @" + name + "(" + types + ") " + attributes);
}

std::string Writer::call(const std::string& name, const std::string& result,
                         const std::string& letters) {
  std::string args;
  for (size_t k = 0; k < letters.size(); ++k) {
    if (is_pointer(letters[k])) continue;
    args += (args.empty() ? "" : ", ") + type_of(letters[k]) + " %" + char('a' + k);
  }
  return "call " + result + " " + name + "(" + args + ")";
}

void Writer::by_ftz(const std::string& flushing, const std::string& plain,
                    const std::string& result) {
  out_ << "  %ftz = call i32 @__nvvm_reflect(i8* getelementptr inbounds ([11 x i8], [11 x i8]* "
          "@ftz, "
          "i32 0, i32 0))\n  %on = icmp ne i32 %ftz, 0\n  br i1 %on, label %yes, label %no\nyes:\n"
       << "  %y = " << flushing << "\n  ret " << result << " %y\nno:\n  %n = " << plain
       << "\n  ret " << result << " %n\n";
}

// Each result by a readnone function of its own: a readnone function cannot store through pointers.
void Writer::split(const Row& row, const std::string& args, const std::string& result) {
  std::istringstream parts(row.text);
  std::string part, values;
  for (char c : args) {
    if (!is_pointer(c)) values += c;
  }
  int n = 0;
  std::string returned;
  while (parts >> part) {
    size_t colon = part.find(':');
    std::string name = "assay_" + row.name + part.substr(0, colon);
    int position = part[colon + 1] - '0';
    std::string var = "%v" + std::to_string(n++);
    std::string pointer = position == 0 ? "" : type_of(args[position - 1]);
    std::string type = position == 0 ? result : pointer.substr(0, pointer.size() - 1);
    declare(name, type, values, "readnone nounwind");
    out_ << "  " << var << " = " << call("@" + name, type, args) << "\n";
    if (position == 0) {
      returned = var;
    } else {
      out_ << "  store " << type << " " << var << ", " << pointer << " %"
           << char('a' + position - 1) << "\n";
    }
  }
  out_ << "  ret " << result << (returned.empty() ? "" : " " + returned) << "\n";
}

std::string replaced(std::string text, const std::string& with) {
  size_t at = text.find('@');
  if (at != std::string::npos) text.replace(at, 1, with);
  return text;
}

void Writer::add(const Row& row) {
  std::string result = type_of(row.signature[0]);
  std::string args = row.signature.substr(2, row.signature.size() - 3);
  out_ << "define " << (row.signature[0] == 'h' ? "zeroext " : "") << result << " @__nv_"
       << row.name << "(";
  for (size_t k = 0; k < args.size(); ++k) {
    out_ << (k != 0 ? ", " : "") << type_of(args[k]) << (args[k] == 'h' ? " zeroext" : "") << " %"
         << char('a' + k);
  }
  // Bodies that number their values leave the first block unnamed (it is %0).
  bool named = row.text.find("%entry") != std::string::npos;
  out_ << ") alwaysinline nounwind {\n" << (named ? "entry:\n" : "");
  switch (row.kind) {
    case Kind::Call:
      declare("assay_" + row.name, result, args, "readnone nounwind");
      out_ << "  %v = " << call("@assay_" + row.name, result, args) << "\n  ret " << result
           << " %v\n";
      break;
    case Kind::Split:
      split(row, args, result);
      break;
    case Kind::SqrtF:
      for (const char* name : {"rn", "rn.ftz", "approx", "approx.ftz"}) {
        declare(std::string("llvm.nvvm.sqrt.") + name + ".f", result, args, "readnone nounwind");
      }
      out_ << "  %p = call i32 @__nvvm_reflect(i8* getelementptr inbounds ([17 x i8], [17 x i8]* "
              "@prec_sqrt, i32 0, i32 0))\n  %q = icmp ne i32 %p, 0\n"
              "  %f = call i32 @__nvvm_reflect(i8* getelementptr inbounds ([11 x i8], [11 x i8]* "
              "@ftz, "
              "i32 0, i32 0))\n  %g = icmp ne i32 %f, 0\n"
              "  br i1 %q, label %rn, label %approx\nrn:\n  br i1 %g, label %rnf, label %rnn\n"
              "approx:\n  br i1 %g, label %apf, label %apn\n"
              "rnf:\n  %w = call float @llvm.nvvm.sqrt.rn.ftz.f(float %a)\n  ret float %w\n"
              "rnn:\n  %x = call float @llvm.nvvm.sqrt.rn.f(float %a)\n  ret float %x\n"
              "apf:\n  %y = call float @llvm.nvvm.sqrt.approx.ftz.f(float %a)\n  ret float %y\n"
              "apn:\n  %z = call float @llvm.nvvm.sqrt.approx.f(float %a)\n  ret float %z\n";
      break;
    case Kind::Intrinsic:
      declare(row.text, result, args, "readnone nounwind");
      out_ << "  %v = " << call("@" + row.text, result, args) << "\n  ret " << result << " %v\n";
      break;
    case Kind::IntrinsicFtz:
      for (const char* ftz : {".ftz", ""}) {
        declare(replaced(row.text, ftz), result, args, "readnone nounwind");
      }
      by_ftz(call("@" + replaced(row.text, ".ftz"), result, args),
             call("@" + replaced(row.text, ""), result, args), result);
      break;
    case Kind::Body:
      out_ << "  " << row.text << "\n";
      break;
  }
  out_ << "}\n";
}

std::string Writer::finish() const {
  std::string body = out_.str();
  std::set<std::string> declarations = declarations_;
  // Intrinsics that only bodies name: declared from their first call.
  for (size_t at = body.find("call "); at != std::string::npos; at = body.find("call ", at + 5)) {
    size_t line_end = body.find('\n', at);
    size_t symbol = body.find('@', at);
    if (symbol == std::string::npos || symbol > line_end) continue;
    size_t open = body.find('(', symbol), close = body.find(')', open);
    if (open == std::string::npos || close > line_end) continue;
    std::string callee = body.substr(symbol, open - symbol);
    if (callee == "@__nvvm_reflect" || callee.compare(0, 6, "@__nv_") == 0) continue;
    std::istringstream args(body.substr(open + 1, close - open - 1));
    std::string types, arg;
    while (std::getline(args, arg, ',')) {
      std::istringstream words(arg);
      std::string type;
      words >> type;
      types += (types.empty() ? "" : ", ") + type;
    }
    std::istringstream head(body.substr(at + 5, symbol - at - 5));
    std::string result;
    head >> result;
    declarations.insert("declare " + result + " " + callee + "(" + types + ") readnone nounwind");
  }
  std::string text =
      "target datalayout = \"e-i64:64-v16:16-v32:32-n16:32:64\"\n"
      "target triple = \"nvptx64-nvidia-gpulibs\"\n"
      "@ftz = private unnamed_addr constant [11 x i8] c\"__CUDA_FTZ\\00\", align 1\n"
      "@prec_sqrt = private unnamed_addr constant [17 x i8] c\"__CUDA_PREC_SQRT\\00\", align 1\n"
      "declare i32 @__nvvm_reflect(i8*) nounwind readnone\n";
  for (const std::string& line : declarations) text += line + "\n";
  return text + body;
}

std::string replaced_all(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

bool write_file(const char* path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  return static_cast<bool>(file);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "--ll") {
    Writer writer;
    for (const Row& row : kRows) writer.add(row);
    return write_file(argv[2], replaced_all(writer.finish(), "@llvm.", "@llxm.")) ? 0 : 1;
  }
  if (argc == 4 && std::string(argv[1]) == "--restore") {
    std::ifstream in(argv[2], std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(in), {}};
    if (text.find("llxm.") == std::string::npos) return 1;
    return write_file(argv[3], replaced_all(text, "llxm.", "llvm.")) ? 0 : 1;
  }
  std::cerr << "usage: gen_sem --ll OUT.ll | --restore IN.bc OUT.bc\n";
  return 2;
}
