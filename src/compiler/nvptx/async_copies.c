/*
 * Copies from device to threadgroup memory that the hardware makes by itself (cp.async): a load
 * whose value only goes to a store, where the thread does not look at either place, nor changes
 * them, before its next barrier on any way. The copy is waited for before that barrier, so that
 * what a kernel computes between the two hides it. Zeros in place of the load, where a branch goes
 * around it, are the copy's own.
 *
 * Works before arguments and built-ins are lowered, when barriers, tiles and the places in
 * threadgroup memory have their names. What it cannot prove apart stays as it is.
 */
#include <string.h>

#include "compiler/ir/builtins.h"
#include "compiler/ir/walk.h"
#include "compiler/nvptx/nvptx.h"
#include "compiler/nvptx/warpgroup_mma.h"

enum { MAX_PAIRS = 32 };

/* ---- the way to the next barriers ---- */
/* Blocks that are begun between a copy and the next barriers. */
struct ways {
    LLVMBasicBlockRef *blocks;
    size_t count;
};

static bool is_on_the_way(const struct ways *ways, LLVMBasicBlockRef block) {
    for (size_t i = 0; i < ways->count; i++) {
        if (ways->blocks[i] == block) {
            return true;
        }
    }
    return false;
}

static void begin(struct ways *ways, LLVMBasicBlockRef block) {
    if (!is_on_the_way(ways, block)) {
        ways->blocks[ways->count++] = block;
    }
}

/* ---- instructions ---- */
static unsigned space_of(LLVMValueRef pointer) {
    return LLVMGetPointerAddressSpace(LLVMTypeOf(pointer));
}

static bool is_plain(LLVMValueRef access) {
    return !LLVMGetVolatile(access) && LLVMGetOrdering(access) == LLVMAtomicOrderingNotAtomic;
}

static bool is_barrier(LLVMValueRef in) {
    return igi_facts_of(in)->flags & IGI_BARRIER;
}

/* One that other SIMD-groups do not take part in: what they copy may still be under way after it.
 */
static bool is_simdgroup_barrier(LLVMValueRef in) {
    return igi_is_call_of(in, IGI_barrier) && !igp_is_group_barrier(in);
}

bool igp_is_wait(LLVMValueRef in) {
    return is_barrier(in) || LLVMIsAReturnInst(in);
}

static bool is_store(LLVMValueRef in) {
    return LLVMIsAStoreInst(in) && is_plain(in) &&
           space_of(LLVMGetOperand(in, 1)) == INGOT_SPACE_THREADGROUP;
}

bool igp_has_no_memory(LLVMValueRef call) {
    LLVMValueRef callee = igi_callee(call);
    unsigned kind = LLVMGetEnumAttributeKindForName("memory", 6);
    LLVMAttributeRef memory =
        callee ? LLVMGetEnumAttributeAtIndex(callee, LLVMAttributeFunctionIndex, kind) : NULL;
    if (memory && LLVMGetEnumAttributeValue(memory) == 0) {
        return true;
    }
    switch (igi_intrinsic_of(call)) {
    case IGI_LLVM_lifetime_start:
    case IGI_LLVM_lifetime_end:
    case IGI_LLVM_assume:
        return true;
    default:
        break;
    }
    const enum igi_memory own = igi_facts_of(call)->memory;
    return own == IGI_MEMORY_NONE || own == IGI_MEMORY_ORDERS;
}

/* Has a block a barrier, and no access before it? */
static bool begins_with_barrier(LLVMBasicBlockRef block) {
    igi_each_in_block(in, block) {
        LLVMOpcode opcode = LLVMGetInstructionOpcode(in);
        if (igp_is_wait(in)) {
            return true;
        }
        if (opcode == LLVMLoad || opcode == LLVMStore || opcode == LLVMAtomicRMW ||
            opcode == LLVMAtomicCmpXchg || (opcode == LLVMCall && !igp_has_no_memory(in))) {
            return false;
        }
    }
    return false;
}

