/*
 * Control flow: partial linearisation (after Moll and Hack, "Partial control-flow
 * linearization", PLDI 2018).
 *
 * Blocks are emitted in the analysis' order. A uniform branch stays a branch. At a divergent one
 * all lanes go on together: control goes to the first of the pending targets in order, and the
 * rest are deferred: every block passes on what must still be visited after it. A block's mask is
 * the OR of the masks of the edges that led to it. A divergent loop runs while any lane is live;
 * targets outside of it are collected and visited after it. A block may thus be visited with no
 * lane active: where that would do harm or cost, it is guarded, and skips to what is deferred.
 *
 * Masks and phis live in slots (mem2reg makes SSA of them): they are reset where their loop's
 * iteration begins, OR-ed and blended on edges.
 */
#include "compiler/cpu/vectorise/state.h"
#include "compiler/ir/builtins.h"
#include "compiler/ir/walk.h"

/* ---- bit sets of blocks -------------------------------------------------------------------------
 */

static bool has(const uint64_t *set, unsigned block) {
    return set[block / 64] >> (block % 64) & 1;
}

static void put(uint64_t *set, unsigned block) {
    set[block / 64] |= 1ull << (block % 64);
}

static void drop(uint64_t *set, unsigned block) {
    set[block / 64] &= ~(1ull << (block % 64));
}

static unsigned lowest(const struct igv_state *state, const uint64_t *set) {
    for (unsigned word = 0; word < state->words; word++) {
        if (set[word]) {
            return word * 64 + (unsigned)__builtin_ctzll(set[word]);
        }
    }
    return IGV_NONE;
}

static uint64_t *copy_set(struct igv_state *state, const uint64_t *set) {
    uint64_t *copy = ig_arena_array(state->arena, state->words, sizeof *copy);
    if (copy && set) {
        memcpy(copy, set, state->words * sizeof *copy);
    }
    return copy;
}

/* ---- planning
 * -------------------------------------------------------------------------------------- */

static const struct igv_block *block_at(struct igv_emit *emit, unsigned block) {
    return &emit->state->analysis.blocks[block];
}

static struct igv_loop *loop_at(struct igv_emit *emit, unsigned loop) {
    return &emit->state->analysis.loops[loop];
}

static bool is_header(struct igv_emit *emit, unsigned block) {
    unsigned loop = block_at(emit, block)->loop;
    return loop != IGV_NONE && loop_at(emit, loop)->header == block;
}

static bool is_back_edge(struct igv_emit *emit, unsigned from, unsigned to) {
    return is_header(emit, to) && loop_at(emit, block_at(emit, to)->loop)->latch == from;
}

/* The block always runs with exactly the lanes that entered the kernel. */
static bool runs_with_entry_mask(struct igv_emit *emit, unsigned block) {
    if (block_at(emit, block)->divergent) {
        return false;
    }
    for (unsigned l = block_at(emit, block)->loop; l != IGV_NONE; l = loop_at(emit, l)->parent) {
        struct igv_loop *loop = loop_at(emit, l);
        if (loop->divergent || block_at(emit, loop->header)->divergent) {
            return false;
        }
    }
    return true;
}

static bool needs_guard_for(struct igv_emit *emit, LLVMValueRef instruction) {
    switch (LLVMGetInstructionOpcode(instruction)) {
    case LLVMLoad:
        return igv_exact_shape(emit, instruction, NULL) == IGV_V_UNIFORM ||
               igv_needs_lane_for_table(emit, instruction);
    case LLVMStore:
        return igv_exact_shape(emit, LLVMGetOperand(instruction, 1), NULL) == IGV_V_UNIFORM;
    case LLVMUDiv:
    case LLVMSDiv:
    case LLVMURem:
    case LLVMSRem:
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg:
        return true;
    case LLVMCall:
        return !igi_is_intrinsic(instruction) || igi_intrinsic_of(instruction) == IGI_LLVM_trap;
    default:
        return false;
    }
}

static unsigned mask_owner(struct igv_emit *emit, unsigned block) {
    unsigned owner = block;
    while (block_at(emit, owner)->mask_of != owner) {
        owner = block_at(emit, owner)->mask_of;
    }
    return owner;
}

