/*
 * Products of tiles of 8-bit integers on 64-bit Arm with FEAT_I8MM.
 *
 * smmla, ummla and usmmla add to a square of 2 by 2 integers the products of two lines of eight
 * bytes with two lines of eight: all k of a tile. What a group adds to its sums is made in integers
 * and becomes float once. That gives the bits of a chain of fused multiply-adds as long as that is
 * exact, which it is where tiles of bytes are loaded: in the prelude, which ends a chain in float
 * after 256 of k.
 *
 * Requires groups (tiles.c), all operands of which are bytes as they were loaded. Sums are kept as
 * tiles_squares.c does.
 */
#include "compiler/cpu/lower/tiles.h"

enum { LEFT, RIGHT, SQUARE = 2, SQUARES = IGT_SIDE / SQUARE, VECTOR = SQUARE * IGT_SIDE };

static struct igt_tile *under(const struct igt_tile *tile, LLVMOpcode opcode) {
    return tile->kind == IGT_OPERATION && LLVMGetInstructionOpcode(tile->registers[0]) == opcode
               ? tile->operands[0]
               : NULL;
}

/* The bytes that a tile of float was made of, or NULL. */
static struct igt_tile *bytes_of(const struct igt_pass *pass, struct igt_tile *tile,
                                 bool *is_signed) {
    struct igt_tile *from;
    while ((from = under(tile, LLVMFPExt)) || (from = under(tile, LLVMFPTrunc))) {
        tile = from; /* half is exact for them, too */
    }
    struct igt_tile *as_signed = under(tile, LLVMSIToFP), *as_unsigned = under(tile, LLVMUIToFP);
    from = as_signed ? as_signed : as_unsigned;
    *is_signed = as_signed != NULL;
    if (from && under(from, LLVMSExt) && as_signed) {
        from = under(from, LLVMSExt);
    } else if (from && under(from, LLVMZExt)) {
        from = under(from, LLVMZExt);
        *is_signed = false;
    }
    from = from ? igt_loaded(from) : NULL;
    return from && from->element == pass->emit.i8 ? from : NULL;
}

bool igt_is_of_bytes(const struct igt_pass *pass, const struct igt_group *group) {
    for (unsigned c = 0; c < group->chain_count; c++) {
        for (const struct igt_tile *step = group->chains[c]; step; step = step->extended) {
            bool left_is_signed, right_is_signed;
            if (!bytes_of(pass, step->operands[0], &left_is_signed) ||
                !bytes_of(pass, step->operands[1], &right_is_signed) ||
                (left_is_signed && !right_is_signed)) { /* there is no summla */
                return false;
            }
        }
    }
    return true;
}

/* ---- operands -------------------------------------------------------------------------------- */
/* Pieces of `size` elements of a and b in turns, from `first` of each on. */
static LLVMValueRef in_turns(struct igt_pass *pass, LLVMValueRef a, LLVMValueRef b, unsigned first,
                             unsigned size) {
    LLVMValueRef mask[VECTOR];
    const unsigned length = LLVMGetVectorSize(LLVMTypeOf(a));
    for (unsigned i = 0; i < VECTOR; i++) {
        const unsigned piece = i / size;
        mask[i] = igv_u32(&pass->emit, piece % 2 * length + first + piece / 2 * size + i % size);
    }
    return LLVMBuildShuffleVector(pass->emit.builder, a, b, LLVMConstVector(mask, VECTOR), "");
}

