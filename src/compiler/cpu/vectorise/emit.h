/*
 * What the lowering of built-ins (compiler/lower/) may use of the emission state.
 *
 * A value of the scalar kernel is uniform (one scalar), linear (lane 0's scalar plus a
 * constant stride) or varying (one vector per chunk of lanes). bfloat travels as i16 (its
 * bits); every other scalar type as itself; pointers of all address spaces as plain ones.
 */
#ifndef INGOT_COMPILER_EMIT_H
#define INGOT_COMPILER_EMIT_H

#include "compiler/analysis/analysis.h"
#include "compiler/cpu/vectorise/vectorise.h"
#include "compiler/ir/builtins.h"

enum igv_shape { IGV_UNIFORM, IGV_LINEAR, IGV_VARYING };

struct igv_state; /* private to the vectoriser */

struct igv_emit {
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMBuilderRef builder; /* stands where the lowered instruction goes; a lowering may
                               add blocks and must leave it at the end of the last one */
    LLVMTargetDataRef layout;
    LLVMValueRef function;  /* the new function */
    LLVMValueRef group;     /* const struct ingot_cpu_group * */
    LLVMValueRef simdgroup; /* i32 */
    LLVMValueRef frame;     /* igv_frame's, or NULL so far */
    const struct igv_request *request;
    unsigned lanes, chunks;
    LLVMTypeRef i1, i8, i16, i32, i64, f16, f32, f64, ptr;
    struct igv_state *state;
    struct ig_error *error; /* a lowering sets it to refuse (then emission stops) */
};

/* ---- operands of the scalar kernel --------------------------------------------------- */
enum igv_shape igv_shape_of(struct igv_emit *emit, LLVMValueRef value);
/* The scalar of a uniform value (or lane 0's of a linear one). */
LLVMValueRef igv_scalar(struct igv_emit *emit, LLVMValueRef value);
/* Lanes [chunk * lanes, …) of any value as <lanes x T>; uniform ones are splat. */
LLVMValueRef igv_vector(struct igv_emit *emit, LLVMValueRef value, unsigned chunk);

/* ---- results: exactly one of the two per instruction, all chunks --------------------- */
void igv_define_scalar(struct igv_emit *emit, LLVMValueRef instruction, LLVMValueRef scalar);
void igv_define_vector(struct igv_emit *emit, LLVMValueRef instruction, unsigned chunk,
                       LLVMValueRef vector);

/* A lowering may define a later instruction of the same block, whose operands are there already:
 * it is then marked, and not lowered again. */
void igv_mark_emitted(struct igv_emit *emit, LLVMValueRef instruction);
bool igv_is_emitted(struct igv_emit *emit, LLVMValueRef instruction);

/* ---- the active lanes of the block being emitted ------------------------------------- */
LLVMValueRef igv_mask(struct igv_emit *emit, unsigned chunk); /* <lanes x i1> */
LLVMValueRef igv_mask_bits(struct igv_emit *emit);            /* i32, bit i = lane i */
bool igv_mask_is_full(struct igv_emit *emit);                 /* known at compile time */

/* ---- small helpers -------------------------------------------------------------------- */
LLVMValueRef igv_u32(struct igv_emit *emit, uint32_t value);
LLVMValueRef igv_u64(struct igv_emit *emit, uint64_t value);
LLVMTypeRef igv_vector_type(struct igv_emit *emit, LLVMTypeRef scalar);
LLVMValueRef igv_splat(struct igv_emit *emit, LLVMValueRef scalar);
/* <lanes x T> of base + stride * lane for the chunk's lanes, as a constant. */
LLVMValueRef igv_iota(struct igv_emit *emit, LLVMTypeRef scalar, long base, long stride,
                      unsigned chunk);
/* chunks as one <32 x T>, and back. Pass full vectors through shuffles sparingly: LLVM
 * splits them again. */
LLVMValueRef igv_concat(struct igv_emit *emit, const LLVMValueRef *chunks);
LLVMValueRef igv_slice(struct igv_emit *emit, LLVMValueRef vector32, unsigned chunk);
/* An LLVM intrinsic by name, overloaded on `types`. */
LLVMValueRef igv_intrinsic(struct igv_emit *emit, const char *name, LLVMTypeRef *types,
                           unsigned type_count, LLVMValueRef *args, unsigned arg_count);
