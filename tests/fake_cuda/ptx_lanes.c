/* Instructions that lanes of a SIMD-group execute together: see ptx.h. */
#include <string.h>

#include "ptx.h"

static const struct ptx_type word = {PTX_UNSIGNED, 32, 0};

bool ptx_is_sync(const struct ptx_instruction *in) {
    switch (in->opcode) {
    case PTX_SHFL:
    case PTX_VOTE:
    case PTX_MATCH:
    case PTX_REDUX:
    case PTX_MMA:
    case PTX_LDMATRIX:
    case PTX_MOVMATRIX:
    case PTX_ELECT:
    case PTX_WGMMA:
        return true;
    case PTX_BAR:
        return strncmp(in->name, "bar.warp", 8) == 0;
    default:
        return false;
    }
}

static bool takes_all(const struct ptx_instruction *in) {
    return in->opcode == PTX_MMA || in->opcode == PTX_LDMATRIX || in->opcode == PTX_MOVMATRIX ||
           in->opcode == PTX_WGMMA;
}

/* The lanes that execute it together, as the thread's operand says; matrices take all. */
uint32_t ptx_member_mask(struct ptx_machine *machine, const struct ptx_thread *thread,
                         const struct ptx_instruction *in) {
    if (takes_all(in)) {
        return UINT32_MAX;
    }
    const struct ptx_operand *last = &in->operands[in->operand_count - 1];
    return (uint32_t)ptx_read(machine, thread, last, word);
}

/* ---- shuffles, votes and sums ---- */

static void shuffle(struct ptx_machine *machine, struct ptx_thread *threads, uint32_t mask,
                    struct ptx_instruction *in) {
    uint64_t values[PTX_LANES];
    uint32_t results[PTX_LANES];
    bool inside[PTX_LANES];
    for (uint32_t lane = 0; lane < PTX_LANES; lane++) {
        if (mask >> lane & 1) {
            values[lane] = ptx_read(machine, &threads[lane], &in->operands[1], in->type);
        }
    }
    for (uint32_t lane = 0; lane < PTX_LANES; lane++) {
        if (!(mask >> lane & 1)) {
            continue;
        }
        uint32_t b = (uint32_t)ptx_read(machine, &threads[lane], &in->operands[2], word) & 31;
        uint32_t c = (uint32_t)ptx_read(machine, &threads[lane], &in->operands[3], word);
        uint32_t segment = c >> 8 & 31, clamp = c & 31;
        uint32_t highest = (lane & segment) | (clamp & ~segment), lowest = lane & segment;
        uint32_t from = in->operation == PTX_OP_UP     ? lane - b
                        : in->operation == PTX_OP_DOWN ? lane + b
                        : in->operation == PTX_OP_BFLY ? lane ^ b
                                                       : lowest | (b & ~segment);
        inside[lane] =
            in->operation == PTX_OP_UP ? (int32_t)from >= (int32_t)highest : from <= highest;
        if (!inside[lane]) {
            from = lane;
        }
        /* what a lane that takes no part has is undefined */
        results[lane] = mask >> from & 1 ? (uint32_t)values[from] : 0xbadbad00u | lane;
    }
    for (uint32_t lane = 0; lane < PTX_LANES; lane++) {
        if (!(mask >> lane & 1)) {
            continue;
        }
        ptx_write(&threads[lane], in->operands[0].reg, results[lane]);
        if (in->operands[0].second >= 0) {
            ptx_write(&threads[lane], in->operands[0].second, inside[lane]);
        }
    }
}

static void vote(struct ptx_machine *machine, struct ptx_thread *threads, uint32_t mask,
                 struct ptx_instruction *in) {
    uint32_t ballot = 0;
    for (uint32_t lane = 0; lane < PTX_LANES; lane++) {
        if (mask >> lane & 1) {
            ballot |= (uint32_t)(ptx_read(machine, &threads[lane], &in->operands[1],
                                          (struct ptx_type){PTX_PREDICATE, 1, 0}) &
                                 1)
                      << lane;
        }
    }
    uint32_t result = in->operation == PTX_OP_BALLOT ? ballot
                      : in->operation == PTX_OP_ALL  ? ballot == mask
                      : in->operation == PTX_OP_ANY  ? ballot != 0
                                                     : ballot == mask || !ballot;
    for (uint32_t lane = 0; lane < PTX_LANES; lane++) {
        if (mask >> lane & 1) {
            ptx_write(&threads[lane], in->operands[0].reg, result);
        }
    }
}

