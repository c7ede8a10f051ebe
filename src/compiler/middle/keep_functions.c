/*
 * Functions that stay functions: of giant kernels, those that are called often and are much code.
 * Everything else is inlined, and so it is in other kernels.
 *
 * Requires clang's own module, before anything is inlined. A function may stay if it makes values
 * of values: its arguments and results are numbers, or structs of numbers, by value or by
 * references that it only reads through, and it touches no other memory but its own and constants.
 * So it has nothing to do with where its thread stands, with other lanes or with what others write.
 * Provides functions of numbers only (kept_calls.c), which carry the attribute IGC_KEPT with a
 * number: a function that calls another has the higher one.
 */
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/builtins.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/walk.h"
#include "compiler/middle/keep_functions.h"

enum {
    LEAST_SPARED = 20000, /* instructions, not simplified */
    LEAST_KEPT = 1000,
    PER_NUMBER =
        12,     /* instructions for each number that goes in or out, or a call costs too much */
    ROUNDS = 8, /* that a loop is taken to be unrolled by */
    MOST_DEPTH = 3,
};

enum state { UNSEEN, ACTIVE, DONE };

struct function {
    LLVMValueRef value;
    enum state state;
    bool may_stay; /* it, and all that it calls, makes values of values */
    bool stays;
    const struct igc_signature *signature; /* or NULL */
    unsigned numbers;                      /* that go in and out */
    uint64_t own;                          /* instructions, loops unrolled by a guess */
    uint64_t size;                         /* with what is inlined */
    uint64_t copies;                       /* if everything were inlined */
};

struct choice {
    struct igc_kernel *kernel;
    struct function *functions;
    unsigned *order; /* of functions: callees before callers */
    unsigned count, ordered;
    struct igi_map numbers;
    bool failed, recursive;
};

static struct function *find(const struct choice *choice, LLVMValueRef value) {
    unsigned number = value ? igi_map_get(&choice->numbers, value) : IGI_NONE;
    return number == IGI_NONE ? NULL : &choice->functions[number];
}

static struct function *callee_of(const struct choice *choice, LLVMValueRef instruction) {
    return LLVMIsACallInst(instruction) ? find(choice, LLVMGetCalledValue(instruction)) : NULL;
}

/* ---- what a function does -------------------------------------------------------------------- */
static bool is_own_or_constant(LLVMTypeRef type) {
    unsigned space = LLVMGetPointerAddressSpace(type);
    return space == 0 || space == INGOT_SPACE_CONSTANT;
}

static bool is_harmless_constant(LLVMValueRef value, unsigned depth) {
    if (LLVMIsAGlobalVariable(value)) {
        return LLVMIsGlobalConstant(value) && is_own_or_constant(LLVMTypeOf(value));
    }
    if (!LLVMIsAConstantExpr(value)) {
        return true;
    }
    for (int i = 0; i < LLVMGetNumOperands(value); i++) {
        if (depth == 0 || !is_harmless_constant(LLVMGetOperand(value, (unsigned)i), depth - 1)) {
            return false;
        }
    }
    return LLVMGetConstOpcode(value) != LLVMIntToPtr;
}

static bool is_harmless_call(const struct choice *choice, LLVMValueRef call) {
    LLVMValueRef callee = LLVMGetCalledValue(call);
    if (!callee || !LLVMIsAFunction(callee)) {
        return false;
    }
    if (igi_is_intrinsic(call)) {
        return !(igi_intrinsic_flags_of(call) & (IGI_I_TRAPS | IGI_I_MASKED)) &&
               igi_intrinsic_of(call) != IGI_LLVM_prefetch;
    }
    return find(choice, callee) != NULL;
}

/* Only values, memory of its own, and constants. */
static bool is_harmless(const struct choice *choice, LLVMValueRef in) {
    LLVMTypeRef type = LLVMTypeOf(in);
    if (LLVMGetTypeKind(type) == LLVMPointerTypeKind && !is_own_or_constant(type)) {
        return false;
    }
    for (int i = 0; i < LLVMGetNumOperands(in); i++) {
        if (!is_harmless_constant(LLVMGetOperand(in, (unsigned)i), 4)) {
            return false;
        }
    }
    switch (LLVMGetInstructionOpcode(in)) {
    case LLVMLoad:
    case LLVMStore:
        return !LLVMGetVolatile(in) && LLVMGetOrdering(in) == LLVMAtomicOrderingNotAtomic;
    case LLVMCall:
        return is_harmless_call(choice, in);
    case LLVMAlloca:
        return LLVMIsAConstantInt(LLVMGetOperand(in, 0)) != NULL;
    case LLVMIntToPtr:
    case LLVMPtrToInt:
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg:
    case LLVMFence:
    case LLVMInvoke:
    case LLVMCallBr:
    case LLVMIndirectBr:
    case LLVMVAArg:
        return false;
    default:
        return true;
    }
}

/* How many loops are around each block: clang puts a loop's blocks between its head and the branch
 * back. NULL when memory is out. */
static unsigned *depths_of(struct choice *choice, LLVMValueRef value, struct igi_graph *graph) {
    struct ig_arena *arena = choice->kernel->arena;
    if (igi_graph_build(arena, value, graph, choice->kernel->error)) {
        return NULL;
    }
    unsigned *depths = ig_arena_array(arena, graph->count + 1u, sizeof *depths);
    unsigned *ends =
        ig_arena_array(arena, graph->count + 1u, sizeof *ends); /* by head, behind it */
    if (!depths || !ends) {
        return NULL;
    }
    for (unsigned b = 0; b < graph->count; b++) {
        for (unsigned s = 0; s < igi_successor_count(graph, b); s++) {
            unsigned to = igi_successors(graph, b)[s];
            ends[to] = to <= b ? b + 1 : ends[to];
        }
    }
    for (unsigned b = 0; b < graph->count; b++) {
        for (unsigned i = b; i < ends[b]; i++) {
            depths[i]++;
        }
    }
    return depths;
}

