/*
 * Shadows of memory: what loads, stores and atomics do to the bytes that say whether memory was
 * written.
 *
 * What is stored to private and threadgroup memory takes its shadow along. What is stored to a
 * buffer is used. The device keeps the shadows of buffers, and only of those that nobody filled:
 * others cost a test that fails.
 */
#include "compiler/ir/builtins.h"
#include "compiler/sanitize/shadow.h"

enum { MOST_BYTES = 64 };

static bool is_vector(LLVMTypeRef type) {
    return LLVMGetTypeKind(type) == LLVMVectorTypeKind;
}

/* ---- from bytes to shadows and back ---- */

/* A byte of value `byte` in each byte of an integer, or of a vector's elements. */
static LLVMValueRef repeated(LLVMTypeRef type, unsigned byte) {
    if (is_vector(type)) {
        unsigned size = LLVMGetVectorSize(type);
        LLVMValueRef items[256], item = repeated(LLVMGetElementType(type), byte);
        for (unsigned i = 0; i < size && i < 256; i++) {
            items[i] = item;
        }
        return LLVMConstVector(items, size < 256 ? size : 256);
    }
    uint64_t words[MOST_BYTES / 8];
    for (unsigned i = 0; i < MOST_BYTES / 8; i++) {
        words[i] = 0x0101010101010101u * byte;
    }
    return LLVMConstIntOfArbitraryPrecision(type, (LLVMGetIntTypeWidth(type) + 63) / 64, words);
}

/* The type of the bytes of a value's shadow; NULL: too large to be one. */
static LLVMTypeRef bytes_type(struct igs_shadows *shadows, LLVMTypeRef type) {
    struct igc_kernel *kernel = shadows->kernel;
    uint64_t bytes = LLVMStoreSizeOfType(kernel->layout, type);
    if (is_vector(type)) {
        uint64_t each = LLVMStoreSizeOfType(kernel->layout, LLVMGetElementType(type));
        unsigned size = LLVMGetVectorSize(type);
        if (each * size == bytes && size <= 256) {
            return LLVMVectorType(LLVMIntTypeInContext(kernel->context, (unsigned)each * 8), size);
        }
    }
    return bytes <= MOST_BYTES ? LLVMIntTypeInContext(kernel->context, (unsigned)bytes * 8) : NULL;
}

static LLVMValueRef splat(LLVMValueRef scalar, LLVMTypeRef form) {
    LLVMValueRef items[256];
    if (!is_vector(form)) {
        return scalar;
    }
    unsigned size = LLVMGetVectorSize(form);
    for (unsigned i = 0; i < size && i < 256; i++) {
        items[i] = scalar;
    }
    return LLVMConstVector(items, size < 256 ? size : 256);
}

LLVMValueRef igs_from_bytes(struct igs_shadows *shadows, LLVMValueRef bytes, uint32_t origin,
                            unsigned may) {
    LLVMBuilderRef b = shadows->kernel->builder;
    LLVMTypeRef type = LLVMTypeOf(bytes);
    LLVMTypeRef form = igs_shadow_type(shadows, type);
    LLVMValueRef zero = LLVMConstNull(form), bad = igs_is_bad(shadows, bytes);
    LLVMValueRef unwritten = splat(igs_source(shadows, origin, IGS_MAY_UNWRITTEN), form);
    LLVMValueRef no_lane = splat(igs_source(shadows, origin, IGS_MAY_NO_LANE), form);
    if (may == IGS_MAY_UNWRITTEN) {
        return LLVMBuildSelect(b, bad, unwritten, zero, "");
    }
    LLVMValueRef result = LLVMBuildSelect(b, bad, no_lane, zero, "");
    if (may & IGS_MAY_UNWRITTEN) {
        LLVMValueRef some = LLVMBuildAnd(b, bytes, repeated(type, IGS_MAY_UNWRITTEN), "");
        result = LLVMBuildSelect(b, igs_is_bad(shadows, some), unwritten, result, "");
    }
    return result;
}

