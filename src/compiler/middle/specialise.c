/*
 * Function constants. Requires the front end's module: each constant is an external global
 * __ingot_fc_INDEX, and a constant derived from others is set by a function of
 * llvm.global_ctors. Provides: globals with values, derived constants folded to values, no
 * constructors left, __ingot_constant_defined and __ingot_fast_math folded.
 *
 * A constant without a value is no error by itself: the kernel may only ask whether it is
 * defined. What still reads one after optimisation is refused by igc_check_constants.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/builtins.h"
#include "compiler/ir/global_names.h"
#include "compiler/ir/walk.h"
#include "compiler/middle/middle.h"

static const char constant_prefix[] = IGI_CONSTANT_PREFIX;
static const char dynamic_prefix[] = IGI_DYNAMIC_PREFIX;

/* True, with the index, for the global of a function constant. */
static bool constant_index(LLVMValueRef global, uint32_t *index) {
    size_t length;
    const char *name = LLVMGetValueName2(global, &length);
    const size_t prefix = sizeof constant_prefix - 1;
    if (name[0] == 1) { /* an assembler name that must not be mangled */
        name++;
    }
    if (strncmp(name, constant_prefix, prefix) || name[prefix] < '0' || name[prefix] > '9') {
        return false;
    }
    *index = (uint32_t)strtoul(name + prefix, NULL, 10);
    return true;
}

static const struct igc_value *find_value(const struct igc_job *job, uint32_t index) {
    for (size_t i = 0; i < job->value_count; i++) {
        if (job->values[i].index == index) {
            return &job->values[i];
        }
    }
    return NULL;
}

static const struct ig_constant *find_constant(const struct igc_job *job, uint32_t index) {
    for (size_t i = 0; job->source && i < job->source->constant_count; i++) {
        if (job->source->constants[i].index == index) {
            return &job->source->constants[i];
        }
    }
    return NULL;
}

/* Replaces every call of the built-in by fold(call); NULL keeps the call. */
static void fold_calls(LLVMModuleRef module, enum igi_builtin builtin, const struct igc_job *job,
                       LLVMValueRef (*fold)(LLVMValueRef call, const struct igc_job *job)) {
    LLVMValueRef function = igi_find(module, builtin);
    LLVMUseRef next = function ? LLVMGetFirstUse(function) : NULL;
    while (next) {
        LLVMValueRef call = LLVMGetUser(next);
        next = LLVMGetNextUse(next);
        if (!LLVMIsACallInst(call) || LLVMGetCalledValue(call) != function) {
            continue;
        }
        LLVMValueRef value = fold(call, job);
        if (value) {
            LLVMReplaceAllUsesWith(call, value);
            LLVMInstructionEraseFromParent(call);
        }
    }
}

static LLVMValueRef fold_fast_math(LLVMValueRef call, const struct igc_job *job) {
    return LLVMConstInt(LLVMTypeOf(call), job->fast_math, false);
}

static LLVMValueRef fold_defined(LLVMValueRef call, const struct igc_job *job) {
    LLVMValueRef index = LLVMGetOperand(call, 0);
    if (!LLVMIsAConstantInt(index)) {
        return NULL;
    }
    bool defined = find_value(job, (uint32_t)LLVMConstIntGetZExtValue(index)) != NULL;
    return LLVMConstInt(LLVMTypeOf(call), defined, false);
}

/* Puts a constant of these bytes in the place of an external global. */
static void define_global(LLVMModuleRef module, LLVMValueRef global, const uint8_t *bytes,
                          size_t size) {
    LLVMContextRef context = LLVMGetModuleContext(module);
    LLVMTypeRef type = LLVMTypeOf(global);
    LLVMValueRef data =
        LLVMConstStringInContext2(context, (const char *)bytes, size, /*no NUL*/ true);
    LLVMValueRef made = LLVMAddGlobalInAddressSpace(module, LLVMTypeOf(data), "constant",
                                                    LLVMGetPointerAddressSpace(type));
    LLVMSetInitializer(made, data);
    LLVMSetGlobalConstant(made, true);
    LLVMSetLinkage(made, LLVMInternalLinkage);
    LLVMSetAlignment(made, 16);
    LLVMReplaceAllUsesWith(global, made);
    LLVMDeleteGlobal(global);
}