static void look_at(struct choice *choice, struct function *function) {
    struct igi_graph graph;
    unsigned *depths = depths_of(choice, function->value, &graph);
    function->may_stay = true;
    if (!depths) {
        choice->failed = true;
        return;
    }
    for (unsigned b = 0; b < graph.count; b++) {
        uint64_t weight = 1;
        for (unsigned i = 0; i < depths[b] && i < MOST_DEPTH; i++) {
            weight *= ROUNDS;
        }
        igi_each_in_block(in, graph.blocks[b]) {
            bool informs = LLVMIsACallInst(in) && igi_intrinsic_flags_of(in) & IGI_I_INFORMS;
            function->own += informs ? 0 : weight;
            function->may_stay = function->may_stay && is_harmless(choice, in);
        }
    }
}

/* ---- which stay ------------------------------------------------------------------------------ */
/* Depth first; the depth is that of the call graph. */
static void visit(struct choice *choice, struct function *function) {
    function->state = ACTIVE;
    look_at(choice, function);
    igi_each_instruction(in, function->value) {
        struct function *callee = callee_of(choice, in);
        if (!callee || choice->failed || choice->recursive) {
            continue;
        }
        if (callee->state == UNSEEN) {
            visit(choice, callee);
        }
        choice->recursive |= callee->state == ACTIVE;
        function->may_stay = function->may_stay && callee->may_stay;
    }
    function->state = DONE;
    choice->order[choice->ordered++] = (unsigned)(function - choice->functions);
}

static void count_copies(struct choice *choice) {
    const uint64_t most = UINT64_MAX / 1024;
    find(choice, choice->kernel->function)->copies = 1;
    for (unsigned i = choice->ordered; i-- > 0;) {
        struct function *function = &choice->functions[choice->order[i]];
        igi_each_instruction(in, function->value) {
            struct function *callee = callee_of(choice, in);
            if (callee) {
                callee->copies += function->copies;
                callee->copies = callee->copies > most ? most : callee->copies;
            }
        }
    }
}

/* Returns the instructions that are spared. */
static uint64_t choose(struct choice *choice) {
    uint64_t spared = 0;
    for (unsigned i = 0; i < choice->ordered; i++) {
        struct function *function = &choice->functions[choice->order[i]];
        function->size = function->own;
        igi_each_instruction(in, function->value) {
            struct function *callee = callee_of(choice, in);
            if (callee && !callee->stays) {
                function->size += callee->size;
            } else if (callee) {
                function->size += callee->numbers;
            }
        }
        if (function->may_stay && function->value != choice->kernel->function &&
            function->copies > 1 && function->size >= LEAST_KEPT) {
            choice->failed |=
                igc_kept_signature(choice->kernel, function->value, &function->signature,
                                   &function->numbers) != INGOT_OK;
        }
        function->stays =
            function->signature && function->size >= (uint64_t)PER_NUMBER * function->numbers;
        uint64_t copies = function->stays ? function->copies - 1 : 0, size;
        bool much = __builtin_mul_overflow(copies, function->size, &size) ||
                    __builtin_add_overflow(spared, size, &spared);
        spared = much ? UINT64_MAX : spared;
    }
    return spared;
}

static bool start(struct choice *choice) {
    struct igc_kernel *k = choice->kernel;
    size_t count = 0;
    igi_each_function(f, k->module) {
        count += !LLVMIsDeclaration(f);
    }
    choice->functions = ig_arena_array(k->arena, count + 1, sizeof *choice->functions);
    choice->order = ig_arena_array(k->arena, count + 1, sizeof *choice->order);
    igi_map_start(&choice->numbers, k->arena, count);
    if (!choice->functions || !choice->order || choice->numbers.failed) {
        return false;
    }
    igi_each_function(f, k->module) {
        if (!LLVMIsDeclaration(f)) {
            choice->functions[choice->count] = (struct function){.value = f};
            igi_map_put(&choice->numbers, f, choice->count++);
        }
    }
    return !choice->numbers.failed;
}

enum igc_result igc_keep_functions(struct igc_kernel *k) {
    struct choice choice = {.kernel = k};
    unsigned kept = 0;
    if (!start(&choice)) {
        return igc_result_of(igc_out_of_memory(k));
    }
    visit(&choice, find(&choice, k->function));
    if (choice.failed) {
        return igc_result_of(igc_out_of_memory(k));
    }
    if (choice.recursive) {
        return IGC_UNCHANGED;
    }
    count_copies(&choice);
    uint64_t spared = choose(&choice);
    if (choice.failed) {
        return IGC_FAILED;
    }
    igc_work_add("keep-functions", spared);
    if (spared < LEAST_SPARED) {
        return IGC_UNCHANGED;
    }
    for (unsigned i = 0; i < choice.ordered; i++) {
        const struct function *function = &choice.functions[choice.order[i]];
        if (function->stays) {
            igc_keep_function(k, function->value, function->signature, kept++);
        }
    }
    return kept ? IGC_CHANGED : IGC_UNCHANGED;
}
