/*
 * From an optimised scalar kernel to PTX: the kernel as it is before the vectoriser, retargeted.
 * The pieces; passes.c has their order. All work on one module with one kernel. The prefix is igp_.
 */
#ifndef INGOT_COMPILER_NVPTX_H
#define INGOT_COMPILER_NVPTX_H

#include "base/cuda_abi.h"
#include "compiler/analysis/analysis.h"
#include "compiler/backend/backend.h"
#include "compiler/ir/builtins.h"
#include "compiler/ir/edit.h"

/* A level of cards. */
struct igp_target {
    struct igc_target common;
    bool has_warpgroup_mma; /* products of four SIMD-groups (sm_90a) */
    bool waits_for_kernels; /* a launch may begin before the one before it ends (sm_90) */
};

/* What the passes of a kernel tell each other. */
struct igp_facts {
    bool permuted; /* lanes are numbered so that Apple's tiles are the tensor cores' (matrix.c) */
    bool uses_warpgroup_mma; /* there are products of four SIMD-groups (warpgroup_mma.c) */
    bool released;           /* loops may have become simpler (never_edges.c) */
    bool needs_masks;        /* of active lanes, at some call (masks.c), */
    bool has_masks;          /* which are known */
    struct igp_read *reads;  /* of `constant` references, hoisted to the entry */
    unsigned read_count;
};

static inline struct igp_facts *igp_facts(const struct igc_kernel *kernel) {
    return kernel->facts;
}

static inline const struct igp_target *igp_target(const struct igc_kernel *kernel) {
    return (const struct igp_target *)kernel->target;
}

extern const struct igc_backend igp_backend;                   /* targets.c */
extern const struct igc_pass igp_early_passes[], igp_passes[]; /* passes.c */

struct igp_read {
    uint32_t argument, offset; /* index in the reflection; bytes from the argument's start */
    LLVMTypeRef type;
    unsigned align;
};

/* The function of that name and type, declared if it is not there. */
LLVMValueRef igp_declare(struct igc_kernel *kernel, struct igi_name name, LLVMTypeRef type);
LLVMValueRef igp_call(struct igc_kernel *kernel, struct igi_name name, LLVMTypeRef result,
                      LLVMValueRef *args, unsigned count);
/* What the kernel asks for by __ingot_has_panels, at most; 0: nothing. */
uint64_t igp_panel_bytes(const struct igc_kernel *kernel);
/* Every instruction for which `wanted`, in order; the arena's, NULL-terminated. */
LLVMValueRef *igp_collect(struct igc_kernel *kernel, bool (*wanted)(LLVMValueRef instruction));

/* ---- never_edges.c ---- */
typedef ingot_status igp_flow_fn(struct igc_kernel *kernel, const struct igv_analysis *flow,
                                 void *context);
/* Calls `act` with what is uniform and where threads are together in the kernel as it is. */
ingot_status igp_with_flow(struct igc_kernel *kernel, enum igv_scope scope, igp_flow_fn *act,
                           void *context);
/* A call of __ingot_never, the condition of edges that are not taken. */
bool igp_is_never(LLVMValueRef instruction);
/* Lanes that leave a loop in different iterations do not meet at the code before its end, */
igc_pass_fn igp_open_loops;
igc_when_fn igp_has_pinned_exits; /* otherwise there are none of either */
/* and loops that all lanes leave together need nothing to hold code in them. Sets `released` if
 * there were any such. */
igc_pass_fn igp_release_loops;

/* ---- barriers.c ---- */
/* Barriers of the threadgroup that some of its threads may miss are made to notice. */
igc_pass_fn igp_check_barriers;
/* What they are made of, and the place for what went wrong, if the kernel has such barriers. */
void igp_write_stop(const struct igc_kernel *kernel, struct ig_text *out);
/* Once all is inlined: threads that end there do so at one place, which then is to be inlined. */
igc_pass_fn igp_join_stops;

