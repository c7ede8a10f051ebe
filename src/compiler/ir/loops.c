/*
 * The loop forest: natural loops of a reducible graph, outer ones first.
 *
 * Requires: blocks in reverse post-order with dominators. Provides: header, latch, preheader,
 * parent of each loop and the innermost loop of each block. Fails on irreducible control flow
 * and on loops with several latches or no preheader.
 */
#include "compiler/analysis/analysis_internal.h"

bool igv_is_header(const struct igv_analysis *analysis, unsigned block) {
    unsigned loop = analysis->blocks[block].loop;
    return loop != IGV_NONE && analysis->loops[loop].header == block;
}

static ingot_status header_edges(struct igv_work *work, unsigned header, struct igv_loop *loop) {
    const struct igv_analysis *analysis = work->analysis;
    const struct igv_block *block = &analysis->blocks[header];
    unsigned latches = 0, entries = 0;
    for (unsigned p = 0; p < block->predecessor_count; p++) {
        unsigned from = block->predecessors[p];
        if (from < header) {
            loop->preheader = from;
            entries++;
        } else if (igv_dominates(analysis, header, from)) {
            loop->latch = from;
            latches++;
        } else {
            return ig_fail(work->error, INGOT_COMPILE_ERROR,
                           "the kernel has a loop with two entries (irreducible control flow)");
        }
    }
    if (latches > 1 || (latches == 1 && entries != 1)) {
        return ig_fail(work->error, INGOT_COMPILE_ERROR,
                       "a loop of the kernel has %u latches and %u entries where vectorising "
                       "needs one of each",
                       latches, entries);
    }
    return INGOT_OK;
}

/* Everything that reaches the latch without passing the header. */
static void mark_members(struct igv_analysis *analysis, unsigned loop, unsigned *stack) {
    unsigned header = analysis->loops[loop].header, depth = 0;
    analysis->blocks[header].loop = loop;
    stack[depth++] = analysis->loops[loop].latch;
    while (depth) {
        struct igv_block *block = &analysis->blocks[stack[--depth]];
        if (block->loop == loop) {
            continue;
        }
        block->loop = loop;
        for (unsigned p = 0; p < block->predecessor_count; p++) {
            if (analysis->blocks[block->predecessors[p]].loop != loop) {
                stack[depth++] = block->predecessors[p];
            }
        }
    }
}

ingot_status igv_loops_find(struct igv_work *work) {
    struct igv_analysis *analysis = work->analysis;
    unsigned edges = 0, back = 0;
    for (unsigned b = 0; b < analysis->block_count; b++) {
        for (unsigned s = 0; s < analysis->blocks[b].successor_count; s++, edges++) {
            back += analysis->blocks[b].successors[s] <= b;
        }
    }
    analysis->loops = ig_arena_array(work->arena, back + 1u, sizeof *analysis->loops);
    unsigned *stack = ig_arena_array(work->arena, edges + 2u, sizeof *stack);
    if (!analysis->loops || !stack) {
        return igv_out_of_memory(work->error);
    }
    for (unsigned b = 0; b < analysis->block_count; b++) {
        struct igv_loop loop = {.header = b, .latch = IGV_NONE, .preheader = IGV_NONE};
        ingot_status status = header_edges(work, b, &loop);
        if (status) {
            return status;
        }
        if (loop.latch == IGV_NONE) {
            continue;
        }
        loop.parent = analysis->blocks[b].loop;
        analysis->loops[analysis->loop_count] = loop;
        mark_members(analysis, analysis->loop_count++, stack);
    }
    return INGOT_OK;
}

static bool is_listed(const unsigned *list, unsigned count, unsigned block) {
    for (unsigned i = 0; i < count; i++) {
        if (list[i] == block) {
            return true;
        }
    }
    return false;
}

ingot_status igv_loop_exits_find(struct igv_work *work) {
    struct igv_analysis *analysis = work->analysis;
    size_t total = 0;
    for (unsigned l = 0; l < analysis->loop_count; l++) {
        total += 2 * ((size_t)analysis->loops[l].last - analysis->loops[l].first + 1);
    }
    struct igv_edges *exits = &work->loop_exits;
    exits->start = ig_arena_array(work->arena, analysis->loop_count + 1u, sizeof(unsigned));
    exits->target = ig_arena_array(work->arena, total + 1, sizeof(unsigned));
    if (!exits->start || !exits->target) {
        return igv_out_of_memory(work->error);
    }
    unsigned at = 0;
    for (unsigned l = 0; l < analysis->loop_count; l++) {
        const struct igv_loop *loop = &analysis->loops[l];
        exits->start[l] = at;
        for (unsigned b = loop->first; b <= loop->last; b++) {
            for (unsigned s = 0; s < analysis->blocks[b].successor_count; s++) {
                unsigned to = analysis->blocks[b].successors[s];
                const unsigned *list = exits->target + exits->start[l];
                if (!igv_in_loop(loop, to) && !is_listed(list, at - exits->start[l], to)) {
                    exits->target[at++] = to;
                }
            }
        }
    }
    exits->start[analysis->loop_count] = at;
    return INGOT_OK;
}
