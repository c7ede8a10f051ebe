/*
 * Structs and arrays as SSA values: loads, stores, phis, selects and freezes of them become those
 * of their scalar (or vector) leaves, tied together by insertvalue and extractvalue, which
 * simplification then removes in pairs.
 */
#include "compiler/cpu/prepare/prepare.h"
#include "compiler/ir/walk.h"

#define MAX_DEPTH 16u

/* One path from a struct down to a leaf. */
struct leaf {
    unsigned path[MAX_DEPTH], depth;
    LLVMTypeRef type;
    uint64_t offset;
};

/* Calls `act` for every leaf; stops with false when a type is nested too deep. */
static bool for_each_leaf(struct igc_kernel *kernel, LLVMTypeRef type, struct leaf *leaf,
                          void (*act)(struct igc_kernel *kernel, const struct leaf *leaf,
                                      void *data),
                          void *data) {
    if (!igv_is_aggregate(type)) {
        leaf->type = type;
        act(kernel, leaf, data);
        return true;
    }
    if (leaf->depth == MAX_DEPTH) {
        return false;
    }
    bool is_struct = LLVMGetTypeKind(type) == LLVMStructTypeKind;
    unsigned count =
        is_struct ? LLVMCountStructElementTypes(type) : (unsigned)LLVMGetArrayLength2(type);
    uint64_t start = leaf->offset;
    leaf->depth++;
    for (unsigned i = 0; i < count; i++) {
        LLVMTypeRef element =
            is_struct ? LLVMStructGetTypeAtIndex(type, i) : LLVMGetElementType(type);
        leaf->path[leaf->depth - 1] = i;
        leaf->offset = start + (is_struct ? LLVMOffsetOfElement(kernel->layout, type, i)
                                          : i * LLVMABISizeOfType(kernel->layout, element));
        if (!for_each_leaf(kernel, element, leaf, act, data)) {
            return false;
        }
    }
    leaf->depth--;
    leaf->offset = start;
    return true;
}

static LLVMValueRef extract(struct igc_kernel *kernel, LLVMValueRef whole,
                            const struct leaf *leaf) {
    for (unsigned i = 0; i < leaf->depth; i++) {
        whole = LLVMBuildExtractValue(kernel->builder, whole, leaf->path[i], "");
    }
    return whole;
}

static LLVMValueRef insert(struct igc_kernel *kernel, LLVMValueRef whole, const struct leaf *leaf,
                           unsigned level, LLVMValueRef value) {
    if (level + 1 < leaf->depth) {
        LLVMValueRef inner = LLVMBuildExtractValue(kernel->builder, whole, leaf->path[level], "");
        value = insert(kernel, inner, leaf, level + 1, value);
    }
    return LLVMBuildInsertValue(kernel->builder, whole, value, leaf->path[level], "");
}

struct rewrite {
    LLVMValueRef instruction; /* the one being taken apart */
    LLVMValueRef whole;       /* its result so far */
};

static unsigned piece_align(unsigned align, uint64_t offset) {
    while (align > 1 && offset % align) {
        align /= 2;
    }
    return align ? align : 1;
}

static void load_leaf(struct igc_kernel *kernel, const struct leaf *leaf, void *data) {
    struct rewrite *rewrite = data;
    LLVMValueRef pointer =
        igc_byte_offset(kernel, LLVMGetOperand(rewrite->instruction, 0), leaf->offset);
    LLVMValueRef load = LLVMBuildLoad2(kernel->builder, leaf->type, pointer, "");
    LLVMSetAlignment(load, piece_align(LLVMGetAlignment(rewrite->instruction), leaf->offset));
    igv_copy_metadata(kernel, rewrite->instruction, load);
    rewrite->whole = insert(kernel, rewrite->whole, leaf, 0, load);
}

static void store_leaf(struct igc_kernel *kernel, const struct leaf *leaf, void *data) {
    struct rewrite *rewrite = data;
    LLVMValueRef value = extract(kernel, LLVMGetOperand(rewrite->instruction, 0), leaf);
    LLVMValueRef pointer =
        igc_byte_offset(kernel, LLVMGetOperand(rewrite->instruction, 1), leaf->offset);
    LLVMValueRef store = LLVMBuildStore(kernel->builder, value, pointer);
    LLVMSetAlignment(store, piece_align(LLVMGetAlignment(rewrite->instruction), leaf->offset));
    igv_copy_metadata(kernel, rewrite->instruction, store);
}

static void select_leaf(struct igc_kernel *kernel, const struct leaf *leaf, void *data) {
    struct rewrite *rewrite = data;
    LLVMValueRef a = extract(kernel, LLVMGetOperand(rewrite->instruction, 1), leaf);
    LLVMValueRef b = extract(kernel, LLVMGetOperand(rewrite->instruction, 2), leaf);
    LLVMValueRef chosen =
        LLVMBuildSelect(kernel->builder, LLVMGetOperand(rewrite->instruction, 0), a, b, "");
    rewrite->whole = insert(kernel, rewrite->whole, leaf, 0, chosen);
}

static void freeze_leaf(struct igc_kernel *kernel, const struct leaf *leaf, void *data) {
    struct rewrite *rewrite = data;
    LLVMValueRef value = extract(kernel, LLVMGetOperand(rewrite->instruction, 0), leaf);
    rewrite->whole =
        insert(kernel, rewrite->whole, leaf, 0, LLVMBuildFreeze(kernel->builder, value, ""));
}

