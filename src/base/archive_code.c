/*
 * What an archive holds for a kernel and a target, and its code as it is used.
 */
#include <stdlib.h>
#include <string.h>

#include "base/archive.h"
#include "base/pack.h"
#include "base/scalar.h"

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

/* A vector's numbers stand one behind the other; of three, filling is behind them. */
static void spell_value(const struct ig_constant *constant, const char *hex, struct ig_text *out) {
    ingot_scalar_type type = (ingot_scalar_type)constant->scalar;
    size_t size = ig_scalar_size(type);
    for (uint32_t i = 0; i < constant->components; i++) {
        uint8_t bytes[8] = {0};
        char text[64];
        for (size_t k = 0; k < size && hex[0] && hex[1]; k++, hex += 2) {
            const char digits[] = {hex[0], hex[1], '\0'};
            bytes[k] = (uint8_t)strtoul(digits, NULL, 16);
        }
        ig_scalar_print(type, bytes, text, sizeof text);
        bool is_bool = type == INGOT_SCALAR_BOOL;
        ig_text_printf(out, "%s%s", i ? "," : "", !is_bool ? text : *bytes ? "true" : "false");
    }
}

void ig_archive_spell_constants(const struct ig_archive *archive, const char *constants,
                                struct ig_text *out) {
    for (const char *at = constants; *at;) {
        char *hex;
        unsigned long index = strtoul(at, &hex, 10);
        hex += *hex == ':';
        size_t length = strcspn(hex, ";");
        const struct ig_constant *found = NULL;
        for (uint32_t i = 0; i < archive->constant_count && !found; i++) {
            const struct ig_constant *c = &archive->constants[i];
            found = c->index == index && 2 * (size_t)c->size == length ? c : NULL;
        }
        ig_text_puts(out, at == constants ? "" : ", ");
        if (found) {
            ig_text_printf(out, "%s=", found->name);
            spell_value(found, hex, out);
        } else {
            ig_text_append(out, at, (size_t)(hex - at) + length);
        }
        at = hex + length + (hex[length] == ';');
    }
}

const struct ig_code *ig_variant_code(const struct ig_variant *variant, const char *target) {
    for (uint32_t i = 0; i < variant->code_count; i++) {
        if (!strcmp(variant->codes[i].target, target)) {
            return &variant->codes[i];
        }
    }
    return NULL;
}
