/*
 * A function that stays one, in terms of numbers: structs that clang passes by their address, and
 * those that the source passes by reference to be read, are taken apart where the function is
 * called, and put together again in it. Its results are the members of one struct, or a number.
 * What was passed in memory is in values once everything else is inlined (SROA).
 */
#include <llvm-c/DebugInfo.h>
#include <stdio.h>
#include <string.h>

#include "compiler/ir/builtins.h"
#include "compiler/ir/edit.h"
#include "compiler/ir/map.h"
#include "compiler/ir/walk.h"
#include "compiler/middle/keep_functions.h"

enum {
    MOST_TAKEN = 256,
    MOST_GIVEN = 128,
    MOST_PARAMETERS = 64,
    MOST_NESTED = 16,
};

/* A number in a struct, or all of a value. */
struct number {
    LLVMTypeRef type;
    uint64_t offset;
};

/* A parameter, or the result: numbers[first] … numbers[end - 1] of what is taken or given. */
struct part {
    LLVMTypeRef type;
    unsigned first, end, align; /* align: in memory; 0: the type's */
    bool is_number; /* passed as it is; otherwise by its address, or (by_value) through memory */
    bool by_value;
};

struct igc_signature {
    struct igc_kernel *kernel;
    struct number taken[MOST_TAKEN], given[MOST_GIVEN];
    unsigned taken_count, given_count;
    struct part parts[MOST_PARAMETERS]; /* of the parameters */
    unsigned result; /* the parameter that is the result's address, or IGI_NONE */
    struct part given_part;
};

/* ---- which numbers there are ------------------------------------------------------------------
 */
struct walk {
    struct igc_kernel *kernel;
    struct number *numbers;
    unsigned count, most;
    uint64_t bytes; /* of what was found, to find padding */
};

static bool is_number(LLVMTypeRef type) {
    switch (LLVMGetTypeKind(type)) {
    case LLVMIntegerTypeKind: {
        unsigned width = LLVMGetIntTypeWidth(type);
        return width == 8 || width == 16 || width == 32 || width == 64;
    }
    case LLVMFloatTypeKind:
    case LLVMDoubleTypeKind:
    case LLVMHalfTypeKind:
        return true;
    default:
        return false;
    }
}

static bool add_number(struct walk *walk, LLVMTypeRef type, uint64_t offset) {
    if (!is_number(type) || walk->count == walk->most) {
        return false;
    }
    walk->numbers[walk->count++] = (struct number){type, offset};
    walk->bytes += LLVMStoreSizeOfType(walk->kernel->layout, type);
    return true;
}

static bool add_numbers(struct walk *walk, LLVMTypeRef type, uint64_t offset, unsigned depth);

static bool add_elements(struct walk *walk, LLVMTypeRef element, uint64_t count, uint64_t offset,
                         unsigned depth) {
    uint64_t size = LLVMABISizeOfType(walk->kernel->layout, element);
    if (count > walk->most) {
        return false;
    }
    for (uint64_t i = 0; i < count; i++) {
        if (!add_numbers(walk, element, offset + i * size, depth + 1)) {
            return false;
        }
    }
    return true;
}

static bool add_numbers(struct walk *walk, LLVMTypeRef type, uint64_t offset, unsigned depth) {
    LLVMTargetDataRef layout = walk->kernel->layout;
    if (depth > MOST_NESTED) {
        return false;
    }
    switch (LLVMGetTypeKind(type)) {
    case LLVMStructTypeKind:
        for (unsigned i = 0; i < LLVMCountStructElementTypes(type); i++) {
            if (!add_numbers(walk, LLVMStructGetTypeAtIndex(type, i),
                             offset + LLVMOffsetOfElement(layout, type, i), depth + 1)) {
                return false;
            }
        }
        return true;
    case LLVMArrayTypeKind:
        return add_elements(walk, LLVMGetElementType(type), LLVMGetArrayLength2(type), offset,
                            depth);
    case LLVMVectorTypeKind: {
        LLVMTypeRef element = LLVMGetElementType(type);
        uint64_t size = LLVMABISizeOfType(layout, element) * LLVMGetVectorSize(type);
        walk->bytes += LLVMABISizeOfType(layout, type) - size; /* of three: a fourth is nobody's */
        return add_elements(walk, element, LLVMGetVectorSize(type), offset, depth);
    }
    default:
        return add_number(walk, type, offset);
    }
}

/* False where there is anything but numbers, or in memory padding, where unions may have something.
 */
