#pragma once
#include "assay/dispatch.h"
