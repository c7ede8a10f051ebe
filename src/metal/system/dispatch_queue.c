/*
 * Dispatch queues. A serial queue has a list of work and at most one thread that runs it;
 * dispatch_sync takes its turn in the list and runs on the caller's thread. Work of concurrent
 * queues runs on threads as it comes; a barrier there waits for what was given before.
 */
#include <dispatch/dispatch.h>
#include <stdlib.h>
#include <string.h>

#include "metal/objc/objc_support.h"
#include "metal/system/objects.h"

struct item {
    struct item *next;
    dispatch_function_t run; /* NULL: somebody waits for this turn */
    void *context;
    bool is_turn, is_barrier;
};

struct dispatch_queue_s {
    struct dispatch_object_s object;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct item *first, *last;
    unsigned running;
    bool is_barrier_running, is_concurrent, is_draining;
    char label[64];
};

static void destroy_queue(void *object) {
    struct dispatch_queue_s *queue = object;
    pthread_cond_destroy(&queue->changed);
    pthread_mutex_destroy(&queue->lock);
    free(queue);
}

dispatch_queue_t dispatch_queue_create(const char *label, dispatch_queue_attr_t attributes) {
    struct dispatch_queue_s *queue = im_object_new(sizeof *queue, destroy_queue);
    if (queue) {
        pthread_mutex_init(&queue->lock, NULL);
        pthread_cond_init(&queue->changed, NULL);
        queue->is_concurrent = attributes == DISPATCH_QUEUE_CONCURRENT;
        if (label) {
            strncpy(queue->label, label, sizeof queue->label - 1);
        }
    }
    return queue;
}

dispatch_queue_attr_t dispatch_queue_attr_make_with_qos_class(dispatch_queue_attr_t attributes,
                                                              qos_class_t qos, int priority) {
    (void)qos;
    (void)priority;
    return attributes;
}

static dispatch_queue_t global_queue, main_queue;
static pthread_once_t global_once = PTHREAD_ONCE_INIT;

static void make_global(void) {
    global_queue = dispatch_queue_create("com.apple.root.default-qos", DISPATCH_QUEUE_CONCURRENT);
    main_queue = dispatch_queue_create("com.apple.main-thread", DISPATCH_QUEUE_SERIAL);
}

dispatch_queue_t dispatch_get_global_queue(intptr_t priority, uintptr_t flags) {
    (void)priority;
    (void)flags;
    pthread_once(&global_once, make_global);
    return global_queue;
}

dispatch_queue_t dispatch_get_main_queue(void) {
    pthread_once(&global_once, make_global);
    return main_queue;
}

const char *dispatch_queue_get_label(dispatch_queue_t queue) {
    return queue ? queue->label : "";
}

/* With the lock held: may the first of the list begin? */
static bool can_begin(const struct dispatch_queue_s *queue) {
    const struct item *item = queue->first;
    if (!item || queue->is_barrier_running) {
        return false;
    }
    return queue->running == 0 || (queue->is_concurrent && !item->is_barrier);
}

static struct item *begin_first(struct dispatch_queue_s *queue) {
    struct item *item = queue->first;
    queue->first = item->next;
    queue->last = queue->first ? queue->last : NULL;
    queue->running++;
    queue->is_barrier_running = item->is_barrier;
    return item;
}

static void ended(struct dispatch_queue_s *queue) {
    queue->running--;
    queue->is_barrier_running = false;
    pthread_cond_broadcast(&queue->changed);
}

static void drain(void *context);

/* With the lock held: somebody must run what is at the head, if it is not waited for. */
static void see_to_head(struct dispatch_queue_s *queue) {
    if (can_begin(queue) && !queue->first->is_turn && !queue->is_draining) {
        queue->is_draining = !queue->is_concurrent;
        dispatch_retain(queue);
        im_run_on_thread(drain, queue);
    }
}

