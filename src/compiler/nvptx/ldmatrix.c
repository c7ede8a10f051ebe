/*
 * Operands of long products (nv.mma.k16.*) that were loaded from threadgroup memory as they lie
 * there: four tiles of A, or two of B, by one ldmatrix instead of an access for each, and B turned
 * on its way.
 *
 * Requires the tiles of an operand to be at constant distances, and their rows at multiples of 16
 * bytes, which is proved from the address; others stay as they are.
 */
#include <string.h>

#include "compiler/ir/builtins.h"
#include "compiler/ir/walk.h"
#include "compiler/nvptx/nvptx.h"

enum { MAX_DEPTH = 24, MAX_PHIS = 12, ROW_ZEROS = 4, MAX_TILES = 4 };

/* ---- addresses ---- */
static unsigned least(unsigned a, unsigned b) {
    return a < b ? a : b;
}

static unsigned zeros_of_number(uint64_t number) {
    return number ? (unsigned)__builtin_ctzll(number) : 63;
}

bool igp_is_element(LLVMValueRef value) {
    return LLVMIsAGetElementPtrInst(value) ||
           (LLVMIsAConstantExpr(value) && LLVMGetConstOpcode(value) == LLVMGetElementPtr);
}

/* Phis whose values are being looked at. */
struct open {
    LLVMValueRef phi;
    const struct open *outer;
    unsigned depth;
};

static unsigned zeros_of(struct igc_kernel *k, LLVMValueRef value, const struct open *open,
                         unsigned depth);

/* Of what loops hand on: a phi that comes back to itself adds nothing. */
static unsigned zeros_of_phi(struct igc_kernel *k, LLVMValueRef phi, const struct open *open,
                             unsigned depth) {
    const struct open own = {phi, open, open ? open->depth + 1 : 1};
    unsigned zeros = 63;
    for (const struct open *o = open; o; o = o->outer) {
        if (o->phi == phi) {
            return zeros;
        }
    }
    for (unsigned i = 0; i < LLVMCountIncoming(phi) && zeros; i++) {
        zeros = own.depth > MAX_PHIS
                    ? 0
                    : least(zeros, zeros_of(k, LLVMGetIncomingValue(phi, i), &own, depth + 1));
    }
    return zeros;
}

static unsigned zeros_of_element(struct igc_kernel *k, LLVMValueRef pointer,
                                 const struct open *open, unsigned depth) {
    LLVMTypeRef type = LLVMGetGEPSourceElementType(pointer);
    LLVMTargetDataRef layout = LLVMGetModuleDataLayout(k->module);
    unsigned zeros = zeros_of(k, LLVMGetOperand(pointer, 0), open, depth + 1);
    for (int i = 1; i < LLVMGetNumOperands(pointer); i++) {
        if (i > 1 && LLVMGetTypeKind(type) != LLVMArrayTypeKind) {
            return 0;
        }
        type = i > 1 ? LLVMGetElementType(type) : type;
        zeros = least(zeros, zeros_of(k, LLVMGetOperand(pointer, (unsigned)i), open, depth + 1) +
                                 zeros_of_number(LLVMABISizeOfType(layout, type)));
    }
    return zeros;
}

