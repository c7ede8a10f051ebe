/*
 * The CUDA device, between its files.
 *
 * One opened device holds the primary context of its GPU, which it shares with other libraries
 * of the process. One lock per device guards its streams; it is held while work is queued, never
 * while something is waited for: waits ask again and again, and give the lock back in between.
 *
 * A fault loses the context: everything that is freed later is only forgotten, every call says
 * INGOT_DEVICE_LOST, and opening the device again makes a new context.
 */
#ifndef INGOT_RUNTIME_CUDA_H
#define INGOT_RUNTIME_CUDA_H

#include <pthread.h>

#include "runtime/cuda/driver.h"
#include "runtime/objects.h"

struct cuda_device {
    struct ingot_device base;
    const struct cuda_driver *driver;
    cu_device handle;
    int ordinal;
    unsigned generation; /* of the GPU's context, counted over resets */
    cu_context context;
    cu_stream own_stream; /* for zeroing */
    cu_event clock;       /* NULL until a time is asked for; under the lock, with its time */
    double clock_time;
    int capability; /* 90 for 9.0 */
    uint32_t max_grid[3];
    bool is_blocking; /* $INGOT_CUDA_BLOCKING: every dispatch is waited for */
    bool lenient_barriers;
    bool is_remote; /* the driver is in a process of its own, which `handle` names (remote.h) */
    char *remote_reason; /* since when: "kernel … failed: …" */
    bool is_serial; /* $INGOT_CUDA_SERIAL: no kernel starts before the one ahead of it has ended */

    pthread_mutex_t lock; /* recursive */
    atomic_bool is_lost;
    ingot_status lost_status; /* under lock, as all below */
    char *lost_reason;
    struct cuda_stream *streams;
    struct cuda_code *logging;  /* the code that can write messages */
    struct cuda_code *stopping; /* the code with barriers that threads may miss */
    uint32_t stream_count;      /* that were opened or wrapped */
    bool is_shared;             /* a stream of another library was wrapped */
};

/* Where an argument goes in the parameter block. */
struct cuda_place {
    uint32_t index;          /* [[buffer(index)]] */
    uint32_t at;             /* of its address */
    uint32_t bytes_at, room; /* of inline bytes */
    bool is_constant_reference;
};

struct cuda_code {
    cu_module module;
    cu_function function;
    char *kernel;
    uint32_t block_bytes;
    uint32_t threadgroups_at, threadgroup_slots;
    uint32_t static_bytes; /* that the driver places, rounded up to 16 */
    uint32_t panel_bytes;  /* that the code would like to have besides */
    cu_pointer log;        /* 0: it writes no messages */
    struct cuda_code *next_logging;
    bool has_run;    /* since its log was read */
    cu_pointer stop; /* where it says that threads missed a barrier; 0: it cannot */
    struct cuda_code *next_stopping;
    bool may_have_stopped; /* since that was read */
    bool is_in_graph;      /* was captured: it may run at any time */
    bool has_dynamic;      /* threadgroup memory of which the launch says the size */
    bool waits;            /* begins with INGOT_CUDA_WAIT */
    uint32_t max_threads;
    uint32_t place_count;
    struct cuda_place places[];
};

enum { CUDA_RECENT = 4 };

/* Work that is not known to be done. */
struct cuda_pending {
    const struct cuda_code *recent[CUDA_RECENT]; /* different kernels, the latest first */
    uint32_t recent_count;
    uint64_t dispatches;
    double since, allowed; /* seconds: from the first dispatch on, for all of them */
    bool is_unlimited;
};

struct cuda_stream {
    struct cuda_device *device;
    struct cuda_stream *next;
    cu_stream handle;
    uint32_t number; /* of the device's streams; never 0 */
    bool is_wrapped;
    bool is_busy;
    uint64_t queued; /* counts everything */
    struct cuda_pending pending;
    struct ig_error error;
    cu_pointer staging; /* for bytes that the block has no room for */
    uint64_t staging_size;
};

/* ---- cuda_failure.c: what went wrong, and waiting ---- */

double cuda_now(void);
/* Makes the device's context current for the scope; fails when the device is lost. */
struct cuda_scope {
    bool is_pushed, is_relaxed;
    int mode;
};
ingot_status cuda_enter(struct cuda_device *device, struct cuda_scope *scope,
                        struct ig_error *error);
