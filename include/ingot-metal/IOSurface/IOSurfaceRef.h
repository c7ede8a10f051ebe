#ifndef INGOT_METAL_IOSURFACE_H
#define INGOT_METAL_IOSURFACE_H
typedef struct __IOSurface *IOSurfaceRef;
#endif
