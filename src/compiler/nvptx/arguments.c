/*
 * A kernel's arguments: calls of __ingot_arg_X(ordinal) become calls of library functions by slot.
 *
 * What a kernel reads of a `constant` reference at a known place is read once, at the entry
 * (entry.c), by fixed offset in the parameter block when it was given inline. The rest goes by a
 * generic pointer.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/builtins.h"
#include "compiler/nvptx/nvptx.h"

static bool is_argument(LLVMValueRef in) {
    return igi_family_of(in) == IGI_FAMILY_ARGUMENT;
}

uint32_t igp_argument_of(const struct igc_reflection *r, LLVMValueRef call) {
    LLVMValueRef ordinal = LLVMGetOperand(call, 0);
    if (!LLVMIsAConstantInt(ordinal) || LLVMConstIntGetZExtValue(ordinal) >= r->ordinal_count) {
        return r->argument_count;
    }
    bool threadgroup = igi_is_call_of(call, IGI_arg_threadgroup);
    uint32_t kind = threadgroup ? INGOT_ARGUMENT_THREADGROUP : INGOT_ARGUMENT_BUFFER;
    uint32_t slot =
        (threadgroup ? r->threadgroup_slots : r->buffer_slots)[LLVMConstIntGetZExtValue(ordinal)];
    uint32_t i = 0;
    while (i < r->argument_count &&
           (r->arguments[i].kind != kind || r->arguments[i].slot != slot)) {
        i++;
    }
    return i;
}

/* ---- reads of references ---- */
struct reads {
    struct igc_kernel *kernel;
    LLVMTargetDataRef layout;
    uint32_t argument;
    uint64_t size;
    unsigned room;
};

static LLVMValueRef read_at_entry(struct reads *r, uint64_t offset, LLVMValueRef load) {
    struct igc_kernel *k = r->kernel;
    LLVMTypeRef type = LLVMTypeOf(load);
    unsigned n = 0, align = LLVMGetAlignment(load);
    while (n < igp_facts(k)->read_count &&
           (igp_facts(k)->reads[n].argument != r->argument ||
            igp_facts(k)->reads[n].offset != offset || igp_facts(k)->reads[n].type != type)) {
        n++;
    }
    if (n == igp_facts(k)->read_count) {
        struct igp_read *larger = realloc(igp_facts(k)->reads, (n + 1u) * sizeof *larger);
        if (!larger) {
            return NULL;
        }
        igp_facts(k)->reads = larger;
        igp_facts(k)->reads[igp_facts(k)->read_count++] =
            (struct igp_read){r->argument, (uint32_t)offset, type, align};
    }
    struct igi_name name = {.builtin = IGI_nv_read, .numbers = {n}};
    LLVMPositionBuilderBefore(k->builder, load);
    return igp_call(k, name, type, NULL, 0);
}

static bool is_plain(LLVMTypeRef type) {
    LLVMTypeKind kind = LLVMGetTypeKind(type);
    return kind == LLVMVectorTypeKind ? is_plain(LLVMGetElementType(type))
                                      : kind != LLVMStructTypeKind && kind != LLVMArrayTypeKind;
}

/* Reads through the pointer, at a known distance from the argument's start. */
static bool hoist(struct reads *r, LLVMValueRef pointer, uint64_t offset) {
    for (LLVMUseRef use = LLVMGetFirstUse(pointer), next; use; use = next) {
        LLVMValueRef user = LLVMGetUser(use);
        next = LLVMGetNextUse(use);
        while (next && LLVMGetUser(next) == user) {
            next = LLVMGetNextUse(next);
        }
        if (LLVMIsALoadInst(user) && !LLVMGetVolatile(user) && is_plain(LLVMTypeOf(user)) &&
            offset + LLVMStoreSizeOfType(r->layout, LLVMTypeOf(user)) <= r->size) {
            LLVMValueRef value = read_at_entry(r, offset, user);
            if (!value) {
                return false;
            }
            igi_replace(user, value);
        } else if (LLVMIsAGetElementPtrInst(user) && LLVMGetNumOperands(user) == 2 &&
                   LLVMIsAConstantInt(LLVMGetOperand(user, 1))) {
            uint64_t step = LLVMABISizeOfType(r->layout, LLVMGetGEPSourceElementType(user));
            long long index = LLVMConstIntGetSExtValue(LLVMGetOperand(user, 1));
            if (index >= 0 && (uint64_t)index * step + offset < r->size &&
                !hoist(r, user, offset + (uint64_t)index * step)) {
                return false;
            }
        }
    }
    return true;
}

static bool hoist_reads(struct igc_kernel *k, LLVMValueRef call, uint32_t argument) {
    const struct igc_reflection *r = k->reflection;
    const struct ig_argument *a = &r->arguments[argument];
    if (!a->is_reference || a->space != INGOT_SPACE_CONSTANT ||
        !ingot_cuda_inline_room(r->arguments, r->argument_count, argument)) {
        return true;
    }
    struct reads reads = {.kernel = k,
                          .layout = LLVMGetModuleDataLayout(k->module),
                          .argument = argument,
                          .size = a->type_size};
    return hoist(&reads, call, 0);
}

/* ---- addresses ---- */
static ingot_status lower_argument(struct igc_kernel *k, LLVMValueRef call) {
    const struct igc_reflection *r = k->reflection;
    bool threadgroup = igi_is_call_of(call, IGI_arg_threadgroup);
    uint32_t argument = igp_argument_of(r, call);
    if (argument == r->argument_count) {
        return ig_fail(k->error, INGOT_COMPILE_ERROR,
                       "the address of an argument is asked for by a number that is not a "
                       "constant");
    }
    uint32_t slot = r->arguments[argument].slot;
    if (!threadgroup && !hoist_reads(k, call, argument)) {
        return ig_fail(k->error, INGOT_OUT_OF_MEMORY, "no memory for the arguments of a kernel");
    }
    unsigned space = LLVMGetPointerAddressSpace(LLVMTypeOf(call));
    /* a pointer without room for inline bytes is always a device address */
    bool inline_bytes = space == INGOT_SPACE_CONSTANT &&
                        ingot_cuda_inline_room(r->arguments, r->argument_count, argument) > 0;
    enum igi_builtin address = threadgroup                     ? IGI_nv_threadgroup
                               : inline_bytes                  ? IGI_nv_constant
                               : space == INGOT_SPACE_CONSTANT ? IGI_nv_constant_buffer
                                                               : IGI_nv_buffer;
    LLVMValueRef at = LLVMConstInt(LLVMInt32TypeInContext(k->context), slot, false);
    LLVMPositionBuilderBefore(k->builder, call);
    igi_replace(call, igp_call(k, igi_plain(address), LLVMTypeOf(call), &at, 1));
    return INGOT_OK;
}

enum igc_result igp_lower_arguments(struct igc_kernel *kernel) {
    LLVMValueRef *calls = igp_collect(kernel, is_argument);
    ingot_status status =
        calls ? INGOT_OK
              : ig_fail(kernel->error, INGOT_OUT_OF_MEMORY, "no memory for a kernel's arguments");
    for (LLVMValueRef *call = calls; !status && *call; call++) {
        status = lower_argument(kernel, *call);
    }
    return igc_result_of(status);
}
