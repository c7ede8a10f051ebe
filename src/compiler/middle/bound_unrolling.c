/*
 * Loops that the source wants unrolled in full (`#pragma unroll`, `clang loop unroll(full)`): LLVM
 * does so whatever comes of it, and for loops within loops that is the product of their counts. A
 * GPU's source has such pragmas everywhere; a CPU has no use of code that fills its caches, and
 * making it takes seconds. A loop whose copies would be more than the back end wants is left to
 * LLVM's own judgement.
 *
 * Requires the kernel in SSA form with everything inlined. Changes no instruction: only loops'
 * metadata. Loops of an unknown count, and kernels of irreducible control flow, stay as they are.
 */
#include <string.h>

#include "compiler/ir/graph.h"
#include "compiler/ir/walk.h"
#include "compiler/middle/middle.h"

enum {
    SMALL_LOOP = 800, /* instructions of all copies: LLVM unrolls these unasked (passes/llvm.c) */
    MOST_COUNT = 1 << 12 /* of a loop: more is as good as unknown */
};

/* clang's words for unroll(full), and for a pragma without a number. */
static const char *const wishes[] = {"llvm.loop.unroll.full", "llvm.loop.unroll.enable"};

struct nest {
    struct igc_kernel *kernel;
    struct igi_graph graph;
    struct igi_loops loops;
    unsigned kind;  /* of loops' metadata */
    uint64_t *size; /* by loop: of one copy of its body, with copies of the loops in it */
};

/* What an instruction comes to when vectors have been taken apart. */
static unsigned weigh(LLVMValueRef in) {
    LLVMTypeRef type = LLVMTypeOf(LLVMIsAStoreInst(in) ? LLVMGetOperand(in, 0) : in);
    return LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetVectorSize(type) : 1;
}

static bool is_wish(LLVMValueRef node) {
    unsigned length = 0;
    LLVMValueRef name = NULL;
    if (!node || !LLVMIsAMDNode(node) || LLVMGetMDNodeNumOperands(node) != 1) {
        return false;
    }
    LLVMGetMDNodeOperands(node, &name);
    const char *text = name ? LLVMGetMDString(name, &length) : NULL;
    for (size_t i = 0; text && i < sizeof wishes / sizeof *wishes; i++) {
        if (length == strlen(wishes[i]) && !memcmp(text, wishes[i], length)) {
            return true;
        }
    }
    return false;
}

/* The first operand of a loop's node is the node itself. */
static bool asks_for_all(const struct nest *nest, LLVMValueRef latch_end) {
    enum { MOST_OPERANDS = 32 };
    LLVMValueRef operands[MOST_OPERANDS];
    LLVMValueRef node = LLVMGetMetadata(latch_end, nest->kind);
    unsigned count = node ? LLVMGetMDNodeNumOperands(node) : 0;
    if (!count || count > MOST_OPERANDS) {
        return false;
    }
    LLVMGetMDNodeOperands(node, operands);
    for (unsigned i = 1; i < count; i++) {
        if (is_wish(operands[i])) {
            return true;
        }
    }
    return false;
}

/* Of the header's edges back, one says it. NULL: none. */
static LLVMValueRef find_wish(const struct nest *nest, const struct igi_loop *loop) {
    const struct igi_graph *graph = &nest->graph;
    for (unsigned p = 0; p < igi_predecessor_count(graph, loop->header); p++) {
        unsigned from = igi_predecessors(graph, loop->header)[p];
        LLVMValueRef end = LLVMGetBasicBlockTerminator(graph->blocks[from]);
        if (from >= loop->header && asks_for_all(nest, end)) {
            return end;
        }
    }
    return NULL;
}

static LLVMValueRef without_extension(LLVMValueRef value) {
    return LLVMIsASExtInst(value) || LLVMIsAZExtInst(value) ? LLVMGetOperand(value, 0) : value;
}