/* Is it, wherever an access on the way names it, what it was at the copy? */
static bool is_lasting(const struct ways *ways, LLVMValueRef value) {
    LLVMBasicBlockRef block = LLVMIsAInstruction(value) ? LLVMGetInstructionParent(value) : NULL;
    return !block || !is_on_the_way(ways, block) || begins_with_barrier(block);
}

/* ---- places in threadgroup memory ---- */
/* What a pointer is reckoned from: a variable, an argument, a panel, or what cannot be seen
 * through. */
static LLVMValueRef object_of(LLVMValueRef pointer) {
    while (igp_is_element(pointer)) {
        pointer = LLVMGetOperand(pointer, 0);
    }
    return pointer;
}

static bool is_argument(LLVMValueRef object) {
    return (igi_is_call_of(object, IGI_arg_threadgroup) || igi_is_call_of(object, IGI_panel)) &&
           LLVMIsAConstantInt(LLVMGetOperand(object, 0));
}

static bool is_known(LLVMValueRef object) {
    return LLVMIsAGlobalVariable(object) || is_argument(object);
}

struct pairs {
    LLVMValueRef first[MAX_PAIRS], second[MAX_PAIRS];
    unsigned count;
};

/* Are these never places in one object, at one time? Of two values that a loop hands on, such as
 * two buffers that change places, it is so if it is so at the start and remains so. */
static bool other_objects(LLVMValueRef a, LLVMValueRef b, struct pairs *assumed) {
    a = object_of(a);
    b = object_of(b);
    if (a == b) {
        return false;
    }
    if (is_known(a) && is_known(b)) {
        return !is_argument(a) || !is_argument(b) || igi_callee(a) != igi_callee(b) ||
               LLVMGetOperand(a, 0) != LLVMGetOperand(b, 0);
    }
    for (unsigned i = 0; i < assumed->count; i++) {
        if ((assumed->first[i] == a && assumed->second[i] == b) ||
            (assumed->first[i] == b && assumed->second[i] == a)) {
            return true;
        }
    }
    if (assumed->count == MAX_PAIRS) {
        return false;
    }
    assumed->first[assumed->count] = a;
    assumed->second[assumed->count++] = b;
    if (LLVMIsAPHINode(a) && LLVMIsAPHINode(b) &&
        LLVMGetInstructionParent(a) == LLVMGetInstructionParent(b)) {
        for (unsigned i = 0; i < LLVMCountIncoming(a); i++) {
            for (unsigned n = 0; n < LLVMCountIncoming(b); n++) {
                if (LLVMGetIncomingBlock(a, i) == LLVMGetIncomingBlock(b, n) &&
                    !other_objects(LLVMGetIncomingValue(a, i), LLVMGetIncomingValue(b, n),
                                   assumed)) {
                    return false;
                }
            }
        }
        return true;
    }
    if ((LLVMIsAPHINode(a) && is_known(b)) || (LLVMIsAPHINode(b) && is_known(a))) {
        LLVMValueRef phi = LLVMIsAPHINode(a) ? a : b, known = phi == a ? b : a;
        for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
            if (!other_objects(LLVMGetIncomingValue(phi, i), known, assumed)) {
                return false;
            }
        }
        return true;
    }
    if (LLVMIsASelectInst(a) || LLVMIsASelectInst(b)) {
        LLVMValueRef select = LLVMIsASelectInst(a) ? a : b, other = select == a ? b : a;
        return other_objects(LLVMGetOperand(select, 1), other, assumed) &&
               other_objects(LLVMGetOperand(select, 2), other, assumed);
    }
    return false;
}

bool igp_other_objects(LLVMValueRef a, LLVMValueRef b) {
    struct pairs assumed = {.count = 0};
    return other_objects(a, b, &assumed);
}

/* `size` bytes there and `other_size` here have none in common; 0: nobody knows how many. */
static bool are_apart(struct igc_kernel *k, const struct ways *ways, LLVMValueRef pointer,
                      uint64_t size, LLVMValueRef other, uint64_t other_size) {
    int64_t at, other_at;
    LLVMValueRef base = igp_base_of(k, pointer, &at);
    LLVMValueRef object = object_of(pointer), other_object = object_of(other);
    if (base == igp_base_of(k, other, &other_at) && is_lasting(ways, base) && size && other_size) {
        return at + (int64_t)size <= other_at || other_at + (int64_t)other_size <= at;
    }
    struct pairs assumed = {.count = 0};
    return (is_known(object) || is_lasting(ways, object)) &&
           (is_known(other_object) || is_lasting(ways, other_object)) &&
           other_objects(object, other_object, &assumed);
}

