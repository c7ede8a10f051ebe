/*
 * Values of the scalar kernel in the vector function: where they are kept, and in which form.
 *
 * Every value that another block reads has a stack slot per chunk (one for scalars). Inside
 * its own block a value is used directly. mem2reg rebuilds SSA afterwards, so nothing here
 * places a phi. Pointers of all address spaces become plain pointers, bfloat becomes i16.
 */
#include "compiler/cpu/vectorise/state.h"

struct igv_value *igv_lookup(struct igv_emit *emit, LLVMValueRef value) {
    if (!LLVMIsAInstruction(value)) {
        return NULL;
    }
    return igv_value_of(&emit->state->analysis, value);
}

enum igv_value_shape igv_exact_shape(struct igv_emit *emit, LLVMValueRef value, long *stride) {
    struct igv_value *known = igv_lookup(emit, value);
    if (stride) {
        *stride = known ? known->stride : 0;
    }
    return known ? known->shape : IGV_V_UNIFORM;
}

enum igv_shape igv_shape_of(struct igv_emit *emit, LLVMValueRef value) {
    switch (igv_exact_shape(emit, value, NULL)) {
    case IGV_V_UNIFORM:
        return IGV_UNIFORM;
    case IGV_V_LINEAR:
        return IGV_LINEAR;
    default:
        return IGV_VARYING;
    }
}

LLVMTypeRef igv_mapped_type(struct igv_emit *emit, LLVMTypeRef type) {
    switch (LLVMGetTypeKind(type)) {
    case LLVMBFloatTypeKind:
        return emit->i16;
    case LLVMPointerTypeKind:
        return emit->ptr;
    default:
        return type;
    }
}

static LLVMValueRef bfloat_constant(struct igv_emit *emit, LLVMValueRef value) {
    if (LLVMIsUndef(value) || LLVMIsPoison(value)) {
        return LLVMGetUndef(emit->i16);
    }
    if (LLVMIsNull(value)) {
        return LLVMConstNull(emit->i16);
    }
    LLVMBool loses = 0;
    float number = (float)LLVMConstRealGetDouble(value, &loses);
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    return LLVMConstInt(emit->i16, bits >> 16, 0);
}

LLVMValueRef igv_leaf(struct igv_emit *emit, LLVMValueRef value) {
    LLVMTypeRef type = LLVMTypeOf(value);
    if (LLVMIsAArgument(value)) {
        return LLVMGetUndef(igv_mapped_type(emit, type));
    }
    if (LLVMGetTypeKind(type) == LLVMBFloatTypeKind) {
        return bfloat_constant(emit, value);
    }
    if (!igv_is_pointer(type) || LLVMGetPointerAddressSpace(type) == 0) {
        return value;
    }
    uint32_t offset;
    if (LLVMIsAGlobalVariable(value) && igv_threadgroup_offset(value, &offset)) {
        LLVMValueRef memory =
            igv_group_field(emit, offsetof(struct ingot_cpu_group, threadgroup_memory), emit->ptr);
        return igv_offset(emit, memory, (long)offset);
    }
    if (LLVMIsUndef(value)) {
        return LLVMGetUndef(emit->ptr);
    }
    if (LLVMIsNull(value)) {
        return LLVMConstNull(emit->ptr);
    }
    return LLVMConstAddrSpaceCast(value, emit->ptr);
}

/* ---- slots ------------------------------------------------------------------------------ */

LLVMTypeRef igv_slot_type(struct igv_emit *emit, struct igv_value *value) {
    LLVMTypeRef type = igv_mapped_type(emit, LLVMTypeOf(value->value));
    if (value->shape != IGV_V_VARYING) {
        return type;
    }
    return type == emit->i1 ? igv_mask_slot_type(emit) : igv_vector_type(emit, type);
}

LLVMValueRef igv_to_slot_form(struct igv_emit *emit, LLVMTypeRef type, LLVMValueRef vector) {
    return type == emit->i1 ? igv_mask_to_slot(emit, vector) : vector;
}

LLVMValueRef igv_value_slot(struct igv_emit *emit, struct igv_value *value, unsigned chunk) {
    struct igv_slot *slot = igv_slot_of(value);
    if (value->shape != IGV_V_VARYING) {
        chunk = 0;
    }
    if (!slot->slot[chunk]) {
        LLVMTypeRef type = igv_slot_type(emit, value);
        slot->slot[chunk] = igv_entry_alloca(emit, type, 0);
        emit->state->slot_bytes += LLVMABISizeOfType(emit->layout, type);
    }
    return slot->slot[chunk];
}

