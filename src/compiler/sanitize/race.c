/*
 * race: accesses of threadgroup and device memory, barriers and fences, told to the device, which
 * keeps who has read and written each cell and what orders them (docs/design/sanitizer.md).
 *
 * Requires what bounds.c does, and runs before it, so that every access is seen. An access is told
 * before it happens, with what it stores. In kernels with fences an atomic that reads is told
 * again behind itself: the fence that follows orders what it has seen by then.
 *
 * Does not: private memory and the constant address space, which nobody else writes.
 */
#include "compiler/ir/builtins.h"
#include "compiler/ir/walk.h"
#include "compiler/sanitize/sanitize.h"

#define MIX UINT64_C(0x9e3779b97f4a7c15)

/* ---- what is stored, as a number ---- */

/* A number or a pointer of at most 64 bits as i64. */
static LLVMValueRef scalar_bits(struct igc_kernel *kernel, LLVMValueRef value) {
    LLVMBuilderRef b = kernel->builder;
    LLVMTypeRef type = LLVMTypeOf(value);
    switch (LLVMGetTypeKind(type)) {
    case LLVMPointerTypeKind:
        return LLVMBuildPtrToInt(b, value, kernel->i64, "");
    case LLVMIntegerTypeKind:
        return LLVMGetIntTypeWidth(type) <= 64 ? LLVMBuildIntCast2(b, value, kernel->i64, false, "")
                                               : NULL;
    case LLVMHalfTypeKind:
    case LLVMBFloatTypeKind:
    case LLVMFloatTypeKind:
    case LLVMDoubleTypeKind: {
        unsigned bits = (unsigned)LLVMSizeOfTypeInBits(kernel->layout, type);
        LLVMValueRef whole =
            LLVMBuildBitCast(b, value, LLVMIntTypeInContext(kernel->context, bits), "");
        return LLVMBuildIntCast2(b, whole, kernel->i64, false, "");
    }
    default:
        return NULL;
    }
}

static LLVMValueRef mixed_with(struct igc_kernel *kernel, LLVMValueRef sum, LLVMValueRef bits) {
    LLVMValueRef both = LLVMBuildXor(kernel->builder, sum, bits, "");
    return LLVMBuildMul(kernel->builder, both, igc_integer(kernel->i64, MIX), "");
}

/* Vectors beyond 64 bits are mixed into a number that differs where they do, near enough. */
static LLVMValueRef value_bits(struct igc_kernel *kernel, LLVMValueRef value) {
    LLVMBuilderRef b = kernel->builder;
    LLVMTypeRef type = LLVMTypeOf(value);
    if (LLVMGetTypeKind(type) != LLVMVectorTypeKind) {
        return scalar_bits(kernel, value);
    }
    uint64_t each = LLVMSizeOfTypeInBits(kernel->layout, LLVMGetElementType(type));
    unsigned count = LLVMGetVectorSize(type);
    LLVMValueRef sum = igc_integer(kernel->i64, 0);
    for (unsigned i = 0; i < count; i++) {
        LLVMValueRef element = LLVMBuildExtractElement(b, value, igc_integer(kernel->i32, i), "");
        LLVMValueRef bits = scalar_bits(kernel, element);
        if (!bits) {
            return NULL;
        }
        if (each * count <= 64) {
            bits = LLVMBuildShl(b, bits, igc_integer(kernel->i64, each * i), "");
            sum = LLVMBuildOr(b, sum, bits, "");
        } else {
            sum = mixed_with(kernel, sum, bits);
        }
    }
    return sum;
}