/* The block has the mask of one before it that never runs with none: that dominates it, so it was
 * not skipped. */
static bool is_never_empty(struct igv_emit *emit, unsigned block) {
    unsigned owner = mask_owner(emit, block);
    return is_header(emit, block) || emit->state->entry_masked[owner] ||
           (owner != block && (is_header(emit, owner) || emit->state->guarded[owner]));
}

#define GUARD_THRESHOLD 10 /* instructions worth a test and a branch */

static bool wants_guard(struct igv_emit *emit, unsigned block) {
    const struct igv_block *info = block_at(emit, block);
    if (emit->state->entry_masked[block] || is_never_empty(emit, block)) {
        return false;
    }
    if (info->successor_count == 2 && !info->branch_divergent) {
        return true;
    }
    for (unsigned l = 0; l < emit->state->analysis.loop_count; l++) {
        if (loop_at(emit, l)->preheader == block) {
            return true;
        }
    }
    unsigned count = 0;
    igi_each_in_block(i, info->block) {
        if (needs_guard_for(emit, i)) {
            return true;
        }
        count += LLVMGetInstructionOpcode(i) != LLVMPHI;
    }
    return count >= GUARD_THRESHOLD;
}

void igv_control_plan(struct igv_emit *emit) {
    struct igv_state *state = emit->state;
    for (unsigned b = 0; b < state->analysis.block_count; b++) {
        state->entry_masked[b] = runs_with_entry_mask(emit, b);
    }
    for (unsigned b = 0; b < state->analysis.block_count; b++) {
        state->guarded[b] = wants_guard(emit, b);
    }
}

/* ---- masks
 * -------------------------------------------------------------------------------------------- */

static LLVMValueRef mask_slot(struct igv_emit *emit, unsigned block, unsigned chunk) {
    LLVMValueRef *slot = &emit->state->mask_slots[block][chunk];
    if (!*slot) {
        *slot = igv_entry_alloca(emit, igv_mask_slot_type(emit), 0);
    }
    return *slot;
}

static LLVMValueRef load_mask(struct igv_emit *emit, unsigned block, unsigned chunk) {
    if (emit->state->entry_masked[block]) {
        return emit->state->entry_mask[chunk];
    }
    unsigned owner = mask_owner(emit, block);
    if (emit->state->entry_masked[owner]) {
        return emit->state->entry_mask[chunk];
    }
    LLVMValueRef stored =
        LLVMBuildLoad2(emit->builder, igv_mask_slot_type(emit), mask_slot(emit, owner, chunk), "");
    return igv_mask_from_slot(emit, stored);
}

/* Blocks that have a slot of their own. */
static bool owns_mask(struct igv_emit *emit, unsigned block) {
    return !emit->state->entry_masked[block] && mask_owner(emit, block) == block;
}

static void store_mask(struct igv_emit *emit, unsigned block, unsigned chunk, LLVMValueRef mask) {
    if (owns_mask(emit, block)) {
        LLVMBuildStore(emit->builder, igv_mask_to_slot(emit, mask), mask_slot(emit, block, chunk));
    }
}

static void or_mask(struct igv_emit *emit, unsigned block, LLVMValueRef *masks) {
    if (!owns_mask(emit, block)) {
        return;
    }
    for (unsigned chunk = 0; chunk < emit->chunks; chunk++) {
        LLVMValueRef slot = mask_slot(emit, block, chunk);
        LLVMValueRef old = LLVMBuildLoad2(emit->builder, igv_mask_slot_type(emit), slot, "");
        LLVMValueRef now = igv_mask_to_slot(emit, masks[chunk]);
        LLVMBuildStore(emit->builder, LLVMBuildOr(emit->builder, old, now, ""), slot);
    }
}

/* The constant that a phi gets on many ways, or NULL. Its slot has it before any lane comes, and
 * those ways write nothing: a switch of many cases has few blends then. */
