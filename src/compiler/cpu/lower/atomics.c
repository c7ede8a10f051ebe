/*
 * Atomic instructions of the kernel, for the active lanes in ascending order.
 *
 * From the cheapest: one operation for all lanes of a uniform address (their values reduced
 * first), gathers and scatters for relaxed loads and stores, a loop over the lanes. The
 * SIMD-groups of a threadgroup share one thread and switch at barriers only, so threadgroup
 * memory (address space 3) needs no atomic instruction at all.
 */
#include <llvm-c/DebugInfo.h>

#include "compiler/cpu/lower/lower.h"
#include "compiler/ir/walk.h"

enum { THREADGROUP_SPACE = 3 };

/* `pointer` is an operand of the scalar kernel: emitted pointers have lost their space. */
static bool in_threadgroup(LLVMValueRef pointer) {
    return LLVMGetPointerAddressSpace(LLVMTypeOf(pointer)) == THREADGROUP_SPACE;
}

/* The instruction once more, on the operands given: ordering and alignment stay. */
static LLVMValueRef copy_with(struct igv_emit *emit, LLVMValueRef instruction,
                              const LLVMValueRef *operands, unsigned count) {
    LLVMValueRef copy = LLVMInstructionClone(instruction);
    for (unsigned i = 0; i < count; i++) {
        LLVMSetOperand(copy, i, operands[i]);
    }
    LLVMInsertIntoBuilder(emit->builder, copy);
    LLVMInstructionSetDebugLoc(copy, LLVMGetCurrentDebugLocation2(emit->builder));
    return copy;
}

/* ---- read-modify-write ------------------------------------------------------------------- */
/* The operator that joins the values of several lanes into one; false if there is none. */
static bool joining_operator(LLVMAtomicRMWBinOp op, enum igl_operator *joining) {
    switch (op) {
    case LLVMAtomicRMWBinOpAdd:
    case LLVMAtomicRMWBinOpSub:
    case LLVMAtomicRMWBinOpFAdd:
    case LLVMAtomicRMWBinOpFSub:
        *joining = IGL_ADD;
        return true;
    case LLVMAtomicRMWBinOpMin:
    case LLVMAtomicRMWBinOpFMin:
        *joining = IGL_MIN;
        return true;
    case LLVMAtomicRMWBinOpMax:
    case LLVMAtomicRMWBinOpFMax:
        *joining = IGL_MAX;
        return true;
    case LLVMAtomicRMWBinOpUMin:
        *joining = IGL_UMIN;
        return true;
    case LLVMAtomicRMWBinOpUMax:
        *joining = IGL_UMAX;
        return true;
    case LLVMAtomicRMWBinOpAnd:
        *joining = IGL_AND;
        return true;
    case LLVMAtomicRMWBinOpOr:
        *joining = IGL_OR;
        return true;
    case LLVMAtomicRMWBinOpXor:
        *joining = IGL_XOR;
        return true;
    default:
        return false;
    }
}

/* What a read-modify-write leaves in memory; NULL for what only the instruction can do. */
static LLVMValueRef modified(struct igv_emit *emit, LLVMAtomicRMWBinOp op, LLVMValueRef old,
                             LLVMValueRef value) {
    enum igl_operator joining;
    switch (op) {
    case LLVMAtomicRMWBinOpXchg:
        return value;
    case LLVMAtomicRMWBinOpSub:
        return LLVMBuildSub(emit->builder, old, value, "");
    case LLVMAtomicRMWBinOpFSub:
        return LLVMBuildFSub(emit->builder, old, value, "");
    default:
        return joining_operator(op, &joining) ? igl_apply(emit, joining, old, value) : NULL;
    }
}

/* One operation at one address; returns the old value. */
static LLVMValueRef modify_once(struct igv_emit *emit, LLVMValueRef instruction,
                                LLVMValueRef pointer, LLVMValueRef value) {
    LLVMAtomicRMWBinOp op = LLVMGetAtomicRMWBinOp(instruction);
    enum igl_operator joining;
    bool plain = op == LLVMAtomicRMWBinOpXchg || joining_operator(op, &joining);
    if (!in_threadgroup(LLVMGetOperand(instruction, 0)) || !plain) {
        LLVMValueRef operands[] = {pointer, value};
        return copy_with(emit, instruction, operands, 2);
    }
    LLVMValueRef old = LLVMBuildLoad2(emit->builder, LLVMTypeOf(value), pointer, "");
    LLVMBuildStore(emit->builder, modified(emit, op, old, value), pointer);
    return old;
}