/* The bytes of 1 in every component, for igc_job.fill_constants. */
static void fill_with_ones(const struct ig_constant *constant, uint8_t bytes[64]) {
    static const struct {
        uint8_t size, at, byte;
        uint8_t second_at, second;
    } ones[] = {
        [INGOT_SCALAR_BOOL] = {1, 0, 1, 0, 1},       [INGOT_SCALAR_I8] = {1, 0, 1, 0, 1},
        [INGOT_SCALAR_U8] = {1, 0, 1, 0, 1},         [INGOT_SCALAR_I16] = {2, 0, 1, 0, 1},
        [INGOT_SCALAR_U16] = {2, 0, 1, 0, 1},        [INGOT_SCALAR_I32] = {4, 0, 1, 0, 1},
        [INGOT_SCALAR_U32] = {4, 0, 1, 0, 1},        [INGOT_SCALAR_I64] = {8, 0, 1, 0, 1},
        [INGOT_SCALAR_U64] = {8, 0, 1, 0, 1},        [INGOT_SCALAR_F16] = {2, 1, 0x3c, 1, 0x3c},
        [INGOT_SCALAR_BF16] = {2, 0, 0x80, 1, 0x3f}, [INGOT_SCALAR_F32] = {4, 2, 0x80, 3, 0x3f},
    };
    memset(bytes, 0, 64);
    uint32_t scalar = constant ? constant->scalar : INGOT_SCALAR_U8;
    scalar = scalar < sizeof ones / sizeof *ones && ones[scalar].size ? scalar : INGOT_SCALAR_U8;
    uint32_t components = constant && constant->components ? constant->components : 1;
    for (uint32_t i = 0; i < components && (i + 1) * ones[scalar].size <= 64; i++) {
        uint8_t *element = bytes + (size_t)i * ones[scalar].size;
        element[ones[scalar].at] = ones[scalar].byte;
        element[ones[scalar].second_at] = ones[scalar].second;
    }
}

static ingot_status set_values(LLVMModuleRef module, const struct igc_job *job,
                               struct ig_error *error) {
    LLVMTargetDataRef layout = LLVMGetModuleDataLayout(module);
    igi_each_global_safe(g, module) {
        uint32_t index;
        if (!constant_index(g, &index) || !LLVMIsDeclaration(g)) {
            continue;
        }
        const struct igc_value *value = find_value(job, index);
        const struct ig_constant *constant = find_constant(job, index);
        uint64_t size = LLVMABISizeOfType(layout, LLVMGlobalGetValueType(g));
        uint8_t bytes[64] = {0};
        if (size > sizeof bytes || (value && value->size > size)) {
            return ig_fail(error, INGOT_INVALID_ARGUMENT,
                           "function constant %s (index %u) has %llu bytes, but the value given "
                           "has %zu",
                           constant ? constant->name : "", index, (unsigned long long)size,
                           value ? value->size : 0);
        }
        if (value) {
            memcpy(bytes, value->bytes, value->size);
        } else if (job->fill_constants) {
            fill_with_ones(constant, bytes);
            if (job->filled) {
                *job->filled = true;
            }
        } else {
            continue;
        }
        define_global(module, g, bytes, (size_t)size);
    }
    return INGOT_OK;
}

/* ---- derived constants ---- */

struct constructors {
    LLVMValueRef functions[4096];
    size_t count;
};

/* The functions that the module's constructor calls, one after the other, each on its own. */
static bool list_constructors(LLVMModuleRef module, struct constructors *list) {
    LLVMValueRef global = LLVMGetNamedGlobal(module, "llvm.global_ctors");
    LLVMValueRef entries = global ? LLVMGetInitializer(global) : NULL;
    int count = entries && LLVMIsAConstantArray(entries) ? LLVMGetNumOperands(entries) : 0;
    list->count = 0;
    for (int i = 0; i < count; i++) {
        LLVMValueRef f = LLVMGetOperand(LLVMGetOperand(entries, (unsigned)i), 1);
        if (!LLVMIsAFunction(f) || LLVMIsDeclaration(f)) {
            continue;
        }
        LLVMBasicBlockRef block = LLVMGetEntryBasicBlock(f);
        bool only_calls = !igi_next_block(block);
        igi_each_in_block(in, block) {
            only_calls =
                only_calls && (LLVMIsAReturnInst(in) ||
                               (LLVMIsACallInst(in) && LLVMIsAFunction(LLVMGetCalledValue(in)) &&
                                LLVMGetNumArgOperands(in) == 0));
        }
        igi_each_in_block(in, block) {
            if (only_calls && LLVMIsACallInst(in) && list->count < 4096) {
                list->functions[list->count++] = LLVMGetCalledValue(in);
            }
        }
        if (!only_calls && list->count < 4096) {
            list->functions[list->count++] = f;
        }
    }
    return list->count > 0;
}

