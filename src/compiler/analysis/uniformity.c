/*
 * Which values are the same in all threads of a scope, and which blocks all of them reach together:
 * the analysis for back ends whose lanes run apart. Scopes are the lanes of a SIMD-group, equal
 * lanes of the SIMD-groups of a threadgroup, and all threads of a threadgroup.
 *
 * Conservative: values are uniform only if everything they come from is, and what a branch that is
 * not uniform leads to, up to its immediate post-dominator, is not, phis there included. A value
 * of a loop that lanes leave at different times is not uniform after it.
 *
 * Starts with everything uniform. A value that gives up puts its users on a list, so each
 * instruction is looked at as often as it has operands. Does not: change the function.
 */
#include "compiler/analysis/analysis_internal.h"
#include "compiler/ir/builtins.h"
#include "compiler/ir/walk.h"

struct uniformity {
    struct igv_work work;
    struct igv_analysis *analysis;
    unsigned *list; /* of values to look at */
    size_t count, room;
    bool *listed;             /* by value */
    bool *joined;             /* by block: its phis have been looked at as those of a join */
    struct igi_edges leaving; /* by block: its values that other blocks use */
    unsigned *mark, marks;    /* by block: scratch of leads_to */
    unsigned *blocks;
};

/* ---- values ---- */
bool igv_varies(const struct igv_analysis *analysis, LLVMValueRef value) {
    const struct igv_value *known = igv_value_of(analysis, value);
    return known && known->shape != IGV_V_UNIFORM;
}

static bool any_operand(const struct uniformity *u, LLVMValueRef in, unsigned from, unsigned to) {
    for (unsigned i = from; i < to; i++) {
        if (igv_varies(u->analysis, LLVMGetOperand(in, i))) {
            return true;
        }
    }
    return false;
}

static bool call_varies(const struct uniformity *u, LLVMValueRef call) {
    const struct igi_facts *facts = igi_facts_of(call);
    const enum igv_scope scope = u->work.options.scope;
    unsigned count = LLVMGetNumArgOperands(call);
    if (igi_is_intrinsic(call) || facts->result == IGI_RESULT_GROUP) {
        return any_operand(u, call, 0, count); /* a dimension, or a slot, may vary */
    }
    if (scope == IGV_AMONG_LANES && facts->result == IGI_RESULT_SIMDGROUP) {
        return false;
    }
    if (scope == IGV_AMONG_LANES && facts->result == IGI_RESULT_SHUFFLED) {
        return any_operand(u, call, 1, count);
    }
    if (scope == IGV_AMONG_SIMDGROUPS &&
        (facts->result == IGI_RESULT_LANE ||
         (facts->result != IGI_RESULT_NOTHING && igi_uses_lanes(facts)))) {
        return any_operand(u, call, 0, count);
    }
    return true;
}

bool igv_reads_differ(const struct igv_options *options, LLVMValueRef in) {
    switch (LLVMGetInstructionOpcode(in)) {
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg:
        return true;
    case LLVMLoad:
        return LLVMGetOrdering(in) != LLVMAtomicOrderingNotAtomic ||
               (options->volatile_loads_vary && LLVMGetVolatile(in));
    default:
        return false;
    }
}

/* ---- phis of one operation ---- */
/* Can control get from one block to another without passing a third? */
static bool leads_to(struct uniformity *u, unsigned from, unsigned to, unsigned past) {
    unsigned count = 0, mark = ++u->marks;
    u->mark[past] = mark;
    u->blocks[count++] = from;
    while (count) {
        const struct igv_block *at = &u->analysis->blocks[u->blocks[--count]];
        for (unsigned s = 0; s < at->successor_count; s++) {
            unsigned next = at->successors[s];
            if (u->mark[next] == mark) {
                continue;
            }
            if (next == to) {
                return true;
            }
            u->mark[next] = mark;
            u->blocks[count++] = next;
        }
    }
    return false;
}

