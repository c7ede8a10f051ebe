/*
 * The table of built-ins: every function of prelude/ingot_builtins.h that code is made for.
 *
 * Not here: __ingot_param and __ingot_max_threads, which the driver reads and deletes, and
 * __ingot_fast_math and __ingot_constant_defined, which it folds.
 */
#include <string.h>

#include "compiler/cpu/lower/lower.h"

/* Every lane the same; by the dimension asked for; from the active lanes; per lane. */
#define FIXED      IGV_RESULT_UNIFORM, NULL
#define BY_OPERAND IGV_RESULT_OPERANDS, NULL
#define OF_ACTIVE  IGV_RESULT_UNIFORM | IGV_USES_MASK, NULL
#define PREFIX     IGV_RESULT_VARYING | IGV_USES_MASK, NULL
#define TO_LANES   IGV_RESULT_EITHER, NULL
#define TILE_LOAD  IGV_RESULT_VARYING | IGV_SIDE_EFFECTS, NULL
#define EFFECT     IGV_RESULT_UNIFORM | IGV_SIDE_EFFECTS, NULL
#define BARRIER    IGV_RESULT_UNIFORM | IGV_SIDE_EFFECTS | IGV_USES_MASK | IGV_BARRIER, NULL
#define SHAPED(f)  IGV_RESULT_CUSTOM, f

