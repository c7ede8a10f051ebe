/*
 * Products of tiles of bfloat, two of k at a time, on CPUs with AVX512-BF16.
 *
 * vdpbf16ps adds to each float the products of two neighbours: fma(a[k], b[k], fma(a[k + 1],
 * b[k + 1], sum)), each rounded to nearest, numbers too small to be normal taken for zeros. The
 * vectoriser widens bfloat to float before a product, by integer operations; a group whose operands
 * are all such is multiplied as what was there before. A's neighbours are one broadcast of 32 bits;
 * B's rows are interleaved two by two. Tiles that lanes made are left alone: whether their bfloat
 * can be seen depends on what LLVM made of the rest of the kernel, and results shall not.
 *
 * Requires groups (tiles.c). Does not: mix both kinds of products in one group.
 */
#include "compiler/cpu/lower/tiles.h"

/* The operation that made all registers of a tile, if it is this one. */
static struct igt_tile *operand_of(const struct igt_tile *tile, LLVMOpcode opcode) {
    return tile->kind == IGT_OPERATION && LLVMGetInstructionOpcode(tile->registers[0]) == opcode
               ? tile->operands[0]
               : NULL;
}

static bool is_shift_by(const struct igt_tile *tile, uint64_t bits) {
    const struct igt_tile *by = tile->operands[1];
    LLVMValueRef number = by->kind == IGT_FILL && LLVMIsConstant(by->registers[0])
                              ? LLVMGetAggregateElement(by->registers[0], 0)
                              : NULL;
    return number && LLVMIsAConstantInt(number) && LLVMConstIntGetZExtValue(number) == bits;
}

struct igt_tile *igt_narrow(const struct igt_pass *pass, const struct igt_tile *tile) {
    const struct igt_tile *shifted = operand_of(tile, LLVMBitCast);
    const struct igt_tile *wide = shifted ? operand_of(shifted, LLVMShl) : NULL;
    struct igt_tile *narrow = wide && is_shift_by(shifted, 16) ? operand_of(wide, LLVMZExt) : NULL;
    return narrow && narrow->element == pass->emit.i16 ? narrow : NULL;
}

/* Did lanes make any of it, by thread_elements()? Phis hide that. */
static bool is_of_lanes(const struct igt_pass *pass, struct igt_tile *tile) {
    if (tile->kind == IGT_LANES || tile->searched == pass->searches) {
        return tile->kind == IGT_LANES;
    }
    tile->searched = pass->searches;
    unsigned count = tile->kind == IGT_PHI ? LLVMCountIncoming(tile->registers[0])
                     : tile->kind == IGT_OPERATION
                         ? (unsigned)LLVMGetNumOperands(tile->registers[0])
                         : 0;
    for (unsigned n = 0; n < count; n++) {
        if (is_of_lanes(pass, tile->kind == IGT_PHI ? tile->incoming[n] : tile->operands[n])) {
            return true;
        }
    }
    return false;
}

static bool is_narrow(const struct igt_pass *pass, const struct igt_tile *tile) {
    struct igt_tile *narrow = igt_narrow(pass, tile);
    return narrow && !is_of_lanes(pass, narrow);
}

bool igt_is_of_bfloat(struct igt_pass *pass, const struct igt_group *group) {
    pass->searches++;
    for (unsigned c = 0; c < group->chain_count; c++) {
        for (const struct igt_tile *step = group->chains[c]; step; step = step->extended) {
            if (!is_narrow(pass, step->operands[0]) || !is_narrow(pass, step->operands[1])) {
                return false;
            }
        }
    }
    return true;
}

/* ---- the left side --------------------------------------------------------------------------- */
/* Where neighbours of k can be read: where the tile was loaded from, or NULL. */
static const struct igt_tile *memory_of(const struct igt_pass *pass, struct igt_tile *narrow) {
    const struct igt_tile *load = igt_loaded(narrow);
    return load && igt_is_steady(pass, load) && !igt_is_transposed(load) ? load : NULL;
}

bool igt_pair_needs_copy(const struct igt_pass *pass, struct igt_tile *narrow) {
    return !memory_of(pass, narrow);
}

