/*
 * bounds: accesses outside of what they point into.
 *
 * Requires a kernel with everything inlined and pointers in registers, before arrays are taken
 * apart and before anything is concluded from what C++ leaves undefined. Provides: every access
 * that is not known to be inside runs only where it is, reads zero elsewhere, and is reported
 * there.
 *
 * An address whose root is known is compared with the root's size: that of a variable, or that of
 * an argument as it is bound. A private pointer into one of several variables has that one's size
 * beside it. Others are compared with the private variables and the tables that they may point into
 * and looked up by the device in its table of what is live.
 */
#include <string.h>

#include "compiler/ir/walk.h"
#include "compiler/sanitize/sanitize.h"

enum { TILE_BYTES = 8 * 8 * 4 };

/* Known to be inside without asking? */
static bool is_inside(const struct igs_access *access, const struct igs_root *root) {
    return root->kind != IGS_ROOT_UNKNOWN && root->is_constant && access->bytes &&
           root->constant >= 0 && access->bytes <= root->bytes &&
           (uint64_t)root->constant <= root->bytes - access->bytes;
}

/* offset + size <= bytes, without a sum that wraps. */
static LLVMValueRef fits(struct igc_kernel *kernel, const struct igs_access *access,
                         LLVMValueRef offset, LLVMValueRef bytes) {
    LLVMBuilderRef b = kernel->builder;
    LLVMValueRef small = LLVMBuildICmp(b, LLVMIntULE, access->size, bytes, "");
    LLVMValueRef last = LLVMBuildSub(b, bytes, access->size, "");
    LLVMValueRef in = LLVMBuildICmp(b, LLVMIntULE, offset, last, "");
    return LLVMBuildAnd(b, small, in, "");
}

struct check { /* ok is NULL: always */
    LLVMValueRef ok, offset;
    uint32_t place;
    bool is_asked; /* the device was asked, and has reported */
};

static LLVMValueRef either(struct igc_kernel *kernel, LLVMValueRef a, LLVMValueRef b) {
    return a && b ? LLVMBuildOr(kernel->builder, a, b, "") : a ? a : b;
}

/* The device knows what is bound and live; where the program's constants and the thread's variables
 * are, the code. A pointer without a space (0) may point to any of these. */
static LLVMValueRef ask(struct igc_kernel *kernel, const struct igs_access *access, unsigned space,
                        uint32_t place) {
    LLVMBuilderRef b = kernel->builder;
    LLVMValueRef address = LLVMBuildPtrToInt(b, access->pointer, kernel->i64, ""), known = NULL;
    if (!space) {
        known = igs_in_variable(kernel, address, access->size);
    }
    if (!space || space == INGOT_SPACE_CONSTANT) {
        known = either(kernel, known, igs_in_table(kernel, address, access->size));
    }
    LLVMValueRef elsewhere = known ? LLVMBuildNot(b, known, "") : NULL;
    LLVMValueRef answer = igs_ask(kernel, place, address, access->size);
    if (!known) {
        return answer;
    }
    LLVMValueRef ok = LLVMBuildOr(b, known, answer, "");
    igs_only_where(kernel, elsewhere, answer);
    LLVMPositionBuilderBefore(b, access->instruction);
    return ok;
}

