/* Files that come with the command. */
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

const char *cli_data_path(struct ig_arena *arena, const char *name) {
    char self[4096];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0) {
        return NULL;
    }
    self[length] = '\0';
    for (int up = 0; up < 2; up++) { /* the program, then its folder */
        char *slash = strrchr(self, '/');
        if (!slash) {
            return NULL;
        }
        *slash = '\0';
    }
    const char *path = ig_arena_printf(arena, "%s/share/ingot/%s", self, name);
    return path && !access(path, R_OK) ? path : NULL;
}