/* How many of the lowest bits of a number or an address are 0 for sure. */
static unsigned zeros_of(struct igc_kernel *k, LLVMValueRef value, const struct open *open,
                         unsigned depth) {
    if (depth > MAX_DEPTH) {
        return 0;
    }
    if (LLVMIsAConstantInt(value)) {
        return zeros_of_number(LLVMConstIntGetZExtValue(value));
    }
    if (LLVMIsAGlobalVariable(value)) {
        return ROW_ZEROS; /* of threadgroup memory: see place_threadgroup */
    }
    if (igp_is_element(value)) {
        return zeros_of_element(k, value, open, depth);
    }
    if (!LLVMIsAInstruction(value)) {
        return 0;
    }
    if (LLVMIsACallInst(value)) {
        return igi_is_call_of(value, IGI_arg_threadgroup) || igi_is_call_of(value, IGI_panel)
                   ? ROW_ZEROS
                   : 0;
    }
    unsigned zeros = 0;
    LLVMOpcode opcode = LLVMGetInstructionOpcode(value);
    LLVMValueRef second = LLVMGetNumOperands(value) > 1 ? LLVMGetOperand(value, 1) : NULL;
    if (opcode == LLVMPHI) {
        return zeros_of_phi(k, value, open, depth);
    }
    unsigned first = zeros_of(k, LLVMGetOperand(value, 0), open, depth + 1);
    switch (opcode) {
    case LLVMAdd:
    case LLVMSub:
    case LLVMOr:
    case LLVMXor:
        return least(first, zeros_of(k, second, open, depth + 1));
    case LLVMMul:
        return least(63, first + zeros_of(k, second, open, depth + 1));
    case LLVMAnd:
        zeros = zeros_of(k, second, open, depth + 1);
        return first > zeros ? first : zeros;
    case LLVMShl:
        return LLVMIsAConstantInt(second)
                   ? least(63, first + (unsigned)LLVMConstIntGetZExtValue(second))
                   : first;
    case LLVMZExt:
    case LLVMSExt:
    case LLVMTrunc:
    case LLVMAddrSpaceCast:
        return first;
    case LLVMSelect:
        return least(zeros_of(k, second, open, depth + 1),
                     zeros_of(k, LLVMGetOperand(value, 2), open, depth + 1));
    default:
        return 0;
    }
}

LLVMValueRef igp_base_of(struct igc_kernel *k, LLVMValueRef pointer, int64_t *offset) {
    return igp_base_in(LLVMGetModuleDataLayout(k->module), pointer, offset);
}

LLVMValueRef igp_base_in(LLVMTargetDataRef layout, LLVMValueRef pointer, int64_t *offset) {
    *offset = 0;
    while (igp_is_element(pointer) && LLVMGetNumOperands(pointer) == 2 &&
           LLVMIsAConstantInt(LLVMGetOperand(pointer, 1))) {
        *offset += LLVMConstIntGetSExtValue(LLVMGetOperand(pointer, 1)) *
                   (int64_t)LLVMABISizeOfType(layout, LLVMGetGEPSourceElementType(pointer));
        pointer = LLVMGetOperand(pointer, 0);
    }
    return pointer;
}

/* ---- tiles ---- */
/* The load of element `number` of a tile of 16-bit elements. */
static LLVMValueRef load_of(LLVMValueRef call, uint64_t number) {
    if (!igi_is_call_of(call, IGI_simdgroup_load_threadgroup_b16)) {
        return NULL;
    }
    LLVMValueRef stride = LLVMGetOperand(call, 1), transposed = LLVMGetOperand(call, 2);
    LLVMValueRef which = LLVMGetOperand(call, 3);
    return LLVMIsAConstantInt(stride) && LLVMIsAConstantInt(transposed) &&
                   LLVMIsAConstantInt(which) && LLVMConstIntGetZExtValue(which) == number
               ? call
               : NULL;
}

static LLVMValueRef without_casts(LLVMValueRef value) {
    while (LLVMIsABitCastInst(value)) {
        value = LLVMGetOperand(value, 0);
    }
    return value;
}

/* The half of a word of 32 bits that an operand of the or is which puts it together. */
static LLVMValueRef half_of(LLVMValueRef value, bool high) {
    if (high) {
        LLVMValueRef bits = LLVMIsAInstruction(value) && LLVMGetInstructionOpcode(value) == LLVMShl
                                ? LLVMGetOperand(value, 1)
                                : NULL;
        if (!bits || !LLVMIsAConstantInt(bits) || LLVMConstIntGetZExtValue(bits) != 16) {
            return NULL;
        }
        value = LLVMGetOperand(value, 0);
    }
    return LLVMIsAZExtInst(value) ? LLVMGetOperand(value, 0) : NULL;
}

