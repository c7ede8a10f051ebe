/*
 * The module as clang made it, in the place of the optimised one. Requires a kernel with its
 * constants (middle/passes.c); the scalar passes run all the same, for what the host must know and
 * for what they refuse. Provides a module in which nothing is undefined but built-ins.
 */
#include <llvm-c/DebugInfo.h>
#include <string.h>

#include "compiler/cpu/debug/debug.h"
#include "compiler/ir/builtins.h"
#include "compiler/ir/map.h"
#include "compiler/ir/walk.h"

#define SPACE_THREADGROUP 3u
#define GROUP_ALIGN       16u

enum igc_result igd_keep_unoptimised(struct igc_kernel *kernel) {
    kernel->unoptimised = LLVMCloneModule(kernel->module);
    igi_each_symbol(v, kernel->module) {
        if (igc_is_for_debuggers(v)) {
            LLVMSetLinkage(v, LLVMInternalLinkage);
        }
    }
    return IGC_CHANGED;
}

/* Of the variables that are left after optimisation, as the other targets count them. The variables
 * themselves are the object's: one threadgroup runs at a time. */
static uint64_t threadgroup_bytes(const struct igc_kernel *kernel) {
    uint64_t total = 0;
    igi_each_global(g, kernel->module) {
        if (LLVMGetPointerAddressSpace(LLVMTypeOf(g)) == SPACE_THREADGROUP && LLVMGetFirstUse(g)) {
            uint64_t align = LLVMGetAlignment(g) > GROUP_ALIGN ? LLVMGetAlignment(g) : GROUP_ALIGN;
            total = (total + align - 1) / align * align +
                    LLVMABISizeOfType(kernel->layout, LLVMGlobalGetValueType(g));
        }
    }
    return (total + GROUP_ALIGN - 1) / GROUP_ALIGN * GROUP_ALIGN;
}

enum igc_result igd_take_unoptimised(struct igc_kernel *kernel) {
    size_t length;
    const char *name = ig_arena_string(kernel->arena, LLVMGetValueName2(kernel->function, &length));
    uint64_t bytes = threadgroup_bytes(kernel);
    if (!name || bytes > UINT32_MAX) {
        return name ? igc_result_of(ig_fail(kernel->error, INGOT_COMPILE_ERROR,
                                            "the kernel's threadgroup variables need %llu bytes",
                                            (unsigned long long)bytes))
                    : igc_result_of(igc_out_of_memory(kernel));
    }
    LLVMDisposeModule(kernel->module);
    igc_kernel_set_module(kernel, LLVMCloneModule(kernel->unoptimised));
    kernel->function = LLVMGetNamedFunction(kernel->module, name);
    kernel->threadgroup_bytes = (uint32_t)bytes;
    return IGC_CHANGED;
}

/* A body that traps: the optimiser found that no call of it is ever reached. */
static void define_function(struct igc_kernel *kernel, LLVMValueRef function) {
    LLVMValueRef trap = igi_declare(kernel->module, IGI_trap);
    LLVMPositionBuilderAtEnd(kernel->builder,
                             LLVMAppendBasicBlockInContext(kernel->context, function, ""));
    LLVMBuildCall2(kernel->builder, LLVMGlobalGetValueType(trap), trap, NULL, 0, "");
    LLVMBuildUnreachable(kernel->builder);
    LLVMSetLinkage(function, LLVMInternalLinkage);
}

/* Compiled libraries have none of what prelude/ingot_debug.h defines. */
static void define_debug_variable(struct igc_kernel *kernel, const char *name, uint64_t bytes) {
    if (!LLVMGetNamedGlobal(kernel->module, name)) {
        LLVMTypeRef type = LLVMArrayType2(kernel->i8, bytes);
        LLVMValueRef made = LLVMAddGlobal(kernel->module, type, name);
        LLVMSetInitializer(made, LLVMConstNull(type));
        LLVMSetAlignment(made, GROUP_ALIGN);
    }
}

