/*
 * The air.* functions that a module calls. Scalar ones are in the library that
 * prelude/air/library.metal is compiled to; vectors of them are made element by element; atomics
 * and matrices have files of their own.
 */
#include <string.h>

#include "compiler/frontend/air/air.h"
#include "compiler/ir/walk.h"

enum { MOST_OPERANDS = 16, MOST_ELEMENTS = 16 /* of a vector: Metal's have four */ };

/* With the attributes that clang gives it in the MSL front end: which lanes get to a call is part
 * of its meaning. */
static LLVMValueRef declare_builtin(struct iga_module *m, enum igi_builtin builtin) {
    LLVMValueRef function = igi_find(m->module, builtin);
    if (!function) {
        const struct igi_facts *facts = igi_facts(builtin);
        uint64_t memory;
        function = igi_declare(m->module, builtin);
        igi_add_attribute(function, "nounwind", 0);
        igi_add_attribute(function, facts->flags & IGI_PURE ? "willreturn" : "convergent", 0);
        if (facts->flags & IGI_PURE && igi_memory_attribute(facts->memory, &memory)) {
            igi_add_attribute(function, "memory", memory);
        }
    }
    return function;
}

LLVMValueRef iga_call_builtin(struct iga_module *m, enum igi_builtin builtin,
                              LLVMValueRef *operands, unsigned count) {
    LLVMValueRef function = declare_builtin(m, builtin);
    return LLVMBuildCall2(m->builder, LLVMGlobalGetValueType(function), function, operands, count,
                          "");
}

/* ---- vectors ---- */

/* "air.exp.v4f32" → "air.exp.f32" in `scalar`; the number of elements, 0 when there is no vector in
 * the name. */
static unsigned scalar_name(const char *name, char *scalar, size_t room) {
    unsigned elements = 0;
    size_t size = 0;
    for (const char *c = name; *c && size + 1 < room; c++) {
        const bool is_vector = c > name && c[-1] == '.' && *c == 'v' && c[1] >= '2' && c[1] <= '9';
        if (is_vector) {
            unsigned number = 0;
            for (c++; *c >= '0' && *c <= '9'; c++) {
                number = number * 10 + (unsigned)(*c - '0');
            }
            elements = number;
        }
        scalar[size++] = *c;
    }
    scalar[size] = 0;
    return elements;
}

static bool is_vector_of(LLVMTypeRef type, unsigned elements) {
    return LLVMGetTypeKind(type) == LLVMVectorTypeKind && LLVMGetVectorSize(type) == elements;
}

bool iga_is_float(LLVMTypeRef type) {
    const LLVMTypeKind kind = LLVMGetTypeKind(type);
    return kind == LLVMFloatTypeKind || kind == LLVMHalfTypeKind || kind == LLVMBFloatTypeKind;
}

bool iga_takes_pointer(LLVMValueRef function, unsigned position) {
    return position < LLVMCountParams(function) &&
           LLVMGetTypeKind(LLVMTypeOf(LLVMGetParam(function, position))) == LLVMPointerTypeKind;
}

static LLVMValueRef element_of(struct iga_module *m, LLVMValueRef value, unsigned i) {
    LLVMValueRef index = LLVMConstInt(LLVMInt32TypeInContext(m->context), i, false);
    return LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMVectorTypeKind
               ? LLVMBuildExtractElement(m->builder, value, index, "")
               : value;
}

/* air.dot and air.all, air.any take vectors and give one value. */
static bool define_fold(struct iga_module *m, LLVMValueRef function, const char *name) {
    const bool is_dot = !strncmp(name, "air.dot.", 8);
    const bool is_all = !strncmp(name, "air.all.", 8), is_any = !strncmp(name, "air.any.", 8);
    if (!is_dot && !is_all && !is_any) {
        return false;
    }
    LLVMTypeRef result = LLVMGetReturnType(LLVMGlobalGetValueType(function));
    if (LLVMCountParams(function) != (is_dot ? 2u : 1u)) {
        return false;
    }
    LLVMValueRef x = LLVMGetParam(function, 0), total = NULL;
    if (LLVMGetTypeKind(LLVMTypeOf(x)) != LLVMVectorTypeKind ||
        LLVMGetVectorSize(LLVMTypeOf(x)) > MOST_ELEMENTS ||
        LLVMGetElementType(LLVMTypeOf(x)) != result ||
        (is_dot ? !iga_is_float(result) || LLVMTypeOf(LLVMGetParam(function, 1)) != LLVMTypeOf(x)
                : LLVMGetTypeKind(result) != LLVMIntegerTypeKind)) {
        return false;
    }
    for (unsigned i = 0; i < LLVMGetVectorSize(LLVMTypeOf(x)); i++) {
        LLVMValueRef part = element_of(m, x, i);
        if (is_dot) {
            LLVMValueRef other = element_of(m, LLVMGetParam(function, 1), i);
            LLVMTypeRef type = LLVMTypeOf(part);
            LLVMValueRef operands[] = {part, other, total};
            LLVMValueRef fused =
                total ? igi_declare_intrinsic(m->module, IGI_LLVM_fma, &type, 1) : NULL;
            total = total ? LLVMBuildCall2(m->builder, LLVMGlobalGetValueType(fused), fused,
                                           operands, 3, "")
                          : LLVMBuildFMul(m->builder, part, other, "");
        } else {
            total = !total   ? part
                    : is_all ? LLVMBuildAnd(m->builder, total, part, "")
                             : LLVMBuildOr(m->builder, total, part, "");
        }
    }
    LLVMBuildRet(m->builder, total);
    return true;
}

