/* Types of Core Foundation that Metal programs name, and references to Foundation's objects. */
#ifndef INGOT_METAL_CORE_FOUNDATION_H
#define INGOT_METAL_CORE_FOUNDATION_H

#include <TargetConditionals.h>
#include <dispatch/dispatch.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif
typedef const void *CFTypeRef;
typedef long CFIndex;
typedef unsigned long CFTypeID, CFOptionFlags, CFHashCode;
typedef unsigned char Boolean;
typedef double CFTimeInterval, CFAbsoluteTime;
typedef const struct __CFString *CFStringRef;
typedef const struct __CFData *CFDataRef;
typedef const struct __CFArray *CFArrayRef;
typedef const struct __CFDictionary *CFDictionaryRef;
typedef const struct __CFURL *CFURLRef;
typedef const struct __CFAllocator *CFAllocatorRef;
typedef struct __CFBundle *CFBundleRef;

/* Objects of Foundation are objects of Core Foundation. */
CFTypeRef CFRetain(CFTypeRef object);
void CFRelease(CFTypeRef object);
/* Seconds since 2001, as NSDate counts. */
CFAbsoluteTime CFAbsoluteTimeGetCurrent(void);
#ifdef __cplusplus
}
#endif
#endif
