/*
 * Products of simdgroup_matrix tiles.
 *
 * A lane holds two neighbouring elements of a row in Apple's layout: with lane bits b4…b0, row
 * 4·b4 + 2·b2 + b1, columns 4·b3 + 2·b0 + {0, 1}. NVIDIA's 8×8 fragments (a quarter of the
 * operands of mma.m16n8k8) give a lane row 4·h4 + 2·h3 + h2 and columns 4·h1 + 2·h0 + {0, 1}. So
 * kernels with tiles number their lanes so that hardware lane (r2 r1 r0 c1 c0) is Metal's lane
 * (r2 c1 r1 r0 c0), and tiles are fragments as they are; B is turned by movmatrix.
 *
 * The built-in asks for one element of a product at a time: here both become one call, and two
 * products with the same B that can be computed at one place one instruction of 16 rows.
 */
#include <string.h>

#include "compiler/ir/builtins.h"
#include "compiler/ir/walk.h"
#include "compiler/nvptx/nvptx.h"

enum { MAX_DEPTH = 24 };

struct product {
    LLVMValueRef calls[2]; /* by element; one may be NULL */
    unsigned tensor;       /* IGI_MMA_F16, IGI_MMA_BF16, or 0 for float */
    bool done;
};

/* Operands are read when they are needed: they may be products that have been replaced. */
static LLVMValueRef operand(const struct product *p, unsigned which) {
    return LLVMGetOperand(p->calls[0] ? p->calls[0] : p->calls[1], which);
}

static LLVMValueRef a_of(const struct product *p, unsigned element) {
    return operand(p, element);
}

static LLVMValueRef b_of(const struct product *p, unsigned element) {
    return operand(p, 2 + element);
}

/* 0 where nobody asks for the sum. */
static LLVMValueRef c_of(const struct product *p, unsigned element) {
    LLVMValueRef call = p->calls[element];
    return call ? LLVMGetOperand(call, 4) : LLVMConstNull(LLVMTypeOf(operand(p, 4)));
}

static bool is_product(LLVMValueRef in) {
    return igi_is_call_of(in, IGI_simdgroup_mma);
}

static bool is_tile_call(LLVMValueRef in) {
    return igi_facts_of(in)->lanes == IGI_LANES_WHOLE;
}

static bool is_tile_load(LLVMValueRef in) {
    return igi_family_of(in) == IGI_FAMILY_LOAD_DEVICE ||
           igi_family_of(in) == IGI_FAMILY_LOAD_THREADGROUP;
}

/* The half or bfloat that a float was made of; NULL if it was not. 0 is either. */
static LLVMValueRef narrow(LLVMValueRef value, LLVMTypeRef type) {
    if (LLVMIsAFPExtInst(value) && LLVMTypeOf(LLVMGetOperand(value, 0)) == type) {
        return LLVMGetOperand(value, 0);
    }
    return LLVMIsAConstantFP(value) && LLVMIsNull(value) ? LLVMConstNull(type) : NULL;
}

static unsigned tensor_of(LLVMContextRef context, const struct product *p) {
    const struct {
        LLVMTypeRef type;
        unsigned word;
    } kinds[] = {{LLVMHalfTypeInContext(context), IGI_MMA_F16},
                 {LLVMBFloatTypeInContext(context), IGI_MMA_BF16}};
    for (size_t i = 0; i < 2; i++) {
        if (narrow(a_of(p, 0), kinds[i].type) && narrow(a_of(p, 1), kinds[i].type) &&
            narrow(b_of(p, 0), kinds[i].type) && narrow(b_of(p, 1), kinds[i].type)) {
            return kinds[i].word;
        }
    }
    return 0;
}

static LLVMTypeRef type_of(LLVMContextRef context, const struct product *p) {
    return p->tensor == IGI_MMA_F16 ? LLVMHalfTypeInContext(context)
                                    : LLVMBFloatTypeInContext(context);
}

