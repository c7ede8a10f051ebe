/*
 * The front end for compiled libraries as frontend.h has it: open and compile.
 *
 * What is opened is a .metallib, a file with libraries inside (an image of macOS, a fat binary),
 * one module of bitcode (.air), or the text of a module that an archive keeps as its source.
 */
#include <llvm-c/BitWriter.h>
#include <llvm-c/Linker.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "compiler/frontend/air/air.h"
#include "compiler/ir/global_names.h"
#include "compiler/ir/walk.h"

struct igc_air {
    struct ig_metallib library; /* kernels; of a file with several libraries all of them */
};

static const char text_prefix[] = IGC_AIR_TEXT_PREFIX;

static ingot_status no_memory(const char *name, struct ig_error *error) {
    return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for %s", name);
}

static bool begins(const char *text, size_t size, const void *with, size_t count) {
    return size >= count && !memcmp(text, with, count);
}

bool iga_is_air(const char *text, size_t size) {
    return ig_metallib_is(text, size) || ig_metallib_is_bitcode(text, size) ||
           ig_metallib_is_image(text, size) ||
           begins(text, size, text_prefix, sizeof text_prefix - 1);
}

/* ---- what is in it ---- */

/* All libraries of a file, one after the other. */
static ingot_status open_libraries(struct ig_arena *arena, const char *name, const char *bytes,
                                   size_t size, struct ig_metallib *all, struct ig_error *error) {
    size_t at = 0, length = 0, found = 0;
    for (; ig_metallib_find(bytes, size, &at, &length); at += length, found++) {
        struct ig_metallib one;
        ingot_status status = ig_metallib_read(arena, bytes + at, length, &one, error);
        if (status) {
            error->status = INGOT_COMPILE_ERROR;
            ig_error_prefix(error, "%s, library %zu at byte %zu", name, found + 1, at);
            return INGOT_COMPILE_ERROR;
        }
        const size_t count = all->function_count + one.function_count;
        struct ig_metallib_function *functions =
            ig_arena_array(arena, count + 1, sizeof *functions);
        if (!functions) {
            return no_memory(name, error);
        }
        if (all->function_count) {
            memcpy(functions, all->functions, all->function_count * sizeof *functions);
        }
        memcpy(functions + all->function_count, one.functions,
               one.function_count * sizeof *functions);
        all->functions = functions;
        all->function_count = count;
    }
    if (!found) {
        ig_metallib_none(bytes, size, error);
        error->status = INGOT_COMPILE_ERROR;
        ig_error_prefix(error, "%s: error", name);
        return INGOT_COMPILE_ERROR;
    }
    return INGOT_OK;
}

/* The kernels of a single module, by its own metadata. */
static ingot_status open_module(struct ig_arena *arena, const char *name, const void *bytes,
                                size_t size, struct ig_metallib *all, struct ig_error *error) {
    struct iga_module m = {.arena = arena, .name = "a kernel", .source = name, .error = error};
    m.context = LLVMContextCreate();
    ingot_status status = iga_parse(&m, bytes, size);
    if (!status) {
        const char *const *names;
        size_t count;
        status = iga_kernel_names(&m, &names, &count);
        all->functions = status ? NULL : ig_arena_array(arena, count + 1, sizeof *all->functions);
        status = status || all->functions ? status : no_memory(name, error);
        for (size_t i = 0; i < count && !status; i++) {
            all->functions[all->function_count++] = (struct ig_metallib_function){
                .name = names[i], .type = IG_METALLIB_KERNEL, .module = bytes, .module_size = size};
        }
        LLVMDisposeModule(m.module);
    }
    LLVMContextDispose(m.context);
    return status;
}

static ingot_status open_text(struct ig_arena *arena, const char *name, const char *text,
                              size_t size, struct ig_metallib *all, struct ig_error *error) {
    const char *line_end = memchr(text, '\n', size);
    const size_t at = line_end ? (size_t)(line_end - text) + 1 : size;
    void *bytes = ig_arena_alloc(arena, (size - at) / 4 * 3 + 4);
    size_t decoded;
    if (!bytes) {
        return no_memory(name, error);
    }
    if (!ig_base64_decode(text + at, size - at, bytes, &decoded)) {
        return ig_fail(error, INGOT_COMPILE_ERROR, "%s: the text of a module is damaged", name);
    }
    return open_module(arena, name, bytes, decoded, all, error);
}

/* ---- open ---- */

static bool list_kernels(struct igc_source *source) {
    const struct ig_metallib *library = &source->air->library;
    const char **names = ig_arena_array(source->arena, library->function_count + 1, sizeof *names);
    for (size_t i = 0; names && i < library->function_count; i++) {
        if (library->functions[i].type == IG_METALLIB_KERNEL) {
            names[source->kernel_count++] = library->functions[i].name;
        }
    }
    source->kernels = source->plain_kernels = names;
    source->plain_count = source->kernel_count;
    return names != NULL;
}

