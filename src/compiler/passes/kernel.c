/* Small helpers on a kernel that the passes of several folders use. */
#include <string.h>

#include "compiler/ir/map.h"
#include "compiler/ir/walk.h"
#include "compiler/passes/passes.h"

void igc_kernel_set_module(struct igc_kernel *kernel, LLVMModuleRef module) {
    kernel->module = module;
    kernel->context = LLVMGetModuleContext(module);
    kernel->layout = LLVMGetModuleDataLayout(module);
    kernel->i1 = LLVMInt1TypeInContext(kernel->context);
    kernel->i8 = LLVMInt8TypeInContext(kernel->context);
    kernel->i32 = LLVMInt32TypeInContext(kernel->context);
    kernel->i64 = LLVMInt64TypeInContext(kernel->context);
}

void igc_kernel_set_target(struct igc_kernel *kernel) {
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(kernel->machine);
    LLVMSetModuleDataLayout(kernel->module, layout);
    LLVMDisposeTargetData(layout);
    char *triple = LLVMGetTargetMachineTriple(kernel->machine);
    LLVMSetTarget(kernel->module, triple);
    LLVMDisposeMessage(triple);
}

ingot_status igc_out_of_memory(struct igc_kernel *kernel) {
    return ig_fail(kernel->error, INGOT_OUT_OF_MEMORY,
                   "memory ran out while kernel %s was compiled", kernel->name);
}

struct wanted {
    struct igc_kernel *kernel;
    bool (*is)(struct igc_kernel *kernel, LLVMValueRef instruction);
};

static bool is_wanted(void *context, LLVMValueRef instruction) {
    const struct wanted *wanted = context;
    return wanted->is(wanted->kernel, instruction);
}

struct igc_list igc_collect(struct igc_kernel *kernel,
                            bool (*wanted)(struct igc_kernel *kernel, LLVMValueRef instruction)) {
    struct igc_list list = {0};
    struct wanted context = {kernel, wanted};
    list.items = igi_collect(kernel->arena, kernel->function, is_wanted, &context, &list.count);
    list.failed = !list.items;
    return list;
}

LLVMValueRef igc_integer(LLVMTypeRef type, uint64_t value) {
    return LLVMConstInt(type, value, false);
}

LLVMValueRef igc_byte_offset(struct igc_kernel *kernel, LLVMValueRef pointer, uint64_t bytes) {
    if (!bytes) {
        return pointer;
    }
    LLVMValueRef index = igc_integer(kernel->i64, bytes);
    return LLVMBuildGEP2(kernel->builder, kernel->i8, pointer, &index, 1, "");
}

unsigned igc_kept_number(LLVMValueRef function) {
    LLVMAttributeRef attribute = LLVMGetStringAttributeAtIndex(
        function, LLVMAttributeFunctionIndex, IGC_KEPT, (unsigned)strlen(IGC_KEPT));
    unsigned length, number = 0;
    if (!attribute) {
        return IGI_NONE;
    }
    const char *text = LLVMGetStringAttributeValue(attribute, &length);
    for (unsigned i = 0; i < length; i++) {
        number = number * 10 + (unsigned)(text[i] - '0');
    }
    return number;
}

LLVMValueRef *igc_kept_functions(struct igc_kernel *kernel, unsigned *count) {
    *count = 0;
    igi_each_function(f, kernel->module) {
        unsigned number = igc_kept_number(f);
        *count = number != IGI_NONE && number >= *count ? number + 1 : *count;
    }
    LLVMValueRef *functions = ig_arena_array(kernel->arena, *count + 1u, sizeof *functions);
    igi_each_function(f, kernel->module) {
        unsigned number = igc_kept_number(f);
        if (functions && number != IGI_NONE) {
            functions[number] = f;
        }
    }
    return functions;
}
