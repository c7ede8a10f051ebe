/*
 * Neighbouring elements of 8 or 16 bits are loaded and stored together, as words: PTX has vectors
 * of four elements at most, whatever their size, and LLVM makes no better use of them.
 *
 * Works on the finished entry point, before LLVM's own vectoriser of loads and stores, which then
 * finds words. Only accesses of one block, from one pointer at constant distances, that follow
 * each other without a write (for stores: without any access) in between.
 */
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/builtins.h"
#include "compiler/ir/walk.h"
#include "compiler/nvptx/nvptx.h"

enum { WORD = 4, WIDEST = 16, MAX_RUN = 256 };

struct access {
    LLVMValueRef in, base;
    int64_t offset;
    unsigned bytes, order;
    unsigned base_order; /* that of the run's first access from this base */
};

struct run {
    struct igc_kernel *kernel;
    LLVMTargetDataRef layout;
    struct access items[MAX_RUN];
    unsigned count;
    bool stores;
};

static LLVMTypeRef type_of(LLVMValueRef in) {
    return LLVMTypeOf(LLVMIsAStoreInst(in) ? LLVMGetOperand(in, 0) : in);
}

static LLVMValueRef pointer_of(LLVMValueRef in) {
    return LLVMGetOperand(in, LLVMIsAStoreInst(in) ? 1 : 0);
}

/* Of elements of 1 or 2 bytes in device or threadgroup memory. */
static bool is_narrow(LLVMTargetDataRef layout, LLVMValueRef in) {
    if ((!LLVMIsALoadInst(in) && !LLVMIsAStoreInst(in)) || LLVMGetVolatile(in) ||
        LLVMGetOrdering(in) != LLVMAtomicOrderingNotAtomic) {
        return false;
    }
    LLVMTypeKind kind = LLVMGetTypeKind(type_of(in));
    unsigned space = LLVMGetPointerAddressSpace(LLVMTypeOf(pointer_of(in)));
    return (kind == LLVMHalfTypeKind || kind == LLVMBFloatTypeKind ||
            kind == LLVMIntegerTypeKind) &&
           LLVMSizeOfTypeInBits(layout, type_of(in)) % 8 == 0 &&
           LLVMSizeOfTypeInBits(layout, type_of(in)) < 8 * WORD &&
           (space == INGOT_SPACE_DEVICE || space == INGOT_SPACE_THREADGROUP);
}

/* Does anything in between have to stay where it is? */
static bool ends_run(LLVMValueRef in, bool stores) {
    switch (LLVMGetInstructionOpcode(in)) {
    case LLVMLoad:
        return stores || LLVMGetVolatile(in) || LLVMGetOrdering(in) != LLVMAtomicOrderingNotAtomic;
    case LLVMStore:
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg:
    case LLVMFence:
        return true;
    case LLVMCall:
        return !(igi_intrinsic_flags_of(in) & IGI_I_ARITHMETIC);
    default:
        return false;
    }
}

static struct access access_of(const struct run *run, LLVMValueRef in) {
    struct access access = {.in = in,
                            .base = pointer_of(in),
                            .bytes = (unsigned)LLVMStoreSizeOfType(run->layout, type_of(in)),
                            .order = run->count};
    while (LLVMIsAGetElementPtrInst(access.base) && LLVMGetNumOperands(access.base) == 2 &&
           LLVMIsAConstantInt(LLVMGetOperand(access.base, 1))) {
        LLVMTypeRef element = LLVMGetGEPSourceElementType(access.base);
        access.offset += LLVMConstIntGetSExtValue(LLVMGetOperand(access.base, 1)) *
                         (int64_t)LLVMABISizeOfType(run->layout, element);
        access.base = LLVMGetOperand(access.base, 0);
    }
    access.base_order = access.order;
    for (unsigned i = 0; i < run->count; i++) {
        if (run->items[i].base == access.base) {
            access.base_order = run->items[i].base_order;
            break;
        }
    }
    return access;
}

static int by_place(const void *a, const void *b) {
    const struct access *x = a, *y = b;
    if (x->base_order != y->base_order) {
        return x->base_order < y->base_order ? -1 : 1;
    }
    if (x->offset != y->offset) {
        return x->offset < y->offset ? -1 : 1;
    }
    return x->order < y->order ? -1 : x->order > y->order;
}

/* ---- code ---- */
/* The two bytes (or the one) at `at` of a word. */
static LLVMValueRef part_of(struct igc_kernel *k, LLVMValueRef word, unsigned at, LLVMTypeRef type,
                            unsigned bytes) {
    LLVMTypeRef i32 = LLVMInt32TypeInContext(k->context);
    LLVMTypeRef small = LLVMIntTypeInContext(k->context, 8 * bytes);
    if (at) {
        word = LLVMBuildLShr(k->builder, word, LLVMConstInt(i32, 8 * at, false), "");
    }
    LLVMValueRef bits = LLVMBuildTrunc(k->builder, word, small, "");
    return LLVMBuildBitCast(k->builder, bits, type, "");
}

