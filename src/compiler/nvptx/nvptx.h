/*
 * From an optimised scalar kernel to PTX: the kernel as it is before the vectoriser, retargeted.
 * The pieces, in the order in which nvptx.c uses them; all work on one module with one kernel.
 */
#ifndef INGOT_COMPILER_NVPTX_H
#define INGOT_COMPILER_NVPTX_H

#include "base/cuda_abi.h"
#include "compiler/driver/driver.h"
#include "compiler/ir/edit.h"

struct igp_kernel {
    struct ig_arena *arena;
    LLVMModuleRef module;
    LLVMValueRef body; /* the kernel */
    LLVMContextRef context;
    LLVMBuilderRef builder;
    const struct igc_reflection *reflection;
    bool permuted;  /* lanes are numbered so that Apple's tiles are the tensor cores' (matrix.c) */
    bool quads;     /* products of four SIMD-groups are allowed (quads.c), */
    bool has_quads; /* and there are some */
    bool released;  /* loops may have become simpler (uniform.c) */
    struct igp_read *reads; /* of `constant` references, hoisted to the entry */
    unsigned read_count;
    struct ig_error *error;
};

struct igp_read {
    uint32_t argument, offset; /* index in the reflection; bytes from the argument's start */
    LLVMTypeRef type;
    unsigned align;
};

/* The name of the function that a call calls; "" when it is not known. */
const char *igp_callee(LLVMValueRef instruction);
/* The function of that name and type, declared if it is not there; pure: no memory effects. */
LLVMValueRef igp_declare(struct igp_kernel *kernel, const char *name, LLVMTypeRef type, bool pure);
LLVMValueRef igp_call(struct igp_kernel *kernel, const char *name, LLVMTypeRef result,
                      LLVMValueRef *args, unsigned count, bool pure);
/* Every instruction for which `wanted`, in order; the arena's, NULL-terminated. */
LLVMValueRef *igp_collect(struct igp_kernel *kernel, bool (*wanted)(LLVMValueRef instruction));

/* ---- uniform.c ---- */
struct igp_flow;
typedef ingot_status igp_flow_fn(struct igp_kernel *kernel, const struct igp_flow *flow,
                                 void *context);
/* Calls `act` with what is known of the kernel as it is. */
ingot_status igp_with_flow(struct igp_kernel *kernel, igp_flow_fn *act, void *context);
/* The same, where "lanes" below are others than those of a SIMD-group. */
enum igp_among {
    IGP_AMONG_LANES,
    IGP_AMONG_SIMDGROUPS, /* equal lanes of the SIMD-groups of a threadgroup, if all are whole */
    IGP_AMONG_THREADS,    /* all threads of a threadgroup */
};
ingot_status igp_with_flow_among(struct igp_kernel *kernel, enum igp_among among, igp_flow_fn *act,
                                 void *context);
/* Not all lanes of the SIMD-group get to the block together. */
bool igp_is_divergent(const struct igp_flow *flow, LLVMBasicBlockRef block);
/* Lanes that are at the end of the block together may go on to different ones. */
bool igp_branch_varies(const struct igp_flow *flow, LLVMBasicBlockRef block);
/* The value may differ between lanes. */
bool igp_varies(const struct igp_flow *flow, LLVMValueRef value);
/* A call of __ingot_never, the condition of edges that are not taken. */
bool igp_is_never(LLVMValueRef instruction);
/* Lanes that leave a loop in different iterations do not meet at the code before its end, */
ingot_status igp_open_loops(struct igp_kernel *kernel, LLVMTargetMachineRef machine);
/* and loops that all lanes leave together need nothing to hold code in them. Sets `released` if
 * there were any such. */
ingot_status igp_release_loops(struct igp_kernel *kernel);
/* Whether it looks at the active lanes. */
bool igp_uses_lanes(const char *name);

/* ---- barriers.c ---- */
/* Barriers of the threadgroup that some of its threads may miss are made to notice. */
ingot_status igp_check_barriers(struct igp_kernel *kernel);
/* What they are made of, and the place for what went wrong, if the kernel has such barriers. */
void igp_write_stop(const struct igp_kernel *kernel, struct ig_text *out);
/* Once all is inlined: threads that end there do so at one place, which then is to be inlined.
 * False if there are none. */
bool igp_join_stops(LLVMModuleRef module);

/* ---- masks.c ---- */
/* Calls that look at the active lanes get the suffix ".all" where every lane of the SIMD-group
 * that exists gets to them together. Where branches depend on the lane they get ".some", and the
 * hardware's mask of the active lanes as one more argument. */
ingot_status igp_mark_lanes(struct igp_kernel *kernel, LLVMTargetMachineRef machine);

/* ---- arguments.c ---- */
/* Arguments by slot; reads of `constant` references become calls of nv.read.N. */
ingot_status igp_lower_arguments(struct igp_kernel *kernel);

