/* Groups, semaphores, data, once, apply, and times of Grand Central Dispatch. */
#include <dispatch/dispatch.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "metal/objc/objc_support.h"
#include "metal/system/objects.h"

void dispatch_retain(void *object) {
    if (object) {
        atomic_fetch_add_explicit(&((dispatch_object_t)object)->references, 1,
                                  memory_order_relaxed);
    }
}

void dispatch_release(void *object) {
    dispatch_object_t base = object;
    if (base && atomic_fetch_sub_explicit(&base->references, 1, memory_order_acq_rel) == 1) {
        base->destroy(base);
    }
}

/* ---- times: nanoseconds of CLOCK_MONOTONIC ---- */

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * NSEC_PER_SEC + (uint64_t)time.tv_nsec;
}

dispatch_time_t dispatch_time(dispatch_time_t when, int64_t delta) {
    if (when == DISPATCH_TIME_FOREVER) {
        return when;
    }
    uint64_t base = when == DISPATCH_TIME_NOW ? now() : when, result;
    if (delta >= 0) {
        return __builtin_add_overflow(base, (uint64_t)delta, &result) ? DISPATCH_TIME_FOREVER
                                                                      : result;
    }
    uint64_t back = 0 - (uint64_t)delta;
    return back >= base ? 1 : base - back;
}

/* A lock with a number that somebody waits for. */
struct counter {
    struct dispatch_object_s object;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    intptr_t value;
    struct notice *notices; /* of a group */
};

struct notice {
    struct notice *next;
    dispatch_queue_t queue;
    void *block;
};

static void destroy_counter(void *object) {
    struct counter *counter = object;
    pthread_cond_destroy(&counter->changed);
    pthread_mutex_destroy(&counter->lock);
    free(counter);
}

static struct counter *new_counter(intptr_t value) {
    struct counter *counter = im_object_new(sizeof *counter, destroy_counter);
    if (counter) {
        pthread_condattr_t attributes;
        pthread_condattr_init(&attributes);
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
        pthread_mutex_init(&counter->lock, NULL);
        pthread_cond_init(&counter->changed, &attributes);
        pthread_condattr_destroy(&attributes);
        counter->value = value;
    }
    return counter;
}

/* With the lock held; false after the timeout. */
static bool wait_for_change(struct counter *counter, dispatch_time_t timeout) {
    if (timeout == DISPATCH_TIME_FOREVER) {
        return pthread_cond_wait(&counter->changed, &counter->lock) == 0;
    }
    struct timespec until = {(time_t)(timeout / NSEC_PER_SEC), (long)(timeout % NSEC_PER_SEC)};
    return pthread_cond_timedwait(&counter->changed, &counter->lock, &until) != ETIMEDOUT;
}

/* ---- semaphores ---- */

dispatch_semaphore_t dispatch_semaphore_create(intptr_t value) {
    return value < 0 ? NULL : (dispatch_semaphore_t)new_counter(value);
}

intptr_t dispatch_semaphore_wait(dispatch_semaphore_t semaphore, dispatch_time_t timeout) {
    struct counter *counter = (struct counter *)semaphore;
    pthread_mutex_lock(&counter->lock);
    bool in_time = true;
    while (counter->value <= 0 && in_time) {
        in_time = wait_for_change(counter, timeout);
    }
    bool had = counter->value > 0;
    counter->value -= had;
    pthread_mutex_unlock(&counter->lock);
    return had ? 0 : ETIMEDOUT;
}

intptr_t dispatch_semaphore_signal(dispatch_semaphore_t semaphore) {
    struct counter *counter = (struct counter *)semaphore;
    pthread_mutex_lock(&counter->lock);
    counter->value++;
    pthread_cond_signal(&counter->changed);
    pthread_mutex_unlock(&counter->lock);
    return 0;
}

/* ---- groups ---- */

void dispatch_async(dispatch_queue_t queue, void *block);
void dispatch_group_async(dispatch_group_t group, dispatch_queue_t queue, void *block);
void dispatch_group_notify(dispatch_group_t group, dispatch_queue_t queue, void *block);
void dispatch_apply(size_t count, dispatch_queue_t queue, void *block);
void dispatch_once(dispatch_once_t *predicate, void *block);
dispatch_data_t dispatch_data_create(const void *bytes, size_t size, dispatch_queue_t queue,
                                     void *destructor);

dispatch_group_t dispatch_group_create(void) {
    return (dispatch_group_t)new_counter(0);
}

void dispatch_group_enter(dispatch_group_t group) {
    struct counter *counter = (struct counter *)group;
    pthread_mutex_lock(&counter->lock);
    counter->value++;
    pthread_mutex_unlock(&counter->lock);
}

void dispatch_group_leave(dispatch_group_t group) {
    struct counter *counter = (struct counter *)group;
    struct notice *notices = NULL;
    pthread_mutex_lock(&counter->lock);
    if (--counter->value == 0) {
        notices = counter->notices;
        counter->notices = NULL;
        pthread_cond_broadcast(&counter->changed);
    }
    pthread_mutex_unlock(&counter->lock);
    while (notices) {
        struct notice *next = notices->next;
        dispatch_async(notices->queue, notices->block);
        _Block_release(notices->block);
        free(notices);
        notices = next;
    }
}

intptr_t dispatch_group_wait(dispatch_group_t group, dispatch_time_t timeout) {
    struct counter *counter = (struct counter *)group;
    pthread_mutex_lock(&counter->lock);
    bool in_time = true;
    while (counter->value > 0 && in_time) {
        in_time = wait_for_change(counter, timeout);
    }
    bool is_empty = counter->value <= 0;
    pthread_mutex_unlock(&counter->lock);
    return is_empty ? 0 : ETIMEDOUT;
}

