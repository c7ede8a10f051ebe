/*
 * air.simdgroup_matrix_8x8_*: tiles are vectors of 64 elements in Apple's modules, of which a
 * lane's own are elements 0 and 1. Their operations become the built-ins on these two.
 */
#include <string.h>

#include "compiler/frontend/air/air.h"

static const char prefix[] = "air.simdgroup_matrix_8x8_";

static LLVMValueRef number(struct iga_module *m, unsigned value) {
    return LLVMConstInt(LLVMInt32TypeInContext(m->context), value, false);
}

static LLVMValueRef element(struct iga_module *m, LLVMValueRef tile, unsigned which) {
    return LLVMBuildExtractElement(m->builder, tile, number(m, which), "");
}

static void return_tile(struct iga_module *m, LLVMTypeRef type, LLVMValueRef first,
                        LLVMValueRef second) {
    LLVMValueRef tile =
        LLVMBuildInsertElement(m->builder, LLVMGetPoison(type), first, number(m, 0), "");
    LLVMBuildRet(m->builder, LLVMBuildInsertElement(m->builder, tile, second, number(m, 1), ""));
}

static LLVMValueRef to_float(struct iga_module *m, LLVMValueRef value) {
    return LLVMBuildFPCast(m->builder, value, LLVMFloatTypeInContext(m->context), "");
}

/* Elements 0 and 1 are the lane's own. */
static bool is_tile(LLVMTypeRef type) {
    return LLVMGetTypeKind(type) == LLVMVectorTypeKind && LLVMGetVectorSize(type) >= 2 &&
           iga_is_float(LLVMGetElementType(type));
}

static bool all_are_tiles(LLVMValueRef function) {
    for (unsigned i = 0; i < LLVMCountParams(function); i++) {
        if (!is_tile(LLVMTypeOf(LLVMGetParam(function, i)))) {
            return false;
        }
    }
    return true;
}

static void multiply(struct iga_module *m, LLVMValueRef function, LLVMTypeRef type) {
    LLVMValueRef operands[6], sums[2];
    for (unsigned i = 0; i < 2; i++) {
        operands[i] = to_float(m, element(m, LLVMGetParam(function, 0), i));
        operands[2 + i] = to_float(m, element(m, LLVMGetParam(function, 1), i));
    }
    for (unsigned i = 0; i < 2; i++) {
        operands[4] = to_float(m, element(m, LLVMGetParam(function, 2), i));
        operands[5] = number(m, i);
        LLVMValueRef sum = iga_call_builtin(m, IGI_simdgroup_mma, operands, 6);
        sums[i] = LLVMBuildFPCast(m->builder, sum, LLVMGetElementType(type), "");
    }
    return_tile(m, type, sums[0], sums[1]);
}

/* The lane's row, and its first column: lane bits b4…b0 are row 4·b4 + 2·b2 + b1, columns 4·b3 +
 * 2·b0 + {0, 1}. */
static void diagonal(struct iga_module *m, LLVMValueRef function, LLVMTypeRef type) {
    LLVMBuilderRef b = m->builder;
    LLVMValueRef lane = iga_call_builtin(m, IGI_thread_index_in_simdgroup, NULL, 0);
    LLVMValueRef high = LLVMBuildAnd(b, LLVMBuildLShr(b, lane, number(m, 2), ""), number(m, 4), "");
    LLVMValueRef low = LLVMBuildAnd(b, LLVMBuildLShr(b, lane, number(m, 1), ""), number(m, 3), "");
    LLVMValueRef row = LLVMBuildOr(b, high, low, "");
    LLVMValueRef half = LLVMBuildAnd(b, LLVMBuildLShr(b, lane, number(m, 1), ""), number(m, 4), "");
    LLVMValueRef pair = LLVMBuildShl(b, LLVMBuildAnd(b, lane, number(m, 1), ""), number(m, 1), "");
    LLVMValueRef column = LLVMBuildOr(b, half, pair, "");
    LLVMValueRef value = LLVMGetParam(function, 0), zero = LLVMConstNull(LLVMTypeOf(value));
    LLVMValueRef parts[2];
    for (unsigned i = 0; i < 2; i++) {
        LLVMValueRef at = LLVMBuildOr(b, column, number(m, i), "");
        parts[i] = LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntEQ, row, at, ""), value, zero, "");
    }
    return_tile(m, type, parts[0], parts[1]);
}

