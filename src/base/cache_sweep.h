/* What cache.c and cache_sweep.c share. */
#ifndef INGOT_BASE_CACHE_SWEEP_H
#define INGOT_BASE_CACHE_SWEEP_H

#include "base/cache.h"

#define IG_CACHE_LEDGER      "ledger"
#define IG_CACHE_TORCH_PROBE "torch-probe" /* written by python/ingot/_onednn.py */

/* The room that a file of that size takes: whole blocks of 4 KiB, one at least. */
uint64_t ig_cache_blocks(uint64_t size);

/* Looks through the folder and removes temporary files of the day before, headers unused for a
 * month and, when there is more than `limit`, what was used longest ago until `target` is left.
 * `all_temporary`: temporary files of any age. A folder without any file of the cache loses its
 * empty folders, its ledger and torch-probe. */
ingot_status ig_cache_sweep(const char *folder, uint64_t limit, uint64_t target, bool all_temporary,
                            struct ig_cache_summary *removed, struct ig_cache_summary *left,
                            struct ig_error *error);

#endif
