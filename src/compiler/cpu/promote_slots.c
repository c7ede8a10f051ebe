/*
 * Stack slots of vectorised functions become SSA values, in time linear in the code.
 *
 * The vectoriser keeps every value that another block reads in a slot (vectorise/values.c). LLVM's
 * mem2reg copies the values of all slots at each branch, and looks for the first access of each
 * slot from the start of each block: blocks times slots, and instructions times slots. Kernels with
 * thousands of both take minutes. Here each slot is taken by itself, with the blocks that define it
 * only: those that store to it, and their iterated dominance frontier, where different values may
 * meet. A load finds the last of these above it in the dominator tree. A phi is made when somebody
 * asks for it.
 *
 * Requires variables in the first block. Provides: variables that are only loaded and stored,
 * whole, are gone. Others stay, for LLVM's sroa.
 */
#include <stdlib.h>

#include "compiler/cpu/cpu.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/walk.h"

struct slot {
    LLVMValueRef variable;
    LLVMTypeRef type;
    unsigned first, count; /* its accesses */
};

struct access {
    LLVMValueRef instruction; /* a load or store; NULL: it is gone */
    unsigned block;
};

/* Of the slot in hand: a block where it gets a value. */
struct definition {
    unsigned block;
    unsigned above;     /* the next definition up the dominator tree, or IGI_NONE */
    LLVMValueRef store; /* the last one of the block, or NULL */
    LLVMValueRef phi;   /* at the block's start; NULL: none was asked for */
    bool meets;         /* different values may meet here */
};

struct promotion {
    struct ig_arena *arena;
    struct igi_graph graph; /* what the entry leads to, in reverse post-order */
    LLVMValueRef function;
    LLVMBuilderRef builder;
    unsigned *idom, *place, *end; /* by block; a subtree has the places from place to end - 1 */
    struct igi_edges frontier;    /* of dominance, by block */
    struct slot *slots;
    unsigned slot_count;
    struct access *accesses;        /* by slot, then in the order of the graph */
    unsigned *owner;                /* by block: slot + 1 whose definition it is … */
    unsigned *definition_of;        /* … and which */
    struct definition *definitions; /* of the slot in hand, ordered by place */
    unsigned definition_count;
    unsigned *asked; /* definitions whose phi has no operands yet */
    unsigned asked_count;
    uint64_t steps; /* accesses, definitions, and ways from one to the next */
    bool failed;
};

/* ---- which variables, and what accesses them ---- */
static LLVMValueRef slot_of(LLVMValueRef in, LLVMTypeRef *type) {
    if (LLVMIsALoadInst(in)) {
        *type = LLVMTypeOf(in);
        return LLVMGetOperand(in, 0);
    }
    if (LLVMIsAStoreInst(in)) {
        *type = LLVMTypeOf(LLVMGetOperand(in, 0));
        return LLVMGetOperand(in, 1);
    }
    return NULL;
}

static bool is_slot(LLVMValueRef variable) {
    LLVMValueRef elements = LLVMIsAAllocaInst(variable) ? LLVMGetOperand(variable, 0) : NULL;
    if (!elements || !LLVMIsAConstantInt(elements) || LLVMConstIntGetZExtValue(elements) != 1) {
        return false;
    }
    igi_each_use(use, variable) {
        LLVMValueRef user = LLVMGetUser(use);
        LLVMTypeRef type = NULL;
        if (slot_of(user, &type) != variable || type != LLVMGetAllocatedType(variable) ||
            LLVMGetVolatile(user) || LLVMGetOrdering(user) != LLVMAtomicOrderingNotAtomic ||
            (LLVMIsAStoreInst(user) && LLVMGetOperand(user, 0) == variable)) {
            return false;
        }
    }
    return true;
}

static void find_slots(struct promotion *p, struct igi_map *numbers) {
    LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(p->function);
    unsigned variables = 0;
    igi_each_in_block(in, entry) {
        variables += LLVMIsAAllocaInst(in) != NULL;
    }
    p->slots = ig_arena_array(p->arena, variables + 1u, sizeof *p->slots);
    if (!p->slots) {
        p->failed = true;
        return;
    }
    igi_each_in_block(in, entry) {
        if (LLVMIsAAllocaInst(in) && is_slot(in)) {
            igi_map_put(numbers, in, p->slot_count);
            p->slots[p->slot_count++] =
                (struct slot){.variable = in, .type = LLVMGetAllocatedType(in)};
        }
    }
}