static bool take_apart(struct igc_kernel *kernel, struct part *part, struct number *numbers,
                       unsigned *count, unsigned most) {
    struct walk walk = {kernel, numbers, *count, most, 0};
    part->first = *count;
    part->is_number = is_number(part->type);
    bool done = LLVMTypeIsSized(part->type) && add_numbers(&walk, part->type, 0, 0) &&
                (part->by_value || walk.bytes == LLVMABISizeOfType(kernel->layout, part->type));
    part->end = *count = walk.count;
    return done && part->end > part->first;
}

/* A bool that is passed by itself. */
static bool is_bool(LLVMTypeRef type) {
    return LLVMGetTypeKind(type) == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(type) == 1;
}

static bool add_bool(struct part *part, struct number *numbers, unsigned *count, unsigned most) {
    if (*count == most) {
        return false;
    }
    numbers[*count] = (struct number){part->type, 0};
    part->first = *count;
    part->end = ++*count;
    part->is_number = true;
    return true;
}

static LLVMTypeRef type_attribute(LLVMValueRef function, unsigned parameter, const char *name) {
    LLVMAttributeRef attribute = LLVMGetEnumAttributeAtIndex(
        function, parameter + 1, LLVMGetEnumAttributeKindForName(name, strlen(name)));
    return attribute ? LLVMGetTypeAttributeValue(attribute) : NULL;
}

static bool read_parameter(struct igc_signature *s, LLVMValueRef function, unsigned i) {
    LLVMTypeRef type = LLVMTypeOf(LLVMGetParam(function, i));
    struct part *part = &s->parts[i];
    if (LLVMGetTypeKind(type) == LLVMPointerTypeKind) {
        LLVMTypeRef result = type_attribute(function, i, "sret");
        part->type = result ? result : type_attribute(function, i, "byval");
        if (LLVMGetPointerAddressSpace(type) != 0) {
            return false;
        }
        if (!part->type) {
            part->type = igc_type_of_reference(s->kernel, function, i, &part->align);
        }
        if (!part->type) {
            return false;
        }
        if (result) {
            s->result = i;
            bool done = take_apart(s->kernel, part, s->given, &s->given_count, MOST_GIVEN);
            part->is_number = false;
            return done;
        }
        bool done = take_apart(s->kernel, part, s->taken, &s->taken_count, MOST_TAKEN);
        part->is_number = false;
        return done;
    }
    part->type = type;
    part->by_value = true;
    return is_bool(type) ? add_bool(part, s->taken, &s->taken_count, MOST_TAKEN)
                         : take_apart(s->kernel, part, s->taken, &s->taken_count, MOST_TAKEN);
}

static bool read_signature(struct igc_kernel *kernel, LLVMValueRef function,
                           struct igc_signature *s) {
    LLVMTypeRef type = LLVMGlobalGetValueType(function), result = LLVMGetReturnType(type);
    *s = (struct igc_signature){.kernel = kernel, .result = IGI_NONE};
    if (LLVMIsFunctionVarArg(type) || LLVMCountParams(function) > MOST_PARAMETERS) {
        return false;
    }
    for (unsigned i = 0; i < LLVMCountParams(function); i++) {
        if (!read_parameter(s, function, i)) {
            return false;
        }
    }
    if (LLVMGetTypeKind(result) == LLVMVoidTypeKind) {
        return s->given_count > 0;
    }
    s->given_part = (struct part){.type = result, .by_value = true};
    return is_bool(result)
               ? add_bool(&s->given_part, s->given, &s->given_count, MOST_GIVEN)
               : take_apart(kernel, &s->given_part, s->given, &s->given_count, MOST_GIVEN);
}

ingot_status igc_kept_signature(struct igc_kernel *kernel, LLVMValueRef function,
                                const struct igc_signature **found, unsigned *numbers) {
    struct igc_signature read;
    *found = NULL;
    *numbers = 0;
    if (!read_signature(kernel, function, &read)) {
        return INGOT_OK;
    }
    struct igc_signature *kept = ig_arena_alloc(kernel->arena, sizeof *kept);
    if (!kept) {
        return igc_out_of_memory(kernel);
    }
    *kept = read;
    *found = kept;
    *numbers = kept->taken_count + kept->given_count;
    return INGOT_OK;
}

/* ---- from memory to numbers, and back ---------------------------------------------------------
 */
static unsigned align_of(struct igc_kernel *k, const struct part *part, uint64_t offset) {
    unsigned align = LLVMABIAlignmentOfType(k->layout, part->type);
    while (align > 1 && offset % align) {
        align /= 2;
    }
    return align;
}

