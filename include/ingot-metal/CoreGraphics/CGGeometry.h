#ifndef INGOT_METAL_CG_GEOMETRY_H
#define INGOT_METAL_CG_GEOMETRY_H
#ifdef __OBJC__
#import <Foundation/Foundation.h>
#endif
/* GNUstep has CGFloat, and NSPoint, NSSize and NSRect of it. */
#ifdef CGFLOAT_DEFINED
typedef NSPoint CGPoint;
typedef NSSize CGSize;
typedef NSRect CGRect;
#else
typedef double CGFloat;
typedef struct CGPoint { CGFloat x, y; } CGPoint;
typedef struct CGSize { CGFloat width, height; } CGSize;
typedef struct CGRect { CGPoint origin; CGSize size; } CGRect;
#endif
#endif
