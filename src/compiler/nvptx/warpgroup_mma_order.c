/*
 * When products of four SIMD-groups (warpgroup_mma.c) are waited for. They run by themselves:
 * registers of A that were written before need a fence before them, and their sums, and what they
 * read, are theirs until somebody has waited. That is before barriers and at the end of the block
 * or, in loops whose sums only go round, of the block's next iteration.
 *
 * They end in the order in which they were begun, by groups. Products that add to the same sums
 * are a group; so who looks at the sums of one group does not wait for those begun after it.
 */
#include <string.h>

#include "compiler/ir/builtins.h"
#include "compiler/ir/walk.h"
#include "compiler/nvptx/warpgroup_mma.h"

enum { MAX_RUN = 64, MAX_PHIS = 24, MAX_DEPTH = 8 };

LLVMValueRef igp_call_for_sums(struct igc_kernel *k, struct igi_name name, LLVMValueRef *args,
                               unsigned count, unsigned sums) {
    LLVMTypeRef types[IGP_WARPGROUP_FIRST + IGP_WARPGROUP_MOST], floats[IGP_WARPGROUP_MOST];
    for (unsigned i = 0; i < count; i++) {
        types[i] = LLVMTypeOf(args[i]);
    }
    for (unsigned i = 0; i < sums; i++) {
        floats[i] = LLVMFloatTypeInContext(k->context);
    }
    LLVMTypeRef result = sums ? LLVMStructTypeInContext(k->context, floats, sums, false)
                              : LLVMVoidTypeInContext(k->context);
    LLVMTypeRef type = LLVMFunctionType(result, types, count, false);
    return LLVMBuildCall2(k->builder, type, igp_declare(k, name, type), args, count, "");
}

/* ---- waiting ---- */
/* Products of a block that are under way together, in their order. */
struct run {
    LLVMValueRef calls[MAX_RUN];
    unsigned group[MAX_RUN]; /* counted from 1 on, of those that are under way */
    unsigned count;
    bool open; /* the last group */
    bool late; /* some were waited for before others */
};

static unsigned groups_of(const struct run *run) {
    return run->count ? run->group[run->count - 1] : 0;
}

/* The group of a product; 0: it is not under way. */
static unsigned group_of(const struct run *run, LLVMValueRef value) {
    for (unsigned i = run->count; i-- > 0;) {
        if (run->calls[i] == value) {
            return run->group[i];
        }
    }
    return 0;
}

/* The same of a product's sum. */
static unsigned group_of_sum(const struct run *run, LLVMValueRef value) {
    return LLVMIsAExtractValueInst(value) ? group_of(run, LLVMGetOperand(value, 0)) : 0;
}

bool igp_may_write(LLVMValueRef in) {
    return LLVMIsAAtomicRMWInst(in) || LLVMIsAAtomicCmpXchgInst(in) || LLVMIsAFenceInst(in) ||
           (LLVMIsACallInst(in) && !igp_has_no_memory(in) && !igp_is_warpgroup_product(in) &&
            !igp_is_copy(in) && !igp_is_wait(in) && igi_family_of(in) != IGI_FAMILY_LOAD_DEVICE &&
            igi_family_of(in) != IGI_FAMILY_LOAD_THREADGROUP);
}

LLVMValueRef igp_written(LLVMValueRef in) {
    LLVMValueRef to = LLVMIsAStoreInst(in) ? LLVMGetOperand(in, 1)
                      : igp_is_copy(in)    ? LLVMGetOperand(in, 0)
                                           : NULL;
    return to && LLVMGetPointerAddressSpace(LLVMTypeOf(to)) == INGOT_SPACE_THREADGROUP ? to : NULL;
}

static unsigned larger(unsigned a, unsigned b) {
    return a > b ? a : b;
}

/* The last group that reads what is written at a place. */
static unsigned group_that_reads(const struct run *run, LLVMValueRef to) {
    unsigned group = 0;
    for (unsigned i = 0; i < run->count; i++) {
        LLVMValueRef places[2];
        unsigned count = igp_warpgroup_product_places(run->calls[i], places);
        while (count-- > 0) {
            group = igp_other_objects(to, places[count]) ? group : run->group[i];
        }
    }
    return group;
}

/* Does somebody else want a sum that a product adds to, and changes? */
static bool is_kept(LLVMValueRef sum) {
    LLVMUseRef use = LLVMGetFirstUse(sum);
    return use && LLVMGetNextUse(use);
}

/* How many groups an instruction has to wait for: does it look at their sums, wait for others, or
 * perhaps write what they read? */
