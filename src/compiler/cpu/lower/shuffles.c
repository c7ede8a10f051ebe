/*
 * __ingot_simd_shuffle_*: each lane reads the value of the lane it names.
 *
 * From the cheapest: the same for all (a scalar), an index known at compile time (constant
 * shuffles), one register permute (AVX-512: two registers hold 32 lanes), permutes and blends
 * (AVX2), two look-ups of bytes in four registers each (aarch64), a stack array.
 */
#include <string.h>

#include "compiler/cpu/lower/lower.h"

static unsigned element_bits(struct igv_emit *emit, LLVMTypeRef scalar) {
    return (unsigned)LLVMSizeOfTypeInBits(emit->layout, scalar);
}

static bool is_x86(const struct igv_emit *emit, unsigned lanes) {
    return emit->lanes == lanes && emit->request->target->is_x86;
}

static struct igl_chunks shuffle_known(struct igv_emit *emit, const struct igl_chunks *value,
                                       const uint8_t lanes[IGL_WIDTH]) {
    struct igl_chunks result = {{NULL}};
    for (unsigned c = 0; c < emit->chunks; c++) {
        struct igl_pick picks[IGL_WIDTH];
        for (unsigned i = 0; i < emit->lanes; i++) {
            unsigned from = lanes[c * emit->lanes + i];
            picks[i] =
                (struct igl_pick){(uint16_t)(from / emit->lanes), (uint16_t)(from % emit->lanes)};
        }
        result.chunk[c] = igl_permute(emit, value->chunk, emit->lanes, picks, emit->lanes);
    }
    return result;
}

/* ---- 32-bit elements by register permutes --------------------------------------------------- */
static LLVMValueRef permute_avx512(struct igv_emit *emit, const LLVMValueRef *registers,
                                   unsigned count, LLVMValueRef index, bool floating) {
    if (count == 1) {
        LLVMValueRef args[] = {registers[0], index};
        return igv_intrinsic(
            emit, floating ? "llvm.x86.avx512.permvar.sf.512" : "llvm.x86.avx512.permvar.si.512",
            NULL, 0, args, 2);
    }
    LLVMValueRef args[] = {registers[0], index, registers[1]};
    return igv_intrinsic(
        emit, floating ? "llvm.x86.avx512.vpermi2var.ps.512" : "llvm.x86.avx512.vpermi2var.d.512",
        NULL, 0, args, 3);
}

static LLVMValueRef permute_avx2(struct igv_emit *emit, const LLVMValueRef *registers,
                                 unsigned count, LLVMValueRef index, bool floating) {
    LLVMBuilderRef builder = emit->builder;
    const char *name = floating ? "llvm.x86.avx2.permps" : "llvm.x86.avx2.permd";
    LLVMValueRef part[4], zero = LLVMConstNull(LLVMTypeOf(index));
    for (unsigned c = 0; c < count; c++) {
        LLVMValueRef args[] = {registers[c], index};
        part[c] = igv_intrinsic(emit, name, NULL, 0, args, 2);
    }
    for (unsigned bit = 8; count > 1; bit *= 2, count /= 2) {
        LLVMValueRef tested = LLVMBuildAnd(builder, index, igv_splat(emit, igv_u32(emit, bit)), "");
        LLVMValueRef upper = LLVMBuildICmp(builder, LLVMIntNE, tested, zero, "");
        for (unsigned c = 0; c < count / 2; c++) {
            part[c] = LLVMBuildSelect(builder, upper, part[2 * c + 1], part[2 * c], "");
        }
    }
    return part[0];
}

/* tbl: sixteen bytes, each out of up to 64 in `count` registers; 0 for an index beyond them. */
static LLVMValueRef look_up_bytes(struct igv_emit *emit, const LLVMValueRef *tables, unsigned count,
                                  LLVMValueRef index) {
    LLVMValueRef args[5];
    memcpy(args, tables, count * sizeof *args);
    args[count] = index;
    LLVMTypeRef type = LLVMTypeOf(index);
    return igv_intrinsic(emit, count == 4 ? "llvm.aarch64.neon.tbl4" : "llvm.aarch64.neon.tbl2",
                         &type, 1, args, count + 1);
}

