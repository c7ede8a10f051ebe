/* Instructions that one thread executes: arithmetic of floats, comparisons and conversions. That of
 * integers is in ptx_integer.c. See ptx.h. */
#include <fenv.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ptx.h"
#include "ptx_bits.h"

/* ---- bits and numbers ---- */

static float float_of(uint64_t bits) {
    uint32_t low = (uint32_t)bits;
    float value;
    memcpy(&value, &low, 4);
    return value;
}

static uint64_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return bits;
}

static double double_of(uint64_t bits) {
    double value;
    memcpy(&value, &bits, 8);
    return value;
}

static uint64_t double_bits(double value) {
    uint64_t bits;
    memcpy(&bits, &value, 8);
    return bits;
}

float ptx_bfloat_to_float(uint16_t bits) {
    return float_of((uint64_t)bits << 16);
}

/* Rounds to `keep` bits of a fraction, to nearest, ties to even, without rounding twice. */
static double round_fraction(double value, int keep, int lowest_exponent) {
    if (value == 0 || !isfinite(value)) {
        return value;
    }
    int exponent;
    frexp(value, &exponent);
    int unit = exponent - keep < lowest_exponent ? lowest_exponent : exponent - keep;
    return ldexp(nearbyint(ldexp(value, -unit)), unit);
}

uint16_t ptx_float_to_bfloat(double value) {
    if (isnan(value)) {
        return 0x7fff;
    }
    float rounded = (float)round_fraction(value, 8, -133);
    return (uint16_t)(bits_of(rounded) >> 16);
}

float ptx_half_to_float(uint16_t bits) {
    _Float16 value;
    memcpy(&value, &bits, 2);
    return (float)value;
}

uint16_t ptx_float_to_half(double value) {
    if (isnan(value)) {
        return 0x7fff;
    }
    _Float16 rounded = (_Float16)round_fraction(value, 11, -24);
    uint16_t bits;
    memcpy(&bits, &rounded, 2);
    return bits;
}

double ptx_to_double(uint64_t bits, struct ptx_type type) {
    if (type.kind == PTX_BFLOAT) {
        return ptx_bfloat_to_float((uint16_t)bits);
    }
    if (type.kind == PTX_FLOAT) {
        return type.bits == 16   ? ptx_half_to_float((uint16_t)bits)
               : type.bits == 32 ? float_of(bits)
                                 : double_of(bits);
    }
    if (type.kind == PTX_SIGNED) {
        return (double)extend(bits, type.bits);
    }
    return (double)(bits & mask_of(type.bits));
}

static uint64_t from_double(double value, struct ptx_type type) {
    if (type.kind == PTX_BFLOAT) {
        return ptx_float_to_bfloat(value);
    }
    if (type.bits == 16) {
        return ptx_float_to_half(value);
    }
    if (type.bits == 32) {
        return isnan(value) ? 0x7fffffff : bits_of((float)value);
    }
    return double_bits(value);
}

static bool is_float(struct ptx_type type) {
    return type.kind == PTX_FLOAT || type.kind == PTX_BFLOAT;
}

static double flush(double value, const struct ptx_instruction *in) {
    bool tiny = fabs(value) < 0x1p-126 && value != 0;
    return in->ftz && tiny ? copysign(0.0, value) : value;
}

/* ---- operations on numbers ---- */

static double with_rounding(const struct ptx_instruction *in, double value) {
    return value > 1 && in->saturate ? 1 : (value < 0 || isnan(value)) && in->saturate ? 0 : value;
}

/* In double. Rounded to float afterwards it is what float gives, but for fma (S. Figueroa, "When is
 * double rounding innocuous?", 1995). */
static double double_operation(int opcode, double a, double b, double c) {
    switch (opcode) {
    case PTX_ADD:
        return a + b;
    case PTX_SUB:
        return a - b;
    case PTX_MUL:
        return a * b;
    case PTX_DIV:
        return a / b;
    case PTX_SQRT:
        return sqrt(a);
    case PTX_RCP:
        return 1.0 / a;
    default:
        return fma(a, b, c);
    }
}

