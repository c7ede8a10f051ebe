/*
 * What Metal's queues, command buffers and events are made of, in C over libingot.
 *
 * A *work* is the half of a command buffer that runs: a list of commands, then a state. Works of a
 * queue run in the order in which they were enqueued; one is submitted when it is first and
 * committed. Each runs on a stream of its own, which waits for the end of the work before it: so a
 * failure stops that work alone, and its error is known to be its own.
 *
 * Threads: submission happens in im_work_commit where nothing in it can block; else on the queue's
 * submitter, a thread that is started with the first such work. Completion happens in whoever waits
 * or asks, unless a work has somebody to tell: then on the queue's completer, a thread likewise.
 */
#ifndef INGOT_METAL_CORE_H
#define INGOT_METAL_CORE_H

#include <ingot/ingot.h>
#include <pthread.h>
#include <stdatomic.h>

enum { IM_BUFFERS = 31, IM_THREADGROUP_BUFFERS = 31 };

/* ---- timeline.c: a value that rises; MTLEvent and MTLSharedEvent ---- */

struct im_timeline;
/* Called once, when the value is reached, from any thread. */
typedef void (*im_timeline_function)(void *context, uint64_t value);

struct im_timeline *im_timeline_create(void);
void im_timeline_retain(struct im_timeline *timeline);
void im_timeline_release(struct im_timeline *timeline);
uint64_t im_timeline_value(struct im_timeline *timeline);
/* Sets the value from the host, or after the stream's event that a signal came with. */
void im_timeline_set(struct im_timeline *timeline, uint64_t value);
/* False when `seconds` have passed before; < 0: for ever. */
bool im_timeline_wait(struct im_timeline *timeline, uint64_t value, double seconds);
bool im_timeline_notify(struct im_timeline *timeline, uint64_t value, im_timeline_function function,
                        void *context);
/* A stream will reach `value` when `event` is done. */
bool im_timeline_promise(struct im_timeline *timeline, uint64_t value, ingot_event *event);
/* How a stream waits for `value`: it is there (true, *event NULL), or promised (true, *event to
 * wait for and release), or neither (false; with `blocks`, it waits until one of them). */
bool im_timeline_find(struct im_timeline *timeline, uint64_t value, bool blocks,
                      ingot_event **event);

/* ---- samples.c: times at which streams came somewhere; MTLCounterSampleBuffer ---- */

struct im_samples;
struct im_samples *im_samples_create(size_t count);
void im_samples_retain(struct im_samples *samples);
void im_samples_release(struct im_samples *samples);
size_t im_samples_count(const struct im_samples *samples);
/* The sample is when `event` is reached, which is retained. */
void im_samples_set(struct im_samples *samples, size_t index, ingot_event *event);
/* Nanoseconds of im_now's clock, once the event is reached; UINT64_MAX where none was set, or its
 * work failed. */
uint64_t im_samples_value(struct im_samples *samples, size_t index);

/* ---- commands.c: what a command buffer records ---- */

enum im_command_kind {
    IM_COMMAND_DISPATCH,
    IM_COMMAND_DISPATCH_INDIRECT,
    IM_COMMAND_COPY,
    IM_COMMAND_FILL,
    IM_COMMAND_SIGNAL,
    IM_COMMAND_WAIT,
    IM_COMMAND_SAMPLE,
    IM_COMMAND_RESOLVE,
};

struct im_command {
    struct im_command *next;
    enum im_command_kind kind;
    union {
        struct {
            ingot_dispatch_desc desc; /* its arrays follow the command */
            ingot_buffer *sizes;      /* of an indirect dispatch: three uint32_t at the offset */
            uint64_t sizes_offset;
        } dispatch;
        struct {
            ingot_buffer *source, *destination;
            uint64_t source_offset, destination_offset, length;
            uint8_t value;
        } transfer;
        struct {
            struct im_timeline *timeline;
            uint64_t value;
            bool is_shared; /* the host looks at it */
            bool is_told;   /* …and has been told */
            ingot_event *reached;
        } event;
        struct {
            struct im_samples *samples;
            size_t first, count;
            ingot_buffer *buffer; /* where the values go */
            uint64_t offset;
        } samples;
    } u;
};