static LLVMValueRef usual_constant(struct igv_emit *emit, LLVMValueRef phi) {
    enum { CANDIDATES = 4, MANY_WAYS = 6 };
    struct igv_slot *slot = igv_slot_of(igv_lookup(emit, phi));
    if (slot->usual_known) {
        return slot->usual;
    }
    LLVMValueRef found[CANDIDATES] = {NULL};
    unsigned ways[CANDIDATES] = {0};
    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
        LLVMValueRef value = LLVMGetIncomingValue(phi, i);
        unsigned k = LLVMIsAConstant(value) && !LLVMIsUndef(value) ? 0 : CANDIDATES;
        while (k < CANDIDATES && found[k] && found[k] != value) {
            k++;
        }
        if (k < CANDIDATES) {
            found[k] = value;
            ways[k]++;
        }
    }
    slot->usual_known = true;
    unsigned most = MANY_WAYS - 1;
    for (unsigned k = 0; k < CANDIDATES; k++) {
        if (ways[k] > most) {
            most = ways[k];
            slot->usual = found[k];
        }
    }
    return slot->usual;
}

/* Before any lane comes. */
static void reset_phi(struct igv_emit *emit, LLVMValueRef phi) {
    struct igv_value *known = igv_lookup(emit, phi);
    LLVMValueRef usual = usual_constant(emit, phi);
    for (unsigned chunk = 0; chunk < emit->chunks; chunk++) {
        LLVMValueRef value =
            usual ? igv_to_slot_form(emit, LLVMTypeOf(phi), igv_vector(emit, usual, chunk))
                  : LLVMGetUndef(igv_slot_type(emit, known));
        LLVMBuildStore(emit->builder, value, igv_value_slot(emit, known, chunk));
    }
}

/* At the start of an iteration of `loop` (IGV_NONE: of the kernel) the blocks directly in it, and
 * the headers of the loops directly in it, have not been reached by any lane. */
static void reset_loop(struct igv_emit *emit, unsigned loop) {
    struct igv_state *state = emit->state;
    for (unsigned b = 0; b < state->analysis.block_count; b++) {
        unsigned inner = block_at(emit, b)->loop;
        bool header = is_header(emit, b);
        bool directly = header ? loop_at(emit, inner)->parent == loop : inner == loop;
        if (!directly || b == 0) {
            continue;
        }
        if (owns_mask(emit, b)) {
            for (unsigned chunk = 0; chunk < emit->chunks; chunk++) {
                LLVMBuildStore(emit->builder, LLVMConstNull(igv_mask_slot_type(emit)),
                               mask_slot(emit, b, chunk));
            }
        }
        igi_each_phi(i, block_at(emit, b)->block) {
            struct igv_value *phi = igv_lookup(emit, i);
            if (!header && phi->shape == IGV_V_VARYING) {
                reset_phi(emit, i);
            }
        }
    }
}

/* ---- phis
 * -----------------------------------------------------------------------------------------------
 */

static LLVMValueRef incoming_from(LLVMValueRef phi, LLVMBasicBlockRef from) {
    unsigned count = LLVMCountIncoming(phi);
    for (unsigned i = 0; i < count; i++) {
        if (LLVMGetIncomingBlock(phi, i) == from) {
            return LLVMGetIncomingValue(phi, i);
        }
    }
    return NULL;
}

struct phi_write {
    LLVMValueRef slot, value, mask; /* mask: blend; NULL: overwrite */
};

/* Appends the writes of one phi for an edge. */
static unsigned phi_writes(struct igv_emit *emit, LLVMValueRef phi, unsigned from, unsigned to,
                           LLVMValueRef *masks, struct phi_write *writes) {
    struct igv_value *known = igv_lookup(emit, phi);
    LLVMValueRef value = incoming_from(phi, block_at(emit, from)->block);
    if (known->shape != IGV_V_VARYING) {
        writes[0] =
            (struct phi_write){igv_value_slot(emit, known, 0), igv_scalar(emit, value), NULL};
        return 1;
    }
    bool blend = !is_header(emit, to) &&
                 (block_at(emit, to)->phis_divergent || !emit->state->entry_masked[to]);
    if (blend && value == usual_constant(emit, phi)) {
        return 0;
    }
    for (unsigned chunk = 0; chunk < emit->chunks; chunk++) {
        LLVMValueRef vector =
            igv_to_slot_form(emit, LLVMTypeOf(phi), igv_vector(emit, value, chunk));
        writes[chunk] = (struct phi_write){igv_value_slot(emit, known, chunk), vector,
                                           blend ? masks[chunk] : NULL};
    }
    return emit->chunks;
}

