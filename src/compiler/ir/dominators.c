/*
 * Immediate dominators and post-dominators, by the method of Cooper, Harvey and Kennedy ("A
 * simple, fast dominance algorithm"): iterate over a reverse post-order until nothing changes.
 *
 * Requires: every block reachable from the entry, and exactly one block without successors.
 */
#include "compiler/analysis/analysis_internal.h"

#include <string.h>

struct frame {
    unsigned node, next;
};

/* Nodes reachable from root in post-order; position[n] is IGV_NONE for the others. */
static unsigned post_order(unsigned root, const struct igv_edges *successors, struct frame *stack,
                           unsigned *order, unsigned *position) {
    unsigned depth = 1, count = 0;
    const unsigned open = IGV_NONE - 1;
    stack[0] = (struct frame){root, successors->start[root]};
    position[root] = open;
    while (depth) {
        struct frame *top = &stack[depth - 1];
        if (top->next == successors->start[top->node + 1]) {
            position[top->node] = count;
            order[count++] = top->node;
            depth--;
            continue;
        }
        unsigned to = successors->target[top->next++];
        if (position[to] == IGV_NONE) {
            position[to] = open;
            stack[depth++] = (struct frame){to, successors->start[to]};
        }
    }
    return count;
}

static unsigned meet(const unsigned *idom, const unsigned *position, unsigned a, unsigned b) {
    while (a != b) {
        while (position[a] < position[b]) {
            a = idom[a];
        }
        while (position[b] < position[a]) {
            b = idom[b];
        }
    }
    return a;
}

ingot_status igv_immediate_dominators(struct ig_arena *arena, unsigned count, unsigned root,
                                      const struct igv_edges *successors,
                                      const struct igv_edges *predecessors, unsigned *idom,
                                      struct ig_error *error) {
    struct frame *stack = ig_arena_array(arena, count, sizeof *stack);
    unsigned *order = ig_arena_array(arena, count, sizeof *order);
    unsigned *position = ig_arena_array(arena, count, sizeof *position);
    if (!stack || !order || !position) {
        return igv_out_of_memory(error);
    }
    memset(position, 0xff, count * sizeof *position);
    memset(idom, 0xff, count * sizeof *idom);
    unsigned reached = post_order(root, successors, stack, order, position);
    idom[root] = root;
    bool changed = true;
    while (changed) {
        changed = false;
        for (unsigned i = reached - 1; i-- > 0;) {
            unsigned node = order[i], best = IGV_NONE;
            for (unsigned e = predecessors->start[node]; e < predecessors->start[node + 1]; e++) {
                unsigned from = predecessors->target[e];
                if (idom[from] == IGV_NONE) {
                    continue;
                }
                best = best == IGV_NONE ? from : meet(idom, position, from, best);
            }
            if (idom[node] != best) {
                idom[node] = best;
                changed = true;
            }
        }
    }
    return INGOT_OK;
}

static ingot_status graph_of(struct igv_work *work, struct igv_edges *forward,
                             struct igv_edges *backward) {
    const struct igv_analysis *analysis = work->analysis;
    unsigned count = analysis->block_count, at = 0;
    forward->start = ig_arena_array(work->arena, count + 1u, sizeof(unsigned));
    forward->target = ig_arena_array(work->arena, 2 * (size_t)count, sizeof(unsigned));
    *backward = igv_cfg_reverse(work);
    if (!forward->start || !forward->target || !backward->start) {
        return igv_out_of_memory(work->error);
    }
    for (unsigned b = 0; b < count; b++) {
        forward->start[b] = at;
        for (unsigned s = 0; s < analysis->blocks[b].successor_count; s++) {
            forward->target[at++] = analysis->blocks[b].successors[s];
        }
    }
    forward->start[count] = at;
    return INGOT_OK;
}

ingot_status igv_dominators(struct igv_work *work) {
    struct igv_analysis *analysis = work->analysis;
    struct igv_edges forward, backward;
    unsigned *idom = ig_arena_array(work->arena, analysis->block_count, sizeof *idom);
    ingot_status status = graph_of(work, &forward, &backward);
    if (status || !idom) {
        return igv_out_of_memory(work->error);
    }
    status = igv_immediate_dominators(work->arena, analysis->block_count, 0, &forward, &backward,
                                      idom, work->error);
    for (unsigned b = 0; !status && b < analysis->block_count; b++) {
        analysis->blocks[b].idom = idom[b];
    }
    return status;
}

ingot_status igv_post_dominators(struct igv_work *work) {
    struct igv_analysis *analysis = work->analysis;
    struct igv_edges forward, backward;
    unsigned exits = 0, exit = 0;
    for (unsigned b = 0; b < analysis->block_count; b++) {
        if (!analysis->blocks[b].successor_count) {
            exits++;
            exit = b;
        }
    }
    if (exits != 1) {
        return ig_fail(work->error, INGOT_COMPILE_ERROR,
                       "the kernel has %u returns where vectorising needs exactly 1", exits);
    }
    unsigned *ipdom = ig_arena_array(work->arena, analysis->block_count, sizeof *ipdom);
    ingot_status status = graph_of(work, &forward, &backward);
    if (status || !ipdom) {
        return igv_out_of_memory(work->error);
    }
    status = igv_immediate_dominators(work->arena, analysis->block_count, exit, &backward, &forward,
                                      ipdom, work->error);
    for (unsigned b = 0; !status && b < analysis->block_count; b++) {
        analysis->blocks[b].ipdom = ipdom[b];
        if (ipdom[b] == IGV_NONE) {
            return ig_fail(work->error, INGOT_COMPILE_ERROR,
                           "the kernel has a loop that no path leaves");
        }
    }
    return status;
}

bool igv_dominates(const struct igv_analysis *analysis, unsigned above, unsigned below) {
    while (below != above && below != analysis->blocks[below].idom) {
        below = analysis->blocks[below].idom;
    }
    return below == above;
}
