/*
 * What the profiler knows of a program's run: kernels with their times and counters, copies,
 * compilations. libingot writes it to a file of text lines, `ingot profile` reads it.
 *
 * The file: a line "ingot-profile 2", then records, a line each, of words with tabs between them
 * (tab, newline and backslash in them are \t, \n and \\). Numbers are whole, times in ns. What a
 * reader does not know is an error: writer and reader are of one version.
 */
#ifndef INGOT_BASE_PROFILE_H
#define INGOT_BASE_PROFILE_H

#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/text.h"

/* ---- counted code ---- */

/* What a place (struct ingot_cpu_place) of counted code is: */
enum ig_count_kind {
    IG_COUNT_LINE,    /* code of a line, counted */
    IG_COUNT_ACCESS,  /* an access, told with address and bytes of each lane; a private one counted.
                         detail 1: of a table of the program */
    IG_COUNT_FLOPS,   /* counted; detail: operations of a lane */
    IG_COUNT_BARRIER, /* of a threadgroup, counted before it */
};

enum ig_counter {
#define PROFILE_COUNTER(id, title, about) IG_COUNTER_##id,
#include "base/profile_counters.def"
    IG_COUNTER_COUNT
};
struct ig_counter_facts {
    const char *name, *title, *about;
};
extern const struct ig_counter_facts ig_counters[IG_COUNTER_COUNT];

enum { IG_CACHE_LINE = 128, IG_BANKS = 32, IG_BANK_BYTES = 4 };

/* ---- the profile ---- */

struct ig_profile_line {
    const char *file;
    uint32_t line;
    uint64_t counts[IG_COUNTER_COUNT];
};

struct ig_profile_kernel {
    const char *name, *source, *constants; /* "0:01;7:00008040", as archives have them */
    const char *values;                    /* as people write them: "flag=true, v=1,2,3" */
    const char *device, *target;
    bool can_be_counted; /* its device runs code with counters */
    /* Of plain code, or of counted code, which is slower by far. */
    uint64_t launches, total_ns, least_ns, median_ns, most_ns;
    uint64_t threads;                   /* of all launches */
    uint32_t group[3];                  /* of the last launch */
    uint64_t counted;                   /* launches; what follows is their sum */
    uint64_t counted_threads;           /* of them */
    uint64_t bytes_read, bytes_written; /* that had to move: each 4 bytes once a launch */
    uint64_t private_bytes;             /* of a thread: what it has on the stack */
    uint64_t threadgroup_bytes;
    struct ig_profile_line *lines; /* by file and line */
    size_t line_count, line_capacity;
};

struct ig_profile_source { /* a line of text of a file that a kernel's lines are in */
    const char *file, *text;
    uint32_t line;
};

enum ig_move { IG_MOVE_COPY, IG_MOVE_FILL, IG_MOVE_UPLOAD, IG_MOVE_DOWNLOAD, IG_MOVE_COUNT };
const char *ig_move_name(enum ig_move move);

struct ig_profile {
    struct ig_arena arena; /* of all that follows */
    uint64_t processes;
    const char *device, *description, *target; /* of the first device that was opened */
    struct ig_profile_kernel *kernels;
    size_t kernel_count, kernel_capacity;
    struct ig_profile_source *sources;
    size_t source_count, source_capacity;
    struct {
        uint64_t count, bytes, ns;
    } moves[IG_MOVE_COUNT];
    uint64_t compilations, compile_ns;
    bool failed; /* memory ran out */
};

/* The kernel of that name, source, constants and device; a new one if there is none, NULL when
 * memory is out. */
struct ig_profile_kernel *ig_profile_kernel(struct ig_profile *profile,
                                            const struct ig_profile_kernel *key);
/* The line, likewise. */
struct ig_profile_line *ig_profile_line(struct ig_profile *profile,
                                        struct ig_profile_kernel *kernel, const char *file,
                                        uint32_t line);
void ig_profile_add_source(struct ig_profile *profile, const char *file, uint32_t line,
                           const char *text);

void ig_profile_write(const struct ig_profile *profile, struct ig_text *out);
/* Adds what the file says to the profile. */
ingot_status ig_profile_read(struct ig_profile *profile, const char *bytes, size_t size,
                             struct ig_error *error);
void ig_profile_free(struct ig_profile *profile);

#endif
