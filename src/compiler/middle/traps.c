/*
 * __builtin_trap and its kin become __ingot_trap, which ends the launch with an error.
 *
 * Requires clang's module, before anything is optimised: LLVM takes its own trap for the end of the
 * program, and drops stores before it that nobody would read. Provides calls that LLVM has to think
 * touch any memory. Does not touch the `unreachable` behind a trap, which no thread reaches.
 */
#include "compiler/ir/builtins.h"
#include "compiler/ir/walk.h"
#include "compiler/middle/middle.h"

bool igc_replace_traps(LLVMModuleRef module) {
    LLVMBuilderRef builder = NULL;
    igi_each_function(f, module) {
        igi_each_instruction_safe(in, f) {
            if (!LLVMIsACallInst(in) || !(igi_intrinsic_flags_of(in) & IGI_I_TRAPS)) {
                continue;
            }
            LLVMValueRef trap = igi_declare(module, IGI_trap);
            if (!builder) {
                builder = LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
            }
            LLVMPositionBuilderBefore(builder, in);
            LLVMBuildCall2(builder, LLVMGlobalGetValueType(trap), trap, NULL, 0, "");
            LLVMInstructionEraseFromParent(in);
        }
    }
    if (!builder) {
        return false;
    }
    LLVMDisposeBuilder(builder);
    return true;
}