/* All values are read before any slot is written: phis of one block swap freely. */
static void write_phis(struct igv_emit *emit, unsigned from, const unsigned *targets,
                       unsigned target_count, LLVMValueRef (*masks)[IGV_MAX_CHUNKS]) {
    struct igv_state *state = emit->state;
    size_t capacity = 0;
    for (unsigned t = 0; t < target_count; t++) {
        igi_each_phi(i, block_at(emit, targets[t])->block) {
            capacity += IGV_MAX_CHUNKS;
        }
    }
    if (!capacity) {
        return;
    }
    struct phi_write *writes = ig_arena_array(state->arena, capacity, sizeof *writes);
    size_t count = 0;
    for (unsigned t = 0; writes && t < target_count; t++) {
        igi_each_phi(i, block_at(emit, targets[t])->block) {
            count += phi_writes(emit, i, from, targets[t], masks[t], writes + count);
        }
    }
    for (size_t i = 0; i < count; i++) {
        LLVMValueRef value = writes[i].value;
        if (writes[i].mask) {
            LLVMTypeRef type = LLVMTypeOf(value);
            LLVMValueRef old = LLVMBuildLoad2(emit->builder, type, writes[i].slot, "");
            value = LLVMBuildSelect(emit->builder, writes[i].mask, value, old, "");
        }
        LLVMBuildStore(emit->builder, value, writes[i].slot);
    }
}

/* ---- where control goes
 * ------------------------------------------------------------------------------------ */

static LLVMBasicBlockRef leave_block(struct igv_emit *emit, unsigned loop) {
    LLVMBasicBlockRef *leave = &emit->state->leaves[loop];
    if (!*leave) {
        *leave = igv_append_block(emit, "leave");
    }
    return *leave;
}

static unsigned divergent_loop_around(struct igv_emit *emit, unsigned loop) {
    while (loop != IGV_NONE && !loop_at(emit, loop)->divergent) {
        loop = loop_at(emit, loop)->parent;
    }
    return loop;
}

/* Targets outside the innermost divergent loop wait for its end. */
static void collect_exits(struct igv_emit *emit, uint64_t *targets, unsigned loop) {
    for (unsigned t = 0; t < emit->state->analysis.block_count; t++) {
        if (has(targets, t) && !igv_in_loop(loop_at(emit, loop), t)) {
            put(emit->state->exits[loop], t);
            drop(targets, t);
        }
    }
}

/* Picks the next block out of `targets` (consumed), defers the rest to it. `from` stands in
 * `loop`. In a divergent loop the latch is always still to come. */
static unsigned route(struct igv_emit *emit, uint64_t *targets, unsigned loop, unsigned from) {
    struct igv_state *state = emit->state;
    unsigned around = divergent_loop_around(emit, loop);
    if (around != IGV_NONE) {
        collect_exits(emit, targets, around);
        if (from != loop_at(emit, around)->latch) {
            put(targets, loop_at(emit, around)->latch);
        }
    }
    unsigned next = lowest(state, targets);
    if (next == IGV_NONE) {
        ig_fail(emit->error, INGOT_INTERNAL_ERROR, "control flow of block %u leads nowhere", from);
        return from;
    }
    drop(targets, next);
    for (unsigned word = 0; word < state->words; word++) {
        state->deferred[next][word] |= targets[word];
    }
    return next;
}

static void branch_to(struct igv_emit *emit, unsigned from, const unsigned *targets,
                      unsigned count) {
    struct igv_state *state = emit->state;
    uint64_t *pending = copy_set(state, state->deferred[from]);
    for (unsigned i = 0; i < count; i++) {
        put(pending, targets[i]);
    }
    unsigned next = route(emit, pending, block_at(emit, from)->loop, from);
    LLVMBuildBr(emit->builder, state->blocks[next]);
}

/* After the latch of a divergent loop: no lane is live in it any more. */
static void finish_loop(struct igv_emit *emit, unsigned loop, unsigned latch) {
    struct igv_state *state = emit->state;
    uint64_t *pending = copy_set(state, state->exits[loop]);
    for (unsigned t = 0; t < state->analysis.block_count; t++) {
        if (has(state->deferred[latch], t) && !igv_in_loop(loop_at(emit, loop), t)) {
            put(pending, t);
        }
    }
    LLVMPositionBuilderAtEnd(emit->builder, leave_block(emit, loop));
    unsigned next = route(emit, pending, loop_at(emit, loop)->parent, latch);
    LLVMBuildBr(emit->builder, state->blocks[next]);
}

