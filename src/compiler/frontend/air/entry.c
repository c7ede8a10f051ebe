/*
 * The kernel that the middle sees, around the function that Apple's compiler made: it describes
 * each argument
 * (__ingot_param), fetches it, and calls the function. Requires what metadata.c read.
 */
#include <string.h>

#include "base/cpu_abi.h"
#include "compiler/frontend/air/air.h"

/* ---- positions ---- */

static const struct position {
    const char *role;         /* behind "air." */
    enum igi_builtin builtin; /* IGI_NO_BUILTIN: the number `value` */
    bool by_dimension;        /* the built-in takes 0, 1 or 2 */
    unsigned shift, mask;     /* of what the built-in gives; mask 0: all of it */
    unsigned value;
} positions[] = {
    {"thread_position_in_grid", IGI_thread_position_in_grid, true, 0, 0, 0},
    {"thread_position_in_threadgroup", IGI_thread_position_in_threadgroup, true, 0, 0, 0},
    {"threadgroup_position_in_grid", IGI_threadgroup_position_in_grid, true, 0, 0, 0},
    {"threads_per_threadgroup", IGI_threads_per_threadgroup, true, 0, 0, 0},
    {"dispatch_threads_per_threadgroup", IGI_dispatch_threads_per_threadgroup, true, 0, 0, 0},
    {"threads_per_grid", IGI_threads_per_grid, true, 0, 0, 0},
    {"grid_size", IGI_threads_per_grid, true, 0, 0, 0},
    {"threadgroups_per_grid", IGI_threadgroups_per_grid, true, 0, 0, 0},
    {"grid_origin", IGI_NO_BUILTIN, true, 0, 0, 0},
    {"thread_index_in_threadgroup", IGI_thread_index_in_threadgroup, false, 0, 0, 0},
    {"thread_index_in_simdgroup", IGI_thread_index_in_simdgroup, false, 0, 0, 0},
    {"thread_index_in_quadgroup", IGI_thread_index_in_simdgroup, false, 0, 3, 0},
    {"simdgroup_index_in_threadgroup", IGI_simdgroup_index_in_threadgroup, false, 0, 0, 0},
    {"quadgroup_index_in_simdgroup", IGI_thread_index_in_simdgroup, false, 2, 0, 0},
    {"quadgroup_index_in_threadgroup", IGI_thread_index_in_threadgroup, false, 2, 0, 0},
    {"simdgroups_per_threadgroup", IGI_simdgroups_per_threadgroup, false, 0, 0, 0},
    {"dispatch_simdgroups_per_threadgroup", IGI_dispatch_simdgroups_per_threadgroup, false, 0, 0,
     0},
    {"threads_per_simdgroup", IGI_NO_BUILTIN, false, 0, 0, INGOT_SIMD_WIDTH},
    {"thread_execution_width", IGI_NO_BUILTIN, false, 0, 0, INGOT_SIMD_WIDTH},
};

static const struct position *find_position(const char *role) {
    for (size_t i = 0; i < sizeof positions / sizeof *positions; i++) {
        if (!strcmp(role + strlen("air."), positions[i].role)) {
            return &positions[i];
        }
    }
    return NULL;
}

static LLVMValueRef number(struct iga_module *m, unsigned value) {
    return LLVMConstInt(LLVMInt32TypeInContext(m->context), value, false);
}

/* One component, as a number of 32 bits. */
static LLVMValueRef component(struct iga_module *m, const struct position *position,
                              unsigned dimension) {
    if (position->builtin == IGI_NO_BUILTIN) {
        return number(m, position->value);
    }
    LLVMValueRef operand = number(m, dimension);
    LLVMValueRef value = iga_call_builtin(m, position->builtin, &operand, position->by_dimension);
    if (position->shift) {
        value = LLVMBuildLShr(m->builder, value, number(m, position->shift), "");
    }
    return position->mask ? LLVMBuildAnd(m->builder, value, number(m, position->mask), "") : value;
}

