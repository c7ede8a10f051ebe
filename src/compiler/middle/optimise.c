/*
 * The scalar optimiser. Requires a module whose only external function is the kernel, with
 * function constants filled in. Provides one function with everything inlined, address spaces
 * inferred, and the private arrays of unrolled loops in registers. Does not vectorise, and
 * neither merges nor moves convergent calls (no hoisting or sinking of common code, no jump
 * threading): which lanes reach a call is part of its meaning.
 */
#include <stdlib.h>
#include <string.h>

#include "compiler/driver/driver.h"
#include "compiler/ir/builtins.h"
#include "compiler/ir/walk.h"

#define SIMPLIFYCFG                                                                                \
    "simplifycfg<bonus-inst-threshold=1;no-forward-switch-cond;no-switch-range-to-icmp;"           \
    "no-switch-to-lookup;keep-loops;no-hoist-common-insts;no-sink-common-insts>"

/* Inlined, in SSA form, every access in its own address space. */
static const char early_passes[] =
    "globalopt,globaldce,always-inline,globaldce,"
    "function(sroa<modify-cfg>,infer-address-spaces,early-cse<memssa>," SIMPLIFYCFG
    ",instcombine<no-verify-fixpoint>)";

/* The same from the innermost functions outwards, each simplified before it is copied into its
 * callers, and its loops unrolled: what inlining makes of deep towers of small functions
 * (arithmetic of wide integers) is too much to be simplified at once, and unrolling a loop costs as
 * much as what is around it. */
static const char tower_passes[] =
    "globalopt,globaldce,"
    "cgscc(inline<only-mandatory>,function(sroa<modify-cfg>,early-cse<memssa>," SIMPLIFYCFG
    ",instcombine<no-verify-fixpoint>,loop-mssa(loop-rotate<header-duplication;"
    "no-prepare-for-lto>),loop(indvars,loop-deletion,loop-unroll-full),sroa<modify-cfg>,"
    "early-cse<memssa>)),globaldce";
enum { TOWER_SIZE = 50000 }; /* instructions, everything inlined and nothing simplified */

/* A function that calls itself last is a loop, and can then be inlined. */
static const char recursion_passes[] =
    "function(tailcallelim),always-inline,globaldce,"
    "function(sroa<modify-cfg>,infer-address-spaces,early-cse<memssa>," SIMPLIFYCFG
    ",instcombine<no-verify-fixpoint>)";

static const char scalar_passes[] =
    "function(early-cse<memssa>,correlated-propagation," SIMPLIFYCFG
    ",reassociate,loop-mssa(loop-instsimplify,loop-simplifycfg,licm<no-allowspeculation>,"
    "loop-rotate<header-duplication;no-prepare-for-lto>,licm<allowspeculation>)," SIMPLIFYCFG
    ",instcombine<no-verify-fixpoint>,loop(indvars,loop-deletion,loop-unroll-full)"
    ",sroa<modify-cfg>,infer-address-spaces,early-cse<memssa>,gvn<no-pre>,sccp,bdce"
    ",instcombine<no-verify-fixpoint>,dse,loop-mssa(licm<allowspeculation>),adce," SIMPLIFYCFG
    ",instcombine<no-verify-fixpoint>)"
    ",globalopt,globaldce,strip-dead-prototypes";

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
        set_attribute(f, "noinline", false);
        set_attribute(f, "optnone", false);
        set_attribute(f, "optsize", false);
        set_attribute(f, "minsize", false);
        set_attribute(f, "mustprogress", false); /* an endless kernel ends by its time limit */
        set_attribute(f, "alwaysinline", f != kernel);
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
static void describe_builtins(LLVMModuleRef module) {
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
static void forget_type_aliasing(LLVMModuleRef module) {
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
static void mark_constant_loads(LLVMValueRef kernel) {
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

static bool is_tower(LLVMModuleRef module, LLVMValueRef kernel) {
    size_t functions = 0, count = 0;
    igi_each_function(f, module) {
        functions += !LLVMIsDeclaration(f);
    }
    struct function_size *known = calloc(functions + 1, sizeof *known);
    bool tower = known && inlined_size(kernel, known, &count, functions) > TOWER_SIZE;
    free(known);
    return tower;
}

static bool has_functions(LLVMModuleRef module, LLVMValueRef kernel) {
    igi_each_function(f, module) {
        if (f != kernel && !LLVMIsDeclaration(f)) {
            return true;
        }
    }
    return false;
}

ingot_status igc_optimise(LLVMModuleRef module, LLVMValueRef kernel, struct ig_error *error) {
    LLVMTargetMachineRef machine;
    ingot_status status = igc_machine_create(igc_target_find("x86-64-v3"), &machine, error);
    if (status) {
        return status;
    }
    igc_mark_for_inlining(module, kernel);
    describe_builtins(module);
    forget_type_aliasing(module);
    status = igc_pin_loop_exits(module, error);
    if (!status && is_tower(module, kernel)) {
        status = igc_stage(module, machine, "towers", tower_passes, error);
    }
    if (!status) {
        status = igc_stage(module, machine, "early", early_passes, error);
    }
    if (!status && has_functions(module, kernel)) {
        status = igc_unroll_recursion(module, kernel, error);
        if (!status) {
            igc_mark_for_inlining(module, kernel);
            status = igc_stage(module, machine, "levels", recursion_passes, error);
        }
    }
    if (!status) {
        status = igc_release_loop_exits(module, kernel, error);
    }
    if (!status) {
        mark_constant_loads(kernel);
        igc_mark_references(kernel);
        status = igc_stage(module, machine, "scalar", scalar_passes, error);
    }
    LLVMDisposeTargetMachine(machine);
    return status;
}
