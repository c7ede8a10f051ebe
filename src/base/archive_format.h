/* The byte layout of an .ingot archive, shared by its writer and its reader; see
 * docs/design/archive-format.md.
 */
#ifndef INGOT_BASE_ARCHIVE_FORMAT_H
#define INGOT_BASE_ARCHIVE_FORMAT_H

#include <stdint.h>

#define IG_ARCHIVE_MAGIC     "INGOT\r\n\x1a"
#define IG_ARCHIVE_ALIGNMENT 64u

/* Byte sizes of the header and of each record; every field is little-endian. */
enum {
    IG_HEADER_BYTES = 64,     /* magic 8, version u32, zero u32, size u64, digest 32, zero 8 */
    IG_HEADER_DIGEST = 24,    /* the digest covers all bytes but itself */
    IG_ROOT_BYTES = 64,       /* right after the header */
    IG_KERNEL_BYTES = 4,      /* name */
    IG_CONSTANT_BYTES = 24,   /* name, index, scalar, components, size, required */
    IG_VARIANT_BYTES = 32,    /* kernel, constants, max threads, static bytes, and the first and
                                 the number of its arguments and codes */
    IG_ARGUMENT_BYTES = 56,   /* name, type, kind, space, index, slot, scalar, components,
                                 flags, zero, size u64, align u64 */
    IG_CODE_BYTES = 24,       /* target, size when unpacked or zero, offset u64, size u64 */
    IG_DEPENDENCY_BYTES = 48, /* path, zero, size u64, digest 32 */
};

/* The root: sixteen u32, the unused ones zero. Tables, strings and blobs follow in that order. */
enum {
    IG_ROOT_STRINGS_OFFSET,
    IG_ROOT_STRINGS_SIZE,
    IG_ROOT_COMPILER,
    IG_ROOT_SOURCE_NAME,
    IG_ROOT_SOURCE,
    IG_ROOT_OPTIONS,
    IG_ROOT_WARNINGS,
    IG_ROOT_KERNELS,
    IG_ROOT_CONSTANTS,
    IG_ROOT_VARIANTS,
    IG_ROOT_ARGUMENTS,
    IG_ROOT_CODES,
    IG_ROOT_DEPENDENCIES,
    IG_ROOT_FIELDS = 16,
};

enum {
    IG_ARGUMENT_REFERENCE = 1,
    IG_ARGUMENT_WRITABLE = 2,
    IG_ARGUMENT_ACTIVE = 4,
    IG_ARGUMENT_UNUSED = 8,
    IG_ARGUMENT_OPTIONAL = 16,
};

#endif
