/*
 * Products of tiles of bfloat, four of k at a time, on 64-bit Arm with FEAT_BF16.
 *
 * bfmmla adds to a square of 2 by 2 sums the products of two lines of four with two lines of four:
 * sum = odd(sum + odd(a[k] * b[k] + a[k + 1] * b[k + 1])) for the first two of k, then for the next
 * two, where odd() rounds to odd, and numbers too small to be normal count as zeros.
 *
 * A sum is kept as pairs of squares, in loops too, and becomes rows where something else reads it.
 * The vectors of an operand are two lines of the left side, or two columns of the right one, four
 * of k each. What more than one product of a group needs is made once, and lies on the stack.
 *
 * Requires groups of bfloat (tiles.c, tiles_pairs.c). Does not: take tiles of lanes.
 */
#include "compiler/cpu/lower/tiles.h"

enum {
    LEFT,
    RIGHT,
    SQUARE = 2,                  /* rows and columns of it */
    SQUARES = IGT_SIDE / SQUARE, /* in a row of the tile */
    DEPTH = 4,                   /* of k, of one instruction */
    STEPS = IGT_SIDE / DEPTH,    /* of a tile */
    VECTOR = SQUARE * DEPTH,     /* elements of an operand */
    TILE_BYTES = SQUARES * STEPS * 2 * VECTOR,
    MOST_BYTES = 128 * TILE_BYTES, /* on the stack, for one group */
};

static LLVMValueRef shuffle(struct igt_pass *pass, LLVMValueRef a, LLVMValueRef b,
                            const unsigned indices[IGT_SIDE]) {
    LLVMValueRef mask[IGT_SIDE];
    for (unsigned i = 0; i < IGT_SIDE; i++) {
        mask[i] = igv_u32(&pass->emit, indices[i]);
    }
    return LLVMBuildShuffleVector(pass->emit.builder, a, b, LLVMConstVector(mask, IGT_SIDE), "");
}

/* ---- sums ------------------------------------------------------------------------------------ */
LLVMValueRef igt_row_of_squares(struct igt_pass *pass, const struct igt_tile *tile, unsigned row) {
    unsigned indices[IGT_SIDE];
    for (unsigned c = 0; c < IGT_SIDE; c++) {
        indices[c] = c / SQUARE * SQUARE * SQUARE + row % SQUARE * SQUARE + c % SQUARE;
    }
    return shuffle(pass, tile->rows[row / SQUARE * 2], tile->rows[row / SQUARE * 2 + 1], indices);
}

static bool has_squares(const struct igt_tile *tile) {
    if (tile->kind == IGT_OPERATION) {
        for (int o = 0; o < LLVMGetNumOperands(tile->registers[0]); o++) {
            if (has_squares(tile->operands[o])) {
                return true;
            }
        }
    }
    return tile->kind == IGT_PRODUCT ? tile->group->squares : tile->in_squares;
}

LLVMValueRef igt_square_pair(struct igt_pass *pass, struct igt_tile *tile, unsigned slot) {
    if (tile->kind == IGT_FILL) {
        return igt_filled(pass, tile, IGT_SIDE);
    }
    if (tile->kind == IGT_OPERATION && has_squares(tile)) {
        LLVMValueRef operands[IGT_MAX_OPERANDS];
        for (int o = 0; o < LLVMGetNumOperands(tile->registers[0]); o++) {
            operands[o] = igt_square_pair(pass, tile->operands[o], slot);
        }
        return igt_operate(pass, tile, operands, IGT_SIDE);
    }
    igt_need_group(pass, tile);
    if (tile->in_squares) {
        return tile->rows[slot];
    }
    unsigned indices[IGT_SIDE], row = slot / 2 * SQUARE, column = slot % 2 * IGT_SIDE / 2;
    for (unsigned i = 0; i < IGT_SIDE; i++) {
        indices[i] = i / 2 % 2 * IGT_SIDE + column + i / 4 * SQUARE + i % 2;
    }
    LLVMValueRef upper = igt_unit_row(pass, tile, NULL, row);
    return shuffle(pass, upper, igt_unit_row(pass, tile, NULL, row + 1), indices);
}

/* Does a loop or branch bring sums in squares, or lead them on to where they are? */
static bool joins_squares(const struct igt_tile *phi) {
    for (unsigned n = 0; n < LLVMCountIncoming(phi->registers[0]); n++) {
        if (has_squares(igt_under_casts(phi->incoming[n]))) {
            return true;
        }
    }
    return false;
}

