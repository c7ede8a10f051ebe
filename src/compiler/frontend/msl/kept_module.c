/*
 * What clang made of a text, kept in the cache folder: a program that asks for a kernel with many
 * values of its function constants has clang run once.
 *
 * Requires a precompiled header, whose name stands for clang, its flags and the prelude. Provides
 * clang's module and messages, also of a text that it refused, in an archive without kernels.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cache.h"
#include "base/hash.h"
#include "compiler/frontend/msl/clang.h"

#define MODULE "clang's module" /* instead of the name of a target */

void igc_kept_module_key(const struct igc_options *options, const char *pch, const char *cpp,
                         size_t size, char hex[65]) {
    struct ig_hash hash;
    uint8_t digest[32];
    ig_hash_begin(&hash);
    ig_hash_string(&hash, MODULE);
    ig_hash_u64(&hash, IG_ARCHIVE_VERSION);
    ig_hash_string(&hash, pch);
    ig_hash_string(&hash, options->source_name);
    ig_hash_u64(&hash, options->for_debuggers);
    ig_hash_string(&hash, options->root ? options->root : "");
    char *folder = options->for_debuggers ? getcwd(NULL, 0) : NULL;
    if (folder) { /* what names of files are relative to */
        ig_hash_string(&hash, folder);
        free(folder);
    }
    ig_hash_u64(&hash, size);
    ig_hash_bytes(&hash, cpp, size);
    ig_hash_end(&hash, digest);
    ig_hash_hex(digest, hex);
}

bool igc_kept_module_find(struct ig_arena *arena, const struct igc_options *options,
                          const char *hex, struct igc_clang_result *result) {
    struct ig_archive archive;
    char *bytes;
    size_t size;
    if (!ig_cache_entry_read(options->cache_dir, hex, &bytes, &size)) {
        return false;
    }
    const void *copy = ig_arena_copy(arena, bytes, size);
    free(bytes);
    if (!copy || ig_archive_read(arena, copy, size, &archive, NULL) != INGOT_OK ||
        archive.variant_count > 1) {
        return false;
    }
    const struct ig_code *module =
        archive.variant_count ? ig_variant_code(archive.variants, MODULE) : NULL;
    *result = (struct igc_clang_result){.ok = module != NULL, .messages = archive.warnings};
    if (module) {
        result->bitcode = module->bytes;
        result->bitcode_size = module->size;
    }
    return true;
}

void igc_kept_module_keep(const struct igc_options *options, const char *hex,
                          const struct igc_clang_result *result) {
    const struct ig_code module = {
        .target = MODULE, .bytes = result->bitcode, .size = result->bitcode_size};
    const struct ig_variant variant = {
        .kernel = "", .constants = "", .code_count = 1, .codes = &module};
    const struct ig_archive archive = {.compiler = "",
                                       .source_name = options->source_name,
                                       .source = "",
                                       .options = "",
                                       .warnings = result->messages,
                                       .variant_count = result->ok ? 1 : 0,
                                       .variants = &variant};
    void *bytes;
    size_t size;
    uint64_t limit;
    if (ig_cache_limit(&limit, NULL) == INGOT_OK && limit &&
        ig_archive_write(&archive, &bytes, &size, NULL) == INGOT_OK) {
        ig_cache_entry_write(options->cache_dir, hex, bytes, size, limit);
        free(bytes);
    }
}