static void match(struct ptx_machine *machine, struct ptx_thread *threads, uint32_t mask,
                  struct ptx_instruction *in) {
    uint64_t values[PTX_LANES] = {0};
    for (uint32_t lane = 0; lane < PTX_LANES; lane++) {
        if (mask >> lane & 1) {
            values[lane] = ptx_read(machine, &threads[lane], &in->operands[1], in->type);
        }
    }
    for (uint32_t lane = 0; lane < PTX_LANES; lane++) {
        if (!(mask >> lane & 1)) {
            continue;
        }
        uint32_t same = 0;
        for (uint32_t other = 0; other < PTX_LANES; other++) {
            if (mask >> other & 1 && values[other] == values[lane]) {
                same |= 1u << other;
            }
        }
        bool all = in->operation == PTX_OP_ALL;
        ptx_write(&threads[lane], in->operands[0].reg, !all || same == mask ? same : 0);
        if (all && in->operands[0].second >= 0) {
            ptx_write(&threads[lane], in->operands[0].second, same == mask);
        }
    }
}

static void reduce(struct ptx_machine *machine, struct ptx_thread *threads, uint32_t mask,
                   struct ptx_instruction *in) {
    uint64_t result = 0;
    bool first = true;
    for (uint32_t lane = 0; lane < PTX_LANES; lane++) {
        if (!(mask >> lane & 1)) {
            continue;
        }
        uint64_t value = ptx_read(machine, &threads[lane], &in->operands[1], in->type);
        result = first ? value : ptx_combine_values(in->operation, in->type, result, value);
        first = false;
    }
    for (uint32_t lane = 0; lane < PTX_LANES; lane++) {
        if (mask >> lane & 1) {
            ptx_write(&threads[lane], in->operands[0].reg, result);
        }
    }
}

static void elect(struct ptx_thread *threads, uint32_t mask, struct ptx_instruction *in) {
    uint32_t leader = (uint32_t)__builtin_ctz(mask);
    for (uint32_t lane = 0; lane < PTX_LANES; lane++) {
        if (!(mask >> lane & 1)) {
            continue;
        }
        ptx_write(&threads[lane], in->operands[0].reg, leader);
        if (in->operands[0].second >= 0) {
            ptx_write(&threads[lane], in->operands[0].second, lane == leader);
        }
    }
}

/* ---- matrices ---- */

/* 8 rows of 16 bytes each, whose addresses lanes 8m … 8m+7 have for matrix m; lane l gets elements
 * (l / 4, 2·(l % 4) …) of each, or of its transpose. */
static void load_matrices(struct ptx_machine *machine, struct ptx_thread *threads,
                          struct ptx_instruction *in) {
    uint16_t tiles[4][8][8];
    const struct ptx_operand *to = &in->operands[0];
    for (uint32_t m = 0; m < in->matrices; m++) {
        for (uint32_t row = 0; row < 8; row++) {
            struct ptx_thread *thread = &threads[8 * m + row];
            const void *from = ptx_memory(machine, thread, in, in->space,
                                          ptx_address(machine, thread, &in->operands[1]), 16, 16);
            if (!from) {
                return;
            }
            memcpy(tiles[m][row], from, 16);
        }
    }
    for (uint32_t lane = 0; lane < PTX_LANES; lane++) {
        for (uint32_t m = 0; m < in->matrices; m++) {
            uint32_t row = lane / 4, column = lane % 4 * 2;
            uint32_t low = in->transposed ? tiles[m][column][row] : tiles[m][row][column];
            uint32_t high = in->transposed ? tiles[m][column + 1][row] : tiles[m][row][column + 1];
            int32_t reg = to->kind == PTX_VECTOR ? to->elements[m] : to->reg;
            ptx_write(&threads[lane], reg, high << 16 | low);
        }
    }
}

static void transpose(struct ptx_machine *machine, struct ptx_thread *threads,
                      struct ptx_instruction *in) {
    uint16_t tile[8][8];
    for (uint32_t lane = 0; lane < PTX_LANES; lane++) {
        uint64_t value = ptx_read(machine, &threads[lane], &in->operands[1], word);
        tile[lane / 4][lane % 4 * 2] = (uint16_t)value;
        tile[lane / 4][lane % 4 * 2 + 1] = (uint16_t)(value >> 16);
    }
    for (uint32_t lane = 0; lane < PTX_LANES; lane++) {
        ptx_write(&threads[lane], in->operands[0].reg,
                  (uint32_t)tile[lane % 4 * 2 + 1][lane / 4] << 16 | tile[lane % 4 * 2][lane / 4]);
    }
}