/* Do the operands of an operation still have their values when control gets to `block`? */
static bool is_fresh(struct uniformity *u, LLVMValueRef operation, unsigned block) {
    const struct igv_value *made = igv_value_of(u->analysis, operation);
    for (unsigned i = 0; i < 2; i++) {
        const struct igv_value *operand = igv_value_of(u->analysis, LLVMGetOperand(operation, i));
        if (operand && leads_to(u, made->block, operand->block, block)) {
            return false;
        }
    }
    return true;
}

/* A phi of one operation that LLVM computes on each way, from what does not vary. Lanes do without:
 * SIMD-groups often part and meet again at a barrier in a loop, of which this is the counter. */
static bool is_same_on_all_ways(struct uniformity *u, const struct igv_value *phi) {
    LLVMValueRef first = LLVMGetIncomingValue(phi->value, 0);
    bool same = u->work.options.scope != IGV_AMONG_LANES && LLVMIsABinaryOperator(first) &&
                !any_operand(u, first, 0, 2);
    for (unsigned i = 0; i < LLVMCountIncoming(phi->value) && same; i++) {
        LLVMValueRef other = LLVMGetIncomingValue(phi->value, i);
        same = LLVMIsABinaryOperator(other) &&
               LLVMGetInstructionOpcode(other) == LLVMGetInstructionOpcode(first) &&
               LLVMGetOperand(other, 0) == LLVMGetOperand(first, 0) &&
               LLVMGetOperand(other, 1) == LLVMGetOperand(first, 1) &&
               is_fresh(u, other, phi->block);
    }
    return same;
}

static bool value_varies(struct uniformity *u, const struct igv_value *value) {
    LLVMValueRef in = value->value;
    unsigned count = (unsigned)LLVMGetNumOperands(in);
    if (igv_reads_differ(&u->work.options, in)) {
        return true;
    }
    switch (LLVMGetInstructionOpcode(in)) {
    case LLVMAlloca: /* private memory: the same address, and other contents, in each lane */
        return true;
    case LLVMPHI:
        return (u->analysis->blocks[value->block].phis_divergent || any_operand(u, in, 0, count)) &&
               !is_same_on_all_ways(u, value);
    case LLVMCall:
        return call_varies(u, in);
    case LLVMBr:
    case LLVMSwitch:
        return LLVMGetNumSuccessors(in) > 1 && any_operand(u, in, 0, 1);
    default:
        return any_operand(u, in, 0, count);
    }
}

/* ---- the list ---- */
static void enlist(struct uniformity *u, unsigned value) {
    if (!u->listed[value] && u->analysis->values[value].shape == IGV_V_UNIFORM) {
        u->listed[value] = true;
        u->list[u->count++] = value;
    }
}

static unsigned number_of(const struct uniformity *u, LLVMValueRef instruction) {
    return igi_map_get(&u->analysis->value_numbers, instruction);
}

static void give_up(struct uniformity *u, struct igv_value *value) {
    value->shape = IGV_V_VARYING;
    igi_each_use(use, value->value) {
        unsigned user = number_of(u, LLVMGetUser(use));
        if (user != IGI_NONE) {
            enlist(u, user);
        }
    }
}

/* Phis of a block that has become a join. */
static void look_at_phis(struct uniformity *u, unsigned block) {
    if (u->joined[block]) {
        return;
    }
    u->joined[block] = true;
    igi_each_phi(phi, u->analysis->blocks[block].block) {
        enlist(u, number_of(u, phi));
    }
}

static bool is_used_outside(const struct uniformity *u, const struct igv_value *value) {
    igi_each_use(use, value->value) {
        unsigned user = number_of(u, LLVMGetUser(use));
        if (user != IGI_NONE && !igv_in_region(&u->work, u->analysis->values[user].block)) {
            return true;
        }
    }
    return false;
}

