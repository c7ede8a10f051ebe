/*
 * Where an address comes from: an argument, a variable, or nobody knows; and how far from its
 * start.
 *
 * Requires a kernel with everything inlined and pointers in registers. Looks through
 * getelementptr, casts, and phis and selects whose pointers all have one root.
 */
#include "compiler/ir/builtins.h"
#include "compiler/ir/walk.h"
#include "compiler/sanitize/sanitize.h"

enum { MOST_STEPS = 64, MOST_PHIS = 64 };

struct search {
    LLVMValueRef phis[MOST_PHIS]; /* that were looked through */
    unsigned phi_count;
    LLVMValueRef base;
    bool failed;
};

/* The operand that an address is made of by steps that keep its object; NULL: it is no such step.
 */
static LLVMValueRef step(LLVMValueRef pointer) {
    bool expression = LLVMIsAConstantExpr(pointer) != NULL;
    if (!expression && !LLVMIsAInstruction(pointer)) {
        return NULL;
    }
    switch (expression ? LLVMGetConstOpcode(pointer) : LLVMGetInstructionOpcode(pointer)) {
    case LLVMGetElementPtr:
    case LLVMBitCast:
    case LLVMAddrSpaceCast:
    case LLVMFreeze:
        return LLVMGetOperand(pointer, 0);
    case LLVMCall:
        return igi_facts_of(pointer)->flags & IGI_HINT ? LLVMGetOperand(pointer, 0) : NULL;
    default:
        return NULL;
    }
}

static bool is_seen(const struct search *search, LLVMValueRef phi) {
    for (unsigned i = 0; i < search->phi_count; i++) {
        if (search->phis[i] == phi) {
            return true;
        }
    }
    return false;
}

static void look(struct search *search, LLVMValueRef pointer) {
    for (LLVMValueRef next; (next = step(pointer));) {
        pointer = next;
    }
    bool is_phi = LLVMIsAPHINode(pointer) != NULL;
    if (is_phi || LLVMIsASelectInst(pointer)) {
        if (is_seen(search, pointer)) {
            return;
        }
        if (search->phi_count == MOST_PHIS) {
            search->failed = true;
            return;
        }
        search->phis[search->phi_count++] = pointer;
        unsigned count = is_phi ? LLVMCountIncoming(pointer) : 2;
        for (unsigned i = 0; i < count && !search->failed; i++) {
            look(search,
                 is_phi ? LLVMGetIncomingValue(pointer, i) : LLVMGetOperand(pointer, i + 1));
        }
        return;
    }
    if (LLVMIsUndef(pointer) || LLVMIsPoison(pointer)) {
        return; /* some other path has the pointer */
    }
    search->failed |= search->base && search->base != pointer;
    search->base = pointer;
}

/* The bytes that the launch validator has seen to: those of the type, where it is a reference. */
static uint64_t reference_bytes(struct igc_kernel *kernel, uint32_t ordinal) {
    enum { SIZE = 4, FLAGS = 8, IS_REFERENCE = 1 };
    LLVMValueRef param = igi_find(kernel->module, IGI_param);
    if (!param) {
        return 0;
    }
    igi_each_use(use, param) {
        LLVMValueRef call = LLVMGetUser(use);
        if (!LLVMIsACallInst(call)) {
            continue;
        }
        LLVMValueRef own = LLVMGetOperand(call, 0), size = LLVMGetOperand(call, SIZE);
        LLVMValueRef flags = LLVMGetOperand(call, FLAGS);
        if (LLVMIsAConstantInt(own) && LLVMConstIntGetZExtValue(own) == ordinal &&
            LLVMIsAConstantInt(size) && LLVMIsAConstantInt(flags) &&
            LLVMConstIntGetZExtValue(flags) & IS_REFERENCE) {
            return LLVMConstIntGetZExtValue(size);
        }
    }
    return 0;
}