/* Does a way that has come to an instruction go on to other blocks? */
static bool leads_on(LLVMValueRef in) {
    while (in && !igp_is_wait(in) && !LLVMIsATerminatorInst(in)) {
        in = LLVMGetNextInstruction(in);
    }
    return in && !igp_is_wait(in);
}

/* Is what a pointer was reckoned from after a block was begun, on the way from a copy to a barrier,
 * never the object that the copy goes to? */
static bool comes_from_others(const struct ways *ways, LLVMValueRef phi, LLVMValueRef store,
                              unsigned depth) {
    LLVMValueRef object = object_of(LLVMGetOperand(store, 1));
    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
        LLVMBasicBlockRef from = LLVMGetIncomingBlock(phi, i);
        LLVMValueRef value = object_of(LLVMGetIncomingValue(phi, i));
        LLVMBasicBlockRef block =
            LLVMIsAInstruction(value) ? LLVMGetInstructionParent(value) : NULL;
        struct pairs assumed = {.count = 0};
        if (!leads_on(from == LLVMGetInstructionParent(store) ? LLVMGetNextInstruction(store)
                      : is_on_the_way(ways, from)             ? LLVMGetFirstInstruction(from)
                                                              : NULL)) {
            continue;
        }
        if (block && is_on_the_way(ways, block) && !begins_with_barrier(block)
                ? depth == MAX_PAIRS || !LLVMIsAPHINode(value) ||
                      !comes_from_others(ways, value, store, depth + 1)
                : !other_objects(value, object, &assumed)) {
            return false;
        }
    }
    return true;
}

/* The same of a place that is looked at after the barrier at which `ways` ends. */
static bool is_elsewhere(const struct ways *ways, LLVMValueRef pointer, LLVMValueRef store) {
    LLVMValueRef other = object_of(pointer);
    struct pairs assumed = {.count = 0};
    if (is_known(other)) {
        return other_objects(other, object_of(LLVMGetOperand(store, 1)), &assumed);
    }
    LLVMBasicBlockRef block = LLVMIsAPHINode(other) ? LLVMGetInstructionParent(other) : NULL;
    return block && is_on_the_way(ways, block) && begins_with_barrier(block) &&
           comes_from_others(ways, other, store, 0);
}

/* ---- copies ---- */
struct copy {
    LLVMValueRef load, store;
    LLVMValueRef phi; /* of (an element of) the load's value and zeros, or NULL */
    uint64_t bytes;
    bool good;
    bool late; /* it may be under way until the second barrier */
};

/* The place in threadgroup memory at which a call looks, or which it writes. */
static LLVMValueRef tile_place(LLVMValueRef call) {
    switch (igi_family_of(call)) {
    case IGI_FAMILY_LOAD_THREADGROUP:
    case IGI_FAMILY_STORE_THREADGROUP:
    case IGI_FAMILY_NV_LDMATRIX:
        return LLVMGetOperand(call, 0);
    default:
        return NULL;
    }
}

/* Is a place that is looked at or written, `size` bytes of it, none of a copy's? */
static bool is_clear(struct igc_kernel *k, const struct ways *ways, const struct copy *copy,
                     bool beyond, LLVMValueRef at, uint64_t size) {
    return beyond ? is_elsewhere(ways, at, copy->store)
                  : are_apart(k, ways, LLVMGetOperand(copy->store, 1), copy->bytes, at, size);
}

