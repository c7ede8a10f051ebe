/*
 * Forked children. Only the thread that forks lives on in a child, so whatever others held or were
 * doing has to be put right there. An object with locks or threads adds a hook while it lives.
 *
 * prepare runs before the fork, newest hook first, and takes locks so that what they guard is
 * whole; parent and child run after it, oldest first. A child's hook makes its locks anew.
 */
#ifndef INGOT_RUNTIME_FORK_H
#define INGOT_RUNTIME_FORK_H

#include <pthread.h>
#include <sys/types.h>

struct ig_fork_hook {
    void (*prepare)(void *context);
    void (*parent)(void *context);
    void (*child)(void *context);
    void *context;
    struct ig_fork_hook *next, *previous;
};

void ig_fork_add(struct ig_fork_hook *hook);
void ig_fork_remove(struct ig_fork_hook *hook);
/* The system's number of the calling thread, also in children; asked for once. */
pid_t ig_thread_number(void);
/* Fills in the hook of a plain mutex, or of a lock of readers and writers, and adds it. */
void ig_fork_guard_mutex(struct ig_fork_hook *hook, pthread_mutex_t *mutex);
void ig_fork_guard_rwlock(struct ig_fork_hook *hook, pthread_rwlock_t *lock);

#endif
