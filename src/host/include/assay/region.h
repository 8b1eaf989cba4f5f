// Names the code from here to the end of the enclosing scope, for `assay map`, `diff` and `guard`:
//
//   { ASSAY_REGION("load"); tile[k] = x[k]; }
//
// Adds no code and needs no library: the name is read from the source, whose lines the line table
// gives. Names only rename and merge regions that are there anyway.
#pragma once

#define ASSAY_REGION(name) static_assert(sizeof(name "") > 1, "ASSAY_REGION needs a name")
