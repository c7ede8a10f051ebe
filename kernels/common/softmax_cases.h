/* What the cases of softmax and of its logarithm share, on top of row_cases.h: the slots, and the
 * backward, whose call has y, but no x. */
#ifndef INGOT_KERNELS_COMMON_SOFTMAX_CASES_H
#define INGOT_KERNELS_COMMON_SOFTMAX_CASES_H

#include "common/row_cases.h"

enum { X, MASK, OUT, Y, DY, DX };

/* With the operation's own flag for "in place". */
#define SOFTMAX_BACKWARD_CASES(in_place)                                                           \
    {.name = "64x1000 in place", .n = {64, 1000}, .flags = in_place},                              \
        {.name = "17x640 strided", .n = {17, 640, 701, 3}},                                        \
        {.name = "19x33 in place", .n = {19, 33}, .flags = in_place},                              \
        {.name = "9x64", .n = {9, 64}}, {.name = "21x97 strided", .n = {21, 97, 101, 3}},          \
        {.name = "5x128 in place",                                                                 \
         .n = {5, 128},                                                                            \
         .flags = in_place,                                                                        \
         .uses = IGH_CHECK | IGH_SPECIALS},                                                        \
        {.name = "3x5 far apart", .n = {3, 5, ROW_FAR}}, {.name = "1x100003", .n = {1, 100003}},   \
        {.name = "64x256", .n = {64, 256}, .uses = IGH_ALL},                                       \
        {.name = "512x1024", .n = {512, 1024}, .uses = IGH_BENCH | IGH_TUNE}, {                    \
        .name = "4096x4096", .n = {4096, 4096}, .uses = IGH_BENCH | IGH_TUNE                       \
    }

/* In the gradient check x is what is added to the arguments that y came from: 0. */
static inline void softmax_declare_backward(struct igh_run *run, bool in_place, struct igh_fill y) {
    row_input(run, Y, "y", y);
    row_input(run, DY, "dy", (struct igh_fill){IGH_NORMAL, 0, 1});
    if (!run->for_speed) {
        igh_input(run, X, "x", INGOT_SCALAR_F32, 2, run->test->n,
                  (struct igh_fill){IGH_CONSTANT, 0, 0});
        igh_no_specials(run, X);
    }
    row_result(run, in_place, DY, DX, "dx");
}

static inline struct igh_bound softmax_bound_backward(const struct igh_run *run, int slot) {
    (void)slot;
    return (struct igh_bound){.ulps = row_ulps(run, (double)run->test->n[1]),
                              .absolute = 16 * ROW_EPSILON};
}

static inline void softmax_cost(const struct igh_run *run, double *bytes, double *flops) {
    row_cost(run, X, 2, 5, bytes, flops);
}

static inline void softmax_cost_backward(const struct igh_run *run, double *bytes, double *flops) {
    row_cost(run, Y, 3, 4, bytes, flops);
}

#endif
