/* Finds the CUDA driver's library and its entry points. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/environment.h"
#include "runtime/cuda/driver.h"

#define DEFAULT_LIBRARY              "libcuda.so.1"
#define FIRST_EARLY_STARTS_IN_GRAPHS 12030 /* CUDA 12.3 */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct cuda_driver driver;
static bool is_loaded;
static char problem[512];

/* Stores the symbol's address; object and function pointers have one size on POSIX. */
static bool find(void *library, const char *symbol, void *place, size_t size) {
    void *address = dlsym(library, symbol);
    if (!address) {
        snprintf(problem, sizeof problem,
                 "the CUDA driver is too old: it has no entry point \"%s\"", symbol);
        return false;
    }
    memcpy(place, &address, size);
    return true;
}

static bool find_all(void *library) {
#define X(member, symbol, parameters)                                                              \
    if (!find(library, symbol, &driver.member, sizeof driver.member))                              \
        return false;
    CUDA_DRIVER_FUNCTIONS(X)
#undef X
#define X(member, symbol, parameters)                                                              \
    if (!find(library, symbol, &driver.member, sizeof driver.member))                              \
        driver.member = NULL;
    CUDA_DRIVER_OPTIONAL_FUNCTIONS(X)
#undef X
    return true;
}

static void load(void) {
    const char *name = ig_environment("INGOT_CUDA_LIBRARY");
    if (!name || !*name) {
        name = DEFAULT_LIBRARY;
    }
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *reason = dlerror();
        snprintf(problem, sizeof problem, "the CUDA driver cannot be loaded: %s",
                 reason ? reason : name);
        return;
    }
    if (!find_all(library)) {
        dlclose(library);
        return;
    }
    cu_result result = driver.init(0);
    if (result != CU_SUCCESS) {
        char text[CUDA_RESULT_TEXT];
        snprintf(problem, sizeof problem, "the CUDA driver does not start: %s",
                 cuda_result_text(result, text));
        return; /* the library stays: it may have threads by now */
    }
    int version = 0;
    if (driver.version(&version) != CU_SUCCESS || version < FIRST_EARLY_STARTS_IN_GRAPHS) {
        driver.launch_with = NULL;
    }
    is_loaded = true;
}

const struct cuda_driver *cuda_driver(void) {
    pthread_once(&once, load);
    return is_loaded ? &driver : NULL;
}

const char *cuda_driver_problem(void) {
    pthread_once(&once, load);
    return is_loaded ? "the CUDA driver finds no GPU" : problem;
}

const char *cuda_result_text(cu_result result, char text[CUDA_RESULT_TEXT]) {
    const char *name = NULL, *sentence = NULL;
    if (driver.error_name) {
        driver.error_name(result, &name);
    }
    if (driver.error_string) {
        driver.error_string(result, &sentence);
    }
    if (name && sentence) {
        snprintf(text, CUDA_RESULT_TEXT, "%s: %s", name, sentence);
    } else {
        snprintf(text, CUDA_RESULT_TEXT, "CUDA error %d", result);
    }
    return text;
}