/* How a phi of the loop's header goes: from a constant by constant steps. */
static bool find_steps(const struct nest *nest, const struct igi_loop *loop, LLVMValueRef phi,
                       int64_t *first, int64_t *step) {
    LLVMValueRef start = NULL, next = NULL;
    if (!LLVMIsAPHINode(phi) || LLVMGetInstructionParent(phi) != nest->graph.blocks[loop->header]) {
        return false;
    }
    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
        LLVMValueRef value = LLVMGetIncomingValue(phi, i);
        if (LLVMIsAConstantInt(value)) {
            start = value;
        } else if (LLVMIsABinaryOperator(value) && LLVMGetInstructionOpcode(value) == LLVMAdd &&
                   LLVMGetOperand(value, 0) == phi &&
                   LLVMIsAConstantInt(LLVMGetOperand(value, 1))) {
            next = value;
        }
    }
    if (!start || !next) {
        return false;
    }
    *first = LLVMConstIntGetSExtValue(start);
    *step = LLVMConstIntGetSExtValue(LLVMGetOperand(next, 1));
    return *step != 0;
}

/* How often a loop runs whose end is a comparison of such a phi, or of what it is next, with a
 * constant; 1 if that is unknown. An estimate: one more or less does not matter. */
static uint64_t count_by(const struct nest *nest, const struct igi_loop *loop, unsigned block) {
    LLVMValueRef end = LLVMGetBasicBlockTerminator(nest->graph.blocks[block]);
    LLVMValueRef condition =
        end && LLVMIsABranchInst(end) && LLVMIsConditional(end) ? LLVMGetCondition(end) : NULL;
    if (!condition || !LLVMIsAICmpInst(condition) ||
        !LLVMIsAConstantInt(LLVMGetOperand(condition, 1))) {
        return 1;
    }
    LLVMValueRef value = without_extension(LLVMGetOperand(condition, 0));
    if (LLVMIsAInstruction(value) && LLVMGetInstructionOpcode(value) == LLVMAdd) {
        value = without_extension(LLVMGetOperand(value, 0));
    }
    int64_t first, step, last = LLVMConstIntGetSExtValue(LLVMGetOperand(condition, 1));
    if (!find_steps(nest, loop, value, &first, &step)) {
        return 1;
    }
    int64_t distance = step > 0 ? last - first : first - last;
    int64_t each = step > 0 ? step : -step;
    return distance <= 0 || distance / each > MOST_COUNT ? 1
                                                         : (uint64_t)((distance - 1) / each + 1);
}

static uint64_t count_of(const struct nest *nest, const struct igi_loop *loop) {
    uint64_t count = count_by(nest, loop, loop->header);
    return count > 1 ? count : count_by(nest, loop, loop->latch);
}

static ingot_status measure(struct nest *nest) {
    struct igc_kernel *kernel = nest->kernel;
    ingot_status status =
        igi_graph_loops(kernel->arena, kernel->function, &nest->graph, &nest->loops, kernel->error);
    if (status) {
        return status;
    }
    nest->size = ig_arena_array(kernel->arena, nest->loops.count + 1u, sizeof *nest->size);
    if (!nest->size) {
        return igc_out_of_memory(kernel);
    }
    for (unsigned b = 0; b < nest->graph.count; b++) {
        unsigned loop = nest->loops.innermost[b];
        if (loop != IGI_NONE) {
            igi_each_in_block(in, nest->graph.blocks[b]) {
                nest->size[loop] += weigh(in);
            }
        }
    }
    return INGOT_OK;
}

enum igc_result igc_bound_unrolling(struct igc_kernel *kernel) {
    struct nest nest = {.kernel = kernel,
                        .kind = LLVMGetMDKindIDInContext(kernel->context, "llvm.loop", 9)};
    enum igc_result result = IGC_UNCHANGED;
    if (measure(&nest)) {
        if (kernel->error->status == INGOT_OUT_OF_MEMORY) {
            return IGC_FAILED;
        }
        ig_error_clear(kernel->error); /* control flow of another kind: slower, not wrong */
        return IGC_UNCHANGED;
    }
    for (unsigned i = nest.loops.count; i-- > 0;) { /* inner ones first */
        const struct igi_loop *loop = &nest.loops.items[i];
        uint64_t copies = count_of(&nest, loop) * nest.size[i];
        LLVMValueRef wish = find_wish(&nest, loop);
        if (wish && copies > kernel->most_unrolled && copies > nest.size[i]) {
            LLVMSetMetadata(wish, nest.kind, NULL);
            wish = NULL;
            result = IGC_CHANGED;
        }
        if (loop->parent != IGI_NONE) {
            nest.size[loop->parent] += wish || copies <= SMALL_LOOP ? copies : nest.size[i];
        }
    }
    return result;
}
