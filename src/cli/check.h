/* The parts of `ingot check`. */
#ifndef INGOT_CLI_CHECK_H
#define INGOT_CLI_CHECK_H

#include "cli/cli.h"

/* ---- check_reports.c ---- */
struct check_diagnostic {
    const char *file, *severity, *message; /* parts of a line; the severity is a constant */
    size_t file_length, message_length;
    unsigned long line, column;
};
/* Splits "file:line:column: severity: message". */
bool check_split_diagnostic(const char *line, size_t length, struct check_diagnostic *out);

struct check_report {
    const char *sarif, *code_quality; /* files to write, or NULL */
    bool annotations;                 /* for GitHub, on stdout */
    struct cli_list lines;            /* diagnostics, each once; the arena's */
};
bool check_report_diagnostics(struct check_report *report, struct ig_arena *arena,
                              const char *text);
/* Says on stderr, where unknown names look like macros, how they can be defined. */
void check_hint_at_macros(const struct check_report *report);
bool check_write_reports(const struct check_report *report, struct ig_arena *arena);

/* ---- check_sources.c ---- */
/* A source as it is compiled: a file may be one several times, with other options. */
struct check_source {
    const char *path;                  /* as diagnostics call it */
    const char *text;                  /* what is compiled instead of the file; NULL: the file */
    struct cli_source_options options; /* the command's, and those of ingot.toml */
};
struct check_sources {
    struct check_source *items;
    size_t count, capacity;
};
/* Files, "-" for stdin, and folders, whose .metal files are taken; with what `project` (NULL:
 * ingot.toml of the working folder, if there is one) says of them. False: an error was shown. */
bool check_find_sources(struct ig_arena *arena, const struct cli_list *paths, const char *project,
                        const struct cli_source_options *options, struct check_sources *out);
void check_sources_free(struct check_sources *sources);

#endif
