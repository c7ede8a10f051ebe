/*
 * Queues: in which order works are submitted and completed, and by which thread. See core.h.
 *
 * queue->lock guards the lists and flags. It is not held while commands are given to a stream,
 * while anybody waits for one, or while listeners are told; `is_submitting` and `is_completing` say
 * that one thread is at it.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "metal/core/core.h"
#include "metal/system/objects.h"

struct im_queue {
    atomic_uint references; /* the owner's, and one for each thread */
    ingot_device *device;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct im_work *enqueued, *last_enqueued; /* not submitted yet */
    struct im_work *running, *last_running;   /* submitted, not completed */
    ingot_event *last_end;                    /* of the work submitted last; NULL: none */
    ingot_stream **free_streams;
    size_t free_count, free_capacity;
    bool is_submitting, is_completing, is_closed;
    bool has_submitter, has_completer;
    pthread_t completing; /* while is_completing */
};

double im_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

struct im_queue *im_queue_create(ingot_device *device) {
    struct im_queue *queue = calloc(1, sizeof *queue);
    if (queue) {
        atomic_init(&queue->references, 1);
        queue->device = device;
        ingot_device_retain(device);
        pthread_mutex_init(&queue->lock, NULL);
        pthread_cond_init(&queue->changed, NULL);
    }
    return queue;
}

static void drop(struct im_queue *queue) {
    if (atomic_fetch_sub(&queue->references, 1) != 1) {
        return;
    }
    for (size_t i = 0; i < queue->free_count; i++) {
        ingot_stream_release(queue->free_streams[i]);
    }
    free(queue->free_streams);
    ingot_event_release(queue->last_end);
    ingot_device_release(queue->device);
    pthread_cond_destroy(&queue->changed);
    pthread_mutex_destroy(&queue->lock);
    free(queue);
}

void im_queue_release(struct im_queue *queue) {
    if (queue) {
        pthread_mutex_lock(&queue->lock);
        queue->is_closed = true;
        pthread_cond_broadcast(&queue->changed);
        pthread_mutex_unlock(&queue->lock);
        drop(queue);
    }
}

static void start_thread(struct im_queue *queue, void *(*function)(void *), bool *has) {
    pthread_t thread;
    atomic_fetch_add(&queue->references, 1);
    *has = pthread_create(&thread, NULL, function, queue) == 0;
    if (*has) {
        pthread_detach(thread);
    } else {
        atomic_fetch_sub(&queue->references, 1); /* who waits does the work then */
    }
}

/* ---- streams ---- */

static ingot_stream *take_stream(struct im_queue *queue, ingot_status *status) {
    ingot_stream *stream = NULL;
    pthread_mutex_lock(&queue->lock);
    if (queue->free_count) {
        stream = queue->free_streams[--queue->free_count];
    }
    pthread_mutex_unlock(&queue->lock);
    *status = stream ? INGOT_OK : ingot_stream_create(queue->device, &stream);
    return stream;
}

/* With the lock held. */
static void give_stream(struct im_queue *queue, ingot_stream *stream) {
    if (queue->free_count == queue->free_capacity) {
        size_t capacity = queue->free_capacity ? 2 * queue->free_capacity : 8;
        ingot_stream **grown = realloc(queue->free_streams, capacity * sizeof *grown);
        if (!grown) {
            ingot_stream_release(stream);
            return;
        }
        queue->free_streams = grown;
        queue->free_capacity = capacity;
    }
    queue->free_streams[queue->free_count++] = stream;
}

/* ---- submission ---- */

static void keep_error(struct im_work *work, ingot_status status) {
    if (status != INGOT_OK && work->status == INGOT_OK) {
        work->status = status;
        work->message = strdup(ingot_error_message());
    }
}

