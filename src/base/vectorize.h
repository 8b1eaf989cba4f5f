#pragma once
// ASSAY_IVDEP before a loop: its iterations do not depend on one another through memory.
#if defined(__clang__)
#define ASSAY_IVDEP _Pragma("clang loop vectorize(assume_safety)")
#else
#define ASSAY_IVDEP _Pragma("GCC ivdep")
#endif
