/*
 * Where a thread stands in its SIMD-group, threadgroup and grid.
 *
 * Provides the shapes and the code of the position built-ins for the variants of
 * ingot_cpu_ids. Requires at most 1024 threads in a threadgroup, which the launch checks.
 */
#include <stddef.h>

#include "compiler/cpu/lower/lower.h"

#define GROUP_FIELD(field) offsetof(struct ingot_cpu_group, field)

enum {
    RECIPROCAL_BITS = 16,
};

/* The three numbers of a dimension-indexed field. */
static LLVMValueRef field_of(struct igv_emit *emit, size_t offset, unsigned dim) {
    return igv_group_field(emit, offset + dim * sizeof(uint32_t), emit->i32);
}

/* Lane 0 of a SIMD-group is thread 32 n of its threadgroup; where it runs in turns, of a turn
 * thread 16 n or 8 n. */
static unsigned width_log2(const struct igv_request *request) {
    return (unsigned)__builtin_ctz(request->target->lanes * request->target->chunks);
}

static LLVMValueRef first_thread(struct igv_emit *emit) {
    return LLVMBuildShl(emit->builder, emit->simdgroup, igv_u32(emit, width_log2(emit->request)),
                        "");
}

/* number / divisor for number < 32 and divisor <= 1024, by a reciprocal that does not depend
 * on the SIMD-group. As a floating-point division it may leave the loop over SIMD-groups
 * even when LLVM cannot prove that the divisor is not 0. */
static LLVMValueRef small_quotient(struct igv_emit *emit, LLVMValueRef number,
                                   LLVMValueRef divisor) {
    LLVMBuilderRef builder = emit->builder;
    LLVMValueRef one = LLVMConstReal(emit->f32, (double)(1u << RECIPROCAL_BITS));
    LLVMValueRef real = LLVMBuildSIToFP(builder, divisor, emit->f32, "");
    LLVMValueRef reciprocal =
        LLVMBuildFPToSI(builder, LLVMBuildFDiv(builder, one, real, ""), emit->i32, "");
    reciprocal = LLVMBuildAdd(builder, reciprocal, igv_u32(emit, 1), "");
    return LLVMBuildLShr(builder, LLVMBuildMul(builder, number, reciprocal, ""),
                         igv_u32(emit, RECIPROCAL_BITS), "");
}

static LLVMValueRef small_remainder(struct igv_emit *emit, LLVMValueRef number,
                                    LLVMValueRef divisor) {
    LLVMValueRef quotient = small_quotient(emit, number, divisor);
    return LLVMBuildSub(emit->builder, number, LLVMBuildMul(emit->builder, quotient, divisor, ""),
                        "");
}

/* Lane 0's thread_position_in_threadgroup; not for the GENERAL variant. ALIGNED: a row of the group
 * is a whole number of SIMD-groups. LINEAR: there is one row, the last SIMD-group of which may have
 * fewer threads; or the group is aligned, for which the same code will do. */
static LLVMValueRef first_position(struct igv_emit *emit, unsigned dim) {
    LLVMValueRef width = field_of(emit, GROUP_FIELD(group_size), 0);
    if (emit->request->ids == INGOT_CPU_IDS_LINEAR) {
        width = LLVMBuildAdd(emit->builder, width, igv_u32(emit, 31), "");
    }
    LLVMValueRef per_row = LLVMBuildLShr(emit->builder, width, igv_u32(emit, 5), "");
    if (dim == 0) {
        LLVMValueRef in_row = small_remainder(emit, emit->simdgroup, per_row);
        return LLVMBuildShl(emit->builder, in_row, igv_u32(emit, 5), "");
    }
    LLVMValueRef row = small_quotient(emit, emit->simdgroup, per_row);
    LLVMValueRef rows = field_of(emit, GROUP_FIELD(group_size), 1);
    return dim == 1 ? small_remainder(emit, row, rows) : small_quotient(emit, row, rows);
}