LLVMValueRef igs_to_bytes(struct igs_shadows *shadows, LLVMValueRef shadow, LLVMTypeRef bytes,
                          unsigned may) {
    LLVMBuilderRef b = shadows->kernel->builder;
    if (LLVMIsNull(shadow)) {
        return LLVMConstNull(bytes);
    }
    if (is_vector(LLVMTypeOf(shadow)) && !is_vector(bytes)) {
        shadow = igs_any_element(shadows, shadow);
    }
    LLVMValueRef zero = LLVMConstNull(bytes), bad = igs_is_bad(shadows, shadow);
    if (may == IGS_MAY_UNWRITTEN) {
        return LLVMBuildSelect(b, bad, repeated(bytes, IGS_MAY_UNWRITTEN), zero, "");
    }
    LLVMValueRef result = LLVMBuildSelect(b, bad, repeated(bytes, IGS_MAY_NO_LANE), zero, "");
    if (may & IGS_MAY_UNWRITTEN) {
        LLVMTypeRef form = LLVMTypeOf(shadow);
        LLVMValueRef mark = splat(igc_integer(shadows->kernel->i32, INGOT_CPU_NEVER_WRITTEN), form);
        LLVMValueRef is = LLVMBuildICmp(b, LLVMIntUGE, shadow, mark, "");
        result = LLVMBuildSelect(b, is, repeated(bytes, IGS_MAY_UNWRITTEN), result, "");
    }
    return result;
}

uint32_t igs_origin_of(struct igs_shadows *shadows, LLVMValueRef instruction,
                       const struct igs_access *access) {
    uint32_t number = 0;
    struct igs_place *place =
        igs_place_of(shadows->kernel, IG_SANITIZE_uninitialised, instruction, &number);
    if (place && access) {
        struct igs_root root = igs_find_root(shadows->kernel, access->pointer);
        igs_describe_access(shadows->kernel, place, access, &root);
    }
    return number;
}

/* ---- buffers ---- */

static LLVMValueRef ordinal_of(struct igs_shadows *shadows, const struct igs_access *access) {
    struct igs_root root = igs_find_root(shadows->kernel, access->pointer);
    return igc_integer(shadows->kernel->i32,
                       root.kind == IGS_ROOT_ARGUMENT ? root.ordinal : INGOT_CPU_NO_SLOT);
}

LLVMValueRef igs_is_unwritten(struct igs_shadows *shadows, const struct igs_access *access,
                              LLVMValueRef address, uint32_t place) {
    struct igc_kernel *kernel = shadows->kernel;
    LLVMValueRef args[] = {ordinal_of(shadows, access), igc_integer(kernel->i32, place),
                           LLVMBuildPtrToInt(kernel->builder, address, kernel->i64, ""),
                           access->size};
    return igs_call(kernel, IGI_san_is_unwritten, args, 4);
}

void igs_is_written(struct igs_shadows *shadows, const struct igs_access *access,
                    LLVMValueRef address, uint32_t place) {
    struct igc_kernel *kernel = shadows->kernel;
    LLVMValueRef args[] = {ordinal_of(shadows, access), igc_integer(kernel->i32, place),
                           LLVMBuildPtrToInt(kernel->builder, address, kernel->i64, ""),
                           access->size};
    igs_call(kernel, IGI_san_written, args, 4);
}

/* ---- accesses ---- */

struct igs_access igs_access_of(struct igc_kernel *kernel, LLVMValueRef instruction) {
    struct igs_access accesses[IGS_MOST_ACCESSES];
    igs_accesses_of(kernel, instruction, accesses);
    return accesses[0];
}

/* Is it in a block of its own that bounds made? Then the branch there is checked. */
static bool is_guarded(struct igs_shadows *shadows, LLVMValueRef instruction) {
    unsigned block = igi_graph_number(&shadows->graph, LLVMGetInstructionParent(instruction));
    if (igi_predecessor_count(&shadows->graph, block) != 1) {
        return false;
    }
    LLVMBasicBlockRef before = shadows->graph.blocks[*igi_predecessors(&shadows->graph, block)];
    return igs_is_guard(shadows->kernel, LLVMGetBasicBlockTerminator(before));
}

/* One of several private variables, or a fixed part of it: `bad ? a : b` chooses so. */
static bool is_choice(LLVMValueRef pointer) {
    while (LLVMIsAGetElementPtrInst(pointer)) {
        for (unsigned i = 1; i < (unsigned)LLVMGetNumOperands(pointer); i++) {
            if (!LLVMIsAConstantInt(LLVMGetOperand(pointer, i))) {
                return false;
            }
        }
        pointer = LLVMGetOperand(pointer, 0);
    }
    return !LLVMGetPointerAddressSpace(LLVMTypeOf(pointer)) &&
           (LLVMIsAPHINode(pointer) || LLVMIsASelectInst(pointer));
}

