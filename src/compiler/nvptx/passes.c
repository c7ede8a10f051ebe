/*
 * The way of a kernel to PTX, from top to bottom: the scalar kernel that every back end starts from
 * (middle/passes.c) keeps its threads, gets masks where lanes diverge, tensor cores and
 * asynchronous copies, and becomes a module for NVIDIA's GPUs. PTX is made of that afterwards
 * (targets.c).
 */
#include "compiler/nvptx/nvptx.h"

#define SIMPLIFYCFG "simplifycfg<no-hoist-common-insts;no-sink-common-insts;no-switch-to-lookup>"

/* ---- conditions ---- */
static bool is_second_round(const struct igc_kernel *kernel) {
    return kernel->round > 0;
}

static bool has_released_loops(const struct igc_kernel *kernel) {
    return igp_facts(kernel)->released;
}

static bool needs_masks(const struct igc_kernel *kernel) {
    return igp_facts(kernel)->needs_masks;
}

static bool has_masks(const struct igc_kernel *kernel) {
    return igp_facts(kernel)->has_masks;
}

static bool is_swizzled(const struct igc_kernel *kernel) {
    return igp_facts(kernel)->uses_warpgroup_mma;
}

/* ---- the tables ---- */
const struct igc_pass igp_early_passes[] = {
    {.name = "gpu-maths",
     .about = "the hardware's approximations in the fast forms of the maths library",
     .run = igp_use_gpu_maths},
    {0},
};

static const struct igc_pass mask_passes[] = {
    {.name = "structure",
     .about = "where masks cannot be told from the control flow, it is structured",
     .llvm = "function(lower-switch,fix-irreducible,unify-loop-exits,structurizecfg)",
     .when = is_second_round},
    {.name = "control",
     .about = "branches only, one return, simple loops",
     .inner = igc_control_passes},
    {.name = "make-masks",
     .about = "the hardware's mask of active lanes, at the calls that need it",
     .run = igp_make_masks},
    {0},
};

const struct igc_pass igp_passes[] = {
    {.name = "start", .about = "the front end's CPU and debug information go", .run = igp_start},
    /* a switch has a way to nowhere if its cases are all there are: lanes would not meet after it
     */
    {.name = "switches",
     .about = "switches become branches, so that lanes meet behind them",
     .llvm = "function(lower-switch)"},
    {.name = "loop-form",
     .about = "loops with one latch, in LCSSA form",
     .llvm = "function(loop-simplify,lcssa)",
     .when = igp_has_pinned_exits},
    {.name = "open-loops",
     .about = "lanes that leave a loop in different iterations do not meet before its end",
     .run = igp_open_loops,
     .when = igp_has_pinned_exits},
    {.name = "release-loops",
     .about = "loops that all lanes leave together need nothing to hold code in them",
     .run = igp_release_loops},
    {.name = "loops",
     .about = "those loops are optimised again",
     .llvm =
         "function(" SIMPLIFYCFG ",instcombine<no-verify-fixpoint>"
         ",loop-mssa(loop-instsimplify,loop-simplifycfg,licm<no-allowspeculation>)," SIMPLIFYCFG
         ",loop(indvars,loop-deletion,loop-unroll-full),sroa<modify-cfg>,early-cse<memssa>,gvn<>"
         ",instcombine<no-verify-fixpoint>,dse," SIMPLIFYCFG ",instcombine<no-verify-fixpoint>)",
     .when = has_released_loops},
    {.name = "loose-alignment",
     .about = "vectors at any multiple of their elements, where that was asked for",
     .run = igp_loosen_alignment,
     .when = igp_is_loose},
    {.name = "private-arrays",
     .about = "unknown indices into private arrays are kept in range",
     .run = igc_check_private_arrays},
    {.name = "check-barriers",
     .about = "barriers that some threads may miss are made to notice",
     .run = igp_check_barriers},
    {.name = "mark-lanes",
     .about = "calls that all lanes reach together need no mask",
     .run = igp_mark_lanes},
    {.name = "lane-masks",
     .about = "the others get the mask of active lanes",
     .inner = mask_passes,
     .rounds = 2,
     .until = has_masks,
     .when = needs_masks},
    {.name = "lower-matrix",
     .about = "products of tiles on tensor cores where elements are half or bfloat",
     .run = igp_lower_matrix},
    {.name = "join-simdgroups",
     .about = "warpgroup MMA: products that four SIMD-groups make by one instruction",
     .run = igp_join_simdgroups},
    {.name = "join-loads",
     .about = "operands of products in threadgroup memory by ldmatrix",
     .run = igp_join_loads},
    {.name = "lower-copies",
     .about = "memcpy and memset become loads and stores, each as wide as it is aligned",
     .run = igp_lower_copies},
    {.name = "join-words",
     .about = "words next to each other are copied together",
     .llvm = "function(load-store-vectorizer)",
     .when = igp_copies_words},
    {.name = "copy-async",
     .about = "copies from device to threadgroup memory that nobody waits for: cp.async",
     .run = igp_copy_async},
    {.name = "lower-atomics",
     .about = "loops of compare-and-exchange that add floats become atomic additions",
     .run = igp_lower_atomics},
    {.name = "lower-arguments",
     .about = "arguments by slot; reads of constant references once, at the entry",
     .run = igp_lower_arguments},
    {.name = "unused", .about = "what nobody calls goes", .llvm = "globaldce"},
    {.name = "place-threadgroup",
     .about = "threadgroup variables get names, alignment and places",
     .run = igp_place_threadgroup},
    {.name = "prepared", .about = "the kernel, lowered, in Metal's address spaces"},
    {.name = "retarget",
     .about = "a module for NVIDIA's GPUs, with the library's functions and the entry point",
     .run = igp_retarget},
    {.name = "inline", .about = "one function", .llvm = "always-inline,globaldce"},
    {.name = "join-stops",
     .about = "threads that end at a missed barrier do so at one place",
     .run = igp_join_stops},
    {.name = "inline-stops",
     .about = "which is inlined",
     .llvm = "always-inline,globaldce",
     .if_changed = true},
    {.name = "fill-in",
     .about = "values that only the entry point knows take the place of calls",
     .run = igp_fill_in},
    {.name = "check-entry", .about = "what is still called must be LLVM's", .run = igp_check_calls},
    {.name = "late",
     .about = "the optimiser once more, now that everything is in one function",
     .llvm = "function(sroa<modify-cfg>,infer-address-spaces,early-cse<memssa>," SIMPLIFYCFG
             ",instcombine<no-verify-fixpoint>,early-cse<memssa>,loop-mssa(licm<allowspeculation>)"
             ",gvn<>,dse,adce," SIMPLIFYCFG
             ",instcombine<no-verify-fixpoint>,infer-address-spaces,infer-alignment)"
             ",globaldce,strip-dead-prototypes"},
    {.name = "widen",
     .about = "neighbouring narrow loads and stores become words",
     .run = igp_widen},
    {.name = "simplify-words",
     .about = "simplified after that",
     .llvm = "function(instcombine<no-verify-fixpoint>,adce)"},
    {.name = "swizzle",
     .about = "warpgroup MMA: accesses of threadgroup memory go to permuted places",
     .run = igp_swizzle,
     .when = is_swizzled},
    {.name = "cache-hints", .about = "loads say what leaves caches last", .run = igp_hints},
    {.name = "bfloats",
     .about = "bfloats in the upper halves of words become floats by one instruction",
     .run = igp_bfloats},
    {.name = "optimised", .about = "what PTX is made of"},
    {0},
};