static LLVMValueRef pair_element(struct igt_pass *pass, struct igt_tile *narrow, unsigned row,
                                 unsigned k) {
    struct igv_emit *emit = &pass->emit;
    const struct igt_tile *load = memory_of(pass, narrow);
    LLVMValueRef address;
    if (load) {
        address = igt_element_address(pass, load->call, emit->i16, row, k);
    } else {
        LLVMValueRef index = igv_u64(emit, row * IGT_SIDE + k);
        address = LLVMBuildGEP2(emit->builder, emit->i16, narrow->copy, &index, 1, "");
    }
    LLVMValueRef element = LLVMBuildLoad2(emit->builder, emit->i32, address, "");
    LLVMSetAlignment(element, load ? 2 : 4);
    return element;
}

LLVMValueRef igt_pair_left(struct igt_pass *pass, const struct igt_tile *left, unsigned row,
                           unsigned k) {
    return pair_element(pass, igt_narrow(pass, left), row, k);
}

/* ---- the right side -------------------------------------------------------------------------- */
/* Elements of two vectors of `count` in turns, or of the halves of one. */
static LLVMValueRef interleave(struct igt_pass *pass, LLVMValueRef a, LLVMValueRef b,
                               unsigned count) {
    LLVMValueRef mask[4 * IGT_SIDE];
    for (unsigned i = 0; i < 2 * count; i++) {
        mask[i] = igv_u32(&pass->emit, i / 2 + i % 2 * count);
    }
    return LLVMBuildShuffleVector(pass->emit.builder, a, b, LLVMConstVector(mask, 2 * count), "");
}

/* Do rows of both tiles touch in memory, so that two of them are one vector? */
static bool rows_touch(const struct igt_pass *pass, struct igt_tile *left, struct igt_tile *right) {
    const struct igt_tile *a = igt_loaded(left), *b = right ? igt_loaded(right) : NULL;
    if (!a || !igt_is_steady(pass, a) || igt_is_transposed(a) ||
        (right && (!b || !igt_is_steady(pass, b) || !igt_is_beside(pass, left, right)))) {
        return false;
    }
    LLVMValueRef stride = LLVMGetOperand(a->call, 1);
    return LLVMIsAConstantInt(stride) &&
           LLVMConstIntGetZExtValue(stride) == (right ? 2 * IGT_SIDE : IGT_SIDE);
}

/* Does memory have them interleaved already, both tiles side by side? */
static bool lie_interleaved(const struct igt_pass *pass, struct igt_tile *left,
                            struct igt_tile *right) {
    const struct igt_tile *a = igt_loaded(left), *b = right ? igt_loaded(right) : a;
    if (!a || !b || !igt_is_paired(a) || !igt_is_paired(b) || igt_is_transposed(a) ||
        a->steady_for != pass->current_group || b->steady_for != pass->current_group) {
        return false;
    }
    return !right || igt_calls_are_apart(pass, a->call, b->call, 2 * IGT_SIDE * sizeof(uint16_t));
}

LLVMValueRef igt_pair_right(struct igt_pass *pass, const struct igt_tile *left,
                            const struct igt_tile *right, unsigned k) {
    struct igt_tile *a = igt_narrow(pass, left), *b = right ? igt_narrow(pass, right) : NULL;
    const unsigned width = right ? 2 * IGT_SIDE : IGT_SIDE;
    if (lie_interleaved(pass, a, b)) {
        return igt_load_line(pass, igt_loaded(a), k / 2, 2 * width);
    }
    if (rows_touch(pass, a, b)) {
        LLVMValueRef both = igt_load_line(pass, igt_loaded(a), k, 2 * width);
        return interleave(pass, both, LLVMGetPoison(LLVMTypeOf(both)), width);
    }
    LLVMValueRef even = igt_unit_row(pass, a, b, k);
    return interleave(pass, even, igt_unit_row(pass, a, b, k + 1), width);
}

/* ---- the product ----------------------------------------------------------------------------- */
LLVMValueRef igt_pair_product(struct igt_pass *pass, LLVMValueRef left, LLVMValueRef right,
                              LLVMValueRef sum) {
    struct igv_emit *emit = &pass->emit;
    const unsigned count = LLVMGetVectorSize(LLVMTypeOf(right));
    LLVMTypeRef type = LLVMVectorType(LLVMBFloatTypeInContext(emit->context), count);
    LLVMValueRef args[] = {sum, LLVMBuildBitCast(emit->builder, left, type, ""),
                           LLVMBuildBitCast(emit->builder, right, type, "")};
    return igv_intrinsic(emit,
                         count == 4 * IGT_SIDE ? "llvm.x86.avx512bf16.dpbf16ps.512"
                                               : "llvm.x86.avx512bf16.dpbf16ps.256",
                         NULL, 0, args, 3);
}