/* ---- loads and stores ---- */

struct tile_access {
    LLVMValueRef function, pointer, stride, transposed;
    LLVMTypeRef tile;
    bool is_store;
    enum igi_builtin builtin;
};

/* Numbers for rows and columns. */
static bool is_pair(struct iga_module *m, LLVMValueRef value) {
    LLVMTypeRef type = LLVMTypeOf(value);
    return LLVMGetTypeKind(type) == LLVMVectorTypeKind && LLVMGetVectorSize(type) == 2 &&
           LLVMGetElementType(type) == LLVMInt64TypeInContext(m->context);
}

/* Whether what follows the pointer is as find_place wants it. */
static bool is_place(struct iga_module *m, LLVMValueRef function, unsigned at) {
    LLVMValueRef second = LLVMGetParam(function, at + 1), third = LLVMGetParam(function, at + 2);
    LLVMValueRef fourth = LLVMGetParam(function, at + 3);
    return is_pair(m, third) && (LLVMTypeOf(second) == LLVMInt64TypeInContext(m->context)
                                     ? LLVMTypeOf(fourth) == LLVMInt1TypeInContext(m->context)
                                     : is_pair(m, fourth));
}

/* Until AIR 2.7 (…, pointer, elements per row, origin, transposed); since then (…, pointer, sizes,
 * strides, origin), where the row's stride is the first one in a transposed tile. */
static void find_place(struct iga_module *m, struct tile_access *access, unsigned at) {
    LLVMBuilderRef b = m->builder;
    LLVMTypeRef word = LLVMInt64TypeInContext(m->context);
    LLVMValueRef second = LLVMGetParam(access->function, at + 1);
    LLVMValueRef third = LLVMGetParam(access->function, at + 2);
    LLVMValueRef fourth = LLVMGetParam(access->function, at + 3);
    LLVMValueRef origin, row, column;
    if (LLVMTypeOf(second) == word) {
        origin = third;
        row = access->stride = second;
        column = LLVMConstInt(word, 1, false);
        access->transposed = fourth;
    } else {
        origin = fourth;
        column = element(m, third, 0);
        row = element(m, third, 1);
        access->transposed = LLVMBuildICmp(b, LLVMIntEQ, row, LLVMConstInt(word, 1, false), "");
        access->stride = LLVMBuildSelect(b, access->transposed, column, row, "");
    }
    LLVMValueRef offset = LLVMBuildAdd(b, LLVMBuildMul(b, element(m, origin, 0), column, ""),
                                       LLVMBuildMul(b, element(m, origin, 1), row, ""), "");
    access->pointer =
        LLVMBuildGEP2(b, LLVMGetElementType(access->tile), access->pointer, &offset, 1, "");
}

static void load_tile(struct iga_module *m, const struct tile_access *access, bool transposed) {
    LLVMTypeRef scalar = LLVMGetElementType(access->tile);
    LLVMTypeRef flag = LLVMInt1TypeInContext(m->context);
    LLVMValueRef parts[2];
    for (unsigned i = 0; i < 2; i++) {
        LLVMValueRef operands[] = {access->pointer, access->stride,
                                   LLVMConstInt(flag, transposed, false), number(m, i)};
        parts[i] = LLVMBuildBitCast(m->builder, iga_call_builtin(m, access->builtin, operands, 4),
                                    scalar, "");
    }
    return_tile(m, access->tile, parts[0], parts[1]);
}

static void store_tile(struct iga_module *m, const struct tile_access *access, bool transposed) {
    LLVMTypeRef scalar = LLVMGetElementType(access->tile);
    LLVMTypeRef bits =
        LLVMIntTypeInContext(m->context, LLVMGetTypeKind(scalar) == LLVMFloatTypeKind ? 32 : 16);
    LLVMValueRef tile = LLVMGetParam(access->function, 0);
    LLVMValueRef operands[] = {
        access->pointer,
        access->stride,
        LLVMConstInt(LLVMInt1TypeInContext(m->context), transposed, false),
        LLVMBuildBitCast(m->builder, element(m, tile, 0), bits, ""),
        LLVMBuildBitCast(m->builder, element(m, tile, 1), bits, ""),
    };
    iga_call_builtin(m, access->builtin, operands, 5);
    LLVMBuildRetVoid(m->builder);
}

