/*
 * Where control flow splits lanes: the half of divergence that is about blocks. The other half is
 * about values: shapes.c for the vectoriser, uniformity.c for who only asks whether a value is
 * uniform. Each finds out which branches depend on the lane, which is told here, and asks here
 * which phis see lanes of several ways, and which values lanes take at different times.
 *
 * Where lanes that a branch has parted meet again is an option.
 *
 * IGV_MEET_IN_ITERATION, as the vectoriser runs them. A divergent branch sends labels, one per
 * successor, down the paths of one iteration of its loop. A block that two labels reach is a join:
 * lanes arrive there over different edges, so its phis are blended. If the back edge and the exits
 * of the loop do not all get the same label, lanes leave the loop in different iterations: the loop
 * is divergent, what it computed differs between the lanes afterwards (temporal divergence), and
 * its exits act as the successors of one divergent branch in the loop around it. Requires
 * igv_control_find's order of blocks.
 *
 * IGV_MEET_AT_POST_DOMINATOR, as hardware promises at best. All that the branch leads to before its
 * immediate post-dominator is divergent, and each block of it, with the post-dominator, a join.
 * What is computed there and used elsewhere is taken at different times. Works on any control flow.
 */
#include "compiler/analysis/analysis_internal.h"

/* ---- labels in one iteration ---------------------------------------------------------------- */
struct spread {
    struct igv_work *work;
    unsigned context; /* the loop whose iteration is walked, or IGV_NONE */
    unsigned outward; /* the one label that the back edge or an exit got so far */
    bool loop_divergent;
    unsigned first; /* lowest block with a label */
};

static bool has_label(const struct igv_work *work, unsigned block) {
    return work->label_of[block] == work->generation;
}

static void deliver(struct spread *spread, unsigned target, unsigned label) {
    struct igv_work *work = spread->work;
    struct igv_analysis *analysis = work->analysis;
    if (spread->context != IGV_NONE) {
        const struct igv_loop *loop = &analysis->loops[spread->context];
        if (target == loop->header || !igv_in_loop(loop, target)) {
            if (spread->outward == IGV_NONE) {
                spread->outward = label;
            } else if (spread->outward != label) {
                spread->loop_divergent = true;
            }
            return;
        }
    }
    if (!has_label(work, target)) {
        work->label_of[target] = work->generation;
        work->label[target] = label;
        if (target < spread->first) {
            spread->first = target;
        }
    } else if (work->label[target] != label) {
        work->label[target] = target;
        analysis->blocks[target].phis_divergent = true;
    }
}

/* Walks from the labelled blocks to `stop`, where all lanes are together again. */
static void walk(struct spread *spread, unsigned stop) {
    struct igv_work *work = spread->work;
    struct igv_analysis *analysis = work->analysis;
    unsigned end = spread->context == IGV_NONE ? analysis->block_count - 1
                                               : analysis->loops[spread->context].last;
    for (unsigned b = spread->first; b != IGV_NONE && b <= end && b != stop; b++) {
        struct igv_block *block = &analysis->blocks[b];
        if (!has_label(work, b)) {
            continue;
        }
        block->divergent = true;
        for (unsigned s = 0; s < block->successor_count; s++) {
            unsigned to = block->successors[s];
            bool own_back_edge =
                spread->context != IGV_NONE && to == analysis->loops[spread->context].header;
            if (to > b || own_back_edge) {
                deliver(spread, to, work->label[b]);
            }
        }
    }
}

static void loop_diverges(struct igv_analysis *analysis, unsigned number) {
    struct igv_loop *loop = &analysis->loops[number];
    if (loop->divergent) {
        return;
    }
    loop->divergent = true;
    for (unsigned b = loop->first; b <= loop->last; b++) {
        analysis->blocks[b].divergent = true;
    }
    const struct igi_edges *exits = &analysis->loop_exits;
    for (unsigned e = exits->start[number]; e < exits->start[number + 1]; e++) {
        analysis->blocks[exits->target[e]].phis_divergent = true;
    }
}

static void split(struct igv_work *work, unsigned context, const unsigned *targets, unsigned count,
                  unsigned stop) {
    struct spread spread = {
        .work = work, .context = context, .outward = IGV_NONE, .first = IGV_NONE};
    work->generation++;
    for (unsigned i = 0; i < count; i++) {
        deliver(&spread, targets[i], targets[i]);
    }
    walk(&spread, stop);
    if (spread.loop_divergent) {
        loop_diverges(work->analysis, context);
    }
}

/* Loops that have become divergent part lanes in the loops around them: inner loops first, so that
 * one round carries a divergence outwards. */
