/*
 * Counters of what a kernel does: accesses to memory with their addresses, floating-point
 * operations, barriers; and, later, accesses to private memory that did not become registers.
 *
 * Requires the scalar kernel after the middle end's optimisation: what it took out is not counted.
 * An access is a place and a call with address and size for each lane. Arithmetic is one place for
 * a line and a block, whose `detail` is the operations of one lane.
 *
 * Does not count: comparisons, conversions, integers; what the prelude's maths functions do counts
 * by the operations that they are made of.
 */
#include <llvm-c/DebugInfo.h>

#include "base/profile.h"
#include "compiler/ir/builtins.h"
#include "compiler/ir/walk.h"
#include "compiler/sanitize/sanitize.h"

enum { SCOPE_SIMDGROUP = 1, TILE_WHICH = 3, TILE_TRANSPOSE = 2, TILE_STRIDE = 1 };

/* What was moved may have lost its line: then that of a neighbour counts. */
static LLVMValueRef nearest_located(struct igc_kernel *kernel, LLVMValueRef instruction) {
    LLVMValueRef found = instruction;
    while (found && !igs_users_location(kernel, found)) {
        found = LLVMGetPreviousInstruction(found);
    }
    if (!found) {
        found = instruction;
        while (found && !igs_users_location(kernel, found)) {
            found = LLVMGetNextInstruction(found);
        }
    }
    return found ? found : instruction;
}

static struct igs_place *new_place(struct igc_kernel *kernel, enum ig_count_kind kind,
                                   LLVMValueRef instruction, uint32_t *number) {
    return igs_place_of(kernel, (enum ig_sanitize_kind)kind, nearest_located(kernel, instruction),
                        number);
}

/* ---- accesses ---- */
static LLVMValueRef bits(struct igc_kernel *kernel, LLVMValueRef lane, unsigned shift,
                         uint64_t mask) {
    LLVMBuilderRef b = kernel->builder;
    LLVMValueRef part = LLVMBuildLShr(b, lane, igc_integer(kernel->i64, shift), "");
    return LLVMBuildAnd(b, part, igc_integer(kernel->i64, mask), "");
}

static LLVMValueRef times(struct igc_kernel *kernel, LLVMValueRef value, uint64_t factor) {
    return LLVMBuildMul(kernel->builder, value, igc_integer(kernel->i64, factor), "");
}

/* The address of element `which` of this lane, by the layout of builtins.def: row 4·b4 + 2·b2 + b1,
 * column 4·b3 + 2·b0 + which. */
static LLVMValueRef tile_address(struct igc_kernel *kernel, const struct igs_access *access,
                                 bool is_transposed, uint64_t element, uint64_t which) {
    LLVMBuilderRef b = kernel->builder;
    LLVMValueRef function = igi_declare(kernel->module, IGI_thread_index_in_simdgroup);
    LLVMValueRef lane = LLVMBuildCall2(b, LLVMGlobalGetValueType(function), function, NULL, 0, "");
    lane = LLVMBuildZExt(b, lane, kernel->i64, "");
    LLVMValueRef row =
        LLVMBuildAdd(b, times(kernel, bits(kernel, lane, 4, 1), 4), bits(kernel, lane, 1, 3), "");
    LLVMValueRef column = LLVMBuildAdd(b, times(kernel, bits(kernel, lane, 3, 1), 4),
                                       times(kernel, bits(kernel, lane, 0, 1), 2), "");
    column = LLVMBuildAdd(b, column, igc_integer(kernel->i64, which), "");
    LLVMValueRef far = is_transposed ? column : row, near = is_transposed ? row : column;
    LLVMValueRef stride = LLVMGetOperand(access->instruction, TILE_STRIDE);
    LLVMValueRef index = LLVMBuildAdd(b, LLVMBuildMul(b, far, stride, ""), near, "");
    LLVMValueRef start = LLVMBuildPtrToInt(b, access->pointer, kernel->i64, "");
    return LLVMBuildAdd(b, start, times(kernel, index, element), "");
}

/* A tile: every lane's two elements, which are beside each other unless it is transposed. Of loads
 * there is a call for each element, of which the first stands for both. */
static void count_tile(struct igc_kernel *kernel, const struct igs_access *access,
                       uint32_t number) {
    LLVMValueRef call = access->instruction, transpose = LLVMGetOperand(call, TILE_TRANSPOSE);
    bool is_transposed = LLVMIsAConstantInt(transpose) && LLVMConstIntGetZExtValue(transpose);
    uint64_t element = access->alignment, size = is_transposed ? element : 2 * element;
    for (uint64_t which = 0; which < (is_transposed ? 2 : 1); which++) {
        LLVMValueRef address = tile_address(kernel, access, is_transposed, element, which);
        igs_tell(kernel, number, address, igc_integer(kernel->i64, size));
    }
}

