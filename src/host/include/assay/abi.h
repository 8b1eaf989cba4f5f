#pragma once
// What the stand-in PyTorch headers call in Assay's recorder (libassay_record.so). Everything that
// can stand behind these functions does: the headers must compile in a fraction of a second.
// Functions may throw c10::Error. Tensors and Python objects are indices into the recorder's
// tables; -1 is the undefined tensor, object 0 is None.
#include <cstddef>
#include <cstdint>

#if defined(__CUDACC__)
#define C10_HOST_DEVICE __host__ __device__
#define C10_DEVICE __device__
#define C10_HOST __host__
#else
#define C10_HOST_DEVICE
#define C10_DEVICE
#define C10_HOST
#endif
#define ASSAY_API extern "C" __attribute__((visibility("default")))

namespace assay_abi {

// An operator's argument. Pointers are borrowed for the call.
struct Value {
  enum Tag : int32_t { None, Bool, Int, Double, Str, Tensor, Ints, Doubles, Tensors, Dtype };
  int32_t tag = None;
  int32_t tensor = -1;      // Tensor; Dtype: the code of the ScalarType
  int64_t i = 0;            // Bool, Int
  double d = 0;             // Double
  const void* p = nullptr;  // Str: char; Ints: int64_t; Doubles: double; Tensors: int32_t
  size_t n = 0;             // elements behind p
};

// Kinds of Python objects.
enum ObjectKind : int32_t {
  ONone,
  OBool,
  OInt,
  OFloat,
  OStr,
  OTensor,
  OList,
  OTuple,
  ODict,
  ODtype,
  OMethod  // of a list or a dict, bound
};

// A bound function: converts the objects and calls; the result object, or kMismatch if an argument
// does not convert.
using Invoke = int32_t (*)(void* closure, const int32_t* args);
constexpr int32_t kMismatch = -2;

}  // namespace assay_abi

// Calls operator `name` (C++ name, "_" at the end: in place); fills outs, returns their number (for
// list results it may be smaller than max_outs).
ASSAY_API size_t assay_op(const char* name, const assay_abi::Value* args, size_t n, int32_t* outs,
                          size_t max_outs);

ASSAY_API void assay_sizes(int32_t tensor, const int64_t** data, size_t* n);
ASSAY_API void assay_strides(int32_t tensor, const int64_t** data, size_t* n);
ASSAY_API int64_t assay_numel(int32_t tensor);
ASSAY_API int64_t assay_storage_offset(int32_t tensor);
ASSAY_API int32_t assay_dtype(int32_t tensor);
ASSAY_API bool assay_is_cuda(int32_t tensor);
ASSAY_API bool assay_is_contiguous(int32_t tensor, int32_t memory_format);
ASSAY_API bool assay_same_storage(int32_t a, int32_t b);
ASSAY_API bool assay_requires_grad(int32_t tensor);
// Address of the first element; dtype -1: not checked.
ASSAY_API void* assay_data_ptr(int32_t tensor, int32_t dtype);
// The value of a one-element tensor, in the slot that its dtype asks for.
ASSAY_API void assay_item(int32_t tensor, double* d, int64_t* i);
// A new tensor. data null: uninitialised; else row-major elements of `dtype` on the host.
ASSAY_API int32_t assay_new_tensor(int32_t dtype, bool cuda, const int64_t* sizes, size_t n,
                                   const void* data);
ASSAY_API int32_t assay_from_blob(void* data, int32_t dtype, bool cuda, const int64_t* sizes,
                                  const int64_t* strides, size_t n);
ASSAY_API const char* assay_tensor_text(int32_t tensor);

ASSAY_API int32_t assay_obj_kind(int32_t object);
ASSAY_API int64_t assay_obj_int(int32_t object);
ASSAY_API double assay_obj_float(int32_t object);
ASSAY_API const char* assay_obj_str(int32_t object);  // str: its text; others: str(object)
ASSAY_API int32_t assay_obj_tensor(int32_t object);
ASSAY_API size_t assay_obj_len(int32_t object);
ASSAY_API int32_t assay_obj_at(int32_t object, int64_t index);       // lists, tuples; dicts: key
ASSAY_API int32_t assay_obj_get(int32_t object, const char* key);    // dict value; -1: none
ASSAY_API int32_t assay_obj_attr(int32_t object, const char* name);  // -1: none
// Calls a method that assay_obj_attr gave, with positional arguments.
ASSAY_API int32_t assay_obj_call(int32_t method, const int32_t* args, int32_t count);
ASSAY_API int32_t assay_obj_make(int32_t kind, int64_t i, double d, const char* s);
ASSAY_API int32_t assay_obj_make_tensor(int32_t tensor);
ASSAY_API void assay_obj_append(int32_t object, int32_t item);
ASSAY_API void assay_obj_set(int32_t object, const char* key, int32_t item);

// kinds: one letter an argument (T tensor, b bool, i int, f float, s str, L sequence, ? optional
// before a letter is dropped to '?', o object). names[k] may be null; defaults[k] -1: required.
ASSAY_API void assay_def(const char* name, assay_abi::Invoke invoke, void* closure, size_t n,
                         const char* kinds, const char* const* names, const int32_t* defaults);

ASSAY_API void* assay_current_stream();
ASSAY_API void assay_set_stream(void* stream);
ASSAY_API void* assay_stream_from_pool();
ASSAY_API void* assay_blas_handle();
ASSAY_API void assay_unsupported(const char* what);  // records it and throws
ASSAY_API void assay_note(const char* kind, const char* severity, const char* message);
