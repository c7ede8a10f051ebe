/*
 * The CPU back end: a scalar kernel becomes functions that run 32 lanes each, and a shared object.
 * passes.c has the order of its passes, targets.c its levels.
 *
 * Prefixes: igv_ is this back end's (the vectoriser's); igl_ that of cpu/lower/ (built-ins), igt_
 * that of its tiles.
 */
#ifndef INGOT_COMPILER_CPU_H
#define INGOT_COMPILER_CPU_H

#include <llvm-c/DebugInfo.h>

#include "compiler/backend/backend.h"
#include "compiler/cpu/vectorise/vectorise.h"

extern const struct igc_backend igv_backend;

/* ---- targets.c ----------------------------------------------------------------------------------
 */
const struct igv_target *igv_target_find(const char *name); /* NULL if unknown */
const struct igv_target *igv_target_host(void); /* the best this CPU runs; NULL if none */
/* The same level, with the width of vectors that suits kernels which move memory past the caches.
 */
const struct igv_target *igv_target_streaming(const struct igv_target *target);
/* The same level, where a SIMD-group goes through the code in turns, one chunk of lanes each. */
const struct igv_target *igv_target_in_turns(const struct igv_target *target);

/* ---- what the passes of a kernel tell each other
 * ------------------------------------------------- */
/* What decides which versions are worth making (versions.c). */
struct igv_kernel_shape {
    unsigned instructions;
    bool is_giant;     /* by its instructions, or has functions that stay functions */
    bool positions[3]; /* a thread position in this dimension is used */
    bool lanes_alone;  /* no lane has to do with another: parts of a SIMD-group may run in turns */
    bool grid_only;    /* nothing tells which threadgroup and SIMD-group a thread is in */
    bool says_streaming; /* by __ingot_streaming */
    bool aligned_grid;   /* a position in the grid is better known where groups are aligned */
    unsigned accesses, operations; /* loads and stores; what computes */
};

struct igc_lines { /* line_tables.c; all NULL for a kernel without debug information */
    LLVMDIBuilderRef builder;
    LLVMMetadataRef file, type;
    unsigned line; /* of the kernel */
};

/* How the functions of one ids variant are put together (entries.c). */
struct igc_entry {
    LLVMValueRef full, any; /* igv_vectorise's results; either may be NULL */
    bool full_may_decline;  /* then `any` is there too */
};

struct igv_facts {
    struct igv_kernel_shape shape;
    struct igv_request request; /* of the versions; its target may be narrower than the kernel's */
    struct igc_entry entries[INGOT_CPU_IDS_COUNT];
    struct igc_lines lines;
    uint32_t flags; /* of enum ingot_cpu_kernel_flags */
    uint32_t stack_bytes;
    bool has_bounds;      /* checks that mark_bounds.c marked */
    struct igv_kept kept; /* kept.c; the functions are for kept_for */
    const struct igv_target *kept_for;
};

static inline struct igv_facts *igv_facts(struct igc_kernel *kernel) {
    return kernel->facts;
}

/* ---- passes.c
 * ------------------------------------------------------------------------------------ */
/* From a scalar kernel to the form that the vectoriser requires (vectorise.h). */
extern const struct igc_pass igv_prepare_passes[];
/* From a scalar kernel to the module that code is made of. */
extern const struct igc_pass igv_passes[];

/* ---- versions.c
 * ---------------------------------------------------------------------------------- */
igc_pass_fn igv_choose_versions; /* sets the facts' shape and request */
igc_pass_fn igv_make_versions;   /* vectorised functions; the scalar one goes */

/* ---- line_tables.c
 * ------------------------------------------------------------------------------- */
void igc_lines_start(struct igc_lines *lines, LLVMModuleRef module, LLVMValueRef kernel);
/* What the debugger is told about one function, or NULL. */
LLVMMetadataRef igc_lines_describe(struct igc_lines *lines, const char *name, const char *symbol);
/* When all functions are there. */
void igc_lines_finish(struct igc_lines *lines, LLVMModuleRef module);
void igc_lines_free(struct igc_lines *lines);

/* ---- turns.c
 * ------------------------------------------------------------------------------------- */
/* A function of a SIMD-group that calls the one of a chunk for each chunk with an active lane. */
LLVMValueRef igv_run_in_turns(LLVMValueRef chunk, const char *name,
                              const struct igv_target *target);

/* ---- kept.c -------------------------------------------------------------------------------------
 */
/* Vectorises the functions that stay functions, and sets the request's, if there are any. */
ingot_status igv_make_kept(struct igc_kernel *kernel);
/* What LLVM's attributes call the functions that that makes. */
#define IGV_KEPT_LANES "ingot-kept-lanes"
/* Instructions of the prepared ones, each once; sets the words of a frame. */
unsigned igv_measure_kept(struct igc_kernel *kernel);
/* The scalar functions go. */
void igv_drop_kept(struct igc_kernel *kernel);

/* ---- mark_bounds.c, memory_walk.c
 * ---------------------------------------------------------------- */
/* Marks leading bounds checks of a prepared kernel; true if there are any. */
bool igc_mark_bounds(LLVMModuleRef module, LLVMValueRef kernel);
/* INGOT_CPU_KERNEL_BYTES_PER_THREAD and _ARRAYS of a prepared kernel that runs by rows. */
ingot_status igc_find_streams(struct ig_arena *arena, const struct igv_request *request,
                              uint32_t *flags, struct ig_error *error);

/* ---- buffer_facts.c, entries.c, stack_bytes.c
 * ---------------------------------------------------- */
/* Tells LLVM which loads of the vectorised functions cannot fault. */
void igc_add_facts(LLVMModuleRef module, const struct igc_reflection *reflection);
/* Adds the dispatcher, the loop over SIMD-groups and the exported struct. Entries without any
 * function are absent variants. flags: of enum ingot_cpu_kernel_flags. */
void igc_build_entries(LLVMModuleRef module, const struct igc_entry entries[INGOT_CPU_IDS_COUNT],
                       uint32_t flags, uint32_t static_bytes, uint32_t stack_bytes,
                       const struct igv_target *target);
/* More of ingot_cpu_kernel_flags for what that built. */
void igc_add_kernel_flags(LLVMModuleRef module, uint32_t flags);
void igc_set_target_attributes(LLVMValueRef function, const struct igv_target *target);
/* The exported struct says how much stack the finished functions need at most. */
igc_pass_fn igv_set_stack_bytes;

/* ---- half.c, masked.c
 * ---------------------------------------------------------------------------- */
/* Comparisons and intrinsics on half become float; nothing may fold them back. */
void igc_promote_half(LLVMModuleRef module);
/* Accesses by mask as accesses of every lane, for CPUs without them. */
void igc_unmask_memory(LLVMModuleRef module);

/* ---- promote_slots.c
 * ----------------------------------------------------------------------------- */
igc_pass_fn igv_promote_slots; /* slots of the vectoriser become values */

/* ---- large_kernels.c, link.c: code
 * --------------------------------------------------------------- */
void igv_reduce_large(LLVMModuleRef module, const struct igc_module_size *size);
/* What igc_link would find wrong, without linking. */
ingot_status igc_check_object(const void *object, size_t size, struct ig_error *error);
/* Object in, shared object out (the arena's). */
ingot_status igc_link(struct ig_arena *arena, const void *object, size_t object_size,
                      const void **shared, size_t *shared_size, struct ig_error *error);

#endif