/* May a copy be under way while this is done, before its first barrier or (`beyond`) after it? */
static bool is_harmless(struct igc_kernel *k, const struct ways *ways, LLVMValueRef in,
                        const struct copy *copy, bool beyond) {
    LLVMTargetDataRef layout = LLVMGetModuleDataLayout(k->module);
    LLVMValueRef at = NULL;
    uint64_t size = 0;
    switch (LLVMGetInstructionOpcode(in)) {
    case LLVMLoad:
    case LLVMStore: {
        bool is_write = LLVMIsAStoreInst(in);
        at = LLVMGetOperand(in, is_write);
        size = LLVMStoreSizeOfType(layout, LLVMTypeOf(is_write ? LLVMGetOperand(in, 0) : in));
        if (!is_plain(in)) {
            return false;
        }
        if (space_of(at) != INGOT_SPACE_THREADGROUP) {
            return !is_write || LLVMIsAAllocaInst(object_of(at));
        }
        break;
    }
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg:
    case LLVMFence:
        return false;
    case LLVMCall:
        if (igp_is_warpgroup_product(in)) {
            LLVMValueRef places[2];
            unsigned count = igp_warpgroup_product_places(in, places);
            while (count && is_clear(k, ways, copy, beyond, places[count - 1], 0)) {
                count--;
            }
            return !count;
        }
        at = tile_place(in);
        if (!at) {
            return igp_has_no_memory(in) || igi_family_of(in) == IGI_FAMILY_LOAD_DEVICE;
        }
        break;
    default:
        return true;
    }
    return is_clear(k, ways, copy, beyond, at, size);
}

/* Nothing from here to there writes device memory or waits for others. */
static bool is_still(LLVMValueRef from, LLVMValueRef to) {
    igi_each_before(in, LLVMGetNextInstruction(from), to) {
        LLVMOpcode opcode = LLVMGetInstructionOpcode(in);
        if ((opcode == LLVMStore &&
             (!is_plain(in) || (space_of(LLVMGetOperand(in, 1)) != INGOT_SPACE_THREADGROUP &&
                                !LLVMIsAAllocaInst(object_of(LLVMGetOperand(in, 1)))))) ||
            opcode == LLVMAtomicRMW || opcode == LLVMAtomicCmpXchg || opcode == LLVMFence ||
            (opcode == LLVMCall && !igp_has_no_memory(in) && !tile_place(in) &&
             !igp_is_warpgroup_product(in) && igi_family_of(in) != IGI_FAMILY_LOAD_DEVICE)) {
            return false;
        }
    }
    return true;
}

static bool has_one_use(LLVMValueRef value) {
    LLVMUseRef use = LLVMGetFirstUse(value);
    return use && !LLVMGetNextUse(use);
}

static bool is_zero(LLVMValueRef value) {
    return LLVMIsConstant(value) && LLVMIsNull(value);
}

/* The load that a value is, or whose element `index` it is, used for nothing else; or NULL. */
static LLVMValueRef load_of(LLVMValueRef value, int index) {
    if (!has_one_use(value)) {
        return NULL;
    }
    if (index >= 0) {
        LLVMValueRef at = LLVMIsAExtractElementInst(value) ? LLVMGetOperand(value, 1) : NULL;
        if (!at || !LLVMIsAConstantInt(at) || LLVMConstIntGetZExtValue(at) != (unsigned)index) {
            return NULL;
        }
        value = LLVMGetOperand(value, 0);
    }
    return LLVMIsALoadInst(value) ? value : NULL;
}

/* The same of a phi whose other values are zeros, and whose load's block leads to it only. */
static LLVMValueRef load_of_phi(LLVMValueRef phi, int index) {
    LLVMValueRef load = NULL;
    LLVMBasicBlockRef block = NULL;
    if (!has_one_use(phi)) {
        return NULL;
    }
    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
        LLVMValueRef value = LLVMGetIncomingValue(phi, i);
        if (!is_zero(value) && (load || !(load = load_of(value, index)))) {
            return NULL;
        }
        block = is_zero(value) ? block : LLVMGetIncomingBlock(phi, i);
    }
    if (!load || LLVMGetInstructionParent(load) != block) {
        return NULL;
    }
    LLVMValueRef last = LLVMGetBasicBlockTerminator(block);
    return LLVMGetNumSuccessors(last) == 1 && is_still(load, last) ? load : NULL;
}