/* What PTX, and for rsqrt CUDA's programming guide, allow an approximation to be off by. */
static double allowed_error(int opcode, double exact) {
    double ulp = ldexp(1, ilogb(exact) - 23);
    switch (opcode) {
    case PTX_RCP:
        return ulp;
    case PTX_EX2:
        return 2 * ulp;
    case PTX_RSQRT:
        return fmin(fabs(exact) * 0x1.125p-23 /* 2^-22.9 */, 2 * ulp);
    default:
        return 0;
    }
}

/* $PTX_APPROXIMATIONS=worst: the float that is furthest from the exact result among those allowed,
 * above or below it by its bits. What is exact stays so. */
static double approximated(const struct ptx_instruction *in, double exact) {
    static int is_worst = -1;
    if (is_worst < 0) {
        const char *wanted = getenv("PTX_APPROXIMATIONS");
        is_worst = wanted && strcmp(wanted, "worst") == 0;
    }
    if (!is_worst || !in->approximate || in->type.bits != 32 || !isfinite(exact) ||
        fabs(exact) < 0x1p-126 || exact == (double)(float)exact) {
        return exact;
    }
    uint64_t bits;
    memcpy(&bits, &exact, sizeof bits);
    double error = allowed_error(in->opcode, exact);
    bool is_above = (bits ^ bits >> 29 ^ bits >> 35) & 1;
    float result = (float)(is_above ? exact + error : exact - error);
    if (fabs((double)result - exact) > error) {
        result = nextafterf(result, (float)exact);
    }
    return result;
}

static uint64_t rounded_operation(const struct ptx_instruction *in, struct ptx_type type,
                                  const uint64_t v[3]) {
    static const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD, FE_TONEAREST};
    double a = flush(ptx_to_double(v[0], type), in), b = flush(ptx_to_double(v[1], type), in),
           c = flush(ptx_to_double(v[2], type), in);
    if (in->rounding != PTX_NEAREST) {
        fesetround(modes[in->rounding]);
    }
    double result;
    if (type.bits == 32 && in->approximate) {
        result = approximated(in, double_operation(in->opcode, a, b, c));
    } else if (type.bits == 32) {
        bool is_fma = in->opcode == PTX_FMA || in->opcode == PTX_MAD;
        volatile float single = is_fma ? fmaf((float)a, (float)b, (float)c)
                                       : (float)double_operation(in->opcode, a, b, c);
        result = single;
    } else {
        volatile double wide = double_operation(in->opcode, a, b, c);
        result = wide;
    }
    if (in->rounding != PTX_NEAREST) {
        fesetround(FE_TONEAREST);
    }
    return from_double(flush(with_rounding(in, result), in), type);
}

static double approximation(int opcode, double x) {
    switch (opcode) {
    case PTX_EX2:
        return exp2(x);
    case PTX_LG2:
        return log2(x);
    case PTX_SIN:
        return sin(x);
    case PTX_COS:
        return cos(x);
    case PTX_TANH:
        return tanh(x);
    default:
        return 1 / sqrt(x);
    }
}

static uint64_t minimum(const struct ptx_instruction *in, struct ptx_type type, uint64_t a,
                        uint64_t b) {
    bool smaller = in->opcode == PTX_MIN;
    if (is_float(type)) {
        double x = ptx_to_double(a, type), y = ptx_to_double(b, type);
        if (isnan(x) || isnan(y)) {
            return isnan(x) && isnan(y) ? from_double(NAN, type) : isnan(x) ? b : a;
        }
        if (x == y) {
            return signbit(x) == smaller ? a : b;
        }
        return (x < y) == smaller ? a : b;
    }
    return ptx_integer_minimum(smaller, type, a, b);
}

/* ---- comparisons ---- */

static bool compare_numbers(int compare, double a, double b) {
    bool unordered = isnan(a) || isnan(b);
    switch (compare) {
    case PTX_EQ:
        return a == b;
    case PTX_NE:
        return !unordered && a != b;
    case PTX_LT:
        return a < b;
    case PTX_LE:
        return a <= b;
    case PTX_GT:
        return a > b;
    case PTX_GE:
        return a >= b;
    case PTX_EQU:
        return unordered || a == b;
    case PTX_NEU:
        return unordered || a != b;
    case PTX_LTU:
        return unordered || a < b;
    case PTX_LEU:
        return unordered || a <= b;
    case PTX_GTU:
        return unordered || a > b;
    case PTX_GEU:
        return unordered || a >= b;
    case PTX_NUM:
        return !unordered;
    default:
        return unordered;
    }
}

