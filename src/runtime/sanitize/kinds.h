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

/* race.c, race_shadow.c */
bool ig_race_open(struct ig_sanitized *dispatch);
void ig_race_close(struct ig_sanitized *dispatch);
void ig_race_begin_group(struct ig_sanitized *dispatch, const struct ingot_cpu_group *group);
void ig_race_tell(const struct ig_check *check);
void ig_race_describe(const struct ig_check *check, struct ig_lane_finding *finding,
                      struct ig_text *message);

/* barrier.c */
bool ig_barrier_open(struct ig_sanitized *dispatch);
void ig_barrier_close(struct ig_sanitized *dispatch);
void ig_barrier_begin_group(struct ig_sanitized *dispatch, const struct ingot_cpu_group *group);
void ig_barrier_end_group(struct ig_sanitized *dispatch, const struct ingot_cpu_group *group);
void ig_barrier_tell(const struct ig_check *check);
void ig_barrier_describe(const struct ig_check *check, struct ig_lane_finding *finding,
                         struct ig_text *message);

/* numeric.c */
void ig_numeric_describe(const struct ig_check *check, struct ig_lane_finding *finding,
                         struct ig_text *message);

/* uninitialised.c: also of lanes, whose findings go by way of values too */
void ig_uninitialised_describe(const struct ig_check *check, struct ig_lane_finding *finding,
                               struct ig_text *message);
uint32_t ig_uninitialised_ask(const struct ig_check *check);
void ig_uninitialised_tell(const struct ig_check *check);
bool ig_uninitialised_open(struct ig_sanitized *dispatch);
void ig_uninitialised_close(struct ig_sanitized *dispatch);
void ig_uninitialised_begin_group(struct ig_sanitized *dispatch,
                                  const struct ingot_cpu_group *group);
bool ig_lanes_open(struct ig_sanitized *dispatch);
void ig_lanes_begin_group(struct ig_sanitized *dispatch, const struct ingot_cpu_group *group);

#endif