static bool find_value(LLVMValueRef value, int index, struct copy *copy) {
    LLVMValueRef phi = LLVMIsAPHINode(value) ? value : NULL;
    LLVMValueRef load = phi ? load_of_phi(phi, index) : load_of(value, index);
    if (!load || (copy->load && (load != copy->load || !phi != !copy->phi)) ||
        (copy->phi && LLVMGetInstructionParent(phi) != LLVMGetInstructionParent(copy->phi))) {
        return false;
    }
    copy->load = load;
    copy->phi = copy->phi ? copy->phi : phi;
    return true;
}

/* A vector that is put together of all elements of a load, in their order. */
static bool find_elements(LLVMValueRef value, struct copy *copy) {
    for (int i = (int)LLVMGetVectorSize(LLVMTypeOf(value)) - 1; i >= 0; i--) {
        LLVMValueRef at = LLVMIsAInsertElementInst(value) ? LLVMGetOperand(value, 2) : NULL;
        if (!at || !LLVMIsAConstantInt(at) || LLVMConstIntGetZExtValue(at) != (unsigned)i ||
            !has_one_use(value) || !find_value(LLVMGetOperand(value, 1), i, copy)) {
            return false;
        }
        value = LLVMGetOperand(value, 0);
    }
    unsigned uses = 0;
    igi_each_use(use, copy->load) {
        uses++;
    }
    return uses == LLVMGetVectorSize(LLVMTypeOf(copy->load));
}

static bool find_copy(struct igc_kernel *k, LLVMValueRef store, struct copy *copy) {
    LLVMTargetDataRef layout = LLVMGetModuleDataLayout(k->module);
    LLVMValueRef value = LLVMGetOperand(store, 0);
    *copy = (struct copy){.store = store};
    if (!(LLVMIsAInsertElementInst(value) ? find_elements(value, copy)
                                          : find_value(value, -1, copy)) ||
        LLVMTypeOf(copy->load) != LLVMTypeOf(value) || !is_plain(copy->load) ||
        space_of(LLVMGetOperand(copy->load, 0)) != INGOT_SPACE_DEVICE) {
        return false;
    }
    LLVMValueRef from = copy->phi ? copy->phi : copy->load;
    copy->bytes = LLVMStoreSizeOfType(layout, LLVMTypeOf(value));
    return LLVMGetInstructionParent(from) == LLVMGetInstructionParent(store) &&
           is_still(from, store) && (copy->bytes == 4 || copy->bytes == 8 || copy->bytes == 16) &&
           LLVMGetAlignment(copy->load) >= copy->bytes && LLVMGetAlignment(store) >= copy->bytes;
}

/* ---- walking it ---- */
enum purpose { FIND_BLOCKS, CHECK, NOTE_ENDS };

/* A walk from a copy to the next barriers or, `beyond` these, to those after them. */
struct walk {
    struct igc_kernel *k;
    const struct copy *copy;
    struct ways ways;
    const struct walk *before; /* of a walk beyond: that to the barrier */
    LLVMValueRef *ends;        /* with a NULL after the last */
};

static void note(LLVMValueRef *list, LLVMValueRef in) {
    while (*list && *list != in) {
        list++;
    }
    *list = in;
}

/* From an instruction on to the block's end, or a barrier. Beyond the first barrier only one of the
 * threadgroup ends a way: a copy that is waited for at a SIMD-group's is not seen by the others. */
static bool follow(struct walk *walk, LLVMValueRef first, enum purpose purpose) {
    igi_each_from(in, first) {
        if (igp_is_wait(in) && !(walk->before && is_simdgroup_barrier(in))) {
            if (purpose == NOTE_ENDS) {
                note(walk->ends, in);
            }
            return true;
        }
        if (purpose == CHECK &&
            !is_harmless(walk->k, walk->before ? &walk->before->ways : &walk->ways, in, walk->copy,
                         walk->before != NULL)) {
            return false;
        }
        for (unsigned i = 0;
             purpose == FIND_BLOCKS && LLVMIsATerminatorInst(in) && i < LLVMGetNumSuccessors(in);
             i++) {
            begin(&walk->ways, LLVMGetSuccessor(in, i));
        }
    }
    return true;
}

