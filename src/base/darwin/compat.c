/* See compat.h. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/darwin/compat.h"

char *secure_getenv(const char *name) {
    return issetugid() ? NULL : getenv(name);
}

int pipe2(int ends[2], int flags) {
    if (pipe(ends)) {
        return -1;
    }
    for (int i = 0; i < 2 && (flags & O_CLOEXEC); i++) {
        fcntl(ends[i], F_SETFD, FD_CLOEXEC);
    }
    return 0;
}

/* In the child, between vfork and exec, where its own environment is the parent's. */
int execvpe(const char *file, char *const arguments[], char *const environment[]) {
    char **before = environ;
    environ = (char **)(uintptr_t)environment;
    execvp(file, arguments);
    environ = before;
    return -1;
}

int prlimit(pid_t process, int resource, const struct rlimit *wanted, struct rlimit *old) {
    (void)process;
    (void)resource;
    (void)wanted;
    (void)old;
    errno = ENOSYS;
    return -1;
}

pid_t ig_darwin_thread_number(void) {
    uint64_t number = 0;
    pthread_threadid_np(NULL, &number);
    return (pid_t)number;
}
