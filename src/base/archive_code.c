/*
 * What an archive holds for a kernel and a target, and its code as it is used.
 */
#include <stdlib.h>
#include <string.h>

#include "base/archive.h"
#include "base/pack.h"

const struct ig_variant *ig_archive_find(const struct ig_archive *archive, const char *kernel,
                                         const char *constants) {
    for (uint32_t i = 0; i < archive->variant_count; i++) {
        if (!strcmp(archive->variants[i].kernel, kernel) &&
            !strcmp(archive->variants[i].constants, constants)) {
            return &archive->variants[i];
        }
    }
    return NULL;
}

ingot_status ig_code_open(const struct ig_code *code, struct ig_code *plain,
                          struct ig_error *error) {
    *plain = *code;
    if (!code->packed_size) {
        return INGOT_OK;
    }
    void *bytes = malloc(code->size);
    if (!bytes) {
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for %zu bytes of code for %s",
                       code->size, code->target);
    }
    if (!ig_unpack(code->bytes, code->packed_size, bytes, code->size)) {
        free(bytes);
        return ig_fail(error, INGOT_BAD_ARCHIVE,
                       "the archive's code for %s (%zu packed bytes) does not unpack to %zu bytes",
                       code->target, code->packed_size, code->size);
    }
    plain->bytes = bytes;
    plain->packed_size = 0;
    return INGOT_OK;
}

void ig_code_close(const struct ig_code *code, struct ig_code *plain) {
    if (plain->bytes != code->bytes) {
        free((void *)(uintptr_t)plain->bytes);
    }
    *plain = (struct ig_code){0};
}

const struct ig_code *ig_variant_code(const struct ig_variant *variant, const char *target) {
    for (uint32_t i = 0; i < variant->code_count; i++) {
        if (!strcmp(variant->codes[i].target, target)) {
            return &variant->codes[i];
        }
    }
    return NULL;
}