/* Two lines along k in each: rows of the left side, columns of the right one. */
static void vectors_of(struct igt_pass *pass, struct igt_tile *bytes, unsigned side,
                       LLVMValueRef vectors[SQUARES]) {
    const bool again = bytes->steady_for == pass->current_group; /* it can be loaded here */
    const bool turned = again && igt_is_transposed(bytes);
    LLVMValueRef lines[IGT_SIDE], pairs[IGT_SIDE / 2], fours[IGT_SIDE / 2];
    for (unsigned i = 0; i < IGT_SIDE; i++) {
        lines[i] =
            turned ? igt_load_line(pass, bytes, i, IGT_SIDE) : igt_unit_row(pass, bytes, NULL, i);
    }
    if ((side == LEFT) != turned) {
        for (unsigned n = 0; n < SQUARES; n++) {
            vectors[n] = in_turns(pass, lines[2 * n], lines[2 * n + 1], 0, IGT_SIDE);
        }
        return;
    }
    for (unsigned i = 0; i < IGT_SIDE / 2; i++) {
        pairs[i] = in_turns(pass, lines[2 * i], lines[2 * i + 1], 0, 1);
    }
    for (unsigned i = 0; i < IGT_SIDE / 2; i++) { /* the left four columns of k to k + 3, … */
        fours[i] = in_turns(pass, pairs[i / 2 * 2], pairs[i / 2 * 2 + 1], i % 2 * IGT_SIDE, 2);
    }
    for (unsigned n = 0; n < SQUARES; n++) {
        vectors[n] = in_turns(pass, fours[n / 2], fours[2 + n / 2], n % 2 * IGT_SIDE, 4);
    }
}

/* ---- products -------------------------------------------------------------------------------- */
static void add_products(struct igt_pass *pass, const struct igt_tile *tile,
                         LLVMValueRef sums[SQUARES][SQUARES]) {
    static const char *const names[2][2] = {
        {"llvm.aarch64.neon.ummla", "llvm.aarch64.neon.usmmla"},
        {NULL, "llvm.aarch64.neon.smmla"},
    };
    struct igv_emit *emit = &pass->emit;
    bool left_is_signed, right_is_signed;
    LLVMValueRef rows[SQUARES], columns[SQUARES];
    vectors_of(pass, bytes_of(pass, tile->operands[0], &left_is_signed), LEFT, rows);
    vectors_of(pass, bytes_of(pass, tile->operands[1], &right_is_signed), RIGHT, columns);
    LLVMTypeRef types[] = {LLVMTypeOf(sums[0][0]), LLVMTypeOf(rows[0])};
    for (unsigned r = 0; r < SQUARES; r++) {
        for (unsigned c = 0; c < SQUARES; c++) {
            LLVMValueRef args[] = {sums[r][c], rows[r], columns[c]};
            sums[r][c] =
                igv_intrinsic(emit, names[left_is_signed][right_is_signed], types, 2, args, 3);
        }
    }
}

/* Each product's tile is what was there before and the integers so far. */
static void keep_sums(struct igt_pass *pass, struct igt_tile *tile,
                      const LLVMValueRef before[IGT_SIDE], LLVMValueRef sums[SQUARES][SQUARES]) {
    struct igv_emit *emit = &pass->emit;
    LLVMTypeRef type = LLVMVectorType(emit->f32, IGT_SIDE);
    for (unsigned slot = 0; slot < IGT_SIDE; slot++) {
        LLVMValueRef both =
            igl_join(emit, sums[slot / 2][slot % 2 * 2], sums[slot / 2][slot % 2 * 2 + 1]);
        both = LLVMBuildSIToFP(emit->builder, both, type, "");
        tile->rows[slot] = LLVMBuildFAdd(emit->builder, before[slot], both, "");
    }
    tile->in_squares = true;
}

static void emit_chain(struct igt_pass *pass, struct igt_tile *chain) {
    LLVMValueRef before[IGT_SIDE], sums[SQUARES][SQUARES];
    for (unsigned slot = 0; slot < IGT_SIDE; slot++) {
        before[slot] = igt_square_pair(pass, chain->operands[2], slot);
    }
    for (unsigned n = 0; n < SQUARES * SQUARES; n++) {
        sums[n / SQUARES][n % SQUARES] =
            LLVMConstNull(LLVMVectorType(pass->emit.i32, SQUARE * SQUARE));
    }
    for (struct igt_tile *tile = chain; tile; tile = tile->extended) {
        add_products(pass, tile, sums);
        keep_sums(pass, tile, before, sums);
    }
}

void igt_emit_bytes(struct igt_pass *pass, struct igt_group *group) {
    for (unsigned c = 0; c < group->chain_count; c++) {
        emit_chain(pass, group->chains[c]);
    }
}
