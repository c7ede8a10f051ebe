/*
 * Lays an archive out as bytes. Requires a well-formed model (NULL strings count as "").
 * Deterministic: no clock, no addresses, equal strings stored once in order of first use.
 */
#include <stdlib.h>
#include <string.h>

#include "base/archive.h"
#include "base/archive_format.h"
#include "base/hash.h"
#include "base/pack.h"
#include "base/text.h"

struct writer {
    struct ig_text bytes, strings;
    uint32_t *slots; /* hash table of string offsets + 1 */
    size_t slot_count, string_count;
    bool failed, has_packed;
};

static void put_u32(struct writer *w, uint32_t value) {
    uint8_t b[4] = {(uint8_t)value, (uint8_t)(value >> 8), (uint8_t)(value >> 16),
                    (uint8_t)(value >> 24)};
    ig_text_append(&w->bytes, b, sizeof b);
}

static void put_u64(struct writer *w, uint64_t value) {
    put_u32(w, (uint32_t)value);
    put_u32(w, (uint32_t)(value >> 32));
}

static void patch(struct writer *w, size_t offset, uint64_t value, int width) {
    for (int i = 0; i < width; i++) {
        w->bytes.data[offset + (size_t)i] = (char)(value >> (8 * i));
    }
}

static void patch_u64(struct writer *w, size_t offset, uint64_t value) {
    patch(w, offset, value, 8);
}

static void align(struct writer *w, size_t alignment) {
    static const char zeros[IG_ARCHIVE_ALIGNMENT];
    size_t over = w->bytes.size % alignment;
    ig_text_append(&w->bytes, zeros, over ? alignment - over : 0);
}

static size_t hash_text(const char *text) {
    uint64_t h = 0xcbf29ce484222325u;
    for (; *text; text++) {
        h = (h ^ (unsigned char)*text) * 0x100000001b3u;
    }
    return (size_t)(h ^ h >> 29);
}

static bool grow_slots(struct writer *w) {
    size_t count = w->slot_count ? w->slot_count * 2 : 256;
    uint32_t *slots = calloc(count, sizeof *slots);
    if (!slots) {
        return false;
    }
    for (size_t i = 0; i < w->slot_count; i++) {
        if (w->slots[i]) {
            size_t h = hash_text(w->strings.data + w->slots[i] - 1) & (count - 1);
            while (slots[h]) {
                h = (h + 1) & (count - 1);
            }
            slots[h] = w->slots[i];
        }
    }
    free(w->slots);
    w->slots = slots;
    w->slot_count = count;
    return true;
}

/* The offset of the string in the table. */
static uint32_t intern(struct writer *w, const char *text) {
    text = text ? text : "";
    if (w->string_count * 2 >= w->slot_count && !grow_slots(w)) {
        w->failed = true;
        return 0;
    }
    size_t h = hash_text(text) & (w->slot_count - 1);
    for (; w->slots[h]; h = (h + 1) & (w->slot_count - 1)) {
        if (!strcmp(w->strings.data + w->slots[h] - 1, text)) {
            return w->slots[h] - 1;
        }
    }
    size_t offset = w->strings.size;
    ig_text_append(&w->strings, text, strlen(text) + 1);
    if (w->strings.failed || w->strings.size > UINT32_MAX / 2) {
        w->failed = true;
        return 0;
    }
    w->slots[h] = (uint32_t)offset + 1;
    w->string_count++;
    return (uint32_t)offset;
}

static void put_string(struct writer *w, const char *text) {
    put_u32(w, intern(w, text));
}

static void put_constants(struct writer *w, const struct ig_archive *a) {
    for (uint32_t i = 0; i < a->constant_count; i++) {
        const struct ig_constant *c = &a->constants[i];
        put_string(w, c->name);
        put_u32(w, c->index);
        put_u32(w, c->scalar);
        put_u32(w, c->components);
        put_u32(w, c->size);
        put_u32(w, c->required);
    }
}

static void put_variants(struct writer *w, const struct ig_archive *a) {
    uint32_t first_argument = 0, first_code = 0;
    for (uint32_t i = 0; i < a->variant_count; i++) {
        const struct ig_variant *v = &a->variants[i];
        put_string(w, v->kernel);
        put_string(w, v->constants);
        put_u32(w, v->max_threads);
        put_u32(w, v->static_threadgroup_bytes);
        put_u32(w, first_argument);
        put_u32(w, v->argument_count);
        put_u32(w, first_code);
        put_u32(w, v->code_count);
        first_argument += v->argument_count;
        first_code += v->code_count;
    }
}

static void put_arguments(struct writer *w, const struct ig_variant *v) {
    for (uint32_t i = 0; i < v->argument_count; i++) {
        const struct ig_argument *g = &v->arguments[i];
        put_string(w, g->name);
        put_string(w, g->type_name);
        put_u32(w, g->kind);
        put_u32(w, g->space);
        put_u32(w, g->index);
        put_u32(w, g->slot);
        put_u32(w, g->scalar);
        put_u32(w, g->components);
        put_u32(w, (g->is_reference ? IG_ARGUMENT_REFERENCE : 0u) |
                       (g->writable ? IG_ARGUMENT_WRITABLE : 0u) |
                       (g->active ? IG_ARGUMENT_ACTIVE : 0u) |
                       (g->unused ? IG_ARGUMENT_UNUSED : 0u) |
                       (g->optional ? IG_ARGUMENT_OPTIONAL : 0u));
        put_u32(w, 0);
        put_u64(w, g->type_size);
        put_u64(w, g->type_align);
    }
}