/* LLVM may have made a phi of integers of it. */
static bool is_sum(const struct igt_pass *pass, const struct igt_tile *tile) {
    return tile->kind == IGT_PHI && !tile->in_squares &&
           (tile->element == pass->emit.f32 || tile->element == pass->emit.i32);
}

void igt_find_square_phis(struct igt_pass *pass) {
    bool any = false, changed = true;
    for (struct igt_group *g = pass->first_group; g; g = g->next) {
        any |= g->squares;
        for (unsigned c = 0; g->squares && c < g->chain_count; c++) {
            struct igt_tile *added = igt_under_casts(g->chains[c]->operands[2]);
            added->in_squares |= is_sum(pass, added);
        }
    }
    while (any && changed) {
        changed = false;
        for (struct igt_tile *t = pass->first_tile; t; t = t->next) {
            if (is_sum(pass, t) && joins_squares(t)) {
                t->in_squares = changed = true;
            }
            for (unsigned n = 0;
                 t->kind == IGT_PHI && t->in_squares && n < LLVMCountIncoming(t->registers[0]);
                 n++) {
                struct igt_tile *from = igt_under_casts(t->incoming[n]);
                if (is_sum(pass, from)) {
                    from->in_squares = changed = true;
                }
            }
        }
    }
}

/* ---- operands -------------------------------------------------------------------------------- */
/* Two lines of memory or of the tile, along k: four of each. */
static LLVMValueRef from_lines(struct igt_pass *pass, LLVMValueRef first, LLVMValueRef second,
                               unsigned step) {
    unsigned indices[VECTOR];
    for (unsigned i = 0; i < VECTOR; i++) {
        indices[i] = i / DEPTH * IGT_SIDE + step * DEPTH + i % DEPTH;
    }
    return shuffle(pass, first, second, indices);
}

/* The vectors of four lines that lie across k: neighbours of k are interleaved, then pairs of them.
 * `lines`: k and k + 1 interleaved, the lower half and the upper one, then those of k + 2. */
static void from_pairs(struct igt_pass *pass, LLVMValueRef lines[4],
                       LLVMValueRef vectors[SQUARES]) {
    for (unsigned n = 0; n < SQUARES; n++) {
        unsigned indices[VECTOR];
        for (unsigned i = 0; i < VECTOR; i++) {
            unsigned column = n % 2 * SQUARE + i / DEPTH, k = i % DEPTH;
            indices[i] = k / 2 * IGT_SIDE + 2 * column + k % 2;
        }
        vectors[n] = shuffle(pass, lines[n / 2], lines[2 + n / 2], indices);
    }
}

static void interleave(struct igt_pass *pass, LLVMValueRef even, LLVMValueRef odd,
                       LLVMValueRef halves[2]) {
    for (unsigned h = 0; h < 2; h++) {
        unsigned indices[IGT_SIDE];
        for (unsigned i = 0; i < IGT_SIDE; i++) {
            indices[i] = i % 2 * IGT_SIDE + h * IGT_SIDE / 2 + i / 2;
        }
        halves[h] = shuffle(pass, even, odd, indices);
    }
}

/* The load of a tile that can be read again here. */
static const struct igt_tile *steady_load(const struct igt_pass *pass, struct igt_tile *narrow) {
    const struct igt_tile *load = igt_loaded(narrow);
    return load && load->steady_for == pass->current_group ? load : NULL;
}

/* The vectors of one step of k of a tile. */
static void make_vectors(struct igt_pass *pass, struct igt_tile *narrow, unsigned side,
                         unsigned step, LLVMValueRef vectors[SQUARES]) {
    const struct igt_tile *load = steady_load(pass, narrow);
    LLVMValueRef halves[4];
    if (load && igt_is_paired(load) && side == RIGHT) {
        for (unsigned p = 0; p < 2; p++) {
            LLVMValueRef line = igt_load_line(pass, load, step * 2 + p, 2 * IGT_SIDE);
            halves[2 * p] = igl_part(&pass->emit, line, 0, IGT_SIDE);
            halves[2 * p + 1] = igl_part(&pass->emit, line, IGT_SIDE, IGT_SIDE);
        }
        from_pairs(pass, halves, vectors);
        return;
    }
    const bool turned = load && !igt_is_paired(load) && igt_is_transposed(load);
    LLVMValueRef lines[IGT_SIDE];
    const bool along_k = (side == LEFT) != turned;
    for (unsigned i = 0; i < IGT_SIDE; i++) {
        if (along_k || i / DEPTH == step) {
            lines[i] = turned ? igt_load_line(pass, load, i, IGT_SIDE)
                              : igt_unit_row(pass, narrow, NULL, i);
        }
    }
    if (along_k) {
        for (unsigned n = 0; n < SQUARES; n++) {
            vectors[n] = from_lines(pass, lines[2 * n], lines[2 * n + 1], step);
        }
        return;
    }
    interleave(pass, lines[step * DEPTH], lines[step * DEPTH + 1], halves);
    interleave(pass, lines[step * DEPTH + 2], lines[step * DEPTH + 3], halves + 2);
    from_pairs(pass, halves, vectors);
}