enum igc_result igd_define_missing(struct igc_kernel *kernel) {
    define_debug_variable(kernel, IGC_DEBUG_THREAD, sizeof(struct ingot_cpu_thread));
    define_debug_variable(kernel, IGC_DEBUG_LANES,
                          INGOT_CPU_MAX_LANES * sizeof(struct ingot_cpu_lane));
    igi_each_function(f, kernel->module) {
        size_t length;
        bool is_known = igi_is_llvm_name(LLVMGetValueName2(f, &length)) ||
                        igi_builtin_of_function(f) != IGI_NO_BUILTIN;
        if (LLVMIsDeclaration(f) && !is_known) {
            define_function(kernel, f);
        }
    }
    igi_each_global(g, kernel->module) {
        size_t length;
        if (LLVMIsDeclaration(g) && !igi_is_llvm_name(LLVMGetValueName2(g, &length))) {
            LLVMSetInitializer(g, LLVMConstNull(LLVMGlobalGetValueType(g)));
            LLVMSetLinkage(g, LLVMInternalLinkage);
        }
    }
    return IGC_CHANGED;
}

static bool is_of_prelude(const struct igc_kernel *kernel, LLVMMetadataRef described) {
    unsigned size = 0, folder_size = 0;
    LLVMMetadataRef file = LLVMDIScopeGetFile(described);
    const char *prelude = kernel->job->prelude_dir;
    const char *name = file ? LLVMDIFileGetFilename(file, &size) : NULL;
    const char *folder = file ? LLVMDIFileGetDirectory(file, &folder_size) : NULL;
    if (!name || !size || !prelude) {
        return false;
    }
    char *path = name[0] == '/' || !folder_size
                     ? ig_arena_printf(kernel->arena, "%.*s", (int)size, name)
                     : ig_arena_printf(kernel->arena, "%.*s/%.*s", (int)folder_size, folder,
                                       (int)size, name);
    size_t length = strlen(prelude);
    return path && !strncmp(path, prelude, length) && path[length] == '/';
}

static LLVMValueRef called(LLVMValueRef in) {
    return LLVMIsACallInst(in) ? igi_callee(in) : NULL;
}

static unsigned line_of(LLVMValueRef in) {
    LLVMMetadataRef place = LLVMInstructionGetDebugLoc(in);
    return place ? LLVMDILocationGetLine(place) : 0;
}

/* A breakpoint at the kernel stops where its parameters have their values: what fetches them, calls
 * of the prelude on the line of the kernel's brace, belongs to the prologue, which has no lines. */
static void hide_parameters(struct igc_kernel *kernel, const struct igi_map *hidden) {
    LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(kernel->function);
    LLVMValueRef last = NULL;
    unsigned brace = 0;
    igi_each_in_block(in, entry) {
        brace = brace ? brace : line_of(in);
        bool fetches = called(in) && igi_set_has(hidden, called(in)) && line_of(in) == brace;
        last = fetches ? in : last;
    }
    bool is_over = !last;
    igi_each_in_block(in, entry) {
        if (is_over && !LLVMIsAStoreInst(in)) {
            break;
        }
        bool needs_line = called(in) && LLVMGetSubprogram(called(in));
        if (!needs_line) {
            LLVMInstructionSetDebugLoc(in, NULL);
        }
        is_over |= in == last;
        if (is_over && LLVMIsAStoreInst(in)) {
            break;
        }
    }
}

enum igc_result igd_hide_prelude(struct igc_kernel *kernel) {
    struct igi_map hidden;
    igi_map_start(&hidden, kernel->arena, 64);
    igi_each_function(f, kernel->module) {
        LLVMMetadataRef described = LLVMGetSubprogram(f);
        bool hides = described && !igc_is_for_debuggers(f) &&
                     (LLVMIsDeclaration(f) || is_of_prelude(kernel, described));
        if (!hides) {
            continue;
        }
        igi_set_add(&hidden, f);
        LLVMSetSubprogram(f, NULL);
        igi_each_instruction(in, f) {
            LLVMInstructionSetDebugLoc(in, NULL);
        }
    }
    hide_parameters(kernel, &hidden);
    return IGC_CHANGED;
}
