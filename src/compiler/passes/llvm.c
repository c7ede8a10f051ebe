/* LLVM's set-up for this process, and its machines. */
#include <llvm-c/ErrorHandling.h>
#include <llvm-c/Support.h>
#include <unistd.h>

#include "compiler/passes/passes.h"

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

ingot_status igc_processor_machine(const struct igc_processor *processor,
                                   LLVMTargetMachineRef *machine, struct ig_error *error) {
    LLVMTargetRef target;
    char *message = NULL;
    igc_llvm_start();
    if (LLVMGetTargetFromTriple(processor->triple, &target, &message)) {
        ig_fail(error, INGOT_INTERNAL_ERROR, "this LLVM makes no code for %s: %s",
                processor->triple, message);
        LLVMDisposeMessage(message);
        return INGOT_INTERNAL_ERROR;
    }
    *machine =
        LLVMCreateTargetMachine(target, processor->triple, processor->cpu, processor->features,
                                LLVMCodeGenLevelDefault, LLVMRelocPIC, LLVMCodeModelDefault);
    return *machine ? INGOT_OK
                    : ig_fail(error, INGOT_INTERNAL_ERROR, "LLVM does not know the processor %s",
                              processor->cpu);
}