static void part_lanes(struct uniformity *u, unsigned branch) {
    struct igv_analysis *analysis = u->analysis;
    igv_branch_diverges(&u->work, branch);
    if (analysis->blocks[branch].ipdom < analysis->block_count) {
        look_at_phis(u, analysis->blocks[branch].ipdom);
    }
    for (unsigned i = 0; i < u->work.region_count; i++) {
        unsigned block = u->work.region[i];
        look_at_phis(u, block);
        for (unsigned e = u->leaving.start[block]; e < u->leaving.start[block + 1]; e++) {
            struct igv_value *value = &analysis->values[u->leaving.target[e]];
            if (value->shape == IGV_V_UNIFORM && is_used_outside(u, value)) {
                give_up(u, value);
            }
        }
    }
}

static void run(struct uniformity *u) {
    struct igv_analysis *analysis = u->analysis;
    for (unsigned i = analysis->value_count; i-- > 0;) {
        enlist(u, i);
    }
    while (u->count) {
        unsigned number = u->list[--u->count];
        struct igv_value *value = &analysis->values[number];
        u->listed[number] = false;
        if (value->shape != IGV_V_UNIFORM || !value_varies(u, value)) {
            continue;
        }
        give_up(u, value);
        if (LLVMIsATerminatorInst(value->value) &&
            !analysis->blocks[value->block].branch_divergent) {
            part_lanes(u, value->block);
        }
    }
}

/* ---- tables ---- */
static bool leaves_block(const struct uniformity *u, const struct igv_value *value) {
    igi_each_use(use, value->value) {
        unsigned user = number_of(u, LLVMGetUser(use));
        if (user != IGI_NONE && u->analysis->values[user].block != value->block) {
            return true;
        }
    }
    return false;
}

static ingot_status find_leaving(struct uniformity *u) {
    const struct igv_analysis *analysis = u->analysis;
    struct igi_edges *leaving = &u->leaving;
    leaving->start = ig_arena_array(u->work.arena, analysis->block_count + 1u, sizeof(unsigned));
    leaving->target = ig_arena_array(u->work.arena, analysis->value_count + 1u, sizeof(unsigned));
    if (!leaving->start || !leaving->target) {
        return igi_out_of_memory(u->work.error);
    }
    unsigned at = 0, block = 0;
    for (unsigned i = 0; i < analysis->value_count; i++) {
        while (block < analysis->values[i].block) {
            leaving->start[++block] = at;
        }
        if (leaves_block(u, &analysis->values[i])) {
            leaving->target[at++] = i;
        }
    }
    while (block < analysis->block_count) {
        leaving->start[++block] = at;
    }
    return INGOT_OK;
}

static ingot_status make_tables(struct uniformity *u) {
    struct ig_arena *arena = u->work.arena;
    unsigned values = u->analysis->value_count, blocks = u->analysis->block_count;
    u->list = ig_arena_array(arena, values + 1u, sizeof *u->list);
    u->listed = ig_arena_array(arena, values + 1u, sizeof *u->listed);
    u->joined = ig_arena_array(arena, blocks + 1u, sizeof *u->joined);
    u->mark = ig_arena_array(arena, blocks + 1u, sizeof *u->mark);
    u->blocks = ig_arena_array(arena, blocks + 1u, sizeof *u->blocks);
    if (!u->list || !u->listed || !u->joined || !u->mark || !u->blocks) {
        return igi_out_of_memory(u->work.error);
    }
    ingot_status status = igv_divergence_start(&u->work);
    return status ? status : find_leaving(u);
}

ingot_status igv_find_uniform(struct ig_arena *arena, LLVMValueRef function, enum igv_scope scope,
                              struct igv_analysis *analysis, struct ig_error *error) {
    struct uniformity u = {.analysis = analysis,
                           .work = {.arena = arena,
                                    .analysis = analysis,
                                    .options = {.scope = scope,
                                                .meeting = IGV_MEET_AT_POST_DOMINATOR,
                                                .volatile_loads_vary = true},
                                    .error = error}};
    *analysis = (struct igv_analysis){0};
    ingot_status status = igv_control_any(arena, function, analysis, error);
    status = status ? status : igv_collect_values(&u.work);
    status = status ? status : make_tables(&u);
    if (!status) {
        run(&u);
    }
    return status;
}
