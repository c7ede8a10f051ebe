/*
 * Finding the clang that ingotc runs: $INGOT_CLANG, the one within ingotc (bundled/), or a program
 * of the system. Its bitcode is read by ingotc's LLVM, which reads that of older versions but not
 * of newer ones: a clang must be of version 19 up to that of the LLVM.
 */
#include <llvm-c/Core.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/environment.h"
#include "compiler/bundled/bundled.h"
#include "compiler/frontend/msl/clang.h"

enum { OLDEST = 19, NEWEST = 21 };

static unsigned newest_version(void) {
    unsigned major;
    LLVMGetVersion(&major, NULL, NULL);
    return major < NEWEST ? major : NEWEST;
}

/* "19", "19 or 20", "19, 20 or 21" */
static const char *wanted_versions(struct ig_arena *arena) {
    unsigned newest = newest_version();
    const char *text = ig_arena_printf(arena, "%d", OLDEST);
    for (unsigned version = OLDEST + 1; text && version <= newest; version++) {
        text = ig_arena_printf(arena, "%s%s%u", text, version == newest ? " or " : ", ", version);
    }
    return text ? text : "another";
}

static const char *in_path(struct ig_arena *arena, const char *name) {
    const char *path = ig_environment("PATH");
    if (strchr(name, '/')) {
        return access(name, X_OK) == 0 ? ig_arena_string(arena, name) : NULL;
    }
    for (const char *p = path ? path : "/usr/local/bin:/usr/bin:/bin"; *p;) {
        size_t size = strcspn(p, ":");
        char *full = ig_arena_printf(arena, "%.*s/%s", (int)size, p, name);
        struct stat info;
        if (full && size > 0 && stat(full, &info) == 0 && S_ISREG(info.st_mode) &&
            access(full, X_OK) == 0) {
            return full;
        }
        p += size;
        p += *p == ':';
    }
    return NULL;
}

/* The major version that `program --version` prints; 0 when it prints none. */
static unsigned clang_version(const char *program) {
    const char *const arguments[] = {program, "--version", NULL};
    struct ig_process process = {.arguments = arguments, .seconds = 20};
    struct ig_process_result result = {0};
    struct ig_error error = {0};
    unsigned version = 0;
    if (ig_process_run(&process, &result, &error) == INGOT_OK) {
        const char *found = strstr(ig_text_string(&result.output), "clang version ");
        if (found) {
            version = (unsigned)strtoul(found + strlen("clang version "), NULL, 10);
        }
        ig_process_result_free(&result);
    }
    ig_error_clear(&error);
    return version;
}

static bool is_wanted(unsigned version) {
    return version >= OLDEST && version <= newest_version();
}

static ingot_status check_chosen(struct ig_arena *arena, const char *chosen, const char *clang,
                                 struct ig_error *error) {
    if (!clang) {
        return ig_fail(error, INGOT_NO_COMPILER,
                       "$INGOT_CLANG is \"%s\", which is not a program that can be run", chosen);
    }
    unsigned version = clang_version(clang);
    return is_wanted(version) ? INGOT_OK
                              : ig_fail(error, INGOT_NO_COMPILER,
                                        "$INGOT_CLANG is \"%s\", of major version %u; %s is needed",
                                        chosen, version, wanted_versions(arena));
}

static const char *find_installed(struct ig_arena *arena) {
    static const struct {
        unsigned version;
        const char *name;
    } known[] = {
        {19, "clang-19"},
        {20, "clang-20"},
        {21, "clang-21"},
        {19, "/usr/lib/llvm-19/bin/clang"},
        {20, "/usr/lib/llvm-20/bin/clang"},
        {21, "/usr/lib/llvm-21/bin/clang"},
        {19, "/opt/homebrew/opt/llvm@19/bin/clang"},
    };
    const char *clang = NULL;
    for (size_t i = 0; !clang && i < sizeof known / sizeof *known; i++) {
        clang = is_wanted(known[i].version) ? in_path(arena, known[i].name) : NULL;
    }
    return clang;
}

ingot_status igc_find_clang(struct ig_arena *arena, const char **clang, struct ig_error *error) {
    const char *chosen = ig_environment("INGOT_CLANG");
    if (chosen && *chosen) {
        *clang = in_path(arena, chosen);
        return check_chosen(arena, chosen, *clang, error);
    }
    *clang = igc_bundled_tools();
    if (!*clang) {
        *clang = find_installed(arena);
    }
    if (*clang) {
        return INGOT_OK;
    }
    *clang = in_path(arena, "clang");
    unsigned version = *clang ? clang_version(*clang) : 0;
    if (is_wanted(version)) {
        return INGOT_OK;
    }
    const char *wanted = wanted_versions(arena);
    if (*clang) {
        return ig_fail(error, INGOT_NO_COMPILER,
                       "compiling Metal source needs clang %s; %s is of version %u. Install "
                       "clang-19 (apt-get install clang-19) or set $INGOT_CLANG",
                       wanted, *clang, version);
    }
    return ig_fail(error, INGOT_NO_COMPILER,
                   "compiling Metal source needs clang %s, and none is in $PATH. Install clang-19 "
                   "(apt-get install clang-19) or set $INGOT_CLANG",
                   wanted);
}
