#pragma once
#include "assay/macros.h"
