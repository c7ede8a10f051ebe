/*
 * From an optimised scalar kernel to PTX. Requires a kernel without reflection calls, as the
 * vectoriser does; uses the module up. Provides PTX text with one entry as base/cuda_abi.h says.
 */
#include <llvm-c/DebugInfo.h>
#include <llvm-c/IRReader.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/cpu/prepare/prepare.h"
#include "compiler/frontend/msl/message_words.h"
#include "compiler/ir/walk.h"
#include "compiler/nvptx/nvptx.h"

#define SIMPLIFYCFG "simplifycfg<no-hoist-common-insts;no-sink-common-insts;no-switch-to-lookup>"

static const char loop_passes[] =
    "function(" SIMPLIFYCFG ",instcombine<no-verify-fixpoint>"
    ",loop-mssa(loop-instsimplify,loop-simplifycfg,licm<no-allowspeculation>)," SIMPLIFYCFG
    ",loop(indvars,loop-deletion,loop-unroll-full),sroa<modify-cfg>,early-cse<memssa>,gvn<>"
    ",instcombine<no-verify-fixpoint>,dse," SIMPLIFYCFG ",instcombine<no-verify-fixpoint>)";
static const char inline_passes[] = "always-inline,globaldce";
static const char late_passes[] =
    "function(sroa<modify-cfg>,infer-address-spaces,early-cse<memssa>," SIMPLIFYCFG
    ",instcombine<no-verify-fixpoint>,early-cse<memssa>,loop-mssa(licm<allowspeculation>),gvn<>"
    ",dse,adce," SIMPLIFYCFG
    ",instcombine<no-verify-fixpoint>,infer-address-spaces,infer-alignment)"
    ",globaldce,strip-dead-prototypes";

/* ---- shared with the other files ---- */
const char *igp_callee(LLVMValueRef instruction) {
    size_t length;
    LLVMValueRef callee = LLVMIsACallInst(instruction) ? LLVMGetCalledValue(instruction) : NULL;
    return callee && LLVMIsAFunction(callee) ? LLVMGetValueName2(callee, &length) : "";
}

static void add_attribute(LLVMContextRef context, LLVMValueRef function, const char *name) {
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex,
                            LLVMCreateEnumAttribute(context, kind, 0));
}

LLVMValueRef igp_declare(struct igp_kernel *kernel, const char *name, LLVMTypeRef type, bool pure) {
    LLVMValueRef function = LLVMGetNamedFunction(kernel->module, name);
    if (!function) {
        function = LLVMAddFunction(kernel->module, name, type);
        add_attribute(kernel->context, function, "nounwind");
        if (pure) {
            add_attribute(kernel->context, function, "memory"); /* 0: none */
        }
    }
    return function;
}

LLVMValueRef igp_call(struct igp_kernel *kernel, const char *name, LLVMTypeRef result,
                      LLVMValueRef *args, unsigned count, bool pure) {
    LLVMTypeRef types[16];
    for (unsigned i = 0; i < count; i++) {
        types[i] = LLVMTypeOf(args[i]);
    }
    LLVMTypeRef type = LLVMFunctionType(result, types, count, false);
    return LLVMBuildCall2(kernel->builder, type, igp_declare(kernel, name, type, pure), args, count,
                          "");
}

struct wanted {
    bool (*is)(LLVMValueRef instruction);
};

static bool is_wanted(void *context, LLVMValueRef instruction) {
    return ((const struct wanted *)context)->is(instruction);
}

LLVMValueRef *igp_collect(struct igp_kernel *kernel, bool (*wanted)(LLVMValueRef instruction)) {
    struct wanted context = {wanted};
    return igi_collect(kernel->arena, kernel->body, is_wanted, &context, NULL);
}

/* ---- before the text ---- */
static bool is_threadgroup_variable(LLVMValueRef global) {
    return LLVMGetPointerAddressSpace(LLVMTypeOf(global)) == INGOT_SPACE_THREADGROUP &&
           LLVMGetFirstUse(global);
}

