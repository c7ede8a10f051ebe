#ifndef INGOT_METAL_MTL_TYPES_H
#define INGOT_METAL_MTL_TYPES_H
#import <Metal/MTLDefines.h>

typedef struct { NSUInteger x, y, z; } MTLOrigin;
typedef struct { NSUInteger width, height, depth; } MTLSize;
typedef struct { MTLOrigin origin; MTLSize size; } MTLRegion;
typedef struct { uint64_t _impl; } MTLResourceID;
typedef uint64_t MTLGPUAddress;
typedef struct { NSUInteger size, align; } MTLSizeAndAlign;

MTL_INLINE MTLOrigin MTLOriginMake(NSUInteger x, NSUInteger y, NSUInteger z) {
    MTLOrigin origin = {x, y, z};
    return origin;
}
MTL_INLINE MTLSize MTLSizeMake(NSUInteger width, NSUInteger height, NSUInteger depth) {
    MTLSize size = {width, height, depth};
    return size;
}
MTL_INLINE MTLRegion MTLRegionMake1D(NSUInteger x, NSUInteger width) {
    MTLRegion region = {{x, 0, 0}, {width, 1, 1}};
    return region;
}
MTL_INLINE MTLRegion MTLRegionMake2D(NSUInteger x, NSUInteger y, NSUInteger width, NSUInteger height) {
    MTLRegion region = {{x, y, 0}, {width, height, 1}};
    return region;
}
MTL_INLINE MTLRegion MTLRegionMake3D(NSUInteger x, NSUInteger y, NSUInteger z, NSUInteger width, NSUInteger height,
                                     NSUInteger depth) {
    MTLRegion region = {{x, y, z}, {width, height, depth}};
    return region;
}
#endif
