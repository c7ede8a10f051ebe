/* Where messages of running kernels go: the user's function, or stderr. */
#include <pthread.h>
#include <stdio.h>

#include "runtime/objects.h"

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER; /* one message at a time */

/* The user's function may take any time, so a fork does not wait for it. */
static void leave(void *context) {
    (void)context;
}

static void renew(void *context) {
    pthread_mutex_init(context, NULL);
}

__attribute__((constructor)) static void guard(void) {
    static struct ig_fork_hook hook = {leave, leave, renew, &log_lock, NULL, NULL};
    ig_fork_add(&hook);
}
static ingot_log_function log_function;
static void *log_context;

void ingot_set_log_function(ingot_log_function function, void *context) {
    pthread_mutex_lock(&log_lock);
    log_function = function;
    log_context = context;
    pthread_mutex_unlock(&log_lock);
}

void ig_log_message(int level, const char *message) {
    pthread_mutex_lock(&log_lock);
    if (log_function)
        log_function(log_context, level, message);
    else
        fprintf(stderr, "%s\n", message);
    pthread_mutex_unlock(&log_lock);
}
