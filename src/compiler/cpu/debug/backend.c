/* The back end for debuggers: its targets, the order of its passes, and machine code without
 * optimisation. */
#include <llvm-c/Support.h>
#include <string.h>

#include "compiler/cpu/debug/debug.h"
#include "compiler/cpu/lower/lower.h"
#include "compiler/ir/module.h"
#include "compiler/ir/walk.h"

/* Helpers are vectors of what every CPU that ingot runs on has. */
static const struct igv_target x86_64_debug = {
    .common = {.name = "x86-64-debug",
               .processor = {"x86_64-unknown-linux-gnu", "x86-64-v3", ""},
               .backend = &igd_backend,
               .is_special = true},
    .is_x86 = true,
    .lowerings = &igl_lowerings,
    .lanes = 8,
    .chunks = 4};

static const struct igv_target aarch64_debug = {
    .common = {.name = "aarch64-debug",
               .processor = {"aarch64-unknown-linux-gnu", "generic", "+v8.2a,+fullfp16"},
               .backend = &igd_backend,
               .is_special = true},
    .is_aarch64 = true,
    .lowerings = &igl_lowerings,
    .lanes = 8,
    .chunks = 4};

static const struct igc_target *const targets[] = {&x86_64_debug.common, &aarch64_debug.common,
                                                   NULL};

static void start(void) {
    igv_backend.start();
}

/* ---- passes of a line or two ---- */
static bool is_x86(const struct igc_kernel *kernel) {
    return ((const struct igv_target *)kernel->target)->is_x86;
}

static bool is_other_than_x86(const struct igc_kernel *kernel) {
    return !is_x86(kernel);
}

static enum igc_result set_target(struct igc_kernel *kernel) {
    igc_kernel_set_target(kernel);
    kernel->layout = LLVMGetModuleDataLayout(kernel->module);
    return IGC_CHANGED;
}

static enum igc_result forget_x86(struct igc_kernel *kernel) {
    igc_forget_cpu(kernel->module);
    return IGC_CHANGED;
}

static enum igc_result replace_traps(struct igc_kernel *kernel) {
    return igc_replace_traps(kernel->module) ? IGC_CHANGED : IGC_UNCHANGED;
}

static enum igc_result promote_half(struct igc_kernel *kernel) {
    igc_promote_half(kernel->module);
    return IGC_CHANGED;
}

/* In every function, since nothing is inlined. */
static enum igc_result check_private_arrays(struct igc_kernel *kernel) {
    struct igc_kernel one = *kernel;
    enum igc_result result = IGC_UNCHANGED;
    igi_each_function(f, kernel->module) {
        one.function = f;
        if (!LLVMIsDeclaration(f) && result != IGC_FAILED) {
            result = igc_check_private_arrays(&one) == IGC_FAILED ? IGC_FAILED : IGC_CHANGED;
        }
    }
    return result;
}

static const struct igc_pass early_passes[] = {
    {.name = "keep-unoptimised",
     .about = "the module as clang made it is kept for later",
     .run = igd_keep_unoptimised},
    {0},
};

static const struct igc_pass passes[] = {
    {.name = "take-unoptimised",
     .about = "and takes the place of what the scalar passes made",
     .run = igd_take_unoptimised},
    {.name = "set-target", .about = "the target's data layout and triple", .run = set_target},
    {.name = "forget-x86",
     .about = "what the front end's CPU left on functions goes",
     .run = forget_x86,
     .when = is_other_than_x86},
    {.name = "debug-traps",
     .about = "traps become calls that end the launch",
     .run = replace_traps},
    {.name = "define-missing",
     .about = "what only code that never runs uses: functions that trap, constants that are 0",
     .run = igd_define_missing},
    {.name = "hide-prelude",
     .about = "functions of the prelude have no lines: debuggers step over them",
     .run = igd_hide_prelude},
    {.name = "debug-arithmetic",
     .about = "divisions never trap; products are added without rounding where that is allowed",
     .run = igd_keep_arithmetic},
    {.name = "debug-private-arrays",
     .about = "unknown indices into private arrays are kept in range",
     .run = check_private_arrays},
    {.name = "meet-in-loops",
     .about = "lanes meet at the end of a loop's iterations",
     .run = igd_meet_in_loops},
    {.name = "debug-builtins",
     .about = "built-ins become functions that call vectorised code",
     .run = igd_define_builtins},
    {.name = "debug-rounding",
     .about = "what LLVM calls to round to bfloat is defined",
     .run = igd_define_rounding},
    {.name = "debug-entry", .about = "the function that the runtime calls", .run = igd_build_entry},
    {.name = "promote-half",
     .about = "comparisons and intrinsics on half become float",
     .run = promote_half,
     .when = is_x86},
    {.name = "debug-code", .about = "what machine code is made of"},
    {0},
};

/* ---- code ---- */
static LLVMTargetMachineRef without_optimisation(LLVMModuleRef module,
                                                 LLVMTargetMachineRef machine) {
    (void)module;
    /* Without mangled names, gdb shows a function as `twice (x=1)`. LLVM's fast selection takes the
     * 16 bits of a bfloat that a call returns for a float on x86. */
    static const char *const options[] = {"ingotc", "-dwarf-linkage-names=Abstract",
                                          "-fast-isel=false"};
    LLVMParseCommandLineOptions(3, options, NULL);
    char *triple = LLVMGetTargetMachineTriple(machine), *cpu = LLVMGetTargetMachineCPU(machine);
    char *features = LLVMGetTargetMachineFeatureString(machine);
    LLVMTargetMachineRef made =
        LLVMCreateTargetMachine(LLVMGetTargetMachineTarget(machine), triple, cpu, features,
                                LLVMCodeGenLevelNone, LLVMRelocPIC, LLVMCodeModelDefault);
    LLVMDisposeMessage(triple);
    LLVMDisposeMessage(cpu);
    LLVMDisposeMessage(features);
    return made ? made : machine;
}

static ingot_status make_code(struct igc_kernel *kernel, struct igc_code *code) {
    return igc_make_machine_code(
        kernel,
        &(struct igc_code_options){.choose = without_optimisation,
                                   .assembly = kernel->wanted == IGC_WANT_ASSEMBLY},
        code);
}

static ingot_status package(struct igc_kernel *kernel, struct igc_code *code) {
    return igv_backend.package(kernel, code);
}

const struct igc_backend igd_backend = {
    .name = "cpu-debug",
    .about = "CPUs, for debuggers",
    .targets = targets,
    .start = start,
    .early = early_passes,
    .passes = passes,
    .for_debuggers = true,
    .facts_size = sizeof(struct igv_facts),
    .make_code = make_code,
    .package = package,
};
