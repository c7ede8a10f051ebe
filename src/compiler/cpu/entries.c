/*
 * The functions that the runtime calls, built around the vectorised ones. Requires the results
 * of igv_vectorise; provides for each ids variant
 *   simdgroup(group, simdgroup, mask)   the full-mask version when mask is ~0, else the other
 *   group(group)                        without barriers: a loop over the SIMD-groups
 *   row(group, first, end)              instead, for the ROW variant: threads of one row
 * and the exported struct ingot_cpu_kernel. Without barriers the full-mask version lives inside
 * a loop over a range of SIMD-groups, which both functions call, so that what does not change
 * between SIMD-groups leaves the loop and no code exists twice.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "compiler/cpu/cpu.h"

_Static_assert(offsetof(struct ingot_cpu_group, thread_count) == 100, "cpu_abi.h");
_Static_assert(offsetof(struct ingot_cpu_group, simdgroup_count) == 104, "cpu_abi.h");
_Static_assert(offsetof(struct ingot_cpu_kernel, simdgroup) == 16, "cpu_abi.h");
_Static_assert(offsetof(struct ingot_cpu_kernel, group) == 48, "cpu_abi.h");
_Static_assert(offsetof(struct ingot_cpu_kernel, row) == 80, "cpu_abi.h");
_Static_assert(offsetof(struct ingot_cpu_group, row) == 128, "cpu_abi.h");

struct builder {
    LLVMModuleRef module;
    LLVMContextRef context;
    LLVMBuilderRef ir;
    LLVMTypeRef i32, ptr, nothing;
    LLVMTypeRef simdgroup_type, group_type;           /* (ptr, i32, i32) and (ptr) */
    LLVMTypeRef declining_type, declining_range_type; /* likewise, returning i1 and i32 */
    const struct igv_target *target;
};

static LLVMValueRef u32(const struct builder *b, uint32_t value) {
    return LLVMConstInt(b->i32, value, false);
}

static void add_string_attribute(LLVMValueRef function, const char *key, const char *value) {
    LLVMContextRef context = LLVMGetModuleContext(LLVMGetGlobalParent(function));
    LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex,
                            LLVMCreateStringAttribute(context, key, (unsigned)strlen(key), value,
                                                      (unsigned)strlen(value)));
}

static void add_attribute(LLVMValueRef function, const char *name) {
    LLVMContextRef context = LLVMGetModuleContext(LLVMGetGlobalParent(function));
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex,
                            LLVMCreateEnumAttribute(context, kind, 0));
}

/* Of the first parameter, the group: nothing else writes it while a kernel runs. */
static void add_parameter_attribute(LLVMValueRef function, const char *name, uint64_t value) {
    LLVMContextRef context = LLVMGetModuleContext(LLVMGetGlobalParent(function));
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAddAttributeAtIndex(function, 1, LLVMCreateEnumAttribute(context, kind, value));
}

void igc_set_target_attributes(LLVMValueRef function, const struct igv_target *target) {
    char width[16];
    snprintf(width, sizeof width, "%u", target->lanes * 32);
    add_string_attribute(function, "target-cpu", target->common.processor.cpu);
    add_string_attribute(function, "target-features", target->common.processor.features);
    add_string_attribute(function, "prefer-vector-width", width);
    add_string_attribute(function, "min-legal-vector-width", width);
    add_string_attribute(function, "no-builtins", "");
    /* without a frame pointer LLVM cannot align the stack, and spilled vectors cross cache lines */
    add_string_attribute(function, "frame-pointer", "all");
    add_attribute(function, "nounwind");
}

static LLVMValueRef add_function(const struct builder *b, const char *name, LLVMTypeRef type) {
    LLVMValueRef f = LLVMAddFunction(b->module, name, type);
    igc_set_target_attributes(f, b->target);
    LLVMSetLinkage(f, LLVMInternalLinkage);
    add_parameter_attribute(f, "noalias", 0);
    add_parameter_attribute(f, "dereferenceable", offsetof(struct ingot_cpu_group, sanitizer));
    LLVMPositionBuilderAtEnd(b->ir, LLVMAppendBasicBlockInContext(b->context, f, "entry"));
    LLVMSetCurrentDebugLocation2(b->ir, NULL);
    return f;
}