struct group_work {
    dispatch_group_t group;
    void *block;
};

static void run_group_work(void *context) {
    struct group_work *work = context;
    im_block_call(work->block);
    _Block_release(work->block);
    dispatch_group_leave(work->group);
    dispatch_release(work->group);
    free(work);
}

void dispatch_group_async(dispatch_group_t group, dispatch_queue_t queue, void *block) {
    struct group_work *work = malloc(sizeof *work);
    if (!work) {
        im_block_call(block);
        return;
    }
    *work = (struct group_work){group, _Block_copy(block)};
    dispatch_retain(group);
    dispatch_group_enter(group);
    dispatch_async_f(queue, work, run_group_work);
}

void dispatch_group_notify(dispatch_group_t group, dispatch_queue_t queue, void *block) {
    struct counter *counter = (struct counter *)group;
    struct notice *notice = malloc(sizeof *notice);
    pthread_mutex_lock(&counter->lock);
    bool is_now = counter->value <= 0 || !notice;
    if (!is_now) {
        *notice = (struct notice){counter->notices, queue, _Block_copy(block)};
        counter->notices = notice;
    }
    pthread_mutex_unlock(&counter->lock);
    if (is_now) {
        free(notice);
        dispatch_async(queue, block);
    }
}

/* ---- apply: the caller and helpers take indices from one count ---- */

struct apply {
    struct dispatch_object_s object;
    atomic_size_t next;
    size_t count;
    void *block;
    dispatch_group_t group;
};

static void destroy_apply(void *object) {
    struct apply *apply = object;
    dispatch_release(apply->group);
    free(apply);
}

static void take_indices(struct apply *apply) {
    size_t index;
    while ((index = atomic_fetch_add(&apply->next, 1)) < apply->count) {
        im_block_call_with(apply->block, index);
        dispatch_group_leave(apply->group);
    }
}

static void help_apply(void *context) {
    take_indices(context);
    dispatch_release(context);
}

enum { APPLY_HELPERS = 8 };

void dispatch_apply(size_t count, dispatch_queue_t queue, void *block) {
    (void)queue;
    struct apply *apply = count > 1 ? im_object_new(sizeof *apply, destroy_apply) : NULL;
    if (!apply) {
        for (size_t i = 0; i < count; i++) {
            im_block_call_with(block, i);
        }
        return;
    }
    apply->count = count;
    apply->block = block;
    apply->group = dispatch_group_create();
    for (size_t i = 0; i < count; i++) {
        dispatch_group_enter(apply->group);
    }
    for (size_t i = 1; i < count && i < APPLY_HELPERS; i++) {
        dispatch_retain(apply);
        im_run_on_thread(help_apply, apply);
    }
    take_indices(apply);
    dispatch_group_wait(apply->group, DISPATCH_TIME_FOREVER);
    dispatch_release(apply);
}

static pthread_mutex_t once_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t once_done = PTHREAD_COND_INITIALIZER;
enum { ONCE_RUNNING = 1, ONCE_DONE = 2 };

void dispatch_once(dispatch_once_t *predicate, void *block) {
    if (__atomic_load_n(predicate, __ATOMIC_ACQUIRE) == ONCE_DONE) {
        return;
    }
    pthread_mutex_lock(&once_lock);
    while (*predicate == ONCE_RUNNING) {
        pthread_cond_wait(&once_done, &once_lock);
    }
    bool is_first = *predicate != ONCE_DONE;
    if (is_first) {
        *predicate = ONCE_RUNNING;
    }
    pthread_mutex_unlock(&once_lock);
    if (is_first) {
        im_block_call(block);
        pthread_mutex_lock(&once_lock);
        __atomic_store_n(predicate, ONCE_DONE, __ATOMIC_RELEASE);
        pthread_cond_broadcast(&once_done);
        pthread_mutex_unlock(&once_lock);
    }
}

/* ---- data ---- */

struct dispatch_data_s {
    struct dispatch_object_s object;
    void *bytes;
    size_t size;
    void *destructor; /* NULL: the bytes are ours */
};

static void destroy_data(void *object) {
    dispatch_data_t data = object;
    if (data->destructor) {
        im_block_call(data->destructor);
        _Block_release(data->destructor);
    } else {
        free(data->bytes);
    }
    free(data);
}

dispatch_data_t dispatch_data_create(const void *bytes, size_t size, dispatch_queue_t queue,
                                     void *destructor) {
    (void)queue;
    dispatch_data_t data = im_object_new(sizeof *data, destroy_data);
    if (!data) {
        return NULL;
    }
    data->size = size;
    if (destructor) {
        data->bytes = (void *)(uintptr_t)bytes;
        data->destructor = _Block_copy(destructor);
    } else {
        data->bytes = malloc(size ? size : 1);
        if (!data->bytes) {
            free(data);
            return NULL;
        }
        memcpy(data->bytes, bytes, size);
    }
    return data;
}

size_t dispatch_data_get_size(dispatch_data_t data) {
    return data ? data->size : 0;
}

dispatch_data_t dispatch_data_create_map(dispatch_data_t data, const void **bytes, size_t *size) {
    if (data && bytes) {
        *bytes = data->bytes;
    }
    if (data && size) {
        *size = data->size;
    }
    dispatch_retain(data);
    return data;
}