/* llvm.global_ctors of these functions, in this order. */
static void set_constructors(LLVMModuleRef module, const struct constructors *list) {
    LLVMContextRef context = LLVMGetModuleContext(module);
    LLVMValueRef old = LLVMGetNamedGlobal(module, "llvm.global_ctors");
    if (old) {
        LLVMDeleteGlobal(old);
    }
    if (!list->count) {
        return;
    }
    LLVMTypeRef ptr = LLVMPointerTypeInContext(context, 0);
    LLVMTypeRef fields[] = {LLVMInt32TypeInContext(context), ptr, ptr};
    LLVMTypeRef entry = LLVMStructTypeInContext(context, fields, 3, false);
    LLVMValueRef *entries = calloc(list->count, sizeof *entries);
    if (!entries) {
        return;
    }
    for (size_t i = 0; i < list->count; i++) {
        LLVMValueRef values[] = {LLVMConstInt(fields[0], 65535, false), list->functions[i],
                                 LLVMConstNull(ptr)};
        entries[i] = LLVMConstStructInContext(context, values, 3, false);
    }
    LLVMValueRef array = LLVMConstArray2(entry, entries, list->count);
    LLVMValueRef global = LLVMAddGlobal(module, LLVMTypeOf(array), "llvm.global_ctors");
    LLVMSetInitializer(global, array);
    LLVMSetLinkage(global, LLVMAppendingLinkage);
    free(entries);
}

/* Calls visit for every global that the function, or one it calls, uses. */
static void visit_globals(LLVMValueRef function, int depth,
                          void (*visit)(LLVMValueRef global, void *context), void *context) {
    if (depth > 16) {
        return;
    }
    igi_each_instruction(in, function) {
        for (int i = 0; i < LLVMGetNumOperands(in); i++) {
            LLVMValueRef operand = LLVMGetOperand(in, (unsigned)i);
            while (LLVMIsAConstantExpr(operand)) {
                operand = LLVMGetOperand(operand, 0);
            }
            if (LLVMIsAGlobalVariable(operand)) {
                visit(operand, context);
            } else if (LLVMIsAFunction(operand) && !LLVMIsDeclaration(operand)) {
                visit_globals(operand, depth + 1, visit, context);
            }
        }
    }
}

struct unresolved {
    bool found;
    uint32_t index;           /* of a constant without a value */
    LLVMValueRef derived[64]; /* what is computed from it */
    size_t derived_count;
};

static void note_unresolved(LLVMValueRef global, void *context) {
    struct unresolved *u = context;
    uint32_t index;
    if (constant_index(global, &index)) {
        if (LLVMIsDeclaration(global)) {
            u->index = u->found ? u->index : index;
            u->found = true;
        }
    } else if (!LLVMIsDeclaration(global) && !LLVMIsGlobalConstant(global)) {
        for (size_t i = 0; i < u->derived_count; i++) {
            if (u->derived[i] == global) {
                return;
            }
        }
        if (u->derived_count < sizeof u->derived / sizeof *u->derived) {
            u->derived[u->derived_count++] = global;
        }
    }
}

/* What a constructor that could not be folded sets has no value either: it becomes an external
 * global named for the constant that is missing. */
static void drop_constructor(LLVMModuleRef module, LLVMValueRef function) {
    struct unresolved u = {0};
    visit_globals(function, 0, note_unresolved, &u);
    for (size_t i = 0; i < u.derived_count; i++) {
        char name[256];
        size_t length;
        const char *own = LLVMGetValueName2(u.derived[i], &length);
        if (u.found) {
            snprintf(name, sizeof name, "%s%u", constant_prefix, u.index);
        } else {
            snprintf(name, sizeof name, "%s%s", dynamic_prefix, own);
        }
        LLVMValueRef stand_in =
            LLVMAddGlobalInAddressSpace(module, LLVMGlobalGetValueType(u.derived[i]), name,
                                        LLVMGetPointerAddressSpace(LLVMTypeOf(u.derived[i])));
        LLVMReplaceAllUsesWith(u.derived[i], stand_in);
        LLVMDeleteGlobal(u.derived[i]);
    }
}

/* The three-component vector that the global at `pointer` is, alone in however many structs. */
static LLVMTypeRef three_components(LLVMValueRef pointer) {
    while (LLVMIsAConstantExpr(pointer) && LLVMGetConstOpcode(pointer) == LLVMAddrSpaceCast) {
        pointer = LLVMGetOperand(pointer, 0);
    }
    LLVMTypeRef type = LLVMIsAGlobalVariable(pointer) ? LLVMGlobalGetValueType(pointer) : NULL;
    while (type && LLVMGetTypeKind(type) == LLVMStructTypeKind) {
        type = LLVMCountStructElementTypes(type) == 1 ? LLVMStructGetTypeAtIndex(type, 0) : NULL;
    }
    return type && LLVMGetTypeKind(type) == LLVMVectorTypeKind && LLVMGetVectorSize(type) == 3
               ? type
               : NULL;
}