static void call(const struct builder *b, LLVMValueRef function, LLVMValueRef group,
                 LLVMValueRef simdgroup, LLVMValueRef mask) {
    LLVMValueRef args[] = {group, simdgroup, mask};
    LLVMBuildCall2(b->ir, b->simdgroup_type, function, args, 3, "");
}

static LLVMValueRef load_field(const struct builder *b, LLVMValueRef group, size_t offset) {
    LLVMValueRef index = LLVMConstInt(LLVMInt64TypeInContext(b->context), offset, false);
    LLVMValueRef address =
        LLVMBuildInBoundsGEP2(b->ir, LLVMInt8TypeInContext(b->context), group, &index, 1, "");
    return LLVMBuildLoad2(b->ir, b->i32, address, "");
}

/* Branches on condition; the builder is then in the first of the two blocks. */
static void branch(const struct builder *b, LLVMValueRef f, LLVMValueRef condition,
                   LLVMBasicBlockRef *yes, LLVMBasicBlockRef *no) {
    *yes = LLVMAppendBasicBlockInContext(b->context, f, "yes");
    *no = LLVMAppendBasicBlockInContext(b->context, f, "no");
    LLVMBuildCondBr(b->ir, condition, *yes, *no);
    LLVMPositionBuilderAtEnd(b->ir, *yes);
}

/* range(group, first, end): all lanes of SIMD-groups [first, end), of which there is at least
 * one. Returns nothing, or, where the version may decline, the SIMD-group that it declined, else
 * end: a call of another version inside the loop would cost the others registers. */
static LLVMValueRef build_range(const struct builder *b, const char *name,
                                const struct igc_entry *entry) {
    const bool declines = entry->full_may_decline;
    LLVMValueRef f = add_function(b, name, declines ? b->declining_range_type : b->simdgroup_type);
    LLVMValueRef group = LLVMGetParam(f, 0), first = LLVMGetParam(f, 1), end = LLVMGetParam(f, 2);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b->ir), declined = NULL;
    LLVMBasicBlockRef loop = LLVMAppendBasicBlockInContext(b->context, f, "loop");
    LLVMBasicBlockRef done = LLVMAppendBasicBlockInContext(b->context, f, "done");
    LLVMBuildBr(b->ir, loop);
    LLVMPositionBuilderAtEnd(b->ir, loop);
    LLVMValueRef index = LLVMBuildPhi(b->ir, b->i32, "simdgroup");
    if (declines) {
        LLVMValueRef args[] = {group, index, u32(b, ~0u)};
        LLVMBasicBlockRef ran;
        branch(b, f, LLVMBuildCall2(b->ir, b->declining_type, entry->full, args, 3, ""), &ran,
               &declined);
    } else {
        call(b, entry->full ? entry->full : entry->any, group, index, u32(b, ~0u));
    }
    LLVMBasicBlockRef latch = LLVMGetInsertBlock(b->ir);
    LLVMValueRef next = LLVMBuildAdd(b->ir, index, u32(b, 1), "");
    LLVMBuildCondBr(b->ir, LLVMBuildICmp(b->ir, LLVMIntULT, next, end, ""), loop, done);
    LLVMValueRef values[] = {first, next};
    LLVMBasicBlockRef blocks[] = {before, latch};
    LLVMAddIncoming(index, values, blocks, 2);
    LLVMPositionBuilderAtEnd(b->ir, done);
    if (declines) {
        LLVMBuildRet(b->ir, end);
        LLVMPositionBuilderAtEnd(b->ir, declined);
        LLVMBuildRet(b->ir, index);
    } else {
        LLVMBuildRetVoid(b->ir);
    }
    add_attribute(f, "noinline");
    return f;
}