/* The built-ins want a constant there, so there is a branch for each; one of them folds. */
static void both_ways(struct iga_module *m, const struct tile_access *access) {
    LLVMBasicBlockRef turned = LLVMAppendBasicBlockInContext(m->context, access->function, "");
    LLVMBasicBlockRef plain = LLVMAppendBasicBlockInContext(m->context, access->function, "");
    LLVMBuildCondBr(m->builder, access->transposed, turned, plain);
    LLVMPositionBuilderAtEnd(m->builder, turned);
    (access->is_store ? store_tile : load_tile)(m, access, true);
    LLVMPositionBuilderAtEnd(m->builder, plain);
    (access->is_store ? store_tile : load_tile)(m, access, false);
}

static bool access_tile(struct iga_module *m, LLVMValueRef function, bool is_store) {
    const unsigned at = is_store;
    if (LLVMCountParams(function) != at + 4 || !iga_takes_pointer(function, at) ||
        !is_place(m, function, at)) {
        return false;
    }
    LLVMValueRef pointer = LLVMGetParam(function, at);
    LLVMTypeRef given = LLVMGetReturnType(LLVMGlobalGetValueType(function));
    LLVMTypeRef tile = is_store ? LLVMTypeOf(LLVMGetParam(function, 0)) : given;
    if (!is_tile(tile) || (is_store && LLVMGetTypeKind(given) != LLVMVoidTypeKind)) {
        return false;
    }
    const unsigned space = LLVMGetPointerAddressSpace(LLVMTypeOf(pointer));
    if (space != INGOT_SPACE_DEVICE && space != INGOT_SPACE_THREADGROUP) {
        return false;
    }
    static const enum igi_builtin builtins[2][2][2] = {
        /* load or store, device or threadgroup, 32 or 16 bits */
        {{IGI_simdgroup_load_device_b32, IGI_simdgroup_load_device_b16},
         {IGI_simdgroup_load_threadgroup_b32, IGI_simdgroup_load_threadgroup_b16}},
        {{IGI_simdgroup_store_device_b32, IGI_simdgroup_store_device_b16},
         {IGI_simdgroup_store_threadgroup_b32, IGI_simdgroup_store_threadgroup_b16}},
    };
    const bool narrow = LLVMGetTypeKind(LLVMGetElementType(tile)) != LLVMFloatTypeKind;
    struct tile_access access = {
        .function = function,
        .pointer = pointer,
        .tile = tile,
        .is_store = is_store,
        .builtin = builtins[is_store][space == INGOT_SPACE_THREADGROUP][narrow],
    };
    find_place(m, &access, at);
    both_ways(m, &access);
    return true;
}

bool iga_define_matrix(struct iga_module *m, LLVMValueRef function, const char *name) {
    if (strncmp(name, prefix, sizeof prefix - 1)) {
        return false;
    }
    const char *operation = name + sizeof prefix - 1;
    LLVMTypeRef type = LLVMGetReturnType(LLVMGlobalGetValueType(function));
    const bool gives_tile = is_tile(type);
    const unsigned count = LLVMCountParams(function);
    const bool takes_element = gives_tile && count == 1 &&
                               LLVMTypeOf(LLVMGetParam(function, 0)) == LLVMGetElementType(type);
    if (!strncmp(operation, "multiply_accumulate.", 20) && gives_tile && count == 3 &&
        all_are_tiles(function)) {
        multiply(m, function, type);
    } else if (!strncmp(operation, "init_filled.", 12) && takes_element) {
        return_tile(m, type, LLVMGetParam(function, 0), LLVMGetParam(function, 0));
    } else if (!strncmp(operation, "init_diag.", 10) && takes_element) {
        diagonal(m, function, type);
    } else if (!strncmp(operation, "load.", 5) && gives_tile) {
        return access_tile(m, function, false);
    } else if (!strncmp(operation, "store.", 6)) {
        return access_tile(m, function, true);
    } else {
        return false;
    }
    return true;
}
