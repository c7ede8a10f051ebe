/*
 * Where the lanes of a SIMD-group are together. A block that depends on no branch whose condition
 * differs between lanes is reached by all lanes at once; there, operations between lanes can name
 * all lanes, which the hardware waits for. Elsewhere masks.c says which lanes are active.
 *
 * The same of all threads of a threadgroup, or of threads with the same lane of its SIMD-groups,
 * says which barriers all of them get to (barriers.c).
 *
 * Conservative: values are uniform only if everything they come from is, and what a branch that is
 * not uniform leads to, up to its immediate post-dominator, is not, phis there included. A value
 * of a loop that lanes leave at different times is not uniform after it.
 */
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/walk.h"
#include "compiler/nvptx/nvptx.h"

/* ---- a set of pointers ---- */
struct set {
    const void **slots;
    size_t room, count;
    bool failed;
};

static size_t place_of(const struct set *set, const void *item) {
    size_t at = ((uintptr_t)item >> 4) * 0x9e3779b97f4a7c15u & (set->room - 1);
    while (set->slots[at] && set->slots[at] != item) {
        at = (at + 1) & (set->room - 1);
    }
    return at;
}

static bool contains(const struct set *set, const void *item) {
    return set->room && set->slots[place_of(set, item)];
}

static void grow(struct set *set) {
    struct set larger = {.room = set->room ? set->room * 2 : 256};
    larger.slots = calloc(larger.room, sizeof *larger.slots);
    if (!larger.slots) {
        set->failed = true;
        return;
    }
    for (size_t i = 0; i < set->room; i++) {
        if (set->slots[i]) {
            larger.slots[place_of(&larger, set->slots[i])] = set->slots[i];
        }
    }
    larger.count = set->count;
    free(set->slots);
    *set = larger;
}

/* True if it was not there. */
static bool add(struct set *set, const void *item) {
    if (set->count * 2 >= set->room) {
        grow(set);
    }
    if (set->failed || contains(set, item)) {
        return false;
    }
    set->slots[place_of(set, item)] = item;
    set->count++;
    return true;
}

/* ---- blocks ---- */
struct igp_flow {
    LLVMBasicBlockRef *blocks;
    unsigned count;
    uint64_t *after;    /* per block, the set of its post-dominators, as bits */
    size_t words;       /* of a set */
    unsigned *numbers;  /* block numbers by address */
    bool *divergent;    /* not all lanes get to the block together */
    bool *join;         /* its phis may differ between lanes */
    bool *done;         /* its branch has been dealt with */
    unsigned *list;     /* of the search */
    struct set varying; /* values */
    enum igp_among among;
};

static int by_address(const void *a, const void *b, void *context) {
    LLVMBasicBlockRef *blocks = context;
    uintptr_t x = (uintptr_t)blocks[*(const unsigned *)a];
    uintptr_t y = (uintptr_t)blocks[*(const unsigned *)b];
    return x < y ? -1 : x > y;
}

