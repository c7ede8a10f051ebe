/*
 * Recursion to a limited depth. Vector code has no stack of calls: everything is inlined. Functions
 * that call each other in a circle are cloned instead, one set of clones for each level, so that
 * level N calls level N + 1; the calls of the last level become __ingot_too_deep, which ends the
 * launch with an error when a thread gets there. Real kernels call themselves once or twice, as
 * gamma and log_gamma do for each other's ranges.
 *
 * Requires a module in which everything else has been inlined: what is defined besides the kernel
 * is recursive. Provides one without circles. Not done: threadgroup variables of recursive
 * functions are not shared between levels.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Linker.h>

#include "compiler/ir/builtins.h"
#include "compiler/ir/walk.h"
#include "compiler/middle/middle.h"

enum { MIN_LEVELS = 2, MAX_LEVELS = 32, INSTRUCTION_BUDGET = 1000, NAME_SIZE = 4096 };

static ingot_status no_memory(struct ig_error *error) {
    return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for the levels of a recursion");
}

struct circle {
    char **names; /* of the recursive functions */
    size_t count;
    unsigned levels;
};

static bool is_recursive(LLVMValueRef function, LLVMValueRef kernel) {
    return function != kernel && !LLVMIsDeclaration(function);
}

static LLVMValueRef *collect_calls(LLVMValueRef function, size_t *count) {
    size_t capacity = 0;
    *count = 0;
    igi_each_use(use, function) {
        capacity++;
    }
    LLVMValueRef *calls = calloc(capacity + 1, sizeof *calls);
    if (!calls) {
        return NULL;
    }
    igi_each_use(use, function) {
        LLVMValueRef user = LLVMGetUser(use);
        if (LLVMIsACallInst(user) && LLVMGetCalledValue(user) == function) {
            calls[(*count)++] = user;
        }
    }
    return calls;
}

/* ---- how deep ---- */

static void measure(LLVMValueRef function, LLVMValueRef kernel, size_t *size, size_t *most_calls) {
    size_t calls = 0;
    igi_each_instruction(in, function) {
        LLVMValueRef callee = LLVMIsACallInst(in) ? LLVMGetCalledValue(in) : NULL;
        calls += callee && LLVMIsAFunction(callee) && is_recursive(callee, kernel);
        *size += 1;
    }
    if (calls > *most_calls) {
        *most_calls = calls;
    }
}

static unsigned choose_levels(size_t size, size_t calls) {
    size_t level_size = size, total = size;
    unsigned levels = 0;
    while (levels < MAX_LEVELS && (levels < MIN_LEVELS || total <= INSTRUCTION_BUDGET)) {
        level_size *= calls ? calls : 1;
        total += level_size;
        levels++;
    }
    return levels;
}

static ingot_status find_circle(LLVMModuleRef module, LLVMValueRef kernel, struct circle *circle,
                                struct ig_error *error) {
    size_t capacity = 0, size = 0, calls = 0;
    igi_each_function(f, module) {
        capacity += is_recursive(f, kernel);
    }
    circle->names = calloc(capacity + 1, sizeof *circle->names);
    if (!circle->names) {
        return no_memory(error);
    }
    igi_each_function(f, module) {
        if (!is_recursive(f, kernel)) {
            continue;
        }
        size_t length;
        const char *name = LLVMGetValueName2(f, &length);
        circle->names[circle->count] = strndup(name, length);
        if (!circle->names[circle->count]) {
            return no_memory(error);
        }
        circle->count++;
        measure(f, kernel, &size, &calls);
    }
    circle->levels = choose_levels(size, calls);
    return INGOT_OK;
}

/* ---- one level ---- */

/* A body that another module has. */
static void drop_body(LLVMValueRef function) {
    igi_each_instruction(in, function) {
        if (LLVMGetFirstUse(in)) {
            LLVMReplaceAllUsesWith(in, LLVMGetUndef(LLVMTypeOf(in)));
        }
    }
    igi_each_block(b, function) {
        while (LLVMGetFirstInstruction(b)) {
            LLVMInstructionEraseFromParent(LLVMGetLastInstruction(b));
        }
    }
    igi_each_block_safe(b, function) {
        LLVMDeleteBasicBlock(b);
    }
}

