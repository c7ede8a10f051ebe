/* The error for a call of a function without a body, by the name that the program has for it. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/middle/middle.h"

/* Scope::name of a function of the program, without its parameters. LLVM brings the C++ library's
 * demangler into the process; where there is none, the name stays as it is. */
static void source_name(const char *name, struct ig_text *out) {
    typedef char *demangle_fn(const char *name, char *to, size_t *size, int *status);
    demangle_fn *demangle = (demangle_fn *)(uintptr_t)dlsym(RTLD_DEFAULT, "__cxa_demangle");
    int status = 0;
    char *whole = demangle ? demangle(name, NULL, NULL, &status) : NULL;
    size_t size = whole ? strcspn(whole, "(") : 0;
    igc_vector_names(size ? whole : name, size ? size : strlen(name), out);
    free(whole);
}

ingot_status igc_fail_undefined(const char *name, struct ig_error *error) {
    struct ig_text called = {0};
    source_name(name, &called);
    ig_fail(error, INGOT_COMPILE_ERROR,
            "the kernel calls %s, which is declared but defined nowhere: include the file that "
            "defines it, or give that file to the command as well",
            ig_text_string(&called));
    ig_text_free(&called);
    return INGOT_COMPILE_ERROR;
}
