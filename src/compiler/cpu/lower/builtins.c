/*
 * The CPU's table of built-ins: the function that makes code of each row of ir/builtins.def and,
 * where the result may grow from lane to lane, the one that says how.
 *
 * A row that the table of built-ins gives to this back end and that is not here does not compile:
 * "cpu_makes_NAME undeclared".
 */
#include "compiler/cpu/lower/lower.h"

#define LOWERINGS(X)                                                                               \
    X(arg_device, igl_arg_buffer, NULL)                                                            \
    X(arg_constant, igl_arg_buffer, NULL)                                                          \
    X(arg_threadgroup, igl_arg_threadgroup, NULL)                                                  \
    X(thread_position_in_grid, igl_thread_position_in_grid, igl_shape_position_in_grid)            \
    X(thread_position_in_threadgroup, igl_thread_position_in_threadgroup,                          \
      igl_shape_position_in_threadgroup)                                                           \
    X(thread_index_in_threadgroup, igl_thread_index_in_threadgroup, igl_shape_lane)                \
    X(thread_index_in_simdgroup, igl_thread_index_in_simdgroup, igl_shape_lane)                    \
    X(threadgroup_position_in_grid, igl_threadgroup_position_in_grid, NULL)                        \
    X(threads_per_threadgroup, igl_threads_per_threadgroup, NULL)                                  \
    X(dispatch_threads_per_threadgroup, igl_dispatch_threads_per_threadgroup, NULL)                \
    X(threads_per_grid, igl_threads_per_grid, NULL)                                                \
    X(threadgroups_per_grid, igl_threadgroups_per_grid, NULL)                                      \
    X(simdgroup_index_in_threadgroup, igl_simdgroup_index_in_threadgroup, NULL)                    \
    X(simdgroups_per_threadgroup, igl_simdgroups_per_threadgroup, NULL)                            \
    X(dispatch_simdgroups_per_threadgroup, igl_dispatch_simdgroups_per_threadgroup, NULL)          \
    X(barrier, igl_barrier, NULL)                                                                  \
    X(fence, igl_fence, NULL)                                                                      \
    X(simd_shuffle_b16, igl_shuffle, NULL)                                                         \
    X(simd_shuffle_b32, igl_shuffle, NULL)                                                         \
    X(simd_shuffle_b64, igl_shuffle, NULL)                                                         \
    X(simd_shuffle_f32, igl_shuffle, NULL)                                                         \
    X(simd_ballot, igl_ballot, NULL)                                                               \
    X(simd_sum_f32, igl_reduce_add, NULL)                                                          \
    X(simd_sum_i32, igl_reduce_add, NULL)                                                          \
    X(simd_sum_u32, igl_reduce_add, NULL)                                                          \
    X(simd_sum_i64, igl_reduce_add, NULL)                                                          \
    X(simd_sum_u64, igl_reduce_add, NULL)                                                          \
    X(simd_product_f32, igl_reduce_mul, NULL)                                                      \
    X(simd_product_i32, igl_reduce_mul, NULL)                                                      \
    X(simd_product_u32, igl_reduce_mul, NULL)                                                      \
    X(simd_product_i64, igl_reduce_mul, NULL)                                                      \
    X(simd_product_u64, igl_reduce_mul, NULL)                                                      \
    X(simd_min_f32, igl_reduce_min, NULL)                                                          \
    X(simd_min_i32, igl_reduce_min, NULL)                                                          \
    X(simd_min_u32, igl_reduce_umin, NULL)                                                         \
    X(simd_min_i64, igl_reduce_min, NULL)                                                          \
    X(simd_min_u64, igl_reduce_umin, NULL)                                                         \
    X(simd_max_f32, igl_reduce_max, NULL)                                                          \
    X(simd_max_i32, igl_reduce_max, NULL)                                                          \
    X(simd_max_u32, igl_reduce_umax, NULL)                                                         \
    X(simd_max_i64, igl_reduce_max, NULL)                                                          \
    X(simd_max_u64, igl_reduce_umax, NULL)                                                         \
    X(simd_and_u32, igl_reduce_and, NULL)                                                          \
    X(simd_or_u32, igl_reduce_or, NULL)                                                            \
    X(simd_xor_u32, igl_reduce_xor, NULL)                                                          \
    X(simd_and_u64, igl_reduce_and, NULL)                                                          \
    X(simd_or_u64, igl_reduce_or, NULL)                                                            \
    X(simd_xor_u64, igl_reduce_xor, NULL)                                                          \
    X(simd_prefix_inclusive_sum_f32, igl_inclusive_sum, NULL)                                      \
    X(simd_prefix_inclusive_sum_u32, igl_inclusive_sum, NULL)                                      \
    X(simd_prefix_inclusive_sum_u64, igl_inclusive_sum, NULL)                                      \
    X(simd_prefix_exclusive_sum_f32, igl_exclusive_sum, NULL)                                      \
    X(simd_prefix_exclusive_sum_u32, igl_exclusive_sum, NULL)                                      \
    X(simd_prefix_exclusive_sum_u64, igl_exclusive_sum, NULL)                                      \
    X(simd_prefix_inclusive_product_f32, igl_inclusive_product, NULL)                              \
    X(simd_prefix_inclusive_product_u32, igl_inclusive_product, NULL)                              \
    X(simd_prefix_inclusive_product_u64, igl_inclusive_product, NULL)                              \
    X(simd_prefix_exclusive_product_f32, igl_exclusive_product, NULL)                              \
    X(simd_prefix_exclusive_product_u32, igl_exclusive_product, NULL)                              \
    X(simd_prefix_exclusive_product_u64, igl_exclusive_product, NULL)                              \
    X(simdgroup_mma, igl_matrix_multiply, NULL)                                                    \
    X(simdgroup_load_device_b32, igl_matrix_load, NULL)                                            \
    X(simdgroup_load_device_b16, igl_matrix_load, NULL)                                            \
    X(simdgroup_load_threadgroup_b32, igl_matrix_load, NULL)                                       \
    X(simdgroup_load_threadgroup_b16, igl_matrix_load, NULL)                                       \
    X(simdgroup_load_device_b8, igl_matrix_load, NULL)                                             \
    X(simdgroup_load_threadgroup_b8, igl_matrix_load, NULL)                                        \
    X(simdgroup_load_pairs_device_b16, igl_matrix_load, NULL)                                      \
    X(simdgroup_load_pairs_threadgroup_b16, igl_matrix_load, NULL)                                 \
    X(simdgroup_store_device_b32, igl_matrix_store, NULL)                                          \
    X(simdgroup_store_device_b16, igl_matrix_store, NULL)                                          \
    X(simdgroup_store_threadgroup_b32, igl_matrix_store, NULL)                                     \
    X(simdgroup_store_threadgroup_b16, igl_matrix_store, NULL)                                     \
    X(bfloat_of_sum, igl_bfloat_of_sum, NULL)                                                      \
    X(stream_b32, igv_emit_stream, NULL)                                                           \
    X(stream_b16, igv_emit_stream, NULL)                                                           \
    X(prefetch, igv_emit_prefetch, NULL)                                                           \
    X(streaming, igv_emit_nothing, NULL)                                                           \
    X(log, igl_log, NULL)                                                                          \
    X(too_deep, igl_too_deep, NULL)                                                                \
    X(trap, igl_trap, NULL)                                                                        \
    X(never, igl_never, NULL)                                                                      \
    X(kept_argument_b32, igl_kept_argument, NULL)                                                  \
    X(kept_argument_b64, igl_kept_argument, NULL)                                                  \
    X(kept_pass_b32, igl_kept_pass, NULL)                                                          \
    X(kept_pass_b64, igl_kept_pass, NULL)                                                          \
    X(kept_call, igl_kept_call, NULL)                                                              \
    X(kept_result_b32, igl_kept_result, NULL)                                                      \
    X(kept_result_b64, igl_kept_result, NULL)                                                      \
    X(kept_return_b32, igl_kept_return, NULL)                                                      \
    X(kept_return_b64, igl_kept_return, NULL)                                                      \
    X(san_expect, igl_san_expect, NULL)                                                            \
    X(san_tell, igl_san_tell, NULL)                                                                \
    X(san_ask, igl_san_ask, NULL)                                                                  \
    X(san_access, igl_san_access, NULL)                                                            \
    X(san_bound, igl_san_bound, NULL)                                                              \
    X(san_all, igl_san_all, NULL)                                                                  \
    X(san_count, igl_san_count, NULL)                                                              \
    X(san_is_unwritten, igl_san_is_unwritten, NULL)                                                \
    X(san_distance, igl_san_distance, NULL)                                                        \
    X(san_written, igl_san_written, NULL)                                                          \
    X(in_bounds, igv_emit_in_bounds, igv_shape_in_bounds)

