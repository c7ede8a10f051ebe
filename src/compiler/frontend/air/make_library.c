/*
 * Makes the library that library.c links: the functions of prelude/air/library.metal as bitcode,
 * without debug information. Each of Apple's functions is linkonce, so that only what is called is
 * linked; everything else is internal. They are simplified here, once: what they call is inlined,
 * and their variables are values. Control flow stays as it is where it decides which lanes get to
 * an operation.
 */
#include <llvm-c/BitReader.h>
#include <llvm-c/BitWriter.h>
#include <llvm-c/DebugInfo.h>
#include <string.h>

#include "compiler/frontend/air/air.h"
#include "compiler/ir/walk.h"

static const char simplify[] =
    "always-inline,globaldce,function(sroa,early-cse,"
    "simplifycfg<bonus-inst-threshold=1;no-forward-switch-cond;no-switch-range-to-icmp;"
    "no-switch-to-lookup;keep-loops;no-hoist-common-insts;no-sink-common-insts>,"
    "instcombine<no-verify-fixpoint>)";

static void delete_lists(LLVMModuleRef module) {
    static const char *const lists[] = {"llvm.used", "llvm.compiler.used",
                                        "llvm.global.annotations"};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        LLVMValueRef list = LLVMGetNamedGlobal(module, lists[i]);
        if (list) {
            LLVMDeleteGlobal(list);
        }
    }
}

/* Assembler names begin with a byte that says so; LLVM would keep it in the name. */
static void set_plain_name(LLVMValueRef function) {
    size_t length;
    const char *name = LLVMGetValueName2(function, &length);
    if (length && name[0] == 1) {
        char plain[256];
        const size_t size = length - 1 < sizeof plain ? length - 1 : sizeof plain;
        memcpy(plain, name + 1, size);
        LLVMSetValueName2(function, plain, size);
    }
}

static bool is_apples(LLVMValueRef function) {
    size_t length;
    const char *name = LLVMGetValueName2(function, &length);
    return !strncmp(name, "air.", 4) || !strncmp(name, "__tensorops_", 12);
}

/* Apple's functions get this linkage, the others are internal; gives the number of Apple's. */
static size_t set_linkage(LLVMModuleRef module, LLVMLinkage linkage) {
    size_t count = 0;
    igi_each_function(f, module) {
        if (LLVMIsDeclaration(f)) {
            continue;
        }
        set_plain_name(f);
        LLVMSetLinkage(f, is_apples(f) ? linkage : LLVMInternalLinkage);
        count += is_apples(f);
    }
    return count;
}

ingot_status igc_air_make_library(struct igc_source *source, const struct igc_options *options,
                                  const void **bytes, size_t *size, struct ig_error *error) {
    struct igc_compiled compiled;
    ingot_status status = igc_source_compile(source, options, NULL, 0, &compiled, error);
    if (status) {
        return status;
    }
    LLVMContextRef context = LLVMContextCreate();
    LLVMModuleRef module;
    LLVMMemoryBufferRef buffer =
        LLVMCreateMemoryBufferWithMemoryRangeCopy(compiled.bitcode, compiled.size, "library.bc");
    if (LLVMParseBitcodeInContext2(context, buffer, &module)) {
        status = ig_fail(error, INGOT_INTERNAL_ERROR, "LLVM cannot read %zu bytes that clang made",
                         compiled.size);
    } else {
        LLVMStripModuleDebugInfo(module);
        delete_lists(module);
        if (!set_linkage(module, LLVMExternalLinkage)) {
            status = ig_fail(error, INGOT_COMPILE_ERROR, "%s defines no air.* function",
                             options->source_name);
        } else {
            status = iga_run_passes(module, simplify, error);
            set_linkage(module, LLVMLinkOnceODRLinkage);
        }
        LLVMMemoryBufferRef out = LLVMWriteBitcodeToMemoryBuffer(module);
        *size = LLVMGetBufferSize(out);
        *bytes = ig_arena_copy(source->arena, LLVMGetBufferStart(out), *size);
        LLVMDisposeMemoryBuffer(out);
        LLVMDisposeModule(module);
        if (!*bytes) {
            status = ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for %zu bytes", *size);
        }
    }
    LLVMDisposeMemoryBuffer(buffer);
    LLVMContextDispose(context);
    return status;
}
