/*
 * Permutations of lanes that are known at compile time.
 *
 * Provides igl_permute, which is all that constant shuffles, matrix tiles and scans need, as
 * two-source shuffles whose masks are as long as their sources: x86 has one instruction for
 * each, and LLVM falls back to element by element otherwise.
 */
#include <string.h>

#include "compiler/cpu/lower/lower.h"
#include "compiler/ir/builtins.h"

enum { MAX_ELEMENTS = 64 };

static LLVMValueRef shuffle(struct igv_emit *emit, LLVMValueRef a, LLVMValueRef b,
                            const int *indices, unsigned count) {
    LLVMValueRef mask[MAX_ELEMENTS];
    for (unsigned i = 0; i < count; i++) {
        mask[i] = indices[i] < 0 ? LLVMGetPoison(emit->i32) : igv_u32(emit, (uint32_t)indices[i]);
    }
    return LLVMBuildShuffleVector(emit->builder, a, b, LLVMConstVector(mask, count), "");
}

LLVMValueRef igl_join(struct igv_emit *emit, LLVMValueRef low, LLVMValueRef high) {
    int indices[MAX_ELEMENTS];
    unsigned count = 2 * LLVMGetVectorSize(LLVMTypeOf(low));
    for (unsigned i = 0; i < count; i++) {
        indices[i] = (int)i;
    }
    return shuffle(emit, low, high, indices, count);
}

LLVMValueRef igl_part(struct igv_emit *emit, LLVMValueRef vector, unsigned first, unsigned count) {
    if (count == LLVMGetVectorSize(LLVMTypeOf(vector))) {
        return vector;
    }
    int indices[MAX_ELEMENTS];
    for (unsigned i = 0; i < count; i++) {
        indices[i] = (int)(first + i);
    }
    return shuffle(emit, vector, LLVMGetPoison(LLVMTypeOf(vector)), indices, count);
}

/* Drops the sources that no element is picked from; returns how many are left. */
static unsigned used_sources(const LLVMValueRef *sources, struct igl_pick *picks, unsigned count,
                             LLVMValueRef *used) {
    unsigned used_count = 0;
    uint16_t from[MAX_ELEMENTS];
    for (unsigned i = 0; i < count; i++) {
        unsigned u = 0;
        while (u < used_count && from[u] != picks[i].source) {
            u++;
        }
        if (u == used_count) {
            from[used_count] = picks[i].source;
            used[used_count++] = sources[picks[i].source];
        }
        picks[i].source = (uint16_t)u;
    }
    return used_count;
}

static LLVMValueRef two_source(struct igv_emit *emit, LLVMValueRef a, LLVMValueRef b,
                               unsigned width, const struct igl_pick *picks, unsigned first_source,
                               unsigned count) {
    int indices[MAX_ELEMENTS];
    bool is_a = count == width, is_b = is_a;
    for (unsigned i = 0; i < count; i++) {
        unsigned source = picks[i].source - first_source; /* wraps for lower ones */
        indices[i] = source < 2 ? (int)(source * width + picks[i].element) : -1;
        is_a = is_a && (indices[i] < 0 || indices[i] == (int)i);
        is_b = is_b && (indices[i] < 0 || indices[i] == (int)(width + i));
    }
    if (is_a) {
        return a;
    }
    return is_b ? b : shuffle(emit, a, b, indices, count);
}

LLVMValueRef igl_permute(struct igv_emit *emit, const LLVMValueRef *sources, unsigned width,
                         const struct igl_pick *wanted, unsigned count) {
    struct igl_pick picks[MAX_ELEMENTS];
    LLVMValueRef level[MAX_ELEMENTS];
    memcpy(picks, wanted, count * sizeof *picks);
    unsigned source_count = used_sources(sources, picks, count, level);
    LLVMValueRef nothing = LLVMGetPoison(LLVMTypeOf(sources[wanted[0].source]));
    for (;;) {
        unsigned made = 0;
        for (unsigned s = 0; s < source_count; s += 2) {
            LLVMValueRef second = s + 1 < source_count ? level[s + 1] : nothing;
            level[made++] = two_source(emit, level[s], second, width, picks, s, count);
        }
        if (made == 1) {
            return level[0];
        }
        /* every element now sits at its place in one of the intermediate vectors */
        for (unsigned i = 0; i < count; i++) {
            picks[i].source /= 2;
            picks[i].element = (uint16_t)i;
        }
        source_count = made;
        width = count;
        nothing = LLVMGetPoison(LLVMTypeOf(level[0]));
    }
}

