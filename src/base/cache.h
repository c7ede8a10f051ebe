/*
 * The cache folder: how much it may hold, what lies in it, and keeping it below its limit.
 *
 * It holds ab/HEX.ingot (compiled kernels and what clang made of sources, each with its key behind
 * it), prelude/prelude-HEX.pch
 * (precompiled headers), their temporary files, `ledger` and `torch-probe`
 * (python/ingot/_onednn.py). Nothing else there is ever touched. A file's time of modification is
 * when it was last used.
 */
#ifndef INGOT_BASE_CACHE_H
#define INGOT_BASE_CACHE_H

#include "base/error.h"

#define IG_CACHE_UNLIMITED UINT64_MAX
#define IG_CACHE_LIMIT     ((uint64_t)1 << 30) /* without $INGOT_CACHE_LIMIT */

/* "500M", "2GiB", "1000" (bytes), "0" (nothing), "none" (no limit). `what` starts the message. */
ingot_status ig_cache_parse_limit(const char *what, const char *text, uint64_t *limit,
                                  struct ig_error *error);
/* What $INGOT_CACHE_LIMIT says. */
ingot_status ig_cache_limit(uint64_t *limit, struct ig_error *error);
/* The error of who needs a folder where ig_cache_folder has none. */
ingot_status ig_cache_no_folder(struct ig_error *error);

/* After a hit: notes that the file is in use, at most once an hour. */
void ig_cache_used(const char *path);
void ig_cache_used_at(int folder, const char *name);
enum { IG_CACHE_NAME = 64 + 6 + 1 }; /* of a compiled kernel's file: HEX.ingot */
/* After a file of `size` bytes was put into the folder: counts it, and now and then (the limit is
 * passed, or a day has gone by) removes what was used longest ago. Any number of threads
 * and processes may do so at once. Errors are silent: the cache is only a cache. With the limit 0
 * nothing should have been put there, and what there is goes. */
void ig_cache_kept(const char *folder, uint64_t size, uint64_t limit);

/* cache_entry.c: ab/HEX.ingot, some bytes and behind them the key that they were made for. */
/* False where there is none of that key; the bytes are malloc'ed. */
bool ig_cache_entry_read(const char *folder, const char *hex, char **bytes, size_t *size);
/* Counts what it wrote, as ig_cache_kept does. More bytes than the limit are not written. */
void ig_cache_entry_write(const char *folder, const char *hex, const void *bytes, size_t size,
                          uint64_t limit);

enum ig_cache_kind { IG_CACHE_KERNEL, IG_CACHE_HEADER, IG_CACHE_TEMPORARY, IG_CACHE_KINDS };

struct ig_cache_summary {
    uint64_t files[IG_CACHE_KINDS];
    uint64_t bytes[IG_CACHE_KINDS]; /* of whole blocks of 4 KiB */
    uint64_t all_files, all_bytes;
    int64_t oldest; /* the last use of the file used longest ago, in seconds since 1970; 0: none */
};

/* A folder that does not exist holds nothing. */
ingot_status ig_cache_survey(const char *folder, struct ig_cache_summary *held,
                             struct ig_error *error);
/* Removes what was used longest ago until `limit` bytes are left; 0 removes temporary files too.
 * On an error, which names the first file that could not be removed, the others are gone. */
ingot_status ig_cache_trim(const char *folder, uint64_t limit, struct ig_cache_summary *removed,
                           struct ig_cache_summary *left, struct ig_error *error);

#endif
