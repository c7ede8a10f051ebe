/*
 * What large kernels are spared in LLVM's code generator for CPUs: the passes that take quadratic
 * time. Runs in the process that makes the code (backend/machine_code.c), whose options it changes.
 *
 * X86DomainReassignment looks for arithmetic that mask registers could do, for each candidate
 * through all that depends on it. CodeGenPrepare starts again from the first block after each
 * change, and the machine combiner follows chains of arithmetic through their block; in short
 * blocks the rest is nearly linear, so that nothing may join them again (AArch64 tidies atomics up
 * by simplifying all control flow). The code is a few per cent larger.
 */
#include <llvm-c/Support.h>

#include "compiler/cpu/cpu.h"

enum {
    /* The library's largest have 46,000 instructions, 1,700 in a block, and a product of
     * instructions and blocks, which is CodeGenPrepare's time, of 67 millions. */
    LONG_BLOCK = 2000,
    HUGE_BLOCK = 5000,
    HUGE_MODULE = 50000,
    HUGE_PRODUCT = 80000000,
    PIECE = 250, /* of a block: shorter ones compile no faster, and spill more */
};

void igv_reduce_large(LLVMModuleRef module, const struct igc_module_size *size) {
    static const char *const long_options[] = {"ingotc", "-disable-x86-domain-reassignment"};
    static const char *const huge_options[] = {
        "ingotc", "-disable-cgp", "-disable-x86-domain-reassignment", "-x86-machine-combiner=false",
        "-aarch64-enable-atomic-cfg-tidy=false"};
    if (size->longest_block > HUGE_BLOCK || size->instructions > HUGE_MODULE ||
        (uint64_t)size->instructions * size->blocks > HUGE_PRODUCT) {
        igc_cut_long_blocks(module, PIECE);
        LLVMParseCommandLineOptions(5, huge_options, NULL);
    } else if (size->longest_block > LONG_BLOCK) {
        LLVMParseCommandLineOptions(2, long_options, NULL);
    }
}