static unsigned groups_before(const struct run *run, LLVMValueRef in) {
    LLVMOpcode opcode = LLVMGetInstructionOpcode(in);
    if (igp_is_wait(in) || LLVMIsATerminatorInst(in) || igp_may_write(in)) {
        return groups_of(run);
    }
    unsigned group = 0;
    if (opcode == LLVMStore || igp_is_copy(in)) {
        group = group_that_reads(run, LLVMGetOperand(in, opcode == LLVMStore));
    }
    for (int i = 0; i < LLVMGetNumOperands(in) && !LLVMIsAExtractValueInst(in); i++) {
        LLVMValueRef value = LLVMGetOperand(in, (unsigned)i);
        if (!igp_is_warpgroup_product(in) || i < IGP_WARPGROUP_FIRST || is_kept(value)) {
            group = larger(group, group_of_sum(run, value));
        } /* else a sum goes on */
    }
    return group;
}

static bool is_used_outside(const struct run *run, LLVMValueRef sum) {
    igi_each_use(use, sum) {
        if (!group_of(run, LLVMGetUser(use))) {
            return true;
        }
    }
    return false;
}

/* Others than the run's products take `now` for `sum`. */
static void replace_outside(const struct run *run, LLVMValueRef wait, LLVMValueRef sum,
                            LLVMValueRef now) {
    LLVMUseRef next;
    for (LLVMUseRef use = LLVMGetFirstUse(sum); use; use = next) {
        LLVMValueRef user = LLVMGetUser(use);
        next = LLVMGetNextUse(use);
        if (user == wait || group_of(run, user)) {
            continue;
        }
        for (int i = 0; i < LLVMGetNumOperands(user); i++) {
            if (LLVMGetOperand(user, (unsigned)i) == sum) {
                LLVMSetOperand(user, (unsigned)i, now);
                next = LLVMGetFirstUse(sum); /* uses have changed */
            }
        }
    }
}

/* What was begun is a group. */
static void close_group(struct igc_kernel *k, struct run *run, LLVMValueRef place) {
    if (run->open) {
        LLVMPositionBuilderBefore(k->builder, place);
        igp_call(k, igi_plain(IGI_nv_wgmma_commit), LLVMVoidTypeInContext(k->context), NULL, 0);
        run->open = false;
    }
}

static void forget_groups(struct run *run, unsigned groups) {
    unsigned left = 0;
    for (unsigned i = 0; i < run->count; i++) {
        if (run->group[i] > groups) {
            run->calls[left] = run->calls[i];
            run->group[left++] = run->group[i] - groups;
        }
    }
    run->count = left;
}

/* Waits for the first groups. Sums that others want go through the call that waits. */
static ingot_status build_wait(struct igc_kernel *k, struct run *run, unsigned groups,
                               LLVMValueRef place) {
    LLVMValueRef sums[IGP_WARPGROUP_MOST];
    unsigned count = 0;
    for (unsigned i = 0; i < run->count && run->group[i] <= groups; i++) {
        igi_each_use(use, run->calls[i]) {
            LLVMValueRef sum = LLVMGetUser(use);
            if (is_used_outside(run, sum) && count < IGP_WARPGROUP_MOST) {
                sums[count++] = sum;
            }
        }
    }
    const unsigned others = groups_of(run) - groups;
    const struct igi_name name = {.builtin = IGI_nv_wgmma_wait,
                                  .words = run->late ? IGI_WGMMA_WAIT_LATE : 0,
                                  .numbers = {others, count}};
    close_group(k, run, place);
    LLVMPositionBuilderBefore(k->builder, place);
    LLVMValueRef wait = igp_call_for_sums(k, name, sums, count, count);
    for (unsigned i = 0; i < count; i++) {
        LLVMValueRef now = LLVMBuildExtractValue(k->builder, wait, i, "");
        replace_outside(run, wait, sums[i], now);
    }
    forget_groups(run, groups);
    run->late = others > 0;
    return INGOT_OK;
}

/* ---- waiting one iteration later ---- */
/* Phis that have been looked at. */
struct seen {
    LLVMValueRef phis[MAX_PHIS];
    unsigned count;
};

/* Do sums only go on to other products, perhaps of the next iteration? */
static bool goes_to_products(LLVMValueRef value, struct seen *seen) {
    for (unsigned i = 0; i < seen->count; i++) {
        if (seen->phis[i] == value) {
            return true;
        }
    }
    if (LLVMIsAPHINode(value)) {
        if (seen->count == MAX_PHIS) {
            return false;
        }
        seen->phis[seen->count++] = value;
    }
    igi_each_use(use, value) {
        LLVMValueRef user = LLVMGetUser(use);
        const bool passes_on = LLVMIsAPHINode(user) || LLVMIsAInsertElementInst(user) ||
                               LLVMIsAExtractElementInst(user);
        if (!igp_is_warpgroup_product(user) && !(passes_on && goes_to_products(user, seen))) {
            return false;
        }
    }
    return true;
}