static const struct igv_lowering lowerings[IGI_BUILTIN_COUNT] = {
#define ENTRY(id, function, of_shape) [IGI_##id] = {.lower = function, .shape = of_shape},
    LOWERINGS(ENTRY)
#undef ENTRY
};

/* ---- is the table whole? ---- */
enum {
#define MAKES(id, function, of_shape) cpu_makes_##id = IGI_##id,
    LOWERINGS(MAKES)
#undef MAKES
};
#define CHECK(id)      _Static_assert(cpu_makes_##id, "");
#define CHECK_BOTH(id) CHECK(id)
#define CHECK_CPU(id)  CHECK(id)
#define CHECK_NVPTX(id)
#define CHECK_READ(id)
#define CHECK_FOLDED(id)
#define CHECK_PASSES(id)
#define BUILTIN(id, family, memory, lanes, result, maximum, flags, handled, signature)             \
    CHECK_##handled(id)
#define MARKER(id, name, family, memory, lanes, result, flags, handled, suffix, signature)         \
    CHECK_##handled(id)
#include "compiler/ir/builtins.def"

static const struct igv_lowering *lowering_of(enum igi_builtin builtin) {
    return lowerings[builtin].lower ? &lowerings[builtin] : NULL;
}

const struct igv_lowerings igl_lowerings = {
    .of = lowering_of,
    .atomic = igl_lower_atomic,
    .most_registers = igl_most_registers,
    .permute_registers = igl_permute_registers,
};