struct lane_loop {
    LLVMValueRef instruction;
    struct igl_spilled operands[3];
    LLVMValueRef old;     /* array of results, or NULL if none is used */
    LLVMValueRef success; /* cmpxchg: array of i8 */
};

static struct lane_loop loop_over(struct igv_emit *emit, LLVMValueRef instruction,
                                  unsigned operand_count) {
    struct lane_loop loop = {.instruction = instruction};
    for (unsigned i = 0; i < operand_count; i++) {
        loop.operands[i] = igl_spill(emit, LLVMGetOperand(instruction, i));
    }
    return loop;
}

static void modify_lane(struct igv_emit *emit, LLVMValueRef lane, void *data) {
    struct lane_loop *loop = data;
    LLVMValueRef pointer = igl_lane(emit, &loop->operands[0], lane);
    LLVMValueRef value = igl_lane(emit, &loop->operands[1], lane);
    LLVMValueRef old = modify_once(emit, loop->instruction, pointer, value);
    if (loop->old) {
        igl_lane_array_store(emit, loop->old, LLVMTypeOf(value), lane, old);
    }
}

/* One address for all lanes: one operation with the joined value. The old value that a lane
 * would have seen is known for integer sums: the total of the lanes below is added. */
static bool modify_joined(struct igv_emit *emit, LLVMValueRef instruction, bool used) {
    LLVMValueRef pointer = LLVMGetOperand(instruction, 0), value = LLVMGetOperand(instruction, 1);
    LLVMAtomicRMWBinOp op = LLVMGetAtomicRMWBinOp(instruction);
    enum igl_operator joining;
    if (igv_shape_of(emit, pointer) != IGV_UNIFORM || !joining_operator(op, &joining) ||
        (used && op != LLVMAtomicRMWBinOpAdd && op != LLVMAtomicRMWBinOpSub)) {
        return false;
    }
    LLVMValueRef identity = igl_identity(emit, joining, LLVMTypeOf(value));
    struct igl_chunks active = igl_active_or(emit, value, identity);
    LLVMValueRef old = modify_once(emit, instruction, igv_scalar(emit, pointer),
                                   igl_reduce(emit, joining, active));
    if (!used) {
        return true;
    }
    LLVMValueRef splat = igv_splat(emit, old);
    struct igl_chunks seen = igl_scan(emit, joining, active, true, identity);
    for (unsigned c = 0; c < emit->chunks; c++) {
        seen.chunk[c] = op == LLVMAtomicRMWBinOpAdd
                            ? LLVMBuildAdd(emit->builder, splat, seen.chunk[c], "")
                            : LLVMBuildSub(emit->builder, splat, seen.chunk[c], "");
    }
    igl_define_chunks(emit, instruction, &seen);
    return true;
}

static void lower_modify(struct igv_emit *emit, LLVMValueRef instruction) {
    bool used = LLVMGetFirstUse(instruction) != NULL;
    if (modify_joined(emit, instruction, used)) {
        return;
    }
    struct lane_loop loop = loop_over(emit, instruction, 2);
    LLVMTypeRef type = LLVMTypeOf(instruction);
    if (used) {
        loop.old = igl_lane_array(emit, type);
    }
    igv_for_each_lane(emit, modify_lane, &loop);
    if (used) {
        igl_define_from_lane_array(emit, instruction, loop.old, type);
    }
}