/* All ways from an instruction to barriers; false if something on them might notice the copy. */
static bool follow_all(struct walk *walk, LLVMValueRef from) {
    bool good = true;
    walk->ways.count = 0;
    walk->ends[0] = NULL;
    for (int purpose = FIND_BLOCKS; good && purpose <= NOTE_ENDS; purpose++) {
        good = follow(walk, LLVMGetNextInstruction(from), (enum purpose)purpose);
        for (size_t i = 0; good && i < walk->ways.count; i++) {
            good =
                follow(walk, LLVMGetFirstInstruction(walk->ways.blocks[i]), (enum purpose)purpose);
        }
    }
    return good;
}

/* Barriers at which copies are waited for. */
struct waits {
    LLVMValueRef *all;  /* with a NULL after the last */
    LLVMValueRef *some; /* those at which some copy has to be over, of all that are under way */
};

/* What a good copy's barriers are for it. */
static void note_waits(struct walk *walk, struct walk *beyond, struct copy *copy,
                       const struct waits *waits) {
    copy->late = true;
    for (size_t i = 0; copy->late && walk->ends[i]; i++) {
        copy->late = is_barrier(walk->ends[i]) && follow_all(beyond, walk->ends[i]);
    }
    for (size_t i = 0; walk->ends[i]; i++) {
        note(waits->all, walk->ends[i]);
        if (!copy->late) {
            note(waits->some, walk->ends[i]);
        } else if (follow_all(beyond, walk->ends[i])) {
            for (size_t n = 0; beyond->ends[n]; n++) {
                note(waits->all, beyond->ends[n]);
            }
        }
    }
}

/* ---- code ---- */
/* An instruction as it stands in PTX, which LLVM neither removes nor moves over other accesses. */
static void build_asm(struct igc_kernel *k, const char *text, const char *constraints,
                      LLVMValueRef *args, unsigned count) {
    LLVMTypeRef types[3];
    for (unsigned i = 0; i < count; i++) {
        types[i] = LLVMTypeOf(args[i]);
    }
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(k->context), types, count, false);
    LLVMValueRef code = LLVMGetInlineAsm(type, text, strlen(text), constraints, strlen(constraints),
                                         true, false, LLVMInlineAsmDialectATT, false);
    LLVMBuildCall2(k->builder, type, code, args, count, "");
}

static void make_async(struct igc_kernel *k, const struct copy *copy) {
    static const char *const texts[2][3] = {{"cp.async.ca.shared.global [$0], [$1], 4;",
                                             "cp.async.ca.shared.global [$0], [$1], 8;",
                                             "cp.async.cg.shared.global [$0], [$1], 16;"},
                                            {"cp.async.ca.shared.global [$0], [$1], 4, $2;",
                                             "cp.async.ca.shared.global [$0], [$1], 8, $2;",
                                             "cp.async.cg.shared.global [$0], [$1], 16, $2;"}};
    LLVMTypeRef i32 = LLVMInt32TypeInContext(k->context);
    LLVMValueRef from = LLVMGetOperand(copy->load, 0);
    LLVMValueRef bytes = LLVMConstInt(i32, copy->bytes, false);
    if (copy->phi) {
        LLVMPositionBuilderBefore(k->builder, copy->phi);
        LLVMValueRef pointers = LLVMBuildPhi(k->builder, LLVMTypeOf(from), "");
        LLVMValueRef sizes = LLVMBuildPhi(k->builder, i32, "");
        for (unsigned i = 0; i < LLVMCountIncoming(copy->phi); i++) {
            LLVMBasicBlockRef block = LLVMGetIncomingBlock(copy->phi, i);
            bool there = !is_zero(LLVMGetIncomingValue(copy->phi, i));
            LLVMValueRef pointer = there ? from : LLVMConstNull(LLVMTypeOf(from));
            LLVMValueRef size = there ? bytes : LLVMConstNull(i32);
            LLVMAddIncoming(pointers, &pointer, &block, 1);
            LLVMAddIncoming(sizes, &size, &block, 1);
        }
        from = pointers;
        bytes = sizes;
    }
    LLVMPositionBuilderBefore(k->builder, copy->store);
    LLVMValueRef to = LLVMGetOperand(copy->store, 1);
    to = igp_facts(k)->uses_warpgroup_mma
             ? igp_swizzled(k->builder, LLVMGetModuleDataLayout(k->module), to)
             : LLVMBuildPtrToInt(k->builder, to, i32, "");
    LLVMValueRef args[] = {to, from, bytes};
    build_asm(k, texts[copy->phi != NULL][copy->bytes / 8],
              copy->phi ? "r,l,r,~{memory}" : "r,l,~{memory}", args, copy->phi ? 3 : 2);
    LLVMInstructionEraseFromParent(copy->store); /* nobody wants the load's value any more */
}

