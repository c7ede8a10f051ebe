/*
 * Entries of the cache folder. A damaged entry, or one that was made for another key, counts as
 * absent. The folder's owner and mode are those of a descriptor, from which everything else is
 * opened, and no link is followed. Two processes that write the same key both succeed, because a
 * write is an atomic rename.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cache.h"
#include "base/file.h"

#define MAX_ENTRY ((size_t)1 << 30)
#define KEY_SIZE  ((size_t)64)

/* The folder of the entry's first two digits in the cache folder, or -1. */
static int open_entry_folder(const char *root, const char *hex, bool make) {
    char name[3] = {hex[0], hex[1], 0};
    if (make && ig_folder_make(root, NULL) != INGOT_OK) {
        return -1;
    }
    int cache = ig_folder_open_private(root);
    if (cache < 0) {
        return -1;
    }
    if (make) {
        mkdirat(cache, name, 0700); /* or it is there */
    }
    int folder = openat(cache, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    close(cache);
    return folder;
}

static void entry_name(const char *hex, char name[IG_CACHE_NAME]) {
    snprintf(name, IG_CACHE_NAME, "%.64s.ingot", hex);
}

bool ig_cache_entry_read(const char *root, const char *hex, char **bytes, size_t *size) {
    char name[IG_CACHE_NAME];
    int folder = open_entry_folder(root, hex, false);
    bool found = false;
    *bytes = NULL;
    if (folder < 0) {
        return false;
    }
    entry_name(hex, name);
    if (ig_file_read_at(folder, name, MAX_ENTRY, bytes, size, NULL) == INGOT_OK) {
        found = *size >= KEY_SIZE && !memcmp(*bytes + *size - KEY_SIZE, hex, KEY_SIZE);
    }
    if (found) {
        *size -= KEY_SIZE;
        ig_cache_used_at(folder, name);
    } else {
        free(*bytes);
        *bytes = NULL;
    }
    close(folder);
    return found;
}

void ig_cache_entry_write(const char *root, const char *hex, const void *bytes, size_t size,
                          uint64_t limit) {
    if (size > limit && limit) {
        return;
    }
    if (limit) {
        char name[IG_CACHE_NAME];
        const struct ig_bytes parts[] = {{bytes, size}, {hex, KEY_SIZE}};
        int folder = open_entry_folder(root, hex, true);
        if (folder < 0) {
            return;
        }
        entry_name(hex, name);
        bool written = ig_file_write_at(folder, name, parts, 2) == 0;
        close(folder);
        if (!written) {
            return;
        }
    }
    ig_cache_kept(root, size, limit);
}
