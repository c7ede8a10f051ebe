/*
 * Parameters that are references to structs in a thread's own memory, and through which a function
 * only reads: these are as good as structs that are passed by value. Requires clang's own module,
 * unoptimised: a parameter goes to a variable first, and members are reached by their types.
 */
#include <string.h>

#include "compiler/ir/builtins.h"
#include "compiler/ir/map.h"
#include "compiler/ir/walk.h"
#include "compiler/middle/keep_functions.h"

enum { MOST_CALLS = 16 }; /* that a reference is passed on by */

struct reference {
    struct igc_kernel *kernel;
    uint64_t size;          /* of what it refers to */
    LLVMTypeRef type;       /* or NULL: no access has told so far */
    bool returned;          /* by the function that is being looked at */
    bool comes_back;        /* the function that was looked at last has returned it */
    struct igi_map seen[2]; /* parameters of callees that it was passed as, the whole of it or a
                               member; 1: and is returned */
};

static bool only_reads(struct reference *reference, LLVMValueRef pointer, bool is_whole,
                       unsigned calls);

static LLVMAttributeRef attribute_of(LLVMValueRef function, unsigned parameter, const char *name) {
    return LLVMGetEnumAttributeAtIndex(function, parameter + 1,
                                       LLVMGetEnumAttributeKindForName(name, strlen(name)));
}

/* The variable that clang keeps the parameter in. */
static bool only_reads_variable(struct reference *reference, LLVMValueRef variable, bool is_whole,
                                unsigned calls) {
    unsigned stores = 0;
    igi_each_use(use, variable) {
        LLVMValueRef user = LLVMGetUser(use);
        if (LLVMIsAStoreInst(user) && LLVMGetOperand(user, 1) == variable) {
            stores++;
        } else if (LLVMIsALoadInst(user)) {
            if (!only_reads(reference, user, is_whole, calls)) {
                return false;
            }
        } else if (!(igi_intrinsic_flags_of(user) & IGI_I_INFORMS)) {
            return false;
        }
    }
    return stores == 1;
}

/* `type` is that of all that is referred to, if it is as large. */
static void note_type(struct reference *reference, LLVMTypeRef type) {
    if (LLVMTypeIsSized(type) &&
        LLVMABISizeOfType(reference->kernel->layout, type) == reference->size) {
        reference->type = type;
    }
}

static bool only_reads_element(struct reference *reference, LLVMValueRef element, bool is_whole,
                               unsigned calls) {
    LLVMTypeRef type = LLVMGetGEPSourceElementType(element);
    LLVMValueRef first = LLVMGetOperand(element, 1);
    if (is_whole && (!LLVMIsAConstantInt(first) || LLVMConstIntGetZExtValue(first) != 0)) {
        return false; /* something beside it */
    }
    if (is_whole) {
        note_type(reference, type);
    }
    return only_reads(reference, element, false, calls);
}

static bool only_reads_parameter(struct reference *reference, LLVMValueRef parameter, bool is_whole,
                                 unsigned calls) {
    const bool callers = reference->returned;
    struct igi_map *seen = &reference->seen[is_whole];
    unsigned known = igi_map_get(seen, parameter);
    reference->returned = false;
    if (known == IGI_NONE && !only_reads(reference, parameter, is_whole, calls)) {
        return false;
    }
    reference->comes_back = known == IGI_NONE ? reference->returned : known != 0;
    reference->returned = callers;
    igi_map_put(seen, parameter, reference->comes_back);
    return !seen->failed;
}

static bool only_reads_call(struct reference *reference, LLVMValueRef call, LLVMValueRef pointer,
                            bool is_whole, unsigned calls) {
    LLVMValueRef callee = LLVMGetCalledValue(call);
    if (igi_is_intrinsic(call)) {
        bool copies = igi_intrinsic_of(call) == IGI_LLVM_memcpy;
        if (copies && is_whole && LLVMIsAAllocaInst(LLVMGetOperand(call, 0))) {
            note_type(reference, LLVMGetAllocatedType(LLVMGetOperand(call, 0)));
        }
        return igi_intrinsic_flags_of(call) & IGI_I_INFORMS ||
               (copies && LLVMGetOperand(call, 0) != pointer);
    }
    if (!callee || !LLVMIsAFunction(callee) || LLVMIsDeclaration(callee) || !calls) {
        return false;
    }
    for (unsigned i = 0; i < LLVMGetNumArgOperands(call); i++) {
        if (LLVMGetOperand(call, i) != pointer || attribute_of(callee, i, "byval")) {
            continue;
        }
        if (attribute_of(callee, i, "sret") || i >= LLVMCountParams(callee)) {
            return false;
        }
        if (!only_reads_parameter(reference, LLVMGetParam(callee, i), is_whole, calls - 1) ||
            (reference->comes_back && !only_reads(reference, call, is_whole, calls - 1))) {
            return false;
        }
    }
    return true;
}

/* is_whole: the pointer is the reference itself, not to a member. */
static bool only_reads(struct reference *reference, LLVMValueRef pointer, bool is_whole,
                       unsigned calls) {
    igi_each_use(use, pointer) {
        LLVMValueRef user = LLVMGetUser(use);
        bool harmless = false;
        switch (LLVMGetInstructionOpcode(user)) {
        case LLVMLoad:
            harmless = true;
            break;
        case LLVMStore:
            harmless = LLVMGetOperand(user, 0) == pointer &&
                       LLVMIsAAllocaInst(LLVMGetOperand(user, 1)) &&
                       only_reads_variable(reference, LLVMGetOperand(user, 1), is_whole, calls);
            break;
        case LLVMGetElementPtr:
            harmless = LLVMGetOperand(user, 0) == pointer &&
                       only_reads_element(reference, user, is_whole, calls);
            break;
        case LLVMRet:
            harmless = reference->returned = true;
            break;
        case LLVMCall:
            harmless = only_reads_call(reference, user, pointer, is_whole, calls);
            break;
        default:
            break;
        }
        if (!harmless) {
            return false;
        }
    }
    return true;
}

LLVMTypeRef igc_type_of_reference(struct igc_kernel *kernel, LLVMValueRef function,
                                  unsigned parameter, unsigned *align) {
    LLVMAttributeRef size = attribute_of(function, parameter, "dereferenceable");
    LLVMAttributeRef aligned = attribute_of(function, parameter, "align");
    if (!size || !aligned) {
        return NULL;
    }
    struct reference reference = {.kernel = kernel, .size = LLVMGetEnumAttributeValue(size)};
    igi_map_start(&reference.seen[0], kernel->arena, 0);
    igi_map_start(&reference.seen[1], kernel->arena, 0);
    *align = (unsigned)LLVMGetEnumAttributeValue(aligned);
    return only_reads(&reference, LLVMGetParam(function, parameter), true, MOST_CALLS)
               ? reference.type
               : NULL;
}