/* Where a threadgroup variable begins after `total` bytes, and ends. */
static uint64_t place_variable(struct igp_kernel *k, LLVMValueRef g, uint64_t *total) {
    uint64_t alignment = LLVMGetAlignment(g);
    uint64_t at = (*total + alignment - 1) / alignment * alignment;
    *total = at + LLVMABISizeOfType(LLVMGetModuleDataLayout(k->module), LLVMGlobalGetValueType(g));
    return at;
}

/* More than modules may have: they become the beginning of dynamic memory. */
static void make_dynamic(struct igp_kernel *k) {
    LLVMTypeRef byte = LLVMInt8TypeInContext(k->context);
    LLVMValueRef dynamic = LLVMAddGlobalInAddressSpace(k->module, LLVMArrayType2(byte, 0),
                                                       "ingot_dynamic", INGOT_SPACE_THREADGROUP);
    LLVMSetAlignment(dynamic, 16);
    uint64_t total = 0;
    igi_each_global_safe(g, k->module) {
        if (g == dynamic || !is_threadgroup_variable(g)) {
            continue;
        }
        LLVMValueRef at =
            LLVMConstInt(LLVMInt64TypeInContext(k->context), place_variable(k, g, &total), false);
        LLVMReplaceAllUsesWith(g, LLVMConstInBoundsGEP2(byte, dynamic, &at, 1));
        LLVMDeleteGlobal(g);
    }
}

/* Threadgroup variables have no first value, and their sizes add up. */
static void place_threadgroup(struct igp_kernel *k, uint32_t *bytes) {
    uint64_t total = 0;
    unsigned number = 0;
    igi_each_global(g, k->module) {
        char name[32];
        snprintf(name, sizeof name, "ingot_global_%u", number++);
        LLVMSetValueName2(g, name, strlen(name)); /* PTX allows fewer characters than C++ */
        if (!is_threadgroup_variable(g)) {
            continue;
        }
        if (LLVMGetAlignment(g) < 16) {
            LLVMSetAlignment(g, 16);
        }
        LLVMSetInitializer(g, LLVMGetUndef(LLVMGlobalGetValueType(g)));
        LLVMSetExternallyInitialized(g, false);
        place_variable(k, g, &total);
    }
    if (total > INGOT_CUDA_MAX_STATIC) {
        make_dynamic(k);
    }
    *bytes = (uint32_t)((total + 15) / 16 * 16);
}

/* Indices into private arrays stay in range, as on CPUs. */
static ingot_status check_private(struct igp_kernel *k) {
    struct igv_prepare prepare = {.module = k->module,
                                  .kernel = k->body,
                                  .context = k->context,
                                  .layout = LLVMGetModuleDataLayout(k->module),
                                  .builder = k->builder,
                                  .i1 = LLVMInt1TypeInContext(k->context),
                                  .i8 = LLVMInt8TypeInContext(k->context),
                                  .i32 = LLVMInt32TypeInContext(k->context),
                                  .i64 = LLVMInt64TypeInContext(k->context),
                                  .error = k->error};
    bool changed;
    ingot_status status = igv_prepare_private(&prepare, &changed);
    ig_arena_free(&prepare.arena);
    return status;
}

static ingot_status lower(struct igp_kernel *k, LLVMTargetMachineRef machine) {
    /* a switch has a way to nowhere if its cases are all there are: lanes would not meet after it
     */
    ingot_status status =
        igc_stage(k->module, machine, "nvptx-switches", "function(lower-switch)", k->error);
    if (!status) {
        status = igp_open_loops(k, machine);
    }
    if (!status) {
        status = igp_release_loops(k);
    }
    if (!status && k->released) {
        status = igc_stage(k->module, machine, "nvptx-loops", loop_passes, k->error);
    }
    if (!status) {
        status = check_private(k);
    }
    if (!status) {
        status = igp_check_barriers(k);
    }
    if (!status) {
        status = igp_mark_lanes(k, machine);
    }
    if (!status) {
        status = igp_lower_matrix(k);
    }
    if (!status) {
        status = igp_lower_copies(k);
    }
    if (!status) {
        status = igp_copy_async(k, machine);
    }
    if (!status) {
        igp_lower_atomics(k);
        status = igp_lower_arguments(k);
    }
    return status;
}