bool igp_is_before(LLVMValueRef value, LLVMValueRef place) {
    if (!LLVMIsAInstruction(value) ||
        LLVMGetInstructionParent(value) != LLVMGetInstructionParent(place)) {
        return true;
    }
    igi_each_from(in, LLVMGetNextInstruction(value)) {
        if (in == place) {
            return true;
        }
    }
    return false;
}

/* Among the calls that are not LLVM's. */
static bool may_write(LLVMValueRef call) {
    return !is_product(call) && !is_tile_load(call) && !igp_is_warpgroup_product(call) &&
           igi_family_of(call) != IGI_FAMILY_NV_MMA && !igi_is_call_of(call, IGI_nv_turn) &&
           igi_family_of(call) != IGI_FAMILY_NV_LDMATRIX;
}

bool igp_no_writes(LLVMValueRef from, LLVMValueRef to) {
    igi_each_before(in, from, to) {
        LLVMOpcode opcode = LLVMGetInstructionOpcode(in);
        if (opcode == LLVMStore || opcode == LLVMAtomicRMW || opcode == LLVMAtomicCmpXchg ||
            opcode == LLVMFence || (opcode == LLVMCall && !igi_is_intrinsic(in) && may_write(in))) {
            return false;
        }
    }
    return true;
}

/* Can the value be computed before `place`, by moving it and what it needs there? */
static bool can_move(LLVMValueRef value, LLVMValueRef place, unsigned depth) {
    if (igp_is_before(value, place)) {
        return true;
    }
    if (value == place || depth == MAX_DEPTH || LLVMIsAPHINode(value) ||
        LLVMIsATerminatorInst(value) || LLVMIsAAllocaInst(value)) {
        return false;
    }
    if (LLVMIsALoadInst(value) || is_tile_load(value)) {
        if ((LLVMIsALoadInst(value) && LLVMGetVolatile(value)) || !igp_no_writes(place, value)) {
            return false;
        }
    } else if (LLVMIsACallInst(value) || LLVMIsAStoreInst(value) || LLVMIsAAtomicRMWInst(value) ||
               LLVMIsAAtomicCmpXchgInst(value)) {
        return false;
    }
    int count =
        LLVMIsACallInst(value) ? (int)LLVMGetNumArgOperands(value) : LLVMGetNumOperands(value);
    for (int i = 0; i < count; i++) {
        if (!can_move(LLVMGetOperand(value, (unsigned)i), place, depth + 1)) {
            return false;
        }
    }
    return true;
}

static void move(struct igc_kernel *k, LLVMValueRef value, LLVMValueRef place) {
    if (igp_is_before(value, place)) {
        return;
    }
    int count =
        LLVMIsACallInst(value) ? (int)LLVMGetNumArgOperands(value) : LLVMGetNumOperands(value);
    for (int i = 0; i < count; i++) {
        move(k, LLVMGetOperand(value, (unsigned)i), place);
    }
    LLVMInstructionRemoveFromParent(value);
    LLVMPositionBuilderBefore(k->builder, place);
    LLVMInsertIntoBuilder(k->builder, value);
}

static LLVMValueRef first_call(const struct product *p) {
    if (!p->calls[0] || !p->calls[1]) {
        return p->calls[0] ? p->calls[0] : p->calls[1];
    }
    return igp_is_before(p->calls[0], p->calls[1]) ? p->calls[0] : p->calls[1];
}

/* ---- finding both elements ---- */
static uint64_t element_of(LLVMValueRef call) {
    LLVMValueRef which = LLVMGetOperand(call, 5);
    return LLVMIsAConstantInt(which) ? LLVMConstIntGetZExtValue(which) & 1 : 2;
}

static bool same_product(const struct product *p, LLVMValueRef call) {
    return a_of(p, 0) == LLVMGetOperand(call, 0) && a_of(p, 1) == LLVMGetOperand(call, 1) &&
           b_of(p, 0) == LLVMGetOperand(call, 2) && b_of(p, 1) == LLVMGetOperand(call, 3);
}

