/* Finding the programs that belong to libingot: named by a variable, beside the library, in PATH.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/environment.h"
#include "runtime/objects.h"

static bool is_program(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

/* malloc'ed "folder/name" if that is a program, else NULL. */
static char *program_in(const char *folder, size_t folder_length, const char *name) {
    char *path = NULL;
    if (asprintf(&path, "%.*s/%s", (int)folder_length, folder, name) < 0) {
        return NULL;
    }
    if (is_program(path)) {
        return path;
    }
    free(path);
    return NULL;
}

/* malloc'ed; of the file that holds this code. */
static char *library_folder(void) {
    Dl_info info;
    if (!dladdr((void *)(uintptr_t)&ig_program_find, &info) || !info.dli_fname) {
        return NULL;
    }
    char *real = realpath(info.dli_fname, NULL);
    char *slash = real ? strrchr(real, '/') : NULL;
    if (slash) {
        *slash = 0;
    }
    return real;
}

static char *beside(const char *folder, const char *name) {
    static const char *const places[] = {"", "/../bin", "/../../bin"};
    char *found = NULL;
    for (size_t i = 0; i < sizeof places / sizeof places[0] && !found; i++) {
        char *place = NULL;
        if (asprintf(&place, "%s%s", folder, places[i]) < 0) {
            return NULL;
        }
        found = program_in(place, strlen(place), name);
        free(place);
    }
    return found;
}

static char *in_path(const char *name) {
    const char *folder = ig_environment("PATH");
    while (folder && *folder) {
        size_t length = strcspn(folder, ":");
        char *found = length ? program_in(folder, length, name) : NULL;
        if (found) {
            return found;
        }
        folder += length + (folder[length] == ':');
    }
    return NULL;
}

char *ig_program_find(const char *name, const char *variable, struct ig_error *error) {
    const char *chosen = ig_environment(variable);
    if (chosen && *chosen) {
        char *copy = is_program(chosen) ? strdup(chosen) : NULL;
        if (!copy) {
            ig_fail(error, INGOT_NOT_FOUND, "$%s is \"%s\", which is not a program that can be run",
                    variable, chosen);
        }
        return copy;
    }
    char *folder = library_folder();
    char *found = folder ? beside(folder, name) : NULL;
    if (!found) {
        found = in_path(name);
    }
    if (!found) {
        ig_fail(error, INGOT_NOT_FOUND,
                "%s was not found: not by $%s, not beside libingot (in %s, ../bin or ../../bin), "
                "not in $PATH",
                name, variable, folder ? folder : "its folder");
    }
    free(folder);
    return found;
}
