/*
 * The loop forest: natural loops of a reducible graph, outer ones first.
 *
 * Requires: blocks in reverse post-order with dominators. Provides: header, latch, preheader,
 * parent of each loop and the innermost loop of each block. Fails on irreducible control flow;
 * whoever needs simple loops also has it fail on several latches or no preheader.
 */
#include <string.h>

#include "compiler/ir/graph.h"

static ingot_status header_edges(const struct igi_graph *graph, const unsigned *idom, bool simple,
                                 struct igi_loop *loop, struct ig_error *error) {
    unsigned latches = 0, entries = 0;
    for (unsigned p = 0; p < igi_predecessor_count(graph, loop->header); p++) {
        unsigned from = igi_predecessors(graph, loop->header)[p];
        if (from < loop->header) {
            loop->preheader = from;
            entries++;
        } else if (igi_dominates(idom, loop->header, from)) {
            loop->latch = from;
            latches++;
        } else {
            return ig_fail(error, INGOT_COMPILE_ERROR,
                           "the kernel has a loop with two entries (irreducible control flow)");
        }
    }
    if (entries > 1) {
        loop->preheader = IGI_NONE;
    }
    if (simple && (latches > 1 || (latches == 1 && entries != 1))) {
        return ig_fail(error, INGOT_COMPILE_ERROR,
                       "a loop of the kernel has %u latches and %u entries where vectorising "
                       "needs one of each",
                       latches, entries);
    }
    return INGOT_OK;
}

/* Everything that reaches a latch without passing the header: its predecessors behind it. */
static void mark_members(const struct igi_graph *graph, struct igi_loops *loops, unsigned loop,
                         unsigned *stack) {
    unsigned depth = 0;
    const unsigned header = loops->items[loop].header;
    loops->innermost[header] = loop;
    for (unsigned p = 0; p < igi_predecessor_count(graph, header); p++) {
        unsigned from = igi_predecessors(graph, header)[p];
        if (from >= header) {
            stack[depth++] = from;
        }
    }
    while (depth) {
        unsigned block = stack[--depth];
        if (loops->innermost[block] == loop) {
            continue;
        }
        loops->innermost[block] = loop;
        for (unsigned p = 0; p < igi_predecessor_count(graph, block); p++) {
            unsigned from = igi_predecessors(graph, block)[p];
            if (loops->innermost[from] != loop) {
                stack[depth++] = from;
            }
        }
    }
}

static ingot_status find(const struct igi_graph *graph, const unsigned *idom, bool simple,
                         struct igi_loops *loops, struct ig_error *error) {
    unsigned edges = graph->successors.start[graph->count], back = 0;
    for (unsigned b = 0; b < graph->count; b++) {
        for (unsigned s = 0; s < igi_successor_count(graph, b); s++) {
            back += igi_successors(graph, b)[s] <= b;
        }
    }
    *loops = (struct igi_loops){
        .items = ig_arena_array(graph->arena, back + 1u, sizeof *loops->items),
        .innermost = ig_arena_array(graph->arena, graph->count + 1u, sizeof(unsigned))};
    unsigned *stack = ig_arena_array(graph->arena, edges + 2u, sizeof *stack);
    if (!loops->items || !loops->innermost || !stack) {
        return igi_out_of_memory(error);
    }
    memset(loops->innermost, 0xff, graph->count * sizeof(unsigned));
    for (unsigned b = 0; b < graph->count; b++) {
        struct igi_loop loop = {b, IGI_NONE, IGI_NONE, loops->innermost[b]};
        ingot_status status = header_edges(graph, idom, simple, &loop, error);
        if (status) {
            return status;
        }
        if (loop.latch != IGI_NONE) {
            loops->items[loops->count] = loop;
            mark_members(graph, loops, loops->count++, stack);
        }
    }
    return INGOT_OK;
}

ingot_status igi_loops_find(const struct igi_graph *graph, const unsigned *idom,
                            struct igi_loops *loops, struct ig_error *error) {
    return find(graph, idom, true, loops, error);
}

ingot_status igi_graph_loops(struct ig_arena *arena, LLVMValueRef function, struct igi_graph *graph,
                             struct igi_loops *loops, struct ig_error *error) {
    ingot_status status = igi_graph_build(arena, function, graph, error);
    if (status) {
        return status;
    }
    unsigned *order = ig_arena_array(arena, graph->count + 1u, sizeof *order);
    unsigned *idom = ig_arena_array(arena, graph->count + 1u, sizeof *idom);
    unsigned reached = order && idom ? igi_reverse_post_order(graph, order) : 0;
    if (!reached) {
        return igi_out_of_memory(error);
    }
    status = igi_graph_renumber(graph, order, reached, error);
    status = status ? status : igi_dominators(graph, idom, error);
    return status ? status : find(graph, idom, false, loops, error);
}