bool igp_is_group_barrier(LLVMValueRef in) {
    enum { SIMDGROUP = 1 };
    LLVMValueRef scope = igp_is_wait(in) && LLVMIsACallInst(in) ? LLVMGetOperand(in, 0) : NULL;
    return scope && LLVMIsAConstantInt(scope) && LLVMConstIntGetZExtValue(scope) != SIMDGROUP;
}

/* Is the first of a loop's accesses behind a barrier of the threadgroup? */
static bool begins_with_barrier(LLVMBasicBlockRef block) {
    igi_each_in_block(in, block) {
        if (igp_is_group_barrier(in)) {
            return true;
        }
        if (igp_written(in) || (LLVMIsACallInst(in) && !igp_has_no_memory(in))) {
            return false;
        }
    }
    return false;
}

/* Is what is written there neither in this iteration of a loop of one block nor in the next what a
 * product of this one reads at `place`? */
static bool stays_apart(LLVMValueRef to, LLVMValueRef place, LLVMBasicBlockRef block) {
    while (igp_is_element(to)) {
        to = LLVMGetOperand(to, 0);
    }
    if (!igp_other_objects(to, place)) {
        return false;
    }
    if (!LLVMIsAInstruction(to) || LLVMGetInstructionParent(to) != block) {
        return true; /* always the same object */
    }
    for (unsigned i = 0; LLVMIsAPHINode(to) && i < LLVMCountIncoming(to); i++) {
        if (LLVMGetIncomingBlock(to, i) == block) {
            return igp_other_objects(LLVMGetIncomingValue(to, i), place);
        }
    }
    return false;
}

/* A loop of one block, with a barrier first, whose sums only go round: products may be under way
 * until those of the next iteration have been begun. All threads have waited for them then before
 * the barrier of the iteration after that, so that until then nobody may write what they read. */
static bool can_delay(const struct run *run, LLVMBasicBlockRef block) {
    LLVMValueRef end = LLVMGetBasicBlockTerminator(block);
    bool loops = false;
    for (unsigned i = 0; i < LLVMGetNumSuccessors(end); i++) {
        loops |= LLVMGetSuccessor(end, i) == block;
    }
    if (!loops || !begins_with_barrier(block)) {
        return false;
    }
    igi_each_in_block(in, block) {
        LLVMValueRef to = igp_written(in), places[2];
        if (igp_may_write(in)) {
            return false;
        }
        for (unsigned i = 0; i < run->count; i++) {
            unsigned count = igp_warpgroup_product_places(run->calls[i], places);
            while (to && count-- > 0) {
                if (!stays_apart(to, places[count], block)) {
                    return false;
                }
            }
        }
        if (igp_is_warpgroup_order(in)) {
            return false; /* some were waited for already */
        }
    }
    for (unsigned i = 0; i < run->count; i++) {
        igi_each_use(use, run->calls[i]) {
            struct seen seen = {.count = 0};
            if (!goes_to_products(LLVMGetUser(use), &seen)) {
                return false;
            }
        }
    }
    return true;
}

/* A block on the way from one to another, which has phis. */
static LLVMBasicBlockRef split_way(struct igc_kernel *k, LLVMBasicBlockRef from,
                                   LLVMBasicBlockRef to) {
    LLVMBasicBlockRef between = LLVMInsertBasicBlockInContext(k->context, to, "");
    LLVMPositionBuilderAtEnd(k->builder, between);
    LLVMBuildBr(k->builder, to);
    igi_each_phi_safe(old, to) {
        LLVMPositionBuilderBefore(k->builder, old);
        LLVMValueRef phi = LLVMBuildPhi(k->builder, LLVMTypeOf(old), "");
        for (unsigned i = 0; i < LLVMCountIncoming(old); i++) {
            LLVMValueRef value = LLVMGetIncomingValue(old, i);
            LLVMBasicBlockRef block = LLVMGetIncomingBlock(old, i);
            LLVMAddIncoming(phi, &value, block == from ? &between : &block, 1);
        }
        igi_replace(old, phi);
    }
    return between;
}

/* Waits for what the iteration before has begun and, on the ways out of the loop, for all: sums
 * meet others there only when they are done. */
