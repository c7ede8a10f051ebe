/* The kinds of the sanitizer: what each does when sanitized code calls. A row per kind that has
 * something of its own; the others report the compiler's words (ingot_cpu_place.message). */
#include "runtime/sanitize/kinds.h"

const struct ig_sanitize_kind_ops ig_sanitize_kinds[IG_SANITIZE_COUNT] = {
    [IG_SANITIZE_bounds] = {.describe = ig_bounds_describe, .ask = ig_bounds_ask},
    [IG_SANITIZE_alignment] = {.describe = ig_alignment_describe},
    [IG_SANITIZE_race] = {.describe = ig_race_describe,
                          .tell = ig_race_tell,
                          .open = ig_race_open,
                          .close = ig_race_close,
                          .begin_group = ig_race_begin_group},
    [IG_SANITIZE_barrier] = {.describe = ig_barrier_describe,
                             .tell = ig_barrier_tell,
                             .open = ig_barrier_open,
                             .close = ig_barrier_close,
                             .begin_group = ig_barrier_begin_group,
                             .end_group = ig_barrier_end_group},
    [IG_SANITIZE_uninitialised] = {.describe = ig_uninitialised_describe,
                                   .ask = ig_uninitialised_ask,
                                   .tell = ig_uninitialised_tell,
                                   .open = ig_uninitialised_open,
                                   .close = ig_uninitialised_close,
                                   .begin_group = ig_uninitialised_begin_group},
    [IG_SANITIZE_lanes] = {.describe = ig_uninitialised_describe,
                           .open = ig_lanes_open,
                           .begin_group = ig_lanes_begin_group},
    [IG_SANITIZE_numeric] = {.describe = ig_numeric_describe},
    [IG_SANITIZE_arithmetic] = {.describe = ig_arithmetic_describe},
};
