/*
 * Products of four SIMD-groups (wgmma), one SIMD-group at a time: its 16 of the 64 rows.
 *
 * The hardware reads threadgroup memory, and A in registers, until the product is waited for. Here
 * they are read at once, and again when it is waited for: that what it reads has changed meanwhile
 * is an error. Sums are other numbers in their registers until then, except for the next product.
 */
#include <stdlib.h>
#include <string.h>

#include "ptx.h"

enum { ROWS = 16, DEPTH = 16, MAX_COLUMNS = 256, LINE = 128, LINES = 8, SWIZZLE_128 = 1 };
enum { LEFT_WORDS = 4, DISGUISE = 0x55555555 };

static const struct ptx_type word = {PTX_UNSIGNED, 32, 0};
static const struct ptx_type wide = {PTX_UNSIGNED, 64, 0};

static float number_of(uint16_t bits, struct ptx_type type) {
    return type.kind == PTX_BFLOAT ? ptx_bfloat_to_float(bits) : ptx_half_to_float(bits);
}

/* Element (at, k) of an operand that a descriptor says the place of: lines are along k or, turned,
 * along its rows or columns. 0 after a fault. */
static uint16_t element_of(struct ptx_machine *machine, struct ptx_thread *thread,
                           struct ptx_instruction *in, uint64_t descriptor, bool turned,
                           uint32_t at, uint32_t k) {
    const uint32_t start = (uint32_t)(descriptor & 0x3fff) << 4;
    const uint32_t far = (uint32_t)(descriptor >> 16 & 0x3fff) << 4;
    const uint32_t near = (uint32_t)(descriptor >> 32 & 0x3fff) << 4;
    uint32_t place = turned
                         ? start + at / 64 * far + k / LINES * near + k % LINES * LINE + at % 64 * 2
                         : start + at / LINES * near + at % LINES * LINE + k * 2;
    place ^= place >> 3 & 0x70;
    if (descriptor >> 62 != SWIZZLE_128 || (descriptor >> 49 & 7) != 0) {
        ptx_fail(machine, thread, in, PTX_UNKNOWN,
                 "descriptor %016llx is not known to this machine", (unsigned long long)descriptor);
        return 0;
    }
    const uint16_t *found = ptx_memory(machine, thread, in, PTX_SHARED, place, 2, 2);
    return found ? *found : 0;
}

static uint64_t mixed(uint64_t sum, uint16_t bits) {
    return (sum ^ bits) * 0x100000001b3u;
}

/* A in registers, of all lanes, as a number. */
static uint64_t read_registers(const struct ptx_thread *threads,
                               const struct ptx_instruction *product) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < PTX_LANES * LEFT_WORDS; i++) {
        const uint64_t pair = ptx_read_element(&threads[i / LEFT_WORDS], &product->operands[1],
                                               (int)(i % LEFT_WORDS));
        sum = mixed(mixed(sum, (uint16_t)pair), (uint16_t)(pair >> 16));
    }
    return sum;
}

/* Everything that a product reads, as a number. */
static uint64_t read_all(struct ptx_machine *machine, struct ptx_thread *thread,
                         struct ptx_instruction *in, const struct ptx_product *product) {
    uint64_t sum = product->left ? 0 : read_registers(thread, product->in);
    const uint32_t first = thread->index / PTX_LANES % 4 * ROWS;
    for (uint32_t k = 0; k < DEPTH && !machine->fault; k++) {
        for (uint32_t row = 0; row < ROWS && product->left; row++) {
            sum = mixed(sum, element_of(machine, thread, in, product->left, product->left_turned,
                                        first + row, k));
        }
        for (uint32_t column = 0; column < product->columns; column++) {
            sum = mixed(sum, element_of(machine, thread, in, product->right, product->right_turned,
                                        column, k));
        }
    }
    return sum;
}

static void remember(struct ptx_machine *machine, struct ptx_thread *thread,
                     struct ptx_instruction *in, struct ptx_product product) {
    if (!thread->products) {
        thread->products = calloc(PTX_MAX_PRODUCTS, sizeof *thread->products);
    }
    if (!thread->products || thread->product_count == PTX_MAX_PRODUCTS) {
        ptx_fail(machine, thread, in, PTX_UNKNOWN, "more than %d products are under way",
                 PTX_MAX_PRODUCTS);
        return;
    }
    product.group = thread->product_group;
    thread->products[thread->product_count++] = product;
}

/* Is a register a sum of these products? */
static bool is_sum_of(const struct ptx_product *products, uint32_t count, int32_t reg) {
    for (uint32_t i = 0; i < count; i++) {
        const struct ptx_operand *sums = &products[i].in->operands[0];
        for (int k = 0; k < sums->count; k++) {
            if (ptx_element(sums, k) == reg) {
                return true;
            }
        }
    }
    return false;
}

static void disguise(struct ptx_thread *threads, int32_t reg) {
    for (uint32_t lane = 0; lane < PTX_LANES; lane++) {
        threads[lane].registers[reg] ^= DISGUISE;
    }
}

