/*
 * The operations on vectors that LLVM's scalarizer leaves: loads and stores, bitcasts that
 * change the number of elements, and reductions. All are written with extractelement and
 * insertelement, which the scalarizer knows.
 */
#include "compiler/cpu/prepare/prepare.h"
#include "compiler/ir/builtins.h"

#include <string.h>

static LLVMTypeRef element_type(LLVMTypeRef type) {
    return igv_is_vector(type) ? LLVMGetElementType(type) : type;
}

static unsigned element_count(LLVMTypeRef type) {
    return igv_is_vector(type) ? LLVMGetVectorSize(type) : 1;
}

static LLVMValueRef element(struct igc_kernel *kernel, LLVMValueRef value, unsigned index) {
    if (!igv_is_vector(LLVMTypeOf(value))) {
        return value;
    }
    return LLVMBuildExtractElement(kernel->builder, value, igc_integer(kernel->i32, index), "");
}

static unsigned bits_of(LLVMTypeRef type) {
    switch (LLVMGetTypeKind(type)) {
    case LLVMIntegerTypeKind:
        return LLVMGetIntTypeWidth(type);
    case LLVMHalfTypeKind:
    case LLVMBFloatTypeKind:
        return 16;
    case LLVMFloatTypeKind:
        return 32;
    case LLVMDoubleTypeKind:
        return 64;
    default:
        return 0;
    }
}

/* ---- bitcasts --------------------------------------------------------------------------- */
static bool is_reshaping_cast(struct igc_kernel *kernel, LLVMValueRef instruction) {
    (void)kernel;
    if (LLVMGetInstructionOpcode(instruction) != LLVMBitCast) {
        return false;
    }
    LLVMTypeRef to = LLVMTypeOf(instruction), from = LLVMTypeOf(LLVMGetOperand(instruction, 0));
    if (!igv_is_vector(to) && !igv_is_vector(from)) {
        return false;
    }
    return (element_count(to) != element_count(from) || igv_is_vector(to) != igv_is_vector(from)) &&
           bits_of(element_type(to)) && bits_of(element_type(from));
}

/* Bits [start, start + width) of the source as an integer of that width. */
static LLVMValueRef bits_at(struct igc_kernel *kernel, LLVMValueRef source, unsigned start,
                            unsigned width) {
    LLVMBuilderRef builder = kernel->builder;
    unsigned each = bits_of(element_type(LLVMTypeOf(source)));
    LLVMTypeRef piece_type = LLVMIntTypeInContext(kernel->context, each);
    LLVMTypeRef type = LLVMIntTypeInContext(kernel->context, width);
    LLVMValueRef result = NULL;
    for (unsigned at = start; at < start + width;) {
        unsigned skip = at % each;
        unsigned taken = each - skip < start + width - at ? each - skip : start + width - at;
        LLVMValueRef piece =
            LLVMBuildBitCast(builder, element(kernel, source, at / each), piece_type, "");
        if (skip) {
            piece = LLVMBuildLShr(builder, piece, igc_integer(piece_type, skip), "");
        }
        if (taken < each) {
            LLVMTypeRef part = LLVMIntTypeInContext(kernel->context, taken);
            piece = LLVMBuildTrunc(builder, piece, part, "");
        }
        if (taken < width) {
            piece = LLVMBuildZExt(builder, piece, type, "");
        }
        if (at > start) {
            piece = LLVMBuildShl(builder, piece, igc_integer(type, at - start), "");
        }
        result = result ? LLVMBuildOr(builder, result, piece, "") : piece;
        at += taken;
    }
    return result;
}

static void reshape(struct igc_kernel *kernel, LLVMValueRef cast) {
    LLVMTypeRef to = LLVMTypeOf(cast), type = element_type(to);
    LLVMValueRef source = LLVMGetOperand(cast, 0);
    unsigned count = element_count(to), width = bits_of(type);
    LLVMPositionBuilderBefore(kernel->builder, cast);
    LLVMValueRef result = LLVMGetPoison(to);
    for (unsigned i = 0; i < count; i++) {
        LLVMValueRef piece =
            LLVMBuildBitCast(kernel->builder, bits_at(kernel, source, i * width, width), type, "");
        result = igv_is_vector(to) ? LLVMBuildInsertElement(kernel->builder, result, piece,
                                                            igc_integer(kernel->i32, i), "")
                                   : piece;
    }
    igi_replace(cast, result);
}

