/* The levels of CPUs, and which of them this machine runs. */
#include <string.h>

#include "base/arm_level.h"
#include "compiler/cpu/cpu.h"
#include "compiler/cpu/lower/lower.h"
#include "compiler/sanitize/sanitize.h"

/* Instructions: of more copies, code is slower than the loop is, and takes seconds to make. The
 * library's own kernels ask for 3,104 at most. */
enum { MOST_UNROLLED = 3200 };

#define X86_64  "x86_64-unknown-linux-gnu"
#define AARCH64 "aarch64-unknown-linux-gnu"

/* What targets of one level have in common; without fast-gather LLVM makes a branch per lane of
 * each gather. */
#define X86_64_V4                                                                                  \
    .common = {.name = "x86-64-v4",                                                                \
               .processor = {X86_64, "x86-64-v4", ""},                                             \
               .backend = &igv_backend},                                                           \
    .is_x86 = true, .lowerings = &igl_lowerings, .bit_masks = true
/* AVX-512 with bfloat products of pairs (vdpbf16ps): Zen 4, Cooper Lake, Sapphire Rapids and newer.
 * Only tiles of bfloat are other code here than for x86-64-v4, so an archive of several levels has
 * it where that was asked for by name. */
#define X86_64_V4_BF16                                                                             \
    .common = {.name = "x86-64-v4-bf16",                                                           \
               .processor = {X86_64, "x86-64-v4", "+avx512bf16"},                                  \
               .backend = &igv_backend,                                                            \
               .is_special = true},                                                                \
    .is_x86 = true, .lowerings = &igl_lowerings, .bit_masks = true, .bfloat_pairs = true
/* The above with matrix units (AMX) and half precision: Sapphire Rapids and newer. */
#define X86_64_V4_AMX                                                                              \
    .common = {.name = "x86-64-v4-bf16-amx",                                                       \
               .processor = {X86_64, "x86-64-v4", "+avx512bf16,+amx-tile,+amx-bf16"},              \
               .backend = &igv_backend,                                                            \
               .is_special = true},                                                                \
    .is_x86 = true, .lowerings = &igl_lowerings, .bit_masks = true, .bfloat_pairs = true,          \
    .matrix_units = true
#define X86_64_V3                                                                                  \
    .common = {.name = "x86-64-v3",                                                                \
               .processor = {X86_64, "x86-64-v3", "+fast-gather"},                                 \
               .backend = &igv_backend},                                                           \
    .is_x86 = true, .lowerings = &igl_lowerings
/* Armv8.2 with half precision: Apple M1, Neoverse N1 (Graviton 2), Cortex-A76 and newer. */
#define AARCH64_V8_2                                                                               \
    .common = {.name = "aarch64",                                                                  \
               .processor = {AARCH64, "generic", "+v8.2a,+fullfp16"},                              \
               .backend = &igv_backend},                                                           \
    .is_aarch64 = true, .lowerings = &igl_lowerings
/* The above with products of bfloat (bfmmla), of half (fmlal) and of 8-bit integers (smmla):
 * Neoverse V1 (Graviton 3), N2, Ampere One and newer. Only tiles are other code here than for
 * aarch64. */
#define AARCH64_BF16                                                                               \
    .common = {.name = "aarch64-bf16",                                                             \
               .processor = {AARCH64, "generic", "+v8.2a,+fullfp16,+fp16fml,+bf16,+i8mm"},         \
               .backend = &igv_backend,                                                            \
               .is_special = true},                                                                \
    .is_aarch64 = true, .lowerings = &igl_lowerings, .arm_matrices = true

enum { LEVELS = 6 };

static const struct igv_target whole[LEVELS] = {
    {X86_64_V4_AMX, .lanes = 16, .chunks = 2}, {X86_64_V4_BF16, .lanes = 16, .chunks = 2},
    {X86_64_V4, .lanes = 16, .chunks = 2},     {X86_64_V3, .lanes = 8, .chunks = 4},
    {AARCH64_BF16, .lanes = 8, .chunks = 4}, /* two registers to a chunk */
    {AARCH64_V8_2, .lanes = 8, .chunks = 4},
};
enum { AMX, BF16, V4, V3, ARM_BF16, ARM };

/* 512-bit accesses stream from memory a tenth slower than these on Zen 4, and no faster on Intel.
 * In the caches of Zen 5 they are up to twice as fast, so only kernels that say that they stream
 * get these. */