static LLVMValueRef table_position(struct igv_emit *emit, unsigned dim, unsigned chunk) {
    LLVMBuilderRef builder = emit->builder;
    LLVMValueRef table = igv_group_field(emit, GROUP_FIELD(lane_positions), emit->ptr);
    LLVMValueRef stride = igv_group_field(emit, GROUP_FIELD(lane_stride), emit->i64);
    LLVMValueRef index = LLVMBuildZExt(builder, first_thread(emit), emit->i64, "");
    index = LLVMBuildAdd(builder, index, igv_u64(emit, (uint64_t)chunk * emit->lanes), "");
    index = LLVMBuildAdd(builder, index, LLVMBuildMul(builder, stride, igv_u64(emit, dim), ""), "");
    LLVMValueRef address = LLVMBuildGEP2(builder, emit->i32, table, &index, 1, "");
    LLVMValueRef load = LLVMBuildLoad2(builder, igv_vector_type(emit, emit->i32), address, "");
    LLVMSetAlignment(load, sizeof(uint32_t));
    igl_mark_invariant(emit, load);
    return load;
}

/* ---- shapes ------------------------------------------------------------------------------ */
static enum igv_shape shape_of_position(const struct igv_request *request, LLVMValueRef call,
                                        bool in_grid, long *stride, unsigned *align_log2) {
    uint64_t dim;
    *stride = 0;
    *align_log2 = 0;
    if (request->ids == INGOT_CPU_IDS_GENERAL || !igl_constant(igl_operand(call, 0), &dim)) {
        return IGV_VARYING;
    }
    if (dim != 0) {
        return IGV_UNIFORM;
    }
    *stride = 1;
    if (!in_grid || request->ids != INGOT_CPU_IDS_LINEAR) {
        *align_log2 = width_log2(request);
    }
    return IGV_LINEAR;
}

enum igv_shape igl_shape_position_in_grid(const struct igv_request *request, LLVMValueRef call,
                                          long *stride, unsigned *align_log2) {
    return shape_of_position(request, call, true, stride, align_log2);
}

enum igv_shape igl_shape_position_in_threadgroup(const struct igv_request *request,
                                                 LLVMValueRef call, long *stride,
                                                 unsigned *align_log2) {
    return shape_of_position(request, call, false, stride, align_log2);
}

/* thread_index_in_threadgroup and _in_simdgroup. */
enum igv_shape igl_shape_lane(const struct igv_request *request, LLVMValueRef call, long *stride,
                              unsigned *align_log2) {
    (void)call;
    *stride = 1;
    *align_log2 = width_log2(request);
    return IGV_LINEAR;
}

/* ---- code -------------------------------------------------------------------------------- */
/* A position: of the thread, or (field) of the whole group, by dimension. */
struct position {
    bool of_thread, in_grid;
    size_t field;
};

/* Lane 0's position in the grid in the ROW variant. */
static LLVMValueRef row_position(struct igv_emit *emit, unsigned dim) {
    return dim == 0 ? first_thread(emit) : field_of(emit, GROUP_FIELD(row), dim - 1);
}

static LLVMValueRef grid_origin(struct igv_emit *emit, unsigned dim) {
    return LLVMBuildMul(emit->builder, field_of(emit, GROUP_FIELD(group_position), dim),
                        field_of(emit, GROUP_FIELD(full_group_size), dim), "");
}

/* Lane 0's; not for threads of the GENERAL variant. */
static LLVMValueRef position_scalar(struct igv_emit *emit, const struct position *position,
                                    unsigned dim) {
    if (!position->of_thread) {
        return field_of(emit, position->field, dim);
    }
    if (emit->request->ids == INGOT_CPU_IDS_ROW) {
        return row_position(emit, dim);
    }
    LLVMValueRef first = first_position(emit, dim);
    return position->in_grid ? LLVMBuildAdd(emit->builder, grid_origin(emit, dim), first, "")
                             : first;
}

static LLVMValueRef position_vector(struct igv_emit *emit, const struct position *position,
                                    unsigned dim, unsigned chunk) {
    if (position->of_thread && emit->request->ids == INGOT_CPU_IDS_GENERAL) {
        LLVMValueRef lanes = table_position(emit, dim, chunk);
        return position->in_grid
                   ? LLVMBuildAdd(emit->builder, igv_splat(emit, grid_origin(emit, dim)), lanes, "")
                   : lanes;
    }
    LLVMValueRef splat = igv_splat(emit, position_scalar(emit, position, dim));
    if (!position->of_thread || dim != 0) {
        return splat;
    }
    return LLVMBuildAdd(emit->builder, splat, igv_iota(emit, emit->i32, 0, 1, chunk), "");
}