/* ---- masks.c ---- */
/* Calls that look at the active lanes get the suffix ".all" where every lane of the SIMD-group
 * that exists gets to them together. Where branches depend on the lane they get ".some", and the
 * hardware's mask of the active lanes as one more argument. */
igc_pass_fn igp_mark_lanes; /* if none needs a mask; else facts->needs_masks, and */
igc_pass_fn
    igp_make_masks; /* sets facts->has_masks if they can be told; fails in the second round */

/* ---- loose_alignment.c ---- */
/* Vectors may lie at any multiple of their elements. */
igc_pass_fn igp_loosen_alignment;
igc_when_fn igp_is_loose; /* which was asked for */

/* ---- arguments.c ---- */
/* Arguments by slot; reads of `constant` references become calls of nv.read.N. */
igc_pass_fn igp_lower_arguments;
/* Which argument a call of the family asks for; their count if that cannot be told. */
uint32_t igp_argument_of(const struct igc_reflection *reflection, LLVMValueRef call);

/* ---- copies.c ---- */
igc_pass_fn igp_lower_copies;
bool igp_is_memory_copy(LLVMValueRef instruction);             /* memcpy or memmove */
unsigned igp_copy_alignment(LLVMValueRef copy, unsigned side); /* 0: of where to, 1: from */
/* A copy of which that makes loads and stores, each as wide as it is aligned. */
bool igp_is_small_copy(LLVMValueRef instruction);

/* ---- async_copies.c ---- */
/* Copies from device to threadgroup memory that nobody looks at before a barrier need no registers
 * and nobody who waits for them before it. */
igc_pass_fn igp_copy_async;
igc_when_fn igp_copies_words; /* words that are copied, perhaps next to others */
/* Are these never places in one object of threadgroup memory, at one time? */
bool igp_other_objects(LLVMValueRef a, LLVMValueRef b);
/* Does a call neither read nor write memory? */
bool igp_has_no_memory(LLVMValueRef call);
/* Does everybody wait there, or is it the end? */
bool igp_is_wait(LLVMValueRef instruction);

/* ---- atomics.c ---- */
/* Loops of compare and exchange that add floats become atomic additions. */
igc_pass_fn igp_lower_atomics;

/* ---- matrix.c ---- */
/* Products of tiles, on tensor cores where the elements are half or bfloat. */
igc_pass_fn igp_lower_matrix;
/* Is the value there before `place`? Both in one function; other blocks are taken to be before. */
bool igp_is_before(LLVMValueRef value, LLVMValueRef place);
/* Nothing between two instructions of a block writes memory. */
bool igp_no_writes(LLVMValueRef from, LLVMValueRef to);

/* ---- ldmatrix.c ---- */
/* An address that is computed from another one. */
bool igp_is_element(LLVMValueRef value);
/* Takes constant distances off an address. */
LLVMValueRef igp_base_of(struct igc_kernel *kernel, LLVMValueRef pointer, int64_t *offset);
LLVMValueRef igp_base_in(LLVMTargetDataRef layout, LLVMValueRef pointer, int64_t *offset);
/* Operands of products that lie in threadgroup memory, by one instruction each. */
igc_pass_fn igp_join_loads;

/* A tile in threadgroup memory. */
struct igp_tile {
    LLVMValueRef load[2]; /* of its two elements */
    LLVMValueRef base;
    int64_t offset, stride; /* in bytes */
    bool transposed;
};
/* The two elements that a word is put together of. */
bool igp_find_elements(LLVMValueRef word, LLVMValueRef *elements);
/* A register of two elements that are one lane's part of a tile in threadgroup memory, whose rows
 * are at multiples of 16 bytes. */
bool igp_find_tile(struct igc_kernel *kernel, LLVMValueRef word, struct igp_tile *tile);

