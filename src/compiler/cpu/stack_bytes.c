/*
 * How much stack the finished functions of a kernel need: an upper bound, which the exported struct
 * tells the runtime. Functions whose frames may be large touch their stack on the way down, so that
 * none steps over the pages that guard it. Requires the module as code is made of it; changes
 * nothing but that struct and the attributes of such functions.
 */
#include <stdio.h>
#include <string.h>

#include "compiler/cpu/cpu.h"
#include "compiler/ir/map.h"
#include "compiler/ir/walk.h"

enum {
    STACK_MARGIN = 16 * 1024, /* call frames, spills of addresses, the services' own frames */
    MAX_SPILLS = 256 * 1024,
};

static void probe(LLVMValueRef function) {
    char size[16];
    snprintf(size, sizeof size, "%u", INGOT_CPU_STACK_PROBE);
    LLVMAddTargetDependentFunctionAttr(function, "probe-stack", "inline-asm");
    LLVMAddTargetDependentFunctionAttr(function, "stack-probe-size", size);
}

/* An upper bound of the frame: what is still in memory, and every vector spilled. */
static uint64_t frame_bound(LLVMTargetDataRef layout, LLVMValueRef function) {
    uint64_t arrays = 0, spills = 0, scalars = 0;
    igi_each_instruction(in, function) {
        if (LLVMIsAAllocaInst(in)) {
            arrays += LLVMABISizeOfType(layout, LLVMGetAllocatedType(in)) + 64;
        } else if (LLVMGetTypeKind(LLVMTypeOf(in)) == LLVMVectorTypeKind) {
            spills += 64;
        } else {
            scalars += 8;
        }
    }
    if (arrays + spills + scalars > INGOT_CPU_STACK_PROBE / 2) {
        probe(function);
    }
    return arrays + (spills < MAX_SPILLS ? spills : MAX_SPILLS);
}

static bool is_kept(LLVMValueRef function) {
    return function && LLVMIsAFunction(function) && !LLVMIsDeclaration(function) &&
           LLVMGetStringAttributeAtIndex(function, LLVMAttributeFunctionIndex, IGV_KEPT_LANES,
                                         sizeof IGV_KEPT_LANES - 1);
}

struct bounds {
    LLVMTargetDataRef layout;
    struct igi_map numbers; /* of functions: the bound in KiB, rounded up */
};

/* With the functions that stay functions which it calls; the depth is that of the call graph. */
static uint64_t chain_bound(struct bounds *bounds, LLVMValueRef function) {
    unsigned known = igi_map_get(&bounds->numbers, function);
    if (known != IGI_NONE) {
        return (uint64_t)known << 10;
    }
    uint64_t deepest = 0;
    igi_each_instruction(in, function) {
        LLVMValueRef callee = LLVMIsACallInst(in) ? LLVMGetCalledValue(in) : NULL;
        uint64_t below = is_kept(callee) ? chain_bound(bounds, callee) : 0;
        deepest = deepest > below ? deepest : below;
    }
    uint64_t all = frame_bound(bounds->layout, function) + deepest;
    if (is_kept(function)) {
        igi_map_put(&bounds->numbers, function, (unsigned)((all + 1023) >> 10));
    }
    return all;
}

static uint64_t stack_bound(struct ig_arena *arena, LLVMModuleRef module) {
    struct bounds bounds = {.layout = LLVMGetModuleDataLayout(module)};
    uint64_t most = 0;
    igi_map_start(&bounds.numbers, arena, 0);
    igi_each_function(f, module) {
        uint64_t bound = chain_bound(&bounds, f);
        most = most > bound ? most : bound;
    }
    return most + STACK_MARGIN;
}

static void set_stack_bytes(LLVMModuleRef module, uint64_t bytes) {
    LLVMValueRef global = LLVMGetNamedGlobal(module, INGOT_CPU_KERNEL_SYMBOL);
    LLVMValueRef old = LLVMGetInitializer(global), fields[7];
    LLVMContextRef context = LLVMGetModuleContext(module);
    for (unsigned i = 0; i < 7; i++) {
        fields[i] = LLVMGetAggregateElement(old, i);
    }
    fields[3] = LLVMConstInt(LLVMInt32TypeInContext(context), ingot_cpu_stack_stored(bytes), false);
    LLVMSetInitializer(global, LLVMConstStructInContext(context, fields, 7, false));
}

enum igc_result igv_set_stack_bytes(struct igc_kernel *kernel) {
    set_stack_bytes(kernel->module, stack_bound(kernel->arena, kernel->module));
    return IGC_CHANGED;
}
