/*
 * Apple's bitcode as one of our modules.
 *
 * Requires bitcode that LLVM reads. Provides a module with the data layout of the MSL front end,
 * address spaces as ours are (constant is 6, Apple's 2), no promise that buffers do not overlap
 * (hosts work in place), and multiply-adds that are fused on every device. LLVM's C API cannot
 * change the address space of a type, so the module is printed and parsed again.
 */
#include <llvm-c/Analysis.h>
#include <llvm-c/BitReader.h>
#include <llvm-c/IRReader.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <string.h>

#include "base/text.h"
#include "compiler/frontend/air/air.h"
#include "compiler/ir/walk.h"

/* What clang gives the MSL front end's modules. */
static const char our_layout[] =
    "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128";
static const char our_triple[] = "x86_64-unknown-linux-gnu";

static void ignore_diagnostic(LLVMDiagnosticInfoRef info, void *context) {
    (void)info;
    (void)context;
}

static bool starts(const char *text, const char *prefix) {
    return !strncmp(text, prefix, strlen(prefix));
}

static bool is_name_character(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '.' || c == '$' || c == '-';
}

/* The name of an intrinsic, with pointers into constant memory (.p2) in our space (.p6). */
static const char *copy_intrinsic(const char *at, struct ig_text *out) {
    ig_text_append(out, at++, 1); /* @ */
    while (is_name_character(*at)) {
        const bool is_constant = starts(at, ".p2") && !(at[3] >= '0' && at[3] <= '9');
        ig_text_append(out, is_constant ? ".p6" : at, is_constant ? 3 : 1);
        at += is_constant ? 3 : 1;
    }
    return at;
}

/* The line at `at` if it is the layout or the triple, in our words; else nothing. */
static const char *copy_target(const char *at, struct ig_text *out) {
    const bool layout = starts(at, "target datalayout = ");
    if (!layout && !starts(at, "target triple = ")) {
        return at;
    }
    ig_text_printf(out, "target %s = \"%s\"", layout ? "datalayout" : "triple",
                   layout ? our_layout : our_triple);
    return at + strcspn(at, "\n");
}

/* Everything between quotes is as it was: names and metadata may hold any text. */
static const char *copy_quoted(const char *at, struct ig_text *out) {
    const char *end = strchr(at + 1, '"'); /* LLVM writes a quote within as \22 */
    const size_t size = end ? (size_t)(end - at) + 1 : strlen(at);
    ig_text_append(out, at, size);
    return at + size;
}

static void change_spaces(const char *text, struct ig_text *out) {
    bool starts_line = true;
    for (const char *at = text; *at;) {
        if (starts_line) {
            at = copy_target(at, out);
            starts_line = false;
            continue;
        }
        if (*at == '"') {
            at = copy_quoted(at, out);
        } else if (starts(at, "addrspace(2)")) {
            ig_text_puts(out, "addrspace(6)");
            at += strlen("addrspace(2)");
        } else if (starts(at, "@llvm.")) {
            at = copy_intrinsic(at, out);
        } else {
            starts_line = *at == '\n';
            const size_t plain = strcspn(at + 1, "\"@a\n") + 1;
            const size_t size = starts_line ? 1 : plain;
            ig_text_append(out, at, size);
            at += size;
        }
    }
}

static ingot_status parse_again(struct iga_module *m) {
    struct ig_text text = {0};
    char *printed = LLVMPrintModuleToString(m->module), *message = NULL;
    change_spaces(printed, &text);
    LLVMDisposeMessage(printed);
    LLVMDisposeModule(m->module);
    m->module = NULL;
    if (text.failed) {
        ig_text_free(&text);
        return ig_fail(m->error, INGOT_OUT_OF_MEMORY, "no memory for the module of %s", m->name);
    }
    LLVMMemoryBufferRef buffer =
        LLVMCreateMemoryBufferWithMemoryRangeCopy(text.data, text.size, "air.ll");
    LLVMBool bad = LLVMParseIRInContext(m->context, buffer, &m->module, &message);
    ig_text_free(&text);
    if (bad) {
        ig_fail(m->error, INGOT_INTERNAL_ERROR,
                "the module of %s in %s is not understood once its address spaces are ours: %s",
                m->name, m->source, message ? message : "no reason given");
        LLVMDisposeMessage(message);
        m->module = NULL;
        return INGOT_INTERNAL_ERROR;
    }
    return INGOT_OK;
}

/* ---- what does not hold here ---- */