static LLVMValueRef build_simdgroup(const struct builder *b, const char *name,
                                    const struct igc_entry *entry, LLVMValueRef range) {
    LLVMValueRef f = add_function(b, name, b->simdgroup_type);
    LLVMValueRef group = LLVMGetParam(f, 0), index = LLVMGetParam(f, 1), mask = LLVMGetParam(f, 2);
    LLVMBasicBlockRef yes = NULL, no = NULL;
    if (entry->full && entry->any) {
        branch(b, f, LLVMBuildICmp(b->ir, LLVMIntEQ, mask, u32(b, ~0u), ""), &yes, &no);
    }
    if (range) {
        call(b, range, group, index, LLVMBuildAdd(b->ir, index, u32(b, 1), ""));
    } else if (entry->full) {
        call(b, entry->full, group, index, u32(b, ~0u));
    }
    if (entry->full) {
        LLVMBuildRetVoid(b->ir);
    }
    if (entry->full && entry->any) {
        LLVMPositionBuilderAtEnd(b->ir, no);
    }
    if (entry->any) {
        call(b, entry->any, group, index, mask);
        LLVMBuildRetVoid(b->ir);
    }
    return f;
}

/* Full SIMD-groups first, then the partial one, if any. */
static LLVMValueRef build_group(const struct builder *b, const char *name,
                                const struct igc_entry *entry, LLVMValueRef range) {
    LLVMValueRef f = add_function(b, name, b->group_type);
    LLVMValueRef group = LLVMGetParam(f, 0);
    LLVMBasicBlockRef yes, no;
    if (range && !entry->any) { /* there are no partial SIMD-groups */
        LLVMValueRef count =
            load_field(b, group, offsetof(struct ingot_cpu_group, simdgroup_count));
        call(b, range, group, u32(b, 0), count);
        LLVMBuildRetVoid(b->ir);
        return f;
    }
    LLVMValueRef threads = load_field(b, group, offsetof(struct ingot_cpu_group, thread_count));
    LLVMValueRef full_count = LLVMBuildLShr(b->ir, threads, u32(b, 5), "");
    LLVMValueRef rest = LLVMBuildAnd(b->ir, threads, u32(b, 31), "");
    branch(b, f, LLVMBuildICmp(b->ir, LLVMIntNE, full_count, u32(b, 0), ""), &yes, &no);
    call(b, range, group, u32(b, 0), full_count);
    LLVMBuildBr(b->ir, no);
    LLVMPositionBuilderAtEnd(b->ir, no);
    branch(b, f, LLVMBuildICmp(b->ir, LLVMIntNE, rest, u32(b, 0), ""), &yes, &no);
    LLVMValueRef bit = LLVMBuildShl(b->ir, u32(b, 1), rest, "");
    call(b, entry->any, group, full_count, LLVMBuildSub(b->ir, bit, u32(b, 1), ""));
    LLVMBuildBr(b->ir, no);
    LLVMPositionBuilderAtEnd(b->ir, no);
    LLVMBuildRetVoid(b->ir);
    return f;
}

/* void row(group, first, end): the threads [first, end) of a row, of which there is at least one;
 * the first and the last SIMD-group may be cut. */
