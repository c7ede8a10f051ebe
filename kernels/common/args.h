/* Types that host code (C17) and kernels (MSL) spell alike, for argument structs. Use fixed-width
 * integers and float only, largest first, and no vectors of three. */
#ifndef INGOT_KERNELS_COMMON_ARGS_H
#define INGOT_KERNELS_COMMON_ARGS_H

#ifdef __METAL_VERSION__
#include <metal_stdlib>
using namespace metal;
#else
#include <stdint.h>
#endif

#endif
