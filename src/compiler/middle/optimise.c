/*
 * What the scalar optimiser is told of a kernel beyond what clang said: what is to be inlined, what
 * built-ins do, what never changes. passes.c has the passes of LLVM themselves; none of them merges
 * or moves convergent calls (no hoisting or sinking of common code, no jump threading): which lanes
 * reach a call is part of its meaning.
 */
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/builtins.h"
#include "compiler/ir/map.h"
#include "compiler/ir/walk.h"
#include "compiler/middle/middle.h"

enum { TOWER_SIZE = 50000 }; /* instructions, everything inlined and nothing simplified */

static void set_attribute(LLVMValueRef function, const char *name, bool wanted) {
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    if (wanted) {
        LLVMContextRef context = LLVMGetModuleContext(LLVMGetGlobalParent(function));
        LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex,
                                LLVMCreateEnumAttribute(context, kind, 0));
    } else {
        LLVMRemoveEnumAttributeAtIndex(function, LLVMAttributeFunctionIndex, kind);
    }
}

void igc_mark_for_inlining(LLVMModuleRef module, LLVMValueRef kernel) {
    igi_each_function(f, module) {
        if (LLVMIsDeclaration(f)) {
            continue;
        }
        const bool stays = igc_kept_number(f) != IGI_NONE;
        set_attribute(f, "noinline", stays);
        set_attribute(f, "optnone", false);
        set_attribute(f, "optsize", false);
        set_attribute(f, "minsize", false);
        set_attribute(f, "mustprogress", false); /* an endless kernel ends by its time limit */
        set_attribute(f, "alwaysinline", f != kernel && !stays);
    }
}

/* Built-ins that only read where a thread stands depend on no other lane, but clang calls every
 * function convergent in this mode, which would keep them from being shared. */
static void relax_pure_builtin(LLVMValueRef function) {
    unsigned convergent = LLVMGetEnumAttributeKindForName("convergent", 10);
    set_attribute(function, "convergent", false);
    set_attribute(function, "speculatable", true);
    igi_each_use(use, function) {
        LLVMValueRef call = LLVMGetUser(use);
        if (LLVMIsACallInst(call) && LLVMGetCalledValue(call) == function) {
            LLVMRemoveCallSiteEnumAttribute(call, LLVMAttributeFunctionIndex, convergent);
        }
    }
}

/* Tells LLVM what it may assume of built-ins beyond what their declarations say. */
void igc_describe_builtins(LLVMModuleRef module) {
    igi_each_function(f, module) {
        enum igi_builtin builtin =
            LLVMIsDeclaration(f) ? igi_builtin_of_function(f) : IGI_NO_BUILTIN;
        const struct igi_facts *facts = igi_facts(builtin);
        uint64_t memory;
        if (facts->flags & IGI_PURE) {
            relax_pure_builtin(f);
        } else if (igi_memory_attribute(facts->memory, &memory)) {
            igi_add_attribute(f, "memory", memory);
            set_attribute(f, "nounwind", true);
            set_attribute(f, "willreturn", true);
        }
    }
}

/* Metal programs view memory as whatever type they like: no conclusions from types. */
void igc_forget_type_aliasing(LLVMModuleRef module) {
    LLVMContextRef context = LLVMGetModuleContext(module);
    unsigned plain = LLVMGetMDKindIDInContext(context, "tbaa", 4);
    unsigned structs = LLVMGetMDKindIDInContext(context, "tbaa.struct", 11);
    igi_each_function(f, module) {
        igi_each_instruction(in, f) {
            if (LLVMHasMetadata(in)) {
                LLVMSetMetadata(in, plain, NULL);
                LLVMSetMetadata(in, structs, NULL);
            }
        }
    }
}

/* Nothing writes to the constant address space while a kernel runs. */
void igc_mark_constant_loads(LLVMValueRef kernel) {
    LLVMContextRef context = LLVMGetModuleContext(LLVMGetGlobalParent(kernel));
    unsigned kind = LLVMGetMDKindIDInContext(context, "invariant.load", 14);
    LLVMValueRef nothing = LLVMMetadataAsValue(context, LLVMMDNodeInContext2(context, NULL, 0));
    igi_each_instruction(in, kernel) {
        if (LLVMIsALoadInst(in) && !LLVMGetVolatile(in) &&
            LLVMGetOrdering(in) == LLVMAtomicOrderingNotAtomic &&
            LLVMGetPointerAddressSpace(LLVMTypeOf(LLVMGetOperand(in, 0))) == INGOT_SPACE_CONSTANT) {
            LLVMSetMetadata(in, kind, nothing);
        }
    }
}

struct function_size {
    LLVMValueRef function;
    uint64_t size; /* 0 while its callees are being counted */
};

/* Instructions of the function once everything that it calls is inlined. */
static uint64_t inlined_size(LLVMValueRef function, struct function_size *known, size_t *count,
                             size_t limit) {
    for (size_t i = 0; i < *count; i++) {
        if (known[i].function == function) {
            return known[i].size;
        }
    }
    if (*count == limit) {
        return 0;
    }
    size_t own = (*count)++;
    known[own] = (struct function_size){.function = function};
    uint64_t size = 0;
    igi_each_instruction(in, function) {
        LLVMValueRef callee = LLVMIsACallInst(in) ? LLVMGetCalledValue(in) : NULL;
        size++;
        if (callee && LLVMIsAFunction(callee) && !LLVMIsDeclaration(callee)) {
            size += inlined_size(callee, known, count, limit);
        }
    }
    known[own].size = size;
    return size;
}

bool igc_is_tower(LLVMModuleRef module, LLVMValueRef kernel) {
    size_t functions = 0, count = 0;
    igi_each_function(f, module) {
        functions += !LLVMIsDeclaration(f);
    }
    struct function_size *known = calloc(functions + 1, sizeof *known);
    bool tower = known && inlined_size(kernel, known, &count, functions) > TOWER_SIZE;
    free(known);
    return tower;
}

/* The front end compiles for x86-64, whatever the target; costs are those of its common level. */
ingot_status igc_scalar_machine(LLVMTargetMachineRef *machine, struct ig_error *error) {
    static const struct igc_processor processor = {"x86_64-unknown-linux-gnu", "x86-64-v3",
                                                   "+fast-gather"};
    return igc_processor_machine(&processor, machine, error);
}
