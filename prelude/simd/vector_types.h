#pragma once
#include "simd.h"