bool igp_find_elements(LLVMValueRef word, LLVMValueRef *elements) {
    LLVMValueRef last = without_casts(word);
    if (LLVMIsAInstruction(last) && LLVMGetInstructionOpcode(last) == LLVMOr) {
        for (unsigned i = 0; i < 2; i++) {
            elements[0] = half_of(LLVMGetOperand(last, i), false);
            elements[1] = half_of(LLVMGetOperand(last, 1 - i), true);
            if (elements[0] && elements[1]) {
                return true;
            }
        }
        return false;
    }
    LLVMValueRef before = LLVMIsAInsertElementInst(last) ? LLVMGetOperand(last, 0) : NULL;
    if (!before || !LLVMIsAInsertElementInst(before)) {
        return false;
    }
    elements[0] = without_casts(LLVMGetOperand(before, 1));
    elements[1] = without_casts(LLVMGetOperand(last, 1));
    return true;
}

bool igp_find_tile(struct igc_kernel *k, LLVMValueRef word, struct igp_tile *tile) {
    LLVMValueRef elements[2];
    if (!igp_find_elements(word, elements)) {
        return false;
    }
    tile->load[0] = load_of(elements[0], 0);
    tile->load[1] = load_of(elements[1], 1);
    if (!tile->load[0] || !tile->load[1] ||
        LLVMGetOperand(tile->load[0], 0) != LLVMGetOperand(tile->load[1], 0) ||
        LLVMGetOperand(tile->load[0], 1) != LLVMGetOperand(tile->load[1], 1) ||
        LLVMGetOperand(tile->load[0], 2) != LLVMGetOperand(tile->load[1], 2)) {
        return false;
    }
    tile->transposed = LLVMConstIntGetZExtValue(LLVMGetOperand(tile->load[0], 2));
    LLVMValueRef pointer = LLVMGetOperand(tile->load[0], 0);
    tile->base = igp_base_of(k, pointer, &tile->offset);
    tile->stride = 2 * LLVMConstIntGetSExtValue(LLVMGetOperand(tile->load[0], 1));
    return tile->stride % (1 << ROW_ZEROS) == 0 && zeros_of(k, pointer, NULL, 0) >= ROW_ZEROS;
}

/* All loads are in one block, and nothing is written between them; gives the last one. */
static LLVMValueRef last_load(const struct igp_tile *tiles, unsigned count) {
    LLVMValueRef first = NULL, last = NULL;
    LLVMBasicBlockRef block = LLVMGetInstructionParent(tiles[0].load[0]);
    unsigned found = 0;
    igi_each_in_block(in, block) {
        for (unsigned i = 0; i < 2 * count; i++) {
            if (tiles[i / 2].load[i % 2] == in) {
                first = first ? first : in;
                last = in;
                found++;
            }
        }
    }
    return found == 2 * count && igp_no_writes(first, last) ? last : NULL;
}

/* ---- loads ---- */
struct joined {
    LLVMValueRef loads[MAX_TILES]; /* of the tiles' first elements */
    bool turned;
    LLVMValueRef call;
    struct joined *next;
};

static LLVMValueRef build_load(struct igc_kernel *k, const struct igp_tile *tiles, unsigned count,
                               bool turned, LLVMValueRef last) {
    const unsigned words_of_name =
        (count == 4 ? IGI_LDMATRIX_X4 : IGI_LDMATRIX_X2) | (turned ? IGI_LDMATRIX_TRANS : 0);
    LLVMTypeRef i32 = LLVMInt32TypeInContext(k->context), words[] = {i32, i32, i32, i32};
    LLVMValueRef args[MAX_TILES + 2] = {tiles[0].base};
    for (unsigned i = 0; i < MAX_TILES; i++) {
        int64_t distance = tiles[i < count ? i : 0].offset - (i ? tiles[0].offset : 0);
        args[1 + i] = LLVMConstInt(i32, (uint64_t)distance, true);
    }
    args[MAX_TILES + 1] = LLVMConstInt(i32, (uint64_t)tiles[0].stride, true);
    LLVMPositionBuilderBefore(k->builder, LLVMGetNextInstruction(last));
    return igp_call(k, igi_with_words(IGI_nv_ldmatrix, words_of_name),
                    LLVMStructTypeInContext(k->context, words, count, false), args, MAX_TILES + 2);
}