unsigned igs_used_in_address(struct igs_shadows *shadows, LLVMValueRef instruction) {
    struct igs_access accesses[IGS_MOST_ACCESSES];
    unsigned count = igs_accesses_of(shadows->kernel, instruction, accesses), may = 0;
    for (unsigned i = 0; i < count; i++) {
        unsigned all = igs_may_be(shadows, accesses[i].pointer);
        may |= is_choice(accesses[i].pointer) ? all & ~IGS_MAY_NO_LANE : all;
    }
    return may;
}

void igs_check_address(struct igs_shadows *shadows, const struct igs_access *access) {
    unsigned may = igs_may_be(shadows, access->pointer);
    if (is_choice(access->pointer)) {
        may &= ~(unsigned)IGS_MAY_NO_LANE;
    }
    if (may && !is_guarded(shadows, access->instruction)) {
        igs_check_use(shadows, access->instruction, igs_shadow_of(shadows, access->pointer), may,
                      IGS_USE_ADDRESS, access);
    }
}

LLVMValueRef igs_decision_slot(struct igs_shadows *shadows, struct igs_decision *decision,
                               LLVMValueRef before) {
    LLVMBuilderRef b = shadows->kernel->builder;
    if (!decision->slot) {
        LLVMPositionBuilderBefore(b, LLVMGetFirstInstruction(shadows->graph.blocks[0]));
        decision->slot = LLVMBuildAlloca(b, shadows->kernel->i32, "");
        LLVMBuildStore(b, igc_integer(shadows->kernel->i32, 0), decision->slot);
        LLVMPositionBuilderBefore(b, before);
    }
    return decision->slot;
}

LLVMValueRef igs_decided_shadow(struct igs_shadows *shadows, LLVMValueRef instruction) {
    unsigned block = igi_graph_number(&shadows->graph, LLVMGetInstructionParent(instruction));
    LLVMValueRef result = igc_integer(shadows->kernel->i32, 0);
    for (const struct igs_decided *d = shadows->decided[block]; d; d = d->next) {
        if (d->decision->join != block && d->decision->may) {
            LLVMValueRef slot = igs_decision_slot(shadows, d->decision, instruction);
            LLVMValueRef own =
                LLVMBuildLoad2(shadows->kernel->builder, shadows->kernel->i32, slot, "");
            result = igs_larger(shadows, result, own);
        }
    }
    return result;
}

void igs_shadow_load(struct igs_shadows *shadows, LLVMValueRef load) {
    struct igc_kernel *kernel = shadows->kernel;
    LLVMBuilderRef b = kernel->builder;
    LLVMTypeRef type = LLVMTypeOf(load);
    struct igs_access access = igs_access_of(kernel, load);
    igs_check_address(shadows, &access);
    unsigned memory = igs_memory_of(shadows, access.pointer);
    unsigned may = igs_memory_may_be(shadows, memory);
    if (!may) {
        return;
    }
    if (memory == IGS_MEMORY_DEVICE) {
        uint32_t origin = igs_origin_of(shadows, load, &access);
        LLVMValueRef is = igs_is_unwritten(shadows, &access, access.pointer, origin);
        LLVMValueRef shadow = LLVMBuildSelect(b, is, igs_source(shadows, origin, may),
                                              igc_integer(kernel->i32, 0), "");
        igs_set_shadow(shadows, load, igs_spread(shadows, shadow, type));
        return;
    }
    LLVMTypeRef form = bytes_type(shadows, type);
    LLVMValueRef from = form ? igs_shadow_pointer(shadows, access.pointer, load) : NULL;
    if (!from) {
        return;
    }
    LLVMValueRef bytes = LLVMBuildLoad2(b, form, from, "");
    LLVMSetAlignment(bytes, LLVMGetAlignment(load));
    LLVMValueRef shadow =
        igs_from_bytes(shadows, bytes, igs_origin_of(shadows, load, &access), may);
    if (LLVMTypeOf(shadow) != igs_shadow_type(shadows, type)) {
        shadow = igs_spread(shadows, shadow, type);
    }
    igs_set_shadow(shadows, load, shadow);
    igs_entry_of(shadows, load)->raw = bytes;
}

