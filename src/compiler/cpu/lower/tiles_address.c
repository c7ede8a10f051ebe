/*
 * Addresses as sums: what two of them differ by, where the strides between tiles are not constant.
 *
 * A value is taken apart into products of up to two values, each times a constant number. What
 * cannot be taken apart is a value of its own.
 */
#include "compiler/cpu/lower/tiles.h"

static void add_term(struct igt_sum *sum, LLVMValueRef first, LLVMValueRef second, int64_t factor) {
    if (second && (uintptr_t)second < (uintptr_t)first) {
        LLVMValueRef other = first;
        first = second;
        second = other;
    }
    for (unsigned i = 0; i < sum->count; i++) {
        struct igt_term *term = &sum->terms[i];
        if (term->first == first && term->second == second) {
            term->factor += factor;
            return;
        }
    }
    if (sum->count == IGT_TERMS) {
        sum->failed = true;
        return;
    }
    sum->terms[sum->count++] = (struct igt_term){first, second, factor};
}

void igt_sum_add(struct igt_sum *sum, const struct igt_sum *other, int64_t factor) {
    sum->failed |= other->failed;
    for (unsigned i = 0; i < other->count; i++) {
        add_term(sum, other->terms[i].first, other->terms[i].second,
                 other->terms[i].factor * factor);
    }
}

/* The constant term has no values. */
void igt_sum_add_number(struct igt_sum *sum, int64_t number) {
    add_term(sum, NULL, NULL, number);
}

bool igt_sum_is_zero(const struct igt_sum *sum) {
    for (unsigned i = 0; i < sum->count; i++) {
        if (sum->terms[i].factor) {
            return false;
        }
    }
    return !sum->failed;
}

/* False: a product of more than two values. */
static bool multiply(struct igt_sum *product, const struct igt_sum *a, const struct igt_sum *b) {
    product->failed |= a->failed || b->failed;
    for (unsigned i = 0; i < a->count; i++) {
        for (unsigned j = 0; j < b->count; j++) {
            const struct igt_term *x = &a->terms[i], *y = &b->terms[j];
            if (x->second || y->second) {
                return false;
            }
            LLVMValueRef first = x->first ? x->first : y->first;
            add_term(product, first, x->first ? y->first : NULL, x->factor * y->factor);
        }
    }
    return true;
}

enum { MOST_STEPS = 12 };

static struct igt_sum sum_of(const struct igt_pass *pass, LLVMValueRef value, unsigned steps);

static bool take_apart(const struct igt_pass *pass, LLVMValueRef value, unsigned steps,
                       struct igt_sum *sum) {
    if (!LLVMIsAInstruction(value) || !steps) {
        return false;
    }
    const bool is_step =
        LLVMIsAGetElementPtrInst(value) && LLVMGetNumOperands(value) == 2; /* of one index */
    const LLVMOpcode opcode = LLVMGetInstructionOpcode(value);
    if (!is_step && opcode != LLVMAdd && opcode != LLVMSub && opcode != LLVMMul &&
        opcode != LLVMShl && !(opcode == LLVMOr && LLVMGetIsDisjoint(value))) {
        return false;
    }
    struct igt_sum a = sum_of(pass, LLVMGetOperand(value, 0), steps - 1);
    struct igt_sum b = sum_of(pass, LLVMGetOperand(value, 1), steps - 1);
    int64_t factor = 1;
    if (opcode == LLVMMul) {
        return multiply(sum, &a, &b);
    }
    if (opcode == LLVMShl) {
        LLVMValueRef by = LLVMGetOperand(value, 1);
        if (!LLVMIsAConstantInt(by) || LLVMConstIntGetZExtValue(by) > 32) {
            return false;
        }
        igt_sum_add(sum, &a, (int64_t)1 << LLVMConstIntGetZExtValue(by));
        return true;
    }
    if (is_step) {
        factor = (int64_t)LLVMABISizeOfType(pass->emit.layout, LLVMGetGEPSourceElementType(value));
    }
    igt_sum_add(sum, &a, 1);
    igt_sum_add(sum, &b, opcode == LLVMSub ? -1 : factor);
    return true;
}

/* Arithmetic is modulo 2^64, so only numbers of 64 bits and addresses are taken apart. */
static struct igt_sum sum_of(const struct igt_pass *pass, LLVMValueRef value, unsigned steps) {
    struct igt_sum sum = {.count = 0};
    LLVMTypeRef type = LLVMTypeOf(value);
    const bool is_pointer = LLVMGetTypeKind(type) == LLVMPointerTypeKind;
    if (!is_pointer && LLVMIsAConstantInt(value)) {
        igt_sum_add_number(&sum, LLVMConstIntGetSExtValue(value));
        return sum;
    }
    if (!is_pointer && type != pass->emit.i64) {
        add_term(&sum, value, NULL, 1);
        return sum;
    }
    if (!take_apart(pass, value, steps, &sum)) {
        sum = (struct igt_sum){.count = 0};
        add_term(&sum, value, NULL, 1);
    }
    return sum;
}

struct igt_sum igt_sum_of(const struct igt_pass *pass, LLVMValueRef value) {
    return sum_of(pass, value, MOST_STEPS);
}
