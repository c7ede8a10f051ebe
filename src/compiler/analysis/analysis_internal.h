/* What the files behind igv_analyse share; emission uses analysis.h only. */
#ifndef INGOT_COMPILER_ANALYSIS_INTERNAL_H
#define INGOT_COMPILER_ANALYSIS_INTERNAL_H

#include "compiler/analysis/analysis.h"

/* Adjacency as one array: the neighbours of n are target[start[n]] … target[start[n + 1] - 1]. */
struct igv_edges {
    unsigned *start;
    unsigned *target;
};

/* Open addressing by pointer; number is IGV_NONE in free places. */
struct igv_index {
    size_t capacity; /* a power of two */
    LLVMValueRef *keys;
    unsigned *numbers;
};

struct igv_indices {
    struct igv_index values, blocks;
};

struct igv_work {
    struct ig_arena *arena;
    const struct igv_request *request;
    struct igv_analysis *analysis;
    LLVMTargetDataRef layout;
    struct igv_edges loop_exits; /* by loop: the distinct blocks that its exit edges lead to */
    bool *visited;               /* by value: has a shape yet */
    bool *no_signed_wrap;        /* by value: LINEAR, exact as a signed number */
    bool *branch_done;           /* by block: the effect of its divergent branch is spread */
    bool *loop_done;             /* by loop: likewise for its exits */
    unsigned *rejoin;            /* by block: where all lanes of one iteration meet after it */
    unsigned *label, *label_of;  /* by block: scratch of divergence.c, valid if label_of matches */
    unsigned generation;
    struct ig_error *error;
};

ingot_status igv_out_of_memory(struct ig_error *error);

/* analysis.c */
bool igv_index_create(struct ig_arena *arena, struct igv_index *index, size_t entries);
void igv_index_put(struct igv_index *index, LLVMValueRef key, unsigned number);
unsigned igv_index_get(const struct igv_index *index, LLVMValueRef key);
/* Blocks, loops and dominators, without a look at values. */
ingot_status igv_control_find(struct igv_work *work);

/* cfg.c: blocks in reverse post-order; and, later, in the order of emission. */
ingot_status igv_cfg_build(struct igv_work *work);
ingot_status igv_cfg_order(struct igv_work *work);
ingot_status igv_cfg_predecessors(struct igv_work *work);
struct igv_edges igv_cfg_reverse(struct igv_work *work); /* start is NULL when memory is out */

/* dominators.c */
ingot_status igv_immediate_dominators(struct ig_arena *arena, unsigned count, unsigned root,
                                      const struct igv_edges *successors,
                                      const struct igv_edges *predecessors, unsigned *idom,
                                      struct ig_error *error);
ingot_status igv_dominators(struct igv_work *work);
ingot_status igv_post_dominators(struct igv_work *work);
bool igv_dominates(const struct igv_analysis *analysis, unsigned above, unsigned below);

/* loops.c */
ingot_status igv_loops_find(struct igv_work *work);
ingot_status igv_loop_exits_find(struct igv_work *work);
bool igv_is_header(const struct igv_analysis *analysis, unsigned block);

/* divergence.c; a step is true when anything changed. */
ingot_status igv_divergence_start(struct igv_work *work);
bool igv_divergence_step(struct igv_work *work);
void igv_masks_alias(struct igv_work *work);
/* All lanes at the end of block `from` get to block `at` in the same iteration. */
bool igv_rejoins(const struct igv_work *work, unsigned from, unsigned at);

/* shapes.c */
bool igv_shapes_step(struct igv_work *work);

/* ranges.c: the largest unsigned value, whatever lane; all ones when nothing is known. */
uint64_t igv_known_maximum(LLVMValueRef value);
uint64_t igv_type_maximum(LLVMTypeRef type);

/* private.c: sets private_granule of allocas and of all pointers into them. */
ingot_status igv_private_plan(struct igv_work *work);

#endif
