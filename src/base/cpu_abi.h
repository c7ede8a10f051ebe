/*
 * The contract between CPU kernel code (made by ingotc) and the CPU device (libingot).
 *
 * Generated code addresses these structs by byte offset; static assertions in
 * compiler/cpu/entries.c pin the layout. Change INGOT_CPU_ABI_VERSION with any change
 * here; archives of another ABI version are recompiled or refused.
 *
 * A kernel is one ELF shared object that exports `ingot_kernel`, a
 * struct ingot_cpu_kernel. A SIMD-group is 32 lanes; thread t of a threadgroup (x
 * fastest, then y, then z) is lane t % 32 of SIMD-group t / 32.
 */
#ifndef INGOT_BASE_CPU_ABI_H
#define INGOT_BASE_CPU_ABI_H

#include <stdint.h>

#define INGOT_CPU_ABI_VERSION   2u
#define INGOT_SIMD_WIDTH        32u
#define INGOT_CPU_KERNEL_SYMBOL "ingot_kernel"

/* What __builtin_trap gives services->trap as the reason. */
#define INGOT_CPU_TRAPPED "the kernel trapped (__builtin_trap)"

/* What kernel code may call. Never NULL entries. Called on the kernel's own stack. */
struct ingot_cpu_group;
struct ingot_cpu_debug;
/* Runs one SIMD-group, whose active lanes are `mask` (never 0). */
typedef void ingot_cpu_simdgroup_fn(const struct ingot_cpu_group *group, uint32_t simdgroup,
                                    uint32_t mask);
struct ingot_cpu_services {
    /* Blocks (switches fiber) until every SIMD-group of the threadgroup is here. `mask`:
     * the lanes that reach it; a mask other than the SIMD-group's own is an error, does
     * not return, and fails the dispatch with INGOT_BARRIER_ERROR. */
    void (*barrier)(const struct ingot_cpu_group *group, uint32_t simdgroup, uint32_t mask);
    /* os_log: one message from one thread. `args` are count 8-byte slots: integers
     * sign- or zero-extended, floating point as double, strings as const char *. */
    void (*log)(const struct ingot_cpu_group *group, uint32_t level, const char *format,
                uint32_t count, const uint64_t *args);
    /* Ends the dispatch with INGOT_KERNEL_FAULT and a reason. Does not return. */
    void (*trap)(const struct ingot_cpu_group *group, const char *reason);
    /* Of code for debuggers only; other code does not know of them (see below). Runs the threads of
     * a SIMD-group, one at a time. */
    void (*run_threads)(const struct ingot_cpu_group *group, uint32_t simdgroup, uint32_t mask,
                        const struct ingot_cpu_debug *debug);
    /* By a thread: returns when the lanes that come to the same place are there, and have run
     * `operation` (or NULL) together. `frame`: the calling function's frame pointer. */
    void (*meet)(const struct ingot_cpu_group *group, ingot_cpu_simdgroup_fn *operation,
                 void *operands, const void *frame, uint32_t kind);
};

/* One threadgroup about to run. Read only for kernel code. */
struct ingot_cpu_group {
    void *const *buffers;     /*   0: by argument slot, see ingot_archive argument order */
    char *threadgroup_memory; /*   8: 128-byte aligned; statics from offset 0 */
    const uint32_t *threadgroup_offsets; /* 16: dynamic [[threadgroup(i)]] → offset, by slot */
    const struct ingot_cpu_services *services; /* 24 */
    void *runtime;                             /*  32: the device's own */
    uint32_t group_position[3];                /*  40: threadgroup_position_in_grid */
    uint32_t groups_per_grid[3];               /*  52: threadgroups_per_grid */
    uint32_t group_size[3];        /*  64: this group's own extent (smaller at an edge) */
    uint32_t full_group_size[3];   /*  76: dispatch_threads_per_threadgroup */
    uint32_t threads_per_grid[3];  /*  88 */
    uint32_t thread_count;         /* 100: product of group_size */
    uint32_t simdgroup_count;      /* 104: ceil(thread_count / 32) */
    uint32_t full_simdgroup_count; /* 108: that of a full group (dispatch_simdgroups_per_…) */
    /* Position of each thread of this group: three arrays [simdgroup_count * 32], x, then
     * y at +lane_stride, then z; only set for the INGOT_CPU_IDS_GENERAL variant. */
    const uint32_t *lane_positions; /* 112 */
    uint64_t lane_stride;           /* 120: in elements */
    /* y and z in the grid of the row that a row function runs; else not set. */
    uint32_t row[2]; /* 128 */
    /* Of sanitized code only, which is never run without it; other code does not know of it. */
    const struct ingot_cpu_sanitizer *sanitizer; /* 136 */
    void *race; /* 144: the race checks' own, of the threadgroup that runs; not for kernel code */
    struct ingot_cpu_ranges *ranges; /* 152: that asks were answered with, of this thread */
}; /* 160 bytes */

