/*
 * The matrix units of CPUs of x86-64 (AMX): may this process use them, and do they work?
 *
 * The kernel saves their registers, of 8 KiB, only for processes that have asked for that. Some
 * virtual machines say that the units are there and then end whoever uses them. So one product is
 * tried in a child, which shares this process's memory and nothing else.
 *
 * Instructions are bytes here: assemblers that do not know them can build this, too.
 */
#include "runtime/cpu/cpu.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 }; /* of arch_prctl; a part of the state */

/* All 8 registers have 16 lines of 64 bytes. */
struct configuration {
    uint8_t palette, start_row, reserved[14];
    uint16_t line_bytes[16];
    uint8_t lines[16];
} __attribute__((packed, aligned(64)));
_Static_assert(sizeof(struct configuration) == 64, "what ldtilecfg reads");

static const struct configuration configuration = {
    .palette = 1,
    .line_bytes = {64, 64, 64, 64, 64, 64, 64, 64},
    .lines = {16, 16, 16, 16, 16, 16, 16, 16},
};

void cpu_matrix_units_enter(void) {
    __asm__ volatile(".byte 0xc4, 0xe2, 0x78, 0x49, 0x00" /* ldtilecfg (%rax) */
                     :
                     : "a"(&configuration)
                     : "memory");
}

void cpu_matrix_units_leave(void) {
    __asm__ volatile(".byte 0xc4, 0xe2, 0x78, 0x49, 0xc0" ::: "memory"); /* tilerelease */
}

/* ---- the trial ---- */
struct trial {
    _Alignas(64) uint16_t ones[16 * 32];
    _Alignas(64) float sums[16 * 16];
    bool good;
};

/* The child has this process's memory: what libc and sanitizers note there of a process must stay
 * as it is. So it calls the kernel by itself, and its functions are as they stand here. */
#define IN_CHILD                                                                                   \
    __attribute__((no_sanitize("address"), no_sanitize("thread"), no_sanitize("undefined")))

IN_CHILD static long call_kernel(long number, long a, const void *b, const void *c, long d) {
    register long fourth __asm__("r10") = d;
    __asm__ volatile("syscall"
                     : "+a"(number)
                     : "D"(a), "S"(b), "d"(c), "r"(fourth)
                     : "rcx", "r11", "memory");
    return number;
}

IN_CHILD static void end_child(void) {
    for (;;) {
        call_kernel(SYS_exit_group, 0, NULL, NULL, 0);
    }
}

IN_CHILD static void give_up(int number) {
    (void)number;
    end_child();
}

/* What the kernel takes for a signal's action; without `restorer` it does not call a handler, and
 * ours does not return. */
struct kernel_action {
    void (*handler)(int);
    uint64_t flags;
    void (*restorer)(void);
    uint64_t mask;
};
enum { HAS_RESTORER = 0x04000000, MASK_BYTES = 8 };

IN_CHILD static void give_up_at_signals(void) {
    const struct kernel_action action = {
        .handler = give_up, .flags = HAS_RESTORER, .restorer = end_child};
    const int numbers[] = {SIGILL, SIGSEGV, SIGBUS, SIGFPE};
    uint64_t all = 0;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        call_kernel(SYS_rt_sigaction, numbers[i], &action, NULL, MASK_BYTES);
        all |= UINT64_C(1) << (numbers[i] - 1);
    }
    call_kernel(SYS_rt_sigprocmask, SIG_UNBLOCK, &all, NULL, MASK_BYTES);
}

/* In the child, on a small stack. */
IN_CHILD static void try_product(struct trial *trial) {
    give_up_at_signals();
    cpu_matrix_units_enter();
    __asm__ volatile(".byte 0xc4, 0xe2, 0x7b, 0x49, 0xc0\n"       /* tilezero %tmm0 */
                     ".byte 0xc4, 0xe2, 0x7b, 0x4b, 0x0c, 0x08\n" /* tileloadd to %tmm1 */
                     ".byte 0xc4, 0xe2, 0x7b, 0x4b, 0x14, 0x08\n" /* tileloadd to %tmm2 */
                     ".byte 0xc4, 0xe2, 0x6a, 0x5c, 0xc1\n"       /* tdpbf16ps to %tmm0 */
                     ".byte 0xc4, 0xe2, 0x7a, 0x4b, 0x04, 0x0a\n" /* tilestored %tmm0 */
                     :
                     : "a"(trial->ones), "c"((uint64_t)64), "d"(trial->sums)
                     : "memory");
    cpu_matrix_units_leave();
    bool good = true;
    for (size_t i = 0; i < 16 * 16; i++) {
        good = good && trial->sums[i] == 32.0f;
    }
    trial->good = good;
    end_child();
}

/* clone(), which sanitizers take for a fork. */
static pid_t start_child(struct trial *trial, char *stack) {
    long result = SYS_clone;
    void (*const run)(struct trial *) = try_product;
    register long thread_id __asm__("r10") = 0;
    register long thread_memory __asm__("r8") = 0;
    __asm__ volatile("syscall\n"
                     "test %%rax, %%rax\n"
                     "jnz 1f\n"
                     "mov %[trial], %%rdi\n"
                     "call *%[run]\n"
                     "1:"
                     : "+a"(result)
                     : "D"((long)(CLONE_VM | CLONE_VFORK)), "S"(stack), "d"(0L), "r"(thread_id),
                       "r"(thread_memory), [trial] "r"(trial), [run] "r"(run)
                     : "rcx", "r11", "memory");
    return (pid_t)result;
}

static bool product_works(void) {
    enum { STACK_BYTES = 64 << 10 };
    struct trial *trial = aligned_alloc(64, sizeof *trial + STACK_BYTES);
    if (!trial) {
        return false;
    }
    memset(trial, 0, sizeof *trial);
    for (size_t i = 0; i < 16 * 32; i++) {
        trial->ones[i] = 0x3f80;
    }
    /* No signal at its end: whoever waits for all children of this process does not see it. */
    char *stack = (char *)(trial + 1) + STACK_BYTES;
    pid_t child = start_child(trial, stack);
    while (child > 0 && waitpid(child, NULL, __WCLONE) < 0 && errno == EINTR) {
    }
    bool good = child > 0 && trial->good;
    free(trial);
    return good;
}

static bool has_units(void) {
    uint32_t a, b, c, d, low, high;
    const uint32_t needed = 1u << 22 | 1u << 23 | 1u << 24; /* AMX-BF16, AVX512-FP16, AMX-TILE */
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (d & needed) != needed) {
        return false;
    }
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low >> 17 & 3) == 3; /* the state that the operating system saves */
}

static pthread_once_t asked = PTHREAD_ONCE_INIT;
static bool works;

static void ask(void) {
    works = has_units() && syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0 &&
            product_works();
}

bool cpu_matrix_units_work(void) {
    pthread_once(&asked, ask);
    return works;
}

#else

bool cpu_matrix_units_work(void) {
    return false;
}
void cpu_matrix_units_enter(void) {}
void cpu_matrix_units_leave(void) {}

#endif
