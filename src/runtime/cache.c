/*
 * The disk cache and the in-process memo: key → archive bytes.
 *
 * Requires keys that cover everything a result depends on except included files, which
 * the archive lists and ig_cache_find checks. Provides whole, checksummed, current archives or
 * nothing: a damaged, foreign or stale entry, or one that was made for another key, counts as
 * absent and is written again.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cache.h"
#include "base/file.h"
#include "base/hash.h"
#include "runtime/objects.h"

#define MEMO_ENTRIES 64
#define MEMO_BYTES   ((size_t)16 << 20)

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

/* ---- entries (base/cache.h) ---- */

static struct ig_blob *load(const char *hex) {
    char *root = ig_cache_folder(), *bytes = NULL;
    size_t size = 0;
    struct ig_blob *blob = NULL;
    if (root && ig_cache_entry_read(root, hex, &bytes, &size) &&
        ig_blob_create(bytes, size, &blob, NULL) == INGOT_OK &&
        !dependencies_current(&blob->archive)) {
        ig_blob_release(blob);
        blob = NULL;
    }
    free(root);
    return blob;
}

static void store(const char *hex, const struct ig_blob *blob, uint64_t limit) {
    char *root = ig_cache_folder();
    if (root) {
        ig_cache_entry_write(root, hex, blob->bytes, blob->size, limit);
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