/* Sums of the first of these products, which are over, are what they are, unless others still add
 * to them. */
static void reveal(struct ptx_thread *threads, const struct ptx_product *products, uint32_t count) {
    const struct ptx_operand *sums = &products->in->operands[0];
    for (int i = 0; i < sums->count; i++) {
        if (!is_sum_of(products + 1, count - 1, ptx_element(sums, i))) {
            disguise(threads, ptx_element(sums, i));
        }
    }
}

/* Waits for all but the last `rest` groups. */
static void wait_for(struct ptx_machine *machine, struct ptx_thread *thread,
                     struct ptx_instruction *in, uint32_t rest) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < thread->product_count && !machine->fault; i++) {
        const struct ptx_product *product = &thread->products[i];
        if (product->group + rest >= thread->product_group) {
            thread->products[kept++] = *product;
        } else if (read_all(machine, thread, in, product) != product->seen) {
            ptx_fail(machine, thread, in, PTX_RACE,
                     "what a product reads was written before it was waited for");
        } else {
            reveal(thread, product, thread->product_count - i);
        }
    }
    thread->product_count = kept;
}

static void multiply(struct ptx_machine *machine, struct ptx_thread *threads,
                     struct ptx_instruction *in) {
    static float a[ROWS][DEPTH], b[DEPTH][MAX_COLUMNS];
    const struct ptx_operand *sums = &in->operands[0], *left = &in->operands[1];
    const bool registers = left->kind == PTX_VECTOR;
    const struct ptx_operand *last = &in->operands[in->operand_count - 1];
    struct ptx_product product = {.right = ptx_read(machine, threads, &in->operands[2], wide),
                                  .left = registers ? 0 : ptx_read(machine, threads, left, wide),
                                  .right_turned = ptx_read(machine, threads, last, word) != 0,
                                  .left_turned =
                                      !registers && ptx_read(machine, threads, last - 1, word) != 0,
                                  .columns = in->columns,
                                  .in = in};
    const uint32_t first = threads->index / PTX_LANES % 4 * ROWS;
    if (in->type.bits != 32 || in->from.bits != 16 || in->columns > MAX_COLUMNS ||
        sums->count != in->columns / 2 || in->operand_count != (registers ? 7 : 8)) {
        ptx_fail(machine, threads, in, PTX_UNKNOWN, "is not known to this machine");
        return;
    }
    for (int i = 0; i < sums->count; i++) {
        if (is_sum_of(threads->products, threads->product_count, ptx_element(sums, i))) {
            disguise(threads, ptx_element(sums, i));
        }
    }
    product.seen = registers ? read_registers(threads, in) : 0;
    for (uint32_t k = 0; k < DEPTH && !machine->fault; k++) {
        for (uint32_t row = 0; row < ROWS && !registers; row++) {
            const uint16_t bits =
                element_of(machine, threads, in, product.left, product.left_turned, first + row, k);
            product.seen = mixed(product.seen, bits);
            a[row][k] = number_of(bits, in->from);
        }
        for (uint32_t column = 0; column < in->columns; column++) {
            const uint16_t bits =
                element_of(machine, threads, in, product.right, product.right_turned, column, k);
            product.seen = mixed(product.seen, bits);
            b[k][column] = number_of(bits, in->from);
        }
    }
    for (uint32_t lane = 0; lane < PTX_LANES && registers; lane++) {
        for (uint32_t i = 0; i < 8; i++) {
            const uint64_t pair = ptx_read_element(&threads[lane], left, (int)i / 2);
            a[lane / 4 + 8 * (i / 2 % 2)][lane % 4 * 2 + 8 * (i / 4) + i % 2] =
                number_of((uint16_t)(pair >> 16 * (i % 2)), in->from);
        }
    }
    for (uint32_t lane = 0; lane < PTX_LANES; lane++) {
        for (uint32_t i = 0; i < sums->count; i++) {
            const uint32_t row = lane / 4 + 8 * (i / 2 % 2),
                           column = i / 4 * 8 + lane % 4 * 2 + i % 2;
            uint32_t bits = (uint32_t)ptx_read_element(&threads[lane], sums, (int)i);
            float value;
            memcpy(&value, &bits, 4);
            double sum = value;
            for (uint32_t k = 0; k < DEPTH; k++) {
                sum += (double)a[row][k] * b[k][column];
            }
            value = (float)sum;
            memcpy(&bits, &value, 4);
            ptx_write(&threads[lane], ptx_element(sums, (int)i), bits ^ DISGUISE);
        }
    }
    remember(machine, threads, in, product);
}

void ptx_execute_warpgroup(struct ptx_machine *machine, struct ptx_thread *threads,
                           struct ptx_instruction *in) {
    if (in->operation == PTX_OP_COMMIT) {
        threads->product_group++;
    } else if (in->operation == PTX_OP_WAIT) {
        wait_for(machine, threads, in,
                 (uint32_t)ptx_read(machine, threads, &in->operands[0], word));
    } else if (in->columns) {
        multiply(machine, threads, in);
    }
}
