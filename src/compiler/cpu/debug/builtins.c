/*
 * Built-ins of a thread. Each that the module calls gets a body: its operands go into slots of 8
 * bytes, and its helper (helpers.c) runs on them, for this lane alone or for those that meet. Some
 * need no helper: reflection says nothing any more, barriers and messages are the runtime's.
 */
#include <llvm-c/DebugInfo.h>
#include <stddef.h>
#include <string.h>

#include "compiler/cpu/debug/debug.h"
#include "compiler/ir/builtins.h"
#include "compiler/ir/walk.h"

static LLVMTypeRef pointer_type(struct igc_kernel *kernel) {
    return LLVMPointerTypeInContext(kernel->context, 0);
}

/* ---- those without a helper ---- */
static void return_nothing(struct igc_kernel *kernel, LLVMValueRef function) {
    LLVMTypeRef type = LLVMGetReturnType(LLVMGlobalGetValueType(function));
    if (LLVMGetTypeKind(type) == LLVMVoidTypeKind) {
        LLVMBuildRetVoid(kernel->builder);
    } else {
        LLVMBuildRet(kernel->builder, LLVMConstNull(type));
    }
}

static void return_operand(struct igc_kernel *kernel, LLVMValueRef function) {
    LLVMBuildRet(kernel->builder, LLVMGetParam(function, 0));
}

static void define_barrier(struct igc_kernel *kernel, LLVMValueRef function) {
    enum { SCOPE_THREADGROUP = 2 };
    LLVMValueRef is_threadgroup =
        LLVMBuildICmp(kernel->builder, LLVMIntEQ, LLVMGetParam(function, 0),
                      igc_integer(kernel->i32, SCOPE_THREADGROUP), "");
    igd_build_meet(kernel, NULL, NULL,
                   LLVMBuildSelect(kernel->builder, is_threadgroup,
                                   igc_integer(kernel->i32, INGOT_CPU_MEET_AT_BARRIER),
                                   igc_integer(kernel->i32, INGOT_CPU_MEET_ONLY), ""));
    LLVMBuildRetVoid(kernel->builder);
}

static void define_fence(struct igc_kernel *kernel, LLVMValueRef function) {
    (void)function;
    LLVMBuildFence(kernel->builder, LLVMAtomicOrderingSequentiallyConsistent, false, "");
    LLVMBuildRetVoid(kernel->builder);
}

/* The prelude's slots are those of services->log. */
static void define_log(struct igc_kernel *kernel, LLVMValueRef function) {
    LLVMTypeRef ptr = pointer_type(kernel);
    LLVMTypeRef types[] = {ptr, kernel->i32, ptr, kernel->i32, ptr};
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(kernel->context), types, 5, false);
    LLVMValueRef group = igd_thread_field(kernel, ptr, offsetof(struct ingot_cpu_thread, group));
    LLVMValueRef log = igd_service(kernel, group, offsetof(struct ingot_cpu_services, log));
    LLVMValueRef arguments[5] = {group};
    for (unsigned i = 0; i < 4; i++) {
        arguments[i + 1] = LLVMGetParam(function, i);
    }
    LLVMBuildCall2(kernel->builder, type, log, arguments, 5, "");
    LLVMBuildRetVoid(kernel->builder);
}

/* ---- arguments ---- */
/* The parameter's slot, from a table by its ordinal. */
static LLVMValueRef slot_of(struct igc_kernel *kernel, LLVMValueRef ordinal,
                            const uint32_t *slots) {
    uint32_t count = kernel->reflection->ordinal_count;
    LLVMValueRef *values = ig_arena_array(kernel->arena, count + 1, sizeof *values);
    for (uint32_t i = 0; values && i < count; i++) {
        values[i] = igc_integer(kernel->i32, slots[i]);
    }
    LLVMValueRef list = LLVMConstArray2(kernel->i32, values, values ? count : 0);
    LLVMValueRef table = LLVMAddGlobal(kernel->module, LLVMTypeOf(list), "ingot_slots");
    LLVMSetInitializer(table, list);
    LLVMSetGlobalConstant(table, true);
    LLVMSetLinkage(table, LLVMInternalLinkage);
    LLVMValueRef index = LLVMBuildZExt(kernel->builder, ordinal, kernel->i64, "");
    LLVMValueRef place = LLVMBuildGEP2(kernel->builder, kernel->i32, table, &index, 1, "");
    return LLVMBuildZExt(kernel->builder, LLVMBuildLoad2(kernel->builder, kernel->i32, place, ""),
                         kernel->i64, "");
}

