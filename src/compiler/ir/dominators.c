/*
 * Immediate dominators, and post-dominators as dominators of the graph with its edges turned
 * around, by the method of Cooper, Harvey and Kennedy ("A simple, fast dominance algorithm"):
 * iterate over a reverse post-order until nothing changes. On reducible graphs that is two rounds.
 */
#include <string.h>

#include "compiler/ir/graph.h"

struct frame {
    unsigned node, next;
};

/* A graph with one root; `from` and `to` are the edges into and out of a node. */
struct rooted {
    struct ig_arena *arena;
    unsigned count, root;
    struct igi_edges from, to;
};

/* Nodes reachable from root in post-order; position[n] is IGI_NONE for the others. */
static unsigned post_order(const struct rooted *graph, struct frame *stack, unsigned *order,
                           unsigned *position) {
    const struct igi_edges *successors = &graph->to;
    unsigned depth = 1, count = 0;
    const unsigned open = IGI_NONE - 1;
    stack[0] = (struct frame){graph->root, successors->start[graph->root]};
    position[graph->root] = open;
    while (depth) {
        struct frame *top = &stack[depth - 1];
        if (top->next == successors->start[top->node + 1]) {
            position[top->node] = count;
            order[count++] = top->node;
            depth--;
            continue;
        }
        unsigned to = successors->target[top->next++];
        if (position[to] == IGI_NONE) {
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

static ingot_status find(const struct rooted *graph, unsigned *idom, struct ig_error *error) {
    struct frame *stack = ig_arena_array(graph->arena, graph->count, sizeof *stack);
    unsigned *order = ig_arena_array(graph->arena, graph->count, sizeof *order);
    unsigned *position = ig_arena_array(graph->arena, graph->count, sizeof *position);
    if (!stack || !order || !position) {
        return igi_out_of_memory(error);
    }
    memset(position, 0xff, graph->count * sizeof *position);
    memset(idom, 0xff, graph->count * sizeof *idom);
    unsigned reached = post_order(graph, stack, order, position);
    idom[graph->root] = graph->root;
    for (bool changed = true; changed;) {
        changed = false;
        for (unsigned i = reached - 1; i-- > 0;) {
            unsigned node = order[i], best = IGI_NONE;
            for (unsigned e = graph->from.start[node]; e < graph->from.start[node + 1]; e++) {
                unsigned from = graph->from.target[e];
                if (idom[from] != IGI_NONE) {
                    best = best == IGI_NONE ? from : meet(idom, position, from, best);
                }
            }
            changed |= idom[node] != best;
            idom[node] = best;
        }
    }
    return INGOT_OK;
}

ingot_status igi_dominators(const struct igi_graph *graph, unsigned *idom, struct ig_error *error) {
    struct rooted rooted = {graph->arena, graph->count, 0, graph->predecessors, graph->successors};
    return find(&rooted, idom, error);
}

static bool returns(const struct igi_graph *graph, unsigned block) {
    LLVMValueRef end = LLVMGetBasicBlockTerminator(graph->blocks[block]);
    return end && LLVMGetInstructionOpcode(end) == LLVMRet;
}

ingot_status igi_post_dominators(const struct igi_graph *graph, unsigned *ipdom,
                                 struct ig_error *error) {
    unsigned end = graph->count, at = 0;
    struct igi_edges onward = {
        ig_arena_array(graph->arena, end + 2u, sizeof(unsigned)),
        ig_arena_array(graph->arena, graph->successors.start[end] + end + 1u, sizeof(unsigned))};
    if (!onward.start || !onward.target) {
        return igi_out_of_memory(error);
    }
    for (unsigned b = 0; b < end; b++) {
        onward.start[b] = at;
        for (unsigned s = 0; s < igi_successor_count(graph, b); s++) {
            onward.target[at++] = igi_successors(graph, b)[s];
        }
        if (returns(graph, b)) {
            onward.target[at++] = end;
        }
    }
    onward.start[end] = onward.start[end + 1] = at;
    struct rooted rooted = {graph->arena, end + 1, end, onward,
                            igi_edges_turn(graph->arena, &onward, end + 1)};
    return rooted.to.start ? find(&rooted, ipdom, error) : igi_out_of_memory(error);
}

bool igi_dominates(const unsigned *idom, unsigned above, unsigned below) {
    while (below != above && below != IGI_NONE && below != idom[below]) {
        below = idom[below];
    }
    return below == above;
}
