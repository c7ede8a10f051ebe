/*
 * Where Metal comes from. On macOS the bridge is part of libingot. Elsewhere it is a library beside
 * libingot, made for libingot-metal, and is loaded when $INGOT_METAL_BRIDGE is 1, or names it: it
 * runs kernels on another of ingot's devices, which only tests of this device want.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/environment.h"
#include "runtime/metal/metal.h"

static const struct ig_metal_bridge *found;
static char failure[512];
static bool logs_here;

#ifdef __APPLE__
static void load(void) {
    found = ig_metal_bridge_table();
}
#else
#define BRIDGE "libingot-metal-bridge.so"

/* The bridge beside libingot, or by the loader's own rules. */
static void *open_library(const char *name) {
    if (strcmp(name, "1") != 0) {
        return dlopen(name, RTLD_NOW | RTLD_LOCAL);
    }
    Dl_info info;
    void *library = NULL;
    const char *slash = dladdr((void *)(uintptr_t)&metal_bridge, &info) && info.dli_fname
                            ? strrchr(info.dli_fname, '/')
                            : NULL;
    static const char *const places[] = {"", "/../lib"};
    for (size_t i = 0; slash && !library && i < sizeof places / sizeof *places; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%.*s%s/" BRIDGE, (int)(slash - info.dli_fname), info.dli_fname,
                 places[i]);
        library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    return library ? library : dlopen(BRIDGE, RTLD_NOW | RTLD_LOCAL);
}

static void load(void) {
    const char *name = ig_environment("INGOT_METAL_BRIDGE");
    if (!name || !*name || !strcmp(name, "0")) {
        snprintf(failure, sizeof failure,
                 "there is no Metal on this system; INGOT_METAL_BRIDGE=1 uses ingot's own");
        return;
    }
    void *library = open_library(name);
    const struct ig_metal_bridge *(*table)(void) = NULL;
    if (library) {
        *(void **)&table = dlsym(library, "ig_metal_bridge_table");
    }
    if (!table) {
        const char *reason = dlerror();
        snprintf(failure, sizeof failure,
                 "$INGOT_METAL_BRIDGE is \"%s\", which gives no bridge: %s", name,
                 reason ? reason : "no reason is known");
        return;
    }
    const struct ig_metal_bridge *bridge = table();
    if (bridge->version != IG_METAL_BRIDGE_VERSION) {
        snprintf(failure, sizeof failure,
                 "$INGOT_METAL_BRIDGE is \"%s\", a bridge of version %u; version %u is needed",
                 name, bridge->version, IG_METAL_BRIDGE_VERSION);
        return;
    }
    found = bridge;
    /* Where the bridge's Metal runs kernels by this same libingot, their messages are here. */
    logs_here =
        dlsym(library, "ingot_set_log_function") == (void *)(uintptr_t)&ingot_set_log_function;
}
#endif

static void load_once(void) {
    load();
    if (found && !logs_here) {
        found->set_log_function(ig_log_message);
    }
}

const struct ig_metal_bridge *metal_bridge(const char **reason) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load_once);
    if (reason) {
        *reason = failure;
    }
    return found;
}
