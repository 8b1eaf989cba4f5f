#pragma once
#include "assay/cuda.h"