/* The words of an operand, of `count` tiles, by one instruction, built before `place` at the
 * latest; each may be a call of nv.turn. Others stay as they are. */
static ingot_status join(struct igc_kernel *k, struct joined **list, LLVMValueRef *words,
                         unsigned count, LLVMValueRef place) {
    LLVMValueRef loads[MAX_TILES] = {NULL};
    struct igp_tile tiles[MAX_TILES];
    bool turned = igi_is_call_of(words[0], IGI_nv_turn);
    for (unsigned i = 0; i < count; i++) {
        LLVMValueRef word = words[i];
        if (!LLVMIsAInstruction(word) || turned != igi_is_call_of(word, IGI_nv_turn)) {
            return INGOT_OK;
        }
        word = turned ? LLVMGetOperand(word, 0) : word;
        if (!igp_find_tile(k, word, &tiles[i]) || tiles[i].base != tiles[0].base ||
            tiles[i].stride != tiles[0].stride || tiles[i].transposed != tiles[0].transposed) {
            return INGOT_OK;
        }
        loads[i] = tiles[i].load[0];
    }
    turned ^= tiles[0].transposed;
    struct joined *known = *list;
    while (known && (known->turned != turned || memcmp(known->loads, loads, sizeof loads))) {
        known = known->next;
    }
    if (!known) {
        LLVMValueRef last = last_load(tiles, count);
        if (!last) {
            return INGOT_OK;
        }
        known = ig_arena_alloc(k->arena, sizeof *known);
        if (!known) {
            return ig_fail(k->error, INGOT_OUT_OF_MEMORY, "no memory for a kernel's tiles");
        }
        memcpy(known->loads, loads, sizeof loads);
        known->turned = turned;
        known->call = build_load(k, tiles, count, turned, last);
        known->next = *list;
        *list = known;
    }
    LLVMPositionBuilderBefore(k->builder, place);
    for (unsigned i = 0; i < count; i++) {
        words[i] = LLVMBuildExtractValue(k->builder, known->call, i, "");
    }
    return INGOT_OK;
}

/* ---- tiles that a loop hands on ---- */
/* A phi of tiles, and that of the same as words, each turned or not. */
struct word_phi {
    LLVMValueRef tiles, words;
    bool turned;
    struct word_phi *next;
};

static LLVMValueRef incoming_from(LLVMValueRef phi, LLVMBasicBlockRef block) {
    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
        if (LLVMGetIncomingBlock(phi, i) == block) {
            return LLVMGetIncomingValue(phi, i);
        }
    }
    return NULL;
}

static bool is_tile_phi(LLVMValueRef value) {
    return LLVMIsAPHINode(value) && LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMVectorTypeKind &&
           LLVMGetVectorSize(LLVMTypeOf(value)) == 2;
}