static ingot_status position_value(struct iga_module *m, const struct iga_argument *argument,
                                   const struct position *position, LLVMTypeRef type,
                                   LLVMValueRef *value) {
    const bool is_vector = LLVMGetTypeKind(type) == LLVMVectorTypeKind;
    const unsigned count = is_vector ? LLVMGetVectorSize(type) : 1;
    LLVMTypeRef element = is_vector ? LLVMGetElementType(type) : type;
    if (LLVMGetTypeKind(element) != LLVMIntegerTypeKind || count > 3) {
        return ig_fail(m->error, INGOT_COMPILE_ERROR,
                       "%s: argument %s of %s is no integer, nor a vector of up to three",
                       m->source, argument->name, m->name);
    }
    *value = LLVMGetPoison(type);
    for (unsigned i = 0; i < count; i++) {
        LLVMValueRef part =
            LLVMBuildIntCast2(m->builder, component(m, position, i), element, false, "");
        *value =
            is_vector ? LLVMBuildInsertElement(m->builder, *value, part, number(m, i), "") : part;
    }
    return INGOT_OK;
}

/* ---- buffers ---- */

static LLVMValueRef text_constant(struct iga_module *m, const char *text) {
    LLVMValueRef value = LLVMConstStringInContext2(m->context, text, strlen(text), false);
    LLVMValueRef global =
        LLVMAddGlobalInAddressSpace(m->module, LLVMTypeOf(value), "ingot.text", INGOT_SPACE_DEVICE);
    LLVMSetInitializer(global, value);
    LLVMSetGlobalConstant(global, true);
    LLVMSetLinkage(global, LLVMPrivateLinkage);
    return LLVMConstAddrSpaceCast(global, LLVMPointerTypeInContext(m->context, 0));
}

static LLVMValueRef is_active(struct iga_module *m, const struct iga_argument *argument) {
    if (!argument->condition) {
        return LLVMConstInt(LLVMInt1TypeInContext(m->context), 1, false);
    }
    LLVMTypeRef byte = LLVMInt8TypeInContext(m->context);
    LLVMValueRef value = LLVMBuildLoad2(m->builder, byte, argument->condition, "");
    return LLVMBuildICmp(m->builder, LLVMIntNE, value, LLVMConstNull(byte), "");
}

static void describe(struct iga_module *m, const struct iga_argument *argument) {
    LLVMTypeRef word = LLVMInt64TypeInContext(m->context);
    uint32_t scalar, components;
    iga_scalar_type(argument->type_name, &scalar, &components);
    const bool threadgroup = argument->space == INGOT_SPACE_THREADGROUP;
    LLVMValueRef operands[] = {
        number(m, argument->parameter),
        number(m, threadgroup ? INGOT_ARGUMENT_THREADGROUP : INGOT_ARGUMENT_BUFFER),
        number(m, argument->space),
        number(m, argument->index),
        LLVMConstInt(word, argument->size, false),
        LLVMConstInt(word, argument->align, false),
        number(m, scalar),
        number(m, components),
        number(m, (argument->is_reference ? 1u : 0u) | (argument->is_writable ? 2u : 0u)),
        is_active(m, argument),
        text_constant(m, argument->name),
        /* as clang's __PRETTY_FUNCTION__ has it, which middle/type_names.c reads */
        text_constant(m, ig_arena_printf(m->arena, "x [T = %s]", argument->type_name)),
    };
    iga_call_builtin(m, IGI_param, operands, sizeof operands / sizeof *operands);
}

static ingot_status buffer_value(struct iga_module *m, const struct iga_argument *argument,
                                 LLVMTypeRef type, LLVMValueRef *value) {
    if (LLVMGetTypeKind(type) != LLVMPointerTypeKind ||
        LLVMGetPointerAddressSpace(type) != argument->space) {
        return ig_fail(m->error, INGOT_COMPILE_ERROR,
                       "%s: argument %s of %s is described as a buffer in address space %u, but "
                       "its parameter is none",
                       m->source, argument->name, m->name, argument->space);
    }
    describe(m, argument);
    const enum igi_builtin builtin = argument->space == INGOT_SPACE_DEVICE ? IGI_arg_device
                                     : argument->space == INGOT_SPACE_CONSTANT
                                         ? IGI_arg_constant
                                         : IGI_arg_threadgroup;
    LLVMValueRef ordinal = number(m, argument->parameter);
    *value = iga_call_builtin(m, builtin, &ordinal, 1);
    return INGOT_OK;
}