static unsigned number_of(const struct igp_flow *flow, LLVMBasicBlockRef block) {
    unsigned low = 0, high = flow->count;
    while (high - low > 1) {
        unsigned middle = low + (high - low) / 2;
        if ((uintptr_t)flow->blocks[flow->numbers[middle]] <= (uintptr_t)block) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return flow->numbers[low];
}

static unsigned successor_count(const struct igp_flow *flow, unsigned block) {
    return LLVMGetNumSuccessors(LLVMGetBasicBlockTerminator(flow->blocks[block]));
}

static unsigned successor(const struct igp_flow *flow, unsigned block, unsigned which) {
    return number_of(flow,
                     LLVMGetSuccessor(LLVMGetBasicBlockTerminator(flow->blocks[block]), which));
}

static bool refine(const struct igp_flow *flow, unsigned block) {
    uint64_t *set = flow->after + block * flow->words;
    bool changed = false;
    unsigned count = successor_count(flow, block);
    /* where control never gets there is nothing to meet for */
    bool dead = LLVMGetInstructionOpcode(LLVMGetBasicBlockTerminator(flow->blocks[block])) ==
                LLVMUnreachable;
    for (size_t w = 0; w < flow->words; w++) {
        uint64_t bits = count || dead ? ~UINT64_C(0) : 0;
        for (unsigned s = 0; s < count; s++) {
            bits &= flow->after[successor(flow, block, s) * flow->words + w];
        }
        bits |= block / 64 == w ? UINT64_C(1) << block % 64 : 0;
        changed |= bits != set[w];
        set[w] = bits;
    }
    return changed;
}

static void find_post_dominators(const struct igp_flow *flow) {
    memset(flow->after, 0xff, flow->count * flow->words * sizeof *flow->after);
    for (bool changed = true; changed;) {
        changed = false;
        for (unsigned b = flow->count; b-- > 0;) {
            changed |= refine(flow, b);
        }
    }
}

static unsigned size_of(const struct igp_flow *flow, unsigned block) {
    unsigned total = 0;
    for (size_t w = 0; w < flow->words; w++) {
        total += (unsigned)__builtin_popcountll(flow->after[block * flow->words + w]);
    }
    return total;
}

/* The closest post-dominator; the number of blocks if only the end of the kernel is one. */
static unsigned immediate(const struct igp_flow *flow, unsigned block) {
    unsigned best = flow->count, most = 0;
    for (unsigned b = 0; b < flow->count; b++) {
        bool is_after = flow->after[block * flow->words + b / 64] >> b % 64 & 1;
        if (b != block && is_after && size_of(flow, b) > most) {
            most = size_of(flow, b);
            best = b;
        }
    }
    return best;
}

static bool flow_create(struct igp_flow *flow, LLVMValueRef function) {
    *flow = (struct igp_flow){.count = LLVMCountBasicBlocks(function)};
    size_t count = flow->count;
    flow->words = (count + 63) / 64;
    flow->blocks = calloc(count, sizeof *flow->blocks);
    flow->after = calloc(count * flow->words, sizeof *flow->after);
    flow->numbers = calloc(count, sizeof *flow->numbers);
    flow->divergent = calloc(count, sizeof *flow->divergent);
    flow->join = calloc(count + 1, sizeof *flow->join);
    flow->done = calloc(count, sizeof *flow->done);
    flow->list = calloc(count, sizeof *flow->list);
    if (!flow->blocks || !flow->after || !flow->numbers || !flow->divergent || !flow->join ||
        !flow->done || !flow->list) {
        return false;
    }
    LLVMGetBasicBlocks(function, flow->blocks);
    for (unsigned i = 0; i < count; i++) {
        flow->numbers[i] = i;
    }
    qsort_r(flow->numbers, count, sizeof *flow->numbers, by_address, flow->blocks);
    find_post_dominators(flow);
    return true;
}

static void flow_free(struct igp_flow *flow) {
    free(flow->blocks);
    free(flow->after);
    free(flow->numbers);
    free(flow->divergent);
    free(flow->join);
    free(flow->done);
    free(flow->list);
    free(flow->varying.slots);
}

/* ---- values ---- */
static bool starts_with(const char *text, const char *prefix) {
    return !strncmp(text, prefix, strlen(prefix));
}

static bool starts_with_one(const char *text, const char *const *prefixes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (starts_with(text, prefixes[i])) {
            return true;
        }
    }
    return false;
}

/* Calls whose result is the same in all threads of the threadgroup, unless their operands differ,
 */
static bool is_group_call(const char *name) {
    static const char *const prefixes[] = {
        "__ingot_arg_",
        "__ingot_threadgroup_position_in_grid",
        "__ingot_threads_per_",
        "__ingot_dispatch_",
        "__ingot_threadgroups_per_grid",
        "__ingot_simdgroups_per_threadgroup",
        "__ingot_never",
    };
    return starts_with_one(name, prefixes, sizeof prefixes / sizeof *prefixes);
}

/* or in all lanes that make them, whatever their operands. */
static bool is_lane_call(const char *name) {
    static const char *const prefixes[] = {
        "__ingot_simdgroup_index_in_threadgroup",
        "__ingot_simd_ballot",
        "__ingot_simd_sum",
        "__ingot_simd_product",
        "__ingot_simd_min",
        "__ingot_simd_max",
        "__ingot_simd_and",
        "__ingot_simd_or",
        "__ingot_simd_xor",
    };
    return starts_with_one(name, prefixes, sizeof prefixes / sizeof *prefixes);
}