/* Loads a field of the group struct. */
LLVMValueRef igv_group_field(struct igv_emit *emit, size_t offset, LLVMTypeRef type);
/* Calls services-> entry at `offset` in ingot_cpu_services; the first argument, the group,
 * is added. */
LLVMValueRef igv_call_service(struct igv_emit *emit, size_t offset, LLVMTypeRef result,
                              LLVMValueRef *args, unsigned arg_count);
/* An alloca in the entry block. */
LLVMValueRef igv_entry_alloca(struct igv_emit *emit, LLVMTypeRef type, unsigned align);
/* Memory of this function for what functions that stay functions take and give, aligned to 64
 * bytes; and that of its caller, where it is such a function itself. */
LLVMValueRef igv_frame(struct igv_emit *emit);
LLVMValueRef igv_callers_frame(struct igv_emit *emit);
/* `bytes` behind a plain pointer. */
LLVMValueRef igv_offset(struct igv_emit *emit, LLVMValueRef pointer, long bytes);
/* Runs `body` once per active lane, in ascending order, with the lane number (i32). What
 * differs per lane is reached by igv_extract. */
void igv_for_each_lane(struct igv_emit *emit,
                       void (*body)(struct igv_emit *emit, LLVMValueRef lane, void *data),
                       void *data);
/* Stores the chunks to a stack array [32 x T] and loads element `lane` (any i32). */
LLVMValueRef igv_extract(struct igv_emit *emit, LLVMValueRef value, LLVMValueRef lane);

/* ---- code for built-ins (compiler/cpu/lower/builtins.c) --------------------------------- */
struct igv_lowering {
    void (*lower)(struct igv_emit *emit, LLVMValueRef call);
    /* Where the result may grow from lane to lane, or NULL: its shape, stride (linear) and known
     * alignment of lane 0's scalar as a power of two's exponent. */
    enum igv_shape (*shape)(const struct igv_request *request, LLVMValueRef call, long *stride,
                            unsigned *align_log2);
};

/* What the vectoriser leaves to cpu/lower/, which stands on it: a target has these. */
struct igv_lowerings {
    const struct igv_lowering *(*of)(enum igi_builtin builtin); /* NULL: there is none */
    /* atomicrmw, cmpxchg, atomic load and store, fence. A cmpxchg is not defined itself (it is a
     * struct): its extractvalue users are, so emission skips those. */
    void (*atomic)(struct igv_emit *emit, LLVMValueRef instruction);
    /* Each lane's pick of `count` vectors side by side, of 32-bit elements: an element of
     * <lanes x i32> chooses by its low bits. `count` is a power of two up to the most that the
     * target does by registers, which is 0 where it has none. */
    unsigned (*most_registers)(struct igv_emit *emit);
    LLVMValueRef (*permute_registers)(struct igv_emit *emit, const LLVMValueRef *registers,
                                      unsigned count, LLVMValueRef index);
};
static inline const struct igv_lowerings *igv_lowerings(const struct igv_request *request) {
    return request->target->lowerings;
}

/* The shapes of a kernel's values, with the built-ins as the table says. */
ingot_status igv_analyse(struct ig_arena *arena, const struct igv_request *request,
                         struct igv_analysis *analysis, struct ig_error *error);

/* bounds.c: __ingot_in_bounds(condition, wanted), which the driver puts around the conditions of
 * leading bounds checks. It is the condition itself, unless the version may decline: then it
 * declines if a lane's condition is not what is wanted, and is the constant `wanted`. */
enum igv_shape igv_shape_in_bounds(const struct igv_request *request, LLVMValueRef call,
                                   long *stride, unsigned *align_log2);
void igv_emit_in_bounds(struct igv_emit *emit, LLVMValueRef call);
/* nontemporal.c: __ingot_stream_b32 and _b16, __ingot_prefetch. */
void igv_emit_stream(struct igv_emit *emit, LLVMValueRef call);
void igv_emit_prefetch(struct igv_emit *emit, LLVMValueRef call);
void igv_emit_nothing(struct igv_emit *emit, LLVMValueRef call);

#endif
