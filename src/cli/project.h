/* ingot.toml: how a project compiles its sources. */
#ifndef INGOT_CLI_PROJECT_H
#define INGOT_CLI_PROJECT_H

#include "cli/cli.h"

struct project_entry { /* [[sources]] */
    struct cli_list files, define, include, prepend;
    struct cli_list msl;  /* at most one */
    uint32_t msl_version; /* 0: as without it */
};

struct project {
    struct ig_arena *arena;
    const char *path, *folder; /* folder: "" or with a slash at its end */
    struct project_entry *entries;
    size_t count;
};

/* The text of such a file, which ends in a NUL. False: the error says what is wrong, and where. */
bool project_parse(struct project *project, const char *text, struct ig_error *error);
/* Reads the file `path`. False: an error was shown. */
bool project_read(struct project *project);
void project_free(struct project *project);

#endif
