/*
 * Where control flow splits the lanes of a SIMD-group.
 *
 * A divergent branch sends labels, one per successor, down the paths of one iteration of its
 * loop. A block that two labels reach is a join: lanes arrive there over different edges, so
 * its phis are blended. If the back edge and the exits of the loop do not all get the same
 * label, lanes leave the loop in different iterations: the loop is divergent, what it computed
 * differs between the lanes afterwards (temporal divergence, see shapes.c), and its exits act
 * as the successors of one divergent branch in the loop around it.
 *
 * Requires: the order of emission, loop exits, shapes of the branch conditions. Run
 * alternately with shapes.c until neither changes anything.
 */
#include "compiler/analysis/analysis_internal.h"

/* ---- where lanes meet again ------------------------------------------------------------------ */
/* Post-dominators of one iteration: back edges lead to the loop's exits instead, since a lane that
 * begins another iteration does not meet those that stay in this one. The graph is then acyclic,
 * and one pass from the last block to the first is enough. */
static unsigned meet_after(const unsigned *ipdom, unsigned a, unsigned b) {
    while (a != b) {
        if (a < b) {
            a = ipdom[a];
        } else {
            b = ipdom[b];
        }
    }
    return a;
}

ingot_status igv_divergence_start(struct igv_work *work) {
    const struct igv_analysis *analysis = work->analysis;
    unsigned *ipdom = ig_arena_array(work->arena, analysis->block_count, sizeof *ipdom);
    if (!ipdom) {
        return igv_out_of_memory(work->error);
    }
    work->rejoin = ipdom;
    const struct igv_edges *exits = &work->loop_exits;
    for (unsigned b = analysis->block_count; b-- > 0;) {
        const struct igv_block *block = &analysis->blocks[b];
        unsigned best = IGV_NONE;
        for (unsigned s = 0; s < block->successor_count; s++) {
            unsigned to = block->successors[s];
            if (to > b) {
                best = best == IGV_NONE ? to : meet_after(ipdom, best, to);
                continue;
            }
            unsigned loop = analysis->blocks[to].loop;
            for (unsigned e = exits->start[loop]; e < exits->start[loop + 1]; e++) {
                best =
                    best == IGV_NONE ? exits->target[e] : meet_after(ipdom, best, exits->target[e]);
            }
        }
        ipdom[b] = best == IGV_NONE ? b : best;
    }
    return INGOT_OK;
}

/* ---- spreading ----------------------------------------------------------------------------------
 */
struct spread {
    struct igv_work *work;
    unsigned context; /* the loop whose iteration is walked, or IGV_NONE */
    unsigned outward; /* the one label that the back edge or an exit got so far */
    bool loop_divergent;
    unsigned first; /* lowest block with a label */
};

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
    if (work->label_of[target] != work->generation) {
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
        if (work->label_of[b] != work->generation) {
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

static void loop_diverges(struct igv_work *work, unsigned number) {
    struct igv_analysis *analysis = work->analysis;
    struct igv_loop *loop = &analysis->loops[number];
    if (loop->divergent) {
        return;
    }
    loop->divergent = true;
    for (unsigned b = loop->first; b <= loop->last; b++) {
        analysis->blocks[b].divergent = true;
    }
    const struct igv_edges *exits = &work->loop_exits;
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
        loop_diverges(work, context);
    }
}

static bool condition_varies(struct igv_work *work, const struct igv_block *block) {
    LLVMValueRef condition = LLVMGetCondition(LLVMGetBasicBlockTerminator(block->block));
    const struct igv_value *value = igv_value_of(work->analysis, condition);
    return value && value->shape != IGV_V_UNIFORM;
}

bool igv_divergence_step(struct igv_work *work) {
    struct igv_analysis *analysis = work->analysis;
    bool changed = false;
    for (unsigned b = 0; b < analysis->block_count; b++) {
        struct igv_block *block = &analysis->blocks[b];
        if (work->branch_done[b] || block->successor_count != 2 || !condition_varies(work, block)) {
            continue;
        }
        work->branch_done[b] = changed = true;
        block->branch_divergent = true;
        split(work, block->loop, block->successors, 2, work->rejoin[b]);
    }
    /* inner loops first, so that one round carries a divergence outwards */
    for (unsigned l = analysis->loop_count; l-- > 0;) {
        const struct igv_loop *loop = &analysis->loops[l];
        if (work->loop_done[l] || !loop->divergent) {
            continue;
        }
        work->loop_done[l] = changed = true;
        const struct igv_edges *exits = &work->loop_exits;
        unsigned stop = work->rejoin[loop->header];
        while (igv_in_loop(loop, stop)) {
            stop = work->rejoin[stop];
        }
        split(work, loop->parent, exits->target + exits->start[l],
              exits->start[l + 1] - exits->start[l], stop);
    }
    return changed;
}

/* ---- blocks with the mask of a dominator ---------------------------------------------------- */
bool igv_rejoins(const struct igv_work *work, unsigned from, unsigned at) {
    const unsigned *ipdom = work->rejoin;
    while (from < at && ipdom[from] != from) {
        from = ipdom[from];
    }
    return from == at;
}

void igv_masks_alias(struct igv_work *work) {
    struct igv_analysis *analysis = work->analysis;
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
            igv_rejoins(work, above, b)) {
            block->mask_of = analysis->blocks[above].mask_of;
        }
    }
}
