/*
 * Loads from small tables: the lanes' elements of up to 32, at base + index with a uniform base and
 * an index that is known to be small, as of the codes of 4-bit numbers. The whole table is loaded
 * at once and each lane picks its element by a permutation of registers, which takes a few
 * instructions where a gather takes tens of cycles.
 *
 * Requires: elements of 8, 16 or 32 bits, a target with such permutations.
 * Provides: never reads memory that may not be there. Of a variable, its size is known. Elsewhere a
 * lane reads one of the elements (control.c guards the block), so that all of them are there if
 * they lie in one page; that is tested, and where they do not, it is a gather.
 */
#include "compiler/cpu/vectorise/state.h"

#define MOST_ENTRIES 32
#define PAGE         4096u

struct table {
    LLVMValueRef base, index; /* of the scalar kernel */
    LLVMTypeRef type;         /* of an element in memory */
    unsigned size, entries;   /* bytes of an element; a power of two */
    bool whole;               /* all entries are known to be there */
};

/* The index of pointer = base + index, if elements of `size` bytes are counted. */
static LLVMValueRef index_of(struct igv_emit *emit, LLVMValueRef pointer, unsigned size) {
    if (!LLVMIsAInstruction(pointer) || LLVMGetInstructionOpcode(pointer) != LLVMGetElementPtr) {
        return NULL;
    }
    LLVMTypeRef type = LLVMGetGEPSourceElementType(pointer);
    unsigned operands = (unsigned)LLVMGetNumOperands(pointer);
    if (operands == 3 && LLVMGetTypeKind(type) == LLVMArrayTypeKind &&
        LLVMIsNull(LLVMGetOperand(pointer, 1))) {
        type = LLVMGetElementType(type);
    } else if (operands != 2) {
        return NULL;
    }
    return LLVMABISizeOfType(emit->layout, type) == size ? LLVMGetOperand(pointer, operands - 1)
                                                         : NULL;
}

/* The variable that a pointer is the address of, or NULL. */
static LLVMValueRef variable_of(LLVMValueRef pointer) {
    if (LLVMIsAInstruction(pointer) && LLVMGetInstructionOpcode(pointer) == LLVMFreeze) {
        pointer = LLVMGetOperand(pointer, 0);
    }
    return LLVMIsAGlobalVariable(pointer);
}

/* Can the load's block read the value? Only what another one uses anyway is kept for others. */
static bool is_at_hand(struct igv_emit *emit, LLVMValueRef value, LLVMValueRef load) {
    struct igv_value *known = igv_lookup(emit, value);
    return !known || igv_slot_of(known)->escapes ||
           LLVMGetInstructionParent(value) == LLVMGetInstructionParent(load);
}

static bool is_table_type(LLVMTypeRef type) {
    LLVMTypeKind kind = LLVMGetTypeKind(type);
    if (kind == LLVMIntegerTypeKind) {
        return LLVMGetIntTypeWidth(type) == 8 || LLVMGetIntTypeWidth(type) == 16 ||
               LLVMGetIntTypeWidth(type) == 32;
    }
    return kind == LLVMFloatTypeKind || kind == LLVMHalfTypeKind;
}

static bool find_table(struct igv_emit *emit, LLVMValueRef load, struct table *table) {
    LLVMValueRef pointer = LLVMGetOperand(load, 0);
    LLVMTypeRef type = igv_mapped_type(emit, LLVMTypeOf(load));
    unsigned most = igv_lowerings(emit->request)->most_registers(emit) * emit->lanes;
    if (!most || !is_table_type(type) || LLVMGetVolatile(load) ||
        igv_exact_shape(emit, pointer, NULL) != IGV_V_VARYING) {
        return false;
    }
    unsigned size = (unsigned)LLVMStoreSizeOfType(emit->layout, type);
    LLVMValueRef index = index_of(emit, pointer, size);
    if (!index || LLVMGetAlignment(load) < size || !is_at_hand(emit, index, load) ||
        !is_at_hand(emit, LLVMGetOperand(pointer, 0), load) ||
        igv_exact_shape(emit, LLVMGetOperand(pointer, 0), NULL) != IGV_V_UNIFORM) {
        return false;
    }
    uint64_t last = igv_known_maximum(index);
    if (last >= MOST_ENTRIES || last >= most) {
        return false;
    }
    *table = (struct table){LLVMGetOperand(pointer, 0), index, type, size, 2, false};
    while (table->entries <= last) {
        table->entries *= 2;
    }
    LLVMValueRef variable = variable_of(table->base);
    if (variable) {
        table->whole = LLVMABISizeOfType(emit->layout, LLVMGlobalGetValueType(variable)) >=
                       (uint64_t)size * table->entries;
        return table->whole;
    }
    return true;
}

bool igv_needs_lane_for_table(struct igv_emit *emit, LLVMValueRef load) {
    struct table table;
    return find_table(emit, load, &table) && !table.whole;
}

/* Registers choose by the low bits of an index: what only clears others may go, and what extends.
 */
