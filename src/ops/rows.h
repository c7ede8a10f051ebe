/*
 * For the host code of operations over rows (kernels/common/rows.h): checks of matrices whose rows
 * are dense, the knobs that all of them have, and the grid.
 */
#ifndef INGOT_OPS_ROWS_H
#define INGOT_OPS_ROWS_H

#include "ops/call.h"

/* The knobs of a row operation: these three, then `keep` or `parts`, and behind `keep` perhaps
 * `stay`. */
enum {
    IGO_ROW_SIMD,
    IGO_ROW_ROWS,
    IGO_ROW_VEC,
    IGO_ROW_KEEP,
    IGO_ROW_PARTS = IGO_ROW_KEEP,
    IGO_ROW_STAY
};
/* least_simds: 0 where a thread may have a row for itself, else 1. */
#define IGO_ROW_KNOBS(least_simds)                                                                 \
    {.name = "simd",                                                                               \
     .help = "SIMD-groups that share a row; 0: a thread has one for itself",                       \
     .fallback = 1,                                                                                \
     .minimum = least_simds,                                                                       \
     .maximum = 32,                                                                                \
     .power_of_two = true},                                                                        \
        {.name = "rows",                                                                           \
         .help = "rows of a threadgroup, when a SIMD-group does a whole one",                      \
         .fallback = 4,                                                                            \
         .minimum = 1,                                                                             \
         .maximum = 32,                                                                            \
         .power_of_two = true},                                                                    \
    {                                                                                              \
        .name = "vec",                                                                             \
        .help = "4: a thread loads four neighbours at once where rows are aligned; 1: it does "    \
                "not",                                                                             \
        .fallback = 1, .minimum = 1, .maximum = 4, .power_of_two = true                            \
    }
#define IGO_ROW_KNOB_KEEP(most)                                                                    \
    {.name = "keep",                                                                               \
     .help = "blocks of four elements that a thread keeps, so that a row of so many is read once", \
     .fallback = 0,                                                                                \
     .minimum = 0,                                                                                 \
     .maximum = most}
#define IGO_ROW_KNOB_STAY                                                                          \
    {.name = "stay",                                                                               \
     .help = "MiB of x from which loads ask the second cache to keep it, so that results leave "   \
             "that first; 0: they never do",                                                       \
     .fallback = 0,                                                                                \
     .minimum = 0,                                                                                 \
     .maximum = 65536}
#define IGO_ROW_KNOB_PARTS                                                                         \
    {.name = "parts",                                                                              \
     .help = "parts of the rows that are summed apart and then together",                          \
     .fallback = 32,                                                                               \
     .minimum = 1,                                                                                 \
     .maximum = 4096,                                                                              \
     .power_of_two = true}

/* What the descriptions of row operations have in common. */
#define IGO_ROW_OPERATION                                                                          \
    .family = "rows", .limits = "dense rows, one stride apart", .types = IGO_FLOATS

/* The rows that an operation walks, described by its first tensor. */
struct igo_matrix {
    const char *name;
    const ingot_tensor *tensor;
    uint64_t rows;
    uint32_t columns;
    bool aligned;    /* the rows of all tensors so far start at a multiple of four elements */
    bool aligned_16; /* and of 16 bytes */
    uint32_t kept;   /* blocks that the kernel keeps; igo_matrix_keep sets it */
    uint32_t simds;  /* SIMD-groups of a row, if not the knob's; igo_matrix_fill sets it */
};

/* Checks the tensor and takes its last dimension as the row. Returns the stride of its rows in
 * elements; those of an output may not overlap. */
uint64_t igo_matrix_begin(struct igo_call *call, struct igo_matrix *matrix, const char *name,
                          const ingot_tensor *tensor, uint32_t types, bool output);
/* Another tensor of the same shape and of one of the types (0: of the same). */
uint64_t igo_matrix_more(struct igo_call *call, struct igo_matrix *matrix, const char *name,
                         const ingot_tensor *tensor, uint32_t types, bool output);
/* A dense vector along the row, of the matrix's type or float32. */
bool igo_matrix_vector(struct igo_call *call, struct igo_matrix *matrix, const char *name,
                       const ingot_tensor *tensor);
/* A dense float32 number per row, in the matrix's shape without the last dimension. */
bool igo_matrix_column(struct igo_call *call, const struct igo_matrix *matrix, const char *name,
                       const ingot_tensor *tensor);
/* Tensors by name, NULLs skipped: every output is apart from the other outputs and from the inputs,
 * or the same view as an input that is `in_place`. */
struct igo_named {
    const char *name;
    const ingot_tensor *tensor;
    bool in_place;
};
bool igo_apart(struct igo_call *call, const struct igo_named *outputs, size_t output_count,
               const struct igo_named *inputs, size_t input_count);
/* The eps of a norm: `given`, or `fallback` when that is 0; it must not be negative or infinite. */
float igo_row_eps(struct igo_call *call, float given, float fallback);

/* Looks the knobs up for the class "rowN". */
bool igo_matrix_policy(struct igo_call *call, const struct igo_matrix *matrix);
/* How many blocks to keep: the largest of the kernel's numbers (ascending) that the knob allows, if
 * the row fits, or 0. */
uint32_t igo_matrix_keep(const struct igo_call *call, struct igo_matrix *matrix,
                         const uint32_t *numbers, size_t count);
/* After igo_matrix_keep, for kernels with variants of 3, 5, 6, 7 and 12 SIMD-groups: as many of
 * them share a row, instead of the next power of two, if it fills their blocks with vectors so. */
void igo_matrix_fill(const struct igo_call *call, struct igo_matrix *matrix);
/* What the name of a kernel has behind the blocks that it keeps in registers: "_part" for rows that
 * do not fill them with vectors (PART of kernels/common/rows.h). After igo_matrix_keep. */
const char *igo_matrix_part(const struct igo_call *call, const struct igo_matrix *matrix);
/* Whether the matrix is so large that loads of it ask caches to keep it (`stay`): for kernels of
 * rows that fill the blocks which threads keep in registers. After igo_matrix_keep. */
bool igo_matrix_stays(const struct igo_call *call, const struct igo_matrix *matrix);
/* The rows are summed in parts, and then the parts: from the knob and the shape alone, so that
 * results do not depend on the machine's load. */
struct igo_parts {
    uint64_t rows;  /* of a part */
    uint64_t count; /* parts */
};
struct igo_parts igo_matrix_parts(const struct igo_call *call, const struct igo_matrix *matrix);
/* Constants ROW_SIMDS and ROW_VECTOR, and the grid for `items` rows (or parts). */
void igo_launch_rows(const struct igo_call *call, struct igo_launch *launch,
                     const struct igo_matrix *matrix, uint64_t items);

#endif
