#pragma once
#include "assay/error.h"
