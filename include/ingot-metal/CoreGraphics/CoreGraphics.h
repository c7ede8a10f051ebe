#ifndef INGOT_METAL_CORE_GRAPHICS_H
#define INGOT_METAL_CORE_GRAPHICS_H
#include <CoreGraphics/CGColorSpace.h>
#include <CoreGraphics/CGGeometry.h>
#endif