/* A bfloat is the upper half of a float. */
static void replace_extensions(struct igc_kernel *k, LLVMValueRef load, LLVMValueRef word,
                               unsigned at) {
    LLVMTypeRef i32 = LLVMInt32TypeInContext(k->context), f32 = LLVMFloatTypeInContext(k->context);
    LLVMValueRef value = NULL;
    igi_each_use_safe(use, load) {
        LLVMValueRef user = LLVMGetUser(use);
        if (LLVMIsAFPExtInst(user) && LLVMTypeOf(user) == f32) {
            if (!value) {
                LLVMValueRef bits =
                    at ? LLVMBuildAnd(k->builder, word, LLVMConstInt(i32, 0xffff0000u, false), "")
                       : LLVMBuildShl(k->builder, word, LLVMConstInt(i32, 16, false), "");
                value = LLVMBuildBitCast(k->builder, bits, f32, "");
            }
            igi_replace(user, value);
        }
    }
}

static void load_together(struct igc_kernel *k, struct access *items, unsigned count,
                          unsigned bytes) {
    LLVMTypeRef i32 = LLVMInt32TypeInContext(k->context);
    unsigned words = bytes / WORD, first = 0;
    for (unsigned i = 1; i < count; i++) {
        first = items[i].order < items[first].order ? i : first;
    }
    /* the first in the block, and the pointer of the lowest: its base is there, by then */
    LLVMPositionBuilderBefore(k->builder, items[first].in);
    LLVMValueRef index =
        LLVMConstInt(LLVMInt64TypeInContext(k->context), (unsigned long long)items[0].offset, true);
    LLVMValueRef from =
        LLVMBuildGEP2(k->builder, LLVMInt8TypeInContext(k->context), items[0].base, &index, 1, "");
    LLVMValueRef all =
        LLVMBuildLoad2(k->builder, words > 1 ? LLVMVectorType(i32, words) : i32, from, "");
    LLVMSetAlignment(all, bytes);
    for (unsigned i = 0; i < count; i++) {
        unsigned at = (unsigned)(items[i].offset - items[0].offset);
        LLVMValueRef word =
            words == 1
                ? all
                : LLVMBuildExtractElement(k->builder, all, LLVMConstInt(i32, at / WORD, false), "");
        if (LLVMGetTypeKind(LLVMTypeOf(items[i].in)) == LLVMBFloatTypeKind) {
            replace_extensions(k, items[i].in, word, at % WORD);
        }
        if (LLVMGetFirstUse(items[i].in)) {
            LLVMValueRef part =
                part_of(k, word, at % WORD, LLVMTypeOf(items[i].in), items[i].bytes);
            LLVMReplaceAllUsesWith(items[i].in, part);
        }
    }
    for (unsigned i = 0; i < count; i++) {
        LLVMInstructionEraseFromParent(items[i].in);
    }
}

/* Two floats that are rounded to bfloat in one instruction; NULL if they are not. */
static LLVMValueRef rounded_pair(struct igc_kernel *k, LLVMValueRef low, LLVMValueRef high) {
    LLVMTypeRef f32 = LLVMFloatTypeInContext(k->context);
    if (!LLVMIsAFPTruncInst(low) || !LLVMIsAFPTruncInst(high) ||
        LLVMGetTypeKind(LLVMTypeOf(low)) != LLVMBFloatTypeKind ||
        LLVMTypeOf(LLVMGetOperand(low, 0)) != f32 || LLVMTypeOf(LLVMGetOperand(high, 0)) != f32) {
        return NULL;
    }
    LLVMTypeRef pair = LLVMVectorType(LLVMBFloatTypeInContext(k->context), 2);
    LLVMTypeRef types[] = {f32, f32}, type = LLVMFunctionType(pair, types, 2, false);
    LLVMValueRef function = LLVMGetNamedFunction(k->module, "llvm.nvvm.ff2bf16x2.rn");
    function = function ? function : LLVMAddFunction(k->module, "llvm.nvvm.ff2bf16x2.rn", type);
    LLVMValueRef args[] = {LLVMGetOperand(high, 0), LLVMGetOperand(low, 0)};
    LLVMValueRef both = LLVMBuildCall2(k->builder, type, function, args, 2, "");
    return LLVMBuildBitCast(k->builder, both, LLVMInt32TypeInContext(k->context), "");
}

