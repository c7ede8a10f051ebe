/* The runner of tests/msl: directives in a .metal file → cases → launches → comparisons.
 * tests/msl/README.md describes the directives. */
#ifndef INGOT_TESTS_RUNNER_H
#define INGOT_TESTS_RUNNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/text.h"

enum { MAX_ARGUMENTS = 32, MAX_CONSTANTS = 32, MAX_EXPECTATIONS = 16, MAX_OPTIONS = 16 };

struct array {
    ingot_scalar_type scalar;
    size_t count;
    uint8_t *bytes;
    size_t size;
};

struct argument {
    bool present;
    bool by_value;     /* passed as bytes, not as a buffer */
    bool is_unwritten; /* nothing is put into its buffer */
    uint32_t offset;   /* of the data in its buffer */
    struct array data;
    struct {
        size_t at;
        uint32_t argument;
    } addresses[8]; /* places in data that receive a buffer's address */
    size_t address_count;
};

struct constant_value {
    const char *name; /* NULL: by index */
    uint32_t index;
    struct array data;
};

struct expectation {
    int line, last_line;
    uint32_t argument;
    struct array data;
    double absolute, relative; /* tolerances; both 0: exact */
    double ulp;
    bool bits;        /* the sign of zero counts too */
    bool is_list;     /* as values, so that --update can rewrite it */
    const char *tail; /* "; tol=…", or "" */
};

struct test_case {
    int line;
    const char *kernel;
    uint32_t threads[3], threadgroups[3], group[3];
    double time_limit;
    struct argument arguments[MAX_ARGUMENTS];
    struct constant_value constants[MAX_CONSTANTS];
    size_t constant_count;
    uint32_t threadgroup_lengths[MAX_ARGUMENTS];
    size_t threadgroup_length_count;
    struct expectation expectations[MAX_EXPECTATIONS];
    size_t expectation_count;
    const char *error_text[4];
    size_t error_text_count;
    const char *status_name;    /* NULL: INGOT_OK, or any failure with error_text */
    const char *devices;        /* "cpu, because …": only there; NULL: everywhere */
    const char *without_checks; /* why it is left out under --sanitize; NULL: it is not */
    const char *log_text[4];
    size_t log_text_count;
    bool fast_math;
    uint32_t msl_version;
    const char *defines[MAX_OPTIONS], *include_dirs[MAX_OPTIONS];
    size_t define_count, include_dir_count;
};

struct test_file {
    struct ig_arena *arena;
    const char *path;
    const char *library; /* a compiled one to open instead; NULL: none */
    char *text;
    const char *sanitize; /* SANITIZE: kinds of checks; then a RUN needs no EXPECT. NULL: none */
    struct test_case *cases;
    size_t case_count;
};

/* directives.c; `folder` is where relative include folders start. */
ingot_status test_file_parse(struct ig_arena *arena, const char *path, const char *text,
                             struct test_file *file, struct ig_error *error);

/* values.c: "f32 [1 2]", "u32[8] = i*2", "hex = 00ff", "bytes = f32:1 u32:2 addr:3" */
ingot_status test_array_parse(struct ig_arena *arena, const char *text, struct array *array,
                              struct argument *argument, bool *is_list, const char **tail,
                              struct ig_error *error);
/* Stores a number in the scalar's type; integers wrap. */
void test_store(ingot_scalar_type scalar, long double value, void *out);

/* expression.c: evaluates an expression with i = index; *end is where it stopped. */
ingot_status test_evaluate(const char *text, uint64_t index, long double *value, const char **end,
                           struct ig_error *error);

/* findings.c: what `// FINDS: KIND` comments say, against what the sanitizer found. */
struct test_findings;
struct test_findings *test_findings_read(const char *text, const char *kinds);
void test_findings_take(struct test_findings *findings, ingot_device *device);
bool test_findings_compare(struct test_findings *findings, const char *path,
                           struct ig_text *report);
char *test_sanitized_archive(const struct test_file *file, const char *target, const char *kinds,
                             struct ig_text *reason);

/* compare.c: true when they agree; otherwise says where they differ. */
bool test_compare(const struct expectation *expectation, const uint8_t *got,
                  struct ig_text *report);
void test_print_values(const struct array *array, const uint8_t *bytes, size_t from, size_t limit,
                       struct ig_text *out);

/* execute.c: runs one case on one device; the report holds what went wrong. `update` receives
 * the new text of list expectations that failed, by expectation. `packed`, if any, is a folder of
 * archives to use instead of a compiler. */
bool test_case_run(ingot_device *device, const struct test_file *file, const struct test_case *test,
                   const char *packed, struct ig_text *report, const char **update);

/* pack.c: makes the archive of one case in a folder; a case that must not compile is fine. */
bool test_case_pack(const struct test_file *file, const struct test_case *test, const char *folder,
                    const char *const *targets, size_t target_count, struct ig_text *report);
/* Opens it. `message` receives what the compiler said, with INGOT_COMPILE_ERROR. */
ingot_status test_packed_open(ingot_device *device, const struct test_file *file,
                              const struct test_case *test, const char *folder,
                              ingot_library **library, const char **message);

#endif