static void shadow_store(struct igs_shadows *shadows, const struct igs_access *access,
                         LLVMValueRef value) {
    struct igc_kernel *kernel = shadows->kernel;
    LLVMValueRef store = access->instruction;
    unsigned memory = igs_memory_of(shadows, access->pointer);
    unsigned may = igs_memory_may_be(shadows, memory);
    if (memory == IGS_MEMORY_DEVICE) {
        igs_check_use(shadows, store, igs_shadow_of(shadows, value), igs_may_be(shadows, value),
                      IGS_USE_STORE, access);
        if (shadows->asked & IGS_MAY_UNWRITTEN) {
            igs_is_written(shadows, access, access->pointer, igs_origin_of(shadows, store, access));
        }
        return;
    }
    LLVMTypeRef type = LLVMTypeOf(value), form = bytes_type(shadows, type);
    if (!may || !form) {
        return;
    }
    LLVMValueRef to = igs_shadow_pointer(shadows, access->pointer, store);
    if (!to) {
        return;
    }
    const struct igs_shadow_value *entry = igs_entry_of(shadows, value);
    LLVMValueRef decided = igs_decided_shadow(shadows, store), bytes;
    if (entry && entry->raw && LLVMTypeOf(entry->raw) == form && LLVMIsNull(decided)) {
        bytes = entry->raw; /* a copy by way of a register, byte by byte */
    } else {
        LLVMValueRef shadow = igs_shadow_of(shadows, value);
        shadow = igs_larger(shadows, shadow, igs_spread(shadows, decided, type));
        bytes = igs_to_bytes(shadows, shadow, form, may);
    }
    LLVMValueRef written = LLVMBuildStore(kernel->builder, bytes, to);
    LLVMSetAlignment(written, LLVMIsAStoreInst(store) ? LLVMGetAlignment(store) : 1);
}

void igs_shadow_store(struct igs_shadows *shadows, LLVMValueRef store) {
    struct igs_access access = igs_access_of(shadows->kernel, store);
    igs_check_address(shadows, &access);
    shadow_store(shadows, &access, LLVMGetOperand(store, 0));
}

/* The old value is what was there; the new one is as bad as both, but of an exchange. */
void igs_shadow_atomic(struct igs_shadows *shadows, LLVMValueRef atomic) {
    struct igc_kernel *kernel = shadows->kernel;
    LLVMBuilderRef b = kernel->builder;
    bool is_exchange = LLVMIsAAtomicCmpXchgInst(atomic) != NULL;
    LLVMValueRef value = LLVMGetOperand(atomic, is_exchange ? 2 : 1);
    struct igs_access access = igs_access_of(kernel, atomic);
    igs_check_address(shadows, &access);
    unsigned memory = igs_memory_of(shadows, access.pointer);
    unsigned may = igs_memory_may_be(shadows, memory);
    if (memory == IGS_MEMORY_DEVICE) {
        uint32_t origin = igs_origin_of(shadows, atomic, &access);
        if (may) {
            LLVMValueRef is = igs_is_unwritten(shadows, &access, access.pointer, origin);
            igs_set_shadow(shadows, atomic,
                           LLVMBuildSelect(b, is, igs_source(shadows, origin, may),
                                           igc_integer(kernel->i32, 0), ""));
        }
        shadow_store(shadows, &access, value);
        return;
    }
    LLVMTypeRef form = bytes_type(shadows, LLVMTypeOf(value));
    LLVMValueRef at = may && form ? igs_shadow_pointer(shadows, access.pointer, atomic) : NULL;
    if (!at) {
        return;
    }
    LLVMValueRef old = LLVMBuildLoad2(b, form, at, "");
    LLVMSetAlignment(old, 1);
    igs_set_shadow(shadows, atomic,
                   igs_from_bytes(shadows, old, igs_origin_of(shadows, atomic, &access), may));
    LLVMValueRef bytes = igs_to_bytes(shadows, igs_shadow_of(shadows, value), form, may);
    bool replaces = !is_exchange && LLVMGetAtomicRMWBinOp(atomic) == LLVMAtomicRMWBinOpXchg;
    bytes = replaces ? bytes : LLVMBuildOr(b, old, bytes, "");
    LLVMSetAlignment(LLVMBuildStore(b, bytes, at), 1);
}
