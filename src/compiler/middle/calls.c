/*
 * Calls that Metal forbids and clang, in the mode used here, does not: recursion, and a kernel
 * called like a function. Functions of floating-point numbers may call themselves all the same:
 * real programs do so, to a small depth, to bring an argument into range (see recursion.c); and
 * so may a function that returns nothing and starts over with its last call.
 * Textures can be named, but not used.
 * Neither may a kernel write to variables of the program: Metal has none but constants.
 * Requires clang's own module, with its annotations and debug locations; igc_check_targets the
 * optimised kernel, in which all that is known is inlined.
 */
#include <llvm-c/DebugInfo.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/builtins.h"
#include "compiler/ir/map.h"
#include "compiler/ir/walk.h"
#include "compiler/middle/middle.h"

enum state { UNSEEN, ACTIVE, DONE };

struct function {
    LLVMValueRef value;
    enum state state;
};

struct calls {
    LLVMModuleRef module;
    struct function *functions;
    struct igi_map numbers; /* of functions */
    unsigned count;
    const struct igc_job *job;
    struct ig_error *error;
};

/* `what` (NULL: nothing) is named where `instruction` stands. */
static ingot_status refuse(struct calls *calls, LLVMValueRef instruction, LLVMValueRef what,
                           const char *reason) {
    unsigned file_size = 0;
    size_t length, name_size = 0;
    const char *name = what ? igc_plain_name(LLVMGetValueName2(what, &length), &name_size) : "";
    const char *file = LLVMGetDebugLocFilename(instruction, &file_size);
    struct igc_call_place place = {.file = file,
                                   .file_size = file ? file_size : 0,
                                   .line = file ? LLVMGetDebugLocLine(instruction) : 0,
                                   .name = name,
                                   .name_size = name_size};
    return igc_source_refuse_call(calls->job->source, &place, reason, calls->error);
}

static struct function *find(const struct calls *calls, LLVMValueRef value) {
    unsigned number = igi_map_get(&calls->numbers, value);
    return number == IGI_NONE ? NULL : &calls->functions[number];
}

static bool takes_floats(LLVMValueRef function) {
    for (unsigned i = 0; i < LLVMCountParams(function); i++) {
        LLVMTypeKind kind = LLVMGetTypeKind(LLVMTypeOf(LLVMGetParam(function, i)));
        if (kind == LLVMFloatTypeKind || kind == LLVMHalfTypeKind || kind == LLVMBFloatTypeKind) {
            return true;
        }
    }
    return false;
}

/* The program's variable that a store or atomic writes to, or NULL. */
static LLVMValueRef written_variable(LLVMValueRef instruction) {
    LLVMOpcode opcode = LLVMGetInstructionOpcode(instruction);
    if (opcode != LLVMStore && opcode != LLVMAtomicRMW && opcode != LLVMAtomicCmpXchg) {
        return NULL;
    }
    LLVMValueRef place = LLVMGetOperand(instruction, opcode == LLVMStore ? 1 : 0);
    for (;;) {
        bool expression = LLVMIsAConstantExpr(place) != NULL;
        LLVMOpcode how = expression                  ? LLVMGetConstOpcode(place)
                         : LLVMIsAInstruction(place) ? LLVMGetInstructionOpcode(place)
                                                     : LLVMRet;
        if (how != LLVMGetElementPtr && how != LLVMAddrSpaceCast && how != LLVMBitCast) {
            break;
        }
        place = LLVMGetOperand(place, 0);
    }
    return LLVMIsAGlobalVariable(place) &&
                   LLVMGetPointerAddressSpace(LLVMTypeOf(place)) != INGOT_SPACE_THREADGROUP
               ? place
               : NULL;
}

/* A call by which the function, which returns nothing, starts over: a loop in disguise. */
static bool starts_over(LLVMValueRef function, LLVMValueRef call) {
    LLVMValueRef in = LLVMGetNextInstruction(call);
    if (LLVMGetCalledValue(call) != function) {
        return false;
    }
    for (int steps = 0; in && steps < 64; steps++) {
        LLVMValueRef callee = LLVMIsACallInst(in) ? LLVMGetCalledValue(in) : NULL;
        if (LLVMIsAReturnInst(in)) {
            return LLVMGetNumOperands(in) == 0;
        }
        if (LLVMIsABranchInst(in) && !LLVMIsConditional(in)) {
            in = LLVMGetFirstInstruction(LLVMGetSuccessor(in, 0));
        } else if (callee && LLVMIsAFunction(callee) && LLVMGetIntrinsicID(callee)) {
            in = LLVMGetNextInstruction(in); /* the end of a variable's life */
        } else {
            return false;
        }
    }
    return false;
}

