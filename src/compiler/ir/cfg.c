/*
 * The control-flow graph: reachable blocks first in reverse post-order, then in the order of
 * emission.
 *
 * The order of emission is topological without back edges, and compact twice over: the blocks
 * of a loop are contiguous, and so are, inside a loop's level, the blocks that a block
 * dominates (a nested loop counts as one block there). Partial linearisation relies on both:
 * a uniform branch then never has to wait for a block that it does not dominate.
 *
 * Requires: branches, and one return. Does not: change anything in the kernel.
 */
#include "compiler/analysis/analysis_internal.h"

#include <string.h>

static void find_successors(const struct igv_index *numbers, struct igv_block *block) {
    LLVMValueRef terminator = LLVMGetBasicBlockTerminator(block->block);
    unsigned count = terminator ? LLVMGetNumSuccessors(terminator) : 0;
    for (unsigned i = 0; i < count && i < 2; i++) {
        LLVMBasicBlockRef target = LLVMGetSuccessor(terminator, i);
        unsigned number = igv_index_get(numbers, LLVMBasicBlockAsValue(target));
        if (i == 1 && block->successors[0] == number) {
            continue;
        }
        block->successors[block->successor_count++] = number;
    }
}

static ingot_status check_terminators(struct igv_work *work) {
    for (unsigned b = 0; b < work->analysis->block_count; b++) {
        LLVMValueRef terminator = LLVMGetBasicBlockTerminator(work->analysis->blocks[b].block);
        LLVMOpcode opcode = terminator ? LLVMGetInstructionOpcode(terminator) : LLVMUnreachable;
        if (opcode != LLVMBr && opcode != LLVMRet) {
            return ig_fail(work->error, INGOT_COMPILE_ERROR,
                           "a block of the kernel ends in an instruction (LLVM opcode %d) other "
                           "than a branch or a return",
                           (int)opcode);
        }
    }
    return INGOT_OK;
}

struct walk {
    unsigned block, next;
};

/* Depth first from the entry; writes the old numbers in reverse post-order. */
static unsigned reverse_post_order(const struct igv_block *blocks, unsigned count, bool *seen,
                                   struct walk *stack, unsigned *order) {
    unsigned depth = 1, at = count;
    stack[0] = (struct walk){0, 0};
    seen[0] = true;
    while (depth) {
        struct walk *top = &stack[depth - 1];
        const struct igv_block *block = &blocks[top->block];
        if (top->next == block->successor_count) {
            order[--at] = top->block;
            depth--;
            continue;
        }
        /* the last successor first, so that the first one comes first in the result */
        unsigned to = block->successors[block->successor_count - 1 - top->next++];
        if (!seen[to]) {
            seen[to] = true;
            stack[depth++] = (struct walk){to, 0};
        }
    }
    memmove(order, order + at, (count - at) * sizeof *order);
    return count - at;
}

static unsigned mapped(const unsigned *map, unsigned number) {
    return number == IGV_NONE ? IGV_NONE : map[number];
}

/* Moves block order[i] to place i and rewrites every block number. */
static ingot_status renumber(struct igv_work *work, const unsigned *order, unsigned count) {
    struct igv_analysis *analysis = work->analysis;
    struct igv_block *blocks = ig_arena_array(work->arena, count + 1u, sizeof *blocks);
    unsigned *map = ig_arena_array(work->arena, analysis->block_count + 1u, sizeof *map);
    if (!blocks || !map) {
        return igv_out_of_memory(work->error);
    }
    for (unsigned i = 0; i < count; i++) {
        map[order[i]] = i;
    }
    for (unsigned i = 0; i < count; i++) {
        blocks[i] = analysis->blocks[order[i]];
        for (unsigned s = 0; s < blocks[i].successor_count; s++) {
            blocks[i].successors[s] = map[blocks[i].successors[s]];
        }
        blocks[i].idom = mapped(map, blocks[i].idom);
    }
    for (unsigned l = 0; l < analysis->loop_count; l++) {
        struct igv_loop *loop = &analysis->loops[l];
        loop->header = map[loop->header];
        loop->latch = map[loop->latch];
        loop->preheader = map[loop->preheader];
    }
    analysis->blocks = blocks;
    analysis->block_count = count;
    return igv_cfg_predecessors(work);
}

struct igv_edges igv_cfg_reverse(struct igv_work *work) {
    const struct igv_analysis *analysis = work->analysis;
    unsigned count = analysis->block_count, total = 0;
    struct igv_edges edges = {ig_arena_array(work->arena, count + 2u, sizeof(unsigned)), NULL};
    for (unsigned b = 0; b < count; b++) {
        total += analysis->blocks[b].successor_count;
    }
    edges.target = ig_arena_array(work->arena, total + 1u, sizeof(unsigned));
    if (!edges.start || !edges.target) {
        return (struct igv_edges){NULL, NULL};
    }
    /* start[b + 1] runs from the first to one past the last place of b while filling */
    for (unsigned b = 0; b < count; b++) {
        for (unsigned s = 0; s < analysis->blocks[b].successor_count; s++) {
            edges.start[analysis->blocks[b].successors[s] + 2]++;
        }
    }
    for (unsigned b = 2; b < count + 2; b++) {
        edges.start[b] += edges.start[b - 1];
    }
    for (unsigned b = 0; b < count; b++) {
        for (unsigned s = 0; s < analysis->blocks[b].successor_count; s++) {
            edges.target[edges.start[analysis->blocks[b].successors[s] + 1]++] = b;
        }
    }
    return edges;
}