static struct igs_root root_of(struct igc_kernel *kernel, LLVMValueRef base) {
    struct igs_root root = {.base = base, .space = LLVMGetPointerAddressSpace(LLVMTypeOf(base))};
    if (igi_family_of(base) == IGI_FAMILY_ARGUMENT && LLVMIsAConstantInt(LLVMGetOperand(base, 0))) {
        root.kind = IGS_ROOT_ARGUMENT;
        root.ordinal = (uint32_t)LLVMConstIntGetZExtValue(LLVMGetOperand(base, 0));
        root.bytes = reference_bytes(kernel, root.ordinal);
    } else if (LLVMIsAAllocaInst(base) && LLVMIsAConstantInt(LLVMGetOperand(base, 0))) {
        root.kind = IGS_ROOT_PRIVATE;
        root.space = 0;
        root.bytes = LLVMConstIntGetZExtValue(LLVMGetOperand(base, 0)) *
                     LLVMABISizeOfType(kernel->layout, LLVMGetAllocatedType(base));
    } else if (LLVMIsAGlobalVariable(base)) {
        root.kind = IGS_ROOT_VARIABLE;
        root.bytes = LLVMABISizeOfType(kernel->layout, LLVMGlobalGetValueType(base));
    }
    return root;
}

struct igs_root igs_find_root(struct igc_kernel *kernel, LLVMValueRef pointer) {
    struct search search = {0};
    look(&search, pointer);
    if (search.failed || !search.base) {
        return (struct igs_root){.space = LLVMGetPointerAddressSpace(LLVMTypeOf(pointer))};
    }
    return root_of(kernel, search.base);
}

/* ---- offsets ---- */
static LLVMValueRef add(struct igc_kernel *kernel, LLVMValueRef sum, LLVMValueRef more) {
    return sum ? LLVMBuildAdd(kernel->builder, sum, more, "") : more;
}

/* Adds what a getelementptr adds; constant parts to the root's number, the rest to `sum`. */
static LLVMValueRef add_indices(struct igc_kernel *kernel, struct igs_root *root, LLVMValueRef gep,
                                LLVMValueRef sum) {
    LLVMTypeRef type = LLVMGetGEPSourceElementType(gep);
    unsigned count = (unsigned)LLVMGetNumOperands(gep);
    for (unsigned i = 1; i < count; i++) {
        LLVMValueRef index = LLVMGetOperand(gep, i);
        if (i > 1 && LLVMGetTypeKind(type) == LLVMStructTypeKind) {
            unsigned field = (unsigned)LLVMConstIntGetZExtValue(index);
            root->constant += (int64_t)LLVMOffsetOfElement(kernel->layout, type, field);
            type = LLVMStructGetTypeAtIndex(type, field);
            continue;
        }
        if (i > 1) {
            type = LLVMGetElementType(type);
        }
        uint64_t size = LLVMABISizeOfType(kernel->layout, type);
        if (LLVMIsAConstantInt(index)) {
            root->constant += LLVMConstIntGetSExtValue(index) * (int64_t)size;
            continue;
        }
        index = LLVMBuildIntCast2(kernel->builder, index, kernel->i64, true, "");
        index = LLVMBuildMul(kernel->builder, index, igc_integer(kernel->i64, size), "");
        sum = add(kernel, sum, index);
    }
    return sum;
}

void igs_find_offset(struct igc_kernel *kernel, struct igs_root *root, LLVMValueRef pointer) {
    LLVMBuilderRef b = kernel->builder;
    LLVMValueRef sum = NULL;
    unsigned steps = 0;
    root->constant = 0;
    for (LLVMValueRef next; pointer != root->base && steps < MOST_STEPS && (next = step(pointer));
         pointer = next, steps++) {
        if (LLVMIsAGetElementPtrInst(pointer) ||
            (LLVMIsAConstantExpr(pointer) && LLVMGetConstOpcode(pointer) == LLVMGetElementPtr)) {
            sum = add_indices(kernel, root, pointer, sum);
        }
    }
    if (pointer != root->base) { /* a phi or a select on the way */
        LLVMValueRef from = LLVMBuildPtrToInt(b, root->base, kernel->i64, "");
        LLVMValueRef to = LLVMBuildPtrToInt(b, pointer, kernel->i64, "");
        sum = add(kernel, sum, LLVMBuildSub(b, to, from, ""));
    }
    root->is_constant = !sum;
    LLVMValueRef rest = igc_integer(kernel->i64, (uint64_t)root->constant);
    root->offset = !sum ? rest : root->constant ? LLVMBuildAdd(b, sum, rest, "") : sum;
}