/* The function whose module all kernels are in, as those of a file of bitcode are; else NULL. */
static const struct ig_metallib_function *only_module(const struct ig_metallib *library) {
    const struct ig_metallib_function *only = NULL;
    for (size_t i = 0; i < library->function_count; i++) {
        const struct ig_metallib_function *function = &library->functions[i];
        if (function->type == IG_METALLIB_KERNEL && only && function->module != only->module) {
            return NULL;
        }
        only = function->type == IG_METALLIB_KERNEL ? function : only;
    }
    return only;
}

/* What an archive keeps of a module, so that other constants can be compiled later: its bytes as
 * text. */
static bool keep_text(struct igc_source *source, const char *text, size_t size) {
    const struct ig_metallib_function *only = only_module(&source->air->library);
    source->preprocessed = "";
    if (begins(text, size, text_prefix, sizeof text_prefix - 1)) {
        source->preprocessed = ig_arena_copy(source->arena, text, size);
    } else if (only) {
        char *kept = ig_arena_alloc(source->arena,
                                    sizeof text_prefix + 1 + ig_base64_size(only->module_size));
        if (kept) {
            memcpy(kept, text_prefix, sizeof text_prefix - 1);
            kept[sizeof text_prefix - 1] = '\n';
            ig_base64_encode(only->module, only->module_size, kept + sizeof text_prefix);
        }
        source->preprocessed = kept;
    }
    return source->preprocessed != NULL;
}

ingot_status iga_source_open(struct ig_arena *arena, const struct igc_options *options,
                             const char *text, size_t size, struct igc_source *source,
                             struct ig_error *error) {
    const char *name = options->source_name;
    *source = (struct igc_source){.arena = arena};
    source->air = ig_arena_alloc(arena, sizeof *source->air);
    char *bytes = ig_arena_copy(arena, text, size); /* kernels and modules point into it */
    if (!source->air || !bytes) {
        return no_memory(name, error);
    }
    struct ig_metallib *library = &source->air->library;
    ingot_status status = ig_metallib_is_bitcode(text, size)
                              ? open_module(arena, name, bytes, size, library, error)
                          : begins(text, size, text_prefix, sizeof text_prefix - 1)
                              ? open_text(arena, name, bytes, size, library, error)
                              : open_libraries(arena, name, bytes, size, library, error);
    if (!status && (!list_kernels(source) || !keep_text(source, bytes, size))) {
        status = no_memory(name, error);
    }
    return status;
}

/* ---- compile ---- */

/* Function constants get the names that middle/specialise.c knows them by. */
static ingot_status name_constants(struct iga_module *m, const struct ig_constant *constants,
                                   LLVMValueRef *globals, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const char *name = ig_arena_printf(m->arena, IGI_CONSTANT_PREFIX "%u", constants[i].index);
        LLVMValueRef made = LLVMGetNamedGlobal(m->module, name);
        if (!made) {
            made = LLVMAddGlobalInAddressSpace(m->module, LLVMGlobalGetValueType(globals[i]), name,
                                               LLVMGetPointerAddressSpace(LLVMTypeOf(globals[i])));
            LLVMSetGlobalConstant(made, true);
            LLVMSetAlignment(made, LLVMGetAlignment(globals[i]));
        }
        if (LLVMTypeOf(made) != LLVMTypeOf(globals[i]) ||
            LLVMGlobalGetValueType(made) != LLVMGlobalGetValueType(globals[i])) {
            return ig_fail(m->error, INGOT_COMPILE_ERROR,
                           "%s: the metadata of %s is damaged: function constant %u has two types",
                           m->source, m->name, constants[i].index);
        }
        LLVMReplaceAllUsesWith(globals[i], made);
        LLVMDeleteGlobal(globals[i]);
    }
    return INGOT_OK;
}

static void mark(struct iga_module *m) {
    LLVMAddNamedMetadataOperand(m->module, IGC_AIR_MARK, LLVMMDNodeInContext(m->context, NULL, 0));
}

/* What a module defines besides the kernel's entry is its own: other modules may have the same
 * names. */
static void keep_apart(struct iga_module *m) {
    const char *entry = ig_arena_printf(m->arena, IGA_ENTRY "%s", m->name);
    igi_each_symbol(v, m->module) {
        size_t length;
        if (!LLVMIsDeclaration(v) && LLVMGetLinkage(v) == LLVMExternalLinkage && entry &&
            strcmp(LLVMGetValueName2(v, &length), entry)) {
            LLVMSetLinkage(v, LLVMInternalLinkage);
        }
    }
}