#define COMPARE(a, b)                                                                              \
    (compare == PTX_EQ   ? (a) == (b)                                                              \
     : compare == PTX_NE ? (a) != (b)                                                              \
     : compare == PTX_LT ? (a) < (b)                                                               \
     : compare == PTX_LE ? (a) <= (b)                                                              \
     : compare == PTX_GT ? (a) > (b)                                                               \
                         : (a) >= (b))

static bool compare_values(int compare, struct ptx_type type, uint64_t a, uint64_t b) {
    if (is_float(type)) {
        return compare_numbers(compare, ptx_to_double(a, type), ptx_to_double(b, type));
    }
    if (type.kind == PTX_SIGNED) {
        return COMPARE(extend(a, type.bits), extend(b, type.bits));
    }
    return COMPARE(a & mask_of(type.bits), b & mask_of(type.bits));
}

static void set_predicate(struct ptx_machine *machine, struct ptx_thread *thread,
                          const struct ptx_instruction *in, const uint64_t v[3]) {
    (void)machine;
    bool result = compare_values(in->compare, in->type, v[0], v[1]), other = !result;
    bool with = v[2] & 1;
    if (in->combine == PTX_WITH_AND) {
        result = result && with;
        other = other && with;
    } else if (in->combine == PTX_WITH_OR) {
        result = result || with;
        other = other || with;
    } else if (in->combine == PTX_WITH_XOR) {
        result = result != with;
        other = other != with;
    }
    ptx_write(thread, in->operands[0].reg, result);
    if (in->operands[0].second >= 0) {
        ptx_write(thread, in->operands[0].second, other);
    }
}

/* ---- conversions ---- */

static double round_to_integer(double value, int rounding) {
    switch (rounding) {
    case PTX_ZERO:
        return trunc(value);
    case PTX_DOWN:
        return floor(value);
    case PTX_UP:
        return ceil(value);
    default:
        return nearbyint(value);
    }
}

static uint64_t to_integer(double value, struct ptx_type type) {
    if (isnan(value)) {
        return type.bits == 64 ? (uint64_t)1 << 63 : 0;
    }
    bool is_signed = type.kind == PTX_SIGNED;
    double top = ldexp(1, type.bits - is_signed), bottom = is_signed ? -top : 0;
    if (value >= top) {
        return is_signed ? mask_of(type.bits - 1u) : mask_of(type.bits);
    }
    if (value <= bottom) {
        return is_signed ? (uint64_t)1 << (type.bits - 1) : 0;
    }
    return is_signed ? (uint64_t)(int64_t)value & mask_of(type.bits) : (uint64_t)value;
}

static uint64_t integer_to_float(const struct ptx_instruction *in, uint64_t value) {
    struct ptx_type from = in->from;
    if (in->type.bits == 32 && in->type.kind == PTX_FLOAT) { /* once rounded */
        float result = from.kind == PTX_SIGNED ? (float)extend(value, from.bits)
                                               : (float)(value & mask_of(from.bits));
        return bits_of(result);
    }
    return from_double(ptx_to_double(value, from), in->type);
}

static uint64_t truncate_float(double value, struct ptx_type type) {
    if (type.kind == PTX_BFLOAT) {
        return isnan(value) ? 0x7fff : bits_of((float)value) >> 16;
    }
    fesetround(FE_TOWARDZERO);
    volatile float single = (float)value;
    fesetround(FE_TONEAREST);
    return type.bits == 32 ? bits_of(single) : from_double(value, type);
}