/* ---- lane indices as functions of the lane ---------------------------------------------- */
static bool evaluate(LLVMValueRef value, uint32_t lane, unsigned depth, uint32_t *result);

static bool evaluate_compare(LLVMValueRef value, uint32_t a, uint32_t b, uint32_t *result) {
    switch (LLVMGetICmpPredicate(value)) {
    case LLVMIntEQ:
        *result = a == b;
        return true;
    case LLVMIntNE:
        *result = a != b;
        return true;
    case LLVMIntUGT:
        *result = a > b;
        return true;
    case LLVMIntUGE:
        *result = a >= b;
        return true;
    case LLVMIntULT:
        *result = a < b;
        return true;
    case LLVMIntULE:
        *result = a <= b;
        return true;
    case LLVMIntSGT:
        *result = (int32_t)a > (int32_t)b;
        return true;
    case LLVMIntSGE:
        *result = (int32_t)a >= (int32_t)b;
        return true;
    case LLVMIntSLT:
        *result = (int32_t)a < (int32_t)b;
        return true;
    case LLVMIntSLE:
        *result = (int32_t)a <= (int32_t)b;
        return true;
    default:
        return false;
    }
}

static bool evaluate_binary(LLVMValueRef value, uint32_t a, uint32_t b, uint32_t *result) {
    switch (LLVMGetInstructionOpcode(value)) {
    case LLVMAdd:
        *result = a + b;
        return true;
    case LLVMSub:
        *result = a - b;
        return true;
    case LLVMMul:
        *result = a * b;
        return true;
    case LLVMAnd:
        *result = a & b;
        return true;
    case LLVMOr:
        *result = a | b;
        return true;
    case LLVMXor:
        *result = a ^ b;
        return true;
    case LLVMShl:
        *result = a << (b & 31);
        return b < 32;
    case LLVMLShr:
        *result = a >> (b & 31);
        return b < 32;
    case LLVMUDiv:
        *result = b ? a / b : 0;
        return b != 0;
    case LLVMURem:
        *result = b ? a % b : 0;
        return b != 0;
    case LLVMICmp:
        return evaluate_compare(value, a, b, result);
    default:
        return false;
    }
}

static bool evaluate(LLVMValueRef value, uint32_t lane, unsigned depth, uint32_t *result) {
    uint64_t number;
    if (igl_constant(value, &number)) {
        *result = (uint32_t)number;
        return true;
    }
    if (!LLVMIsAInstruction(value) || depth == 0) {
        return false;
    }
    if (igi_is_call_of(value, IGI_thread_index_in_simdgroup)) {
        *result = lane;
        return true;
    }
    LLVMTypeRef type = LLVMTypeOf(LLVMGetOperand(value, 0));
    if (LLVMIsASelectInst(value)) {
        uint32_t condition;
        return evaluate(LLVMGetOperand(value, 0), lane, depth - 1, &condition) &&
               evaluate(LLVMGetOperand(value, (condition & 1) ? 1 : 2), lane, depth - 1, result);
    }
    if (LLVMIsAZExtInst(value) || LLVMIsATruncInst(value)) {
        unsigned width = LLVMGetIntTypeWidth(LLVMTypeOf(value));
        bool known = evaluate(LLVMGetOperand(value, 0), lane, depth - 1, result);
        if (width < 32) {
            *result &= (1u << width) - 1;
        }
        return known && width <= 32 && LLVMGetIntTypeWidth(type) <= 32;
    }
    if (!(LLVMIsABinaryOperator(value) || LLVMIsAICmpInst(value)) ||
        LLVMGetTypeKind(type) != LLVMIntegerTypeKind || LLVMGetIntTypeWidth(type) != 32) {
        return false;
    }
    uint32_t a, b;
    return evaluate(LLVMGetOperand(value, 0), lane, depth - 1, &a) &&
           evaluate(LLVMGetOperand(value, 1), lane, depth - 1, &b) &&
           evaluate_binary(value, a, b, result);
}

bool igl_known_lanes(LLVMValueRef value, uint8_t lanes[IGL_WIDTH]) {
    for (uint32_t lane = 0; lane < IGL_WIDTH; lane++) {
        uint32_t index;
        if (!evaluate(value, lane, 12, &index)) {
            return false;
        }
        lanes[lane] = (uint8_t)(index % IGL_WIDTH);
    }
    return true;
}
