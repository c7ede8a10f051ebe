/*
 * Commands of a stream on the device's clock: an event is recorded before and one behind each, and
 * what is done goes to the trace and the profile.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/observe.h"

struct ig_span {
    struct ig_span *next;
    ingot_event *start, *end;
    enum { SPAN_KERNEL, SPAN_MOVE } kind;
    ingot_kernel *kernel; /* retained */
    uint32_t threads[3], group[3], threadgroup_bytes;
    enum ig_move move;
    uint64_t bytes, queued;
};

struct ig_spans {
    pthread_mutex_t lock;
    struct ig_fork_hook fork;
    ingot_stream *stream;
    uint32_t number;
    struct ig_span *first, *last; /* in the order of the stream */
    struct ig_span *free;
    struct ig_spans *next, *previous; /* of all; list_lock */
};

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct ig_spans *all_spans;
static uint32_t span_count;

struct ig_spans *ig_spans_open(ingot_stream *stream) {
    struct ig_spans *spans = calloc(1, sizeof *spans);
    if (!spans || pthread_mutex_init(&spans->lock, NULL)) {
        free(spans);
        return NULL;
    }
    spans->stream = stream;
    ig_fork_guard_mutex(&spans->fork, &spans->lock);
    pthread_mutex_lock(&list_lock);
    spans->number = ++span_count;
    spans->next = all_spans;
    if (all_spans) {
        all_spans->previous = spans;
    }
    all_spans = spans;
    pthread_mutex_unlock(&list_lock);
    return spans;
}

static void free_span(struct ig_span *span) {
    ingot_event_release(span->start);
    ingot_event_release(span->end);
    if (span->kernel) {
        ingot_kernel_release(span->kernel);
    }
    free(span);
}

static void free_list(struct ig_span *list) {
    while (list) {
        struct ig_span *next = list->next;
        free_span(list);
        list = next;
    }
}

void ig_spans_close(ingot_stream *stream) {
    struct ig_spans *spans = stream->spans;
    if (!spans) {
        return;
    }
    ig_spans_collect(stream);
    pthread_mutex_lock(&list_lock);
    if (spans->previous) {
        spans->previous->next = spans->next;
    } else {
        all_spans = spans->next;
    }
    if (spans->next) {
        spans->next->previous = spans->previous;
    }
    pthread_mutex_unlock(&list_lock);
    ig_fork_remove(&spans->fork);
    free_list(spans->first);
    free_list(spans->free);
    pthread_mutex_destroy(&spans->lock);
    free(spans);
    stream->spans = NULL;
}

/* ---- around a command ---- */

static struct ig_span *new_span(struct ig_spans *spans) {
    struct ig_span *span = spans->free;
    if (span) {
        spans->free = span->next;
        return span;
    }
    span = calloc(1, sizeof *span);
    if (span && (ingot_event_create(spans->stream->device, &span->start) ||
                 ingot_event_create(spans->stream->device, &span->end))) {
        free_span(span);
        return NULL;
    }
    return span;
}

static bool record(const ingot_stream *stream, ingot_event *event) {
    struct ig_error error = {0};
    bool fine = stream->device->ops->stream_record(stream->queue, event, &error) == INGOT_OK;
    ig_error_clear(&error);
    return fine;
}

static void keep_free(struct ig_spans *spans, struct ig_span *span) {
    if (span->kernel) {
        ingot_kernel_release(span->kernel);
        span->kernel = NULL;
    }
    span->next = spans->free;
    spans->free = span;
}

/* Commands of other threads on the stream wait meanwhile: the lock is held until ig_span_end. */
struct ig_span *ig_span_begin(ingot_stream *stream) {
    struct ig_spans *spans = stream->spans;
    if (!spans || ig_stream_is_captured(stream)) {
        return NULL;
    }
    ig_spans_collect(stream);
    pthread_mutex_lock(&spans->lock);
    struct ig_span *span = new_span(spans);
    if (span && !record(stream, span->start)) {
        keep_free(spans, span);
        span = NULL;
    }
    if (!span) {
        pthread_mutex_unlock(&spans->lock);
        return NULL;
    }
    span->queued = ig_observe_now();
    return span;
}

void ig_span_end(ingot_stream *stream, struct ig_span *span, const struct ig_command_about *about,
                 ingot_status status) {
    struct ig_spans *spans = stream->spans;
    if (!span) {
        return;
    }
    if (status || !record(stream, span->end)) {
        keep_free(spans, span);
        pthread_mutex_unlock(&spans->lock);
        return;
    }
    span->kind = about->kind == IG_COMMAND_KERNEL ? SPAN_KERNEL : SPAN_MOVE;
    span->move = about->move;
    span->bytes = about->bytes;
    if (about->launch) {
        const struct ig_launch *launch = about->launch;
        ig_retain(&launch->kernel->references);
        span->kernel = launch->kernel;
        memcpy(span->threads, launch->threads, sizeof span->threads);
        memcpy(span->group, launch->group, sizeof span->group);
        span->threadgroup_bytes = launch->threadgroup_bytes;
    }
    span->next = NULL;
    if (spans->first) {
        spans->last->next = span;
    } else {
        spans->first = span;
    }
    spans->last = span;
    pthread_mutex_unlock(&spans->lock);
}

