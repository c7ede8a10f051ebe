/* The levels of NVIDIA's cards, and the code for them: PTX, or what ptxas makes of it. */
#include <llvm-c/Support.h>
#include <stdlib.h>

#include "compiler/nvptx/nvptx.h"

#define NVPTX "nvptx64-nvidia-cuda"
/* cvta.param and the instructions for tiles need PTX 7.8 */
#define PTX78 "+ptx78"
#define PTX80 "+ptx80"

enum { HUGE_PRODUCT = 20000000 }; /* of instructions and blocks, which is CodeGenPrepare's time */

static const struct igp_target sm_90 = {
    .common = {.name = "sm_90", .processor = {NVPTX, "sm_90", PTX78}, .backend = &igp_backend},
    .waits_for_kernels = true};
static const struct igp_target sm_90a = {.common = {.name = "sm_90a",
                                                    .processor = {NVPTX, "sm_90a", PTX80},
                                                    .backend = &igp_backend,
                                                    .is_special = true},
                                         .has_warpgroup_mma = true,
                                         .waits_for_kernels = true};
static const struct igp_target sm_80 = {
    .common = {.name = "sm_80", .processor = {NVPTX, "sm_80", PTX78}, .backend = &igp_backend}};
static const struct igp_target sm_80_cubin = {.common = {.name = "sm_80.cubin",
                                                         .processor = {NVPTX, "sm_80", PTX78},
                                                         .backend = &igp_backend,
                                                         .form_of = "sm_80"}};
static const struct igp_target sm_86_cubin = {.common = {.name = "sm_86.cubin",
                                                         .processor = {NVPTX, "sm_86", PTX78},
                                                         .backend = &igp_backend,
                                                         .form_of = "sm_86"}};
static const struct igp_target sm_89_cubin = {.common = {.name = "sm_89.cubin",
                                                         .processor = {NVPTX, "sm_89", PTX78},
                                                         .backend = &igp_backend,
                                                         .form_of = "sm_89"}};
static const struct igp_target sm_90_cubin = {.common = {.name = "sm_90.cubin",
                                                         .processor = {NVPTX, "sm_90", PTX78},
                                                         .backend = &igp_backend,
                                                         .form_of = "sm_90"},
                                              .waits_for_kernels = true};
static const struct igp_target sm_90a_cubin = {.common = {.name = "sm_90a.cubin",
                                                          .processor = {NVPTX, "sm_90a", PTX80},
                                                          .backend = &igp_backend,
                                                          .form_of = "sm_90a",
                                                          .is_special = true},
                                               .has_warpgroup_mma = true,
                                               .waits_for_kernels = true};

static const struct igc_target *const targets[] = {
    &sm_80.common,       &sm_90.common,        &sm_90a.common,
    &sm_80_cubin.common, &sm_86_cubin.common,  &sm_89_cubin.common,
    &sm_90_cubin.common, &sm_90a_cubin.common, NULL};

static void start(void) {
    static bool started;
    if (!started) {
        started = true;
        LLVMInitializeNVPTXTargetInfo();
        LLVMInitializeNVPTXTarget();
        LLVMInitializeNVPTXTargetMC();
        LLVMInitializeNVPTXAsmPrinter();
    }
}

/* CodeGenPrepare starts again from the first block after each change. */
static void reduce_large(LLVMModuleRef module, const struct igc_module_size *size) {
    static const char *const options[] = {"ingotc", "-disable-cgp"};
    (void)module;
    if ((uint64_t)size->instructions * size->blocks > HUGE_PRODUCT) {
        LLVMParseCommandLineOptions(2, options, NULL);
    }
}

/* PTX is the assembly that there is. */
static ingot_status make_code(struct igc_kernel *kernel, struct igc_code *code) {
    return igc_make_machine_code(kernel,
                                 &(struct igc_code_options){.choose = igp_short_pointers,
                                                            .reduce = reduce_large,
                                                            .assembly = true},
                                 code);
}

static ingot_status package(struct igc_kernel *kernel, struct igc_code *code) {
    if (kernel->target->form_of) {
        return igp_assemble(kernel->arena, kernel->target->form_of, code->bytes, code->size,
                            &code->bytes, &code->size, kernel->error);
    }
    code->size++; /* in archives PTX ends in a NUL, which is behind the arena's copy */
    return INGOT_OK;
}

static void free_facts(struct igc_kernel *kernel) {
    free(igp_facts(kernel)->reads);
}

const struct igc_backend igp_backend = {
    .name = "cuda",
    .about =
        "PTX for NVIDIA's cards; sm_90a: cards of compute capability 9.0 only; .cubin: machine\n"
        "code for one kind of card, by ptxas",
    .targets = targets,
    .start = start,
    .early = igp_early_passes,
    .passes = igp_passes,
    .has_panels = true,
    .facts_size = sizeof(struct igp_facts),
    .free_facts = free_facts,
    .make_code = make_code,
    .package = package,
};
