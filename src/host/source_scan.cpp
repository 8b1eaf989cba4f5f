// Most of a compile is the parsing of standard headers, so the stand-in headers include few; what a
// source uses beyond them, as PyTorch's headers would have provided, is added by its names.
#include <cctype>

#include "host/compile.h"

namespace assay::host {

namespace {

struct Row {
  const char* name;  // an identifier of the source
  const char* header;
};

// clang-format off
constexpr Row kRows[] = {
    {"cout", "iostream"}, {"cerr", "iostream"}, {"endl", "iostream"}, {"clog", "iostream"},
    {"stringstream", "sstream"}, {"ostringstream", "sstream"}, {"istringstream", "sstream"},
    {"ofstream", "fstream"}, {"ifstream", "fstream"}, {"setprecision", "iomanip"}, {"setw", "iomanip"},
    {"map", "map"}, {"unordered_map", "unordered_map"}, {"set", "set"},
    {"unordered_set", "unordered_set"}, {"function", "functional"}, {"bind", "functional"},
    {"plus", "functional"}, {"multiplies", "functional"}, {"less", "functional"},
    {"greater", "functional"}, {"hash", "functional"}, {"deque", "deque"}, {"list", "list"},
    {"queue", "queue"}, {"priority_queue", "queue"}, {"stack", "stack"},
    {"mutex", "mutex"}, {"lock_guard", "mutex"}, {"unique_lock", "mutex"}, {"call_once", "mutex"},
    {"once_flag", "mutex"}, {"thread", "thread"}, {"atomic", "atomic"}, {"chrono", "chrono"},
    {"accumulate", "numeric"}, {"iota", "numeric"}, {"partial_sum", "numeric"},
    {"sort", "algorithm"}, {"transform", "algorithm"}, {"fill", "algorithm"}, {"copy", "algorithm"},
    {"reverse", "algorithm"}, {"find", "algorithm"}, {"max_element", "algorithm"},
    {"min_element", "algorithm"}, {"clamp", "algorithm"}, {"all_of", "algorithm"},
    {"any_of", "algorithm"}, {"lower_bound", "algorithm"}, {"upper_bound", "algorithm"},
    {"swap", "algorithm"}, {"max", "algorithm"}, {"min", "algorithm"}, {"generate", "algorithm"},
    {"shared_ptr", "memory"}, {"unique_ptr", "memory"}, {"make_shared", "memory"},
    {"make_unique", "memory"}, {"complex", "complex"}, {"bitset", "bitset"}, {"regex", "regex"},
    {"variant", "variant"}, {"any", "any"}, {"string_view", "string_view"}, {"random_device", "random"},
    {"mt19937", "random"}, {"memcpy", "cstring"}, {"memset", "cstring"}, {"printf", "cstdio"},
    {"fprintf", "cstdio"}, {"snprintf", "cstdio"}, {"assert", "cassert"}, {"FLT_MAX", "cfloat"},
    {"FLT_MIN", "cfloat"}, {"FLT_EPSILON", "cfloat"}, {"DBL_MAX", "cfloat"}, {"DBL_EPSILON", "cfloat"},
    {"INT_MAX", "climits"}, {"INT_MIN", "climits"}, {"LLONG_MAX", "climits"}, {"LONG_MAX", "climits"},
    {"UINT_MAX", "climits"},
    {"half", "cuda_fp16.h"}, {"__half", "cuda_fp16.h"}, {"half2", "cuda_fp16.h"},
    {"__half2", "cuda_fp16.h"}, {"__half2float", "cuda_fp16.h"}, {"__float2half", "cuda_fp16.h"},
    {"__float2half_rn", "cuda_fp16.h"}, {"__nv_bfloat16", "cuda_bf16.h"},
    {"__nv_bfloat162", "cuda_bf16.h"}, {"nv_bfloat16", "cuda_bf16.h"},
    {"__bfloat162float", "cuda_bf16.h"}, {"__float2bfloat16", "cuda_bf16.h"},
    {"cublasSgemm", "cublas_v2.h"}, {"cublasHandle_t", "cublas_v2.h"},
    {"getCurrentCUDABlasHandle", "cublas_v2.h"}, {"functional", "assay/nn.h"},
};
// clang-format on

}  // namespace

std::vector<std::string> needed_headers(const std::string& text) {
  std::vector<std::string> headers;
  auto add = [&](const char* header) {
    for (const std::string& h : headers) {
      if (h == header) return;
    }
    headers.push_back(header);
  };
  bool all_of_std = text.find("using namespace std") != std::string::npos;
  auto is_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  for (size_t k = 0; k < text.size();) {
    if (!is_word(text[k])) {
      ++k;
      continue;
    }
    size_t end = k;
    while (end < text.size() && is_word(text[end])) ++end;
    std::string word = text.substr(k, end - k);
    // Names that are everyday words count only after "std::".
    bool qualified = all_of_std || (k >= 5 && text.compare(k - 5, 5, "std::") == 0);
    bool common = std::islower(static_cast<unsigned char>(word[0])) != 0 && word != "half" &&
                  word != "half2" && word != "nv_bfloat16" && word.compare(0, 6, "cublas") != 0 &&
                  word != "getCurrentCUDABlasHandle";
    if (qualified || !common || word == "printf" || word == "fprintf" || word == "snprintf" ||
        word == "assert" || word == "functional" || word == "memcpy" || word == "memset") {
      for (const Row& row : kRows) {
        if (word == row.name) add(row.header);
      }
    }
    k = end;
  }
  return headers;
}

}  // namespace assay::host
