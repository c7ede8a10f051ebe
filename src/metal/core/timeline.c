/*
 * A value that rises, behind MTLEvent and MTLSharedEvent. The host sets it, or a stream does: then
 * it is promised first, with the stream's event, so that other streams can wait for it without a
 * thread.
 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "metal/core/core.h"

struct promise {
    struct promise *next;
    uint64_t value;
    ingot_event *event;
};

struct listener {
    struct listener *next;
    uint64_t value;
    im_timeline_function function;
    void *context;
};

struct im_timeline {
    atomic_uint references;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t value;
    struct promise *promises;
    struct listener *listeners;
};

struct im_timeline *im_timeline_create(void) {
    struct im_timeline *timeline = calloc(1, sizeof *timeline);
    if (timeline) {
        pthread_condattr_t attributes;
        pthread_condattr_init(&attributes);
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
        atomic_init(&timeline->references, 1);
        pthread_mutex_init(&timeline->lock, NULL);
        pthread_cond_init(&timeline->changed, &attributes);
        pthread_condattr_destroy(&attributes);
    }
    return timeline;
}

void im_timeline_retain(struct im_timeline *timeline) {
    atomic_fetch_add(&timeline->references, 1);
}

void im_timeline_release(struct im_timeline *timeline) {
    if (!timeline || atomic_fetch_sub(&timeline->references, 1) != 1) {
        return;
    }
    while (timeline->promises) {
        struct promise *next = timeline->promises->next;
        ingot_event_release(timeline->promises->event);
        free(timeline->promises);
        timeline->promises = next;
    }
    while (timeline->listeners) { /* never reached: nobody is told */
        struct listener *next = timeline->listeners->next;
        free(timeline->listeners);
        timeline->listeners = next;
    }
    pthread_cond_destroy(&timeline->changed);
    pthread_mutex_destroy(&timeline->lock);
    free(timeline);
}

uint64_t im_timeline_value(struct im_timeline *timeline) {
    pthread_mutex_lock(&timeline->lock);
    uint64_t value = timeline->value;
    pthread_mutex_unlock(&timeline->lock);
    return value;
}

/* With the lock held: what has been reached is taken out of both lists. */
static struct listener *take_reached(struct im_timeline *timeline) {
    struct listener *reached = NULL;
    for (struct listener **link = &timeline->listeners; *link;) {
        struct listener *one = *link;
        if (one->value <= timeline->value) {
            *link = one->next;
            one->next = reached;
            reached = one;
        } else {
            link = &one->next;
        }
    }
    for (struct promise **link = &timeline->promises; *link;) {
        struct promise *one = *link;
        if (one->value <= timeline->value) {
            *link = one->next;
            ingot_event_release(one->event);
            free(one);
        } else {
            link = &one->next;
        }
    }
    return reached;
}

void im_timeline_set(struct im_timeline *timeline, uint64_t value) {
    pthread_mutex_lock(&timeline->lock);
    if (value > timeline->value) {
        timeline->value = value;
    }
    struct listener *reached = take_reached(timeline);
    pthread_cond_broadcast(&timeline->changed);
    pthread_mutex_unlock(&timeline->lock);
    while (reached) {
        struct listener *next = reached->next;
        reached->function(reached->context, reached->value);
        free(reached);
        reached = next;
    }
}

bool im_timeline_wait(struct im_timeline *timeline, uint64_t value, double seconds) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    if (seconds > 1e9) {
        seconds = -1;
    }
    if (seconds >= 0) {
        double end = (double)until.tv_sec + (double)until.tv_nsec * 1e-9 + seconds;
        until.tv_sec = (time_t)end;
        until.tv_nsec = (long)((end - (double)until.tv_sec) * 1e9);
    }
    int result = 0;
    pthread_mutex_lock(&timeline->lock);
    while (timeline->value < value && result != ETIMEDOUT) {
        result = seconds < 0 ? pthread_cond_wait(&timeline->changed, &timeline->lock)
                             : pthread_cond_timedwait(&timeline->changed, &timeline->lock, &until);
    }
    bool is_reached = timeline->value >= value;
    pthread_mutex_unlock(&timeline->lock);
    return is_reached;
}

bool im_timeline_notify(struct im_timeline *timeline, uint64_t value, im_timeline_function function,
                        void *context) {
    struct listener *listener = malloc(sizeof *listener);
    if (!listener) {
        return false;
    }
    pthread_mutex_lock(&timeline->lock);
    bool is_reached = timeline->value >= value;
    if (!is_reached) {
        *listener = (struct listener){timeline->listeners, value, function, context};
        timeline->listeners = listener;
    }
    pthread_mutex_unlock(&timeline->lock);
    if (is_reached) {
        free(listener);
        function(context, value);
    }
    return true;
}

bool im_timeline_promise(struct im_timeline *timeline, uint64_t value, ingot_event *event) {
    struct promise *promise = malloc(sizeof *promise);
    if (!promise) {
        return false;
    }
    pthread_mutex_lock(&timeline->lock);
    *promise = (struct promise){timeline->promises, value, event};
    timeline->promises = promise;
    ingot_event_retain(event);
    pthread_cond_broadcast(&timeline->changed);
    pthread_mutex_unlock(&timeline->lock);
    return true;
}

bool im_timeline_find(struct im_timeline *timeline, uint64_t value, bool blocks,
                      ingot_event **event) {
    *event = NULL;
    pthread_mutex_lock(&timeline->lock);
    bool is_found = false;
    for (;;) {
        is_found = timeline->value >= value;
        for (struct promise *one = timeline->promises; one && !is_found; one = one->next) {
            if (one->value >= value) {
                is_found = true;
                *event = one->event;
                ingot_event_retain(*event);
            }
        }
        if (is_found || !blocks) {
            break;
        }
        pthread_cond_wait(&timeline->changed, &timeline->lock);
    }
    pthread_mutex_unlock(&timeline->lock);
    return is_found;
}
