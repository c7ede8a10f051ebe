/* Files and folders. Requires a POSIX system. Does not lock: a rename is the only commit. */
#include "base/file.h"
#include "base/environment.h"

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

ingot_status ig_file_read_at(int folder, const char *name, size_t limit, char **bytes, size_t *size,
                             struct ig_error *error) {
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (fd < 0) {
        return ig_fail(error, errno == ENOENT ? INGOT_NOT_FOUND : INGOT_IO_ERROR,
                       "cannot open %s: %s", name, strerror(errno));
    }
    ingot_status status = ig_file_read_open(fd, name, limit, bytes, size, error);
    close(fd);
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
static int open_temporary(int folder, const char *path, char **name) {
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
        int fd = openat(folder, *name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
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
    int code = ig_file_write_at(AT_FDCWD, path, &(struct ig_bytes){bytes, size}, 1);
    return code ? ig_fail(error, INGOT_IO_ERROR, "cannot write %s: %s", path, strerror(code))
                : INGOT_OK;
}

int ig_file_write_at(int folder, const char *name, const struct ig_bytes *parts, size_t count) {
    char *temporary = NULL;
    int fd = open_temporary(folder, name, &temporary);
    int code = fd < 0 ? errno : 0;
    for (size_t i = 0; i < count && !code; i++) {
        code = ig_write_all(fd, parts[i].data, parts[i].size);
    }
    if (fd >= 0 && close(fd) && !code) {
        code = errno;
    }
    if (!code && renameat(folder, temporary, folder, name)) {
        code = errno;
    }
    if (code && fd >= 0) {
        unlinkat(folder, temporary, 0);
    }
    free(temporary);
    return code;
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
    const char *root = ig_environment("TMPDIR");
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

static bool is_temporary_name(const char *name) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    return !strncmp(name, "ingot-", 6) && strspn(name + 6, letters) == 6 && !name[12];
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

void ig_folder_sweep_temporary(void) {
    enum { DAY = 24 * 3600 };
    int root = open(temporary_root(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = root < 0 ? NULL : fdopendir(root);
    if (!stream) {
        if (root >= 0) {
            close(root);
        }
        return;
    }
    for (struct dirent *entry; (entry = readdir(stream));) {
        struct stat info;
        if (is_temporary_name(entry->d_name) &&
            !fstatat(root, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) && S_ISDIR(info.st_mode) &&
            info.st_uid == geteuid() && info.st_mtime + DAY < time(NULL)) {
            remove_entry(root, entry->d_name, 0);
        }
    }
    closedir(stream);
}

void ig_folder_remove(const char *path) {
    remove_entry(AT_FDCWD, path, 0);
}

int ig_folder_open_private(const char *path) {
    struct stat info;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        return -1;
    }
    bool good = !fstat(fd, &info) && S_ISDIR(info.st_mode) && info.st_uid == geteuid() &&
                !(info.st_mode & (S_IWGRP | S_IWOTH));
    if (!good) {
        close(fd);
        errno = EPERM;
        return -1;
    }
    return fd;
}

/* True when nobody else can put files there. A folder that does not exist yet is fine. */
static bool is_private(const char *path) {
    struct stat info;
    int fd = ig_folder_open_private(path);
    if (fd >= 0) {
        close(fd);
        return true;
    }
    return errno == ENOENT && lstat(path, &info) && errno == ENOENT;
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
    const char *named = ig_environment("INGOT_CACHE_DIR");
    if (named && *named) {
        return usable(strdup(named));
    }
    const char *base = ig_environment("XDG_CACHE_HOME");
    char *path = base && base[0] == '/' ? usable(join(base, "/ingot")) : NULL;
    if (path) {
        return path;
    }
    const char *home = ig_environment("HOME");
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
    const char *named = ig_environment("INGOT_POLICY"), *config = ig_environment("XDG_CONFIG_HOME"),
               *home = ig_environment("HOME");
    if (named) {
        return *named ? strdup(named) : NULL;
    }
    if (config && *config) {
        return join(config, "/ingot/policy");
    }
    return home && *home ? join(home, "/.config/ingot/policy") : NULL;
}