/* Element by element, by the function of the same name on scalars, which is declared for the next
 * round. */
static bool define_elements(struct iga_module *m, LLVMValueRef function, const char *name) {
    char scalar[256];
    const unsigned elements = scalar_name(name, scalar, sizeof scalar);
    LLVMTypeRef result = LLVMGetReturnType(LLVMGlobalGetValueType(function));
    const unsigned count = LLVMCountParams(function);
    if (!elements || elements > MOST_ELEMENTS || !is_vector_of(result, elements) ||
        count > MOST_OPERANDS) {
        return false;
    }
    for (unsigned k = 0; k < count; k++) {
        LLVMTypeRef type = LLVMTypeOf(LLVMGetParam(function, k));
        if (LLVMGetTypeKind(type) == LLVMVectorTypeKind && !is_vector_of(type, elements)) {
            return false;
        }
    }
    LLVMValueRef made = LLVMGetPoison(result), operands[MOST_OPERANDS];
    LLVMTypeRef types[MOST_OPERANDS];
    for (unsigned i = 0; i < elements; i++) {
        for (unsigned k = 0; k < count; k++) {
            operands[k] = element_of(m, LLVMGetParam(function, k), i);
            types[k] = LLVMTypeOf(operands[k]);
        }
        LLVMTypeRef type = LLVMFunctionType(LLVMGetElementType(result), types, count, false);
        LLVMValueRef of_one = LLVMGetNamedFunction(m->module, scalar);
        of_one = of_one ? of_one : LLVMAddFunction(m->module, scalar, type);
        LLVMValueRef part = LLVMBuildCall2(m->builder, type, of_one, operands, count, "");
        made = LLVMBuildInsertElement(
            m->builder, made, part, LLVMConstInt(LLVMInt32TypeInContext(m->context), i, false), "");
    }
    LLVMBuildRet(m->builder, made);
    return true;
}

/* ---- memory that other devices see ---- */

static bool define_coherent(struct iga_module *m, LLVMValueRef function, const char *name) {
    LLVMTypeRef result = LLVMGetReturnType(LLVMGlobalGetValueType(function));
    if (!strncmp(name, "air.load.system_coherent.", 25) && LLVMTypeIsSized(result) &&
        iga_takes_pointer(function, 0)) {
        LLVMValueRef load = LLVMBuildLoad2(m->builder, result, LLVMGetParam(function, 0), "");
        LLVMSetVolatile(load, true);
        LLVMBuildRet(m->builder, load);
        return true;
    }
    if (!strncmp(name, "air.store.system_coherent.", 26) &&
        LLVMGetTypeKind(result) == LLVMVoidTypeKind && iga_takes_pointer(function, 1) &&
        LLVMTypeIsSized(LLVMTypeOf(LLVMGetParam(function, 0)))) {
        LLVMSetVolatile(
            LLVMBuildStore(m->builder, LLVMGetParam(function, 0), LLVMGetParam(function, 1)), true);
        LLVMBuildRetVoid(m->builder);
        return true;
    }
    return false;
}

/* ---- all of them ---- */

static bool is_in_library(const struct iga_module *m, const char *name) {
    LLVMValueRef found = LLVMGetNamedFunction(m->library, name);
    return found && !LLVMIsDeclaration(found);
}

static ingot_status define(struct iga_module *m, LLVMValueRef function, const char *name) {
    LLVMBasicBlockRef block = LLVMAppendBasicBlockInContext(m->context, function, "");
    LLVMPositionBuilderAtEnd(m->builder, block);
    if (!iga_define_atomic(m, function, name) && !iga_define_matrix(m, function, name) &&
        !define_coherent(m, function, name) && !define_fold(m, function, name) &&
        !define_elements(m, function, name)) {
        return ig_fail(m->error, INGOT_COMPILE_ERROR,
                       "%s: error: kernel %s calls %s, a function of Apple's compiler that ingot "
                       "does not have",
                       m->source, m->name, name);
    }
    LLVMSetLinkage(function, LLVMInternalLinkage);
    return INGOT_OK;
}

/* A function that is one of our built-ins under Apple's name. */
static bool take_builtin(struct iga_module *m, LLVMValueRef function, const char *name) {
    const enum igi_builtin builtin = igi_builtin_of_air_name(name);
    if (builtin == IGI_NO_BUILTIN ||
        igi_builtin_type(m->context, builtin) != LLVMGlobalGetValueType(function)) {
        return false;
    }
    LLVMReplaceAllUsesWith(function, declare_builtin(m, builtin));
    return true;
}

/* Ours, Apple's or LLVM's: what has no body must be one of them. */
static bool is_apples(LLVMValueRef function) {
    return !LLVMGetIntrinsicID(function) && igi_builtin_of_function(function) == IGI_NO_BUILTIN;
}

ingot_status iga_define_functions(struct iga_module *m) {
    /* Bodies may call functions that were not called before: until nothing is missing. */
    for (bool again = true; again;) {
        again = false;
        igi_each_function(f, m->module) {
            size_t length;
            const char *name = LLVMGetValueName2(f, &length);
            if (!LLVMIsDeclaration(f) || !LLVMGetFirstUse(f) || !is_apples(f) ||
                take_builtin(m, f, name) || is_in_library(m, name)) {
                continue;
            }
            /* the name moves when the module's table of names grows */
            const char *kept = ig_arena_copy(m->arena, name, length);
            ingot_status status =
                kept ? define(m, f, kept)
                     : ig_fail(m->error, INGOT_OUT_OF_MEMORY, "no memory for %s", m->name);
            if (status) {
                return status;
            }
            again = true;
        }
    }
    return INGOT_OK;
}
