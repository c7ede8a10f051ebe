/*
 * Looking through the cache folder and removing files from it.
 *
 * Opens only folders that are named as the cache names them, and no links; removes only regular
 * files named as the cache names them. A file that another process has open stays usable for it,
 * and one that another sweep has removed already is as good as removed here.
 */
#include "base/cache_sweep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"

enum { DAY = 24 * 3600, MONTH = 30 * DAY, KEY_DIGITS = 64, HEADER_DIGITS = 24 };

static const char header_folder[] = "prelude", header_start[] = "prelude-";

struct entry {
    const char *folder, *name;
    uint64_t bytes;
    int64_t used;
    enum ig_cache_kind kind;
    bool removed;
};

struct scan {
    struct ig_arena arena; /* of names */
    struct entry *entries;
    size_t count, capacity;
    int64_t now;
    bool out_of_memory;
};

uint64_t ig_cache_blocks(uint64_t size) {
    return size ? (size + 4095) & ~(uint64_t)4095 : 4096;
}

/* ---- names ---- */

static bool is_digits(const char *text, size_t count) {
    return strspn(text, "0123456789abcdef") >= count;
}

static bool is_folder(const char *name) {
    return !strcmp(name, header_folder) || (is_digits(name, 2) && !name[2]);
}

/* HEX.ingot, and HEX.ingot.tmp-… by ig_file_write. */
static int kernel_kind(const char *folder, const char *name) {
    if (!is_digits(name, KEY_DIGITS) || strncmp(name, folder, 2) ||
        strncmp(name + KEY_DIGITS, ".ingot", 6)) {
        return -1;
    }
    const char *rest = name + KEY_DIGITS + 6;
    if (!*rest) {
        return IG_CACHE_KERNEL;
    }
    if (strncmp(rest, ".tmp-", 5) || !rest[5] || rest[5 + strspn(rest + 5, "0123456789abcdef-")]) {
        return -1;
    }
    return IG_CACHE_TEMPORARY;
}

/* prelude-HEX.pch, and prelude-HEX.pch.PID-RANDOM.new by the compiler (.tmp behind it: by clang).
 */
static int header_kind(const char *name) {
    size_t start = sizeof header_start - 1;
    if (strncmp(name, header_start, start) || !is_digits(name + start, HEADER_DIGITS) ||
        strncmp(name + start + HEADER_DIGITS, ".pch", 4)) {
        return -1;
    }
    const char *rest = name + start + HEADER_DIGITS + 4;
    if (!*rest) {
        return IG_CACHE_HEADER;
    }
    size_t process = *rest == '.' ? strspn(rest + 1, "0123456789") : 0;
    if (!process) {
        return -1;
    }
    rest += 1 + process;
    if (*rest == '-') {
        rest += 1 + strspn(rest + 1, "0123456789abcdefghijklmnopqrstuvwxyz");
    }
    return !strcmp(rest, ".new") || !strcmp(rest, ".new.tmp") ? IG_CACHE_TEMPORARY : -1;
}

/* ---- looking ---- */

static void add_entry(struct scan *scan, const char *folder, const char *name,
                      const struct stat *info, enum ig_cache_kind kind) {
    if (scan->count == scan->capacity) {
        size_t capacity = scan->capacity ? 2 * scan->capacity : 256;
        struct entry *entries = realloc(scan->entries, capacity * sizeof *entries);
        if (entries) {
            scan->entries = entries;
            scan->capacity = capacity;
        }
    }
    char *copy = scan->count < scan->capacity ? ig_arena_string(&scan->arena, name) : NULL;
    if (!copy) {
        scan->out_of_memory = true;
        return;
    }
    scan->entries[scan->count++] = (struct entry){
        folder, copy, ig_cache_blocks((uint64_t)info->st_size), (int64_t)info->st_mtime,
        kind,   false};
}

/* A folder as a stream that follows no link, or NULL. */
static DIR *open_folder(int parent, const char *name, int more) {
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | more);
    DIR *stream = fd < 0 ? NULL : fdopendir(fd);
    if (!stream && fd >= 0) {
        close(fd);
    }
    return stream;
}

static void scan_folder(struct scan *scan, int root, const char *name) {
    const char *folder = ig_arena_string(&scan->arena, name);
    DIR *stream = open_folder(root, name, O_NOFOLLOW);
    if (!stream) {
        return;
    }
    scan->out_of_memory |= !folder;
    for (struct dirent *item; !scan->out_of_memory && (item = readdir(stream));) {
        struct stat info;
        int kind = strcmp(name, header_folder) ? kernel_kind(folder, item->d_name)
                                               : header_kind(item->d_name);
        if (kind >= 0 && !fstatat(dirfd(stream), item->d_name, &info, AT_SYMLINK_NOFOLLOW) &&
            S_ISREG(info.st_mode)) {
            add_entry(scan, folder, item->d_name, &info, (enum ig_cache_kind)kind);
        }
    }
    closedir(stream);
}

static void count(struct ig_cache_summary *summary, const struct entry *entry) {
    summary->files[entry->kind]++;
    summary->bytes[entry->kind] += entry->bytes;
    summary->all_files++;
    summary->all_bytes += entry->bytes;
    if (!summary->oldest || entry->used < summary->oldest) {
        summary->oldest = entry->used;
    }
}

static void summarise(const struct scan *scan, bool removed, struct ig_cache_summary *summary) {
    *summary = (struct ig_cache_summary){0};
    for (size_t i = 0; i < scan->count; i++) {
        if (scan->entries[i].removed == removed) {
            count(summary, &scan->entries[i]);
        }
    }
}