/* ---- the text, and after it ---- */
static ingot_status parse(const struct igp_kernel *k, LLVMTargetMachineRef machine,
                          LLVMModuleRef *module) {
    struct ig_text text = {0}, library = {0};
    char *printed = LLVMPrintModuleToString(k->module);
    igp_respace(printed, true, &text);
    LLVMDisposeMessage(printed);
    igp_write_library(k, &library);
    char *level = LLVMGetTargetMachineCPU(machine);
    igp_write_entry(k, !strncmp(level, "sm_90", 5), &library);
    LLVMDisposeMessage(level);
    igp_respace(ig_text_string(&library), false, &text);
    text.failed |= library.failed;
    ig_text_free(&library);
    if (text.failed) {
        ig_text_free(&text);
        return ig_fail(k->error, INGOT_OUT_OF_MEMORY, "no memory for the text of a kernel");
    }
    if (getenv("INGOT_DUMP") && !strcmp(getenv("INGOT_DUMP"), "nvptx")) {
        fputs(text.data, stderr);
    }
    char *message = NULL;
    LLVMMemoryBufferRef buffer =
        LLVMCreateMemoryBufferWithMemoryRangeCopy(text.data, text.size, "kernel.ll");
    LLVMBool bad = LLVMParseIRInContext(k->context, buffer, module, &message);
    ig_text_free(&text);
    if (bad) {
        ig_fail(k->error, INGOT_INTERNAL_ERROR, "the kernel's code for NVIDIA GPUs is wrong: %s",
                message);
        LLVMDisposeMessage(message);
        return INGOT_INTERNAL_ERROR;
    }
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(machine);
    LLVMSetModuleDataLayout(*module, layout);
    LLVMDisposeTargetData(layout);
    char *triple = LLVMGetTargetMachineTriple(machine);
    LLVMSetTarget(*module, triple);
    LLVMDisposeMessage(triple);
    LLVMValueRef body = LLVMGetNamedFunction(*module, "nv.body");
    LLVMSetLinkage(body, LLVMInternalLinkage);
    add_attribute(k->context, body, "alwaysinline");
    return INGOT_OK;
}

static LLVMValueRef value_named(LLVMValueRef function, const char *name) {
    igi_each_instruction(in, function) {
        size_t length;
        if (!strcmp(LLVMGetValueName2(in, &length), name)) {
            return in;
        }
    }
    return NULL;
}

/* Calls of nv.X, of which only the names are left, become the entry point's value nv.X. */
static ingot_status fill_in(LLVMModuleRef module, struct ig_error *error) {
    LLVMValueRef entry = LLVMGetNamedFunction(module, INGOT_CUDA_KERNEL_SYMBOL);
    igi_each_function_safe(f, module) {
        size_t length;
        const char *name = LLVMGetValueName2(f, &length);
        if (strncmp(name, "nv.", 3) || !LLVMIsDeclaration(f)) {
            continue;
        }
        LLVMValueRef value = value_named(entry, name);
        if (!value && LLVMGetFirstUse(f)) {
            return ig_fail(error, INGOT_INTERNAL_ERROR, "the entry point has no value %s", name);
        }
        for (LLVMUseRef use = LLVMGetFirstUse(f); use; use = LLVMGetFirstUse(f)) {
            igi_replace(LLVMGetUser(use), value);
        }
        LLVMDeleteFunction(f);
    }
    return INGOT_OK;
}

