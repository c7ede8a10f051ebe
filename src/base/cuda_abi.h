/*
 * The contract between CUDA kernel code (PTX made by ingotc) and the CUDA device (libingot).
 *
 * A kernel's code in an archive has the target "sm_80", "sm_90" or, for cards of compute capability
 * 9.0 and no others, "sm_90a", and is PTX text with a NUL at its end (ig_code.size counts the NUL);
 * a cubin has the target "sm_90.cubin". Either has one
 * entry, INGOT_CUDA_KERNEL_SYMBOL, with one parameter: the block described here, by value, of
 * ingot_cuda_block_bytes() bytes, 16-byte aligned:
 *
 *     struct ingot_cuda_launch                      56 bytes
 *     uint64_t buffers[buffer slots]
 *     uint32_t threadgroup_offsets[threadgroup slots]
 *     padding to 16, then room for inline bytes, argument by argument, in declaration order
 *
 * Buffers. buffers[slot] is a device address, or, when below INGOT_CUDA_INLINE_LIMIT, the offset
 * in this block of bytes that were given inline. Only arguments with ingot_cuda_inline_room() can
 * be given inline, at ingot_cuda_inline_offset(); bytes that do not fit there, and bytes for
 * other arguments, are for the device to copy to device memory first. Unbound slots hold 0.
 *
 * Launch. Blocks are one-dimensional, group[0]·group[1]·group[2] threads; the grid of blocks is
 * groups[], or a part of it that begins at first[]. The kernel finds its position from %tid.x in
 * the actual size of its (possibly partial) threadgroup, x fastest, and threads past it exit at
 * once.
 *
 * Threadgroup memory. Static variables are .shared variables of the module, which the driver
 * places by itself; ig_variant.static_threadgroup_bytes says how much they take. Dynamic memory is
 * one array after them: threadgroup_offsets[slot] counts from the start of that array (statics not
 * included) and is a multiple of 16; its total is the launch's dynamic shared memory. Statics of
 * more than INGOT_CUDA_MAX_STATIC bytes are the beginning of that array, and count in both.
 *
 * Panels. A module with a variable INGOT_CUDA_PANELS_SYMBOL can use as many times
 * INGOT_CUDA_PANEL_UNIT bytes of threadgroup memory as the variable has bytes, behind all else: the
 * launch's flags have INGOT_CUDA_PANELS if it is there, and where it begins in the array. Without
 * the flag the kernel does its work in another way. Its dynamic memory is a multiple of the unit,
 * and not 0, in both cases.
 *
 * Registers. A kernel with [[max_total_threads_per_threadgroup(n)]] can be launched with n threads;
 * another has as many registers as it can use, and its function's attribute
 * MAX_THREADS_PER_BLOCK says how many threads may have them. For more, load the PTX again with
 * fewer registers (CU_JIT_MAX_REGISTERS).
 *
 * Order. Code for sm_90 begins with INGOT_CUDA_WAIT, in every thread, so that it may be launched
 * with programmatic stream serialization: the driver then has less to do, and the next kernel's
 * blocks start while this one's writes become visible. A cubin has that text behind its end. Code
 * that does not contain it is launched without.
 *
 * Messages. A module whose kernel can write messages has a variable INGOT_CUDA_LOG_SYMBOL of
 * INGOT_CUDA_LOG_BYTES bytes: struct ingot_cuda_log, then records one after the other, which the
 * device reads and clears when nothing runs.
 *
 * Barriers. A module whose kernel has a threadgroup barrier that some threads may miss has a
 * variable INGOT_CUDA_FAILURE_SYMBOL, a struct ingot_cuda_failure. Threads that find some missing
 * fill it in, unless the launch's flags have INGOT_CUDA_LENIENT_BARRIERS, and end; the others of
 * the grid go on. The device reads it after the dispatch, and clears it. Other faults are the
 * driver's.
 */
#ifndef INGOT_BASE_CUDA_ABI_H
#define INGOT_BASE_CUDA_ABI_H

#include "base/archive.h"

#define INGOT_CUDA_ABI_VERSION   4u
#define INGOT_CUDA_KERNEL_SYMBOL "ingot_kernel"
#define INGOT_CUDA_INLINE_LIMIT  65536u
#define INGOT_CUDA_MAX_BLOCK     4096u
#define INGOT_CUDA_MAX_STATIC    (48u * 1024u)
/* For a `constant` argument that is a pointer: its size is not known to the compiler. */
#define INGOT_CUDA_POINTER_ROOM 1024u

#define INGOT_CUDA_WAIT         "griddepcontrol.wait"

#define INGOT_CUDA_LOG_SYMBOL   "ingot_log"
#define INGOT_CUDA_LOG_BYTES    65536u

struct ingot_cuda_log {
    uint32_t used; /* bytes of the records; may be more than there is room for */
    uint32_t lost; /* messages that had no room */
    uint32_t reserved[2];
};

/* Level of the record of a thread that ended itself: because a function called itself too often,
 * with how often it may as its one argument; or by a trap, without an argument. */
#define INGOT_CUDA_LOG_ENDED 0xffffffffu

struct ingot_cuda_record {
    uint32_t size; /* with this header, a multiple of 8 */
    uint32_t level;
    uint32_t count;         /* 8-byte slots after the header, see ingot_cpu_services.log */
    uint32_t format_length; /* bytes after the slots */
};

