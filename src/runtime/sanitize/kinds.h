/* What the kinds of the sanitizer define, each in a file of its own, for the table in kinds.c. */
#ifndef INGOT_RUNTIME_SANITIZE_KINDS_H
#define INGOT_RUNTIME_SANITIZE_KINDS_H

#include "runtime/sanitize/sanitizer.h"

/* bounds.c */
void ig_bounds_describe(const struct ig_check *check, struct ig_lane_finding *finding,
                        struct ig_text *message);
uint32_t ig_bounds_ask(const struct ig_check *check);

/* arithmetic.c */
void ig_alignment_describe(const struct ig_check *check, struct ig_lane_finding *finding,
                           struct ig_text *message);
void ig_arithmetic_describe(const struct ig_check *check, struct ig_lane_finding *finding,
                            struct ig_text *message);

#endif
