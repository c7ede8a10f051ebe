/*
 * Built-ins for 32 lanes, each as a function of its own: a scalar kernel that loads the lane's
 * operands, calls the built-in and stores the result goes through the vectoriser, as it would in a
 * whole kernel. So code for debuggers has no built-ins of its own, and its results are the same.
 *
 * The kernels are made in a module of their own, which is cleaned up and linked.
 */
#include <llvm-c/Linker.h>
#include <string.h>

#include "compiler/cpu/debug/debug.h"
#include "compiler/ir/builtins.h"
#include "compiler/ir/walk.h"

#define SPACE_DEVICE 1u

static const char cleanup[] =
    "function(early-cse<memssa>,instcombine<no-verify-fixpoint>,sroa<preserve-cfg>,"
    "early-cse<memssa>,instsimplify,adce),globaldce,strip-dead-prototypes";

const char *igd_helper_name(struct ig_arena *arena, LLVMValueRef builtin) {
    size_t length;
    return ig_arena_printf(arena, "ingot_lanes_%s", LLVMGetValueName2(builtin, &length));
}

/* Is the operand one that all lanes have to agree on? The first lane's is taken. */
static bool is_uniform(const struct igi_facts *facts, unsigned operand) {
    switch (facts->family) {
    case IGI_FAMILY_LOAD_DEVICE:
    case IGI_FAMILY_LOAD_THREADGROUP:
        return operand < 3;
    case IGI_FAMILY_STORE_DEVICE:
    case IGI_FAMILY_STORE_THREADGROUP:
        return operand < 3;
    default:
        return false;
    }
}

static LLVMValueRef slot(struct igc_kernel *kernel, LLVMValueRef operands, unsigned index) {
    return igc_byte_offset(kernel, operands, (uint64_t)index * IGD_SLOT);
}

/* Bits are kept as words. */
static LLVMTypeRef stored_type(struct igc_kernel *kernel, LLVMTypeRef type) {
    return type == kernel->i1 ? kernel->i32 : type;
}

static LLVMValueRef load_operand(struct igc_kernel *kernel, LLVMValueRef operands, unsigned index,
                                 LLVMTypeRef type) {
    LLVMValueRef value = LLVMBuildLoad2(kernel->builder, stored_type(kernel, type),
                                        slot(kernel, operands, index), "");
    return type == kernel->i1
               ? LLVMBuildICmp(kernel->builder, LLVMIntNE, value, igc_integer(kernel->i32, 0), "")
               : value;
}

static LLVMValueRef operands_of(struct igc_kernel *kernel, LLVMValueRef table, LLVMValueRef lane) {
    LLVMTypeRef pointer = LLVMPointerTypeInContext(kernel->context, SPACE_DEVICE);
    LLVMValueRef index = LLVMBuildZExt(kernel->builder, lane, kernel->i64, "");
    LLVMValueRef place = LLVMBuildGEP2(kernel->builder, pointer, table, &index, 1, "");
    return LLVMBuildLoad2(kernel->builder, pointer, place, "");
}

/* The scalar kernel, in the helpers' module. */
static LLVMValueRef build_scalar(struct igc_kernel *kernel, LLVMValueRef table,
                                 LLVMValueRef builtin) {
    enum { MOST_OPERANDS = 16 };
    const struct igi_facts *facts = igi_facts(igi_builtin_of_function(builtin));
    LLVMTypeRef type = LLVMGlobalGetValueType(builtin), types[MOST_OPERANDS];
    LLVMTypeRef nothing = LLVMVoidTypeInContext(kernel->context);
    unsigned count = LLVMCountParamTypes(type);
    size_t length;
    if (count > MOST_OPERANDS) {
        return NULL;
    }
    LLVMGetParamTypes(type, types);
    const char *name = LLVMGetValueName2(builtin, &length);
    LLVMValueRef callee = LLVMGetNamedFunction(kernel->module, name);
    callee = callee ? callee : LLVMAddFunction(kernel->module, name, type);
    LLVMValueRef f =
        LLVMAddFunction(kernel->module, "scalar", LLVMFunctionType(nothing, NULL, 0, false));
    LLVMValueRef lane = igi_declare(kernel->module, IGI_thread_index_in_simdgroup);
    LLVMPositionBuilderAtEnd(kernel->builder,
                             LLVMAppendBasicBlockInContext(kernel->context, f, ""));
    LLVMValueRef own = operands_of(
        kernel, table,
        LLVMBuildCall2(kernel->builder, LLVMGlobalGetValueType(lane), lane, NULL, 0, ""));
    LLVMValueRef first = operands_of(kernel, table, igc_integer(kernel->i32, 0));
    LLVMValueRef arguments[MOST_OPERANDS];
    for (unsigned i = 0; i < count; i++) {
        arguments[i] = load_operand(kernel, is_uniform(facts, i) ? first : own, i, types[i]);
    }
    LLVMValueRef result = LLVMBuildCall2(kernel->builder, type, callee, arguments, count, "");
    LLVMTypeRef made = LLVMGetReturnType(type);
    if (made == kernel->i1) {
        result = LLVMBuildZExt(kernel->builder, result, kernel->i32, "");
    }
    if (made != nothing) {
        LLVMBuildStore(kernel->builder, result, slot(kernel, own, count));
    }
    LLVMBuildRetVoid(kernel->builder);
    return f;
}