static void run_commands(struct im_work *work, ingot_event *previous) {
    ingot_stream *stream = work->stream;
    ingot_status status = INGOT_OK;
    if (previous && !ingot_event_done(previous)) {
        status = ingot_stream_wait_event(stream, previous);
    }
    if (status == INGOT_OK) {
        status = ingot_event_create(work->queue->device, &work->start);
    }
    if (status == INGOT_OK) {
        status = ingot_event_create(work->queue->device, &work->end);
    }
    if (status == INGOT_OK) {
        status = ingot_stream_record(stream, work->start);
    }
    keep_error(work, status);
    if (status == INGOT_OK) {
        work->status =
            im_commands_submit(&work->commands, work->queue->device, stream, &work->message);
        ingot_stream_record(stream, work->end);
    }
}

/* Only one thread at a time is here. */
static void submit(struct im_queue *queue, struct im_work *work) {
    if (work->commands.first) {
        ingot_status status;
        work->stream = take_stream(queue, &status);
        keep_error(work, status);
    }
    if (work->stream) {
        run_commands(work, queue->last_end);
        if (work->end) {
            ingot_event_retain(work->end);
            ingot_event_release(queue->last_end);
            queue->last_end = work->end;
        }
    }
    work->scheduled_at = im_now();
}

/* With the lock held: submits what can be, up to a work that would block, which only the
 * submitter's own thread takes. */
static void pump(struct im_queue *queue, bool is_submitter);

static void *submit_in_thread(void *context) {
    struct im_queue *queue = context;
    im_thread_begins();
    pthread_mutex_lock(&queue->lock);
    while (!queue->is_closed) {
        pump(queue, true);
        if (!queue->is_closed) {
            pthread_cond_wait(&queue->changed, &queue->lock);
        }
    }
    pthread_mutex_unlock(&queue->lock);
    im_thread_ends();
    drop(queue);
    return NULL;
}

static void pump(struct im_queue *queue, bool is_submitter) {
    while (!queue->is_submitting && queue->enqueued &&
           atomic_load(&queue->enqueued->state) == IM_COMMITTED) {
        struct im_work *work = queue->enqueued;
        if (!is_submitter && im_commands_block(&work->commands)) {
            if (!queue->has_submitter) {
                start_thread(queue, submit_in_thread, &queue->has_submitter);
            }
            if (queue->has_submitter) {
                pthread_cond_broadcast(&queue->changed);
                return;
            }
        }
        queue->is_submitting = true;
        pthread_mutex_unlock(&queue->lock);
        submit(queue, work);
        pthread_mutex_lock(&queue->lock);
        queue->is_submitting = false;
        queue->enqueued = work->next;
        queue->last_enqueued = work->next ? queue->last_enqueued : NULL;
        work->next = NULL;
        if (queue->last_running) {
            queue->last_running->next = work;
        } else {
            queue->running = work;
        }
        queue->last_running = work;
        atomic_store(&work->state, IM_SCHEDULED);
        pthread_cond_broadcast(&queue->changed);
    }
}

/* ---- completion ---- */

/* What no host looks at is set when the work is done: promises are dropped then. */
static void settle_events(const struct im_work *work) {
    for (struct im_command *command = work->commands.first; command; command = command->next) {
        if (command->kind == IM_COMMAND_SIGNAL && !command->u.event.is_shared) {
            im_timeline_set(command->u.event.timeline, command->u.event.value);
        }
    }
}

/* Waits for the first that runs, and completes it. With the lock held, and is_completing false. */
static void complete_first(struct im_queue *queue) {
    struct im_work *work = queue->running;
    queue->is_completing = true;
    queue->completing = pthread_self();
    pthread_mutex_unlock(&queue->lock);
    if (work->has_listeners && work->scheduled) {
        work->scheduled(work);
    }
    if (work->commands.has_shared_signals) {
        im_commands_tell(&work->commands, NULL);
    }
    if (work->stream) {
        keep_error(work, ingot_stream_wait(work->stream));
        settle_events(work);
    }
    im_commands_clear(&work->commands);
    work->completed_at = im_now();
    pthread_mutex_lock(&queue->lock);
    if (work->stream) {
        give_stream(queue, work->stream);
        work->stream = NULL;
    }
    /* The state is final before handlers run, but those who wait wake after them. */
    atomic_store(&work->state, work->status == INGOT_OK ? IM_COMPLETED : IM_FAILED);
    pthread_mutex_unlock(&queue->lock);
    if (work->has_listeners && work->completed) {
        work->completed(work);
    }
    pthread_mutex_lock(&queue->lock);
    queue->running = work->next;
    queue->last_running = work->next ? queue->last_running : NULL;
    work->next = NULL;
    queue->is_completing = false;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
    work->released(work);
    pthread_mutex_lock(&queue->lock);
}