/* The same, and what must not be done while some stream is captured is allowed. */
ingot_status cuda_enter_relaxed(struct cuda_device *device, struct cuda_scope *scope,
                                struct ig_error *error);
void cuda_leave(struct cuda_device *device, struct cuda_scope *scope);
/* The thread has no context again if it has the device's from cuda_enter. */
void cuda_forget_current(struct cuda_device *device);

bool cuda_is_lost(struct cuda_device *device);
/* INGOT_DEVICE_LOST with the reason, or INGOT_OK. */
ingot_status cuda_check_lost(struct cuda_device *device, struct ig_error *error);
/* The error of a failed call; a fault loses the device. */
ingot_status cuda_fail(struct cuda_device *device, cu_result result, struct ig_error *error,
                       const char *format, ...) __attribute__((format(printf, 4, 5)));
/* The GPU's context has failed, or has to be given up. */
void cuda_lose(struct cuda_device *device, cu_result result);
void cuda_lose_for_time(struct cuda_device *device, const struct cuda_pending *pending);
/* How often the GPU's context was reset; whether it has failed. */
unsigned cuda_generation(int ordinal);
bool cuda_context_failed(int ordinal);
void cuda_context_replaced(int ordinal);
/* Has the driver refused the process another one? That stays so. */
bool cuda_context_is_refused(int ordinal);
void cuda_context_refused(int ordinal);
/* What the GPU's last context of this process failed of, malloc'ed; NULL when none has. */
char *cuda_context_failure(int ordinal);
bool cuda_result_is_fatal(cu_result result);

/* One look at a stream: CU_SUCCESS, CU_NOT_READY or what is wrong. With the lock held. */
cu_result cuda_stream_look(struct cuda_stream *stream);
/* It has work of ours that is not done; false while it is captured. */
bool cuda_stream_works(struct cuda_stream *stream);
/* Looks until there is another answer than CU_NOT_READY, with the lock held. */
cu_result cuda_stream_settle(struct cuda_stream *stream);
/* Whether the driver reads this memory of the host only after a call has returned. */
bool cuda_is_page_locked(const struct cuda_driver *driver, const void *host);
/* Is work on the stream recorded into a graph instead of run? */
bool cuda_stream_is_captured(const struct cuda_stream *stream);
/* A pause between two looks that grows with `round`. */
void cuda_pause(unsigned round);
/* Until no stream has work, or the device is lost. Without the lock. */
void cuda_drain(struct cuda_device *device);

/* ---- the others ---- */

/* The best level of code for a compute capability, 90 for 9.0. */
const char *cuda_code_level(int capability);
const struct ig_code *cuda_code_find(ingot_device *device, const struct ig_variant *variant);
ingot_status cuda_code_load(ingot_device *device, const struct ig_variant *variant,
                            const struct ig_code *code, void **loaded, struct ig_error *error);
uint32_t cuda_code_threads(const void *loaded);
void cuda_code_unload(ingot_device *device, void *loaded);
/* A variable of the module, of `size` bytes at least; 0 if there is none in the code. */
ingot_status cuda_code_variable(struct cuda_device *device, const struct cuda_code *code,
                                const struct ig_code *image, const char *name, size_t size,
                                cu_pointer *address, struct ig_error *error);
/* Memory of the device, now; with the context current. */
cu_result cuda_fetch(struct cuda_device *device, cu_pointer from, void *to, size_t size);

ingot_status cuda_buffer_wrap_host(ingot_device *device, ingot_buffer *buffer,
                                   struct ig_error *error);
ingot_status cuda_buffer_reach(ingot_device *device, ingot_buffer *buffer, struct ig_error *error);
void cuda_unwrap_host(struct cuda_device *device, const ingot_buffer *buffer);
/* A copy of which one side or both are the host's. */
ingot_status cuda_host_copy(struct cuda_stream *stream, ingot_buffer *source,
                            uint64_t source_offset, ingot_buffer *destination,
                            uint64_t destination_offset, uint64_t length, struct ig_error *error);
ingot_status cuda_buffer_allocate_shared(ingot_device *device, ingot_buffer *buffer,
                                         struct ig_error *error);
