/*
 * What leaves the caches last. Loads through a pointer of __ingot_staying say so in PTX, each of
 * them.
 *
 * Works on the finished entry point, where the built-in is a call of nv.staying, which has no body,
 * so that LLVM did not look through it. Only loads of whole words, four of them at most.
 */
#include <string.h>

#include "compiler/ir/builtins.h"
#include "compiler/ir/walk.h"
#include "compiler/nvptx/nvptx.h"

enum { WORD = 4, MOST_WORDS = 4 };

struct hinting {
    LLVMContextRef context;
    LLVMBuilderRef builder;
    LLVMValueRef entry;
    LLVMValueRef policy; /* NULL until there is a load with it */
};

static bool is_mark(LLVMValueRef value) {
    return igi_is_call_of(value, IGI_nv_staying);
}

/* Is `address` counted from a marked pointer? */
static bool is_marked(LLVMValueRef address) {
    while (LLVMIsAGetElementPtrInst(address)) {
        address = LLVMGetOperand(address, 0);
    }
    return is_mark(address);
}

static LLVMValueRef build_asm(const struct hinting *h, LLVMTypeRef result, const char *text,
                              const char *constraints, LLVMValueRef *args, unsigned count,
                              bool stays) {
    LLVMTypeRef types[2];
    for (unsigned i = 0; i < count; i++) {
        types[i] = LLVMTypeOf(args[i]);
    }
    LLVMTypeRef type = LLVMFunctionType(result, types, count, false);
    LLVMValueRef code = LLVMGetInlineAsm(type, text, strlen(text), constraints, strlen(constraints),
                                         stays, false, LLVMInlineAsmDialectATT, false);
    return LLVMBuildCall2(h->builder, type, code, args, count, "");
}

/* Once for all loads, at the top of the kernel. */
static LLVMValueRef policy_of(struct hinting *h) {
    if (!h->policy) {
        LLVMPositionBuilderBefore(h->builder,
                                  LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(h->entry)));
        h->policy = build_asm(h, LLVMInt64TypeInContext(h->context),
                              "createpolicy.fractional.L2::evict_last.b64 $0, 0f3F800000;", "=l",
                              NULL, 0, false);
    }
    return h->policy;
}

/* The words at the load's address, as a number, or as a structure of several. */
static LLVMValueRef build_words(struct hinting *h, LLVMValueRef load, unsigned words) {
#define LOAD "ld.global.L1::evict_last.L2::cache_hint."
    static const char *const texts[] = {LOAD "b32 $0, [$1], $2;", LOAD "v2.b32 {$0, $1}, [$2], $3;",
                                        NULL, LOAD "v4.b32 {$0, $1, $2, $3}, [$4], $5;"};
#undef LOAD
    static const char *const constraints[] = {"=r,l,l", "=r,=r,l,l", NULL, "=r,=r,=r,=r,l,l"};
    LLVMTypeRef word = LLVMInt32TypeInContext(h->context);
    LLVMTypeRef all[MOST_WORDS] = {word, word, word, word};
    LLVMTypeRef result = words == 1 ? word : LLVMStructTypeInContext(h->context, all, words, false);
    LLVMValueRef args[] = {LLVMGetOperand(load, 0), policy_of(h)};
    LLVMPositionBuilderBefore(h->builder, load);
    return build_asm(h, result, texts[words - 1], constraints[words - 1], args, 2, true);
}

static void replace_load(struct hinting *h, LLVMValueRef load, unsigned words) {
    LLVMTypeRef word = LLVMInt32TypeInContext(h->context);
    LLVMValueRef loaded = build_words(h, load, words), value = loaded;
    if (words > 1) {
        value = LLVMGetPoison(LLVMVectorType(word, words));
        for (unsigned i = 0; i < words; i++) {
            value = LLVMBuildInsertElement(h->builder, value,
                                           LLVMBuildExtractValue(h->builder, loaded, i, ""),
                                           LLVMConstInt(word, i, false), "");
        }
    }
    igi_replace(load, LLVMBuildBitCast(h->builder, value, LLVMTypeOf(load), ""));
}

/* How many words the load has, or 0 if it is not one that takes a hint. */
static unsigned words_of(LLVMTargetDataRef layout, LLVMValueRef load) {
    LLVMTypeRef type = LLVMTypeOf(load);
    LLVMTypeKind kind = LLVMGetTypeKind(type);
    uint64_t bytes = LLVMStoreSizeOfType(layout, type), words = bytes / WORD;
    bool plain = !LLVMGetVolatile(load) && LLVMGetOrdering(load) == LLVMAtomicOrderingNotAtomic &&
                 kind != LLVMPointerTypeKind && kind != LLVMStructTypeKind &&
                 kind != LLVMArrayTypeKind && LLVMSizeOfTypeInBits(layout, type) == 8 * bytes;
    bool fits = bytes % WORD == 0 && (words == 1 || words == 2 || words == MOST_WORDS) &&
                LLVMGetAlignment(load) >= bytes;
    return plain && fits ? (unsigned)words : 0;
}

static void replace_loads(struct hinting *h, LLVMBasicBlockRef block, LLVMTargetDataRef layout) {
    igi_each_in_block_safe(in, block) {
        bool marked = LLVMIsALoadInst(in) && is_marked(LLVMGetOperand(in, 0));
        unsigned words = marked ? words_of(layout, in) : 0;
        if (words) {
            replace_load(h, in, words);
        }
    }
}

static void remove_marks(LLVMBasicBlockRef block) {
    igi_each_in_block_safe(in, block) {
        if (is_mark(in)) {
            igi_replace(in, LLVMGetOperand(in, 0));
        }
    }
}

enum igc_result igp_hints(struct igc_kernel *kernel) {
    struct hinting h = {
        .context = kernel->context, .entry = kernel->function, .builder = kernel->builder};
    igi_each_block(b, h.entry) {
        replace_loads(&h, b, kernel->layout);
    }
    igi_each_block(b, h.entry) {
        remove_marks(b);
    }
    return IGC_CHANGED;
}