static LLVMValueRef vector_place(struct igt_pass *pass, unsigned at, unsigned step, unsigned n) {
    LLVMValueRef index = igv_u64(&pass->emit, at + (step * SQUARES + n) * 2 * VECTOR);
    return LLVMBuildGEP2(pass->emit.builder, pass->emit.i8, pass->operands, &index, 1, "");
}

static void vectors_of(struct igt_pass *pass, struct igt_tile *narrow, unsigned side, unsigned step,
                       LLVMValueRef vectors[SQUARES]) {
    if (narrow->squares_for[side] != pass->current_group) {
        make_vectors(pass, narrow, side, step, vectors);
        return;
    }
    for (unsigned n = 0; n < SQUARES; n++) {
        vectors[n] = LLVMBuildLoad2(pass->emit.builder, LLVMVectorType(pass->emit.i16, VECTOR),
                                    vector_place(pass, narrow->squares_at[side], step, n), "");
        LLVMSetAlignment(vectors[n], 2 * VECTOR);
    }
}

/* ---- operands of several products ------------------------------------------------------------ */
/* Does another chain have the same side as this one? */
static bool is_shared(const struct igt_group *group, unsigned chain, unsigned side) {
    const unsigned *numbers = side == LEFT ? group->rows : group->columns;
    for (unsigned c = 0; c < group->chain_count; c++) {
        if (c != chain && numbers[c] == numbers[chain]) {
            return true;
        }
    }
    return false;
}

static LLVMValueRef stack_memory(struct igt_pass *pass, unsigned bytes) {
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(pass->emit.context);
    LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(pass->emit.function);
    LLVMPositionBuilderBefore(builder, LLVMGetFirstInstruction(entry));
    LLVMValueRef memory = LLVMBuildAlloca(builder, LLVMArrayType2(pass->emit.i8, bytes), "");
    LLVMSetAlignment(memory, 64);
    LLVMDisposeBuilder(builder);
    return memory;
}

/* Where the group's memory is, hidden from LLVM: or it would take what is written there for
 * registers' values, and keep an address in a register for each of them. */
static void name_memory(struct igt_pass *pass, const struct igt_group *group) {
    struct igv_emit *emit = &pass->emit;
    LLVMValueRef memory = group->memory;
    LLVMTypeRef type = LLVMFunctionType(emit->ptr, &emit->ptr, 1, false);
    LLVMValueRef hide =
        LLVMGetInlineAsm(type, "", 0, "=r,0", 4, true, false, LLVMInlineAsmDialectATT, false);
    if (memory) {
        pass->operands = LLVMBuildCall2(emit->builder, type, hide, &memory, 1, "");
    }
}

/* Marks the tiles that are to lie on the stack; returns how many bytes they take. */
static unsigned give_places(struct igt_pass *pass, const struct igt_group *group) {
    unsigned bytes = 0;
    for (unsigned c = 0; c < group->chain_count; c++) {
        for (unsigned side = LEFT; side <= RIGHT; side++) {
            if (!is_shared(group, c, side)) {
                continue;
            }
            for (struct igt_tile *s = group->chains[c]; s; s = s->extended) {
                struct igt_tile *narrow = igt_narrow(pass, s->operands[side]);
                if (narrow->squares_for[side] != group->number && bytes < MOST_BYTES) {
                    narrow->squares_for[side] = group->number;
                    narrow->squares_at[side] = bytes;
                    bytes += TILE_BYTES;
                }
            }
        }
    }
    return bytes;
}