/* Everything is inlined, so what is still called is LLVM's or does not exist. */
static ingot_status check_calls(LLVMModuleRef module, struct ig_error *error) {
    LLVMValueRef entry = LLVMGetNamedFunction(module, INGOT_CUDA_KERNEL_SYMBOL);
    igi_each_instruction(in, entry) {
        LLVMValueRef callee = LLVMIsACallInst(in) ? LLVMGetCalledValue(in) : NULL;
        if (!callee || LLVMIsAInlineAsm(callee)) {
            continue;
        }
        const char *name = igp_callee(in);
        if (!*name) {
            return ig_fail(error, INGOT_COMPILE_ERROR,
                           "the kernel calls a function through a pointer that is only known "
                           "when it runs");
        }
        if (strncmp(name, "llvm.", 5)) {
            return igc_fail_undefined(name, error);
        }
    }
    return INGOT_OK;
}

static ingot_status make_ptx(LLVMModuleRef module, LLVMTargetMachineRef machine,
                             const struct igc_job *job, bool swizzled, struct igc_code *code,
                             struct ig_error *error) {
    ingot_status status = igc_stage(module, machine, "nvptx-inline", inline_passes, error);
    if (!status && igp_join_stops(module)) {
        status = igc_stage(module, machine, "nvptx-stops", inline_passes, error);
    }
    if (!status) {
        status = fill_in(module, error);
    }
    if (!status) {
        status = check_calls(module, error);
    }
    if (!status) {
        status = igc_stage(module, machine, "nvptx-late", late_passes, error);
    }
    if (!status) {
        status = igp_widen(module, error);
    }
    if (!status) {
        status = igc_stage(module, machine, "nvptx-wide",
                           "function(instcombine<no-verify-fixpoint>,adce)", error);
    }
    if (!status && swizzled) {
        status = igp_swizzle(module, error);
    }
    if (!status) {
        igp_hints(module);
        igp_bfloats(module);
        if (job->emitted && job->command->emit == IGC_EMIT_OPTIMISED) {
            igc_print_module(module, job->emitted);
        }
        if (job->command->no_code) {
            return INGOT_OK;
        }
        double start = igc_time_now();
        status = igc_emit_guarded(module, machine, igp_short_pointers, true, &code->object, error);
        igc_time_add("machine code", igc_time_now() - start);
    }
    return status;
}

ingot_status igc_codegen_nvptx(struct ig_arena *arena, LLVMModuleRef module, LLVMValueRef kernel,
                               const struct igv_target *target, const struct igc_job *job,
                               const struct igc_reflection *reflection, struct igc_code *code,
                               struct ig_error *error) {
    *code = (struct igc_code){0};
    LLVMTargetMachineRef machine;
    ingot_status status = igc_machine_create(target, &machine, error);
    if (status) {
        return status;
    }
    struct igp_kernel k = {.arena = arena,
                           .module = module,
                           .body = kernel,
                           .context = LLVMGetModuleContext(module),
                           .reflection = reflection,
                           .quads = !strcmp(target->cpu, "sm_90a"),
                           .error = error};
    k.builder = LLVMCreateBuilderInContext(k.context);
    LLVMSetValueName2(kernel, "nv.body", 7);
    igc_forget_cpu(module);
    LLVMStripModuleDebugInfo(module);
    status = lower(&k, machine);
    if (!status) {
        status = igc_stage(module, machine, "nvptx-lower", "globaldce", error);
    }
    if (!status) {
        place_threadgroup(&k, &code->static_threadgroup_bytes);
    }
    if (!status && job->emitted && job->command->emit == IGC_EMIT_PREPARED) {
        igc_print_module(module, job->emitted);
    }
    LLVMModuleRef retargeted = NULL;
    if (!status) {
        status = parse(&k, machine, &retargeted);
    }
    if (!status) {
        status = make_ptx(retargeted, machine, job, k.has_quads, code, error);
    }
    if (retargeted) {
        LLVMDisposeModule(retargeted);
    }
    free(k.reads);
    LLVMDisposeBuilder(k.builder);
    LLVMDisposeTargetMachine(machine);
    return status;
}