/* How lane positions follow from the SIMD-group's index. The device picks, per group, the
 * first variant that is present and whose condition holds. */
enum ingot_cpu_ids {
    /* group_size[0] % 32 == 0 and full_group_size[0] % 32 == 0: x is base + lane with
     * base % 32 == 0, in the group and in the grid; y and z are uniform */
    INGOT_CPU_IDS_ALIGNED = 0,
    /* group_size[1] == group_size[2] == 1: x is base + lane, base % 32 == 0 within the
     * group, but nothing is known of group_size[0] */
    INGOT_CPU_IDS_LINEAR = 1,
    /* anything: from lane_positions */
    INGOT_CPU_IDS_GENERAL = 2,
    /* only for row functions: SIMD-group n is x from 32 n on, in the row that `row` names */
    INGOT_CPU_IDS_ROW = 3,
    INGOT_CPU_IDS_COUNT = 4,
};

/* Runs SIMD-groups 0 … simdgroup_count-1 of a group in turn; only without barriers. */
typedef void ingot_cpu_group_fn(const struct ingot_cpu_group *group);
/* Runs the threads with first <= x < end of one row of the grid, whatever threadgroups they
 * belong to. Only of kernels that cannot tell: they use positions in the grid, no threadgroup
 * memory, no barriers and no operations between lanes. Of the group's fields those of the
 * whole grid and `row` are used. */
typedef void ingot_cpu_row_fn(const struct ingot_cpu_group *group, uint32_t first, uint32_t end);

enum ingot_cpu_kernel_flags {
    INGOT_CPU_KERNEL_BARRIERS = 1u << 0, /* calls services->barrier: needs fibers */
    /* May store past the caches: needs a fence at its end. */
    INGOT_CPU_KERNEL_NONTEMPORAL = 1u << 1,
    /* Says that it mostly moves memory, one group after the other, and has no row function. */
    INGOT_CPU_KERNEL_MEMORY_BOUND = 1u << 2,
    /* Has the sanitizer's checks: needs ingot_cpu_group.sanitizer, and exports its places. */
    INGOT_CPU_KERNEL_SANITIZED = 1u << 3,
    /* Is for debuggers: runs thread by thread, one group at a time, whatever time it takes. */
    INGOT_CPU_KERNEL_DEBUG = 1u << 4,
    /* Of x86-64-v4-bf16-amx only: while it runs, registers of the matrix units are of 16 lines of
     * 64 bytes, all 8 of them. */
    INGOT_CPU_KERNEL_MATRIX_UNITS = 1u << 5,
    /* Numbers, of 8 bits each, of a kernel that mostly moves memory, where the next thread in x
     * finds its own behind that of a thread: the bytes of it that are a thread's, and the arrays
     * that they are in. 0: not so, or not known. */
    INGOT_CPU_KERNEL_BYTES_PER_THREAD = 1u << 16,
    INGOT_CPU_KERNEL_ARRAYS = 1u << 24,
};

struct ingot_cpu_kernel {
    uint32_t abi_version;
    uint32_t flags;
    uint32_t static_threadgroup_bytes; /* rounded up to 16 */
    uint32_t stack_bytes;              /* of one SIMD-group; read by ingot_cpu_stack_bytes */
    ingot_cpu_simdgroup_fn *simdgroup[INGOT_CPU_IDS_COUNT]; /* absent variants NULL */
    ingot_cpu_group_fn *group[INGOT_CPU_IDS_COUNT];         /* NULL if BARRIERS is set */
    ingot_cpu_row_fn *row; /* or NULL; the only function if there is no other */
};

/* An upper bound of the frames of one SIMD-group, in bytes; from 2 GiB on it is stored as
 * INGOT_CPU_STACK_MIB plus the number of MiB, rounded up. */
