/*
 * Brings an optimised scalar kernel into the form that the vectoriser requires: scalars only,
 * plain branches, one return, reducible loops in loop-simplify and LCSSA form, and known places
 * for threadgroup variables.
 *
 * Requires: everything that can be inlined is, and no vectorised function is in the module yet:
 * LLVM's passes run on all of it. Provides: what vectorise.h says. Does not: look at functions
 * other than the kernel itself.
 */
#include "compiler/cpu/prepare/prepare.h"
#include "compiler/ir/walk.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/Error.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <string.h>

ingot_status igv_prepare_memory_out(struct igv_prepare *prepare) {
    return ig_fail(prepare->error, INGOT_OUT_OF_MEMORY,
                   "memory ran out while a kernel was prepared");
}

/* ---- helpers --------------------------------------------------------------------------- */
struct wanted {
    struct igv_prepare *prepare;
    bool (*is)(struct igv_prepare *prepare, LLVMValueRef instruction);
};

static bool is_wanted(void *context, LLVMValueRef instruction) {
    const struct wanted *wanted = context;
    return wanted->is(wanted->prepare, instruction);
}

struct igv_list igv_collect(struct igv_prepare *prepare,
                            bool (*wanted)(struct igv_prepare *prepare, LLVMValueRef instruction)) {
    struct igv_list list = {0};
    struct wanted context = {prepare, wanted};
    list.items = igi_collect(&prepare->arena, prepare->kernel, is_wanted, &context, &list.count);
    list.failed = !list.items;
    return list;
}

bool igv_is_aggregate(LLVMTypeRef type) {
    LLVMTypeKind kind = LLVMGetTypeKind(type);
    return kind == LLVMStructTypeKind || kind == LLVMArrayTypeKind;
}

bool igv_is_vector(LLVMTypeRef type) {
    return LLVMGetTypeKind(type) == LLVMVectorTypeKind;
}

LLVMValueRef igv_integer(LLVMTypeRef type, uint64_t value) {
    return LLVMConstInt(type, value, false);
}

LLVMValueRef igv_byte_offset(struct igv_prepare *prepare, LLVMValueRef pointer, uint64_t bytes) {
    if (!bytes) {
        return pointer;
    }
    LLVMValueRef index = igv_integer(prepare->i64, bytes);
    return LLVMBuildGEP2(prepare->builder, prepare->i8, pointer, &index, 1, "");
}

void igv_copy_metadata(struct igv_prepare *prepare, LLVMValueRef from, LLVMValueRef to) {
    static const char *const kinds[] = {"tbaa", "alias.scope", "noalias", "invariant.load"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        unsigned kind =
            LLVMGetMDKindIDInContext(prepare->context, kinds[i], (unsigned)strlen(kinds[i]));
        LLVMValueRef node = LLVMGetMetadata(from, kind);
        if (node) {
            LLVMSetMetadata(to, kind, node);
        }
    }
    LLVMSetVolatile(to, LLVMGetVolatile(from));
}

const char *igv_callee_name(LLVMValueRef call) {
    size_t length;
    LLVMValueRef callee = LLVMGetCalledValue(call);
    return callee && LLVMIsAFunction(callee) ? LLVMGetValueName2(callee, &length) : "";
}

LLVMValueRef igv_earlier_incoming(LLVMValueRef phi, LLVMBasicBlockRef block) {
    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
        if (LLVMGetIncomingBlock(phi, i) == block) {
            return LLVMGetIncomingValue(phi, i);
        }
    }
    return NULL;
}

/* ---- the order ---------------------------------------------------------------------------- */
static ingot_status passes(struct igv_prepare *prepare, const char *pipeline) {
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef failure = LLVMRunPasses(prepare->module, pipeline, prepare->machine, options);
    LLVMDisposePassBuilderOptions(options);
    if (!failure) {
        return INGOT_OK;
    }
    char *message = LLVMGetErrorMessage(failure);
    ig_fail(prepare->error, INGOT_COMPILE_ERROR, "LLVM cannot run the passes %s: %s", pipeline,
            message);
    LLVMDisposeErrorMessage(message);
    return INGOT_COMPILE_ERROR;
}

static bool is_not_scalar(struct igv_prepare *prepare, LLVMValueRef instruction) {
    LLVMTypeRef type = LLVMTypeOf(instruction);
    LLVMOpcode opcode = LLVMGetInstructionOpcode(instruction);
    (void)prepare;
    if (opcode == LLVMAtomicCmpXchg || opcode == LLVMExtractValue) {
        return igv_is_vector(type);
    }
    if (igv_is_aggregate(type) || igv_is_vector(type)) {
        return true;
    }
    for (int i = 0; i < LLVMGetNumOperands(instruction); i++) {
        LLVMTypeRef operand = LLVMTypeOf(LLVMGetOperand(instruction, (unsigned)i));
        if (igv_is_aggregate(operand) || igv_is_vector(operand)) {
            return true;
        }
    }
    return false;
}

