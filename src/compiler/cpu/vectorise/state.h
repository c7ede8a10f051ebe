/* The emission's own state: see control.c for how blocks are laid out. */
#ifndef INGOT_COMPILER_STATE_H
#define INGOT_COMPILER_STATE_H

#include <stddef.h>
#include <string.h>

#include "compiler/analysis/analysis.h"
#include "compiler/cpu/vectorise/emit.h"

#define IGV_MAX_CHUNKS 4

/* What is known of one scalar value while its copy is emitted. Values used outside their own
 * block go through stack slots, which mem2reg turns back into SSA. */
struct igv_slot {
    LLVMValueRef slot[IGV_MAX_CHUNKS];    /* allocas; [0] alone for scalars */
    LLVMValueRef flag_slot;               /* CHECKED: i1, true when the linear form is wrong */
    LLVMValueRef current[IGV_MAX_CHUNKS]; /* valid while current_block is being emitted */
    LLVMValueRef flag;
    unsigned current_block;
    LLVMValueRef usual;              /* control.c: of a phi, the constant of many ways, or NULL */
    bool usual_known;                /* it has been looked for */
    bool escapes;                    /* used in another block */
    bool emitted;                    /* a strided group has defined it already, or will store it */
    void *group;                     /* a store that ends a strided group */
    const struct igv_packed *packed; /* strided.c: the loaded vectors it was picked from … */
    unsigned packed_element;         /* … as this element of each lane's */
};

struct igv_state {
    const struct igv_request *request;
    struct igv_emit *emit;
    struct igv_analysis analysis;
    struct ig_arena *arena;
    LLVMBasicBlockRef entry;   /* allocas only */
    LLVMBasicBlockRef *blocks; /* new block of each original one */
    LLVMBasicBlockRef *leaves; /* by loop: where a divergent loop's last iteration goes */
    LLVMValueRef (*mask_slots)[IGV_MAX_CHUNKS]; /* by block; NULL for entry-mask blocks */
    LLVMValueRef entry_mask[IGV_MAX_CHUNKS];
    LLVMValueRef mask[IGV_MAX_CHUNKS]; /* of the block being emitted */
    bool *entry_masked;                /* by block: its mask is always the entry mask */
    bool *guarded;                     /* by block: skipped when no lane is active */
    uint64_t **deferred;               /* by block: blocks that must still be visited afterwards */
    uint64_t **exits;                  /* by loop: targets collected from a divergent loop */
    unsigned words;                    /* per bit set */
    unsigned block;                    /* being emitted */
    LLVMMetadataRef file;              /* of the kernel, for lines; or NULL */
    bool has_barriers, streams;
    uint64_t private_bytes;
    uint64_t slot_bytes;
};

/* values.c */
struct igv_value *igv_lookup(struct igv_emit *emit, LLVMValueRef value);
LLVMTypeRef igv_mapped_type(struct igv_emit *emit, LLVMTypeRef type); /* bfloat → i16, … */
LLVMValueRef igv_leaf(struct igv_emit *emit, LLVMValueRef value);     /* constant or global */
LLVMValueRef igv_wraps(struct igv_emit *emit, LLVMValueRef value);    /* flag of a CHECKED value */
void igv_define_checked(struct igv_emit *emit, LLVMValueRef instruction, LLVMValueRef scalar,
                        LLVMValueRef wraps);
enum igv_value_shape igv_exact_shape(struct igv_emit *emit, LLVMValueRef value, long *stride);
LLVMValueRef igv_value_slot(struct igv_emit *emit, struct igv_value *value, unsigned chunk);
LLVMTypeRef igv_slot_type(struct igv_emit *emit, struct igv_value *value);
LLVMValueRef igv_to_slot_form(struct igv_emit *emit, LLVMTypeRef type, LLVMValueRef vector);

/* instructions.c */
void igv_emit_instruction(struct igv_emit *emit, LLVMValueRef instruction);
/* The instruction's operation on the given (scalar or vector) operands. */
LLVMValueRef igv_rebuild(struct igv_emit *emit, LLVMValueRef instruction, LLVMValueRef *operands,
                         bool vector);

/* arithmetic.c: types that are computed in another type. */
LLVMValueRef igv_bfloat_to_float(struct igv_emit *emit, LLVMValueRef bits);
LLVMValueRef igv_float_to_bfloat(struct igv_emit *emit, LLVMValueRef value);
LLVMValueRef igv_widen_float(struct igv_emit *emit, LLVMValueRef value, LLVMTypeRef source);
LLVMValueRef igv_narrow_float(struct igv_emit *emit, LLVMValueRef value, LLVMTypeRef target);
LLVMValueRef igv_divide(struct igv_emit *emit, LLVMOpcode opcode, LLVMValueRef left,
                        LLVMValueRef right);
