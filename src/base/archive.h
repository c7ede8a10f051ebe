/*
 * The .ingot archive: everything about a compiled Metal library, in one checksummed file.
 *
 * This header is the only thing that the compiler and the runtime share. The in-memory
 * model below is what both sides use; archive_write.c lays it out as bytes and
 * archive_read.c checks and reads it. The byte format is described in
 * docs/design/archive-format.md: a 64-byte header (magic "INGOT\r\n\x1a", format version, total
 * size, SHA-256 of the rest), a string table, fixed-size little-endian records, then blobs aligned
 * to 64. The reader trusts nothing: a file cut or changed at any byte is refused.
 */
#ifndef INGOT_BASE_ARCHIVE_H
#define INGOT_BASE_ARCHIVE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/text.h"

/* Of an archive with packed code; one without has version 1. */
#define IG_ARCHIVE_VERSION 2u

struct ig_argument {
    const char *name;
    const char *type_name; /* pointee as MSL spells it */
    uint32_t kind;         /* ingot_argument_kind */
    uint32_t space;        /* ingot_address_space */
    uint32_t index;        /* [[buffer(n)]] or [[threadgroup(n)]] after implicit numbering */
    uint32_t slot;         /* position in ingot_cpu_group.buffers (kind buffer) or in
                              .threadgroup_offsets (kind threadgroup) */
    uint64_t type_size, type_align;
    uint32_t scalar; /* ingot_scalar_type */
    uint32_t components;
    uint32_t is_reference, writable, active;
    uint32_t unused;   /* the code never reads it: it need not be bound */
    uint32_t optional; /* the code asks whether it is null: not bound, it is */
};

struct ig_constant {
    const char *name;
    uint32_t index;
    uint32_t scalar, components; /* ingot_scalar_type */
    uint32_t size;               /* bytes of a value */
    uint32_t required;
};

struct ig_code {
    const char *target; /* "x86-64-v3", "x86-64-v4", "sm_90", … */
    const void *bytes;  /* ELF shared object, PTX, cubin; packed: see ig_code_open */
    size_t size;        /* of the code as it is used */
    size_t packed_size; /* of `bytes` where they are packed; else 0 */
};

/* One kernel for one set of constants. */
struct ig_variant {
    const char *kernel;
    /* "" or "index:hexbytes" joined by ";" in ascending index: "0:01;7:00008040" */
    const char *constants;
    uint32_t max_threads; /* per threadgroup; 1024 unless the source says less */
    uint32_t static_threadgroup_bytes;
    uint32_t argument_count, code_count;
    const struct ig_argument *arguments; /* in declaration order, built-ins left out */
    const struct ig_code *codes;
};

/* A file that was included: a cache entry is stale when any has changed. */
struct ig_dependency {
    const char *path;
    uint64_t size;
    uint8_t digest[32];
};

struct ig_archive {
    const char *compiler;    /* "ingotc 0.1.0, LLVM 19.1.7" */
    const char *source_name; /* "softmax.metal" */
    const char *source;      /* after preprocessing with line markers, or "" */
    const char *options;     /* what a recompilation needs: "--fast-math --msl-version 310" */
    const char *warnings;
    uint32_t kernel_count, constant_count, variant_count, dependency_count;
    const char *const *kernels; /* every kernel of the library, in source order */
    const struct ig_constant *constants;
    const struct ig_variant *variants;
    const struct ig_dependency *dependencies;
    bool packs_code; /* for the writer: code is packed where that makes it smaller */
};

/* All strings and blobs of the result point into `bytes` or into the arena; `bytes` must
 * outlive it. */
ingot_status ig_archive_read(struct ig_arena *arena, const void *bytes, size_t size,
                             struct ig_archive *archive, struct ig_error *error);
/* Archives may follow each other in a file: the bytes of the first one. `size` where nothing that
 * looks like another archive follows it, which is for ig_archive_read to judge. */
size_t ig_archive_length(const void *bytes, size_t size);
/* malloc'ed bytes. Deterministic: the same model gives the same bytes. */
ingot_status ig_archive_write(const struct ig_archive *archive, void **bytes, size_t *size,
                              struct ig_error *error);
/* NULL when there is none. */
const struct ig_variant *ig_archive_find(const struct ig_archive *archive, const char *kernel,
                                         const char *constants);
/* A variant's constants as people write them: "flag=true, v=1,2,3". */
void ig_archive_spell_constants(const struct ig_archive *archive, const char *constants,
                                struct ig_text *out);
const struct ig_code *ig_variant_code(const struct ig_variant *variant, const char *target);

/* Code as it is used: `plain` points to the archive's bytes, or to memory that ig_code_close frees.
 */
ingot_status ig_code_open(const struct ig_code *code, struct ig_code *plain,
                          struct ig_error *error);
/* `plain` of `code`. */
void ig_code_close(const struct ig_code *code, struct ig_code *plain);

#endif
