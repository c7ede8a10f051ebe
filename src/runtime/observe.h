/*
 * Watching a program: where its time goes (docs/design/profiling.md).
 *
 * Two variables turn it on for the whole process, when its first device is opened:
 *   INGOT_TRACE=FILE       a timeline for Perfetto, written at the end ("%p" is the process's
 * number) INGOT_PROFILE=FOLDER   FOLDER/PID.profile (base/profile.h), written at the end and
 * whenever a device is closed INGOT_PROFILE_COUNT=1  with INGOT_PROFILE: kernels of CPU devices are
 * compiled with counters Without them the cost is that of looking at ig_observed.
 *
 * A command of a stream is timed by an event before and one behind it, on any device. Locks:
 * ig_spans.lock of a stream, and inside it those of the trace and of the profile.
 */
#ifndef INGOT_RUNTIME_OBSERVE_H
#define INGOT_RUNTIME_OBSERVE_H

#include "base/profile.h"
#include "runtime/objects.h"

/* Set once, before there is a device; a forked child turns the trace off. */
struct ig_observed {
    bool any;      /* of the following */
    bool traces;   /* INGOT_TRACE */
    bool profiles; /* INGOT_PROFILE */
    bool counts;   /* INGOT_PROFILE_COUNT */
};
extern struct ig_observed ig_observed;

/* ---- observe.c ---- */

/* Reads the variables, the first time. An error where they cannot be followed. */
ingot_status ig_observe_start(struct ig_error *error);
/* A device was opened, or is about to be closed. */
void ig_observe_device(ingot_device *device);
void ig_observe_device_closed(ingot_device *device);
uint64_t ig_observe_now(void); /* ns, monotonic */

/* ---- spans.c: commands of streams ---- */

struct ig_spans;
struct ig_spans *ig_spans_open(ingot_stream *stream); /* NULL: memory is out */
/* Collects what is done, frees the rest; the stream's work is over. */
void ig_spans_close(ingot_stream *stream);

struct ig_command_about {
    enum { IG_COMMAND_KERNEL, IG_COMMAND_MOVE } kind;
    const struct ig_launch *launch; /* a kernel's */
    enum ig_move move;
    uint64_t bytes;
};
struct ig_span;
/* Around the call that queues a command, which `status` is the result of. */
struct ig_span *ig_span_begin(ingot_stream *stream);
void ig_span_end(ingot_stream *stream, struct ig_span *span, const struct ig_command_about *about,
                 ingot_status status);
/* Takes what is done to the trace and the profile. */
void ig_spans_collect(ingot_stream *stream);
/* Of all streams, at the end of the program; not of devices whose driver may be gone by then. */
void ig_spans_collect_all(void);
void ig_spans_forget(void); /* in a forked child: the list's lock may be another thread's */
/* Something that the calling thread itself did, since `start`. */
void ig_observe_move(ingot_stream *stream, enum ig_move move, uint64_t bytes, uint64_t start);
void ig_observe_wait(uint64_t start);
void ig_observe_compilation(const char *kernel, uint64_t start);

/* ---- trace.c: the timeline ---- */

enum { IG_TRACE_HOST = 0, IG_TRACE_WORKERS = 100000 /* tracks of workers, from there on */ };
struct ig_trace_event {
    uint32_t process;       /* IG_TRACE_HOST, or the number of a device */
    uint32_t track;         /* of a stream, a worker, or a thread of the host */
    const char *track_kind; /* "stream", "worker", "thread" */
    uint32_t track_number;
    const char *category, *name;
    uint64_t start, end; /* ns */
    uint64_t queued;     /* when it was submitted; 0: not at all */
    const char *detail;  /* members of JSON, or NULL */
};
bool ig_trace_open(const char *path, struct ig_error *error);
void ig_trace_device(uint32_t number, const char *name);
void ig_trace_add(const struct ig_trace_event *event);
/* A worker of a CPU device had a part in a command. */
void ig_trace_work(const ingot_device *device, uint32_t worker, const char *category,
                   const char *name, uint64_t start, uint64_t end);
void ig_trace_finish(void);
void ig_trace_forget(void); /* in a forked child */

/* ---- profile_records.c: the profile ---- */

/* One dispatch took so long. */
void ig_profile_add_time(const ingot_kernel *kernel, uint64_t ns, const uint32_t threads[3],
                         const uint32_t group[3], uint32_t threadgroup_bytes);
void ig_profile_add_move(enum ig_move move, uint64_t bytes, uint64_t ns);
void ig_profile_add_compilation(uint64_t ns);
void ig_profile_add_device(const ingot_device_info *info);

/* What a place of counted code was found to do (runtime/profile). */
struct ig_place_counts {
    uint64_t times, lanes, bytes;
    uint64_t lines;             /* of the cache, that accesses touched */
    uint64_t passes, conflicts; /* over the banks of threadgroup memory */
    uint64_t collisions;        /* of atomics */
    uint64_t work, waits;       /* at barriers */
};
struct ingot_cpu_places;
struct ig_counted_dispatch {
    const ingot_kernel *kernel;
    const struct ingot_cpu_places *places;
    const struct ig_place_counts *counts;
    uint64_t threads, bytes_read, bytes_written;
};
void ig_profile_add_counts(const struct ig_counted_dispatch *dispatch);
void ig_profile_save(void);
void ig_profile_forget(void); /* in a forked child */
void ig_profile_set_folder(const char *folder);

#endif
