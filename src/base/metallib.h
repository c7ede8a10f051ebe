/*
 * Apple's compiled Metal libraries (.metallib): a container of functions, each a whole LLVM module
 * in bitcode.
 *
 * Layout, little-endian: "MTLB", versions, the file's size (u64 at 16), then offset and size of
 * four sections: the list of functions (24), public metadata (40), private metadata (56), bitcode
 * (72). The list is a count (u32) and that many entries; an entry is its size (u32) and tags: four
 * letters, a u16 length, as many bytes; ENDT ends it.
 *
 * The reader trusts nothing: every offset is checked against the file, and a library that is cut or
 * altered is refused with what was wrong and where. It copies nothing: names and modules point into
 * `bytes`.
 */
#ifndef INGOT_BASE_METALLIB_H
#define INGOT_BASE_METALLIB_H

#include "base/arena.h"
#include "base/error.h"

/* The values of a function's TYPE tag. */
enum ig_metallib_type {
    IG_METALLIB_VERTEX = 0,
    IG_METALLIB_FRAGMENT = 1,
    IG_METALLIB_KERNEL = 2,
    IG_METALLIB_UNQUALIFIED = 3,
    IG_METALLIB_VISIBLE = 4,
    IG_METALLIB_EXTERN = 5,
    IG_METALLIB_INTERSECTION = 6,
    IG_METALLIB_MESH = 7,
    IG_METALLIB_OBJECT = 8,
};

struct ig_metallib_function {
    const char *name; /* ends in a NUL */
    uint32_t type;    /* ig_metallib_type, or what a newer compiler writes */
    uint16_t air_major, air_minor, language_major, language_minor; /* 0: not said */
    const void *module; /* LLVM bitcode, with or without its wrapper */
    size_t module_size;
    const uint8_t *digest; /* SHA-256 of the module, by Apple's compiler; NULL: none */
};

struct ig_metallib {
    uint16_t file_major, file_minor; /* of the container's format */
    uint16_t os_major, os_minor;     /* the oldest system that runs it; 0: not said */
    size_t function_count;
    struct ig_metallib_function *functions; /* in the file's order; the arena's */
};

/* What the first bytes of a file say that it is; these alone know the magic numbers.
 * IG_METALLIB_START bytes are enough. A library; a file that may hold libraries (a Mach-O image of
 * 64 bits, a fat binary); a module of LLVM bitcode, with or without its wrapper. */
enum { IG_METALLIB_START = 4 };
bool ig_metallib_is(const void *bytes, size_t size);
bool ig_metallib_is_image(const void *bytes, size_t size);
bool ig_metallib_is_bitcode(const void *bytes, size_t size);
/* The first library at or after *at in any file (a Mach-O image, a fat binary): true with its place
 * and size. `bytes` that only look like one are passed over, and so is what macho.h knows to hold
 * no data. */
bool ig_metallib_find(const void *bytes, size_t size, size_t *at, size_t *length);
/* INGOT_BAD_ARCHIVE for bytes in which none is found, with what is wrong with one that they begin
 * as. */
ingot_status ig_metallib_none(const void *bytes, size_t size, struct ig_error *error);
/* INGOT_BAD_ARCHIVE with the reason for what is no whole library. */
ingot_status ig_metallib_read(struct ig_arena *arena, const void *bytes, size_t size,
                              struct ig_metallib *library, struct ig_error *error);
/* NULL when there is none of that name. */
const struct ig_metallib_function *ig_metallib_function(const struct ig_metallib *library,
                                                        const char *name);
/* "kernel", "vertex", …; "unknown" for types that are not listed above. */
const char *ig_metallib_type_name(uint32_t type);

#endif