/* ---- what is done ---- */

static void trace_span(const struct ig_spans *spans, const struct ig_span *span, uint64_t start,
                       uint64_t end) {
    char detail[256];
    bool is_kernel = span->kind == SPAN_KERNEL;
    if (is_kernel) {
        snprintf(detail, sizeof detail, "\"threads\":[%u,%u,%u],\"group\":[%u,%u,%u]",
                 span->threads[0], span->threads[1], span->threads[2], span->group[0],
                 span->group[1], span->group[2]);
    } else {
        snprintf(detail, sizeof detail, "\"bytes\":%llu", (unsigned long long)span->bytes);
    }
    ig_trace_add(&(struct ig_trace_event){
        .process = spans->stream->device->number,
        .track = spans->number,
        .track_kind = "stream",
        .track_number = spans->number,
        .category = is_kernel ? "kernel" : "copy",
        .name = is_kernel ? span->kernel->variant->kernel : ig_move_name(span->move),
        .start = start,
        .end = end,
        .queued = span->queued,
        .detail = detail,
    });
}

/* False: it is not done. */
static bool take(const struct ig_spans *spans, const struct ig_span *span) {
    double start = 0, seconds = 0;
    if (!ingot_event_done(span->end)) {
        return false;
    }
    const struct ig_device_ops *ops = spans->stream->device->ops;
    if (!ops->event_elapsed(span->start->state, span->end->state, &seconds) || seconds < 0) {
        return true; /* its device is no more */
    }
    uint64_t ns = (uint64_t)(seconds * 1e9);
    if (ig_observed.traces && ops->event_time(span->start->state, &start)) {
        uint64_t begin = (uint64_t)(start * 1e9);
        trace_span(spans, span, begin, begin + ns);
    }
    if (ig_observed.profiles && span->kind == SPAN_KERNEL) {
        ig_profile_add_time(span->kernel, ns, span->threads, span->group, span->threadgroup_bytes);
    } else if (ig_observed.profiles) {
        ig_profile_add_move(span->move, span->bytes, ns);
    }
    return true;
}

static void collect(struct ig_spans *spans) {
    pthread_mutex_lock(&spans->lock);
    while (spans->first && take(spans, spans->first)) {
        struct ig_span *span = spans->first;
        spans->first = span->next;
        keep_free(spans, span);
    }
    pthread_mutex_unlock(&spans->lock);
}

void ig_spans_collect(ingot_stream *stream) {
    if (stream->spans) {
        collect(stream->spans);
    }
}

void ig_spans_collect_all(void) {
    pthread_mutex_lock(&list_lock);
    for (struct ig_spans *spans = all_spans; spans; spans = spans->next) {
        if (spans->stream->device->kind->can_be_counted) {
            collect(spans);
        }
    }
    pthread_mutex_unlock(&list_lock);
}

void ig_spans_forget(void) {
    pthread_mutex_init(&list_lock, NULL);
}

/* ---- on the calling thread ---- */

static void trace_host(const char *category, const char *name, uint64_t start) {
    uint32_t thread = (uint32_t)ig_thread_number();
    ig_trace_add(&(struct ig_trace_event){.process = IG_TRACE_HOST,
                                          .track = thread,
                                          .track_kind = "thread",
                                          .track_number = thread,
                                          .category = category,
                                          .name = name,
                                          .start = start,
                                          .end = ig_observe_now()});
}

void ig_observe_move(ingot_stream *stream, enum ig_move move, uint64_t bytes, uint64_t start) {
    (void)stream;
    if (ig_observed.traces) {
        trace_host("copy", ig_move_name(move), start);
    }
    if (ig_observed.profiles) {
        ig_profile_add_move(move, bytes, ig_observe_now() - start);
    }
}

void ig_observe_wait(uint64_t start) {
    if (ig_observed.traces) {
        trace_host("wait", "wait", start);
    }
}

void ig_observe_compilation(const char *kernel, uint64_t start) {
    if (ig_observed.traces) {
        struct ig_text name = {0};
        ig_text_printf(&name, "compile %s", kernel);
        trace_host("compile", ig_text_string(&name), start);
        ig_text_free(&name);
    }
    if (ig_observed.profiles) {
        ig_profile_add_compilation(ig_observe_now() - start);
    }
}