static unsigned number_of_slot(const struct igi_map *numbers, LLVMValueRef in) {
    LLVMTypeRef type;
    LLVMValueRef variable = slot_of(in, &type);
    return variable ? igi_map_get(numbers, variable) : IGI_NONE;
}

/* Accesses where control never gets find no value, and change none. */
static void drop_unreached(struct promotion *p, const struct igi_map *numbers) {
    igi_each_block(b, p->function) {
        if (igi_graph_number(&p->graph, b) != IGI_NONE) {
            continue;
        }
        igi_each_in_block_safe(in, b) {
            if (number_of_slot(numbers, in) == IGI_NONE) {
                continue;
            }
            if (LLVMIsALoadInst(in)) {
                LLVMReplaceAllUsesWith(in, LLVMGetUndef(LLVMTypeOf(in)));
            }
            LLVMInstructionEraseFromParent(in);
        }
    }
}

static void find_accesses(struct promotion *p, const struct igi_map *numbers) {
    unsigned total = 0;
    for (unsigned b = 0; b < p->graph.count; b++) {
        igi_each_in_block(in, p->graph.blocks[b]) {
            unsigned slot = number_of_slot(numbers, in);
            if (slot != IGI_NONE) {
                p->slots[slot].count++;
                total++;
            }
        }
    }
    p->accesses = ig_arena_array(p->arena, total + 1u, sizeof *p->accesses);
    if (!p->accesses) {
        p->failed = true;
        return;
    }
    total = 0;
    for (unsigned s = 0; s < p->slot_count; s++) {
        p->slots[s].first = total;
        total += p->slots[s].count;
        p->slots[s].count = 0;
    }
    for (unsigned b = 0; b < p->graph.count; b++) {
        igi_each_in_block(in, p->graph.blocks[b]) {
            unsigned number = number_of_slot(numbers, in);
            if (number != IGI_NONE) {
                struct slot *slot = &p->slots[number];
                p->accesses[slot->first + slot->count++] = (struct access){in, b};
            }
        }
    }
}

/* ---- the dominator tree ---- */
/* Parents come before their children in the order of the graph. */
static void place_blocks(struct promotion *p) {
    unsigned count = p->graph.count;
    for (unsigned b = count; b-- > 0;) {
        p->end[b]++;
        if (b) {
            p->end[p->idom[b]] += p->end[b]; /* the subtree's size */
        }
    }
    unsigned *next = p->definition_of; /* not in use yet */
    for (unsigned b = 0; b < count; b++) {
        p->place[b] = b ? next[p->idom[b]] : 0;
        if (b) {
            next[p->idom[b]] += p->end[b];
        }
        p->end[b] += p->place[b];
        next[b] = p->place[b] + 1;
    }
}

static bool dominates(const struct promotion *p, unsigned above, unsigned below) {
    return p->place[above] <= p->place[below] && p->place[below] < p->end[above];
}

/* From each block to those where what it defines meets other values: fills in `target`, or counts
 * when that is NULL, in start[n + 1]. */
static void walk_frontier(const struct promotion *p, struct igi_edges *frontier, unsigned *last) {
    for (unsigned b = 0; b < p->graph.count; b++) {
        last[b] = IGI_NONE;
    }
    for (unsigned b = 0; b < p->graph.count; b++) {
        for (unsigned i = 0; i < igi_predecessor_count(&p->graph, b); i++) {
            unsigned from = igi_predecessors(&p->graph, b)[i];
            while (last[from] != b && !(from == p->idom[b] && from != b)) {
                last[from] = b;
                if (frontier->target) {
                    frontier->target[frontier->start[from]++] = b;
                } else {
                    frontier->start[from + 1]++;
                }
                if (from == 0) {
                    break;
                }
                from = p->idom[from];
            }
        }
    }
}

static void find_frontier(struct promotion *p) {
    unsigned count = p->graph.count;
    struct igi_edges made = {ig_arena_array(p->arena, count + 2u, sizeof(unsigned)), NULL};
    unsigned *last = ig_arena_array(p->arena, count + 1u, sizeof *last);
    if (!made.start || !last) {
        p->failed = true;
        return;
    }
    walk_frontier(p, &made, last);
    for (unsigned b = 0; b < count; b++) {
        made.start[b + 1] += made.start[b];
    }
    made.target = ig_arena_array(p->arena, made.start[count] + 1u, sizeof(unsigned));
    if (!made.target) {
        p->failed = true;
        return;
    }
    walk_frontier(p, &made, last);
    for (unsigned b = count; b > 0; b--) {
        made.start[b] = made.start[b - 1]; /* filling has moved each to its end */
    }
    made.start[0] = 0;
    p->frontier = made;
}

