/*
 * Machine code of pipelines: what Metal keeps (MTLBinaryArchive) lies in the cache, in an archive
 * that has it as the code of a kernel. So the cache checks and counts it like all others, and
 * another process need not compile. A binary of another system or GPU is refused by Metal, and made
 * again.
 */
#include <stdlib.h>

#include "base/hash.h"
#include "runtime/metal/metal.h"

static const char target[] = "metal-binary";

void metal_binary_key(const struct metal_device *device, const uint8_t library[32],
                      const struct metal_pipeline_desc *desc, char hex[65]) {
    struct ig_hash hash;
    ig_hash_begin(&hash);
    ig_hash_string(&hash, target);
    ig_hash_u64(&hash, IG_ARCHIVE_VERSION);
    ig_hash_string(&hash, device->metal.name);
    ig_hash_string(&hash, device->metal.family);
    ig_hash_bytes(&hash, library, 32);
    ig_hash_string(&hash, desc->kernel);
    ig_hash_string(&hash, desc->constants);
    ig_cache_key_hex(&hash, hex);
}

struct ig_blob *metal_binary_find(const char *hex, struct ig_metal_binary *binary) {
    struct ig_blob *blob = NULL;
    if (ig_cache_find(hex, &blob, NULL) != INGOT_OK || !blob) {
        return NULL;
    }
    const struct ig_code *code =
        blob->archive.variant_count ? ig_variant_code(&blob->archive.variants[0], target) : NULL;
    if (code) {
        binary->bytes = code->bytes;
        binary->size = code->size;
    }
    return blob;
}

void metal_binary_keep(const char *hex, const char *kernel, struct ig_metal_binary *binary) {
    if (!binary->made) {
        return;
    }
    const struct ig_code code = {
        .target = target, .bytes = binary->made, .size = binary->made_size};
    const struct ig_variant variant = {
        .kernel = kernel, .constants = "", .max_threads = 1, .code_count = 1, .codes = &code};
    const struct ig_archive archive = {
        .compiler = "Metal's compiler",
        .source_name = kernel,
        .source = "",
        .options = "",
        .warnings = "",
        .kernel_count = 1,
        .variant_count = 1,
        .kernels = &kernel,
        .variants = &variant,
    };
    void *bytes = NULL;
    size_t size = 0;
    struct ig_blob *blob = NULL;
    if (ig_archive_write(&archive, &bytes, &size, NULL) == INGOT_OK &&
        ig_blob_create(bytes, size, &blob, NULL) == INGOT_OK) {
        ig_cache_keep(hex, blob);
    }
    ig_blob_release(blob);
    free(binary->made);
    binary->made = NULL;
}