static bool any_operand(const struct igp_flow *flow, LLVMValueRef in, unsigned from, unsigned to) {
    for (unsigned i = from; i < to; i++) {
        if (contains(&flow->varying, LLVMGetOperand(in, i))) {
            return true;
        }
    }
    return false;
}

static bool call_varies(const struct igp_flow *flow, LLVMValueRef call) {
    const char *name = igp_callee(call);
    unsigned count = LLVMGetNumArgOperands(call);
    if (is_group_call(name)) { /* unless a dimension or a slot varies */
        return any_operand(flow, call, 0, count);
    }
    if (flow->among == IGP_AMONG_LANES && is_lane_call(name)) {
        return false;
    }
    if (flow->among == IGP_AMONG_LANES && starts_with(name, "__ingot_simd_shuffle_")) {
        return any_operand(flow, call, 1, count);
    }
    if (flow->among == IGP_AMONG_SIMDGROUPS &&
        (starts_with(name, "__ingot_simd_") || starts_with(name, "__ingot_thread_index_in_simd"))) {
        return any_operand(flow, call, 0, count);
    }
    return starts_with(name, "llvm.") ? any_operand(flow, call, 0, count) : true;
}

/* Can control get from one block to another without passing a third? */
static bool leads_to(const struct igp_flow *flow, LLVMBasicBlockRef from, LLVMBasicBlockRef to,
                     LLVMBasicBlockRef past) {
    bool *seen = calloc(flow->count, sizeof *seen), found = !seen;
    unsigned *list = calloc(flow->count + 1, sizeof *list), count = 0;
    found |= !list;
    if (!found) {
        seen[number_of(flow, past)] = true;
        list[count++] = number_of(flow, from);
    }
    while (count && !found) {
        unsigned at = list[--count];
        for (unsigned s = 0; s < successor_count(flow, at); s++) {
            unsigned next = successor(flow, at, s);
            if (!seen[next]) {
                seen[next] = true;
                found |= flow->blocks[next] == to;
                list[count++] = next;
            }
        }
    }
    free(seen);
    free(list);
    return found;
}

/* Do the operands of an operation still have their values when control gets to `block`? */
static bool is_fresh(const struct igp_flow *flow, LLVMValueRef operation, LLVMBasicBlockRef block) {
    for (unsigned i = 0; i < 2; i++) {
        LLVMValueRef operand = LLVMGetOperand(operation, i);
        if (LLVMIsAInstruction(operand) && leads_to(flow, LLVMGetInstructionParent(operation),
                                                    LLVMGetInstructionParent(operand), block)) {
            return false;
        }
    }
    return true;
}

/* A phi of one operation that LLVM computes on each way, from what does not vary. Lanes do without:
 * SIMD-groups often part and meet again at a barrier in a loop, of which this is the counter. */
static bool is_same_on_all_ways(const struct igp_flow *flow, LLVMValueRef phi) {
    LLVMBasicBlockRef block = LLVMGetInstructionParent(phi);
    LLVMValueRef first = LLVMGetIncomingValue(phi, 0);
    bool same = flow->among != IGP_AMONG_LANES && LLVMIsABinaryOperator(first) &&
                !any_operand(flow, first, 0, 2);
    for (unsigned i = 0; i < LLVMCountIncoming(phi) && same; i++) {
        LLVMValueRef other = LLVMGetIncomingValue(phi, i);
        same = LLVMIsABinaryOperator(other) &&
               LLVMGetInstructionOpcode(other) == LLVMGetInstructionOpcode(first) &&
               LLVMGetOperand(other, 0) == LLVMGetOperand(first, 0) &&
               LLVMGetOperand(other, 1) == LLVMGetOperand(first, 1) && is_fresh(flow, other, block);
    }
    return same;
}