static LLVMValueRef build_row(const struct builder *b, const char *name,
                              const struct igc_entry *entry, LLVMValueRef range) {
    LLVMValueRef f = add_function(b, name, b->simdgroup_type);
    LLVMValueRef group = LLVMGetParam(f, 0), first = LLVMGetParam(f, 1), end = LLVMGetParam(f, 2);
    LLVMBasicBlockRef start = LLVMGetInsertBlock(b->ir), yes, no;
    LLVMValueRef five = u32(b, 5), none = u32(b, 0), one = u32(b, 1);
    LLVMValueRef from = LLVMBuildLShr(b->ir, first, five, "");
    LLVMValueRef to = LLVMBuildLShr(b->ir, end, five, "");
    LLVMValueRef cut = LLVMBuildAnd(b->ir, first, u32(b, 31), "");
    LLVMValueRef rest = LLVMBuildAnd(b->ir, end, u32(b, 31), "");
    LLVMValueRef below = LLVMBuildSub(b->ir, LLVMBuildShl(b->ir, one, rest, ""), one, "");
    branch(b, f, LLVMBuildICmp(b->ir, LLVMIntNE, cut, none, ""), &yes, &no);
    LLVMBasicBlockRef head = LLVMGetInsertBlock(b->ir), whole = no;
    LLVMValueRef above = LLVMBuildShl(b->ir, u32(b, ~0u), cut, "");
    LLVMValueRef same = LLVMBuildICmp(b->ir, LLVMIntEQ, from, to, "");
    LLVMValueRef both = LLVMBuildAnd(b->ir, above, below, "");
    call(b, entry->any, group, from, LLVMBuildSelect(b->ir, same, both, above, ""));
    LLVMValueRef next = LLVMBuildAdd(b->ir, from, one, "");
    branch(b, f, same, &yes, &no);
    LLVMBuildRetVoid(b->ir);
    LLVMPositionBuilderAtEnd(b->ir, no);
    LLVMBuildBr(b->ir, whole);
    head = no;
    LLVMPositionBuilderAtEnd(b->ir, whole);
    LLVMValueRef begin = LLVMBuildPhi(b->ir, b->i32, "");
    LLVMValueRef values[] = {from, next};
    LLVMBasicBlockRef blocks[] = {start, head};
    LLVMAddIncoming(begin, values, blocks, 2);
    LLVMBasicBlockRef middle = LLVMGetInsertBlock(b->ir);
    branch(b, f, LLVMBuildICmp(b->ir, LLVMIntULT, begin, to, ""), &yes, &no);
    if (entry->full_may_decline) {
        LLVMValueRef args[] = {group, begin, to};
        LLVMValueRef stopped =
            LLVMBuildCall2(b->ir, b->declining_range_type, range, args, 3, "stopped");
        LLVMBasicBlockRef declined, finished = no;
        branch(b, f, LLVMBuildICmp(b->ir, LLVMIntNE, stopped, to, ""), &declined, &no);
        call(b, entry->any, group, stopped, u32(b, ~0u));
        LLVMValueRef after = LLVMBuildAdd(b->ir, stopped, one, "");
        LLVMAddIncoming(begin, &after, &declined, 1);
        LLVMBuildBr(b->ir, middle);
        LLVMPositionBuilderAtEnd(b->ir, no);
        LLVMBuildBr(b->ir, finished);
        no = finished;
    } else {
        call(b, range, group, begin, to);
        LLVMBuildBr(b->ir, no);
    }
    LLVMPositionBuilderAtEnd(b->ir, no);
    branch(b, f, LLVMBuildICmp(b->ir, LLVMIntNE, rest, none, ""), &yes, &no);
    call(b, entry->any, group, to, below);
    LLVMBuildBr(b->ir, no);
    LLVMPositionBuilderAtEnd(b->ir, no);
    LLVMBuildRetVoid(b->ir);
    return f;
}

/* The exported struct; the arrays hold NULL for absent variants. */
static void build_struct(const struct builder *b, LLVMValueRef *simdgroups, LLVMValueRef *groups,
                         LLVMValueRef row, const uint32_t words[4]) {
    LLVMValueRef none = LLVMConstNull(b->ptr);
    for (int i = 0; i < INGOT_CPU_IDS_COUNT; i++) {
        simdgroups[i] = simdgroups[i] ? simdgroups[i] : none;
        groups[i] = groups[i] ? groups[i] : none;
    }
    LLVMValueRef fields[] = {
        u32(b, words[0]),
        u32(b, words[1]),
        u32(b, words[2]),
        u32(b, words[3]),
        LLVMConstArray2(b->ptr, simdgroups, INGOT_CPU_IDS_COUNT),
        LLVMConstArray2(b->ptr, groups, INGOT_CPU_IDS_COUNT),
        row ? row : none,
    };
    LLVMValueRef value = LLVMConstStructInContext(b->context, fields, 7, false);
    LLVMValueRef global = LLVMAddGlobal(b->module, LLVMTypeOf(value), INGOT_CPU_KERNEL_SYMBOL);
    LLVMSetInitializer(global, value);
    LLVMSetGlobalConstant(global, true);
    LLVMSetAlignment(global, 16);
    LLVMSetVisibility(global, LLVMProtectedVisibility);
}

