/* The table of CPU and GPU levels, and LLVM's set-up for them. */
#include <llvm-c/ErrorHandling.h>
#include <llvm-c/Support.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "compiler/driver/driver.h"

#define X86_64  "x86_64-unknown-linux-gnu"
#define AARCH64 "aarch64-unknown-linux-gnu"
#define NVPTX   "nvptx64-nvidia-cuda"

static const struct igv_target targets[] = {
    {.name = "x86-64-v4",
     .cpu = "x86-64-v4",
     .features = "",
     .triple = X86_64,
     .is_x86 = true,
     .lanes = 16,
     .chunks = 2,
     .bit_masks = true},
    {.name = "x86-64-v3",
     .cpu = "x86-64-v3",
     .features = "+fast-gather", /* otherwise LLVM makes a branch per lane of each gather */
     .triple = X86_64,
     .is_x86 = true,
     .lanes = 8,
     .chunks = 4,
     .bit_masks = false},
    /* Armv8.2 with half precision: Apple M1, Neoverse N1 (Graviton 2), Cortex-A76 and newer. Two
     * registers to a chunk. */
    {.name = "aarch64",
     .cpu = "generic",
     .features = "+v8.2a,+fullfp16",
     .triple = AARCH64,
     .lanes = 8,
     .chunks = 4,
     .bit_masks = false},
    /* cvta.param and the instructions for tiles need PTX 7.8 */
    {.name = "sm_90", .cpu = "sm_90", .features = "+ptx78", .triple = NVPTX, .is_gpu = true},
    {.name = "sm_90a", .cpu = "sm_90a", .features = "+ptx80", .triple = NVPTX, .is_gpu = true},
    {.name = "sm_80", .cpu = "sm_80", .features = "+ptx78", .triple = NVPTX, .is_gpu = true},
    {.name = "sm_80.cubin", .cpu = "sm_80", .features = "+ptx78", .triple = NVPTX, .is_gpu = true},
    {.name = "sm_86.cubin", .cpu = "sm_86", .features = "+ptx78", .triple = NVPTX, .is_gpu = true},
    {.name = "sm_89.cubin", .cpu = "sm_89", .features = "+ptx78", .triple = NVPTX, .is_gpu = true},
    {.name = "sm_90.cubin", .cpu = "sm_90", .features = "+ptx78", .triple = NVPTX, .is_gpu = true},
    {.name = "sm_90a.cubin",
     .cpu = "sm_90a",
     .features = "+ptx80",
     .triple = NVPTX,
     .is_gpu = true},
};

static const char *const names[] = {"x86-64-v4", "x86-64-v3", "aarch64", "sm_90a",
                                    "sm_90",     "sm_80",     NULL};

const struct igv_target *igc_target_find(const char *name) {
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        if (!strcmp(targets[i].name, name)) {
            return &targets[i];
        }
    }
    return NULL;
}

const struct igv_target *igc_target_fallback(const struct igv_target *target) {
    return strcmp(target->name, "x86-64-v4") ? NULL : igc_target_find("x86-64-v3");
}

const struct igv_target *igc_target_streaming(const struct igv_target *target) {
    /* 512-bit accesses stream from memory a tenth slower than these on Zen 4, and no faster on
     * Intel; where the data is in the cache they are as fast. */
    static const struct igv_target half_width = {.name = "x86-64-v4",
                                                 .cpu = "x86-64-v4",
                                                 .features = "",
                                                 .triple = X86_64,
                                                 .is_x86 = true,
                                                 .lanes = 8,
                                                 .chunks = 4,
                                                 .bit_masks = true};
    return strcmp(target->name, half_width.name) ? target : &half_width;
}

const char *const *igc_target_names(void) {
    return names;
}

const struct igv_target *igc_target_host(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl")) {
        return igc_target_find("x86-64-v4");
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
        __builtin_cpu_supports("bmi2")) {
        return igc_target_find("x86-64-v3");
    }
    return NULL;
#elif defined(__aarch64__)
    return igc_target_find("aarch64");
#else
    return NULL;
#endif
}

static void on_fatal_error(const char *reason) {
    fprintf(stderr, "ingotc: LLVM gave up: %s\n", reason);
    fflush(stderr);
    _exit(70);
}

void igc_llvm_start(void) {
    static bool started;
    if (started) {
        return;
    }
    started = true;
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    LLVMInstallFatalErrorHandler(on_fatal_error);
    static const char *const options[] = {
        "ingotc", "-assume-default-is-flat-addrspace", /* casts to plain pointers may be undone */
        "-unroll-threshold=800", /* of loop-unroll-full: private arrays then vanish */
        "-unroll-max-iteration-count-to-analyze=128",
        "-enable-misched=false", /* it moves shuffles away from their uses, and they spill: matrix
                                    kernels lose half their speed */
        "-enable-tail-merge=false", /* seconds for kernels with many conditional stores */
        /* of version 19: later ones have a parameter of the pass instead of the first */
        "-scalarize-load-store",
        "-experimental-debug-variable-locations=false", /* there are none, and looking for them by
                                                           the new method is up to a sixth of all */
    };
    unsigned major, minor, patch;
    LLVMGetVersion(&major, &minor, &patch);
    int count = sizeof options / sizeof *options - (major > 19 ? 2 : 0);
    LLVMParseCommandLineOptions(count, options, NULL);
}

ingot_status igc_machine_create(const struct igv_target *target, LLVMTargetMachineRef *machine,
                                struct ig_error *error) {
    igc_llvm_start();
    LLVMTargetRef llvm_target;
    char *message = NULL;
    if (LLVMGetTargetFromTriple(target->triple, &llvm_target, &message)) {
        ig_fail(error, INGOT_INTERNAL_ERROR, "this LLVM makes no code for %s: %s", target->triple,
                message);
        LLVMDisposeMessage(message);
        return INGOT_INTERNAL_ERROR;
    }
    *machine = LLVMCreateTargetMachine(llvm_target, target->triple, target->cpu, target->features,
                                       LLVMCodeGenLevelDefault, LLVMRelocPIC, LLVMCodeModelDefault);
    return *machine ? INGOT_OK
                    : ig_fail(error, INGOT_INTERNAL_ERROR, "LLVM does not know the processor %s",
                              target->cpu);
}
