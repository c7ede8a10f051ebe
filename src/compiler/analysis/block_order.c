/*
 * Blocks and loops of a kernel, by number.
 *
 * igv_control_find is for kernels in the form that cpu/prepare makes: branches, one return,
 * reducible loops with one latch and one preheader each. It numbers blocks in the order of
 * emission, which is topological without back edges, and compact twice over: the blocks of a loop
 * are contiguous, and so are, inside a loop's level, the blocks that a block dominates (a nested
 * loop counts as one block there). Partial linearisation relies on both: a uniform branch then
 * never has to wait for a block that it does not dominate.
 *
 * igv_control_any takes any control flow, in the function's own order, and knows of no loops.
 *
 * Does not: change anything in the kernel.
 */
#include <string.h>

#include "compiler/analysis/analysis_internal.h"
#include "compiler/ir/graph.h"

bool igv_is_header(const struct igv_analysis *analysis, unsigned block) {
    unsigned loop = analysis->blocks[block].loop;
    return loop != IGV_NONE && analysis->loops[loop].header == block;
}

static ingot_status check_terminators(const struct igi_graph *graph, struct ig_error *error) {
    for (unsigned b = 0; b < graph->count; b++) {
        LLVMValueRef terminator = LLVMGetBasicBlockTerminator(graph->blocks[b]);
        LLVMOpcode opcode = terminator ? LLVMGetInstructionOpcode(terminator) : LLVMUnreachable;
        if (opcode != LLVMBr && opcode != LLVMRet) {
            return ig_fail(error, INGOT_COMPILE_ERROR,
                           "a block of the kernel ends in an instruction (LLVM opcode %d) other "
                           "than a branch or a return",
                           (int)opcode);
        }
    }
    return INGOT_OK;
}

/* ---- the order of emission ---------------------------------------------------------------- */
/* Blocks in reverse post-order, with what the order of emission is made from. */
struct flow {
    struct igi_graph graph;
    unsigned *idom;
    struct igi_loops loops;
};

/* A header stands for its loop in the level around it (its children there are `after`), and
 * for itself inside (`inside`). Lists are linked through `next`, ascending. */
struct tree {
    unsigned *inside, *after, *next;
};

static bool heads_loop(const struct flow *flow, unsigned block) {
    unsigned loop = flow->loops.innermost[block];
    return loop != IGV_NONE && flow->loops.items[loop].header == block;
}

/* The block that stands for `block` at `level`, a loop that contains it. */
static unsigned item_at(const struct flow *flow, unsigned block, unsigned level) {
    unsigned loop = flow->loops.innermost[block];
    if (loop == level) {
        return block;
    }
    while (flow->loops.items[loop].parent != level) {
        loop = flow->loops.items[loop].parent;
    }
    return flow->loops.items[loop].header;
}

static void tree_add(const struct flow *flow, struct tree *tree, unsigned block) {
    unsigned loop = flow->loops.innermost[block];
    unsigned level = heads_loop(flow, block) ? flow->loops.items[loop].parent : loop;
    unsigned item = item_at(flow, flow->idom[block], level);
    bool collapsed = heads_loop(flow, item) && flow->loops.innermost[item] != level;
    unsigned *list = collapsed ? &tree->after[item] : &tree->inside[item];
    tree->next[block] = *list;
    *list = block;
}

/* Pushes a list so that its first entry is popped first. */
static unsigned push_list(const struct tree *tree, unsigned *stack, unsigned depth, unsigned list) {
    unsigned bottom = depth;
    for (unsigned b = list; b != IGV_NONE; b = tree->next[b]) {
        stack[depth++] = b;
    }
    for (unsigned low = bottom, high = depth; low + 1 < high; low++) {
        unsigned swapped = stack[--high];
        stack[high] = stack[low];
        stack[low] = swapped;
    }
    return depth;
}