/* Can the product be computed at the first of its calls, with this as the other one? */
static bool can_join(const struct product *p, LLVMValueRef call) {
    LLVMValueRef first = first_call(p);
    return LLVMGetInstructionParent(first) == LLVMGetInstructionParent(call) &&
           can_move(LLVMGetOperand(call, 4), first, 0);
}

static ingot_status find_products(struct igc_kernel *k, struct product **products, size_t *count) {
    LLVMValueRef *calls = igp_collect(k, is_product);
    size_t total = 0;
    while (calls && calls[total]) {
        total++;
    }
    *products = calls ? ig_arena_array(k->arena, total + 1, sizeof **products) : NULL;
    *count = 0;
    if (!*products) {
        return ig_fail(k->error, INGOT_OUT_OF_MEMORY, "no memory for a kernel's tiles");
    }
    for (size_t i = 0; i < total; i++) {
        uint64_t element = element_of(calls[i]);
        if (element > 1) {
            return ig_fail(k->error, INGOT_COMPILE_ERROR,
                           "an element of a simdgroup_matrix product is asked for by a number "
                           "that is not a constant");
        }
        struct product *p = NULL;
        for (size_t n = *count; n-- > 0 && n + 16 >= *count && !p;) {
            struct product *old = &(*products)[n];
            if (!old->calls[element] && same_product(old, calls[i]) && can_join(old, calls[i])) {
                p = old;
                move(k, LLVMGetOperand(calls[i], 4), first_call(old));
            }
        }
        if (!p) {
            p = &(*products)[(*count)++];
            *p = (struct product){{NULL, NULL}, 0, false};
        }
        p->calls[element] = calls[i];
        p->tensor = tensor_of(k->context, p);
    }
    return INGOT_OK;
}

/* ---- code ---- */
static LLVMValueRef zero(struct igc_kernel *k) {
    return LLVMConstReal(LLVMFloatTypeInContext(k->context), 0.0);
}

static void finish(struct product *p, LLVMValueRef first, LLVMValueRef second) {
    LLVMValueRef values[] = {first, second};
    for (unsigned e = 0; e < 2; e++) {
        if (p->calls[e]) {
            igi_replace(p->calls[e], values[e]);
        }
    }
    p->done = true;
}

/* What lanes need of the others' elements of one operand: for A the eight elements of their row,
 * for B those of their two columns. Got once for all products of a block. */
static LLVMValueRef gathered(struct igc_kernel *k, enum igi_builtin builtin, LLVMValueRef first,
                             LLVMValueRef second, unsigned count, LLVMValueRef place) {
    for (LLVMValueRef in = LLVMGetPreviousInstruction(place); in;
         in = LLVMGetPreviousInstruction(in)) {
        if (igi_is_call_of(in, builtin) && LLVMGetOperand(in, 0) == first &&
            LLVMGetOperand(in, 1) == second) {
            return in;
        }
    }
    LLVMTypeRef types[16];
    for (unsigned i = 0; i < count; i++) {
        types[i] = LLVMFloatTypeInContext(k->context);
    }
    LLVMValueRef args[] = {first, second};
    LLVMPositionBuilderBefore(k->builder, place);
    return igp_call(k, igi_plain(builtin), LLVMStructTypeInContext(k->context, types, count, false),
                    args, 2);
}

static void emit_float(struct igc_kernel *k, struct product *p) {
    LLVMTypeRef f32 = LLVMFloatTypeInContext(k->context), types[] = {f32, f32, f32};
    LLVMValueRef place = first_call(p);
    LLVMValueRef row = gathered(k, IGI_nv_row, a_of(p, 0), a_of(p, 1), 8, place);
    LLVMValueRef columns = gathered(k, IGI_nv_columns, b_of(p, 0), b_of(p, 1), 16, place);
    LLVMTypeRef type = LLVMFunctionType(f32, types, 3, false);
    LLVMValueRef fma = igi_declare_intrinsic(k->module, IGI_LLVM_fma, &f32, 1);
    LLVMValueRef sums[] = {c_of(p, 0), c_of(p, 1)};
    LLVMPositionBuilderBefore(k->builder, place);
    for (unsigned i = 0; i < 8; i++) {
        LLVMValueRef a = LLVMBuildExtractValue(k->builder, row, i, "");
        for (unsigned e = 0; e < 2; e++) {
            LLVMValueRef args[] = {a, LLVMBuildExtractValue(k->builder, columns, 2 * i + e, ""),
                                   sums[e]};
            sums[e] = LLVMBuildCall2(k->builder, type, fma, args, 3, "");
        }
    }
    finish(p, sums[0], sums[1]);
}

