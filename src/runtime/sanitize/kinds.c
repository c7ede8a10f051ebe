/* The kinds of the sanitizer: what each does when sanitized code calls. A row per kind that has
 * something of its own; the others report the compiler's words (ingot_cpu_place.message). */
#include "runtime/sanitize/kinds.h"

const struct ig_sanitize_kind_ops ig_sanitize_kinds[IG_SANITIZE_COUNT] = {
    [IG_SANITIZE_bounds] = {.describe = ig_bounds_describe, .ask = ig_bounds_ask},
    [IG_SANITIZE_alignment] = {.describe = ig_alignment_describe},
    [IG_SANITIZE_arithmetic] = {.describe = ig_arithmetic_describe},
};