static void forget_aliasing(struct iga_module *m, LLVMValueRef instruction) {
    static const char *const kinds[] = {"tbaa",    "tbaa.struct",    "alias.scope",
                                        "noalias", "invariant.load", "dbg"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        LLVMSetMetadata(instruction,
                        LLVMGetMDKindIDInContext(m->context, kinds[i], (unsigned)strlen(kinds[i])),
                        NULL);
    }
}

static void forget_noalias(LLVMValueRef function) {
    const unsigned kind = LLVMGetEnumAttributeKindForName("noalias", 7);
    for (unsigned i = 0; i < LLVMCountParams(function); i++) {
        LLVMRemoveEnumAttributeAtIndex(function, i + 1, kind);
    }
}

/* Apple's llvm.fmuladd is one operation on its GPUs. */
static void fuse_multiply_adds(struct iga_module *m) {
    const unsigned fmuladd = igi_intrinsic_id(IGI_LLVM_fmuladd);
    igi_each_function_safe(f, m->module) {
        if (LLVMGetIntrinsicID(f) == fmuladd) {
            LLVMTypeRef type = LLVMGetReturnType(LLVMGlobalGetValueType(f));
            LLVMReplaceAllUsesWith(f, igi_declare_intrinsic(m->module, IGI_LLVM_fma, &type, 1));
            LLVMDeleteFunction(f);
        }
    }
}

static void clean(struct iga_module *m) {
    igi_each_function(f, m->module) {
        forget_noalias(f);
        igi_each_instruction(in, f) {
            forget_aliasing(m, in);
        }
    }
    static const char *const lists[] = {"llvm.used", "llvm.compiler.used"};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        LLVMValueRef list = LLVMGetNamedGlobal(m->module, lists[i]);
        if (list) {
            LLVMDeleteGlobal(list);
        }
    }
    igi_each_global(g, m->module) {
        const bool shared = LLVMGetPointerAddressSpace(LLVMTypeOf(g)) == INGOT_SPACE_THREADGROUP;
        if (shared && LLVMGetAlignment(g) < 16) {
            LLVMSetAlignment(g, 16); /* as the MSL front end has them: tiles are loaded whole */
        }
    }
    fuse_multiply_adds(m);
}

/* The first function that is not valid. LLVM's own message is not asked for: to write it can crash
 * on what it is about. */
static const char *invalid_function(LLVMModuleRef module) {
    igi_each_function(f, module) {
        if (!LLVMIsDeclaration(f) && LLVMVerifyFunction(f, LLVMReturnStatusAction)) {
            size_t length;
            return LLVMGetValueName2(f, &length);
        }
    }
    return NULL;
}

ingot_status iga_verify(struct iga_module *m) {
    if (!LLVMVerifyModule(m->module, LLVMReturnStatusAction, NULL)) {
        return INGOT_OK;
    }
    const char *function = invalid_function(m->module);
    return ig_fail(m->error, INGOT_COMPILE_ERROR,
                   "%s: the module of %s is damaged: %s%.200s is not valid", m->source, m->name,
                   function ? "function " : "what is outside of functions",
                   function ? function : "");
}

ingot_status iga_parse(struct iga_module *m, const void *bitcode, size_t size) {
    LLVMContextSetDiagnosticHandler(m->context, ignore_diagnostic, NULL);
    LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(bitcode, size, "air.bc");
    LLVMBool bad = LLVMParseBitcodeInContext2(m->context, buffer, &m->module);
    LLVMDisposeMemoryBuffer(buffer);
    if (bad) {
        m->module = NULL;
        return ig_fail(m->error, INGOT_COMPILE_ERROR,
                       "%s: the module of %s (%zu bytes) is damaged, or newer than this LLVM reads",
                       m->source, m->name, size);
    }
    ingot_status status = parse_again(m);
    if (!status) {
        status = iga_verify(m);
    }
    if (!status) {
        clean(m);
    }
    return status;
}

ingot_status iga_run_passes(LLVMModuleRef module, const char *passes, struct ig_error *error) {
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef failure = LLVMRunPasses(module, passes, NULL, options);
    LLVMDisposePassBuilderOptions(options);
    if (!failure) {
        return INGOT_OK;
    }
    char *message = LLVMGetErrorMessage(failure); /* uses the failure up */
    ig_fail(error, INGOT_INTERNAL_ERROR, "LLVM does not run the passes %s: %s", passes, message);
    LLVMDisposeErrorMessage(message);
    return INGOT_INTERNAL_ERROR;
}