void igc_add_kernel_flags(LLVMModuleRef module, uint32_t flags) {
    LLVMValueRef global = LLVMGetNamedGlobal(module, INGOT_CPU_KERNEL_SYMBOL);
    LLVMValueRef value = LLVMGetInitializer(global), fields[7];
    for (unsigned i = 0; i < 7; i++) {
        fields[i] = LLVMGetAggregateElement(value, i);
    }
    const uint64_t before = LLVMConstIntGetZExtValue(fields[1]);
    fields[1] = LLVMConstInt(LLVMTypeOf(fields[1]), before | flags, false);
    LLVMSetInitializer(global,
                       LLVMConstStructInContext(LLVMGetModuleContext(module), fields, 7, false));
}

void igc_build_entries(LLVMModuleRef module, const struct igc_entry entries[INGOT_CPU_IDS_COUNT],
                       uint32_t flags, uint32_t static_bytes, uint32_t stack_bytes,
                       const struct igv_target *target) {
    LLVMContextRef context = LLVMGetModuleContext(module);
    struct builder b = {
        .module = module,
        .context = context,
        .ir = LLVMCreateBuilderInContext(context),
        .i32 = LLVMInt32TypeInContext(context),
        .ptr = LLVMPointerTypeInContext(context, 0),
        .nothing = LLVMVoidTypeInContext(context),
        .target = target,
    };
    LLVMTypeRef params[] = {b.ptr, b.i32, b.i32};
    b.simdgroup_type = LLVMFunctionType(b.nothing, params, 3, false);
    b.declining_type = LLVMFunctionType(LLVMInt1TypeInContext(context), params, 3, false);
    b.declining_range_type = LLVMFunctionType(b.i32, params, 3, false);
    b.group_type = LLVMFunctionType(b.nothing, params, 1, false);
    LLVMValueRef simdgroups[INGOT_CPU_IDS_COUNT] = {0}, groups[INGOT_CPU_IDS_COUNT] = {0};
    LLVMValueRef row = NULL;
    static const char *const ids[] = {"aligned", "linear", "general", "row"};
    for (int i = 0; i < INGOT_CPU_IDS_COUNT; i++) {
        const struct igc_entry *entry = &entries[i];
        if (!entry->full && !entry->any) {
            continue;
        }
        if (i && entry->full == entries[0].full && entry->any == entries[0].any) {
            simdgroups[i] = simdgroups[0];
            groups[i] = groups[0];
            continue;
        }
        char name[64];
        LLVMValueRef range = NULL;
        if (entry->any) {
            add_attribute(entry->any, "noinline");
        }
        if (!(flags & INGOT_CPU_KERNEL_BARRIERS)) {
            snprintf(name, sizeof name, "ingot_range_%s", ids[i]);
            range = build_range(&b, name, entry);
            if (entry->full) {
                add_attribute(entry->full, "alwaysinline");
            }
            if (i == INGOT_CPU_IDS_ROW) {
                row = build_row(&b, "ingot_row", entry, range);
                continue;
            }
            snprintf(name, sizeof name, "ingot_group_%s", ids[i]);
            groups[i] = build_group(&b, name, entry, range);
        }
        snprintf(name, sizeof name, "ingot_simdgroup_%s", ids[i]);
        simdgroups[i] = build_simdgroup(&b, name, entry, entry->full ? range : NULL);
    }
    build_struct(&b, simdgroups, groups, row,
                 (uint32_t[]){INGOT_CPU_ABI_VERSION, flags, static_bytes, stack_bytes});
    LLVMDisposeBuilder(b.ir);
}
