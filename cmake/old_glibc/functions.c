/*
 * Functions that libc.so exports since 2.33 alone, on those that older ones export. They are this
 * program's or library's own.
 */
#include <fcntl.h>
#include <sys/stat.h>

#define OWN __attribute__((visibility("hidden")))
#if defined(__x86_64__)
enum { STAT_VERSION = 1 };
#else
enum { STAT_VERSION = 0 };
#endif

int __xstat(int version, const char *path, struct stat *info);
int __lxstat(int version, const char *path, struct stat *info);
int __fxstat(int version, int file, struct stat *info);
int __fxstatat(int version, int folder, const char *path, struct stat *info, int flags);
USE_VERSION(__xstat, OLDEST_GLIBC)
USE_VERSION(__lxstat, OLDEST_GLIBC)
USE_VERSION(__fxstat, OLDEST_GLIBC)
#if defined(__x86_64__)
USE_VERSION(__fxstatat, "GLIBC_2.4")
#else
USE_VERSION(__fxstatat, OLDEST_GLIBC)
#endif

OWN int stat(const char *restrict path, struct stat *restrict info) {
    return __xstat(STAT_VERSION, path, info);
}

OWN int lstat(const char *restrict path, struct stat *restrict info) {
    return __lxstat(STAT_VERSION, path, info);
}

OWN int fstat(int file, struct stat *info) {
    return __fxstat(STAT_VERSION, file, info);
}

OWN int fstatat(int folder, const char *restrict path, struct stat *restrict info, int flags) {
    return __fxstatat(STAT_VERSION, folder, path, info, flags);
}
