/* A product on its way through the host code: the operands as rows in memory, and what was chosen.
 */
#ifndef INGOT_KERNELS_MATMUL_PLAN_H
#define INGOT_KERNELS_MATMUL_PLAN_H

#include "matmul/matmul_args.h"
#include "ops/call.h"

enum { KNOB_TILE, KNOB_FEW, KNOB_TURN, KNOB_PACK, KNOB_SIMD, KNOB_FILL, KNOB_DEPTH, KNOB_WIDE };

/* A matrix as it lies in memory: rows of neighbours, `stride` apart. */
struct matmul_operand {
    const ingot_tensor *tensor;
    uint64_t stride, batch;
    bool transposed;
};

/* Kernels of GPUs by what a threadgroup makes: of matmul_strips.h, matmul_warpgroups.h,
 * matmul_floats.h and matmul_blocks_float.h. */
enum matmul_kind {
    MATMUL_STRIPS,
    MATMUL_LOOSE,
    MATMUL_WARPGROUPS,
    MATMUL_FLOATS,
    MATMUL_FLOAT_BLOCKS
};
struct matmul_shape;

struct matmul_plan {
    struct matmul_operand a, b, out;
    const ingot_tensor *bias;
    uint32_t block_rows;              /* of matmul_blocks.h, if that is used */
    const struct matmul_shape *shape; /* of GPUs, or NULL: then block_rows, or what CPUs have */
    uint32_t parts;                   /* of k, for the shape */
    bool warpgroups;                  /* the device has their kernels */
    bool lay_out;                     /* the operands, aligned, before the product */
    uint32_t pairs;                   /* columns of matmul_pairs.h at a time, if that is used */
    uint32_t panels;                  /* the same of matmul_panels.h */
    bool units;                       /* matmul_units.h is used, */
    bool units_rows;                  /* with the left side as it lies, */
    bool units_columns;               /* or with the right one */
    struct matmul_args args;
};

/* (a b)' = b' a' */
void igo_matmul_swap_operands(struct matmul_plan *plan);
bool igo_matmul_has_eights(const struct igo_call *call, const struct matmul_plan *plan);
/* Binds operands, bias, result and arguments, and dispatches; sums go to `sums` where k has parts.
 */
void igo_matmul_multiply(struct igo_call *call, const struct matmul_plan *plan,
                         struct igo_launch *launch, const ingot_tensor *a, const ingot_tensor *b,
                         ingot_buffer *sums);

/* ---- products of CPUs (matmul_cpu.c) ---- */

/* Sets plan->panels or plan->pairs, and may swap the operands, where that is better. */
void igo_matmul_choose_panels(struct igo_call *call, struct matmul_plan *plan);
void igo_matmul_choose_pairs(struct igo_call *call, struct matmul_plan *plan);
/* Sets plan->units likewise. */
void igo_matmul_choose_units(struct igo_call *call, struct matmul_plan *plan);
bool igo_matmul_is_packed(const struct igo_call *call, const struct matmul_args *args);
/* The kernel of a plan with panels, with pairs, or of packed operands. */
void igo_matmul_launch_panels(const struct matmul_plan *plan, struct igo_launch *launch);
void igo_matmul_launch_pairs(const struct matmul_plan *plan, struct igo_launch *launch);
void igo_matmul_launch_units(const struct matmul_plan *plan, struct igo_launch *launch);
void igo_matmul_launch_packed(const struct matmul_plan *plan, struct igo_launch *launch);
/* Lay operands out anew where that is needed, and multiply. */
void igo_matmul_multiply_panels(struct igo_call *call, struct matmul_plan *plan,
                                struct igo_launch *launch, ingot_buffer *sums);
void igo_matmul_multiply_pairs(struct igo_call *call, struct matmul_plan *plan,
                               struct igo_launch *launch, ingot_buffer *sums);
void igo_matmul_multiply_units(struct igo_call *call, struct matmul_plan *plan,
                               struct igo_launch *launch, ingot_buffer *sums);
void igo_matmul_multiply_packed(struct igo_call *call, struct matmul_plan *plan,
                                struct igo_launch *launch, ingot_buffer *sums);

/* ---- products of GPUs (matmul_gpu.c) ---- */

/* Sets plan->shape, and may swap the operands. */
void igo_matmul_choose_shape(struct igo_call *call, struct matmul_plan *plan);
void igo_matmul_launch_shape(const struct matmul_plan *plan, struct igo_launch *launch);
/* An operand as the plan's kernel has it bound: some read whole aligned pieces, from before its
 * first element on. */
ingot_tensor igo_matmul_bound(const struct matmul_plan *plan, const ingot_tensor *operand,
                              const struct matmul_pieces *pieces);
/* Lays the operands out anew if the plan says so; the caller releases the tensors. */
void igo_matmul_lay_out(struct igo_call *call, struct matmul_plan *plan, ingot_tensor laid_out[2]);
/* Chooses a kernel of blocks, if operands, sizes and the device allow one. */
bool igo_matmul_launch_blocks(struct igo_call *call, struct matmul_plan *plan,
                              struct igo_launch *launch);
/* Threadgroups that fill the device: those with blocks of 256 rows have a multiprocessor each. */
uint64_t igo_matmul_wanted_groups(const struct igo_call *call, uint32_t block_rows);

/* ---- helpers ---- */

enum { TILE_BY_COLUMNS = 2, TILE_PANELS = 6, TILE_UNITS = 7, TILE_ONLY_UNITS = 8 };

static inline uint32_t tile_knob(const struct igo_call *call) {
    const uint32_t tile = igo_knob(call, KNOB_TILE);
    return tile >= TILE_PANELS ? TILE_BY_COLUMNS : tile;
}

static inline bool uses_panels(const struct igo_call *call) {
    const uint32_t tile = igo_knob(call, KNOB_TILE);
    return tile == TILE_PANELS || tile == TILE_UNITS;
}

static inline uint32_t blocks(uint32_t extent, uint32_t size) {
    return extent / size + (extent % size != 0);
}

#endif