static ingot_status find_order(struct ig_arena *arena, const struct flow *flow, unsigned *order,
                               struct ig_error *error) {
    unsigned count = flow->graph.count, depth = 0, at = 0;
    struct tree tree;
    tree.inside = ig_arena_array(arena, count, sizeof(unsigned));
    tree.after = ig_arena_array(arena, count, sizeof(unsigned));
    tree.next = ig_arena_array(arena, count, sizeof(unsigned));
    unsigned *stack = ig_arena_array(arena, count, sizeof *stack);
    if (!tree.inside || !tree.after || !tree.next || !stack) {
        return igi_out_of_memory(error);
    }
    memset(tree.inside, 0xff, count * sizeof(unsigned));
    memset(tree.after, 0xff, count * sizeof(unsigned));
    for (unsigned b = count - 1; b > 0; b--) {
        tree_add(flow, &tree, b);
    }
    stack[depth++] = 0;
    while (depth) {
        unsigned block = stack[--depth];
        order[at++] = block;
        depth = push_list(&tree, stack, depth, tree.after[block]);
        depth = push_list(&tree, stack, depth, tree.inside[block]);
    }
    return at == count
               ? INGOT_OK
               : ig_fail(error, INGOT_COMPILE_ERROR,
                         "only %u of the kernel's %u blocks could be put in order", at, count);
}

/* ---- blocks ---- */
static ingot_status take_blocks(struct ig_arena *arena, const struct igi_graph *graph,
                                struct igv_analysis *analysis, struct ig_error *error) {
    struct igv_block *blocks = ig_arena_array(arena, graph->count + 1u, sizeof *blocks);
    if (!blocks) {
        return igi_out_of_memory(error);
    }
    for (unsigned b = 0; b < graph->count; b++) {
        blocks[b] = (struct igv_block){.block = graph->blocks[b],
                                       .idom = IGV_NONE,
                                       .ipdom = IGV_NONE,
                                       .loop = IGV_NONE,
                                       .successor_count = igi_successor_count(graph, b),
                                       .successors = igi_successors(graph, b),
                                       .predecessor_count = igi_predecessor_count(graph, b),
                                       .predecessors = igi_predecessors(graph, b)};
    }
    analysis->blocks = blocks;
    analysis->block_count = graph->count;
    analysis->block_numbers = graph->numbers;
    return INGOT_OK;
}

/* The graph of the blocks as they are now; numbers are the analysis's. */
static ingot_status graph_of(struct ig_arena *arena, const struct igv_analysis *analysis,
                             struct igi_graph *graph, struct ig_error *error) {
    unsigned count = analysis->block_count, total = 0, at = 0;
    for (unsigned b = 0; b < count; b++) {
        total += analysis->blocks[b].successor_count;
    }
    *graph = (struct igi_graph){.arena = arena, .count = count};
    graph->blocks = ig_arena_array(arena, count + 1u, sizeof(LLVMBasicBlockRef));
    graph->successors.start = ig_arena_array(arena, count + 1u, sizeof(unsigned));
    graph->successors.target = ig_arena_array(arena, total + 1u, sizeof(unsigned));
    if (!graph->blocks || !graph->successors.start || !graph->successors.target) {
        return igi_out_of_memory(error);
    }
    for (unsigned b = 0; b < count; b++) {
        graph->blocks[b] = analysis->blocks[b].block;
        graph->successors.start[b] = at;
        for (unsigned s = 0; s < analysis->blocks[b].successor_count; s++) {
            graph->successors.target[at++] = analysis->blocks[b].successors[s];
        }
    }
    graph->successors.start[count] = at;
    graph->predecessors = igi_edges_turn(arena, &graph->successors, count);
    return graph->predecessors.start ? INGOT_OK : igi_out_of_memory(error);
}

/* ---- loops ---- */
static bool is_listed(const unsigned *list, unsigned count, unsigned block) {
    for (unsigned i = 0; i < count; i++) {
        if (list[i] == block) {
            return true;
        }
    }
    return false;
}