static bool is_second_element(const struct igs_access *access) {
    if (!access->is_tile || access->access != INGOT_CPU_LOAD) {
        return false;
    }
    LLVMValueRef which = LLVMGetOperand(access->instruction, TILE_WHICH);
    return LLVMIsAConstantInt(which) && LLVMConstIntGetZExtValue(which) == 1;
}

static void count_access(struct igc_kernel *kernel, const struct igs_access *access,
                         bool of_private) {
    struct igs_root root = igs_find_root(kernel, access->pointer);
    bool is_private = root.kind == IGS_ROOT_PRIVATE;
    if (is_private != of_private || (!root.space && !is_private) || is_second_element(access)) {
        return;
    }
    uint32_t number;
    struct igs_place *place = new_place(kernel, IG_COUNT_ACCESS, access->instruction, &number);
    if (!place) {
        return;
    }
    igs_describe_access(kernel, place, access, &root);
    /* Tables of the program are no memory that a dispatch has to move. */
    place->place.detail = root.kind == IGS_ROOT_VARIABLE && root.space == INGOT_SPACE_CONSTANT;
    if (is_private) {
        igs_count(kernel, number); /* private memory is beside itself in any order of lanes */
    } else if (access->is_tile) {
        count_tile(kernel, access, number);
    } else {
        LLVMValueRef address = LLVMBuildPtrToInt(kernel->builder, access->pointer, kernel->i64, "");
        igs_tell(kernel, number, address, access->size);
    }
}

/* ---- vectors ---- */

/* Vectors are structs, whose elements are loaded and stored one by one. As in a GPU's code, those
 * beside each other are one access, as far as the first one's alignment allows. */
enum { MOST_AHEAD = 32, MOST_STEPS = 16 };

struct position { /* an address: a base and a constant distance */
    LLVMValueRef base;
    int64_t offset;
};

/* The bytes that constant indices add; false: some index is not constant. */
static bool constant_indices(struct igc_kernel *kernel, LLVMValueRef gep, int64_t *offset) {
    LLVMTypeRef type = LLVMGetGEPSourceElementType(gep);
    for (unsigned i = 1; i < (unsigned)LLVMGetNumOperands(gep); i++) {
        LLVMValueRef index = LLVMGetOperand(gep, i);
        if (!LLVMIsAConstantInt(index)) {
            return false;
        }
        int64_t value = LLVMConstIntGetSExtValue(index);
        if (i > 1 && LLVMGetTypeKind(type) == LLVMStructTypeKind) {
            *offset += (int64_t)LLVMOffsetOfElement(kernel->layout, type, (unsigned)value);
            type = LLVMStructGetTypeAtIndex(type, (unsigned)value);
            continue;
        }
        type = i > 1 ? LLVMGetElementType(type) : type;
        *offset += value * (int64_t)LLVMABISizeOfType(kernel->layout, type);
    }
    return true;
}

static struct position position_of(struct igc_kernel *kernel, LLVMValueRef pointer) {
    struct position position = {.base = pointer};
    for (unsigned step = 0; step < MOST_STEPS && LLVMIsAGetElementPtrInst(position.base); step++) {
        int64_t offset = 0;
        if (!constant_indices(kernel, position.base, &offset)) {
            break;
        }
        position.base = LLVMGetOperand(position.base, 0);
        position.offset += offset;
    }
    return position;
}

static bool is_plain(LLVMValueRef instruction) {
    return (LLVMIsALoadInst(instruction) || LLVMIsAStoreInst(instruction)) &&
           LLVMGetOrdering(instruction) == LLVMAtomicOrderingNotAtomic;
}

/* Adds the accesses behind `first` in the list that go on where it ends; they become NULL. */
static void join_next(struct igc_kernel *kernel, const struct igc_list *list, size_t first,
                      struct igs_access *access) {
    LLVMValueRef instruction = list->items[first];
    struct position start = position_of(kernel, access->pointer);
    for (size_t i = first + 1; i < list->count && i <= first + MOST_AHEAD; i++) {
        LLVMValueRef next = list->items[i];
        struct igs_access more[IGS_MOST_ACCESSES];
        if (!next || !is_plain(next) ||
            LLVMGetInstructionParent(next) != LLVMGetInstructionParent(instruction) ||
            LLVMGetInstructionOpcode(next) != LLVMGetInstructionOpcode(instruction)) {
            continue;
        }
        igs_accesses_of(kernel, next, more);
        struct position position = position_of(kernel, more[0].pointer);
        if (position.base == start.base &&
            position.offset == start.offset + (int64_t)access->bytes &&
            access->bytes + more[0].bytes <= access->alignment) {
            access->bytes += more[0].bytes;
            access->size = igc_integer(kernel->i64, access->bytes);
            list->items[i] = NULL;
        }
    }
}

