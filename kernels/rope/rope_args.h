#ifndef INGOT_KERNELS_ROPE_ARGS_H
#define INGOT_KERNELS_ROPE_ARGS_H

#include "common/args.h"

enum { ROPE_DIMS = 3, ROPE_MAX_PAIRS = 512 };

/* Rows of x are numbered by three dimensions, outermost first; a SIMD-group takes `block` rows
 * along the last. The index of a row is the sum of its numbers times `index_strides`: it is the row
 * of the table, or, with `by_position`, where its position stands. Strides are in elements. */
struct rope_args {
    uint64_t extents[ROPE_DIMS];
    uint64_t x_strides[ROPE_DIMS];
    uint64_t out_strides[ROPE_DIMS];
    uint64_t index_strides[ROPE_DIMS];
    uint64_t blocks;     /* along the last dimension */
    uint64_t cos_stride; /* from row to row of the tables */
    uint64_t sin_stride;
    uint64_t table_rows;
    int64_t offset;         /* added to positions */
    uint32_t block;         /* rows */
    uint32_t pairs;         /* that are rotated */
    uint32_t rest;          /* elements behind them that are copied */
    uint32_t position_size; /* bytes of a position; 0: the index is the position */
    uint32_t by_position;
    float sign; /* -1 turns back */
};

/* A thread turns four neighbouring pairs of one position, of `block` heads. Strides, in
 * elements, are by batch, head and position. */
struct rope_wide_args {
    uint64_t x_strides[ROPE_DIMS];
    uint64_t out_strides[ROPE_DIMS];
    uint64_t index_strides[2]; /* by batch and position, as above */
    uint64_t cos_stride;
    uint64_t sin_stride;
    uint64_t table_rows;
    int64_t offset;
    uint32_t length; /* positions */
    uint32_t heads;
    uint32_t block;
    uint32_t pairs;
    uint32_t position_size;
    float sign;
};

/* With a table: a thread turns four or eight neighbouring pairs of one row, and a threadgroup
 * `lines` rows that follow each other along the last of three dimensions: batch, and the two others
 * as the host orders them. Nothing is 2^32 elements or more from the first. */
struct rope_lines_args {
    uint32_t x_strides[ROPE_DIMS];
    uint32_t out_strides[ROPE_DIMS];
    uint32_t index_strides[ROPE_DIMS];
    uint32_t cos_stride;
    uint32_t sin_stride;
    uint32_t table_rows;
    int64_t offset;
    uint32_t length;        /* along the last dimension */
    uint32_t lines;         /* of a threadgroup */
    uint32_t parts;         /* threads to a row */
    uint32_t parts_inverse; /* 65536 / parts, rounded up */
    uint32_t pairs;
    uint32_t position_size;
    float sign;
};

/* The table that a launch makes for itself. */
struct rope_angles_args {
    uint64_t rows;
    uint64_t length;     /* rows per batch; positions have two strides */
    uint64_t strides[2]; /* of positions, by batch and by row */
    int64_t offset;
    uint32_t pairs;
    uint32_t position_size;
};

#endif
