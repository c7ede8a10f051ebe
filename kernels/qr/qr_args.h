#ifndef INGOT_KERNELS_QR_ARGS_H
#define INGOT_KERNELS_QR_ARGS_H

#include "common/args.h"

/* Columns of a panel, and of a strip that one SIMD-group updates. */
#define QR_PANEL 32
/* The most rows of the form in products: 8 for each of 512 threads. */
#define QR_COLUMNS_ROWS 4096

struct qr_small_args {
    uint64_t batch;
    uint32_t rows, columns;
    uint32_t q_columns; /* also the rows of r */
    uint32_t want_q;
};

/* The matrix that is worked on is [batch, rows, columns], dense. */
struct qr_matrix_args {
    uint32_t rows, columns;
};

/* A panel: columns [first, first + width) of the work matrix, rows from `first` on. Its reflectors
 * are [batch, panel_rows, 32] in `v`, its triangular factor 32 x 32 in `t`. */
struct qr_panel_args {
    uint64_t v_stride, t_stride; /* between matrices of the batch */
    uint64_t v_first, t_first;   /* of this panel */
    uint32_t rows, columns;
    uint32_t first, width;
    uint32_t v_line; /* of reflectors by columns: from one to the next */
    uint32_t above;  /* rows of zeros before each */
};

/* target -= V op(T) (V' target), on rows from `first` on and columns from `from` on. */
struct qr_apply_args {
    uint64_t v_stride, t_stride;
    uint64_t v_first, t_first;
    uint64_t target_stride;
    uint32_t rows, columns; /* of the target */
    uint32_t first, from;
    uint32_t transposed; /* T' instead of T: applies the adjoint */
    uint32_t width;      /* reflectors in the panel */
};

struct qr_store_args {
    uint32_t rows, columns; /* of r */
    uint32_t source_rows;   /* rows below are zero */
    uint32_t reserved;
};

#endif