static enum igc_result count_accesses(struct igc_kernel *kernel, bool of_private) {
    struct igc_list list = igc_collect(kernel, igs_is_access);
    if (list.failed) {
        return igc_result_of(igc_out_of_memory(kernel));
    }
    for (size_t i = 0; i < list.count; i++) {
        struct igs_access accesses[IGS_MOST_ACCESSES];
        if (!list.items[i]) {
            continue;
        }
        LLVMPositionBuilderBefore(kernel->builder, list.items[i]);
        unsigned count = igs_accesses_of(kernel, list.items[i], accesses);
        if (is_plain(list.items[i])) {
            join_next(kernel, &list, i, &accesses[0]);
        }
        for (unsigned a = 0; a < count; a++) {
            count_access(kernel, &accesses[a], of_private);
        }
    }
    return kernel->error->status ? IGC_FAILED : IGC_CHANGED;
}

/* ---- barriers ---- */
static bool is_barrier(struct igc_kernel *kernel, LLVMValueRef instruction) {
    (void)kernel;
    if (!igi_is_call_of(instruction, IGI_barrier)) {
        return false;
    }
    LLVMValueRef scope = LLVMGetOperand(instruction, 0);
    return !LLVMIsAConstantInt(scope) || LLVMConstIntGetZExtValue(scope) != SCOPE_SIMDGROUP;
}

static bool count_barriers(struct igc_kernel *kernel) {
    struct igc_list list = igc_collect(kernel, is_barrier);
    for (size_t i = 0; i < list.count; i++) {
        uint32_t number;
        if (new_place(kernel, IG_COUNT_BARRIER, list.items[i], &number)) {
            LLVMPositionBuilderBefore(kernel->builder, list.items[i]);
            igs_count(kernel, number);
        }
    }
    return !list.failed;
}

/* ---- arithmetic ---- */
static uint32_t width(LLVMTypeRef type) {
    return LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetVectorSize(type) : 1;
}

static uint32_t flops_of_call(LLVMValueRef call) {
    enum { PRODUCT = 16, /* one element of an 8 by 8 product */ MULTIPLY_ADD = 2 };
    switch (igi_builtin_of(call)) {
    case IGI_simdgroup_mma:
        return PRODUCT;
    case IGI_simd_sum_f32:
    case IGI_simd_product_f32:
    case IGI_simd_prefix_inclusive_sum_f32:
    case IGI_simd_prefix_exclusive_sum_f32:
    case IGI_simd_prefix_inclusive_product_f32:
    case IGI_simd_prefix_exclusive_product_f32:
        return 1;
    default:
        break;
    }
    switch (igi_intrinsic_of(call)) {
    case IGI_LLVM_fma:
    case IGI_LLVM_fmuladd:
        return MULTIPLY_ADD * width(LLVMTypeOf(call));
    case IGI_LLVM_sqrt:
        return width(LLVMTypeOf(call));
    default:
        return 0;
    }
}

static uint32_t flops_of(LLVMValueRef instruction) {
    switch (LLVMGetInstructionOpcode(instruction)) {
    case LLVMFAdd:
    case LLVMFSub:
    case LLVMFMul:
    case LLVMFDiv:
    case LLVMFRem:
        return width(LLVMTypeOf(instruction));
    case LLVMCall:
        return flops_of_call(instruction);
    default:
        return 0;
    }
}

static bool is_same_line(LLVMMetadataRef a, LLVMMetadataRef b) {
    return a == b || (a && b && LLVMDILocationGetLine(a) == LLVMDILocationGetLine(b) &&
                      LLVMDILocationGetInlinedAt(a) == LLVMDILocationGetInlinedAt(b));
}

/* One counter for what stands together: instructions of one line without another line between. */
static void count_flops(struct igc_kernel *kernel, LLVMBasicBlockRef block) {
    uint32_t number = 0, sum = 0;
    LLVMMetadataRef last = NULL;
    LLVMValueRef terminator = LLVMGetBasicBlockTerminator(block);
    igi_each_in_block(instruction, block) {
        uint32_t flops = flops_of(instruction);
        if (!flops) {
            continue;
        }
        LLVMMetadataRef location = igs_users_location(kernel, instruction);
        if (!sum || !is_same_line(location, last)) {
            last = location;
            sum = 0;
            if (!new_place(kernel, IG_COUNT_FLOPS, instruction, &number)) {
                return;
            }
            LLVMPositionBuilderBefore(kernel->builder, terminator);
            igs_count(kernel, number);
        }
        sum += flops;
        kernel->places->items[number].place.detail = sum;
    }
}

enum igc_result igs_count_work(struct igc_kernel *kernel) {
    enum igc_result result = count_accesses(kernel, false);
    if (result == IGC_FAILED) {
        return result;
    }
    if (!count_barriers(kernel)) {
        return igc_result_of(igc_out_of_memory(kernel));
    }
    igi_each_block(block, kernel->function) {
        count_flops(kernel, block);
    }
    return kernel->error->status ? IGC_FAILED : IGC_CHANGED;
}

enum igc_result igs_count_private(struct igc_kernel *kernel) {
    return count_accesses(kernel, true);
}