/* ---- compare and exchange ------------------------------------------------------------------ */
static void exchange_lane(struct igv_emit *emit, LLVMValueRef lane, void *data) {
    LLVMBuilderRef builder = emit->builder;
    struct lane_loop *loop = data;
    LLVMValueRef operands[3], old, same;
    for (unsigned i = 0; i < 3; i++) {
        operands[i] = igl_lane(emit, &loop->operands[i], lane);
    }
    LLVMTypeRef type = LLVMTypeOf(operands[1]);
    if (in_threadgroup(LLVMGetOperand(loop->instruction, 0))) {
        old = LLVMBuildLoad2(builder, type, operands[0], "");
        same = LLVMBuildICmp(builder, LLVMIntEQ, old, operands[1], "");
        LLVMBuildStore(builder, LLVMBuildSelect(builder, same, operands[2], old, ""), operands[0]);
    } else {
        LLVMValueRef both = copy_with(emit, loop->instruction, operands, 3);
        old = LLVMBuildExtractValue(builder, both, 0, "");
        same = LLVMBuildExtractValue(builder, both, 1, "");
    }
    igl_lane_array_store(emit, loop->old, type, lane, old);
    igl_lane_array_store(emit, loop->success, emit->i8, lane,
                         LLVMBuildZExt(builder, same, emit->i8, ""));
}

static void define_success(struct igv_emit *emit, LLVMValueRef instruction, LLVMValueRef array) {
    struct igl_chunks result = {{NULL}};
    for (unsigned c = 0; c < emit->chunks; c++) {
        LLVMValueRef index = igv_u32(emit, c * emit->lanes);
        LLVMValueRef from = LLVMBuildGEP2(emit->builder, emit->i8, array, &index, 1, "");
        LLVMValueRef bytes =
            LLVMBuildLoad2(emit->builder, igv_vector_type(emit, emit->i8), from, "");
        LLVMSetAlignment(bytes, 1);
        result.chunk[c] = LLVMBuildTrunc(emit->builder, bytes, igv_vector_type(emit, emit->i1), "");
    }
    igl_define_chunks(emit, instruction, &result);
}

static void lower_exchange(struct igv_emit *emit, LLVMValueRef instruction) {
    LLVMTypeRef type = LLVMTypeOf(LLVMGetOperand(instruction, 1));
    struct lane_loop loop = loop_over(emit, instruction, 3);
    loop.old = igl_lane_array(emit, type);
    loop.success = igl_lane_array(emit, emit->i8);
    igv_for_each_lane(emit, exchange_lane, &loop);
    igi_each_use(use, instruction) {
        LLVMValueRef user = LLVMGetUser(use);
        if (!LLVMIsAExtractValueInst(user)) {
            ig_fail(emit->error, INGOT_COMPILE_ERROR,
                    "the result of an atomic compare-and-exchange is used as a whole; only its "
                    "old value and its success can be");
            return;
        }
        if (LLVMGetIndices(user)[0] == 0) {
            igl_define_from_lane_array(emit, user, loop.old, type);
        } else {
            define_success(emit, user, loop.success);
        }
    }
}

/* ---- loads and stores ---------------------------------------------------------------------- */
/* May the lanes' accesses become one gather or scatter? Its elements are accessed one by
 * one and are aligned, so each is atomic; nothing is said about their order. */
static bool as_vector_access(struct igv_emit *emit, LLVMValueRef instruction, LLVMValueRef pointer,
                             LLVMTypeRef type) {
    uint64_t bits = LLVMSizeOfTypeInBits(emit->layout, type);
    return (bits == 32 || bits == 64) &&
           (in_threadgroup(pointer) || LLVMGetOrdering(instruction) <= LLVMAtomicOrderingMonotonic);
}

static void load_lane(struct igv_emit *emit, LLVMValueRef lane, void *data) {
    struct lane_loop *loop = data;
    LLVMValueRef pointer = igl_lane(emit, &loop->operands[0], lane);
    LLVMValueRef value = copy_with(emit, loop->instruction, &pointer, 1);
    igl_lane_array_store(emit, loop->old, LLVMTypeOf(value), lane, value);
}

