/*
 * Host side of kernels/common/elementwise.h: operations that take one element after the other,
 * a block of them per SIMD-group. They share these knobs.
 */
#ifndef INGOT_OPS_ELEMENTWISE_H
#define INGOT_OPS_ELEMENTWISE_H

#include "base/scalar.h"
#include "ops/call.h"

enum { IGO_ELEMENTWISE_SIMD, IGO_ELEMENTWISE_BLOCK, IGO_ELEMENTWISE_WIDE, IGO_ELEMENTWISE_KNOBS };

#define IGO_ELEMENTWISE_KNOB_LIST                                                                  \
    [IGO_ELEMENTWISE_SIMD] = {.name = "simd",                                                      \
                              .help = "SIMD-groups per threadgroup",                               \
                              .fallback = 8,                                                       \
                              .minimum = 1,                                                        \
                              .maximum = 32,                                                       \
                              .power_of_two = true},                                               \
    [IGO_ELEMENTWISE_BLOCK] = {.name = "block",                                                    \
                               .help = "elements per SIMD-group",                                  \
                               .fallback = 512,                                                    \
                               .minimum = 128,                                                     \
                               .maximum = 65536,                                                   \
                               .power_of_two = true},                                              \
    [IGO_ELEMENTWISE_WIDE] = {                                                                     \
        .name = "wide",                                                                            \
        .help = "1: a lane takes four neighbours where memory is aligned to them",                 \
        .fallback = 1,                                                                             \
        .minimum = 0,                                                                              \
        .maximum = 1}

/* No two elements of the tensor share memory, as they would with a stride of 0. */
bool igo_no_self_overlap(struct igo_call *call, const char *name, const ingot_tensor *tensor);

/* The first element is aligned to four of its type. */
static inline bool igo_aligned_to_four(const ingot_tensor *tensor) {
    return (ingot_buffer_address(tensor->buffer) + tensor->offset) %
               (4 * ig_scalar_size(tensor->type)) ==
           0;
}

/* Threadgroups of `simds` SIMD-groups for `count` SIMD-groups, in rows when there are very many.
 * Kernels find their number with simdgroup_number, and ignore numbers past the end. */
static inline void igo_launch_simdgroups(struct igo_launch *launch, uint64_t count,
                                         uint32_t simds) {
    const uint64_t row = (uint64_t)1 << 20;
    uint64_t groups = (count + simds - 1) / simds, rows = (groups + row - 1) / row;
    launch->threadgroups[0] = (uint32_t)(rows > 1 ? row : groups);
    launch->threadgroups[1] = (uint32_t)(rows > 1 ? rows : 1);
    launch->threadgroups[2] = 1;
    launch->group[0] = 32 * simds;
    launch->group[1] = launch->group[2] = 1;
    launch->whole_simdgroups = true;
}

#endif