static void define_position(struct igv_emit *emit, LLVMValueRef call,
                            const struct position *position) {
    uint64_t dim;
    bool known = igl_constant(igl_operand(call, 0), &dim) && dim < 3;
    if (known && igv_shape_of(emit, call) != IGV_VARYING) {
        igv_define_scalar(emit, call, position_scalar(emit, position, (unsigned)dim));
        return;
    }
    struct igl_chunks result = {{NULL}};
    for (unsigned c = 0; c < emit->chunks; c++) {
        if (known) {
            result.chunk[c] = position_vector(emit, position, (unsigned)dim, c);
            continue;
        }
        LLVMValueRef wanted = igv_vector(emit, igl_operand(call, 0), c);
        LLVMValueRef value = position_vector(emit, position, 0, c);
        for (unsigned d = 1; d < 3; d++) {
            LLVMValueRef here = LLVMBuildICmp(emit->builder, LLVMIntEQ, wanted,
                                              igv_splat(emit, igv_u32(emit, d)), "");
            value = LLVMBuildSelect(emit->builder, here, position_vector(emit, position, d, c),
                                    value, "");
        }
        result.chunk[c] = value;
    }
    igl_define_chunks(emit, call, &result);
}

void igl_thread_position_in_grid(struct igv_emit *emit, LLVMValueRef call) {
    define_position(emit, call, &(struct position){.of_thread = true, .in_grid = true});
}

void igl_thread_position_in_threadgroup(struct igv_emit *emit, LLVMValueRef call) {
    define_position(emit, call, &(struct position){.of_thread = true});
}

void igl_threadgroup_position_in_grid(struct igv_emit *emit, LLVMValueRef call) {
    define_position(emit, call, &(struct position){.field = GROUP_FIELD(group_position)});
}

void igl_threads_per_threadgroup(struct igv_emit *emit, LLVMValueRef call) {
    define_position(emit, call, &(struct position){.field = GROUP_FIELD(group_size)});
}

void igl_dispatch_threads_per_threadgroup(struct igv_emit *emit, LLVMValueRef call) {
    define_position(emit, call, &(struct position){.field = GROUP_FIELD(full_group_size)});
}

void igl_threads_per_grid(struct igv_emit *emit, LLVMValueRef call) {
    define_position(emit, call, &(struct position){.field = GROUP_FIELD(threads_per_grid)});
}

void igl_threadgroups_per_grid(struct igv_emit *emit, LLVMValueRef call) {
    define_position(emit, call, &(struct position){.field = GROUP_FIELD(groups_per_grid)});
}

/* ---- indices without a dimension ------------------------------------------------------------ */
static void define_lane_index(struct igv_emit *emit, LLVMValueRef call, LLVMValueRef first) {
    if (igv_shape_of(emit, call) != IGV_VARYING) {
        igv_define_scalar(emit, call, first);
        return;
    }
    LLVMValueRef splat = igv_splat(emit, first);
    for (unsigned c = 0; c < emit->chunks; c++) {
        igv_define_vector(
            emit, call, c,
            LLVMBuildAdd(emit->builder, splat, igv_iota(emit, emit->i32, 0, 1, c), ""));
    }
}

void igl_thread_index_in_threadgroup(struct igv_emit *emit, LLVMValueRef call) {
    define_lane_index(emit, call, first_thread(emit));
}

void igl_thread_index_in_simdgroup(struct igv_emit *emit, LLVMValueRef call) {
    define_lane_index(emit, call, igv_u32(emit, 0));
}

void igl_simdgroup_index_in_threadgroup(struct igv_emit *emit, LLVMValueRef call) {
    igl_define_uniform(emit, call, emit->simdgroup);
}

void igl_simdgroups_per_threadgroup(struct igv_emit *emit, LLVMValueRef call) {
    igl_define_uniform(emit, call, igv_group_field(emit, GROUP_FIELD(simdgroup_count), emit->i32));
}

void igl_dispatch_simdgroups_per_threadgroup(struct igv_emit *emit, LLVMValueRef call) {
    igl_define_uniform(emit, call,
                       igv_group_field(emit, GROUP_FIELD(full_simdgroup_count), emit->i32));
}