static void lower_load(struct igv_emit *emit, LLVMValueRef instruction) {
    LLVMValueRef pointer = LLVMGetOperand(instruction, 0);
    LLVMTypeRef type = LLVMTypeOf(instruction);
    if (igv_shape_of(emit, pointer) == IGV_UNIFORM) {
        LLVMValueRef scalar = igv_scalar(emit, pointer);
        igl_define_uniform(emit, instruction, copy_with(emit, instruction, &scalar, 1));
        return;
    }
    if (!as_vector_access(emit, instruction, pointer, type)) {
        struct lane_loop loop = loop_over(emit, instruction, 1);
        loop.old = igl_lane_array(emit, type);
        igv_for_each_lane(emit, load_lane, &loop);
        igl_define_from_lane_array(emit, instruction, loop.old, type);
        return;
    }
    struct igl_chunks result = {{NULL}};
    igl_compiler_fence(emit); /* or LLVM may take the load out of a loop that waits for it */
    for (unsigned c = 0; c < emit->chunks; c++) {
        LLVMValueRef pointers = igv_vector(emit, pointer, c);
        LLVMTypeRef types[] = {igv_vector_type(emit, type), LLVMTypeOf(pointers)};
        LLVMValueRef args[] = {pointers, igv_u32(emit, LLVMGetAlignment(instruction)),
                               igv_mask(emit, c), LLVMConstNull(types[0])};
        result.chunk[c] = igv_intrinsic(emit, "llvm.masked.gather", types, 2, args, 4);
    }
    igl_compiler_fence(emit);
    igl_define_chunks(emit, instruction, &result);
}

static void store_lane(struct igv_emit *emit, LLVMValueRef lane, void *data) {
    struct lane_loop *loop = data;
    LLVMValueRef operands[] = {igl_lane(emit, &loop->operands[0], lane),
                               igl_lane(emit, &loop->operands[1], lane)};
    copy_with(emit, loop->instruction, operands, 2);
}

/* The highest active lane. */
static LLVMValueRef last_lane(struct igv_emit *emit) {
    if (igv_mask_is_full(emit)) {
        return igv_u32(emit, IGL_WIDTH - 1);
    }
    LLVMValueRef args[] = {igv_mask_bits(emit), LLVMConstInt(emit->i1, 0, false)};
    LLVMValueRef above = igl_call(emit, "llvm.ctlz", emit->i32, args, 2);
    LLVMValueRef lane = LLVMBuildSub(emit->builder, igv_u32(emit, IGL_WIDTH - 1), above, "");
    return LLVMBuildAnd(emit->builder, lane, igv_u32(emit, IGL_WIDTH - 1), "");
}

static void lower_store(struct igv_emit *emit, LLVMValueRef instruction) {
    LLVMValueRef value = LLVMGetOperand(instruction, 0), pointer = LLVMGetOperand(instruction, 1);
    if (igv_shape_of(emit, pointer) == IGV_UNIFORM) {
        LLVMValueRef last = igv_shape_of(emit, value) == IGV_UNIFORM
                                ? igv_scalar(emit, value)
                                : igv_extract(emit, value, last_lane(emit));
        LLVMValueRef operands[] = {last, igv_scalar(emit, pointer)};
        copy_with(emit, instruction, operands, 2);
        return;
    }
    if (!as_vector_access(emit, instruction, pointer, LLVMTypeOf(value))) {
        struct lane_loop loop = loop_over(emit, instruction, 2);
        igv_for_each_lane(emit, store_lane, &loop);
        return;
    }
    igl_compiler_fence(emit);
    for (unsigned c = 0; c < emit->chunks; c++) {
        LLVMValueRef pointers = igv_vector(emit, pointer, c), values = igv_vector(emit, value, c);
        LLVMTypeRef types[] = {LLVMTypeOf(values), LLVMTypeOf(pointers)};
        LLVMValueRef args[] = {values, pointers, igv_u32(emit, LLVMGetAlignment(instruction)),
                               igv_mask(emit, c)};
        igv_intrinsic(emit, "llvm.masked.scatter", types, 2, args, 4);
    }
    igl_compiler_fence(emit);
}

void igl_lower_atomic(struct igv_emit *emit, LLVMValueRef instruction) {
    switch (LLVMGetInstructionOpcode(instruction)) {
    case LLVMAtomicRMW:
        lower_modify(emit, instruction);
        break;
    case LLVMAtomicCmpXchg:
        lower_exchange(emit, instruction);
        break;
    case LLVMLoad:
        lower_load(emit, instruction);
        break;
    case LLVMStore:
        lower_store(emit, instruction);
        break;
    case LLVMFence:
        copy_with(emit, instruction, NULL, 0);
        break;
    default:
        ig_fail(emit->error, INGOT_COMPILE_ERROR,
                "an instruction that is not atomic (opcode %d) was given to the lowering of "
                "atomics",
                (int)LLVMGetInstructionOpcode(instruction));
    }
}