static ingot_status convert(struct iga_module *m, const struct ig_metallib_function *function) {
    struct iga_kernel kernel;
    struct ig_constant *constants;
    LLVMValueRef *globals;
    size_t count;
    ingot_status status = iga_parse(m, function->module, function->module_size);
    if (!status) {
        status = iga_read_kernel(m, &kernel);
    }
    if (!status) {
        status = iga_read_constants(m, &constants, &globals, &count);
    }
    if (!status) {
        status = iga_add_entry(m, &kernel); /* it names constants, by the module's own variables */
    }
    if (!status) {
        status = name_constants(m, constants, globals, count);
    }
    if (!status) {
        status = iga_open_library(m);
    }
    if (!status) {
        status = iga_define_functions(m);
    }
    if (!status) {
        status = iga_verify(m); /* functions may be declared with types that we did not expect */
    }
    if (!status) {
        status = iga_link_library(m);
    }
    if (!status) {
        status = iga_settle_tensors(m);
    }
    if (!status) {
        keep_apart(m);
        mark(m);
    }
    return status;
}

/* One kernel's module is added to those before it. */
static ingot_status add_kernel(struct iga_module *m, const struct ig_metallib_function *function,
                               LLVMModuleRef *whole) {
    m->builder = LLVMCreateBuilderInContext(m->context);
    ingot_status status = convert(m, function);
    LLVMDisposeBuilder(m->builder);
    if (m->library) {
        LLVMDisposeModule(m->library);
    }
    if (status) {
        if (m->module) {
            LLVMDisposeModule(m->module);
        }
        return status;
    }
    if (!*whole) {
        *whole = m->module;
        return INGOT_OK;
    }
    return LLVMLinkModules2(*whole, m->module)
               ? ig_fail(m->error, INGOT_COMPILE_ERROR,
                         "%s: the module of %s does not fit those of other kernels", m->source,
                         m->name)
               : INGOT_OK;
}

ingot_status iga_source_compile(struct igc_source *source, const struct igc_options *options,
                                const char *const *kernels, size_t kernel_count,
                                struct igc_compiled *compiled, struct ig_error *error) {
    LLVMContextRef context = LLVMContextCreate();
    LLVMModuleRef whole = NULL;
    ingot_status status = INGOT_OK;
    *compiled = (struct igc_compiled){.warnings = ""};
    if (!kernels) {
        kernels = source->kernels;
        kernel_count = source->kernel_count;
    }
    for (size_t i = 0; i < kernel_count && !status; i++) {
        const struct ig_metallib_function *function =
            ig_metallib_function(&source->air->library, kernels[i]);
        struct iga_module m = {.arena = source->arena,
                               .name = kernels[i],
                               .source = options->source_name,
                               .context = context,
                               .error = error};
        status = function ? add_kernel(&m, function, &whole)
                          : ig_fail(error, INGOT_COMPILE_ERROR, "%s has no kernel named %s",
                                    options->source_name, kernels[i]);
    }
    if (!status && whole) {
        LLVMMemoryBufferRef buffer = LLVMWriteBitcodeToMemoryBuffer(whole);
        *compiled = (struct igc_compiled){.size = LLVMGetBufferSize(buffer), .warnings = ""};
        compiled->bitcode =
            ig_arena_copy(source->arena, LLVMGetBufferStart(buffer), compiled->size);
        LLVMDisposeMemoryBuffer(buffer);
        status = compiled->bitcode ? INGOT_OK : no_memory(options->source_name, error);
    }
    if (whole) {
        LLVMDisposeModule(whole);
    }
    LLVMContextDispose(context);
    return status;
}

ingot_status iga_source_constants(struct igc_source *source, const struct igc_options *options,
                                  const char *const *kernels, size_t kernel_count,
                                  struct ig_error *error) {
    size_t room = 0, total = 0;
    struct ig_constant *all = NULL;
    ingot_status status = INGOT_OK;
    for (size_t i = 0; i < kernel_count && !status; i++) {
        const struct ig_metallib_function *function =
            ig_metallib_function(&source->air->library, kernels[i]);
        struct iga_module m = {.arena = source->arena,
                               .name = kernels[i],
                               .source = options->source_name,
                               .context = LLVMContextCreate(),
                               .error = error};
        struct ig_constant *constants;
        LLVMValueRef *globals;
        size_t count = 0;
        status = function ? iga_parse(&m, function->module, function->module_size) : INGOT_OK;
        if (!status && m.module) {
            status = iga_read_constants(&m, &constants, &globals, &count);
            LLVMDisposeModule(m.module);
        }
        LLVMContextDispose(m.context);
        for (size_t k = 0; k < count && !status; k++) {
            size_t same = 0;
            while (same < total && all[same].index != constants[k].index) {
                same++;
            }
            if (same < total) {
                continue;
            }
            if (total == room) {
                room = room ? room * 2 : 16;
                struct ig_constant *larger = ig_arena_array(source->arena, room, sizeof *larger);
                if (!larger) {
                    return no_memory(options->source_name, error);
                }
                if (total) {
                    memcpy(larger, all, total * sizeof *all);
                }
                all = larger;
            }
            all[total++] = constants[k];
        }
    }
    source->constants = all;
    source->constant_count = total;
    return status;
}