/* ---- loads and stores ------------------------------------------------------------------------ */
static bool is_vector_access(struct igc_kernel *kernel, LLVMValueRef instruction) {
    (void)kernel;
    LLVMOpcode opcode = LLVMGetInstructionOpcode(instruction);
    return (opcode == LLVMLoad && igv_is_vector(LLVMTypeOf(instruction))) ||
           (opcode == LLVMStore && igv_is_vector(LLVMTypeOf(LLVMGetOperand(instruction, 0))));
}

static unsigned access_align(LLVMValueRef access, uint64_t offset) {
    unsigned align = LLVMGetAlignment(access);
    while (align > 1 && offset % align) {
        align /= 2;
    }
    return align ? align : 1;
}

/* Elements that do not fill bytes are packed in memory: the access is one of a whole integer,
 * which integers.c and the next round take apart. */
static void pack_access(struct igc_kernel *kernel, LLVMValueRef access, LLVMTypeRef type) {
    LLVMBuilderRef builder = kernel->builder;
    unsigned bits = bits_of(element_type(type)) * element_count(type);
    LLVMTypeRef packed = LLVMIntTypeInContext(kernel->context, bits);
    LLVMValueRef done;
    if (LLVMIsALoadInst(access)) {
        done = LLVMBuildLoad2(builder, packed, LLVMGetOperand(access, 0), "");
        LLVMSetAlignment(done, access_align(access, 0));
        igi_replace(access, LLVMBuildBitCast(builder, done, type, ""));
        return;
    }
    LLVMValueRef value = LLVMBuildBitCast(builder, LLVMGetOperand(access, 0), packed, "");
    done = LLVMBuildStore(builder, value, LLVMGetOperand(access, 1));
    LLVMSetAlignment(done, access_align(access, 0));
    LLVMInstructionEraseFromParent(access);
}

static void split_access(struct igc_kernel *kernel, LLVMValueRef access) {
    LLVMBuilderRef builder = kernel->builder;
    bool load = LLVMIsALoadInst(access) != NULL;
    LLVMValueRef value = load ? NULL : LLVMGetOperand(access, 0);
    LLVMValueRef pointer = LLVMGetOperand(access, load ? 0 : 1);
    LLVMTypeRef type = LLVMTypeOf(load ? access : value);
    LLVMPositionBuilderBefore(builder, access);
    if (bits_of(element_type(type)) % 8) {
        pack_access(kernel, access, type);
        return;
    }
    uint64_t size = LLVMStoreSizeOfType(kernel->layout, element_type(type));
    LLVMValueRef result = LLVMGetPoison(type);
    for (unsigned i = 0; i < element_count(type); i++) {
        LLVMValueRef address = igc_byte_offset(kernel, pointer, i * size), piece;
        if (load) {
            piece = LLVMBuildLoad2(builder, element_type(type), address, "");
            result =
                LLVMBuildInsertElement(builder, result, piece, igc_integer(kernel->i32, i), "");
        } else {
            piece = LLVMBuildStore(builder, element(kernel, value, i), address);
        }
        LLVMSetAlignment(piece, access_align(access, i * size));
        igv_copy_metadata(kernel, access, piece);
    }
    if (load) {
        igi_replace(access, result);
    } else {
        LLVMInstructionEraseFromParent(access);
    }
}