/* *root: the folder as a stream, NULL when there is none. */
static ingot_status scan_all(struct scan *scan, const char *path, DIR **root,
                             struct ig_error *error) {
    *scan = (struct scan){.now = (int64_t)time(NULL)};
    *root = open_folder(AT_FDCWD, path, O_NOFOLLOW);
    if (!*root) {
        return errno == ENOENT
                   ? INGOT_OK
                   : ig_fail(error, INGOT_IO_ERROR, "cannot look into the cache folder %s: %s",
                             path, strerror(errno));
    }
    for (struct dirent *item; !scan->out_of_memory && (item = readdir(*root));) {
        if (is_folder(item->d_name)) {
            scan_folder(scan, dirfd(*root), item->d_name);
        }
    }
    return scan->out_of_memory
               ? ig_fail(error, INGOT_OUT_OF_MEMORY,
                         "no memory for the names of %zu files in the cache folder %s", scan->count,
                         path)
               : INGOT_OK;
}

static void end_scan(struct scan *scan, DIR *root) {
    if (root) {
        closedir(root);
    }
    free(scan->entries);
    ig_arena_free(&scan->arena);
}

ingot_status ig_cache_survey(const char *folder, struct ig_cache_summary *held,
                             struct ig_error *error) {
    struct scan scan;
    DIR *root;
    ingot_status status = scan_all(&scan, folder, &root, error);
    summarise(&scan, false, held);
    end_scan(&scan, root);
    return status;
}

/* ---- removing ---- */

struct removal {
    int root, open; /* `open`: the folder named `folder`, or -1 */
    const char *path, *folder;
    uint64_t left; /* bytes */
    size_t failures;
    struct ig_error *error; /* of the first failure */
};

static void remove_file(struct removal *removal, struct entry *entry) {
    if (removal->folder != entry->folder || removal->open < 0) {
        if (removal->open >= 0) {
            close(removal->open);
        }
        removal->open =
            openat(removal->root, entry->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        removal->folder = entry->folder;
    }
    if ((removal->open < 0 || unlinkat(removal->open, entry->name, 0)) && errno != ENOENT) {
        if (!removal->failures++) {
            ig_fail(removal->error, INGOT_IO_ERROR, "cannot remove %s/%s/%s from the cache: %s",
                    removal->path, entry->folder, entry->name, strerror(errno));
        }
        return;
    }
    entry->removed = true;
    removal->left -= entry->bytes;
}

static bool is_over(const struct entry *entry, int64_t now, bool all_temporary) {
    if (entry->kind == IG_CACHE_TEMPORARY) {
        return all_temporary || entry->used + DAY < now;
    }
    return entry->kind == IG_CACHE_HEADER && entry->used + MONTH < now;
}

static int by_use(const void *a, const void *b) {
    const struct entry *x = a, *y = b;
    if (x->used != y->used) {
        return x->used < y->used ? -1 : 1;
    }
    return strcmp(x->name, y->name);
}

static void remove_oldest(struct scan *scan, struct removal *removal, uint64_t limit,
                          uint64_t target) {
    /* what can never fit takes no other's place */
    for (size_t i = 0; i < scan->count; i++) {
        if (scan->entries[i].bytes > limit && scan->entries[i].kind != IG_CACHE_TEMPORARY) {
            remove_file(removal, &scan->entries[i]);
        }
    }
    qsort(scan->entries, scan->count, sizeof *scan->entries, by_use);
    for (size_t i = 0; i < scan->count && removal->left > target; i++) {
        if (!scan->entries[i].removed && scan->entries[i].kind != IG_CACHE_TEMPORARY) {
            remove_file(removal, &scan->entries[i]);
        }
    }
}

/* Those that are not empty stay by themselves. */
static void remove_folders(DIR *root) {
    rewinddir(root);
    for (struct dirent *item; (item = readdir(root));) {
        if (is_folder(item->d_name)) {
            unlinkat(dirfd(root), item->d_name, AT_REMOVEDIR);
        }
    }
    unlinkat(dirfd(root), IG_CACHE_LEDGER, 0);
    unlinkat(dirfd(root), IG_CACHE_TORCH_PROBE, 0);
}

ingot_status ig_cache_sweep(const char *folder, uint64_t limit, uint64_t target, bool all_temporary,
                            struct ig_cache_summary *removed, struct ig_cache_summary *left,
                            struct ig_error *error) {
    struct scan scan;
    DIR *root;
    ingot_status status = scan_all(&scan, folder, &root, error);
    if (!status && root) {
        struct removal removal = {.root = dirfd(root), .open = -1, .path = folder, .error = error};
        for (size_t i = 0; i < scan.count; i++) {
            removal.left += scan.entries[i].bytes;
        }
        for (size_t i = 0; i < scan.count; i++) {
            if (is_over(&scan.entries[i], scan.now, all_temporary)) {
                remove_file(&removal, &scan.entries[i]);
            }
        }
        if (removal.left > limit) {
            remove_oldest(&scan, &removal, limit, target);
        }
        if (removal.open >= 0) {
            close(removal.open);
        }
        if (removal.failures) {
            status = INGOT_IO_ERROR;
        }
    }
    summarise(&scan, true, removed);
    summarise(&scan, false, left);
    if (!status && root && !left->all_files) {
        remove_folders(root);
    }
    end_scan(&scan, root);
    return status;
}
