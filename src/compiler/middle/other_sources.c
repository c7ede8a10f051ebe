/*
 * Functions and constants that a source declares and another defines, as Metal links them into one
 * library: --with names the other sources. Those with the name of something that is missing are
 * compiled, once and without their kernels, and linked to the kernel's module before anything else
 * is done to it; and again, for what they miss. One that does not compile defines nothing: it has
 * diagnostics of its own, elsewhere.
 *
 * What several sources define (a function of a header that all of them include) is taken once; what
 * is missing must be defined by one of them only.
 */
#include <llvm-c/Linker.h>
#include <string.h>

#include "compiler/ir/builtins.h"
#include "compiler/ir/module.h"
#include "compiler/ir/walk.h"
#include "compiler/middle/middle.h"

struct igc_other {
    const char *path, *text; /* no text: it cannot be read */
    const void *bitcode;     /* NULL: not compiled yet, or in vain */
    size_t text_size, size;
    bool tried;
};

/* What a round of linking adds. */
struct addition {
    LLVMModuleRef module;
    const char *path;
};

/* Of the program, and not of the prelude, LLVM or the driver. */
static bool is_missing(LLVMValueRef value) {
    size_t length;
    const char *name = LLVMGetValueName2(value, &length);
    return LLVMIsDeclaration(value) && LLVMGetFirstUse(value) && !igi_is_reserved_name(name);
}

static bool is_complete(LLVMModuleRef module) {
    igi_each_symbol(v, module) {
        if (is_missing(v)) {
            return false;
        }
    }
    return true;
}

/* A copy of the module with what the kernel reaches. */
static ingot_status copy_reached(LLVMModuleRef module, LLVMValueRef kernel, LLVMModuleRef *copy,
                                 struct ig_error *error) {
    size_t length;
    *copy = LLVMCloneModule(module);
    igc_module_isolate(*copy, LLVMGetNamedFunction(*copy, LLVMGetValueName2(kernel, &length)));
    return igc_stage(*copy, NULL, "reached", "globaldce", error);
}

/* Whether the source has the name of something that the module lacks. */
static bool names_missing(LLVMModuleRef module, const struct igc_other *other) {
    igi_each_symbol(v, module) {
        size_t length;
        const char *name = igc_plain_name(LLVMGetValueName2(v, &length), &length);
        if (is_missing(v) && other->text && memmem(other->text, other->text_size, name, length)) {
            return true;
        }
    }
    return false;
}

static void compile_other(struct ig_arena *arena, const struct igc_others *others,
                          struct igc_other *other) {
    const char *const none[] = {NULL};
    struct igc_options options = *others->options;
    struct igc_source source;
    struct igc_compiled compiled = {.size = 0};
    struct ig_error error = {0};
    options.source_name = other->path;
    other->tried = true;
    if (igc_source_open(arena, &options, other->text, other->text_size, false, &source, &error) ||
        igc_source_compile(&source, &options, none, 0, &compiled, &error)) {
        compiled.bitcode = NULL;
    }
    other->bitcode = compiled.bitcode;
    other->size = compiled.size;
    ig_error_clear(&error);
}

static ingot_status read_others(struct ig_arena *arena, struct igc_others *others,
                                struct ig_error *error) {
    if (others->items) {
        return INGOT_OK;
    }
    others->items = ig_arena_array(arena, others->count, sizeof *others->items);
    if (!others->items) {
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for %zu sources", others->count);
    }
    for (size_t i = 0; i < others->count; i++) {
        struct igc_other *other = &others->items[i];
        struct ig_error ignored = {0};
        other->path = others->paths[i];
        if (igc_read_source(arena, other->path, &other->text, &other->text_size, &ignored)) {
            other->text = NULL;
        }
        ig_error_clear(&ignored);
    }
    return INGOT_OK;
}

static LLVMValueRef find_definition(LLVMModuleRef module, const char *name) {
    LLVMValueRef value = LLVMGetNamedFunction(module, name);
    value = value ? value : LLVMGetNamedGlobal(module, name);
    return value && !LLVMIsDeclaration(value) && LLVMGetLinkage(value) == LLVMExternalLinkage
               ? value
               : NULL;
}