/* ---- reductions ---------------------------------------------------------------------------- */
static const struct {
    enum igi_intrinsic reduction;
    LLVMOpcode opcode;            /* or 0: */
    enum igi_intrinsic intrinsic; /* of two operands */
    bool has_start;
} reductions[] = {
    {IGI_LLVM_vector_reduce_fadd, LLVMFAdd, IGI_NO_INTRINSIC, true},
    {IGI_LLVM_vector_reduce_fmul, LLVMFMul, IGI_NO_INTRINSIC, true},
    {IGI_LLVM_vector_reduce_add, LLVMAdd, IGI_NO_INTRINSIC, false},
    {IGI_LLVM_vector_reduce_mul, LLVMMul, IGI_NO_INTRINSIC, false},
    {IGI_LLVM_vector_reduce_and, LLVMAnd, IGI_NO_INTRINSIC, false},
    {IGI_LLVM_vector_reduce_or, LLVMOr, IGI_NO_INTRINSIC, false},
    {IGI_LLVM_vector_reduce_xor, LLVMXor, IGI_NO_INTRINSIC, false},
    {IGI_LLVM_vector_reduce_smax, 0, IGI_LLVM_smax, false},
    {IGI_LLVM_vector_reduce_smin, 0, IGI_LLVM_smin, false},
    {IGI_LLVM_vector_reduce_umax, 0, IGI_LLVM_umax, false},
    {IGI_LLVM_vector_reduce_umin, 0, IGI_LLVM_umin, false},
    {IGI_LLVM_vector_reduce_fmax, 0, IGI_LLVM_maxnum, false},
    {IGI_LLVM_vector_reduce_fmin, 0, IGI_LLVM_minnum, false},
    {IGI_LLVM_vector_reduce_fmaximum, 0, IGI_LLVM_maximum, false},
    {IGI_LLVM_vector_reduce_fminimum, 0, IGI_LLVM_minimum, false},
};
static bool is_reduction(struct igc_kernel *kernel, LLVMValueRef instruction) {
    (void)kernel;
    return igi_intrinsic_flags_of(instruction) & IGI_I_REDUCES;
}

static LLVMValueRef combine(struct igc_kernel *kernel, size_t which, LLVMValueRef a, LLVMValueRef b,
                            LLVMValueRef call) {
    if (!reductions[which].intrinsic) {
        LLVMValueRef result = LLVMBuildBinOp(kernel->builder, reductions[which].opcode, a, b, "");
        if (LLVMIsAInstruction(result) && LLVMCanValueUseFastMathFlags(result)) {
            LLVMSetFastMathFlags(result, LLVMGetFastMathFlags(call));
        }
        return result;
    }
    LLVMTypeRef type = LLVMTypeOf(a);
    unsigned id = igi_intrinsic_id(reductions[which].intrinsic);
    LLVMValueRef function = LLVMGetIntrinsicDeclaration(kernel->module, id, &type, 1);
    LLVMValueRef operands[2] = {a, b};
    return LLVMBuildCall2(kernel->builder, LLVMIntrinsicGetType(kernel->context, id, &type, 1),
                          function, operands, 2, "");
}

static void reduce(struct igc_kernel *kernel, LLVMValueRef call) {
    enum igi_intrinsic reduction = igi_intrinsic_of(call);
    size_t which = 0, count = sizeof reductions / sizeof *reductions;
    while (which < count && reductions[which].reduction != reduction) {
        which++;
    }
    if (which == count) {
        return;
    }
    bool start = reductions[which].has_start;
    LLVMValueRef vector = LLVMGetOperand(call, start ? 1 : 0);
    LLVMPositionBuilderBefore(kernel->builder, call);
    LLVMValueRef result = start ? LLVMGetOperand(call, 0) : NULL;
    for (unsigned i = 0; i < LLVMGetVectorSize(LLVMTypeOf(vector)); i++) {
        LLVMValueRef next = element(kernel, vector, i);
        result = result ? combine(kernel, which, result, next, call) : next;
    }
    igi_replace(call, result);
}

enum igc_result igv_prepare_vectors(struct igc_kernel *kernel) {
    struct igc_list accesses = igc_collect(kernel, is_vector_access);
    if (accesses.failed) {
        return igc_result_of(igc_out_of_memory(kernel));
    }
    for (size_t i = 0; i < accesses.count; i++) {
        split_access(kernel, accesses.items[i]);
    }
    struct igc_list casts = igc_collect(kernel, is_reshaping_cast);
    struct igc_list sums = igc_collect(kernel, is_reduction);
    if (casts.failed || sums.failed) {
        return igc_result_of(igc_out_of_memory(kernel));
    }
    for (size_t i = 0; i < casts.count; i++) {
        reshape(kernel, casts.items[i]);
    }
    for (size_t i = 0; i < sums.count; i++) {
        reduce(kernel, sums.items[i]);
    }
    return accesses.count || casts.count || sums.count ? IGC_CHANGED : IGC_UNCHANGED;
}