/* The phi of words for one of tiles, and for those that come to it; NULL: no memory. */
static LLVMValueRef words_of(struct igc_kernel *k, struct word_phi **list, LLVMValueRef tiles,
                             bool turned) {
    LLVMTypeRef i32 = LLVMInt32TypeInContext(k->context);
    struct word_phi *known = *list;
    while (known && (known->turned != turned || known->tiles != tiles)) {
        known = known->next;
    }
    if (known) {
        return known->words;
    }
    known = ig_arena_alloc(k->arena, sizeof *known);
    if (!known) {
        return NULL;
    }
    LLVMPositionBuilderBefore(k->builder, tiles);
    LLVMValueRef words = LLVMBuildPhi(k->builder, i32, "");
    *known = (struct word_phi){tiles, words, turned, *list};
    *list = known;
    for (unsigned i = 0; i < LLVMCountIncoming(tiles); i++) {
        LLVMBasicBlockRef block = LLVMGetIncomingBlock(tiles, i);
        LLVMValueRef value = LLVMGetIncomingValue(tiles, i), word = incoming_from(words, block);
        if (!word && is_tile_phi(value)) {
            word = words_of(k, list, value, turned);
            if (!word) {
                return NULL;
            }
        } else if (!word) {
            LLVMPositionBuilderBefore(k->builder, LLVMGetBasicBlockTerminator(block));
            word = LLVMBuildBitCast(k->builder, value, i32, "");
            word = turned && !(LLVMIsConstant(word) && LLVMIsNull(word))
                       ? igp_call(k, igi_plain(IGI_nv_turn), i32, &word, 1)
                       : word;
        }
        LLVMAddIncoming(words, &word, &block, 1);
    }
    return words;
}

/* Is it element `number` of a phi of tiles? */
static LLVMValueRef phi_of(LLVMValueRef element, uint64_t number) {
    LLVMValueRef phi = LLVMIsAExtractElementInst(element) ? LLVMGetOperand(element, 0) : NULL;
    LLVMValueRef at = phi ? LLVMGetOperand(element, 1) : NULL;
    return phi && LLVMIsAPHINode(phi) && LLVMIsAConstantInt(at) &&
                   LLVMConstIntGetZExtValue(at) == number && LLVMGetVectorSize(LLVMTypeOf(phi)) == 2
               ? phi
               : NULL;
}

/* Takes the phi of words for a word that is made of a phi's two elements. */
static ingot_status find_word_phi(struct igc_kernel *k, struct word_phi **list,
                                  LLVMValueRef *word) {
    LLVMValueRef elements[2];
    const bool turned = igi_is_call_of(*word, IGI_nv_turn);
    LLVMValueRef tiles = NULL;
    if (igp_find_elements(turned ? LLVMGetOperand(*word, 0) : *word, elements)) {
        tiles = phi_of(elements[0], 0);
        tiles = tiles == phi_of(elements[1], 1) ? tiles : NULL;
    }
    if (tiles) {
        *word = words_of(k, list, tiles, turned);
    }
    return *word ? INGOT_OK
                 : ig_fail(k->error, INGOT_OUT_OF_MEMORY, "no memory for a kernel's tiles");
}

/* The same as join where a loop hands an operand on: for each way into the loop. */
static ingot_status join_phis(struct igc_kernel *k, struct joined **list, LLVMValueRef *phis,
                              unsigned count, unsigned depth) {
    if (depth > MAX_PHIS) {
        return INGOT_OK;
    }
    for (unsigned i = 0; i < count; i++) {
        if (!LLVMIsAPHINode(phis[i]) ||
            LLVMGetInstructionParent(phis[i]) != LLVMGetInstructionParent(phis[0])) {
            return INGOT_OK;
        }
    }
    ingot_status status = INGOT_OK;
    for (unsigned n = 0; !status && n < LLVMCountIncoming(phis[0]); n++) {
        LLVMBasicBlockRef block = LLVMGetIncomingBlock(phis[0], n);
        LLVMValueRef words[MAX_TILES];
        for (unsigned i = 0; i < count; i++) {
            words[i] = incoming_from(phis[i], block);
        }
        status = join(k, list, words, count, LLVMGetBasicBlockTerminator(block));
        if (!status) {
            status = join_phis(k, list, words, count, depth + 1);
        }
        for (unsigned i = 0; !status && i < count; i++) {
            for (unsigned at = 0; at < LLVMCountIncoming(phis[i]); at++) {
                if (LLVMGetIncomingBlock(phis[i], at) == block) {
                    LLVMSetOperand(phis[i], at, words[i]);
                }
            }
        }
    }
    return status;
}

