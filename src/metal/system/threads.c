/* Threads for dispatch queues: started when there is work and nobody idle, ended after a second
 * without. */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "metal/objc/objc_support.h"
#include "metal/system/objects.h"

enum { MAX_THREADS = 256, IDLE_SECONDS = 1 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t has_work = PTHREAD_COND_INITIALIZER;
static struct im_job *first, *last;
static unsigned thread_count, idle_count, queued_count;
static void (*hook_begin)(void), (*hook_end)(void);

void im_set_thread_hooks(void (*begin)(void), void (*end)(void)) {
    hook_begin = begin;
    hook_end = end;
}

void im_thread_begins(void) {
    if (hook_begin) {
        hook_begin();
    }
}

void im_thread_ends(void) {
    if (hook_end) {
        hook_end();
    }
}

/* With the lock held; NULL after a while without work. */
static struct im_job *next_job(void) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += IDLE_SECONDS;
    idle_count++;
    int result = 0;
    while (!first && result != ETIMEDOUT) {
        result = pthread_cond_timedwait(&has_work, &lock, &until);
    }
    idle_count--;
    struct im_job *job = first;
    if (job) {
        first = job->next;
        last = first ? last : NULL;
        queued_count--;
    }
    return job;
}

static void *work(void *unused) {
    (void)unused;
    im_thread_begins();
    pthread_mutex_lock(&lock);
    struct im_job *job;
    while ((job = next_job())) {
        pthread_mutex_unlock(&lock);
        job->run(job->context);
        free(job);
        pthread_mutex_lock(&lock);
    }
    thread_count--;
    pthread_mutex_unlock(&lock);
    im_thread_ends();
    return NULL;
}

void im_run_on_thread(void (*run)(void *context), void *context) {
    struct im_job *job = malloc(sizeof *job);
    if (!job) {
        run(context);
        return;
    }
    *job = (struct im_job){NULL, run, context};
    pthread_mutex_lock(&lock);
    if (last) {
        last->next = job;
    } else {
        first = job;
    }
    last = job;
    queued_count++;
    if (queued_count > idle_count && thread_count < MAX_THREADS) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, work, NULL) == 0) {
            pthread_detach(thread);
            thread_count++;
        }
    }
    pthread_cond_signal(&has_work);
    pthread_mutex_unlock(&lock);
}

void im_block_call(void *block) {
    ((void (*)(void *))((struct block_layout *)block)->invoke)(block);
}

void im_block_call_with(void *block, size_t value) {
    ((void (*)(void *, size_t))((struct block_layout *)block)->invoke)(block, value);
}

void *im_object_new(size_t size, void (*destroy)(void *object)) {
    struct dispatch_object_s *object = calloc(1, size);
    if (object) {
        atomic_init(&object->references, 1);
        object->destroy = destroy;
    }
    return object;
}