static uint64_t convert(const struct ptx_instruction *in, uint64_t value) {
    struct ptx_type to = in->type, from = in->from;
    if (is_float(from) && is_float(to)) {
        double number = flush(ptx_to_double(value, from), in);
        if (in->integer_rounding) {
            number = round_to_integer(number, in->rounding);
        }
        if (in->rounding == PTX_ZERO && !in->integer_rounding) {
            return truncate_float(number, to);
        }
        return from_double(flush(with_rounding(in, number), in), to);
    }
    if (is_float(from)) {
        return to_integer(round_to_integer(ptx_to_double(value, from), in->rounding), to);
    }
    if (is_float(to)) {
        return integer_to_float(in, value);
    }
    if (in->saturate) {
        return to_integer(ptx_to_double(value, from), to);
    }
    uint64_t wide =
        from.kind == PTX_SIGNED ? (uint64_t)extend(value, from.bits) : value & mask_of(from.bits);
    /* a register may be wider than the type: it gets the sign too */
    return to.kind == PTX_SIGNED ? (uint64_t)extend(wide, to.bits) : wide & mask_of(to.bits);
}

/* cvt.rn.bf16x2.f32 d, a, b: a is the upper half. */
static uint64_t convert_pair(const struct ptx_instruction *in, uint64_t a, uint64_t b) {
    struct ptx_type half = in->type;
    half.pair = 0;
    return from_double(ptx_to_double(a, in->from), half) << 16 |
           from_double(ptx_to_double(b, in->from), half);
}

/* ---- moves between registers and vectors of them ---- */

static void move(struct ptx_machine *machine, struct ptx_thread *thread,
                 const struct ptx_instruction *in) {
    const struct ptx_operand *to = &in->operands[0], *from = &in->operands[1];
    uint64_t value = 0;
    if (from->kind == PTX_VECTOR) {
        for (int i = 0; i < from->count; i++) {
            value |= ptx_read_element(thread, from, i) << (in->type.bits / from->count * i);
        }
    } else {
        value = ptx_read(machine, thread, from, in->type);
    }
    if (to->kind != PTX_VECTOR) {
        ptx_write(thread, to->reg, value);
        return;
    }
    unsigned bits = in->type.bits / to->count;
    for (int i = 0; i < to->count; i++) {
        if (to->elements[i] >= 0) {
            ptx_write(thread, to->elements[i], value >> (bits * (unsigned)i) & mask_of(bits));
        }
    }
}

static uint64_t change_space(const struct ptx_instruction *in, uint64_t value) {
    uint64_t window = in->space == PTX_SHARED  ? PTX_SHARED_WINDOW
                      : in->space == PTX_LOCAL ? PTX_LOCAL_WINDOW
                      : in->space == PTX_PARAM ? PTX_PARAM_WINDOW
                                               : 0;
    if (!window) {
        return value;
    }
    return in->to_space ? value & ~PTX_WINDOW_MASK : value | window;
}

/* ---- all of them ---- */

static uint64_t both_halves(const struct ptx_instruction *in, const uint64_t v[3]) {
    struct ptx_instruction one = *in;
    one.type.pair = 0;
    uint64_t result = 0;
    for (int i = 0; i < 2; i++) {
        uint64_t part[3];
        for (int k = 0; k < 3; k++) {
            part[k] = v[k] >> (16 * i) & 0xffff;
        }
        uint64_t value = in->opcode == PTX_MIN || in->opcode == PTX_MAX
                             ? minimum(&one, one.type, part[0], part[1])
                         : in->opcode == PTX_NEG ? part[0] ^ 0x8000
                         : in->opcode == PTX_ABS ? part[0] & 0x7fff
                                                 : rounded_operation(&one, one.type, part);
        result |= (value & 0xffff) << (16 * i);
    }
    return result;
}

static bool float_arithmetic(const struct ptx_instruction *in, const uint64_t v[3],
                             uint64_t *result) {
    struct ptx_type type = in->type;
    if (type.pair) {
        *result = both_halves(in, v);
        return true;
    }
    uint64_t sign = (uint64_t)1 << (type.bits - 1);
    switch (in->opcode) {
    case PTX_ADD:
    case PTX_SUB:
    case PTX_MUL:
    case PTX_DIV:
    case PTX_FMA:
    case PTX_MAD:
    case PTX_SQRT:
    case PTX_RCP:
        *result = rounded_operation(in, type, v);
        return true;
    case PTX_RSQRT:
    case PTX_EX2:
    case PTX_LG2:
    case PTX_SIN:
    case PTX_COS:
    case PTX_TANH:
        *result = from_double(
            flush(approximated(in, approximation(in->opcode, flush(ptx_to_double(v[0], type), in))),
                  in),
            type);
        return true;
    case PTX_NEG:
        *result = v[0] ^ sign;
        return true;
    case PTX_ABS:
        *result = v[0] & ~sign;
        return true;
    case PTX_COPYSIGN: /* of the first, to the second */
        *result = (v[0] & sign) | (v[1] & ~sign);
        return true;
    case PTX_MIN:
    case PTX_MAX:
        *result = minimum(in, type, v[0], v[1]);
        return true;
    default:
        return false;
    }
}