#define INGOT_CUDA_FAILURE_SYMBOL "ingot_failure"

enum ingot_cuda_failure_kind {
    INGOT_CUDA_BARRIER_LANES = 1, /* a barrier reached by a part of a SIMD-group */
    INGOT_CUDA_BARRIER_ENDED = 2, /* some SIMD-groups had ended when the others were at a barrier */
};

/* Of all that failed since it was cleared, the first. */
struct ingot_cuda_failure {
    uint64_t claim; /* not 0: there is one */
    uint32_t kind;  /* enum ingot_cuda_failure_kind */
    uint32_t stream;
    uint32_t group[3];
    uint32_t simdgroup; /* BARRIER_LANES */
    uint32_t came;      /* bits: its lanes, or the SIMD-groups, that were at the barrier, */
    uint32_t all;       /* and those that there are */
};

#define INGOT_CUDA_PANELS_SYMBOL "ingot_panels"
#define INGOT_CUDA_PANEL_UNIT    1024u
#define INGOT_CUDA_PANELS        8 /* a bit of the launch's flags */

enum ingot_cuda_flags {
    /* Every `constant` argument that is a reference and has room is given inline: the kernel then
     * reads them at fixed places. Set whenever it holds, also when there is no such argument. */
    INGOT_CUDA_REFERENCES_INLINE = 1u << 0,
    /* group[1] == group[2] == 1. Set whenever it holds. */
    INGOT_CUDA_ONE_DIMENSION = 1u << 1,
    /* Threads that have ended, or stand elsewhere, do not count at a barrier. */
    INGOT_CUDA_LENIENT_BARRIERS = 1u << 2,
};

struct ingot_cuda_launch {
    uint32_t threads[3]; /*  0: threads_per_grid */
    uint32_t group[3];   /* 12: nominal threads per threadgroup */
    uint32_t groups[3];  /* 24: threadgroups per grid */
    uint32_t flags;      /* 36: enum ingot_cuda_flags, INGOT_CUDA_PANELS; from bit 10 on: the place
                            of the panels in dynamic memory; all other bits are 0 */
    uint32_t zero;       /* 40: 0 */
    uint32_t first[2];   /* 44: added to the block's y and z */
    uint32_t stream;     /* 52: any number, for ingot_cuda_failure */
}; /* 56 bytes: buffers[] follow */

/* Where buffers[] and threadgroup_offsets[] are in the block, and where inline bytes start. */
static inline uint32_t ingot_cuda_slots(const struct ig_argument *arguments, uint32_t count,
                                        uint32_t kind) {
    uint32_t slots = 0;
    for (uint32_t i = 0; i < count; i++) {
        slots += arguments[i].kind == kind;
    }
    return slots;
}

static inline uint32_t ingot_cuda_buffers_at(void) {
    return (uint32_t)sizeof(struct ingot_cuda_launch);
}

static inline uint32_t ingot_cuda_threadgroups_at(const struct ig_argument *arguments,
                                                  uint32_t count) {
    return ingot_cuda_buffers_at() + 8u * ingot_cuda_slots(arguments, count, INGOT_ARGUMENT_BUFFER);
}

static inline uint32_t ingot_cuda_inline_at(const struct ig_argument *arguments, uint32_t count) {
    uint32_t end = ingot_cuda_threadgroups_at(arguments, count) +
                   4u * ingot_cuda_slots(arguments, count, INGOT_ARGUMENT_THREADGROUP);
    return (end + 15u) & ~15u;
}

/* What argument `which` would like to have. */
static inline uint64_t ingot_cuda_wanted_room(const struct ig_argument *argument) {
    if (argument->kind != INGOT_ARGUMENT_BUFFER || argument->space != INGOT_SPACE_CONSTANT ||
        !argument->active || argument->unused) {
        return 0;
    }
    return argument->is_reference ? (argument->type_size + 15u) & ~(uint64_t)15u
                                  : INGOT_CUDA_POINTER_ROOM;
}

/* The place of argument `which`'s inline bytes, and how many fit there: 0 if none may be given. */
static inline uint32_t ingot_cuda_inline_offset(const struct ig_argument *arguments, uint32_t count,
                                                uint32_t which, uint32_t *room) {
    uint64_t at = ingot_cuda_inline_at(arguments, count);
    *room = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t wanted = ingot_cuda_wanted_room(&arguments[i]);
        bool fits = wanted <= INGOT_CUDA_MAX_BLOCK && at + wanted <= INGOT_CUDA_MAX_BLOCK;
        if (i == which) {
            *room = fits ? (uint32_t)wanted : 0;
            return (uint32_t)at;
        }
        at += fits ? wanted : 0;
    }
    return (uint32_t)at;
}

static inline uint32_t ingot_cuda_inline_room(const struct ig_argument *arguments, uint32_t count,
                                              uint32_t which) {
    uint32_t room;
    ingot_cuda_inline_offset(arguments, count, which, &room);
    return room;
}

/* The size of the whole block, which is the size of the kernel's parameter. */
static inline uint32_t ingot_cuda_block_bytes(const struct ig_argument *arguments, uint32_t count) {
    uint32_t room;
    return ingot_cuda_inline_offset(arguments, count, count, &room);
}

#endif
