/*
 * The control-flow graph of a function by numbers, and what follows from it: orders, dominators in
 * both directions, loops. Nothing here changes code, and nothing notices when code changes: build
 * the graph again. Everything lives in the arena.
 */
#ifndef INGOT_COMPILER_IR_GRAPH_H
#define INGOT_COMPILER_IR_GRAPH_H

#include <llvm-c/Core.h>

#include "base/error.h"
#include "compiler/ir/map.h"

/* Adjacency as one array: the neighbours of n are target[start[n]] … target[start[n + 1] - 1]. */
struct igi_edges {
    unsigned *start;
    unsigned *target;
};

struct igi_graph {
    struct ig_arena *arena;
    unsigned count;                            /* of blocks */
    LLVMBasicBlockRef *blocks;                 /* by number; the entry is 0 */
    struct igi_map numbers;                    /* by block */
    struct igi_edges successors, predecessors; /* each neighbour once */
};

ingot_status igi_out_of_memory(struct ig_error *error);

/* Every block, in the function's own order. Works on any control flow. */
ingot_status igi_graph_build(struct ig_arena *arena, LLVMValueRef function, struct igi_graph *graph,
                             struct ig_error *error);
/* The same with blocks order[0] … order[count - 1] only, numbered in that order. Edges to others
 * are left out. */
ingot_status igi_graph_renumber(struct igi_graph *graph, const unsigned *order, unsigned count,
                                struct ig_error *error);
/* The numbers of what the entry leads to, each before its successors but for back edges, the first
 * successor before the second. Returns how many; `order` has room for all. 0: memory is out. */
unsigned igi_reverse_post_order(const struct igi_graph *graph, unsigned *order);
/* Turns edges around. start is NULL when memory is out. */
struct igi_edges igi_edges_turn(struct ig_arena *arena, const struct igi_edges *edges,
                                unsigned count);

static inline unsigned igi_graph_number(const struct igi_graph *graph, LLVMBasicBlockRef block) {
    return igi_map_get(&graph->numbers, block); /* IGI_NONE: not of the graph */
}
static inline unsigned igi_successor_count(const struct igi_graph *graph, unsigned block) {
    return graph->successors.start[block + 1] - graph->successors.start[block];
}
static inline const unsigned *igi_successors(const struct igi_graph *graph, unsigned block) {
    return graph->successors.target + graph->successors.start[block];
}
static inline unsigned igi_predecessor_count(const struct igi_graph *graph, unsigned block) {
    return graph->predecessors.start[block + 1] - graph->predecessors.start[block];
}
static inline const unsigned *igi_predecessors(const struct igi_graph *graph, unsigned block) {
    return graph->predecessors.target + graph->predecessors.start[block];
}

/* ---- dominators.c ---- */
/* By block its immediate dominator, the entry's being itself; IGI_NONE where control never gets. */
ingot_status igi_dominators(const struct igi_graph *graph, unsigned *idom, struct ig_error *error);
/* By block the first block that every way from it to a return passes; graph->count, which stands
 * for the end of the function, if there is none. Ways that end in `unreachable` do not count.
 * IGI_NONE where no way returns. idom has room for graph->count + 1 entries. */
ingot_status igi_post_dominators(const struct igi_graph *graph, unsigned *ipdom,
                                 struct ig_error *error);
/* Is `above` on the chain of immediate dominators from `below`, which it may be itself? */
bool igi_dominates(const unsigned *idom, unsigned above, unsigned below);

/* ---- loops.c ---- */
struct igi_loop {
    unsigned header, latch, preheader;
    unsigned parent; /* or IGI_NONE */
};
struct igi_loops {
    unsigned count;
    struct igi_loop *items; /* outer loops before inner ones */
    unsigned *innermost;    /* by block, or IGI_NONE */
};
/* The natural loops. Requires: blocks numbered in reverse post-order, all reached, and dominators.
 * Fails on irreducible control flow and on loops with several latches or entries. */
ingot_status igi_loops_find(const struct igi_graph *graph, const unsigned *idom,
                            struct igi_loops *loops, struct ig_error *error);
/* The graph of what the entry leads to, in reverse post-order, and its loops. Fails on irreducible
 * control flow only: of several latches, `latch` is the last; of several entries, there is no
 * preheader. */
ingot_status igi_graph_loops(struct ig_arena *arena, LLVMValueRef function, struct igi_graph *graph,
                             struct igi_loops *loops, struct ig_error *error);

#endif
