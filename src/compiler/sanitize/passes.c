/*
 * The order of the sanitizer's passes: a table that the CPU back end runs first, on clang's module.
 *
 * Kinds that ask what the source says (arithmetic) come before anything is simplified; the others
 * see pointers in registers and arrays that are still whole. What takes an access away from where
 * it was (bounds) comes behind them, so that they see every access; what makes accesses of its own
 * (shadows) comes last, so that nobody checks those.
 */
#include <string.h>

#include "compiler/sanitize/sanitize.h"

static bool is_sanitized(const struct igc_kernel *kernel) {
    return kernel->sanitize != 0;
}

static bool wants_bounds(const struct igc_kernel *kernel) {
    return igs_wants(kernel, IG_SANITIZE_bounds);
}

static bool wants_alignment(const struct igc_kernel *kernel) {
    return igs_wants(kernel, IG_SANITIZE_alignment);
}

static bool wants_arithmetic(const struct igc_kernel *kernel) {
    return igs_wants(kernel, IG_SANITIZE_arithmetic);
}

static bool wants_counters(const struct igc_kernel *kernel) {
    return igs_wants_counters(kernel);
}

static bool wants_race(const struct igc_kernel *kernel) {
    return igs_wants(kernel, IG_SANITIZE_race);
}

static bool wants_barrier(const struct igc_kernel *kernel) {
    return igs_wants(kernel, IG_SANITIZE_barrier);
}

static bool wants_uninitialised(const struct igc_kernel *kernel) {
    return igs_wants(kernel, IG_SANITIZE_uninitialised);
}

static bool wants_lanes(const struct igc_kernel *kernel) {
    return igs_wants(kernel, IG_SANITIZE_lanes);
}

static bool wants_numeric(const struct igc_kernel *kernel) {
    return igs_wants(kernel, IG_SANITIZE_numeric);
}

static bool wants_shadows(const struct igc_kernel *kernel) {
    return wants_uninitialised(kernel) || wants_lanes(kernel);
}

static enum igc_result mark_inlining(struct igc_kernel *kernel) {
    igc_mark_for_inlining(kernel->module, kernel->function);
    return IGC_CHANGED;
}

static enum igc_result pin_loop_exits(struct igc_kernel *kernel) {
    return igc_result_of(igc_pin_loop_exits(kernel->module, kernel->error));
}

static bool is_clangs(const struct igc_kernel *kernel) {
    return !LLVMGetNamedMetadata(kernel->module, IGC_AIR_MARK, strlen(IGC_AIR_MARK));
}

static const struct igc_pass kinds[] = {
    {.name = "sanitize-places",
     .about = "names of functions, for the calls that a report names",
     .run = igs_start_places},
    {.name = "sanitize-pin",
     .about = "code before a break that depends on the active lanes stays in its loop",
     .run = pin_loop_exits,
     .when = is_clangs},
    {.name = "mark-functions",
     .about = "calls of functions of floats, and what they make",
     .run = igs_mark_functions,
     .when = wants_numeric},
    {.name = "sanitize-mark", .about = "every function is to be inlined", .run = mark_inlining},
    {.name = "sanitize-inline",
     .about = "everything inlined, nothing simplified",
     .llvm = "always-inline,globaldce"},
    {.name = "check-arithmetic",
     .about = "operands that shifts, divisions and conversions must not have",
     .run = igs_check_arithmetic,
     .when = wants_arithmetic},
    {.name = "check-numeric",
     .about = "finite operands that make a NaN or an infinity",
     .run = igs_check_numeric,
     .when = wants_numeric},
    {.name = "split-structs",
     .about = "structs with pointers in them become a variable for each member",
     .run = igs_split_structs},
    {.name = "mark-unwritten",
     .about = "variables that are not written at their declaration",
     .run = igs_mark_unwritten,
     .when = wants_uninitialised},
    {.name = "unwrap-pointers",
     .about = "structs of one pointer are pointers",
     .run = igs_unwrap_pointers},
    {.name = "sanitize-registers",
     .about = "pointers in registers, arrays still whole",
     .llvm = "function(mem2reg,infer-address-spaces,instsimplify)"},
    {.name = "sanitize-bools",
     .about = "a stored byte that is a copied bool's is that byte, before loads stand in branches",
     .run = igc_copy_bools},
    {.name = "count-lines",
     .about = "how often the lines of the source run, and with how many lanes",
     .run = igs_count_lines,
     .when = wants_counters},
    {.name = "check-alignment",
     .about = "accesses at addresses that their type does not allow",
     .run = igs_check_alignment,
     .when = wants_alignment},
    {.name = "check-barrier",
     .about = "barriers that not all threads reach",
     .run = igs_check_barrier,
     .when = wants_barrier},
    {.name = "check-race",
     .about = "accesses, barriers and fences are told to the device",
     .run = igs_check_race,
     .when = wants_race},
    {.name = "check-bounds",
     .about = "accesses run only where they are in bounds",
     .run = igs_check_bounds,
     .when = wants_bounds},
    {.name = "split-copies",
     .about = "copies of structs without what lies between their members",
     .run = igs_split_copies,
     .when = wants_shadows},
    {.name = "mark-members",
     .about = "structs and small arrays that are not written at their declaration",
     .run = igs_mark_members,
     .when = wants_uninitialised},
    {.name = "sanitize-members",
     .about = "members in registers where they can be",
     .llvm = "function(sroa<preserve-cfg>)",
     .when = wants_shadows},
    {.name = "check-lanes",
     .about = "tiles that only some lanes reach",
     .run = igs_check_lanes,
     .when = wants_lanes},
    {.name = "check-shadows",
     .about = "what was never written, or no lane gave, and is used",
     .run = igs_check_shadows,
     .when = wants_shadows},
    {0},
};

const struct igc_pass igs_passes[] = {
    {.name = "sanitize",
     .about = "the sanitizer's checks, kind by kind",
     .inner = kinds,
     .when = is_sanitized},
    {0},
};