static ingot_status add_helper(struct igc_kernel *helpers, LLVMValueRef table,
                               LLVMValueRef builtin) {
    const struct igv_target *target = (const struct igv_target *)helpers->target;
    LLVMValueRef scalar = build_scalar(helpers, table, builtin);
    struct igv_request request = {.module = helpers->module,
                                  .kernel = scalar,
                                  .machine = helpers->machine,
                                  .target = target,
                                  .ids = INGOT_CPU_IDS_GENERAL,
                                  .buffer_slots = helpers->reflection->buffer_slots,
                                  .threadgroup_slots = helpers->reflection->threadgroup_slots,
                                  .name = igd_helper_name(helpers->arena, builtin)};
    struct igv_result result = {0};
    if (!scalar || !request.name) {
        return igc_out_of_memory(helpers);
    }
    ingot_status status = igv_vectorise(helpers->arena, &request, &result, helpers->error);
    if (!status) {
        igc_set_target_attributes(result.function, target);
    }
    LLVMDeleteFunction(scalar);
    return status;
}

ingot_status igd_make_helpers(struct igc_kernel *kernel, const LLVMValueRef *builtins,
                              size_t count) {
    struct igc_kernel helpers = *kernel;
    igc_kernel_set_module(&helpers,
                          LLVMModuleCreateWithNameInContext("ingot_lanes", kernel->context));
    helpers.builder = LLVMCreateBuilderInContext(kernel->context);
    igc_kernel_set_target(&helpers);
    helpers.layout = LLVMGetModuleDataLayout(helpers.module);
    LLVMTypeRef pointer = LLVMPointerTypeInContext(kernel->context, SPACE_DEVICE);
    LLVMValueRef table = LLVMAddGlobalInAddressSpace(
        helpers.module, LLVMArrayType2(pointer, INGOT_SIMD_WIDTH), IGD_OPERANDS, SPACE_DEVICE);
    LLVMSetInitializer(table, LLVMConstNull(LLVMGlobalGetValueType(table)));
    LLVMSetExternallyInitialized(table, true);
    LLVMSetAlignment(table, 64);
    ingot_status status = INGOT_OK;
    for (size_t i = 0; i < count && !status; i++) {
        status = add_helper(&helpers, table, builtins[i]);
    }
    if (!status) {
        bool uses_units = false; /* stays so: there is no struct ingot_cpu_kernel */
        status =
            igv_lower_tiles(helpers.module, helpers.machine,
                            (const struct igv_target *)kernel->target, &uses_units, kernel->error);
    }
    if (!status) {
        status = igc_stage(helpers.module, helpers.machine, "helpers", cleanup, kernel->error);
    }
    LLVMDisposeBuilder(helpers.builder);
    if (status) {
        LLVMDisposeModule(helpers.module);
    } else if (LLVMLinkModules2(kernel->module, helpers.module)) {
        status = ig_fail(kernel->error, INGOT_INTERNAL_ERROR,
                         "the built-ins of kernel %s cannot be linked", kernel->name);
    }
    return status;
}