static LLVMValueRef load_number(struct igc_kernel *k, const struct part *part,
                                const struct number *number, LLVMValueRef address) {
    LLVMValueRef place = igc_byte_offset(k, address, number->offset);
    LLVMValueRef load = LLVMBuildLoad2(k->builder, number->type, place, "");
    LLVMSetAlignment(load, align_of(k, part, number->offset));
    return load;
}

static void store_number(struct igc_kernel *k, const struct part *part, const struct number *number,
                         LLVMValueRef value, LLVMValueRef address) {
    LLVMValueRef place = igc_byte_offset(k, address, number->offset);
    LLVMSetAlignment(LLVMBuildStore(k->builder, value, place), align_of(k, part, number->offset));
}

/* Memory for the part, at the start of the function that the builder stands in. */
static LLVMValueRef allocate(struct igc_kernel *k, const struct part *part) {
    LLVMBasicBlockRef here = LLVMGetInsertBlock(k->builder);
    LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(LLVMGetBasicBlockParent(here));
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(k->context);
    LLVMValueRef first = LLVMGetFirstInstruction(entry);
    if (first) {
        LLVMPositionBuilderBefore(builder, first);
    } else {
        LLVMPositionBuilderAtEnd(builder, entry);
    }
    LLVMValueRef memory = LLVMBuildAlloca(builder, part->type, "");
    unsigned align = LLVMABIAlignmentOfType(k->layout, part->type);
    LLVMSetAlignment(memory, part->align > align ? part->align : align);
    LLVMDisposeBuilder(builder);
    if (!first) {
        LLVMPositionBuilderAtEnd(k->builder, entry);
    }
    return memory;
}

/* ---- the function of numbers ------------------------------------------------------------------
 */
static LLVMTypeRef given_type(const struct igc_signature *s) {
    LLVMTypeRef types[MOST_GIVEN];
    for (unsigned i = 0; i < s->given_count; i++) {
        types[i] = s->given[i].type;
    }
    return s->given_count == 1
               ? types[0]
               : LLVMStructTypeInContext(s->kernel->context, types, s->given_count, false);
}

static LLVMTypeRef function_type(const struct igc_signature *s) {
    LLVMTypeRef types[MOST_TAKEN];
    for (unsigned i = 0; i < s->taken_count; i++) {
        types[i] = s->taken[i].type;
    }
    return LLVMFunctionType(given_type(s), types, s->taken_count, false);
}

static bool is_of_inlining(LLVMAttributeRef attribute) {
    static const char *const names[] = {"alwaysinline", "convergent", "inlinehint", "optnone"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (LLVMIsEnumAttribute(attribute) &&
            LLVMGetEnumAttributeKind(attribute) ==
                LLVMGetEnumAttributeKindForName(names[i], strlen(names[i]))) {
            return true;
        }
    }
    return false;
}

static LLVMValueRef declare(const struct igc_signature *s, LLVMValueRef function, unsigned number) {
    enum { MOST_ATTRIBUTES = 64 };
    struct igc_kernel *k = s->kernel;
    LLVMAttributeRef attributes[MOST_ATTRIBUTES];
    char text[32];
    snprintf(text, sizeof text, "kept.%u", number);
    LLVMValueRef kept = LLVMAddFunction(k->module, text, function_type(s));
    LLVMSetLinkage(kept, LLVMInternalLinkage);
    unsigned count = LLVMGetAttributeCountAtIndex(function, LLVMAttributeFunctionIndex);
    if (count <= MOST_ATTRIBUTES) {
        LLVMGetAttributesAtIndex(function, LLVMAttributeFunctionIndex, attributes);
        for (unsigned i = 0; i < count; i++) {
            if (!is_of_inlining(attributes[i])) {
                LLVMAddAttributeAtIndex(kept, LLVMAttributeFunctionIndex, attributes[i]);
            }
        }
    }
    igi_add_attribute(kept, "noinline", 0);
    igi_add_attribute(kept, "nounwind", 0);
    igi_add_attribute(kept, "memory", 0);
    snprintf(text, sizeof text, "%u", number);
    LLVMAddAttributeAtIndex(kept, LLVMAttributeFunctionIndex,
                            LLVMCreateStringAttribute(k->context, IGC_KEPT,
                                                      (unsigned)strlen(IGC_KEPT), text,
                                                      (unsigned)strlen(text)));
    return kept;
}

/* The argument that the part's numbers make. */
static LLVMValueRef put_together(const struct igc_signature *s, const struct part *part,
                                 LLVMValueRef kept) {
    if (part->is_number) {
        return LLVMGetParam(kept, part->first);
    }
    LLVMValueRef memory = allocate(s->kernel, part);
    for (unsigned i = part->first; i < part->end; i++) {
        store_number(s->kernel, part, &s->taken[i], LLVMGetParam(kept, i), memory);
    }
    return part->by_value ? LLVMBuildLoad2(s->kernel->builder, part->type, memory, "") : memory;
}