ingot_status cuda_buffer_allocate(ingot_device *device, ingot_buffer *buffer,
                                  struct ig_error *error);
void cuda_buffer_free(ingot_device *device, ingot_buffer *buffer);
ingot_status cuda_buffer_wrap(ingot_device *device, ingot_buffer *buffer, struct ig_error *error);
ingot_status cuda_buffer_write(ingot_device *device, ingot_buffer *buffer, const void *bytes,
                               uint64_t size, struct ig_error *error);
/* Why memory or a stream of this process cannot be used by a device that has its own. */
ingot_status cuda_not_of_this_process(const struct cuda_device *device, const char *what,
                                      const void *address, struct ig_error *error);
void cuda_buffer_unwrap(ingot_device *device, ingot_buffer *buffer);

ingot_status cuda_stream_open(ingot_device *device, void **stream, struct ig_error *error);
bool cuda_stream_is_recorded(void *stream);
ingot_status cuda_stream_wrap(ingot_device *device, void *native, void **stream,
                              struct ig_error *error);
void cuda_stream_close(void *stream);
ingot_status cuda_stream_dispatch(void *stream, const struct ig_launch *launch,
                                  struct ig_error *error);
ingot_status cuda_stream_copy(void *stream, ingot_buffer *source, uint64_t source_offset,
                              ingot_buffer *destination, uint64_t destination_offset,
                              uint64_t length, struct ig_error *error);
ingot_status cuda_stream_fill(void *stream, ingot_buffer *buffer, uint64_t offset, uint64_t length,
                              uint8_t value, struct ig_error *error);
ingot_status cuda_stream_upload(void *stream, ingot_buffer *buffer, uint64_t offset,
                                const void *host, uint64_t length, struct ig_error *error);
ingot_status cuda_stream_download(void *stream, ingot_buffer *buffer, uint64_t offset, void *host,
                                  uint64_t length, struct ig_error *error);
ingot_status cuda_stream_record(void *stream, ingot_event *event, struct ig_error *error);
ingot_status cuda_stream_wait_event(void *stream, ingot_event *event, struct ig_error *error);
ingot_status cuda_stream_wait(void *stream, struct ig_error *error);

/* cuda_launch.c: the parameter block of a dispatch and its launch, with the lock held; the context
 * need not be current. */
ingot_status cuda_launch(struct cuda_stream *stream, const struct ig_launch *launch,
                         struct ig_error *error);

/* Brackets around queued work: false when it is dropped (INGOT_OK) or refused (*status). */
bool cuda_stream_begin(struct cuda_stream *stream, struct cuda_scope *scope, ingot_status *status,
                       struct ig_error *error);
/* Turns the result of a call into the status of the operation `what`. */
ingot_status cuda_stream_end(struct cuda_stream *stream, struct cuda_scope *scope, cu_result result,
                             const char *what, struct ig_error *error);

/* cuda_log.c: `code`, which was loaded from `image`, may have messages from now on, and no more. */
ingot_status cuda_log_open(struct cuda_device *device, struct cuda_code *code,
                           const struct ig_code *image, struct ig_error *error);
void cuda_log_close(struct cuda_device *device, struct cuda_code *code);
/* Hands on what kernels wrote, when no stream has work; without the lock. Fails when a kernel says
 * that it could not go on. */
ingot_status cuda_log_read(struct cuda_device *device, struct ig_error *error);

/* cuda_stop.c: the same for barriers that threads missed, which become errors of streams; reading
 * and the note of a launch with the lock held. What nobody else had is for `waiting`. */
ingot_status cuda_stop_open(struct cuda_device *device, struct cuda_code *code,
                            const struct ig_code *image, struct ig_error *error);
void cuda_stop_close(struct cuda_device *device, struct cuda_code *code);
ingot_status cuda_stop_read(struct cuda_device *device, struct cuda_stream *waiting,
                            struct ig_error *error);

ingot_status cuda_event_open(ingot_device *device, void **event, struct ig_error *error);
void cuda_event_close(void *event);
ingot_status cuda_event_wait(void *event, struct ig_error *error);
bool cuda_event_done(void *event);
bool cuda_event_seconds(void *event, double *seconds);
bool cuda_event_elapsed(void *start, void *end, double *seconds);

#endif
