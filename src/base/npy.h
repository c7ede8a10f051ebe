/*
 * NumPy's .npy files: little-endian, C-order arrays of bool, 8- to 64-bit integers, f16 and
 * f32. Everything else is refused with a sentence that says what the file holds and what to do.
 * bfloat arrays travel as uint16, since NumPy has no such type.
 */
#ifndef INGOT_BASE_NPY_H
#define INGOT_BASE_NPY_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { IG_NPY_MAX_RANK = 32 };

struct ig_npy {
    ingot_scalar_type scalar;
    uint32_t rank; /* 0: a single value */
    uint64_t shape[IG_NPY_MAX_RANK];
    uint64_t count;   /* elements */
    const void *data; /* count * ig_scalar_size(scalar) bytes; may be unaligned */
    size_t data_size;
};

/* Reads an array out of `size` bytes, which must outlive it. `name` is for messages. */
ingot_status ig_npy_parse(const void *bytes, size_t size, const char *name, struct ig_npy *array,
                          struct ig_error *error);
/* Reads a file; *storage is malloc'ed and holds the data. */
ingot_status ig_npy_read(const char *path, struct ig_npy *array, void **storage,
                         struct ig_error *error);
/* Writes a file, whole or not at all. INGOT_SCALAR_BF16 is written as uint16. */
ingot_status ig_npy_write(const char *path, const struct ig_npy *array, struct ig_error *error);
/* "(2, 3)", as Python writes a shape; always terminated. */
void ig_npy_shape_text(const struct ig_npy *array, char *out, size_t size);

#endif
