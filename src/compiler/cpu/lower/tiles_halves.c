/*
 * Products of tiles of half on 64-bit Arm with FEAT_FHM.
 *
 * fmlal and fmlal2 multiply the lower and the upper four of eight halves by one half, and add the
 * products, which are exact, to floats: fma(float(a), float(b), sum), the same bits as without. So
 * halves need not become floats first, and a row of the left side is one register.
 *
 * Requires groups (tiles.c), all operands of which are half that was made float.
 */
#include "compiler/cpu/lower/tiles.h"

static struct igt_tile *half_of(const struct igt_pass *pass, const struct igt_tile *tile) {
    return tile->kind == IGT_OPERATION &&
                   LLVMGetInstructionOpcode(tile->registers[0]) == LLVMFPExt &&
                   tile->operands[0]->element == pass->emit.f16
               ? tile->operands[0]
               : NULL;
}

bool igt_is_of_half(const struct igt_pass *pass, const struct igt_group *group) {
    for (unsigned c = 0; c < group->chain_count; c++) {
        for (const struct igt_tile *step = group->chains[c]; step; step = step->extended) {
            if (!half_of(pass, step->operands[0]) || !half_of(pass, step->operands[1])) {
                return false;
            }
        }
    }
    return true;
}

LLVMValueRef igt_half_left(struct igt_pass *pass, const struct igt_tile *left, unsigned row,
                           unsigned k) {
    LLVMValueRef line = igt_unit_row(pass, half_of(pass, left), NULL, row), mask[IGT_SIDE];
    for (unsigned i = 0; i < IGT_SIDE; i++) {
        mask[i] = igv_u32(&pass->emit, k);
    }
    return LLVMBuildShuffleVector(pass->emit.builder, line, LLVMGetPoison(LLVMTypeOf(line)),
                                  LLVMConstVector(mask, IGT_SIDE), "");
}

LLVMValueRef igt_half_right(struct igt_pass *pass, const struct igt_tile *right, unsigned k) {
    return igt_unit_row(pass, half_of(pass, right), NULL, k);
}

LLVMValueRef igt_half_product(struct igt_pass *pass, LLVMValueRef left, LLVMValueRef right,
                              LLVMValueRef sum) {
    struct igv_emit *emit = &pass->emit;
    LLVMTypeRef types[] = {LLVMVectorType(emit->f32, IGT_SIDE / 2), LLVMTypeOf(right)};
    LLVMValueRef low[] = {igl_part(emit, sum, 0, IGT_SIDE / 2), right, left};
    LLVMValueRef high[] = {igl_part(emit, sum, IGT_SIDE / 2, IGT_SIDE / 2), right, left};
    low[0] = igv_intrinsic(emit, "llvm.aarch64.neon.fmlal", types, 2, low, 3);
    return igl_join(emit, low[0],
                    igv_intrinsic(emit, "llvm.aarch64.neon.fmlal2", types, 2, high, 3));
}
