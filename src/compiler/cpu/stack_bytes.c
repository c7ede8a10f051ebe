/*
 * How much stack the finished functions of a kernel need: an upper bound, which the exported struct
 * tells the runtime. Requires the module as code is made of it; changes nothing but that struct.
 */
#include "compiler/cpu/cpu.h"
#include "compiler/ir/walk.h"

enum {
    STACK_MARGIN = 16 * 1024, /* call frames, spills of addresses, the services' own frames */
    MAX_SPILLS = 256 * 1024,
};

/* An upper bound of a frame: what is still in memory, and every vector spilled. */
static uint32_t stack_bound(LLVMModuleRef module) {
    LLVMTargetDataRef layout = LLVMGetModuleDataLayout(module);
    uint64_t most = 0;
    igi_each_function(f, module) {
        uint64_t arrays = 0, spills = 0;
        igi_each_instruction(in, f) {
            if (LLVMIsAAllocaInst(in)) {
                arrays += LLVMABISizeOfType(layout, LLVMGetAllocatedType(in)) + 64;
            } else if (LLVMGetTypeKind(LLVMTypeOf(in)) == LLVMVectorTypeKind) {
                spills += 64;
            }
        }
        arrays += spills < MAX_SPILLS ? spills : MAX_SPILLS;
        most = most > arrays ? most : arrays;
    }
    most += STACK_MARGIN;
    return most < UINT32_MAX ? (uint32_t)most : UINT32_MAX;
}

static void set_stack_bytes(LLVMModuleRef module, uint32_t bytes) {
    LLVMValueRef global = LLVMGetNamedGlobal(module, INGOT_CPU_KERNEL_SYMBOL);
    LLVMValueRef old = LLVMGetInitializer(global), fields[7];
    LLVMContextRef context = LLVMGetModuleContext(module);
    for (unsigned i = 0; i < 7; i++) {
        fields[i] = LLVMGetAggregateElement(old, i);
    }
    fields[3] = LLVMConstInt(LLVMInt32TypeInContext(context), bytes, false);
    LLVMSetInitializer(global, LLVMConstStructInContext(context, fields, 7, false));
}

enum igc_result igv_set_stack_bytes(struct igc_kernel *kernel) {
    set_stack_bytes(kernel->module, stack_bound(kernel->module));
    return IGC_CHANGED;
}
