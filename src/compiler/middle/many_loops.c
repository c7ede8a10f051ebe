/*
 * Kernels of very many loops, one after the other, as generated code has them: what LLVM's loop
 * passes do for one of them must not cost as much as everything before it.
 *
 * For every loop, scalar evolution follows what the loop uses back to where it comes from, over all
 * loops before, and remembers that for one loop only: time grows as loops times instructions. It
 * does not look behind a freeze. So what comes into a loop is frozen for the time of the loop
 * passes. What changes every loop is left out: indvars, after which scalar evolution forgets all
 * that follows, and rotation, which numbers the dominators of all that follows anew, but for what
 * can be done in a second, while variables are in memory and little depends on anything.
 *
 * Requires loops with preheaders and one latch (loop-simplify); other loops stay as they are.
 */
#include <string.h>

#include "compiler/ir/graph.h"
#include "compiler/ir/walk.h"
#include "compiler/middle/middle.h"

enum {
    MANY_LOOPS = 100,       /* of one kernel: others have tens */
    MANY_STEPS = 1 << 20,   /* loops times instructions: a tenth of a second */
    MOST_STEPS = 1 << 26,   /* rotation alone: a second */
    MANY_OPERANDS = 1 << 8, /* of an instruction (a switch): not looked at */
};

static const char mark[] = "ingot.loop.input";

/* A branch by a comparison with a constant. */
static bool ends_at_constant(LLVMValueRef terminator) {
    if (!LLVMIsABranchInst(terminator) || !LLVMIsConditional(terminator)) {
        return false;
    }
    LLVMValueRef condition = LLVMGetCondition(terminator);
    return LLVMIsAICmpInst(condition) && (LLVMIsAConstantInt(LLVMGetOperand(condition, 0)) ||
                                          LLVMIsAConstantInt(LLVMGetOperand(condition, 1)));
}

/* Loops times instructions; 0: there are not many. Loops that end at a constant do not count: most
 * are unrolled, and kernels of tiles have very many of them. */
static uint64_t loop_steps(LLVMValueRef function) {
    uint64_t loops = 0, instructions = 0;
    struct ig_arena arena = {0};
    struct igi_map earlier;
    igi_map_start(&earlier, &arena, 256);
    igi_each_block(b, function) {
        igi_set_add(&earlier, b);
        instructions += igi_block_length(b);
        LLVMValueRef end = LLVMGetBasicBlockTerminator(b);
        unsigned ways = end ? LLVMGetNumSuccessors(end) : 0;
        for (unsigned i = 0; i < ways && i < 2; i++) {
            LLVMBasicBlockRef to = LLVMGetSuccessor(end, i);
            loops += igi_set_has(&earlier, to) && !ends_at_constant(end) &&
                     !ends_at_constant(LLVMGetBasicBlockTerminator(to));
        }
    }
    ig_arena_free(&arena);
    return loops >= MANY_LOOPS ? loops * instructions : 0;
}

bool igc_has_many_loops(LLVMValueRef function) {
    return loop_steps(function) > MANY_STEPS;
}

bool igc_has_most_loops(LLVMValueRef function) {
    return loop_steps(function) > MOST_STEPS;
}

struct inputs {
    struct igc_kernel *kernel;
    struct igi_graph graph;
    struct igi_loops loops;
    struct igi_map numbers; /* of values that came into a loop: an index of `known` */
    struct input {
        unsigned loop; /* the last one that it came into */
        LLVMValueRef frozen;
    } *known;
    size_t count, room;
    unsigned kind; /* of the mark */
};

/* Is the block in the loop, or in one within it? */
static bool is_inside(const struct inputs *inputs, LLVMBasicBlockRef block, unsigned loop) {
    unsigned number = igi_graph_number(&inputs->graph, block);
    unsigned own = number == IGI_NONE ? IGI_NONE : inputs->loops.innermost[number];
    while (own != IGI_NONE && own != loop) {
        own = inputs->loops.items[own].parent;
    }
    return own == loop;
}

static bool comes_in(const struct inputs *inputs, LLVMValueRef value, unsigned loop) {
    return LLVMIsAInstruction(value) && LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMIntegerTypeKind &&
           !is_inside(inputs, LLVMGetInstructionParent(value), loop);
}

/* A loop that may run a number of times which is known, so that it can be unrolled: a way out of it
 * compares with a constant. */