static bool is_current(struct igv_emit *emit, struct igv_slot *slot, unsigned chunk) {
    return slot->current[chunk] && slot->current_block == emit->state->block;
}

static void set_current(struct igv_emit *emit, struct igv_slot *slot, unsigned chunk,
                        LLVMValueRef value) {
    if (slot->current_block != emit->state->block) {
        memset(slot->current, 0, sizeof slot->current);
        slot->current_block = emit->state->block;
    }
    slot->current[chunk] = value;
}

static LLVMValueRef stored_scalar(struct igv_emit *emit, struct igv_value *value) {
    struct igv_slot *slot = igv_slot_of(value);
    if (is_current(emit, slot, 0)) {
        return slot->current[0];
    }
    LLVMTypeRef type = igv_mapped_type(emit, LLVMTypeOf(value->value));
    return LLVMBuildLoad2(emit->builder, type, igv_value_slot(emit, value, 0), "");
}

static LLVMValueRef stored_vector(struct igv_emit *emit, struct igv_value *value, unsigned chunk) {
    struct igv_slot *slot = igv_slot_of(value);
    if (is_current(emit, slot, chunk)) {
        return slot->current[chunk];
    }
    LLVMValueRef stored = LLVMBuildLoad2(emit->builder, igv_slot_type(emit, value),
                                         igv_value_slot(emit, value, chunk), "");
    return LLVMTypeOf(value->value) == emit->i1 ? igv_mask_from_slot(emit, stored) : stored;
}

/* ---- reading ------------------------------------------------------------------------------ */

LLVMValueRef igv_scalar(struct igv_emit *emit, LLVMValueRef value) {
    struct igv_value *known = igv_lookup(emit, value);
    if (!known) {
        return igv_leaf(emit, value);
    }
    if (known->shape == IGV_V_VARYING) {
        /* A lowering asked for one value of a varying operand that must be uniform: take the
         * first active lane's. */
        LLVMValueRef args[] = {igv_mask_bits(emit), LLVMConstInt(emit->i1, 0, 0)};
        LLVMValueRef lane = igv_intrinsic(emit, "llvm.cttz", &emit->i32, 1, args, 2);
        return igv_extract(emit, value, lane);
    }
    return stored_scalar(emit, known);
}

static LLVMValueRef linear_vector(struct igv_emit *emit, LLVMValueRef scalar, long stride,
                                  unsigned chunk) {
    LLVMTypeRef type = LLVMTypeOf(scalar);
    if (igv_is_pointer(type)) {
        LLVMValueRef offsets = igv_iota(emit, emit->i64, 0, stride, chunk);
        return LLVMBuildGEP2(emit->builder, emit->i8, scalar, &offsets, 1, "");
    }
    return LLVMBuildAdd(emit->builder, igv_splat(emit, scalar),
                        igv_iota(emit, type, 0, stride, chunk), "");
}

/* Recomputes a CHECKED value lane by lane: exact, whatever wraps. */
static LLVMValueRef checked_vector(struct igv_emit *emit, LLVMValueRef instruction,
                                   unsigned chunk) {
    if (LLVMGetInstructionOpcode(instruction) == LLVMGetElementPtr) {
        return igv_emit_gep_vector(emit, instruction, chunk);
    }
    LLVMValueRef operands[2] = {NULL, NULL};
    int count = LLVMGetNumOperands(instruction);
    for (int i = 0; i < count && i < 2; i++) {
        operands[i] = igv_vector(emit, LLVMGetOperand(instruction, (unsigned)i), chunk);
    }
    return igv_rebuild(emit, instruction, operands, true);
}

LLVMValueRef igv_vector(struct igv_emit *emit, LLVMValueRef value, unsigned chunk) {
    struct igv_value *known = igv_lookup(emit, value);
    if (!known) {
        return igv_splat(emit, igv_leaf(emit, value));
    }
    switch (known->shape) {
    case IGV_V_UNIFORM:
        return igv_splat(emit, stored_scalar(emit, known));
    case IGV_V_LINEAR:
        return linear_vector(emit, stored_scalar(emit, known), known->stride, chunk);
    case IGV_V_CHECKED:
        return checked_vector(emit, value, chunk);
    default:
        return stored_vector(emit, known, chunk);
    }
}