/* Two elements in one register. */
static LLVMValueRef packed(struct igc_kernel *k, const struct product *p, LLVMValueRef first,
                           LLVMValueRef second) {
    LLVMTypeRef i32 = LLVMInt32TypeInContext(k->context), type = type_of(k->context, p);
    LLVMValueRef low = narrow(first, type), high = narrow(second, type);
    LLVMValueRef pair = LLVMGetPoison(LLVMVectorType(type, 2));
    pair = LLVMBuildInsertElement(k->builder, pair, low, LLVMConstInt(i32, 0, false), "");
    pair = LLVMBuildInsertElement(k->builder, pair, high, LLVMConstInt(i32, 1, false), "");
    return LLVMBuildBitCast(k->builder, pair, i32, "");
}

/* The load of an element of a transposed tile that a float was made of; NULL if it was not. */
static LLVMValueRef turned_load(LLVMValueRef value, uint64_t number) {
    LLVMValueRef element = LLVMIsAFPExtInst(value) ? LLVMGetOperand(value, 0) : value;
    LLVMValueRef call = LLVMIsABitCastInst(element) ? LLVMGetOperand(element, 0) : NULL;
    if (!call || !LLVMIsACallInst(call) || !is_tile_load(call)) {
        return NULL;
    }
    LLVMValueRef transposed = LLVMGetOperand(call, 2), which = LLVMGetOperand(call, 3);
    return LLVMIsAConstantInt(transposed) && LLVMConstIntGetZExtValue(transposed) &&
                   LLVMIsAConstantInt(which) && LLVMConstIntGetZExtValue(which) == number
               ? call
               : NULL;
}

/* A tile that was turned when it was loaded, and is to be turned again, is loaded as it stands:
 * before the first of its loads, once. NULL if it is none. */
static LLVMValueRef unturned(struct igc_kernel *k, const struct product *p) {
    LLVMTypeRef i32 = LLVMInt32TypeInContext(k->context);
    LLVMValueRef loads[] = {turned_load(b_of(p, 0), 0), turned_load(b_of(p, 1), 1)};
    if (!loads[0] || !loads[1] || LLVMGetCalledValue(loads[0]) != LLVMGetCalledValue(loads[1]) ||
        LLVMGetOperand(loads[0], 0) != LLVMGetOperand(loads[1], 0) ||
        LLVMGetOperand(loads[0], 1) != LLVMGetOperand(loads[1], 1) ||
        LLVMGetInstructionParent(loads[0]) != LLVMGetInstructionParent(loads[1])) {
        return NULL;
    }
    LLVMValueRef place = igp_is_before(loads[0], loads[1]) ? loads[0] : loads[1];
    if (!igp_no_writes(place, place == loads[0] ? loads[1] : loads[0])) {
        return NULL;
    }
    LLVMValueRef before = LLVMGetPreviousInstruction(place);
    LLVMValueRef pair = before && LLVMIsABitCastInst(before) ? LLVMGetOperand(before, 0) : NULL;
    if (pair && LLVMTypeOf(before) == i32 && LLVMIsAInsertElementInst(pair) &&
        LLVMIsACallInst(LLVMGetOperand(pair, 1)) && is_tile_load(LLVMGetOperand(pair, 1)) &&
        LLVMGetOperand(LLVMGetOperand(pair, 1), 0) == LLVMGetOperand(place, 0)) {
        return before;
    }
    LLVMPositionBuilderBefore(k->builder, place);
    LLVMTypeRef type = LLVMGlobalGetValueType(LLVMGetCalledValue(place));
    pair = LLVMGetPoison(LLVMVectorType(LLVMGetReturnType(type), 2));
    for (unsigned e = 0; e < 2; e++) {
        LLVMValueRef args[] = {LLVMGetOperand(place, 0), LLVMGetOperand(place, 1),
                               LLVMConstNull(LLVMInt1TypeInContext(k->context)),
                               LLVMConstInt(i32, e, false)};
        LLVMValueRef element =
            LLVMBuildCall2(k->builder, type, LLVMGetCalledValue(place), args, 4, "");
        pair = LLVMBuildInsertElement(k->builder, pair, element, LLVMConstInt(i32, e, false), "");
    }
    return LLVMBuildBitCast(k->builder, pair, i32, "");
}