/* Registers of eight 32-bit lanes, which are two of the machine's each. */
static LLVMValueRef permute_neon(struct igv_emit *emit, const LLVMValueRef *registers,
                                 unsigned count, LLVMValueRef index) {
    LLVMBuilderRef builder = emit->builder;
    LLVMTypeRef bytes = LLVMVectorType(LLVMInt8TypeInContext(emit->context), 16);
    LLVMValueRef tables[8], half[2];
    for (unsigned i = 0; i < 2 * count; i++) {
        tables[i] =
            LLVMBuildBitCast(builder, igl_part(emit, registers[i / 2], 4 * (i % 2), 4), bytes, "");
    }
    index = LLVMBuildAnd(builder, index, igv_splat(emit, igv_u32(emit, 8 * count - 1)), "");
    index = LLVMBuildMul(builder, index, igv_splat(emit, igv_u32(emit, 0x04040404u)), "");
    index = LLVMBuildAdd(builder, index, igv_splat(emit, igv_u32(emit, 0x03020100u)), "");
    for (unsigned i = 0; i < 2; i++) {
        LLVMValueRef at = LLVMBuildBitCast(builder, igl_part(emit, index, 4 * i, 4), bytes, "");
        half[i] = look_up_bytes(emit, tables, count == 1 ? 2 : 4, at);
        if (count == 4) {
            LLVMValueRef behind[16];
            for (unsigned k = 0; k < 16; k++) {
                behind[k] = LLVMConstInt(LLVMInt8TypeInContext(emit->context), 64, false);
            }
            at = LLVMBuildSub(builder, at, LLVMConstVector(behind, 16), "");
            half[i] = LLVMBuildOr(builder, half[i], look_up_bytes(emit, tables + 4, 4, at), "");
        }
        LLVMTypeRef lanes = LLVMVectorType(LLVMGetElementType(LLVMTypeOf(registers[0])), 4);
        half[i] = LLVMBuildBitCast(builder, half[i], lanes, "");
    }
    return igl_join(emit, half[0], half[1]);
}

static bool is_aarch64(const struct igv_emit *emit) {
    return emit->request->target->is_aarch64;
}

unsigned igl_most_registers(struct igv_emit *emit) {
    return is_x86(emit, 16) ? 2 : is_x86(emit, 8) || is_aarch64(emit) ? 4 : 0;
}

LLVMValueRef igl_permute_registers(struct igv_emit *emit, const LLVMValueRef *registers,
                                   unsigned count, LLVMValueRef index) {
    bool floating = LLVMGetElementType(LLVMTypeOf(registers[0])) == emit->f32;
    if (is_aarch64(emit)) {
        return permute_neon(emit, registers, count, index);
    }
    return emit->lanes == 16 ? permute_avx512(emit, registers, count, index, floating)
                             : permute_avx2(emit, registers, count, index, floating);
}

static struct igl_chunks permute_32(struct igv_emit *emit, const struct igl_chunks *value,
                                    const struct igl_chunks *index) {
    struct igl_chunks result = {{NULL}};
    for (unsigned c = 0; c < emit->chunks; c++) {
        result.chunk[c] = igl_permute_registers(emit, value->chunk, emit->chunks, index->chunk[c]);
    }
    return result;
}

static struct igl_chunks permute_16(struct igv_emit *emit, const struct igl_chunks *value,
                                    const struct igl_chunks *index) {
    LLVMBuilderRef builder = emit->builder;
    LLVMTypeRef narrow = igv_vector_type(emit, emit->i16), wide = igv_vector_type(emit, emit->i32);
    struct igl_chunks widened = {{NULL}};
    for (unsigned c = 0; c < emit->chunks; c++) {
        widened.chunk[c] = LLVMBuildZExt(builder, value->chunk[c], wide, "");
    }
    struct igl_chunks result = permute_32(emit, &widened, index);
    for (unsigned c = 0; c < emit->chunks; c++) {
        result.chunk[c] = LLVMBuildTrunc(builder, result.chunk[c], narrow, "");
    }
    return result;
}

static struct igl_chunks permute_64(struct igv_emit *emit, const struct igl_chunks *value,
                                    const struct igl_chunks *index) {
    LLVMBuilderRef builder = emit->builder;
    LLVMTypeRef wide = igv_vector_type(emit, emit->i64), half = igv_vector_type(emit, emit->i32);
    LLVMValueRef shift = igv_splat(emit, igv_u64(emit, 32));
    struct igl_chunks low = {{NULL}}, high = {{NULL}};
    for (unsigned c = 0; c < emit->chunks; c++) {
        low.chunk[c] = LLVMBuildTrunc(builder, value->chunk[c], half, "");
        LLVMValueRef upper = LLVMBuildLShr(builder, value->chunk[c], shift, "");
        high.chunk[c] = LLVMBuildTrunc(builder, upper, half, "");
    }
    low = permute_32(emit, &low, index);
    high = permute_32(emit, &high, index);
    for (unsigned c = 0; c < emit->chunks; c++) {
        LLVMValueRef upper = LLVMBuildZExt(builder, high.chunk[c], wide, "");
        low.chunk[c] = LLVMBuildOr(builder, LLVMBuildShl(builder, upper, shift, ""),
                                   LLVMBuildZExt(builder, low.chunk[c], wide, ""), "");
    }
    return low;
}

