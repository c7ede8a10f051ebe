/*
 * The sanitizer's half in the runtime (docs/design/sanitizer.md): what a device has found, what is
 * live, and what each kind does when sanitized code calls.
 *
 * A device with checks has one ig_sanitizer. A dispatch has an ig_sanitized, whose first member is
 * the table that kernel code sees. Kinds are rows of kinds.c: what they say in a report, and what
 * they do when told or asked.
 */
#ifndef INGOT_RUNTIME_SANITIZE_H
#define INGOT_RUNTIME_SANITIZE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/cpu_abi.h"
#include "base/sanitize.h"
#include "runtime/objects.h"

struct ig_finding; /* findings.c */

/* ---- one device ---- */
struct ig_range {
    uint64_t start, end;
};
enum { IG_MOST_RELEASED = 64, IG_MOST_SPARE = 512 };
struct ig_spare_memory {
    void *memory;
    size_t bytes, units; /* units: its owner's */
};

struct ig_sanitizer {
    uint32_t kinds;
    void (*on_finding)(void *context, const ingot_finding *finding);
    void *context;
    pthread_mutex_t lock; /* of what follows */
    struct ig_finding **findings;
    size_t finding_count, finding_capacity;
    size_t told;                /* of them, how many on_finding has had */
    pthread_mutex_t range_lock; /* of what follows; may be taken under `lock` */
    struct ig_range *live;      /* buffers, in order of their addresses */
    size_t live_count, live_capacity;
    struct ig_range released[IG_MOST_RELEASED]; /* the last ones */
    size_t released_count;
    atomic_uint_fast64_t change;    /* of live and released: the last one's number; 0: none yet */
    struct ig_unwritten *unwritten; /* buffers that were not written whole; of uninitialised */
    struct ig_spare_memory spare[IG_MOST_SPARE]; /* of race's shadows; empty: memory NULL */
    uint32_t generation;                         /* counts the dispatches with shadows */
};

/* sanitizer.c. The kinds that `desc` or $INGOT_SANITIZE ask for: sets device->sanitize and
 * device->sanitizer, or leaves them. */
ingot_status ig_sanitizer_open(ingot_device *device, const ingot_device_desc *desc,
                               struct ig_error *error);
void ig_sanitizer_close(ingot_device *device);
/* A buffer is there, or goes. */
void ig_sanitizer_add_range(struct ig_sanitizer *sanitizer, uint64_t start, uint64_t length);
void ig_sanitizer_remove_range(struct ig_sanitizer *sanitizer, uint64_t start, uint64_t length);
enum ig_liveness { IG_NOT_LIVE, IG_LIVE, IG_RELEASED };
/* The live range that this thread was told of last, if it still holds. */
bool ig_sanitizer_last_range(const struct ig_sanitizer *sanitizer, struct ig_range *range);
enum ig_liveness ig_sanitizer_look_up(struct ig_sanitizer *sanitizer, uint64_t address,
                                      uint64_t size);
/* uninitialised.c. A buffer that nobody has filled; some of it is written now, by the host, a blit
 * or a kernel; was any of it never written? */
void ig_sanitizer_add_unwritten(struct ig_sanitizer *sanitizer, uint64_t start, uint64_t length);
void ig_sanitizer_set_written(struct ig_sanitizer *sanitizer, uint64_t start, uint64_t length);
bool ig_sanitizer_is_unwritten(struct ig_sanitizer *sanitizer, uint64_t start, uint64_t length);
/* Hands new findings to on_finding, or prints them; called by threads that have waited. */
void ig_sanitizer_flush(struct ig_sanitizer *sanitizer);

/* ---- one dispatch ---- */
struct ig_sanitized {
    struct ingot_cpu_sanitizer table; /* what kernel code sees */
    struct ig_sanitizer *sanitizer;
    const struct ingot_cpu_places *places;
    const ingot_kernel *kernel;
    uint32_t buffer_slots, threadgroup_slots;
    void *const *buffers;   /* by slot */
    uint64_t *buffer_bytes; /* by slot, as bound */
    uint64_t *threadgroup_bytes;
    uint32_t threadgroup_memory;     /* bytes of all of it */
    uint32_t groups[3], group[3];    /* of the grid, and threads of a full one */
    void *states[IG_SANITIZE_COUNT]; /* the kinds' own, of this dispatch */
};
/* dispatch.c. `table` has the functions of the device; the rest is filled in. */
ingot_status ig_sanitized_open(const struct ig_launch *launch,
                               const struct ingot_cpu_places *places,
                               const struct ingot_cpu_sanitizer *table, void *const *buffers,
                               struct ig_sanitized **result, struct ig_error *error);
