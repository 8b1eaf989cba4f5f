#pragma once
#include "assay/nn.h"