static const struct igv_target streaming[] = {
    [AMX] = {X86_64_V4_AMX, .lanes = 8, .chunks = 4},
    [BF16] = {X86_64_V4_BF16, .lanes = 8, .chunks = 4},
    [V4] = {X86_64_V4, .lanes = 8, .chunks = 4},
};

/* The same with one chunk: a SIMD-group goes through the code in turns. */
static const struct igv_target in_turns[LEVELS] = {
    {X86_64_V4_AMX, .lanes = 16, .chunks = 1}, {X86_64_V4_BF16, .lanes = 16, .chunks = 1},
    {X86_64_V4, .lanes = 16, .chunks = 1},     {X86_64_V3, .lanes = 8, .chunks = 1},
    {AARCH64_BF16, .lanes = 8, .chunks = 1},   {AARCH64_V8_2, .lanes = 8, .chunks = 1},
};

static const struct igc_target *const targets[] = {&whole[AMX].common,
                                                   &whole[BF16].common,
                                                   &whole[V4].common,
                                                   &whole[V3].common,
                                                   &whole[ARM_BF16].common,
                                                   &whole[ARM].common,
                                                   NULL};

const struct igv_target *igv_target_find(const char *name) {
    for (size_t i = 0; targets[i]; i++) {
        if (!strcmp(targets[i]->name, name)) {
            return (const struct igv_target *)targets[i];
        }
    }
    return NULL;
}

/* LEVELS: none of them; that of code for debuggers. */
static size_t level_of(const struct igc_target *target) {
    size_t level = 0;
    while (level < LEVELS && strcmp(whole[level].common.name, target->name) != 0) {
        level++;
    }
    return level;
}

static const struct igc_target *fallback(const struct igc_target *target) {
    const size_t level = level_of(target);
    return level < V3 ? &whole[V3].common : level == ARM_BF16 ? &whole[ARM].common : NULL;
}

const struct igv_target *igv_target_streaming(const struct igv_target *target) {
    const size_t level = level_of(&target->common);
    return level < V3 && target == &whole[level] ? &streaming[level] : target;
}

const struct igv_target *igv_target_in_turns(const struct igv_target *target) {
    const size_t level = level_of(&target->common);
    return &in_turns[level < LEVELS ? level : target->is_aarch64 ? ARM : V4];
}

const struct igv_target *igv_target_host(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl")) {
        return &whole[__builtin_cpu_supports("avx512bf16") ? BF16 : V4];
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
        __builtin_cpu_supports("bmi2")) {
        return &whole[V3];
    }
    return NULL;
#elif defined(__aarch64__) && defined(__linux__)
    return &whole[ig_arm_has_matrices() ? ARM_BF16 : ARM];
#elif defined(__aarch64__)
    return &whole[ARM];
#else
    return NULL;
#endif
}

/* A CPU that runs none of the levels can still compile for the lowest of them. */
static const struct igc_target *host(void) {
    const struct igv_target *found = igv_target_host();
    return found ? &found->common : &whole[V3].common;
}

static void start(void) {
    static bool started;
    if (!started) {
        started = true;
        LLVMInitializeAArch64TargetInfo();
        LLVMInitializeAArch64Target();
        LLVMInitializeAArch64TargetMC();
        LLVMInitializeAArch64AsmPrinter();
    }
}

/* ---- code ---- */
static ingot_status make_code(struct igc_kernel *kernel, struct igc_code *code) {
    return igc_make_machine_code(
        kernel,
        &(struct igc_code_options){.reduce = igv_reduce_large,
                                   .assembly = kernel->wanted == IGC_WANT_ASSEMBLY},
        code);
}

static ingot_status package(struct igc_kernel *kernel, struct igc_code *code) {
    if (kernel->wanted == IGC_WANT_CHECK) {
        return igc_check_object(code->bytes, code->size, kernel->error);
    }
    return igc_link(kernel->arena, code->bytes, code->size, &code->bytes, &code->size,
                    kernel->error);
}

static void free_facts(struct igc_kernel *kernel) {
    igc_lines_free(&igv_facts(kernel)->lines);
}

const struct igc_backend igv_backend = {
    .name = "cpu",
    .about = "levels of CPUs",
    .targets = targets,
    .start = start,
    .host = host,
    .fallback = fallback,
    .early = igs_passes,
    .passes = igv_passes,
    .most_unrolled = MOST_UNROLLED,
    .keeps_functions = true,
    .has_checks = true,
    .facts_size = sizeof(struct igv_facts),
    .free_facts = free_facts,
    .make_code = make_code,
    .package = package,
};