static void build_delayed_wait(struct igc_kernel *k, LLVMBasicBlockRef block) {
    LLVMTypeRef nothing = LLVMVoidTypeInContext(k->context);
    LLVMValueRef end = LLVMGetBasicBlockTerminator(block);
    LLVMPositionBuilderBefore(k->builder, end);
    igp_call(k, igi_plain(IGI_nv_wgmma_wait_before), nothing, NULL, 0);
    for (unsigned i = 0; i < LLVMGetNumSuccessors(end); i++) {
        LLVMBasicBlockRef next = LLVMGetSuccessor(end, i);
        if (next != block) {
            LLVMBasicBlockRef between = split_way(k, block, next);
            LLVMSetSuccessor(end, i, between);
            LLVMPositionBuilderBefore(k->builder, LLVMGetFirstInstruction(between));
            igp_call(k, igi_plain(IGI_nv_wgmma_wait_all), nothing, NULL, 0);
        }
    }
}

/* Registers that were written before a product, sums or A, are its own after a fence, which is part
 * of its code so that nothing comes between. */
static ingot_status add_fence(struct igc_kernel *k, LLVMValueRef product) {
    struct igi_name name = igi_name_of(product);
    name.words |= IGI_WGMMA_FENCED;
    LLVMTypeRef type = LLVMGetCalledFunctionType(product);
    LLVMSetOperand(product, (unsigned)LLVMGetNumOperands(product) - 1, igp_declare(k, name, type));
    return INGOT_OK;
}

/* Has a value been in registers since the block was begun? Elements of such vectors, put together
 * again, are. */
static bool is_older(LLVMValueRef value, LLVMBasicBlockRef block, unsigned depth) {
    if (!LLVMIsAInstruction(value) || LLVMIsAPHINode(value) ||
        LLVMGetInstructionParent(value) != block) {
        return true;
    }
    bool older =
        depth < MAX_DEPTH && (LLVMIsAInsertElementInst(value) || LLVMIsAExtractElementInst(value) ||
                              LLVMIsABitCastInst(value));
    for (unsigned i = 0; older && i < (unsigned)LLVMGetNumOperands(value); i++) {
        older = is_older(LLVMGetOperand(value, i), block, depth + 1);
    }
    return older;
}

/* Does a product have A in registers that may have been written since the one before it? */
static bool has_new_left(LLVMValueRef product) {
    bool older = true;
    for (unsigned i = 0; older && !igp_has_left_in_memory(product) && i < IGP_WARPGROUP_LEFT; i++) {
        older = is_older(LLVMGetOperand(product, i), LLVMGetInstructionParent(product), 0);
    }
    return !older;
}

/* Does a product add to sums of the last group, or is it the first? Then it is one of it. */
static bool goes_on(const struct run *run, LLVMValueRef product) {
    const unsigned group = group_of_sum(run, LLVMGetOperand(product, IGP_WARPGROUP_FIRST));
    return !run->count || (run->open && group && group == groups_of(run));
}

static ingot_status add_product(struct igc_kernel *k, struct run *run, LLVMValueRef product) {
    ingot_status status = INGOT_OK;
    if (run->count == sizeof run->calls / sizeof *run->calls) {
        status = build_wait(k, run, groups_of(run), product);
    }
    const bool another = !goes_on(run, product), first = another || !run->count;
    const unsigned group = groups_of(run) + first;
    if (another) {
        close_group(k, run, product);
    }
    if (!status && (first || has_new_left(product))) {
        status = add_fence(k, product);
    }
    run->calls[run->count] = product;
    run->group[run->count++] = group;
    run->open = true;
    return status;
}

static ingot_status order_block(struct igc_kernel *k, LLVMBasicBlockRef block) {
    struct run run = {.count = 0};
    ingot_status status = INGOT_OK;
    igi_each_in_block(in, block) {
        if (run.count && (LLVMIsATerminatorInst(in) || igp_can_sink(in)) &&
            can_delay(&run, block)) {
            build_delayed_wait(k, block);
            run = (struct run){.count = 0};
        }
        const unsigned groups = groups_before(&run, in);
        if (groups) {
            status = build_wait(k, &run, groups, in);
        }
        if (!status && igp_is_warpgroup_product(in)) {
            status = add_product(k, &run, in);
        }
        if (status) {
            return status;
        }
    }
    return INGOT_OK;
}

ingot_status igp_order_warpgroup_products(struct igc_kernel *k) {
    igi_each_block_safe(b, k->function) {
        ingot_status status = order_block(k, b);
        if (status) {
            return status;
        }
    }
    return INGOT_OK;
}