/* ---- the definitions of a slot ---- */
static struct definition *define(struct promotion *p, unsigned block, unsigned slot) {
    if (p->owner[block] != slot + 1) {
        p->owner[block] = slot + 1;
        p->definition_of[block] = p->definition_count;
        p->definitions[p->definition_count++] = (struct definition){.block = block};
    }
    return &p->definitions[p->definition_of[block]];
}

static int by_place(const void *left, const void *right) {
    const struct definition *a = left, *b = right;
    return (a->above > b->above) - (a->above < b->above);
}

/* Ordered by place, each with the next one above it. */
static void order_definitions(struct promotion *p) {
    for (unsigned i = 0; i < p->definition_count; i++) {
        p->definitions[i].above = p->place[p->definitions[i].block];
    }
    qsort(p->definitions, p->definition_count, sizeof *p->definitions, by_place);
    unsigned above = IGI_NONE;
    for (unsigned i = 0; i < p->definition_count; i++) {
        struct definition *d = &p->definitions[i];
        while (above != IGI_NONE && !dominates(p, p->definitions[above].block, d->block)) {
            above = p->definitions[above].above;
        }
        d->above = above;
        p->definition_of[d->block] = i;
        above = i;
    }
    p->steps += p->definition_count;
}

static void find_definitions(struct promotion *p, unsigned number) {
    const struct slot *slot = &p->slots[number];
    p->definition_count = 0;
    for (unsigned i = slot->first; i < slot->first + slot->count; i++) {
        if (LLVMIsAStoreInst(p->accesses[i].instruction)) {
            define(p, p->accesses[i].block, number)->store = p->accesses[i].instruction;
        }
    }
    for (unsigned i = 0; i < p->definition_count; i++) {
        unsigned block = p->definitions[i].block;
        for (unsigned k = p->frontier.start[block]; k < p->frontier.start[block + 1]; k++) {
            define(p, p->frontier.target[k], number)->meets = true;
            p->steps++;
        }
    }
    order_definitions(p);
}

/* The definition at the block, or above it; IGI_NONE: no way there has one. */
static unsigned find_definition(struct promotion *p, unsigned block, unsigned number) {
    if (p->owner[block] == number + 1) {
        return p->definition_of[block];
    }
    unsigned low = 0, high = p->definition_count; /* the first whose place is behind the block's */
    while (low < high) {
        unsigned middle = low + (high - low) / 2;
        bool before = p->place[p->definitions[middle].block] < p->place[block];
        low = before ? middle + 1 : low;
        high = before ? high : middle;
    }
    unsigned found = low ? low - 1 : IGI_NONE;
    while (found != IGI_NONE && !dominates(p, p->definitions[found].block, block)) {
        found = p->definitions[found].above;
        p->steps++;
    }
    return found;
}

/* ---- values ---- */
static LLVMValueRef phi_of(struct promotion *p, const struct slot *slot, unsigned definition) {
    struct definition *d = &p->definitions[definition];
    if (!d->phi) {
        LLVMPositionBuilderBefore(p->builder, LLVMGetFirstInstruction(p->graph.blocks[d->block]));
        d->phi = LLVMBuildPhi(p->builder, slot->type, "");
        p->asked[p->asked_count++] = definition;
    }
    return d->phi;
}

static LLVMValueRef value_of(struct promotion *p, const struct slot *slot, unsigned definition) {
    if (definition == IGI_NONE) {
        return LLVMGetUndef(slot->type);
    }
    const struct definition *d = &p->definitions[definition];
    return d->store ? LLVMGetOperand(d->store, 0) : phi_of(p, slot, definition);
}

static LLVMValueRef value_at_start(struct promotion *p, unsigned number, unsigned block) {
    const struct slot *slot = &p->slots[number];
    unsigned found = find_definition(p, block, number);
    if (found != IGI_NONE && p->definitions[found].block == block) {
        if (p->definitions[found].meets) {
            return phi_of(p, slot, found);
        }
        found = p->definitions[found].above;
    }
    return value_of(p, slot, found);
}