/* A member of what prelude/ingot_textures.h declares. */
static bool is_texture_access(LLVMValueRef instruction) {
    LLVMValueRef callee = LLVMIsACallInst(instruction) ? LLVMGetCalledValue(instruction) : NULL;
    size_t length;
    return callee && LLVMIsAFunction(callee) && LLVMIsDeclaration(callee) &&
           strstr(LLVMGetValueName2(callee, &length), igc_texture_class);
}

/* Depth first; the depth is that of the call graph. */
static ingot_status visit(struct calls *calls, struct function *function) {
    ingot_status status = INGOT_OK;
    const bool is_kernel = igc_module_is_kernel(calls->module, function->value);
    function->state = ACTIVE;
    igi_each_instruction(in, function->value) {
        if (status) {
            break;
        }
        LLVMValueRef variable = written_variable(in);
        igc_warn_unportable_code(calls->job, in);
        if (variable) {
            status = refuse(calls, in, variable,
                            "a variable outside of functions, or a static one, must be "
                            "constant: nothing can be stored to it");
            continue;
        }
        if (is_kernel && LLVMIsAReturnInst(in) && LLVMGetNumOperands(in) > 0) {
            status = refuse(calls, in, function->value,
                            "a kernel returns void, but this one returns a value");
            continue;
        }
        if (is_texture_access(in)) {
            status = refuse(calls, in, LLVMGetCalledValue(in),
                            "textures and samplers are not supported");
            continue;
        }
        struct function *callee = LLVMIsACallInst(in) ? find(calls, LLVMGetCalledValue(in)) : NULL;
        if (!callee || callee->state == DONE) {
            continue;
        }
        if (igc_module_is_kernel(calls->module, callee->value) ||
            (callee->state == ACTIVE && !takes_floats(callee->value) &&
             !starts_over(function->value, in))) {
            status =
                refuse(calls, in, callee->value,
                       callee->state == ACTIVE ? "recursive call: Metal does not allow recursion"
                                               : "a kernel cannot be called like a function");
        } else if (callee->state != ACTIVE) {
            status = visit(calls, callee);
        }
    }
    function->state = DONE;
    return status;
}

ingot_status igc_check_calls(LLVMModuleRef module, LLVMValueRef kernel, const struct igc_job *job,
                             struct ig_error *error) {
    struct calls calls = {.module = module, .job = job, .error = error};
    struct ig_arena arena = {0};
    size_t count = 0;
    igi_each_function(f, module) {
        count += !LLVMIsDeclaration(f);
    }
    calls.functions = ig_arena_array(&arena, count + 1, sizeof *calls.functions);
    igi_map_start(&calls.numbers, &arena, count);
    if (!calls.functions || calls.numbers.failed) {
        ig_arena_free(&arena);
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for the %zu functions of kernel %s",
                       count, job->kernel);
    }
    igi_each_function(f, module) {
        if (!LLVMIsDeclaration(f)) {
            calls.functions[calls.count] = (struct function){.value = f};
            igi_map_put(&calls.numbers, f, calls.count++);
        }
    }
    struct function *start = find(&calls, kernel);
    ingot_status status = start ? visit(&calls, start) : INGOT_OK;
    ig_arena_free(&arena);
    return status;
}

static bool is_own(LLVMValueRef function) {
    size_t length;
    return LLVMGetIntrinsicID(function) ||
           igi_is_library_name(LLVMGetValueName2(function, &length));
}

ingot_status igc_check_targets(LLVMValueRef kernel, const struct igc_job *job,
                               struct ig_error *error) {
    struct calls calls = {.job = job, .error = error};
    igi_each_instruction(in, kernel) {
        LLVMValueRef callee = LLVMIsACallInst(in) ? LLVMGetCalledValue(in) : NULL;
        if (!callee || LLVMIsAInlineAsm(callee)) {
            continue;
        }
        if (!LLVMIsAFunction(callee)) {
            return refuse(&calls, in, NULL,
                          "a function is called through a pointer that is only known when the "
                          "kernel runs, which is not supported: call each by its name, in "
                          "branches or a switch");
        }
        if (LLVMIsDeclaration(callee) && !is_own(callee)) {
            return refuse(&calls, in, callee,
                          "declared, but defined nowhere: include the file that defines it, "
                          "or give that file to the command as well");
        }
    }
    return INGOT_OK;
}