/* The slot's element of an array that the group points to. */
static LLVMValueRef load_by_slot(struct igc_kernel *kernel, LLVMValueRef group, uint64_t offset,
                                 LLVMTypeRef type, LLVMValueRef slot) {
    LLVMValueRef array = LLVMBuildLoad2(kernel->builder, pointer_type(kernel),
                                        igc_byte_offset(kernel, group, offset), "");
    LLVMValueRef place = LLVMBuildGEP2(kernel->builder, type, array, &slot, 1, "");
    return LLVMBuildLoad2(kernel->builder, type, place, "");
}

static void return_pointer(struct igc_kernel *kernel, LLVMValueRef function, LLVMValueRef pointer) {
    LLVMTypeRef type = LLVMGetReturnType(LLVMGlobalGetValueType(function));
    LLVMBuildRet(kernel->builder, LLVMBuildAddrSpaceCast(kernel->builder, pointer, type, ""));
}

LLVMValueRef igd_unbound(struct igc_kernel *kernel) {
    static const char name[] = "ingot_unbound";
    enum { UNBOUND_BYTES = 4096 };
    LLVMValueRef global = LLVMGetNamedGlobal(kernel->module, name);
    if (!global) {
        LLVMTypeRef type = LLVMArrayType2(kernel->i8, UNBOUND_BYTES);
        global = LLVMAddGlobal(kernel->module, type, name);
        LLVMSetInitializer(global, LLVMConstNull(type));
        LLVMSetLinkage(global, LLVMInternalLinkage);
        LLVMSetAlignment(global, 64);
    }
    return global;
}

static void define_buffer(struct igc_kernel *kernel, LLVMValueRef function) {
    LLVMTypeRef ptr = pointer_type(kernel);
    LLVMValueRef group = igd_thread_field(kernel, ptr, offsetof(struct ingot_cpu_thread, group));
    LLVMValueRef slot =
        slot_of(kernel, LLVMGetParam(function, 0), kernel->reflection->buffer_slots);
    LLVMValueRef bound =
        load_by_slot(kernel, group, offsetof(struct ingot_cpu_group, buffers), ptr, slot);
    LLVMValueRef is_missing =
        LLVMBuildICmp(kernel->builder, LLVMIntEQ, bound, LLVMConstNull(ptr), "");
    return_pointer(kernel, function,
                   LLVMBuildSelect(kernel->builder, is_missing, igd_unbound(kernel), bound, ""));
}

static void define_threadgroup(struct igc_kernel *kernel, LLVMValueRef function) {
    LLVMTypeRef ptr = pointer_type(kernel);
    LLVMValueRef group = igd_thread_field(kernel, ptr, offsetof(struct ingot_cpu_thread, group));
    LLVMValueRef slot =
        slot_of(kernel, LLVMGetParam(function, 0), kernel->reflection->threadgroup_slots);
    LLVMValueRef offset = load_by_slot(
        kernel, group, offsetof(struct ingot_cpu_group, threadgroup_offsets), kernel->i32, slot);
    offset = LLVMBuildZExt(kernel->builder, offset, kernel->i64, "");
    LLVMValueRef memory = LLVMBuildLoad2(
        kernel->builder, ptr,
        igc_byte_offset(kernel, group, offsetof(struct ingot_cpu_group, threadgroup_memory)), "");
    return_pointer(kernel, function,
                   LLVMBuildGEP2(kernel->builder, kernel->i8, memory, &offset, 1, ""));
}

typedef void define_fn(struct igc_kernel *kernel, LLVMValueRef function);

/* NULL: by a helper. */
static define_fn *definition_of(enum igi_builtin builtin) {
    const struct igi_facts *facts = igi_facts(builtin);
    switch (builtin) {
    case IGI_arg_device:
    case IGI_arg_constant:
        return define_buffer;
    case IGI_arg_threadgroup:
        return define_threadgroup;
    case IGI_barrier:
        return define_barrier;
    case IGI_fence:
        return define_fence;
    case IGI_log:
        return define_log;
    case IGI_never:
    case IGI_prefetch:
    case IGI_streaming:
        return return_nothing;
    default:
        return facts->handled == IGI_HANDLED_READ || facts->handled == IGI_HANDLED_FOLDED
                   ? return_nothing
               : facts->flags & IGI_HINT ? return_operand
                                         : NULL;
    }
}

/* ---- those with one ---- */
static void store_operands(struct igc_kernel *kernel, LLVMValueRef function, LLVMValueRef slots) {
    for (unsigned i = 0; i < LLVMCountParams(function); i++) {
        LLVMValueRef value = LLVMGetParam(function, i);
        if (LLVMTypeOf(value) == kernel->i1) {
            value = LLVMBuildZExt(kernel->builder, value, kernel->i32, "");
        }
        LLVMBuildStore(kernel->builder, value,
                       igc_byte_offset(kernel, slots, (uint64_t)i * IGD_SLOT));
    }
}