/* One access: where it is fine. */
static struct check check(struct igc_kernel *kernel, struct igs_access *access) {
    struct igs_root root = igs_find_root(kernel, access->pointer);
    bool is_known = root.kind != IGS_ROOT_UNKNOWN;
    if (is_known) {
        igs_find_offset(kernel, &root, access->pointer);
    }
    LLVMValueRef bytes = NULL;
    struct check result = {0};
    if (is_inside(access, &root)) {
        return result;
    }
    if (!is_known &&
        !igs_find_object(kernel, access->pointer, access->instruction, &root.offset, &bytes)) {
        bytes = NULL;
    }
    struct igs_place *place =
        igs_place_of(kernel, IG_SANITIZE_bounds, access->instruction, &result.place);
    if (!place) {
        return result;
    }
    igs_describe_access(kernel, place, access, &root);
    if (!is_known && !bytes) {
        result.ok = ask(kernel, access, root.space, result.place);
        result.is_asked = true;
        return result;
    }
    if (!bytes) {
        bytes = root.kind == IGS_ROOT_ARGUMENT ? igs_bound(kernel, &root)
                                               : igc_integer(kernel->i64, root.bytes);
    }
    result.ok = fits(kernel, access, root.offset, bytes);
    result.offset = root.offset;
    return result;
}

#define SCRATCH "ingot.sanitize."
static const char elsewhere[] = SCRATCH;

/* Memory of the module that nobody looks at: zeros to load from, or a place to store to. */
static LLVMValueRef scratch(struct igc_kernel *kernel, bool is_stored, unsigned space) {
    const char *name = is_stored ? SCRATCH "sink" : SCRATCH "zeros";
    LLVMValueRef global = LLVMGetNamedGlobal(kernel->module, name);
    if (!global) {
        LLVMTypeRef type = LLVMArrayType2(kernel->i8, TILE_BYTES);
        global = LLVMAddGlobal(kernel->module, type, name);
        LLVMSetInitializer(global, LLVMConstNull(type));
        LLVMSetLinkage(global, LLVMInternalLinkage);
        LLVMSetGlobalConstant(global, !is_stored);
        LLVMSetAlignment(global, 64);
    }
    return LLVMConstAddrSpaceCast(global, LLVMPointerTypeInContext(kernel->context, space));
}

bool igs_is_elsewhere(LLVMValueRef pointer) {
    size_t size;
    LLVMValueRef global = LLVMIsAConstantExpr(pointer) ? LLVMGetOperand(pointer, 0) : pointer;
    return LLVMIsAGlobalVariable(global) &&
           !strncmp(LLVMGetValueName2(global, &size), elsewhere, strlen(elsewhere));
}

/* A tile belongs to all lanes, so it is not left out: it is loaded from elsewhere. */
static void redirect_tile(struct igc_kernel *kernel, const struct igs_access *access,
                          LLVMValueRef ok) {
    LLVMBuilderRef b = kernel->builder;
    LLVMValueRef call = access->instruction, stride = LLVMGetOperand(call, 1);
    unsigned space = LLVMGetPointerAddressSpace(LLVMTypeOf(access->pointer));
    LLVMValueRef other = scratch(kernel, access->access == INGOT_CPU_STORE, space);
    LLVMValueRef eight = igc_integer(kernel->i64, 8);
    LLVMSetOperand(call, 0, LLVMBuildSelect(b, ok, access->pointer, other, ""));
    LLVMSetOperand(call, 1, LLVMBuildSelect(b, ok, stride, eight, ""));
}

/* What a copy does not read is zero. `ok` says where it may write; NULL: everywhere. */
static void clear_copy(struct igc_kernel *kernel, LLVMValueRef copy, LLVMValueRef ok) {
    LLVMValueRef to = LLVMGetOperand(copy, 0);
    struct igs_root root = igs_find_root(kernel, to);
    if (root.kind != IGS_ROOT_PRIVATE) {
        return;
    }
    LLVMValueRef cleared =
        LLVMBuildMemSet(kernel->builder, to, LLVMConstNull(kernel->i8), LLVMGetOperand(copy, 2), 1);
    if (ok) {
        igs_only_where(kernel, ok, cleared);
        LLVMPositionBuilderBefore(kernel->builder, copy);
    }
}

/* Can a SIMD-group run the access as it is where the check holds? What follows shadows knows
 * accesses once. */
