/*
 * What the runtime calls: one function for a SIMD-group, which hands its threads to
 * services->run_threads, and the exported struct. Also an upper bound of a thread's stack.
 */
#include <stddef.h>

#include "compiler/cpu/debug/debug.h"
#include "compiler/ir/builtins.h"
#include "compiler/ir/map.h"
#include "compiler/ir/walk.h"

_Static_assert(offsetof(struct ingot_cpu_debug, stack_bytes) == 32, "cpu_abi.h");
_Static_assert(sizeof(struct ingot_cpu_thread) == 56, "cpu_abi.h, prelude/ingot_debug.h");
_Static_assert(sizeof(struct ingot_cpu_lane) == 40, "cpu_abi.h, prelude/ingot_debug.h");

enum {
    STACK_MARGIN = 16 * 1024,
    RECURSION_LEVELS = 32, /* more than middle/recursion.c unrolls */
};

/* Without optimisation every value has its place in the frame. */
static uint64_t frame_bound(LLVMTargetDataRef layout, LLVMValueRef function) {
    uint64_t bytes = 256;
    igi_each_instruction(in, function) {
        LLVMTypeRef type = LLVMIsAAllocaInst(in) ? LLVMGetAllocatedType(in) : LLVMTypeOf(in);
        if (LLVMTypeIsSized(type)) {
            bytes += (LLVMABISizeOfType(layout, type) + 15) / 16 * 16;
        }
    }
    if (bytes > INGOT_CPU_STACK_PROBE / 2) {
        LLVMAddTargetDependentFunctionAttr(function, "probe-stack", "inline-asm");
    }
    return bytes;
}

struct bounds {
    struct igc_kernel *kernel;
    struct igi_map kib; /* of functions that are known, in KiB; 0 while they are looked at */
};

/* The function's frame, and those of what it calls. One that calls itself does so a few times. */
static uint64_t stack_of(struct bounds *bounds, LLVMValueRef function) {
    unsigned known = igi_map_get(&bounds->kib, function);
    if (known != IGI_NONE) {
        return (uint64_t)known << 10;
    }
    uint64_t frame = frame_bound(bounds->kernel->layout, function), most = 0;
    bool calls_itself = false;
    igi_map_put(&bounds->kib, function, 0);
    igi_each_instruction(in, function) {
        LLVMValueRef callee = LLVMIsACallInst(in) ? igi_callee(in) : NULL;
        if (callee && !LLVMIsDeclaration(callee)) {
            uint64_t below = stack_of(bounds, callee);
            calls_itself |= callee == function;
            most = most > below ? most : below;
        }
    }
    uint64_t total = (frame + most) * (calls_itself ? RECURSION_LEVELS : 1);
    igi_map_put(&bounds->kib, function, (unsigned)((total >> 10) + 1));
    return total;
}

static uint64_t stack_bound(struct igc_kernel *kernel, LLVMValueRef thread) {
    struct bounds bounds = {.kernel = kernel};
    igi_map_start(&bounds.kib, kernel->arena, 64);
    return stack_of(&bounds, thread) + STACK_MARGIN;
}

/* One thread: the kernel, whose parameters are not used. */
static LLVMValueRef build_thread(struct igc_kernel *kernel) {
    LLVMTypeRef type = LLVMGlobalGetValueType(kernel->function);
    unsigned count = LLVMCountParamTypes(type);
    LLVMTypeRef *types = ig_arena_array(kernel->arena, count + 1, sizeof *types);
    LLVMValueRef *arguments = ig_arena_array(kernel->arena, count + 1, sizeof *arguments);
    if (!types || !arguments) {
        return NULL;
    }
    LLVMGetParamTypes(type, types);
    for (unsigned i = 0; i < count; i++) {
        bool is_copied = LLVMGetTypeKind(types[i]) == LLVMPointerTypeKind &&
                         LLVMGetPointerAddressSpace(types[i]) == 0;
        arguments[i] = is_copied ? igd_unbound(kernel) : LLVMConstNull(types[i]);
    }
    LLVMValueRef f =
        LLVMAddFunction(kernel->module, "ingot_run_thread",
                        LLVMFunctionType(LLVMVoidTypeInContext(kernel->context), NULL, 0, false));
    LLVMSetLinkage(f, LLVMInternalLinkage);
    igd_keep_frame(kernel, f);
    LLVMPositionBuilderAtEnd(kernel->builder,
                             LLVMAppendBasicBlockInContext(kernel->context, f, ""));
    LLVMBuildCall2(kernel->builder, type, kernel->function, arguments, count, "");
    LLVMBuildRetVoid(kernel->builder);
    return f;
}

