/*
 * air.atomic.{global,local}.OPERATION[.weak][.s|.u].TYPE(pointer, operands…, order, scope,
 * volatile) as LLVM's atomic instructions. Metal's atomics are relaxed whatever their scope; fences
 * order them.
 */
#include <string.h>

#include "compiler/frontend/air/air.h"

struct atomic {
    char operation[32];
    bool is_unsigned;
    LLVMTypeRef type; /* of what is in memory */
    bool gives_old;   /* else nothing: min and max of 64 bits */
    LLVMValueRef pointer;
};

static const char *next_word(const char *text, char *word, size_t room) {
    size_t size = strcspn(text, ".");
    size_t kept = size < room ? size : room - 1;
    memcpy(word, text, kept);
    word[kept] = 0;
    return text[size] ? text + size + 1 : text + size;
}

static bool take_apart(const char *name, struct atomic *atomic) {
    static const char *const prefixes[] = {"air.atomic.global.", "air.atomic.local."};
    const char *rest = NULL;
    for (size_t i = 0; i < 2; i++) {
        if (!strncmp(name, prefixes[i], strlen(prefixes[i]))) {
            rest = name + strlen(prefixes[i]);
        }
    }
    if (!rest) {
        return false;
    }
    rest = next_word(rest, atomic->operation, sizeof atomic->operation);
    for (char word[16]; *rest;) {
        rest = next_word(rest, word, sizeof word);
        atomic->is_unsigned |= !strcmp(word, "u");
    }
    return true;
}

static bool read_modify_write(const struct atomic *atomic, LLVMAtomicRMWBinOp *operation) {
    static const struct {
        const char *name;
        LLVMAtomicRMWBinOp integer, is_unsigned;
        int floating; /* -1: there is none */
    } operations[] = {
        {"add", LLVMAtomicRMWBinOpAdd, LLVMAtomicRMWBinOpAdd, LLVMAtomicRMWBinOpFAdd},
        {"sub", LLVMAtomicRMWBinOpSub, LLVMAtomicRMWBinOpSub, LLVMAtomicRMWBinOpFSub},
        {"xchg", LLVMAtomicRMWBinOpXchg, LLVMAtomicRMWBinOpXchg, LLVMAtomicRMWBinOpXchg},
        {"and", LLVMAtomicRMWBinOpAnd, LLVMAtomicRMWBinOpAnd, -1},
        {"or", LLVMAtomicRMWBinOpOr, LLVMAtomicRMWBinOpOr, -1},
        {"xor", LLVMAtomicRMWBinOpXor, LLVMAtomicRMWBinOpXor, -1},
        {"min", LLVMAtomicRMWBinOpMin, LLVMAtomicRMWBinOpUMin, LLVMAtomicRMWBinOpFMin},
        {"max", LLVMAtomicRMWBinOpMax, LLVMAtomicRMWBinOpUMax, LLVMAtomicRMWBinOpFMax},
    };
    const bool floating = LLVMGetTypeKind(atomic->type) != LLVMIntegerTypeKind;
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        if (!strcmp(atomic->operation, operations[i].name)) {
            *operation = floating              ? (LLVMAtomicRMWBinOp)operations[i].floating
                         : atomic->is_unsigned ? operations[i].is_unsigned
                                               : operations[i].integer;
            return !floating || operations[i].floating >= 0;
        }
    }
    return false;
}

static unsigned bytes_of(const struct iga_module *m, LLVMTypeRef type) {
    return (unsigned)LLVMABISizeOfType(LLVMGetModuleDataLayout(m->module), type);
}

static void set_relaxed(LLVMValueRef access, unsigned alignment) {
    LLVMSetOrdering(access, LLVMAtomicOrderingMonotonic);
    LLVMSetAlignment(access, alignment);
}

static void give(struct iga_module *m, const struct atomic *atomic, LLVMValueRef old) {
    if (atomic->gives_old) {
        LLVMBuildRet(m->builder, old);
    } else {
        LLVMBuildRetVoid(m->builder);
    }
}

