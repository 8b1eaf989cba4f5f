#pragma once
#include "assay/extension.h"
