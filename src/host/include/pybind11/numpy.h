#pragma once
#include "assay/python.h"