static LLVMValueRef plain(struct igc_kernel *kernel, const char *name) {
    LLVMTypeRef ptr = LLVMPointerTypeInContext(kernel->context, 0);
    LLVMValueRef global = LLVMGetNamedGlobal(kernel->module, name);
    return LLVMGetPointerAddressSpace(LLVMTypeOf(global)) ? LLVMConstAddrSpaceCast(global, ptr)
                                                          : global;
}

/* struct ingot_cpu_debug */
static LLVMValueRef build_description(struct igc_kernel *kernel, LLVMValueRef thread,
                                      uint64_t stack_bytes) {
    LLVMValueRef fields[] = {thread, plain(kernel, IGC_DEBUG_THREAD),
                             plain(kernel, IGC_DEBUG_LANES), plain(kernel, IGD_OPERANDS),
                             igc_integer(kernel->i64, stack_bytes)};
    LLVMValueRef value = LLVMConstStructInContext(kernel->context, fields, 5, false);
    LLVMValueRef global = LLVMAddGlobal(kernel->module, LLVMTypeOf(value), "ingot_debug");
    LLVMSetInitializer(global, value);
    LLVMSetLinkage(global, LLVMInternalLinkage);
    return global;
}

enum igc_result igd_build_entry(struct igc_kernel *kernel) {
    struct igv_facts *facts = igv_facts(kernel);
    LLVMTypeRef ptr = LLVMPointerTypeInContext(kernel->context, 0);
    LLVMTypeRef types[] = {ptr, kernel->i32, kernel->i32, ptr};
    LLVMTypeRef nothing = LLVMVoidTypeInContext(kernel->context);
    LLVMTypeRef service_type = LLVMFunctionType(nothing, types, 4, false);
    LLVMValueRef thread = build_thread(kernel);
    if (!thread) {
        return igc_result_of(igc_out_of_memory(kernel));
    }
    uint64_t stack_bytes = stack_bound(kernel, thread);
    LLVMValueRef description = build_description(kernel, thread, stack_bytes);
    LLVMValueRef f = LLVMAddFunction(kernel->module, "ingot_run_threads",
                                     LLVMFunctionType(nothing, types, 3, false));
    LLVMSetLinkage(f, LLVMInternalLinkage);
    LLVMPositionBuilderAtEnd(kernel->builder,
                             LLVMAppendBasicBlockInContext(kernel->context, f, ""));
    LLVMValueRef group = LLVMGetParam(f, 0);
    LLVMValueRef arguments[] = {group, LLVMGetParam(f, 1), LLVMGetParam(f, 2), description};
    LLVMValueRef service =
        igd_service(kernel, group, offsetof(struct ingot_cpu_services, run_threads));
    LLVMBuildCall2(kernel->builder, service_type, service, arguments, 4, "");
    LLVMBuildRetVoid(kernel->builder);
    LLVMSetLinkage(kernel->function, LLVMInternalLinkage);
    /* by which debuggers find the kernel, whatever its name is */
    LLVMValueRef alias = LLVMAddAlias2(kernel->module, LLVMGlobalGetValueType(kernel->function), 0,
                                       kernel->function, "ingot_entry");
    LLVMSetLinkage(alias, LLVMInternalLinkage);
    /* as the variant that serves every shape of threadgroups, and needs all positions */
    struct igc_entry entries[INGOT_CPU_IDS_COUNT] = {[INGOT_CPU_IDS_GENERAL] = {.any = f}};
    igc_build_entries(kernel->module, entries, facts->flags | INGOT_CPU_KERNEL_DEBUG,
                      kernel->threadgroup_bytes,
                      ingot_cpu_stack_stored(INGOT_SIMD_WIDTH * stack_bytes),
                      (const struct igv_target *)kernel->target);
    return IGC_CHANGED;
}
