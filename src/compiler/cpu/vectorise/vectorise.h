/*
 * The vectoriser: one scalar kernel function in, one function that runs 32 lanes out.
 *
 * Requires: everything inlined, or called as prepare/kept.c does; no vectors, aggregates, memcpy or
 * switches left (cpu/prepare/); reducible loops in loop-simplify and LCSSA form; one return.
 * Provides a function of type ingot_cpu_simdgroup_fn. The scalar function is left in place for the
 * next variant. Does not: optimise what it emits (cpu/passes.c does), or know any clang or archive.
 */
#ifndef INGOT_COMPILER_VECTORISE_H
#define INGOT_COMPILER_VECTORISE_H

#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>

#include "base/arena.h"
#include "base/cpu_abi.h"
#include "base/error.h"
#include "compiler/backend/backend.h"

struct igv_target {
    struct igc_target common;
    unsigned lanes;    /* per chunk: 16 with AVX-512, 8 otherwise */
    unsigned chunks;   /* 32 / lanes; 1: a SIMD-group runs in turns (turns.c) */
    bool bit_masks;    /* <lanes x i1> masks; otherwise sign masks <lanes x i32> in slots */
    bool bfloat_pairs; /* vdpbf16ps: tiles of bfloat are multiplied two of k at a time */
    bool matrix_units; /* tdpbf16ps: so are groups of them, 16 by 16 by 32 at a time */
    bool arm_matrices; /* bfmmla, smmla and fmlal: tiles of bfloat, bytes and half have those */
    bool is_x86;       /* masked accesses have instructions, half only conversions */
    bool is_aarch64;   /* it picks lanes of up to four registers by tbl */
    const struct igv_lowerings *lowerings; /* of built-ins and atomics: cpu/lower/ (emit.h) */
};

/* Functions that stay functions (ir/builtins.def: kept_…), vectorised for one target: of type
 * void (ptr group, i32, i32 mask, ptr frame), the frame being their caller's. */
struct igv_kept {
    const LLVMValueRef *functions; /* by number */
    unsigned count;
    unsigned words; /* of 32 bits for each lane, that a frame has */
};

struct igv_request {
    LLVMModuleRef module;
    LLVMValueRef kernel; /* scalar, prepared */
    LLVMTargetMachineRef machine;
    const struct igv_target *target;
    enum ingot_cpu_ids ids;
    bool full_mask;   /* a version for mask == ~0u: assume all 32 lanes at entry */
    bool may_decline; /* with full_mask: the function is of type i1 (ptr, i32, i32), and returns
                         false, having done nothing, if a lane fails an __ingot_in_bounds */
    const struct igv_kept *kept;       /* that the kernel calls; NULL: none */
    bool is_kept;                      /* what is called the kernel is one itself */
    const uint32_t *buffer_slots;      /* parameter ordinal → slot in buffers */
    const uint32_t *threadgroup_slots; /* parameter ordinal → slot in threadgroup_offsets */
    const char *name;                  /* of the new function */
    LLVMMetadataRef description;       /* its DISubprogram, for line tables; or NULL */
};

struct igv_result {
    LLVMValueRef function;
    bool has_barriers, streams; /* streams: it may store past the caches */
    uint32_t stack_bytes;       /* of private arrays and slots: an estimate from above */
};

ingot_status igv_vectorise(struct ig_arena *arena, const struct igv_request *request,
                           struct igv_result *result, struct ig_error *error);
/* Makes code of the simdgroup_matrix calls that igv_vectorise left in the module's functions; slots
 * become SSA values on the way. *uses_units becomes true where that needs
 * INGOT_CPU_KERNEL_MATRIX_UNITS: only in a module that has a struct ingot_cpu_kernel. In
 * cpu/lower/tiles.c. */
ingot_status igv_lower_tiles(LLVMModuleRef module, LLVMTargetMachineRef machine,
                             const struct igv_target *target, bool *uses_units,
                             struct ig_error *error);

#endif
