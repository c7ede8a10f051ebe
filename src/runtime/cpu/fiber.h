/*
 * Fibers: stacks that one thread switches between by hand.
 *
 * A fiber is prepared with an entry, runs when switched to, and is abandoned by switching
 * away for the last time; the entry never returns. The floating-point control word is not
 * switched. Sanitizer builds announce every switch.
 */
#ifndef INGOT_RUNTIME_CPU_FIBER_H
#define INGOT_RUNTIME_CPU_FIBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* For functions that are on a fiber's stack when it is abandoned: the thread sanitizer would
 * count their calls without returns. */
#if defined(__clang__)
#define IG_NEVER_RETURNS __attribute__((disable_sanitizer_instrumentation))
#else
#define IG_NEVER_RETURNS __attribute__((no_sanitize("thread")))
#endif

struct ig_fiber {
    void *sp;    /* while it does not run */
    char *stack; /* lowest address; NULL for a thread's own stack */
    size_t size; /* of the stack */
    void (*entry)(void *context);
    void *context;
    void *sanitizer; /* TSan's handle, or ASan's fake stack */
    const void *asan_bottom;
    size_t asan_size;
};

/* Ready to start at entry(context), at the stack's top less `colour` bytes (which keeps many
 * stacks from falling into the same cache sets). */
void ig_fiber_prepare(struct ig_fiber *fiber, size_t colour, void (*entry)(void *context),
                      void *context);
/* from_ends: nothing will switch back to where `from` is now. */
void ig_fiber_switch(struct ig_fiber *from, struct ig_fiber *to, bool from_ends);
/* The calling thread's own stack, before the first switch away from it. */
void ig_fiber_adopt_thread(struct ig_fiber *fiber);

/* `count` stacks of at least `bytes` each, with `guard` bytes below every one that fault. */
struct ig_stacks {
    char *memory;
    size_t mapped, stride, bytes;
    uint32_t count;
    struct ig_fiber *fibers;
};
bool ig_stacks_create(struct ig_stacks *stacks, uint32_t count, size_t bytes, size_t guard);
void ig_stacks_free(struct ig_stacks *stacks);

#endif
