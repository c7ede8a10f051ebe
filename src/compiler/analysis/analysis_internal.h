/* What the files of analysis/ share; others use analysis.h only. */
#ifndef INGOT_COMPILER_ANALYSIS_INTERNAL_H
#define INGOT_COMPILER_ANALYSIS_INTERNAL_H

#include "compiler/analysis/analysis.h"

struct igv_work {
    struct ig_arena *arena;
    struct igv_options options;
    const struct igv_subject *subject; /* of shapes */
    struct igv_analysis *analysis;
    LLVMTargetDataRef layout;
    struct ig_error *error;
    /* shapes.c, by value: has a shape yet; LINEAR, exact as a signed number */
    bool *visited, *no_signed_wrap;
    /* divergence.c: by loop, its exits are dealt with; by block, a label, valid if label_of is
     * the current generation */
    bool *loop_done;
    unsigned *label, *label_of, generation;
    unsigned *region, region_count; /* blocks of the last spread to a post-dominator */
};

/* analysis.c */
ingot_status igv_collect_values(struct igv_work *work);

/* block_order.c: blocks of any function, with post-dominators; see igv_control_find. */
ingot_status igv_control_any(struct ig_arena *arena, LLVMValueRef function,
                             struct igv_analysis *analysis, struct ig_error *error);

/* divergence.c */
ingot_status igv_divergence_start(struct igv_work *work);
/* The branch at the end of the block depends on the lane. */
void igv_branch_diverges(struct igv_work *work, unsigned block);
/* Of the last such branch, where lanes meet at post-dominators. */
bool igv_in_region(const struct igv_work *work, unsigned block);
/* All branches whose condition has become divergent. True when anything changed. */
bool igv_divergence_step(struct igv_work *work);
void igv_masks_alias(struct igv_analysis *analysis);

/* shapes.c */
ingot_status igv_shapes_start(struct igv_work *work);
bool igv_shapes_step(struct igv_work *work);

/* private_layout.c: sets private_granule of allocas and of all pointers into them. */
ingot_status igv_private_plan(struct igv_work *work);

#endif
