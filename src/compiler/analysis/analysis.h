/*
 * What the vectoriser knows about a scalar kernel before it emits anything.
 *
 * Blocks are numbered in the order of emission: topological, each loop contiguous, header
 * first and latch last. All indices below are into that order.
 */
#ifndef INGOT_COMPILER_ANALYSIS_H
#define INGOT_COMPILER_ANALYSIS_H

#include "base/text.h"
#include "compiler/cpu/vectorise/emit.h"

#define IGV_NONE (~0u)

/* The shape of a value over the 32 lanes, from most to least known:
 *   UNIFORM   one scalar
 *   LINEAR    lane i holds scalar + i * stride (modulo the width; pointers in bytes)
 *   CHECKED   as LINEAR, provided that no 32-bit value it was zero-extended from wraps inside
 *             the SIMD-group. Only zext of a LINEAR i32 that cannot be shown not to wrap makes
 *             one; only add, sub, shl and mul by a constant, and getelementptr of UNIFORM,
 *             LINEAR and CHECKED operands pass it on; for all else it is VARYING. Phis and
 *             selects are never CHECKED.
 *   VARYING   one vector per chunk
 * A UNIFORM or LINEAR result is what the instruction gives on lane 0's scalars of its operands,
 * even where an operand is LINEAR and the result UNIFORM (tid / 32, tid < 32).
 */
enum igv_value_shape { IGV_V_UNIFORM, IGV_V_LINEAR, IGV_V_CHECKED, IGV_V_VARYING };

struct igv_value {
    LLVMValueRef value; /* an instruction of the kernel */
    unsigned block;
    enum igv_value_shape shape;
    long stride;         /* LINEAR, CHECKED */
    unsigned align_log2; /* UNIFORM, LINEAR integers: lane 0's scalar is a multiple of 2^this */
    bool no_wrap;        /* LINEAR i32: scalar + i * stride never wraps as unsigned in an
                            active lane, and lane 0's scalar is what lane 0 would hold */
    /* private memory (allocas and pointers into them), see prepare.c */
    unsigned private_granule; /* 0: not private, or contiguous per lane (lane stride = size of
                                 the alloca); 1, 2, 4, 8: lane-interleaved in granules of this
                                 many bytes: byte b of lane i is at (b/g)*32*g + i*g + b%g */
    void *emit;               /* the emission's own data */
};

struct igv_block {
    LLVMBasicBlockRef block;
    unsigned successor_count, successors[2]; /* equal successors are merged into one */
    unsigned predecessor_count;
    const unsigned *predecessors;
    unsigned idom;         /* immediate dominator; the entry's is itself */
    unsigned ipdom;        /* immediate post-dominator; the exit's is itself; IGV_NONE: none */
    unsigned loop;         /* innermost loop, or IGV_NONE */
    bool branch_divergent; /* its conditional branch depends on a non-uniform value */
    bool divergent;        /* may run with fewer lanes than entered the function; all
                              blocks of a divergent loop are */
    bool phis_divergent;   /* different lanes may arrive over different edges in one pass: phis
                              are VARYING and blended by edge masks, unless all incoming
                              values are one and the same. Also set at all exits of divergent
                              loops, where one edge brings lanes in different iterations */
    unsigned mask_of;      /* a block that dominates this one and always has the same mask
                              (control reconverges here); itself if none */
};

struct igv_loop {
    unsigned header, latch, preheader; /* one each: loop-simplify */
    unsigned parent;                   /* or IGV_NONE */
    unsigned first, last;              /* the blocks of the loop are exactly [first, last] */
    bool divergent;                    /* lanes may leave in different iterations */
};

struct igv_analysis {
    unsigned block_count, loop_count, value_count;
    struct igv_block *blocks;
    struct igv_loop *loops; /* outer loops before inner ones */
    struct igv_value *values;
    void *index; /* hash table LLVMValueRef → values[] */
};

/* Everything lives in the arena. Fails with INGOT_COMPILE_ERROR on irreducible or endless
 * control flow that prepare.c let through (it should not). */
ingot_status igv_analyse(struct ig_arena *arena, const struct igv_request *request,
                         struct igv_analysis *analysis, struct ig_error *error);
/* NULL for constants, globals and arguments, which are UNIFORM. */
struct igv_value *igv_value_of(const struct igv_analysis *analysis, LLVMValueRef value);
unsigned igv_block_of(const struct igv_analysis *analysis, LLVMBasicBlockRef block);
/* For `ingotc --emit shapes`: one line per instruction with its shape. */
void igv_analysis_print(const struct igv_analysis *analysis, struct ig_text *out);

/* prepare.c gives every threadgroup variable its place in the threadgroup's memory and notes
 * it in the global's section name, "ingot.tg.OFFSET". False: not such a variable. */
bool igv_threadgroup_offset(LLVMValueRef global, uint32_t *offset);

static inline bool igv_in_loop(const struct igv_loop *loop, unsigned block) {
    return block >= loop->first && block <= loop->last;
}

#endif