ingot_status igv_cfg_predecessors(struct igv_work *work) {
    struct igv_edges edges = igv_cfg_reverse(work);
    if (!edges.start) {
        return igv_out_of_memory(work->error);
    }
    for (unsigned b = 0; b < work->analysis->block_count; b++) {
        work->analysis->blocks[b].predecessors = edges.target + edges.start[b];
        work->analysis->blocks[b].predecessor_count = edges.start[b + 1] - edges.start[b];
    }
    return INGOT_OK;
}

ingot_status igv_cfg_build(struct igv_work *work) {
    struct igv_analysis *analysis = work->analysis;
    unsigned count = LLVMCountBasicBlocks(work->request->kernel), number = 0;
    struct igv_index numbers;
    struct igv_block *blocks = ig_arena_array(work->arena, count + 1u, sizeof *blocks);
    bool *seen = ig_arena_array(work->arena, count + 1u, sizeof *seen);
    struct walk *stack = ig_arena_array(work->arena, count + 1u, sizeof *stack);
    unsigned *order = ig_arena_array(work->arena, count + 1u, sizeof *order);
    if (!blocks || !seen || !stack || !order ||
        !igv_index_create(work->arena, &numbers, count + 1u)) {
        return igv_out_of_memory(work->error);
    }
    if (!count) {
        return ig_fail(work->error, INGOT_COMPILE_ERROR, "the kernel has no body");
    }
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(work->request->kernel); b;
         b = LLVMGetNextBasicBlock(b)) {
        blocks[number] =
            (struct igv_block){.block = b, .idom = IGV_NONE, .ipdom = IGV_NONE, .loop = IGV_NONE};
        igv_index_put(&numbers, LLVMBasicBlockAsValue(b), number++);
    }
    for (unsigned b = 0; b < count; b++) {
        find_successors(&numbers, &blocks[b]);
    }
    analysis->blocks = blocks;
    analysis->block_count = count;
    ingot_status status =
        renumber(work, order, reverse_post_order(blocks, count, seen, stack, order));
    return status ? status : check_terminators(work);
}

/* ---- the order of emission ---------------------------------------------------------------- */
/* A header stands for its loop in the level around it (its children there are `after`), and
 * for itself inside (`inside`). Lists are linked through `next`, ascending. */
struct tree {
    unsigned *inside, *after, *next;
};

/* The block that stands for `block` at `level`, a loop that contains it. */
static unsigned item_at(const struct igv_analysis *analysis, unsigned block, unsigned level) {
    unsigned loop = analysis->blocks[block].loop;
    if (loop == level) {
        return block;
    }
    while (analysis->loops[loop].parent != level) {
        loop = analysis->loops[loop].parent;
    }
    return analysis->loops[loop].header;
}

static void tree_add(const struct igv_analysis *analysis, struct tree *tree, unsigned block) {
    unsigned loop = analysis->blocks[block].loop;
    unsigned level = igv_is_header(analysis, block) ? analysis->loops[loop].parent : loop;
    unsigned item = item_at(analysis, analysis->blocks[block].idom, level);
    bool collapsed = igv_is_header(analysis, item) && analysis->blocks[item].loop != level;
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

static ingot_status loop_ranges(struct igv_work *work) {
    struct igv_analysis *analysis = work->analysis;
    for (unsigned l = 0; l < analysis->loop_count; l++) {
        struct igv_loop *loop = &analysis->loops[l];
        loop->first = loop->header;
        loop->last = loop->latch;
    }
    for (unsigned b = 0; b < analysis->block_count; b++) {
        for (unsigned l = analysis->blocks[b].loop; l != IGV_NONE; l = analysis->loops[l].parent) {
            if (!igv_in_loop(&analysis->loops[l], b)) {
                return ig_fail(work->error, INGOT_COMPILE_ERROR,
                               "a loop of the kernel is not in the form that vectorising needs "
                               "(one entry, one latch, exits of its own)");
            }
        }
    }
    return INGOT_OK;
}

ingot_status igv_cfg_order(struct igv_work *work) {
    struct igv_analysis *analysis = work->analysis;
    unsigned count = analysis->block_count, depth = 0, at = 0;
    struct tree tree;
    tree.inside = ig_arena_array(work->arena, count, sizeof(unsigned));
    tree.after = ig_arena_array(work->arena, count, sizeof(unsigned));
    tree.next = ig_arena_array(work->arena, count, sizeof(unsigned));
    unsigned *stack = ig_arena_array(work->arena, count, sizeof *stack);
    unsigned *order = ig_arena_array(work->arena, count, sizeof *order);
    if (!tree.inside || !tree.after || !tree.next || !stack || !order) {
        return igv_out_of_memory(work->error);
    }
    memset(tree.inside, 0xff, count * sizeof(unsigned));
    memset(tree.after, 0xff, count * sizeof(unsigned));
    for (unsigned b = count - 1; b > 0; b--) {
        tree_add(analysis, &tree, b);
    }
    stack[depth++] = 0;
    while (depth) {
        unsigned block = stack[--depth];
        order[at++] = block;
        depth = push_list(&tree, stack, depth, tree.after[block]);
        depth = push_list(&tree, stack, depth, tree.inside[block]);
    }
    if (at != count) {
        return ig_fail(work->error, INGOT_COMPILE_ERROR,
                       "only %u of the kernel's %u blocks could be put in order", at, count);
    }
    ingot_status status = renumber(work, order, count);
    return status ? status : loop_ranges(work);
}
