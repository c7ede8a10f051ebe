/*
 * Decisions: branches that do nothing but choose between values, as `if (other > best) best =
 * other;` does. A value of no lane that decides one is not a finding: the chosen value takes it on.
 *
 * Such a branch and the block where its ways meet hold blocks between them that nothing else leads
 * to, and that neither write memory of others nor wait nor leave.
 */
#include "compiler/ir/builtins.h"
#include "compiler/ir/walk.h"
#include "compiler/sanitize/shadow.h"

enum { MOST_BETWEEN = 64, MOST_PARTS = 8 };

static bool only_computes(struct igs_shadows *shadows, LLVMValueRef in) {
    unsigned memory;
    switch (LLVMGetInstructionOpcode(in)) {
    case LLVMStore:
        memory = igs_memory_of(shadows, LLVMGetOperand(in, 1));
        return memory >= IGS_MEMORY_ANY_PRIVATE;
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg:
    case LLVMFence:
    case LLVMRet:
    case LLVMUnreachable:
        return false;
    case LLVMCall:
        if (igi_is_intrinsic(in)) {
            unsigned flags = igi_intrinsic_flags_of(in);
            return flags & IGI_I_COPIES
                       ? igs_memory_of(shadows, LLVMGetOperand(in, 0)) >= IGS_MEMORY_ANY_PRIVATE
                       : !(flags & IGI_I_TRAPS);
        }
        return igi_facts_of(in)->flags & IGI_PURE || igi_family_of(in) == IGI_FAMILY_SANITIZE;
    default:
        return true;
    }
}

/* Adds a block that the branch leads to, and what follows. */
static bool collect(struct igs_shadows *shadows, struct igs_decision *decision, unsigned block) {
    if (block == decision->join || igs_is_between(decision, block)) {
        return true;
    }
    if (block == decision->branch || decision->count == MOST_BETWEEN ||
        !igi_dominates(shadows->idom, decision->branch, block)) {
        return false;
    }
    decision->between[decision->count++] = block;
    igi_each_in_block(in, shadows->graph.blocks[block]) {
        if (!only_computes(shadows, in)) {
            return false;
        }
    }
    const unsigned *next = igi_successors(&shadows->graph, block);
    for (unsigned i = 0; i < igi_successor_count(&shadows->graph, block); i++) {
        if (!collect(shadows, decision, next[i])) {
            return false;
        }
    }
    return true;
}

bool igs_is_between(const struct igs_decision *decision, unsigned block) {
    for (unsigned i = 0; i < decision->count; i++) {
        if (decision->between[i] == block) {
            return true;
        }
    }
    return false;
}

static bool note(struct igs_shadows *shadows, struct igs_decision *decision, unsigned block) {
    struct igs_decided *item = ig_arena_alloc(shadows->kernel->arena, sizeof *item);
    if (!item) {
        shadows->numbers.failed = true;
        return false;
    }
    *item = (struct igs_decided){decision, shadows->decided[block]};
    shadows->decided[block] = item;
    return true;
}

/* The decision that the branch of a block begins, if another block is part of it; or NULL. */
static struct igs_decision *begin(struct igs_shadows *shadows, unsigned block, unsigned part) {
    struct ig_arena *arena = shadows->kernel->arena;
    unsigned between[MOST_BETWEEN];
    struct igs_decision found = {
        .branch = block, .join = shadows->ipdom[block], .between = between};
    if (found.join >= shadows->graph.count || igi_successor_count(&shadows->graph, block) < 2) {
        return NULL;
    }
    const unsigned *next = igi_successors(&shadows->graph, block);
    for (unsigned i = 0; i < igi_successor_count(&shadows->graph, block); i++) {
        if (!collect(shadows, &found, next[i])) {
            return NULL;
        }
    }
    if (block != part && !igs_is_between(&found, part)) {
        return NULL;
    }
    struct igs_decision *decision = ig_arena_alloc(arena, sizeof *decision);
    unsigned *blocks = ig_arena_array(arena, found.count + 1, sizeof *blocks);
    if (!decision || !blocks) {
        shadows->numbers.failed = true;
        return NULL;
    }
    *decision = found;
    decision->between = blocks;
    for (unsigned i = 0; i < found.count; i++) {
        blocks[i] = between[i];
        note(shadows, decision, between[i]);
    }
    note(shadows, decision, found.join);
    shadows->own[block] = decision;
    shadows->changed = true;
    return decision;
}

static struct igs_decision *around(struct igs_shadows *shadows, unsigned block) {
    for (struct igs_decided *d = shadows->decided[block]; d; d = d->next) {
        if (igs_is_between(d->decision, block)) {
            return d->decision;
        }
    }
    return NULL;
}

/* A condition of several parts, `a || b`, is several branches of which the first one begins. */
struct igs_decision *igs_decision_of(struct igs_shadows *shadows, LLVMValueRef branch) {
    unsigned block = igi_graph_number(&shadows->graph, LLVMGetInstructionParent(branch));
    struct igs_decision *decision = shadows->own[block];
    if (decision || (decision = around(shadows, block)) || shadows->is_looked_at[block]) {
        return decision;
    }
    shadows->is_looked_at[block] = true;
    unsigned from = block;
    for (unsigned steps = 0; steps < MOST_PARTS; steps++, from = shadows->idom[from]) {
        if (!shadows->own[from] && (decision = begin(shadows, from, block))) {
            return decision;
        }
        if (from == shadows->idom[from]) {
            break;
        }
    }
    return NULL;
}

unsigned igs_taken_on(const struct igs_shadows *shadows, LLVMValueRef branch) {
    unsigned may = igs_may_be(shadows, LLVMGetCondition(branch));
    return igs_is_users(shadows->kernel, branch) ? may & IGS_MAY_NO_LANE : may;
}