/* Operands of a product from `first` on. */
static ingot_status join_operand(struct igc_kernel *k, struct joined **list, struct word_phi **phis,
                                 LLVMValueRef call, unsigned first, unsigned count) {
    LLVMValueRef words[MAX_TILES];
    ingot_status status = INGOT_OK;
    for (unsigned i = 0; !status && i < count; i++) {
        words[i] = LLVMGetOperand(call, first + i);
        status = find_word_phi(k, phis, &words[i]);
    }
    if (!status) {
        status = join(k, list, words, count, call);
    }
    if (!status) {
        status = join_phis(k, list, words, count, 0);
    }
    for (unsigned i = 0; !status && i < count; i++) {
        LLVMSetOperand(call, first + i, words[i]);
    }
    return status;
}

/* ---- two operands of B by one load ---- */
static int64_t number_of(LLVMValueRef call, unsigned operand) {
    return LLVMConstIntGetSExtValue(LLVMGetOperand(call, operand));
}

static bool can_pair(const struct joined *a, const struct joined *b) {
    enum { STRIDE = MAX_TILES + 1 };
    return !b->loads[2] && a->turned == b->turned &&
           LLVMGetInstructionParent(a->call) == LLVMGetInstructionParent(b->call) &&
           LLVMGetOperand(a->call, 0) == LLVMGetOperand(b->call, 0) &&
           number_of(a->call, 2) == number_of(b->call, 2) &&
           number_of(a->call, STRIDE) == number_of(b->call, STRIDE) &&
           igp_no_writes(a->call, b->call);
}

/* The words of a load of two tiles are those of one of four from `first` on. */
static void replace_words(struct igc_kernel *k, LLVMValueRef call, LLVMValueRef four,
                          unsigned first) {
    igi_while_used(use, call) {
        LLVMValueRef word = LLVMGetUser(use);
        LLVMPositionBuilderBefore(k->builder, word);
        igi_replace(word,
                    LLVMBuildExtractValue(k->builder, four, first + LLVMGetIndices(word)[0], ""));
    }
    LLVMInstructionEraseFromParent(call);
}

/* `a` is before `b`. */
static void load_both(struct igc_kernel *k, const struct joined *a, const struct joined *b) {
    struct igp_tile tiles[MAX_TILES];
    for (unsigned i = 0; i < MAX_TILES; i++) {
        LLVMValueRef call = i < 2 ? a->call : b->call;
        tiles[i] =
            (struct igp_tile){.base = LLVMGetOperand(call, 0),
                              .offset = number_of(call, 1) + (i % 2 ? number_of(call, 2) : 0),
                              .stride = number_of(call, MAX_TILES + 1)};
    }
    LLVMValueRef four = build_load(k, tiles, MAX_TILES, a->turned, a->call);
    replace_words(k, a->call, four, 0);
    replace_words(k, b->call, four, 2);
}

/* Neighbours in the list, which has the last one first. */
static void pair_loads(struct igc_kernel *k, struct joined *list) {
    while (list) {
        struct joined *before = list->next;
        while (before && before->loads[2]) {
            before = before->next;
        }
        if (!list->loads[2] && before && can_pair(before, list)) {
            load_both(k, before, list);
            before = before->next;
        }
        list = before;
    }
}

enum igc_result igp_join_loads(struct igc_kernel *k) {
    LLVMValueRef *calls = igp_collect(k, igp_is_register_product);
    struct joined *list = NULL;
    struct word_phi *phis = NULL;
    ingot_status status =
        calls ? INGOT_OK : ig_fail(k->error, INGOT_OUT_OF_MEMORY, "no memory for a kernel's tiles");
    for (size_t i = 0; !status && calls[i]; i++) {
        status = join_operand(k, &list, &phis, calls[i], 0, 4);
        if (!status && !igp_is_warpgroup_product(calls[i])) {
            status = join_operand(k, &list, &phis, calls[i], 4, 2);
        }
    }
    if (!status) {
        pair_loads(k, list);
    }
    return igc_result_of(status);
}
