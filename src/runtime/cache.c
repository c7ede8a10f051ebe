/*
 * The disk cache and the in-process memo: key → archive bytes.
 *
 * Requires keys that cover everything a result depends on except included files, which
 * the archive lists and ig_cache_find checks. Provides whole, checksummed, current archives or
 * nothing: a damaged, foreign or stale entry, or one that was made for another key, counts as
 * absent and is written again. The folder's owner and mode are those of a descriptor, from which
 * everything else is opened, and no link is followed. Two
 * processes that store the same key both succeed, because a store is an atomic rename.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cache.h"
#include "base/file.h"
#include "base/hash.h"
#include "runtime/objects.h"

#define MEMO_ENTRIES 64
#define MEMO_BYTES   ((size_t)16 << 20)
#define MAX_ENTRY    ((size_t)1 << 30)
#define KEY_SIZE     ((size_t)64)

ingot_status ig_blob_create(char *bytes, size_t size, struct ig_blob **result,
                            struct ig_error *error) {
    *result = NULL;
    struct ig_blob *blob = calloc(1, sizeof *blob);
    if (!blob) {
        free(bytes);
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for an archive of %zu bytes", size);
    }
    atomic_init(&blob->references, 1);
    blob->bytes = bytes;
    blob->size = size;
    ingot_status status = ig_archive_read(&blob->arena, bytes, size, &blob->archive, error);
    if (status == INGOT_OK) {
        *result = blob;
    } else {
        ig_blob_release(blob);
    }
    return status;
}

void ig_blob_retain(struct ig_blob *blob) {
    ig_retain(&blob->references);
}

void ig_blob_release(struct ig_blob *blob) {
    if (blob && ig_release(&blob->references)) {
        ig_arena_free(&blob->arena);
        free(blob->bytes);
        free(blob);
    }
}

void ig_cache_key_hex(struct ig_hash *hash, char hex[65]) {
    uint8_t digest[32];
    ig_hash_end(hash, digest);
    ig_hash_hex(digest, hex);
}

/* True when every file that the compilation included is as it was then. */
static bool dependencies_current(const struct ig_archive *archive) {
    for (uint32_t i = 0; i < archive->dependency_count; i++) {
        const struct ig_dependency *dependency = &archive->dependencies[i];
        char *bytes = NULL;
        size_t size = 0;
        if (ig_file_read(dependency->path, 0, &bytes, &size, NULL) != INGOT_OK) {
            return false;
        }
        uint8_t digest[32];
        struct ig_hash hash;
        ig_hash_begin(&hash);
        ig_hash_bytes(&hash, bytes, size);
        ig_hash_end(&hash, digest);
        free(bytes);
        if (size != dependency->size || memcmp(digest, dependency->digest, sizeof digest) != 0) {
            return false;
        }
    }
    return true;
}

/* ---- entries: ab/abcdef….ingot, an archive and behind it the key that it was made for ---- */

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

/* The archive of an entry that was made for this key. */
static struct ig_blob *read_entry(int folder, const char *hex) {
    char name[IG_CACHE_NAME], *bytes = NULL;
    size_t size = 0;
    struct ig_blob *blob;
    entry_name(hex, name);
    if (ig_file_read_at(folder, name, MAX_ENTRY, &bytes, &size, NULL) != INGOT_OK) {
        return NULL;
    }
    if (size < KEY_SIZE || memcmp(bytes + size - KEY_SIZE, hex, KEY_SIZE) != 0) {
        free(bytes);
        return NULL;
    }
    if (ig_blob_create(bytes, size - KEY_SIZE, &blob, NULL) != INGOT_OK) {
        return NULL;
    }
    if (dependencies_current(&blob->archive)) {
        ig_cache_used_at(folder, name);
        return blob;
    }
    ig_blob_release(blob);
    return NULL;
}

static struct ig_blob *load(const char *hex) {
    char *root = ig_cache_folder();
    int folder = root ? open_entry_folder(root, hex, false) : -1;
    struct ig_blob *blob = folder >= 0 ? read_entry(folder, hex) : NULL;
    if (folder >= 0) {
        close(folder);
    }
    free(root);
    return blob;
}