/* The bytes of a type's smallest scalar. */
static uint64_t smallest_part(struct igc_kernel *kernel, LLVMTypeRef type) {
    uint64_t least = 8;
    switch (LLVMGetTypeKind(type)) {
    case LLVMStructTypeKind:
        for (unsigned i = 0; i < LLVMCountStructElementTypes(type); i++) {
            uint64_t part = smallest_part(kernel, LLVMStructGetTypeAtIndex(type, i));
            least = part < least ? part : least;
        }
        return least;
    case LLVMArrayTypeKind:
    case LLVMVectorTypeKind:
        return smallest_part(kernel, LLVMGetElementType(type));
    default:
        least = LLVMABISizeOfType(kernel->layout, type);
        return least == 1 || least == 2 || least == 4 ? least : 8;
    }
}

/* The bytes of a variable of the thread's own. They are loaded by the parts that it is written by,
 * as one vector: a wider number would count as unwritten with any part of it, and smaller parts
 * would make parts of the copy. */
static LLVMValueRef copied_bits(struct igc_kernel *kernel, const struct igs_access *access) {
    enum { MOST_BYTES = 64 };
    LLVMValueRef from = LLVMGetOperand(access->instruction, 1);
    bool is_memset = igi_intrinsic_of(access->instruction) == IGI_LLVM_memset;
    if (is_memset || !access->bytes || access->bytes > MOST_BYTES) {
        return NULL;
    }
    struct igs_root root = igs_find_root(kernel, from);
    if (root.kind != IGS_ROOT_PRIVATE) {
        return NULL;
    }
    uint64_t part = smallest_part(kernel, LLVMGetAllocatedType(root.base));
    while (access->bytes % part) {
        part /= 2;
    }
    LLVMTypeRef scalar = LLVMIntTypeInContext(kernel->context, (unsigned)(8 * part));
    unsigned count = (unsigned)(access->bytes / part);
    LLVMTypeRef type = count > 1 ? LLVMVectorType(scalar, count) : scalar;
    LLVMValueRef load = LLVMBuildLoad2(kernel->builder, type, from, "");
    LLVMSetAlignment(load, 1);
    return value_bits(kernel, load);
}

/* What a plain or atomic store stores; NULL: it is not known before it happens. */
static LLVMValueRef stored_value(struct igc_kernel *kernel, const struct igs_access *access) {
    LLVMValueRef instruction = access->instruction;
    if (access->is_copy) {
        return copied_bits(kernel, access);
    }
    if (LLVMIsAStoreInst(instruction)) {
        return value_bits(kernel, LLVMGetOperand(instruction, 0));
    }
    if (igi_is_call_of(instruction, IGI_stream_b32) ||
        igi_is_call_of(instruction, IGI_stream_b16)) {
        return scalar_bits(kernel, LLVMGetOperand(instruction, 0));
    }
    return NULL;
}

/* ---- accesses ---- */

/* Stores past the caches become usual ones: the device would wait for each at its next lock. */
static void keep_in_caches(struct igc_kernel *kernel, LLVMValueRef instruction) {
    enum { FLAG = 2 };
    if (igi_is_call_of(instruction, IGI_stream_b32) ||
        igi_is_call_of(instruction, IGI_stream_b16)) {
        LLVMSetOperand(instruction, FLAG, igc_integer(kernel->i32, 0));
    }
}

static bool has_fences(struct igc_kernel *kernel) {
    LLVMValueRef fence = igi_find(kernel->module, IGI_fence);
    return fence && LLVMGetFirstUse(fence);
}

static uint32_t detail_of(const struct igs_access *access) {
    if (access->access == INGOT_CPU_ATOMIC) {
        return INGOT_CPU_RACE_ATOMIC |
               (LLVMIsALoadInst(access->instruction) ? INGOT_CPU_RACE_READS
                                                     : INGOT_CPU_RACE_WRITES);
    }
    return access->access == INGOT_CPU_LOAD ? INGOT_CPU_RACE_READS : INGOT_CPU_RACE_WRITES;
}

struct told {
    const struct igs_access *access;
    const struct igs_root *root;
    uint32_t detail;
    LLVMValueRef address; /* i64 */
    LLVMValueRef value;   /* i64; NULL: none */
    uint32_t bytes;
};

