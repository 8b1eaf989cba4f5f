#pragma once
#include "assay/array_ref.h"