#define INGOT_CPU_STACK_MIB (1u << 31)
static inline uint64_t ingot_cpu_stack_bytes(const struct ingot_cpu_kernel *kernel) {
    uint32_t stored = kernel->stack_bytes;
    return stored < INGOT_CPU_STACK_MIB ? stored : (uint64_t)(stored - INGOT_CPU_STACK_MIB) << 20;
}
static inline uint32_t ingot_cpu_stack_stored(uint64_t bytes) {
    uint64_t mib = (bytes >> 20) + 1, most = INGOT_CPU_STACK_MIB - 1;
    return bytes < INGOT_CPU_STACK_MIB ? (uint32_t)bytes
                                       : INGOT_CPU_STACK_MIB + (uint32_t)(mib < most ? mib : most);
}
/* No code of a kernel leaves more than this between two places of its stack that it touches on the
 * way down, so that no frame steps over a guard of twice the size. */
#define INGOT_CPU_STACK_PROBE (64u << 10)

/* ---- code for debuggers (docs/design/debugger.md) ---- */

/* Which thread runs; prelude/ingot_debug.h has the same for debuggers. */
struct ingot_cpu_thread {
    const struct ingot_cpu_group *group; /*  0 */
    uint32_t simdgroup, lane;            /*  8 */
    uint32_t position[3];                /* 16: in the grid */
    uint32_t position_in_threadgroup[3]; /* 28 */
    uint32_t threadgroup[3];             /* 40: its position in the grid */
    uint32_t reserved;                   /* 52 */
};

enum ingot_cpu_lane_state {
    INGOT_CPU_LANE_ABSENT = 0,
    INGOT_CPU_LANE_READY = 1,
    INGOT_CPU_LANE_AT_BARRIER = 2,
    INGOT_CPU_LANE_WAITS = 3, /* for other lanes of its SIMD-group */
    INGOT_CPU_LANE_ENDED = 4,
};

/* A thread of the threadgroup, by its index there. */
struct ingot_cpu_lane {
    uint32_t state;
    uint32_t position[3];                /* in the threadgroup */
    const void *frame, *resumes, *stack; /* of one that waits: frame pointer, return address, sp */
};

/* What lanes meet for. */
enum ingot_cpu_meeting {
    INGOT_CPU_MEET_TO_OPERATE = 0,
    INGOT_CPU_MEET_AT_BARRIER = 1, /* of the threadgroup */
    INGOT_CPU_MEET_ONLY = 2,       /* a simdgroup_barrier, or the end of a loop's iteration */
};

#define INGOT_CPU_MAX_LANES 1024u

/* What run_threads needs of the code. All of it is the shared object's own. */
struct ingot_cpu_debug {
    void (*run)(void);               /* one thread */
    struct ingot_cpu_thread *thread; /* set whenever another thread runs */
    struct ingot_cpu_lane *lanes;    /* [INGOT_CPU_MAX_LANES] */
    void **operands;                 /* [INGOT_SIMD_WIDTH], of those who meet to operate */
    uint64_t stack_bytes;            /* of a thread */
};

/* ---- sanitized code (docs/design/sanitizer.md) ---- */

#define INGOT_CPU_PLACES_SYMBOL "ingot_places"
#define INGOT_CPU_NO_SLOT       UINT32_MAX

/* What an access does. */
enum ingot_cpu_access {
    INGOT_CPU_NO_ACCESS = 0,
    INGOT_CPU_LOAD = 1,
    INGOT_CPU_STORE = 2,
    INGOT_CPU_ATOMIC = 3,
};

/* ingot_cpu_place.detail of `race`: what comes by. */
enum ingot_cpu_race {
    INGOT_CPU_RACE_READS = 1u << 0, /* with WRITES: the thread loads from there, too */
    INGOT_CPU_RACE_WRITES = 1u << 1,
    INGOT_CPU_RACE_ATOMIC = 1u << 2,
    INGOT_CPU_RACE_NO_VALUE = 1u << 3, /* what is stored is not told */
    INGOT_CPU_RACE_SEEN = 1u << 4,     /* behind an atomic that reads: what it saw is ordered by the
                                          next fence */
    INGOT_CPU_RACE_BARRIER = 1u << 5,  /* no access; of the threadgroup, or */
    INGOT_CPU_RACE_SIMDGROUP = 1u << 6, /* of the SIMD-group alone */
    INGOT_CPU_RACE_FENCE = 1u << 7,
    /* Numbers of barriers and fences: mem_flags (8 bits), memory_order and thread_scope (4 each) */
    INGOT_CPU_RACE_FLAGS = 1u << 8,
    INGOT_CPU_RACE_ORDER = 1u << 16,
    INGOT_CPU_RACE_SCOPE = 1u << 20,
};