static void tell(struct igc_kernel *kernel, const struct told *told) {
    uint32_t number;
    struct igs_place *place =
        igs_place_of(kernel, IG_SANITIZE_race, told->access->instruction, &number);
    if (!place) {
        return;
    }
    igs_describe_access(kernel, place, told->access, told->root);
    place->place.bytes = told->bytes;
    place->place.detail = told->detail;
    bool is_buffer =
        told->root->kind == IGS_ROOT_ARGUMENT && told->root->space == INGOT_SPACE_DEVICE;
    igs_access(kernel, number, is_buffer ? told->root->ordinal : UINT32_MAX, told->address,
               told->value ? told->value : igc_integer(kernel->i64, 0));
}

static LLVMValueRef lane_number(struct igc_kernel *kernel) {
    LLVMValueRef function = igi_find(kernel->module, IGI_thread_index_in_simdgroup);
    if (!function) {
        function = igi_declare(kernel->module, IGI_thread_index_in_simdgroup);
    }
    LLVMValueRef lane =
        LLVMBuildCall2(kernel->builder, LLVMGlobalGetValueType(function), function, NULL, 0, "");
    return LLVMBuildIntCast2(kernel->builder, lane, kernel->i64, false, "");
}

/* The address of the lane's element of a tile. */
static LLVMValueRef tile_address(struct igc_kernel *kernel, const struct igs_access *access,
                                 LLVMValueRef which) {
    LLVMBuilderRef b = kernel->builder;
    LLVMValueRef index = igs_tile_index(kernel, access->instruction, lane_number(kernel), which);
    index = LLVMBuildMul(b, index, igc_integer(kernel->i64, access->alignment), "");
    LLVMValueRef start = LLVMBuildPtrToInt(b, access->pointer, kernel->i64, "");
    return LLVMBuildAdd(b, start, index, "");
}

/* A load is a call for each of a lane's two elements, a store one for both. */
static void tell_tile(struct igc_kernel *kernel, struct told *told) {
    enum { WHICH = 3, FIRST = 3 };
    LLVMValueRef call = told->access->instruction;
    told->bytes = told->access->alignment; /* an element's */
    if (told->access->access == INGOT_CPU_LOAD) {
        LLVMValueRef which =
            LLVMBuildIntCast2(kernel->builder, LLVMGetOperand(call, WHICH), kernel->i64, false, "");
        told->address = tile_address(kernel, told->access, which);
        tell(kernel, told);
        return;
    }
    for (unsigned i = 0; i < 2; i++) {
        told->address = tile_address(kernel, told->access, igc_integer(kernel->i64, i));
        told->value = scalar_bits(kernel, LLVMGetOperand(call, FIRST + i));
        tell(kernel, told);
    }
}

static void tell_access(struct igc_kernel *kernel, const struct igs_access *access,
                        bool with_fences, bool is_update) {
    struct igs_root root = igs_find_root(kernel, access->pointer);
    if (root.kind == IGS_ROOT_PRIVATE ||
        (root.space != INGOT_SPACE_DEVICE && root.space != INGOT_SPACE_THREADGROUP)) {
        return;
    }
    struct told told = {.access = access,
                        .root = &root,
                        .detail = detail_of(access) | (is_update ? INGOT_CPU_RACE_READS : 0),
                        .bytes = (uint32_t)access->bytes};
    if (access->is_tile) {
        tell_tile(kernel, &told);
        return;
    }
    told.address = LLVMBuildPtrToInt(kernel->builder, access->pointer, kernel->i64, "");
    if (told.detail & INGOT_CPU_RACE_WRITES) {
        told.value = stored_value(kernel, access);
        told.detail |= told.value ? 0 : INGOT_CPU_RACE_NO_VALUE;
    }
    if (!told.bytes) {
        told.value = access->size;
    }
    tell(kernel, &told);
    if (with_fences && access->access == INGOT_CPU_ATOMIC &&
        !LLVMIsAStoreInst(access->instruction)) {
        LLVMPositionBuilderBefore(kernel->builder, LLVMGetNextInstruction(access->instruction));
        told.detail = INGOT_CPU_RACE_ATOMIC | INGOT_CPU_RACE_SEEN;
        told.value = NULL;
        tell(kernel, &told);
    }
}