static LLVMValueRef declare_level(LLVMModuleRef module, LLVMValueRef function, const char *base,
                                  unsigned level) {
    char name[NAME_SIZE];
    snprintf(name, sizeof name, "%.4000s.level%u", base, level);
    LLVMValueRef found = LLVMGetNamedFunction(module, name);
    if (!found) {
        found = LLVMAddFunction(module, name, LLVMGlobalGetValueType(function));
    }
    LLVMSetFunctionCallConv(found, LLVMGetFunctionCallConv(function));
    return found;
}

static void end_here(LLVMModuleRef module, LLVMValueRef call, unsigned levels) {
    LLVMContextRef context = LLVMGetModuleContext(module);
    LLVMTypeRef number = LLVMInt32TypeInContext(context);
    LLVMValueRef too_deep = igi_declare(module, IGI_too_deep);
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(context);
    LLVMValueRef depth = LLVMConstInt(number, levels, false);
    LLVMPositionBuilderBefore(builder, call);
    LLVMBuildCall2(builder, LLVMGlobalGetValueType(too_deep), too_deep, &depth, 1, "");
    LLVMDisposeBuilder(builder);
    if (LLVMGetFirstUse(call)) {
        LLVMReplaceAllUsesWith(call, LLVMConstNull(LLVMTypeOf(call)));
    }
    LLVMInstructionEraseFromParent(call);
}

/* The recursive functions of `module` call those of the next level. Calls by the kernel stay. */
static ingot_status redirect(LLVMModuleRef module, LLVMValueRef kernel, const struct circle *circle,
                             unsigned level, struct ig_error *error) {
    for (size_t i = 0; i < circle->count; i++) {
        LLVMValueRef function = LLVMGetNamedFunction(module, circle->names[i]);
        size_t count;
        LLVMValueRef *calls = collect_calls(function, &count);
        if (!calls) {
            return no_memory(error);
        }
        for (size_t c = 0; c < count; c++) {
            LLVMBasicBlockRef block = LLVMGetInstructionParent(calls[c]);
            if (LLVMGetBasicBlockParent(block) == kernel) {
                continue;
            }
            if (level == circle->levels) {
                end_here(module, calls[c], circle->levels);
            } else {
                LLVMSetOperand(calls[c], (unsigned)LLVMGetNumOperands(calls[c]) - 1,
                               declare_level(module, function, circle->names[i], level + 1));
            }
        }
        free(calls);
    }
    return INGOT_OK;
}

static ingot_status add_level(LLVMModuleRef module, LLVMModuleRef original, const char *kernel_name,
                              const struct circle *circle, unsigned level, struct ig_error *error) {
    LLVMModuleRef clone = LLVMCloneModule(original);
    LLVMValueRef kernel = LLVMGetNamedFunction(clone, kernel_name);
    drop_body(kernel);
    ingot_status status = redirect(clone, kernel, circle, level, error);
    if (status) {
        LLVMDisposeModule(clone);
        return status;
    }
    for (size_t i = 0; i < circle->count; i++) {
        char name[NAME_SIZE];
        int length = snprintf(name, sizeof name, "%.4000s.level%u", circle->names[i], level);
        LLVMValueRef function = LLVMGetNamedFunction(clone, circle->names[i]);
        LLVMSetValueName2(function, name, (size_t)length);
        LLVMSetLinkage(function, LLVMExternalLinkage);
    }
    if (LLVMLinkModules2(module, clone)) {
        return ig_fail(error, INGOT_INTERNAL_ERROR, "level %u of a recursion could not be linked",
                       level);
    }
    return INGOT_OK;
}

ingot_status igc_unroll_recursion(LLVMModuleRef module, LLVMValueRef kernel,
                                  struct ig_error *error) {
    struct circle circle = {0};
    size_t length;
    const char *kernel_name = LLVMGetValueName2(kernel, &length);
    LLVMModuleRef original = NULL;
    ingot_status status = find_circle(module, kernel, &circle, error);
    if (!status && circle.count) {
        original = LLVMCloneModule(module);
        status = redirect(module, kernel, &circle, 0, error);
    }
    for (unsigned level = 1; !status && circle.count && level <= circle.levels; level++) {
        status = add_level(module, original, kernel_name, &circle, level, error);
    }
    if (!status && circle.count) {
        igi_each_function(f, module) {
            if (is_recursive(f, kernel)) {
                LLVMSetLinkage(f, LLVMInternalLinkage);
            }
        }
    }
    if (original) {
        LLVMDisposeModule(original);
    }
    for (size_t i = 0; i < circle.count; i++) {
        free(circle.names[i]);
    }
    free(circle.names);
    return status;
}