bool igv_is_small_float(LLVMTypeRef type); /* half or bfloat */

/* address.c */
LLVMValueRef igv_emit_gep_scalar(struct igv_emit *emit, LLVMValueRef gep);
LLVMValueRef igv_emit_gep_vector(struct igv_emit *emit, LLVMValueRef gep, unsigned chunk);
/* A pointer taken apart: base + scale * index + offset; two addresses with the same base, index
 * and scale differ by a constant. index may be NULL. */
struct igv_address {
    LLVMValueRef base, index;
    long scale, offset;
};
struct igv_address igv_split_pointer(LLVMTargetDataRef layout, LLVMValueRef pointer);

/* memory.c */
void igv_emit_alloca(struct igv_emit *emit, LLVMValueRef instruction);
void igv_emit_load(struct igv_emit *emit, LLVMValueRef instruction);
void igv_emit_store(struct igv_emit *emit, LLVMValueRef instruction);
LLVMValueRef igv_masked_load(struct igv_emit *emit, LLVMTypeRef type, LLVMValueRef pointer,
                             unsigned align, unsigned chunk);
LLVMValueRef igv_gather(struct igv_emit *emit, LLVMTypeRef type, LLVMValueRef pointers,
                        unsigned align, unsigned chunk);
void igv_masked_store(struct igv_emit *emit, LLVMValueRef vector, LLVMValueRef pointer,
                      unsigned align, unsigned chunk);
void igv_scatter(struct igv_emit *emit, LLVMValueRef vector, LLVMValueRef pointers, unsigned align,
                 unsigned chunk);

/* Loads from constant memory may leave loops that store to other memory: so says `to` if `from`
 * does. */
void igv_copy_invariance(struct igv_emit *emit, LLVMValueRef from, LLVMValueRef to);
void igv_load_gathered(struct igv_emit *emit, LLVMValueRef instruction, LLVMTypeRef type,
                       LLVMValueRef *results);

/* tables.c */
bool igv_emit_table_load(struct igv_emit *emit, LLVMValueRef load, LLVMValueRef *results);
/* The load reads more than its lanes ask for, which is there if one of them is active. */
bool igv_needs_lane_for_table(struct igv_emit *emit, LLVMValueRef load);

/* strided.c */
bool igv_emit_strided_load(struct igv_emit *emit, LLVMValueRef instruction);
bool igv_emit_strided_store(struct igv_emit *emit, LLVMValueRef instruction);

/* masks.c */
LLVMTypeRef igv_mask_type(struct igv_emit *emit);      /* <lanes x i1> */
LLVMTypeRef igv_mask_slot_type(struct igv_emit *emit); /* what slots hold */
LLVMValueRef igv_mask_to_slot(struct igv_emit *emit, LLVMValueRef mask);
LLVMValueRef igv_mask_from_slot(struct igv_emit *emit, LLVMValueRef stored);
LLVMValueRef igv_any(struct igv_emit *emit, LLVMValueRef *masks);     /* i1 */
LLVMValueRef igv_all(struct igv_emit *emit, LLVMValueRef mask);       /* i1, one chunk */
LLVMValueRef igv_bits_of(struct igv_emit *emit, LLVMValueRef *masks); /* i32 */

/* lines.c: what is built from now on comes from this instruction. */
void igv_lines_start(struct igv_emit *emit);
void igv_lines_set(struct igv_emit *emit, LLVMValueRef instruction);

/* control.c */
void igv_control_plan(struct igv_emit *emit);
void igv_control_emit(struct igv_emit *emit);

static inline struct igv_slot *igv_slot_of(struct igv_value *value) {
    return value->emit;
}

static inline LLVMBasicBlockRef igv_append_block(struct igv_emit *emit, const char *name) {
    return LLVMAppendBasicBlockInContext(emit->context, emit->function, name);
}

static inline bool igv_is_float(LLVMTypeRef type) {
    LLVMTypeKind kind = LLVMGetTypeKind(type);
    return kind == LLVMHalfTypeKind || kind == LLVMBFloatTypeKind || kind == LLVMFloatTypeKind ||
           kind == LLVMDoubleTypeKind;
}

static inline bool igv_is_pointer(LLVMTypeRef type) {
    return LLVMGetTypeKind(type) == LLVMPointerTypeKind;
}

#endif
