/*
 * What is known of a scalar kernel's blocks and values over the threads that run it: one analysis
 * for all back ends, with options. igv_analyse_shapes is for the vectoriser, whose lanes run
 * together; igv_find_uniform for back ends whose lanes run apart. Where control splits lanes is
 * found by the same code (divergence.c); they differ in where lanes meet again, and in how much
 * is asked about values.
 *
 * Names begin with igv_: analyses of vectors of lanes, here and in the vectoriser.
 */
#ifndef INGOT_COMPILER_ANALYSIS_H
#define INGOT_COMPILER_ANALYSIS_H

#include <llvm-c/Target.h>

#include "base/text.h"
#include "compiler/ir/graph.h"

#define IGV_NONE IGI_NONE

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
    unsigned successor_count, predecessor_count;
    const unsigned *successors; /* equal successors are merged into one */
    const unsigned *predecessors;
    unsigned idom;         /* immediate dominator; the entry's is itself */
    unsigned ipdom;        /* immediate post-dominator; the exit's is itself. igv_find_uniform:
                              the number of blocks if only the end is one, IGV_NONE: no end */
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
    struct igi_map block_numbers, value_numbers;
    struct igi_edges loop_exits; /* by loop: the distinct blocks that its exit edges lead to */
    unsigned *rejoin;            /* by block: where all lanes of one iteration meet after it */
};

/* ---- options ---- */
/* The threads that are compared. */
enum igv_scope {
    IGV_AMONG_LANES,
    IGV_AMONG_SIMDGROUPS, /* equal lanes of the SIMD-groups of a threadgroup, if all are whole */
    IGV_AMONG_THREADS,    /* all threads of a threadgroup */
};

/* Where lanes that a branch has parted are together again; see divergence.c. */
enum igv_meeting { IGV_MEET_IN_ITERATION, IGV_MEET_AT_POST_DOMINATOR };

struct igv_options {
    enum igv_scope scope;
    enum igv_meeting meeting;
    bool volatile_loads_vary; /* atomic ones always do */
};

/* Can two lanes that do this at one address get different values? */
bool igv_reads_differ(const struct igv_options *options, LLVMValueRef instruction);

/* ---- shapes: what the vectoriser asks ---- */
/* The result of a call that is not LLVM's, as a back end makes it. */
enum igv_call_rule {
    IGV_CALL_VARYING,
    IGV_CALL_UNIFORM,       /* whatever the operands are; a multiple of 2^align_log2 */
    IGV_CALL_LINEAR,        /* a position: never wraps in an active lane, and lane 0 is below */
    IGV_CALL_BY_OPERANDS,   /* uniform if all operands are */
    IGV_CALL_BY_AN_OPERAND, /* uniform if at least one is */
};
struct igv_call_shape {
    enum igv_call_rule rule;
    long stride;
    unsigned align_log2;
};
struct igv_subject {
    LLVMModuleRef module;
    LLVMValueRef kernel;
    struct igv_call_shape (*call_shape)(const void *context, LLVMValueRef call);
    const void *context;
};

/* Everything lives in the arena. Blocks are numbered in the order of emission: topological, each
 * loop contiguous, header first and latch last. Fails with INGOT_COMPILE_ERROR on irreducible or
 * endless control flow that cpu/prepare let through (it should not). */
ingot_status igv_analyse_shapes(struct ig_arena *arena, const struct igv_subject *subject,
                                struct igv_analysis *analysis, struct ig_error *error);

/* ---- uniformity: what others ask ---- */
/* Takes any control flow, in the function's own order of blocks, and finds no loops. Values are
 * UNIFORM or VARYING. A block is `divergent` if not all threads of the scope that get to it do so
 * together. */
ingot_status igv_find_uniform(struct ig_arena *arena, LLVMValueRef function, enum igv_scope scope,
                              struct igv_analysis *analysis, struct ig_error *error);
/* May the value differ between threads of the scope? Not of constants, globals, arguments. */
bool igv_varies(const struct igv_analysis *analysis, LLVMValueRef value);
bool igv_is_divergent(const struct igv_analysis *analysis, LLVMBasicBlockRef block);
/* May lanes that are at the end of the block together go on to different ones? */
bool igv_branch_varies(const struct igv_analysis *analysis, LLVMBasicBlockRef block);

/* Does every way from `below` to a return pass `above`? Also if there is none. */
bool igv_post_dominates(const struct igv_analysis *analysis, unsigned above, unsigned below);

/* ---- blocks and loops alone ---- */
/* As igv_analyse_shapes numbers them, without a look at values. */
ingot_status igv_control_find(struct ig_arena *arena, LLVMValueRef function,
                              struct igv_analysis *analysis, struct ig_error *error);
/* After successors were taken away: predecessors, dominators and `rejoin` as they are now. A block
 * that control does not get to has no immediate dominator. */
ingot_status igv_control_update(struct ig_arena *arena, struct igv_analysis *analysis,
                                struct ig_error *error);
bool igv_is_header(const struct igv_analysis *analysis, unsigned block);
/* All lanes at the end of block `from` get to block `at` in the same iteration. */
bool igv_rejoins(const struct igv_analysis *analysis, unsigned from, unsigned at);

/* NULL for constants, globals and arguments, which are UNIFORM. */
struct igv_value *igv_value_of(const struct igv_analysis *analysis, LLVMValueRef value);
unsigned igv_block_of(const struct igv_analysis *analysis, LLVMBasicBlockRef block);
/* For `ingotc --emit shapes`: one line per instruction with its shape. */
void igv_analysis_print(const struct igv_analysis *analysis, struct ig_text *out);

/* ---- ranges ---- */
/* The largest unsigned value, whatever lane; all ones when nothing is known. */
uint64_t igv_known_maximum(LLVMValueRef value);
uint64_t igv_type_maximum(LLVMTypeRef type);

/* prepare.c gives every threadgroup variable its place in the threadgroup's memory and notes
 * it in the global's section name, "ingot.tg.OFFSET". False: not such a variable. */
bool igv_threadgroup_offset(LLVMValueRef global, uint32_t *offset);

static inline bool igv_in_loop(const struct igv_loop *loop, unsigned block) {
    return block >= loop->first && block <= loop->last;
}

#endif