static void keep_vectors(struct igt_pass *pass, struct igt_tile *narrow, unsigned side) {
    for (unsigned step = 0; step < STEPS; step++) {
        LLVMValueRef vectors[SQUARES];
        make_vectors(pass, narrow, side, step, vectors);
        for (unsigned n = 0; n < SQUARES; n++) {
            LLVMValueRef store =
                LLVMBuildStore(pass->emit.builder, vectors[n],
                               vector_place(pass, narrow->squares_at[side], step, n));
            LLVMSetAlignment(store, 2 * VECTOR);
        }
    }
}

static void keep_shared_sides(struct igt_pass *pass, struct igt_group *group) {
    const unsigned bytes = give_places(pass, group);
    if (!bytes) {
        return;
    }
    group->memory = stack_memory(pass, bytes);
    name_memory(pass, group);
    unsigned kept = 0; /* places were given in this order */
    for (unsigned c = 0; c < group->chain_count; c++) {
        for (unsigned side = LEFT; side <= RIGHT; side++) {
            for (struct igt_tile *s = group->chains[c]; s; s = s->extended) {
                struct igt_tile *narrow = igt_narrow(pass, s->operands[side]);
                if (narrow->squares_for[side] == group->number &&
                    narrow->squares_at[side] == kept) {
                    keep_vectors(pass, narrow, side);
                    kept += TILE_BYTES;
                }
            }
        }
    }
    igl_compiler_fence(&pass->emit);
}

/* ---- products -------------------------------------------------------------------------------- */
static LLVMValueRef product(struct igt_pass *pass, LLVMValueRef left, LLVMValueRef right,
                            LLVMValueRef sum) {
    struct igv_emit *emit = &pass->emit;
    LLVMTypeRef type = LLVMVectorType(LLVMBFloatTypeInContext(emit->context), VECTOR);
    LLVMValueRef args[] = {sum, LLVMBuildBitCast(emit->builder, left, type, ""),
                           LLVMBuildBitCast(emit->builder, right, type, "")};
    return igv_intrinsic(emit, "llvm.aarch64.neon.bfmmla", NULL, 0, args, 3);
}

static void add_products(struct igt_pass *pass, const struct igt_tile *tile,
                         LLVMValueRef sums[SQUARES][SQUARES]) {
    struct igt_tile *left = igt_narrow(pass, tile->operands[0]);
    struct igt_tile *right = igt_narrow(pass, tile->operands[1]);
    for (unsigned step = 0; step < STEPS; step++) {
        LLVMValueRef rows[SQUARES], columns[SQUARES];
        vectors_of(pass, left, LEFT, step, rows);
        vectors_of(pass, right, RIGHT, step, columns);
        for (unsigned r = 0; r < SQUARES; r++) {
            for (unsigned c = 0; c < SQUARES; c++) {
                sums[r][c] = product(pass, rows[r], columns[c], sums[r][c]);
            }
        }
    }
}

static void emit_chain(struct igt_pass *pass, struct igt_tile *chain) {
    LLVMValueRef sums[SQUARES][SQUARES];
    const unsigned half = SQUARE * SQUARE;
    for (unsigned slot = 0; slot < IGT_SIDE; slot++) {
        LLVMValueRef pair = igt_square_pair(pass, chain->operands[2], slot);
        sums[slot / 2][slot % 2 * 2] = igl_part(&pass->emit, pair, 0, half);
        sums[slot / 2][slot % 2 * 2 + 1] = igl_part(&pass->emit, pair, half, half);
    }
    name_memory(pass, chain->group);
    for (struct igt_tile *tile = chain; tile; tile = tile->extended) {
        add_products(pass, tile, sums);
        tile->in_squares = true;
        for (unsigned slot = 0; slot < IGT_SIDE; slot++) {
            tile->rows[slot] = igl_join(&pass->emit, sums[slot / 2][slot % 2 * 2],
                                        sums[slot / 2][slot % 2 * 2 + 1]);
        }
    }
}

void igt_emit_squares(struct igt_pass *pass, struct igt_group *group) {
    keep_shared_sides(pass, group);
    for (unsigned row = 0; row < group->row_count; row++) {
        for (unsigned unit = 0; unit < group->unit_count; unit++) {
            struct igt_tile *chain = igt_chain_at(group, row, group->units[unit][0]);
            if (chain) {
                emit_chain(pass, chain);
                igl_compiler_fence(&pass->emit); /* or LLVM keeps operands for the next one */
            }
        }
    }
}