/* ---- warpgroup_mma.c ---- */
/* Products that four SIMD-groups make by one instruction. */
igc_pass_fn igp_join_simdgroups;
bool igp_is_warpgroup_product(LLVMValueRef instruction);
/* A long product, or one of four SIMD-groups, that has A in registers. */
bool igp_is_register_product(LLVMValueRef instruction);
/* The places that a product of four SIMD-groups reads, at most two. */
unsigned igp_warpgroup_product_places(LLVMValueRef product, LLVMValueRef *places);
/* Calls that order such products, and have no other effect. */
bool igp_is_warpgroup_order(LLVMValueRef instruction);
/* ---- swizzle.c ---- */
/* Is every access of the kernel to threadgroup memory one that can go to a permuted place? */
bool igp_can_swizzle(struct igc_kernel *kernel);
/* The permuted place of what is at a pointer, as a number. */
LLVMValueRef igp_swizzled(LLVMBuilderRef builder, LLVMTargetDataRef layout, LLVMValueRef pointer);
/* All accesses of the finished entry point but those of assembly, which have been dealt with. */
igc_pass_fn igp_swizzle;

/* ---- library*.c, entry.c: LLVM IR as text ---- */
/* The built-ins that the module calls. */
void igp_write_library(const struct igc_kernel *kernel, struct ig_text *out);
/* Does the library have what this back end makes of the row? */
bool igp_defines(enum igi_builtin builtin);
/* A function of the library that the module calls. */
struct igp_function {
    LLVMValueRef function; /* the declaration */
    const char *text;      /* its name */
    struct igi_name name;
};
typedef void igp_write_fn(const struct igc_kernel *kernel, const struct igp_function *function,
                          struct ig_text *out);
igp_write_fn igp_write_lanes; /* library_lanes.c */
igp_write_fn igp_write_wgmma; /* warpgroup_mma_text.c */
bool igp_has_lane_text(enum igi_builtin builtin);
/* nv.record and the log that it writes to. */
void igp_write_log(struct ig_text *out);
/* The entry point, which calls the body; every thread of a target that waits_for_kernels does. */
void igp_write_entry(const struct igc_kernel *kernel, struct ig_text *out);

/* ---- widen_accesses.c ---- */
/* Neighbouring narrow loads and stores of the finished entry point become words. */
igc_pass_fn igp_widen;

/* cache_hints.c: loads that say what leaves caches last; their pointers are marked by nv.staying.
 */
igc_pass_fn igp_hints;

/* bfloats.c: bfloats in the upper halves of words become floats by one instruction. */
igc_pass_fn igp_bfloats;

/* ---- short_pointers.c ---- */
LLVMTargetMachineRef igp_short_pointers(LLVMModuleRef module, LLVMTargetMachineRef machine);

/* ---- respace.c ---- */
/* LLVM IR with the constant address space generic, and, on request, without declarations of what
 * the library defines. */
void igp_respace(const char *text, bool drop_library, struct ig_text *out);

/* ---- maths.c ---- */
/* Before optimisation: approximations of the hardware in the fast forms of the maths library. */
igc_pass_fn igp_use_gpu_maths;

/* ---- nvptx.c ---- */
igc_pass_fn igp_start;             /* the kernel's name; debug information goes */
igc_pass_fn igp_place_threadgroup; /* variables in threadgroup memory; kernel->threadgroup_bytes */
igc_pass_fn igp_retarget;          /* the module as one for NVIDIA's GPUs, with library and entry */
igc_pass_fn igp_fill_in;           /* calls of which only the entry point knows the value */
igc_pass_fn igp_check_calls;       /* what is still called must be LLVM's */

/* ---- assemble.c ---- */
/* PTX → a cubin for one kind of card, "sm_90", by ptxas. */
ingot_status igp_assemble(struct ig_arena *arena, const char *card, const void *ptx, size_t size,
                          const void **cubin, size_t *cubin_size, struct ig_error *error);

#endif