/* clang stores vectors of three as four; globalopt does not see that this is the global's value. */
static void narrow_stores(LLVMValueRef function) {
    LLVMContextRef context = LLVMGetModuleContext(LLVMGetGlobalParent(function));
    LLVMTypeRef i32 = LLVMInt32TypeInContext(context);
    LLVMValueRef first[] = {LLVMConstInt(i32, 0, false), LLVMConstInt(i32, 1, false),
                            LLVMConstInt(i32, 2, false)};
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(context);
    igi_each_instruction(in, function) {
        LLVMTypeRef three = LLVMIsAStoreInst(in) ? three_components(LLVMGetOperand(in, 1)) : NULL;
        LLVMTypeRef stored = three ? LLVMTypeOf(LLVMGetOperand(in, 0)) : NULL;
        if (!three || LLVMGetTypeKind(stored) != LLVMVectorTypeKind ||
            LLVMGetVectorSize(stored) != 4 ||
            LLVMGetElementType(stored) != LLVMGetElementType(three)) {
            continue;
        }
        LLVMPositionBuilderBefore(builder, in);
        LLVMValueRef value = LLVMGetOperand(in, 0);
        value = LLVMBuildShuffleVector(builder, value, LLVMGetPoison(stored),
                                       LLVMConstVector(first, 3), "");
        LLVMSetOperand(in, 0, value);
    }
    LLVMDisposeBuilder(builder);
}

/* Constructors of class types reach their global through plain pointers. */
static const char inline_and_simplify[] =
    "always-inline,function(sroa,infer-address-spaces,early-cse,instcombine<no-verify-fixpoint>)";

static ingot_status fold_derived(LLVMModuleRef module, LLVMValueRef kernel,
                                 struct ig_error *error) {
    struct constructors *list = calloc(1, sizeof *list);
    if (!list) {
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for the list of derived constants");
    }
    ingot_status status = INGOT_OK;
    if (list_constructors(module, list)) {
        set_constructors(module, list);
        status = igc_stage(module, NULL, "derive", "globaldce,globalopt", error);
        if (!status && list_constructors(module, list)) {
            igc_mark_for_inlining(module, kernel);
            status = igc_stage(module, NULL, "derive", inline_and_simplify, error);
            for (size_t i = 0; !status && i < list->count; i++) {
                narrow_stores(list->functions[i]);
            }
            status = status ? status : igc_stage(module, NULL, "derive", "globalopt", error);
        }
        if (!status && list_constructors(module, list)) {
            for (size_t i = 0; i < list->count; i++) {
                drop_constructor(module, list->functions[i]);
            }
        }
        list->count = 0;
        set_constructors(module, list);
    }
    free(list);
    return status;
}

ingot_status igc_specialise(LLVMModuleRef module, LLVMValueRef kernel, const struct igc_job *job,
                            struct ig_error *error) {
    fold_calls(module, IGI_fast_math, job, fold_fast_math);
    fold_calls(module, IGI_constant_defined, job, fold_defined);
    ingot_status status = set_values(module, job, error);
    return status ? status : fold_derived(module, kernel, error);
}

static LLVMValueRef fold_panels(LLVMValueRef call, const struct igc_job *job) {
    (void)job;
    return LLVMConstInt(LLVMTypeOf(call), false, false);
}

bool igc_fold_panels(LLVMModuleRef module, const struct igc_job *job) {
    LLVMValueRef function = igi_find(module, IGI_has_panels);
    const bool asked = function && LLVMGetFirstUse(function);
    fold_calls(module, IGI_has_panels, job, fold_panels);
    return asked;
}

ingot_status igc_check_constants(LLVMModuleRef module, const struct igc_job *job,
                                 struct ig_error *error) {
    fold_calls(module, IGI_constant_defined, job, fold_defined);
    igi_each_global(g, module) {
        uint32_t index;
        size_t length;
        const char *name = LLVMGetValueName2(g, &length);
        if (!LLVMIsDeclaration(g) || !LLVMGetFirstUse(g)) {
            continue;
        }
        if (!strncmp(name, dynamic_prefix, sizeof dynamic_prefix - 1)) {
            return ig_fail(error, INGOT_COMPILE_ERROR,
                           "kernel %s uses the global %s, whose value cannot be computed when "
                           "compiling",
                           job->kernel, name + sizeof dynamic_prefix - 1);
        }
        if (constant_index(g, &index)) {
            const struct ig_constant *constant = find_constant(job, index);
            return ig_fail(error, INGOT_NOT_FOUND,
                           "kernel %s needs function constant %s (index %u), which has no value",
                           job->kernel, constant ? constant->name : "", index);
        }
    }
    return INGOT_OK;
}
