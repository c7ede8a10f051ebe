/* What the objects of <dispatch/dispatch.h> have in common, and the threads that run their work. */
#ifndef INGOT_METAL_SYSTEM_OBJECTS_H
#define INGOT_METAL_SYSTEM_OBJECTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The first member of every object. */
struct dispatch_object_s {
    atomic_uint references;
    void (*destroy)(void *object);
};

/* NULL without memory. */
void *im_object_new(size_t size, void (*destroy)(void *object));

/* ---- threads.c: threads that are kept for a while after their work ---- */

struct im_job {
    struct im_job *next;
    void (*run)(void *context);
    void *context;
};
/* Runs soon, on another thread; at once, on this one, where there can be no other. */
void im_run_on_thread(void (*run)(void *context), void *context);
/* Called at the start and the end of each thread that runs work of the program. */
void im_set_thread_hooks(void (*begin)(void), void (*end)(void));
void im_thread_begins(void);
void im_thread_ends(void);

/* Calls a block that has no parameters, or one. */
void im_block_call(void *block);
void im_block_call_with(void *block, size_t value);

#endif
