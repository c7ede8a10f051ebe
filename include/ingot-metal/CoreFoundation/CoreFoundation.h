/* Types of Core Foundation that Metal programs name, and references to Foundation's objects. */
#ifndef INGOT_METAL_CORE_FOUNDATION_H
#define INGOT_METAL_CORE_FOUNDATION_H

/* Apple's brings all of these, and programs with metal-cpp count on it. */
#include <TargetConditionals.h>
#include <assert.h>
#include <ctype.h>
#include <dispatch/dispatch.h>
#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>

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
