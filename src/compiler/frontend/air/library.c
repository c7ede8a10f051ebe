/*
 * The library of air.* functions: prelude/air/library.metal, compiled when ingot is built. Its
 * functions are linkonce, and the file is read lazily, so that a kernel brings in what it calls and
 * no more.
 */
#include <limits.h>
#include <llvm-c/BitReader.h>
#include <llvm-c/Core.h>
#include <llvm-c/Linker.h>
#include <string.h>
#include <unistd.h>

#include "base/environment.h"
#include "compiler/frontend/air/air.h"

static const char beside[] = "/../share/ingot/air.bc"; /* from the folder of ingotc */

static const char *library_path(struct ig_arena *arena) {
    const char *named = ig_environment("INGOT_AIR_LIBRARY");
    if (named && *named) {
        return named;
    }
    char program[PATH_MAX];
    ssize_t size = readlink("/proc/self/exe", program, sizeof program - 1);
    program[size > 0 ? size : 0] = 0;
    char *slash = strrchr(program, '/');
    if (slash) {
        *slash = 0;
    }
    return ig_arena_printf(arena, "%s%s", program, beside);
}

/* The file is mapped, not read: a kernel needs few of its pages. */
ingot_status iga_open_library(struct iga_module *m) {
    const char *path = library_path(m->arena);
    LLVMMemoryBufferRef buffer = NULL;
    char *message = NULL;
    if (!path || LLVMCreateMemoryBufferWithContentsOfFile(path, &buffer, &message)) {
        ig_fail(m->error, INGOT_NO_COMPILER,
                "the functions of compiled Metal libraries are missing: %s: %s; $INGOT_AIR_LIBRARY "
                "names the file air.bc of an installation of ingot",
                path ? path : "no path", message ? message : "no memory");
        LLVMDisposeMessage(message);
        return INGOT_NO_COMPILER;
    }
    const size_t size = LLVMGetBufferSize(buffer);
    if (LLVMGetBitcodeModuleInContext2(m->context, buffer, &m->library)) { /* takes the buffer */
        m->library = NULL;
        return ig_fail(m->error, INGOT_NO_COMPILER,
                       "%s (%zu bytes) is no bitcode of this ingotc's LLVM: build or install both "
                       "together",
                       path, size);
    }
    return INGOT_OK;
}

ingot_status iga_link_library(struct iga_module *m) {
    LLVMModuleRef library = m->library;
    m->library = NULL;
    LLVMSetTarget(library, LLVMGetTarget(m->module));
    return LLVMLinkModules2(m->module, library) /* takes the library */
               ? ig_fail(m->error, INGOT_INTERNAL_ERROR,
                         "the module of %s in %s does not fit the library of its functions",
                         m->name, m->source)
               : INGOT_OK;
}
