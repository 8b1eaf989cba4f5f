#pragma once
#include "assay/scalar_type.h"
