/*
 * Tensors of Metal 4 in thread memory. Apple's compiler leaves their sizes to the driver: each is
 * an alloca whose size is a call. prelude/air/tensors.metal, which is linked, knows them.
 *
 * Requires a module that is linked with the library. Provides allocas of constant size, before
 * anything is inlined: an alloca of unknown size would be inlined as one that grows the stack. Also
 * takes back what Apple's declarations promise of memory, which does not hold of our tensors: they
 * keep the pointers that they are given.
 */
#include <string.h>

#include "compiler/frontend/air/air.h"
#include "compiler/ir/walk.h"

enum { DEEPEST = 8 }; /* calls between a size and what decides it */

static bool is_unsized(LLVMValueRef in) {
    return LLVMIsAAllocaInst(in) && !LLVMIsConstant(LLVMGetOperand(in, 0));
}

static void forget_promises(LLVMValueRef call) {
    static const char *const promises[] = {"readnone", "readonly", "writeonly", "nocapture",
                                           "captures"};
    for (unsigned i = 0; i <= LLVMGetNumArgOperands(call); i++) {
        for (size_t k = 0; k < sizeof promises / sizeof *promises; k++) {
            const unsigned kind = LLVMGetEnumAttributeKindForName(promises[k], strlen(promises[k]));
            if (kind) { /* else this LLVM does not have it */
                LLVMRemoveCallSiteEnumAttribute(call, i, kind);
            }
        }
    }
    LLVMRemoveCallSiteEnumAttribute(call, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                                    LLVMGetEnumAttributeKindForName("memory", 6));
}

static LLVMValueRef callee_of(LLVMValueRef value) {
    LLVMValueRef callee = LLVMIsACallInst(value) ? LLVMGetCalledValue(value) : NULL;
    return callee && LLVMIsAFunction(callee) ? callee : NULL;
}

static void set_inlining(LLVMValueRef function, bool wanted) {
    static const char *const refusals[] = {"noinline", "optnone"};
    const LLVMAttributeIndex index = (LLVMAttributeIndex)LLVMAttributeFunctionIndex;
    if (!wanted) {
        LLVMRemoveEnumAttributeAtIndex(function, index,
                                       LLVMGetEnumAttributeKindForName("alwaysinline", 12));
        return;
    }
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        LLVMRemoveEnumAttributeAtIndex(
            function, index, LLVMGetEnumAttributeKindForName(refusals[i], strlen(refusals[i])));
    }
    igi_add_attribute(function, "alwaysinline", 0);
}

/* The function that gives a size, and those that it calls. */
static void inline_size(LLVMValueRef function, unsigned depth) {
    if (LLVMIsDeclaration(function) || depth == DEEPEST) {
        return;
    }
    set_inlining(function, true);
    igi_each_instruction(in, function) {
        LLVMValueRef callee = callee_of(in);
        if (callee) {
            inline_size(callee, depth + 1);
        }
    }
}

/* Are there any? */
static bool prepare(struct iga_module *m) {
    bool any = false;
    igi_each_function(f, m->module) {
        bool holds = false;
        igi_each_instruction(in, f) {
            LLVMValueRef callee = callee_of(in);
            size_t length;
            if (callee && strstr(LLVMGetValueName2(callee, &length), "_tensor")) {
                forget_promises(in);
            }
            if (is_unsized(in)) {
                callee = callee_of(LLVMGetOperand(in, 0));
                if (callee) {
                    inline_size(callee, 0);
                }
                holds = true;
            }
        }
        if (holds) {
            set_inlining(f, false);
        }
        any |= holds;
    }
    return any;
}

ingot_status iga_settle_tensors(struct iga_module *m) {
    if (!prepare(m)) {
        return INGOT_OK;
    }
    ingot_status status = iga_run_passes(
        m->module, "always-inline,function(instcombine<no-verify-fixpoint>)", m->error);
    igi_each_function(f, m->module) {
        igi_each_instruction(in, f) {
            if (!status && is_unsized(in)) {
                status = ig_fail(m->error, INGOT_COMPILE_ERROR,
                                 "%s: error: kernel %s has an array whose size is not known when "
                                 "it is compiled",
                                 m->source, m->name);
            }
        }
    }
    return status;
}