/* Fails when two of the additions define what `reached` lacks. */
static ingot_status check_definitions(LLVMModuleRef reached, const struct addition *additions,
                                      size_t count, const struct igc_others *others,
                                      struct ig_error *error) {
    igi_each_symbol(v, reached) {
        size_t length;
        const char *symbol = LLVMGetValueName2(v, &length), *first = NULL;
        for (size_t i = 0; i < count && is_missing(v); i++) {
            if (!find_definition(additions[i].module, symbol)) {
                continue;
            }
            if (first) {
                const char *name = igc_plain_name(symbol, &length);
                return ig_fail(error, INGOT_COMPILE_ERROR,
                               "%.*s, which %s declares, is defined in %s and in %s: make one of "
                               "them static, or give it another name",
                               (int)length, name, others->options->source_name, first,
                               additions[i].path);
            }
            first = additions[i].path;
        }
    }
    return INGOT_OK;
}

static void yield(LLVMValueRef value) {
    if (!LLVMIsDeclaration(value) && LLVMGetLinkage(value) == LLVMExternalLinkage) {
        LLVMSetLinkage(value, LLVMLinkOnceODRLinkage);
    }
}

/* The kernel's own definitions come first, and what is not needed stays away. */
static void yield_definitions(LLVMModuleRef module) {
    igi_each_function(f, module) {
        yield(f);
    }
    igi_each_global(g, module) {
        yield(g);
    }
}

/* Uses the additions up. */
static ingot_status link_additions(LLVMModuleRef module, LLVMModuleRef reached,
                                   const struct addition *additions, size_t count,
                                   const struct igc_others *others, struct ig_error *error) {
    ingot_status status = check_definitions(reached, additions, count, others, error);
    for (size_t i = 0; i < count; i++) {
        if (status) {
            LLVMDisposeModule(additions[i].module);
            continue;
        }
        yield_definitions(additions[i].module);
        if (LLVMLinkModules2(module, additions[i].module)) { /* which disposes it */
            status = ig_fail(error, INGOT_COMPILE_ERROR,
                             "%s and %s cannot be linked: they define one name in different ways",
                             others->options->source_name, additions[i].path);
        }
    }
    return status;
}

/* The sources with names that `reached` lacks, of those that were not linked before. */
static size_t find_additions(struct ig_arena *arena, LLVMModuleRef reached,
                             const struct igc_others *others, struct addition *additions,
                             bool *linked) {
    size_t count = 0;
    for (size_t i = 0; i < others->count; i++) {
        struct igc_other *other = &others->items[i];
        struct ig_error ignored = {0};
        if (linked[i] || !names_missing(reached, other)) {
            continue;
        }
        linked[i] = true;
        if (!other->tried) {
            compile_other(arena, others, other);
        }
        if (other->bitcode && !igc_module_parse(LLVMGetModuleContext(reached), other->bitcode,
                                                other->size, &additions[count].module, &ignored)) {
            additions[count++].path = other->path;
        }
        ig_error_clear(&ignored);
    }
    return count;
}

ingot_status igc_link_sources(struct ig_arena *arena, LLVMModuleRef module, LLVMValueRef kernel,
                              const struct igc_job *job, struct ig_error *error) {
    struct igc_others *others = job->others;
    if (!others || !others->count || is_complete(module)) {
        return INGOT_OK;
    }
    struct addition *additions = ig_arena_array(arena, others->count, sizeof *additions);
    bool *linked = ig_arena_array(arena, others->count, sizeof *linked);
    ingot_status status = additions && linked ? read_others(arena, others, error)
                                              : ig_fail(error, INGOT_OUT_OF_MEMORY,
                                                        "no memory for %zu sources", others->count);
    for (size_t count = 1; count && !status;) {
        LLVMModuleRef reached;
        status = copy_reached(module, kernel, &reached, error);
        count = status ? 0 : find_additions(arena, reached, others, additions, linked);
        if (count) {
            status = link_additions(module, reached, additions, count, others, error);
        }
        LLVMDisposeModule(reached);
    }
    return status;
}
