/*
 * Positions at program scope (frontend/msl/rewrite_inputs.c): every function that reads the
 * reference
 * __ingot_input_N gets a variable instead, filled on entry by __ingot_input_fill_N.
 *
 * Requires unoptimised bitcode, where a reference is loaded at each use. Provides a module
 * without these references; SROA takes the variables away.
 */
#include <llvm-c/DebugInfo.h>
#include <stdio.h>
#include <string.h>

#include "compiler/ir/global_names.h"
#include "compiler/ir/walk.h"
#include "compiler/middle/middle.h"

static const char prefix[] = IGI_INPUT_PREFIX;

/* For `load`; inlining asks every call for its line. */
static LLVMValueRef add_variable(LLVMBuilderRef builder, LLVMValueRef load, LLVMValueRef fill,
                                 LLVMTypeRef type) {
    LLVMValueRef function = LLVMGetBasicBlockParent(LLVMGetInstructionParent(load));
    LLVMValueRef first = LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(function));
    LLVMPositionBuilderBefore(builder, first);
    LLVMValueRef variable = LLVMBuildAlloca(builder, type, "input");
    LLVMSetAlignment(variable, 32);
    LLVMValueRef call =
        LLVMBuildCall2(builder, LLVMGlobalGetValueType(fill), fill, &variable, 1, "");
    LLVMSetInstructionCallConv(call, LLVMGetFunctionCallConv(fill));
    LLVMInstructionSetDebugLoc(call, LLVMInstructionGetDebugLoc(load));
    return variable;
}

/* Any use of the reference, also through a cast of its address, is a load of the address that it
 * stands for. */
static void replace_loads(LLVMBuilderRef builder, LLVMValueRef reference, LLVMValueRef fill) {
    LLVMTypeRef room =
        LLVMArrayType2(LLVMInt8TypeInContext(LLVMGetTypeContext(LLVMTypeOf(reference))),
                       32); /* a vector of four long */
    LLVMValueRef function = NULL, variable = NULL;
    igi_each_use_safe(use, reference) {
        LLVMValueRef user = LLVMGetUser(use);
        if (LLVMIsAConstantExpr(user)) {
            replace_loads(builder, user, fill);
        }
        if (!LLVMIsALoadInst(user)) {
            continue;
        }
        LLVMValueRef parent = LLVMGetBasicBlockParent(LLVMGetInstructionParent(user));
        if (parent != function) {
            function = parent;
            variable = add_variable(builder, user, fill, room);
        }
        LLVMReplaceAllUsesWith(user, variable);
        LLVMInstructionEraseFromParent(user);
    }
}

void igc_fill_inputs(LLVMModuleRef module) {
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
    igi_each_global(g, module) {
        size_t length;
        const char *name = LLVMGetValueName2(g, &length);
        if (length <= strlen(prefix) || memcmp(name, prefix, strlen(prefix))) {
            continue;
        }
        char called[64];
        snprintf(called, sizeof called, "%sfill_%s", prefix, name + strlen(prefix));
        LLVMValueRef fill = LLVMGetNamedFunction(module, called);
        if (fill) {
            replace_loads(builder, g, fill);
        }
    }
    LLVMDisposeBuilder(builder);
}
