#include "warp.h"

#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes" /* the kernel's code declares these */

enum { WIDTH = 32, STACK = 128 * 1024 };

enum state { RUNS, WAITS, AT_BARRIER, ENDED };
enum kind {
    VOTE,
    SHUFFLE_INDEX,
    SHUFFLE_XOR,
    SHUFFLE_UP,
    ADD,
    MIN,
    MAX,
    UMIN,
    UMAX,
    AND,
    OR,
    XOR,
    SYNC
};

struct thread {
    ucontext_t context;
    enum state state;
    enum kind kind;
    uint32_t mask, value, from, result;
    uint8_t *stack;
};

static struct thread threads[WARP_MAX_THREADS];
static ucontext_t scheduler;
static unsigned thread_count, current;
static uint32_t group_index;
static void *parameter;
static void (*entry)(void *);

/* ---- the text ---- */
static const char *starts_with(const char *text, const char *prefix) {
    size_t length = strlen(prefix);
    return strncmp(text, prefix, length) ? NULL : text + length;
}

void warp_translate(const char *ir, FILE *out) {
    static const char address[] = "asm \"cvta.param.u64 $0, ingot_kernel_param_0;\", \"=l\"()";
    for (const char *next; *ir; ir = next) {
        if ((next = starts_with(ir, "target "))) {
            next += strcspn(next, "\n");
        } else if ((next = starts_with(ir, address))) {
            fputs("@nvvm_param()", out);
        } else if ((next = starts_with(ir, "ptr byval(["))) {
            next = strstr(next, "%block");
            fputs("ptr ", out);
        } else if ((next = starts_with(ir, "@llvm.nvvm."))) {
            for (fputs("@nvvm_", out); *next != '('; next++) {
                fputc(*next == '.' ? '_' : *next, out);
            }
        } else {
            fputc(*ir, out);
            next = ir + 1;
        }
    }
    fputs("declare i64 @nvvm_param()\n", out);
}

/* ---- what kernels call ---- */
static uint32_t pause_in(enum state state) {
    threads[current].state = state;
    swapcontext(&threads[current].context, &scheduler);
    return threads[current].result;
}

static uint32_t together(enum kind kind, uint32_t mask, uint32_t value, uint32_t from) {
    struct thread *t = &threads[current];
    t->kind = kind;
    t->mask = mask;
    t->value = value;
    t->from = from;
    return pause_in(WAITS);
}

void *nvvm_param(void) {
    return parameter;
}
uint32_t nvvm_read_ptx_sreg_ctaid_x(void) {
    return group_index;
}
uint32_t nvvm_read_ptx_sreg_ctaid_y(void) {
    return 0;
}
uint32_t nvvm_read_ptx_sreg_ctaid_z(void) {
    return 0;
}
uint32_t nvvm_read_ptx_sreg_tid_x(void) {
    return current;
}
float nvvm_rcp_approx_ftz_f(float x) {
    return 1 / x;
}
void nvvm_exit(void) {
    pause_in(ENDED);
}
void nvvm_barrier0(void) {
    pause_in(AT_BARRIER);
}
void nvvm_barrier_sync(uint32_t which) {
    (void)which;
    pause_in(AT_BARRIER);
}
void nvvm_bar_warp_sync(uint32_t mask) {
    together(SYNC, mask, 0, 0);
}
uint32_t nvvm_vote_ballot_sync(uint32_t mask, uint32_t value) {
    return together(VOTE, mask, value & 1, 0); /* an i1: the other bits are anything */
}
uint32_t nvvm_shfl_sync_idx_i32(uint32_t mask, uint32_t value, uint32_t from, uint32_t clamp) {
    return together(SHUFFLE_INDEX, mask, value, from & clamp);
}
uint32_t nvvm_shfl_sync_bfly_i32(uint32_t mask, uint32_t value, uint32_t by, uint32_t clamp) {
    return together(SHUFFLE_XOR, mask, value, (current ^ by) & clamp);
}
uint32_t nvvm_shfl_sync_up_i32(uint32_t mask, uint32_t value, uint32_t by, uint32_t clamp) {
    uint32_t lane = current % WIDTH;
    return together(SHUFFLE_UP, mask, value, lane >= by + clamp ? lane - by : lane);
}
#define FLOATS(how)                                                                                \
    float nvvm_shfl_sync_##how##_f32(uint32_t mask, float value, uint32_t by, uint32_t clamp) {    \
        uint32_t bits;                                                                             \
        memcpy(&bits, &value, sizeof bits);                                                        \
        bits = nvvm_shfl_sync_##how##_i32(mask, bits, by, clamp);                                  \
        memcpy(&value, &bits, sizeof bits);                                                        \
        return value;                                                                              \
    }
FLOATS(idx)
FLOATS(bfly)
FLOATS(up)
#define REDUX(name, kind)                                                                          \
    uint32_t nvvm_redux_sync_##name(uint32_t value, uint32_t mask) {                               \
        return together(kind, mask, value, 0);                                                     \
    }
REDUX(add, ADD)
REDUX(min, MIN)
REDUX(max, MAX)
REDUX(umin, UMIN)
REDUX(umax, UMAX)
REDUX(and, AND)
REDUX(or, OR)
REDUX(xor, XOR)

