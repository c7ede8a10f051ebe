/* Arithmetic of integers that one thread executes. See ptx.h. */
#include "ptx_bits.h"

uint64_t ptx_integer_minimum(bool smaller, struct ptx_type type, uint64_t a, uint64_t b) {
    if (type.kind == PTX_SIGNED) {
        return (extend(a, type.bits) < extend(b, type.bits)) == smaller ? a : b;
    }
    a &= mask_of(type.bits);
    b &= mask_of(type.bits);
    return (a < b) == smaller ? a : b;
}

static uint64_t multiply(const struct ptx_instruction *in, uint64_t a, uint64_t b, uint64_t c) {
    struct ptx_type type = in->type;
    bool is_signed = type.kind == PTX_SIGNED;
    unsigned __int128 product =
        is_signed ? (unsigned __int128)((__int128)extend(a, type.bits) * extend(b, type.bits))
                  : (unsigned __int128)(a & mask_of(type.bits)) * (b & mask_of(type.bits));
    uint64_t value = (uint64_t)product;
    if (in->wide == PTX_HIGH) {
        value = (uint64_t)(product >> type.bits);
    }
    unsigned bits = in->wide == PTX_WIDE ? type.bits * 2u : type.bits;
    if (in->opcode == PTX_MAD) {
        value += c;
    }
    return value & mask_of(bits);
}

static uint64_t divide(const struct ptx_instruction *in, uint64_t a, uint64_t b) {
    unsigned bits = in->type.bits;
    bool remainder = in->opcode == PTX_REM;
    if (in->type.kind == PTX_SIGNED) {
        int64_t x = extend(a, bits), y = extend(b, bits);
        if (y == 0) {
            return remainder ? a : mask_of(bits); /* unspecified */
        }
        if (y == -1) {
            return remainder ? 0 : (0 - a) & mask_of(bits);
        }
        return (uint64_t)(remainder ? x % y : x / y) & mask_of(bits);
    }
    a &= mask_of(bits);
    b &= mask_of(bits);
    if (b == 0) {
        return remainder ? a : mask_of(bits);
    }
    return remainder ? a % b : a / b;
}

static uint64_t shift(const struct ptx_instruction *in, uint64_t a, uint64_t count) {
    unsigned bits = in->type.bits;
    count &= 0xffffffffu;
    if (in->opcode == PTX_SHL) {
        return count >= bits ? 0 : (a << count) & mask_of(bits);
    }
    if (in->type.kind == PTX_SIGNED) {
        return (uint64_t)(extend(a, bits) >> (count >= bits ? bits - 1 : count)) & mask_of(bits);
    }
    return count >= bits ? 0 : (a & mask_of(bits)) >> count;
}

static uint64_t funnel_shift(const struct ptx_instruction *in, uint64_t low, uint64_t high,
                             uint64_t count) {
    uint64_t both = high << 32 | (low & 0xffffffffu);
    count = in->clamp ? ((uint32_t)count > 32 ? 32 : (uint32_t)count) : count & 31;
    if (in->wide == PTX_LOW) { /* .l */
        return count == 32 ? low & 0xffffffffu : (both << count) >> 32;
    }
    return count == 32 ? high & 0xffffffffu : (both >> count) & 0xffffffffu;
}

static uint64_t extract(const struct ptx_instruction *in, uint64_t a, uint64_t at, uint64_t count) {
    unsigned bits = in->type.bits;
    at &= 0xff;
    count &= 0xff;
    bool is_signed = in->type.kind == PTX_SIGNED;
    a = is_signed ? (uint64_t)extend(a, bits) : a & mask_of(bits);
    if (count == 0) {
        return 0;
    }
    uint64_t sign_at = at + count - 1 < bits - 1 ? at + count - 1 : bits - 1;
    bool negative = is_signed && (a >> sign_at & 1);
    uint64_t value = at >= 64 ? 0 : (a & mask_of(bits)) >> at;
    value &= mask_of((unsigned)count);
    if (negative) {
        value |= ~mask_of((unsigned)(sign_at - at + 1 < count && at <= sign_at ? sign_at - at + 1
                                     : at > sign_at                            ? 0
                                                                               : count));
    }
    return value & mask_of(bits);
}