/* A word that is copied, perhaps next to others. */
static bool copies_word(LLVMValueRef in) {
    if (!is_store(in)) {
        return false;
    }
    LLVMValueRef value = LLVMGetOperand(in, 0);
    LLVMTypeKind kind = LLVMGetTypeKind(LLVMTypeOf(value));
    return (kind == LLVMFloatTypeKind ||
            (kind == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(LLVMTypeOf(value)) == 32)) &&
           (LLVMIsALoadInst(value) || LLVMIsAPHINode(value));
}

/* Before each barrier. Where only copies of which nobody knows yet were begun since the one before,
 * those before that are waited for. */
static void build_waits(struct igc_kernel *k, const struct waits *waits) {
    for (size_t i = 0; waits->all[i]; i++) {
        LLVMValueRef *some = waits->some;
        while (*some && *some != waits->all[i]) {
            some++;
        }
        LLVMPositionBuilderBefore(k->builder, waits->all[i]);
        build_asm(k,
                  *some || !is_barrier(waits->all[i])
                      ? "cp.async.wait_all;"
                      : "cp.async.commit_group;\n\tcp.async.wait_group 1;",
                  "~{memory}", NULL, 0);
    }
}

static void forget(LLVMValueRef *list) {
    for (; *list; list++) {
        *list = NULL; /* room for as many */
    }
}

static bool make_room(struct igc_kernel *k, struct walk *walk) {
    walk->ways.blocks =
        ig_arena_array(k->arena, LLVMCountBasicBlocks(k->function), sizeof *walk->ways.blocks);
    walk->ends = igp_collect(k, igp_is_wait);
    if (walk->ends) {
        forget(walk->ends);
    }
    return walk->ways.blocks && walk->ends;
}

bool igp_copies_words(const struct igc_kernel *k) {
    igi_each_instruction(in, k->function) {
        if (copies_word(in)) {
            return true;
        }
    }
    return false;
}

enum igc_result igp_copy_async(struct igc_kernel *k) {
    LLVMValueRef *stores = igp_collect(k, is_store);
    size_t count = 0;
    while (stores && stores[count]) {
        count++;
    }
    struct copy *copies = ig_arena_array(k->arena, count + 1, sizeof *copies);
    struct walk walk = {.k = k}, beyond = {.k = k, .before = &walk};
    struct waits waits;
    if (!stores || !copies || !make_room(k, &walk) || !make_room(k, &beyond) ||
        !(waits.all = igp_collect(k, igp_is_wait)) || !(waits.some = igp_collect(k, igp_is_wait))) {
        return igc_result_of(
            ig_fail(k->error, INGOT_OUT_OF_MEMORY, "no memory for a kernel's copies"));
    }
    forget(waits.all);
    forget(waits.some);
    for (size_t i = 0; i < count; i++) {
        walk.copy = beyond.copy = &copies[i];
        copies[i].good = find_copy(k, stores[i], &copies[i]) && follow_all(&walk, stores[i]);
        if (copies[i].good) {
            note_waits(&walk, &beyond, &copies[i], &waits);
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (copies[i].good) {
            make_async(k, &copies[i]);
        }
    }
    build_waits(k, &waits);
    return count ? IGC_CHANGED : IGC_UNCHANGED;
}