static bool logic(const struct ptx_instruction *in, const uint64_t v[3], uint64_t *result) {
    switch (in->opcode) {
    case PTX_AND:
        *result = v[0] & v[1];
        return true;
    case PTX_OR:
        *result = v[0] | v[1];
        return true;
    case PTX_XOR:
        *result = v[0] ^ v[1];
        return true;
    case PTX_NOT:
        *result = ~v[0];
        return true;
    case PTX_CNOT:
        *result = !(v[0] & mask_of(in->type.bits));
        return true;
    case PTX_SELP:
        *result = v[2] & 1 ? v[0] : v[1];
        return true;
    case PTX_CVTA:
        *result = change_space(in, v[0]);
        return true;
    case PTX_CVT:
        *result = in->type.pair ? convert_pair(in, v[0], v[1]) : convert(in, v[0]);
        return true;
    default:
        return false;
    }
}

/* The type of an instruction's operand, for immediates. */
static struct ptx_type operand_type(const struct ptx_instruction *in, int which) {
    static const struct ptx_type count = {PTX_UNSIGNED, 32, 0}, predicate = {PTX_PREDICATE, 1, 0};
    if (in->opcode == PTX_CVT) {
        return in->from;
    }
    if (in->opcode == PTX_SELP && which == 2) {
        return predicate;
    }
    if ((in->opcode == PTX_SHL || in->opcode == PTX_SHR) && which == 1) {
        return count;
    }
    return in->type;
}

void ptx_execute(struct ptx_machine *machine, struct ptx_thread *thread,
                 struct ptx_instruction *in) {
    if (in->opcode == PTX_MOV) {
        move(machine, thread, in);
        return;
    }
    uint64_t v[4] = {0}, result = 0;
    for (int i = 1; i < in->operand_count && i <= 4; i++) {
        v[i - 1] = ptx_read(machine, thread, &in->operands[i], operand_type(in, i - 1));
    }
    if (in->opcode == PTX_SETP) {
        set_predicate(machine, thread, in, v);
        return;
    }
    bool known =
        logic(in, v, &result) || (is_float(in->type) ? float_arithmetic(in, v, &result)
                                                     : ptx_integer_arithmetic(in, v, &result));
    if (known) {
        ptx_write(thread, in->operands[0].reg, result);
    } else {
        ptx_fail(machine, thread, in, PTX_UNKNOWN, "is not known to this machine");
    }
}

uint64_t ptx_combine_values(int operation, struct ptx_type type, uint64_t a, uint64_t b) {
    struct ptx_instruction in = {.type = type};
    const uint64_t v[3] = {a, b, 0};
    uint64_t mask = mask_of(type.bits);
    switch (operation) {
    case PTX_OP_ADD:
        in.opcode = PTX_ADD;
        if (type.pair) {
            return both_halves(&in, v);
        }
        return is_float(type) ? rounded_operation(&in, type, v) : (a + b) & mask;
    case PTX_OP_MIN:
    case PTX_OP_MAX:
        in.opcode = operation == PTX_OP_MIN ? PTX_MIN : PTX_MAX;
        return minimum(&in, type, a, b);
    case PTX_OP_AND:
        return a & b;
    case PTX_OP_OR:
        return a | b;
    case PTX_OP_XOR:
        return a ^ b;
    case PTX_OP_INC:
        return a >= b ? 0 : a + 1;
    case PTX_OP_DEC:
        return a == 0 || a > b ? b : a - 1;
    default: /* exchange */
        return b;
    }
}