/* For this lane alone. */
static void run_alone(struct igc_kernel *kernel, LLVMValueRef helper, LLVMValueRef slots) {
    LLVMTypeRef ptr = pointer_type(kernel);
    LLVMValueRef group = igd_thread_field(kernel, ptr, offsetof(struct ingot_cpu_thread, group));
    LLVMValueRef simdgroup =
        igd_thread_field(kernel, kernel->i32, offsetof(struct ingot_cpu_thread, simdgroup));
    LLVMValueRef lane =
        igd_thread_field(kernel, kernel->i32, offsetof(struct ingot_cpu_thread, lane));
    LLVMValueRef table =
        LLVMConstAddrSpaceCast(LLVMGetNamedGlobal(kernel->module, IGD_OPERANDS), ptr);
    LLVMValueRef index = LLVMBuildZExt(kernel->builder, lane, kernel->i64, "");
    LLVMBuildStore(kernel->builder, slots,
                   LLVMBuildGEP2(kernel->builder, ptr, table, &index, 1, ""));
    LLVMValueRef arguments[] = {
        group, simdgroup, LLVMBuildShl(kernel->builder, igc_integer(kernel->i32, 1), lane, "")};
    LLVMBuildCall2(kernel->builder, LLVMGlobalGetValueType(helper), helper, arguments, 3, "");
}

static void define_by_helper(struct igc_kernel *kernel, LLVMValueRef function) {
    const struct igi_facts *facts = igi_facts(igi_builtin_of_function(function));
    const char *name = igd_helper_name(kernel->arena, function);
    LLVMValueRef helper = name ? LLVMGetNamedFunction(kernel->module, name) : NULL;
    LLVMTypeRef result = LLVMGetReturnType(LLVMGlobalGetValueType(function));
    unsigned count = LLVMCountParams(function);
    LLVMTypeRef slots_type = LLVMArrayType2(kernel->i64, count + 1);
    LLVMValueRef slots = LLVMBuildAlloca(kernel->builder, slots_type, "");
    LLVMSetAlignment(slots, IGD_SLOT);
    store_operands(kernel, function, slots);
    if (facts->lanes == IGI_LANES_OWN) {
        run_alone(kernel, helper, slots);
    } else {
        igd_build_meet(kernel, helper, slots, igc_integer(kernel->i32, INGOT_CPU_MEET_TO_OPERATE));
    }
    if (LLVMGetTypeKind(result) == LLVMVoidTypeKind) {
        LLVMBuildRetVoid(kernel->builder);
        return;
    }
    LLVMValueRef place = igc_byte_offset(kernel, slots, (uint64_t)count * IGD_SLOT);
    LLVMValueRef value =
        LLVMBuildLoad2(kernel->builder, result == kernel->i1 ? kernel->i32 : result, place, "");
    LLVMBuildRet(kernel->builder,
                 result == kernel->i1 ? LLVMBuildTrunc(kernel->builder, value, result, "") : value);
}

static bool needs_body(LLVMValueRef function) {
    return LLVMIsDeclaration(function) && LLVMGetFirstUse(function) &&
           igi_builtin_of_function(function) != IGI_NO_BUILTIN;
}

/* What the declaration promised LLVM is not so of the body. */
static void forget_promises(LLVMValueRef function) {
    static const char *const names[] = {"memory", "willreturn", "speculatable", "nocallback"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        unsigned kind = LLVMGetEnumAttributeKindForName(names[i], strlen(names[i]));
        LLVMRemoveEnumAttributeAtIndex(function, LLVMAttributeFunctionIndex, kind);
    }
}

enum igc_result igd_define_builtins(struct igc_kernel *kernel) {
    LLVMValueRef builtins[IGI_BUILTIN_COUNT];
    size_t count = 0;
    igi_each_function(f, kernel->module) {
        if (needs_body(f) && !definition_of(igi_builtin_of_function(f)) &&
            count < IGI_BUILTIN_COUNT) {
            builtins[count++] = f;
        }
    }
    if (igd_make_helpers(kernel, builtins, count)) {
        return IGC_FAILED;
    }
    struct igv_facts *facts = igv_facts(kernel);
    igi_each_function(f, kernel->module) {
        if (!needs_body(f)) {
            continue;
        }
        define_fn *define = definition_of(igi_builtin_of_function(f));
        facts->flags |= igi_builtin_of_function(f) == IGI_barrier ? INGOT_CPU_KERNEL_BARRIERS : 0;
        forget_promises(f);
        LLVMSetSubprogram(f, NULL);
        LLVMPositionBuilderAtEnd(kernel->builder,
                                 LLVMAppendBasicBlockInContext(kernel->context, f, ""));
        (define ? define : define_by_helper)(kernel, f);
        LLVMSetLinkage(f, LLVMInternalLinkage);
        igd_keep_frame(kernel, f);
    }
    return IGC_CHANGED;
}