static bool varies(const struct igp_flow *flow, LLVMValueRef in, bool joined) {
    unsigned count = (unsigned)LLVMGetNumOperands(in);
    switch (LLVMGetInstructionOpcode(in)) {
    case LLVMAlloca: /* private memory: the same address, and other contents, in each lane */
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg:
        return true;
    case LLVMLoad:
        return LLVMGetVolatile(in) || LLVMGetOrdering(in) != LLVMAtomicOrderingNotAtomic ||
               any_operand(flow, in, 0, count);
    case LLVMPHI:
        return !is_same_on_all_ways(flow, in) && (joined || any_operand(flow, in, 0, count));
    case LLVMCall:
        return call_varies(flow, in);
    case LLVMBr:
    case LLVMSwitch:
        return any_operand(flow, in, 0, 1) && LLVMGetNumSuccessors(in) > 1;
    default:
        return any_operand(flow, in, 0, count);
    }
}

/* What the branch at the end of `block` leads to before lanes meet again. */
static void spread(struct igp_flow *flow, unsigned block) {
    unsigned meeting = immediate(flow, block), head = 0, tail = 0;
    bool *seen = calloc(flow->count + 1, sizeof *seen);
    if (!seen) {
        flow->varying.failed = true;
        return;
    }
    seen[meeting] = true;
    flow->join[meeting] = true;
    for (unsigned s = 0; s < successor_count(flow, block); s++) {
        unsigned to = successor(flow, block, s);
        if (!seen[to]) {
            seen[to] = true;
            flow->list[tail++] = to;
        }
    }
    while (head < tail) {
        unsigned at = flow->list[head++];
        flow->divergent[at] = flow->join[at] = true;
        for (unsigned s = 0; s < successor_count(flow, at); s++) {
            unsigned to = successor(flow, at, s);
            if (!seen[to]) {
                seen[to] = true;
                flow->list[tail++] = to;
            }
        }
    }
    seen[meeting] = false;
    for (unsigned i = 0; i < tail; i++) {
        LLVMBasicBlockRef from = flow->blocks[flow->list[i]];
        igi_each_in_block(in, from) {
            igi_each_use(use, in) {
                LLVMBasicBlockRef user = LLVMGetInstructionParent(LLVMGetUser(use));
                if (!seen[number_of(flow, user)]) {
                    add(&flow->varying, in);
                }
            }
        }
    }
    free(seen);
}

static bool find_varying(struct igp_flow *flow) {
    for (bool changed = true; changed && !flow->varying.failed;) {
        changed = false;
        for (unsigned b = 0; b < flow->count; b++) {
            igi_each_in_block(in, flow->blocks[b]) {
                if (!contains(&flow->varying, in) && varies(flow, in, flow->join[b])) {
                    changed |= add(&flow->varying, in);
                }
            }
            LLVMValueRef end = LLVMGetBasicBlockTerminator(flow->blocks[b]);
            if (!flow->done[b] && contains(&flow->varying, end)) {
                flow->done[b] = changed = true;
                spread(flow, b);
            }
        }
    }
    return !flow->varying.failed;
}

/* ---- calls ---- */
bool igp_uses_lanes(const char *name) {
    return starts_with(name, "__ingot_simd_") || starts_with(name, "__ingot_barrier");
}

bool igp_is_divergent(const struct igp_flow *flow, LLVMBasicBlockRef block) {
    return flow->divergent[number_of(flow, block)];
}

bool igp_branch_varies(const struct igp_flow *flow, LLVMBasicBlockRef block) {
    return contains(&flow->varying, LLVMGetBasicBlockTerminator(block));
}

bool igp_varies(const struct igp_flow *flow, LLVMValueRef value) {
    return contains(&flow->varying, value);
}

/* Edges that hold code in its loop matter only where lanes leave the loop at different times. */
bool igp_is_never(LLVMValueRef in) {
    return !strcmp(igp_callee(in), "__ingot_never");
}

static ingot_status release(struct igc_kernel *kernel, const struct igp_flow *flow, void *context) {
    (void)context;
    LLVMValueRef *calls = igp_collect(kernel, igp_is_never);
    for (LLVMValueRef *call = calls; call && *call; call++) {
        if (!flow->divergent[number_of(flow, LLVMGetInstructionParent(*call))]) {
            igi_replace(*call, LLVMConstNull(LLVMTypeOf(*call)));
            igp_facts(kernel)->released = true;
        }
    }
    return calls ? INGOT_OK
                 : ig_fail(kernel->error, INGOT_OUT_OF_MEMORY, "no memory for a kernel's loops");
}