LLVMValueRef igv_wraps(struct igv_emit *emit, LLVMValueRef value) {
    struct igv_value *known = igv_lookup(emit, value);
    if (!known || known->shape != IGV_V_CHECKED) {
        return LLVMConstInt(emit->i1, 0, 0);
    }
    struct igv_slot *slot = igv_slot_of(known);
    if (slot->flag && slot->current_block == emit->state->block) {
        return slot->flag;
    }
    return LLVMBuildLoad2(emit->builder, emit->i1, slot->flag_slot, "");
}

/* ---- defining ------------------------------------------------------------------------------ */

/* Lowerings may hand over pointers in the address space of the scalar kernel, or bfloat. */
static LLVMValueRef to_mapped(struct igv_emit *emit, LLVMValueRef value) {
    LLVMTypeRef type = LLVMTypeOf(value);
    bool vector = LLVMGetTypeKind(type) == LLVMVectorTypeKind;
    LLVMTypeRef element = vector ? LLVMGetElementType(type) : type;
    LLVMTypeRef mapped = igv_mapped_type(emit, element);
    if (mapped == element) {
        return value;
    }
    if (vector) {
        mapped = igv_vector_type(emit, mapped);
    }
    if (igv_is_pointer(element)) {
        return LLVMBuildAddrSpaceCast(emit->builder, value, mapped, "");
    }
    return LLVMBuildBitCast(emit->builder, value, mapped, "");
}

static void store_slot(struct igv_emit *emit, struct igv_value *known, unsigned chunk,
                       LLVMValueRef value) {
    set_current(emit, igv_slot_of(known), chunk, value);
    if (!igv_slot_of(known)->escapes) {
        return;
    }
    if (known->shape == IGV_V_VARYING) {
        value = igv_to_slot_form(emit, LLVMTypeOf(known->value), value);
    }
    LLVMBuildStore(emit->builder, value, igv_value_slot(emit, known, chunk));
}

void igv_define_scalar(struct igv_emit *emit, LLVMValueRef instruction, LLVMValueRef scalar) {
    struct igv_value *known = igv_lookup(emit, instruction);
    scalar = to_mapped(emit, scalar);
    if (known->shape == IGV_V_VARYING) {
        for (unsigned chunk = 0; chunk < emit->chunks; chunk++) {
            store_slot(emit, known, chunk, igv_splat(emit, scalar));
        }
        return;
    }
    store_slot(emit, known, 0, scalar);
}

void igv_define_vector(struct igv_emit *emit, LLVMValueRef instruction, unsigned chunk,
                       LLVMValueRef vector) {
    struct igv_value *known = igv_lookup(emit, instruction);
    vector = to_mapped(emit, vector);
    if (known->shape != IGV_V_VARYING) {
        if (chunk == 0) {
            store_slot(emit, known, 0,
                       LLVMBuildExtractElement(emit->builder, vector, igv_u32(emit, 0), ""));
        }
        return;
    }
    store_slot(emit, known, chunk, vector);
}

void igv_define_checked(struct igv_emit *emit, LLVMValueRef instruction, LLVMValueRef scalar,
                        LLVMValueRef wraps) {
    struct igv_value *known = igv_lookup(emit, instruction);
    struct igv_slot *slot = igv_slot_of(known);
    store_slot(emit, known, 0, scalar);
    slot->flag = wraps;
    if (!slot->escapes) {
        return;
    }
    if (!slot->flag_slot) {
        slot->flag_slot = igv_entry_alloca(emit, emit->i1, 0);
    }
    LLVMBuildStore(emit->builder, wraps, slot->flag_slot);
}

void igv_mark_emitted(struct igv_emit *emit, LLVMValueRef instruction) {
    struct igv_value *known = igv_lookup(emit, instruction);
    if (known) {
        igv_slot_of(known)->emitted = true;
    }
}

bool igv_is_emitted(struct igv_emit *emit, LLVMValueRef instruction) {
    struct igv_value *known = igv_lookup(emit, instruction);
    return known && igv_slot_of(known)->emitted;
}