/* ---- barriers and fences ---- */

static uint32_t number_operand(LLVMValueRef call, unsigned operand, uint32_t otherwise) {
    LLVMValueRef value = LLVMGetOperand(call, operand);
    return LLVMIsAConstantInt(value) ? (uint32_t)LLVMConstIntGetZExtValue(value) : otherwise;
}

/* What is not a constant counts as the strongest: then nothing is reported that is ordered. */
static void tell_order(struct igc_kernel *kernel, LLVMValueRef call) {
    enum { SCOPE_SIMDGROUP = 1, ALL_FLAGS = 0xff, SEQ_CST = 5, DEVICE = 2 };
    uint32_t number, detail;
    if (igi_is_call_of(call, IGI_barrier)) {
        bool is_simdgroup = number_operand(call, 0, 2) == SCOPE_SIMDGROUP;
        detail = INGOT_CPU_RACE_BARRIER | (is_simdgroup ? INGOT_CPU_RACE_SIMDGROUP : 0) |
                 INGOT_CPU_RACE_FLAGS * (number_operand(call, 1, ALL_FLAGS) & ALL_FLAGS);
    } else {
        detail = INGOT_CPU_RACE_FENCE |
                 INGOT_CPU_RACE_FLAGS * (number_operand(call, 0, ALL_FLAGS) & ALL_FLAGS) |
                 INGOT_CPU_RACE_ORDER * (number_operand(call, 1, SEQ_CST) & 15) |
                 INGOT_CPU_RACE_SCOPE * (number_operand(call, 2, DEVICE) & 15);
    }
    struct igs_place *place = igs_place_of(kernel, IG_SANITIZE_race, call, &number);
    if (place) {
        place->place.detail = detail;
        LLVMValueRef zero = igc_integer(kernel->i64, 0);
        igs_tell(kernel, number, zero, zero);
    }
}

static bool orders(LLVMValueRef instruction) {
    return igi_is_call_of(instruction, IGI_barrier) || igi_is_call_of(instruction, IGI_fence);
}

static bool is_told(struct igc_kernel *kernel, LLVMValueRef instruction) {
    return igs_is_access(kernel, instruction) || orders(instruction);
}

enum igc_result igs_check_race(struct igc_kernel *kernel) {
    struct igc_list list = igc_collect(kernel, is_told);
    if (list.failed) {
        return igc_result_of(igc_out_of_memory(kernel));
    }
    bool with_fences = has_fences(kernel);
    enum igs_repeat *repeats =
        ig_arena_alloc(kernel->arena, (list.count + 1) * sizeof *repeats); /* IGS_TOLD */
    if (!repeats) {
        return igc_result_of(igc_out_of_memory(kernel));
    }
    if (!with_fences) {
        igs_find_repeats(kernel, &list, repeats);
    }
    for (size_t i = 0; i < list.count; i++) {
        struct igs_access accesses[IGS_MOST_ACCESSES];
        LLVMPositionBuilderBefore(kernel->builder, list.items[i]);
        if (orders(list.items[i])) {
            tell_order(kernel, list.items[i]);
            continue;
        }
        unsigned count =
            repeats[i] == IGS_REPEATED ? 0 : igs_accesses_of(kernel, list.items[i], accesses);
        for (unsigned k = 0; k < count; k++) {
            LLVMPositionBuilderBefore(kernel->builder, list.items[i]);
            tell_access(kernel, &accesses[k], with_fences, repeats[i] == IGS_UPDATED);
        }
        keep_in_caches(kernel, list.items[i]);
    }
    return kernel->error->status ? IGC_FAILED : IGC_CHANGED;
}
