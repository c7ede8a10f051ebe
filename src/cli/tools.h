/* What bench, tune and health share: the device and its operations, and which cases are meant. */
#ifndef INGOT_CLI_TOOLS_H
#define INGOT_CLI_TOOLS_H

#include "base/json.h"
#include "cli/cli.h"
#include "harness/harness.h"

/* ---- a device with its operations ----------------------------------------------------- */

struct tool_place { /* where: options of the command line */
    const char *device, *level;
    uint32_t threads;
    bool own_process;     /* of a GPU: in a process that its faults end */
    const char *sanitize; /* ingot_device_desc.sanitize */
};
#define TOOL_PLACE_OPTIONS(p) TOOL_PLACE_OPTIONS_AT(p, CLI_STRING, &(p).level, "")
/* The same with another kind of option for the level. */
#define TOOL_PLACE_OPTIONS_AT(p, kind, level, more)                                                \
    {"device", 0, CLI_STRING, "NAME", "the device (INGOT_DEVICE, or cpu)", &(p).device},           \
        {"cpu",                                                                                    \
         0,                                                                                        \
         kind,                                                                                     \
         "LEVEL",                                                                                  \
         "the CPU level: x86-64-v3, x86-64-v4, x86-64-v4-bf16, x86-64-v4-bf16-amx, aarch64, "      \
         "aarch64-bf16 "                                                                           \
         "(best)" more,                                                                            \
         level},                                                                                   \
    {                                                                                              \
        "threads", 0, CLI_COUNT, "N", "worker threads of the CPU (one per core)", &(p).threads     \
    }

struct tool_device {
    ingot_device *device;
    ingot_device_info info;
    struct igh_options options; /* ops and stream */
};
/* `name` NULL: the one of `place`. Says what is wrong on failure. Close it in every case. */
bool tool_open(struct tool_device *device, const struct tool_place *place, const char *name,
               const ingot_ops_desc *ops);
void tool_close(struct tool_device *device);

/* ---- which cases ----------------------------------------------------------------------- */

struct tool_selection {
    struct cli_list operations; /* names, * and ? allowed; empty: all */
    struct cli_list types;      /* "f32"; empty: all */
    const char *match;          /* text that a case's name contains; "=TEXT": its whole name */
    struct cli_shard shard;     /* of the rows that all of this leaves */
};
#define TOOL_SELECTION_OPTIONS(s)                                                                   \
    {"case",    0, CLI_STRING, "TEXT", "only cases whose name contains TEXT (=TEXT: is TEXT)",      \
     &(s).match},                                                                                   \
        {"type", 0, CLI_LIST, "TYPE", "only this type, such as bf16; may be repeated", &(s).types}, \
    {                                                                                               \
        "shard", 0, CLI_SHARD, "I/N", "only every Nth of these rows, from the Ith on", &(s).shard   \
    }

struct tool_row {
    const struct igh_suite *suite;
    const struct igh_case *test;
    ingot_scalar_type type;
};
struct tool_rows {
    struct tool_row *items;
    size_t count, capacity;
    bool fits; /* something fits the selection, if only in another shard */
};
/* The cases that have all of `uses` and none of `without`, ordered by operation. Returns CLI_OK, or
 * what to exit with when the selection names what does not exist. */
int tool_select(const struct cli_command *command, const struct tool_selection *selection,
                uint32_t uses, uint32_t without, struct tool_rows *rows);
void tool_rows_free(struct tool_rows *rows);
void tool_selection_free(struct tool_selection *selection);
uint32_t tool_uses(const struct igh_case *test); /* 0 means IGH_CHECK */
/* "rms_norm f32 8192x4096" */
const char *tool_row_name(const struct tool_row *row, char out[160]);

/* ---- what reports have in common ----------------------------------------------------------- */

/* "sizes": {…}, "numbers": {…}, "flags": […] of a case. */
void tool_json_case(struct ig_json *json, const struct tool_row *row);
void tool_json_device(struct ig_json *json, const struct tool_device *device);
/* "2026-01-31T12:00:00Z" */
const char *tool_date(char out[32]);
/* "12.3 µs"; returns out */
const char *tool_seconds(double seconds, char out[32]);

/* Prints text and spaces up to `width` characters (negative: the spaces come first). */
void tool_print(FILE *out, int width, const char *text);

/* ---- one row of bench (measure.c) --------------------------------------------------------- */

struct bench_tensor {
    const char *name;
    ingot_tensor tensor; /* its buffer is gone */
    bool input, output;
};

struct bench_row {
    struct tool_row row;
    struct igh_timing timing;
    double bytes, flops;
    double share;  /* of the ceiling that limits it; 0: not known */
    bool by_bytes; /* that ceiling is copying, not arithmetic */
    size_t sets;   /* of tensors, used in turn */
    char variant[128], launch[128];
    char error[512]; /* why it could not be measured; "" otherwise */
    struct bench_tensor tensors[IGH_MAX_SLOTS];
    size_t tensor_count;
    size_t order;    /* where it stands among the rows */
    double baseline; /* seconds; 0: none */
    bool regressed;
};

/* Measures one row for about `seconds`; ceilings may be NULL. False when it could not be. */
bool bench_measure(const struct tool_device *device, const struct igh_ceilings *ceilings,
                   const struct tool_row *row, double seconds, struct bench_row *result);
/* The same without measuring: sizes, tensors, costs. */
bool bench_describe(const struct tool_device *device, const struct tool_row *row,
                    struct bench_row *result);
/* bench_kernel.c: `ingot bench FILE KERNEL …`, a kernel of one's own. */
bool bench_is_kernel(int argc, char **argv);
int bench_kernel(const struct cli_command *command, int argc, char **argv);
void bench_json_row(struct ig_json *json, const struct bench_row *row);
void bench_json_ceilings(struct ig_json *json, const struct igh_ceilings *ceilings);

#endif