/* ---- the kernel ---- */

static ingot_status refuse(const struct iga_module *m, const struct iga_argument *argument) {
    static const struct {
        const char *role, *what;
    } missing[] = {
        {"air.texture", "textures and samplers are"},
        {"air.sampler", "textures and samplers are"},
        {"air.visible_function_table", "visible functions are"},
        {"air.primitive_acceleration_structure", "ray tracing is"},
        {"air.instance_acceleration_structure", "ray tracing is"},
        {"air.intersection_function_table", "ray tracing is"},
        {"air.command_buffer", "indirect command buffers are"},
        {"air.imageblock", "imageblocks are"},
    };
    const char *what = NULL;
    for (size_t i = 0; i < sizeof missing / sizeof *missing && !what; i++) {
        what = strcmp(argument->role, missing[i].role) ? NULL : missing[i].what;
    }
    return ig_fail(m->error, INGOT_COMPILE_ERROR,
                   "%s: error: argument %s of kernel %s is %s%s%s%s not supported by ingot",
                   m->source, argument->name, m->name, argument->role, what ? ": " : ", which",
                   what ? what : "", what ? "" : " is");
}

static ingot_status argument_value(struct iga_module *m, const struct iga_argument *argument,
                                   LLVMTypeRef type, LLVMValueRef *value) {
    if (argument->kind == IGA_BUFFER) {
        return buffer_value(m, argument, type, value);
    }
    const struct position *position = find_position(argument->role);
    return position ? position_value(m, argument, position, type, value) : refuse(m, argument);
}

/* As clang writes __attribute__((annotate("ingot.kernel:NAME"))). */
static void annotate(struct iga_module *m, LLVMValueRef kernel) {
    LLVMTypeRef pointer = LLVMPointerTypeInContext(m->context, 0);
    LLVMValueRef text = text_constant(m, ig_arena_printf(m->arena, "ingot.kernel:%s", m->name));
    LLVMValueRef fields[] = {kernel, text, text, number(m, 1), LLVMConstNull(pointer)};
    LLVMValueRef entry = LLVMConstStructInContext(m->context, fields, 5, false);
    LLVMValueRef list = LLVMConstArray2(LLVMTypeOf(entry), &entry, 1);
    LLVMValueRef global = LLVMAddGlobal(m->module, LLVMTypeOf(list), "llvm.global.annotations");
    LLVMSetInitializer(global, list);
    LLVMSetLinkage(global, LLVMAppendingLinkage);
    LLVMSetSection(global, "llvm.metadata");
}

ingot_status iga_add_entry(struct iga_module *m, const struct iga_kernel *kernel) {
    const unsigned count = kernel->argument_count;
    LLVMTypeRef body_type = LLVMGlobalGetValueType(kernel->function);
    LLVMTypeRef *types = ig_arena_array(m->arena, count + 1, sizeof *types);
    LLVMValueRef *values = ig_arena_array(m->arena, count + 1, sizeof *values);
    if (!types || !values) {
        return ig_fail(m->error, INGOT_OUT_OF_MEMORY, "no memory for the arguments of %s", m->name);
    }
    LLVMGetParamTypes(body_type, types);
    LLVMSetValueName2(kernel->function, "ingot.air.body", strlen("ingot.air.body"));
    LLVMSetLinkage(kernel->function, LLVMInternalLinkage);
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(m->context), NULL, 0, false);
    LLVMValueRef entry =
        LLVMAddFunction(m->module, ig_arena_printf(m->arena, IGA_ENTRY "%s", m->name), type);
    LLVMPositionBuilderAtEnd(m->builder, LLVMAppendBasicBlockInContext(m->context, entry, ""));
    for (unsigned i = 0; i < count; i++) {
        ingot_status status = argument_value(m, &kernel->arguments[i], types[i], &values[i]);
        if (status) {
            return status;
        }
    }
    if (kernel->max_threads) {
        LLVMValueRef most = number(m, kernel->max_threads);
        iga_call_builtin(m, IGI_max_threads, &most, 1);
    }
    LLVMBuildCall2(m->builder, body_type, kernel->function, values, count, "");
    LLVMBuildRetVoid(m->builder);
    annotate(m, entry);
    return INGOT_OK;
}
