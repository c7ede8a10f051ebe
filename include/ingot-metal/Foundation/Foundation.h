/* GNUstep's Foundation, and what Apple's brings besides. */
#ifndef INGOT_METAL_FOUNDATION_H
#define INGOT_METAL_FOUNDATION_H

#include <Availability.h>
#include <TargetConditionals.h>
#ifdef __OBJC__
#include_next <Foundation/Foundation.h>
/* Macros of GNUstep's that Apple's has not, and whose names programs use (pybind11 has a function `_`). */
#undef _
#undef __
#undef ___
#undef ASSIGN
#undef ASSIGNCOPY
#undef DESTROY
#undef RETAIN
#undef RELEASE
#undef AUTORELEASE
#endif
#include <CoreFoundation/CoreFoundation.h>
#include <dispatch/dispatch.h>
#include <mach/mach.h>
#include <math.h>
#include <unistd.h>

#ifndef NS_ASSUME_NONNULL_BEGIN
#define NS_ASSUME_NONNULL_BEGIN _Pragma("clang assume_nonnull begin")
#define NS_ASSUME_NONNULL_END   _Pragma("clang assume_nonnull end")
#endif
#ifndef NS_REFINED_FOR_SWIFT
#define NS_REFINED_FOR_SWIFT
#endif
#ifndef NS_SWIFT_NAME
#define NS_SWIFT_NAME(...)
#endif
#ifndef NS_SWIFT_SENDABLE
#define NS_SWIFT_SENDABLE
#endif
#ifndef NS_NOESCAPE
#define NS_NOESCAPE __attribute__((noescape))
#endif
#ifndef NS_RETURNS_INNER_POINTER
#define NS_RETURNS_INNER_POINTER
#endif

#ifdef __OBJC__
/* What GNUstep 1.28 lacks. */
@interface NSFileManager (IngotMetal)
- (NSString *)destinationOfSymbolicLinkAtPath:(NSString *)path error:(NSError **)error;
@end
#endif
#endif