static LLVMValueRef low_bits_of(struct igv_emit *emit, LLVMValueRef load, LLVMValueRef index,
                                unsigned entries) {
    for (;;) {
        if (!LLVMIsAInstruction(index)) {
            return index;
        }
        LLVMOpcode opcode = LLVMGetInstructionOpcode(index);
        LLVMValueRef inner = LLVMGetOperand(index, 0);
        bool masks =
            opcode == LLVMAnd && LLVMIsAConstantInt(LLVMGetOperand(index, 1)) &&
            (LLVMConstIntGetZExtValue(LLVMGetOperand(index, 1)) & (entries - 1)) == entries - 1;
        bool extends = (opcode == LLVMZExt || opcode == LLVMSExt) &&
                       LLVMGetIntTypeWidth(LLVMTypeOf(inner)) >= 8;
        if ((!masks && !extends) || !is_at_hand(emit, inner, load)) {
            return index;
        }
        index = inner;
    }
}

/* The table as vectors of 32-bit elements, again and again where it does not fill one. */
static unsigned load_table(struct igv_emit *emit, LLVMValueRef load, const struct table *table,
                           LLVMValueRef *registers) {
    LLVMBuilderRef b = emit->builder;
    unsigned bits = 8 * table->size, count = (table->entries + emit->lanes - 1) / emit->lanes;
    LLVMValueRef base = igv_scalar(emit, table->base);
    LLVMValueRef all = LLVMBuildLoad2(b, LLVMVectorType(table->type, table->entries), base, "");
    LLVMSetAlignment(all, table->size);
    igv_copy_invariance(emit, load, all);
    if (bits < 32) {
        LLVMTypeRef narrow = LLVMIntTypeInContext(emit->context, bits);
        all = LLVMBuildBitCast(b, all, LLVMVectorType(narrow, table->entries), "");
        all = LLVMBuildZExt(b, all, LLVMVectorType(emit->i32, table->entries), "");
    }
    for (unsigned r = 0; r < count; r++) {
        LLVMValueRef picks[16];
        for (unsigned i = 0; i < emit->lanes; i++) {
            picks[i] = igv_u32(emit, (r * emit->lanes + i) % table->entries);
        }
        registers[r] = LLVMBuildShuffleVector(b, all, LLVMGetPoison(LLVMTypeOf(all)),
                                              LLVMConstVector(picks, emit->lanes), "");
    }
    return count;
}

static void pick(struct igv_emit *emit, LLVMValueRef load, const struct table *table,
                 LLVMValueRef *results) {
    LLVMBuilderRef b = emit->builder;
    LLVMValueRef registers[4], index = low_bits_of(emit, load, table->index, table->entries);
    unsigned count = load_table(emit, load, table, registers), bits = 8 * table->size;
    for (unsigned chunk = 0; chunk < emit->chunks; chunk++) {
        LLVMValueRef which = LLVMBuildIntCast2(b, igv_vector(emit, index, chunk),
                                               igv_vector_type(emit, emit->i32), 0, "");
        LLVMValueRef picked =
            igv_lowerings(emit->request)->permute_registers(emit, registers, count, which);
        if (bits < 32) {
            LLVMTypeRef narrow = LLVMIntTypeInContext(emit->context, bits);
            picked = LLVMBuildTrunc(b, picked, igv_vector_type(emit, narrow), "");
        }
        results[chunk] = LLVMBuildBitCast(b, picked, igv_vector_type(emit, table->type), "");
    }
}

/* i1: the whole table lies in one page. */
static LLVMValueRef is_in_one_page(struct igv_emit *emit, const struct table *table) {
    LLVMBuilderRef b = emit->builder;
    LLVMValueRef address = LLVMBuildPtrToInt(b, igv_scalar(emit, table->base), emit->i64, "");
    LLVMValueRef in_page = LLVMBuildAnd(b, address, igv_u64(emit, PAGE - 1), "");
    return LLVMBuildICmp(b, LLVMIntULE, in_page,
                         igv_u64(emit, PAGE - (uint64_t)table->size * table->entries), "");
}

bool igv_emit_table_load(struct igv_emit *emit, LLVMValueRef load, LLVMValueRef *results) {
    struct table table;
    if (!find_table(emit, load, &table)) {
        return false;
    }
    if (table.whole) {
        pick(emit, load, &table, results);
        return true;
    }
    LLVMBasicBlockRef fast = igv_append_block(emit, "table.near");
    LLVMBasicBlockRef slow = igv_append_block(emit, "table.far");
    LLVMBasicBlockRef join = igv_append_block(emit, "table.done"), from[2] = {fast, slow};
    LLVMValueRef near[IGV_MAX_CHUNKS], far[IGV_MAX_CHUNKS];
    LLVMBuildCondBr(emit->builder, is_in_one_page(emit, &table), fast, slow);
    LLVMPositionBuilderAtEnd(emit->builder, fast);
    pick(emit, load, &table, near);
    LLVMBuildBr(emit->builder, join);
    LLVMPositionBuilderAtEnd(emit->builder, slow);
    igv_load_gathered(emit, load, table.type, far);
    LLVMBuildBr(emit->builder, join);
    LLVMPositionBuilderAtEnd(emit->builder, join);
    for (unsigned chunk = 0; chunk < emit->chunks; chunk++) {
        LLVMValueRef incoming[] = {near[chunk], far[chunk]};
        results[chunk] = LLVMBuildPhi(emit->builder, LLVMTypeOf(near[chunk]), "");
        LLVMAddIncoming(results[chunk], incoming, from, 2);
    }
    return true;
}
