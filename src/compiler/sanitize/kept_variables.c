/*
 * Private variables whose addresses go where they are not followed: into memory, or into a phi or a
 * select. A pointer that nobody knows the root of may point into any of them.
 *
 * Requires a kernel with everything inlined. Variables of other threads do not count.
 */
#include "compiler/ir/builtins.h"
#include "compiler/ir/walk.h"
#include "compiler/sanitize/sanitize.h"

enum { MOST_VARIABLES = 64, MOST_STEPS = 64 };

struct igs_kept {
    LLVMValueRef items[MOST_VARIABLES];
    uint64_t bytes[MOST_VARIABLES];
    unsigned count;
    bool is_more; /* than there is room for */
};

static bool is_kept(LLVMValueRef pointer, unsigned steps) {
    igi_each_use(use, pointer) {
        LLVMValueRef user = LLVMGetUser(use);
        if (LLVMIsALoadInst(user) ||
            igi_intrinsic_flags_of(user) & (IGI_I_INFORMS | IGI_I_COPIES)) {
            continue;
        }
        if (LLVMIsAStoreInst(user) && LLVMGetOperand(user, 0) != pointer) {
            continue;
        }
        bool is_step = LLVMIsAGetElementPtrInst(user) || LLVMIsABitCastInst(user) ||
                       LLVMIsAAddrSpaceCastInst(user);
        if (!is_step || steps == MOST_STEPS || is_kept(user, steps + 1)) {
            return true;
        }
    }
    return false;
}

static void add(struct igc_kernel *kernel, struct igs_kept *kept, LLVMValueRef variable) {
    LLVMValueRef count = LLVMGetOperand(variable, 0);
    if (!is_kept(variable, 0)) {
        return;
    }
    if (kept->count == MOST_VARIABLES || !LLVMIsAConstantInt(count)) {
        kept->is_more = true;
        return;
    }
    kept->items[kept->count] = variable;
    kept->bytes[kept->count++] = LLVMABISizeOfType(kernel->layout, LLVMGetAllocatedType(variable)) *
                                 LLVMConstIntGetZExtValue(count);
}

static bool is_variable(struct igc_kernel *kernel, LLVMValueRef instruction) {
    (void)kernel;
    return LLVMIsAAllocaInst(instruction) != NULL;
}

static const struct igs_kept *kept_of(struct igc_kernel *kernel) {
    struct igs_kept *kept = kernel->places->kept;
    if (kept) {
        return kept;
    }
    struct igc_list variables = igc_collect(kernel, is_variable);
    kept = variables.failed ? NULL : ig_arena_alloc(kernel->arena, sizeof *kept);
    if (!kept) {
        igc_out_of_memory(kernel);
        return NULL;
    }
    *kept = (struct igs_kept){0};
    for (size_t i = 0; i < variables.count; i++) {
        add(kernel, kept, variables.items[i]);
    }
    return kernel->places->kept = kept;
}

LLVMValueRef igs_in_variable(struct igc_kernel *kernel, LLVMValueRef address, LLVMValueRef size) {
    LLVMBuilderRef b = kernel->builder;
    const struct igs_kept *kept = kept_of(kernel);
    if (!kept || kept->is_more) {
        return igc_integer(kernel->i1, 1);
    }
    LLVMValueRef result = NULL;
    for (unsigned i = 0; i < kept->count; i++) {
        LLVMValueRef bytes = igc_integer(kernel->i64, kept->bytes[i]);
        LLVMValueRef start = LLVMBuildPtrToInt(b, kept->items[i], kernel->i64, "");
        LLVMValueRef offset = LLVMBuildSub(b, address, start, "");
        LLVMValueRef small = LLVMBuildICmp(b, LLVMIntULE, size, bytes, "");
        LLVMValueRef last = LLVMBuildSub(b, bytes, size, "");
        LLVMValueRef in = LLVMBuildICmp(b, LLVMIntULE, offset, last, "");
        in = LLVMBuildAnd(b, small, in, "");
        result = result ? LLVMBuildOr(b, result, in, "") : in;
    }
    return result;
}
