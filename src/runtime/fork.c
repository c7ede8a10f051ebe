/* The list of fork hooks, and the hooks of plain locks; see fork.h. */
#include "runtime/fork.h"

#include <sys/syscall.h>
#include <unistd.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct ig_fork_hook *newest, *oldest;
static _Thread_local pid_t thread_number; /* 0: not asked for yet */

static void before_fork(void) {
    pthread_mutex_lock(&list_lock);
    for (struct ig_fork_hook *hook = newest; hook; hook = hook->next) {
        hook->prepare(hook->context);
    }
}

static void after_in_parent(void) {
    for (struct ig_fork_hook *hook = oldest; hook; hook = hook->previous) {
        hook->parent(hook->context);
    }
    pthread_mutex_unlock(&list_lock);
}

static void after_in_child(void) {
    thread_number = 0;
    for (struct ig_fork_hook *hook = oldest; hook; hook = hook->previous) {
        hook->child(hook->context);
    }
    pthread_mutex_init(&list_lock, NULL);
}

static void install(void) {
    pthread_atfork(before_fork, after_in_parent, after_in_child);
}

void ig_fork_add(struct ig_fork_hook *hook) {
    pthread_once(&once, install);
    pthread_mutex_lock(&list_lock);
    hook->previous = NULL;
    hook->next = newest;
    if (newest) {
        newest->previous = hook;
    } else {
        oldest = hook;
    }
    newest = hook;
    pthread_mutex_unlock(&list_lock);
}

void ig_fork_remove(struct ig_fork_hook *hook) {
    pthread_mutex_lock(&list_lock);
    if (hook->previous) {
        hook->previous->next = hook->next;
    } else if (newest == hook) {
        newest = hook->next;
    }
    if (hook->next) {
        hook->next->previous = hook->previous;
    } else if (oldest == hook) {
        oldest = hook->previous;
    }
    pthread_mutex_unlock(&list_lock);
}

pid_t ig_thread_number(void) {
    pthread_once(&once, install);
    if (!thread_number) {
        thread_number = (pid_t)syscall(SYS_gettid);
    }
    return thread_number;
}

/* ---- plain locks ---- */

static void take_mutex(void *mutex) {
    pthread_mutex_lock(mutex);
}

static void give_mutex(void *mutex) {
    pthread_mutex_unlock(mutex);
}

static void renew_mutex(void *mutex) {
    pthread_mutex_init(mutex, NULL);
}

void ig_fork_guard_mutex(struct ig_fork_hook *hook, pthread_mutex_t *mutex) {
    *hook = (struct ig_fork_hook){
        .prepare = take_mutex, .parent = give_mutex, .child = renew_mutex, .context = mutex};
    ig_fork_add(hook);
}

/* Readers change nothing: keeping writers out is enough. */
static void take_rwlock(void *lock) {
    pthread_rwlock_rdlock(lock);
}

static void give_rwlock(void *lock) {
    pthread_rwlock_unlock(lock);
}

static void renew_rwlock(void *lock) {
    pthread_rwlock_init(lock, NULL);
}

void ig_fork_guard_rwlock(struct ig_fork_hook *hook, pthread_rwlock_t *lock) {
    *hook = (struct ig_fork_hook){
        .prepare = take_rwlock, .parent = give_rwlock, .child = renew_rwlock, .context = lock};
    ig_fork_add(hook);
}