static void return_numbers(const struct igc_signature *s, const struct part *part,
                           LLVMValueRef result, LLVMValueRef memory) {
    struct igc_kernel *k = s->kernel;
    if (part->is_number) {
        LLVMBuildRet(k->builder, result);
        return;
    }
    if (part->by_value) {
        memory = allocate(k, part);
        LLVMBuildStore(k->builder, result, memory);
    }
    LLVMValueRef all = LLVMGetPoison(given_type(s));
    for (unsigned i = 0; i < s->given_count; i++) {
        LLVMValueRef value = load_number(k, part, &s->given[i], memory);
        all = s->given_count == 1 ? value : LLVMBuildInsertValue(k->builder, all, value, i, "");
    }
    LLVMBuildRet(k->builder, all);
}

static void define(const struct igc_signature *s, LLVMValueRef kept, LLVMValueRef function) {
    struct igc_kernel *k = s->kernel;
    LLVMValueRef arguments[MOST_PARAMETERS];
    LLVMPositionBuilderAtEnd(k->builder, LLVMAppendBasicBlockInContext(k->context, kept, "entry"));
    LLVMSetCurrentDebugLocation2(k->builder, NULL);
    const unsigned count = LLVMCountParams(function);
    for (unsigned i = 0; i < count; i++) {
        arguments[i] =
            i == s->result ? allocate(k, &s->parts[i]) : put_together(s, &s->parts[i], kept);
    }
    LLVMValueRef result = LLVMBuildCall2(k->builder, LLVMGlobalGetValueType(function), function,
                                         arguments, count, "");
    bool in_memory = s->result != IGI_NONE;
    return_numbers(s, in_memory ? &s->parts[s->result] : &s->given_part, result,
                   in_memory ? arguments[s->result] : NULL);
}

/* ---- calls of it ------------------------------------------------------------------------------
 */
static LLVMValueRef given_number(const struct igc_signature *s, LLVMValueRef all, unsigned i) {
    return s->given_count == 1 ? all : LLVMBuildExtractValue(s->kernel->builder, all, i, "");
}

static void replace_call(const struct igc_signature *s, LLVMValueRef kept, LLVMValueRef call) {
    struct igc_kernel *k = s->kernel;
    LLVMValueRef arguments[MOST_TAKEN];
    LLVMPositionBuilderBefore(k->builder, call);
    LLVMSetCurrentDebugLocation2(k->builder, LLVMInstructionGetDebugLoc(call));
    for (unsigned p = 0; p < LLVMGetNumArgOperands(call); p++) {
        const struct part *part = &s->parts[p];
        LLVMValueRef value = LLVMGetOperand(call, p);
        if (p == s->result) {
            continue;
        }
        if (part->is_number) {
            arguments[part->first] = value;
            continue;
        }
        if (part->by_value) {
            LLVMValueRef memory = allocate(k, part);
            LLVMBuildStore(k->builder, value, memory);
            value = memory;
        }
        for (unsigned i = part->first; i < part->end; i++) {
            arguments[i] = load_number(k, part, &s->taken[i], value);
        }
    }
    LLVMValueRef all =
        LLVMBuildCall2(k->builder, function_type(s), kept, arguments, s->taken_count, "");
    const bool in_memory = s->result != IGI_NONE;
    const struct part *part = in_memory ? &s->parts[s->result] : &s->given_part;
    if (part->is_number) {
        igi_replace(call, all);
        return;
    }
    LLVMValueRef memory = in_memory ? LLVMGetOperand(call, s->result) : allocate(k, part);
    for (unsigned i = 0; i < s->given_count; i++) {
        store_number(k, part, &s->given[i], given_number(s, all, i), memory);
    }
    if (in_memory) {
        LLVMInstructionEraseFromParent(call);
    } else {
        igi_replace(call, LLVMBuildLoad2(k->builder, part->type, memory, ""));
    }
}

void igc_keep_function(struct igc_kernel *k, LLVMValueRef function,
                       const struct igc_signature *signature, unsigned number) {
    LLVMValueRef kept = declare(signature, function, number);
    igi_each_use_safe(use, function) {
        LLVMValueRef call = LLVMGetUser(use);
        if (LLVMIsACallInst(call) && LLVMGetCalledValue(call) == function) {
            replace_call(signature, kept, call);
        }
    }
    define(signature, kept, function);
    LLVMSetCurrentDebugLocation2(k->builder, NULL);
}
