/*
 * Addresses in threadgroup memory of 32 bits, which cost half the registers. LLVM has them as an
 * option of the process, so it is set in the child that makes the code. Not for kernels that hold
 * such pointers in memory: sizes and places of what they are in were fixed with 64 bits.
 */
#include <llvm-c/Support.h>

#include "compiler/ir/walk.h"
#include "compiler/nvptx/nvptx.h"

static bool holds_pointer(LLVMTypeRef type) {
    switch (LLVMGetTypeKind(type)) {
    case LLVMPointerTypeKind:
        return LLVMGetPointerAddressSpace(type) == INGOT_SPACE_THREADGROUP;
    case LLVMArrayTypeKind:
    case LLVMVectorTypeKind:
        return holds_pointer(LLVMGetElementType(type));
    case LLVMStructTypeKind:
        for (unsigned i = 0; i < LLVMCountStructElementTypes(type); i++) {
            if (holds_pointer(LLVMStructGetTypeAtIndex(type, i))) {
                return true;
            }
        }
        return false;
    default:
        return false;
    }
}

static bool keeps_pointers(LLVMValueRef in) {
    switch (LLVMGetInstructionOpcode(in)) {
    case LLVMAlloca:
        return holds_pointer(LLVMGetAllocatedType(in));
    case LLVMLoad:
        return holds_pointer(LLVMTypeOf(in));
    case LLVMStore:
        return holds_pointer(LLVMTypeOf(LLVMGetOperand(in, 0)));
    case LLVMGetElementPtr:
        return holds_pointer(LLVMGetGEPSourceElementType(in));
    default:
        return false;
    }
}

LLVMTargetMachineRef igp_short_pointers(LLVMModuleRef module, LLVMTargetMachineRef machine) {
    igi_each_global(g, module) {
        if (holds_pointer(LLVMGlobalGetValueType(g))) {
            return machine;
        }
    }
    LLVMValueRef entry = LLVMGetNamedFunction(module, INGOT_CUDA_KERNEL_SYMBOL);
    igi_each_instruction(in, entry) {
        if (keeps_pointers(in)) {
            return machine;
        }
    }
    static const char *const options[] = {"ingotc", "-nvptx-short-ptr"};
    LLVMParseCommandLineOptions(2, options, NULL);
    char *triple = LLVMGetTargetMachineTriple(machine), *cpu = LLVMGetTargetMachineCPU(machine);
    char *features = LLVMGetTargetMachineFeatureString(machine);
    LLVMTargetMachineRef other =
        LLVMCreateTargetMachine(LLVMGetTargetMachineTarget(machine), triple, cpu, features,
                                LLVMCodeGenLevelDefault, LLVMRelocPIC, LLVMCodeModelDefault);
    LLVMDisposeMessage(triple);
    LLVMDisposeMessage(cpu);
    LLVMDisposeMessage(features);
    if (!other) {
        return machine;
    }
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(other);
    LLVMSetModuleDataLayout(module, layout);
    LLVMDisposeTargetData(layout);
    return other;
}