static void *complete_in_thread(void *context) {
    struct im_queue *queue = context;
    im_thread_begins();
    pthread_mutex_lock(&queue->lock);
    while (!queue->is_closed) {
        if (queue->running && !queue->is_completing) {
            complete_first(queue);
        } else {
            pthread_cond_wait(&queue->changed, &queue->lock);
        }
    }
    pthread_mutex_unlock(&queue->lock);
    im_thread_ends();
    drop(queue);
    return NULL;
}

/* With the lock held: completes those at the head that are done, where no thread does. */
static void reap(struct im_queue *queue) {
    while (queue->running && !queue->is_completing && !queue->has_completer) {
        const struct im_work *work = queue->running;
        if (work->stream && work->end && !ingot_event_done(work->end)) {
            break;
        }
        complete_first(queue);
    }
}

/* ---- what command buffers do ---- */

bool im_work_enqueue(struct im_work *work) {
    struct im_queue *queue = work->queue;
    pthread_mutex_lock(&queue->lock);
    bool is_new = atomic_load(&work->state) == IM_NOT_ENQUEUED;
    if (is_new) {
        if (queue->last_enqueued) {
            queue->last_enqueued->next = work;
        } else {
            queue->enqueued = work;
        }
        queue->last_enqueued = work;
        atomic_store(&work->state, IM_ENQUEUED);
    }
    pthread_mutex_unlock(&queue->lock);
    return is_new;
}

bool im_work_commit(struct im_work *work) {
    struct im_queue *queue = work->queue;
    im_work_enqueue(work);
    pthread_mutex_lock(&queue->lock);
    bool is_new = atomic_load(&work->state) == IM_ENQUEUED;
    if (is_new) {
        atomic_fetch_add(&queue->references, 1); /* the work may be the last to hold the queue */
        work->committed_at = im_now();
        work->has_listeners |= work->commands.has_shared_signals;
        if (work->has_listeners && !queue->has_completer) {
            start_thread(queue, complete_in_thread, &queue->has_completer);
        }
        atomic_store(&work->state, IM_COMMITTED);
        pump(queue, false);
        reap(queue);
    }
    pthread_mutex_unlock(&queue->lock);
    if (is_new) {
        drop(queue);
    }
    return is_new;
}

enum im_state im_work_state(struct im_work *work) {
    struct im_queue *queue = work->queue;
    if (atomic_load(&work->state) == IM_SCHEDULED) {
        pthread_mutex_lock(&queue->lock);
        reap(queue);
        pthread_mutex_unlock(&queue->lock);
    }
    return atomic_load(&work->state);
}

/* With the lock held. A work that is completed stays listed while its handlers run; a handler
 * itself does not wait for that. */
static bool is_listed(const struct im_queue *queue, const struct im_work *work) {
    return queue->is_completing && queue->running == work &&
           !pthread_equal(queue->completing, pthread_self());
}

void im_work_wait(struct im_work *work, enum im_state state) {
    struct im_queue *queue = work->queue;
    pthread_mutex_lock(&queue->lock);
    while ((int)atomic_load(&work->state) < (int)state || is_listed(queue, work)) {
        bool is_mine = (int)state > (int)IM_SCHEDULED && queue->running && !queue->is_completing &&
                       !queue->has_completer;
        if (is_mine) {
            complete_first(queue);
        } else {
            pthread_cond_wait(&queue->changed, &queue->lock);
        }
    }
    pthread_mutex_unlock(&queue->lock);
}

void im_work_times(struct im_work *work, double *start, double *end) {
    *start = work->scheduled_at;
    *end = work->completed_at;
    if (work->start && work->end) {
        ingot_event_time(work->start, start);
        ingot_event_time(work->end, end);
    }
    if (*end < *start) {
        *end = *start;
    }
}