/* ---- any target -------------------------------------------------------------------------------
 */
static struct igl_chunks permute_in_memory(struct igv_emit *emit, LLVMValueRef value,
                                           const struct igl_chunks *index) {
    LLVMBuilderRef builder = emit->builder;
    LLVMTypeRef scalar = LLVMTypeOf(value);
    LLVMValueRef low_bits = igv_splat(emit, igv_u32(emit, IGL_WIDTH - 1));
    LLVMValueRef array = igl_lane_array(emit, scalar);
    struct igl_chunks result = {{NULL}};
    for (unsigned c = 0; c < emit->chunks; c++) {
        LLVMValueRef first = igv_u32(emit, c * emit->lanes);
        LLVMValueRef to = LLVMBuildGEP2(builder, scalar, array, &first, 1, "");
        LLVMSetAlignment(LLVMBuildStore(builder, igv_vector(emit, value, c), to),
                         LLVMABIAlignmentOfType(emit->layout, scalar));
    }
    for (unsigned c = 0; c < emit->chunks; c++) {
        LLVMValueRef wrapped = LLVMBuildAnd(builder, index->chunk[c], low_bits, "");
        LLVMValueRef vector = LLVMGetPoison(igv_vector_type(emit, scalar));
        for (unsigned i = 0; i < emit->lanes; i++) {
            LLVMValueRef lane = LLVMBuildExtractElement(builder, wrapped, igv_u32(emit, i), "");
            LLVMValueRef from = LLVMBuildGEP2(builder, scalar, array, &lane, 1, "");
            vector = LLVMBuildInsertElement(
                builder, vector, LLVMBuildLoad2(builder, scalar, from, ""), igv_u32(emit, i), "");
        }
        result.chunk[c] = vector;
    }
    return result;
}

static struct igl_chunks shuffle_by(struct igv_emit *emit, LLVMValueRef value,
                                    const struct igl_chunks *index) {
    LLVMTypeRef scalar = LLVMTypeOf(value);
    if (!igl_most_registers(emit)) {
        return permute_in_memory(emit, value, index);
    }
    struct igl_chunks chunks = igl_vectors(emit, value);
    switch (element_bits(emit, scalar)) {
    case 16:
        return permute_16(emit, &chunks, index);
    case 32:
        return permute_32(emit, &chunks, index);
    case 64:
        return permute_64(emit, &chunks, index);
    default:
        return permute_in_memory(emit, value, index);
    }
}

static LLVMValueRef value_of_lane(struct igv_emit *emit, LLVMValueRef value, LLVMValueRef lane) {
    uint64_t number;
    if (igl_constant(lane, &number)) {
        unsigned from = (unsigned)(number % IGL_WIDTH);
        return LLVMBuildExtractElement(emit->builder, igv_vector(emit, value, from / emit->lanes),
                                       igv_u32(emit, from % emit->lanes), "");
    }
    if (is_x86(emit, 16) && element_bits(emit, LLVMTypeOf(value)) == 32) {
        struct igl_chunks chunks = igl_vectors(emit, value);
        LLVMValueRef splat =
            igl_permute_registers(emit, chunks.chunk, emit->chunks, igv_splat(emit, lane));
        return LLVMBuildExtractElement(emit->builder, splat, igv_u32(emit, 0), "");
    }
    lane = LLVMBuildAnd(emit->builder, lane, igv_u32(emit, IGL_WIDTH - 1), "");
    return igv_extract(emit, value, lane);
}

void igl_shuffle(struct igv_emit *emit, LLVMValueRef call) {
    LLVMValueRef value = igl_operand(call, 0), lane = igl_operand(call, 1);
    uint8_t known[IGL_WIDTH];
    if (igv_shape_of(emit, value) == IGV_UNIFORM) {
        igl_define_uniform(emit, call, igv_scalar(emit, value));
    } else if (igv_shape_of(emit, lane) == IGV_UNIFORM) {
        igl_define_uniform(emit, call, value_of_lane(emit, value, igv_scalar(emit, lane)));
    } else if (igl_known_lanes(lane, known)) {
        struct igl_chunks chunks = igl_vectors(emit, value);
        chunks = shuffle_known(emit, &chunks, known);
        igl_define_chunks(emit, call, &chunks);
    } else {
        struct igl_chunks index = igl_vectors(emit, lane);
        struct igl_chunks result = shuffle_by(emit, value, &index);
        igl_define_chunks(emit, call, &result);
    }
}
