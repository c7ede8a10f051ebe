/* What the commands share: the table entry, options, the terminal, the compiler. */
#ifndef INGOT_CLI_H
#define INGOT_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/text.h"
#include "ingot/ingot.h"

enum cli_exit { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2, CLI_FINDINGS = 3 };

/* ---- options (options.c) ------------------------------------------------------- */

struct cli_list {
    const char **items;
    size_t count, capacity;
};

enum cli_kind {
    CLI_FLAG,     /* bool * */
    CLI_STRING,   /* const char ** */
    CLI_LIST,     /* struct cli_list *; may be repeated */
    CLI_EXTENT,   /* uint32_t[3]: X[,Y[,Z]]; missing ones are 1 */
    CLI_COUNT,    /* uint32_t * */
    CLI_NUMBER,   /* double *, finite */
    CLI_VERSION,  /* uint32_t *: __METAL_VERSION__, 4.0 or 400 */
    CLI_DEFINES,  /* struct cli_list *, of macros */
    CLI_OPTIONAL, /* const char **: --name or --name=VALUE; "" without a value */
    CLI_SHARD,    /* struct cli_shard *: I/N */
};

/* One of `count` machines that share the work, from 1; 0 of 0: there is one. */
struct cli_shard {
    uint32_t index, count;
};
/* Is the item at place `at` of the whole work, from 0, in the shard? */
static inline bool cli_in_shard(const struct cli_shard *shard, size_t at) {
    return shard->count < 2 || at % shard->count == shard->index - 1;
}

struct cli_option {
    const char *name; /* without the dashes; NULL ends the table */
    char letter;      /* 0: none */
    enum cli_kind kind;
    const char *value_name; /* "DIR" */
    const char *help;
    void *target;
};

struct cli_command {
    const char *name;
    const char *summary; /* one line, for `ingot --help` */
    const char *usage;   /* what follows `ingot NAME` */
    const char *help;    /* the text between usage and options */
    const char *examples;
    int (*run)(const struct cli_command *command, int argc, char **argv);
};

/* Sorts argv (without the command's name) into options and positionals. Returns false when
 * the command is over: *exit_status is then 0 (help was shown) or CLI_USAGE. */
bool cli_parse(const struct cli_command *command, const struct cli_option *options, int argc,
               char **argv, struct cli_list *positionals, int *exit_status);
/* Takes the options of the table out of argv, to `own` (room for argc); what is left is `rest`,
 * which another command understands. *is_program: all of that is behind a `--`. */
bool cli_split(const struct cli_option *options, int argc, char **argv, char **own, int *own_count,
               struct cli_list *rest, bool *is_program);
/* A version of the language, where 4.0 and 400 are the same. False: there is none such. */
bool cli_msl_version(const char *text, uint32_t *version);
void cli_list_free(struct cli_list *list);
bool cli_list_add(struct cli_list *list, const char *item);

/* ---- findings.c ---- */
struct ig_json;
/* What the device has found, as the array "findings"; and as a file for code hosts. */
void cli_write_findings(struct ig_json *json, const ingot_device *device);
/* The key "uri" of SARIF: a path as a reference, whose odd characters are written %XX. */
void cli_json_uri(struct ig_json *json, const char *path);
bool cli_write_sarif(const char *path, const ingot_device *device);

/* ---- other orders of threadgroups (explore.c) --------------------------------------- */
enum { CLI_MOST_SCHEDULES = 1000000 };
struct cli_schedule {
    const char *text; /* for the device; NULL: none is asked for */
    uint32_t count;   /* explore: random ones to try; else 0 */
    char seeded[32];
};
/* "fixed", "random", "random:SEED" or "explore:N"; false: none of them. */
bool cli_parse_schedule(const char *text, struct cli_schedule *schedule);
/* A buffer whose contents are compared; the seed is 0 where there is no difference. */
struct cli_explored {
    ingot_buffer *buffer;
    const char *name;
    uint32_t index;
    ingot_scalar_type scalar;
    const uint8_t *initial, *first; /* NULL: zeros; what the usual order leaves */
    uint64_t size;
    uint32_t seed;
    uint64_t element;
    char usual[64], other[64];
};
/* Runs the kernel in so many other orders. False, and said why: a run failed. */
bool cli_explore(ingot_device *device, ingot_stream *stream, const ingot_dispatch_desc *desc,
                 struct cli_explored *buffers, size_t count, uint32_t schedules);
