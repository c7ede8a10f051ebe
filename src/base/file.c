/* Files and folders. Requires a POSIX system. Does not lock: a rename is the only commit. */
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

ingot_status ig_file_open(const char *path, int *fd, struct ig_error *error) {
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    return *fd >= 0 ? INGOT_OK
                    : ig_fail(error, errno == ENOENT ? INGOT_NOT_FOUND : INGOT_IO_ERROR,
                              "cannot open %s: %s", path, strerror(errno));
}

ingot_status ig_file_read_open(int fd, const char *path, size_t limit, char **bytes, size_t *size,
                               struct ig_error *error) {
    struct stat info;
    limit = limit ? limit : (size_t)1 << 30;
    if (fstat(fd, &info)) {
        return ig_fail(error, INGOT_IO_ERROR, "cannot examine %s: %s", path, strerror(errno));
    }
    if (!S_ISREG(info.st_mode)) {
        return ig_fail(error, INGOT_IO_ERROR, "cannot read %s: it is not a regular file", path);
    }
    if ((uint64_t)info.st_size > limit) {
        return ig_fail(error, INGOT_IO_ERROR, "cannot read %s: it has %lld bytes, the limit is %zu",
                       path, (long long)info.st_size, limit);
    }
    size_t expected = (size_t)info.st_size, have = 0;
    char *data = malloc(expected + 1);
    if (!data) {
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for the %zu bytes of %s", expected,
                       path);
    }
    while (have < expected) {
        ssize_t got = read(fd, data + have, expected - have);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            int code = errno;
            free(data);
            return ig_fail(error, INGOT_IO_ERROR, "cannot read %s: %s", path, strerror(code));
        }
        if (got == 0) {
            break;
        }
        have += (size_t)got;
    }
    data[have] = 0;
    *bytes = data;
    *size = have;
    return INGOT_OK;
}

ingot_status ig_file_read(const char *path, size_t limit, char **bytes, size_t *size,
                          struct ig_error *error) {
    int fd;
    ingot_status status = ig_file_open(path, &fd, error);
    if (!status) {
        status = ig_file_read_open(fd, path, limit, bytes, size, error);
        close(fd);
    }
    return status;
}

int ig_write_all(int fd, const void *bytes, size_t size) {
    for (const char *at = bytes; size;) {
        ssize_t put = write(fd, at, size);
        if (put < 0 && errno == EINTR) {
            continue;
        }
        if (put <= 0) {
            return put < 0 ? errno : ENOSPC;
        }
        at += put;
        size -= (size_t)put;
    }
    return 0;
}

/* A fresh file beside `path`, with the permissions that a plain open gives. */
static int open_temporary(const char *path, char **name) {
    static atomic_uint counter;
    for (int tries = 0; tries < 100; tries++) {
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        free(*name);
        if (asprintf(name, "%s.tmp-%lx-%x-%lx", path, (long)getpid(),
                     atomic_fetch_add(&counter, 1u), t.tv_nsec) < 0) {
            *name = NULL;
            errno = ENOMEM;
            return -1;
        }
        int fd = open(*name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST) {
            return fd;
        }
    }
    return -1;
}

ingot_status ig_file_write(const char *path, const void *bytes, size_t size,
                           struct ig_error *error) {
    struct stat info;
    if (!stat(path, &info) && !S_ISREG(info.st_mode)) { /* /dev/stdout, a pipe */
        int fd = open(path, O_WRONLY | O_CLOEXEC);
        int code = fd < 0 ? errno : ig_write_all(fd, bytes, size);
        if (fd >= 0 && close(fd) && !code) {
            code = errno;
        }
        return code ? ig_fail(error, INGOT_IO_ERROR, "cannot write %s: %s", path, strerror(code))
                    : INGOT_OK;
    }
    char *temporary = NULL;
    int fd = open_temporary(path, &temporary);
    if (fd < 0) {
        int code = errno;
        free(temporary);
        return ig_fail(error, INGOT_IO_ERROR, "cannot write %s: %s", path, strerror(code));
    }
    int code = ig_write_all(fd, bytes, size);
    if (close(fd) && !code) {
        code = errno;
    }
    if (!code && rename(temporary, path)) {
        code = errno;
    }
    if (code) {
        unlink(temporary);
        ig_fail(error, INGOT_IO_ERROR, "cannot write %s: %s", path, strerror(code));
    }
    free(temporary);
    return code ? INGOT_IO_ERROR : INGOT_OK;
}