/* ---- loops that end in code for the lanes that leave together ---- */
struct opening {
    LLVMBasicBlockRef head, out; /* of the loop; where the edge that holds the code does not go */
};

/* The edge of a branch on __ingot_never whose block post-dominates the loop's head. */
static bool needs_opening(const struct igp_flow *flow, LLVMValueRef never,
                          struct opening *opening) {
    LLVMUseRef use = LLVMGetFirstUse(never);
    LLVMValueRef branch = use ? LLVMGetUser(use) : NULL;
    if (!branch || LLVMGetNextUse(use) || !LLVMIsABranchInst(branch) ||
        !LLVMIsConditional(branch)) {
        return false;
    }
    unsigned at = number_of(flow, LLVMGetInstructionParent(branch));
    unsigned head = successor(flow, at, 0);
    *opening = (struct opening){LLVMGetSuccessor(branch, 0), LLVMGetSuccessor(branch, 1)};
    return head != at && opening->head != opening->out &&
           (flow->after[head * flow->words + at / 64] >> at % 64 & 1);
}

/* Hardware lets lanes meet at the immediate post-dominator of a branch. Code at the end of a loop
 * through which all lanes leave would be that place, though each lane belongs to the iteration in
 * which it leaves. An edge from the head out of the loop, never taken either, makes the place
 * behind the loop the post-dominator. Requires LCSSA form. */
static ingot_status open_loops(struct igc_kernel *kernel, const struct igp_flow *flow,
                               void *context) {
    (void)context;
    LLVMValueRef *calls = igp_collect(kernel, igp_is_never);
    size_t count = 0, found = 0;
    while (calls && calls[count]) {
        count++;
    }
    struct opening *openings =
        calls ? ig_arena_array(kernel->arena, count + 1, sizeof *openings) : NULL;
    if (!openings) {
        return ig_fail(kernel->error, INGOT_OUT_OF_MEMORY, "no memory for a kernel's loops");
    }
    for (size_t i = 0; i < count; i++) {
        found += needs_opening(flow, calls[i], &openings[found]);
    }
    for (size_t i = 0; i < found; i++) {
        LLVMValueRef first = igi_first_non_phi(openings[i].head);
        LLVMBasicBlockRef block = igi_split_before(kernel->builder, first);
        LLVMValueRef never = igp_call(kernel, "__ingot_never",
                                      LLVMInt1TypeInContext(kernel->context), NULL, 0, true);
        LLVMBuildCondBr(kernel->builder, never, openings[i].out, openings[i].head);
        igi_each_phi(phi, openings[i].out) {
            LLVMValueRef nothing = LLVMGetPoison(LLVMTypeOf(phi));
            LLVMAddIncoming(phi, &nothing, &block, 1);
        }
    }
    return INGOT_OK;
}

ingot_status igp_with_flow_among(struct igc_kernel *kernel, enum igp_among among, igp_flow_fn *act,
                                 void *context) {
    struct igp_flow flow;
    bool found = flow_create(&flow, kernel->function);
    flow.among = among;
    ingot_status status =
        found && find_varying(&flow)
            ? act(kernel, &flow, context)
            : ig_fail(kernel->error, INGOT_OUT_OF_MEMORY, "no memory for the flow of a kernel");
    flow_free(&flow);
    return status;
}

ingot_status igp_with_flow(struct igc_kernel *kernel, igp_flow_fn *act, void *context) {
    return igp_with_flow_among(kernel, IGP_AMONG_LANES, act, context);
}

enum igc_result igp_release_loops(struct igc_kernel *kernel) {
    return igc_result_of(igp_with_flow(kernel, release, NULL));
}

bool igp_has_pinned_exits(const struct igc_kernel *kernel) {
    igi_each_instruction(in, kernel->function) {
        if (igp_is_never(in)) {
            return true;
        }
    }
    return false;
}

enum igc_result igp_open_loops(struct igc_kernel *kernel) {
    return igc_result_of(igp_with_flow(kernel, open_loops, NULL));
}