static bool leave_loops(struct igv_work *work) {
    struct igv_analysis *analysis = work->analysis;
    bool changed = false;
    for (unsigned l = analysis->loop_count; l-- > 0;) {
        const struct igv_loop *loop = &analysis->loops[l];
        if (work->loop_done[l] || !loop->divergent) {
            continue;
        }
        work->loop_done[l] = changed = true;
        const struct igi_edges *exits = &analysis->loop_exits;
        unsigned stop = analysis->rejoin[loop->header];
        while (igv_in_loop(loop, stop)) {
            stop = analysis->rejoin[stop];
        }
        split(work, loop->parent, exits->target + exits->start[l],
              exits->start[l + 1] - exits->start[l], stop);
    }
    return changed;
}

/* ---- all that a branch leads to ------------------------------------------------------------- */
static void reach(struct igv_work *work, unsigned block) {
    if (!has_label(work, block)) {
        work->label_of[block] = work->generation;
        work->region[work->region_count++] = block;
    }
}

/* Leaves the blocks in `region`, labelled. */
static void spread_to_post_dominator(struct igv_work *work, unsigned block) {
    struct igv_analysis *analysis = work->analysis;
    unsigned meeting = analysis->blocks[block].ipdom;
    bool meets = meeting < analysis->block_count;
    work->generation++;
    work->region_count = 0;
    if (meets) {
        work->label_of[meeting] = work->generation;
        analysis->blocks[meeting].phis_divergent = true;
    }
    for (unsigned s = 0; s < analysis->blocks[block].successor_count; s++) {
        reach(work, analysis->blocks[block].successors[s]);
    }
    for (unsigned head = 0; head < work->region_count; head++) {
        struct igv_block *at = &analysis->blocks[work->region[head]];
        at->divergent = at->phis_divergent = true;
        for (unsigned s = 0; s < at->successor_count; s++) {
            reach(work, at->successors[s]);
        }
    }
    if (meets) {
        work->label_of[meeting] = work->generation - 1;
    }
}

/* ---- the two together -------------------------------------------------------------------------
 */
ingot_status igv_divergence_start(struct igv_work *work) {
    const struct igv_analysis *analysis = work->analysis;
    work->loop_done = ig_arena_array(work->arena, analysis->loop_count + 1u, sizeof(bool));
    work->label = ig_arena_array(work->arena, analysis->block_count, sizeof(unsigned));
    work->label_of = ig_arena_array(work->arena, analysis->block_count, sizeof(unsigned));
    work->region = ig_arena_array(work->arena, analysis->block_count, sizeof(unsigned));
    return work->loop_done && work->label && work->label_of && work->region
               ? INGOT_OK
               : igi_out_of_memory(work->error);
}

void igv_branch_diverges(struct igv_work *work, unsigned number) {
    struct igv_block *block = &work->analysis->blocks[number];
    block->branch_divergent = true;
    if (work->options.meeting == IGV_MEET_AT_POST_DOMINATOR) {
        spread_to_post_dominator(work, number);
    } else {
        split(work, block->loop, block->successors, block->successor_count,
              work->analysis->rejoin[number]);
    }
}

bool igv_in_region(const struct igv_work *work, unsigned block) {
    return has_label(work, block);
}

static bool condition_varies(const struct igv_analysis *analysis, const struct igv_block *block) {
    LLVMValueRef condition = LLVMGetCondition(LLVMGetBasicBlockTerminator(block->block));
    const struct igv_value *value = igv_value_of(analysis, condition);
    return value && value->shape != IGV_V_UNIFORM;
}

bool igv_divergence_step(struct igv_work *work) {
    struct igv_analysis *analysis = work->analysis;
    bool changed = false;
    for (unsigned b = 0; b < analysis->block_count; b++) {
        const struct igv_block *block = &analysis->blocks[b];
        if (!block->branch_divergent && block->successor_count == 2 &&
            condition_varies(analysis, block)) {
            igv_branch_diverges(work, b);
            changed = true;
        }
    }
    return leave_loops(work) || changed;
}

/* ---- blocks with the mask of a dominator ---------------------------------------------------- */
void igv_masks_alias(struct igv_analysis *analysis) {
    for (unsigned b = 0; b < analysis->block_count; b++) {
        struct igv_block *block = &analysis->blocks[b];
        block->mask_of = block->divergent ? b : 0; /* not divergent: whoever entered the kernel */
        if (!block->divergent) {
            continue;
        }
        if (igv_is_header(analysis, b)) {
            const struct igv_loop *loop = &analysis->loops[block->loop];
            if (!loop->divergent) {
                block->mask_of = analysis->blocks[loop->preheader].mask_of;
            }
            continue;
        }
        unsigned above = block->idom;
        while (analysis->blocks[above].loop != block->loop && above != 0) {
            above = analysis->blocks[above].idom;
        }
        if (above != b && analysis->blocks[above].loop == block->loop &&
            igv_rejoins(analysis, above, b)) {
            block->mask_of = analysis->blocks[above].mask_of;
        }
    }
}