static void put_dependencies(struct writer *w, const struct ig_archive *a) {
    for (uint32_t i = 0; i < a->dependency_count; i++) {
        const struct ig_dependency *d = &a->dependencies[i];
        put_string(w, d->path);
        put_u32(w, 0);
        put_u64(w, d->size);
        ig_text_append(&w->bytes, d->digest, sizeof d->digest);
    }
}

/* Header, root and tables; *codes is where the code records start. */
static void put_tables(struct writer *w, const struct ig_archive *a, uint32_t argument_count,
                       uint32_t code_count, size_t *codes) {
    static const char zeros[IG_HEADER_BYTES];
    ig_text_append(&w->bytes, zeros, IG_HEADER_BYTES);
    put_u64(w, 0); /* place and size of the strings, filled in later */
    put_string(w, a->compiler);
    put_string(w, a->source_name);
    put_string(w, a->source);
    put_string(w, a->options);
    put_string(w, a->warnings);
    put_u32(w, a->kernel_count);
    put_u32(w, a->constant_count);
    put_u32(w, a->variant_count);
    put_u32(w, argument_count);
    put_u32(w, code_count);
    put_u32(w, a->dependency_count);
    align(w, IG_ARCHIVE_ALIGNMENT);
    for (uint32_t i = 0; i < a->kernel_count; i++) {
        put_string(w, a->kernels[i]);
    }
    put_constants(w, a);
    put_variants(w, a);
    for (uint32_t i = 0; i < a->variant_count; i++) {
        put_arguments(w, &a->variants[i]);
    }
    *codes = w->bytes.size;
    for (uint32_t i = 0; i < a->variant_count; i++) {
        for (uint32_t j = 0; j < a->variants[i].code_count; j++) {
            put_string(w, a->variants[i].codes[j].target);
            put_u32(w, 0);
            put_u64(w, 0);
            put_u64(w, 0);
        }
    }
    put_dependencies(w, a);
}

/* The code packed, if that is asked for and makes it smaller by an eighth at least. Text of a whole
 * library (source_text.h), which people may want to read, stays. */
static bool pack_code(const struct ig_archive *a, const struct ig_variant *variant,
                      const struct ig_code *code, struct ig_text *packed) {
    const bool is_text = !variant->kernel || !*variant->kernel;
    if (!a->packs_code || is_text || code->packed_size || code->size >= UINT32_MAX) {
        return false;
    }
    ig_pack(code->bytes, code->size, packed);
    return !packed->failed && packed->size < code->size - code->size / 8;
}

static void put_blob(struct writer *w, const struct ig_archive *a, const struct ig_variant *variant,
                     const struct ig_code *code, size_t record) {
    struct ig_text packed = {0};
    const void *bytes = code->bytes;
    size_t size = code->packed_size ? code->packed_size : code->size;
    if (pack_code(a, variant, code, &packed)) {
        bytes = packed.data;
        size = packed.size;
    }
    if (size != code->size) {
        w->has_packed = true;
        patch(w, record + 4, code->size, 4);
    }
    patch_u64(w, record + 8, w->bytes.size);
    patch_u64(w, record + 16, size);
    ig_text_append(&w->bytes, bytes, size);
    ig_text_free(&packed);
}

static void put_blobs(struct writer *w, const struct ig_archive *a, size_t record) {
    for (uint32_t i = 0; i < a->variant_count; i++) {
        for (uint32_t j = 0; j < a->variants[i].code_count; j++, record += IG_CODE_BYTES) {
            align(w, IG_ARCHIVE_ALIGNMENT);
            if (w->bytes.failed) {
                return;
            }
            put_blob(w, a, &a->variants[i], &a->variants[i].codes[j], record);
        }
    }
}

static void put_header(struct writer *w) {
    uint8_t *header = (uint8_t *)w->bytes.data;
    memcpy(header, IG_ARCHIVE_MAGIC, 8);
    header[8] = w->has_packed ? IG_ARCHIVE_VERSION : 1;
    patch_u64(w, 16, w->bytes.size);
    struct ig_hash hash;
    ig_hash_begin(&hash);
    ig_hash_bytes(&hash, header, IG_HEADER_DIGEST);
    ig_hash_bytes(&hash, header + IG_HEADER_DIGEST + 32, w->bytes.size - IG_HEADER_DIGEST - 32);
    ig_hash_end(&hash, header + IG_HEADER_DIGEST);
}

static void write_archive(struct writer *w, const struct ig_archive *a) {
    uint32_t argument_count = 0, code_count = 0;
    for (uint32_t i = 0; i < a->variant_count; i++) {
        argument_count += a->variants[i].argument_count;
        code_count += a->variants[i].code_count;
    }
    size_t codes;
    intern(w, "");
    put_tables(w, a, argument_count, code_count, &codes);
    size_t strings = w->bytes.size;
    ig_text_append(&w->bytes, w->strings.data, w->strings.size);
    if (w->bytes.failed || w->failed || strings > UINT32_MAX / 2) {
        w->failed = true;
        return;
    }
    patch_u64(w, IG_HEADER_BYTES, (uint64_t)w->strings.size << 32 | strings);
    put_blobs(w, a, codes);
    if (w->bytes.failed) {
        w->failed = true;
        return;
    }
    put_header(w);
}

ingot_status ig_archive_write(const struct ig_archive *archive, void **bytes, size_t *size,
                              struct ig_error *error) {
    struct writer w = {0};
    write_archive(&w, archive);
    ig_text_free(&w.strings);
    free(w.slots);
    if (w.failed) {
        ig_text_free(&w.bytes);
        return ig_fail(error, INGOT_OUT_OF_MEMORY,
                       "no memory for an archive of %u variants, or more than 2 GiB of text",
                       archive->variant_count);
    }
    *bytes = w.bytes.data;
    *size = w.bytes.size;
    return INGOT_OK;
}