/* B as the instruction wants it: turned once for all products of a block. */
static LLVMValueRef turned(struct igc_kernel *k, const struct product *p, LLVMValueRef place) {
    LLVMTypeRef i32 = LLVMInt32TypeInContext(k->context), type = type_of(k->context, p);
    LLVMValueRef as_it_stands = unturned(k, p);
    if (as_it_stands) {
        return as_it_stands;
    }
    for (LLVMValueRef in = LLVMGetPreviousInstruction(place); in;
         in = LLVMGetPreviousInstruction(in)) {
        LLVMValueRef cast = igi_is_call_of(in, IGI_nv_turn) ? LLVMGetOperand(in, 0) : NULL;
        LLVMValueRef last = cast && LLVMIsABitCastInst(cast) ? LLVMGetOperand(cast, 0) : NULL;
        LLVMValueRef before =
            last && LLVMIsAInsertElementInst(last) ? LLVMGetOperand(last, 0) : NULL;
        if (before && LLVMIsAInsertElementInst(before) &&
            LLVMGetOperand(last, 1) == narrow(b_of(p, 1), type) &&
            LLVMGetOperand(before, 1) == narrow(b_of(p, 0), type)) {
            return in;
        }
    }
    LLVMPositionBuilderBefore(k->builder, place);
    LLVMValueRef pair = packed(k, p, b_of(p, 0), b_of(p, 1));
    return igp_call(k, igi_plain(IGI_nv_turn), i32, &pair, 1);
}

static void emit_tensor(struct igc_kernel *k, struct product *p, struct product *other) {
    LLVMTypeRef i32 = LLVMInt32TypeInContext(k->context);
    LLVMTypeRef f32 = LLVMFloatTypeInContext(k->context), four[] = {f32, f32, f32, f32};
    LLVMValueRef place = first_call(p);
    for (unsigned e = 0; other && e < 2; e++) {
        move(k, a_of(other, e), place);
        move(k, c_of(other, e), place);
    }
    LLVMValueRef b = turned(k, p, place);
    LLVMPositionBuilderBefore(k->builder, place);
    LLVMValueRef args[] = {
        packed(k, p, a_of(p, 0), a_of(p, 1)),
        other ? packed(k, p, a_of(other, 0), a_of(other, 1)) : LLVMConstInt(i32, 0, false),
        b,
        c_of(p, 0),
        c_of(p, 1),
        other ? c_of(other, 0) : zero(k),
        other ? c_of(other, 1) : zero(k),
    };
    LLVMValueRef all = igp_call(k, igi_with_words(IGI_nv_mma, p->tensor),
                                LLVMStructTypeInContext(k->context, four, 4, false), args, 7);
    LLVMValueRef parts[4];
    for (unsigned i = 0; i < 4; i++) {
        parts[i] = LLVMBuildExtractValue(k->builder, all, i, "");
    }
    finish(p, parts[0], parts[1]);
    if (other) {
        finish(other, parts[2], parts[3]);
    }
}

