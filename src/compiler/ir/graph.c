/* The control-flow graph by numbers: see graph.h. */
#include "compiler/ir/graph.h"

#include <string.h>

#include "compiler/ir/walk.h"

ingot_status igi_out_of_memory(struct ig_error *error) {
    return ig_fail(error, INGOT_OUT_OF_MEMORY, "memory ran out while a kernel was analysed");
}

struct igi_edges igi_edges_turn(struct ig_arena *arena, const struct igi_edges *edges,
                                unsigned count) {
    struct igi_edges turned = {ig_arena_array(arena, count + 2u, sizeof(unsigned)), NULL};
    turned.target = ig_arena_array(arena, edges->start[count] + 1u, sizeof(unsigned));
    if (!turned.start || !turned.target) {
        return (struct igi_edges){NULL, NULL};
    }
    /* start[n + 1] runs from the first to one past the last place of n while filling */
    for (unsigned e = 0; e < edges->start[count]; e++) {
        turned.start[edges->target[e] + 2]++;
    }
    for (unsigned n = 2; n < count + 2; n++) {
        turned.start[n] += turned.start[n - 1];
    }
    for (unsigned n = 0; n < count; n++) {
        for (unsigned e = edges->start[n]; e < edges->start[n + 1]; e++) {
            turned.target[turned.start[edges->target[e] + 1]++] = n;
        }
    }
    return turned;
}

/* Room for all edges of the blocks; start is NULL when memory is out. */
static struct igi_edges edges_create(const struct igi_graph *graph) {
    size_t total = 0;
    for (unsigned b = 0; b < graph->count; b++) {
        LLVMValueRef end = LLVMGetBasicBlockTerminator(graph->blocks[b]);
        total += end ? LLVMGetNumSuccessors(end) : 0;
    }
    struct igi_edges edges = {ig_arena_array(graph->arena, graph->count + 1u, sizeof(unsigned)),
                              ig_arena_array(graph->arena, total + 1, sizeof(unsigned))};
    return edges.target ? edges : (struct igi_edges){NULL, NULL};
}

static ingot_status find_edges(struct igi_graph *graph, struct ig_error *error) {
    unsigned at = 0;
    unsigned *seen = ig_arena_array(graph->arena, graph->count + 1u, sizeof *seen);
    graph->successors = edges_create(graph);
    if (!graph->successors.start || !seen) {
        return igi_out_of_memory(error);
    }
    for (unsigned b = 0; b < graph->count; b++) {
        LLVMValueRef end = LLVMGetBasicBlockTerminator(graph->blocks[b]);
        unsigned count = end ? LLVMGetNumSuccessors(end) : 0;
        graph->successors.start[b] = at;
        for (unsigned s = 0; s < count; s++) {
            unsigned to = igi_graph_number(graph, LLVMGetSuccessor(end, s));
            if (to != IGI_NONE && seen[to] != b + 1) {
                seen[to] = b + 1;
                graph->successors.target[at++] = to;
            }
        }
    }
    graph->successors.start[graph->count] = at;
    graph->predecessors = igi_edges_turn(graph->arena, &graph->successors, graph->count);
    return graph->predecessors.start ? INGOT_OK : igi_out_of_memory(error);
}

static ingot_status number_blocks(struct igi_graph *graph, struct ig_error *error) {
    igi_map_start(&graph->numbers, graph->arena, graph->count);
    for (unsigned b = 0; b < graph->count; b++) {
        igi_map_put(&graph->numbers, graph->blocks[b], b);
    }
    return graph->numbers.failed ? igi_out_of_memory(error) : find_edges(graph, error);
}

ingot_status igi_graph_build(struct ig_arena *arena, LLVMValueRef function, struct igi_graph *graph,
                             struct ig_error *error) {
    *graph = (struct igi_graph){.arena = arena, .count = LLVMCountBasicBlocks(function)};
    graph->blocks = ig_arena_array(arena, graph->count + 1u, sizeof(LLVMBasicBlockRef));
    if (!graph->blocks) {
        return igi_out_of_memory(error);
    }
    LLVMGetBasicBlocks(function, graph->blocks);
    return number_blocks(graph, error);
}

ingot_status igi_graph_renumber(struct igi_graph *graph, const unsigned *order, unsigned count,
                                struct ig_error *error) {
    LLVMBasicBlockRef *blocks = ig_arena_array(graph->arena, count + 1u, sizeof *blocks);
    if (!blocks) {
        return igi_out_of_memory(error);
    }
    for (unsigned i = 0; i < count; i++) {
        blocks[i] = graph->blocks[order[i]];
    }
    graph->blocks = blocks;
    graph->count = count;
    return number_blocks(graph, error);
}

unsigned igi_reverse_post_order(const struct igi_graph *graph, unsigned *order) {
    struct frame {
        unsigned block, next;
    } *stack = ig_arena_array(graph->arena, graph->count + 1u, sizeof *stack);
    bool *seen = ig_arena_array(graph->arena, graph->count + 1u, sizeof *seen);
    unsigned depth = 1, at = graph->count;
    if (!stack || !seen || !graph->count) {
        return 0;
    }
    seen[0] = true;
    while (depth) {
        struct frame *top = &stack[depth - 1];
        unsigned count = igi_successor_count(graph, top->block);
        if (top->next == count) {
            order[--at] = top->block;
            depth--;
            continue;
        }
        /* the last successor first, so that the first one comes first in the result */
        unsigned to = igi_successors(graph, top->block)[count - 1 - top->next++];
        if (!seen[to]) {
            seen[to] = true;
            stack[depth++] = (struct frame){to, 0};
        }
    }
    memmove(order, order + at, (graph->count - at) * sizeof *order);
    return graph->count - at;
}
