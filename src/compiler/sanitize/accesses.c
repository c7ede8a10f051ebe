/*
 * What reads and writes memory: loads, stores, atomics, copies, and the built-ins that do.
 *
 * Does not look at what address spaces or roots there are.
 */
#include "compiler/ir/builtins.h"
#include "compiler/sanitize/sanitize.h"

enum { TILE = 8 };

static bool is_atomic(LLVMValueRef instruction) {
    return LLVMGetOrdering(instruction) != LLVMAtomicOrderingNotAtomic;
}

static struct igs_access simple(struct igc_kernel *kernel, LLVMValueRef instruction,
                                unsigned operand, LLVMTypeRef type, enum ingot_cpu_access access) {
    uint64_t bytes = LLVMStoreSizeOfType(kernel->layout, type);
    return (struct igs_access){.instruction = instruction,
                               .pointer = LLVMGetOperand(instruction, operand),
                               .access = access,
                               .bytes = bytes,
                               .size = igc_integer(kernel->i64, bytes),
                               .alignment = LLVMABIAlignmentOfType(kernel->layout, type)};
}

/* From the first element of an 8 by 8 tile, of so many lines, to the last. Where the stride
 * is that of a number of other threads it need not be constant. */
static struct igs_access lines_of_tile(struct igc_kernel *kernel, LLVMValueRef call, bool is_store,
                                       uint64_t element, uint64_t lines) {
    struct igs_access access = {.instruction = call,
                                .pointer = LLVMGetOperand(call, 0),
                                .access = is_store ? INGOT_CPU_STORE : INGOT_CPU_LOAD,
                                .alignment = (uint32_t)element,
                                .is_tile = true};
    LLVMValueRef stride = LLVMGetOperand(call, 1);
    LLVMValueRef span =
        LLVMBuildMul(kernel->builder, stride, igc_integer(kernel->i64, (lines - 1) * element), "");
    LLVMValueRef line = igc_integer(kernel->i64, (uint64_t)TILE * TILE / lines * element);
    access.size = LLVMBuildAdd(kernel->builder, span, line, "");
    access.bytes = LLVMIsAConstantInt(access.size) ? LLVMConstIntGetZExtValue(access.size) : 0;
    return access;
}

static struct igs_access tile(struct igc_kernel *kernel, LLVMValueRef call, bool is_store,
                              uint64_t element) {
    return lines_of_tile(kernel, call, is_store, element, TILE);
}

/* Bit `from` of the lane's number as bit `to`. */
static LLVMValueRef bit(struct igc_kernel *kernel, LLVMValueRef lane, unsigned from, unsigned to) {
    LLVMBuilderRef b = kernel->builder;
    LLVMValueRef one = LLVMBuildLShr(b, lane, igc_integer(kernel->i64, from), "");
    one = LLVMBuildAnd(b, one, igc_integer(kernel->i64, 1), "");
    return LLVMBuildShl(b, one, igc_integer(kernel->i64, to), "");
}

static LLVMValueRef either(struct igc_kernel *kernel, LLVMValueRef a, LLVMValueRef b,
                           LLVMValueRef c) {
    return LLVMBuildOr(kernel->builder, LLVMBuildOr(kernel->builder, a, b, ""), c, "");
}

static bool has_pairs(LLVMValueRef call) {
    enum igi_builtin builtin = igi_builtin_of(call);
    return builtin == IGI_simdgroup_load_pairs_device_b16 ||
           builtin == IGI_simdgroup_load_pairs_threadgroup_b16;
}

LLVMValueRef igs_tile_index(struct igc_kernel *kernel, LLVMValueRef call, LLVMValueRef lane,
                            LLVMValueRef which) {
    LLVMBuilderRef b = kernel->builder;
    LLVMValueRef row =
        either(kernel, bit(kernel, lane, 4, 2), bit(kernel, lane, 2, 1), bit(kernel, lane, 1, 0));
    LLVMValueRef column = either(kernel, bit(kernel, lane, 3, 2), bit(kernel, lane, 0, 1), which);
    LLVMValueRef is_transposed = LLVMGetOperand(call, 2);
    LLVMValueRef line = LLVMBuildSelect(b, is_transposed, column, row, "");
    LLVMValueRef in_line = LLVMBuildSelect(b, is_transposed, row, column, "");
    if (has_pairs(call)) { /* a line has two rows, interleaved */
        LLVMValueRef one = igc_integer(kernel->i64, 1);
        in_line = LLVMBuildShl(b, in_line, one, "");
        in_line = LLVMBuildOr(b, in_line, LLVMBuildAnd(b, line, one, ""), "");
        line = LLVMBuildLShr(b, line, one, "");
    }
    return LLVMBuildAdd(b, LLVMBuildMul(b, line, LLVMGetOperand(call, 1), ""), in_line, "");
}

/* What a copy promises of an operand's address. */
static uint32_t copy_alignment(LLVMValueRef call, unsigned operand) {
    unsigned kind = LLVMGetEnumAttributeKindForName("align", 5);
    LLVMAttributeRef promise = LLVMGetCallSiteEnumAttribute(call, operand + 1, kind);
    return promise ? (uint32_t)LLVMGetEnumAttributeValue(promise) : 1;
}

