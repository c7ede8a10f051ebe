/* What `ingot profile` found, and what writes it out. */
#ifndef INGOT_CLI_PROFILE_H
#define INGOT_CLI_PROFILE_H

#include "base/profile.h"
#include "cli/tools.h"

struct profile_hint {
    const char *kind; /* "coalescing" */
    const char *file;
    uint32_t line; /* 0: of the kernel as a whole */
    size_t index;  /* of the line among the kernel's */
    double weight; /* the more the sooner */
    char *text;    /* "line 41: …" */
};

struct profile_kernel {
    const struct ig_profile_kernel *times;   /* of plain code; of counted code where is_slow */
    const struct ig_profile_kernel *counted; /* NULL: not counted */
    bool is_slow;
    double seconds;                      /* of a launch */
    double total;                        /* seconds of all launches */
    double bytes, asked, flops;          /* of a launch: that had to move, that lanes asked for */
    double share;                        /* of the ceiling that limits it; 0: not known */
    bool by_bytes;                       /* that ceiling is copying */
    const struct igh_ceilings *ceilings; /* of its device; NULL: not measured */
    double lanes;                        /* active at its start, of 32 */
    struct profile_hint *hints;
    size_t hint_count;
};

enum { PROFILE_MOST_DEVICES = 4 };
struct profile_report {
    struct ig_arena arena;
    struct ig_profile times, counters; /* what the two runs wrote */
    bool is_times, has_failed;         /* why there was no run with counters */
    const char *command;               /* "saxpy.metal saxpy --threads 1024", or the program's */
    char date[32];
    struct {
        const char *name;
        struct igh_ceilings ceilings;
    } devices[PROFILE_MOST_DEVICES];
    size_t device_count;
    struct profile_kernel *kernels; /* by time, the longest first */
    size_t kernel_count;
    double total; /* seconds of all kernels */
};

/* The line's share of the steps of its kernel: runs of lines, cache lines, passes over banks. */
double profile_steps(const uint64_t counts[IG_COUNTER_COUNT]);
double profile_kernel_steps(const struct profile_kernel *kernel);
/* The kernel's lines by file, those with most steps first: the first line and the one behind the
 * last. */
struct profile_file {
    size_t first, end;
    double steps;
};
enum { PROFILE_MOST_FILES = 64 };
size_t profile_files(const struct profile_kernel *kernel,
                     struct profile_file files[PROFILE_MOST_FILES]);
/* Has anything been counted? */
bool profile_has_counts(const struct ig_profile_line *line);
/* The text of a line; "" where it is not known. From the file, if it still is what was compiled,
 * otherwise as the preprocessor left it. */
const char *profile_source(struct profile_report *report, const char *file, uint32_t line);

/* ---- profile_run.c ---- */
struct profile_run {
    const char *const *arguments; /* NULL at the end; [0] is looked up in PATH */
    const char *folder;           /* private, for what is written */
    bool counts;                  /* counters in kernels */
    bool is_quiet, to_stderr;     /* its stdout goes nowhere, or to stderr */
    bool is_own;                  /* it is this command, which says itself why it failed */
    const char *errors;           /* the file that its stderr goes to; NULL: this one's */
};
/* False, with a message, when it could not be started or its profile not be read. *status becomes
 * CLI_FAILED, also with a message, when the program failed; that of one's own is passed on. */
bool profile_run(const struct profile_run *run, struct ig_profile *profile, int *status);
/* The path of this command. */
const char *profile_self(struct ig_arena *arena);

/* profile_hints.c: fills in the kernel's hints. */
bool profile_find_hints(struct profile_report *report, struct profile_kernel *kernel);

void profile_text(struct profile_report *report, bool all, FILE *out);
void profile_json(struct profile_report *report, struct ig_text *out);
void profile_html(struct profile_report *report, struct ig_text *out);

#endif