/* Rounds of taking vectors, structs and odd integers apart; each simplification may put some
 * together again. */
static ingot_status scalarise(struct igv_prepare *prepare) {
    for (int round = 0; round < 4; round++) {
        ingot_status status = igv_prepare_calls(prepare);
        if (!status) {
            status = igv_prepare_aggregates(prepare);
        }
        if (!status) {
            status = igv_prepare_vectors(prepare);
        }
        if (!status) {
            status = passes(prepare, "function(scalarizer,"
                                     "instsimplify,adce)");
        }
        if (!status) {
            status = igv_prepare_integers(prepare);
        }
        if (!status && round < 2) {
            status = passes(prepare, "function(instcombine<no-verify-fixpoint>,early-cse,adce)");
        }
        if (!status && round >= 2) {
            status = passes(prepare, "function(instsimplify,early-cse,adce)");
        }
        if (status) {
            return status;
        }
        struct igv_list left = igv_collect(prepare, is_not_scalar);
        if (left.failed) {
            return igv_prepare_memory_out(prepare);
        }
        if (!left.count && round) {
            return INGOT_OK;
        }
    }
    struct igv_list left = igv_collect(prepare, is_not_scalar);
    char *text = left.count ? LLVMPrintValueToString(left.items[0]) : NULL;
    ig_fail(prepare->error, INGOT_COMPILE_ERROR,
            "the kernel holds a vector or struct that cannot be taken apart:%s", text ? text : "");
    LLVMDisposeMessage(text);
    return INGOT_COMPILE_ERROR;
}

ingot_status igv_prepare_control(struct igv_prepare *prepare) {
    ingot_status status = passes(prepare, "function(sccp,lower-switch)");
    if (!status) {
        status = igv_prepare_exits(prepare);
    }
    if (!status) {
        status = passes(prepare, "function(mergereturn)");
    }
    if (!status) {
        status = igv_prepare_endless(prepare);
    }
    if (!status) {
        status = passes(prepare, "function(fix-irreducible,loop-simplify,lcssa)");
    }
    return status;
}

/* Induction variables are known to be in range, so most of the checks go again. */
static ingot_status check_private(struct igv_prepare *prepare) {
    bool changed;
    ingot_status status = igv_prepare_private(prepare, &changed);
    if (!status && changed) {
        status = passes(prepare, "function(instsimplify,correlated-propagation,instsimplify,adce)");
    }
    return status;
}

static ingot_status prepare_kernel(struct igv_prepare *prepare, uint32_t *threadgroup_bytes) {
    ingot_status status = igv_prepare_calls(prepare);
    if (!status) {
        status = igv_prepare_check_calls(prepare);
    }
    if (!status) {
        status = igv_prepare_copies(prepare);
    }
    if (!status) {
        status = passes(prepare, "function(sroa,early-cse,adce)");
    }
    if (!status) {
        status = scalarise(prepare);
    }
    if (!status) { /* simplification may have brought some back */
        status = igv_prepare_calls(prepare);
    }
    if (!status) {
        status = check_private(prepare);
    }
    if (!status) {
        status = igv_prepare_exchanges(prepare);
    }
    if (!status) {
        status = igv_prepare_control(prepare);
    }
    if (!status) {
        status = igv_prepare_extensions(prepare);
    }
    if (!status) {
        status = igv_prepare_threadgroup(prepare, threadgroup_bytes);
    }
    return status;
}

ingot_status igv_prepare(LLVMModuleRef module, LLVMValueRef kernel, LLVMTargetMachineRef machine,
                         uint32_t *threadgroup_bytes, struct ig_error *error) {
    LLVMContextRef context = LLVMGetModuleContext(module);
    struct igv_prepare prepare = {.module = module,
                                  .kernel = kernel,
                                  .context = context,
                                  .layout = LLVMGetModuleDataLayout(module),
                                  .machine = machine,
                                  .builder = LLVMCreateBuilderInContext(context),
                                  .i1 = LLVMInt1TypeInContext(context),
                                  .i8 = LLVMInt8TypeInContext(context),
                                  .i32 = LLVMInt32TypeInContext(context),
                                  .i64 = LLVMInt64TypeInContext(context),
                                  .error = error};
    *threadgroup_bytes = 0;
    ingot_status status = prepare_kernel(&prepare, threadgroup_bytes);
    LLVMDisposeBuilder(prepare.builder);
    ig_arena_free(&prepare.arena);
    if (!status && LLVMVerifyFunction(kernel, LLVMReturnStatusAction)) {
        status = ig_fail(error, INGOT_COMPILE_ERROR,
                         "the prepared kernel is not valid LLVM IR: a defect of the compiler");
    }
    return status;
}
