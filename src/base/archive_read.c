/*
 * Checks and reads an archive. Trusts nothing: sizes, counts, offsets and strings are checked
 * against the bytes that are there before anything is used, also when the digest is right.
 */
#include <inttypes.h>
#include <string.h>

#include "base/archive.h"
#include "base/archive_format.h"
#include "base/hash.h"

enum { MOST_UNPACKED = 255 }; /* bytes from one packed byte, of long repetitions */

struct reader {
    const uint8_t *bytes;
    uint64_t size, at; /* at: the next record */
    struct ig_arena *arena;
    const char *strings;
    uint32_t strings_size;
    struct ig_error *error;
};

static uint32_t get_u32(const uint8_t *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint64_t get_u64(const uint8_t *p) {
    return get_u32(p) | (uint64_t)get_u32(p + 4) << 32;
}

size_t ig_archive_length(const void *bytes, size_t size) {
    const uint8_t *p = bytes;
    if (size < IG_HEADER_BYTES || memcmp(p, IG_ARCHIVE_MAGIC, 8)) {
        return size;
    }
    const uint64_t length = get_u64(p + 16);
    const bool followed = length >= IG_HEADER_BYTES && length < size && size - length >= 8 &&
                          !memcmp(p + length, IG_ARCHIVE_MAGIC, 8);
    return followed ? (size_t)length : size;
}

#define BAD(r, ...) ig_fail((r)->error, INGOT_BAD_ARCHIVE, __VA_ARGS__)

static ingot_status check_header(const struct reader *r) {
    const uint8_t *p = r->bytes;
    if (r->size < 8 || memcmp(p, IG_ARCHIVE_MAGIC, 8)) {
        return BAD(r, "not an ingot archive: it does not start with the archive's magic bytes");
    }
    if (r->size < IG_HEADER_BYTES + IG_ROOT_BYTES) {
        return BAD(r, "the archive is cut short: it has %" PRIu64 " bytes, its header needs %d",
                   r->size, IG_HEADER_BYTES + IG_ROOT_BYTES);
    }
    if (!get_u32(p + 8) || get_u32(p + 8) > IG_ARCHIVE_VERSION) {
        return BAD(r, "the archive has format version %u, this ingot reads versions 1 to %u",
                   get_u32(p + 8), IG_ARCHIVE_VERSION);
    }
    if (get_u64(p + 16) != r->size) {
        return BAD(r,
                   "the archive is cut short or extended: it has %" PRIu64
                   " bytes, its header says %" PRIu64,
                   r->size, get_u64(p + 16));
    }
    struct ig_hash hash;
    uint8_t digest[32];
    ig_hash_begin(&hash);
    ig_hash_bytes(&hash, p, IG_HEADER_DIGEST);
    ig_hash_bytes(&hash, p + IG_HEADER_DIGEST + 32, r->size - IG_HEADER_DIGEST - 32);
    ig_hash_end(&hash, digest);
    if (memcmp(digest, p + IG_HEADER_DIGEST, 32)) {
        return BAD(r, "the archive is damaged: its checksum does not match its content");
    }
    return INGOT_OK;
}

/* Finds the string table; every string ends inside it because its last byte is NUL. */
static ingot_status check_strings(struct reader *r, const uint8_t *root) {
    uint64_t offset = get_u32(root + 4 * IG_ROOT_STRINGS_OFFSET);
    uint64_t size = get_u32(root + 4 * IG_ROOT_STRINGS_SIZE);
    if (offset > r->size || size > r->size - offset || !size || r->bytes[offset + size - 1]) {
        return BAD(r,
                   "the archive's string table (%" PRIu64 " bytes at %" PRIu64
                   ") is not inside its %" PRIu64 " bytes or does not end in NUL",
                   size, offset, r->size);
    }
    r->strings = (const char *)r->bytes + offset;
    r->strings_size = (uint32_t)size;
    return INGOT_OK;
}

static ingot_status get_string(const struct reader *r, const uint8_t *field, const char **out) {
    uint32_t offset = get_u32(field);
    if (offset >= r->strings_size) {
        return BAD(r, "the archive refers to a string at %u, its table has %u bytes", offset,
                   r->strings_size);
    }
    *out = r->strings + offset;
    return INGOT_OK;
}

/* Room for `count` records in the file (*records) and in memory (*out). */
static ingot_status open_table(struct reader *r, const char *what, uint32_t count,
                               size_t record_bytes, size_t item_bytes, const uint8_t **records,
                               void *out) {
    uint64_t needed = (uint64_t)count * record_bytes;
    if (needed > r->size - r->at) {
        return BAD(r,
                   "the archive says it has %u %s, which need %" PRIu64 " bytes; only %" PRIu64
                   " are left",
                   count, what, needed, r->size - r->at);
    }
    *records = r->bytes + r->at;
    r->at += needed;
    void *items = ig_arena_array(r->arena, count ? count : 1, item_bytes);
    if (!items) {
        return ig_fail(r->error, INGOT_OUT_OF_MEMORY, "no memory for %u %s of an archive", count,
                       what);
    }
    memcpy(out, &items, sizeof items);
    return INGOT_OK;
}

static ingot_status read_kernels(struct reader *r, struct ig_archive *a) {
    const uint8_t *p = NULL;
    const char **kernels = NULL;
    ingot_status status =
        open_table(r, "kernels", a->kernel_count, IG_KERNEL_BYTES, sizeof *kernels, &p, &kernels);
    for (uint32_t i = 0; !status && i < a->kernel_count; i++, p += IG_KERNEL_BYTES) {
        status = get_string(r, p, &kernels[i]);
    }
    a->kernels = status ? NULL : kernels;
    return status;
}

static ingot_status read_constants(struct reader *r, struct ig_archive *a) {
    const uint8_t *p = NULL;
    struct ig_constant *constants = NULL;
    ingot_status status = open_table(r, "function constants", a->constant_count, IG_CONSTANT_BYTES,
                                     sizeof *constants, &p, &constants);
    for (uint32_t i = 0; !status && i < a->constant_count; i++, p += IG_CONSTANT_BYTES) {
        struct ig_constant *c = &constants[i];
        status = get_string(r, p, &c->name);
        c->index = get_u32(p + 4);
        c->scalar = get_u32(p + 8);
        c->components = get_u32(p + 12);
        c->size = get_u32(p + 16);
        c->required = get_u32(p + 20);
        if (!status && (c->scalar > INGOT_SCALAR_F32 || c->size > 64)) {
            return BAD(r, "the archive's function constant %s has type %u and %u bytes", c->name,
                       c->scalar, c->size);
        }
    }
    a->constants = status ? NULL : constants;
    return status;
}

static ingot_status read_arguments(struct reader *r, uint32_t count, struct ig_argument **out) {
    const uint8_t *p = NULL;
    struct ig_argument *arguments = NULL;
    ingot_status status =
        open_table(r, "arguments", count, IG_ARGUMENT_BYTES, sizeof *arguments, &p, &arguments);
    for (uint32_t i = 0; !status && i < count; i++, p += IG_ARGUMENT_BYTES) {
        struct ig_argument *g = &arguments[i];
        status = get_string(r, p, &g->name);
        if (!status) {
            status = get_string(r, p + 4, &g->type_name);
        }
        g->kind = get_u32(p + 8);
        g->space = get_u32(p + 12);
        g->index = get_u32(p + 16);
        g->slot = get_u32(p + 20);
        g->scalar = get_u32(p + 24);
        g->components = get_u32(p + 28);
        uint32_t flags = get_u32(p + 32);
        g->is_reference = (flags & IG_ARGUMENT_REFERENCE) != 0;
        g->writable = (flags & IG_ARGUMENT_WRITABLE) != 0;
        g->active = (flags & IG_ARGUMENT_ACTIVE) != 0;
        g->unused = (flags & IG_ARGUMENT_UNUSED) != 0;
        g->optional = (flags & IG_ARGUMENT_OPTIONAL) != 0;
        g->type_size = get_u64(p + 40);
        g->type_align = get_u64(p + 48);
        bool known = (g->kind == INGOT_ARGUMENT_BUFFER || g->kind == INGOT_ARGUMENT_THREADGROUP) &&
                     g->scalar <= INGOT_SCALAR_F32;
        if (!status && (!known || g->slot >= count || g->index > 0xffff)) {
            return BAD(r, "the archive's argument %s has kind %u, type %u, slot %u and index %u",
                       g->name, g->kind, g->scalar, g->slot, g->index);
        }
    }
    *out = status ? NULL : arguments;
    return status;
}

static ingot_status read_codes(struct reader *r, uint32_t count, struct ig_code **out) {
    const uint8_t *p = NULL;
    struct ig_code *codes = NULL;
    ingot_status status =
        open_table(r, "pieces of code", count, IG_CODE_BYTES, sizeof *codes, &p, &codes);
    for (uint32_t i = 0; !status && i < count; i++, p += IG_CODE_BYTES) {
        status = get_string(r, p, &codes[i].target);
        if (status) {
            break;
        }
        uint64_t offset = get_u64(p + 8), size = get_u64(p + 16);
        if (offset > r->size || size > r->size - offset) {
            return BAD(r,
                       "the archive's code for %s (%" PRIu64 " bytes at %" PRIu64
                       ") is not inside its %" PRIu64 " bytes",
                       codes[i].target, size, offset, r->size);
        }
        const uint32_t unpacked = get_u32(p + 4);
        if (unpacked > size * MOST_UNPACKED) {
            return BAD(r,
                       "the archive's code for %s is said to have %u bytes, more than %" PRIu64
                       " packed ones can be",
                       codes[i].target, unpacked, size);
        }
        codes[i].bytes = r->bytes + offset;
        codes[i].size = unpacked ? unpacked : (size_t)size;
        codes[i].packed_size = unpacked ? (size_t)size : 0;
    }
    *out = status ? NULL : codes;
    return status;
}

/* Reads the variants, then the arguments and codes that they are slices of. */
static ingot_status read_variants(struct reader *r, struct ig_archive *a, uint32_t argument_count,
                                  uint32_t code_count) {
    const uint8_t *p = NULL;
    struct ig_variant *variants = NULL;
    struct ig_argument *arguments = NULL;
    struct ig_code *codes = NULL;
    ingot_status status = open_table(r, "variants", a->variant_count, IG_VARIANT_BYTES,
                                     sizeof *variants, &p, &variants);
    if (!status) {
        status = read_arguments(r, argument_count, &arguments);
    }
    if (!status) {
        status = read_codes(r, code_count, &codes);
    }
    for (uint32_t i = 0; !status && i < a->variant_count; i++, p += IG_VARIANT_BYTES) {
        struct ig_variant *v = &variants[i];
        status = get_string(r, p, &v->kernel);
        if (!status) {
            status = get_string(r, p + 4, &v->constants);
        }
        v->max_threads = get_u32(p + 8);
        v->static_threadgroup_bytes = get_u32(p + 12);
        uint32_t first_argument = get_u32(p + 16), first_code = get_u32(p + 24);
        v->argument_count = get_u32(p + 20);
        v->code_count = get_u32(p + 28);
        if (!status && (first_argument > argument_count || first_code > code_count ||
                        v->argument_count > argument_count - first_argument ||
                        v->code_count > code_count - first_code)) {
            return BAD(r, "the archive's kernel %s has arguments or code outside of its tables",
                       v->kernel);
        }
        v->arguments = arguments + first_argument;
        v->codes = codes + first_code;
        for (uint32_t j = 0; !status && j < v->argument_count; j++) {
            if (v->arguments[j].slot >= v->argument_count) {
                return BAD(r, "the archive's argument %s of kernel %s has slot %u of %u",
                           v->arguments[j].name, v->kernel, v->arguments[j].slot,
                           v->argument_count);
            }
        }
    }
    a->variants = status ? NULL : variants;
    return status;
}

static ingot_status read_dependencies(struct reader *r, struct ig_archive *a) {
    const uint8_t *p = NULL;
    struct ig_dependency *dependencies = NULL;
    ingot_status status = open_table(r, "included files", a->dependency_count, IG_DEPENDENCY_BYTES,
                                     sizeof *dependencies, &p, &dependencies);
    for (uint32_t i = 0; !status && i < a->dependency_count; i++, p += IG_DEPENDENCY_BYTES) {
        status = get_string(r, p, &dependencies[i].path);
        dependencies[i].size = get_u64(p + 8);
        memcpy(dependencies[i].digest, p + 16, 32);
    }
    a->dependencies = status ? NULL : dependencies;
    return status;
}

static ingot_status read_root_strings(const struct reader *r, const uint8_t *root,
                                      struct ig_archive *a) {
    const struct {
        int field;
        const char **out;
    } texts[] = {{IG_ROOT_COMPILER, &a->compiler},
                 {IG_ROOT_SOURCE_NAME, &a->source_name},
                 {IG_ROOT_SOURCE, &a->source},
                 {IG_ROOT_OPTIONS, &a->options},
                 {IG_ROOT_WARNINGS, &a->warnings}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        ingot_status status = get_string(r, root + 4 * texts[i].field, texts[i].out);
        if (status) {
            return status;
        }
    }
    return INGOT_OK;
}

ingot_status ig_archive_read(struct ig_arena *arena, const void *bytes, size_t size,
                             struct ig_archive *archive, struct ig_error *error) {
    memset(archive, 0, sizeof *archive);
    struct reader r = {.bytes = bytes, .size = size, .arena = arena, .error = error};
    ingot_status status = check_header(&r);
    if (status) {
        return status;
    }
    const uint8_t *root = r.bytes + IG_HEADER_BYTES;
    r.at = IG_HEADER_BYTES + IG_ROOT_BYTES;
    status = check_strings(&r, root);
    if (!status) {
        status = read_root_strings(&r, root, archive);
    }
    archive->kernel_count = get_u32(root + 4 * IG_ROOT_KERNELS);
    archive->constant_count = get_u32(root + 4 * IG_ROOT_CONSTANTS);
    archive->variant_count = get_u32(root + 4 * IG_ROOT_VARIANTS);
    archive->dependency_count = get_u32(root + 4 * IG_ROOT_DEPENDENCIES);
    if (!status) {
        status = read_kernels(&r, archive);
    }
    if (!status) {
        status = read_constants(&r, archive);
    }
    if (!status) {
        status = read_variants(&r, archive, get_u32(root + 4 * IG_ROOT_ARGUMENTS),
                               get_u32(root + 4 * IG_ROOT_CODES));
    }
    if (!status) {
        status = read_dependencies(&r, archive);
    }
    if (status) {
        memset(archive, 0, sizeof *archive);
    }
    return status;
}
