/* See fiber.h. The switch itself is in fiber_<architecture>.S. */
#include "runtime/cpu/fiber.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define FIBER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FIBER_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define FIBER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define FIBER_TSAN 1
#endif
#endif

#ifdef FIBER_ASAN
void __sanitizer_start_switch_fiber(void **fake_stack_save, const void *bottom, size_t size);
void __sanitizer_finish_switch_fiber(void *fake_stack_save, const void **bottom_old,
                                     size_t *size_old);
void __asan_unpoison_memory_region(const void volatile *address, size_t size);
#endif
#ifdef FIBER_TSAN
void *__tsan_get_current_fiber(void);
void *__tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void *fiber);
void __tsan_switch_to_fiber(void *fiber, unsigned flags);
#endif

/* Saves the callee-saved state at *save, continues what `to` saved. */
void ig_fiber_swap(void **save, void *to);
/* The first return address of a prepared fiber: calls entry(context) from saved registers. */
void ig_fiber_start(void);

#ifdef FIBER_ASAN
/* Set by the switching side for the side that wakes up: whose stack was left. */
static _Thread_local struct ig_fiber *left_behind;
#endif

IG_NEVER_RETURNS static void enter(void *argument) {
    struct ig_fiber *fiber = argument;
#ifdef FIBER_ASAN
    __sanitizer_finish_switch_fiber(NULL, &left_behind->asan_bottom, &left_behind->asan_size);
#endif
    fiber->entry(fiber->context);
    __builtin_trap(); /* an entry never returns */
}

void ig_fiber_prepare(struct ig_fiber *fiber, size_t colour, void (*entry)(void *context),
                      void *context) {
    fiber->entry = entry;
    fiber->context = context;
#ifdef FIBER_ASAN
    __asan_unpoison_memory_region(fiber->stack, fiber->size);
    fiber->asan_bottom = fiber->stack;
    fiber->asan_size = fiber->size;
    fiber->sanitizer = NULL;
#endif
    uintptr_t top = ((uintptr_t)fiber->stack + fiber->size - colour) & ~(uintptr_t)63;
    void **frame = (void **)top;
#if defined(__x86_64__)
    /* rbp, rbx, r12 … r15 below the return address; the start code wants r12 and r13 */
    frame -= 2; /* the stack is 16-byte aligned after the return to ig_fiber_start */
    frame[0] = frame[1] = NULL;
    *--frame = (void *)(uintptr_t)ig_fiber_start;
    frame -= 6;
    memset(frame, 0, 6 * sizeof *frame);
    frame[3] = (void *)fiber;            /* r12 */
    frame[2] = (void *)(uintptr_t)enter; /* r13 */
#elif defined(__aarch64__)
    /* x19 … x30 and d8 … d15; x30 is where the swap returns to */
    frame -= 20;
    memset(frame, 0, 20 * sizeof *frame);
    frame[0] = (void *)fiber;                      /* x19 */
    frame[1] = (void *)(uintptr_t)enter;           /* x20 */
    frame[11] = (void *)(uintptr_t)ig_fiber_start; /* x30 */
#else
#error "no fiber switch for this architecture"
#endif
    fiber->sp = frame;
}

IG_NEVER_RETURNS void ig_fiber_switch(struct ig_fiber *from, struct ig_fiber *to, bool from_ends) {
    (void)from_ends;
#ifdef FIBER_ASAN
    left_behind = from;
    __sanitizer_start_switch_fiber(from_ends ? NULL : &from->sanitizer, to->asan_bottom,
                                   to->asan_size);
#endif
#ifdef FIBER_TSAN
    __tsan_switch_to_fiber(to->sanitizer, 0);
#endif
    ig_fiber_swap(&from->sp, to->sp);
#ifdef FIBER_ASAN
    __sanitizer_finish_switch_fiber(from->sanitizer, &left_behind->asan_bottom,
                                    &left_behind->asan_size);
#endif
}

void ig_fiber_adopt_thread(struct ig_fiber *fiber) {
    memset(fiber, 0, sizeof *fiber);
#ifdef FIBER_TSAN
    fiber->sanitizer = __tsan_get_current_fiber();
#endif
}

bool ig_stacks_create(struct ig_stacks *stacks, uint32_t count, size_t bytes, size_t guard) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    guard = (guard + page - 1) / page * page;
    memset(stacks, 0, sizeof *stacks);
    if (bytes > SIZE_MAX / 4 / count) {
        return false;
    }
    size_t size = (bytes + page - 1) / page * page;
    stacks->stride = size + guard;
    stacks->bytes = bytes;
    stacks->mapped = stacks->stride * count;
    stacks->fibers = calloc(count, sizeof *stacks->fibers);
    if (!stacks->fibers) {
        return false;
    }
    void *memory = mmap(NULL, stacks->mapped, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED) {
        free(stacks->fibers);
        stacks->fibers = NULL;
        return false;
    }
    stacks->memory = memory;
    stacks->count = count;
    for (uint32_t i = 0; i < count; i++) {
        struct ig_fiber *fiber = &stacks->fibers[i];
        fiber->stack = stacks->memory + stacks->stride * i + guard;
        fiber->size = size;
#ifdef FIBER_TSAN
        fiber->sanitizer = __tsan_create_fiber(0);
#endif
        if (mprotect(fiber->stack, size, PROT_READ | PROT_WRITE) != 0) {
            ig_stacks_free(stacks);
            return false;
        }
    }
    return true;
}

void ig_stacks_free(struct ig_stacks *stacks) {
    if (!stacks->fibers) {
        return;
    }
    for (uint32_t i = 0; i < stacks->count; i++) {
#ifdef FIBER_TSAN
        if (stacks->fibers[i].sanitizer) {
            __tsan_destroy_fiber(stacks->fibers[i].sanitizer);
        }
#endif
#ifdef FIBER_ASAN
        __asan_unpoison_memory_region(stacks->fibers[i].stack, stacks->fibers[i].size);
#endif
    }
    munmap(stacks->memory, stacks->mapped);
    free(stacks->fibers);
    memset(stacks, 0, sizeof *stacks);
}