void cli_say_explored(const struct cli_explored *buffers, size_t count, uint32_t schedules,
                      FILE *out);
void cli_write_explored(struct ig_json *json, const struct cli_explored *buffers, size_t count,
                        uint32_t schedules);

/* Says what is wrong with the command line and how to get help; returns CLI_USAGE. */
int cli_usage_error(const struct cli_command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- terminal (term.c) ----------------------------------------------------------- */

/* Writes the text to a file, or says why that is not possible. */
struct ig_text;
bool cli_write_file(const char *path, const struct ig_text *text);
/* Escape sequences for `stream`, or "" when it is no terminal or colour is not wanted. */
const char *cli_bold(FILE *stream);
const char *cli_red(FILE *stream);
const char *cli_green(FILE *stream);
const char *cli_yellow(FILE *stream);
const char *cli_dim(FILE *stream);
const char *cli_plain(FILE *stream);
/* "ingot: error: …" on stderr. */
void cli_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void cli_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Diagnostics of the compiler, with their severities coloured, on stderr. */
void cli_diagnostics(const char *text);
/* One line on stderr that is overwritten by the next; nothing when stderr is no terminal. */
void cli_progress(size_t done, size_t total, const char *what);
/* The counts from now on are of one part, as a file, of several. */
void cli_progress_part(size_t part, size_t parts);
void cli_progress_end(void);
/* "1.5 KiB" */
const char *cli_bytes(uint64_t bytes, char out[32]);

/* ---- sources (source.c) ------------------------------------------------------------ */

struct cli_source_options {
    struct cli_list include_dirs, defines;
    bool fast_math;
    bool werror;
    uint32_t msl_version;
};
#define CLI_SOURCE_OPTIONS(s)                                                                      \
    {"include", 'I', CLI_LIST, "DIR", "look for included files in DIR", &(s).include_dirs},        \
        {"define", 'D', CLI_DEFINES, "NAME[=VALUE]", "define a macro", &(s).defines},              \
        {"fast-math",   0, CLI_FLAG, NULL, "let default maths functions be the fast ones",         \
         &(s).fast_math},                                                                          \
        {"werror", 0, CLI_FLAG, NULL, "warnings are errors", &(s).werror}, {                       \
        "msl-version", 0, CLI_VERSION, "N", "__METAL_VERSION__, such as 4.0 or 400 (320)",         \
            &(s).msl_version                                                                       \
    }

void cli_source_options_free(struct cli_source_options *options);
/* Does the file start as an .ingot archive does? */
bool cli_is_archive(const char *path);
/* A library that Apple's compiler made, or a file that may hold some; or a module of one too. */
bool cli_is_library(const char *path);
bool cli_is_compiled(const char *path);
/* Does it hold a 0 byte near its start? Then it is no source. */
bool cli_is_binary(const char *path);
/* Opens .metal source or an archive as a library. */
ingot_status cli_open_library(ingot_device *device, const char *path,
                              const struct cli_source_options *options, ingot_library **library);

/* ---- text for Metal (pack_metal.c) ------------------------------------------------------ */

struct ig_arena;
struct ig_code;
/* The code of target "metal" of a source with all that it includes, in the arena. */
bool cli_metal_text(struct ig_arena *arena, const char *path,
                    const struct cli_source_options *options, struct ig_code *code);

/* ---- buffers (guard_pages.c) ----------------------------------------------------------- */

/* On a device that uses host memory: a buffer of zeros right before a page that nothing may touch.
 */
ingot_status cli_guarded_buffer(ingot_device *device, uint64_t length, ingot_buffer **buffer);

/* ---- the compiler (compile.c) ------------------------------------------------------- */

struct ig_archive;
struct ig_constant;

struct cli_kernel_result {
    const char *kernel;
    ingot_status status;
    const char *message;              /* diagnostics or a reason; "" if none */
    const struct ig_archive *archive; /* holds it, maybe among others; NULL when it failed */
    double seconds;
};

struct cli_compilation {
    struct ig_arena arena;
    const char *path;
    char *folder;                     /* temporary */
    const struct ig_archive *listing; /* kernels and constants, no code */
    struct cli_kernel_result *results;
    size_t result_count;
    struct cli_list storage; /* bytes of the archives */
};

struct cli_compile_request {
    const char *path;
    const char *text;             /* compiled instead of the file, under its name; NULL: the file */
    const struct cli_list *files; /* all of the command, which may define what `path` declares */
    const struct cli_source_options *options;
    const struct cli_list *kernels; /* empty: all */
    bool *found; /* by wanted kernel: set when the file has it; NULL: each must be there */
    const struct cli_list *targets;   /* empty: this machine's */
    const struct cli_list *constants; /* NAME_OR_INDEX=VALUE */
    /* A constant without a value gets 1 (true); otherwise its kernels fail. */
    bool assume_constants;
    const struct cli_shard *shard; /* of the kernels; NULL: all */
    size_t *kernels_seen;          /* with a shard: how many there were in the files before */
    bool list_only;                /* compile nothing */
    bool describe_only;            /* arguments and limits, no code */
    bool check;                    /* code is made, but not kept */
    bool no_code;                  /* nor made: everything before it */
};

/* Compiles the kernels, on all cores. Returns
 * an error when nothing could be compiled at all (no compiler, a syntax error, an unknown
 * kernel); the outcome of each kernel is in results. */
ingot_status cli_compile(const struct cli_compile_request *request, struct cli_compilation *out,
                         struct ig_error *error);
/* Reads an archive; its bytes are kept in out->storage. */
ingot_status cli_read_archive(struct cli_compilation *out, const char *path,
                              const struct ig_archive **archive, struct ig_error *error);
/* For several files: names the wanted kernels that no file had, and returns how many. */
size_t cli_report_missing(const struct cli_compile_request *request);
void cli_compilation_free(struct cli_compilation *compilation);

/* "NAME_OR_INDEX=VALUE[,VALUE…]" against the constants of a library: the bytes in its type. */
struct cli_constant_value {
    uint32_t index;
    uint8_t bytes[32];
    size_t size;
};
ingot_status cli_parse_constant(const char *text, const struct ingot_constant_info *infos,
                                size_t info_count, struct cli_constant_value *value,
                                struct ig_error *error);

/* ---- arguments of `ingot run` (arguments.c) -------------------------------------------- */

enum cli_argument_kind {
    CLI_ARGUMENT_UNKNOWN,     /* none of the forms below */
    CLI_ARGUMENT_FILE,        /* in.npy */
    CLI_ARGUMENT_ZEROS,       /* f32[1024] */
    CLI_ARGUMENT_VALUE,       /* f32:1,2 and hex:… */
    CLI_ARGUMENT_THREADGROUP, /* tg:4096 */
};

struct cli_argument {
    enum cli_argument_kind kind;
    const char *text;         /* as it was given */
    const char *output;       /* the .npy to write afterwards, or NULL */
    ingot_scalar_type scalar; /* NONE: raw bytes */
    uint32_t rank;
    uint64_t shape[32];
    bool is_unwritten; /* ZEROS that the kernel must not count on */
    const void *bytes; /* FILE and VALUE; the arena's or *storage */
    uint64_t size;
    void *storage; /* malloc'ed, or NULL */
};

ingot_status cli_parse_argument(struct ig_arena *arena, const char *text,
                                struct cli_argument *argument, struct ig_error *error);

/* ---- files that come with the command (data.c) ------------------------------------------ */

/* share/ingot/NAME beside the program; NULL where it is not there. In the arena. */
const char *cli_data_path(struct ig_arena *arena, const char *name);

extern const struct cli_command cli_devices, cli_inspect, cli_check, cli_run, cli_debug, cli_editor,
    cli_pack, cli_health, cli_bench, cli_ops, cli_tune, cli_cache, cli_merge, cli_profile;

#endif