static bool has_fast_way(const struct igc_kernel *kernel, const struct igs_access *access) {
    return !access->is_tile && !access->is_copy && !LLVMIsAAtomicCmpXchgInst(access->instruction) &&
           !igs_wants(kernel, IG_SANITIZE_uninitialised) && !igs_wants(kernel, IG_SANITIZE_lanes);
}

/* Reports subscripts behind the end of their array, where the access as a whole is fine; one of
 * them is left to the caller where nothing else is checked. */
static struct check check_subscripts(struct igc_kernel *kernel, const struct igs_access *access,
                                     struct check whole, bool has_fast_way) {
    LLVMBuilderRef b = kernel->builder;
    struct igs_subscripts subscripts;
    igs_find_subscripts(kernel, access, &subscripts);
    for (unsigned i = 0; i < subscripts.count; i++) {
        const struct igs_subscript *subscript = &subscripts.items[i];
        LLVMValueRef index = LLVMBuildIntCast2(b, subscript->index, kernel->i64, true, "");
        LLVMValueRef count = igc_integer(kernel->i64, subscript->count);
        LLVMValueRef ok = LLVMBuildICmp(b, LLVMIntULT, index, count, "");
        struct check result = {.ok = ok, .offset = index};
        struct igs_place *place =
            igs_place_of(kernel, IG_SANITIZE_bounds, access->instruction, &result.place);
        if (!place) {
            return whole;
        }
        struct igs_root root = igs_find_root(kernel, access->pointer);
        igs_describe_access(kernel, place, access, &root);
        place->place.detail = (uint32_t)subscript->count;
        if (has_fast_way && subscripts.count == 1 && !whole.ok) {
            return result;
        }
        if (whole.ok && !whole.is_asked) {
            igs_expect(kernel, whole.ok, whole.place, whole.offset);
        }
        LLVMValueRef other = whole.ok ? LLVMBuildNot(b, whole.ok, "") : NULL;
        igs_expect(kernel, other ? LLVMBuildOr(b, ok, other, "") : ok, result.place, index);
        whole.ok = whole.ok ? LLVMBuildAnd(b, whole.ok, ok, "") : ok;
        whole.place = result.place;
        whole.is_asked = true;
    }
    return whole;
}

static void check_instruction(struct igc_kernel *kernel, LLVMValueRef instruction) {
    struct igs_access accesses[IGS_MOST_ACCESSES];
    LLVMValueRef ok = NULL, last = NULL;
    LLVMPositionBuilderBefore(kernel->builder, instruction);
    unsigned count = igs_accesses_of(kernel, instruction, accesses);
    for (unsigned i = 0; i < count; i++) {
        bool is_fast = has_fast_way(kernel, &accesses[i]);
        struct check one = check(kernel, &accesses[i]);
        one = check_subscripts(kernel, &accesses[i], one, is_fast);
        if (one.ok && is_fast) {
            igs_guard(kernel, one.ok, one.place, one.is_asked ? NULL : one.offset, instruction);
            return;
        }
        if (one.ok && !one.is_asked) {
            igs_expect(kernel, one.ok, one.place, one.offset);
        }
        ok = !ok ? one.ok : !one.ok ? ok : LLVMBuildAnd(kernel->builder, ok, one.ok, "");
        last = one.ok;
    }
    if (!ok) {
        return;
    }
    if (accesses[0].is_tile) {
        redirect_tile(kernel, &accesses[0], ok);
        return;
    }
    if (count == 2) {
        clear_copy(kernel, instruction, last);
    }
    igs_only_where(kernel, ok, instruction);
}

enum igc_result igs_check_bounds(struct igc_kernel *kernel) {
    struct igc_list accesses = igc_collect(kernel, igs_is_access);
    if (accesses.failed) {
        return igc_result_of(igc_out_of_memory(kernel));
    }
    for (size_t i = 0; i < accesses.count; i++) {
        check_instruction(kernel, accesses.items[i]);
    }
    return kernel->error->status ? IGC_FAILED : IGC_CHANGED;
}