/* When the dispatch is done. */
void ig_sanitized_close(struct ig_sanitized *sanitized);
/* NULL: none are wanted. */
static inline bool ig_sanitized_wants(const struct ig_sanitized *sanitized,
                                      enum ig_sanitize_kind kind) {
    return sanitized && sanitized->sanitizer->kinds & ig_sanitize_bit(kind);
}
static inline struct ig_sanitized *ig_sanitized_of(const struct ingot_cpu_group *group) {
    return (struct ig_sanitized *)(uintptr_t)group->sanitizer;
}
/* What sanitized code asks of a device: the device's table calls these. */
void ig_sanitized_report(const struct ingot_cpu_group *group, uint32_t simdgroup, uint32_t mask,
                         uint32_t place, const uint64_t *values);
void ig_sanitized_tell(const struct ingot_cpu_group *group, uint32_t simdgroup, uint32_t mask,
                       uint32_t place, const uint64_t *first, const uint64_t *second);
uint32_t ig_sanitized_ask(const struct ingot_cpu_group *group, uint32_t simdgroup, uint32_t mask,
                          uint32_t place, const uint64_t *first, const uint64_t *second);
/* A threadgroup begins on the calling thread: `group` is the one whose calls follow. */
void ig_sanitized_begin_group(const struct ingot_cpu_group *group);
/* All its SIMD-groups have ended. */
void ig_sanitized_end_group(const struct ingot_cpu_group *group);
/* race.c: ingot_cpu_sanitizer.access. */
void ig_race_access(const struct ingot_cpu_group *group, uint32_t simdgroup, uint32_t mask,
                    uint32_t place, uint64_t base, int64_t stride, const uint64_t *values);

/* ---- kinds ---- */
/* A call of sanitized code, as a kind gets it. */
struct ig_check {
    const struct ingot_cpu_group *group;
    struct ig_sanitized *dispatch;
    uint32_t simdgroup, mask;
    uint32_t number; /* of the place */
    const struct ingot_cpu_place *place;
    const uint64_t *first, *second; /* report: first alone */
};
/* What one lane is found to do. */
struct ig_lane_finding {
    uint32_t lane;
    bool has_offset;
    int64_t offset;
    bool has_other;                      /* another thread, or where a bad value came from, at */
    const struct ingot_cpu_place *other; /* this place, or NULL: that is not known */
    uint32_t other_threadgroup[3], other_thread[3];
};
/* A kind; every entry may be NULL. */
struct ig_sanitize_kind_ops {
    /* The sentence of a finding, without its place; and its offset into `finding`. */
    void (*describe)(const struct ig_check *check, struct ig_lane_finding *finding,
                     struct ig_text *message);
    void (*tell)(const struct ig_check *check);
    uint32_t (*ask)(const struct ig_check *check);
    /* The kind's own state of a dispatch, in dispatch->states[kind]; false: no memory. */
    bool (*open)(struct ig_sanitized *dispatch);
    void (*close)(struct ig_sanitized *dispatch);
    void (*begin_group)(struct ig_sanitized *dispatch, const struct ingot_cpu_group *group);
    void (*end_group)(struct ig_sanitized *dispatch, const struct ingot_cpu_group *group);
};
extern const struct ig_sanitize_kind_ops ig_sanitize_kinds[IG_SANITIZE_COUNT]; /* kinds.c */

/* findings.c: `mask`'s lanes do what the place's kind forbids. The first finding of a place keeps
 * the first lane, all count. `finding` may be NULL: then describe gets an empty one. */
void ig_sanitize_found(const struct ig_check *check, uint32_t mask,
                       const struct ig_lane_finding *finding);
/* The position in its threadgroup of a lane. */
void ig_sanitize_position(const struct ig_check *check, uint32_t lane, uint32_t thread[3]);
/* Frees a finding and what it points to. */
void ig_finding_free(struct ig_finding *finding);
/* The public form. */
void ig_finding_get(const struct ig_finding *finding, ingot_finding *out);

/* report.c: the text of a finding, several lines. */
void ig_report_text(const ingot_finding *finding, struct ig_text *out);

/* What kinds say alike. */
/* "load", "store", "atomic"; "" for others. */
const char *ig_access_name(uint32_t access);
const char *ig_space_name(uint32_t space);
/* The argument that a place is about, or NULL. */
const struct ig_argument *ig_place_argument(const struct ig_sanitized *dispatch,
                                            const struct ingot_cpu_place *place);
/* `buffer(0) "out"`, `threadgroup array "s"`, … */
void ig_say_object(const struct ig_check *check, struct ig_text *out);

#endif
