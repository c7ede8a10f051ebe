/* Looks up torch's C functions in the library that Python has loaded. */
#include "python/torch/shim.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

struct torch_shim torch;

static bool look_up(void *library, const char *symbol, void *field) {
    void *address = dlsym(library, symbol);
    memcpy(field, &address, sizeof address);
    return address != NULL;
}

bool torch_shim_load(const char *path, char *message, size_t size) {
    void *library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    if (!library) {
        snprintf(message, size, "torch's library \"%s\" is not loaded in this process", path);
        return false;
    }
    struct torch_shim found;
    const char *missing = NULL;
#define REQUIRED(result, field, symbol, parameters)                                                \
    if (!look_up(library, #symbol, &found.field) && !missing)                                      \
        missing = #symbol;
#define OPTIONAL(result, field, symbol, parameters) look_up(library, #symbol, &found.field);
    TORCH_REQUIRED(REQUIRED)
    TORCH_OPTIONAL(OPTIONAL)
#undef REQUIRED
#undef OPTIONAL
    /* torch's own operator new is found in this order */
    if (!look_up(RTLD_DEFAULT, "_ZdlPv", &found.operator_delete) &&
        !look_up(library, "_ZdlPv", &found.operator_delete) && !missing) {
        missing = "operator delete";
    }
    if (!look_up(RTLD_DEFAULT, "_Znwm", &found.operator_new) &&
        !look_up(library, "_Znwm", &found.operator_new) && !missing) {
        missing = "operator new";
    }
    found.library = library;
    if (missing) {
        snprintf(message, size, "\"%s\" has no function %s; torch 2.7 is the oldest supported",
                 path, missing);
        dlclose(library);
        return false;
    }
    torch = found; /* the library stays open: its kernels are registered for good */
    return true;
}