static float half_of(uint64_t pair, unsigned which, struct ptx_type type) {
    uint16_t bits = (uint16_t)(pair >> (16 * which));
    return type.kind == PTX_BFLOAT ? ptx_bfloat_to_float(bits) : ptx_half_to_float(bits);
}

/* mma.m16n8k8 and m16n8k16, row.col, sums of float. Layout (PTX ISA, "matrix fragments"): lane l
 * has rows g = l / 4 and g + 8; columns of sums 2·(l % 4) and the next. */
static void multiply_matrices(struct ptx_machine *machine, struct ptx_thread *threads,
                              struct ptx_instruction *in) {
    static float a[16][16], b[16][8];
    struct ptx_type type = in->from;
    const struct ptx_operand *to = &in->operands[0], *left = &in->operands[1],
                             *right = &in->operands[2], *sums = &in->operands[3];
    if (in->type.bits != 32 || type.bits != 16 || !in->depth) {
        ptx_fail(machine, threads, in, PTX_UNKNOWN, "is not known to this machine");
        return;
    }
    for (uint32_t lane = 0; lane < PTX_LANES; lane++) {
        uint32_t row = lane / 4, column = lane % 4 * 2;
        for (uint32_t i = 0; i < left->count; i++) { /* rows alternate, then columns + 8 */
            uint64_t pair = ptx_read_element(&threads[lane], left, (int)i);
            for (unsigned k = 0; k < 2; k++) {
                a[row + 8 * (i % 2)][column + 8 * (i / 2) + k] = half_of(pair, k, type);
            }
        }
        for (uint32_t i = 0; i < (right->kind == PTX_VECTOR ? right->count : 1u); i++) {
            uint64_t pair = right->kind == PTX_VECTOR
                                ? ptx_read_element(&threads[lane], right, (int)i)
                                : ptx_read(machine, &threads[lane], right, word);
            for (unsigned k = 0; k < 2; k++) {
                b[column + 8 * i + k][row] = half_of(pair, k, type);
            }
        }
    }
    for (uint32_t lane = 0; lane < PTX_LANES; lane++) {
        float results[4];
        for (uint32_t i = 0; i < 4; i++) {
            uint32_t row = lane / 4 + 8 * (i / 2), column = lane % 4 * 2 + i % 2;
            uint32_t bits = (uint32_t)ptx_read_element(&threads[lane], sums, (int)i);
            float start;
            memcpy(&start, &bits, 4);
            double sum = start;
            for (uint32_t k = 0; k < in->depth; k++) {
                sum += (double)a[row][k] * b[k][column];
            }
            results[i] = (float)sum;
        }
        for (uint32_t i = 0; i < 4; i++) {
            uint32_t bits;
            memcpy(&bits, &results[i], 4);
            ptx_write(&threads[lane], to->elements[i], bits);
        }
    }
}

void ptx_execute_lanes(struct ptx_machine *machine, struct ptx_thread *threads, uint32_t mask,
                       struct ptx_instruction *in) {
    if (takes_all(in) && mask != UINT32_MAX) {
        ptx_fail(machine, &threads[__builtin_ctz(mask)], in, PTX_UNKNOWN,
                 "needs all lanes; those of mask %08x are there", mask);
        return;
    }
    switch (in->opcode) {
    case PTX_SHFL:
        shuffle(machine, threads, mask, in);
        break;
    case PTX_VOTE:
        vote(machine, threads, mask, in);
        break;
    case PTX_MATCH:
        match(machine, threads, mask, in);
        break;
    case PTX_REDUX:
        reduce(machine, threads, mask, in);
        break;
    case PTX_ELECT:
        elect(threads, mask, in);
        break;
    case PTX_LDMATRIX:
        load_matrices(machine, threads, in);
        break;
    case PTX_MOVMATRIX:
        transpose(machine, threads, in);
        break;
    case PTX_MMA:
        multiply_matrices(machine, threads, in);
        break;
    case PTX_WGMMA:
        ptx_execute_warpgroup(machine, threads, in);
        break;
    default:
        break; /* bar.warp.sync has done its work when all are here */
    }
}