static LLVMValueRef word_of(struct igc_kernel *k, const struct access *items, unsigned count) {
    LLVMTypeRef i32 = LLVMInt32TypeInContext(k->context);
    LLVMValueRef word =
        count == 2 ? rounded_pair(k, LLVMGetOperand(items[0].in, 0), LLVMGetOperand(items[1].in, 0))
                   : NULL;
    for (unsigned i = 0, filled = 0; i < count && (!word || filled); i++, filled = 1) {
        LLVMTypeRef small = LLVMIntTypeInContext(k->context, 8 * items[i].bytes);
        LLVMValueRef bits = LLVMBuildBitCast(k->builder, LLVMGetOperand(items[i].in, 0), small, "");
        bits = LLVMBuildZExt(k->builder, bits, i32, "");
        unsigned at = (unsigned)(items[i].offset - items[0].offset);
        bits = LLVMBuildShl(k->builder, bits, LLVMConstInt(i32, 8 * at, false), "");
        word = word ? LLVMBuildOr(k->builder, word, bits, "") : bits;
    }
    return word;
}

static void store_together(struct igc_kernel *k, struct access *items, unsigned count,
                           unsigned bytes) {
    LLVMTypeRef i32 = LLVMInt32TypeInContext(k->context);
    unsigned words = bytes / WORD, last = 0;
    for (unsigned i = 1; i < count; i++) {
        last = items[i].order > items[last].order ? i : last;
    }
    LLVMPositionBuilderBefore(k->builder, items[last].in);
    LLVMValueRef index =
        LLVMConstInt(LLVMInt64TypeInContext(k->context), (unsigned long long)items[0].offset, true);
    LLVMValueRef to =
        LLVMBuildGEP2(k->builder, LLVMInt8TypeInContext(k->context), items[0].base, &index, 1, "");
    LLVMValueRef all = words > 1 ? LLVMGetPoison(LLVMVectorType(i32, words)) : NULL;
    for (unsigned w = 0, i = 0; w < words; w++) {
        unsigned from = i;
        while (i < count && items[i].offset < items[0].offset + (int64_t)(w + 1) * WORD) {
            i++;
        }
        LLVMValueRef word = word_of(k, items + from, i - from);
        all = all && words > 1
                  ? LLVMBuildInsertElement(k->builder, all, word, LLVMConstInt(i32, w, false), "")
                  : word;
    }
    LLVMSetAlignment(LLVMBuildStore(k->builder, all, to), bytes);
    for (unsigned i = 0; i < count; i++) {
        LLVMInstructionEraseFromParent(items[i].in);
    }
}

/* ---- runs ---- */
/* How many of the sorted items from `at` on fill exactly this many bytes, aligned; or 0. */
static unsigned filling(const struct run *run, unsigned at, unsigned bytes) {
    const struct access *items = run->items + at;
    int64_t end = items[0].offset;
    if (LLVMGetAlignment(items[0].in) < bytes) {
        return 0;
    }
    for (unsigned i = 0; at + i < run->count; i++) {
        if (items[i].base != items[0].base || items[i].offset != end ||
            end / WORD != (end + items[i].bytes - 1) / WORD) {
            return 0;
        }
        end += items[i].bytes;
        if (end == items[0].offset + bytes) {
            return i + 1;
        }
        if (end > items[0].offset + bytes) {
            return 0;
        }
    }
    return 0;
}

static void finish_run(struct run *run) {
    qsort(run->items, run->count, sizeof *run->items, by_place);
    for (unsigned at = 0; at < run->count;) {
        unsigned taken = 0;
        for (unsigned bytes = WIDEST; bytes >= WORD && !taken; bytes /= 2) {
            taken = filling(run, at, bytes);
            if (taken > 1 && run->stores) {
                store_together(run->kernel, run->items + at, taken, bytes);
            } else if (taken > 1) {
                load_together(run->kernel, run->items + at, taken, bytes);
            }
        }
        at += taken ? taken : 1;
    }
    run->count = 0;
}

static void widen(struct run *run, LLVMBasicBlockRef block) {
    igi_each_in_block_safe(in, block) {
        bool wanted = is_narrow(run->layout, in) && (LLVMIsAStoreInst(in) != NULL) == run->stores;
        if (wanted && run->count < MAX_RUN) {
            struct access access = access_of(run, in);
            run->items[run->count++] = access;
        } else if (wanted || ends_run(in, run->stores)) {
            finish_run(run);
            if (wanted) {
                run->items[run->count++] = access_of(run, in);
            }
        }
    }
    finish_run(run);
}

enum igc_result igp_widen(struct igc_kernel *kernel) {
    struct run *run = calloc(1, sizeof *run);
    if (!run) {
        return igc_result_of(igc_out_of_memory(kernel));
    }
    run->kernel = kernel;
    run->layout = kernel->layout;
    for (int stores = 0; stores < 2; stores++) {
        run->stores = stores;
        igi_each_block(b, kernel->function) {
            widen(run, b);
        }
    }
    free(run);
    return IGC_CHANGED;
}
