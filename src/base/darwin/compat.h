/*
 * What the sources take from Linux's C library and macOS's lacks. The build includes it before
 * every source on macOS (cmake/darwin.cmake); folders of src know nothing of it.
 */
#ifndef INGOT_BASE_DARWIN_COMPAT_H
#define INGOT_BASE_DARWIN_COMPAT_H

/* No more headers than these: their names are many, and sources have names of their own. */
#include <crt_externs.h>
#include <math.h>
#include <sys/types.h>

struct rlimit;

#undef HUGE /* a name of the oldest C libraries */
#define st_mtim st_mtimespec
#undef environ
#define environ (*_NSGetEnviron())

#ifndef SOCK_CLOEXEC
#define SOCK_CLOEXEC 0 /* spawned processes get only the files that they are given */
#endif
#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif

char *secure_getenv(const char *name);
int pipe2(int ends[2], int flags);
int execvpe(const char *file, char *const arguments[], char *const environment[]);
/* Processes have no limits that others set: -1, with ENOSYS. */
int prlimit(pid_t process, int resource, const struct rlimit *wanted, struct rlimit *old);
pid_t ig_darwin_thread_number(void);

#endif