ingot_status ig_folder_make(const char *path, struct ig_error *error) {
    char *copy = strdup(path);
    if (!copy) {
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "out of memory while making the folder %s",
                       path);
    }
    int code = 0;
    for (char *p = copy + 1; !code; p++) {
        if (*p != '/' && *p) {
            continue;
        }
        char end = *p;
        *p = 0;
        if (mkdir(copy, 0700) && errno != EEXIST) {
            code = errno;
        }
        *p = end;
        if (!end) {
            break;
        }
    }
    struct stat info;
    if (!code && (stat(copy, &info) || !S_ISDIR(info.st_mode))) {
        code = ENOTDIR;
    }
    free(copy);
    return code ? ig_fail(error, INGOT_IO_ERROR, "cannot make the folder %s: %s", path,
                          strerror(code))
                : INGOT_OK;
}

static const char *temporary_root(void) {
    const char *root = getenv("TMPDIR");
    return root && root[0] == '/' ? root : "/tmp";
}

ingot_status ig_folder_temporary(char **path, struct ig_error *error) {
    char *name = NULL;
    if (asprintf(&name, "%s/ingot-XXXXXX", temporary_root()) < 0) {
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "out of memory for a temporary folder's name");
    }
    if (!mkdtemp(name)) {
        int code = errno;
        free(name);
        return ig_fail(error, INGOT_IO_ERROR, "cannot make a temporary folder in %s: %s",
                       temporary_root(), strerror(code));
    }
    *path = name;
    return INGOT_OK;
}

/* Empties the folder that `parent`/`name` is; never leaves it through a link. */
static void remove_entry(int parent, const char *name, int depth) {
    if (!unlinkat(parent, name, 0) || depth > 64) {
        return;
    }
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        return;
    }
    DIR *folder = fdopendir(fd);
    if (!folder) {
        close(fd);
        return;
    }
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..")) {
            remove_entry(fd, entry->d_name, depth + 1);
        }
    }
    closedir(folder);
    unlinkat(parent, name, AT_REMOVEDIR);
}

void ig_folder_remove(const char *path) {
    remove_entry(AT_FDCWD, path, 0);
}

/* True when nobody else can put files there. A folder that does not exist yet is fine. */
static bool is_private(const char *path) {
    struct stat info;
    if (stat(path, &info)) {
        return errno == ENOENT;
    }
    return S_ISDIR(info.st_mode) && info.st_uid == geteuid() &&
           !(info.st_mode & (S_IWGRP | S_IWOTH));
}

static char *usable(char *path) {
    if (path && !is_private(path)) {
        free(path);
        return NULL;
    }
    return path;
}

static char *join(const char *folder, const char *rest) {
    char *path = NULL;
    return asprintf(&path, "%s%s", folder, rest) < 0 ? NULL : path;
}

char *ig_cache_folder(void) {
    const char *named = getenv("INGOT_CACHE_DIR");
    if (named && *named) {
        return usable(strdup(named));
    }
    const char *base = getenv("XDG_CACHE_HOME");
    char *path = base && base[0] == '/' ? usable(join(base, "/ingot")) : NULL;
    if (path) {
        return path;
    }
    const char *home = getenv("HOME");
    if (home && home[0] == '/') {
        path = usable(join(home, "/.cache/ingot"));
        if (path) {
            return path;
        }
    }
    char *name = NULL;
    if (asprintf(&name, "%s/ingot-cache-%ld", temporary_root(), (long)geteuid()) < 0) {
        return NULL;
    }
    return usable(name);
}

char *ig_policy_path(void) {
    const char *named = getenv("INGOT_POLICY"), *config = getenv("XDG_CONFIG_HOME"),
               *home = getenv("HOME");
    if (named) {
        return *named ? strdup(named) : NULL;
    }
    if (config && *config) {
        return join(config, "/ingot/policy");
    }
    return home && *home ? join(home, "/.config/ingot/policy") : NULL;
}
