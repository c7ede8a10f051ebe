/*
 * Metadata that Apple's compiler never wrote, into the AIR front end. The input is LLVM's text of a
 * module; LLVM's own reader of bitcode is not what is tested (it runs in a process of its own, with
 * limits). What LLVM takes for a module goes through everything that looks at its metadata,
 * arguments and functions, for each kernel that it names.
 */
#include <llvm-c/BitWriter.h>
#include <llvm-c/IRReader.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/frontend/air/air.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ignore(LLVMDiagnosticInfoRef info, void *context) {
    (void)info;
    (void)context;
}

/* The bitcode of a text; NULL where it is none. */
static LLVMMemoryBufferRef assemble(const uint8_t *data, size_t size) {
    LLVMContextRef context = LLVMContextCreate();
    LLVMContextSetDiagnosticHandler(context, ignore, NULL);
    LLVMMemoryBufferRef text = LLVMCreateMemoryBufferWithMemoryRangeCopy((const char *)data, size,
                                                                         "text"),
                        bitcode = NULL;
    LLVMModuleRef module = NULL;
    char *message = NULL;
    if (!LLVMParseIRInContext(context, text, &module, &message)) {
        bitcode = LLVMWriteBitcodeToMemoryBuffer(module);
        LLVMDisposeModule(module);
    }
    LLVMDisposeMessage(message);
    LLVMContextDispose(context);
    return bitcode;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    LLVMMemoryBufferRef bitcode = size < 65536 ? assemble(data, size) : NULL;
    if (!bitcode) {
        return 0;
    }
    struct ig_arena arena = {0};
    struct ig_error error = {0};
    const struct igc_options options = {.source_name = "fuzz"};
    struct igc_source source;
    ingot_status status = igc_source_open(&arena, &options, LLVMGetBufferStart(bitcode),
                                          LLVMGetBufferSize(bitcode), false, &source, &error);
    if (!status) {
        status = igc_source_find_constants(&source, &options, source.kernels, source.kernel_count,
                                           &error);
    }
    for (size_t i = 0; !status && i < source.kernel_count; i++) {
        struct igc_compiled made;
        struct ig_error refused = {0};
        ingot_status compiled =
            igc_source_compile(&source, &options, &source.kernels[i], 1, &made, &refused);
        if (compiled && !*ig_error_text(&refused)) {
            abort();
        }
        ig_error_clear(&refused);
    }
    if (status && !*ig_error_text(&error)) {
        abort();
    }
    ig_error_clear(&error);
    ig_arena_free(&arena);
    LLVMDisposeMemoryBuffer(bitcode);
    return 0;
}