struct im_chunk;
struct im_commands {
    struct im_command *first, *last;
    struct im_chunk *chunks;
    bool has_waits, has_shared_signals;
    bool has_blocking; /* what is submitted depends on what ran before */
};

/* A binding of an encoder: a buffer with an offset, bytes, or neither. */
struct im_binding {
    ingot_buffer *buffer;
    uint64_t offset;
    void *bytes;
    uint32_t size, capacity;
};

/* What a pipeline needs to know of its kernel. */
struct im_pipeline {
    ingot_kernel *kernel;
    ingot_kernel_info info;
    uint32_t buffers, threadgroup_buffers; /* bits of the indices that the kernel has */
    uint32_t most_bytes[IM_BUFFERS];       /* of one value: surplus bytes do not matter; 0: any */
};
ingot_status im_pipeline_init(struct im_pipeline *pipeline, ingot_kernel *kernel);

struct im_dispatch {
    const struct im_pipeline *pipeline;
    const struct im_binding *bindings;   /* IM_BUFFERS */
    const uint32_t *threadgroup_lengths; /* IM_THREADGROUP_BUFFERS */
    uint32_t grid[3], group[3];
    bool in_threads; /* the grid is in threads, not in threadgroups */
    ingot_buffer *indirect;
    uint64_t indirect_offset;
};

/* Each returns false without memory. Buffers are retained. */
bool im_commands_dispatch(struct im_commands *commands, const struct im_dispatch *dispatch);
bool im_commands_copy(struct im_commands *commands, ingot_buffer *source, uint64_t source_offset,
                      ingot_buffer *destination, uint64_t destination_offset, uint64_t length);
bool im_commands_fill(struct im_commands *commands, ingot_buffer *buffer, uint64_t offset,
                      uint64_t length, uint8_t value);
bool im_commands_event(struct im_commands *commands, struct im_timeline *timeline, uint64_t value,
                       bool is_signal, bool is_shared);
bool im_commands_sample(struct im_commands *commands, struct im_samples *samples, size_t index);
bool im_commands_resolve(struct im_commands *commands, struct im_samples *samples, size_t first,
                         size_t count, ingot_buffer *buffer, uint64_t offset);
void im_commands_clear(struct im_commands *commands);
/* Would submitting wait for somebody? */
bool im_commands_block(const struct im_commands *commands);
/* Queues all of them; stops at the first that is refused, with a message that is malloc'ed. */
ingot_status im_commands_submit(struct im_commands *commands, ingot_device *device,
                                ingot_stream *stream, char **message);

/* The shared signals before `end` (NULL: all): waits until each is reached, and tells the host. */
void im_commands_tell(struct im_commands *commands, const struct im_command *end);

/* ---- queue.c ---- */

/* The values of MTLCommandBufferStatus. */
enum im_state {
    IM_NOT_ENQUEUED,
    IM_ENQUEUED,
    IM_COMMITTED,
    IM_SCHEDULED,
    IM_COMPLETED,
    IM_FAILED,
};

struct im_queue;

struct im_work {
    struct im_queue *queue;
    struct im_work *next;
    struct im_commands commands;
    _Atomic(int) state;
    bool has_listeners;  /* set before the commit: `scheduled` and `completed` do something */
    ingot_status status; /* after completion, with the message, which is malloc'ed */
    char *message;
    ingot_stream *stream;     /* while it runs; NULL where there is nothing to run */
    ingot_event *start, *end; /* NULL where there is nothing to run */
    double committed_at, scheduled_at, completed_at;
    /* Called once each, in this order, `scheduled` and `completed` on the completer's thread where
     * there are listeners. After `released` the queue does not touch the work any more. */
    void (*scheduled)(struct im_work *work);
    void (*completed)(struct im_work *work);
    void (*released)(struct im_work *work);
};

struct im_queue *im_queue_create(ingot_device *device);
/* When no work of it is left. */
void im_queue_release(struct im_queue *queue);

/* False when it was enqueued before. */
bool im_work_enqueue(struct im_work *work);
/* False when it was committed before. */
bool im_work_commit(struct im_work *work);
/* Completes what it can without waiting, and tells the state. */
enum im_state im_work_state(struct im_work *work);
void im_work_wait(struct im_work *work, enum im_state state);
/* Of the device, for a completed work: seconds of the monotonic clock. */
void im_work_times(struct im_work *work, double *start, double *end);
double im_now(void);

#endif