static const struct igv_builtin table[] = {
    {"__ingot_arg_device", FIXED, igl_arg_buffer},
    {"__ingot_arg_constant", FIXED, igl_arg_buffer},
    {"__ingot_arg_threadgroup", FIXED, igl_arg_threadgroup},

    {"__ingot_thread_position_in_grid", SHAPED(igl_shape_position_in_grid),
     igl_thread_position_in_grid},
    {"__ingot_thread_position_in_threadgroup", SHAPED(igl_shape_position_in_threadgroup),
     igl_thread_position_in_threadgroup},
    {"__ingot_thread_index_in_threadgroup", SHAPED(igl_shape_lane),
     igl_thread_index_in_threadgroup},
    {"__ingot_thread_index_in_simdgroup", SHAPED(igl_shape_lane), igl_thread_index_in_simdgroup},
    {"__ingot_threadgroup_position_in_grid", BY_OPERAND, igl_threadgroup_position_in_grid},
    {"__ingot_threads_per_threadgroup", BY_OPERAND, igl_threads_per_threadgroup},
    {"__ingot_dispatch_threads_per_threadgroup", BY_OPERAND, igl_dispatch_threads_per_threadgroup},
    {"__ingot_threads_per_grid", BY_OPERAND, igl_threads_per_grid},
    {"__ingot_threadgroups_per_grid", BY_OPERAND, igl_threadgroups_per_grid},
    {"__ingot_simdgroup_index_in_threadgroup", FIXED, igl_simdgroup_index_in_threadgroup},
    {"__ingot_simdgroups_per_threadgroup", FIXED, igl_simdgroups_per_threadgroup},
    {"__ingot_dispatch_simdgroups_per_threadgroup", FIXED, igl_dispatch_simdgroups_per_threadgroup},

    {"__ingot_barrier", BARRIER, igl_barrier},
    {"__ingot_fence", EFFECT, igl_fence},

    {"__ingot_simd_shuffle_b16", TO_LANES, igl_shuffle},
    {"__ingot_simd_shuffle_b32", TO_LANES, igl_shuffle},
    {"__ingot_simd_shuffle_b64", TO_LANES, igl_shuffle},
    {"__ingot_simd_shuffle_f32", TO_LANES, igl_shuffle},
    {"__ingot_simd_ballot", OF_ACTIVE, igl_ballot},

    {"__ingot_simd_sum_f32", OF_ACTIVE, igl_reduce_add},
    {"__ingot_simd_sum_i32", OF_ACTIVE, igl_reduce_add},
    {"__ingot_simd_sum_u32", OF_ACTIVE, igl_reduce_add},
    {"__ingot_simd_sum_i64", OF_ACTIVE, igl_reduce_add},
    {"__ingot_simd_sum_u64", OF_ACTIVE, igl_reduce_add},
    {"__ingot_simd_product_f32", OF_ACTIVE, igl_reduce_mul},
    {"__ingot_simd_product_i32", OF_ACTIVE, igl_reduce_mul},
    {"__ingot_simd_product_u32", OF_ACTIVE, igl_reduce_mul},
    {"__ingot_simd_product_i64", OF_ACTIVE, igl_reduce_mul},
    {"__ingot_simd_product_u64", OF_ACTIVE, igl_reduce_mul},
    {"__ingot_simd_min_f32", OF_ACTIVE, igl_reduce_min},
    {"__ingot_simd_min_i32", OF_ACTIVE, igl_reduce_min},
    {"__ingot_simd_min_u32", OF_ACTIVE, igl_reduce_umin},
    {"__ingot_simd_min_i64", OF_ACTIVE, igl_reduce_min},
    {"__ingot_simd_min_u64", OF_ACTIVE, igl_reduce_umin},
    {"__ingot_simd_max_f32", OF_ACTIVE, igl_reduce_max},
    {"__ingot_simd_max_i32", OF_ACTIVE, igl_reduce_max},
    {"__ingot_simd_max_u32", OF_ACTIVE, igl_reduce_umax},
    {"__ingot_simd_max_i64", OF_ACTIVE, igl_reduce_max},
    {"__ingot_simd_max_u64", OF_ACTIVE, igl_reduce_umax},
    {"__ingot_simd_and_u32", OF_ACTIVE, igl_reduce_and},
    {"__ingot_simd_or_u32", OF_ACTIVE, igl_reduce_or},
    {"__ingot_simd_xor_u32", OF_ACTIVE, igl_reduce_xor},
    {"__ingot_simd_and_u64", OF_ACTIVE, igl_reduce_and},
    {"__ingot_simd_or_u64", OF_ACTIVE, igl_reduce_or},
    {"__ingot_simd_xor_u64", OF_ACTIVE, igl_reduce_xor},

    {"__ingot_simd_prefix_inclusive_sum_f32", PREFIX, igl_inclusive_sum},
    {"__ingot_simd_prefix_inclusive_sum_u32", PREFIX, igl_inclusive_sum},
    {"__ingot_simd_prefix_inclusive_sum_u64", PREFIX, igl_inclusive_sum},
    {"__ingot_simd_prefix_exclusive_sum_f32", PREFIX, igl_exclusive_sum},
    {"__ingot_simd_prefix_exclusive_sum_u32", PREFIX, igl_exclusive_sum},
    {"__ingot_simd_prefix_exclusive_sum_u64", PREFIX, igl_exclusive_sum},
    {"__ingot_simd_prefix_inclusive_product_f32", PREFIX, igl_inclusive_product},
    {"__ingot_simd_prefix_inclusive_product_u32", PREFIX, igl_inclusive_product},
    {"__ingot_simd_prefix_inclusive_product_u64", PREFIX, igl_inclusive_product},
    {"__ingot_simd_prefix_exclusive_product_f32", PREFIX, igl_exclusive_product},
    {"__ingot_simd_prefix_exclusive_product_u32", PREFIX, igl_exclusive_product},
    {"__ingot_simd_prefix_exclusive_product_u64", PREFIX, igl_exclusive_product},

    {"__ingot_simdgroup_mma", IGV_RESULT_VARYING, NULL, igl_matrix_multiply},
    {"__ingot_simdgroup_load_device_b32", TILE_LOAD, igl_matrix_load},
    {"__ingot_simdgroup_load_device_b16", TILE_LOAD, igl_matrix_load},
    {"__ingot_simdgroup_load_threadgroup_b32", TILE_LOAD, igl_matrix_load},
    {"__ingot_simdgroup_load_threadgroup_b16", TILE_LOAD, igl_matrix_load},
    {"__ingot_simdgroup_store_device_b32", EFFECT, igl_matrix_store},
    {"__ingot_simdgroup_store_device_b16", EFFECT, igl_matrix_store},
    {"__ingot_simdgroup_store_threadgroup_b32", EFFECT, igl_matrix_store},
    {"__ingot_simdgroup_store_threadgroup_b16", EFFECT, igl_matrix_store},

    {"__ingot_stream_b32", EFFECT, igv_emit_stream},
    {"__ingot_stream_b16", EFFECT, igv_emit_stream},
    {"__ingot_prefetch", EFFECT, igv_emit_prefetch},
    {"__ingot_streaming", EFFECT, igv_emit_nothing}, /* see cpu/codegen.c */
    {"__ingot_log", EFFECT, igl_log},
    {"__ingot_too_deep", EFFECT, igl_too_deep}, /* see middle/recursion.c */
    {"__ingot_never", FIXED, igl_never},        /* the driver's own: see middle/loop_exits.c */
    {"__ingot_in_bounds", SHAPED(igv_shape_in_bounds), igv_emit_in_bounds}, /* cpu/mark_bounds.c */
};

const struct igv_builtin *igv_builtin_find(const char *name) {
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (strcmp(table[i].name, name) == 0) {
            return &table[i];
        }
    }
    return NULL;
}
