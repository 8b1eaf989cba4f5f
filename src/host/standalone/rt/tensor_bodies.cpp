// Emits the functions of the stand-in PyTorch headers that extensions only see declared.
#define ASSAY_BODIES
#include "assay/extension.h"