/* One operand for each edge. Blocks that control never gets to bring nothing. */
static void add_operands(struct promotion *p, unsigned number, const struct definition *d) {
    const struct slot *slot = &p->slots[number];
    igi_each_use(use, LLVMBasicBlockAsValue(p->graph.blocks[d->block])) {
        LLVMValueRef end = LLVMGetUser(use);
        if (!LLVMIsATerminatorInst(end)) {
            continue;
        }
        LLVMBasicBlockRef from = LLVMGetInstructionParent(end);
        unsigned block = igi_graph_number(&p->graph, from);
        LLVMValueRef value = block == IGI_NONE
                                 ? LLVMGetUndef(slot->type)
                                 : value_of(p, slot, find_definition(p, block, number));
        LLVMAddIncoming(d->phi, &value, &from, 1);
        p->steps++;
    }
}

/* In the order of the graph: what a load finds above it has been gone through already. */
static void replace_loads(struct promotion *p, unsigned number) {
    const struct slot *slot = &p->slots[number];
    unsigned block = IGI_NONE;
    LLVMValueRef store = NULL;
    for (unsigned i = slot->first; i < slot->first + slot->count; i++) {
        struct access *access = &p->accesses[i];
        if (access->block != block) {
            block = access->block;
            store = NULL;
        }
        if (LLVMIsAStoreInst(access->instruction)) {
            store = access->instruction;
            continue;
        }
        LLVMValueRef value = store ? LLVMGetOperand(store, 0) : value_at_start(p, number, block);
        LLVMReplaceAllUsesWith(access->instruction, value);
        LLVMInstructionEraseFromParent(access->instruction);
        access->instruction = NULL;
    }
}

static void promote(struct promotion *p, unsigned number) {
    const struct slot *slot = &p->slots[number];
    p->asked_count = 0;
    p->steps += slot->count;
    find_definitions(p, number);
    replace_loads(p, number);
    for (unsigned i = 0; i < p->asked_count; i++) { /* operands may ask for more */
        add_operands(p, number, &p->definitions[p->asked[i]]);
    }
    for (unsigned i = slot->first; i < slot->first + slot->count; i++) {
        if (p->accesses[i].instruction) {
            LLVMInstructionEraseFromParent(p->accesses[i].instruction);
        }
    }
    LLVMInstructionEraseFromParent(slot->variable);
}

static ingot_status build_tree(struct promotion *p, struct ig_error *error) {
    ingot_status status = igi_graph_build(p->arena, p->function, &p->graph, error);
    if (status) {
        return status;
    }
    unsigned *order = ig_arena_array(p->arena, p->graph.count + 1u, sizeof *order);
    unsigned count = order ? igi_reverse_post_order(&p->graph, order) : 0;
    if (!count) {
        return igi_out_of_memory(error);
    }
    status = igi_graph_renumber(&p->graph, order, count, error);
    unsigned **arrays[] = {&p->idom, &p->place, &p->end, &p->owner, &p->definition_of, &p->asked};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        *arrays[i] = ig_arena_array(p->arena, count + 1u, sizeof(unsigned));
        p->failed |= !*arrays[i];
    }
    p->definitions = ig_arena_array(p->arena, count + 1u, sizeof *p->definitions);
    if (status || p->failed || !p->definitions) {
        return status ? status : igi_out_of_memory(error);
    }
    status = igi_dominators(&p->graph, p->idom, error);
    if (!status) {
        place_blocks(p);
        find_frontier(p);
    }
    return status;
}

static ingot_status promote_all(struct promotion *p, struct ig_error *error) {
    struct igi_map numbers;
    igi_map_start(&numbers, p->arena, 0);
    ingot_status status = build_tree(p, error);
    if (status) {
        return status;
    }
    find_slots(p, &numbers);
    if (p->failed || numbers.failed) {
        return igi_out_of_memory(error);
    }
    drop_unreached(p, &numbers);
    find_accesses(p, &numbers);
    for (unsigned s = 0; s < p->slot_count && !p->failed; s++) {
        promote(p, s);
    }
    return p->failed ? igi_out_of_memory(error) : INGOT_OK;
}

enum igc_result igv_promote_slots(struct igc_kernel *kernel) {
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(kernel->context);
    ingot_status status = INGOT_OK;
    igi_each_function(f, kernel->module) {
        if (LLVMIsDeclaration(f) || status) {
            continue;
        }
        struct ig_arena arena = {0};
        struct promotion promotion = {.arena = &arena, .function = f, .builder = builder};
        status = promote_all(&promotion, kernel->error);
        igc_work_add("promote-slots", promotion.steps);
        ig_arena_free(&arena);
    }
    LLVMDisposeBuilder(builder);
    return igc_result_of(status);
}