static bool write_entry(const char *root, const char *hex, const struct ig_blob *blob) {
    char name[IG_CACHE_NAME];
    int folder = open_entry_folder(root, hex, true);
    if (folder < 0) {
        return false;
    }
    entry_name(hex, name);
    const struct ig_bytes parts[] = {{blob->bytes, blob->size}, {hex, KEY_SIZE}};
    bool written = ig_file_write_at(folder, name, parts, 2) == 0;
    close(folder);
    return written;
}

static void store(const char *hex, const struct ig_blob *blob, uint64_t limit) {
    char *root = ig_cache_folder();
    if (root && (!limit || (blob->size <= limit && write_entry(root, hex, blob)))) {
        ig_cache_kept(root, blob->size, limit);
    }
    free(root);
}

/* ---- the memo: a small ring, oldest out first ---- */

struct memo_entry {
    char hex[65];
    struct ig_blob *blob;
};

static pthread_mutex_t memo_lock = PTHREAD_MUTEX_INITIALIZER;
static struct memo_entry memo[MEMO_ENTRIES];
static size_t memo_next, memo_bytes;

__attribute__((constructor)) static void memo_guard(void) {
    static struct ig_fork_hook hook;
    ig_fork_guard_mutex(&hook, &memo_lock);
}

static struct ig_blob *memo_load(const char *hex) {
    struct ig_blob *blob = NULL;
    pthread_mutex_lock(&memo_lock);
    for (size_t i = 0; i < MEMO_ENTRIES && !blob; i++) {
        if (memo[i].blob && !strcmp(memo[i].hex, hex)) {
            blob = memo[i].blob;
        }
    }
    if (blob) {
        ig_blob_retain(blob);
    }
    pthread_mutex_unlock(&memo_lock);
    if (blob && !dependencies_current(&blob->archive)) {
        ig_blob_release(blob);
        blob = NULL;
    }
    return blob;
}

static void memo_drop(struct memo_entry *entry) {
    if (!entry->blob) {
        return;
    }
    memo_bytes -= entry->blob->size;
    ig_blob_release(entry->blob);
    entry->blob = NULL;
}

static void memo_store(const char *hex, struct ig_blob *blob) {
    if (blob->size > MEMO_BYTES / 4) {
        return;
    }
    pthread_mutex_lock(&memo_lock);
    for (size_t i = 0; i < MEMO_ENTRIES; i++) {
        if (memo[i].blob && !strcmp(memo[i].hex, hex)) {
            memo_drop(&memo[i]);
        }
    }
    for (size_t i = 0; i < MEMO_ENTRIES; i++) {
        struct memo_entry *oldest = &memo[(memo_next + i) % MEMO_ENTRIES];
        if (i == 0 || memo_bytes + blob->size > MEMO_BYTES) {
            memo_drop(oldest);
        }
    }
    struct memo_entry *entry = &memo[memo_next];
    memo_next = (memo_next + 1) % MEMO_ENTRIES;
    ig_blob_retain(blob);
    entry->blob = blob;
    memcpy(entry->hex, hex, sizeof entry->hex);
    memo_bytes += blob->size;
    pthread_mutex_unlock(&memo_lock);
}

/* Leak checkers see an empty memo at exit. */
__attribute__((destructor)) static void memo_clear(void) {
    pthread_mutex_lock(&memo_lock);
    for (size_t i = 0; i < MEMO_ENTRIES; i++) {
        memo_drop(&memo[i]);
    }
    pthread_mutex_unlock(&memo_lock);
}

/* ---- both ---- */

ingot_status ig_cache_find(const char *hex, struct ig_blob **blob, struct ig_error *error) {
    uint64_t limit;
    *blob = NULL;
    ingot_status status = ig_cache_limit(&limit, error);
    if (status != INGOT_OK) {
        return status;
    }
    *blob = memo_load(hex);
    if (!*blob && limit && (*blob = load(hex))) {
        memo_store(hex, *blob);
    }
    return INGOT_OK;
}

void ig_cache_keep(const char *hex, struct ig_blob *blob) {
    uint64_t limit;
    if (ig_cache_limit(&limit, NULL) == INGOT_OK) {
        store(hex, blob, limit);
    }
    memo_store(hex, blob);
}