static uint64_t insert(const struct ptx_instruction *in, uint64_t from, uint64_t into, uint64_t at,
                       uint64_t count) {
    unsigned bits = in->type.bits;
    at &= 0xff;
    count &= 0xff;
    if (at >= bits || count == 0) {
        return into;
    }
    uint64_t mask = mask_of((unsigned)count) << at;
    return ((into & ~mask) | ((from << at) & mask)) & mask_of(bits);
}

static uint64_t permute(uint64_t a, uint64_t b, uint64_t selector) {
    uint64_t both = (b & 0xffffffffu) << 32 | (a & 0xffffffffu), result = 0;
    for (int i = 0; i < 4; i++) {
        unsigned pick = selector >> (4 * i) & 15;
        uint8_t byte = (uint8_t)(both >> (8 * (pick & 7)));
        if (pick & 8) {
            byte = byte & 0x80 ? 0xff : 0;
        }
        result |= (uint64_t)byte << (8 * i);
    }
    return result;
}

static uint64_t reverse(uint64_t a, unsigned bits) {
    uint64_t result = 0;
    for (unsigned i = 0; i < bits; i++) {
        result |= (a >> i & 1) << (bits - 1 - i);
    }
    return result;
}

static uint64_t count_leading(uint64_t a, unsigned bits) {
    a &= mask_of(bits);
    return a ? (uint64_t)(__builtin_clzll(a) - (int)(64 - bits)) : bits;
}

static uint64_t lookup3(uint64_t a, uint64_t b, uint64_t c, uint64_t table) {
    uint64_t result = 0;
    for (int i = 0; i < 32; i++) {
        unsigned index = (unsigned)(a >> i & 1) << 2 | (unsigned)(b >> i & 1) << 1 | (c >> i & 1);
        result |= (table >> index & 1) << i;
    }
    return result;
}

bool ptx_integer_arithmetic(const struct ptx_instruction *in, const uint64_t v[4],
                            uint64_t *result) {
    unsigned bits = in->type.bits;
    switch (in->opcode) {
    case PTX_ADD:
        *result = v[0] + v[1];
        return true;
    case PTX_SUB:
        *result = v[0] - v[1];
        return true;
    case PTX_MUL:
    case PTX_MAD:
        *result = multiply(in, v[0], v[1], v[2]);
        return true;
    case PTX_DIV:
    case PTX_REM:
        *result = divide(in, v[0], v[1]);
        return true;
    case PTX_MIN:
    case PTX_MAX:
        *result = ptx_integer_minimum(in->opcode == PTX_MIN, in->type, v[0], v[1]);
        return true;
    case PTX_NEG:
        *result = 0 - v[0];
        return true;
    case PTX_ABS:
        *result = extend(v[0], bits) < 0 ? 0 - v[0] : v[0];
        return true;
    case PTX_SHL:
    case PTX_SHR:
        *result = shift(in, v[0], v[1]);
        return true;
    case PTX_SHF:
        *result = funnel_shift(in, v[0], v[1], v[2]);
        return true;
    case PTX_BFE:
        *result = extract(in, v[0], v[1], v[2]);
        return true;
    case PTX_BFI:
        *result = insert(in, v[0], v[1], v[2], v[3]);
        return true;
    case PTX_PRMT:
        *result = permute(v[0], v[1], v[2]);
        return true;
    case PTX_LOP3:
        *result = lookup3(v[0], v[1], v[2], v[3]);
        return true;
    case PTX_BREV:
        *result = reverse(v[0], bits);
        return true;
    case PTX_POPC:
        *result = (uint64_t)__builtin_popcountll(v[0] & mask_of(bits));
        return true;
    case PTX_CLZ:
        *result = count_leading(v[0], bits);
        return true;
    default:
        return false;
    }
}