/* ---- copies.c ---- */
ingot_status igp_lower_copies(struct igp_kernel *kernel);
/* A copy of which that makes loads and stores, each as wide as it is aligned. */
bool igp_is_small_copy(LLVMValueRef instruction);

/* ---- async.c ---- */
/* Copies from device to threadgroup memory that nobody looks at before a barrier need no registers
 * and nobody who waits for them before it. */
ingot_status igp_copy_async(struct igp_kernel *kernel, LLVMTargetMachineRef machine);
/* Are these never places in one object of threadgroup memory, at one time? */
bool igp_other_objects(LLVMValueRef a, LLVMValueRef b);
/* Does a call neither read nor write memory? */
bool igp_has_no_memory(LLVMValueRef call);
/* Does everybody wait there, or is it the end? */
bool igp_is_wait(LLVMValueRef instruction);

/* ---- atomics.c ---- */
/* Loops of compare and exchange that add floats become atomic additions. */
void igp_lower_atomics(struct igp_kernel *kernel);

/* ---- matrix.c ---- */
/* Products of tiles, on tensor cores where the elements are half or bfloat. */
ingot_status igp_lower_matrix(struct igp_kernel *kernel);
/* Is the value there before `place`? Both in one function; other blocks are taken to be before. */
bool igp_is_before(LLVMValueRef value, LLVMValueRef place);
/* Nothing between two instructions of a block writes memory. */
bool igp_no_writes(LLVMValueRef from, LLVMValueRef to);

/* ---- ldmatrix.c ---- */
/* An address that is computed from another one. */
bool igp_is_element(LLVMValueRef value);
/* Takes constant distances off an address. */
LLVMValueRef igp_base_of(struct igp_kernel *kernel, LLVMValueRef pointer, int64_t *offset);
LLVMValueRef igp_base_in(LLVMTargetDataRef layout, LLVMValueRef pointer, int64_t *offset);
/* Operands of products that lie in threadgroup memory, by one instruction each. */
ingot_status igp_join_loads(struct igp_kernel *kernel);

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
bool igp_find_tile(struct igp_kernel *kernel, LLVMValueRef word, struct igp_tile *tile);

/* ---- quads.c ---- */
/* Products that four SIMD-groups make by one instruction. */
ingot_status igp_join_simdgroups(struct igp_kernel *kernel);
bool igp_is_quad_product(LLVMValueRef instruction);
/* A long product, or one of four SIMD-groups, that has A in registers. */
bool igp_is_register_product(LLVMValueRef instruction);
/* The places that a product of four SIMD-groups reads, at most two. */
unsigned igp_quad_places(LLVMValueRef product, LLVMValueRef *places);
/* Calls that order such products, and have no other effect. */
bool igp_is_quad_order(LLVMValueRef instruction);
void igp_write_quad_function(const char *name, struct ig_text *out);

/* ---- swizzle.c ---- */
/* Is every access of the kernel to threadgroup memory one that can go to a permuted place? */
bool igp_can_swizzle(struct igp_kernel *kernel);
/* The permuted place of what is at a pointer, as a number. */
LLVMValueRef igp_swizzled(LLVMBuilderRef builder, LLVMTargetDataRef layout, LLVMValueRef pointer);
/* All accesses of the finished entry point but those of assembly, which have been dealt with. */
ingot_status igp_swizzle(LLVMModuleRef module, struct ig_error *error);

/* ---- library*.c, entry.c: LLVM IR as text ---- */
/* The built-ins that the module calls. */
void igp_write_library(const struct igp_kernel *kernel, struct ig_text *out);
void igp_write_lane_function(const struct igp_kernel *kernel, const char *name,
                             struct ig_text *out);
/* nv.record and the log that it writes to. */
void igp_write_log(struct ig_text *out);
/* The entry point, which calls the body. */
/* `waits`: every thread waits for the kernels before this one. */
void igp_write_entry(const struct igp_kernel *kernel, bool waits, struct ig_text *out);

/* ---- wide.c ---- */
/* Neighbouring narrow loads and stores of the finished entry point become words. */
ingot_status igp_widen(LLVMModuleRef module, struct ig_error *error);

/* hints.c: loads that say what leaves caches last. The mark is the assembly of the built-in. */
#define IGP_STAYING "// staying"
void igp_hints(LLVMModuleRef module);

/* bfloats.c: bfloats in the upper halves of words become floats by one instruction. */
void igp_bfloats(LLVMModuleRef module);

/* ---- short_pointers.c ---- */
igc_machine_fn igp_short_pointers;

/* ---- respace.c ---- */
/* LLVM IR with the constant address space generic, and, on request, without declarations of what
 * the library defines. */
void igp_respace(const char *text, bool drop_library, struct ig_text *out);

#endif