/* ---- terminators
 * -------------------------------------------------------------------------------------------- */

/* Each lane goes its way; control goes on with all of them. */
static void emit_divergent_end(struct igv_emit *emit, unsigned block, LLVMValueRef condition) {
    struct igv_state *state = emit->state;
    const struct igv_block *info = block_at(emit, block);
    unsigned count = info->successor_count;
    LLVMValueRef masks[2][IGV_MAX_CHUNKS];
    LLVMValueRef none = LLVMConstNull(igv_mask_type(emit));
    for (unsigned chunk = 0; chunk < emit->chunks; chunk++) {
        LLVMValueRef mask = state->mask[chunk];
        masks[0][chunk] = mask;
        if (count == 1) {
            continue;
        }
        LLVMValueRef taken = igv_vector(emit, condition, chunk);
        masks[0][chunk] = LLVMBuildSelect(emit->builder, mask, taken, none, "");
        LLVMValueRef not_taken = LLVMBuildNot(emit->builder, taken, "");
        masks[1][chunk] = LLVMBuildSelect(emit->builder, mask, not_taken, none, "");
    }
    write_phis(emit, block, info->successors, count, masks);
    unsigned loop = info->loop;
    bool latch = loop != IGV_NONE && loop_at(emit, loop)->latch == block;
    bool ends_divergent_loop = latch && loop_at(emit, loop)->divergent;
    LLVMValueRef *live = NULL;
    unsigned forward[2], forward_count = 0;
    for (unsigned i = 0; i < count; i++) {
        unsigned target = info->successors[i];
        if (is_back_edge(emit, block, target)) {
            live = masks[i];
            for (unsigned chunk = 0; ends_divergent_loop && chunk < emit->chunks; chunk++) {
                store_mask(emit, target, chunk, live[chunk]);
            }
        } else {
            or_mask(emit, target, masks[i]);
            forward[forward_count++] = target;
        }
    }
    if (ends_divergent_loop) {
        for (unsigned i = 0; i < forward_count; i++) {
            put(state->exits[loop], forward[i]);
        }
        LLVMBuildCondBr(emit->builder, igv_any(emit, live),
                        state->blocks[loop_at(emit, loop)->header], leave_block(emit, loop));
        finish_loop(emit, loop, block);
    } else if (latch) {
        LLVMBuildBr(emit->builder, state->blocks[loop_at(emit, loop)->header]);
    } else {
        branch_to(emit, block, forward, forward_count);
    }
}

/* All active lanes take the same way: a real branch. In a divergent loop an edge out of it ends
 * the loop at once if the block has all its live lanes. */
static void emit_uniform_end(struct igv_emit *emit, unsigned block, LLVMValueRef condition) {
    struct igv_state *state = emit->state;
    const struct igv_block *info = block_at(emit, block);
    LLVMBasicBlockRef edges[2] = {igv_append_block(emit, "edge"), igv_append_block(emit, "edge")};
    LLVMBuildCondBr(emit->builder, igv_scalar(emit, condition), edges[0], edges[1]);
    unsigned around = divergent_loop_around(emit, info->loop);
    for (unsigned i = 0; i < 2; i++) {
        unsigned target = info->successors[i];
        LLVMPositionBuilderAtEnd(emit->builder, edges[i]);
        write_phis(emit, block, &target, 1, &state->mask);
        if (is_back_edge(emit, block, target)) {
            for (unsigned chunk = 0; chunk < emit->chunks; chunk++) {
                if (loop_at(emit, info->loop)->divergent) {
                    store_mask(emit, target, chunk, state->mask[chunk]);
                }
            }
            LLVMBuildBr(emit->builder, state->blocks[target]);
            continue;
        }
        or_mask(emit, target, state->mask);
        if (around == info->loop && around != IGV_NONE &&
            !igv_in_loop(loop_at(emit, around), target) &&
            mask_owner(emit, block) == mask_owner(emit, loop_at(emit, around)->header)) {
            put(state->exits[around], target);
            LLVMBuildBr(emit->builder, leave_block(emit, around));
            continue;
        }
        branch_to(emit, block, &target, 1);
    }
}

