#ifndef INGOT_METAL_CG_COLOR_SPACE_H
#define INGOT_METAL_CG_COLOR_SPACE_H
typedef struct CGColorSpace *CGColorSpaceRef;
#endif
