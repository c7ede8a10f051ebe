/* Any bytes into the archive reader. The checksum would stop almost every change, so the
 * header's size and digest are first made right for the bytes at hand. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/archive.h"
#include "base/archive_format.h"
#include "base/hash.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_CODE = 1 << 24 };

static size_t touch_string(const char *text) {
    return text ? strlen(text) : 0;
}

/* The code's bytes, where that many may still be unpacked: variants share pieces of code, and few
 * bytes can say that they are many times as many. */
static size_t touch_code(const struct ig_code *code, size_t *left) {
    struct ig_code plain;
    size_t total = 0;
    if (code->size > *left) {
        return 0;
    }
    *left -= code->size;
    if (ig_code_open(code, &plain, NULL)) {
        return 0;
    }
    for (size_t b = 0; b < plain.size; b++) {
        total += ((const uint8_t *)plain.bytes)[b];
    }
    ig_code_close(code, &plain);
    return total;
}

static size_t touch(const struct ig_archive *archive) {
    size_t left = MOST_CODE;
    size_t total = touch_string(archive->compiler) + touch_string(archive->source) +
                   touch_string(archive->source_name) + touch_string(archive->options) +
                   touch_string(archive->warnings);
    for (uint32_t i = 0; i < archive->kernel_count; i++) {
        total += touch_string(archive->kernels[i]);
    }
    for (uint32_t i = 0; i < archive->constant_count; i++) {
        total += touch_string(archive->constants[i].name);
    }
    for (uint32_t i = 0; i < archive->dependency_count; i++) {
        total += touch_string(archive->dependencies[i].path);
    }
    for (uint32_t i = 0; i < archive->variant_count; i++) {
        const struct ig_variant *v = &archive->variants[i];
        total += touch_string(v->kernel) + touch_string(v->constants);
        for (uint32_t a = 0; a < v->argument_count; a++) {
            total += touch_string(v->arguments[a].name) + touch_string(v->arguments[a].type_name);
        }
        for (uint32_t c = 0; c < v->code_count; c++) {
            total += touch_string(v->codes[c].target) + touch_code(&v->codes[c], &left);
        }
    }
    return total;
}

static void read_once(const uint8_t *data, size_t size) {
    struct ig_arena arena = {0};
    struct ig_archive archive;
    struct ig_error error = {0};
    if (ig_archive_length(data, size) > size) {
        abort();
    }
    if (!ig_archive_read(&arena, data, size, &archive, &error)) {
        if (touch(&archive) == SIZE_MAX) {
            abort();
        }
        if (archive.kernel_count) {
            ig_archive_find(&archive, archive.kernels[0], "");
        }
    } else if (!*ig_error_text(&error)) {
        abort();
    }
    ig_error_clear(&error);
    ig_arena_free(&arena);
}

static void put(uint8_t *out, uint64_t value, size_t width) {
    for (size_t i = 0; i < width; i++) {
        out[i] = (uint8_t)(value >> 8 * i);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    enum { SIZE_AT = 16, DIGEST_END = IG_HEADER_DIGEST + 32 };
    read_once(data, size);
    if (size < IG_HEADER_BYTES) {
        return 0;
    }
    uint8_t *copy = malloc(size);
    if (!copy) {
        return 0;
    }
    struct ig_hash hash;
    memcpy(copy, data, size);
    memcpy(copy, IG_ARCHIVE_MAGIC, 8);
    put(copy + 8, IG_ARCHIVE_VERSION, 4);
    put(copy + 12, 0, 4);
    put(copy + SIZE_AT, size, 8);
    put(copy + DIGEST_END, 0, 8);
    ig_hash_begin(&hash);
    ig_hash_bytes(&hash, copy, IG_HEADER_DIGEST);
    ig_hash_bytes(&hash, copy + DIGEST_END, size - DIGEST_END);
    ig_hash_end(&hash, copy + IG_HEADER_DIGEST);
    read_once(copy, size);
    free(copy);
    return 0;
}