static void drain(void *context) {
    struct dispatch_queue_s *queue = context;
    pthread_mutex_lock(&queue->lock);
    while (can_begin(queue) && !queue->first->is_turn) {
        struct item *item = begin_first(queue);
        if (queue->is_concurrent) {
            see_to_head(queue); /* others may run beside this one */
        }
        pthread_mutex_unlock(&queue->lock);
        item->run(item->context);
        free(item);
        pthread_mutex_lock(&queue->lock);
        ended(queue);
    }
    queue->is_draining = false;
    see_to_head(queue);
    pthread_mutex_unlock(&queue->lock);
    dispatch_release(queue);
}

static void append(struct dispatch_queue_s *queue, struct item *item) {
    if (queue->last) {
        queue->last->next = item;
    } else {
        queue->first = item;
    }
    queue->last = item;
}

static void run_later(dispatch_queue_t queue, void *context, dispatch_function_t work,
                      bool is_barrier) {
    struct item *item = calloc(1, sizeof *item);
    if (!item) {
        dispatch_sync_f(queue, context, work);
        return;
    }
    item->run = work;
    item->context = context;
    item->is_barrier = is_barrier;
    pthread_mutex_lock(&queue->lock);
    append(queue, item);
    see_to_head(queue);
    pthread_mutex_unlock(&queue->lock);
}

/* The queue whose work the calling thread runs, and those around it. */
struct turn {
    struct turn *outer;
    dispatch_queue_t queue;
};
static _Thread_local struct turn *innermost;

bool ingot_dispatch_is_on_queue(dispatch_queue_t queue) {
    for (const struct turn *turn = innermost; turn; turn = turn->outer) {
        if (turn->queue == queue) {
            return true;
        }
    }
    return false;
}

/* Also when the work throws. */
static void end_turn(struct turn *turn) {
    innermost = turn->outer;
    pthread_mutex_lock(&turn->queue->lock);
    ended(turn->queue);
    see_to_head(turn->queue);
    pthread_mutex_unlock(&turn->queue->lock);
}

static void run_in_turn(dispatch_queue_t queue, void *context, dispatch_function_t work,
                        bool is_barrier) {
    struct item item = {.is_turn = true, .is_barrier = is_barrier};
    pthread_mutex_lock(&queue->lock);
    append(queue, &item);
    while (queue->first != &item || !can_begin(queue)) {
        pthread_cond_wait(&queue->changed, &queue->lock);
    }
    begin_first(queue);
    pthread_cond_broadcast(&queue->changed);
    see_to_head(queue);
    pthread_mutex_unlock(&queue->lock);
    struct turn turn __attribute__((cleanup(end_turn))) = {innermost, queue};
    innermost = &turn;
    work(context);
}

void dispatch_async_f(dispatch_queue_t queue, void *context, dispatch_function_t work) {
    run_later(queue, context, work, false);
}

void dispatch_sync_f(dispatch_queue_t queue, void *context, dispatch_function_t work) {
    run_in_turn(queue, context, work, false);
}

static void call_and_release(void *block) {
    im_block_call(block);
    _Block_release(block);
}

/* The functions with blocks: pointers to blocks here, which C compilers without blocks take. */
void dispatch_async(dispatch_queue_t queue, void *block);
void dispatch_sync(dispatch_queue_t queue, void *block);
void dispatch_barrier_async(dispatch_queue_t queue, void *block);
void dispatch_barrier_sync(dispatch_queue_t queue, void *block);

void dispatch_async(dispatch_queue_t queue, void *block) {
    run_later(queue, _Block_copy(block), call_and_release, false);
}

void dispatch_sync(dispatch_queue_t queue, void *block) {
    run_in_turn(queue, block, im_block_call, false);
}

void dispatch_barrier_async(dispatch_queue_t queue, void *block) {
    run_later(queue, _Block_copy(block), call_and_release, true);
}

void dispatch_barrier_sync(dispatch_queue_t queue, void *block) {
    run_in_turn(queue, block, im_block_call, true);
}