/* (pointer, expected *, desired, …): gives the old value, and writes it to *expected. */
static void compare_exchange(struct iga_module *m, const struct atomic *atomic,
                             LLVMValueRef function) {
    LLVMBuilderRef b = m->builder;
    LLVMValueRef expected_at = LLVMGetParam(function, 1), desired = LLVMGetParam(function, 2);
    LLVMTypeRef bits = LLVMIntTypeInContext(m->context, bytes_of(m, atomic->type) * 8);
    LLVMValueRef expected = LLVMBuildLoad2(b, bits, expected_at, "");
    LLVMValueRef both =
        LLVMBuildAtomicCmpXchg(b, atomic->pointer, expected, LLVMBuildBitCast(b, desired, bits, ""),
                               LLVMAtomicOrderingMonotonic, LLVMAtomicOrderingMonotonic, false);
    LLVMValueRef old = LLVMBuildExtractValue(b, both, 0, "");
    LLVMBuildStore(b, old, expected_at);
    give(m, atomic, LLVMBuildBitCast(b, old, atomic->type, ""));
}

static bool is_number(LLVMTypeRef type) {
    const LLVMTypeKind kind = LLVMGetTypeKind(type);
    return (kind == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(type) >= 8) ||
           kind == LLVMHalfTypeKind || kind == LLVMBFloatTypeKind || kind == LLVMFloatTypeKind;
}

/* What is in memory, by what the function takes and gives: both are a stranger's. */
static bool find_type(LLVMValueRef function, struct atomic *atomic) {
    const unsigned count = LLVMCountParams(function);
    LLVMTypeRef given = LLVMGetReturnType(LLVMGlobalGetValueType(function));
    const bool compares = !strcmp(atomic->operation, "cmpxchg");
    const unsigned value_at = compares ? 2 : 1;
    atomic->gives_old = LLVMGetTypeKind(given) != LLVMVoidTypeKind;
    if (!iga_takes_pointer(function, 0) ||
        (compares && (count < 3 || !iga_takes_pointer(function, 1)))) {
        return false;
    }
    atomic->pointer = LLVMGetParam(function, 0);
    if (!strcmp(atomic->operation, "load")) {
        atomic->type = given;
        return is_number(given);
    }
    if (count <= value_at) {
        return false;
    }
    atomic->type = LLVMTypeOf(LLVMGetParam(function, value_at));
    const bool stores = !strcmp(atomic->operation, "store");
    return is_number(atomic->type) && (!atomic->gives_old || (!stores && given == atomic->type));
}

bool iga_define_atomic(struct iga_module *m, LLVMValueRef function, const char *name) {
    struct atomic atomic = {0};
    LLVMAtomicRMWBinOp operation;
    if (!take_apart(name, &atomic) || !find_type(function, &atomic)) {
        return false;
    }
    if (!strcmp(atomic.operation, "store")) {
        set_relaxed(LLVMBuildStore(m->builder, LLVMGetParam(function, 1), atomic.pointer),
                    bytes_of(m, atomic.type));
        LLVMBuildRetVoid(m->builder);
    } else if (!strcmp(atomic.operation, "load")) {
        LLVMValueRef load = LLVMBuildLoad2(m->builder, atomic.type, atomic.pointer, "");
        set_relaxed(load, bytes_of(m, atomic.type));
        LLVMBuildRet(m->builder, load);
    } else if (!strcmp(atomic.operation, "cmpxchg")) {
        compare_exchange(m, &atomic, function);
    } else if (read_modify_write(&atomic, &operation)) {
        give(m, &atomic,
             LLVMBuildAtomicRMW(m->builder, operation, atomic.pointer, LLVMGetParam(function, 1),
                                LLVMAtomicOrderingMonotonic, false));
    } else {
        return false;
    }
    return true;
}
