/*
 * The operators of reductions and scans over the lanes: the halving tree and the prefix.
 *
 * The tree's order is part of the contract (prelude/ingot_builtins.h): lane i with i + 16, then
 * i + 8, and so on, whatever the chunk width, so that results agree between targets.
 */
#include "compiler/cpu/lower/lower.h"

static LLVMTypeRef element_type(LLVMValueRef value) {
    LLVMTypeRef type = LLVMTypeOf(value);
    return LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetElementType(type) : type;
}

static bool is_float(LLVMTypeRef scalar) {
    LLVMTypeKind kind = LLVMGetTypeKind(scalar);
    return kind == LLVMFloatTypeKind || kind == LLVMHalfTypeKind || kind == LLVMDoubleTypeKind;
}

LLVMValueRef igl_apply(struct igv_emit *emit, enum igl_operator op, LLVMValueRef a,
                       LLVMValueRef b) {
    bool floating = is_float(element_type(a));
    LLVMValueRef args[] = {a, b};
    LLVMTypeRef type = LLVMTypeOf(a);
    switch (op) {
    case IGL_ADD:
        return floating ? LLVMBuildFAdd(emit->builder, a, b, "")
                        : LLVMBuildAdd(emit->builder, a, b, "");
    case IGL_MUL:
        return floating ? LLVMBuildFMul(emit->builder, a, b, "")
                        : LLVMBuildMul(emit->builder, a, b, "");
    case IGL_MIN:
        return igl_call(emit, floating ? "llvm.minnum" : "llvm.smin", type, args, 2);
    case IGL_MAX:
        return igl_call(emit, floating ? "llvm.maxnum" : "llvm.smax", type, args, 2);
    case IGL_UMIN:
        return igl_call(emit, "llvm.umin", type, args, 2);
    case IGL_UMAX:
        return igl_call(emit, "llvm.umax", type, args, 2);
    case IGL_AND:
        return LLVMBuildAnd(emit->builder, a, b, "");
    case IGL_OR:
        return LLVMBuildOr(emit->builder, a, b, "");
    case IGL_XOR:
        return LLVMBuildXor(emit->builder, a, b, "");
    }
    return a;
}

LLVMValueRef igl_identity(struct igv_emit *emit, enum igl_operator op, LLVMTypeRef scalar) {
    (void)emit;
    if (is_float(scalar)) {
        /* minnum and maxnum ignore a NaN; -0 changes no addend, not even -0 */
        if (op == IGL_ADD) {
            return LLVMConstReal(scalar, -0.0);
        }
        return op == IGL_MUL ? LLVMConstReal(scalar, 1.0) : LLVMConstRealOfString(scalar, "nan");
    }
    unsigned bits = LLVMGetIntTypeWidth(scalar);
    uint64_t ones = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
    uint64_t top = UINT64_C(1) << (bits - 1);
    switch (op) {
    case IGL_MUL:
        return LLVMConstInt(scalar, 1, false);
    case IGL_MIN:
        return LLVMConstInt(scalar, ones ^ top, false);
    case IGL_MAX:
        return LLVMConstInt(scalar, top, false);
    case IGL_UMIN:
    case IGL_AND:
        return LLVMConstInt(scalar, ones, false);
    case IGL_ADD:
    case IGL_UMAX:
    case IGL_OR:
    case IGL_XOR:
        break;
    }
    return LLVMConstInt(scalar, 0, false);
}

struct igl_chunks igl_active_or(struct igv_emit *emit, LLVMValueRef value, LLVMValueRef fill) {
    struct igl_chunks result = igl_vectors(emit, value);
    if (igv_mask_is_full(emit)) {
        return result;
    }
    LLVMValueRef splat = igv_splat(emit, fill);
    for (unsigned c = 0; c < emit->chunks; c++) {
        result.chunk[c] =
            LLVMBuildSelect(emit->builder, igv_mask(emit, c), result.chunk[c], splat, "");
    }
    return result;
}

LLVMValueRef igl_reduce(struct igv_emit *emit, enum igl_operator op, struct igl_chunks value) {
    for (unsigned half = emit->chunks / 2; half; half /= 2) {
        for (unsigned c = 0; c < half; c++) {
            value.chunk[c] = igl_apply(emit, op, value.chunk[c], value.chunk[c + half]);
        }
    }
    LLVMValueRef vector = value.chunk[0];
    for (unsigned half = emit->lanes / 2; half; half /= 2) {
        vector = igl_apply(emit, op, igl_part(emit, vector, 0, half),
                           igl_part(emit, vector, half, half));
    }
    return LLVMBuildExtractElement(emit->builder, vector, igv_u32(emit, 0), "");
}

/* `vector` moved up by `distance` lanes, with `fill` coming in below. */
static LLVMValueRef moved_up(struct igv_emit *emit, LLVMValueRef vector, LLVMValueRef fill,
                             unsigned distance) {
    LLVMValueRef sources[] = {vector, fill};
    struct igl_pick picks[IGL_WIDTH];
    for (unsigned i = 0; i < emit->lanes; i++) {
        picks[i] = i < distance ? (struct igl_pick){1, (uint16_t)(emit->lanes - distance + i)}
                                : (struct igl_pick){0, (uint16_t)(i - distance)};
    }
    return igl_permute(emit, sources, emit->lanes, picks, emit->lanes);
}

struct igl_chunks igl_scan(struct igv_emit *emit, enum igl_operator op, struct igl_chunks value,
                           bool exclusive, LLVMValueRef identity) {
    LLVMValueRef fill = igv_splat(emit, identity);
    LLVMValueRef before = fill; /* every lane: the total of the chunks before */
    struct igl_chunks result = {{NULL}};
    for (unsigned c = 0; c < emit->chunks; c++) {
        LLVMValueRef prefix = value.chunk[c];
        for (unsigned distance = 1; distance < emit->lanes; distance *= 2) {
            prefix = igl_apply(emit, op, moved_up(emit, prefix, fill, distance), prefix);
        }
        if (c) {
            prefix = igl_apply(emit, op, before, prefix);
        }
        result.chunk[c] = exclusive ? moved_up(emit, prefix, before, 1) : prefix;
        struct igl_pick last[IGL_WIDTH];
        for (unsigned i = 0; i < emit->lanes; i++) {
            last[i] = (struct igl_pick){0, (uint16_t)(emit->lanes - 1)};
        }
        before = igl_permute(emit, &prefix, emit->lanes, last, emit->lanes);
    }
    return result;
}