static bool has_counted_loop(const struct inputs *inputs) {
    for (unsigned b = 0; b < inputs->graph.count; b++) {
        const unsigned loop = inputs->loops.innermost[b];
        LLVMValueRef end = LLVMGetBasicBlockTerminator(inputs->graph.blocks[b]);
        if (loop != IGI_NONE && ends_at_constant(end) &&
            (!is_inside(inputs, LLVMGetSuccessor(end, 0), loop) ||
             !is_inside(inputs, LLVMGetSuccessor(end, 1), loop))) {
            return true;
        }
    }
    return false;
}

/* NULL when memory is out. */
static LLVMValueRef freeze_input(struct inputs *inputs, LLVMValueRef value, unsigned loop) {
    struct igc_kernel *kernel = inputs->kernel;
    unsigned at = igi_map_get(&inputs->numbers, value);
    if (at == IGI_NONE) {
        if (inputs->count == inputs->room) {
            size_t room = inputs->room ? 2 * inputs->room : 256;
            struct input *known = ig_arena_array(kernel->arena, room, sizeof *known);
            if (!known) {
                return NULL;
            }
            if (inputs->count) {
                memcpy(known, inputs->known, inputs->count * sizeof *known);
            }
            inputs->known = known;
            inputs->room = room;
        }
        at = (unsigned)inputs->count++;
        inputs->known[at] = (struct input){IGI_NONE, NULL};
        igi_map_put(&inputs->numbers, value, at);
    }
    struct input *input = &inputs->known[at];
    if (input->loop != loop) {
        LLVMBasicBlockRef before = inputs->graph.blocks[inputs->loops.items[loop].preheader];
        LLVMPositionBuilderBefore(kernel->builder, LLVMGetBasicBlockTerminator(before));
        *input = (struct input){loop, LLVMBuildFreeze(kernel->builder, value, "")};
        LLVMSetMetadata(
            input->frozen, inputs->kind,
            LLVMMetadataAsValue(kernel->context, LLVMMDNodeInContext2(kernel->context, NULL, 0)));
    }
    return input->frozen;
}

static bool freeze_inputs_of(struct inputs *inputs, LLVMValueRef in, unsigned loop) {
    int count = LLVMGetNumOperands(in);
    for (int i = 0; i < count && i < MANY_OPERANDS; i++) {
        LLVMValueRef value = LLVMGetOperand(in, (unsigned)i);
        if (LLVMValueIsBasicBlock(value) || !comes_in(inputs, value, loop)) {
            continue;
        }
        LLVMValueRef frozen = freeze_input(inputs, value, loop);
        if (!frozen) {
            return false;
        }
        LLVMSetOperand(in, (unsigned)i, frozen);
    }
    return true;
}

enum igc_result igc_freeze_loop_inputs(struct igc_kernel *kernel) {
    struct inputs inputs = {
        .kernel = kernel, .kind = LLVMGetMDKindIDInContext(kernel->context, mark, sizeof mark - 1)};
    igi_map_start(&inputs.numbers, kernel->arena, 256);
    if (igi_graph_loops(kernel->arena, kernel->function, &inputs.graph, &inputs.loops,
                        kernel->error)) {
        if (kernel->error->status == INGOT_OUT_OF_MEMORY) {
            return IGC_FAILED;
        }
        ig_error_clear(kernel->error); /* control flow of another kind: slower, not wrong */
        return IGC_UNCHANGED;
    }
    if (!has_counted_loop(&inputs)) {
        return IGC_UNCHANGED; /* there is nothing to unroll */
    }
    for (unsigned b = 0; b < inputs.graph.count; b++) {
        unsigned loop = inputs.loops.innermost[b];
        if (loop == IGI_NONE || inputs.loops.items[loop].preheader == IGI_NONE) {
            continue;
        }
        igi_each_in_block(in, inputs.graph.blocks[b]) {
            if (!freeze_inputs_of(&inputs, in, loop)) {
                igc_out_of_memory(kernel);
                return IGC_FAILED;
            }
        }
    }
    return IGC_CHANGED;
}

enum igc_result igc_release_loop_inputs(struct igc_kernel *kernel) {
    unsigned kind = LLVMGetMDKindIDInContext(kernel->context, mark, sizeof mark - 1);
    igi_each_instruction_safe(in, kernel->function) {
        if (LLVMIsAFreezeInst(in) && LLVMGetMetadata(in, kind)) {
            LLVMReplaceAllUsesWith(in, LLVMGetOperand(in, 0));
            LLVMInstructionEraseFromParent(in);
        }
    }
    return IGC_CHANGED;
}