/* One side of a copy: operand 0 is written, 1 is read. */
static struct igs_access copied(struct igc_kernel *kernel, LLVMValueRef call, unsigned operand) {
    LLVMValueRef length = LLVMGetOperand(call, 2);
    return (struct igs_access){
        .instruction = call,
        .pointer = LLVMGetOperand(call, operand),
        .access = operand ? INGOT_CPU_LOAD : INGOT_CPU_STORE,
        .size = LLVMBuildIntCast2(kernel->builder, length, kernel->i64, false, ""),
        .bytes = LLVMIsAConstantInt(length) ? LLVMConstIntGetZExtValue(length) : 0,
        .alignment = copy_alignment(call, operand),
        .is_copy = true};
}

static unsigned copy(struct igc_kernel *kernel, LLVMValueRef call,
                     struct igs_access accesses[IGS_MOST_ACCESSES]) {
    unsigned count = 0;
    if (igi_intrinsic_of(call) != IGI_LLVM_memset) {
        accesses[count++] = copied(kernel, call, 1);
    }
    accesses[count++] = copied(kernel, call, 0);
    return count;
}

static unsigned builtin_accesses(struct igc_kernel *kernel, LLVMValueRef call,
                                 struct igs_access accesses[IGS_MOST_ACCESSES]) {
    enum igi_builtin builtin = igi_builtin_of(call);
    switch (builtin) {
    case IGI_simdgroup_load_device_b32:
    case IGI_simdgroup_load_threadgroup_b32:
        accesses[0] = tile(kernel, call, false, 4);
        return 1;
    case IGI_simdgroup_load_device_b16:
    case IGI_simdgroup_load_threadgroup_b16:
        accesses[0] = tile(kernel, call, false, 2);
        return 1;
    case IGI_simdgroup_load_device_b8:
    case IGI_simdgroup_load_threadgroup_b8:
        accesses[0] = tile(kernel, call, false, 1);
        return 1;
    case IGI_simdgroup_load_pairs_device_b16: /* lines of two rows */
    case IGI_simdgroup_load_pairs_threadgroup_b16:
        accesses[0] = lines_of_tile(kernel, call, false, 2, TILE / 2);
        return 1;
    case IGI_simdgroup_store_device_b32:
    case IGI_simdgroup_store_threadgroup_b32:
        accesses[0] = tile(kernel, call, true, 4);
        return 1;
    case IGI_simdgroup_store_device_b16:
    case IGI_simdgroup_store_threadgroup_b16:
        accesses[0] = tile(kernel, call, true, 2);
        return 1;
    case IGI_stream_b32:
    case IGI_stream_b16:
        accesses[0] = simple(kernel, call, 1, LLVMTypeOf(LLVMGetOperand(call, 0)), INGOT_CPU_STORE);
        return 1;
    default:
        return 0;
    }
}

static bool is_copy(enum igi_intrinsic intrinsic) {
    return (igi_intrinsic_flags(intrinsic) & IGI_I_COPIES) != 0;
}

bool igs_is_access(struct igc_kernel *kernel, LLVMValueRef instruction) {
    (void)kernel;
    switch (LLVMGetInstructionOpcode(instruction)) {
    case LLVMLoad:
    case LLVMStore:
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg:
        return true;
    case LLVMCall:
        switch (igi_family_of(instruction)) {
        case IGI_FAMILY_LOAD_DEVICE:
        case IGI_FAMILY_LOAD_THREADGROUP:
        case IGI_FAMILY_STORE_DEVICE:
        case IGI_FAMILY_STORE_THREADGROUP:
            return true;
        default:
            return igi_is_call_of(instruction, IGI_stream_b32) ||
                   igi_is_call_of(instruction, IGI_stream_b16) ||
                   (igi_is_intrinsic(instruction) && is_copy(igi_intrinsic_of(instruction)));
        }
    default:
        return false;
    }
}

unsigned igs_accesses_of(struct igc_kernel *kernel, LLVMValueRef instruction,
                         struct igs_access accesses[IGS_MOST_ACCESSES]) {
    switch (LLVMGetInstructionOpcode(instruction)) {
    case LLVMLoad:
        accesses[0] = simple(kernel, instruction, 0, LLVMTypeOf(instruction),
                             is_atomic(instruction) ? INGOT_CPU_ATOMIC : INGOT_CPU_LOAD);
        break;
    case LLVMStore:
        accesses[0] = simple(kernel, instruction, 1, LLVMTypeOf(LLVMGetOperand(instruction, 0)),
                             is_atomic(instruction) ? INGOT_CPU_ATOMIC : INGOT_CPU_STORE);
        break;
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg:
        accesses[0] = simple(kernel, instruction, 0, LLVMTypeOf(LLVMGetOperand(instruction, 1)),
                             INGOT_CPU_ATOMIC);
        break;
    case LLVMCall:
        return igi_is_intrinsic(instruction) ? copy(kernel, instruction, accesses)
                                             : builtin_accesses(kernel, instruction, accesses);
    default:
        return 0;
    }
    if (LLVMIsALoadInst(instruction) || LLVMIsAStoreInst(instruction)) {
        accesses[0].alignment = LLVMGetAlignment(instruction);
    }
    return 1;
}