/* A uniform branch may stay one unless it ends a divergent loop, or leaves one while other lanes
 * of the iteration are elsewhere. */
static bool stays_branch(struct igv_emit *emit, unsigned block) {
    const struct igv_block *info = block_at(emit, block);
    if (info->successor_count != 2 || info->branch_divergent) {
        return false;
    }
    unsigned loop = info->loop;
    if (loop == IGV_NONE || !loop_at(emit, loop)->divergent) {
        return true;
    }
    bool same = mask_owner(emit, block) == mask_owner(emit, loop_at(emit, loop)->header);
    if (loop_at(emit, loop)->latch == block) {
        return same;
    }
    for (unsigned i = 0; i < 2; i++) {
        if (!igv_in_loop(loop_at(emit, loop), info->successors[i]) && !same) {
            return false;
        }
    }
    return true;
}

/* ---- blocks
 * ----------------------------------------------------------------------------------------------------
 */

static void emit_guard(struct igv_emit *emit, unsigned block) {
    struct igv_state *state = emit->state;
    unsigned loop = block_at(emit, block)->loop;
    LLVMBasicBlockRef skip;
    if (loop != IGV_NONE && loop_at(emit, loop)->divergent && loop_at(emit, loop)->latch == block) {
        skip = leave_block(emit, loop);
    } else {
        uint64_t *pending = copy_set(state, state->deferred[block]);
        if (lowest(state, pending) == IGV_NONE && divergent_loop_around(emit, loop) == IGV_NONE) {
            return; /* nothing is deferred: a lane is always active here */
        }
        unsigned around = divergent_loop_around(emit, loop);
        if (around != IGV_NONE && loop_at(emit, around)->latch == block) {
            return;
        }
        skip = state->blocks[route(emit, pending, loop, block)];
    }
    LLVMBasicBlockRef body = igv_append_block(emit, "body");
    LLVMBuildCondBr(emit->builder, igv_any(emit, state->mask), body, skip);
    LLVMPositionBuilderAtEnd(emit->builder, body);
}

static void emit_block(struct igv_emit *emit, unsigned block) {
    struct igv_state *state = emit->state;
    const struct igv_block *info = block_at(emit, block);
    LLVMPositionBuilderAtEnd(emit->builder, state->blocks[block]);
    state->block = block;
    if (is_header(emit, block)) {
        reset_loop(emit, info->loop);
    }
    for (unsigned chunk = 0; chunk < emit->chunks; chunk++) {
        state->mask[chunk] = load_mask(emit, block, chunk);
    }
    if (state->guarded[block]) {
        emit_guard(emit, block);
    }
    igi_each_in_block(i, info->block) {
        igv_lines_set(emit, i);
        igv_emit_instruction(emit, i);
        if (emit->error->status != INGOT_OK) {
            return;
        }
    }
    if (info->successor_count == 0) {
        if (emit->request->may_decline) {
            LLVMBuildRet(emit->builder, LLVMConstAllOnes(emit->i1));
        } else {
            LLVMBuildRetVoid(emit->builder);
        }
        return;
    }
    LLVMValueRef end = LLVMGetBasicBlockTerminator(info->block);
    LLVMValueRef condition = info->successor_count == 2 ? LLVMGetCondition(end) : NULL;
    if (!stays_branch(emit, block)) {
        emit_divergent_end(emit, block, condition);
        return;
    }
    emit_uniform_end(emit, block, condition);
    unsigned loop = info->loop;
    if (loop != IGV_NONE && loop_at(emit, loop)->divergent && loop_at(emit, loop)->latch == block) {
        finish_loop(emit, loop, block);
    }
}

void igv_control_emit(struct igv_emit *emit) {
    struct igv_state *state = emit->state;
    reset_loop(emit, IGV_NONE);
    LLVMBuildBr(emit->builder, state->blocks[0]);
    for (unsigned b = 0; b < state->analysis.block_count; b++) {
        emit_block(emit, b);
        if (emit->error->status != INGOT_OK) {
            return;
        }
    }
}
