/*
 * What the files of compiler/lower/ share: operands, results, constant permutations of lanes,
 * and the operators of reductions and scans.
 */
#ifndef INGOT_COMPILER_LOWER_H
#define INGOT_COMPILER_LOWER_H

#include "compiler/cpu/vectorise/emit.h"

#define IGL_WIDTH INGOT_SIMD_WIDTH

/* builtins.c: what the vectoriser leaves to this folder (emit.h). */
extern const struct igv_lowerings igl_lowerings;

/* One value of all lanes, chunk by chunk. */
struct igl_chunks {
    LLVMValueRef chunk[IGL_WIDTH];
};

/* ---- common.c -------------------------------------------------------------------------- */
LLVMValueRef igl_operand(LLVMValueRef call, unsigned index);
/* True and *number for an integer constant. */
bool igl_constant(LLVMValueRef value, uint64_t *number);
/* The scalar of an operand that the contract calls uniform: the first active lane's, should
 * the analysis not have seen that it is. */
LLVMValueRef igl_uniform(struct igv_emit *emit, LLVMValueRef value);
/* A value made ready, before a loop over the lanes, for igl_lane inside it. */
struct igl_spilled {
    LLVMTypeRef type;
    LLVMValueRef scalar; /* of a uniform value; otherwise NULL and */
    LLVMValueRef array;  /* in memory */
};
struct igl_spilled igl_spill(struct igv_emit *emit, LLVMValueRef value);
LLVMValueRef igl_lane(struct igv_emit *emit, const struct igl_spilled *value, LLVMValueRef lane);
/* The load's memory never changes while kernel code runs. */
void igl_mark_invariant(struct igv_emit *emit, LLVMValueRef load);
struct igl_chunks igl_vectors(struct igv_emit *emit, LLVMValueRef value);
/* Defines the result whether its shape is uniform or not. */
void igl_define_uniform(struct igv_emit *emit, LLVMValueRef instruction, LLVMValueRef scalar);
void igl_define_chunks(struct igv_emit *emit, LLVMValueRef instruction,
                       const struct igl_chunks *result);
/* Keeps LLVM from moving memory operations across; costs no instruction. */
void igl_compiler_fence(struct igv_emit *emit);
LLVMValueRef igl_call(struct igv_emit *emit, const char *intrinsic, LLVMTypeRef type,
                      LLVMValueRef *args, unsigned arg_count);
/* Lane by lane results: a stack array that lowerings store to, read back as vectors. */
LLVMValueRef igl_lane_array(struct igv_emit *emit, LLVMTypeRef scalar);
void igl_lane_array_store(struct igv_emit *emit, LLVMValueRef array, LLVMTypeRef scalar,
                          LLVMValueRef lane, LLVMValueRef value);
void igl_define_from_lane_array(struct igv_emit *emit, LLVMValueRef instruction, LLVMValueRef array,
                                LLVMTypeRef scalar);

/* ---- permute.c ------------------------------------------------------------------------- */
/* Where an element of the result comes from. */
struct igl_pick {
    uint16_t source, element;
};
/* <count x T> picked from vectors of `width` elements each, which must be a power of two; made
 * of two-source shuffles only, none where the result is a source. */
LLVMValueRef igl_permute(struct igv_emit *emit, const LLVMValueRef *sources, unsigned width,
                         const struct igl_pick *picks, unsigned count);
LLVMValueRef igl_join(struct igv_emit *emit, LLVMValueRef low, LLVMValueRef high);
LLVMValueRef igl_part(struct igv_emit *emit, LLVMValueRef vector, unsigned first, unsigned count);
/* Each lane's lane index in `value`, if that is known at compile time. */
bool igl_known_lanes(LLVMValueRef value, uint8_t lanes[IGL_WIDTH]);

/* ---- operators.c ----------------------------------------------------------------------- */
enum igl_operator {
    IGL_ADD,
    IGL_MUL,
    IGL_MIN, /* signed, or floating point that ignores NaNs */
    IGL_MAX,
    IGL_UMIN,
    IGL_UMAX,
    IGL_AND,
    IGL_OR,
    IGL_XOR,
};
/* On scalars or vectors of any width. */
LLVMValueRef igl_apply(struct igv_emit *emit, enum igl_operator op, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef igl_identity(struct igv_emit *emit, enum igl_operator op, LLVMTypeRef scalar);
/* The chunks of `value` with `fill` in the inactive lanes. */
struct igl_chunks igl_active_or(struct igv_emit *emit, LLVMValueRef value, LLVMValueRef fill);
/* The halving tree over all lanes, and the inclusive or exclusive prefix. */
LLVMValueRef igl_reduce(struct igv_emit *emit, enum igl_operator op, struct igl_chunks value);
struct igl_chunks igl_scan(struct igv_emit *emit, enum igl_operator op, struct igl_chunks value,
                           bool exclusive, LLVMValueRef identity);

/* ---- one function per row of the table (builtins.c) -------------------------------------- */
typedef void igl_lower_fn(struct igv_emit *emit, LLVMValueRef call);
typedef enum igv_shape igl_shape_fn(const struct igv_request *request, LLVMValueRef call,
                                    long *stride, unsigned *align_log2);

igl_lower_fn igl_arg_buffer, igl_arg_threadgroup;
igl_lower_fn igl_thread_position_in_grid, igl_thread_position_in_threadgroup;
igl_shape_fn igl_shape_position_in_grid, igl_shape_position_in_threadgroup, igl_shape_lane;
igl_lower_fn igl_threadgroup_position_in_grid, igl_threads_per_threadgroup;
igl_lower_fn igl_dispatch_threads_per_threadgroup, igl_threads_per_grid;
igl_lower_fn igl_threadgroups_per_grid, igl_thread_index_in_threadgroup;
igl_lower_fn igl_thread_index_in_simdgroup, igl_simdgroup_index_in_threadgroup;
igl_lower_fn igl_simdgroups_per_threadgroup, igl_dispatch_simdgroups_per_threadgroup;
igl_lower_fn igl_barrier, igl_fence, igl_never, igl_too_deep, igl_trap;
igl_lower_fn igl_kept_argument, igl_kept_pass, igl_kept_call, igl_kept_result, igl_kept_return;
igl_lower_fn igl_shuffle, igl_ballot;
igl_lower_fn igl_reduce_add, igl_reduce_mul, igl_reduce_min, igl_reduce_max;
igl_lower_fn igl_reduce_umin, igl_reduce_umax, igl_reduce_and, igl_reduce_or, igl_reduce_xor;
igl_lower_fn igl_inclusive_sum, igl_exclusive_sum, igl_inclusive_product, igl_exclusive_product;
igl_lower_fn igl_matrix_multiply, igl_matrix_load, igl_matrix_store, igl_bfloat_of_sum;
igl_lower_fn igl_log;
igl_lower_fn igl_san_expect, igl_san_tell, igl_san_ask, igl_san_access, igl_san_bound,
    igl_san_count, igl_san_all;
igl_lower_fn igl_san_is_unwritten, igl_san_written, igl_san_distance;

/* ---- what igl_lowerings has beside the table ---------------------------------------------- */
void igl_lower_atomic(struct igv_emit *emit, LLVMValueRef instruction); /* atomics.c */
unsigned igl_most_registers(struct igv_emit *emit);                     /* shuffles.c */
LLVMValueRef igl_permute_registers(struct igv_emit *emit, const LLVMValueRef *registers,
                                   unsigned count, LLVMValueRef index);

#endif