/* Can the second product be computed where the first is? */
static bool can_share(const struct product *p, const struct product *q) {
    LLVMValueRef place = first_call(p);
    if (b_of(p, 0) != b_of(q, 0) || b_of(p, 1) != b_of(q, 1) || p->tensor != q->tensor ||
        LLVMGetInstructionParent(place) != LLVMGetInstructionParent(first_call(q))) {
        return false;
    }
    for (unsigned e = 0; e < 2; e++) {
        if (!can_move(a_of(q, e), place, 0) || !can_move(c_of(q, e), place, 0)) {
            return false;
        }
    }
    return true;
}

/* ---- two steps of k in one instruction ---- */
static bool is_tensor_call(LLVMValueRef in) {
    return igi_is_call_of(in, IGI_nv_mma) && !(igi_name_of(in).words & IGI_MMA_K16);
}

/* The product whose four sums are exactly this one's addends, and used for nothing else. */
static LLVMValueRef step_before(LLVMValueRef call) {
    LLVMValueRef first = NULL;
    for (unsigned i = 0; i < 4; i++) {
        LLVMValueRef part = LLVMGetOperand(call, 3 + i);
        if (!LLVMIsAExtractValueInst(part) || LLVMGetIndices(part)[0] != i ||
            LLVMGetNextUse(LLVMGetFirstUse(part)) || (first && LLVMGetOperand(part, 0) != first)) {
            return NULL;
        }
        first = LLVMGetOperand(part, 0);
    }
    return is_tensor_call(first) && LLVMGetCalledValue(first) == LLVMGetCalledValue(call) &&
                   LLVMGetInstructionParent(first) == LLVMGetInstructionParent(call)
               ? first
               : NULL;
}

static ingot_status join_steps(struct igc_kernel *k) {
    LLVMValueRef *calls = igp_collect(k, is_tensor_call);
    if (!calls) {
        return ig_fail(k->error, INGOT_OUT_OF_MEMORY, "no memory for a kernel's tiles");
    }
    for (size_t i = 0; calls[i]; i++) {
        LLVMValueRef first = step_before(calls[i]);
        if (!first) {
            continue;
        }
        const unsigned type = igi_name_of(first).words;
        LLVMValueRef args[10] = {LLVMGetOperand(first, 0),    LLVMGetOperand(first, 1),
                                 LLVMGetOperand(calls[i], 0), LLVMGetOperand(calls[i], 1),
                                 LLVMGetOperand(first, 2),    LLVMGetOperand(calls[i], 2)};
        for (unsigned c = 0; c < 4; c++) {
            args[6 + c] = LLVMGetOperand(first, 3 + c);
        }
        LLVMPositionBuilderBefore(k->builder, calls[i]);
        LLVMValueRef both = igp_call(k, igi_with_words(IGI_nv_mma, IGI_MMA_K16 | type),
                                     LLVMTypeOf(first), args, 10);
        LLVMValueRef parts[4];
        for (unsigned c = 0; c < 4; c++) {
            parts[c] = LLVMGetOperand(calls[i], 3 + c);
        }
        igi_replace(calls[i], both);
        for (unsigned c = 0; c < 4; c++) {
            LLVMInstructionEraseFromParent(parts[c]);
        }
        LLVMInstructionEraseFromParent(first);
    }
    return INGOT_OK;
}

enum igc_result igp_lower_matrix(struct igc_kernel *kernel) {
    LLVMValueRef *tiles = igp_collect(kernel, is_tile_call);
    struct product *products;
    size_t count;
    igp_facts(kernel)->permuted = tiles && *tiles;
    ingot_status status = find_products(kernel, &products, &count);
    for (size_t i = 0; !status && i < count; i++) {
        struct product *p = &products[i], *other = NULL;
        if (p->done) {
            continue;
        }
        if (!p->tensor) {
            emit_float(kernel, p);
            continue;
        }
        for (size_t n = i + 1; n < count && n < i + 64 && !other; n++) {
            other = !products[n].done && can_share(p, &products[n]) ? &products[n] : NULL;
        }
        emit_tensor(kernel, p, other);
    }
    if (!status) {
        status = join_steps(kernel);
    }
    return igc_result_of(status);
}