/* ---- operations between lanes ---- */
static uint32_t combine(enum kind kind, uint32_t a, uint32_t b) {
    switch (kind) {
    case ADD:
        return a + b;
    case MIN:
        return (int32_t)a < (int32_t)b ? a : b;
    case MAX:
        return (int32_t)a > (int32_t)b ? a : b;
    case UMIN:
        return a < b ? a : b;
    case UMAX:
        return a > b ? a : b;
    case AND:
        return a & b;
    case OR:
        return a | b;
    default:
        return a ^ b;
    }
}

static bool is_there(unsigned thread) {
    return thread < thread_count && threads[thread].state != ENDED;
}

/* The threads of the mask of the operation that `first` waits at; 0 if one is still to come. */
static uint32_t gathered(unsigned warp, unsigned first) {
    uint32_t found = 0;
    for (unsigned lane = 0; lane < WIDTH; lane++) {
        const struct thread *t = &threads[warp + lane];
        if (!(threads[first].mask >> lane & 1) || !is_there(warp + lane)) {
            continue;
        }
        if (t->state != WAITS || t->kind != threads[first].kind || t->mask != threads[first].mask) {
            return 0;
        }
        found |= 1u << lane;
    }
    return found;
}

static void operate(unsigned warp, uint32_t lanes, enum kind kind) {
    uint32_t votes = 0, total = 0;
    bool any = false;
    for (unsigned lane = 0; lane < WIDTH; lane++) {
        if (lanes >> lane & 1) {
            uint32_t value = threads[warp + lane].value;
            votes |= value << lane;
            total = any ? combine(kind, total, value) : value;
            any = true;
        }
    }
    for (unsigned lane = 0; lane < WIDTH; lane++) {
        struct thread *t = &threads[warp + lane];
        if (!(lanes >> lane & 1)) {
            continue;
        }
        t->state = RUNS;
        if (kind == VOTE) {
            t->result = votes;
        } else if (kind >= SHUFFLE_INDEX && kind <= SHUFFLE_UP) {
            /* what an absent lane holds is not defined: anything that stands out */
            t->result =
                lanes >> (t->from % WIDTH) & 1 ? threads[warp + t->from % WIDTH].value : 0xabababab;
        } else {
            t->result = total;
        }
    }
}

/* ---- scheduling ---- */
static void thread_main(void) {
    entry(parameter);
    pause_in(ENDED);
}

static bool start(unsigned number) {
    struct thread *t = &threads[number];
    if (!t->stack) {
        t->stack = malloc(STACK);
    }
    if (!t->stack) {
        return false;
    }
    t->state = RUNS;
    getcontext(&t->context);
    t->context.uc_stack.ss_sp = t->stack;
    t->context.uc_stack.ss_size = STACK;
    t->context.uc_link = NULL;
    makecontext(&t->context, thread_main, 0);
    return true;
}

/* Lets every operation happen that can, and the barrier when all are there. */
static bool release(void) {
    bool any = false, all = true;
    for (unsigned i = 0; i < thread_count; i++) {
        uint32_t lanes = threads[i].state == WAITS ? gathered(i / WIDTH * WIDTH, i) : 0;
        if (lanes) {
            operate(i / WIDTH * WIDTH, lanes, threads[i].kind);
            any = true;
        }
        all = all && (threads[i].state == AT_BARRIER || threads[i].state == ENDED);
    }
    for (unsigned i = 0; i < thread_count && all; i++) {
        if (threads[i].state == AT_BARRIER) {
            threads[i].state = RUNS;
            any = true;
        }
    }
    return any;
}

static bool finished(void) {
    for (unsigned i = 0; i < thread_count; i++) {
        if (threads[i].state != ENDED) {
            return false;
        }
    }
    return true;
}

/* The first few that wait at different places. */
static void print_wait(void) {
    const struct thread *last = NULL;
    for (unsigned i = 0, printed = 0; i < thread_count && printed < 4; i++) {
        const struct thread *t = &threads[i];
        bool waits = t->state == WAITS || t->state == AT_BARRIER;
        if (waits &&
            !(last && t->state == last->state && t->kind == last->kind && t->mask == last->mask)) {
            printf("  thread %u: %s, operation %d, mask %08x\n", i,
                   t->state == WAITS ? "waits for lanes" : "at a barrier", (int)t->kind, t->mask);
            printed++;
            last = t;
        }
    }
}

bool warp_run(void (*kernel)(void *block), void *block, uint32_t group, uint32_t count,
              uint64_t seed) {
    entry = kernel;
    parameter = block;
    group_index = group;
    thread_count = count;
    for (unsigned i = 0; i < count; i++) {
        if (!start(i)) {
            printf("  no memory for thread %u\n", i);
            return false;
        }
    }
    for (uint64_t random = seed;;) {
        /* every thread that runs, from a different one each time, until it waits */
        random = random * 6364136223846793005u + 1442695040888963407u;
        unsigned first = (unsigned)(random >> 33) % count, step = random >> 63 ? 1 : count - 1;
        for (unsigned i = 0; i < count; i++) {
            current = (unsigned)((first + (uint64_t)i * step) % count);
            if (threads[current].state == RUNS) {
                swapcontext(&scheduler, &threads[current].context);
            }
            if ((random >> (i % 29) & 7) == 0) {
                release();
            }
        }
        if (!release() && finished()) {
            return true;
        }
        bool runs = false;
        for (unsigned i = 0; i < count; i++) {
            runs |= threads[i].state == RUNS;
        }
        if (!runs && !finished()) {
            printf("  threadgroup %u waits for ever:\n", group);
            print_wait();
            return false;
        }
    }
}