static ingot_status find_exits(struct ig_arena *arena, struct igv_analysis *analysis,
                               struct ig_error *error) {
    size_t total = 0;
    for (unsigned l = 0; l < analysis->loop_count; l++) {
        total += 2 * ((size_t)analysis->loops[l].last - analysis->loops[l].first + 1);
    }
    struct igi_edges *exits = &analysis->loop_exits;
    exits->start = ig_arena_array(arena, analysis->loop_count + 1u, sizeof(unsigned));
    exits->target = ig_arena_array(arena, total + 1, sizeof(unsigned));
    if (!exits->start || !exits->target) {
        return igi_out_of_memory(error);
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

static ingot_status take_loops(struct ig_arena *arena, const struct flow *flow, const unsigned *map,
                               struct igv_analysis *analysis, struct ig_error *error) {
    analysis->loop_count = flow->loops.count;
    analysis->loops = ig_arena_array(arena, flow->loops.count + 1u, sizeof *analysis->loops);
    if (!analysis->loops) {
        return igi_out_of_memory(error);
    }
    for (unsigned l = 0; l < flow->loops.count; l++) {
        const struct igi_loop *loop = &flow->loops.items[l];
        unsigned header = map[loop->header], latch = map[loop->latch];
        analysis->loops[l] = (struct igv_loop){.header = header,
                                               .latch = latch,
                                               .preheader = map[loop->preheader],
                                               .parent = loop->parent,
                                               .first = header,
                                               .last = latch};
    }
    for (unsigned b = 0; b < flow->graph.count; b++) {
        unsigned innermost = flow->loops.innermost[b];
        analysis->blocks[map[b]].loop = innermost;
        analysis->blocks[map[b]].idom = map[flow->idom[b]];
        for (unsigned l = innermost; l != IGV_NONE; l = analysis->loops[l].parent) {
            if (!igv_in_loop(&analysis->loops[l], map[b])) {
                return ig_fail(error, INGOT_COMPILE_ERROR,
                               "a loop of the kernel is not in the form that vectorising needs "
                               "(one entry, one latch, exits of its own)");
            }
        }
    }
    return find_exits(arena, analysis, error);
}

/* ---- where all ways meet ---- */
static ingot_status find_post_dominators(const struct igi_graph *graph,
                                         struct igv_analysis *analysis, bool one_return,
                                         struct ig_error *error) {
    unsigned exits = 0;
    for (unsigned b = 0; b < graph->count; b++) {
        exits += !analysis->blocks[b].successor_count;
    }
    if (one_return && exits != 1) {
        return ig_fail(error, INGOT_COMPILE_ERROR,
                       "the kernel has %u returns where vectorising needs exactly 1", exits);
    }
    unsigned *ipdom = ig_arena_array(graph->arena, graph->count + 1u, sizeof *ipdom);
    ingot_status status =
        ipdom ? igi_post_dominators(graph, ipdom, error) : igi_out_of_memory(error);
    for (unsigned b = 0; !status && b < graph->count; b++) {
        if (one_return && ipdom[b] == IGV_NONE) {
            return ig_fail(error, INGOT_COMPILE_ERROR, "the kernel has a loop that no path leaves");
        }
        analysis->blocks[b].ipdom = ipdom[b] == graph->count && one_return ? b : ipdom[b];
    }
    return status;
}

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

static ingot_status find_rejoins(struct ig_arena *arena, struct igv_analysis *analysis,
                                 struct ig_error *error) {
    unsigned *ipdom = ig_arena_array(arena, analysis->block_count, sizeof *ipdom);
    if (!ipdom) {
        return igi_out_of_memory(error);
    }
    const struct igi_edges *exits = &analysis->loop_exits;
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
    analysis->rejoin = ipdom;
    return INGOT_OK;
}

bool igv_rejoins(const struct igv_analysis *analysis, unsigned from, unsigned at) {
    const unsigned *ipdom = analysis->rejoin;
    while (from < at && ipdom[from] != from) {
        from = ipdom[from];
    }
    return from == at;
}

bool igv_post_dominates(const struct igv_analysis *analysis, unsigned above, unsigned below) {
    while (below != above && below < analysis->block_count &&
           analysis->blocks[below].ipdom != below) {
        below = analysis->blocks[below].ipdom;
    }
    return below == above || below == IGV_NONE;
}

/* ---- all of it ---- */
static ingot_status find_flow(struct ig_arena *arena, LLVMValueRef function, struct flow *flow,
                              struct ig_error *error) {
    ingot_status status = igi_graph_build(arena, function, &flow->graph, error);
    if (status) {
        return status;
    }
    if (!flow->graph.count) {
        return ig_fail(error, INGOT_COMPILE_ERROR, "the kernel has no body");
    }
    unsigned *order = ig_arena_array(arena, flow->graph.count, sizeof *order);
    flow->idom = ig_arena_array(arena, flow->graph.count, sizeof *flow->idom);
    unsigned count = order && flow->idom ? igi_reverse_post_order(&flow->graph, order) : 0;
    status =
        count ? igi_graph_renumber(&flow->graph, order, count, error) : igi_out_of_memory(error);
    status = status ? status : check_terminators(&flow->graph, error);
    status = status ? status : igi_dominators(&flow->graph, flow->idom, error);
    return status ? status : igi_loops_find(&flow->graph, flow->idom, &flow->loops, error);
}

ingot_status igv_control_find(struct ig_arena *arena, LLVMValueRef function,
                              struct igv_analysis *analysis, struct ig_error *error) {
    struct flow flow;
    ingot_status status = find_flow(arena, function, &flow, error);
    if (status) {
        return status;
    }
    unsigned count = flow.graph.count;
    unsigned *order = ig_arena_array(arena, count, sizeof *order);
    unsigned *map = ig_arena_array(arena, count, sizeof *map);
    if (!order || !map) {
        return igi_out_of_memory(error);
    }
    status = find_order(arena, &flow, order, error);
    for (unsigned i = 0; !status && i < count; i++) {
        map[order[i]] = i;
    }
    struct igi_graph ordered = flow.graph;
    status = status ? status : igi_graph_renumber(&ordered, order, count, error);
    status = status ? status : take_blocks(arena, &ordered, analysis, error);
    status = status ? status : take_loops(arena, &flow, map, analysis, error);
    status = status ? status : find_post_dominators(&ordered, analysis, true, error);
    return status ? status : find_rejoins(arena, analysis, error);
}

ingot_status igv_control_any(struct ig_arena *arena, LLVMValueRef function,
                             struct igv_analysis *analysis, struct ig_error *error) {
    struct igi_graph graph;
    ingot_status status = igi_graph_build(arena, function, &graph, error);
    status = status ? status : take_blocks(arena, &graph, analysis, error);
    return status ? status : find_post_dominators(&graph, analysis, false, error);
}

ingot_status igv_control_update(struct ig_arena *arena, struct igv_analysis *analysis,
                                struct ig_error *error) {
    struct igi_graph graph;
    unsigned *idom = ig_arena_array(arena, analysis->block_count, sizeof *idom);
    ingot_status status =
        idom ? graph_of(arena, analysis, &graph, error) : igi_out_of_memory(error);
    status = status ? status : igi_dominators(&graph, idom, error);
    for (unsigned b = 0; !status && b < graph.count; b++) {
        struct igv_block *block = &analysis->blocks[b];
        block->idom = idom[b];
        block->predecessor_count = igi_predecessor_count(&graph, b);
        block->predecessors = igi_predecessors(&graph, b);
    }
    return status ? status : find_rejoins(arena, analysis, error);
}
