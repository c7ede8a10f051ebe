/* Which system this is for: programs take their macOS paths. */
#ifndef INGOT_METAL_TARGET_CONDITIONALS_H
#define INGOT_METAL_TARGET_CONDITIONALS_H

#define TARGET_OS_MAC          1
#define TARGET_OS_OSX          1
#define TARGET_OS_IPHONE       0
#define TARGET_OS_IOS          0
#define TARGET_OS_TV           0
#define TARGET_OS_WATCH        0
#define TARGET_OS_VISION       0
#define TARGET_OS_MACCATALYST  0
#define TARGET_OS_SIMULATOR    0
#define TARGET_OS_EMBEDDED     0
#define TARGET_OS_LINUX        0
#define TARGET_OS_WINDOWS      0
#define TARGET_IPHONE_SIMULATOR 0
#if defined(__aarch64__)
#define TARGET_CPU_ARM64  1
#define TARGET_CPU_X86_64 0
#else
#define TARGET_CPU_ARM64  0
#define TARGET_CPU_X86_64 1
#endif
#define TARGET_RT_64_BIT        1
#define TARGET_RT_LITTLE_ENDIAN 1

#ifndef __MAC_OS_X_VERSION_MAX_ALLOWED
#define __MAC_OS_X_VERSION_MAX_ALLOWED 260000
#endif
#ifndef __MAC_OS_X_VERSION_MIN_REQUIRED
#define __MAC_OS_X_VERSION_MIN_REQUIRED 140000
#endif
#endif