static void phi_leaf(struct igc_kernel *kernel, const struct leaf *leaf, void *data) {
    struct rewrite *rewrite = data;
    LLVMValueRef phi = rewrite->instruction;
    LLVMPositionBuilderBefore(kernel->builder, phi);
    LLVMValueRef piece = LLVMBuildPhi(kernel->builder, leaf->type, "");
    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
        LLVMBasicBlockRef block = LLVMGetIncomingBlock(phi, i);
        LLVMPositionBuilderBefore(kernel->builder, LLVMGetBasicBlockTerminator(block));
        LLVMValueRef value = igv_earlier_incoming(piece, block);
        if (!value) {
            value = extract(kernel, LLVMGetIncomingValue(phi, i), leaf);
        }
        LLVMAddIncoming(piece, &value, &block, 1);
    }
    /* behind what earlier leaves put there */
    LLVMValueRef at = rewrite->whole;
    if (LLVMIsAInstruction(at)) {
        LLVMPositionBuilderBefore(kernel->builder, LLVMGetNextInstruction(at));
    } else {
        igi_after_phis(kernel->builder, LLVMGetInstructionParent(phi));
    }
    rewrite->whole = insert(kernel, rewrite->whole, leaf, 0, piece);
}

static bool is_whole(struct igc_kernel *kernel, LLVMValueRef instruction) {
    (void)kernel;
    switch (LLVMGetInstructionOpcode(instruction)) {
    case LLVMLoad:
    case LLVMPHI:
    case LLVMSelect:
    case LLVMFreeze:
        return igv_is_aggregate(LLVMTypeOf(instruction));
    case LLVMStore:
        return igv_is_aggregate(LLVMTypeOf(LLVMGetOperand(instruction, 0)));
    default:
        return false;
    }
}

static bool take_apart(struct igc_kernel *kernel, LLVMValueRef instruction) {
    LLVMOpcode opcode = LLVMGetInstructionOpcode(instruction);
    LLVMTypeRef type =
        LLVMTypeOf(opcode == LLVMStore ? LLVMGetOperand(instruction, 0) : instruction);
    struct rewrite rewrite = {instruction, LLVMGetPoison(type)};
    struct leaf leaf = {.depth = 0};
    LLVMPositionBuilderBefore(kernel->builder, instruction);
    bool done = for_each_leaf(kernel, type, &leaf,
                              opcode == LLVMLoad     ? load_leaf
                              : opcode == LLVMStore  ? store_leaf
                              : opcode == LLVMPHI    ? phi_leaf
                              : opcode == LLVMSelect ? select_leaf
                                                     : freeze_leaf,
                              &rewrite);
    if (!done) {
        return false;
    }
    if (opcode == LLVMStore) {
        LLVMInstructionEraseFromParent(instruction);
    } else {
        igi_replace(instruction, rewrite.whole);
    }
    return true;
}

enum igc_result igv_prepare_aggregates(struct igc_kernel *kernel) {
    struct igc_list list = igc_collect(kernel, is_whole);
    if (list.failed) {
        return igc_result_of(igc_out_of_memory(kernel));
    }
    for (size_t i = 0; i < list.count; i++) {
        if (!take_apart(kernel, list.items[i])) {
            return igc_result_of(ig_fail(
                kernel->error, INGOT_COMPILE_ERROR,
                "the kernel moves a struct whose members are nested more than %u deep", MAX_DEPTH));
        }
    }
    return list.count ? IGC_CHANGED : IGC_UNCHANGED;
}

/* ---- compare and exchange ---------------------------------------------------------------------
 * Its result is a pair. Phis of it, as at the end of a loop that it leaves, would be pairs too. */
static bool is_exchange(struct igc_kernel *kernel, LLVMValueRef instruction) {
    (void)kernel;
    return LLVMIsAAtomicCmpXchgInst(instruction) != NULL;
}

static bool is_copy(LLVMValueRef phi) {
    LLVMValueRef first = LLVMGetIncomingValue(phi, 0);
    for (unsigned i = 1; i < LLVMCountIncoming(phi); i++) {
        if (LLVMGetIncomingValue(phi, i) != first) {
            return false;
        }
    }
    return true;
}

/* A phi without uses that takes the pair, or NULL. */
static LLVMValueRef dead_phi(LLVMValueRef pair) {
    igi_each_use(use, pair) {
        LLVMValueRef user = LLVMGetUser(use);
        if (LLVMIsAPHINode(user) && !LLVMGetFirstUse(user)) {
            return user;
        }
    }
    return NULL;
}

static void take_parts(LLVMValueRef pair, const LLVMValueRef parts[2]) {
    igi_each_use_safe(use, pair) {
        LLVMValueRef user = LLVMGetUser(use);
        if (LLVMIsAPHINode(user) && is_copy(user)) {
            take_parts(user, parts);
        } else if (LLVMIsAExtractValueInst(user) && user != parts[0] && user != parts[1]) {
            igi_replace(user, parts[LLVMGetIndices(user)[0]]);
        }
    }
    for (LLVMValueRef phi; (phi = dead_phi(pair));) {
        LLVMInstructionEraseFromParent(phi);
    }
}

enum igc_result igv_prepare_exchanges(struct igc_kernel *kernel) {
    struct igc_list list = igc_collect(kernel, is_exchange);
    if (list.failed) {
        return igc_result_of(igc_out_of_memory(kernel));
    }
    for (size_t i = 0; i < list.count; i++) {
        LLVMPositionBuilderBefore(kernel->builder, LLVMGetNextInstruction(list.items[i]));
        LLVMValueRef parts[2];
        for (unsigned k = 0; k < 2; k++) {
            parts[k] = LLVMBuildExtractValue(kernel->builder, list.items[i], k, "");
        }
        take_parts(list.items[i], parts);
    }
    return list.count ? IGC_CHANGED : IGC_UNCHANGED;
}