/* A place in the source that a check is about. Checks name it by its number. */
struct ingot_cpu_place {
    uint32_t kind; /* enum ig_sanitize_kind, or, of counted code, enum ig_count_kind */
    uint32_t line, column;
    uint32_t access; /* enum ingot_cpu_access */
    uint32_t space;  /* ingot_address_space; 0: private memory; of accesses */
    uint32_t bytes;  /* of the access; 0: none, or not known */
    /* The argument that the address comes from: its slot, of buffers (space device or constant) or
     * of threadgroup arguments. NO_SLOT: none, or not known. */
    uint32_t slot;
    uint32_t detail;         /* the kind's own */
    uint64_t variable_bytes; /* of the variable that the address comes from */
    const char *file, *text; /* the source line; "" where it is not known */
    const char *variable;    /* its name, or "" */
    const char *message;     /* the kind's own words, or "" */
    /* The calls that were inlined on the way, from the inside outwards: "FUNCTION\tFILE\tLINE\t
     * COLUMN\n" each, where FUNCTION is the one called there. */
    const char *inlined;
};

/* What the shared object exports as ingot_places. */
struct ingot_cpu_places {
    uint64_t count;
    const struct ingot_cpu_place *items;
};

#define INGOT_CPU_SCATTERED INT64_MIN

/* Where an ask of a place found its lanes last: while others are in the same range, the device need
 * not be asked. A place's range is at its number modulo INGOT_CPU_RANGES, if it says so. */
#define INGOT_CPU_RANGES 64
struct ingot_cpu_range {
    uint64_t start, bytes;
    uint64_t place; /* plus one */
};
struct ingot_cpu_ranges {
    uint64_t change; /* the device's */
    struct ingot_cpu_range items[INGOT_CPU_RANGES];
};

/* What sanitized code may call; never NULL entries. `mask`: the lanes it is about, never 0.
 * Arrays have an element for each of the 32 lanes, of which those of `mask` count. */
struct ingot_cpu_sanitizer {
    /* These lanes do what the place's kind forbids; `values` as the kind means them. */
    void (*report)(const struct ingot_cpu_group *group, uint32_t simdgroup, uint32_t mask,
                   uint32_t place, const uint64_t *values);
    /* These lanes come to the place, with two operands as the kind means them. */
    void (*tell)(const struct ingot_cpu_group *group, uint32_t simdgroup, uint32_t mask,
                 uint32_t place, const uint64_t *first, const uint64_t *second);
    /* The same, and the result says for which of them the kind's question is true. */
    uint32_t (*ask)(const struct ingot_cpu_group *group, uint32_t simdgroup, uint32_t mask,
                    uint32_t place, const uint64_t *first, const uint64_t *second);
    const uint64_t *buffer_bytes;      /* 24: as bound, by slot */
    const uint64_t *threadgroup_bytes; /* 32: of dynamic threadgroup memory, by slot */
    /* 40: these lanes come to the place. Only of code that the profiler counts, of which it and
     * `tell` are all that is called. */
    void (*count)(const struct ingot_cpu_group *group, uint32_t simdgroup, uint32_t mask,
                  uint32_t place);
    /* These lanes access memory at a place of `race`: at base + lane * stride, or where the stride
     * is INGOT_CPU_SCATTERED at what the array at base says. `values` are those stored, or NULL. */
    void (*access)(const struct ingot_cpu_group *group, uint32_t simdgroup, uint32_t mask,
                   uint32_t place, uint64_t base, int64_t stride, const uint64_t *values); /* 48 */
    /* 56: by slot, is anything in the argument's memory written, so that accesses are to be told?
     */
    const uint8_t *buffer_watched;
    /* 64: by slot plus one, not 0: some of the buffer may never have been written, so that it is
     * worth while to ask. The first one stands for buffers that no slot names. */
    const uint8_t *unwritten;
};
/* Shadows (compiler/sanitize/shadow.h). The kind's value is a place's number plus one, of where a
 * value came from; with this bit where it was read from memory that nobody wrote. */
#define INGOT_CPU_NEVER_WRITTEN (1u << 30)
/* From a byte of threadgroup memory to that of its shadow. */
#define INGOT_CPU_SHADOW_DISTANCE (4u << 20)

#endif
